//! The exponential of a matrix.

use super::systems::solve_matrix;
use super::triangular::identity;
use crate::prelude::*;

/// `expm(a)`: the sum of `a^k / k!`.
///
/// By scaling and squaring: a rational approximation of degree 13 of `a / 2^s`, squared `s` times, where `s` is the least for which the
/// largest sum of the sizes in a column is at most 5.37 (Higham, 2005; for `f32` that is more than enough). Cost: `6 + s` products and a
/// system of equations. The number of squarings is data, and not differentiated.
///
/// ```
/// # use array_dsl::prelude::*;
/// # use ndarray::array;
/// use array_dsl::linalg::expm;
///
/// /// A turn by an angle.
/// #[kernel]
/// fn turn(t: f64) -> [[f64; 2]; 2] {
///     expm([[0.0, -t], [t, 0.0]])
/// }
///
/// assert!((turn(1.0) - array![[1f64.cos(), -1f64.sin()], [1f64.sin(), 1f64.cos()]]).iter().all(|d| d.abs() < 1e-14));
/// ```
#[kernel]
pub fn expm<T: Float>(a: [[T; n]; n]) -> [[T; n]; n] {
    let sums = map(|c| sum(abs(c)), transpose(stop_gradient(a)));
    let largest = max(reduce(|x, y| max(x, y), 0.0, sums), 0.0);
    let mut times = 0;
    let mut scale = 1.0;
    while largest * scale > 5.371920351148152 {
        scale *= 0.5;
        times += 1;
    }
    let x = scale * a;
    let one = identity(a);
    let x2 = matmul(x, x);
    let x4 = matmul(x2, x2);
    let x6 = matmul(x4, x2);
    let high = x6 + 16380.0 * x4 + 40840800.0 * x2;
    let odd = matmul(x6, high)
        + 33522128640.0 * x6
        + 10559470521600.0 * x4
        + 1187353796428800.0 * x2
        + 32382376266240000.0 * one;
    let u = matmul(x, odd);
    let high = 182.0 * x6 + 960960.0 * x4 + 1323241920.0 * x2;
    let v = matmul(x6, high)
        + 670442572800.0 * x6
        + 129060195264000.0 * x4
        + 7771770303897600.0 * x2
        + 64764752532480000.0 * one;
    let mut e = solve_matrix(v - u, v + u);
    for _ in 0..times {
        e = matmul(e, e);
    }
    e
}
