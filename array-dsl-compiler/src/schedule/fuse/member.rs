//! A nest whose results are of one depth, and what is asked of pairs of them.

use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::super::unroll;
use crate::bulk::live::live_body;
use crate::bulk::walk::Visitor;
use crate::bulk::{ArrayId, Atom, Axis, Body, Exp, Let, Nest, Var, Yield};
use crate::ty::Loc;

/// A nest with yields of one depth.
pub(super) struct Member {
    pub axes: Vec<Axis>,
    /// How many of the axes are dimensions of the results; the rest is folded.
    pub outer: usize,
    /// The last axis is executed in order.
    pub ordered: bool,
    pub body: Body,
    pub yields: Vec<Yield>,
    pub loc: Loc,
    pub reads: Vec<(ArrayId, Vec<Atom>)>,
    /// The innermost axis that each scalar depends on.
    pub innermost: FxHashMap<Var, usize>,
    /// The arrays that it reads, views looked through. This and what follows is asked of each pair of members.
    pub sources: FxHashSet<ArrayId>,
    /// Those of which it reads elements by an index.
    pub indexed: FxHashSet<ArrayId>,
    /// The axes of a few points, and what is computed of them alone.
    pub counted: FxHashSet<Var>,
    /// What takes long of what its points compute: equal numbers for equal functions of equal elements, axes by their places.
    pub functions: FxHashSet<u64>,
    /// How many statements each of its points becomes, if these are few.
    pub length: Option<i64>,
}

impl Member {
    /// `root` looks through views.
    pub fn new(n: &Nest, over: usize, yields: Vec<Yield>, root: impl Fn(ArrayId) -> ArrayId) -> Member {
        let mut live: FxHashSet<Var> = FxHashSet::default();
        for y in &yields {
            live.extend(
                y.kind.atoms().into_iter().filter_map(|a| if let Atom::Var(v) = a { Some(v) } else { None }),
            );
        }
        let body = live_body(n.body.clone(), &mut live);
        let mut reads = Vec::new();
        let (mut sources, mut indexed) = (FxHashSet::default(), FxHashSet::default());
        body.visit_reads(&mut |a, ix| {
            let source = root(a);
            sources.insert(source);
            indexed.extend((!ix.is_empty()).then_some(source));
            reads.push((a, ix.to_vec()));
        });
        let ordered = body.is_ordered();
        let mut counted = Counted(n.axes[points(&n.axes)..].iter().map(|a| a.var).collect());
        counted.body(&body);
        let functions = Functions::of(&n.axes, &body);
        let (axes, outer, counted) = (n.axes.clone(), n.axes.len() - over, counted.0);
        let mut innermost = Innermost(axes.iter().enumerate().map(|(k, a)| (a.var, k)).collect());
        innermost.body(&body);
        let length = length(&axes, outer, &body);
        let innermost = innermost.0;
        let loc = n.loc;
        Member {
            axes,
            outer,
            ordered,
            body,
            yields,
            loc,
            reads,
            innermost,
            sources,
            indexed,
            counted,
            functions,
            length,
        }
    }

    /// The axis along which neighboring points read neighboring elements.
    pub fn along(&self, index: &[Atom]) -> Option<usize> {
        self.innermost.get(&index.last()?.var()?).copied()
    }

    pub fn produces(&self, a: ArrayId) -> bool {
        self.yields.iter().any(|y| y.array == a)
    }
}

/// Whether a member reads what another one makes.
pub(super) fn depends(m: &Member, on: &Member) -> bool {
    on.yields.iter().any(|y| m.sources.contains(&y.array))
}

/// Whether they read elements of one array, or compute one thing that takes long, as numbers that are made of the axes alone.
pub(super) fn have_in_common(m: &Member, q: &Member) -> bool {
    m.indexed.iter().any(|a| q.sources.contains(a)) || !m.functions.is_disjoint(&q.functions)
}

/// How many statements each point becomes, if these are few: those of all steps along the axes of a few points.
fn length(axes: &[Axis], outer: usize, body: &Body) -> Option<i64> {
    let inner = &axes[points(axes)..];
    let trips = inner.iter().try_fold(1i64, |t, a| t.checked_mul(a.extent.as_constant()?))?;
    let code: i64 = body.items.iter().map(unroll::length).sum();
    (outer >= points(axes) && trips <= unroll::ALL).then(|| trips.saturating_mul(code + 1))
}

/// How many axes there are before those of a few points.
pub(super) fn points(axes: &[Axis]) -> usize {
    let is_few = |a: &Axis| a.extent.as_constant().is_some_and(|n| (1..=unroll::MOST).contains(&n));
    axes.len() - axes.iter().rev().take_while(|a| is_few(a)).count()
}

/// Numbers what is computed: see `Member::functions`.
#[derive(Default)]
struct Functions {
    numbers: FxHashMap<Var, u64>,
    long: FxHashSet<u64>,
}

impl Functions {
    fn of(axes: &[Axis], body: &Body) -> FxHashSet<u64> {
        let mut f = Functions::default();
        f.numbers.extend(axes.iter().zip(0..).map(|(a, place)| (a.var, place)));
        f.body(body);
        f.long
    }

    /// What is computed in a way that is not looked into is like nothing else.
    fn number(&self, a: Atom) -> u64 {
        let hash = FxBuildHasher;
        match a {
            Atom::Const(c) => hash.hash_one(c),
            Atom::Var(v) => self.numbers.get(&v).copied().unwrap_or_else(|| hash.hash_one(v)),
        }
    }
}

impl Visitor for Functions {
    fn binding(&mut self, l: &Let) {
        let all = |atoms: &[Atom]| atoms.iter().map(|a| self.number(*a)).collect::<Vec<u64>>();
        let number = match &l.exp {
            Exp::Op(op, args) => Some(FxBuildHasher.hash_one((op, all(args)))),
            Exp::Read { array, index, .. } => Some(FxBuildHasher.hash_one((array, all(index)))),
            Exp::Size(d) => Some(FxBuildHasher.hash_one(d)),
            Exp::Inside { .. } | Exp::StopGradient(_) | Exp::If(..) => None,
        };
        if let (Some(number), [v]) = (number, &l.vars[..]) {
            self.numbers.insert(*v, number);
            let takes_long = matches!(&l.exp, Exp::Op(op, _) if !op.is_cheap());
            self.long.extend(takes_long.then_some(number));
        }
        self.walk_binding(l);
    }
}

/// Scalars that are counters, or computed of them alone.
struct Counted(FxHashSet<Var>);

impl Visitor for Counted {
    fn binding(&mut self, l: &Let) {
        if let Exp::Op(_, args) = &l.exp
            && args.iter().all(|a| a.var().is_none_or(|v| self.0.contains(&v)))
        {
            self.0.extend(&l.vars);
        }
        self.walk_binding(l);
    }
}

/// Scalars that depend on axes, and the innermost of these.
struct Innermost(FxHashMap<Var, usize>);

impl Visitor for Innermost {
    fn binding(&mut self, l: &Let) {
        let mut innermost = None;
        l.exp.visit_atoms(&mut |a| innermost = innermost.max(a.var().and_then(|v| self.0.get(&v).copied())));
        self.0.extend(innermost.into_iter().flat_map(|k| l.vars.iter().map(move |v| (*v, k))));
        self.walk_binding(l);
    }
}
