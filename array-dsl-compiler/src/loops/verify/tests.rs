//! Programs that break one rule each.

use super::super::print::tests::sample;
use super::super::{Home, Loop, Node, Program, Step};
use super::{check, verify};
use crate::bulk::build::int;
use crate::bulk::{ArrayId, Atom, Axis, Block, Branch, Prefix, Scan, Var};
use crate::dim::Dim;
use crate::ty::Loc;

/// The errors of the sample after a change.
fn errors(change: impl FnOnce(&mut Program)) -> Vec<String> {
    let mut p = sample();
    change(&mut p);
    check(&p)
}

fn body(p: &mut Program) -> &mut Vec<Node> {
    match &mut p.steps[1] {
        Step::Tree(t) => &mut t.body,
        other => panic!("{other:?} is no tree"),
    }
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

#[test]
fn a_scan_stands_in_a_loop() {
    let scan = |p: &mut Program| {
        let step = Branch { block: Block::default(), results: vec![Atom::Var(Var(8))] };
        let (left, right) = (vec![Var(8)], Vec::new());
        let (prefix, start, values) = (Prefix::Inclusive, vec![int(0)], Vec::new());
        let vars = vec![Var(7)];
        body(p).push(Node::Scan(Scan { vars, prefix, left, start, right, values, step, loc: Loc(0) }));
    };
    assert_eq!(errors(scan), ["a scan in no loop"]);
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
    assert_eq!(found, ["the row array `e.1` is used in two trees"]);
}
