//! Short loops of a point become its scalar code, and elements of its small arrays scalars:
//!
//! ```text
//! par p < n { for k < 3 { a[p, k] = f(x[p, k]) }; for k < 3 { } fold s = add a[p, k] * a[p, 2 - k] }
//!     = par p < n { a0 = f(x[p, 0]); a1 = f(x[p, 1]); a2 = f(x[p, 2]); s = a0 * a2 + a1 * a1 + a2 * a0 }
//! ```
//!
//! Conditions on the trip are settled, what several trips compute is computed once, and an element that was stored is not read. What
//! all reads of are gone from has no memory (`place`). So is what nests have in common that have become one tree. A loop is unrolled if
//!
//! 1. its trips are a small constant number and so is all that is inside,
//! 2. there is something to gain: few trips, a condition, or an array that the tree makes and reads; a row of functions that take long
//!    is left to vectors,
//! 3. it is executed at points or trips, changes no memory that is read, and the tree's code does not become too long.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::bulk::build::{Fresh, Rename, Renaming, int, renamed};
use crate::bulk::live::live_lets;
use crate::bulk::walk::Rewriter;
use crate::bulk::{self, ArrayId, Atom, Exp, Item, Let, Prefix, Reducer, Scan, Var};
use crate::dim::Dim;
use crate::loops::uses::{Access, each_tree, takes_long, visit_arrays, visit_atoms};
use crate::loops::{Fold, Loop, Node, Recurrence, Rounds, Step, Tree};
use crate::optimize::Straight;
use crate::scalar::Op;
use crate::target::Target;
use crate::ty::{Elem, Loc};

/// So few trips are always unrolled.
const FEW: i64 = 4;
/// No loop of more is.
pub(super) const MOST: i64 = 16;
/// Of loops that become scalar code on a GPU: the most trips of all around it.
pub(super) const ALL: i64 = 64;
/// The most statements that the loops of a tree become, simplified or not.
pub(super) const LONGEST: i64 = 16000;

/// Unrolls the short loops of all trees; whether there were any. `p` has the types of arrays, and of all scalars; `memory` the array whose
/// memory each array has.
pub(super) fn unroll(p: &mut bulk::Program, memory: &[ArrayId], steps: &mut [Step], target: Target) -> bool {
    let mut any = false;
    each_tree(steps, &mut |t| any |= tree(p, memory, t, target));
    any
}

fn tree(p: &mut bulk::Program, memory: &[ArrayId], t: &mut Tree, target: Target) -> bool {
    let (mut read, mut stored) = (FxHashSet::default(), FxHashSet::default());
    visit_arrays(&t.body, &mut |a, access| {
        if access == Access::Read { &mut read } else { &mut stored }.insert(a);
    });
    let root = |a: &ArrayId| memory[a.0 as usize];
    let roots: FxHashSet<ArrayId> = read.iter().map(root).collect();
    if changes_in_place(&t.body, &|a| roots.contains(&root(&a))) {
        return false;
    }
    let own = read.intersection(&stored).copied().collect();
    let mut u = Unroll { p, own, keeps: target.can().nests, code: Straight::new(&t.axes), left: LONGEST };
    if t.axes.is_empty() {
        // What is executed once is left to the host but for what its loops have inside.
        let mut any = false;
        for n in &mut t.body {
            if let Node::Loop(l) = n
                && u.gains_any(&l.body)
            {
                *l = u.inside(l.clone());
                any = true;
            }
        }
        return any;
    }
    let any = u.gains_any(&t.body);
    if any {
        t.body = u.nodes(std::mem::take(&mut t.body));
    }
    any
}

/// Whether the same is computed twice in a row of statements. Sizes alone are no reason.
fn has_equal(nodes: &[Node]) -> bool {
    fn inside(nodes: &[Node], sizes: &mut FxHashMap<Dim, Var>, names: &mut Renaming) -> bool {
        let mut seen = FxHashSet::default();
        nodes.iter().any(|n| match n {
            Node::Let(Let { vars, exp: Exp::Size(d), .. }) => {
                let first = *sizes.entry(d.clone()).or_insert(vars[0]);
                names.insert(vars[0], Atom::Var(first));
                false
            }
            Node::Let(l) => match l.exp.renamed(names) {
                // Of what one nest has compared another one has not to compare the index.
                Exp::Read { array, index, .. } => !seen.insert(Exp::Read { array, index, checked: false }),
                e => !seen.insert(e),
            },
            Node::Loop(l) => inside(&l.body, sizes, names),
            Node::Recurrence(r) => inside(&r.body, sizes, names),
            _ => false,
        })
    }
    inside(nodes, &mut FxHashMap::default(), &mut Renaming::default())
}

/// Whether elements are changed that may be read before and after. What a point's own loop changes it reads.
fn changes_in_place(nodes: &[Node], is_read: &dyn Fn(ArrayId) -> bool) -> bool {
    nodes.iter().any(|n| match n {
        Node::Write { .. } => true,
        Node::Accumulate { array, .. } => is_read(*array),
        Node::Loop(l) => changes_in_place(&l.body, is_read),
        Node::Recurrence(r) => changes_in_place(&r.body, &|_| true),
        Node::Let(_) | Node::Scan(_) | Node::Store { .. } => false,
    })
}

/// A tree whose loops are unrolled.
struct Unroll<'a> {
    p: &'a mut bulk::Program,
    /// Arrays that the tree makes and reads.
    own: FxHashSet<ArrayId>,
    /// Whether loops may stay that use these: else they were put there to become scalar code.
    keeps: bool,
    code: Straight,
    /// So many statements may still be made.
    left: i64,
}

impl Unroll<'_> {
    fn gains_any(&self, nodes: &[Node]) -> bool {
        self.unrolls_any(nodes) || has_equal(nodes)
    }

    fn unrolls_any(&self, nodes: &[Node]) -> bool {
        nodes.iter().any(|n| match n {
            Node::Loop(l) => self.length(l).is_some() || self.unrolls_any(&l.body),
            Node::Recurrence(r) => self.unrolls_any(&r.body),
            _ => false,
        })
    }

    /// How many statements the loop becomes, if it is one to unroll.
    fn length(&self, l: &Loop) -> Option<i64> {
        let trips = l.axis.extent.as_constant().filter(|n| (1..=MOST).contains(n))?;
        let gains = trips <= FEW || (self.gains(&l.body) && !(self.keeps && takes_long(&l.body)));
        let inside = l.body.iter().try_fold(l.folds.len() as i64, |sum, n| {
            Some(match n {
                Node::Let(l) => sum + statements(std::slice::from_ref(l)),
                Node::Scan(s) => sum + steps(s),
                Node::Store { .. } | Node::Accumulate { .. } => sum + 1,
                Node::Loop(l) => sum + self.length(l)?,
                Node::Recurrence(_) | Node::Write { .. } => return None,
            })
        });
        inside?.checked_mul(trips).filter(|n| gains && l.merged.is_empty() && *n <= LONGEST)
    }

    /// Whether code has choices, or uses an array that the tree makes and reads.
    fn gains(&self, nodes: &[Node]) -> bool {
        let mut own = false;
        visit_arrays(nodes, &mut |a, _| own |= self.own.contains(&a));
        own || nodes
            .iter()
            .any(|n| matches!(n, Node::Let(l) if matches!(l.exp, Exp::If(..) | Exp::Op(Op::Select, _))))
    }

    fn nodes(&mut self, nodes: Vec<Node>) -> Vec<Node> {
        let mut out = Vec::new();
        for n in nodes {
            self.node(n, &mut out);
        }
        out
    }

    fn node(&mut self, n: Node, out: &mut Vec<Node>) {
        match n {
            Node::Let(l) => out.extend(self.code.binding(self.p, &l).into_iter().map(Node::Let)),
            Node::Store { array, index, value } => self.store(array, &index, value, out),
            Node::Loop(l) => match self.length(&l).filter(|n| *n <= self.left) {
                Some(length) => {
                    self.left -= length;
                    self.trips(&l, &mut Renaming::default(), out);
                }
                None => out.push(Node::Loop(self.inside(l))),
            },
            Node::Scan(s) => {
                let scan = self.scan(s);
                out.push(Node::Scan(scan));
            }
            Node::Recurrence(r) => out.push(Node::Recurrence(self.recurrence(r))),
            Node::Accumulate { array, reducer, index, value } => {
                let index = index.into_iter().map(|i| self.code.atom(i)).collect();
                out.push(Node::Accumulate { array, reducer, index, value: self.code.atom(value) });
            }
            n @ Node::Write { .. } => out.push(n),
        }
    }

    fn store(&mut self, array: ArrayId, index: &[Atom], value: Atom, out: &mut Vec<Node>) {
        let index: Vec<Atom> = index.iter().map(|i| self.code.atom(*i)).collect();
        let value = self.code.atom(value);
        self.code.store(array, &index, value);
        out.push(Node::Store { array, index, value });
    }

    /// A loop that stays.
    fn inside(&mut self, mut l: Loop) -> Loop {
        let began = self.code.enter(Some(&l.axis));
        l.body = self.nodes(l.body);
        l.folds.iter_mut().for_each(|f| f.value = self.code.atom(f.value));
        self.code.leave(began);
        l
    }

    fn recurrence(&mut self, mut r: Recurrence) -> Recurrence {
        r.states.iter_mut().for_each(|s| s.start = self.code.atom(s.start));
        let axis = match &mut r.rounds {
            Rounds::For(axis, until) => {
                until.iter_mut().for_each(|u| *u = self.code.atom(*u));
                Some(&*axis)
            }
            Rounds::While(_) => None,
        };
        let began = self.code.enter(axis);
        r.body = self.nodes(r.body);
        r.states.iter_mut().for_each(|s| s.next = self.code.atom(s.next));
        self.code.leave(began);
        r
    }

    fn scan(&mut self, mut s: Scan) -> Scan {
        Rename(self.code.names()).scan(&mut s);
        s
    }

    /// All trips of a loop, one after the other. `names` are those of the trips around.
    fn trips(&mut self, l: &Loop, names: &mut Renaming, out: &mut Vec<Node>) {
        let scans: Vec<&Scan> = l.scans().collect();
        let mut states: Vec<Vec<Atom>> =
            scans.iter().map(|s| s.start.iter().map(|a| renamed(names, *a)).collect()).collect();
        let mut folded: Vec<(Atom, Atom)> =
            l.folds.iter().map(|f| (Atom::Const(f.reducer.neutral(self.p.elem(f.value))), int(0))).collect();
        for k in 0..l.axis.extent.as_constant().unwrap_or(0) {
            names.insert(l.axis.var, int(k));
            let mut left = states.iter_mut();
            for n in &l.body {
                match n {
                    Node::Let(l) => self.copy(l, names, out),
                    Node::Store { array, index, value } => {
                        let index: Vec<Atom> = index.iter().map(|i| renamed(names, *i)).collect();
                        self.store(*array, &index, renamed(names, *value), out);
                    }
                    Node::Loop(inner) => self.trips(inner, names, out),
                    Node::Scan(s) => {
                        left.next().into_iter().for_each(|state| self.step(s, state, names, out))
                    }
                    Node::Accumulate { array, reducer, index, value } => {
                        let index = index.iter().map(|i| self.code.atom(renamed(names, *i))).collect();
                        let value = self.code.atom(renamed(names, *value));
                        out.push(Node::Accumulate { array: *array, reducer: *reducer, index, value });
                    }
                    Node::Recurrence(_) | Node::Write { .. } => {}
                }
            }
            for (f, state) in l.folds.iter().zip(&mut folded) {
                self.fold(f, int(k), state, names, l.loc, out);
            }
        }
        for (f, (value, at)) in l.folds.iter().zip(folded) {
            names.insert(f.result, if f.reducer.is_extremum() { at } else { value });
            self.code.name(f.result, renamed(names, Atom::Var(f.result)));
        }
    }

    /// A statement of a trip.
    fn copy(&mut self, l: &Let, names: &mut Renaming, out: &mut Vec<Node>) {
        let mut l = l.clone();
        Fresh { vars: &mut self.p.vars, names }.binding(&mut l);
        out.extend(self.code.binding(self.p, &l).into_iter().map(Node::Let));
    }

    /// A step of a scan.
    fn step(&mut self, s: &Scan, state: &mut Vec<Atom>, names: &mut Renaming, out: &mut Vec<Node>) {
        names.extend(s.left.iter().copied().zip(state.iter().copied()));
        for (v, a) in s.right.iter().zip(&s.values) {
            let value = renamed(names, *a);
            names.insert(*v, value);
        }
        for l in &s.step.block.lets {
            self.copy(l, names, out);
        }
        let new: Vec<Atom> = s.step.results.iter().map(|a| renamed(names, *a)).collect();
        let given = if s.prefix == Prefix::Inclusive { &new } else { &*state };
        names.extend(s.vars.iter().copied().zip(given.iter().copied()));
        *state = new;
    }

    /// One more value, of trip `k`.
    fn fold(
        &mut self,
        f: &Fold,
        k: Atom,
        (state, at): &mut (Atom, Atom),
        names: &Renaming,
        loc: Loc,
        out: &mut Vec<Node>,
    ) {
        let value = renamed(names, f.value);
        let (elem, result) = (self.p.elem(value), self.p.elem(*state));
        let mut bind = |elem: Elem, op: Op, args: [Atom; 3]| {
            let v = self.p.new_var(elem);
            let args = args[..op.arity()].to_vec();
            let l = Let { vars: vec![v], exp: Exp::Op(op, args), loc };
            out.extend(self.code.binding(self.p, &l).into_iter().map(Node::Let));
            Atom::Var(v)
        };
        match (f.reducer.op(), f.reducer) {
            (Some(op), _) => *state = bind(result, op, [*state, value, k]),
            (None, Reducer::Last) => *state = value,
            (None, by) => {
                let is_better = if by == Reducer::ArgMin { Op::Lt } else { Op::Gt };
                let is_better = bind(Elem::Bool, is_better, [value, *state, k]);
                *at = bind(Elem::I64, Op::Select, [is_better, k, *at]);
                *state = bind(elem, Op::Select, [is_better, value, *state]);
            }
        }
    }
}

/// How many statements a part of a nest's code becomes at each point.
pub(super) fn length(i: &Item) -> i64 {
    match i {
        Item::Let(l) => statements(std::slice::from_ref(l)),
        Item::Scan(s) => steps(s),
    }
}

fn steps(s: &Scan) -> i64 {
    statements(&s.step.block.lets) + 1
}

/// The number of statements, those of branches included.
fn statements(lets: &[Let]) -> i64 {
    let inside = |l: &Let| match &l.exp {
        Exp::If(_, yes, no) => statements(&yes.block.lets) + statements(&no.block.lets),
        _ => 0,
    };
    lets.iter().map(|l| 1 + inside(l)).sum()
}

/// Takes out what nobody uses, what small arrays were made of, say.
pub(super) fn without_unused(steps: &mut [Step]) {
    each_tree(steps, &mut |t| t.body = used(std::mem::take(&mut t.body), &mut FxHashSet::default()));
}

/// The nodes without scalars that nobody uses. `live` are those used after them.
fn used(nodes: Vec<Node>, live: &mut FxHashSet<Var>) -> Vec<Node> {
    let mut out: Vec<Node> = Vec::new();
    for n in nodes.into_iter().rev() {
        match n {
            Node::Let(l) => out.extend(live_lets(vec![l], live).into_iter().map(Node::Let)),
            Node::Loop(mut l) => {
                l.folds.retain(|f| live.contains(&f.result));
                live.extend(l.folds.iter().filter_map(|f| f.value.var()));
                l.body = used(l.body, live);
                if !l.body.is_empty() || !l.folds.is_empty() {
                    out.push(Node::Loop(l));
                }
            }
            Node::Recurrence(mut r) => {
                live.extend(r.states.iter().flat_map(|s| [s.start, s.next]).filter_map(Atom::var));
                if let Rounds::For(_, Some(until)) = &r.rounds {
                    live.extend(until.var());
                }
                r.body = used(r.body, live);
                out.push(Node::Recurrence(r));
            }
            Node::Scan(s) => {
                s.visit_atoms(&mut |a| live.extend(a.var()));
                out.push(Node::Scan(s));
            }
            n => {
                visit_atoms(std::slice::from_ref(&n), &mut |a| live.extend(a.var()));
                out.push(n);
            }
        }
    }
    out.reverse();
    out
}
