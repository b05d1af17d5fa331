//! Loops of points: what their text says, and that they end.

use super::*;
use crate::loops::{Recurrence, Rounds, State};

impl Builder {
    fn state(&mut self, elem: Elem, start: Atom) -> State {
        let (state, result) = (self.var(elem), self.var(elem));
        State { state, start, next: start, result }
    }

    /// A `while` that halves a number at each point; `inside` stands in its trips.
    fn halving(&mut self, start: Atom, inside: Vec<Node>) -> (Node, Atom) {
        let (on, mut on_state) = (Atom::Const(Const::bool(true)), self.state(Elem::Bool, float(1.0)));
        on_state.start = on;
        let mut x = self.state(Elem::F32, start);
        let (half, halved) = self.bind(Elem::F32, Exp::Op(Op::Mul, vec![Atom::Var(x.state), float(0.5)]));
        let (is_on, compared) = self.bind(Elem::Bool, Exp::Op(Op::Gt, vec![half, float(1.0)]));
        (x.next, on_state.next) = (half, is_on);
        let body = inside.into_iter().chain([halved, compared]).collect();
        let rounds = Rounds::While(on_state.state);
        let r = Recurrence { rounds, states: vec![x, on_state], body, loc: Loc(2) };
        (Node::Recurrence(r), Atom::Var(x.result))
    }

    /// A sum of the trip's numbers.
    fn counting(&mut self, extent: Dim, until: Option<Atom>) -> (Node, Atom) {
        let axis = self.axis(extent);
        let mut s = self.state(Elem::F32, float(0.0));
        let (i, cast) = self.bind(Elem::F32, Exp::Op(Op::Cast(Elem::F32), vec![Atom::Var(axis.var)]));
        let (next, added) = self.bind(Elem::F32, Exp::Op(Op::Add, vec![Atom::Var(s.state), i]));
        s.next = next;
        let rounds = Rounds::For(axis, until);
        let r = Recurrence { rounds, states: vec![s], body: vec![cast, added], loc: Loc(3) };
        (Node::Recurrence(r), Atom::Var(s.result))
    }

    fn result(mut self, axis: Axis, mut body: Vec<Node>, value: Atom) -> GpuCode {
        let y = self.heap("y", Elem::F32, &[n()]);
        body.push(Node::Store { array: y, index: vec![Atom::Var(axis.var)], value });
        self.tree(&[axis], body);
        self.0.result = Structure::Leaf(y);
        self.check()
    }
}

fn text(code: &GpuCode) -> &str {
    &code.shaders[0].wgsl
}

#[test]
fn a_while_counts_its_trips() {
    let mut b = Builder::new();
    let x = b.param("x", Elem::F32, &[n()]);
    let axis = b.axis(n());
    let (start, read) = b.read(x, &[Atom::Var(axis.var)], false);
    let (node, value) = b.halving(start, Vec::new());
    let code = b.result(axis, vec![read, node], value);
    let text = text(&code);
    assert_eq!(text.matches("while v").count(), 1, "{text}");
    assert!(text.contains(", -3i, ") && !text.contains("var made"), "{text}");
    assert!(code.program.contains("most-trips"), "{}", code.program);
}

#[test]
fn loops_in_loops_that_data_end_are_counted_by_the_thread() {
    let mut b = Builder::new();
    let x = b.param("x", Elem::F32, &[n()]);
    let axis = b.axis(n());
    let (start, read) = b.read(x, &[Atom::Var(axis.var)], false);
    let (inner, _) = b.counting(m(), None);
    let (node, value) = b.halving(start, vec![inner]);
    let code = b.result(axis, vec![read, node], value);
    let text = text(&code);
    assert!(text.contains("var made = 0u;") && text.matches(", -4i, ").count() == 2, "{text}");
}

#[test]
fn a_count_of_data_is_no_more_than_the_extent() {
    for (most, counts) in [(m(), false), (Dim::constant(5), false)] {
        let mut b = Builder::new();
        let k = b.param("k", Elem::I64, &[n()]);
        let axis = b.axis(n());
        let (until, read) = b.read(k, &[Atom::Var(axis.var)], false);
        let (node, value) = b.counting(most, Some(until));
        let code = b.result(axis, vec![read, node], value);
        let text = text(&code);
        assert!(text.contains("= i32(max(min("), "{text}");
        assert_eq!(text.contains("made"), counts, "{text}");
    }
}

/// Elements of the point's own are combined without atomics.
#[test]
fn what_is_the_points_own_is_not_atomic() {
    let mut b = Builder::new();
    let y = b.heap("y", Elem::F64, &[n(), m()]);
    b.0.steps.push(Step::Fill { array: y, value: Some(Const::float(Elem::F64, 0.0)) });
    let (axis, trip) = (b.axis(n()), b.axis(m()));
    let index = vec![Atom::Var(axis.var), Atom::Var(trip.var)];
    let value = Atom::Const(Const::float(Elem::F64, 2.0));
    let body = vec![Node::Accumulate { array: y, reducer: Reducer::Add, index, value }];
    let rounds = Rounds::For(trip, None);
    let r = Node::Recurrence(Recurrence { rounds, states: Vec::new(), body, loc: Loc(1) });
    b.tree(&[axis], vec![r]);
    b.0.result = Structure::Leaf(y);
    let code = b.check();
    assert!(!text(&code).contains("atomic"), "{}", text(&code));
}

/// Few elements of a point that its loop reads and changes are the thread's own, and stored in the end.
#[test]
fn few_elements_are_the_threads_own() {
    let mut b = Builder::new();
    let y = b.heap("y", Elem::F32, &[n(), Dim::constant(8)]);
    b.0.steps.push(Step::Fill { array: y, value: Some(Const::float(Elem::F32, 0.0)) });
    let (axis, trip) = (b.axis(n()), b.axis(Dim::constant(8)));
    let index = vec![Atom::Var(axis.var), Atom::Var(trip.var)];
    let body = vec![Node::Accumulate { array: y, reducer: Reducer::Add, index, value: float(2.0) }];
    let rounds = Rounds::For(trip, None);
    let r = Node::Recurrence(Recurrence { rounds, states: Vec::new(), body, loc: Loc(1) });
    b.tree(&[axis], vec![r]);
    b.0.result = Structure::Leaf(y);
    let code = b.check();
    assert!(text(&code).contains(": array<f32, 8>;"), "{}", text(&code));
    assert_eq!(steps(&code, "fill"), 0, "{}", code.program);
}
