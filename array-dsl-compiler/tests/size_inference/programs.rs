//! The example programs: the inferred type of each, the checks that are left for the running program, and sample runs.

use array_dsl_compiler::testing::kernels::kernel;

use super::{checks, equalities, fails, floats, gives, gives_integers, int, refused, shape};

pub const RUNNING: &str = "
    fn joined(xs: [f64; n], ys: [f64; m]) -> [f64; n + m] {
        build(n + m, |i| if i < n { xs[i] } else { ys[i - n] })
    }
    fn both(vss: [[f64; k]; m]) -> [f64; _] {
        let (ys, zs) = map(|vs| (sum(vs), prod(vs)), vss);
        joined(ys, zs)
    }
    fn f(vsss: [[[f64; k]; m]; n]) -> [[f64; _]; _] { map(|vss| both(vss), vsss) }";

#[test]
fn s1_the_running_example() {
    let f = kernel(RUNNING);
    assert_eq!(shape(&f), "[n, 2 * m]");
    assert!(checks(&f).is_empty());
    let square = floats(&[2, 2, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    gives(&f, &[square], &[2, 4], &[3.0, 7.0, 2.0, 12.0, 11.0, 15.0, 30.0, 56.0]);
    let narrow = [1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 0.0, 2.0, 2.0, 2.0, 2.0, 2.0];
    gives(&f, &[floats(&[3, 1, 4], &narrow)], &[3, 2], &[10.0, 24.0, 3.0, 0.0, 8.0, 16.0]);
    // Declared, the size is compared with the inferred one when the kernel is compiled.
    let declared = |size: &str| RUNNING.replace("[[f64; _]; _]", &format!("[[f64; {size}]; n]"));
    assert!(checks(&kernel(&declared("m + m"))).is_empty());
    refused(&declared("2 * m + 1"), &["AD0007", "2 * m + 1"]);
}

/// An array has one shape, so both branches must have it: the pairs of sizes that differ are compared once each.
#[test]
fn s2_branches_of_different_shapes() {
    let f = kernel(
        "fn f(c: i64, x: usize, y: usize) -> [[i64; _]; _] {
            if c == 1 { replicate(x, iota(y)) } else { replicate(y, iota(x)) }
        }",
    );
    assert_eq!(shape(&f), "[x, y]");
    assert_eq!(equalities(&f), ["y == x"]);
    for c in [0, 1] {
        gives_integers(&f, &[int(c), int(2), int(2)], &[2, 2], &[0, 1, 0, 1]);
        fails(&f, &[int(c), int(2), int(3)], &["y == x", "3 and 2"]);
    }
    // Named sizes that differ are refused at once.
    refused(
        "fn f(c: i64, a: [f64; x], b: [f64; y]) -> [[f64; _]; _] {
            if c == 1 { replicate(x, b) } else { replicate(y, a) }
        }",
        &["AD0008", "`x`", "`y`", "branches"],
    );
}

#[test]
fn s2b_branches_of_one_shape() {
    let f = kernel(
        "fn f(c: i64, a: [i64; n]) -> [i64; _] { if c == 1 { iota(n) } else { map(|i| 3 * i, iota(n)) } }",
    );
    assert_eq!(shape(&f), "[n]");
    assert!(checks(&f).is_empty());
    let a = super::ints(&[9, 9, 9]);
    gives_integers(&f, &[int(1), a.clone()], &[3], &[0, 1, 2]);
    gives_integers(&f, &[int(0), a], &[3], &[0, 3, 6]);
}

#[test]
fn s3_two_names_used_as_one() {
    refused(
        "fn f(a: [f64; n], b: [f64; m]) -> [f64; _] { map(mul, a, b) }",
        &["AD0008", "`map`", "`n`", "`m`"],
    );
    let (a, b) = (floats(&[2], &[1.0, 2.0]), floats(&[2], &[3.0, 4.0]));
    let longer = floats(&[3], &[3.0, 4.0, 5.0]);
    for (source, inferred, check) in [
        ("fn f(a: [f64; _], b: [f64; _]) -> [f64; _] { map(mul, a, b) }", "[#a.0]", "#b.0 == #a.0"),
        (
            "fn f(a: [f64; n], b: [f64; m]) -> [f64; _] { let b: [f64; n] = b; map(mul, a, b) }",
            "[n]",
            "m == n",
        ),
    ] {
        let f = kernel(source);
        assert_eq!(shape(&f), inferred);
        assert_eq!(checks(&f), [check]);
        gives(&f, &[a.clone(), b.clone()], &[2], &[3.0, 8.0]);
        fails(&f, &[a.clone(), longer.clone()], &["3 and 2"]);
    }
}

#[test]
fn s4_one_name() {
    let f = kernel("fn f(a: [f64; n], b: [f64; n]) -> [f64; _] { map(mul, a, b) }");
    assert_eq!(shape(&f), "[n]");
    assert!(checks(&f).is_empty());
    let (a, b) = (floats(&[2], &[1.0, 2.0]), floats(&[1], &[3.0]));
    gives(&f, &[a.clone(), a.clone()], &[2], &[1.0, 4.0]);
    fails(&f, &[a, b], &["argument `b`, dimension 0: expected n = 2, found 1"]);
}

/// Rows have one length, whatever the numbers are: where it depends on them, no check could help.
#[test]
fn s5_rows_of_different_lengths() {
    refused(
        "fn f(ns: [i64; n]) -> [[i64; _]; n] { map(|q| iota(q), ns) }",
        &["AD0009", "an element of `ns`", "rows"],
    );
    refused("fn f(ns: [i64; n]) -> [[i64; _]; n] { iota(ns) }", &["AD0009", "an element of `ns`"]);
    // A length that is the same for all rows is an argument, and the rows are masked.
    let f = kernel(
        "fn f(ns: [i64; n], most: usize) -> [[i64; _]; _] {
            map(|q| build(most, |i| if i < q { i } else { -1 }), ns)
        }",
    );
    assert_eq!(shape(&f), "[n, most]");
    gives_integers(&f, &[super::ints(&[1, 2]), int(2)], &[2, 2], &[0, -1, 0, 1]);
    gives_integers(&f, &[super::ints(&[]), int(2)], &[0, 2], &[]);
}

#[test]
fn s6_filter() {
    let f = kernel("fn f(a: [f64; n]) -> [f64; _] { filter(|v| v < 0.0, a) }");
    assert_eq!(shape(&f), "[kept]");
    assert!(checks(&f).is_empty());
    gives(&f, &[floats(&[5], &[1.0, -2.0, 3.0, -4.0, -5.0])], &[3], &[-2.0, -4.0, -5.0]);
    gives(&f, &[floats(&[2], &[1.0, 2.0])], &[0], &[]);
}

/// Also where the size would not leave the row: the message says how to sum with the rest masked.
#[test]
fn s6b_a_filter_for_each_row() {
    refused(
        "fn f(a: [[f64; m]; n]) -> [f64; n] { map(|r| sum(filter(|v| v < 0.0, r)), a) }",
        &["AD0009", "`filter`", "sum(map(|x| if p(x) { x } else { 0.0 }, xs))"],
    );
    let f = kernel(
        "fn f(a: [[f64; m]; n]) -> [f64; _] { map(|r| sum(map(|x| if x < 0.0 { x } else { 0.0 }, r)), a) }",
    );
    assert_eq!(shape(&f), "[n]");
    assert!(checks(&f).is_empty());
    gives(&f, &[floats(&[2, 3], &[1.0, -1.0, -2.0, -3.0, 4.0, 5.0])], &[2], &[-3.0, -3.0]);
}

#[test]
fn s6c_filtered_rows() {
    refused(
        "fn f(a: [[f64; m]; n]) -> [[f64; _]; n] { map(|r| filter(|v| v < 0.0, r), a) }",
        &["AD0009", "`filter`", "differ in length"],
    );
}

#[test]
fn s6d_two_filters() {
    let f = kernel("fn f(a: [f64; n]) -> [f64; _] { filter(|v| v < 0.0, a) + filter(|v| v < 1.0, a) }");
    assert_eq!(shape(&f), "[kept]");
    assert_eq!(checks(&f), ["kept == kept"]);
    gives(&f, &[floats(&[3], &[-1.0, 2.0, -3.0])], &[2], &[-2.0, -6.0]);
    fails(&f, &[floats(&[3], &[-1.0, 0.0, -3.0])], &["kept", "3 and 2"]);
}

/// A variable keeps its sizes: with each trip twice as long it can only be empty. What grows is built at once.
#[test]
fn s7_a_loop_that_grows() {
    let f = kernel(
        "fn f(a: [f64; n], t: usize) -> [f64; _] {
            let mut s = a;
            for _ in 0..t { s = concat(s, s); }
            s
        }",
    );
    assert_eq!(shape(&f), "[n]");
    assert_eq!(checks(&f), ["2 * n == n when t"]);
    let a = floats(&[3], &[1.0, 2.0, 3.0]);
    fails(&f, &[a.clone(), int(2)], &["6 and 3"]);
    gives(&f, &[a.clone(), int(0)], &[3], &[1.0, 2.0, 3.0]);
    gives(&f, &[floats(&[0], &[]), int(2)], &[0], &[]);
    // By a constant it is refused at once.
    refused(
        "fn f(a: [f64; n], t: usize) -> [f64; _] {
            let mut s = a;
            for _ in 0..t { s = concat(s, [0.0]); }
            s
        }",
        &["AD0020", "`s`", "expected n, found n + 1"],
    );
    let f = kernel("fn f(a: [f64; n], t: usize) -> [f64; _] { build(n * (1 << t), |i| a[i % n]) }");
    gives(&f, &[a, int(2)], &[12], &[1.0, 2.0, 3.0].repeat(4));
}

#[test]
fn s8_a_loop_that_keeps_its_size() {
    let f = kernel(
        "fn f(a: [f64; n], t: usize) -> [f64; _] {
            let mut s = a;
            for _ in 0..t { s = map(|v| v * 2.0, s); }
            s
        }",
    );
    assert_eq!(shape(&f), "[n]");
    assert!(checks(&f).is_empty());
    gives(&f, &[floats(&[2], &[1.0, 3.0]), int(3)], &[2], &[8.0, 24.0]);
    gives(&f, &[floats(&[2], &[1.0, 3.0]), int(0)], &[2], &[1.0, 3.0]);
}

#[test]
fn s9_a_reshape_that_the_normal_form_decides() {
    let f = kernel("fn f(a: [[f64; m]; n]) -> [f64; _] { reshape(a, (m * n,)) }");
    assert_eq!(shape(&f), "[m * n]");
    assert!(checks(&f).is_empty());
    gives(&f, &[floats(&[2, 1], &[1.0, 2.0])], &[2], &[1.0, 2.0]);
}

#[test]
fn s9b_sums_commute() {
    let f = kernel("fn f(a: [f64; n], b: [f64; m]) -> [f64; _] { concat(a, b) - concat(b, a) }");
    assert_eq!(shape(&f), "[m + n]");
    assert!(checks(&f).is_empty());
    gives(&f, &[floats(&[1], &[1.0]), floats(&[2], &[5.0, 7.0])], &[3], &[-4.0, -2.0, 6.0]);
}

#[test]
fn s10_a_reshape_that_is_checked() {
    let f = kernel("fn f(a: [f64; n], p: usize, q: usize) -> [[f64; _]; _] { reshape(a, (p, q)) }");
    assert_eq!(shape(&f), "[p, q]");
    assert_eq!(equalities(&f), ["n == p * q"]);
    let a = floats(&[6], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    gives(&f, &[a.clone(), int(3), int(2)], &[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    fails(&f, &[a.clone(), int(4), int(2)], &["n", "p * q", "6 and 8"]);
    // Two negative sizes have the right product.
    fails(&f, &[a, int(-3), int(-2)], &["p"]);
}

#[test]
fn s11_constants_that_differ() {
    refused(
        "fn f(a: [f64; 3], b: [f64; 4]) -> [f64; _] { map(mul, a, b) }",
        &["AD0007", "`map`", "expected size 3, found 4"],
    );
}

#[test]
fn s12_a_size_that_can_be_negative() {
    let f = kernel("fn f(a: [f64; n]) -> [f64; _] { map(|i| a[i + 1] - a[i], iota(n - 1)) }");
    assert_eq!(shape(&f), "[n - 1]");
    assert_eq!(checks(&f), ["0 <= n - 1"]);
    gives(&f, &[floats(&[4], &[1.0, 4.0, 9.0, 16.0])], &[3], &[3.0, 5.0, 7.0]);
    gives(&f, &[floats(&[1], &[7.0])], &[0], &[]);
    fails(&f, &[floats(&[0], &[])], &["n - 1", "0 and -1"]);
}

#[test]
fn s13_a_scan_of_rows() {
    let f = kernel("fn f(a: [[f64; m]; n]) -> [[f64; _]; _] { scan(add, zeros(m), a) }");
    assert_eq!(shape(&f), "[n, m]");
    assert!(checks(&f).is_empty());
    gives(&f, &[floats(&[2, 2], &[1.0, 2.0, 10.0, 20.0])], &[2, 2], &[1.0, 2.0, 11.0, 22.0]);
}

#[test]
fn s14_a_reduction_of_rows() {
    let f = kernel("fn f(a: [[f64; m]; n], p: usize) -> [f64; _] { reduce(add, zeros(p), a) }");
    assert_eq!(equalities(&f), ["m == p"]);
    let a = floats(&[2, 2], &[1.0, 2.0, 10.0, 20.0]);
    gives(&f, &[a.clone(), int(2)], &[2], &[11.0, 22.0]);
    fails(&f, &[a.clone(), int(3)], &["m", "p"]);
    fails(&f, &[a, int(-1)], &["p"]);
    gives(&f, &[floats(&[0, 2], &[]), int(2)], &[2], &[0.0, 0.0]);
    // Where the neutral element has the rows' own size there is nothing to check.
    let f = kernel("fn f(a: [[f64; m]; n]) -> [f64; _] { reduce(add, zeros(m), a) }");
    assert_eq!(shape(&f), "[m]");
    assert!(checks(&f).is_empty());
}

#[test]
fn s15_a_product_of_matrices() {
    let f = kernel(
        "fn f(a: [[f64; k]; n], b: [[f64; m]; k]) -> [[f64; _]; _] {
            map(|row| map(|column| sum(row * column), transpose(b)), a)
        }",
    );
    assert_eq!(shape(&f), "[n, m]");
    assert!(checks(&f).is_empty());
    let (a, b) = (floats(&[1, 2], &[1.0, 2.0]), floats(&[2, 2], &[3.0, 4.0, 5.0, 6.0]));
    gives(&f, &[a.clone(), b.clone()], &[1, 2], &[13.0, 16.0]);
    fails(&f, &[a.clone(), a], &["argument `b`, dimension 0: expected k = 2, found 1"]);
}

/// The check leaves both maps, for the call; only where both have points is it made.
#[test]
fn s15b_a_product_of_matrices_of_unnamed_sizes() {
    let f = kernel(
        "fn f(a: [[f64; _]; n], b: [[f64; m]; _]) -> [[f64; _]; _] {
            map(|row| map(|column| sum(row * column), transpose(b)), a)
        }",
    );
    assert_eq!(shape(&f), "[n, m]");
    assert_eq!(checks(&f), ["#b.0 == #a.1 when n, m"]);
    let (a, b) = (floats(&[1, 2], &[1.0, 2.0]), floats(&[2, 2], &[3.0, 4.0, 5.0, 6.0]));
    gives(&f, &[a.clone(), b.clone()], &[1, 2], &[13.0, 16.0]);
    fails(&f, &[a.clone(), a.clone()], &["1 and 2"]);
    gives(&f, &[floats(&[0, 3], &[]), b.clone()], &[0, 2], &[]);
    gives(&f, &[a, floats(&[3, 0], &[])], &[1, 0], &[]);
}
