//! Derivatives: Bulk to Bulk, by dual arrays.
//!
//! Every differentiable array carries a linear map from the inputs' tangents. Each statement contributes one linear
//! operation; forward mode applies them in order, reverse mode walks the statements backwards once and applies
//! their transposes. Sharing is by array; there is no tape, and the result is a Bulk program again, so
//! derivatives can be taken repeatedly.
//!
//! | file | subject |
//! |---|---|
//! | `partial` | the partial derivatives of scalar functions as code |
//! | `adjoint` | reverse mode of a block of scalar code |
//! | `tangent` | forward mode of a block of scalar code |
//! | `reverse` | reverse mode of statements |
//! | `forward` | forward mode of statements |
//! | `custom` | values with a rule of their own |
//! | `part`, `scalars` | derivatives of parts of a program, and of scalar code, for derivatives inside kernels |
//! | `lift` | programs at every point of a frame |
//! | `jacobian` | Jacobians, Hessians, batches |
//! | `strip` | so many of their directions at a time |
//! | `repeat` | both modes of loops that carry arrays |
//! | `history` | what their trips store for reverse mode |
//! | `scan`, `scan/affine`, `form` | both modes of scans and loops of scalars; the affine maps and matrices they carry |
//! | `separate` | nests with scans in parts |
//! | `reduce` | what both need for reductions by `mul`, `min`, `max` |
//! | `bins` | and for reductions by index |
//! | `product` | products of both kinds |

mod adjoint;
mod bins;
mod custom;
mod form;
mod forward;
mod history;
mod jacobian;
mod lift;
pub mod part;
mod partial;
mod product;
mod reduce;
mod repeat;
mod reverse;
pub mod scalars;
mod scan;
mod separate;
mod strip;
mod tangent;

use rustc_hash::FxHashSet;

use crate::bulk::{ArrayId, Program, Stm};
use crate::dim::Dim;
use crate::internal::expect;
use crate::ty::{Loc, Name, Tree};
pub use jacobian::{AtUnits, Directional};

/// Why there is no derivative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotDifferentiable {
    /// The reason.
    pub what: String,
    /// Where it stands, if it is at one place.
    pub loc: Option<Loc>,
}

/// Which function to derive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Derivative {
    /// `(args.., cotangents..) -> (value, cotangents of the active arguments)`.
    Vjp,
    /// `(args..) -> gradient`, of a function with one float scalar as its value.
    Grad,
    /// `(args..) -> (value, gradient)`, likewise.
    ValueAndGrad,
    /// `(args.., tangents..) -> (value, tangent)`.
    Jvp,
    /// `(args.., tangents..) -> Hessian times tangent`, of a function with one float scalar as its value.
    Hvp,
    /// `(args..) -> matrices of all derivatives`: by result, then by active argument.
    Jacobian,
    /// `(args..) -> matrices of all second derivatives`, of a function with one float scalar as its value.
    Hessian,
    /// `(batches of args..) -> batches of results`.
    Vmap,
}

impl Derivative {
    /// All of them.
    pub const ALL: [Derivative; 8] = [
        Derivative::Grad,
        Derivative::ValueAndGrad,
        Derivative::Vjp,
        Derivative::Jvp,
        Derivative::Hvp,
        Derivative::Jacobian,
        Derivative::Hessian,
        Derivative::Vmap,
    ];

    /// Whether it is made only on request.
    pub fn is_costly(self) -> bool {
        matches!(self, Derivative::Hvp | Derivative::Jacobian | Derivative::Hessian | Derivative::Vmap)
    }

    /// Whether it is made of a derivative for each pair of numbers.
    pub fn is_matrix(self) -> bool {
        matches!(self, Derivative::Jacobian | Derivative::Hessian)
    }

    /// The name of the host function.
    pub fn name(self) -> &'static str {
        match self {
            Derivative::Vjp => "vjp",
            Derivative::Grad => "grad",
            Derivative::ValueAndGrad => "value_and_grad",
            Derivative::Jvp => "jvp",
            Derivative::Hvp => "hvp",
            Derivative::Jacobian => "jacobian",
            Derivative::Hessian => "hessian",
            Derivative::Vmap => "vmap",
        }
    }

    /// What a kernel must have for this derivative.
    pub fn needs(self) -> &'static str {
        match self {
            Derivative::Vjp | Derivative::Jvp | Derivative::Jacobian => {
                "it needs floats in the result, and a parameter of floats without `#[no_grad]`"
            }
            Derivative::Grad | Derivative::ValueAndGrad | Derivative::Hvp | Derivative::Hessian => {
                "it needs one float number as the result, and a parameter of floats without `#[no_grad]`"
            }
            Derivative::Vmap => "it needs a parameter",
        }
    }

    /// Whether the derivative makes sense for `p`.
    pub fn exists(self, p: &Program) -> bool {
        let inputs = !active_leaves(p).is_empty();
        let scalar = match &p.result {
            Tree::Leaf(a) => p.array(*a).elem.is_float() && p.array(*a).dims.is_empty(),
            Tree::Tuple(_) => false,
        };
        let float = p.result.leaves().iter().any(|a| p.array(**a).elem.is_float());
        match self {
            Derivative::Vjp | Derivative::Jvp | Derivative::Jacobian => inputs && float,
            Derivative::Grad | Derivative::ValueAndGrad | Derivative::Hvp | Derivative::Hessian => {
                inputs && scalar
            }
            Derivative::Vmap => !p.params.is_empty(),
        }
    }
}

/// What `derive` makes.
pub enum Derived {
    /// The derivative.
    Whole(Program),
    /// Of a matrix its derivative in one direction, which has to be known before the rest is made.
    Directional(Directional),
}

/// Derives `p`. The caller has asked `exists`.
///
/// # Errors
/// Something in it has no derivative.
pub fn derive(p: &Program, what: Derivative) -> Result<Derived, NotDifferentiable> {
    let d = match what {
        Derivative::Jacobian => return jacobian::jacobian(p).map(Derived::Directional),
        Derivative::Hessian => return jacobian::hessian(p).map(Derived::Directional),
        Derivative::Vjp | Derivative::Grad | Derivative::ValueAndGrad => reverse::reverse(p, what)?,
        Derivative::Jvp => forward::forward(p)?,
        Derivative::Vmap => jacobian::vmap(p)?,
        Derivative::Hvp => {
            let mut h = forward::forward(&reverse::reverse(p, Derivative::Grad)?)?;
            // The gradient and its tangent.
            let Tree::Tuple(parts) = &mut h.result else { panic!("the tangent of a gradient is no pair") };
            h.result = expect(parts.pop(), || "the tangent of a gradient is no pair".into());
            h
        }
    };
    finished(d, what, &p.name).map(Derived::Whole)
}

/// A derivative of the program of this name, under its own.
fn finished(mut d: Program, what: Derivative, of: &Name) -> Result<Program, NotDifferentiable> {
    d.name = format!("{}({of})", what.name()).into();
    // Whether two arrays have the same number of elements cannot be told of such.
    let number = |a: ArrayId| Dim::product(&d.array(a).dims);
    let is_too_large = |s: &Stm| match s {
        Stm::Reshape { result, source } => [result, source].into_iter().any(|a| number(*a).is_too_large()),
        _ => false,
    };
    if d.stms.iter().any(is_too_large) {
        let what = "the number of elements of an array does not fit into 64 bits".into();
        return Err(NotDifferentiable { what, loc: None });
    }
    Ok(d)
}

/// The float arrays of a parameter or result, in the same structure; `None` if there are none.
fn floats(p: &Program, t: &Tree<ArrayId>) -> Option<Tree<ArrayId>> {
    match t {
        Tree::Leaf(a) => p.array(*a).elem.is_float().then(|| t.clone()),
        Tree::Tuple(ts) => {
            let parts: Vec<Tree<ArrayId>> = ts.iter().filter_map(|t| floats(p, t)).collect();
            (!parts.is_empty()).then_some(Tree::Tuple(parts))
        }
    }
}

/// The float parts of every active parameter.
fn active_params(p: &Program) -> Vec<(usize, Tree<ArrayId>)> {
    let params = p.params.iter().enumerate().filter(|(_, q)| q.active);
    params.filter_map(|(i, q)| Some((i, floats(p, &q.arrays)?))).collect()
}

fn active_leaves(p: &Program) -> Vec<ArrayId> {
    active_params(p).iter().flat_map(|(_, t)| t.leaves().into_iter().copied().collect::<Vec<_>>()).collect()
}

/// One value bare, several as a tuple.
fn bundle<T>(mut parts: Vec<Tree<T>>) -> Tree<T> {
    if parts.len() == 1 { parts.remove(0) } else { Tree::Tuple(parts) }
}

/// The float arrays that depend on active parameters.
fn active_arrays(p: &Program) -> FxHashSet<ArrayId> {
    let mut active: FxHashSet<ArrayId> = active_leaves(p).into_iter().collect();
    activate(p, &p.stms, &mut active);
    active
}

/// Adds the float arrays that statements make of active ones.
fn activate(p: &Program, stms: &[Stm], active: &mut FxHashSet<ArrayId>) {
    for s in stms {
        if let Stm::Repeat(r) = s {
            // A state is active if its start is, or what any trip makes of it.
            loop {
                for c in &r.carried {
                    if p.array(c.state).elem.is_float()
                        && (active.contains(&c.start) || active.contains(&c.next))
                    {
                        active.insert(c.state);
                    }
                }
                let before = active.len();
                activate(p, &r.body, active);
                let more = r.carried.iter().any(|c| active.contains(&c.next) && !active.contains(&c.state));
                if before == active.len() && !more {
                    break;
                }
            }
            active.extend(
                r.carried.iter().filter(|c| active.contains(&c.state)).map(|c| c.result).collect::<Vec<_>>(),
            );
        } else if s.inputs().iter().any(|a| active.contains(a)) {
            active.extend(s.results().into_iter().filter(|a| p.array(*a).elem.is_float()));
        }
    }
}
