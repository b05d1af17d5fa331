//! Taking arguments apart and putting results together, in generated code.
//!
//! ```text
//! let (q0, p3) = args;                                        a record and an array
//! let (p0, (p1, p2)) = <__Record0 as Record>::view(q0);       the record's arrays, those of a record in it as a tuple
//! ..
//! (<__Record0 as Record>::from_parts((r0, (r1, r2))), r3)
//! ```

use super::signature::{Leaf, Shape};

/// A text that follows a structure: a pattern, or an expression. `leaf` gets each array or scalar and whether it is inside a
/// record; `record` gets an outermost record's number and the tuple of its parts.
pub fn text(
    s: &Shape,
    leaf: &mut dyn FnMut(&Leaf, bool) -> String,
    record: &mut dyn FnMut(usize, String) -> String,
) -> String {
    match s {
        Shape::Leaf(l) => leaf(l, false),
        Shape::Tuple(parts) => tuple(parts.iter().map(|p| text(p, leaf, record))),
        Shape::Record(r, fields) => {
            let parts = tuple(fields.iter().flatten().map(|(_, p)| inside(p, leaf)));
            record(*r, parts)
        }
    }
}

fn inside(s: &Shape, leaf: &mut dyn FnMut(&Leaf, bool) -> String) -> String {
    match s {
        Shape::Leaf(l) => leaf(l, true),
        Shape::Tuple(parts) => tuple(parts.iter().map(|p| inside(p, leaf))),
        Shape::Record(_, fields) => tuple(fields.iter().flatten().map(|(_, p)| inside(p, leaf))),
    }
}

fn tuple(parts: impl Iterator<Item = String>) -> String {
    format!("({})", parts.map(|p| p + ", ").collect::<String>())
}

/// A pattern with the statements that open the records it binds.
pub struct Opened {
    /// The pattern.
    pub pattern: String,
    /// The statements.
    pub lets: String,
}

/// Names for the arrays of structures: the k-th that is there gets `name(k, leaf)`. `open` is the function that takes
/// a record apart; `from` is the number of the first name of a record.
pub fn opened(
    shapes: &[&Shape],
    open: &str,
    from: usize,
    name: &mut dyn FnMut(usize, &Leaf) -> String,
) -> Vec<Opened> {
    let (mut next, mut records) = (0, from);
    let mut out = Vec::new();
    for s in shapes {
        let mut lets = String::new();
        let mut leaf = |l: &Leaf, _| {
            if l.absent.is_some() {
                return "_".to_string();
            }
            next += 1;
            name(next - 1, l)
        };
        let mut record = |r: usize, parts: String| {
            records += 1;
            lets.push_str(&format!("let {parts} = <__Record{r} as {open}(q{});\n", records - 1));
            format!("q{}", records - 1)
        };
        let pattern = text(s, &mut leaf, &mut record);
        out.push(Opened { pattern, lets });
    }
    out
}

/// The names of a structure's arrays that are there, for messages: `net.w`, `p.0`.
pub fn names(s: &Shape, name: &str, out: &mut Vec<String>) {
    match s {
        Shape::Leaf(l) => out.extend(l.absent.is_none().then(|| name.to_string())),
        Shape::Tuple(parts) => {
            parts.iter().enumerate().for_each(|(i, p)| names(p, &format!("{name}.{i}"), out));
        }
        Shape::Record(_, fields) => {
            fields.iter().flatten().for_each(|(f, p)| names(p, &format!("{name}.{f}"), out));
        }
    }
}
