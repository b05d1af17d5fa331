//! Integers of any size where steps, turns and ranges are asked for: what Rust gives, or an error; never another number.

use array_dsl_compiler::core;
use array_dsl_compiler::pipeline;
use array_dsl_compiler::testing::compare::{Checked, derivatives, values};
use array_dsl_compiler::testing::kernels::{compile, kernel};
use array_dsl_compiler::testing::meaning;
use array_dsl_compiler::ty::Elem;
use array_dsl_compiler::value::Value;

const ENDS: [i64; 17] = [
    i64::MIN,
    i64::MIN + 1,
    i64::MIN + 3,
    -(1 << 40),
    -3,
    -2,
    -1,
    0,
    1,
    2,
    3,
    5,
    1 << 40,
    i64::MAX / 2 + 1,
    i64::MAX - 2,
    i64::MAX - 1,
    i64::MAX,
];

fn ints(data: &[i64]) -> Value {
    Value::from_i64(Elem::I64, vec![data.len()], data).expect("a vector")
}

fn int(i: i64) -> Value {
    Value::from_i64(Elem::I64, Vec::new(), &[i]).expect("a number")
}

/// The integers of the only result, the same in every stage; `None`: an error.
fn run(f: &core::Function, args: &[Value]) -> Option<Vec<i64>> {
    let checked = values(f, args).unwrap_or_else(|e| panic!("{}: {e}", f.name));
    let found = meaning::run(f, args).ok();
    assert_eq!(checked == Checked::Agree, found.is_some(), "{}", f.name);
    let found = found?;
    Some(found[0].data().iter().map(|x| x.as_i64().expect("an integer")).collect())
}

#[test]
fn steps_of_any_size() {
    let given = kernel("fn given(x: [i64; n], k: i64) -> [i64; _] { x.step_by(k) }");
    let read = kernel("fn read(x: [i64; n], k: [i64; 1]) -> [i64; _] { let s = k[0]; step_by(x, s) }");
    for n in [0, 1, 3, 5] {
        let x: Vec<i64> = (10..10 + n).collect();
        for k in ENDS {
            let step = usize::try_from(k).ok().filter(|k| *k > 0);
            let expected: Option<Vec<i64>> = step.map(|k| x.iter().copied().step_by(k).collect());
            assert_eq!(run(&given, &[ints(&x), int(k)]), expected, "{x:?} by {k}");
            assert_eq!(run(&read, &[ints(&x), ints(&[k])]), expected, "{x:?} by {k}");
        }
    }
    let errors = compile("fn f(x: [i64; n]) -> [i64; _] { x.step_by(-1) }").expect_err("no step");
    assert!(errors[0].starts_with("[AD0007] `step_by`: the step -1 is not positive"), "{errors:?}");
}

/// However far the steps go, derivatives go to what was read.
#[test]
fn derivatives_of_any_steps() {
    let f = kernel("fn f(x: [f64; n], k: i64) -> [f64; _] { concat(rotate(x * x, k), step_by(x.sin(), k)) }");
    let p = pipeline::middle(&f).expect("its derivatives exist");
    let x = Value::from_f64(Elem::F64, vec![3], &[0.5, 1.5, -2.0]).expect("a vector");
    for k in [1, 2, 1 << 40, i64::MAX] {
        let done = derivatives(&p, &[x.clone(), int(k)], 3, 1, false).unwrap_or_else(|e| panic!("{k}: {e}"));
        assert!(done.identities > 0, "{k}");
    }
}

#[test]
fn turns_of_any_size() {
    let f = kernel("fn f(x: [i64; n], k: i64) -> [i64; n] { rotate(x, k) }");
    for n in [0, 1, 3, 5] {
        let x: Vec<i64> = (10..10 + n).collect();
        for k in ENDS {
            let at = |i: i64| x[(i128::from(i) + i128::from(k)).rem_euclid(i128::from(n)) as usize];
            let expected: Vec<i64> = (0..n).map(at).collect();
            assert_eq!(run(&f, &[ints(&x), int(k)]), Some(expected), "{x:?} by {k}");
        }
    }
}

#[test]
fn windows_of_any_size() {
    let f = kernel("fn f(x: [i64; n], k: i64) -> [[i64; _]; _] { windows(x, k) }");
    let x = [7, 8, 9];
    for k in ENDS.into_iter().chain([4]) {
        // From four windows of nothing to none of four; of more there would be fewer than none.
        let width = usize::try_from(k).ok().filter(|k| *k <= 4);
        let windows = |k: usize| (0..4 - k).flat_map(|i| x[i..i + k].to_vec()).collect::<Vec<i64>>();
        let args = [ints(&x), int(k)];
        let shape = meaning::run(&f, &args).ok().map(|v| v[0].shape().to_vec());
        assert_eq!(shape.zip(run(&f, &args)), width.map(|k| (vec![4 - k, k], windows(k))), "{k}");
    }
}

#[test]
fn ranges_between_any_ends() {
    let loops = [
        ("parallel", "for i in a..b { s += i; t += 1; }"),
        ("in order", "for i in a..b { s = i - s; t += 1; }"),
        ("backwards", "for i in (a..b).rev() { s = i - s; t += 1; }"),
        ("by halves", "for i in a / 2 * 2..b { s += i; t += 1; }"),
    ];
    for (name, body) in loops {
        let source =
            format!("fn f(a: i64, b: i64) -> [i64; 2] {{ let mut s = 0; let mut t = 0; {body} [s, t] }}");
        let whole = kernel(&source);
        let source = format!(
            "fn g(ends: [i64; 2]) -> [i64; 2] {{
                 let mut s = 0; let mut t = 0;
                 if ends[0] != 4 {{ let a = ends[0]; let b = ends[1]; {body} }}
                 [s, t]
             }}"
        );
        let inside = kernel(&source);
        let chosen = kernel(&format!(
            "fn h(a: i64, b: i64, c: i64) -> [i64; 2] {{
                 let (a, b) = if c > 0 {{ (a, b) }} else {{ (0, 1) }};
                 let mut s = 0; let mut t = 0; {body} [s, t]
             }}"
        ));
        for a in ENDS {
            for b in ENDS {
                let lo = if name == "by halves" { a / 2 * 2 } else { a };
                let length = i128::from(b) - i128::from(lo);
                if (6..=i128::from(i64::MAX)).contains(&length) {
                    // It does fit, and takes its time.
                    continue;
                }
                let mut expected = [0i64, 0];
                let mut count = |i: i64| {
                    let s = if name == "parallel" || name == "by halves" {
                        expected[0].wrapping_add(i)
                    } else {
                        i.wrapping_sub(expected[0])
                    };
                    expected = [s, expected[1] + 1];
                };
                let fits = length < 6;
                if fits && name == "backwards" {
                    (lo..b).rev().for_each(&mut count);
                } else if fits {
                    (lo..b).for_each(&mut count);
                }
                let found = run(&whole, &[int(a), int(b)]);
                assert_eq!(found, fits.then(|| expected.to_vec()), "{name}: {a}..{b}");
                let found = run(&chosen, &[int(a), int(b), int(1)]);
                assert_eq!(found, fits.then(|| expected.to_vec()), "{name}, chosen: {a}..{b}");
                if fits {
                    let found = run(&inside, &[ints(&[a, b])]);
                    assert_eq!(found, Some(expected.to_vec()), "{name}, inside: {a}..{b}");
                }
            }
        }
    }
}

#[test]
fn sizes_beyond_64_bits() {
    for body in [
        "zeros(4294967296 * 4294967296)[0]",
        "sum(flatten(zeros((4294967296, 4294967296))))",
        "sum(zeros(n * 9223372036854775807 + n))",
        "sum(build(9223372036854775807 + 1, |i| 1.0))",
        "{ let m = 9223372036854775807 * 2; sum(zeros(m)) }",
    ] {
        let errors = compile(&format!("fn f(x: [f64; n]) -> f64 {{ {body} }}")).expect_err(body);
        assert!(
            errors[0].starts_with("[AD0019] a size here does not fit into 64 bits"),
            "{body}: {errors:?}"
        );
    }
    let errors = compile("fn f(x: [f64; 4294967296 * 4294967296]) -> f64 { x[0] }").expect_err("too large");
    assert!(errors[0].contains("does not fit into 64 bits"), "{errors:?}");
    // Numbers wrap, as everywhere.
    let f = kernel("fn f() -> i64 { let m = 9223372036854775807; let k = m + 1; k }");
    assert_eq!(run(&f, &[]), Some(vec![i64::MIN]));
}

#[test]
fn long_literals_are_carried_to_other_kernels() {
    for n in [9i64, 255, 256, 257, 700] {
        let numbers = (0..n).map(|k| (k * 7).to_string()).collect::<Vec<_>>().join(", ");
        let f = kernel(&format!(
            "fn table(i: i64) -> i64 {{ let t = [{numbers}]; t[i] }}
             fn f(at: [i64; n]) -> [i64; n] {{ map(table, at) }}"
        ));
        let found = run(&f, &[ints(&[0, n / 2, n - 1, 3])]);
        assert_eq!(found, Some(vec![0, n / 2 * 7, (n - 1) * 7, 21]), "{n}");
        assert_eq!(run(&f, &[ints(&[n])]), None);
    }
}
