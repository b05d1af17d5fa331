//! Activations, normalization, attention and losses.

use crate::prelude::*;

/// `gelu(x)`: `x` times the probability that a normal number is below it.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::nn::gelu;
///
/// #[kernel]
/// fn activated(x: [f64; n]) -> [f64; n] {
///     gelu(x)
/// }
///
/// assert_eq!(activated(&array![-20.0, 0.0, 20.0]), array![0.0, 0.0, 20.0]);
/// ```
#[kernel]
pub fn gelu<T: Float>(x: T) -> T {
    0.5 * x * (1.0 + erf(x * 0.7071067811865476))
}

/// `silu(x)`: `x * sigmoid(x)`.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::nn::silu;
///
/// #[kernel]
/// fn activated(x: [f64; n]) -> [f64; n] {
///     silu(x)
/// }
///
/// assert_eq!(activated(&array![0.0, 50.0]), array![0.0, 50.0]);
/// ```
#[kernel]
pub fn silu<T: Float>(x: T) -> T {
    x * sigmoid(x)
}

/// `layer_norm(x, gain, bias, epsilon)`: `x` with mean 0 and variance 1, times `gain` and plus `bias`, element by element;
/// `epsilon` is added to the variance, so that equal elements have a result and a derivative.
///
/// The variance is the mean of the squares. Without elements it is empty.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::nn::layer_norm;
///
/// /// Each row.
/// #[kernel]
/// fn normal(x: [[f64; n]; b]) -> [[f64; n]; b] {
///     layer_norm(x, ones(n), zeros(n), 0.0)
/// }
///
/// assert_eq!(normal(&array![[1.0, 3.0], [5.0, 1.0]]), array![[-1.0, 1.0], [1.0, -1.0]]);
/// ```
#[kernel]
pub fn layer_norm<T: Float>(x: [T; n], gain: [T; n], bias: [T; n], epsilon: T) -> [T; n] {
    let off = x - mean(x);
    off / sqrt(mean(off * off) + epsilon) * gain + bias
}

/// `attention(q, k, v)`: for each row of `q` the mean of the rows of `v`, weighted by the softmax of its products with the rows
/// of `k`, divided by the root of their length.
///
/// Heads and batches are dimensions before: `attention(q, k, v)` of arrays of three. Without rows in `k` the result is zero. Cost:
/// two matrix products, and the memory of all `n * m` weights. Vaswani and others, 2017.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::nn::attention;
///
/// #[kernel]
/// fn found(q: [[f64; d]; n], k: [[f64; d]; m], v: [[f64; e]; m]) -> [[f64; e]; n] {
///     attention(q, k, v)
/// }
///
/// let (k, v) = (array![[99.0], [0.0]], array![[3.0, 4.0], [5.0, 6.0]]);
/// assert_eq!(found(&array![[99.0], [0.0]], &k, &v), array![[3.0, 4.0], [4.0, 5.0]]);
/// ```
#[kernel]
pub fn attention<T: Float>(q: [[T; d]; n], k: [[T; d]; m], v: [[T; e]; m]) -> [[T; e]; n] {
    let scores = matmul(q, transpose(k)) / sqrt(d as _);
    matmul(map(|row| softmax(row), scores), v)
}

/// `causal_attention(q, k, v)`: attention in which a row sees none that comes after it. The last rows of `q` and `k` belong
/// together: row `i` sees the first `i + 1 + m - n` of `m`. A row that sees none is NaN.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::nn::causal_attention;
///
/// #[kernel]
/// fn read(q: [[f64; d]; n], k: [[f64; d]; n], v: [[f64; e]; n]) -> [[f64; e]; n] {
///     causal_attention(q, k, v)
/// }
///
/// let zero = array![[0.0], [0.0]];
/// assert_eq!(read(&zero, &zero, &array![[1.0], [3.0]]), array![[1.0], [2.0]]);
/// ```
#[kernel]
pub fn causal_attention<T: Float>(q: [[T; d]; n], k: [[T; d]; m], v: [[T; e]; m]) -> [[T; e]; n] {
    let scores = matmul(q, transpose(k)) / sqrt(d as _);
    let seen = build((n, m), |i, j| if j - i <= m - n { scores[i][j] } else { -1.0 / 0.0 });
    matmul(map(|row| softmax(row), seen), v)
}

/// `cross_entropy(logits, label)`: minus the logarithm of the share that the softmax of `logits` gives to this label.
///
/// A label outside is the error that any such index is. Many examples are mapped over: rows of logits, and a label for each.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::nn::cross_entropy;
///
/// #[kernel]
/// fn loss(z: [[f64; c]; n], labels: [i64; n]) -> f64 {
///     mean(cross_entropy(z, labels))
/// }
///
/// let z = array![[0.0, 0.0], [1000.0, 0.0]];
/// assert_eq!(loss(&z, &array![1, 0]), 0.5 * 2f64.ln());
/// assert_eq!(grad(loss)(&z, &array![1, 0]), array![[0.25, -0.25], [0.0, 0.0]]);
/// ```
#[kernel]
pub fn cross_entropy<T: Float>(logits: [T; c], label: i64) -> T {
    logsumexp(logits) - logits[label]
}
