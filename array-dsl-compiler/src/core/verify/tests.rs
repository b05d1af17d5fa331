//! One broken rule at a time.

use super::super::parse::parse;
use super::super::*;
use super::check;
use crate::ty::{Elem, Loc};

/// `params` of a kernel with the sizes n, m and what follows the header.
fn errors_of(params: &str, result: &str, body: &str) -> Vec<String> {
    let text = format!("fn f({params}) -> {result} sizes n, m\n{body}");
    match parse(&text) {
        Ok(f) => check(&f),
        Err(e) => panic!("{e}\n{text}"),
    }
}

/// Array x, matrix a, scalar s, integer k, condition b.
const PARAMS: &str = "x.0: [n]f64, a.1: [n][m]f64, s.2: f64, k.3: i64, b.4: bool, v.5: [m]f64, u.6: u32";

fn errors(body: &str) -> Vec<String> {
    errors_of(PARAMS, "f64", body)
}

#[test]
fn accepts() {
    let good = [
        "=> s.2",
        "y.10: f64 = add(s.2, 1.0f64) => y.10",
        "y.10: [n][m]f64 = build [i.11 < n, j.12 < m] { e.13: f64 = a.1[i.11, j.12] => e.13 }
         z.14: f64, w.15: i64 = reduce (max, argmin) i.16 < m {
           t.17: f64 = reduce (add) j.18 < n { e.19: f64 = y.10[j.18, i.16] => e.19 } => t.17, s.2 }
         => z.14",
        "y.10: [n][m]f64 = build [i.11 < n] { r.12: [m]f64 = a.1[i.11] => r.12 } => s.2",
        "z.10: [k.3 + 1]f64 = build [i.11 < k.3 + 1] { => s.2 } check nonnegative(k.3) when n => s.2",
        "q.10: i64 = size n * m r.11: [q.10]f64 = reshape a.1 [q.10] check q.10 == n * m => s.2",
        "y.10: [m]f64 = if b.4 { => v.5 } else { t.11: [m]f64 = build [i.12 < m] { => s.2 } => t.11 } => s.2",
        "y.10: [n]f64 = scatter add into x.0 [i.11 < m] { e.12: f64 = v.5[i.11] => i.11, e.12 } => s.2",
        "y.10: f64 = powi(s.2, u.6) z.11: f64 = select(b.4, y.10, s.2) w.12: i32 = as_i32(z.11) => z.11",
        "y.10: [n]i64 = argsort x.0 z.11: [n][m]i64 = argsort a.1 => s.2",
        "y.10: f64 = stop_gradient s.2 z.11: [n]f64 = x.0 => y.10",
        "y.10: [n]f64, z.11: [n]bool = scan exclusive (min, or) i.12 < n { e.13: f64 = x.0[i.12] => e.13, b.4 } => s.2",
        // An operator may read outer arrays, choose, and repeat.
        "y.10: f64, j.11: i64 = fold (p.12: f64, q.13: i64; u.14: f64, w.15: i64) from 0.0f64, k.3 with {
           e.16: f64 = x.0[q.13]
           o.23: [m]f64 = a.1[w.15]
           e.24: f64 = o.23[0]
           r.17: f64 = if b.4 { t.18: f64 = add(p.12, u.14) => t.18 } else { => e.16 }
           v.19: f64 = loop for i.20 < w.15 with a.21: f64 from r.17 { => s.2 }
           n.22: i64 = size n
           => v.19, n.22
         } over i.30 < m { => s.2, i.30 }
         z.31: [n]f64 = fold inclusive (a.32: f64; c.33: f64) from s.2 with { => a.32 } over i.34 < n { => s.2 }
         => y.10",
        "y.10: [n]f64, z.11: f64 = loop for i.12 < k.3 with a.13: [n]f64 from x.0, c.14: f64 from s.2 {
           w.15: [n]f64 = update a.13[i.12] with c.14 => w.15, 1.0f64 }
         r.16: [n][m]f64 = update a.1[k.3] with v.5
         => z.11",
        "y.10: f64 = loop while { c.11: bool = lt(t.12, 9.0f64) => c.11 } with t.12: f64 from s.2 { => 10.0f64 } => y.10",
        // Of what depends on the point, the size is still in sight; and checks may stand there.
        "y.10: [q.11]f64, g.12: f64 = pullback x.13: f64 from s.2 {
           q.11: i64 = as_i64(x.13)
           check nonnegative(q.11)
           z.14: [q.11]f64 = build [i.15 < q.11] { => x.13 }
           c.16: [q.11]f64 = build [i.17 < q.11] { => 1.0f64 }
           => z.14, c.16
         }
         w.18: [q.11]f64 = build [i.19 < q.11] { e.20: f64 = y.10[i.19] => e.20 }
         => g.12",
        "y.10: f64, b.11: bool, t.12: f64 = pushforward x.13: f64 from s.2 along 1.0f64 {
           z.14: f64, g.15: f64 = pullback u.16: f64 from x.13 { => u.16, x.13 }
           => g.15, b.4
         } => t.12",
        "y.10: [n]f64 = build [i.11 < n] {
           z.12: f64, g.13: [m]f64 = pullback u.14: [m]f64 from v.5 { e.15: f64 = u.14[0] => e.15, s.2 }
           => z.12
         } => s.2",
        "y.10: f64 = fold (p.11: f64; q.12: f64) from 0.0f64 with {
           z.13: f64, g.14: f64 = pullback u.15: f64 from p.11 { => u.15, 1.0f64 } => g.14
         } over i.16 < m { => s.2 } => y.10",
    ];
    for body in good {
        assert_eq!(errors(body), Vec::<String>::new(), "{body}");
    }
    // Dimensions of parameters may mention scalar parameters that follow.
    assert_eq!(errors_of("x.0: [k.1][n][m]f64, k.1: i64", "f64", "=> 1.0f64"), Vec::<String>::new());
}

/// Each body breaks one rule, which is all that is said.
fn rejects(bodies: &[(&str, &str)]) {
    for (body, message) in bodies {
        let found = errors(body);
        assert!(found.iter().any(|e| e.contains(message)), "{body}\nexpected: {message}\nfound: {found:?}");
        assert_eq!(found.len(), 1, "{body}: {found:?}");
    }
}

#[test]
fn rejects_variables_out_of_scope() {
    rejects(&[
        ("=> y.10", "`y.10` is used before it is bound"),
        ("s.2: f64 = 1.0f64 => s.2", "`s.2` is bound twice"),
        ("y.10: f64 = z.11 z.11: f64 = s.2 => y.10", "`z.11` is used before it is bound"),
        (
            "y.10: f64 = reduce (add) i.11 < n { e.12: f64 = x.0[i.11] => e.12 } z.13: f64 = e.12 => y.10",
            "`e.12` is used outside the body that binds it",
        ),
        ("y.10: [n]i64 = build [i.11 < n] { => i.11 } z.12: i64 = i.11 => s.2", "`i.11` is used outside"),
        (
            "y.10: f64 = reduce (add) i.11 < n { => s.2 } z.12: f64 = reduce (add) i.11 < n { => s.2 } => s.2",
            "`i.11` is bound twice",
        ),
        ("y.10: f64 = if b.4 { t.11: f64 = s.2 => t.11 } else { => t.11 } => y.10", "`t.11` is used outside"),
    ]);
}

#[test]
fn rejects_arguments_of_other_types() {
    rejects(&[
        ("y.10: f64 = add(s.2) => y.10", "`add` has 1 arguments, not 2"),
        ("y.10: f64 = add(s.2, 1) => y.10", "`add` takes a number"),
        ("y.10: i64 = exp(k.3) => s.2", "`exp` takes a float"),
        ("y.10: bool = lt(b.4, b.4) => s.2", "`lt` takes a number"),
        ("y.10: [n]f64 = exp(x.0) => s.2", "an argument of `exp` is [n]f64, not a scalar"),
        ("y.10: f64 = select(s.2, s.2, s.2) => y.10", "the condition of `select` is f64"),
        ("y.10: f64 = select(b.4, s.2, 1) => y.10", "`select` takes any scalar, found (bool, f64, i64)"),
        ("y.10: f64 = powi(s.2, s.2) => y.10", "the exponent of `powi` is f64"),
        ("y.10: f64 = gt(s.2, s.2) => s.2", "`y.10` is declared f64 and bound to bool"),
    ]);
}

#[test]
fn rejects_indices() {
    rejects(&[
        ("y.10: f64 = x.0[0, 0] => y.10", "`x.0` of rank 1 has 2 indices"),
        ("y.10: f64 = x.0[s.2] => y.10", "an index of `x.0` is f64, not i64"),
        ("y.10: f64 = a.1[k.3] => s.2", "`y.10` is declared f64 and bound to [m]f64"),
    ]);
}

#[test]
fn rejects_branches() {
    rejects(&[
        (
            "y.10: f64 = if s.2 { => s.2 } else { => s.2 } => y.10",
            "the condition of an `if` is f64, not bool",
        ),
        (
            "y.10: f64 = if b.4 { => s.2 } else { => 1 } => y.10",
            "the branches of an `if` give (f64) and (i64)",
        ),
        ("y.10: [n]f64 = if b.4 { => x.0 } else { => v.5 } => s.2", "give ([n]f64) and ([m]f64)"),
    ]);
}

#[test]
fn rejects_builds_and_reductions() {
    rejects(&[
        (
            "y.10: [m]f64 = build [i.11 < n] { => s.2 } => s.2",
            "`y.10` is declared [m]f64 and bound to [n]f64",
        ),
        ("y.10: [n]f64 = build [i.11: f64 < n] { => s.2 } => s.2", "`i.11` is declared f64 and bound to i64"),
        ("y.10: [n]f64, z.12: [n]f64 = build [i.11 < n] { => s.2 } => s.2", "(`y.10`, `z.12`) to 1 values"),
        ("y.10: f64 = reduce (add, max) i.11 < n { => s.2 } => s.2", "1 values for 2 reducers"),
        ("y.10: f64 = reduce (add) i.11 < n { => v.5 } => s.2", "`add` does not reduce [m]f64"),
        ("y.10: bool = reduce (mul) i.11 < n { => b.4 } => s.2", "`mul` does not reduce bool"),
        ("y.10: f64 = reduce (and) i.11 < n { => s.2 } => s.2", "`and` does not reduce f64"),
        ("y.10: f64 = reduce (argmax) i.11 < n { => s.2 } => s.2", "declared f64 and bound to i64"),
    ]);
}

#[test]
fn rejects_scans() {
    rejects(&[
        ("y.10: [n]i64 = scan inclusive (argmin) i.11 < n { => s.2 } => s.2", "a scan by `argmin`"),
        ("y.10: f64 = scan inclusive (add) i.11 < n { => s.2 } => s.2", "declared f64 and bound to [n]f64"),
    ]);
}

#[test]
fn rejects_folds() {
    rejects(&[
        (
            "y.10: f64 = fold (a.11: f64; c.12: f64) from 0.0f64 with { => a.11 } over i.13 < n { => 1 } => s.2",
            "the left operands of an operator are (f64), what is folded (i64)",
        ),
        (
            "y.10: f64 = fold (a.11: f64; c.12: i64) from 0.0f64 with { => a.11 } over i.13 < n { => s.2 } => s.2",
            "the left operands of an operator are (f64), its right operands (i64)",
        ),
        (
            "y.10: f64 = fold (a.11: f64; c.12: f64) from 0 with { => a.11 } over i.13 < n { => s.2 } => s.2",
            "the left operands of an operator are (f64), its neutral element (i64)",
        ),
        (
            "y.10: f64 = fold (a.11: f64; c.12: f64) from s.2 with { => k.3 } over i.13 < n { => s.2 } => s.2",
            "the left operands of an operator are (f64), its result (i64)",
        ),
        (
            "y.10: [m]f64 = fold (a.11: [m]f64; c.12: [m]f64) from v.5 with { => v.5 } over i.13 < n { => v.5 } => s.2",
            "an operator on [m]f64, not on scalars",
        ),
        (
            "y.10: f64 = fold (a.11: f64; c.12: f64) from s.2 with { e.14: f64 = x.0[i.13] => e.14 } over i.13 < n \
             { => s.2 } => s.2",
            "`i.13` is used before it is bound",
        ),
        (
            "y.10: f64 = fold (a.11: f64; c.12: f64) from s.2 with { => a.11 } over i.13 < n { => c.12 } => s.2",
            "`c.12` is used outside the body that binds it",
        ),
        (
            "y.10: f64 = fold (a.11: f64; c.12: f64) from s.2 with { e.14: f64 = reduce (add) i.15 < n { => s.2 } \
             => e.14 } over i.13 < n { => s.2 } => s.2",
            "(`e.14`) in an operator is not scalar code",
        ),
        (
            "y.10: f64 = fold (a.11: f64; c.12: f64) from s.2 with { e.14: [m]f64 = stop_gradient v.5 => s.2 } over i.13 < n \
             { => s.2 } => s.2",
            "(`e.14`) in an operator is not scalar code",
        ),
        (
            "y.10: [m]f64 = fold inclusive (a.11: f64; c.12: f64) from s.2 with { => s.2 } over i.13 < n { => s.2 } \
             => s.2",
            "`y.10` is declared [m]f64 and bound to [n]f64",
        ),
    ]);
}

#[test]
fn rejects_loops() {
    rejects(&[
        (
            "y.10: f64 = loop for i.11 < s.2 with a.12: f64 from s.2 { => s.2 } => s.2",
            "the number of a loop's trips is f64, not i64",
        ),
        (
            "y.10: f64 = loop while { => s.2 } with a.12: f64 from s.2 { => s.2 } => s.2",
            "the condition of a loop gives (f64), not bool",
        ),
        (
            "y.10: f64 = loop while { => b.4, b.4 } with a.12: f64 from s.2 { => s.2 } => s.2",
            "the condition of a loop gives (bool, bool), not bool",
        ),
        (
            "y.10: f64 = loop for i.11 < k.3 with a.12: f64 from s.2 { => i.11 } => s.2",
            "the states before a loop are (f64), after a trip (i64)",
        ),
        (
            "y.10: [n]f64 = loop for i.11 < k.3 with a.12: [m]f64 from v.5 { => x.0 } => s.2",
            "the states before a loop are ([m]f64), after a trip ([n]f64)",
        ),
        (
            "y.10: f64 = loop for i.11 < k.3 with a.12: i64 from s.2 { => s.2 } => s.2",
            "`a.12` is declared i64 and bound to f64",
        ),
        (
            "y.10: f64 = loop for i.11 < k.3 with a.12: f64 from s.2 { => s.2 } z.13: f64 = a.12 => s.2",
            "`a.12` is used outside the body that binds it",
        ),
    ]);
}

#[test]
fn rejects_updates() {
    rejects(&[
        ("y.10: [n]f64 = update x.0[k.3] with k.3 => s.2", "a part of `x.0` is f64, and becomes i64"),
        (
            "y.10: [n][m]f64 = update a.1[k.3] with x.0 => s.2",
            "a part of `a.1` is [m]f64, and becomes [n]f64",
        ),
        ("y.10: [n]f64 = update x.0[s.2] with s.2 => s.2", "an index of `x.0` is f64, not i64"),
    ]);
}

#[test]
fn rejects_sorts() {
    rejects(&[
        ("y.10: [n]f64 = argsort x.0 => s.2", "declared [n]f64 and bound to [n]i64"),
        ("y.10: i64 = argsort s.2 => s.2", "the scalar `s.2` cannot be sorted"),
    ]);
}

#[test]
fn rejects_scatters() {
    rejects(&[
        ("y.10: [n]f64 = scatter add into x.0 [i.11 < n] { => } => s.2", "a scatter without a value"),
        ("y.10: [n]f64 = scatter add into x.0 [i.11 < n] { => s.2 } => s.2", "into rank 1 has 0 indices"),
        ("y.10: [n]f64 = scatter add into x.0 [i.11 < n] { => s.2, s.2 } => s.2", "is f64, not i64"),
        (
            "y.10: [n]f64 = scatter write into x.0 [i.11 < n] { => 0, 0 } => s.2",
            "a scatter of i64 into an array of f64",
        ),
        ("y.10: [n]f64 = scatter argmax into x.0 [i.11 < n] { => 0, s.2 } => s.2", "cannot combine by"),
        ("y.10: [n]f64 = scatter or into x.0 [i.11 < n] { => 0, s.2 } => s.2", "`or` does not reduce f64"),
        (
            "y.10: [m]f64 = scatter add into x.0 [i.11 < n] { => 0, s.2 } => s.2",
            "declared [m]f64 and bound to [n]f64",
        ),
    ]);
}

#[test]
fn rejects_dimensions() {
    rejects(&[
        (
            "y.10: [q]f64 = build [i.11 < q] { => s.2 } => s.2",
            "the extent of `i.11`: `q` is no size of the function",
        ),
        ("y.10: [s.2]f64 = build [i.11 < s.2] { => s.2 } => s.2", "`s.2` is no integer scalar"),
        (
            "y.10: [z.12]f64 = build [i.11 < z.12] { => s.2 } z.12: i64 = k.3 => s.2",
            "`z.12` is not bound before",
        ),
        (
            "y.10: f64 = reduce (add) i.11 < n { t.12: f64 = reduce (add) j.13 < i.11 { => s.2 } => t.12 } => y.10",
            "the extent of `j.13`: `i.11` is not bound before at depth 0",
        ),
        ("y.10: [n]f64 = reshape x.0 [n + 1] => s.2", "a reshape of n elements to n + 1"),
        ("y.10: [m]f64 = reshape x.0 [n] => s.2", "declared [m]f64 and bound to [n]f64"),
        ("y.10: i64 = size p => s.2", "a size: `p` is no size"),
    ]);
}

#[test]
fn rejects_checks() {
    rejects(&[
        (
            "y.10: f64 = reduce (add) i.11 < n { check n == m => s.2 } => s.2",
            "a check stands inside an expression",
        ),
        ("check n == m when s.2 => s.2", "the guard of a check: `s.2` is no integer scalar"),
    ]);
}

#[test]
fn rejects_results() {
    rejects(&[
        ("=> k.3", "result 0 is declared f64 and has type i64"),
        ("=> x.0", "result 0 is declared f64 and has type [n]f64"),
        ("=> s.2, s.2", "1 results are declared and 2 given"),
    ]);
}

#[test]
fn rejects_derivatives() {
    rejects(&[
        (
            "y.10: i64, g.11: i64 = pullback x.12: i64 from k.3 { => x.12 } => s.2",
            "a value of a point is i64, not of floats",
        ),
        (
            "y.10: f64, g.11: f64 = pullback x.12: f64 from s.2 { => x.12 } => s.2",
            "(f64) are not values and a cotangent for each float",
        ),
        (
            "y.10: f64, g.11: f64 = pullback x.12: f64 from s.2 { => x.12, k.3 } => s.2",
            "differentiated values are (f64), their cotangents (i64)",
        ),
        (
            "y.10: [n]f64, g.11: f64 = pullback w.12: f64 from s.2 { => x.0, v.5 } => s.2",
            "differentiated values are ([n]f64), their cotangents ([m]f64)",
        ),
        (
            "y.10: f64, t.11: f64 = pushforward x.12: f64 from s.2 along { => x.12 } => s.2",
            "the values of a point are (f64), its tangents ()",
        ),
        (
            "y.10: f64 = pushforward x.12: f64 from s.2 along s.2 { => x.12 } => s.2",
            "a statement binds (`y.10`) to 2 values",
        ),
        (
            "y.10: f64, t.11: f64 = pushforward x.12: f64 from s.2 along s.2 { => x.12 } z.13: f64 = exp(x.12) => s.2",
            "`x.12` is used outside the body that binds it",
        ),
        (
            "y.10: f64, t.11: f64 = pushforward x.12: f64 from s.2 along s.2 { z.13: f64 = exp(x.12) => z.13 } => z.13",
            "`z.13` is used outside the body that binds it",
        ),
        // Within other bodies integers go as well, and checks may not stand there.
        (
            "y.10: [n]i64 = build [i.11 < n] {
               t.12: f64, u.13: f64 = pushforward x.14: f64 from s.2 along s.2 { q.15: i64 = size n => x.14 } => q.15
             } => s.2",
            "`q.15` is used outside the body that binds it",
        ),
        (
            "y.10: [n]f64 = build [i.11 < n] {
               t.12: f64, u.13: f64 = pushforward x.14: f64 from s.2 along s.2 { check n == m => x.14 } => t.12
             } => s.2",
            "a check stands inside an expression",
        ),
        (
            "y.10: f64 = fold (p.11: f64; q.12: f64) from 0.0f64 with {
               z.13: f64, t.14: f64 = pushforward u.15: [m]f64 from v.5 along v.5 { e.16: f64 = u.15[0] => e.16 } => t.14
             } over i.17 < m { => s.2 } => y.10",
            "(`z.13`, `t.14`) in an operator is not scalar code",
        ),
    ]);
}

#[test]
fn rejects_places() {
    rejects(&[("y.10: f64 = s.2 @7 => y.10", "there is no place 7")]);
}

#[test]
fn rejects_broken_signatures() {
    let found = errors_of("x.0: [n * m]f64, y.1: [m]f64", "f64", "=> 1.0f64");
    assert_eq!(found, ["the size `n` is told by no dimension of a parameter"]);
    let found = errors_of("x.0: [n][m][q]f64", "f64", "=> 1.0f64");
    assert_eq!(found, ["`x.0`: `q` is no size of the function"]);
    let found = errors_of("x.0: [n][m]f64, x.0: [n][m]f64", "f64", "=> 1.0f64");
    assert_eq!(found, ["`x.0` is bound twice"]);
    let found = errors_of("x.0: [n][m]f64", "types f64 as (0, 1)", "=> 1.0f64");
    assert_eq!(found, ["the result's structure mentions result 1 of 1"]);
}

#[test]
fn rejects_what_text_cannot_say() {
    let good = "fn f(x.0: f64) -> f64\n  y.1: f64 = x.0\n  => y.1";
    let change = |edit: &dyn Fn(&mut Function)| {
        let mut f = parse(good).unwrap_or_else(|e| panic!("{e}"));
        edit(&mut f);
        check(&f)
    };
    assert!(change(&|_| {}).is_empty());
    let found = change(&|f| f.vars[1].ty.elem = Elem::Infer(0));
    assert!(found.contains(&"the element type of `y.1` is not settled".to_string()), "{found:?}");
    let infer = Const::int(Elem::Infer(3), 1);
    assert_eq!(
        change(&|f| f.body.results[0] = Atom::Const(infer)),
        ["the type of a constant is not settled"]
    );
    assert_eq!(change(&|f| f.body.results[0] = Atom::Var(Var(99))), ["there is no variable `?.99`"]);
    assert_eq!(change(&|f| f.body.stms[0].vars[0] = Var(99)).len(), 2);
    assert_eq!(change(&|f| f.params[0].loc = Loc(9)), ["there is no place 9 in the table of places"]);
    let cast = Exp::Op(crate::scalar::Op::Cast(Elem::Infer(0)), vec![Atom::Var(Var(0))]);
    assert_eq!(change(&|f| f.body.stms[0].exp = cast.clone()), ["the type of a cast is not settled"]);
    let named = Exp::Size(Dim::atom(crate::dim::SizeAtom::Scalar(50)));
    assert_eq!(change(&|f| f.body.stms[0].exp = named.clone()).len(), 1);
}
