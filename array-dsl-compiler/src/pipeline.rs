//! The order of the stages. Nothing else knows it.
//!
//! ```text
//! syntax      tokens -> Ast
//! elaborate   Ast    -> Core     names, types, rank lifting, sizes, called kernels inlined
//! flatten     Core   -> Bulk     the bulk-operation transform; derivatives that the kernel takes inside
//! optimize    Bulk   -> Bulk
//! derive      Bulk   -> Bulk     vjp, jvp by dual arrays; repeatable
//! optimize    Bulk   -> Bulk     and updates in place
//! schedule    Bulk   -> Loops    with contractions; once for the CPU, once for the GPU
//! lower       Loops  -> Loops    how they are executed there
//! emit        Loops  -> Rust, WGSL
//! ```
//!
//! With the feature `verify`, which this workspace's tests have, every stage's result is verified; that is a third of the time.

use crate::Verified;
use crate::affine;
use crate::bulk;
use crate::core;
use crate::derive::{self, Derivative, NotDifferentiable};
use crate::diagnostics::Diagnostics;
use crate::elaborate::{self, Callees, Elaborated};
use crate::flatten;
use crate::internal::stage;
use crate::loops;
use crate::lower;
use crate::optimize;
use crate::schedule;
use crate::syntax::{self, ast};
use crate::target::Target;

/// Tokens to a syntax tree, which is meaningful only where no errors were recorded.
pub fn parse(item: &syn::ItemFn, diagnostics: &mut Diagnostics) -> ast::Function {
    stage("syntax");
    syntax::parse_function(item, diagnostics)
}

/// A syntax tree to Core; `rule` is the kernel whose derivative the function has, if not its own. `None` when errors were recorded.
pub fn front(
    f: &ast::Function,
    rule: Option<&ast::Path>,
    callees: &Callees,
    diagnostics: &mut Diagnostics,
) -> Option<Elaborated> {
    stage("elaborate");
    if !diagnostics.is_empty() {
        return None;
    }
    let e = elaborate::elaborate(f, rule, callees, diagnostics)?;
    checked("elaborate", || core::verify::check(&e.function));
    Some(e)
}

/// Core to optimized Bulk. There is none if something that the kernel differentiates has no derivative.
pub fn middle(f: &core::Function) -> Result<bulk::Program, NotDifferentiable> {
    stage("flatten");
    let mut p = flatten::flatten(f)?;
    checked("flatten", || bulk::verify::check(&p));
    stage("optimize");
    optimize::optimize(&mut p);
    checked("optimize", || affine::check(&p));
    Ok(p)
}

/// Bulk to its derivative, optimized.
pub fn derivative(p: &bulk::Program, what: Derivative) -> Result<bulk::Program, NotDifferentiable> {
    stage("derive");
    let mut d = derive::derive(p, what, optimize::optimize)?;
    checked("derive", || bulk::verify::check(&d));
    stage("optimize");
    optimize::optimize(&mut d);
    checked("optimize", || affine::check(&d));
    Ok(d)
}

/// Optimized Bulk to Loops, for one target.
pub fn scheduled(p: &bulk::Program, target: Target) -> loops::Program {
    stage("the last steps");
    let mut p = p.clone();
    if optimize::without_rules(&mut p) {
        optimize::optimize(&mut p);
    }
    optimize::finish(&mut p, target);
    checked("the last steps", || affine::check(&p));
    stage("schedule");
    let l = schedule::schedule(&p, target);
    checked("schedule", || loops::verify::check(&l));
    l
}

/// Optimized Bulk to Loops that say how they are executed on one target, verified: what a back end takes.
pub fn back(p: &bulk::Program, target: Target) -> Result<Verified<loops::Program>, Vec<String>> {
    let mut l = scheduled(p, target);
    stage("lower");
    lower::lower(&mut l, target);
    loops::verify::verify(l)
}

/// A stage whose result breaks its IR's rules is a bug of the compiler that tests must not miss.
fn checked(stage: &str, errors: impl FnOnce() -> Vec<String>) {
    if cfg!(any(test, feature = "verify")) {
        let errors = errors();
        assert!(errors.is_empty(), "after {stage}: {}", errors.join("; "));
    }
}
