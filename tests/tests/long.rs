//! Kernels so long that their gradients have no code of their own: they are what the `vjp` says they are.

use array_dsl::Error;
use array_dsl::prelude::*;
use ndarray::array;

#[path = "common/long.rs"]
mod kernels;
use kernels::{long, looped};

#[test]
fn gradients_are_parts_of_the_vjp() {
    assert!(grad(long).explain().contains("is a part of the `vjp`"));
    assert!(value_and_grad(long).explain().contains("is a part of the `vjp`"));
    assert!(grad(looped).explain().contains("== loops =="));
    let x = array![0.7f32, 0.2];
    let (value, (dx, dscale)) = vjp(long)(&x, 0.3, 1.0);
    assert_eq!(grad(long)(&x, 0.3), (dx.clone(), dscale));
    assert_eq!(value_and_grad(long)(&x, 0.3), (value, (dx.clone(), dscale)));
    let (expected, (ex, _)) = value_and_grad(looped)(&x, 0.3);
    assert!((value - expected).abs() < 1e-5, "{value} {expected}");
    assert!((&dx - &ex).iter().all(|d| d.abs() < 1e-3), "{dx} {ex}");
}

#[test]
fn they_have_their_own_names_and_shapes() {
    assert_eq!(<_ as NameOf>::name(&grad(long)), "grad(long)");
    let short = array![1.0f32];
    let error = Cpu.run(value_and_grad(long), (&short, 0.3)).unwrap_err();
    assert!(matches!(error, Error::IndexOutOfRange { kernel: "value_and_grad(long)", .. }), "{error}");
    let x = array![0.7f32, 0.2];
    assert_eq!(grad(long).shape((&x, 0.3)).unwrap(), [vec![Some(2)], vec![]]);
    assert_eq!(value_and_grad(long).shape((&x, 0.3)).unwrap(), [vec![], vec![Some(2)], vec![]]);
}

#[test]
fn results_take_given_memory() {
    let x = array![0.7f32, 0.2];
    let mut out = grad(long)(&x, 0.3);
    let (expected, at) = (out.clone(), out.0.as_ptr());
    grad(long).call_into((&x, 0.3), &mut out).unwrap();
    assert_eq!((&out, out.0.as_ptr()), (&expected, at));
    let mut both = value_and_grad(long)(&x, 0.3);
    let at = both.1.0.as_ptr();
    value_and_grad(long).call_into((&x, 0.3), &mut both).unwrap();
    assert_eq!((&both.1, both.1.0.as_ptr()), (&expected, at));
}

trait NameOf {
    fn name(&self) -> &'static str;
}

impl<K: Kernel> NameOf for K {
    fn name(&self) -> &'static str {
        K::NAME
    }
}
