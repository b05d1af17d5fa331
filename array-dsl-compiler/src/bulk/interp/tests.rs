//! Small programs: what they give, and what is counted.

use super::*;
use crate::bulk::parse::parse;
use crate::bulk::verify::check;
use crate::ty::Elem;

fn program(text: &str) -> Program {
    let p = parse(text).expect("it parses");
    assert_eq!(check(&p), [""; 0]);
    p
}

fn floats(shape: &[usize], data: &[f64]) -> Value {
    Value::from_f64(Elem::F64, shape.to_vec(), data).expect("as many elements as the shape has")
}

fn ints(shape: &[usize], data: &[i64]) -> Value {
    Value::from_i64(Elem::I64, shape.to_vec(), data).expect("as many elements as the shape has")
}

#[test]
fn a_product_counts_its_terms() {
    let p = program(
        "program matmul(a.0: [n][k]f64, b.1: [k][m]f64) sizes n, k, m
         c.2: [n][m]f64 = nest [%0 < n, %1 < m, %2 < k] {
           %3 = a.0[%0, %2]; %4 = b.1[%2, %1]; %5 = mul %3 %4 } reduce(add) 1 %5
         => c.2",
    );
    let args = [floats(&[2, 3], &[1., 2., 3., 4., 5., 6.]), floats(&[3, 2], &[1., 0., 0., 1., 2., 2.])];
    let (results, counts) = run_counted(&p, &args).expect("it runs");
    assert_eq!(results, [floats(&[2, 2], &[7., 8., 16., 17.])]);
    let expected = Counts {
        scalar_ops: 24,
        control: 0,
        regrouping: 0,
        reads: 24,
        updates: 0,
        elements_allocated: 4,
        largest: 4,
    };
    assert_eq!(counts, expected);
    let wrong = [args[0].clone(), floats(&[2, 3], &[0.; 6])];
    assert!(matches!(run(&p, &wrong), Err(Fault::SizeCheck { .. })));
}

/// From the end, by affine maps of which the first component alone is stored.
#[test]
fn what_only_regrouping_needs_and_addresses_are_no_work() {
    let p = program(
        "program f(x.0: [n]f64) sizes n
         y.1: [n]f64 = nest [%0 < n] {
           %1 = size n - 1; %2 = sub %1 %0; %3 = x.0[%2]
           %4, %5 = scan inclusive [%6 = 0.0f64, %7 = 1.0f64] [%8 = %3, %9 = %3] {
             %10 = mul %9 %6; %11 = add %8 %10; %12 = mul %9 %7 => %11, %12 }
         } store %4
         => y.1",
    );
    let (results, counts) = run_counted(&p, &[floats(&[3], &[2., 3., 4.])]).expect("it runs");
    assert_eq!(results, vec![floats(&[3], &[4., 15., 32.])]);
    let expected = Counts {
        scalar_ops: 6,
        control: 3,
        regrouping: 3,
        reads: 3,
        updates: 0,
        elements_allocated: 3,
        largest: 3,
    };
    assert_eq!(counts, expected);
}

#[test]
fn rows_reduce_accumulate_and_write() {
    let p = program(
        "program f(x.0: [n][m]f64, k.1: [n]i64) sizes n, m
         nest [%0 < n, %1 < m] { %2 = x.0[%0, %1] } yields (
           s.2: f64 = reduce(add) 2 %2,
           b.3: [n]i64 = reduce(argmax) 1 %2,
           t.4: [n][m]f64 = store %2,
         )
         z.5: [3]f64 = nest [%3 < 3] { } store 10.0f64
         nest [%4 < n] { %5 = k.1[%4]; %6 = x.0[%4, 0]? } yields (
           h.6: [3]f64 = accumulate(add) z.5[%5] %6,
           w.7: [3]f64 = overwrite z.5[%5] %6,
         )
         v.8: [m * n]f64 = reshape t.4
         => (s.2, b.3, h.6, w.7, v.8)",
    );
    let x = floats(&[4, 2], &[1., 2., 5., 4., 3., 3., 7., 8.]);
    let (r, counts) = run_counted(&p, &[x.clone(), ints(&[4], &[1, 1, -1, 3])]).expect("it runs");
    assert_eq!(r[0], floats(&[], &[33.]));
    assert_eq!(r[1], ints(&[4], &[1, 0, 0, 1]));
    assert_eq!(r[2], floats(&[3], &[10., 16., 10.]));
    assert_eq!(r[3], floats(&[3], &[10., 5., 10.]));
    assert_eq!(r[4], floats(&[8], x.to_f64().as_slice()));
    assert_eq!(
        counts,
        Counts {
            scalar_ops: 16,
            control: 0,
            regrouping: 0,
            reads: 16,
            updates: 8,
            elements_allocated: 22,
            largest: 8
        }
    );
    let empty = run(&p, &[floats(&[0, 0], &[]), ints(&[0], &[])]).expect("nothing to reduce");
    assert_eq!((empty[0].to_f64(), empty[2].to_f64()), (vec![0.], vec![10.; 3]));
    let largest = program(
        "program g(x.0: [n][m]f64) sizes n, m
         b.1: [n]i64 = nest [%0 < n, %1 < m] { %2 = x.0[%0, %1] } reduce(argmax) 1 %2
         => b.1",
    );
    assert_eq!(run(&largest, &[floats(&[2, 0], &[])]), Ok(vec![ints(&[2], &[0, 0])]));
}

#[test]
fn branches_are_lazy_and_reads_and_sizes_are_checked() {
    let text = "program f(x.0: [n]i64, k.1: i64) sizes n
         check 0 <= k.1
         y.2: [k.1]i64 = nest [%0 < k.1] {
           %1 = x.0[%0]?
           %2 = ne %1 0
           %3 = if %2 { %4 = div 12 %1 => %4 } else { => -1 }
         } store %3
         => y.2";
    let p = program(text);
    let x = ints(&[3], &[3, 0, 5]);
    let k = |k: i64| ints(&[], &[k]);
    assert_eq!(run(&p, &[x.clone(), k(3)]), Ok(vec![ints(&[3], &[4, -1, 2])]));
    let outside = Fault::IndexOutOfRange { index: 3, len: 3, loc: Loc(0) };
    assert_eq!(run(&p, &[x.clone(), k(4)]), Err(outside));
    assert!(matches!(run(&p, &[x.clone(), k(-1)]), Err(Fault::SizeCheck { .. })));
    let guarded = program(
        "program g(x.0: [n][m]f64) sizes n, m
         check nonnegative m - 1 if n > 0
         s.1: [n]f64 = nest [%0 < n, %1 < m - 1] { %2 = x.0[%0, %1] } reduce(add) 1 %2
         => s.1",
    );
    assert_eq!(run(&guarded, &[floats(&[0, 0], &[])]), Ok(vec![floats(&[0], &[])]));
    assert!(matches!(run(&guarded, &[floats(&[1, 0], &[])]), Err(Fault::SizeCheck { .. })));
    let unchecked = run(&program(&text.replace("]?", "]")), &[x, k(4)]).expect_err("it is outside");
    assert!(unchecked.to_string().contains("unchecked read out of range"), "{unchecked}");
}
