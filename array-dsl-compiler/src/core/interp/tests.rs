//! Small programs with numbers one can check by hand.

use super::super::{parse::parse, verify::verify};
use super::*;
use crate::testing::meaning;

fn run_text(text: &str, args: &[Value]) -> Result<Vec<Value>, Fault> {
    let f = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let f = verify(f).unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
    meaning::run(&f, args)
}

fn floats(shape: &[usize], data: &[f64]) -> Value {
    Value::from_f64(Elem::F64, shape.to_vec(), data).unwrap_or_else(|e| panic!("{e}"))
}

fn ints(shape: &[usize], data: &[i64]) -> Value {
    Value::from_i64(Elem::I64, shape.to_vec(), data).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn matmul() {
    let text = "fn matmul(a.0: [n][k]f64, b.1: [k][m]f64) -> [n][m]f64 sizes n, k, m
      c.2: [n][m]f64 = build [i.3 < n, j.4 < m] {
        s.5: f64 = reduce (add) l.6 < k {
          x.7: f64 = a.0[i.3, l.6]
          y.8: f64 = b.1[l.6, j.4]
          p.9: f64 = mul(x.7, y.8)
          => p.9
        }
        => s.5
      }
      => c.2";
    let (a, b) = (floats(&[2, 3], &[1., 2., 3., 4., 5., 6.]), floats(&[3, 1], &[1., 0., -1.]));
    assert_eq!(run_text(text, &[a.clone(), b]), Ok(vec![floats(&[2, 1], &[-2., -2.])]));
    let wrong = run_text(text, &[a.clone(), floats(&[2, 1], &[0., 0.])]);
    let message = wrong.map_err(|f| f.to_string());
    assert_eq!(message, Err("argument `b`, dimension 0: expected k = 3, found 2".into()));
    assert!(matches!(run_text(text, &[a]), Err(Fault::Internal { .. })));
}

#[test]
fn logsumexp_of_rows() {
    let text = "fn rows(a.0: [n][m]f64) -> [n]f64 sizes n, m
      y.1: [n]f64 = build [i.2 < n] {
        r.3: [m]f64 = a.0[i.2]
        t.4: f64 = reduce (max) j.5 < m { e.6: f64 = r.3[j.5] => e.6 }
        s.7: f64 = reduce (add) j.8 < m {
          e.9: f64 = r.3[j.8]
          d.10: f64 = sub(e.9, t.4)
          x.11: f64 = exp(d.10)
          => x.11
        }
        l.12: f64 = ln(s.7)
        z.13: f64 = add(t.4, l.12)
        => z.13
      }
      => y.1";
    let a = floats(&[2, 2], &[1000.0, 1000.0, 0.0, f64::NEG_INFINITY]);
    let found = run_text(text, &[a]).unwrap_or_else(|e| panic!("{e}"));
    let expected = floats(&[2], &[1000.0 + 2f64.ln(), 0.0]);
    assert_eq!(crate::value::approx_eq(&found[0], &expected, 0.0, 1e-15), Ok(()));
    // Nothing to reduce over, and nothing to build.
    assert_eq!(run_text(text, &[floats(&[0, 3], &[])]), Ok(vec![floats(&[0], &[])]));
    let found = run_text(text, &[floats(&[1, 0], &[])]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(found[0].to_f64(), [f64::NEG_INFINITY]);
}

#[test]
fn scatters() {
    let text = |how: &str| {
        format!(
            "fn f(d.0: [m]f64, at.1: [n]i64, x.2: [n]f64) -> [m]f64 sizes m, n
              y.3: [m]f64 = scatter {how} into d.0 [i.4 < n] {{
                k.5: i64 = at.1[i.4]
                v.6: f64 = x.2[i.4]
                => k.5, v.6
              }}
              => y.3"
        )
    };
    let args = [
        floats(&[3], &[1., 2., 3.]),
        ints(&[5], &[0, 2, 0, -1, 3]),
        floats(&[5], &[10., 20., 30., 40., 50.]),
    ];
    assert_eq!(run_text(&text("add"), &args), Ok(vec![floats(&[3], &[41., 2., 23.])]));
    assert_eq!(run_text(&text("min"), &args), Ok(vec![floats(&[3], &[1., 2., 3.])]));
    assert_eq!(run_text(&text("overwrite"), &args), Ok(vec![floats(&[3], &[30., 2., 20.])]));
    // Compiler-made writes that meet are a broken invariant.
    assert!(matches!(run_text(&text("write"), &args), Err(Fault::Internal { .. })));
    let apart = [args[0].clone(), ints(&[5], &[0, 2, 1, -1, 3]), args[2].clone()];
    assert_eq!(run_text(&text("write"), &apart), Ok(vec![floats(&[3], &[10., 30., 20.])]));
}

#[test]
fn extrema_and_where_they_are() {
    let text = "fn f(x.0: [n]f64) -> (i64, f64, i64) sizes n
      a.1: i64, m.2: f64, b.3: i64 = reduce (argmin, min, argmax) i.4 < n { e.5: f64 = x.0[i.4] => e.5, e.5, e.5 } @0
      => a.1, m.2, b.3";
    let at =
        |x: &[f64]| run_text(text, &[floats(&[x.len()], x)]).map(|v| (v[0].to_f64()[0], v[2].to_f64()[0]));
    assert_eq!(at(&[3., 1., 1., 3.]), Ok((1., 0.)));
    assert_eq!(at(&[f64::NAN, 2., 1.]), Ok((2., 1.)));
    assert_eq!(at(&[f64::INFINITY, f64::INFINITY]), Ok((0., 0.)));
    assert_eq!(at(&[]), Err(Fault::EmptyExtremum { loc: Loc(0) }));
}

#[test]
fn faults_have_their_place() {
    let text = "fn f(x.0: [n]i64, k.1: i64) -> i64 sizes n
      y.2: [n]i64 = build [i.3 < n] {
        e.4: i64 = x.0[i.3] @1
        q.5: i64 = div(e.4, k.1) @2
        z.6: i64 = x.0[q.5] @3
        => z.6
      } @4
      w.7: i64 = y.2[0] @5
      => w.7
      places f \"\" 1 1 f \"\" 2 1 f \"\" 3 1 f \"\" 4 1 f \"\" 5 1 f \"\" 6 1";
    let at = |x: &[i64], k: i64| run_text(text, &[ints(&[x.len()], x), ints(&[], &[k])]);
    assert_eq!(at(&[0, 1], 1), Ok(vec![ints(&[], &[0])]));
    assert_eq!(at(&[0, 1], 0), Err(Fault::DivisionByZero { loc: Loc(2) }));
    assert_eq!(at(&[0, 7], 1), Err(Fault::IndexOutOfRange { index: 7, len: 2, loc: Loc(3) }));
    assert_eq!(at(&[-1], 1), Err(Fault::IndexOutOfRange { index: -1, len: 1, loc: Loc(3) }));
    assert_eq!(at(&[], 1), Err(Fault::IndexOutOfRange { index: 0, len: 0, loc: Loc(5) }));
}

#[test]
fn sizes_checks_and_branches() {
    let text = "fn f(x.0: [n + 1]f64, y.1: [n]f64, k.2: i64) -> ([k.2 - n]f64, f64) sizes n
      check n <= k.2 when n
      z.3: [k.2 - n]f64 = build [i.4 < k.2 - n] { => 1.0f64 }
      c.5: bool = eq(k.2, 7)
      r.6: f64 = if c.5 { e.7: f64 = x.0[k.2] => e.7 } else { s.8: i64 = size 2 * n + 1 t.9: f64 = as_f64(s.8) => t.9 }
      => z.3, r.6";
    let args =
        |n: usize, k: i64| [floats(&[n + 1], &vec![5.; n + 1]), floats(&[n], &vec![6.; n]), ints(&[], &[k])];
    assert_eq!(run_text(text, &args(2, 3)), Ok(vec![floats(&[1], &[1.]), floats(&[], &[5.])]));
    assert!(matches!(run_text(text, &args(2, 7)), Err(Fault::IndexOutOfRange { index: 7, len: 3, .. })));
    let message = |n, k| run_text(text, &args(n, k)).map_err(|f| f.to_string());
    assert_eq!(message(2, 1), Err("expected n <= k, found 2 and 1".into()));
    // The guard is not positive, so the check is not made; the array cannot be built all the same.
    assert_eq!(message(0, -1), Err("a dimension is negative: -n + k = -1".into()));
    let mut wrong = args(2, 3);
    wrong[0] = floats(&[2], &[0., 0.]);
    let found = run_text(text, &wrong).map_err(|f| f.to_string());
    assert_eq!(found, Err("argument `x`, dimension 0: expected n + 1 = 3, found 2".into()));
}

#[test]
fn reshape_and_the_structure_of_results() {
    let text = "fn f(a.0: [n][m]f64) -> types [n][m]f64, [n * m]f64 as ((1,), (0, 1)) sizes n, m
      b.1: [n * m]f64 = reshape a.0 [n * m]
      => a.0, b.1";
    let a = floats(&[2, 1], &[1., 2.]);
    let b = floats(&[2], &[1., 2.]);
    assert_eq!(run_text(text, std::slice::from_ref(&a)), Ok(vec![b.clone(), a, b]));
}

#[test]
fn scans() {
    let text = "fn f(x.0: [n]f64) -> ([n]f64, [n]f64, [n]f64) sizes n
      a.1: [n]f64, b.2: [n]f64 = scan inclusive (add, mul) i.3 < n { e.4: f64 = x.0[i.3] => e.4, e.4 }
      c.5: [n]f64 = scan exclusive (max) i.6 < n { e.7: f64 = x.0[i.6] => e.7 }
      => a.1, b.2, c.5";
    let found = run_text(text, &[floats(&[3], &[2., 3., -4.])]);
    let expected = [[2., 5., 1.], [2., 6., -24.], [f64::NEG_INFINITY, 2., 3.]].map(|r| floats(&[3], &r));
    assert_eq!(found, Ok(expected.to_vec()));
    assert_eq!(run_text(text, &[floats(&[0], &[])]), Ok(vec![floats(&[0], &[]); 3]));
}

/// `x[i] = a[i] * x[i - 1] + b[i]` as an operator on pairs.
#[test]
fn folds_by_operators() {
    let text = |prefix: &str, ty: &str| {
        format!(
            "fn f(a.0: [n]f64, b.1: [n]f64) -> ({ty}, {ty}) sizes n
              c.2: {ty}, d.3: {ty} = fold {prefix} (p.4: f64, q.5: f64; r.6: f64, s.7: f64) from 1.0f64, 0.0f64 with {{
                t.8: f64 = mul(p.4, r.6)
                u.9: f64 = mul(q.5, r.6)
                v.10: f64 = add(u.9, s.7)
                => t.8, v.10
              }} over i.11 < n {{
                a.12: f64 = a.0[i.11]
                b.13: f64 = b.1[i.11]
                => a.12, b.13
              }}
              => c.2, d.3"
        )
    };
    let args = [floats(&[3], &[2., 3., 4.]), floats(&[3], &[1., 1., 10.])];
    let nothing = [floats(&[0], &[]), floats(&[0], &[])];
    assert_eq!(run_text(&text("", "f64"), &args), Ok(vec![floats(&[], &[24.]), floats(&[], &[26.])]));
    assert_eq!(run_text(&text("", "f64"), &nothing), Ok(vec![floats(&[], &[1.]), floats(&[], &[0.])]));
    let found = run_text(&text("inclusive", "[n]f64"), &args);
    assert_eq!(found, Ok(vec![floats(&[3], &[2., 6., 24.]), floats(&[3], &[1., 4., 26.])]));
    let found = run_text(&text("exclusive", "[n]f64"), &args);
    assert_eq!(found, Ok(vec![floats(&[3], &[1., 2., 6.]), floats(&[3], &[0., 1., 4.])]));
    assert_eq!(run_text(&text("exclusive", "[n]f64"), &nothing), Ok(nothing.to_vec()));
}

#[test]
fn loops_and_updates() {
    // x[i] = a[i] * x[i - 1], in place.
    let text = "fn f(a.0: [n]f64, x.1: [n]f64) -> ([n]f64, [n]f64) sizes n
      k.2: i64 = size n - 1
      y.3: [n]f64 = loop for t.4 < k.2 with s.5: [n]f64 from x.1 {
        l.6: f64 = s.5[t.4]
        i.7: i64 = add(t.4, 1)
        e.8: f64 = a.0[i.7]
        p.9: f64 = mul(e.8, l.6)
        u.10: [n]f64 = update s.5[i.7] with p.9
        => u.10
      }
      => y.3, x.1";
    let x = floats(&[3], &[2., 0., 0.]);
    let found = run_text(text, &[floats(&[3], &[0., 3., 4.]), x.clone()]);
    assert_eq!(found, Ok(vec![floats(&[3], &[2., 6., 24.]), x]));
    let nothing = floats(&[0], &[]);
    assert_eq!(run_text(text, &[nothing.clone(), nothing.clone()]), Ok(vec![nothing.clone(), nothing]));

    let text = "fn f(x.0: f64, top.1: f64) -> (f64, i64)
      y.2: f64, n.3: i64 = loop while { c.4: bool = lt(x.5, top.1) => c.4 } with x.5: f64 from x.0, k.6: i64 from 0 {
        z.7: f64 = mul(2.0f64, x.5)
        k.8: i64 = add(k.6, 1)
        => z.7, k.8
      }
      => y.2, n.3";
    let run = |top: f64| run_text(text, &[floats(&[], &[3.]), floats(&[], &[top])]);
    assert_eq!(run(100.), Ok(vec![floats(&[], &[192.]), ints(&[], &[6])]));
    assert_eq!(run(1.), Ok(vec![floats(&[], &[3.]), ints(&[], &[0])]));

    // States are replaced all at once, rows too; what is outside is an error at the update.
    let text = "fn f(a.0: [n][m]f64, k.1: i64, j.2: i64) -> ([n][m]f64, [m]f64) sizes n, m
      r.3: [m]f64 = a.0[0] @0
      s.4: [m]f64 = a.0[1] @0
      t.5: [m]f64, u.6: [m]f64 = loop for i.7 < k.1 with p.8: [m]f64 from r.3, q.9: [m]f64 from s.4 { => q.9, p.8 } @0
      w.10: [n][m]f64 = update a.0[j.2] with t.5 @1
      => w.10, u.6
      places f \"\" 1 1 f \"\" 2 1";
    let a = floats(&[2, 2], &[1., 2., 3., 4.]);
    let run = |k: i64, j: i64| run_text(text, &[a.clone(), ints(&[], &[k]), ints(&[], &[j])]);
    assert_eq!(run(3, 0), Ok(vec![floats(&[2, 2], &[3., 4., 3., 4.]), floats(&[2], &[1., 2.])]));
    assert_eq!(run(-1, 1), Ok(vec![floats(&[2, 2], &[1., 2., 1., 2.]), floats(&[2], &[3., 4.])]));
    assert_eq!(run(0, 2), Err(Fault::IndexOutOfRange { index: 2, len: 2, loc: Loc(1) }));
}

/// T6, T8 and T9 of the literature's test programs.
#[test]
fn sequential_programs() {
    // y = x; y = y * y, three times.
    let text = "fn f(x.0: f64, n.1: i64) -> f64
      y.2: f64 = loop for i.3 < n.1 with y.4: f64 from x.0 { z.5: f64 = mul(y.4, y.4) => z.5 }
      => y.2";
    let run = |n: i64| run_text(text, &[floats(&[], &[2.]), ints(&[], &[n])]);
    assert_eq!(run(3), Ok(vec![floats(&[], &[256.])]));
    assert_eq!(run(0), Ok(vec![floats(&[], &[2.])]));

    // A sum in order.
    let text = "fn f(x.0: f64, a.1: [n]f64) -> f64 sizes n
      k.2: i64 = size n
      y.3: f64 = loop for i.4 < k.2 with y.5: f64 from x.0 {
        e.6: f64 = a.1[i.4]
        z.7: f64 = add(y.5, e.6)
        => z.7
      }
      => y.3";
    assert_eq!(
        run_text(text, &[floats(&[], &[1.]), floats(&[3], &[2., 3., 4.])]),
        Ok(vec![floats(&[], &[10.])])
    );

    // The n-th power of a matrix applied to a vector, a loop of a product inside a loop.
    let text = "fn f(a.0: [2][2]f64, x.1: [2]f64, n.2: i64) -> [2]f64
      y.3: [2]f64 = loop for i.4 < n.2 with v.5: [2]f64 from x.1 {
        z.6: [2]f64 = build [j.7 < 2] { => 0.0f64 }
        w.8: [2]f64 = loop for r.9 < 2 with u.10: [2]f64 from z.6 {
          s.11: f64 = reduce (add) c.12 < 2 {
            p.13: f64 = a.0[r.9, c.12]
            q.14: f64 = v.5[c.12]
            t.15: f64 = mul(p.13, q.14)
            => t.15
          }
          o.16: [2]f64 = update u.10[r.9] with s.11
          => o.16
        }
        => w.8
      }
      => y.3";
    let fibonacci = floats(&[2, 2], &[1., 1., 1., 0.]);
    let found = run_text(text, &[fibonacci, floats(&[2], &[1., 0.]), ints(&[], &[64])]);
    assert_eq!(found, Ok(vec![floats(&[2], &[17_167_680_177_565., 10_610_209_857_723.])]));
}

/// Of `x` the sum of `2 x` over `q = x as i64` points is `2 q x`; within, `u^2 x` is differentiated by `u` at `x`.
#[test]
fn derivatives() {
    let text = "fn f(s.0: f64) -> ([q.3]f64, f64, f64, f64)
      y.1: [q.3]f64, g.2: f64 = pullback x.4: f64 from s.0 {
        q.3: i64 = as_i64(x.4)
        check nonnegative(q.3)
        d.5: f64 = add(x.4, x.4)
        z.6: [q.3]f64 = build [i.7 < q.3] { => d.5 }
        c.8: [q.3]f64 = build [i.9 < q.3] { => 1.0f64 }
        => z.6, c.8
      }
      h.10: f64, t.11: f64 = pushforward x.12: f64 from s.0 along 0.5f64 {
        p.13: f64, p.14: f64 = pullback u.15: f64 from x.12 {
          v.16: f64 = mul(u.15, u.15)
          w.17: f64 = mul(v.16, x.12)
          => w.17, 1.0f64
        }
        => p.14
      }
      => y.1, g.2, h.10, t.11";
    let x = |x: f64| floats(&[], &[x]);
    let expected = vec![floats(&[3], &[7.0; 3]), x(6.0), x(24.5), x(7.0)];
    assert_eq!(run_text(text, &[x(3.5)]), Ok(expected));
}
