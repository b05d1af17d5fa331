//! Writing outputs. What is not finite becomes `null`.

use ndarray::{Array1, Array2};
use serde_json::Value;

/// What an answer can consist of.
pub trait Output {
    /// It as JSON.
    fn json(&self) -> Value;
}

impl Output for f64 {
    fn json(&self) -> Value {
        Value::from(*self)
    }
}

impl Output for Array1<f64> {
    fn json(&self) -> Value {
        self.iter().copied().map(Value::from).collect()
    }
}

impl Output for Array2<f64> {
    fn json(&self) -> Value {
        self.rows().into_iter().map(|row| row.iter().copied().map(Value::from).collect::<Value>()).collect()
    }
}

/// The same under another form: `F` makes of it what is written.
pub struct As<T, F>(pub T, pub F);

impl<T, F: Fn(&T) -> Value> Output for As<T, F> {
    fn json(&self) -> Value {
        self.1(&self.0)
    }
}
