//! Derivatives of one program: both modes against each other and against central differences.

use std::cell::OnceCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::rounding::{explains, spread};
use super::{Staged, same, stage};
use crate::bulk::{self, Atom, Exp, Item, Let, Stm};
use crate::derive::Derivative;
use crate::dim::{Dim, SizeAtom};
use crate::pipeline;
use crate::scalar::Op;
use crate::testing::numbers::Rng;
use crate::ty::{Elem, Tree, is_constant};
use crate::value::{Scalar, Value};

/// How many rows a batch has, with other floats in each.
pub const BATCH: i64 = 2;

/// How derivatives of one program were checked.
#[must_use = "nothing may have been compared"]
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

/// Beyond this, numbers of size 1 have lost the digits that differences need. A sine of 1e300, or a remainder by 1e-300, jumps
/// more often than numbers can tell.
const DIGITS: f64 = 1e9;

/// Whether a program makes `f32` of `f64`.
fn shortens(p: &bulk::Program) -> bool {
    fn in_lets(p: &bulk::Program, lets: &[Let]) -> bool {
        lets.iter().any(|l| in_let(p, l))
    }
    fn in_let(p: &bulk::Program, l: &Let) -> bool {
        let is_long = |a: &Atom| matches!(a, Atom::Var(v) if p.vars[v.0 as usize] == Elem::F64);
        match &l.exp {
            Exp::Op(Op::Cast(Elem::F32), args) => args.iter().any(is_long),
            Exp::If(_, x, y) => in_lets(p, &x.block.lets) || in_lets(p, &y.block.lets),
            _ => false,
        }
    }
    fn in_stms(p: &bulk::Program, stms: &[Stm]) -> bool {
        stms.iter().any(|s| match s {
            Stm::Nest(n) => n.body.items.iter().any(|i| match i {
                Item::Let(l) => in_let(p, l),
                Item::Scan(s) => in_lets(p, &s.step.block.lets),
            }),
            Stm::Repeat(r) => in_stms(p, &r.body),
            _ => false,
        })
    }
    in_stms(p, &p.stms)
}

fn finite(values: &[Value]) -> bool {
    values.iter().all(|v| !v.elem().is_float() || v.to_f64().iter().all(|x| x.is_finite()))
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

/// Arguments of a derivative at these arguments of the program: with tangents or cotangents, or a batch of which
/// the first row is these. `None` if their shapes are known only when the program has run.
pub fn arguments_of(d: &bulk::Program, path: &[Derivative], args: &[Value], seed: u64) -> Option<Vec<Value>> {
    let mut rng = Rng::new(seed);
    if path == [Derivative::Vmap] {
        let batch = |v: &Value| {
            let shape = [&[BATCH as usize], v.shape()].concat();
            let scaled = |x: &Scalar, by: i64| match *x {
                Scalar::F32(x) => Scalar::F32(x / by as f32),
                Scalar::F64(x) => Scalar::F64(x / by as f64),
                other => other,
            };
            let rows = (1..=BATCH).flat_map(|by| v.data().iter().map(move |x| scaled(x, by)));
            Value::new(v.elem(), shape, rows.collect()).ok()
        };
        // A constant of the surrounding code is the same in every row.
        let fixed = d.params.iter().flat_map(|q| vec![is_constant(&q.name); q.arrays.leaves().len()]);
        return args
            .iter()
            .zip(fixed)
            .map(|(v, fixed)| if fixed { Some(v.clone()) } else { batch(v) })
            .collect();
    }
    let params: Vec<bulk::ArrayId> = d.params.iter().flat_map(|q| q.arrays.leaves()).copied().collect();
    let mut sizes = FxHashMap::default();
    for (a, v) in params.iter().zip(args) {
        for (dim, n) in d.array(*a).dims.iter().zip(v.shape()) {
            sizes.insert(dim.clone(), *n);
        }
    }
    let scalar = |a: u32| params.iter().zip(args).find(|(p, _)| p.0 == a)?.1.item()?.as_i64();
    let mut out = args.to_vec();
    for a in &params[args.len()..] {
        let info = d.array(*a);
        let extent = |dim: &Dim| {
            let mut known = true;
            let n = dim.eval(&mut |atom| {
                let found = match atom {
                    SizeAtom::Name(_) => sizes.get(&Dim::atom(atom.clone())).map(|n| *n as i64),
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
pub(super) fn active(p: &bulk::Program) -> Vec<usize> {
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

pub(super) fn derivative(p: &bulk::Program, what: Derivative) -> Result<bulk::Program, String> {
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

/// The derivatives of a program that are compared, made once for any number of arguments.
pub struct Modes {
    p: bulk::Program,
    reverse: Rc<Staged>,
    forward: Rc<Staged>,
    scalar: Option<Gradients>,
    /// Those of what reverse and forward mode give, once they are asked for.
    second: OnceCell<Result<Box<[Option<Modes>; 2]>, String>>,
}

/// The derivatives that only functions with one float as their value have.
struct Gradients {
    value_and_grad: Rc<Staged>,
    grad: Rc<Staged>,
    forward: bulk::Program,
    hvp: Rc<Staged>,
}

impl Modes {
    /// The modes of a program with `vjp` and `jvp`; `made` gives the derivatives of it.
    ///
    /// # Errors
    /// What is wrong with the compiler.
    pub fn new(
        p: &bulk::Program,
        mut made: impl FnMut(Derivative) -> Result<Rc<Staged>, String>,
    ) -> Result<Modes, String> {
        let (reverse, forward) = (made(Derivative::Vjp)?, made(Derivative::Jvp)?);
        let mut scalar = None;
        if let (true, Tree::Leaf(_)) = (Derivative::Grad.exists(p), &p.result) {
            let grad = made(Derivative::Grad)?;
            scalar = Some(Gradients {
                value_and_grad: made(Derivative::ValueAndGrad)?,
                forward: derivative(&grad.program, Derivative::Jvp)?,
                grad,
                hvp: made(Derivative::Hvp)?,
            });
        }
        Ok(Modes { p: p.clone(), reverse, forward, scalar, second: OnceCell::new() })
    }

    /// The modes of a program, if it has any.
    ///
    /// # Errors
    /// What is wrong with the compiler.
    pub fn of(p: &bulk::Program) -> Result<Option<Modes>, String> {
        if !Derivative::Vjp.exists(p) {
            return Ok(None);
        }
        let made = |d: Derivative| Ok(Rc::new(Staged::new(d.name(), derivative(p, d)?)?));
        Modes::new(p, made).map(Some)
    }

    /// Whether the derivative is one of those that are compared.
    pub fn has(path: &[Derivative]) -> bool {
        use Derivative::{Grad, Hvp, Jvp, ValueAndGrad, Vjp};
        matches!(path, [Vjp | Jvp | Grad | ValueAndGrad | Hvp])
    }

    /// Checks them at `args`; `order` 2 also those of the derivatives. `stopped`: the program stops gradients, so that
    /// central differences say something else.
    ///
    /// # Errors
    /// What does not agree.
    pub fn check(&self, args: &[Value], seed: u64, order: usize, stopped: bool) -> Result<Derived, String> {
        let p = &self.p;
        let mut done = Derived::default();
        let value = run("primal", p, args)?;
        let at = Directions::new(p, args, &value, seed);
        let (gradient, slopes) = self.found(&at, &value)?;
        let is_compared = small(&value)
            && !stopped
            && !args.iter().chain(&value).any(|v| v.elem() == Elem::F32)
            && !shortens(p)
            && keeps_digits(p, args);
        if is_compared
            && self.has_no_number(&at, &gradient, &slopes)
            && let Some(slope) = difference(p, args, &at.along, &at.cotangents)
        {
            return Err(format!("a derivative is not finite, differences give {slope}"));
        }
        let is_compared = is_compared
            && keeps_digits(&self.reverse.program, &at.reverse)
            && keeps_digits(&self.forward.program, &at.forward);
        if small(&value) && small(&gradient) && small(&slopes) {
            self.identity(args, &at, &value, (&gradient, &slopes), is_compared, &mut done)?;
        }
        if let Some(gradients) = &self.scalar {
            gradients.check(p, &self.reverse.program, args, &at.along)?;
            if is_compared {
                done.differences += usize::from(gradients.differs(args, &at.along)?);
            }
        }
        if order > 1 {
            let [reverse, forward] = self.second()?;
            for (what, modes, args, seed) in
                [("vjp", reverse, &at.reverse, seed + 1), ("jvp", forward, &at.forward, seed + 2)]
            {
                let Some(modes) = modes else { continue };
                done += modes.check(args, seed, order - 1, stopped).map_err(|e| format!("of {what}: {e}"))?;
            }
        }
        Ok(done)
    }

    /// The modes of what reverse mode gives, cotangents included, and of what forward mode gives.
    fn second(&self) -> Result<&[Option<Modes>; 2], String> {
        let made = self.second.get_or_init(|| {
            let of = |what: &str, staged: &Staged| {
                Modes::of(&staged.program).map_err(|e| format!("of {what}: {e}"))
            };
            Ok(Box::new([of("vjp", &self.reverse)?, of("jvp", &self.forward)?]))
        });
        made.as_deref().map_err(Clone::clone)
    }

    /// What reverse and forward mode give in these directions, in every stage, beside the value.
    fn found(&self, at: &Directions, value: &[Value]) -> Result<(Vec<Value>, Vec<Value>), String> {
        let mut r = run("vjp", &self.reverse.program, &at.reverse)?;
        let mut t = run("jvp", &self.forward.program, &at.forward)?;
        self.reverse.agrees("vjp", &at.reverse, &Ok(r.clone()))?;
        self.forward.agrees("jvp", &at.forward, &Ok(t.clone()))?;
        let (gradient, slopes) = (r.split_off(value.len()), t.split_off(value.len()));
        same("the value in vjp", &r, value, 1e-9)?;
        same("the value in jvp", &t, value, 1e-9)?;
        if gradient.len() != at.along.len() || slopes.len() != at.cotangents.len() {
            return Err(format!("{} cotangents, {} tangents come back", gradient.len(), slopes.len()));
        }
        for (g, (_, t)) in gradient.iter().zip(&at.along) {
            if g.shape() != t.shape() || g.elem() != t.elem() {
                return Err(format!("a cotangent of shape {:?} for {:?}", g.shape(), t.shape()));
            }
        }
        Ok((gradient, slopes))
    }

    /// Whether derivatives are not finite for no good reason. Where `x.sqrt()` is 0 there is a slope that is no number. What it is
    /// multiplied by may be 0 all the same, as in `(x - x).sqrt()`: one mode has that in front and gives 0, the other one behind and
    /// gives no number.
    fn has_no_number(&self, at: &Directions, gradient: &[Value], slopes: &[Value]) -> bool {
        let meets_none = |p: &bulk::Program, args: &[Value]| {
            bulk::interp::extremes(p, args).is_ok_and(|met| met.infinite_product)
        };
        match (finite(gradient), finite(slopes)) {
            (true, true) => false,
            (false, true) => !meets_none(&self.reverse.program, &at.reverse),
            (true, false) => !meets_none(&self.forward.program, &at.forward),
            (false, false) => true,
        }
    }

    /// `cotangent . slopes == gradient . tangent`, up to rounding, and where `is_compared` both are what differences give.
    fn identity(
        &self,
        args: &[Value],
        at: &Directions,
        value: &[Value],
        (gradient, slopes): (&[Value], &[Value]),
        is_compared: bool,
        done: &mut Derived,
    ) -> Result<(), String> {
        let tangents = at.tangents();
        let (a, b) = (inner(&at.cotangents, slopes), inner(gradient, &tangents));
        let scale = magnitude(&at.cotangents, slopes) + magnitude(gradient, &tangents);
        let single = args.iter().chain(value).any(|v| v.elem() == Elem::F32) || shortens(&self.p);
        let identity = near("forward and reverse", a, b, scale, if single { 1e-3 } else { 1e-9 });
        if identity.is_err() {
            let by_reverse =
                spread(&self.reverse.program, &at.reverse, |r| vec![inner(&r[value.len()..], &tangents)]);
            let by_forward = spread(&self.forward.program, &at.forward, |t| {
                vec![inner(&at.cotangents, &t[value.len()..])]
            });
            let moves = by_reverse.into_iter().chain(by_forward).flatten().sum();
            if explains(moves, (a - b).abs()) {
                return Ok(());
            }
        }
        identity?;
        done.identities += 1;
        if is_compared && let Some(slope) = difference(&self.p, args, &at.along, &at.cotangents) {
            near("reverse and central differences", b, slope, scale, 1e-5)?;
            done.differences += 1;
        }
        Ok(())
    }
}

/// Random directions at some arguments, and the arguments with them.
struct Directions {
    /// The arguments that are differentiated by, and their tangents.
    along: Vec<(usize, Value)>,
    cotangents: Vec<Value>,
    reverse: Vec<Value>,
    forward: Vec<Value>,
}

impl Directions {
    fn new(p: &bulk::Program, args: &[Value], value: &[Value], seed: u64) -> Directions {
        let mut rng = Rng::new(seed);
        let along: Vec<(usize, Value)> =
            active(p).iter().map(|i| (*i, random_like(&mut rng, &args[*i]))).collect();
        let floats = value.iter().filter(|v| v.elem().is_float());
        let cotangents: Vec<Value> = floats.map(|v| random_like(&mut rng, v)).collect();
        let reverse = [args, cotangents.as_slice()].concat();
        let forward = args.iter().chain(along.iter().map(|(_, t)| t)).cloned().collect();
        Directions { along, cotangents, reverse, forward }
    }

    fn tangents(&self) -> Vec<Value> {
        self.along.iter().map(|(_, t)| t.clone()).collect()
    }
}

/// Whether a program has met no number so large that differences lose their digits.
fn keeps_digits(p: &bulk::Program, args: &[Value]) -> bool {
    bulk::interp::extremes(p, args).is_ok_and(|met| met.greatest < DIGITS)
}

impl Gradients {
    fn check(
        &self,
        p: &bulk::Program,
        reverse: &bulk::Program,
        args: &[Value],
        along: &[(usize, Value)],
    ) -> Result<(), String> {
        let tangents: Vec<Value> = along.iter().map(|t| t.1.clone()).collect();
        let elem = p.result.leaves().first().map_or(Elem::F64, |a| p.array(**a).elem);
        let one = Value::from_f64(elem, Vec::new(), &[1.0]).map_err(|e| e.to_string())?;
        let expected = run("vjp", reverse, &[args, &[one]].concat())?;
        for (name, made, expected) in
            [("value_and_grad", &self.value_and_grad, &expected[..]), ("grad", &self.grad, &expected[1..])]
        {
            let found = run(name, &made.program, args)?;
            same(name, &found, expected, 1e-9)?;
            made.agrees(name, args, &Ok(found))?;
        }
        let all = [args, tangents.as_slice()].concat();
        let (forward, product) =
            (run("jvp of grad", &self.forward, &all)?, run("hvp", &self.hvp.program, &all)?);
        if small(&product) {
            same("hvp", &product, &forward[forward.len() - product.len()..], 1e-7)?;
        }
        Ok(self.hvp.agrees("hvp", &all, &Ok(product))?)
    }

    /// The product with the Hessian, times the tangents once more, is how the gradient along them changes; whether that could be
    /// compared.
    fn differs(&self, args: &[Value], along: &[(usize, Value)]) -> Result<bool, String> {
        let tangents: Vec<Value> = along.iter().map(|t| t.1.clone()).collect();
        let product = run("hvp", &self.hvp.program, &[args, tangents.as_slice()].concat())?;
        let gradient = run("grad", &self.grad.program, args)?;
        if !small(&product) || !small(&gradient) {
            return Ok(false);
        }
        let Some(slope) = difference(&self.grad.program, args, along, &tangents) else { return Ok(false) };
        let scale = magnitude(&product, &tangents) + magnitude(&gradient, &tangents);
        near("hvp and central differences of grad", inner(&product, &tangents), slope, scale, 1e-5)?;
        Ok(true)
    }
}

/// The slope of `cotangents . f` along a direction by central differences, where it has one.
fn difference(
    p: &bulk::Program,
    args: &[Value],
    along: &[(usize, Value)],
    cotangents: &[Value],
) -> Option<f64> {
    let phi = |by: f64| -> Option<f64> {
        let v = bulk::interp::run(p, &moved(args, along, by)).ok()?;
        let floats: Vec<Value> = v.into_iter().filter(|v| v.elem().is_float()).collect();
        let fits = floats.iter().zip(cotangents).all(|(a, b)| a.shape() == b.shape());
        fits.then(|| inner(&floats, cotangents))
    };
    let quotient = |h: f64| Some((phi(h)? - phi(-h)?) / (2.0 * h));
    let one_sided = |h: f64| Some((phi(h)? - phi(0.0)?) / h);
    let (wide, narrow, right) = (quotient(2e-5)?, quotient(4e-6)?, one_sided(1e-7)?);
    let smooth = |a: f64, b: f64| (a - b).abs() <= 1e-4 * (1.0 + a.abs() + b.abs());
    (smooth(wide, narrow) && smooth(narrow, right)).then_some(narrow)
}

/// Checks the derivatives of `p` at `args`, if it has any: see [`Modes::check`].
///
/// # Errors
/// What does not agree, or is wrong with the compiler.
pub fn derivatives(
    p: &bulk::Program,
    args: &[Value],
    seed: u64,
    order: usize,
    stopped: bool,
) -> Result<Derived, String> {
    match Modes::of(p)? {
        Some(modes) => modes.check(args, seed, order, stopped),
        None => Ok(Derived::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kernels::compile;

    fn program(source: &str) -> bulk::Program {
        let f = compile(source).unwrap_or_else(|e| panic!("{e:#?}"));
        pipeline::middle(&f).expect("no derivative is missing")
    }

    /// Compares the derivatives of the second as if they were those of the first.
    fn compared(of: &str, taken: &str, wrong: Derivative) -> Result<Derived, String> {
        let (p, q) = (program(of), program(taken));
        let made = |d: Derivative| {
            let from = if d == wrong { &q } else { &p };
            Ok(Rc::new(Staged::new(d.name(), derivative(from, d)?)?))
        };
        let args = [Value::from_f64(Elem::F64, vec![3], &[0.3, -1.2, 2.0]).expect("a value")];
        Modes::new(&p, made)?.check(&args, 1, 1, false)
    }

    #[test]
    fn a_wrong_derivative_is_noticed() {
        let right = "fn f(x: [f64; n]) -> f64 { sum(x * x) }";
        // The same value, and twice the derivative of one term.
        let wrong = "fn f(x: [f64; n]) -> f64 { sum(x * x) + x[0] * x[0] - stop_gradient(x[0] * x[0]) }";
        for d in [Derivative::Vjp, Derivative::Jvp, Derivative::Grad, Derivative::ValueAndGrad] {
            assert!(compared(right, right, d).is_ok_and(|done| done.identities > 0 && done.differences > 0));
            assert!(compared(right, wrong, d).is_err(), "{}", d.name());
        }
    }
}
