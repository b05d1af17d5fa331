//! Scans and loops, from the text of Core; their derivatives too.

use super::{GpuCode, emit, steps, validated};
use crate::core::parse::parse;
use crate::derive::Derivative;
use crate::pipeline;
use crate::target::Target;

/// The code of a program and of its pullback.
pub(super) fn both(text: &str) -> [GpuCode; 2] {
    let p = pipeline::middle(&parse(text).unwrap_or_else(|e| panic!("{e}\n{text}")))
        .expect("its derivatives exist");
    let pullback = pipeline::derivative(&p, Derivative::Vjp).unwrap_or_else(|e| panic!("{e:?}"));
    [p, pullback].map(|p| {
        let scheduled = pipeline::back(&p, Target::Gpu).unwrap_or_else(|e| panic!("{e:#?}"));
        validated(emit(&scheduled).unwrap_or_else(|e| panic!("{e}\n{text}")))
    })
}

#[test]
fn scans_have_three_passes() {
    for (op, elem) in [("add", "f32"), ("mul", "f32"), ("min", "f32"), ("max", "i32"), ("add", "u32")] {
        for prefix in ["inclusive", "exclusive"] {
            let [code, pullback] = both(&format!(
                "fn f(a.1: [n]{elem}, b.7: [n]f32) -> ([n]{elem}, f32) sizes n
                 y.2: [n]{elem} = scan {prefix} ({op}) i.3 < n {{ e.4: {elem} = a.1[i.3] => e.4 }}
                 s.5: f32 = reduce (add) i.6 < n {{ e.8: f32 = b.7[i.6] => e.8 }}
                 => y.2, s.5"
            ));
            assert_eq!(steps(&code, "scan"), 1);
            assert!(elem != "f32" || steps(&pullback, "scan") > 0);
        }
    }
}

#[test]
fn the_passes_of_affine_functions() {
    let text = |how: &str, ty: &str| {
        format!(
            "fn f(a.1: [n]f32, b.2: [n]f32, w.30: f32) -> ({ty}, {ty}) sizes n
             c.3: {ty}, s.4: {ty} = {how} (c.5: f32, s.6: f32; d.7: f32, t.8: f32) from 1.0f32, 0.0f32 with {{
               c.9: f32 = mul(c.5, d.7)
               s.10: f32 = mul(s.6, d.7)
               s.11: f32 = add(s.10, t.8)
               => c.9, s.11
             }} over i.12 < n {{
               x.13: f32 = a.1[i.12]
               y.14: f32 = b.2[i.12]
               y.15: f32 = mul(y.14, w.30)
               => x.13, y.15
             }}
             => c.3, s.4"
        )
    };
    for (how, ty) in [("fold inclusive", "[n]f32"), ("fold exclusive", "[n]f32"), ("fold", "f32")] {
        let [code, _] = both(&text(how, ty));
        assert_eq!(steps(&code, "scan"), 1, "{how}");
        let text = &code.program;
        assert_eq!(text.contains("ends true"), how == "fold", "{text}");
        if how == "fold inclusive" {
            for (name, shader) in ["fold", "starts", "run"].iter().zip(&code.shaders[1..]) {
                insta::assert_snapshot!(format!("scan_{name}"), shader.wgsl);
            }
        }
    }
}

#[test]
fn rows_and_free_variables() {
    let [code, _] = both(
        "fn f(a.1: [n][m]f32, w.2: [n]f32, k.30: [n]i64) -> [n][m]f32 sizes n, m
         y.20: [n][m]f32 = build [i.21 < n] {
           v.22: f32 = w.2[i.21]
           k.31: i64 = k.30[i.21]
           v.32: f32 = w.2[k.31]
           c.3: [m]f32 = fold inclusive (x.4: f32; y.5: f32) from 0.0f32 with {
             s.6: f32 = add(x.4, y.5)
             p.7: f32 = mul(x.4, y.5)
             p.8: f32 = mul(v.22, p.7)
             p.33: f32 = mul(v.32, p.8)
             r.9: f32 = add(s.6, p.33)
             => r.9
           } over j.10 < m { x.11: f32 = a.1[i.21, j.10] => x.11 }
           => c.3
         }
         => y.20",
    );
    assert_eq!(steps(&code, "scan"), 1);
}

#[test]
fn what_goes_in_order_is_one_thread() {
    let [code, _] = both(
        "fn f(a.1: [n]f32, x.2: f32) -> f32 sizes n
         t.3: i64 = size n
         x.4: f32 = loop for i.7 < t.3 with x.8: f32 from x.2 {
           e.10: f32 = a.1[i.7]
           s.11: f32 = sin(x.8)
           y.12: f32 = sub(s.11, e.10)
           => y.12
         }
         => x.4",
    );
    assert_eq!(steps(&code, "scan"), 0);
}

#[test]
fn loops_that_carry_arrays() {
    let [code, _] = both(
        "fn f(a.1: [n]f32, w.2: f32, t.3: i64) -> [n]f32 sizes n
         y.4: [n]f32 = loop for k.5 < t.3 with u.6: [n]f32 from a.1 {
           v.7: [n]f32 = build [i.8 < n] {
             n.9: i64 = size n
             j.10: i64 = add(i.8, k.5)
             j.11: i64 = rem(j.10, n.9)
             x.12: f32 = u.6[i.8]
             y.13: f32 = u.6[j.11]
             d.14: f32 = sub(y.13, x.12)
             p.16: f32 = mul(w.2, d.14)
             => p.16
           }
           => v.7
         }
         => y.4",
    );
    let text = &code.program;
    // The size, the count and the number of the trip are known to the host.
    assert!(text.contains("repeat for 5 2 "), "{text}");
    assert_eq!((steps(&code, "repeat"), steps(&code, "points"), steps(&code, "size")), (1, 1, 0));
}

#[test]
fn updates_take_memory_over() {
    let [code, _] = both(
        "fn f(a.1: [n]f32, w.2: f32) -> [n]f32 sizes n
         n.3: i64 = size n
         m.4: i64 = sub(n.3, 1)
         t.5: i64 = max(m.4, 0)
         y.6: [n]f32 = loop for k.7 < t.5 with s.8: [n]f32 from a.1 {
           i.9: i64 = add(k.7, 1)
           x.10: f32 = s.8[k.7]
           z.11: f32 = s.8[i.9]
           p.12: f32 = mul(x.10, w.2)
           r.14: f32 = add(p.12, z.11)
           u.15: [n]f32 = update s.8[i.9] with r.14
           => u.15
         }
         => y.6",
    );
    // One point makes all trips in a copy of the parameter.
    assert_eq!((steps(&code, "repeat"), steps(&code, "move"), steps(&code, "copy")), (0, 0, 1));
    // The device computes the number of trips.
    assert_eq!((steps(&code, "points"), steps(&code, "size")), (2, 1));
}

#[test]
fn loops_that_the_device_ends() {
    let text = "fn f(a.1: [n]f32) -> ([n]f32, i64) sizes n
         x.4: [n]f32, k.5: i64 = loop while {
           g.10: bool = lt(k.11, 9)
           => g.10
         } with x.7: [n]f32 from a.1, k.11: i64 from 0 {
           q.12: [n]f32 = build [i.13 < n] { e.14: f32 = x.7[i.13] f.15: f32 = sin(e.14) => f.15 }
           k.16: i64 = add(k.11, 1)
           => q.12, k.16
         }
         => x.4, k.5";
    let p = pipeline::middle(&parse(text).unwrap_or_else(|e| panic!("{e}"))).expect("its derivatives exist");
    let scheduled = pipeline::back(&p, Target::Gpu).unwrap_or_else(|e| panic!("{e:#?}"));
    let code = validated(emit(&scheduled).unwrap_or_else(|e| panic!("{e}")));
    assert!(code.program.contains("repeat while "));
}
