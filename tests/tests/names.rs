//! Kernels whose names are unusual: those of Rust's macros, raw identifiers, names that only a macro of the user knows.

use array_dsl::prelude::*;

mod of_macros {
    use array_dsl::prelude::*;

    #[kernel]
    pub fn line(x: f64) -> f64 {
        2.0 * x
    }

    #[kernel]
    pub fn vec(x: f64) -> f64 {
        line(x) + 1.0
    }

    #[kernel]
    pub fn matches(x: f64) -> f64 {
        line(x) + vec(x)
    }
}

#[test]
fn names_of_macros_of_rust() {
    assert_eq!(of_macros::matches(3.0), 13.0);
    assert_eq!(grad(of_macros::matches)(3.0), 4.0);
}

#[kernel]
fn r#match(r#in: f64) -> f64 {
    r#in * r#in
}

#[kernel]
fn calls_a_raw_name(x: f64) -> f64 {
    r#match(x) + 1.0
}

#[test]
fn raw_names() {
    assert_eq!(calls_a_raw_name(3.0), 10.0);
}

/// The same kernels for each element type, by one text.
macro_rules! of_type {
    ($module:ident, $elem:ident) => {
        mod $module {
            use array_dsl::prelude::*;

            #[kernel]
            pub fn square(x: $elem) -> $elem {
                x * x
            }

            #[kernel]
            pub fn fourth(x: $elem) -> $elem {
                square(square(x))
            }
        }
    };
}

of_type!(single, f32);
of_type!(double, f64);

#[test]
fn one_name_in_several_modules_by_one_macro() {
    assert_eq!((single::fourth(2.0f32), double::fourth(2.0f64)), (16.0, 16.0));
    assert_eq!((grad(single::fourth)(1.0f32), grad(double::fourth)(1.0f64)), (4.0, 4.0));
}

macro_rules! shifted {
    ($name:ident, $inner:ident) => {
        #[kernel]
        fn $name(x: f64) -> f64 {
            $inner(x) + $crate::of_macros::line(x) + 1.0
        }
    };
}

#[kernel]
fn square(x: f64) -> f64 {
    x * x
}

shifted!(once, square);
shifted!(twice, once);

#[test]
fn kernels_that_a_macro_writes() {
    assert_eq!(once(3.0), 16.0);
    assert_eq!(value_and_grad(twice)(3.0), (23.0, 10.0));
}

/// Code next to types, functions and macros that have the names of Rust's own.
#[allow(dead_code, unused_macros, reason = "they are there to be in the way")]
mod hidden {
    use ::array_dsl::prelude::{Record, kernel};
    use ::ndarray::Array1;

    pub struct Ok;
    pub struct Err;
    pub struct Some;
    pub struct None;
    pub struct Option;
    pub struct Vec;
    pub struct String;
    pub struct Box;
    pub struct Error;
    pub type Result = ();
    pub trait Default {}
    pub trait Clone {}
    pub trait Copy {}
    pub trait Into {}
    pub trait From {}
    pub trait Send {}
    pub trait Sync {}
    pub trait Drop {}
    pub trait ToOwned {}
    pub trait ToString {}
    pub trait Iterator {}
    pub trait IntoIterator {}
    pub mod std {}
    pub mod core {}
    pub mod array_dsl {}
    pub mod ndarray {}
    macro_rules! vec {
        () => {};
    }
    macro_rules! panic {
        () => {};
    }

    #[kernel(jacobian, vmap)]
    pub fn norm(x: [f64; n]) -> f64 {
        sum(x * x).sqrt()
    }

    #[kernel(hvp, hessian)]
    pub fn several(x: [f32; n], #[no_grad] at: [i32; m], k: i64) -> f32 {
        let mut s = 0.0;
        for i in 0..m {
            s = s * 0.5 + x[at[i]] * x[i];
        }
        let mut kept = x.filter(|v| v > 0.5).sort();
        while kept.sum() > 10.0 {
            kept = kept * 0.5;
        }
        let bins = hist(|a, b| a + b, 0.0, k, at, build(m, |i| x[i]));
        s + kept.sum() + (bins * bins).sum()
    }

    #[derive(Record)]
    pub struct Pair {
        pub a: f64,
        #[shape(n)]
        pub v: Array1<f64>,
    }

    #[kernel]
    pub fn scaled(p: Pair) -> Pair {
        Pair { a: p.a * 2.0, v: p.a * p.v }
    }
}

#[test]
fn names_of_rust_next_to_kernels() {
    use ndarray::array;
    let x = array![3.0, 4.0];
    assert_eq!(value_and_grad(hidden::norm)(&array![0.0, 4.0]), (4.0, array![0.0, 1.0]));
    let pair = hidden::scaled(&hidden::Pair { a: 3.0, v: x });
    assert_eq!((pair.a, pair.v), (6.0, array![9.0, 12.0]));
    let (x, at) = (array![1.0, 0.25, 2.0], array![1, 0]);
    // 0.5 * 0.25 + 0.25, the sum of 1 and 2, and the squares of 1/4 and 1 in two bins.
    assert_eq!(hidden::several(&x, &at, 2), 0.375 + 3.0 + 0.0625 + 1.0);
    assert_eq!(vmap(hidden::norm)(&array![[3.0, 4.0], [5.0, 12.0]]), array![5.0, 13.0]);
    assert_eq!(hessian(hidden::several)(&x, &at, 2).dim(), (3, 3));
}

/// Kernels, constants and statics that have the names of generated code's variables. A pattern of one name with an item of Rust's is
/// that item, not a variable.
#[allow(non_upper_case_globals, non_camel_case_types, dead_code, reason = "they are there to be in the way")]
mod variables {
    use array_dsl::prelude::*;
    use ndarray::Array1;

    pub const n0: () = ();
    pub const p0: () = ();
    pub const d0: () = ();
    pub const atoms: () = ();
    pub const gpu: () = ();
    pub const out: () = ();
    pub const i: () = ();
    pub const lo: () = ();
    pub const hi: () = ();
    pub static status: () = ();
    pub static given: () = ();
    pub static SIGNATURE: () = ();
    pub static SITES: () = ();
    pub static PROGRAM: () = ();
    pub static SHADERS: () = ();
    pub struct POLY0;
    pub struct Region0;
    pub struct Region1;
    pub struct lane(pub ());
    pub struct block;

    #[derive(Record, Clone, Debug, PartialEq)]
    pub struct Net {
        #[shape(n)]
        pub w: Array1<f64>,
        pub k: i64,
    }

    #[kernel(hessian)]
    pub fn v0(x: [f64; n]) -> f64 {
        sum(x * x) + reduce(|a, b| a * b, 1.0, scan(|a, b| a + b, 0.0, x))
    }

    #[kernel]
    pub fn a0(net: Net, x: [f64; n]) -> Net {
        let w = map(|u| v0(x) * u.sin(), net.w);
        Net { w: sort(w), k: net.k }
    }

    #[kernel]
    pub fn r0(x: [f64; n], at: [i64; m]) -> f64 {
        let mut total = 0.0;
        for k in 0..m {
            total = total * 0.5 + x[at[k]];
        }
        total
    }

    #[kernel]
    pub fn args(x: f64) -> f64 {
        x + 1.0
    }

    #[kernel]
    pub fn x(at: f64) -> f64 {
        args(at) * at
    }
}

#[test]
fn names_of_variables_of_generated_code() {
    use ndarray::array;
    let (x, net) = (array![1.0, 2.0], variables::Net { w: array![0.5, 0.0], k: 3 });
    let value = 5.0 + 1.0 * 3.0;
    assert_eq!(value_and_grad(variables::v0)(&x), (value, array![2.0 + 3.0 + 1.0, 4.0 + 1.0]));
    let found = variables::a0(&net, &x);
    assert_eq!(found, variables::Net { w: array![0.0, value * 0.5f64.sin()], k: 3 });
    assert_eq!(variables::r0(&x, &array![1, 0]), 2.0);
    assert_eq!(value_and_grad(variables::x)(2.0), (6.0, 5.0));
    assert!(check_grad(variables::a0, (&net, &x)).unwrap().agrees(1e-6));
    assert!(check_grad(variables::r0, (&x, &array![1, 0])).unwrap().agrees(1e-6));
    assert_eq!(hessian(variables::v0)(&array![1.0, 2.0]), array![[4.0, 1.0], [1.0, 2.0]]);
}

/// Kernels named as modules of the generated code of kernels with a `usize`.
mod modules {
    use array_dsl::prelude::*;

    #[kernel]
    pub fn value(x: f64, times: usize) -> f64 {
        x * times as f64
    }

    #[kernel]
    pub fn kernel(x: f64, times: usize) -> f64 {
        value(x, times) + x
    }
}

#[test]
fn kernels_named_as_modules() {
    assert_eq!(value_and_grad(modules::kernel)(2.0, 3), (8.0, 4.0));
}
