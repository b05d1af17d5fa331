//! A parameter that is declared as `usize` takes any integer at the host, in every form of a call; what is negative, or beyond an
//! `i64`, is an error that names the argument.

use array_dsl::prelude::*;
use array_dsl::{Sparsity, sparse_hessian, sparse_jacobian};
use ndarray::{Array1, Array2, array};

#[kernel(hvp, jacobian, hessian)]
fn power(x: [f64; n], times: usize) -> f64 {
    let mut y = x;
    for _ in 1..times {
        y = y * x;
    }
    y.sum()
}

#[kernel(vmap)]
fn times(x: [f64; n], by: usize) -> [f64; n] {
    x * by as f64
}

#[kernel]
fn rows(x: [f64; n], count: usize, at: (usize, f64)) -> [[f64; n]; count] {
    let mut y = replicate(count, x);
    y[at.0] = at.1 * x;
    y
}

#[kernel]
fn without(n: usize, k: i64) -> [i64; n] {
    k + iota(n)
}

#[kernel(f32, f64)]
fn raised<T: Float>(x: T, times: usize) -> T {
    let mut y = 1.0;
    for _ in 0..times {
        y = y * x;
    }
    y
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Line {
    slope: f64,
    at: Array1<f64>,
}

const SHIFT: f64 = 2.0;

#[kernel]
fn along(line: &Line, count: usize, from: usize) -> ([f64; count], Line) {
    (build(count, |i| SHIFT + line.slope * (from + i) as f64), line)
}

fn text<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn every_integer_type() {
    let x = array![1.0, 2.0, 3.0];
    for value in [
        power(&x, 3),
        power(&x, x.len()),
        power(&x, 3i8),
        power(&x, 3i16),
        power(&x, 3i32),
        power(&x, 3i64),
        power(&x, 3i128),
        power(&x, 3isize),
        power(&x, 3u8),
        power(&x, 3u16),
        power(&x, 3u32),
        power(&x, 3u64),
        power(&x, 3u128),
    ] {
        assert_eq!(value, 36.0);
    }
    assert_eq!(without(3, -1), array![-1, 0, 1]);
    assert_eq!(without(x.len(), 5i64), array![5, 6, 7]);
    assert_eq!(raised.of::<f32>()(2.0, 3u8), 8.0);
    assert_eq!(grad(raised.of::<f64>())(2.0, x.len()), 12.0);
}

#[test]
fn every_form_of_a_call() {
    let x = array![1.0, 2.0, 3.0];
    let cubes = array![3.0, 12.0, 27.0];
    assert_eq!(Cpu.run(power, (&x, x.len())).unwrap(), 36.0);
    assert_eq!(Cpu.run(power, (&x, 3)).unwrap(), 36.0);
    assert_eq!(grad(power)(&x, x.len()), cubes);
    assert_eq!(Cpu.run(grad(power), (&x, 3u32)).unwrap(), cubes);
    assert_eq!(value_and_grad(power)(&x, 3), (36.0, cubes.clone()));
    assert_eq!(vjp(power)(&x, x.len(), 2.0).1, 2.0 * &cubes);
    assert_eq!(jvp(power)(&x, 3u64, &array![1.0, 0.0, 0.0]), (36.0, 3.0));
    assert_eq!(hvp(power)(&x, 3, &array![1.0, 1.0, 0.0]), array![6.0, 12.0, 0.0]);
    assert_eq!(jacobian(power)(&x, 3usize), cubes);
    assert_eq!(hessian(power)(&x, x.len()), Array2::from_diag(&array![6.0, 12.0, 18.0]));
    check_grad(power, (&x, x.len())).unwrap().assert();
    let one_row = Sparsity::banded(1, 3, 0, 2);
    assert_eq!(
        sparse_jacobian(power, &one_row)(&x, x.len()).to_dense(),
        cubes.clone().insert_axis(ndarray::Axis(0))
    );
    let diagonal = Sparsity::banded(3, 3, 0, 0);
    assert_eq!(
        sparse_hessian(power, &diagonal)(&x, 3u8).to_dense(),
        Array2::from_diag(&array![6.0, 12.0, 18.0])
    );
    // A batch has an array of them, whose elements are as kernels count.
    assert_eq!(times(&x, x.len()), 3.0 * &x);
    assert_eq!(vmap(times)(&array![[1.0], [3.0]], &array![1, 2]), array![[1.0], [6.0]]);
    let two = array![[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]];
    assert_eq!(rows(&x, 2, (x.len() - 2, -1.0)), two);
    let mut out = Array2::zeros((2, 3));
    rows.call_into((&x, 2u16, (1, -1.0)), &mut out).unwrap();
    assert_eq!(out, two);
    assert_eq!(rows.shape((&x, x.len(), (0, 1.0))).unwrap(), [[Some(3), Some(3)]]);
    // One derivative for several calls settles on what they have in common.
    let slope = grad(power);
    assert_eq!(slope(&x, 3), slope(&x, x.len()));
}

#[test]
fn beside_records_and_constants() {
    let line = Line { slope: 2.0, at: array![1.0] };
    let (values, same) = along(&line, line.at.len() + 1, 1);
    assert_eq!((values, same), (array![4.0, 6.0], line.clone()));
    assert_eq!(
        text(Cpu.run(along, (&line, 1, -3))).split(" (").next().unwrap(),
        "kernel `along`: argument `from`: expected a number that is not negative, found -3"
    );
}

#[test]
fn what_says_nothing_of_arguments_is_not_ambiguous() {
    assert!(power.explain().contains("== typed and lifted =="));
    assert!(grad(power).explain().contains("power"));
    assert!(vmap(times).explain().contains("times"));
    fn name<K: Kernel>(_: K) -> &'static str {
        K::NAME
    }
    let of_i64: power = Default::default();
    assert_eq!((name(of_i64), format!("{of_i64:?}")), ("power", "power".to_string()));
}

#[test]
fn numbers_that_are_no_sizes_are_errors() {
    let x = array![1.0, 2.0];
    let of = |argument: &str, found: &str| {
        format!("kernel `rows`: argument `{argument}`: expected a number that is {found} (")
    };
    let at = (0, 1.0);
    for error in [
        text(Cpu.run(rows, (&x, -1, at))),
        text(Cpu.run(rows, (&x, -1i8, at))),
        text(rows.shape((&x, -1i128, at))),
        text(rows.call_into((&x, -1isize, at), &mut Array2::zeros((1, 1)))),
        text(Cpu.run(vjp(rows), (&x, -1, at, &Array2::zeros((1, 1))))),
    ] {
        assert!(error.starts_with(&of("count", "not negative, found -1")), "{error}");
    }
    let error = text(Cpu.run(rows, (&x, 1, (-2, 1.0))));
    assert!(error.starts_with(&of("at.0", "not negative, found -2")), "{error}");
    let most = i64::MAX as u64;
    let error = text(Cpu.run(rows, (&x, most + 1, at)));
    assert!(error.starts_with(&of("count", "less than 2^63, found 9223372036854775808")), "{error}");
    let error = text(Cpu.run(rows, (&x, u128::MAX, at)));
    assert!(error.contains("found 340282366920938463463374607431768211455"), "{error}");
    // A number that has no meaning as a size is an error where it is none: the array cannot be.
    assert!(matches!(Cpu.run(rows, (&x, most, at)), Err(Error::SizeOverflow { .. })));
    assert!(
        text(check_grad(power, (&x, -1)))
            .contains("argument `times`: expected a number that is not negative")
    );
}

#[kernel]
fn on_device(x: [f32; n], count: usize, by: i32) -> [[f32; n]; count] {
    build((count, n), |i, j| x[j] * (i as i32 + by) as f32)
}

#[test]
fn on_a_gpu() {
    if std::env::var("ARRAY_DSL_GPU").is_ok_and(|v| v == "skip") {
        println!("skipped: ARRAY_DSL_GPU=skip");
        return;
    }
    let gpu = Gpu::new().expect("a GPU; set ARRAY_DSL_GPU=skip to do without");
    let x = array![1.0f32, 2.0];
    let expected = array![[1.0f32, 2.0], [2.0, 4.0]];
    let device = gpu.upload(&x).unwrap();
    for y in [
        gpu.run(on_device, (&device, 2, 1)),
        gpu.run(on_device, (&device, x.len(), 1)),
        gpu.run(on_device, (&device, device.len() as u8, 1)),
    ] {
        assert_eq!(y.unwrap().download().unwrap(), expected);
    }
    let ct = gpu.upload(&expected).unwrap();
    let (_, slope) = gpu.run(vjp(on_device), (&device, 2, 1, &ct)).unwrap();
    assert_eq!(slope.download().unwrap(), array![5.0, 10.0]);
    let error = text(gpu.run(on_device, (&device, -1, 1)));
    let start = "kernel `on_device`: argument `count`: expected a number that is not negative, found -1 (";
    assert!(error.starts_with(start), "{error}");
}

mod elsewhere {
    use array_dsl::prelude::*;

    #[kernel]
    pub fn counted(x: [f64; n], by: usize) -> f64 {
        x.sum() * by as f64
    }

    pub mod deeper {
        use array_dsl::prelude::*;

        #[derive(Record, Clone, Debug)]
        pub(in super::super) struct Pair {
            pub a: f64,
            pub b: f64,
        }

        #[kernel(jacobian)]
        pub(in super::super) fn summed(pair: &Pair, by: usize) -> f64 {
            (pair.a + pair.b) * by as f64
        }

        #[kernel]
        pub(super) fn scaled(pair: &Pair, by: usize) -> Pair {
            by as f64 * pair
        }

        #[kernel]
        pub(crate) fn tripled(x: f64, by: usize) -> f64 {
            3.0 * x * by as f64
        }
    }

    pub fn check() -> f64 {
        let pair = deeper::scaled(&deeper::Pair { a: 1.0, b: 2.0 }, 2u8);
        deeper::summed(&pair, 1) + deeper::tripled(1.0, 1)
    }
}

mod glob {
    use super::elsewhere::*;
    use array_dsl::grad;
    use ndarray::array;

    // Its name hides the one that is imported with all others.
    #[array_dsl::kernel]
    fn power(x: [f64; n], by: usize) -> f64 {
        counted(x, by + 1)
    }

    #[test]
    fn names_are_as_those_of_functions() {
        use super::elsewhere::counted as scaled;
        #[array_dsl::kernel]
        fn within(x: [f64; n], by: usize) -> f64 {
            power(x, by)
        }
        let x = array![1.0, 2.0];
        assert_eq!((power(&x, 1), counted(&x, x.len()), scaled(&x, 3u8)), (6.0, 6.0, 9.0));
        assert_eq!(within(&x, 1u8), 6.0);
        fn of<K: array_dsl::HasGrad>(_: K) -> K::Grad {
            K::Grad::default()
        }
        assert_eq!(of(scaled)(&x, 3), array![3.0, 3.0]);
        let pair = super::elsewhere::deeper::Pair { a: 1.0, b: 2.0 };
        let slope = grad(super::elsewhere::deeper::summed)(&pair, x.len());
        assert_eq!((slope.a, slope.b, super::elsewhere::check()), (2.0, 2.0, 9.0));
    }
}
