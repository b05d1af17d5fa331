//! Programs that break one rule each.

use super::super::print::tests::sample;
use super::super::{
    Across, Bands, Border, Division, Form, Home, Loop, Middle, Node, Program, Range, Recurrence, Rounds,
    Sides, State, Step, Tree,
};
use super::{check, verify};
use crate::bulk::build::int;
use crate::bulk::parse::parse;
use crate::bulk::{ArrayId, Atom, Axis, Block, Branch, Exp, Let, Prefix, Reducer, Scan, Trips, Var};
use crate::derive::Derivative;
use crate::dim::{Dim, SizeAtom};
use crate::loops::touched::Touched;
use crate::pipeline;
use crate::target::Target;
use crate::testing::kernels::program;
use crate::ty::{Elem, Loc};

/// The errors of the sample after a change.
fn errors(change: impl FnOnce(&mut Program)) -> Vec<String> {
    let mut p = sample();
    change(&mut p);
    check(&p)
}

fn body(p: &mut Program) -> &mut Vec<Node> {
    &mut tree(p).body
}

#[test]
fn accepts_the_sample() {
    assert_eq!(errors(|_| {}), [""; 0]);
    assert!(verify(sample()).is_ok());
}

#[test]
fn arrays_are_written_before_they_are_read() {
    assert_eq!(errors(|p| drop(p.steps.remove(2)))[0], "`p.4` is not written whole");
    assert_eq!(errors(|p| drop(p.steps.remove(0)))[0], "`c.3` is used before it is bound");
    assert_eq!(errors(|p| drop(body(p).remove(0)))[0], "`e.1` is used before it is bound");
    assert_eq!(errors(|p| p.steps.swap(0, 2))[0], "`c.3` is used before it is bound");
}

#[test]
fn stores_cover_their_array_and_do_not_collide() {
    let store = |p: &mut Program, array, index| {
        body(p).pop();
        body(p).push(Node::Store { array: ArrayId(array), index, value: Atom::Var(Var(6)) });
    };
    let zero = Atom::Const(crate::ty::Const::int(crate::ty::Elem::I64, 0));
    let found = errors(|p| store(p, 2, vec![zero]));
    assert_eq!(
        found,
        [
            "several points of the parallel axes store to the same element of `s.2`",
            "`s.2` is not written whole"
        ]
    );
    assert_eq!(errors(|p| store(p, 2, Vec::new()))[0], "`s.2` takes 1 indices, not 0");
    assert_eq!(errors(|p| store(p, 5, vec![zero]))[0], "`gone.5` is written but has no memory of its own");
    assert_eq!(errors(|p| store(p, 0, vec![zero, zero]))[0], "`x.0` is written but has no memory of its own");
}

#[test]
fn scalars_are_in_scope_and_bound_once() {
    assert_eq!(errors(|p| body(p).swap(1, 2))[0], "%6 is not in scope");
    let twice = |p: &mut Program| {
        let first = body(p)[0].clone();
        body(p).push(first);
    };
    assert_eq!(errors(twice)[0], "%1 is bound twice");
}

/// A state that stays what it was.
fn scan(start: Atom) -> Node {
    let step = Branch { block: Block::default(), results: vec![Atom::Var(Var(8))] };
    let (left, right) = (vec![Var(8)], Vec::new());
    let (prefix, start, values) = (Prefix::Inclusive, vec![start], Vec::new());
    let vars = vec![Var(7)];
    Node::Scan(Scan { vars, prefix, left, start, right, values, step, loc: Loc(0) })
}

/// One of the loops of the sample's tree: the first accumulates, the second folds.
fn inner(p: &mut Program, at: usize) -> &mut Loop {
    match &mut body(p)[at] {
        Node::Loop(l) => l,
        other => panic!("{other:?} is no loop"),
    }
}

/// The code of a loop as its middle.
fn middle(l: &Loop) -> Middle {
    Middle {
        margin: 1,
        body: l.body.clone(),
        values: l.folds.iter().map(|f| f.value).collect(),
        together: None,
    }
}

#[test]
fn a_scan_stands_in_a_loop() {
    assert_eq!(errors(|p| body(p).push(scan(int(0)))), ["a scan in no loop"]);
    assert_eq!(errors(|p| inner(p, 1).body.push(scan(int(0)))), [""; 0]);
}

#[test]
fn trips_are_in_order_where_a_scan_stands() {
    let forms: [fn(Middle) -> Form; 3] = [Form::Peeled, |m| Form::Lanes(Some(m)), |_| Form::Lanes(None)];
    for form in forms {
        let plain = |p: &mut Program| {
            let l = inner(p, 1);
            l.plan.form = form(middle(l));
        };
        assert_eq!(errors(plain), [""; 0]);
        let ordered = |p: &mut Program| {
            let l = inner(p, 1);
            l.body.push(scan(int(0)));
            l.plan.form = form(middle(l));
        };
        assert_eq!(errors(ordered), ["a scan in a loop whose trips are not in order"]);
    }
    // What only the middle has needs its start as well.
    let in_the_middle = |p: &mut Program| {
        let l = inner(p, 1);
        let mut m = middle(l);
        m.body.push(scan(Atom::Var(Var(4))));
        l.plan.form = Form::Peeled(m);
    };
    let found = errors(in_the_middle);
    assert_eq!(found, ["a scan in a loop whose trips are not in order", "%4 is not in scope"]);
}

#[test]
fn tiles_are_of_scalar_code_loops_and_stores() {
    let wrong = ["tiles of more than scalar code, loops and stores"];
    assert_eq!(errors(|p| inner(p, 1).plan.form = Form::Tiles), [""; 0]);
    let accumulates = |p: &mut Program| inner(p, 0).plan.form = Form::Tiles;
    assert_eq!(errors(accumulates), wrong);
    let writes = |p: &mut Program| {
        let l = inner(p, 0);
        let Some(Node::Accumulate { array, index, value, .. }) = l.body.pop() else { panic!("{l:?}") };
        l.body.push(Node::Write { array, index, value, checked: true });
        l.plan.form = Form::Tiles;
    };
    assert_eq!(errors(writes), wrong);
    // In a loop inside as well.
    let ordered = |p: &mut Program| {
        body(p).remove(0);
        inner(p, 0).body.push(scan(int(0)));
        let Step::Tree(t) = &mut p.steps[1] else { panic!("{:?} is no tree", p.steps[1]) };
        t.plan.form = Form::Tiles;
    };
    assert_eq!(errors(ordered)[0], wrong[0]);
}

#[test]
fn trips_that_store_are_all_made() {
    let until = || Range { from: None, to: Some(int(3)) };
    assert_eq!(errors(|p| inner(p, 1).range = until()), [""; 0]);
    let message = "trips that store are left out";
    let on_the_heap = |p: &mut Program| {
        p.arrays[1].home = Home::Heap;
        inner(p, 0).range = until();
    };
    assert!(errors(on_the_heap).contains(&message.to_string()));
    // Also where a loop inside stores.
    let deeper = |p: &mut Program| {
        p.arrays[1].home = Home::Heap;
        let l = inner(p, 0);
        let (body, axis) = (std::mem::take(&mut l.body), Axis { var: Var(9), extent: Dim::name("n") });
        l.body = vec![Node::Loop(Loop::new(axis, body, Vec::new(), Loc(0)))];
        l.range = until();
    };
    assert!(errors(deeper).contains(&message.to_string()));
}

/// Of a row no more has to be set than is read.
#[test]
fn what_is_read_of_a_row_is_set() {
    let both = |stores: Range, reads: Range| {
        errors(|p| {
            inner(p, 0).range = stores;
            inner(p, 1).range = reads;
        })
    };
    let between = |from, to| Range { from: Some(int(from)), to: Some(int(to)) };
    let unset = ["`e.1` is read where it may not be set"];
    assert_eq!(both(between(2, 5), between(2, 5)), [""; 0]);
    assert_eq!(both(between(2, 5), between(3, 4)), [""; 0]);
    assert_eq!(both(between(2, 5), between(1, 5)), unset);
    assert_eq!(both(between(2, 5), between(2, 6)), unset);
    assert_eq!(both(between(2, 5), Range::default()), unset);
    assert_eq!(both(Range { from: None, to: Some(int(3)) }, between(1, 3)), [""; 0]);
    // Each trip stores at one place.
    let in_one_place = |p: &mut Program| {
        let l = inner(p, 0);
        if let Some(Node::Store { index, .. }) = l.body.iter_mut().find(|n| matches!(n, Node::Store { .. })) {
            *index = vec![int(0)];
        }
        l.range = between(0, 3);
        inner(p, 1).range = between(0, 1);
    };
    assert!(errors(in_one_place).contains(&unset[0].to_string()));
}

/// Of rows of rows both ends count, those of the loop inside and those of the loop around it.
#[test]
fn what_is_read_of_a_row_of_rows_is_set() {
    let read_at = |row: i64, last: i64| {
        errors(|p| {
            let axis = Axis { var: Var(9), extent: Dim::name("m") };
            p.arrays[1].dims.push(Dim::name("m"));
            let between = |from, to| Range { from: Some(int(from)), to: Some(int(to)) };
            let mut l = inner(p, 0).clone();
            l.range = between(0, 3);
            if let Some(Node::Store { index, .. }) =
                l.body.iter_mut().find(|n| matches!(n, Node::Store { .. }))
            {
                index.insert(0, Atom::Var(axis.var));
            }
            let around = Loop::new(axis, vec![Node::Loop(l)], Vec::new(), Loc(0));
            body(p)[0] = Node::Loop(Loop { range: between(2, 5), ..around });
            let reading = inner(p, 1);
            reading.range = between(0, last);
            if let Some(Node::Let(Let { exp: Exp::Read { index, checked, .. }, .. })) =
                reading.body.first_mut()
            {
                index.insert(0, int(row));
                *checked = true;
            }
        })
    };
    let unset = ["`e.1` is read where it may not be set"];
    assert_eq!(read_at(2, 3), [""; 0]);
    assert_eq!(read_at(4, 3), [""; 0]);
    assert_eq!(read_at(1, 3), unset);
    assert_eq!(read_at(5, 3), unset);
    assert_eq!(read_at(2, 4), unset);
}

#[test]
fn sides_store_what_the_loop_does() {
    let sided = |p: &mut Program, axis: Option<Var>, parts: fn(&Loop) -> Vec<Vec<Node>>| {
        let l = inner(p, 0);
        l.body.pop();
        let sides = Sides { borders: vec![Border { axis, offset: Dim::constant(1) }], parts: parts(l) };
        l.plan.form = Form::Sided(sides);
    };
    let both: fn(&Loop) -> Vec<Vec<Node>> = |l| vec![l.body.clone(), l.body.clone()];
    assert!(!errors(|p| sided(p, Some(Var(0)), both)).iter().any(|e| e.contains("side")));
    let unknown = errors(|p| sided(p, Some(Var(4)), both));
    assert!(unknown.contains(&"a side of a loop ends at no axis around it".to_string()), "{unknown:?}");
    let one: fn(&Loop) -> Vec<Vec<Node>> = |l| vec![l.body.clone()];
    let empty: fn(&Loop) -> Vec<Vec<Node>> = |l| vec![l.body.clone(), Vec::new()];
    for parts in [one, empty] {
        let found = errors(|p| sided(p, None, parts));
        assert!(found.contains(&"the sides of a loop do not make what it makes".to_string()), "{found:?}");
    }
}

#[test]
fn copies_are_of_what_stays() {
    let across = |array: u32, around: Dim| {
        let otherwise = Box::default();
        Form::Across(Across { arrays: vec![ArrayId(array)], around: vec![around], otherwise })
    };
    let n = || Dim::name("n");
    assert_eq!(errors(|p| inner(p, 1).plan.form = across(0, n())), [""; 0]);
    let found = errors(|p| inner(p, 1).plan.form = across(3, n()));
    assert_eq!(
        found,
        ["`c.3` has no columns to be made rows", "an array is changed of which copies are read"]
    );
    assert!(!errors(|p| inner(p, 1).plan.form = across(0, Dim::name("unknown"))).is_empty());
    let accumulates = errors(|p| inner(p, 0).plan.form = across(0, n()));
    assert_eq!(accumulates[0], "tiles of more than scalar code, loops and stores");
}

#[test]
fn homes_make_sense() {
    assert_eq!(
        errors(|p| p.arrays[6].home = Home::View(ArrayId(6)))[0],
        "`q.6` is a view of nothing in memory"
    );
    assert_eq!(
        errors(|p| p.arrays[6].home = Home::View(ArrayId(5)))[0],
        "`q.6` is a view of nothing in memory"
    );
    let found = errors(|p| p.arrays[6].dims = vec![Dim::name("m")]);
    assert_eq!(found, ["`q.6` is used before it is bound"]);
    let found = errors(|p| p.arrays[1].home = Home::Row { depth: 3 });
    assert_eq!(found[0], "`e.1` lacks 3 dimensions of 2");
    let found = errors(|p| p.arrays[1].dims[0] = Dim::name("m"));
    assert_eq!(found, ["the row array `e.1` lacks other dimensions than the axes around it"]);
    assert_eq!(
        errors(|p| p.arrays[0].home = Home::Heap)[0],
        "parameter `x.0` does not live in a parameter's memory"
    );
    assert_eq!(errors(|p| p.arrays[2].home = Home::Param)[0], "`s.2` is no parameter");
}

#[test]
fn a_row_array_belongs_to_one_tree() {
    let found = errors(|p| {
        let mut again = p.steps[1].clone();
        if let Step::Tree(t) = &mut again {
            t.axes[0].var = Var(7);
            t.body = vec![Node::Loop(Loop::new(
                Axis { var: Var(8), extent: Dim::name("m") },
                vec![Node::Store {
                    array: ArrayId(1),
                    index: vec![Atom::Var(Var(8))],
                    value: Atom::Const(crate::ty::Const::float(crate::ty::Elem::F64, 0.0)),
                }],
                Vec::new(),
                t.loc,
            ))];
        }
        p.steps.push(again);
    });
    assert_eq!(found, ["`e.1` is used in two trees and belongs to one"]);
}

fn rounds() -> Rounds {
    Rounds::For(Axis { var: Var(9), extent: Dim::name("m") }, None)
}

fn tree(p: &mut Program) -> &mut Tree {
    match &mut p.steps[1] {
        Step::Tree(t) => t,
        other => panic!("{other:?} is no tree"),
    }
}

/// A loop that each point of the sample's tree makes, with a state that stays what it was.
fn recurrence(rounds: Rounds, body: Vec<Node>) -> Node {
    let state = State { state: Var(7), start: int(0), next: Atom::Var(Var(7)), result: Var(8) };
    Node::Recurrence(Recurrence { rounds, states: vec![state], body, loc: Loc(0) })
}

#[test]
fn points_change_elements_of_their_own() {
    let write = |index: &[Atom]| Node::Write {
        array: ArrayId(3),
        index: index.to_vec(),
        value: Atom::Var(Var(6)),
        checked: true,
    };
    let other = ["points change elements of `c.3` that are not their own"];
    // `c` has a dimension that is none of the points'.
    assert_eq!(errors(|p| body(p).push(recurrence(rounds(), vec![write(&[Atom::Var(Var(9))])]))), other);
    let own = |p: &mut Program| {
        body(p).retain(|n| !matches!(n, Node::Loop(l) if l.folds.is_empty()));
        let q = recurrence(rounds(), vec![write(&[Atom::Var(Var(0))])]);
        body(p).insert(0, q);
    };
    assert!(!errors(own).contains(&other[0].to_string()));
}

#[test]
fn scratch_memory_is_set_before_it_is_read() {
    // A history: each point writes its elements in one loop and reads them in the next.
    let at = |v| vec![Atom::Var(Var(0)), Atom::Var(Var(v))];
    let history = |p: &mut Program, reads_first: bool| {
        p.arrays[3].home = Home::Scratch;
        p.arrays[3].dims = vec![tree(p).axes[0].extent.clone(), Dim::name("m")];
        let write = Node::Write { array: ArrayId(3), index: at(9), value: int(0), checked: true };
        let read = Exp::Read { array: ArrayId(3), index: at(9), checked: true };
        let read = Node::Let(Let { vars: vec![Var(6)], exp: read, loc: Loc(0) });
        let loops = [write, read].map(|n| recurrence(rounds(), vec![n]));
        let [write, read] = loops;
        *body(p) = if reads_first { vec![read, write] } else { vec![write, read] };
    };
    let wrong = "scratch memory is not enough for `c.3`".to_string();
    assert!(errors(|p| history(p, true)).contains(&wrong));
    assert!(!errors(|p| history(p, false)).contains(&wrong));
    // Of another point's elements there may be none.
    let other = |p: &mut Program| {
        history(p, false);
        let elsewhere =
            Node::Write { array: ArrayId(3), index: vec![int(0), int(0)], value: int(0), checked: true };
        body(p).push(elsewhere);
    };
    assert!(errors(other).contains(&wrong));
}

#[test]
fn a_loop_of_points_ends_by_a_state() {
    let no_state = errors(|p| body(p).push(recurrence(Rounds::While(Var(1)), Vec::new())));
    assert!(no_state.contains(&"a loop ends by what is no state of its".to_string()), "{no_state:?}");
    let a_number = errors(|p| body(p).push(recurrence(Rounds::While(Var(7)), Vec::new())));
    assert!(a_number.iter().any(|e| e.contains("the condition of a loop")), "{a_number:?}");
}

#[test]
fn copies_are_combined_alike() {
    let wrong = "tasks combine nothing into copies, or what is not alike";
    let found = |reducers: &[Reducer]| {
        let found = errors(|p| {
            tree(p).plan.division = Division::Copies;
            body(p).clear();
            for reducer in reducers {
                let index = vec![Atom::Var(Var(0)), Atom::Var(Var(9))];
                let array = ArrayId(3);
                body(p).push(Node::Accumulate { array, reducer: *reducer, index, value: int(0) });
            }
        });
        found.contains(&wrong.to_string())
    };
    assert!(found(&[]) && found(&[Reducer::Add, Reducer::Max]));
    assert!(!found(&[Reducer::Add, Reducer::Add]));
}

#[test]
fn blocks_of_points_have_functions() {
    let wrong = "a block of points without functions in code for lanes";
    let blocks = |p: &mut Program| {
        body(p).clear();
        tree(p).plan.form = Form::Blocks(64);
    };
    assert!(errors(blocks).contains(&wrong.to_string()));
    let own = "points in a block share a row or scratch memory";
    let scratch = |p: &mut Program| {
        p.arrays[3].home = Home::Scratch;
        let index = vec![Atom::Var(Var(0)), Atom::Var(Var(9))];
        body(p).push(Node::Write { array: ArrayId(3), index, value: int(0), checked: true });
        tree(p).plan.form = Form::Blocks(64);
    };
    assert!(errors(scratch).contains(&own.to_string()));
}

#[test]
fn points_together_make_one_loop() {
    let wrong = "points that go together make no loop that they can make so";
    let two = |p: &mut Program| tree(p).plan.form = Form::Together(16);
    assert!(errors(two).contains(&wrong.to_string()));
    let one = |p: &mut Program| {
        body(p).clear();
        let q = recurrence(rounds(), Vec::new());
        body(p).push(q);
        tree(p).plan.form = Form::Together(16);
    };
    assert!(!errors(one).contains(&wrong.to_string()));
    // Memory of their own is for all that go together, or for one.
    let own = "points that go together at times only have scratch memory";
    let scratch = |p: &mut Program, form: Form| {
        p.arrays[3].home = Home::Scratch;
        body(p).clear();
        let index = vec![Atom::Var(Var(0)), Atom::Var(Var(9))];
        let write = Node::Write { array: ArrayId(3), index, value: int(0), checked: true };
        let q = recurrence(rounds(), vec![write]);
        body(p).push(q);
        tree(p).plan.form = form;
    };
    let few = |p: &mut Program| scratch(p, Form::Few(16, Box::default()));
    assert!(errors(few).contains(&own.to_string()));
    assert!(!errors(|p| scratch(p, Form::Together(16))).contains(&own.to_string()));
}

#[test]
fn what_a_tree_changes_teaches_nothing_of_indices() {
    // Both trees select by `at`, and the second one without a comparison.
    let found = |changes: bool| {
        let text = "program f(x.0: [m]f64, from.1: [n]i64) sizes m, n
            at.2: [n]i64 = nest [%10 < n] { %7 = from.1[%10]; %8 = add %7 %7 } store %8
            a.3: [n]f64 = nest [%0 < n, %9 < n] { %1 = at.2[%0]; %2 = x.0[%1]? } reduce(add) 1 %2
            s.4: f64 = nest [%3 < n, %6 < n] { %4 = at.2[%3]; %5 = x.0[%4] } reduce(add) 2 %5
            => (a.3, s.4)";
        let mut p = crate::schedule::schedule(&parse(text).expect("it parses"), Target::Gpu);
        let [_, Step::Tree(first), Step::Tree(_)] = &mut p.steps[..] else { panic!("{:?}", p.steps) };
        if changes {
            let index = vec![Atom::Var(first.axes[0].var)];
            first.body.push(Node::Write { array: ArrayId(2), index, value: int(7), checked: true });
        }
        check(&p).join("; ")
    };
    assert_eq!(found(false), "");
    assert_eq!(found(true), "`x.0` is read without a comparison and without a reason");
}

/// What begins as anything is set by a loop, row by row, and used by nothing else.
#[test]
fn loops_set_what_begins_as_anything() {
    let text = "fn f(x: [f64; n], w: f64, steps: usize) -> f64 {
        let mut u = x;
        for _ in 0..steps { u = u + w * rotate(sin(u), 1); }
        sum(u)
    }";
    let d = pipeline::derivative(&program(text), Derivative::Vjp).expect("it has one");
    let lowered = Program::clone(&pipeline::back(&d, Target::Cpu).expect("it verifies"));
    let filled = |s: &Step| matches!(s, Step::Fill { value: None, .. });
    let at = lowered.steps.iter().position(filled).expect("its history begins so");
    let Step::Fill { array, .. } = lowered.steps[at] else { unreachable!("found above") };
    let wrong = "begins as anything, and no loop sets all of it";
    let broken = |change: &dyn Fn(&mut Program, usize)| {
        let mut p = lowered.clone();
        let after = p.steps[at..].iter().position(|s| matches!(s, Step::Repeat(_))).expect("it is carried");
        change(&mut p, at + after);
        check(&p).iter().any(|e| e.contains(wrong))
    };
    assert!(!broken(&|_, _| {}));
    let in_loop =
        |p: &mut Program, k: usize, change: &dyn Fn(&mut crate::loops::Repeat)| match &mut p.steps[k] {
            Step::Repeat(r) => change(r),
            _ => panic!("no loop"),
        };
    // No trip writes; one trip too few does; it is copied; something else uses it, before and in the trips.
    let writes = |s: &Step| match s {
        Step::Tree(t) => t.body.iter().any(|n| matches!(n, Node::Write { .. })),
        _ => false,
    };
    assert!(broken(&|p, k| in_loop(p, k, &|r| r.steps.retain(|s| !writes(s)))));
    assert!(broken(&|p, k| in_loop(p, k, &|r| {
        if let Trips::For(_, count) = &mut r.trips {
            *count = count.sub(&Dim::constant(1));
        }
    })));
    assert!(broken(&|p, k| in_loop(p, k, &|r| r.carried.iter_mut().for_each(|c| c.takes.0 = false))));
    assert!(broken(&|p, k| p.steps.insert(k, Step::Copy { array, source: array })));
    assert!(broken(&|p, k| in_loop(p, k, &|r| {
        let state = r.carried.iter().find(|c| c.arrays.start == array).expect("its state").arrays.state;
        r.steps.insert(0, Step::Copy { array: state, source: state });
    })));
    // Each point at the first place of the row.
    assert!(broken(&|p, k| in_loop(p, k, &|r| {
        for s in &mut r.steps {
            let Step::Tree(t) = s else { continue };
            for n in &mut t.body {
                if let Node::Write { index, .. } = n {
                    index[1] = int(0);
                }
            }
        }
    })));
}

/// Bands make what they are said to make, of their own rows, and leave the rest alone.
#[test]
fn bands_do_as_they_are_said_to() {
    let text = "fn f(x: [[f64; d]; n], w: [[f64; m]; d]) -> ([[f64; m]; n], [f64; m]) {
        let y = matmul(x, w);
        (build((n, m), |i, j| sin(y[i][j])), build(m, |j| sum(build(n, |i| y[i][j] * y[i][j]))))
    }";
    let lowered = Program::clone(&pipeline::back(&program(text), Target::Cpu).expect("it verifies"));
    let errors = |change: &dyn Fn(&mut Program, &mut Bands)| {
        let mut p = lowered.clone();
        let at = p.steps.iter().position(|s| matches!(s, Step::Bands(_))).expect("it has bands");
        let Step::Bands(mut b) = p.steps.remove(at) else { unreachable!("found above") };
        change(&mut p, &mut b);
        p.steps.insert(at, Step::Bands(b));
        check(&p).join("; ")
    };
    assert_eq!(errors(&|_, _| {}), "");
    let says = |what: &str, change: &dyn Fn(&mut Program, &mut Bands)| {
        let found = errors(change);
        assert!(found.contains(what), "{what}: {found}");
    };
    says("a band does not make all of", &|p, b| {
        let made = b.made[0].inside;
        b.steps.retain(|s| !Touched::of(p, s).changes.contains(&made));
    });
    says("is no band of rows", &|p, b| {
        let rows = p.arrays[b.made[0].inside.0 as usize].dims[0].clone();
        p.arrays[b.made[0].inside.0 as usize].dims[0] = rows.add(&Dim::constant(1));
    });
    says("is no sum of what bands add", &|p, b| p.arrays[b.sums[0].outside.0 as usize].elem = Elem::I64);
    says("is used before it is bound", &|_, b| b.read.truncate(0));
    let made = |b: &Bands| b.made[0];
    says("of all rows", &|_, b| {
        let all = made(b).outside;
        b.steps.push(Step::Fill { array: all, value: Some(crate::ty::Const::of(Elem::F64, 0)) });
    });
    says("of all rows", &|_, b| {
        let read = b.read[0].inside;
        b.steps.push(Step::Fill { array: read, value: Some(crate::ty::Const::of(Elem::F64, 0)) });
    });
    says("a step stands in bands that cannot", &|_, b| {
        b.steps.push(Step::Fill { array: made(b).inside, value: None });
    });
    // Nothing of a band is there after it.
    says("is used before it is bound", &|p, b| {
        let own = p.arrays.iter().position(|a| {
            a.home == Home::Heap && a.dims.first() == Some(&Dim::atom(SizeAtom::Scalar(b.rows.0)))
        });
        let own = ArrayId(own.expect("what is handed on") as u32);
        p.steps.push(Step::Copy { array: b.made[0].outside, source: own });
    });
}
