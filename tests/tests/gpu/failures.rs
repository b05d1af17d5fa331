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

#[kernel]
fn found_and_squared(table: [f32; n], at: i64) -> (f32, [f32; n]) {
    (table[at], table * table)
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Found {
    value: f32,
    #[shape(n)]
    others: Array1<f32>,
}

#[kernel]
fn record_of(table: [f32; n], at: i64) -> Found {
    Found { value: table[at], others: table + 1.0 }
}

#[kernel]
fn used(record: &Found) -> f32 {
    record.value + sum(record.others)
}

#[test]
fn every_result_of_a_run_carries_its_error_and_no_other_does() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let table = gpu.upload(&array![1.0f32, 2.0]).unwrap();
    let (value, squares) = gpu.run(found_and_squared, (&table, 5)).unwrap();
    let good = gpu.run(looked_up, (&table, &gpu.upload(&array![1]).unwrap())).unwrap();
    let copy = squares.clone();
    assert_eq!(good.download().unwrap(), array![4.0]);
    for _ in 0..2 {
        for error in
            [copy.download().unwrap_err(), squares.download().unwrap_err(), value.item().unwrap_err()]
        {
            assert!(error.to_string().contains("index 5 is out of range for length 2"), "{error}");
        }
    }
    // Scalars of records stay on the device, and so does what is wrong with them.
    let record = gpu.run(record_of, (&table, -1)).unwrap();
    let sum = gpu.run(used, (&record,)).unwrap();
    for error in [sum.item().unwrap_err(), record.download().unwrap_err(), record.value.item().unwrap_err()] {
        assert!(error.to_string().contains("index -1 is out of range for length 2"), "{error}");
    }
    let record = gpu.run(record_of, (&table, 1)).unwrap();
    assert_eq!(gpu.run(used, (&record,)).unwrap().item().unwrap(), 7.0);
}

#[kernel]
fn kept(x: [i32; n]) -> [i32; _] {
    filter(|v| 10 / v > 1, x)
}

/// The length of a result is waited for, and so is what went wrong before it.
#[test]
fn a_size_that_a_failed_run_computes_is_its_error() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let run = |x| gpu.run(kept, (&gpu.upload(&x).unwrap(),)).and_then(|k| k.download());
    let error = run(array![4, 0, 2]).unwrap_err().to_string();
    assert!(error.contains("integer division by zero"), "{error}");
    assert_eq!(run(array![4, 20, 2]).unwrap(), array![4, 2]);
}

#[kernel]
fn chain(x: [f32; n], at: [i32; m], trips: usize) -> f32 {
    let mut s = 0.0;
    for k in 0..trips {
        s = sin(s) + x[at[k % m] as usize];
    }
    s
}

#[kernel]
fn chain_of_arrays(x: [f32; n], at: [i32; m], trips: usize) -> [f32; n] {
    let mut y = x;
    for k in 0..trips {
        y = map(|v| 0.5 * v + x[at[k % m] as usize], rotate(y, 1));
    }
    y
}

#[kernel]
fn all_of_them(x: [f32; n], at: [i32; m], count: usize) -> f32 {
    sum(build(count, |i| sin(x[at[i % m] as usize] + i as f32)))
}

/// Each would go on for minutes or days.
#[test]
fn loops_end_soon_after_a_failure() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let x = gpu.upload(&array![1f32, 2.0]).unwrap();
    let at = gpu.upload(&array![0, 1, 7]).unwrap();
    let results = [
        gpu.run(chain, (&x, &at, 1 << 30)).and_then(|r| r.item()),
        gpu.run(chain_of_arrays, (&x, &at, 1 << 30)).and_then(|r| r.download()).map(|_| 0.0),
        gpu.run(all_of_them, (&x, &at, 1 << 30)).and_then(|r| r.item()),
    ];
    for result in results {
        let error = result.unwrap_err().to_string();
        assert!(error.contains("index 7 is out of range for length 2"), "{error}");
    }
    assert_eq!(x.download().unwrap(), array![1.0, 2.0]);
}

#[kernel]
fn endless(x: [f32; n]) -> i32 {
    let mut k = 0;
    while sum(x) > 0.0 {
        k += 1;
    }
    k
}

#[test]
fn a_loop_that_never_ends_is_an_error() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    gpu.set_most_trips(1000);
    let x = gpu.upload(&array![1f32]).unwrap();
    let error = gpu.run(endless, (&x,)).unwrap_err();
    assert_eq!(error, Error::TooManyTrips { kernel: "endless", trips: 1000 });
    assert!(error.to_string().contains("`Gpu::set_most_trips`"), "{error}");
    let x = gpu.upload(&array![-1f32]).unwrap();
    assert_eq!(gpu.run(endless, (&x,)).and_then(|k| k.item()), Ok(0));
}

#[kernel]
fn counted_down(from: i32) -> i32 {
    let mut k = from;
    while k > 0 {
        k -= 1;
    }
    k
}

#[test]
fn a_loop_may_make_the_most_trips() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    for most in [0u64, 1, 2, 40] {
        gpu.set_most_trips(most);
        assert_eq!(gpu.run(counted_down, (most as i32,)).and_then(|k| k.item()), Ok(0));
        let more = gpu.run(counted_down, (most as i32 + 1,)).and_then(|k| k.item());
        assert_eq!(more, Err(Error::TooManyTrips { kernel: "counted_down", trips: most }));
    }
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
    let error = gpu.run(counting, (1i64 << 31,)).unwrap_err().to_string();
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
