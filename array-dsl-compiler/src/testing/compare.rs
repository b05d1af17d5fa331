//! One program through every stage, compared with what Core says it means.
//!
//! ```text
//! values        core  =  flattened bulk  =  optimized bulk  =  loops for the CPU  =  loops for the GPU
//! derivatives   <seed, J tangent>  =  <J^T seed, tangent>  =  central difference of <seed, f> along the tangent
//!               and each derivative's loops agree with its bulk
//! ```
//!
//! A program that fails when it is executed as Core must not be compared: `Checked::Fault` says so. After that every stage
//! may report the fault or (where the failing code was not needed) give a value.
//!
//! Central differences are taken with two steps; where the two quotients differ the point is near a kink or a jump,
//! and the comparison is left out, as it is for numbers too large for the difference to mean anything.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::bulk;
use crate::core;
use crate::derive::Derivative;
use crate::dim::SizeAtom;
use crate::flatten::flatten;
use crate::pipeline;
use crate::schedule::Target;
use crate::testing::loops;
use crate::testing::numbers::Rng;
use crate::ty::{Elem, Tree};
use crate::value::{Fault, Scalar, Value, approx_eq};

/// What a comparison came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// All stages agree.
    Agree,
    /// The program itself fails for these arguments.
    Fault,
}

/// How derivatives of one program were checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Derived {
    /// The dot-product identity.
    pub identities: usize,
    /// Comparisons with central differences.
    pub differences: usize,
}

impl std::ops::AddAssign for Derived {
    fn add_assign(&mut self, o: Derived) {
        self.identities += o.identities;
        self.differences += o.differences;
    }
}

/// Runs a stage that may panic (a verifier found its result wrong), as an error.
pub fn stage<T>(name: &str, f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|e| {
        let text = e.downcast_ref::<String>().cloned();
        let text = text.or_else(|| e.downcast_ref::<&str>().map(|s| s.to_string()));
        format!("{name} panics: {}", text.unwrap_or_default())
    })
}

/// The results of a stage are these, up to rounding.
///
/// # Errors
/// What differs.
pub fn same(name: &str, found: &[Value], expected: &[Value], tolerance: f64) -> Result<(), String> {
    if found.len() != expected.len() {
        return Err(format!("{name}: {} results instead of {}", found.len(), expected.len()));
    }
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        let tolerance = if b.elem() == Elem::F32 { 1e-4 } else { tolerance };
        approx_eq(a, b, tolerance, tolerance).map_err(|e| format!("{name}, result {i}: {e}"))?;
    }
    Ok(())
}

/// A later stage of a program that gives `expected`.
fn later(name: &str, found: Result<Vec<Value>, Fault>, expected: &[Value]) -> Result<(), String> {
    let found = found.map_err(|f| format!("{name} fails: {f}"))?;
    same(name, &found, expected, 1e-9)
}

/// The loops of a program give what the program gives.
pub fn scheduled(name: &str, p: &bulk::Program, args: &[Value], expected: &[Value]) -> Result<(), String> {
    for target in [Target::Cpu, Target::Gpu] {
        let name = format!("{name} for {target:?}");
        let l =
            stage(&name, || pipeline::back(p, target))?.map_err(|e| format!("{name}: {}", e.join("; ")))?;
        later(&name, loops::run(&l, args), expected)?;
    }
    Ok(())
}

/// A program that fails by itself: no stage may do anything worse than fail as well. Compiled code goes on after a
/// fault, so its reads must stay inside even then; forward mode and gradients owe the same care.
fn careful(p: &bulk::Program, args: &[Value]) -> Result<(), String> {
    let worse = |name: &str, p: &bulk::Program, args: &[Value]| -> Result<(), String> {
        let name = |what: &str| format!("{name} of a program that fails, {what}");
        if let Err(Fault::Internal { message, .. }) = bulk::interp::run(p, args) {
            return Err(format!("{}: {message}", name("bulk")));
        }
        for target in [Target::Cpu, Target::Gpu] {
            let l = stage("back", || pipeline::back(p, target))?.map_err(|e| e.join("; "))?;
            if let Err(Fault::Internal { message, .. }) = loops::run(&l, args) {
                return Err(format!("{}: {message}", name("loops")));
            }
        }
        Ok(())
    };
    worse("the value", p, args)?;
    if Derivative::Jvp.exists(p) {
        let d = derivative(p, Derivative::Jvp)?;
        let tangents: Vec<Value> = active(p).iter().map(|i| args[*i].clone()).collect();
        worse("jvp", &d, &[args, &tangents].concat())?;
    }
    if Derivative::Grad.exists(p) {
        worse("grad", &derivative(p, Derivative::Grad)?, args)?;
    }
    Ok(())
}

/// Compares the values of all stages.
pub fn values(f: &core::Function, args: &[Value]) -> Result<Checked, String> {
    let errors = core::verify::check(f);
    if !errors.is_empty() {
        return Err(format!("core: {}", errors.join("; ")));
    }
    let expected = core::interp::run(f, args);
    let flat = stage("flatten", || flatten(f).expect("its derivatives exist"))?;
    let errors = bulk::verify::check(&flat);
    if !errors.is_empty() {
        return Err(format!("flatten: {}", errors.join("; ")));
    }
    let found = bulk::interp::run(&flat, args);
    let middle = stage("middle", || pipeline::middle(f).expect("its derivatives exist"))?;
    let optimized = bulk::interp::run(&middle, args);
    let expected = match expected {
        Err(Fault::Internal { message, .. }) => return Err(format!("core: {message}")),
        Err(_) => {
            if let Err(Fault::Internal { message, .. }) = found {
                return Err(format!("flatten: {message}"));
            }
            careful(&middle, args)?;
            return Ok(Checked::Fault);
        }
        Ok(v) => v,
    };
    later("flatten", found, &expected)?;
    later("middle", optimized, &expected)?;
    scheduled("middle", &middle, args, &expected)?;
    Ok(Checked::Agree)
}

fn small(values: &[Value]) -> bool {
    values.iter().all(|v| !v.elem().is_float() || v.to_f64().iter().all(|x| x.abs() < 1e5))
}

fn inner(a: &[Value], b: &[Value]) -> f64 {
    a.iter().zip(b).flat_map(|(a, b)| a.to_f64().into_iter().zip(b.to_f64())).map(|(x, y)| x * y).sum()
}

fn magnitude(a: &[Value], b: &[Value]) -> f64 {
    a.iter()
        .zip(b)
        .flat_map(|(a, b)| a.to_f64().into_iter().zip(b.to_f64()))
        .map(|(x, y)| (x * y).abs())
        .sum()
}

/// Arguments of a derivative at these arguments of the program: with tangents or cotangents, or twice the same in a batch. `None` if
/// their shapes are known only when the program has run.
pub fn arguments_of(d: &bulk::Program, path: &[Derivative], args: &[Value], seed: u64) -> Option<Vec<Value>> {
    let mut rng = Rng::new(seed);
    if path == [Derivative::Vmap] {
        let batch = |v: &Value| {
            let shape = [&[2], v.shape()].concat();
            Value::new(v.elem(), shape, v.data().repeat(2)).ok()
        };
        return args.iter().map(batch).collect();
    }
    let params: Vec<bulk::ArrayId> = d.params.iter().flat_map(|q| q.arrays.leaves()).copied().collect();
    let mut sizes = std::collections::HashMap::new();
    for (a, v) in params.iter().zip(args) {
        for (dim, n) in d.array(*a).dims.iter().zip(v.shape()) {
            sizes.insert(dim.clone(), *n);
        }
    }
    let scalar = |a: u32| params.iter().zip(args).find(|(p, _)| p.0 == a)?.1.item()?.as_i64();
    let mut out = args.to_vec();
    for a in &params[args.len()..] {
        let info = d.array(*a);
        let extent = |dim: &crate::dim::Dim| {
            let mut known = true;
            let n = dim.eval(&mut |atom| {
                let found = match atom {
                    SizeAtom::Name(_) => sizes.get(&crate::dim::Dim::atom(atom.clone())).map(|n| *n as i64),
                    SizeAtom::Scalar(s) => scalar(*s),
                };
                known &= found.is_some();
                found.unwrap_or(0)
            });
            n.filter(|_| known).and_then(|n| usize::try_from(n).ok()).filter(|n| *n < 1000)
        };
        let shape: Vec<usize> = info.dims.iter().map(extent).collect::<Option<_>>()?;
        out.push(random_like(&mut rng, &Value::filled(shape, Scalar::zero(info.elem))));
    }
    Some(out)
}

fn random_like(rng: &mut Rng, v: &Value) -> Value {
    let mut out = v.clone();
    for x in out.data_mut() {
        let r = rng.float(-1.0, 1.0);
        *x = if let Scalar::F32(_) = x { Scalar::F32(r as f32) } else { Scalar::F64(r) };
    }
    out
}

fn moved(args: &[Value], along: &[(usize, Value)], by: f64) -> Vec<Value> {
    let mut out = args.to_vec();
    for (i, t) in along {
        for (x, d) in out[*i].data_mut().iter_mut().zip(t.to_f64()) {
            *x = match *x {
                Scalar::F32(y) => Scalar::F32(y + (by * d) as f32),
                Scalar::F64(y) => Scalar::F64(y + by * d),
                other => other,
            };
        }
    }
    out
}

/// The positions among the argument leaves that are differentiated, parameter by parameter.
fn active(p: &bulk::Program) -> Vec<usize> {
    let mut out = Vec::new();
    let mut at = 0;
    for q in &p.params {
        for a in q.arrays.leaves() {
            if q.active && p.array(*a).elem.is_float() {
                out.push(at);
            }
            at += 1;
        }
    }
    out
}

fn derivative(p: &bulk::Program, what: Derivative) -> Result<bulk::Program, String> {
    stage(what.name(), || pipeline::derivative(p, what))?
        .map_err(|e| format!("{}: no derivative of {}", what.name(), e.what))
}

fn run(name: &str, p: &bulk::Program, args: &[Value]) -> Result<Vec<Value>, String> {
    bulk::interp::run(p, args).map_err(|f| format!("{name} fails: {f}"))
}

fn near(name: &str, a: f64, b: f64, scale: f64, tolerance: f64) -> Result<(), String> {
    // Also false for NaN.
    if (a - b).abs() <= tolerance * (1.0 + scale) { Ok(()) } else { Err(format!("{name}: {a} against {b}")) }
}

/// Checks the derivatives of `p` at `args`; `order` 2 also those of the derivatives. `stopped`: the program stops
/// gradients, so that central differences say something else.
pub fn derivatives(
    p: &bulk::Program,
    args: &[Value],
    seed: u64,
    order: usize,
    stopped: bool,
) -> Result<Derived, String> {
    let mut done = Derived::default();
    if !Derivative::Vjp.exists(p) {
        return Ok(done);
    }
    let (reverse, forward) = (derivative(p, Derivative::Vjp)?, derivative(p, Derivative::Jvp)?);
    let value = run("primal", p, args)?;
    let mut rng = Rng::new(seed);
    let along: Vec<(usize, Value)> =
        active(p).iter().map(|i| (*i, random_like(&mut rng, &args[*i]))).collect();
    let tangents: Vec<Value> = along.iter().map(|t| t.1.clone()).collect();
    let floats: Vec<Value> = value.iter().filter(|v| v.elem().is_float()).cloned().collect();
    let cotangents: Vec<Value> = floats.iter().map(|v| random_like(&mut rng, v)).collect();

    let reverse_args = [args, cotangents.as_slice()].concat();
    let forward_args = [args, tangents.as_slice()].concat();
    let r = run("vjp", &reverse, &reverse_args)?;
    let t = run("jvp", &forward, &forward_args)?;
    scheduled("vjp", &reverse, &reverse_args, &r)?;
    scheduled("jvp", &forward, &forward_args, &t)?;
    let (value_r, gradient) = r.split_at(value.len());
    let (value_t, slopes) = t.split_at(value.len());
    same("the value in vjp", value_r, &value, 1e-9)?;
    same("the value in jvp", value_t, &value, 1e-9)?;
    if gradient.len() != tangents.len() || slopes.len() != cotangents.len() {
        return Err(format!("{} cotangents, {} tangents come back", gradient.len(), slopes.len()));
    }
    for (g, t) in gradient.iter().zip(&tangents) {
        if g.shape() != t.shape() || g.elem() != t.elem() {
            return Err(format!("a cotangent of shape {:?} for {:?}", g.shape(), t.shape()));
        }
    }
    let single = args.iter().chain(&value).any(|v| v.elem() == Elem::F32);
    if small(&value) && small(gradient) && small(slopes) {
        let (a, b) = (inner(&cotangents, slopes), inner(gradient, &tangents));
        let scale = magnitude(&cotangents, slopes) + magnitude(gradient, &tangents);
        near("forward and reverse", a, b, scale, if single { 1e-3 } else { 1e-9 })?;
        done.identities += 1;
        if !stopped && !single {
            let phi = |by: f64| -> Option<f64> {
                let v = bulk::interp::run(p, &moved(args, &along, by)).ok()?;
                let floats: Vec<Value> = v.into_iter().filter(|v| v.elem().is_float()).collect();
                let fits = floats.iter().zip(&cotangents).all(|(a, b)| a.shape() == b.shape());
                fits.then(|| inner(&floats, &cotangents))
            };
            let quotient = |h: f64| Some((phi(h)? - phi(-h)?) / (2.0 * h));
            let one_sided = |h: f64| Some((phi(h)? - phi(0.0)?) / h);
            if let (Some(wide), Some(narrow), Some(right)) = (quotient(2e-5), quotient(4e-6), one_sided(1e-7))
            {
                let smooth = |a: f64, b: f64| (a - b).abs() <= 1e-4 * (1.0 + a.abs() + b.abs());
                if smooth(wide, narrow) && smooth(narrow, right) {
                    near("reverse and central differences", b, narrow, scale, 1e-5)?;
                    done.differences += 1;
                }
            }
        }
    }
    if let (true, Tree::Leaf(_)) = (Derivative::Grad.exists(p), &p.result) {
        scalar(p, &reverse, args, &tangents)?;
    }
    if order > 1 {
        // Second order: the derivatives of what reverse mode gives, cotangents included, and of what forward mode gives.
        done += derivatives(&reverse, &reverse_args, seed + 1, order - 1, stopped)
            .map_err(|e| format!("of vjp: {e}"))?;
        done += derivatives(&forward, &forward_args, seed + 2, order - 1, stopped)
            .map_err(|e| format!("of jvp: {e}"))?;
    }
    Ok(done)
}

/// The derivatives that only functions with one float as their value have.
fn scalar(
    p: &bulk::Program,
    reverse: &bulk::Program,
    args: &[Value],
    tangents: &[Value],
) -> Result<(), String> {
    let elem = p.result.leaves().first().map_or(Elem::F64, |a| p.array(**a).elem);
    let one = Value::from_f64(elem, Vec::new(), &[1.0]).map_err(|e| e.to_string())?;
    let expected = run("vjp", reverse, &[args, &[one]].concat())?;
    for (what, expected) in [(Derivative::ValueAndGrad, &expected[..]), (Derivative::Grad, &expected[1..])] {
        let d = derivative(p, what)?;
        let found = run(what.name(), &d, args)?;
        same(what.name(), &found, expected, 1e-9)?;
        scheduled(what.name(), &d, args, &found)?;
        if what == Derivative::Grad {
            let (f, h) = (derivative(&d, Derivative::Jvp)?, derivative(p, Derivative::Hvp)?);
            let all = [args, tangents].concat();
            let (forward, product) = (run("jvp of grad", &f, &all)?, run("hvp", &h, &all)?);
            if small(&product) {
                same("hvp", &product, &forward[forward.len() - product.len()..], 1e-7)?;
            }
            scheduled("hvp", &h, &all, &product)?;
        }
    }
    Ok(())
}
