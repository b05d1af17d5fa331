//! Nodes as WGSL statements.
//!
//! Combining into an array: integers have native atomics for all but products. Floats are added by two exchanges: what is there is taken
//! out, leaving zero, and put back with the value added; what others have put there meanwhile is added in the same way. Many threads
//! at one element end with that, where comparing would have them try again and again. Everything else goes through
//! compare-and-exchange on the bits; values that change nothing (a minimum that is none) end after one load. Elements of a point's
//! own, which its loops change, have no other thread to take care of.

use std::fmt::{self, Write};

use super::recurrence::is_innermost;
use super::shader::Shader;
use super::types::Kind;
use crate::bulk::{ArrayId, Atom, Branch, Exp, Let, Prefix, Reducer, Scan, Var};
use crate::dim::Dim;
use crate::internal;
use crate::loops::uses::Access;
use crate::loops::{Fold, Loop, Node};
use crate::ty::Elem;

impl Shader<'_, '_> {
    /// Nodes in order.
    pub(super) fn nodes(&mut self, nodes: &[Node]) -> Result<(), String> {
        for node in nodes {
            match node {
                Node::Let(l) => self.bind(l)?,
                Node::Scan(s) => self.scan(s)?,
                Node::Loop(l) => self.looped(l)?,
                Node::Recurrence(r) => self.recurrence(r)?,
                Node::Store { array, index, value } => self.assign(*array, index, *value)?,
                Node::Write { array, index, value, .. } => {
                    self.guarded(*array, index, |sh| sh.assign(*array, index, *value))?;
                }
                Node::Accumulate { array, reducer, index, value } => {
                    self.guarded(*array, index, |sh| sh.accumulate(*array, *reducer, index, *value))?;
                }
            }
        }
        Ok(())
    }

    /// A scalar binding.
    pub(super) fn bind(&mut self, l: &Let) -> Result<(), String> {
        if let Exp::If(condition, yes, no) = &l.exp {
            return self.branches(l, *condition, yes, no);
        }
        let [v] = l.vars.as_slice() else {
            return Err(format!("an expression that binds {} scalars instead of one", l.vars.len()));
        };
        let (name, kind) = (format!("v{}", v.0), self.kind(Atom::Var(*v))?);
        let text = match &l.exp {
            Exp::Op(op, args) => self.op(*op, args, kind, l.loc)?,
            Exp::Size(dim) if kind == Kind::I32 => self.size(dim)?,
            Exp::Size(dim) => self.long_size(dim)?,
            Exp::StopGradient(a) => self.atom_as(*a, kind)?,
            Exp::Inside { index, dims, .. } => self.inside(index, dims, l.loc)?,
            Exp::Read { array, index, checked } => {
                return self.read((&name, kind), *array, index, *checked, l.loc);
            }
            Exp::If(..) => internal::broken("a choice is no expression".into()),
        };
        self.line(format!("let {name} = {text};"));
        Ok(())
    }

    /// A lazy choice: only the chosen branch runs.
    fn branches(&mut self, l: &Let, condition: Atom, yes: &Branch, no: &Branch) -> Result<(), String> {
        for v in &l.vars {
            let kind = self.kind(Atom::Var(*v))?;
            self.line(format!("var v{} = {};", v.0, kind.zero()));
        }
        let condition = self.atom(condition)?;
        self.open(format!("if {condition} {{"));
        self.branch(l, yes)?;
        self.close("} else {");
        self.branch(l, no)?;
        self.close("}");
        Ok(())
    }

    fn branch(&mut self, l: &Let, branch: &Branch) -> Result<(), String> {
        for inner in &branch.block.lets {
            self.bind(inner)?;
        }
        for (v, result) in l.vars.iter().zip(&branch.results) {
            let kind = self.kind(Atom::Var(*v))?;
            let text = self.atom_as(*result, kind)?;
            self.line(format!("v{} = {text};", v.0));
        }
        Ok(())
    }

    /// A sequential loop and its folds.
    fn looped(&mut self, l: &Loop) -> Result<(), String> {
        self.fold_states(&l.folds)?;
        self.scan_states(&l.body)?;
        // The ends are within the extent.
        let low = l.range.from.map_or(Ok("0i".into()), |a| self.atom_as(a, Kind::I32))?;
        let high = match l.range.to {
            Some(to) => self.atom_as(to, Kind::I32)?,
            None => self.size(&l.axis.extent)?,
        };
        self.trips(l, &low, &high)
    }

    /// Declares what is folded.
    pub(super) fn fold_states(&mut self, folds: &[Fold]) -> Result<(), String> {
        for f in folds {
            let kind = self.kind(Atom::Var(f.result))?;
            if f.reducer.is_extremum() {
                let value = self.elem_kind(f.value)?;
                if value == Kind::Bool {
                    return Err(format!("`{}` of booleans", f.reducer.name()));
                }
                let best = self.neutral(f.reducer, f.value, value);
                self.line(format!("var best{} = {best};", f.result.0));
                self.line(format!("var v{} = {};", f.result.0, kind.zero()));
            } else {
                let neutral = self.neutral(f.reducer, f.value, kind);
                self.line(format!("var v{} = {neutral};", f.result.0));
            }
        }
        Ok(())
    }

    /// The trips `low..high` of a loop.
    pub(super) fn trips(&mut self, l: &Loop, low: &str, high: &str) -> Result<(), String> {
        self.axis(&l.axis);
        let i = l.axis.var.0;
        let sites = self.failing;
        self.around.push(l.axis.extent.clone());
        self.bound_trips()?;
        self.open(format!("for (var v{i} = {low}; v{i} < {high}; v{i} += 1i) {{"));
        self.nodes(&l.body)?;
        for f in &l.folds {
            self.fold(f, l.axis.var)?;
        }
        if self.failing > sites {
            self.leave_after_failure(&format!("v{i}"), "i", is_innermost(&l.body));
        }
        self.around.pop();
        self.close("}");
        Ok(())
    }

    /// Folds the value of a trip of the axis.
    pub(super) fn fold(&mut self, f: &Fold, axis: Var) -> Result<(), String> {
        let (kind, to) = (self.kind(Atom::Var(f.result))?, f.result.0);
        let of = if f.reducer.is_extremum() { self.elem_kind(f.value)? } else { kind };
        let value = self.atom_as(f.value, of)?;
        match f.reducer.op() {
            Some(op) => {
                let text = self.combine(op, kind, &format!("v{to}"), &value)?;
                self.line(format!("v{to} = {text};"));
            }
            None if f.reducer == Reducer::Last => self.line(format!("v{to} = {value};")),
            None => {
                // The first extremal value keeps its place.
                let better = if f.reducer == Reducer::ArgMin { '<' } else { '>' };
                self.open(format!("if {value} {better} best{to} {{"));
                self.line(format!("best{to} = {value};"));
                let place = self.atom_as(Atom::Var(axis), kind)?;
                self.line(format!("v{to} = {place};"));
                self.close("}");
            }
        }
        Ok(())
    }

    /// Has the runtime refuse so many trips in loops in loops that a thread would not end, which a device takes for a failure:
    /// no more than of a single loop.
    pub(super) fn bound_trips(&mut self) -> Result<(), String> {
        let total = Dim::product(&self.around);
        self.cx.check_size(&total)?;
        if self.around.len() > 1 && total.as_constant().is_none() && !self.made.contains(&total) {
            self.made.push(total);
        }
        Ok(())
    }

    /// At the end of a trip whose number is `trip`, with the suffix of its type: now and then, looks whether something has
    /// failed in the run, and leaves the loop if so. Short loops never look, which would cost them more than their end.
    pub(super) fn leave_after_failure(&mut self, trip: &str, suffix: &str, is_innermost: bool) {
        let mask = if is_innermost { 1023 } else { 63 };
        self.line(format!(
            "if ({trip} & {mask}{suffix}) == {mask}{suffix} && atomicLoad(&status[0]) != 0u {{ break; }}"
        ));
    }

    /// Declares the states of the scans that stand in a loop's body.
    pub(super) fn scan_states(&mut self, body: &[Node]) -> Result<(), String> {
        for s in body.iter().filter_map(Node::as_scan) {
            for (k, (a, left)) in s.start.iter().zip(&s.left).enumerate() {
                let kind = self.kind(Atom::Var(*left))?;
                let start = self.atom_as(*a, kind)?;
                self.line(format!("var {} = {start};", state(s, k)));
            }
        }
        Ok(())
    }

    /// One step of a scan: the state of the trip before, then the new one.
    fn scan(&mut self, s: &Scan) -> Result<(), String> {
        for (k, v) in s.left.iter().enumerate() {
            self.line(format!("let v{} = {};", v.0, state(s, k)));
        }
        for (v, a) in s.right.iter().zip(&s.values) {
            let kind = self.kind(Atom::Var(*v))?;
            let value = self.atom_as(*a, kind)?;
            self.line(format!("let v{} = {value};", v.0));
        }
        for inner in &s.step.block.lets {
            self.bind(inner)?;
        }
        let given: Vec<Atom> = match s.prefix {
            Prefix::Inclusive => s.step.results.clone(),
            Prefix::Exclusive => s.left.iter().map(|v| Atom::Var(*v)).collect(),
        };
        for (k, (result, (v, given))) in s.step.results.iter().zip(s.vars.iter().zip(given)).enumerate() {
            let (state_kind, kind) = (self.kind(Atom::Var(s.left[k]))?, self.kind(Atom::Var(*v))?);
            let (result, given) = (self.atom_as(*result, state_kind)?, self.atom_as(given, kind)?);
            self.line(format!("let v{} = {given};", v.0));
            self.line(format!("{} = {result};", state(s, k)));
        }
        Ok(())
    }

    /// The type of the elements of an array of values like `a`.
    pub(super) fn elem_kind(&self, a: Atom) -> Result<Kind, String> {
        Kind::of(self.elem(a))
    }

    fn elem(&self, a: Atom) -> Elem {
        match a {
            Atom::Var(v) => self.cx.program.vars[v.0 as usize],
            Atom::Const(c) => c.elem,
        }
    }

    /// The text of a reducer's neutral element for values like `value` in the type `kind`.
    pub(super) fn neutral(&self, reducer: Reducer, value: Atom, kind: Kind) -> String {
        kind.literal(reducer.neutral(self.elem(value)))
    }

    /// Runs `f` under the condition that every index is inside.
    fn guarded(
        &mut self,
        array: ArrayId,
        index: &[Atom],
        f: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let dims = self.cx.program.arrays[array.0 as usize].dims.clone();
        let mut conditions = Vec::new();
        for (i, dim) in index.iter().zip(&dims) {
            if !self.is_inside(*i, dim) {
                let (kind, i, n) = (self.kind(*i)?, self.atom(*i)?, self.size(dim)?);
                let n = if kind == Kind::I64 { format!("i64({n})") } else { n };
                conditions.push(format!("{i} >= {} && {i} < {n}", kind.zero()));
            }
        }
        if conditions.is_empty() {
            return f(self);
        }
        self.open(format!("if {} {{", conditions.join(" && ")));
        f(self)?;
        self.close("}");
        Ok(())
    }

    /// One element gets a value.
    fn assign(&mut self, array: ArrayId, index: &[Atom], value: Atom) -> Result<(), String> {
        let root = self.cx.root(array);
        let (at, kind) = (self.offset(array, index)?, self.elem_kind(value)?);
        let value = self.atom_as(value, kind)?;
        let text = if self.access(root)? == Access::Combine {
            format!("atomicStore(&a{}[{at}], {});", root.0, kind.store_atomic(&value))
        } else {
            format!("a{}[{at}] = {};", root.0, kind.store(&value))
        };
        self.line(text);
        Ok(())
    }

    /// A value is combined into one element.
    fn accumulate(
        &mut self,
        array: ArrayId,
        reducer: Reducer,
        index: &[Atom],
        value: Atom,
    ) -> Result<(), String> {
        let root = self.cx.root(array);
        let (at, kind) = (self.offset(array, index)?, self.elem_kind(value)?);
        let value = self.atom_as(value, kind)?;
        if self.access(root)? == Access::Write {
            return self.combine_own(root, (reducer, kind), &at, &value);
        }
        let target = if self.private == Some(root) { Target::Private } else { Target::Array(root) };
        self.combine_into(target, reducer, kind, &at, &value);
        Ok(())
    }

    /// A value is combined into an element that no other thread has.
    fn combine_own(
        &mut self,
        root: ArrayId,
        (reducer, kind): (Reducer, Kind),
        at: &str,
        value: &str,
    ) -> Result<(), String> {
        let op = reducer.op().ok_or_else(|| format!("`{}` as a way to combine values", reducer.name()))?;
        let place = self.fresh();
        self.line(format!("let {place} = {at};"));
        let element = format!("a{}[{place}]", root.0);
        let combined = self.combine(op, kind, &kind.load(&element), value)?;
        self.line(format!("{element} = {};", kind.store(&combined)));
        Ok(())
    }

    /// The value `value` is combined into the element `at`.
    pub(super) fn combine_into(
        &mut self,
        target: Target,
        reducer: Reducer,
        kind: Kind,
        at: &str,
        value: &str,
    ) {
        let text = match native(reducer, kind) {
            Some(name) => format!("{name}(&{target}[{at}], {});", kind.store_atomic(value)),
            None => {
                self.combiners.insert((target, kind, reducer));
                format!("{}(u32({at}), {value});", combiner_name(target, reducer))
            }
        };
        self.line(text);
    }
}

/// The variable of a scan's state.
pub(super) fn state(s: &Scan, k: usize) -> String {
    format!("scan{}_{k}", s.vars[0].0)
}

/// Memory that threads combine values into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    /// The workgroup's own.
    Private,
    /// An array's.
    Array(ArrayId),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Private => write!(f, "private_bins"),
            Target::Array(array) => write!(f, "a{}", array.0),
        }
    }
}

/// The built-in function that combines atomically.
fn native(reducer: Reducer, kind: Kind) -> Option<&'static str> {
    match (reducer, kind) {
        (_, kind) if kind.is_float() => None,
        (Reducer::Add, _) => Some("atomicAdd"),
        (Reducer::Min, _) => Some("atomicMin"),
        (Reducer::Max, _) => Some("atomicMax"),
        (Reducer::And, _) => Some("atomicAnd"),
        (Reducer::Or, _) => Some("atomicOr"),
        _ => None,
    }
}

fn combiner_name(target: Target, reducer: Reducer) -> String {
    format!("{target}_{}", reducer.name())
}

/// The functions that combine by compare-and-exchange, one per target and reducer.
pub(super) fn combiners(sh: &Shader<'_, '_>) -> Result<String, String> {
    let mut out = String::new();
    for (target, kind, reducer) in &sh.combiners {
        let (Some(row), true) = (reducer.op().and_then(|op| op.row()), *kind != Kind::Bool) else {
            return Err(format!("`{}` as a way to combine {} values", reducer.name(), kind.name()));
        };
        let stored = kind.atomic();
        let name = combiner_name(*target, *reducer);
        if kind.is_float() && *reducer == Reducer::Add {
            let (zero, float) = (kind.zero_bits(), kind.name());
            let magnitude = kind.magnitude("rest");
            let _ = write!(
                out,
                "
fn {name}(at: u32, value: {float}) {{
    var rest: {stored} = bitcast<{stored}>(value);
    while {magnitude} != {zero} {{
        let taken = bitcast<{float}>(atomicExchange(&{target}[at], {zero}));
        rest = atomicExchange(&{target}[at], bitcast<{stored}>(taken + bitcast<{float}>(rest)));
    }}
}}
"
            );
            continue;
        }
        let combined = kind.function(row).replace("{0}", &kind.load_atomic("old")).replace("{1}", "value");
        let bits = kind.store_atomic(&combined);
        let _ = write!(
            out,
            "
fn {}(at: u32, value: {}) {{
    var old = atomicLoad(&{target}[at]);
    loop {{
        let combined: {stored} = {bits};
        if combined == old {{ break; }}
        let seen = atomicCompareExchangeWeak(&{target}[at], old, combined);
        if seen.exchanged {{ break; }}
        old = seen.old_value;
    }}
}}
",
            name,
            kind.name(),
        );
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_atomics_exist_for_integers_only() {
        assert_eq!(native(Reducer::Add, Kind::I32), Some("atomicAdd"));
        assert_eq!(native(Reducer::Mul, Kind::U32), None);
        assert_eq!(native(Reducer::Max, Kind::F32), None);
    }
}
