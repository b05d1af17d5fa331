//! Linear forms over unknown ranks.

use std::collections::BTreeMap;
use std::fmt;

use super::types::TypeVariable;

/// A number of dimensions that is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unknown {
    /// How often the function of an application is mapped.
    Maps(usize),
    /// How often the argument of an application is replicated.
    Reps(usize),
    /// The rank of a type variable.
    Rank(TypeVariable),
}

/// A constant and multiples of unknowns; no multiple is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Linear {
    /// The constant.
    pub constant: i64,
    /// The multiples.
    pub terms: BTreeMap<Unknown, i64>,
}

impl Linear {
    /// A number.
    pub fn constant(constant: i64) -> Linear {
        Linear { constant, terms: BTreeMap::new() }
    }

    /// One unknown.
    pub fn unknown(u: Unknown) -> Linear {
        Linear { constant: 0, terms: BTreeMap::from([(u, 1)]) }
    }

    /// The sum with a multiple of another form.
    pub fn plus(&self, times: i64, other: &Linear) -> Linear {
        let mut sum = self.clone();
        sum.constant += times * other.constant;
        for (u, c) in &other.terms {
            let entry = sum.terms.entry(*u).or_insert(0);
            *entry += times * c;
            if *entry == 0 {
                sum.terms.remove(u);
            }
        }
        sum
    }

    /// The sum.
    pub fn add(&self, other: &Linear) -> Linear {
        self.plus(1, other)
    }

    /// The difference.
    pub fn sub(&self, other: &Linear) -> Linear {
        self.plus(-1, other)
    }

    /// Whether this is the number 0.
    pub fn is_zero(&self) -> bool {
        self.constant == 0 && self.terms.is_empty()
    }

    /// The value under an assignment.
    pub fn value(&self, of: &dyn Fn(Unknown) -> i64) -> i64 {
        self.terms.iter().fold(self.constant, |sum, (u, c)| sum + c * of(*u))
    }

    /// The unknowns that are decided replaced by their values.
    pub fn substitute(&self, of: &dyn Fn(Unknown) -> Option<i64>) -> Linear {
        let mut out = Linear::constant(self.constant);
        for (u, c) in &self.terms {
            match of(*u) {
                Some(v) => out.constant += c * v,
                None => {
                    out.terms.insert(*u, *c);
                }
            }
        }
        out
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unknown::Maps(i) => write!(f, "M{i}"),
            Unknown::Reps(i) => write!(f, "R{i}"),
            Unknown::Rank(v) => write!(f, "rank(t{})", v.0),
        }
    }
}

impl fmt::Display for Linear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = self
            .terms
            .iter()
            .map(|(u, c)| if *c == 1 { u.to_string() } else { format!("{c} {u}") })
            .collect();
        if self.constant != 0 || parts.is_empty() {
            parts.push(self.constant.to_string());
        }
        f.write_str(&parts.join(" + "))
    }
}
