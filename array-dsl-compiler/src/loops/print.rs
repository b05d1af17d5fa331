//! Loops as indented pseudo-code, and what structure tests count in it.
//!
//! ```text
//! program rows(x.0: [n][m]f64) sizes n, m
//!   heap s.1: [n]f64
//!   par %0 < n {
//!     for %1 < m {
//!       %2 = x.0[%0, %1]
//!     } fold %3 = add %2
//!     s.1[%0] = %3
//!   }
//!   => s.1
//! ```
//!
//! `heap`, `row(depth)`, `scratch`, `view ... of` and `band ... of` say where arrays live; arrays that are nowhere are left out. `once` is
//! a tree without axes; `y.1[%0] add= %3` accumulates, `y.1[%0] := %3` writes. Let bindings are as in Bulk.

use super::uses::combined;
use super::{
    Across, Bands, Contract, Division, Form, Handed, Home, Loop, Node, Operand, Plan, Program, Repeat,
    Rounds, Sorted, Step, Tree, Which,
};
use crate::bulk::print::{Text, atom, constant, list};
use crate::bulk::{ArrayId, ArrayInfo, Axis, Trips};
use crate::dim::Dim;

/// The program as text, without places.
pub fn print(p: &Program) -> String {
    let text = Text { arrays: types(p) };
    let mut out = text.header(&p.name, &p.params, &p.sizes);
    out.push_str(&text.strips(&p.strips));
    for (i, info) in p.arrays.iter().enumerate() {
        let binding = text.binding(ArrayId(i as u32));
        match &info.home {
            Home::Param | Home::Nowhere => {}
            Home::Heap => out.push_str(&format!("  heap {binding}\n")),
            Home::Row { depth } => out.push_str(&format!("  row({depth}) {binding}\n")),
            Home::Scratch => out.push_str(&format!("  scratch {binding}\n")),
            Home::View(of) => out.push_str(&format!("  view {binding} of {}\n", text.array(*of))),
            Home::Band(of) => out.push_str(&format!("  band {binding} of {}\n", text.array(*of))),
        }
    }
    steps(&text, &p.steps, &mut out);
    out.push_str(&format!("  => {}\n", text.result(&p.result)));
    out
}

/// A contraction without its result: `contract [i0 < n, i1 < k] [i0] x.1[i0, i1] * w.0[i1]`.
fn contract(text: &Text, c: &Contract) -> String {
    let axes = |axes: &[usize]| list(axes, |i| format!("i{i}"));
    let extents = list(c.extents.iter().enumerate(), |(i, d)| format!("i{i} < {}", text.dim(d)));
    let place = |(axis, from): &(Option<usize>, Dim)| match axis {
        Some(i) if *from == Dim::default() => format!("i{i}"),
        Some(i) => format!("i{i} + {}", text.dim(from)),
        None => text.dim(from),
    };
    let operand = |o: &Operand| format!("{}[{}]", text.array(o.array), list(&o.places, place));
    format!("contract [{extents}] [{}] {} * {}", axes(&c.out), operand(&c.a), operand(&c.b))
}

fn steps(text: &Text, all: &[Step], out: &mut String) {
    for step in all {
        match step {
            Step::Tree(t) => tree(text, t, out),
            Step::Contract(c) => {
                out.push_str(&format!("  {} = {}\n", text.array(c.result), contract(text, c)))
            }
            Step::Check(c, _) => out.push_str(&format!("  {}\n", text.check(c))),
            Step::Fill { array, value } => {
                let value = value.map_or("anything".into(), constant);
                out.push_str(&format!("  fill {} = {value}\n", text.array(*array)));
            }
            Step::Copy { array, source } => {
                out.push_str(&format!("  copy {} = {}\n", text.array(*array), text.array(*source)));
            }
            Step::Move { array, source } => {
                out.push_str(&format!("  move {} = {}\n", text.array(*array), text.array(*source)));
            }
            Step::Repeat(r) => repeat(text, r, out),
            Step::Bands(b) => bands(text, b, out),
            Step::Call(c) => {
                let arrays = |arrays: &[ArrayId]| list(arrays, |a: &ArrayId| text.array(*a));
                let (results, args) = (arrays(&c.results), arrays(&c.args));
                out.push_str(&format!("  {results} = call {} of {args}\n", c.routine.name()));
            }
            Step::Sort(s) => {
                let word = match s.gives {
                    Sorted::Positions => "argsort",
                    Sorted::Values => "sort",
                };
                out.push_str(&format!("  {} = {word} {}\n", text.array(s.result), text.array(s.keys)));
            }
        }
    }
}

fn repeat(text: &Text, r: &Repeat, out: &mut String) {
    let trips = match &r.trips {
        Trips::For(index, count) => format!("{} < {}", text.array(*index), text.dim(count)),
        Trips::While(state) => format!("while {}", text.array(*state)),
    };
    let how = |takes: bool| if takes { "move " } else { "" };
    let states = list(&r.carried, |c| {
        format!("{} = {}{}", text.array(c.arrays.state), how(c.takes.0), text.array(c.arrays.start))
    });
    out.push_str(&format!("  repeat {trips} with {states} {{\n"));
    let mut inner = String::new();
    steps(text, &r.steps, &mut inner);
    inner.lines().for_each(|l| out.push_str(&format!("  {l}\n")));
    let nexts = list(&r.carried, |c| format!("{}{}", how(c.takes.1), text.array(c.arrays.next)));
    out.push_str(&format!("    => {nexts}\n  }}\n"));
}

fn bands(text: &Text, b: &Bands, out: &mut String) {
    let handed = |all: &[Handed]| {
        list(all, |h: &Handed| format!("{} for {}", text.array(h.inside), text.array(h.outside)))
    };
    let (first, rows) = (text.array(b.first), text.array(b.rows));
    out.push_str(&format!("  bands from {first}, {rows} rows of {}", text.dim(&b.total)));
    out.push_str(&format!(" reading ({}) making ({}) {{\n", handed(&b.read), handed(&b.made)));
    let mut inner = String::new();
    steps(text, &b.steps, &mut inner);
    inner.lines().for_each(|l| out.push_str(&format!("  {l}\n")));
    out.push_str(&format!("  }} adding ({})\n", handed(&b.sums)));
}

/// The arrays as Bulk knows them.
pub(crate) fn types(p: &Program) -> Vec<ArrayInfo> {
    p.arrays.iter().map(|i| ArrayInfo { name: i.name.clone(), elem: i.elem, dims: i.dims.clone() }).collect()
}

fn tree(text: &Text, t: &Tree, out: &mut String) {
    if t.axes.is_empty() {
        out.push_str(&format!("  once{} {{\n", plan(text, &t.plan, &t.body)));
    } else {
        out.push_str(&format!("  par {}{} {{\n", text.axes(&t.axes), plan(text, &t.plan, &t.body)));
    }
    inside(text, &t.body, &t.plan, 1, out);
    out.push_str("  }\n");
}

/// How a loop is executed, if that was decided.
fn plan(text: &Text, plan: &Plan, body: &[Node]) -> String {
    let division = match plan.division {
        Division::Undivided => String::new(),
        Division::Points => " by points".into(),
        Division::Columns => " by columns".into(),
        Division::ColumnsAndTrips => " by columns and trips".into(),
        Division::Copies => {
            let copies = combined(body);
            format!(" by copies of {}", list(&copies, |(a, r)| format!("{} ({})", text.array(*a), r.name())))
        }
        Division::Groups => " by groups".into(),
        Division::Prefixes => " by prefixes".into(),
    };
    division + &form(text, &plan.form)
}

/// How trips are executed.
fn form(text: &Text, f: &Form) -> String {
    match f {
        Form::Plain => String::new(),
        Form::Peeled(m) => {
            let together = m.together.map(|width| format!(", {width} together")).unwrap_or_default();
            format!(", {} or more from the ends{together}", m.margin)
        }
        Form::Sided(_) => ", sided".into(),
        Form::Lanes(None) => ", in lanes".into(),
        Form::Lanes(Some(m)) => format!(", in lanes, {} or more from the ends", m.margin),
        Form::Together(width) => format!(", {width} together"),
        Form::Blocks(width) => format!(", in blocks of {width}"),
        Form::Few(width, otherwise) => {
            format!(", {width} together if inner trips are few{}", form(text, otherwise))
        }
        Form::Tiles => ", in tiles".into(),
        Form::Across(Across { arrays, around, otherwise }) => {
            let arrays = list(arrays, |a| text.array(*a));
            let around = list(around, |d| text.dim(d));
            format!(", in tiles across {arrays} if sizes say so, in {around}{}", form(text, otherwise))
        }
    }
}

/// The code of a loop at this depth; that of some trips only first.
fn inside(text: &Text, body: &[Node], plan: &Plan, depth: usize, out: &mut String) {
    for (which, code, values) in plan.form.codes() {
        nodes(text, code, depth + 1, out);
        let folded =
            if values.is_empty() { String::new() } else { format!(" fold {}", list(values, |a| atom(*a))) };
        let until = match which {
            Which::Between(_, Some(b)) => {
                let axis = b.axis.map(|v| format!("%{}", v.0));
                let offset = (axis.is_none() || b.offset != Dim::default()).then(|| text.dim(&b.offset));
                let place: Vec<String> = axis.into_iter().chain(offset).collect();
                format!(" before {}", place.join(" + "))
            }
            _ => String::new(),
        };
        out.push_str(&format!("{0}}}{folded}{until} else {{\n", "  ".repeat(depth)));
    }
    nodes(text, body, depth + 1, out);
}

fn nodes(text: &Text, body: &[Node], depth: usize, out: &mut String) {
    let pad = "  ".repeat(depth);
    for node in body {
        match node {
            Node::Let(l) => text.binding_of_scalars(l, depth, out),
            Node::Scan(s) => text.scan(s, depth, out),
            Node::Loop(l @ Loop { body, folds, .. }) => {
                let axes: Vec<Axis> = l.axes().cloned().collect();
                let from = l.range.from.map_or(String::new(), |a| format!(", from {}", atom(a)));
                let to = l.range.to.map_or(String::new(), |a| format!(", up to {}", atom(a)));
                let (axes, plan) = (text.axes(&axes), plan(text, &l.plan, &l.body));
                out.push_str(&format!("{pad}for {axes}{from}{to}{plan} {{\n"));
                inside(text, body, &l.plan, depth, out);
                let folded =
                    list(folds, |f| format!("%{} = {} {}", f.result.0, f.reducer.name(), atom(f.value)));
                out.push_str(&if folds.is_empty() {
                    format!("{pad}}}\n")
                } else {
                    format!("{pad}}} fold {folded}\n")
                });
            }
            Node::Recurrence(r) => {
                let states = list(&r.states, |s| format!("%{} = {}", s.state.0, atom(s.start)));
                let rounds = match &r.rounds {
                    Rounds::For(a, until) => {
                        let until = until.map_or(String::new(), |u| format!(", up to {}", atom(u)));
                        format!("for {}{until}", text.axes(std::slice::from_ref(a)))
                    }
                    Rounds::While(on) => format!("while %{}", on.0),
                };
                out.push_str(&format!("{pad}{rounds} with {states} {{\n"));
                nodes(text, &r.body, depth + 1, out);
                let results = list(&r.states, |s| format!("%{} = {}", s.result.0, atom(s.next)));
                out.push_str(&format!("{pad}}} => {results}\n"));
            }
            Node::Store { array, index, value } => {
                out.push_str(&format!("{pad}{} = {}\n", text.element(*array, index), atom(*value)));
            }
            Node::Accumulate { array, reducer, index, value } => {
                let (element, how) = (text.element(*array, index), reducer.name());
                out.push_str(&format!("{pad}{element} {how}= {}\n", atom(*value)));
            }
            Node::Write { array, index, value, checked } => {
                // As a store, of which nobody has to ask where it goes.
                let sign = if *checked { ":=" } else { "=" };
                out.push_str(&format!("{pad}{} {sign} {}\n", text.element(*array, index), atom(*value)));
            }
        }
    }
}

/// How much of what a program has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Trees.
    pub trees: usize,
    /// Sequential loops, at any depth.
    pub loops: usize,
    /// Intermediate arrays in memory of their own: on the heap and not part of the result, neither directly nor
    /// through a view. Arrays that share memory count once.
    pub heap_arrays: usize,
    /// Row arrays.
    pub row_arrays: usize,
    /// Contractions.
    pub contracts: usize,
    /// `Accumulate` nodes.
    pub accumulates: usize,
    /// `Copy` steps.
    pub copies: usize,
}

/// Counts the parts of a program.
pub fn count(p: &Program) -> Counts {
    let mut c = Counts::default();
    let moves = count_steps(&p.steps, &mut c);
    let results: Vec<ArrayId> = p.result.leaves().into_iter().filter_map(|a| p.end_of_views(*a)).collect();
    for (i, info) in p.arrays.iter().enumerate() {
        match info.home {
            Home::Heap if !results.contains(&ArrayId(i as u32)) => c.heap_arrays += 1,
            Home::Row { .. } | Home::Scratch => c.row_arrays += 1,
            _ => {}
        }
    }
    c.heap_arrays = c.heap_arrays.saturating_sub(moves);
    c
}

/// Counts what steps have; how many arrays take over the memory of others.
fn count_steps(steps: &[Step], c: &mut Counts) -> usize {
    let mut moves = 0;
    for step in steps {
        match step {
            Step::Tree(t) => {
                c.trees += 1;
                count_nodes(&t.body, c);
            }
            Step::Contract(_) => c.contracts += 1,
            Step::Copy { .. } => c.copies += 1,
            Step::Repeat(r) => moves += count_steps(&r.steps, c),
            Step::Bands(b) => moves += count_steps(&b.steps, c),
            Step::Move { .. } => moves += 1,
            Step::Check(..) | Step::Fill { .. } | Step::Sort(_) | Step::Call(_) => {}
        }
    }
    moves
}

fn count_nodes(body: &[Node], c: &mut Counts) {
    for node in body {
        match node {
            Node::Loop(l) => {
                c.loops += 1;
                count_nodes(&l.body, c);
            }
            Node::Recurrence(r) => {
                c.loops += 1;
                count_nodes(&r.body, c);
            }
            Node::Accumulate { .. } => c.accumulates += 1,
            Node::Let(_) | Node::Scan(_) | Node::Store { .. } | Node::Write { .. } => {}
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{ArrayInfo, Contract, Fold, Operand, Step, Tree};
    use super::*;
    use crate::bulk::{Atom, Axis, Exp, Let, Param, Reducer, Var};
    use crate::dim::Dim;
    use crate::scalar::Op;
    use crate::ty::{Const, Elem, Loc, Tree as Structure};

    fn array(name: &str, dims: &[&str], home: Home) -> ArrayInfo {
        let dims = dims.iter().map(|d| Dim::name(*d)).collect();
        ArrayInfo { name: name.into(), elem: Elem::F64, dims, home, most: None }
    }

    fn axis(var: u32, extent: &str) -> Axis {
        Axis { var: Var(var), extent: Dim::name(extent) }
    }

    fn var(v: u32) -> Atom {
        Atom::Var(Var(v))
    }

    fn let_(v: u32, exp: Exp) -> Node {
        Node::Let(Let { vars: vec![Var(v)], exp, loc: Loc(0) })
    }

    fn read(array: u32, index: &[Atom]) -> Exp {
        Exp::Read { array: ArrayId(array), index: index.to_vec(), checked: false }
    }

    fn repeat(axis: Axis, body: Vec<Node>, folds: Vec<Fold>) -> Node {
        Node::Loop(Loop::new(axis, body, folds, Loc(0)))
    }

    /// Row sums of exponentials through a row array, the column sums, a product and a view.
    pub(in crate::loops) fn sample() -> Program {
        let i64s = |n: usize| vec![Elem::I64; n];
        let mut vars = i64s(10);
        for float in [2, 3, 5, 6] {
            vars[float] = Elem::F64;
        }
        let rows = vec![
            repeat(
                axis(1, "m"),
                vec![
                    let_(2, read(0, &[var(0), var(1)])),
                    let_(3, Exp::Op(Op::Exp, vec![var(2)])),
                    Node::Store { array: ArrayId(1), index: vec![var(1)], value: var(3) },
                    Node::Accumulate {
                        array: ArrayId(3),
                        reducer: Reducer::Add,
                        index: vec![var(1)],
                        value: var(3),
                    },
                ],
                Vec::new(),
            ),
            repeat(
                axis(4, "m"),
                vec![let_(5, read(1, &[var(4)]))],
                vec![Fold { result: Var(6), reducer: Reducer::Add, value: var(5) }],
            ),
            Node::Store { array: ArrayId(2), index: vec![var(0)], value: var(6) },
        ];
        let product = Contract {
            result: ArrayId(4),
            extents: vec![Dim::name("n"), Dim::name("m")],
            out: vec![0],
            a: Operand::whole(ArrayId(0), &[0, 1]),
            b: Operand::whole(ArrayId(3), &[1]),
            loc: Loc(0),
        };
        Program {
            name: "rows".into(),
            sizes: vec!["n".into(), "m".into()],
            strips: Vec::new(),
            params: vec![Param {
                name: "x".into(),
                arrays: Structure::Leaf(ArrayId(0)),
                active: true,
                loc: Loc(0),
            }],
            arrays: vec![
                array("x", &["n", "m"], Home::Param),
                array("e", &["n", "m"], Home::Row { depth: 1 }),
                array("s", &["n"], Home::Heap),
                array("c", &["m"], Home::Heap),
                array("p", &["n"], Home::Heap),
                array("gone", &["n"], Home::Nowhere),
                array("q", &["n"], Home::View(ArrayId(4))),
            ],
            vars,
            steps: vec![
                Step::Fill { array: ArrayId(3), value: Some(Const::float(Elem::F64, 0.0)) },
                Step::Tree(Tree::new(vec![axis(0, "n")], rows, Loc(0))),
                Step::Contract(product),
            ],
            result: Structure::Tuple(vec![Structure::Leaf(ArrayId(2)), Structure::Leaf(ArrayId(6))]),
            places: Vec::new(),
        }
    }

    #[test]
    fn prints_as_indented_loops() {
        let expected = "\
program rows(x.0: [n][m]f64) sizes n, m
  row(1) e.1: [n][m]f64
  heap s.2: [n]f64
  heap c.3: [m]f64
  heap p.4: [n]f64
  view q.6: [n]f64 of p.4
  fill c.3 = 0.0f64
  par %0 < n {
    for %1 < m {
      %2 = x.0[%0, %1]
      %3 = exp %2
      e.1[%1] = %3
      c.3[%1] add= %3
    }
    for %4 < m {
      %5 = e.1[%4]
    } fold %6 = add %5
    s.2[%0] = %6
  }
  p.4 = contract [i0 < n, i1 < m] [i0] x.0[i0, i1] * c.3[i1]
  => (s.2, q.6)
";
        assert_eq!(print(&sample()), expected);
    }

    #[test]
    fn counts_what_is_not_part_of_the_result() {
        let counts = Counts {
            trees: 1,
            loops: 2,
            heap_arrays: 1,
            row_arrays: 1,
            contracts: 1,
            accumulates: 1,
            copies: 0,
        };
        assert_eq!(count(&sample()), counts);
    }
}
