//! Scans, folds and loops through every stage and both modes of differentiation, from the text of Core.

use array_dsl_compiler::core::parse::parse;
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::testing::compare::{Checked, derivatives, values};
use array_dsl_compiler::testing::random::{Ranges, arguments_within};
use array_dsl_compiler::{core, pipeline};

/// Every stage gives the same for several arguments; derivatives agree to `order`.
fn check(text: &str, order: usize) {
    let f = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(core::verify::check(&f), [""; 0], "{text}");
    let p = pipeline::middle(&f).expect("its derivatives exist");
    let (mut ran, mut differences) = (0, 0);
    for seed in 0..8 {
        let sizes = [(0, 4), (0, 0), (1, 1), (5, 7)][seed as usize % 4];
        let floats = if seed % 2 == 0 { (0.2, 1.4) } else { (-1.5, 1.5) };
        let args = arguments_within(&f, seed, &Ranges { sizes, integers: (0, 3), floats });
        match values(&f, &args) {
            Ok(Checked::Agree) => ran += 1,
            Ok(_) => continue,
            Err(e) => panic!("seed {seed}: {e}\n{text}\n{}", bulk(&f)),
        }
        if order > 0 {
            match derivatives(&p, &args, seed, order, false) {
                Ok(done) => differences += done.differences,
                Err(e) => panic!("seed {seed}, derivatives: {e}\n{text}\n{}", bulk(&f)),
            }
        }
    }
    assert!(ran > 0, "never ran:\n{text}");
    let is_compared = order == 0 || differences > 0 || !Derivative::Vjp.exists(&p);
    assert!(is_compared, "nothing was compared with differences\n{text}");
}

fn bulk(f: &core::Function) -> String {
    array_dsl_compiler::bulk::print::print(&pipeline::middle(f).expect("its derivatives exist"))
}

#[test]
fn built_in_scans() {
    for op in ["add", "mul", "min", "max"] {
        for prefix in ["inclusive", "exclusive"] {
            check(
                &format!(
                    "fn f(a.1: [n]f64) -> [n]f64 sizes n
                     y.2: [n]f64 = scan {prefix} ({op}) i.3 < n {{ e.4: f64 = a.1[i.3]  s.5: f64 = sin(e.4) => s.5 }}
                     => y.2"
                ),
                2,
            );
        }
    }
}

#[test]
fn scans_of_rows() {
    check(
        "fn f(a.1: [n][m]f64) -> [n][m]f64 sizes n, m
         y.2: [n][m]f64 = build [i.3 < n] {
           r.4: [m]f64 = scan inclusive (mul) j.5 < m { e.6: f64 = a.1[i.3, j.5] => e.6 }
           => r.4
         }
         => y.2",
        2,
    );
}

#[test]
fn general_folds_and_scans() {
    for how in ["fold inclusive", "fold exclusive", "fold"] {
        let ty = if how == "fold" { "f64" } else { "[n]f64" };
        // Composition of affine functions, and the product of two-by-two matrices in disguise.
        check(
            &format!(
                "fn f(a.1: [n]f64, b.2: [n]f64, w.30: f64) -> ({ty}, {ty}) sizes n
                 c.3: {ty}, s.4: {ty} = {how} (c.5: f64, s.6: f64; d.7: f64, t.8: f64) from 1.0f64, 0.0f64 with {{
                   c.9: f64 = mul(c.5, d.7)
                   s.10: f64 = mul(s.6, d.7)
                   s.11: f64 = add(s.10, t.8)
                   => c.9, s.11
                 }} over i.12 < n {{
                   x.13: f64 = a.1[i.12]
                   y.14: f64 = b.2[i.12]
                   y.15: f64 = mul(y.14, w.30)
                   => x.13, y.15
                 }}
                 => c.3, s.4"
            ),
            2,
        );
    }
}

#[test]
fn operators_with_free_variables() {
    // x . y = x + y + w x y is associative for each w.
    for how in ["fold inclusive", "fold exclusive", "fold"] {
        let ty = if how == "fold" { "f64" } else { "[n]f64" };
        check(
            &format!(
                "fn f(a.1: [n]f64, w.2: f64) -> {ty} sizes n
                 c.3: {ty} = {how} (x.4: f64; y.5: f64) from 0.0f64 with {{
                   s.6: f64 = add(x.4, y.5)
                   p.7: f64 = mul(x.4, y.5)
                   p.8: f64 = mul(w.2, p.7)
                   r.9: f64 = add(s.6, p.8)
                   => r.9
                 }} over i.10 < n {{ x.11: f64 = a.1[i.10] => x.11 }}
                 => c.3"
            ),
            2,
        );
    }
}

#[test]
fn loops_of_scalars() {
    // A logistic map with a counter, and a recurrence that reads an array.
    check(
        "fn f(a.1: [n]f64, x.2: f64) -> (f64, i64, f64) sizes n
         t.3: i64 = size n
         x.4: f64, k.5: i64, z.6: f64 = loop for i.7 < t.3 with x.8: f64 from x.2, k.9: i64 from 0, z.20: f64 from 1.0f64 {
           e.10: f64 = a.1[i.7]
           s.11: f64 = sin(e.10)
           y.12: f64 = sub(1.0f64, x.8)
           y.13: f64 = mul(x.8, y.12)
           y.14: f64 = mul(s.11, y.13)
           k.15: i64 = add(k.9, i.7)
           z.21: f64 = add(z.20, y.14)
           => y.14, k.15, z.21
         }
         => x.4, k.5, z.6",
        2,
    );
}

#[test]
fn loops_inside_builds() {
    check(
        "fn f(a.1: [n]f64, m.2: [k][n]f64) -> [n]f64 sizes n, k
         y.3: [n]f64 = build [i.4 < n] {
           x.5: f64 = a.1[i.4]
           t.6: i64 = size k
           r.7: f64 = loop for j.8 < t.6 with s.9: f64 from x.5 {
             e.10: f64 = m.2[j.8, i.4]
             p.11: f64 = mul(s.9, e.10)
             p.12: f64 = cos(p.11)
             => p.12
           }
           => r.7
         }
         => y.3",
        2,
    );
    // Under a condition.
    check(
        "fn f(a.1: [n]f64) -> [n]f64 sizes n
         y.3: [n]f64 = build [i.4 < n] {
           x.5: f64 = a.1[i.4]
           c.6: bool = gt(x.5, 0.0f64)
           r.7: f64 = if c.6 {
             l.13: f64 = ln(x.5)
             r.14: f64 = loop for j.8 < 3 with s.9: f64 from l.13 {
               p.11: f64 = mul(s.9, x.5)
               => p.11
             }
             => r.14
           } else { => 0.5f64 }
           => r.7
         }
         => y.3",
        2,
    );
}

#[test]
fn what_does_not_depend_on_the_state_is_a_nest_of_its_own() {
    check(
        "fn f(a.1: [n][m]f64, x.2: f64) -> f64 sizes n, m
         t.3: i64 = size n
         r.4: f64 = loop for i.5 < t.3 with s.6: f64 from x.2 {
           e.7: f64 = reduce (add) j.8 < m { v.9: f64 = a.1[i.5, j.8] => v.9 }
           p.10: f64 = mul(s.6, 0.5f64)
           q.11: f64 = add(p.10, e.7)
           => q.11
         }
         => r.4",
        2,
    );
}

#[test]
fn an_array_is_updated_in_place() {
    check(
        "fn f(a.1: [n]f64, w.2: f64) -> [n]f64 sizes n
         n.3: i64 = size n
         m.4: i64 = sub(n.3, 1)
         t.5: i64 = max(m.4, 0)
         y.6: [n]f64 = loop for k.7 < t.5 with s.8: [n]f64 from a.1 {
           i.9: i64 = add(k.7, 1)
           x.10: f64 = s.8[k.7]
           z.11: f64 = s.8[i.9]
           p.12: f64 = mul(x.10, w.2)
           q.13: f64 = sin(p.12)
           r.14: f64 = add(q.13, z.11)
           u.15: [n]f64 = update s.8[i.9] with r.14
           => u.15
         }
         => y.6",
        2,
    );
}

#[test]
fn steps_of_a_field() {
    check(
        "fn f(a.1: [n]f64, w.2: f64, t.3: i64) -> [n]f64 sizes n
         y.4: [n]f64 = loop for k.5 < t.3 with u.6: [n]f64 from a.1 {
           v.7: [n]f64 = build [i.8 < n] {
             n.9: i64 = size n
             j.10: i64 = add(i.8, 1)
             j.11: i64 = rem(j.10, n.9)
             x.12: f64 = u.6[i.8]
             y.13: f64 = u.6[j.11]
             d.14: f64 = sub(y.13, x.12)
             s.15: f64 = sin(d.14)
             p.16: f64 = mul(w.2, s.15)
             r.17: f64 = add(x.12, p.16)
             => r.17
           }
           => v.7
         }
         => y.4",
        2,
    );
}

#[test]
fn while_loops() {
    // Newton's method for the square root.
    check(
        "fn f(a.1: f64) -> (f64, i64)
         b.2: f64 = mul(a.1, a.1)
         b.3: f64 = add(b.2, 0.5f64)
         x.4: f64, k.5: i64 = loop while {
           s.6: f64 = mul(x.7, x.7)
           d.8: f64 = sub(s.6, b.3)
           d.9: f64 = abs(d.8)
           g.10: bool = gt(d.9, 0.000000001f64)
           => g.10
         } with x.7: f64 from b.3, k.11: i64 from 0 {
           q.12: f64 = div(b.3, x.7)
           s.13: f64 = add(x.7, q.12)
           h.14: f64 = mul(s.13, 0.5f64)
           k.15: i64 = add(k.11, 1)
           => h.14, k.15
         }
         => x.4, k.5",
        2,
    );
    // Each point stops by itself.
    check(
        "fn f(a.1: [n]f64) -> ([n]f64, [n]i64) sizes n
         y.2: [n]f64, c.20: [n]i64 = build [i.3 < n] {
           b.4: f64 = a.1[i.3]
           b.5: f64 = mul(b.4, b.4)
           x.6: f64, k.7: i64 = loop while {
             g.8: bool = lt(x.9, 3.0f64)
             => g.8
           } with x.9: f64 from b.5, k.10: i64 from 0 {
             s.11: f64 = mul(x.9, 1.5f64)
             s.12: f64 = add(s.11, 0.25f64)
             k.13: i64 = add(k.10, 1)
             => s.12, k.13
           }
           => x.6, k.7
         }
         => y.2, c.20",
        2,
    );
}

#[test]
fn states_change_places() {
    check(
        "fn f(a.1: [n]f64, b.2: [n]f64, t.3: i64) -> ([n]f64, [n]f64) sizes n
         x.4: [n]f64, y.5: [n]f64 = loop for k.6 < t.3 with u.7: [n]f64 from a.1, v.8: [n]f64 from b.2 {
           w.9: [n]f64 = build [i.10 < n] {
             p.11: f64 = u.7[i.10]
             q.12: f64 = v.8[i.10]
             r.13: f64 = mul(p.11, q.12)
             => r.13
           }
           => v.8, w.9
         }
         => x.4, y.5",
        2,
    );
}

#[test]
fn conditional_updates_and_swaps() {
    // One pass of bubble sort.
    check(
        "fn f(a.1: [n]f64) -> [n]f64 sizes n
         n.2: i64 = size n
         m.3: i64 = sub(n.2, 1)
         t.4: i64 = max(m.3, 0)
         y.5: [n]f64 = loop for k.6 < t.4 with s.7: [n]f64 from a.1 {
           i.8: i64 = add(k.6, 1)
           x.9: f64 = s.7[k.6]
           z.10: f64 = s.7[i.8]
           c.11: bool = gt(x.9, z.10)
           r.12: [n]f64 = if c.11 {
             u.13: [n]f64 = update s.7[k.6] with z.10
             u.14: [n]f64 = update u.13[i.8] with x.9
             => u.14
           } else { => s.7 }
           => r.12
         }
         => y.5",
        2,
    );
}

#[test]
fn loops_in_loops_and_in_builds() {
    check(
        "fn f(a.1: [n]f64, w.2: f64) -> [n]f64 sizes n
         n.3: i64 = size n
         y.4: [n]f64 = loop for k.5 < 2 with s.6: [n]f64 from a.1 {
           z.7: [n]f64 = loop for i.8 < n.3 with r.9: [n]f64 from s.6 {
             x.10: f64 = r.9[i.8]
             c.11: f64 = r.9[0]
             p.12: f64 = mul(x.10, w.2)
             p.13: f64 = mul(p.12, c.11)
             u.14: [n]f64 = update r.9[i.8] with p.13
             => u.14
           }
           => z.7
         }
         => y.4",
        1,
    );
    // A triangular loop with an array of its own, and a reduction that depends on the state.
    check(
        "fn f(a.1: [n]f64, m.2: [n][n]f64) -> [n]f64 sizes n
         y.3: [n]f64 = build [i.4 < n] {
           z.5: f64 = a.1[i.4]
           r.6: f64 = loop for j.7 < i.4 with s.8: f64 from z.5 {
             e.9: f64 = reduce (add) k.10 < n {
               v.11: f64 = m.2[j.7, k.10]
               p.12: f64 = mul(v.11, s.8)
               q.13: f64 = cos(p.12)
               => q.13
             }
             h.14: f64 = mul(e.9, 0.25f64)
             => h.14
           }
           => r.6
         }
         => y.3",
        1,
    );
    check(
        "fn f(a.1: [n]f64, t.2: i64) -> [n][3]f64 sizes n
         y.3: [n][3]f64 = build [i.4 < n] {
           z.5: f64 = a.1[i.4]
           b.6: [3]f64 = build [j.7 < 3] { => z.5 }
           r.8: [3]f64 = loop for k.9 < t.2 with s.10: [3]f64 from b.6 {
             x.11: f64 = s.10[0]
             y.12: f64 = s.10[1]
             p.13: f64 = mul(x.11, y.12)
             u.14: [3]f64 = update s.10[1] with p.13
             q.15: f64 = sin(p.13)
             v.16: [3]f64 = update u.14[2] with q.15
             => v.16
           }
           => r.8
         }
         => y.3",
        2,
    );
}

#[test]
fn rows_are_replaced() {
    check(
        "fn f(a.1: [n][m]f64, b.2: [m]f64, k.3: i64) -> [n][m]f64 sizes n, m
         y.4: [n][m]f64 = update a.1[k.3] with b.2
         => y.4",
        2,
    );
}
