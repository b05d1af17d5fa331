//! Where a record stands in another one, and what its sizes are called there.
//!
//! ```text
//! struct Layer { #[shape(i, o)] w, #[shape(o)] b }      alone, or once in another record: `i`, `o`
//! struct Net { first: Layer, second: Layer, scale }     `first.i`, `first.o`, `second.i`, `second.o`
//! ```
//!
//! The names are the same for every value of the outer record, so that two networks have the same sizes. **No user can write them**:
//! they begin with `#`, as all such names, and what is made of two of them is checked when running.

use std::rc::Rc;

use super::{Record, Records, named};
use crate::ty::Name;

/// A place in a value of a record.
#[derive(Clone, Debug)]
pub struct Place {
    /// The records that stand in the outermost one more than once.
    repeated: Rc<[Name]>,
    /// The parts that lead here.
    path: String,
    /// What the names of sizes begin with.
    prefix: String,
}

impl Place {
    /// The outermost record itself.
    pub fn outermost(r: &Record, records: &Records) -> Place {
        let mut found: Vec<Name> = Vec::new();
        count(r, records, &mut found);
        let is_repeated = |id: &&Name| found.iter().filter(|other| other == id).count() > 1;
        Place {
            repeated: found.iter().filter(is_repeated).cloned().collect(),
            path: String::new(),
            prefix: String::new(),
        }
    }

    /// A part: a field, or a position of a tuple.
    pub fn part(&self, name: &str) -> Place {
        let path = if self.path.is_empty() { name.to_string() } else { format!("{}.{name}", self.path) };
        Place { path, ..self.clone() }
    }

    /// The record that stands here.
    pub fn record(&self, r: &Record) -> Place {
        let prefix = if self.repeated.contains(&r.id) { format!("#{}.", self.path) } else { String::new() };
        Place { prefix, ..self.clone() }
    }

    /// What a size is called in the record that stands here.
    pub fn size(&self, name: &Name) -> Name {
        if self.prefix.is_empty() { name.clone() } else { Name::from(format!("{}{name}", self.prefix)) }
    }
}

/// Adds the records in `r`, and in those.
fn count(r: &Record, records: &Records, found: &mut Vec<Name>) {
    for f in &r.fields {
        named(&f.ty, &mut |path| {
            if let Some(inner) = records.get(path) {
                found.push(inner.id.clone());
                count(inner, records, found);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::read;

    #[test]
    fn a_record_that_stands_twice_has_sizes_of_its_own() {
        let text = "record #[name = \"Net\"] struct Net { first: Layer, more: (Layer, Last), last: f64 } \
                    #[name = \"Layer\"] struct Layer { w: [f64; n] } #[name = \"Last\"] struct Last { w: [f64; n] }";
        let mut records = Records::default();
        read(text, &mut records).expect("it is right");
        let [net, layer, last] = ["Net", "Layer", "Last"].map(|r| records[r].clone());
        let net = Place::outermost(&net, &records);
        let n = Name::from("n");
        assert_eq!(&*net.size(&n), "n");
        assert_eq!(&*net.part("first").record(&layer).size(&n), "#first.n");
        assert_eq!(&*net.part("more").part("0").record(&layer).size(&n), "#more.0.n");
        assert_eq!(&*net.part("more").part("1").record(&last).size(&n), "n");
    }
}
