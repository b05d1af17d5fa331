//! What the examples and the table of operators do not show: scopes, calls, branches, checks that leave loops, work, derivatives,
//! the GPU.

use array_dsl_compiler::bulk::interp::{Counts, run_counted};
use array_dsl_compiler::bulk::{self, Program, Stm};
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::dim::SizeAtom;
use array_dsl_compiler::emit::wgsl;
use array_dsl_compiler::kernel::link;
use array_dsl_compiler::loops::{self, Home};
use array_dsl_compiler::pipeline;
use array_dsl_compiler::target::Target;
use array_dsl_compiler::testing::compare;
use array_dsl_compiler::testing::kernels::{kernel, program};
use array_dsl_compiler::testing::meaning;
use array_dsl_compiler::testing::random::{Ranges, arguments_within};
use array_dsl_compiler::value::Value;
use proc_macro2::TokenStream;

use super::programs::RUNNING;
use super::{checks, fails, floats, gives, int, refused, shape, shapes};

// 2: sizes are ordinary integers.

/// The number of statements that compute integers which the rest of the program uses as sizes.
fn computed_sizes(p: &Program) -> usize {
    let atoms = p.stms.iter().flat_map(Stm::results).flat_map(|a| p.array(a).dims.clone());
    let mut found: Vec<SizeAtom> = atoms.flat_map(|d| d.atoms()).collect();
    found.retain(|a| matches!(a, SizeAtom::Scalar(_)));
    found.sort();
    found.dedup();
    found.len()
}

#[test]
fn sizes_are_shared_moved_and_dropped_like_other_integers() {
    // Polynomials are not computed at all: every array says its dimensions in named sizes.
    let p = program(RUNNING);
    assert_eq!(computed_sizes(&p), 0);
    assert!(p.stms.iter().flat_map(Stm::results).all(|a| !p.array(a).dims.is_empty()));
    // What is no polynomial is computed once, before the loops.
    let p = program(
        "fn f(a: [[f64; m]; n]) -> [[f64; _]; _] {
            map(|r| sort(r[..m / 2]) + sort(r[m / 2..m / 2 + m / 2]), a)
        }",
    );
    assert_eq!(computed_sizes(&p), 1);
    // What nobody needs is not there.
    let p = program("fn f(x: [f64; n]) -> f64 { let y = build(n / 2, |i| x[i]); sum(x) }");
    assert!(p.stms.iter().all(|s| matches!(s, Stm::Nest(_) | Stm::Check(..))), "{p:?}");
    assert_eq!(computed_sizes(&p), 0);
}

// 6, 7: a size that has another name is the same size.

#[test]
fn names_do_not_hide_sizes() {
    for (body, inferred) in [
        ("let k = n; replicate(k, 1.0)", "[n]"),
        ("let d = { let k = n; replicate(k, 1.0) }; d", "[n]"),
        ("let k = 2 * n; let l = k - n; replicate(l, 1.0)", "[n]"),
        ("let k = x.len(); let a: [f64; k] = replicate(k, 1.0); a * x", "[n]"),
    ] {
        let f = kernel(&format!("fn f(x: [f64; n]) -> [f64; _] {{ {body} }}"));
        assert_eq!(shape(&f), inferred, "{body}");
        assert!(checks(&f).is_empty(), "{body}: {:?}", checks(&f));
    }
}

#[test]
fn annotations_may_say_less_but_nothing_else() {
    let with = |ty: &str| {
        format!("fn f(x: [f64; n], y: [f64; m]) -> [[f64; _]; _] {{ let a: {ty} = outer(x, y); a }}")
    };
    for ty in ["[[f64; m]; n]", "[[f64; _]; n]", "[[f64; m]; _]", "[[f64; _]; _]", "_"] {
        let f = kernel(&with(ty));
        assert_eq!(shape(&f), "[n, m]", "{ty}");
        assert!(checks(&f).is_empty(), "{ty}: {:?}", checks(&f));
    }
    // With the dimensions exchanged it asks for two checks, and is refused as a result.
    let f = kernel(&with("[[f64; n]; m]"));
    assert_eq!(checks(&f).len(), 1);
    refused(
        "fn f(x: [f64; n], y: [f64; m]) -> [[f64; n]; m] { outer(x, y) }",
        &["AD0008", "the result", "`n`", "`m`"],
    );
}

// 8: what is asked for twice is checked once.

#[test]
fn equal_pairs_are_checked_once() {
    let f = kernel(
        "fn f(c: bool, x: [f64; _], y: [f64; _]) -> [[f64; _]; _] { if c { outer(x, x) } else { outer(y, y) } }",
    );
    assert_eq!(shape(&f), "[#x.0, #x.0]");
    assert_eq!(checks(&f), ["#y.0 == #x.0"]);
    let f = kernel("fn f(x: [f64; _], y: [f64; _]) -> f64 { sum(x * y + y * x) + dot(y, x) }");
    assert_eq!(checks(&f), ["#y.0 == #x.0"]);
}

// 10: calls.

const ENDS: &str = "fn ends(x: [f64; n]) -> [f64; _] { concat(x[1..], x[..n - 1]) }";
const POSITIVE: &str = "fn positive(x: [f64; n]) -> [f64; _] { filter(|v| v > 0.0, x) }";

#[test]
fn a_call_has_the_sizes_and_checks_of_its_own_arguments() {
    let f = kernel(&format!(
        "{ENDS} fn f(a: [f64; k]) -> [f64; _] {{ ends(concat(a, a)) * concat(a, a, a, a)[2..] }}"
    ));
    assert_eq!(shape(&f), "[4 * k - 2]");
    assert_eq!(checks(&f), ["1 <= 2 * k", "0 <= 2 * k - 1", "2 <= 4 * k"]);
    // Lifted, the check is for the rows: without rows there is none.
    let f = kernel(&format!("{ENDS} fn f(a: [[f64; m]; n]) -> [[f64; _]; _] {{ ends(a) }}"));
    assert_eq!(shape(&f), "[n, 2 * m - 2]");
    assert_eq!(checks(&f), ["1 <= m when n", "0 <= m - 1 when n"]);
    gives(&f, &[floats(&[1, 2], &[1.0, 2.0])], &[1, 2], &[2.0, 1.0]);
    fails(&f, &[floats(&[1, 0], &[])], &["1 <= m"]);
    // What only data tell is another size in each call.
    let f = kernel(&format!(
        "{POSITIVE} fn f(x: [f64; n], y: [f64; m]) -> ([f64; _], [f64; _]) {{ (positive(x), positive(y)) }}"
    ));
    assert_eq!(shapes(&f), ["[kept]", "[kept]"]);
    assert_ne!(f.result_types[0].dims, f.result_types[1].dims);
    let f = kernel(&format!("{POSITIVE} fn f(x: [f64; n]) -> [f64; _] {{ positive(x) + positive(-x) }}"));
    assert_eq!(checks(&f), ["kept == kept"]);
}

/// What may fail in a kernel does not fail where it is called in a branch that is not taken.
#[test]
fn a_call_in_a_branch() {
    let plain = "if n > 0 { sum(concat(a[1..], a[..n - 1])) } else { 7.0 }";
    for body in ["if n > 0 { sum(ends(a)) } else { 7.0 }", plain, "if n <= 0 { 7.0 } else { sum(ends(a)) }"] {
        let f = kernel(&format!("{ENDS} fn f(a: [f64; n]) -> f64 {{ {body} }}"));
        gives(&f, &[floats(&[0], &[])], &[], &[7.0]);
        gives(&f, &[floats(&[2], &[3.0, 4.0])], &[], &[7.0]);
        gives(&f, &[floats(&[3], &[3.0, 4.0, 6.0])], &[], &[17.0]);
    }
}

// 13: arrays without elements have the sizes that they would have with some.

#[test]
fn nothing_has_a_shape() {
    let f = kernel(RUNNING);
    gives(&f, &[floats(&[0, 3, 2], &[])], &[0, 6], &[]);
    gives(&f, &[floats(&[2, 0, 2], &[])], &[2, 0], &[]);
    gives(&f, &[floats(&[1, 2, 0], &[])], &[1, 4], &[0.0, 0.0, 1.0, 1.0]);
}

// 17: a size that might fail to be computed is not computed before.

#[test]
fn divisions_stay_where_they_are() {
    let halves = "fn f(a: [[f64; m]; n], d: i64) -> [f64; n] { map(|r| sum(r[..m / d]), a) }";
    refused(halves, &["AD0009", "a quotient by what may be zero", "compute it before"]);
    // Before the loop it is the user's decision.
    let f = kernel("fn f(a: [[f64; m]; n], d: i64) -> [f64; n] { let h = m / d; map(|r| sum(r[..h]), a) }");
    gives(&f, &[floats(&[1, 4], &[1.0, 2.0, 3.0, 4.0]), int(2)], &[1], &[3.0]);
    assert!(meaning::run(&f, &[floats(&[0, 4], &[]), int(0)]).is_err());
    // By a constant it cannot fail.
    let f = kernel("fn f(a: [[f64; m]; n]) -> [f64; n] { map(|r| sum(r[..m / 2]), a) }");
    gives(&f, &[floats(&[0, 4], &[])], &[0], &[]);
}

// 18: checks leave loops under the condition that the loops have points.

#[test]
fn checks_are_guarded_by_the_loops_they_leave() {
    for (body, expected) in [
        ("map(|r| sum(r * z), a)", "#z.0 == m when n"),
        ("map(|r| sum(map(|v| sum(z * r) + v, r)), a)", "m == #z.0 when n, m"),
        ("map(|r| { let mut s = 0.0; for i in 0..p { s += dot(r, z); } s }, a)", "#z.0 == m when n, p"),
        ("map(|r| { let u: [f64; m] = z; u[0] * r[0] }, a)", "#z.0 == m when n"),
        ("map(|r| sum(r[..p]), a)", "0 <= p when n"),
    ] {
        let f = kernel(&format!("fn f(a: [[f64; m]; n], z: [f64; _], p: usize) -> [f64; _] {{ {body} }}"));
        assert_eq!(checks(&f)[0], expected, "{body}");
        let empty = [floats(&[0, 3], &[]), floats(&[2], &[1.0, 2.0]), int(-1)];
        gives(&f, &empty, &[0], &[]);
    }
}

/// The same holds for conditions on sizes.
#[test]
fn checks_are_guarded_by_the_conditions_they_leave() {
    let params = "x: [f64; n], y: [f64; _], z: [f64; _], p: usize";
    let compiled = |body: &str| kernel(&format!("fn f({params}) -> f64 {{ {body} }}"));
    for (body, expected) in [
        ("if n > 2 { dot(x, y) } else { 0.0 }", "#y.0 == n when n - 2"),
        ("if n <= 2 { 0.0 } else { dot(x, y) }", "#y.0 == n when n - 2"),
        ("if n >= 2 && y.len() > 0 { dot(x, y) } else { 0.0 }", "#y.0 == n when n - 1, #y.0"),
        ("if !(n < 2 || y.len() < 1) { dot(x, y) } else { 0.0 }", "#y.0 == n when n - 1, #y.0"),
        (
            "if y.len() == z.len() { dot(y, z) } else { 0.0 }",
            "#z.0 == #y.0 when -#y.0 + #z.0 + 1, #y.0 - #z.0 + 1",
        ),
        (
            "if y.len() != z.len() { 0.0 } else { dot(y, z) }",
            "#z.0 == #y.0 when -#y.0 + #z.0 + 1, #y.0 - #z.0 + 1",
        ),
        ("if n > 2 { sum(x[..p]) } else { 0.0 }", "0 <= p when n - 2"),
        ("if n < 2 { argmin(x) as f64 } else { 0.0 }", "1 <= n when -n + 2"),
        ("match n { 0 => 0.0, _ => sum(map(|v| dot(x, z) * v, y)) }", "#z.0 == n when #y.0"),
    ] {
        assert_eq!(checks(&compiled(body))[0], expected, "{body}");
    }
    // Another condition leaves the equality that types rest on, whether the branch is taken or not; other checks are made where it
    // holds, if it can be computed before, and that a slice is inside is seen at the read if not.
    let number = compiled("if p > 0 { dot(x, y) + sum(x[..p]) } else { 0.0 }");
    assert_eq!(checks(&number), ["#y.0 == n", "0 <= p when as_i64", "p <= n when as_i64"]);
    let point = compiled("sum(map(|v| if v > 0.0 { dot(x, y) + sum(x[1..p]) } else { 0.0 }, x))");
    assert_eq!(checks(&point), ["#y.0 == n when n", "0 <= p - 1 when n"]);
    // Not taken, it does not fail; taken, it does.
    let f = compiled("if n > 2 { sum(x[..p]) + dot(x, y) } else { 7.0 }");
    let (two, three, z) = (floats(&[2], &[1.0, 2.0]), floats(&[3], &[1.0, 2.0, 3.0]), floats(&[0], &[]));
    gives(&f, &[two.clone(), z.clone(), z.clone(), int(-1)], &[], &[7.0]);
    gives(&f, &[three.clone(), three.clone(), z.clone(), int(1)], &[], &[15.0]);
    for p in [-1, 4] {
        fails(&f, &[three.clone(), three.clone(), z.clone(), int(p)], &["p"]);
    }
    fails(&f, &[three.clone(), two.clone(), z.clone(), int(1)], &["y", "n", "2 and 3"]);
    let place = compiled("if n < 2 { argmin(x) as f64 } else { 0.0 }");
    fails(&place, &[z.clone(), z.clone(), z.clone(), int(0)], &["1 <= n"]);
}

/// Where a condition says that sizes agree, code may rely on it: no read is compared with the array's length.
#[test]
fn sizes_that_the_kernel_compares_itself() {
    const SUM: &str = "fn f(x: [f64; _], y: [f64; _]) -> f64 {
        if x.len() == y.len() { dot(x, y) + sum(sort(y) * x) } else { -1.0 }
    }";
    // Sizes with names, too, which are not taken for one anywhere else.
    let named = kernel("fn f(x: [f64; n], y: [f64; m]) -> f64 { if n == m { dot(x, y) } else { -1.0 } }");
    let f = kernel(SUM);
    let (two, three) = (floats(&[2], &[2.0, 1.0]), floats(&[3], &[1.0, 2.0, 3.0]));
    gives(&f, &[two.clone(), two.clone()], &[], &[9.0]);
    gives(&f, &[two.clone(), three.clone()], &[], &[-1.0]);
    gives(&f, &[three.clone(), two.clone()], &[], &[-1.0]);
    gives(&named, &[two.clone(), two.clone()], &[], &[5.0]);
    gives(&named, &[three.clone(), two.clone()], &[], &[-1.0]);
    let p = pipeline::middle(&f).expect("its derivatives exist");
    for args in [[two.clone(), two.clone()], [two, three]] {
        let done = compare::derivatives(&p, &args, 1, 2, false).unwrap_or_else(|e| panic!("{e}"));
        assert!(done.identities > 0);
    }
    let l = pipeline::back(&program(&SUM.replace("f64", "f32")), Target::Gpu).expect("it verifies");
    assert!(wgsl::emit(&l).is_ok());
    let p = program(
        "fn f(x: [f64; _], y: [f64; _]) -> f64 { if x.len() == y.len() { dot(x, y) } else { -1.0 } }",
    );
    assert!(!bulk::print::print(&p).contains("]?"), "{}", bulk::print::print(&p));
    let p = program("fn f(x: [f64; n], y: [f64; _]) -> f64 { if n > 2 { dot(x, y) } else { -1.0 } }");
    assert!(!bulk::print::print(&p).contains("]?"), "{}", bulk::print::print(&p));
}

// 14, 15, 16, 27: sizes cost nothing.

/// The work of the optimized program for arguments of these shapes.
fn work(source: &str, args: &[Value]) -> Counts {
    run_counted(&program(source), args).expect("it runs").1
}

fn ones(shape: &[usize]) -> Value {
    floats(shape, &vec![1.0; shape.iter().product()])
}

#[test]
fn calls_and_maps_cost_what_plain_loops_do() {
    const BY_HAND: &str = "fn f(v: [[[f64; k]; m]; n]) -> [[f64; 2 * m]; n] {
        let sums = build((n, m), |i, j| sum(v[i][j]));
        let products = build((n, m), |i, j| prod(v[i][j]));
        build((n, 2 * m), |i, j| if j < m { sums[i][j] } else { products[i][j - m] })
    }";
    for shape in [[1, 1, 1], [4, 3, 5], [1, 6, 2], [0, 3, 2]] {
        let args = [ones(&shape)];
        assert_eq!(work(RUNNING, &args), work(BY_HAND, &args), "{shape:?}");
    }
}

#[test]
fn maps_over_one_element_cost_what_the_element_does() {
    const FLAT: &str = "fn f(x: [f64; k]) -> [f64; _] { map(|v| (v.sin() + v).exp(), concat(x, x)) }";
    const DEEP: &str = "fn f(x: [[[[[f64; k]; d]; c]; b]; a]) -> [[[[[f64; _]; _]; _]; _]; _] {
        map(|x| map(|x| map(|x| map(|x| map(|v| (v.sin() + v).exp(), concat(x, x)), x), x), x), x)
    }";
    let (flat, deep) = (work(FLAT, &[ones(&[9])]), work(DEEP, &[ones(&[1, 1, 1, 1, 9])]));
    assert_eq!((flat.scalar_ops, flat.reads), (deep.scalar_ops, deep.reads));
    assert_eq!(flat.elements_allocated, deep.elements_allocated);
}

/// The shape of a result is a polynomial that the host evaluates on entry, before anything runs.
#[test]
fn shapes_are_polynomials() {
    let printed = |source: &str| {
        let item = source.parse().expect("it is Rust");
        let text = link::attribute(TokenStream::new(), item).to_string();
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (_, from) = text.split_once("results:&[").expect("a signature");
        from.split_once(",file:").expect("its end").0.to_string()
    };
    let running = "fn f(vsss: [[[f64; k]; m]; n]) -> [[f64; _]; _] {
        map(|vss| concat(map(|vs| sum(vs), vss), map(|vs| prod(vs), vss)), vsss)
    }";
    // The sizes are numbered in the order of their first mention.
    let (n, twice_m) = ("Some(__rt::program::Poly(&[(1,&[0])]))", "Some(__rt::program::Poly(&[(2,&[1])]))");
    let found = printed(running);
    assert!(found.contains(n) && found.contains(twice_m) && !found.contains("None"), "{found}");
    let found = printed("fn f(x: [f64; n]) -> [f64; _] { filter(|v| v > 0.0, x) }");
    assert!(found.contains("None") && !found.contains("Some"), "{found}");
}

// 19: on a GPU.

#[test]
fn memory_is_planned_before_shaders_run() {
    let p = program(&RUNNING.replace("f64", "f32"));
    let l = pipeline::back(&p, Target::Gpu).expect("it verifies");
    let of_arguments =
        |a: &loops::ArrayInfo| a.dims.iter().flat_map(|d| d.atoms()).all(|a| matches!(a, SizeAtom::Name(_)));
    assert!(l.arrays.iter().filter(|a| a.home == Home::Heap).all(of_arguments));
    let text = loops::print::print(&l);
    assert!(!text.contains("]?") && !text.contains("check "), "{text}");
    // Nothing to be reported: no shader has a word for it.
    for s in wgsl::emit(&l).expect("it runs there").shaders {
        assert!(!s.wgsl.contains("status"), "{}", s.wgsl);
    }
}

// 23: rank lifting comes first; the sizes that its maps need are checked like others.

#[test]
fn sizes_of_lifted_operands() {
    for (body, parts) in [
        ("a + b", ["`+`", "`n`", "`l`"]),
        ("dot(a, b)", ["`dot`, mapped here as in `map(|a, b| dot(a, b), ..)`", "`n`", "`l`"]),
        ("matvec(a, y)", ["`matvec`", "`m`", "`l`"]),
        ("a * transpose(a)", ["`*`", "`n`", "`m`"]),
    ] {
        let source = format!(
            "fn f(a: [[f64; m]; n], b: [[f64; m]; l], y: [f64; l]) -> f64 {{ sum(flatten({body})) }}"
        );
        refused(&source, &[&["AD0008"][..], &parts].concat());
    }
    let f = kernel("fn f(a: [[f64; m]; n], b: [[f64; _]; _]) -> [f64; _] { dot(a, b) }");
    assert_eq!(shape(&f), "[n]");
    assert_eq!(checks(&f), ["#b.0 == n", "#b.1 == m when n"]);
}

// 24: derivatives have the dimensions of what they are derivatives of.

#[test]
fn derivatives_keep_the_dimensions() {
    for source in [
        RUNNING,
        "fn f(a: [f64; n]) -> [f64; _] { filter(|v| v < 0.0, a * a - 1.0) }",
        "fn f(a: [[f64; m]; n], b: [f64; _], s: f64) -> [[f64; _]; _] { windows(concat(a[0], b) * s, 3) }",
        "fn f(a: [f64; n], t: usize) -> [f64; _] { let mut s = a; for i in 0..t { s = s * 0.5 + a; } s }",
        "fn f(a: [f64; n]) -> f64 { let h = n / 2; sum(sort(a[..h]) * a[n - h..]) }",
    ] {
        let f = kernel(source);
        let p = pipeline::middle(&f).expect("its derivatives exist");
        let dims = |p: &Program, a| p.array(a).dims.clone();
        let floats: Vec<_> = p.params.iter().flat_map(|q| q.arrays.leaves().into_iter().copied()).collect();
        let floats: Vec<_> = floats.into_iter().filter(|a| p.array(*a).elem.is_float()).collect();
        let vjp = pipeline::derivative(&p, Derivative::Vjp).expect("it is differentiable");
        let found: Vec<_> = vjp.result.leaves().into_iter().skip(1).map(|a| dims(&vjp, *a)).collect();
        assert_eq!(found, floats.iter().map(|a| dims(&p, *a)).collect::<Vec<_>>(), "{source}");
        // As values, to second order.
        let ranges = Ranges { sizes: (2, 4), integers: (0, 3), floats: (-1.5, 1.5) };
        let args = arguments_within(&f, 3, &ranges);
        let done = compare::derivatives(&p, &args, 1, 2, false).unwrap_or_else(|e| panic!("{e}\n{source}"));
        assert!(done.identities > 0, "{source}");
    }
}

// 26: a number of elements that no integer holds is an error.

#[test]
fn sizes_do_not_wrap() {
    let f = kernel("fn f(x: [f64; n], p: usize) -> [f64; _] { x[..p * p * p] }");
    assert_eq!(shape(&f), "[p * p * p]");
    gives(&f, &[floats(&[3], &[1.0, 2.0, 3.0]), int(1)], &[1], &[1.0]);
    // Wrapped, this would be zero.
    let found = meaning::run(&f, &[floats(&[3], &[1.0, 2.0, 3.0]), int(1 << 22)]).expect_err("too large");
    assert!(found.to_string().contains("p * p * p"), "{found}");
}
