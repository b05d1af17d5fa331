//! Whether two outputs are the same up to rounding, by GradBench's measure: `|x - y| / max(1, |x| + |y|)`.

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

/// How numbers differ: relative to numbers that are large, else absolutely.
#[must_use]
pub fn difference(x: f64, y: f64) -> f64 {
    (x - y).abs() / (x.abs() + y.abs()).max(1.0)
}

/// How an output differs from what is expected.
///
/// # Errors
/// They may have different structures: fields, lengths, or what is no number.
pub fn compared(found: &Value, expected: &Value) -> Result<Worst, Mismatch> {
    let mut worst = Worst::default();
    walk(found, expected, &mut Vec::new(), &mut worst)?;
    Ok(worst)
}

fn walk<'a>(
    found: &'a Value,
    expected: &Value,
    steps: &mut Vec<Step<'a>>,
    worst: &mut Worst,
) -> Result<(), Mismatch> {
    let mismatch = |steps: &[Step], reason| Err(Mismatch { place: place(steps), reason });
    match (found, expected) {
        (Value::Array(a), Value::Array(b)) => {
            if a.len() != b.len() {
                return mismatch(steps, format!("{} elements, expected {}", a.len(), b.len()));
            }
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                steps.push(Step::Element(i));
                walk(a, b, steps, worst)?;
                steps.pop();
            }
        }
        (Value::Object(a), Value::Object(b)) => {
            if let Some(missing) = b.keys().find(|key| !a.contains_key(*key)) {
                return mismatch(steps, format!("no field `{missing}`"));
            }
            for (key, a) in a {
                steps.push(Step::Field(key));
                let Some(b) = b.get(key) else {
                    return mismatch(steps, "a field that is not expected".into());
                };
                walk(a, b, steps, worst)?;
                steps.pop();
            }
        }
        _ => match (found.as_f64(), expected.as_f64()) {
            (Some(x), Some(y)) => {
                let difference = difference(x, y);
                if difference > worst.difference {
                    *worst = Worst { difference, place: place(steps) };
                }
            }
            _ if found == expected => {}
            _ => return mismatch(steps, format!("{}, expected {}", short(found), short(expected))),
        },
    }
    Ok(())
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
    fn small_numbers_differ_absolutely() {
        assert_eq!(difference(0.25, 0.0), 0.25);
        assert_eq!(difference(-1e9, 1e9), 1.0);
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
