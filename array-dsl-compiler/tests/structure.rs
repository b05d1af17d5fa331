//! What programs look like after optimization and scheduling: how many loops, arrays and updates they have.

use std::collections::HashSet;

use array_dsl_compiler::bulk::interp::run_counted;
use array_dsl_compiler::bulk::{ArrayId, Program, Scan, Stm};
use array_dsl_compiler::core::Function;
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::loops::print::{Counts, count, print};
use array_dsl_compiler::loops::{Home, Node, Step, Tree};
use array_dsl_compiler::pipeline;
use array_dsl_compiler::target::Target;
use array_dsl_compiler::testing::kernels::{kernel, kernels_of, program};
use array_dsl_compiler::testing::passes::Stage;
use array_dsl_compiler::testing::random::{Ranges, arguments_within};

fn derivative(text: &str, what: Derivative) -> Program {
    pipeline::derivative(&program(text), what).expect("it is differentiable")
}

fn counts(p: &Program) -> Counts {
    count(&pipeline::scheduled(p, Target::Cpu))
}

/// The scheduled program as text, for messages.
fn shown(p: &Program) -> String {
    print(&pipeline::scheduled(p, Target::Cpu))
}

/// The statements that make arrays.
fn nests(p: &Program) -> usize {
    p.stms.iter().filter(|s| matches!(s, Stm::Nest(_))).count()
}

/// The most dimensions that any array made by a statement has.
fn highest_rank(p: &Program) -> usize {
    let made: HashSet<ArrayId> = p.stms.iter().flat_map(Stm::results).collect();
    made.into_iter().map(|a| p.array(a).dims.len()).max().unwrap_or(0)
}

const LOGSUMEXP: &str = "fn f(x: [[f64; m]; n]) -> [f64; n] { logsumexp(x) }";
const LOGSUMEXP_BY_HAND: &str = "fn f(x: [[f64; m]; n]) -> [f64; n] {
    build(n, |i| {
        let z = x[i];
        let m = maximum(z);
        m + (z - m).exp().sum().ln()
    })
}";
const SINE: &str = "fn f(x: [f64; n]) -> f64 { sum(map(|v| v.sin() * v, x)) }";
const MATMUL: &str = "fn f(a: [[f64; k]; n], b: [[f64; m]; k]) -> [[f64; m]; n] { matmul(a, b) }";
const MATMUL_BY_MAPS: &str = "fn f(xss: [[f64; k]; n], yss: [[f64; m]; k]) -> [[f64; m]; n] {
    map(|xs| map(|ys| reduce(add, 0.0, map(mul, xs, ys)), transpose(yss)), xss)
}";
const STENCIL: &str = "fn f(u: [[f64; m]; n]) -> [[f64; m - 2]; n - 2] {
    build((n - 2, m - 2), |i, j| {
        let (r, c) = (i + 1, j + 1);
        u[r - 1][c] + u[r + 1][c] + u[r][c - 1] + u[r][c + 1] - 4.0 * u[r][c]
    })
}";
const TRANSPOSE: &str = "fn f(q: [[f64; m]; n]) -> [[f64; n]; m] { build(m, |j| build(n, |i| q[i][j])) }";
const K_MEANS: &str = "fn f(centers: [[f64; d]; k], #[no_grad] points: [[f64; d]; n]) -> f64 {
    sum(map(|p| minimum(map(|c| { let away = p - c; sum(away * away) }, centers)), points))
}";

/// The work of a program for matrices of `n` by `n`.
fn work(f: &Function, p: &Program, n: i64, seeds: &[usize]) -> u64 {
    let mut args = arguments_within(f, 1, &Ranges { sizes: (n, n), integers: (0, 1), floats: (0.5, 1.5) });
    for i in seeds {
        args.push(args[*i].clone());
    }
    let (_, c) = run_counted(p, &args).expect("it runs");
    c.scalar_ops + c.reads + c.updates + c.elements_allocated
}

#[test]
fn logsumexp_of_rows_is_one_tree_without_arrays() {
    for text in [LOGSUMEXP, LOGSUMEXP_BY_HAND] {
        let p = program(text);
        assert_eq!(counts(&p), Counts { trees: 1, loops: 2, ..Counts::default() }, "{}", shown(&p));
        let d = derivative(text, Derivative::Vjp);
        let c = counts(&d);
        assert_eq!(Counts { loops: 0, ..c }, Counts { trees: 1, ..Counts::default() }, "{}", shown(&d));
        assert!(c.loops <= 4, "{}", shown(&d));
    }
}

#[test]
fn the_gradient_of_a_sum_of_a_map_is_one_nest() {
    let p = program(SINE);
    assert_eq!(counts(&p), Counts { trees: 1, loops: 1, ..Counts::default() }, "{}", shown(&p));
    let d = derivative(SINE, Derivative::Grad);
    assert_eq!(nests(&d), 1, "{}", shown(&d));
    assert_eq!(counts(&d), Counts { trees: 1, ..Counts::default() }, "{}", shown(&d));
    let both = derivative(SINE, Derivative::ValueAndGrad);
    assert_eq!(counts(&both), Counts { trees: 1, loops: 1, ..Counts::default() }, "{}", shown(&both));
    let second = derivative(SINE, Derivative::Hvp);
    assert_eq!(nests(&second), 1, "{}", shown(&second));
}

#[test]
fn the_gradient_of_a_matrix_product_is_two_contractions() {
    for text in [MATMUL, MATMUL_BY_MAPS] {
        let p = program(text);
        assert_eq!(counts(&p), Counts { contracts: 1, ..Counts::default() }, "{}", shown(&p));
        // The value is one, each cotangent is one.
        let d = derivative(text, Derivative::Vjp);
        assert_eq!(counts(&d), Counts { contracts: 3, ..Counts::default() }, "{}", shown(&d));
        assert_eq!(highest_rank(&d), 2, "{}", shown(&d));
    }
}

#[test]
fn complex_numbers_are_what_their_parts_are() {
    // Of the host's array as it is: no loop takes it apart.
    let energy = "fn f(z: [Complex<f64>; n]) -> f64 { z.map(|w| (w * w).norm_sqr()).sum() }";
    let p = program(energy);
    assert_eq!(counts(&p), Counts { trees: 1, loops: 1, ..Counts::default() }, "{}", shown(&p));
    let d = derivative(energy, Derivative::Grad);
    assert_eq!(counts(&d), Counts { trees: 1, ..Counts::default() }, "{}", shown(&d));
    // A product of matrices is four of real ones, which one loop puts together; the way back is eight more.
    let product = "fn f(a: [[Complex<f64>; k]; n], b: [[Complex<f64>; m]; k]) -> [[Complex<f64>; m]; n] { matmul(a, b) }";
    let p = program(product);
    assert_eq!(
        counts(&p),
        Counts { contracts: 4, heap_arrays: 4, trees: 1, ..Counts::default() },
        "{}",
        shown(&p)
    );
    let d = derivative(product, Derivative::Vjp);
    assert_eq!(counts(&d).contracts, 12, "{}", shown(&d));
}

#[test]
fn the_gradient_of_a_stencil_is_a_gather() {
    let d = derivative(STENCIL, Derivative::Vjp);
    assert_eq!(counts(&d), Counts { trees: 2, ..Counts::default() }, "{}", shown(&d));
}

#[test]
fn the_gradient_of_a_periodic_stencil_shares_the_loops_of_its_value() {
    // The contributions of the neighbors are computed where they are added, around the circle as well: no array but
    // the gradient, and no read that could be outside.
    for text in [
        "fn f(x: [[f64; m]; n]) -> f64 {
            let each = build((n, m), |i, j| {
                let (right, down) = (x[i][(j + 1) % m] - x[i][j], x[(i + 1) % n][j] - x[i][j]);
                right * right + down * down
            });
            flatten(each).sum()
        }",
        "fn f(x: [[f64; m]; n]) -> f64 {
            let each = build((n, m), |i, j| {
                let (left, up) = (x[i][(j + m - 1) % m] - x[i][j], x[(i + n - 1) % n][j] - x[i][j]);
                left * left + up * up
            });
            flatten(each).sum()
        }",
    ] {
        let d = derivative(text, Derivative::ValueAndGrad);
        let expected = Counts { trees: 1, loops: 2, ..Counts::default() };
        assert_eq!(counts(&d), expected, "{}", shown(&d));
        assert!(!shown(&d).contains("]?"), "{}", shown(&d));
    }
}

#[test]
fn a_gather_adds_to_the_rest_of_the_gradient() {
    let text = "fn f(x: [f64; n], at: [i64; m], to: [i64; k]) -> f64 {
        sum(x * x) + sum(map(|i| x[i] * x[i], at)) + sum(map(|i| x[i].exp(), to))
    }";
    let d = derivative(text, Derivative::Grad);
    // One loop makes the first term, the others add to it where it is.
    let expected = Counts { trees: 3, accumulates: 2, ..Counts::default() };
    assert_eq!(counts(&d), expected, "{}", shown(&d));
    assert!(!shown(&d).contains("copy") && !shown(&d).contains("fill"), "{}", shown(&d));
    // What is needed as it was is copied.
    let text = "fn f(x: [f64; n], at: [i64; m]) -> ([f64; n], [f64; n]) {
        let y = x.exp();
        (y, scatter_add(y, at, map(|i| 1.0, at)))
    }";
    let p = program(text);
    assert!(shown(&p).contains("copy"), "{}", shown(&p));
}

#[test]
fn a_transpose_by_nested_builds_stays_quadratic() {
    let f = kernel(TRANSPOSE);
    let (p, d) = (program(TRANSPOSE), derivative(TRANSPOSE, Derivative::Vjp));
    let flat = array_dsl_compiler::flatten::flatten(&f).expect("its derivatives exist");
    // As it is written, and optimized: one read and one element for each.
    assert_eq!(work(&f, &flat, 20, &[]), 2 * 400);
    assert_eq!(work(&f, &p, 20, &[]), 2 * 400);
    assert_eq!(work(&f, &d, 20, &[0]), 4 * 400);
}

/// What a value and its adjoints compute of a table's elements is computed once at each point, which adds to each table.
#[test]
fn points_add_to_tables_together() {
    for (name, text) in kernels_of(include_str!("programs/tables.rs"), "") {
        let d = derivative(&text, Derivative::ValueAndGrad);
        let steps = pipeline::scheduled(&d, Target::Cpu).steps;
        let trees: Vec<&Tree> =
            steps.iter().filter_map(|s| if let Step::Tree(t) = s { Some(t) } else { None }).collect();
        let [points] = trees[..] else { panic!("{name}\n{}", shown(&d)) };
        let has_loops = points.body.iter().any(|n| matches!(n, Node::Loop(_) | Node::Recurrence(_)));
        assert!(!has_loops, "{name}\n{}", shown(&d));
    }
}

/// Sums over points of what these make, or have at hand: the points make them on the way, and keep nothing.
#[test]
fn points_add_up_what_they_make() {
    // At indices that the points decide.
    let pairs = kernels_of(include_str!("programs/pairs.rs"), "discounted");
    let all = [
        (&*pairs[0].1, Derivative::Vjp),
        // Parameters that all points share, with a history at each.
        (
            "fn f(u: [f64; m], start: [f64; n]) -> [f64; n] {
                build(n, |i| {
                    let mut x = start[i];
                    for t in 0..m { x = sin(x) + u[t]; }
                    x
                })
            }",
            Derivative::Vjp,
        ),
        (
            "fn f(c: [f64; m], t: [f64; n], y: [f64; n]) -> f64 {
                build(n, |i| {
                    let mut fit = 0.0;
                    let mut power = 1.0;
                    for j in 0..m { fit += c[j] * power; power *= t[i]; }
                    (y[i] - fit).powi(2)
                }).sum()
            }",
            Derivative::ValueAndGrad,
        ),
        // What is the same for those that data decide.
        (
            "fn f(u: [f64; m], at: [[i64; k]; n]) -> f64 {
                build(n, |i| {
                    let mut x = 0.1;
                    for t in 0..k { x = sin(x) + u[at[i][t]]; }
                    x
                }).sum()
            }",
            Derivative::ValueAndGrad,
        ),
        // Rows that are read on the way there and on the way back.
        (
            "fn f(#[no_grad] x: [[f64; d]; n], #[no_grad] y: [f64; n], w: [f64; d], b: f64) -> f64 {
                let mut loss = 0.0;
                for i in 0..n { loss += ln(1.0 + exp(-y[i] * (dot(x[i], w) + b))); }
                loss / n as f64
            }",
            Derivative::ValueAndGrad,
        ),
    ];
    for (text, what) in all {
        let l = pipeline::back(&derivative(text, what), Target::Cpu).expect("it verifies");
        let loops = |s: &&Step| matches!(s, Step::Tree(t) if t.body.iter().any(|n| matches!(n, Node::Loop(_) | Node::Recurrence(_))));
        assert_eq!(l.steps.iter().filter(loops).count(), 1, "{}", print(&l));
        let wide = l.arrays.iter().filter(|a| a.home == Home::Heap && a.dims.len() > 1);
        assert_eq!(wide.count(), 0, "{}", print(&l));
    }
}

#[test]
fn the_cost_of_clusters_has_no_array_of_all_differences() {
    let p = program(K_MEANS);
    assert_eq!(counts(&p), Counts { trees: 1, loops: 3, ..Counts::default() }, "{}", shown(&p));
    for what in [Derivative::Grad, Derivative::ValueAndGrad, Derivative::Jvp, Derivative::Hvp] {
        let d = derivative(K_MEANS, what);
        assert!(highest_rank(&d) <= 2, "{}", shown(&d));
        let c = counts(&d);
        // Forward mode keeps a row of the tangents of one point's distances; what goes back is added to the nearest centers only,
        // by the points that find these, with what else they add up.
        let added = if what == Derivative::Jvp { 0 } else { 1 };
        let sums = if what == Derivative::ValueAndGrad { 1 } else { 0 };
        assert!(
            c.heap_arrays <= 1 + added && c.row_arrays <= 1 && c.accumulates == added + sums,
            "{c:?}\n{}",
            shown(&d)
        );
    }
}

/// Elements that are made of their places alone, as random numbers are, belong to no array that loops could have in common.
#[test]
fn what_is_computed_of_the_axes_alone_is_computed_once() {
    let gradient = derivative(
        "fn f(spot: f64, vol: f64, t: f64, n: usize) -> f64 {
            let z = build(n, |i| sin(12.9898 * i as f64));
            let price = |z| max(spot * exp(vol * sqrt(t) * z - 0.5 * vol * vol * t) - 1.0, 0.0);
            mean(price(z) + price(-z))
        }",
        Derivative::ValueAndGrad,
    );
    let text = shown(&gradient);
    assert_eq!(text.matches("= sin ").count(), 1, "{text}");
}

#[test]
fn expensive_elements_are_computed_once() {
    let text = "fn f(x: [f64; n], w: [f64; k]) -> [f64; n + 1 - k] {
        let e = x.exp();
        build(n + 1 - k, |i| sum(build(k, |j| e[i + j] * w[j])))
    }";
    let p = program(text);
    // One nest makes the exponentials, the other reads them.
    assert_eq!(nests(&p), 2, "{}", shown(&p));
    // Along an axis that counts like a digit, each is read once.
    let text = "fn f(x: [f64; n * m], y: [[f64; m]; n]) -> [[f64; m]; n] {
        let e = x.exp();
        build((n, m), |i, j| e[i * m + j] * y[i][j])
    }";
    let p = program(text);
    assert_eq!(nests(&p), 1, "{}", shown(&p));
}

/// Scans and their derivatives stay parallel: forwards and backwards, at any order, by associative operators.
#[test]
fn scans_stay_parallel_in_both_directions() {
    let scans = |p: &Program| -> Vec<bool> {
        p.stms
            .iter()
            .filter_map(|s| if let Stm::Nest(n) = s { Some(&n.body) } else { None })
            .flat_map(|b| b.scans().map(Scan::is_associative))
            .collect()
    };
    for text in [
        "fn f(x: [f64; n]) -> [f64; n] { cumsum(x) }",
        "fn f(x: [f64; n]) -> [f64; n] { cumprod(x) }",
        "fn f(x: [f64; n], y: [f64; n]) -> (f64, f64) { reduce(|(a, b), (c, d)| (a * c, b * c + d), (1.0, 0.0), (x, y)) }",
        "fn f(at: [i64; n], x: [f64; n]) -> [f64; 3] { hist(|a, b| a + b + a * b, 0.0, 3, at, x) }",
    ] {
        for what in [Derivative::Jvp, Derivative::Vjp] {
            let first = derivative(text, what);
            let second = pipeline::derivative(&first, Derivative::Vjp).expect("it has one");
            for p in [&first, &second] {
                let found = scans(p);
                assert!(found.iter().all(|s| *s) && !found.is_empty(), "{text}: {}", shown(p));
            }
        }
    }
    // A loop of scalars has an order, and so has its derivative.
    let text = "fn f(x: [f64; n]) -> f64 { let mut h = 0.0; for i in 0..n { h = (h + x[i]).sin(); } h }";
    let found = scans(&derivative(text, Derivative::Vjp));
    assert!(!found.is_empty() && found.iter().all(|s| !s), "{found:?}");
}

/// Room on the stack is made before anything is decided: see `emit/cpu/region.rs`.
#[test]
fn regions_begin_with_their_room() {
    let text = "fn f(x: [[f64; m]; n], y: [f64; n]) -> [f64; m] {
        build(m, |j| {
            let (a, b) = (sin(x[0][j]), cos(x[0][j]));
            sum(build(n, |i| x[i][j] * a + y[i] * b))
        })
    }";
    let passes = "flatten, optimize, finish cpu, schedule cpu, lower cpu, emit cpu";
    let stage = Stage::read(text).expect("it is a kernel");
    let code = passes.split(", ").try_fold(stage, Stage::then).expect("the passes apply").to_string();
    let functions = code.split("\nfn Region").skip(1);
    let bodies = functions.filter(|f| f.split(['<', '(']).next().is_some_and(|name| name.ends_with("_run")));
    let firsts: Vec<_> = bodies.map(|f| f.lines().nth(1)).collect();
    assert!(!firsts.is_empty(), "{code}");
    assert!(firsts.iter().all(|line| *line == Some("::core::hint::black_box(0u8);")), "{firsts:?}");
}

/// What recurrences multiply inputs with is done before them, and what their ways back add to weights after them, as products of matrices.
#[test]
fn weights_of_recurrences_are_used_for_all_trips() {
    let kernels = kernels_of(include_str!("../../tests/tests/recurrent.rs"), "simple closed gated begun");
    for ((name, text), products) in kernels.into_iter().zip([4, 1, 6, 4]) {
        let d = derivative(&text, Derivative::Vjp);
        let repeats = d.stms.iter().filter(|s| matches!(s, Stm::Repeat(_))).flat_map(Stm::results);
        for a in repeats {
            let dims: Vec<String> = d.array(a).dims.iter().map(ToString::to_string).collect();
            assert!(dims.len() < 2 || dims[0] != "d", "{name}: {dims:?}");
        }
        assert_eq!(counts(&d).contracts, products, "{name}\n{}", shown(&d));
    }
}

/// What ways back add to triangles of a matrix is made after them: no loop carries an adjoint as large as the matrix.
#[test]
fn adjoints_of_triangles_are_made_once() {
    let others =
        kernels_of(include_str!("../../tests/tests/triangular.rs"), "by_columns from_the_end of_a_cube");
    let textbook = include_str!("programs/textbook.rs");
    for (name, text) in
        kernels_of(textbook, "forward_substitution back_substitution").into_iter().chain(others)
    {
        let d = derivative(&text, Derivative::Vjp);
        let matrix = &d.array(*d.params[0].arrays.leaves()[0]).dims;
        let repeats = d.stms.iter().filter(|s| matches!(s, Stm::Repeat(_))).flat_map(Stm::results);
        assert!(repeats.into_iter().all(|a| d.array(a).dims != *matrix), "{name}\n{}", shown(&d));
    }
}

/// What there is for each pair of points is at no time there for all pairs, however it is written, and is computed once where both points
/// are of one kind, but for halves that are written from the other end.
#[test]
fn energies_of_pairs_need_no_memory_of_pairs() {
    let names = "by_components by_arrays by_vectors in_loops by_maps of_halves within within_later between";
    for (name, text) in kernels_of(include_str!("../../tests/tests/energies.rs"), names) {
        let loops = pipeline::scheduled(&derivative(&text, Derivative::ValueAndGrad), Target::Cpu);
        for a in loops.arrays.iter().filter(|a| matches!(a.home, Home::Heap)) {
            let of_points = a.dims.iter().filter(|d| d.as_constant().is_none()).count();
            assert!(of_points < 2, "{name}: {}\n{}", a.name, print(&loops));
        }
        let functions = print(&loops).matches(" = exp ").count();
        let most = if matches!(&*name, "between" | "within_later") { 2 } else { 1 };
        assert_eq!(functions, most, "{name}\n{}", print(&loops));
    }
}
