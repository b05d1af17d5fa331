//! Kernels may have any name, also one that generated code would use for a variable, and their arguments too.

use array_dsl::prelude::*;
use ndarray::array;

macro_rules! kernels {
    ($($name:ident)*) => {
        $(
            #[kernel]
            pub fn $name(status: [f64; lo], args: f64, #[no_grad] a0: [i64; lo]) -> f64 {
                (status * args + a0 as f64).sin().sum()
            }
        )*
    };
}

kernels! { count lane base end at width args atoms status target value error gpu x y c t lo hi i a0 n0 v12 p0 r0 d0 result }

#[test]
fn kernels_named_like_generated_variables() {
    let expected = 1.0f64.sin() + 5.0f64.sin();
    for f in [*count, *lane, *value, *error, *gpu, *args, *a0, *n0, *p0, *result] {
        assert!((f(&array![0.5, 1.0], 2.0, &array![0, 3]) - expected).abs() < 1e-15);
    }
    let (slope, _) = grad(lane)(&array![0.5, 1.0], 2.0, &array![0, 3]);
    assert!((slope[0] - 2.0 * 1.0f64.cos()).abs() < 1e-15);
}

#[test]
fn results_of_every_form() {
    #[kernel]
    fn constant() -> f64 {
        1.5
    }
    #[kernel]
    fn twice(x: [f64; n]) -> ([f64; n], ([f64; n], f64)) {
        (x, (x, x.sum()))
    }
    #[kernel]
    fn literal() -> [[i64; 2]; 3] {
        [[1, 2], [3, 4], [5, 6]]
    }
    assert_eq!(constant(), 1.5);
    assert_eq!(twice(&array![1.0, 2.0]), (array![1.0, 2.0], (array![1.0, 2.0], 3.0)));
    assert_eq!(literal(), array![[1, 2], [3, 4], [5, 6]]);
}
