//! What becomes of loops that points make by themselves: one parallel loop, in lanes where the trips of neighbors are alike.

use array_dsl_compiler::bulk;
use array_dsl_compiler::derive::Derivative;
use array_dsl_compiler::emit::wgsl;
use array_dsl_compiler::loops::print::print;
use array_dsl_compiler::loops::{Form, Home, Node, Program, Step, Tree};
use array_dsl_compiler::pipeline;
use array_dsl_compiler::target::Target;
use array_dsl_compiler::testing::kernels::program;
use array_dsl_compiler::testing::passes::Stage;
use quote::ToTokens;

/// The loops of a kernel for the CPU.
fn loops(text: &str) -> Program {
    let loops = pipeline::back(&program(text), Target::Cpu).unwrap_or_else(|e| panic!("{e:?}"));
    Program::clone(&loops)
}

/// A kernel of the tests across crates.
fn kernel(name: &str) -> String {
    let files = [include_str!("../../tests/tests/points.rs"), include_str!("programs/points.rs")];
    let found = files.into_iter().find_map(|file| found_in(file, name));
    found.unwrap_or_else(|| panic!("there is no `{name}`"))
}

/// A kernel of a file.
fn kernel_of(file: &str, name: &str) -> String {
    found_in(file, name).unwrap_or_else(|| panic!("there is no `{name}`"))
}

fn found_in(file: &str, name: &str) -> Option<String> {
    let file = syn::parse_file(file).expect("it is Rust");
    let mut kernels = file.items.into_iter().filter_map(|i| match i {
        syn::Item::Fn(f) if f.sig.ident == name => Some(f),
        _ => None,
    });
    let mut f = kernels.next()?;
    f.attrs.clear();
    Some(f.to_token_stream().to_string())
}

fn has_recurrence(nodes: &[Node]) -> bool {
    nodes.iter().any(|n| match n {
        Node::Recurrence(_) => true,
        Node::Loop(l) => has_recurrence(&l.body),
        _ => false,
    })
}

/// The forms of all loops that stand around recurrences.
fn forms(nodes: &[Node], out: &mut Vec<Form>) {
    for n in nodes {
        if let Node::Loop(l) = n {
            if has_recurrence(&l.body) {
                out.push(l.plan.form.clone());
            }
            forms(&l.body, out);
        }
    }
}

/// How many parallel loops a kernel has, and the forms of those with a recurrence inside.
fn parallel(p: &Program) -> (usize, Vec<Form>) {
    let (mut count, mut found) = (0, Vec::new());
    for s in &p.steps {
        match s {
            Step::Tree(t) if !t.axes.is_empty() => {
                count += 1;
                if has_recurrence(&t.body) {
                    found.push(t.plan.form.clone());
                }
                forms(&t.body, &mut found);
            }
            // Sizes, and conditions that all points share.
            Step::Tree(_) | Step::Fill { .. } | Step::Check(..) => {}
            other => panic!("`{other:?}` in\n{}", print(p)),
        }
    }
    (count, found)
}

#[test]
fn each_is_one_parallel_loop() {
    let expected = [
        ("escape", 1, vec![Form::Together(16)]),
        // The coordinates of all columns and of all rows come before it, once each.
        ("picture", 3, vec![Form::Plain, Form::Together(16)]),
        ("march", 1, vec![Form::Together(16)]),
        // What is read at the place that was found may be outside: which error is reported first stays as it is written.
        ("interpolated", 2, vec![Form::Together(16)]),
        // Lanes wait for elements that tell them where to go.
        ("walks", 1, vec![Form::Together(16)]),
        ("flown", 1, vec![Form::Together(64)]),
        ("factors", 1, vec![Form::Plain]),
        // The greatest number of trips is known before it.
        ("recurrent_rows", 1, vec![]),
    ];
    for (name, count, forms) in expected {
        let p = loops(&kernel(name));
        assert_eq!(parallel(&p), (count, forms), "{name}\n{}", print(&p));
    }
}

/// Points with small arrays that loops in loops change: they go together, with the derivatives, and nothing is in memory but arguments
/// and results.
#[test]
fn small_arrays_that_loops_change_are_in_lanes() {
    let file = include_str!("../../tests/tests/together.rs");
    for (name, value, pullback) in
        [("factors", 16, 16), ("smoothed", 16, 0), ("determinants", 16, 16), ("cells", 64, 0)]
    {
        let text = kernel_of(file, name);
        let mut programs = vec![(program(&text), value)];
        if pullback > 0 {
            programs.push((
                pipeline::derivative(&program(&text), Derivative::Vjp).expect("there is one"),
                pullback,
            ));
        }
        for (bulk, width) in programs {
            let p = pipeline::back(&bulk, Target::Cpu).unwrap_or_else(|e| panic!("{e:?}"));
            assert_eq!(parallel(&p), (1, vec![Form::Together(width)]), "{name}\n{}", print(&p));
            let results: Vec<_> = p.result.leaves().into_iter().filter_map(|a| p.end_of_views(*a)).collect();
            let heap = |a: usize| p.arrays[a].home == Home::Heap && !p.arrays[a].dims.is_empty();
            let extra: Vec<_> = (0..p.arrays.len())
                .filter(|a| heap(*a) && !results.contains(&bulk::ArrayId(*a as u32)))
                .collect();
            assert!(extra.is_empty(), "{name}: {extra:?}\n{}", print(&p));
        }
    }
}

/// What all points do before and after the loop is done beside it, unless it costs more than in a loop of its own, or looks at others.
#[test]
fn what_points_do_beside_their_loop() {
    let text = |before: &str, after: &str| {
        format!(
            "fn f(x: [f64; n], r: f64) -> [f64; n] {{
                let a = map(|x| {before}, x);
                let b = map(|a| {{ let mut t = a; while t > r {{ t = t * 0.5; }} t }}, a);
                build(n, |i| {after})
            }}"
        )
    };
    for (before, after, count) in [
        ("x + 1.0", "2.0 * b[i]", 1),
        ("x + 1.0", "b[i] + a[i] + x[i]", 1),
        ("exp(x)", "b[i]", 1),
        ("x + 1.0", "b[n - 1 - i] + a[i]", 2),
        ("lgamma(x)", "b[i]", 2),
    ] {
        let p = loops(&text(before, after));
        assert_eq!(parallel(&p).0, count, "{before}, {after}\n{}", print(&p));
    }
}

/// A kernel with those that it calls.
fn with_called(names: &[&str]) -> String {
    let file = syn::parse_file(include_str!("../../tests/tests/small.rs")).expect("it is Rust");
    let of = |name: &&str| {
        let mut kernels = file.items.iter().filter_map(|i| match i {
            syn::Item::Fn(f) if f.sig.ident == name => Some(f.clone()),
            _ => None,
        });
        let mut f = kernels.next().unwrap_or_else(|| panic!("there is no `{name}`"));
        f.attrs.clear();
        f.to_token_stream().to_string()
    };
    names.iter().map(of).collect()
}

/// What all points share gets sums of all trips of all points: numbers that a trip multiplies and adds are no reason to stay at the host
/// level.
#[test]
fn derivatives_by_what_points_share_stay_at_the_points() {
    let value = program(&kernel("flown"));
    let pullback = pipeline::derivative(&value, Derivative::Vjp).expect("it is differentiable");
    let p = Program::clone(&pipeline::back(&pullback, Target::Cpu).expect("it verifies"));
    assert_eq!(parallel(&p), (1, vec![Form::Together(16)]), "{}", print(&p));
}

/// Small arrays of points are scalars, with everything that is made of them, on the CPU and on a GPU: one loop without loops inside,
/// and no memory but that of the results.
#[test]
fn small_arrays_are_scalars() {
    let called = ["cross", "turned", "residual"];
    for (name, results) in [("residuals", 1), ("blocks", 3), ("folds", 5)] {
        let text = match name {
            "folds" => with_called(&[name]),
            _ => with_called(&[&called[..], &[name]].concat()),
        };
        for target in Target::ALL {
            let p = pipeline::back(&program(&text), target).unwrap_or_else(|e| panic!("{e:?}"));
            let trees: Vec<&Tree> =
                p.steps.iter().filter_map(|s| if let Step::Tree(t) = s { Some(t) } else { None }).collect();
            let loops = trees.iter().flat_map(|t| &t.body).filter(|n| matches!(n, Node::Loop(_))).count();
            let memory = p.arrays.iter().filter(|a| matches!(a.home, Home::Heap | Home::Row { .. })).count();
            assert_eq!((trees.len(), loops, memory), (1, 0, results), "{name}, {target:?}\n{}", print(&p));
        }
    }
}

/// The steps of a program for a GPU, each a dispatch, a copy, or a loop of the host level with such.
fn asked(steps: &[Step]) -> Vec<String> {
    let named = |s: &Step| match s {
        Step::Tree(t) if has_recurrence(&t.body) => "loop".into(),
        Step::Tree(t) if t.axes.is_empty() => "once".into(),
        Step::Tree(_) => "points".into(),
        Step::Fill { .. } => "fill".into(),
        Step::Copy { .. } | Step::Move { .. } => "copy".into(),
        Step::Contract(_) => "contract".into(),
        Step::Repeat(r) => format!("repeat ({})", asked(&r.steps).join(", ")),
        Step::Bands(b) => format!("bands ({})", asked(&b.steps).join(", ")),
        Step::Check(..) => String::new(),
        Step::Sort(_) => "sort".into(),
        Step::Call(c) => c.routine.name().into(),
    };
    steps.iter().map(named).filter(|name| !name.is_empty()).collect()
}

/// What a GPU is asked for to execute a program.
fn asked_of_gpu(p: &bulk::Program) -> (String, String) {
    let loops = pipeline::back(p, Target::Gpu).unwrap_or_else(|e| panic!("{e:?}"));
    wgsl::emit(&loops).unwrap_or_else(|e| panic!("{e}"));
    (asked(&loops.steps).join(", "), print(&loops))
}

/// Points with loops of their own are one dispatch of a GPU, a thread for each; what they share is summed up after it.
#[test]
fn each_is_one_dispatch() {
    let expected = [
        ("escape", "", "loop"),
        ("escape", "vjp", "loop, once, once, loop"),
        ("fibonacci", "", "loop"),
        ("picture", "", "loop"),
        ("march", "", "loop, once"),
        ("march", "grad", "loop, once, once, loop, once"),
        ("march", "hvp", "loop, once, once, loop, once"),
        ("interpolated", "", "loop"),
        (
            "interpolated",
            "vjp",
            "loop, fill, points, fill, points, fill, points, fill, points, points, points",
        ),
        ("flown", "", "loop"),
        ("flown", "vjp", "once, fill, fill, loop, loop, once, once"),
        ("flight", "", "loop"),
        ("flight", "vjp", "once, loop, loop, points, once, points"),
        ("factors", "", "fill, loop"),
        ("factors", "vjp", "once, fill, copy, fill, loop"),
        ("log_dets", "", "loop"),
        ("log_dets", "vjp", "fill, loop"),
        ("filtered", "", "points"),
        ("filtered", "vjp", "points, points, points"),
        // The greatest number of trips, and then the rows.
        ("recurrent_rows", "", "once, once, loop"),
        ("recurrent_rows", "vjp", "once, once, loop, loop, fill, points, fill, points"),
        ("histograms", "", "fill, loop"),
    ];
    let mut wrong = String::new();
    for (name, what, steps) in expected {
        let mut p = program(&kernel_of(include_str!("../../tests/tests/gpu/points.rs"), name));
        if let Some(d) = Derivative::ALL.iter().find(|d| d.name() == what) {
            p = pipeline::derivative(&p, *d).expect("it is differentiable");
        }
        let (found, shown) = asked_of_gpu(&p);
        if found != steps {
            wrong.push_str(&format!("{what} {name}: {found}\n{shown}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A thread goes through a point's loops alone. Where the points are known to be few and their loops are not known to be short, each
/// trip is a step with more threads.
#[test]
fn few_points_with_long_loops_stay_at_the_host() {
    let text = |n: &str, m: &str| {
        format!(
            "fn f(x: [[f32; {m}]; {n}], most: i32) -> [f32; {n}] {{
                build({n}, |i| {{
                    let (mut s, mut k) = (0.0, 0);
                    while s < 100.0 && k < most {{
                        let mut t = 0.0;
                        for j in 0..{m} {{ t = t * s + x[i][j]; }}
                        s += t * t;
                        k += 1;
                    }}
                    s
                }})
            }}"
        )
    };
    for (n, m, stays) in [("n", "m", false), ("100", "m", false), ("4", "m", true), ("4", "50", false)] {
        let (found, shown) = asked_of_gpu(&program(&text(n, m)));
        assert_eq!(found.contains("repeat"), stays, "{n}, {m}: {found}\n{shown}");
    }
}

/// What a recurrence goes back through, and what its way back stores at each trip, is in lanes as the value is.
#[test]
fn ways_there_and_back_with_maps_go_together() {
    let text = "fn f(x: [[f64; m]; n]) -> [f64; n] {
        build(n, |i| {
            let mut s = 0.0;
            let mut c = 0.0;
            for j in 0..m { let d = x[i][j] - s; c = c * 0.9 + d * d; s = s + 0.1 * d; }
            c
        })
    }";
    let value = program(text);
    let pullback = pipeline::derivative(&value, Derivative::Vjp).expect("it is differentiable");
    let pullback = Program::clone(&pipeline::back(&pullback, Target::Cpu).expect("it verifies"));
    assert_eq!(parallel(&loops(text)), (1, vec![Form::Together(64)]), "{}", print(&loops(text)));
    assert_eq!(parallel(&pullback), (1, vec![Form::Together(16)]), "{}", print(&pullback));
}

/// Little code in lanes has another form for whole blocks, which adds up in lanes what all points share; code with functions, and code
/// whose lanes read elements that are far from each other, has not.
#[test]
fn little_code_is_there_for_whole_blocks() {
    let fit = |trip: &str| {
        format!(
            "fn f(x: [f64; m], t: [f64; n], u: [[f64; m]; n]) -> f64 {{
                sum(build(n, |i| {{
                    let mut fit = 0.0;
                    let mut power = 1.0;
                    for j in 0..m {{ fit += x[j] * power; power = {trip}; }}
                    fit * fit
                }}))
            }}"
        )
    };
    let passes = "flatten, optimize, grad, optimize, finish cpu, schedule cpu, lower cpu, emit cpu";
    for (trip, expected) in [("power * t[i]", true), ("sin(power * t[i])", false), ("power * u[i][j]", false)]
    {
        let stage = Stage::read(&fit(trip)).expect("it is a kernel");
        let stage = passes.split(", ").try_fold(stage, Stage::then).expect("the passes apply");
        let code = stage.to_string();
        assert_eq!(code.contains("if wide {"), expected, "{trip}\n{code}");
        assert_eq!(code.contains("lanes_of_target"), expected, "{trip}\n{code}");
    }
}

/// Elements that may be outside are read before functions are computed of them, in a loop of their own, whether points store or fold. Where
/// there are no functions that is no use, and what lanes keep of thousands of elements would not fit on the stack.
#[test]
fn what_may_fail_stands_before_functions() {
    let passes = "flatten, optimize, finish cpu, schedule cpu, lower cpu, emit cpu";
    let many: Vec<String> = (0..300).map(|k| format!("x[at[i] + {k}]")).collect();
    for (results, value, divided) in [
        ("[f64; m]", "build(m, |i| exp(x[at[i]]))", true),
        ("f64", "sum(build(m, |i| exp(x[at[i]])))", true),
        ("i64", "argmax(build(m, |i| exp(x[at[i]])))", true),
        ("[f64; m]", "build(m, |i| 2.0 * x[at[i]])", false),
        ("f64", "sum(build(m, |i| 2.0 * x[at[i]]))", false),
        ("[f64; m]", &format!("build(m, |i| exp({}))", many.join(" + ")), false),
    ] {
        let text = format!("fn f(x: [f64; n], at: [i64; m]) -> {results} {{ {value} }}");
        let stage = Stage::read(&text).expect("it is a kernel");
        let stage = passes.split(", ").try_fold(stage, Stage::then).expect("the passes apply");
        let code = stage.to_string();
        let lanes: Vec<&str> = code.split("while lane < ").skip(1).collect();
        let is_mixed = |code: &&str| code.contains("in_range") && code.contains("::exp(");
        assert_eq!(code.contains("kept"), divided, "{value}\n{code}");
        assert!(!divided || !lanes.iter().any(is_mixed), "{value}\n{code}");
    }
}

/// Lanes that wait for elements are left out when they have ended, and where there is no point; what they choose is not guessed.
#[test]
fn lanes_that_have_ended_are_left_out() {
    let passes = "flatten, optimize, finish cpu, schedule cpu, lower cpu, emit cpu";
    for (name, guard, chooses) in
        [("interpolated", "\nif unsafe { state", true), ("wandered", "\nif inside && unsafe { state", false)]
    {
        let stage = Stage::read(&kernel(name)).expect("it is a kernel");
        let stage = passes.split(", ").try_fold(stage, Stage::then).expect("the passes apply");
        let code = stage.to_string();
        assert!(code.contains(guard), "{name}\n{code}");
        assert_eq!(code.contains("select_unpredictable"), chooses, "{name}\n{code}");
    }
}
