//! Whether two outputs are the same up to rounding.
//!
//! GradBench's measure is `|x - y| / max(1, |x| + |y|)`. In its place of 1 stands the largest number that is expected if that is less, as
//! otherwise all small outputs would agree.

use std::fmt::Write;

use serde_json::Value;

/// What numbers may differ by.
pub const TOLERANCE: f64 = 1e-8;

/// The greatest difference of numbers, and where it is.
#[derive(Debug, Default, PartialEq)]
pub struct Worst {
    /// The difference.
    pub difference: f64,
    /// Its place, such as `.vals[3]`.
    pub place: String,
}

/// That two outputs do not even have the same structure.
#[derive(Debug, PartialEq)]
pub struct Mismatch {
    /// Where.
    pub place: String,
    /// What is there.
    pub reason: String,
}

/// A step into a value.
#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Element(usize),
}

/// How numbers differ: relative to themselves, or to the scale if that is larger.
#[must_use]
pub fn difference(x: f64, y: f64, scale: f64) -> f64 {
    if x == y { 0.0 } else { (x - y).abs() / (x.abs() + y.abs()).max(scale) }
}

/// How an output differs from what is expected.
///
/// # Errors
/// They may have different structures: fields, lengths, or what is no number.
pub fn compared(found: &Value, expected: &Value) -> Result<Worst, Mismatch> {
    let mut walk = Walk { scale: largest(expected).min(1.0), steps: Vec::new(), worst: Worst::default() };
    match walk.go(found, expected) {
        Ok(()) => Ok(walk.worst),
        Err(reason) => Err(Mismatch { place: place(&walk.steps), reason }),
    }
}

/// The magnitude of the largest number.
fn largest(value: &Value) -> f64 {
    match value {
        Value::Array(all) => all.iter().map(largest).fold(0.0, f64::max),
        Value::Object(fields) => fields.values().map(largest).fold(0.0, f64::max),
        _ => value.as_f64().map_or(0.0, f64::abs),
    }
}

/// A walk through two values.
struct Walk<'a> {
    scale: f64,
    /// Those to where it is.
    steps: Vec<Step<'a>>,
    /// The greatest difference so far.
    worst: Worst,
}

impl<'a> Walk<'a> {
    /// Says what is different if it is no number.
    fn go(&mut self, found: &'a Value, expected: &Value) -> Result<(), String> {
        match (found, expected) {
            (Value::Array(a), Value::Array(b)) => {
                if a.len() != b.len() {
                    return Err(format!("{} elements, expected {}", a.len(), b.len()));
                }
                for (i, (a, b)) in a.iter().zip(b).enumerate() {
                    self.steps.push(Step::Element(i));
                    self.go(a, b)?;
                    self.steps.pop();
                }
            }
            (Value::Object(a), Value::Object(b)) => {
                if let Some(missing) = b.keys().find(|key| !a.contains_key(*key)) {
                    return Err(format!("no field `{missing}`"));
                }
                for (key, a) in a {
                    self.steps.push(Step::Field(key));
                    self.go(a, b.get(key).ok_or("a field that is not expected")?)?;
                    self.steps.pop();
                }
            }
            _ => match (found.as_f64(), expected.as_f64()) {
                (Some(x), Some(y)) => {
                    let difference = difference(x, y, self.scale);
                    if difference > self.worst.difference {
                        self.worst = Worst { difference, place: place(&self.steps) };
                    }
                }
                _ if found == expected => {}
                _ => return Err(format!("{}, expected {}", short(found), short(expected))),
            },
        }
        Ok(())
    }
}

fn place(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        // Writing to a string does not fail.
        let _ = match step {
            Step::Field(name) => write!(text, ".{name}"),
            Step::Element(i) => write!(text, "[{i}]"),
        };
    }
    text
}

/// A value that may be large.
fn short(value: &Value) -> String {
    match value {
        Value::Array(all) => format!("a list of {}", all.len()),
        Value::Object(_) => "an object".into(),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_greatest_difference_is_found_where_it_is() {
        let worst = compared(&json!({"a": [1.0, 2.5], "b": 300}), &json!({"b": 301.0, "a": [1, 2]}));
        assert_eq!(worst, Ok(Worst { difference: 0.5 / 4.5, place: ".a[1]".into() }));
        assert_eq!(compared(&json!([0, null, true]), &json!([0.0, null, true])), Ok(Worst::default()));
    }

    #[test]
    fn numbers_differ_relative_to_the_largest_or_to_themselves() {
        assert_eq!(difference(0.25, 0.0, 1.0), 0.25);
        assert_eq!(difference(-1e9, 1e9, 1.0), 1.0);
        assert_eq!(difference(0.0, 0.0, 0.0), 0.0);
        let place = "[1]".to_owned();
        assert_eq!(
            compared(&json!([1e-9, 0.0]), &json!([1e-9, 5e-10])),
            Ok(Worst { difference: 0.5, place })
        );
        let place = "[0]".to_owned();
        assert_eq!(compared(&json!([2.0, 0.0]), &json!([0, 0])), Ok(Worst { difference: 1.0, place }));
    }

    #[test]
    fn structures_that_are_not_the_same() {
        for (found, expected, place, reason) in [
            (json!([1, [2]]), json!([1, [2, 3]]), "[1]", "1 elements, expected 2"),
            (json!({"a": {}}), json!({"a": {"b": 1}}), ".a", "no field `b`"),
            (json!({"a": 1}), json!({}), ".a", "a field that is not expected"),
            (json!([null]), json!([1.5]), "[0]", "null, expected 1.5"),
            (json!([1, 2]), json!(3), "", "a list of 2, expected 3"),
        ] {
            let mismatch = Mismatch { place: place.into(), reason: reason.into() };
            assert_eq!(compared(&found, &expected), Err(mismatch));
        }
    }
}
