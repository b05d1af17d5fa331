//! Nodes as WGSL statements.
//!
//! Combining into an array: `i32` and `u32` have native atomics for all but products; products and `f32` go through
//! compare-and-exchange on the bits. Values that change nothing (adding zero, a minimum that is none) end after one load.

use std::fmt::Write;

use super::shader::{Access, Shader};
use super::types::{Kind, literal};
use crate::bulk::{ArrayId, Atom, Branch, Exp, Let, Prefix, Reducer, Scan};
use crate::loops::{Loop, Node};

impl Shader<'_, '_> {
    /// Nodes in order.
    pub(super) fn nodes(&mut self, nodes: &[Node]) -> Result<(), String> {
        for node in nodes {
            match node {
                Node::Let(l) => self.bind(l)?,
                Node::Loop(l) => self.looped(l)?,
                Node::Store { array, index, value } => self.assign(*array, index, *value)?,
                Node::Write { array, index, value } => {
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
        let name = l.vars.first().map_or(String::new(), |v| format!("v{}", v.0));
        let text = match &l.exp {
            Exp::Op(op, args) => self.op(*op, args, l.loc)?,
            Exp::Size(dim) => self.size(dim)?,
            Exp::StopGradient(a) => self.atom(*a)?,
            Exp::Read { array, index, checked } => return self.read(&name, *array, index, *checked, l.loc),
            Exp::If(condition, yes, no) => return self.branches(l, *condition, yes, no),
            Exp::Scan(s) => return self.scan(l, s),
        };
        self.line(format!("let {name} = {text};"));
        Ok(())
    }

    /// A lazy choice: only the chosen branch runs.
    fn branches(&mut self, l: &Let, condition: Atom, yes: &Branch, no: &Branch) -> Result<(), String> {
        for v in &l.vars {
            let kind = Kind::of(self.cx.program.vars[v.0 as usize])?;
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
            let text = self.atom(*result)?;
            self.line(format!("v{} = {text};", v.0));
        }
        Ok(())
    }

    /// A sequential loop and its folds.
    fn looped(&mut self, l: &Loop) -> Result<(), String> {
        self.fold_states(l)?;
        self.scan_states(&l.body)?;
        let n = self.size(&l.axis.extent)?;
        self.trips(l, "0i", &n)
    }

    /// Declares what a loop folds.
    pub(super) fn fold_states(&mut self, l: &Loop) -> Result<(), String> {
        for f in &l.folds {
            let kind = self.kind(f.value)?;
            if f.reducer.is_extremum() {
                if kind == Kind::Bool {
                    return Err(format!("`{}` of booleans", f.reducer.name()));
                }
                let best = self.neutral(f.reducer, f.value)?;
                self.line(format!("var best{} = {best};", f.result.0));
                self.line(format!("var v{} = 0i;", f.result.0));
            } else {
                let neutral = self.neutral(f.reducer, f.value)?;
                self.line(format!("var v{} = {neutral};", f.result.0));
            }
        }
        Ok(())
    }

    /// The trips `low..high` of a loop.
    pub(super) fn trips(&mut self, l: &Loop, low: &str, high: &str) -> Result<(), String> {
        self.axis(&l.axis);
        let i = l.axis.var.0;
        self.open(format!("for (var v{i} = {low}; v{i} < {high}; v{i} += 1i) {{"));
        self.nodes(&l.body)?;
        for f in &l.folds {
            let (value, kind, to) = (self.atom(f.value)?, self.kind(f.value)?, f.result.0);
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
                    self.line(format!("v{to} = v{i};"));
                    self.close("}");
                }
            }
        }
        self.close("}");
        Ok(())
    }

    /// Declares the states of the scans that stand in a loop's body.
    pub(super) fn scan_states(&mut self, body: &[Node]) -> Result<(), String> {
        for n in body {
            let Node::Let(Let { exp: Exp::Scan(s), vars, .. }) = n else { continue };
            for (k, a) in s.start.iter().enumerate() {
                let start = self.atom(*a)?;
                self.line(format!("var scan{}_{k} = {start};", vars[0].0));
            }
        }
        Ok(())
    }

    /// One step of a scan: the state of the trip before, then the new one.
    fn scan(&mut self, l: &Let, s: &Scan) -> Result<(), String> {
        for (k, v) in s.left.iter().enumerate() {
            self.line(format!("let v{} = scan{}_{k};", v.0, l.vars[0].0));
        }
        for (v, a) in s.right.iter().zip(&s.values) {
            let value = self.atom(*a)?;
            self.line(format!("let v{} = {value};", v.0));
        }
        for inner in &s.step.block.lets {
            self.bind(inner)?;
        }
        let given: Vec<Atom> = match s.prefix {
            Prefix::Inclusive => s.step.results.clone(),
            Prefix::Exclusive => s.left.iter().map(|v| Atom::Var(*v)).collect(),
        };
        for (k, (result, (v, given))) in s.step.results.iter().zip(l.vars.iter().zip(given)).enumerate() {
            let (result, given) = (self.atom(*result)?, self.atom(given)?);
            self.line(format!("let v{} = {given};", v.0));
            self.line(format!("scan{}_{k} = {result};", l.vars[0].0));
        }
        Ok(())
    }

    /// The text of a reducer's neutral element for values like `value`.
    pub(super) fn neutral(&self, reducer: Reducer, value: Atom) -> Result<String, String> {
        literal(reducer.neutral(match value {
            Atom::Var(v) => self.cx.program.vars[v.0 as usize],
            Atom::Const(c) => c.elem,
        }))
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
                let (i, n) = (self.atom(*i)?, self.size(dim)?);
                conditions.push(format!("{i} >= 0i && {i} < {n}"));
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
        let (at, kind, value) = (self.offset(array, index)?, self.kind(value)?, self.atom(value)?);
        let text = if self.access(root) == Access::Atomic {
            format!("atomicStore(&a{}[{at}], {});", root.0, atomic_bits(kind, &value))
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
        let (at, kind, value) = (self.offset(array, index)?, self.kind(value)?, self.atom(value)?);
        let text = match native(reducer, kind) {
            Some(name) => format!("{name}(&a{}[{at}], {});", root.0, atomic_bits(kind, &value)),
            None => {
                self.combiners.insert((root, reducer));
                format!("{}(u32({at}), {value});", combiner_name(root, reducer))
            }
        };
        self.line(text);
        Ok(())
    }
}

/// The element of an atomic buffer for a value.
fn atomic_bits(kind: Kind, value: &str) -> String {
    match kind {
        Kind::F32 => format!("bitcast<u32>({value})"),
        _ => kind.store(value),
    }
}

/// The built-in function that combines atomically.
fn native(reducer: Reducer, kind: Kind) -> Option<&'static str> {
    match (reducer, kind) {
        (_, Kind::F32) => None,
        (Reducer::Add, _) => Some("atomicAdd"),
        (Reducer::Min, _) => Some("atomicMin"),
        (Reducer::Max, _) => Some("atomicMax"),
        (Reducer::And, _) => Some("atomicAnd"),
        (Reducer::Or, _) => Some("atomicOr"),
        _ => None,
    }
}

fn combiner_name(root: ArrayId, reducer: Reducer) -> String {
    format!("a{}_{}", root.0, reducer.name())
}

/// The functions that combine by compare-and-exchange, one per array and reducer.
pub(super) fn combiners(sh: &Shader<'_, '_>) -> Result<String, String> {
    let mut out = String::new();
    for (root, reducer) in &sh.combiners {
        let kind = Kind::of(sh.cx.program.arrays[root.0 as usize].elem)?;
        let (Some(row), true) = (reducer.op().and_then(|op| op.row()), kind != Kind::Bool) else {
            return Err(format!("`{}` as a way to combine {} values", reducer.name(), kind.name()));
        };
        let stored = if kind == Kind::I32 { "i32" } else { "u32" };
        let old = if kind == Kind::F32 { "bitcast<f32>(old)" } else { "old" };
        let combined = row.wgsl.replace("{0}", old).replace("{1}", "value");
        let bits = atomic_bits(kind, &combined);
        let _ = write!(
            out,
            "
fn {}(at: u32, value: {}) {{
    var old = atomicLoad(&a{root}[at]);
    loop {{
        let combined: {stored} = {bits};
        if combined == old {{ break; }}
        let seen = atomicCompareExchangeWeak(&a{root}[at], old, combined);
        if seen.exchanged {{ break; }}
        old = seen.old_value;
    }}
}}
",
            combiner_name(*root, *reducer),
            kind.name(),
            root = root.0,
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
