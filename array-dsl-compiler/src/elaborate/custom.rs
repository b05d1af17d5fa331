//! Kernels with a derivative of their own: `#[kernel(vjp = rule)] fn f(x: X) -> Y` with `#[kernel] fn rule(x: X, ct: Y) -> X`.
//!
//! * The rule takes the kernel's arguments and a cotangent for each float of its result, in the same structure or one by one; it
//!   gives the cotangents of the arguments that are differentiated by, a tuple if there are several.
//! * `cpu = fft` beside it says what gives the values on the CPU: see `routine`.
//! * Sizes may have other names in it. What cannot be told equal is checked when the kernel's derivative runs.

use std::rc::Rc;

use proc_macro2::Span;
use rustc_hash::FxHashMap;

use super::{Elaborator, OwnRule};
use crate::core::{self, Atom, Exp, Param, Rule, Stm, Type, Var};
use crate::diagnostics::Code;
use crate::dim::{Dim, SizeAtom, told};
use crate::routine::{Routine, Shaped};
use crate::syntax::ast;
use crate::ty::Name;

impl Elaborator<'_> {
    /// A function's rule, in the table.
    pub(super) fn add_rule(&mut self, rule: &Rc<Rule>) -> usize {
        let known = self.rules.iter().position(|r| Rc::ptr_eq(r, rule) || r == rule);
        known.unwrap_or_else(|| {
            self.rules.push(rule.clone());
            self.rules.len() - 1
        })
    }

    /// The results of the kernel with its rule as their derivative.
    pub(super) fn with_rule(
        &mut self,
        OwnRule { path, routine }: OwnRule<'_>,
        params: &[Param],
        results: Vec<Atom>,
    ) -> Option<Vec<Atom>> {
        let (name, span) = (path.text(), path.span());
        let Some(rule) = self.site.callees.kernel(&name).map(|k| k.function.clone()) else {
            self.error(
                Code::NotAKernel,
                span,
                format!("`{name}` is not a kernel"),
                "a rule is a kernel itself: put `#[kernel]` on its definition",
            );
            return None;
        };
        let args: Vec<Var> = params.iter().flat_map(|p| p.vars.leaves()).copied().collect();
        let active: Vec<Var> =
            params.iter().filter(|p| p.active).flat_map(|p| p.vars.leaves()).copied().collect();
        let is_float = |a: Atom| self.inference.is_differentiable(self.elem(a));
        let by: Vec<usize> =
            (0..args.len()).filter(|i| active.contains(&args[*i]) && is_float(Atom::Var(args[*i]))).collect();
        let floats: Vec<usize> = (0..results.len()).filter(|i| is_float(results[*i])).collect();
        let type_of = |a: Atom| Type { elem: self.elem(a), ..self.atom_type(a) };
        let values: Vec<Type> = floats.iter().map(|i| type_of(results[*i])).collect();
        let args_types = args.iter().map(|v| type_of(Atom::Var(*v)));
        let takes: Vec<Type> = args_types.chain(values.iter().cloned()).collect();
        let gives: Vec<Type> = by.iter().map(|i| takes[*i].clone()).collect();
        self.fits_rule(&rule, path, &takes, &gives, values.is_empty())?;
        if let Some((routine, span)) = routine {
            self.fits_routine(routine, span, (&takes[..args.len()], &values), results.len())?;
        }
        let routine = routine.map(|(routine, _)| routine);
        let rule = self.add_rule(&Rc::new(Rule { by, function: (*rule).clone(), routine }));
        let loc = self.loc(span);
        let mut out = results.clone();
        let old: Vec<Atom> = floats.iter().map(|i| results[*i]).collect();
        let vars: Vec<Var> = values.into_iter().map(|t| self.new_var("value", t)).collect();
        for (i, v) in floats.iter().zip(&vars) {
            out[*i] = Atom::Var(*v);
        }
        let args = args.into_iter().map(Atom::Var).collect();
        self.push(Stm { vars, exp: Exp::Custom { values: old, args, rule }, loc });
        Some(out)
    }

    /// Requires a kernel to take and give what its routine does.
    fn fits_routine(
        &mut self,
        routine: Routine,
        span: Span,
        (takes, gives): (&[Type], &[Type]),
        results: usize,
    ) -> Option<()> {
        fn shaped(types: &[Type]) -> Vec<Shaped<'_, Dim>> {
            types.iter().map(|t| (t.elem, &t.dims[..])).collect()
        }
        let own = takes.first().is_some_and(|t| t.rank() == routine.rank());
        if own && gives.len() == results && routine.fits(&shaped(takes), &shaped(gives)) {
            return Some(());
        }
        self.error(
            Code::Attribute,
            span,
            format!("kernel `{}` is not what the routine `{}` computes", self.kernel, routine.name()),
            format!("it computes kernels of the type `{}`, or with `f32`", routine.signature()),
        );
        None
    }

    /// Requires a rule to take and give what it must. A kernel without float results or arguments has none.
    fn fits_rule(
        &mut self,
        rule: &core::Function,
        path: &ast::Path,
        takes: &[Type],
        gives: &[Type],
        no_values: bool,
    ) -> Option<()> {
        let name = path.text();
        let params: Vec<Type> =
            rule.params.iter().flat_map(|p| p.vars.leaves()).map(|v| rule.ty(*v).clone()).collect();
        let shape = |t: &Type| (t.elem, t.rank());
        let fits = takes.iter().map(shape).eq(params.iter().map(shape))
            && gives.iter().map(shape).eq(rule.result_types.iter().map(shape));
        if !fits || gives.is_empty() || no_values {
            let show =
                |types: &[Type]| types.iter().map(|t| self.show_type(t)).collect::<Vec<_>>().join(", ");
            let found = format!("({}) -> ({})", show(&params), show(&rule.result_types));
            let expected = format!("({}) -> ({})", show(takes), show(gives));
            let help = "a rule takes the kernel's arguments and a cotangent for each float of its result; it gives cotangents \
                        of the arguments that are differentiated by";
            self.error(
                Code::Attribute,
                path.span(),
                format!("the rule `{name}` of kernel `{}`: expected {expected}, found {found}", self.kernel),
                help,
            );
            return None;
        }
        self.same_sizes(rule, path, (takes, &params), (gives, &rule.result_types))
    }

    /// Sizes that are certainly different are refused.
    fn same_sizes(
        &mut self,
        rule: &core::Function,
        path: &ast::Path,
        (takes, params): (&[Type], &[Type]),
        (gives, results): (&[Type], &[Type]),
    ) -> Option<()> {
        let mut sizes: FxHashMap<Name, Dim> = FxHashMap::default();
        let pairs = |a: &[Type], b: &[Type]| -> Vec<(Dim, Dim)> {
            a.iter().zip(b).flat_map(|(a, b)| a.dims.iter().cloned().zip(b.dims.iter().cloned())).collect()
        };
        let (have, want): (Vec<Dim>, Vec<Dim>) = pairs(takes, params).into_iter().unzip();
        for t in told(&want.iter().collect::<Vec<_>>()) {
            let Some(size) = t.polynomial(&have[t.at], &sizes) else {
                let (have, want) = (self.show(&have[t.at]), self.show(&want[t.at]));
                self.error(
                    Code::SizeMismatch,
                    path.span(),
                    format!(
                        "the rule `{}` of kernel `{}`: expected size {have}, found {want}",
                        path.text(),
                        self.kernel
                    ),
                    "declare the rule's sizes as the kernel's",
                );
                return None;
            };
            sizes.insert(t.size, size);
        }
        for (have, want) in pairs(takes, params).into_iter().chain(pairs(gives, results)) {
            // Numbers that the rule computes, or takes as arguments, are known when it runs.
            if want.atoms().iter().any(|a| matches!(a, SizeAtom::Scalar(_))) {
                continue;
            }
            let want = want.substitute(&mut |a| match a {
                SizeAtom::Name(n) => sizes.get(n).cloned().expect("each size is a dimension of a parameter"),
                a => Dim::atom(a.clone()),
            });
            let differs = have.sub(&want).as_constant().is_some_and(|c| c != 0);
            let rigid =
                |d: &Dim| d.atoms().iter().all(|a| matches!(a, SizeAtom::Name(n) if !n.starts_with('#')));
            if differs || (have != want && rigid(&have) && rigid(&want)) {
                let (h, w) = (self.show(&have), self.show(&want));
                self.error(
                    Code::SizeMismatch,
                    path.span(),
                    format!(
                        "the rule `{}` of kernel `{}`: expected size {h}, found {w}",
                        path.text(),
                        self.kernel
                    ),
                    format!("`{}` must have the sizes of the kernel's arguments and results", rule.name),
                );
                return None;
            }
        }
        Some(())
    }
}
