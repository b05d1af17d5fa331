//! What goes wrong on a GPU is the same error as on the CPU, and what a GPU cannot do is refused with a reason.

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, ArrayView1, array};

use super::agreement::{Argument, Fetch, Lend, is_skipped, on, own_gpu};
use array_dsl::GpuKernel;

/// The error of a kernel on a device of its own, which must be the one on the CPU.
#[track_caller]
fn same_error<K, A>(kernel: K, arguments: A) -> String
where
    K: GpuKernel,
    A: Argument + 'static,
    A::Device: 'static,
    for<'a> A: Lend<Lent<'a> = K::Args<'a>>,
    for<'a> A::Device: Lend<Lent<'a> = K::GpuArgs<'a>>,
    K::GpuOutput: Fetch,
{
    let Err(expected) = Cpu.run(kernel, arguments.lend()) else { panic!("no error on the CPU") };
    let Err(found) = on(&own_gpu(), kernel, &arguments) else { panic!("no error on the GPU") };
    assert_eq!(found, expected);
    found.to_string()
}

const READ_LINE: u32 = line!() + 4;

#[kernel]
fn looked_up(table: [f32; n], at: [i32; k]) -> [f32; k] {
    map(|i| table[i as usize] * 2.0, at)
}

#[kernel]
fn element(a: [[f32; m]; n], i: i64, j: i64) -> f32 {
    a[i][j]
}

#[kernel]
fn quotients(a: [i32; n], b: [i32; n]) -> [i32; n] {
    a / b
}

#[kernel]
fn place(a: [[f32; m]; n]) -> [i32; n] {
    map(|row| argmax(row) as i32, a)
}

#[test]
fn an_index_out_of_range() {
    if is_skipped() {
        return;
    }
    let table = array![1.0, 2.0, 3.0];
    for (at, index) in [(array![0, 7, 1], 7), (array![-1, 2, 0], -1)] {
        let text = same_error(looked_up, (table.clone(), at.clone()));
        let range = format!("kernel `looked_up`: index {index} is out of range for length 3");
        assert!(text.contains(&range) && text.contains(&format!("failures.rs:{READ_LINE}")), "{text}");
        same_error(vjp(looked_up), (table.clone(), at.clone(), Array1::ones(3)));
        same_error(jvp(looked_up), (table.clone(), at, Array1::ones(3)));
    }
    let a = Array2::zeros((2, 3));
    for (i, j) in [(2i64, 0i64), (0, 3), (-1, 1), (1, -1)] {
        same_error(element, (a.clone(), i, j));
        same_error(grad(element), (a.clone(), i, j));
    }
}

#[test]
fn integer_division_by_zero_and_the_place_of_nothing() {
    if is_skipped() {
        return;
    }
    let text = same_error(quotients, (array![1, 2], array![1, 0]));
    assert!(text.contains("integer division by zero"), "{text}");
    let text = same_error(place, (Array2::zeros((2, 0)),));
    assert!(text.contains("m = 0 must be at least 1"), "{text}");
}

#[test]
fn a_download_reports_an_error_once() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let table = gpu.upload(&array![1.0f32, 2.0]).unwrap();
    let bad = gpu.run(looked_up, (&table, &gpu.upload(&array![5]).unwrap())).unwrap();
    let good = gpu.run(looked_up, (&table, &gpu.upload(&array![1]).unwrap())).unwrap();
    // The next download of whatever array reports it; then the device is as good as new.
    let error = good.download().unwrap_err();
    assert!(error.to_string().contains("index 5 is out of range for length 2"), "{error}");
    assert_eq!(good.download().unwrap(), array![4.0]);
    assert!(bad.download().is_ok());
}

// Sizes.

#[kernel]
fn paired(x: [f32; n], y: [f32; n]) -> f32 {
    dot(x, y)
}

#[test]
fn sizes_that_differ() {
    if is_skipped() {
        return;
    }
    let text = same_error(paired, (Array1::ones(3), Array1::ones(4)));
    let expected = "kernel `paired`: argument `y`, dimension 0: expected n = 3 (from argument `x`), found 4";
    assert!(text.starts_with(expected), "{text}");
    same_error(value_and_grad(paired), (Array1::ones(3), Array1::ones(4)));
}

#[kernel]
fn counting(count: usize) -> [f32; count] {
    build(count, |i| i as f32)
}

#[kernel]
fn table_of(x: [f32; n], y: [f32; m]) -> [[f32; m]; n] {
    outer(x, y)
}

#[test]
fn arrays_that_are_too_large() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let before = gpu.statistics();
    // A view of one element that claims to be 2^31 of them.
    let one = [1f32];
    let huge = ArrayView1::from(&one[..]);
    let huge = huge.broadcast(1 << 31).unwrap();
    let error = gpu.upload(&huge).unwrap_err();
    assert!(matches!(error, Error::TooLargeForGpu { elements: 2_147_483_648, .. }), "{error}");
    let error = gpu.run(counting, (1 << 31,)).unwrap_err().to_string();
    assert!(
        error.contains("`counting`") && error.contains("2147483648 points has more than 2^30"),
        "{error}"
    );
    assert_eq!(gpu.statistics().bytes_allocated, before.bytes_allocated);
    let x = gpu.upload(&Array1::<f32>::zeros(70_000)).unwrap();
    let before = gpu.statistics();
    let error = gpu.run(table_of, (&x, &x)).unwrap_err();
    assert!(error.to_string().contains("4900000000 points"), "{error}");
    assert_eq!(gpu.statistics().bytes_allocated, before.bytes_allocated);
}
