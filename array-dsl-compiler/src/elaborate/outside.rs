//! Constants of the surrounding code: `RATE`, `physics::G`.
//!
//! A macro sees no more of a constant than its name. So it is a parameter of the kernel, which comes after the others, which calls do
//! not give (`ty::constant_name`), and for which generated code passes the value. Its type is what the kernel makes of it, as that of a
//! literal is: rustc checks it where the value is passed. A size that is a constant is one that a parameter gives: the shapes of
//! arguments are checked on entry.
//!
//! Who calls a kernel passes its constants on, and so has them as parameters itself. Their values are the called kernel's to tell,
//! whose module may be another (`emit::host::constants`).

use std::rc::Rc;

use proc_macro2::Span;

use super::{Callee, Elaborator};
use crate::core::{Atom, Param, Type, Var};
use crate::diagnostics::Code;
use crate::dim::{Dim, SizeAtom};
use crate::syntax::{self, Constant, ast};
use crate::ty::{Elem, Name, Tree, constant_name};

/// Where a constant that a kernel takes comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A constant that the kernel names.
    Named(Constant, Elem),
    /// The constant of this number of the called kernel of this path.
    Called(String, usize, Elem),
}

impl Source {
    /// Its type.
    pub fn elem(&self) -> Elem {
        match self {
            Source::Named(_, elem) | Source::Called(_, _, elem) => *elem,
        }
    }
}

/// The constants of a function under construction.
#[derive(Default)]
pub(super) struct Outside {
    named: Vec<(Constant, Var)>,
    called: Vec<(String, Rc<Callee>, Vec<Var>)>,
}

impl Elaborator<'_> {
    /// A variable for each constant that the function names, and for those of the kernels that it calls.
    pub(super) fn declare_constants(&mut self, f: &ast::Function) {
        for c in syntax::constants(f) {
            let last = c.path.segments.last().map_or("", |s| &*s.name).to_string();
            let elem = c.cast.unwrap_or_else(|| self.inference.any());
            let var = self.constant_var(&constant_name(&last), elem);
            self.outside.named.push((c, var));
        }
        let callees = self.site.callees.clone();
        for (path, callee) in callees.kernels() {
            let of = |p: &Param| p.vars.leaves().first().map(|v| (p.name.clone(), callee.ty(**v).elem));
            let constants: Vec<(Name, Elem)> = callee.constants().filter_map(of).collect();
            if !constants.is_empty() {
                let vars = constants.iter().map(|(name, elem)| self.constant_var(name, *elem)).collect();
                self.outside.called.push((path.clone(), callee.clone(), vars));
            }
        }
    }

    fn constant_var(&mut self, name: &Name, elem: Elem) -> Var {
        let var = self.new_var(name, Type::scalar(elem));
        self.params.push(var);
        var
    }

    /// The constants as parameters after the others, and where they come from. A kernel with a rule has none.
    pub(super) fn take_constants(
        &mut self,
        f: &ast::Function,
        rule: Option<&ast::Path>,
        params: &mut Vec<Param>,
    ) {
        let named = self.outside.named.iter().map(|(c, v)| (*v, c.path.span()));
        let called = self.outside.called.iter().flat_map(|(_, _, vars)| vars);
        let all: Vec<(Var, Span)> = named.chain(called.map(|v| (*v, f.name.span))).collect();
        if let (Some(rule), false) = (rule, all.is_empty()) {
            let message =
                "a kernel with a rule of its own, or its rule, uses constants of the surrounding code";
            self.error(Code::Unsupported, rule.span(), message, "pass their values as arguments");
        }
        for (v, span) in all {
            if self.inference.is_complex(self.elem(Atom::Var(v))) {
                let message = "a constant of the surrounding code is no complex number";
                let help = "pass it as an argument, or make it of real constants: `Complex::new(RE, IM)`";
                self.error(Code::Unsupported, span, message, help);
            }
            let loc = self.loc(span);
            let name = self.vars[v.0 as usize].name.clone();
            params.push(Param { name, vars: Tree::Leaf(v), active: false, loc });
        }
    }

    /// The variable of a constant that a path names here. In code of other kernels their own names are meant.
    pub(super) fn constant(&self, path: &ast::Path, cast: Option<Elem>) -> Option<Var> {
        let is_own = self.site.generic.is_none() && self.site.call_span.is_none();
        self.outside.named.iter().find(|(c, _)| is_own && c.is(path, cast)).map(|(_, v)| *v)
    }

    /// Whether a plain name is a constant's.
    pub(super) fn is_constant(&self, name: &Name) -> bool {
        self.outside.named.iter().any(|(c, _)| c.path.single().is_some_and(|n| n.name == *name))
    }

    /// The polynomial that a constant is, if it is a constant and a size.
    pub(super) fn known_constant(&self, v: Var) -> Option<Dim> {
        let called = self.outside.called.iter().flat_map(|(_, _, vars)| vars);
        let is_one = self.outside.named.iter().map(|(_, v)| v).chain(called).any(|c| *c == v);
        (is_one && self.elem(Atom::Var(v)) == Elem::I64).then(|| Dim::atom(SizeAtom::Scalar(v.0)))
    }

    /// The constants that a kernel takes after its arguments.
    pub(super) fn constants_of(&mut self, callee: &Rc<Callee>, span: Span) -> Option<Vec<Atom>> {
        if callee.constants().next().is_none() {
            return Some(Vec::new());
        }
        let known = self.outside.called.iter().find(|(_, c, _)| Rc::ptr_eq(c, callee));
        let Some(vars) = known.map(|(_, _, vars)| vars.iter().map(|v| Atom::Var(*v)).collect()) else {
            self.error(
                Code::Unsupported,
                span,
                format!(
                    "kernel `{}` uses constants of the code around it, which a generic kernel cannot pass on",
                    callee.name
                ),
                "give it the values as arguments",
            );
            return None;
        };
        Some(vars)
    }
}

impl Outside {
    /// Where the constants come from, once their types are known.
    pub(super) fn sources(self, types: &dyn Fn(Var) -> Elem) -> Vec<Source> {
        let named = self.named.into_iter().map(|(c, v)| Source::Named(c, types(v)));
        let called = self.called.into_iter().flat_map(|(path, _, vars)| {
            let one = |(k, v): (usize, Var)| Source::Called(path.clone(), k, types(v));
            vars.into_iter().enumerate().map(one).collect::<Vec<_>>()
        });
        named.chain(called).collect()
    }
}
