//! The types of a kernel and its derivatives as the host sees them: with the user's records, which Core and everything after
//! it know as tuples.
//!
//! ```text
//! args                     parameters in order
//! active                   float parts of the parameters without #[no_grad]; a lone one bare, several as a tuple
//! grad, value_and_grad     args -> active;  args -> (result, active)        if the result is one float
//! hvp                      args, active.. -> active                         likewise
//! vjp                      args, float parts of the result -> (result, active)
//! jvp                      args, active.. -> (result, float parts of the result)
//! jacobian, hessian        args -> for each float part of the result (of the gradient), active with its dimensions before
//! vmap                     args -> result, all with one more dimension
//! ```
//!
//! The float parts of a tuple are a tuple of those. The float parts of a record are that record: what is no float in it is
//! **absent**, there on the host but not in the program; it is zero in results and ignored in arguments. Where dimensions
//! are added a record cannot hold the arrays, and is the tuple of its float parts (for `vmap` of all).

use std::rc::Rc;

use proc_macro2::TokenStream;

use crate::carrier;
use crate::derive::Derivative;
use crate::loops;
use crate::record::Records;
use crate::syntax::{self, ast};
use crate::ty::{Elem, Name, Tree, is_constant};

/// The structure of an argument or a result.
#[derive(Clone, Debug)]
pub enum Shape {
    /// An array, or with rank 0 a scalar.
    Leaf(Leaf),
    /// A tuple.
    Tuple(Vec<Shape>),
    /// A record: its position in `Types::records`, and its fields; `None` if its definition is not known.
    Record(usize, Option<Vec<(Name, Shape)>>),
}

/// An array or scalar.
#[derive(Clone, Copy, Debug)]
pub struct Leaf {
    /// The element type.
    pub elem: Elem,
    /// The number of dimensions.
    pub rank: usize,
    /// If the program does not have it: what it has the shape of.
    pub absent: Option<Like>,
    /// Whether it is a scalar that an argument declares as `usize`, for which the host gives any integer.
    pub is_size: bool,
}

/// An array of the kernel itself, by its position among all of them.
#[derive(Clone, Copy, Debug)]
pub enum Like {
    /// Among those of the arguments.
    Argument(usize),
    /// Among those of the result.
    Result(usize),
}

/// The types of a kernel or of one of its derivatives.
#[derive(Clone, Debug)]
pub struct Types {
    /// The records as the kernel names them.
    pub records: Rc<[TokenStream]>,
    /// The arguments.
    pub args: Vec<Shape>,
    /// The result.
    pub result: Shape,
    /// The constants of the surrounding code, which the program takes after so many of the arguments.
    pub constants: (usize, Rc<[Elem]>),
}

/// What a program takes.
#[derive(Clone, Copy, Debug)]
pub enum Taken<'a> {
    /// The argument of this number.
    Argument(usize, &'a Shape),
    /// The constant of this number.
    Constant(usize, Elem),
}

/// The types of a kernel, from which those of its derivatives follow.
#[derive(Debug)]
pub struct Signature {
    types: Types,
    /// The float parts of the differentiable parameters.
    active: Vec<Shape>,
}

impl Leaf {
    /// As the program has it: of complex numbers their parts, in one more dimension.
    pub fn in_program(self) -> Leaf {
        match self.elem.is_complex() {
            true => Leaf { elem: self.elem.part(), rank: self.rank + 1, ..self },
            false => self,
        }
    }
}

impl Shape {
    /// The arrays that the program has, from left to right.
    pub fn present(&self) -> Vec<Leaf> {
        let mut out = Vec::new();
        self.visit(&mut |l, _| out.extend(l.absent.is_none().then_some(*l)));
        out
    }

    /// Calls `f` with each array or scalar, from left to right, and whether it is inside a record.
    pub fn visit(&self, f: &mut dyn FnMut(&Leaf, bool)) {
        match self {
            Shape::Leaf(l) => f(l, false),
            Shape::Tuple(parts) => parts.iter().for_each(|p| p.visit(f)),
            Shape::Record(_, fields) => {
                fields.iter().flatten().for_each(|(_, p)| p.visit(&mut |l, _| f(l, true)));
            }
        }
    }

    /// Whether there are complex numbers in it.
    pub fn has_complex(&self) -> bool {
        let mut found = false;
        self.visit(&mut |l, _| found |= l.elem.is_complex());
        found
    }

    /// Whether its definition, and those of all records in it, are known.
    pub fn is_known(&self) -> bool {
        match self {
            Shape::Leaf(_) => true,
            Shape::Tuple(parts) => parts.iter().all(Shape::is_known),
            Shape::Record(_, fields) => fields.as_ref().is_some_and(|f| f.iter().all(|(_, s)| s.is_known())),
        }
    }

    /// The float parts in the same structure, if there are any. `like` says what the k-th array is, counted by `next`.
    fn floats(&self, like: fn(usize) -> Like, next: &mut usize) -> Option<Shape> {
        match self {
            Shape::Leaf(l) => {
                *next += 1;
                l.elem.is_differentiable().then(|| self.clone())
            }
            Shape::Tuple(parts) => {
                let parts: Vec<Shape> = parts.iter().filter_map(|p| p.floats(like, next)).collect();
                (!parts.is_empty()).then_some(Shape::Tuple(parts))
            }
            Shape::Record(_, None) => Some(self.clone()),
            Shape::Record(..) => {
                let record = self.without_others(like, next);
                (!record.present().is_empty()).then_some(record)
            }
        }
    }

    /// A part of a record, where what is no float is absent.
    fn without_others(&self, like: fn(usize) -> Like, next: &mut usize) -> Shape {
        match self {
            Shape::Leaf(l) => {
                *next += 1;
                let absent = (!l.elem.is_differentiable()).then(|| like(*next - 1));
                Shape::Leaf(Leaf { absent, ..*l })
            }
            Shape::Tuple(parts) => Shape::Tuple(parts.iter().map(|p| p.without_others(like, next)).collect()),
            Shape::Record(r, fields) => {
                let fields = fields.as_ref().map(|fields| {
                    fields.iter().map(|(n, p)| (n.clone(), p.without_others(like, next))).collect()
                });
                Shape::Record(*r, fields)
            }
        }
    }

    /// With tuples for records, without what is absent, and with so many more dimensions.
    fn plain(&self, more: usize) -> Option<Shape> {
        let parts: Vec<&Shape> = match self {
            Shape::Leaf(l) => {
                return l.absent.is_none().then(|| {
                    Shape::Leaf(Leaf { rank: l.rank + more, is_size: l.is_size && more == 0, ..*l })
                });
            }
            Shape::Tuple(parts) => parts.iter().collect(),
            Shape::Record(_, fields) => fields.iter().flatten().map(|(_, p)| p).collect(),
        };
        Some(Shape::Tuple(parts.into_iter().filter_map(|p| p.plain(more)).collect()))
    }

    /// Marks the sizes among an argument's scalars by its type as it was written: the syntax tree has `i64` for `usize`.
    fn mark_sizes(&mut self, ty: &syn::Type) {
        match (self, ty) {
            (shape, syn::Type::Paren(t)) => shape.mark_sizes(&t.elem),
            (shape, syn::Type::Group(t)) => shape.mark_sizes(&t.elem),
            (shape, syn::Type::Reference(t)) => shape.mark_sizes(&t.elem),
            (Shape::Leaf(l), syn::Type::Path(t)) => l.is_size = l.rank == 0 && t.path.is_ident("usize"),
            (Shape::Tuple(parts), syn::Type::Tuple(t)) => {
                parts.iter_mut().zip(&t.elems).for_each(|(part, t)| part.mark_sizes(t));
            }
            _ => {}
        }
    }

    /// With another element type everywhere.
    fn of(self, elem: Elem) -> Shape {
        match self {
            Shape::Leaf(l) => Shape::Leaf(Leaf { elem, ..l }),
            Shape::Tuple(parts) => Shape::Tuple(parts.into_iter().map(|p| p.of(elem)).collect()),
            record @ Shape::Record(..) => record,
        }
    }

    /// The parts that have a cotangent argument each: arrays, scalars and records.
    fn components(&self) -> Vec<Shape> {
        match self {
            Shape::Leaf(_) | Shape::Record(..) => vec![self.clone()],
            Shape::Tuple(parts) => parts.iter().flat_map(Shape::components).collect(),
        }
    }

    fn of_tree<T>(t: &Tree<T>, leaf: &dyn Fn(&T) -> Leaf) -> Shape {
        match t {
            Tree::Leaf(x) => Shape::Leaf(leaf(x)),
            Tree::Tuple(ts) => Shape::Tuple(ts.iter().map(|t| Shape::of_tree(t, leaf)).collect()),
        }
    }
}

impl Types {
    /// The types of a program without records.
    pub fn plain(p: &loops::Program) -> Types {
        let leaf = |a: &crate::bulk::ArrayId| {
            let info = &p.arrays[a.0 as usize];
            Leaf { elem: info.elem, rank: info.dims.len(), absent: None, is_size: false }
        };
        let (constants, args): (Vec<_>, Vec<_>) = p.params.iter().partition(|q| is_constant(&q.name));
        let before = p.params.iter().position(|q| is_constant(&q.name)).unwrap_or(args.len());
        let elems = constants.iter().flat_map(|q| q.arrays.leaves()).map(|a| leaf(a).elem);
        Types {
            records: Rc::new([]),
            args: args.into_iter().map(|q| Shape::of_tree(&q.arrays, &leaf)).collect(),
            result: Shape::of_tree(&p.result, &leaf),
            constants: (before, elems.collect()),
        }
    }

    /// How many of the arguments' scalars are declared as `usize`.
    pub fn sizes(&self) -> usize {
        let mut sizes = 0;
        self.args.iter().for_each(|s| s.visit(&mut |l, _| sizes += usize::from(l.is_size)));
        sizes
    }

    /// What the program takes, in order: arguments, constants, and the directions of derivatives.
    pub fn taken(&self) -> Vec<Taken<'_>> {
        let (before, constants) = &self.constants;
        let mut all: Vec<Taken<'_>> =
            self.args.iter().enumerate().map(|(i, s)| Taken::Argument(i, s)).collect();
        let constants = constants.iter().enumerate().map(|(k, elem)| Taken::Constant(k, *elem));
        all.splice(*before..*before, constants);
        all
    }

    fn with(&self, args: Vec<Shape>, result: Shape) -> Types {
        Types { records: self.records.clone(), args, result, constants: self.constants.clone() }
    }
}

impl Signature {
    /// The types that a function declares, if all of them are understood; `item` has the tokens that `f` was read from. Without
    /// `records` these have not been looked for; otherwise all must be there.
    pub fn read(item: &syn::ItemFn, f: &ast::Function, records: Option<&Records>) -> Option<Signature> {
        let is_missing = |p: &ast::Path| records.is_some_and(|r| !r.contains_key(&p.text()));
        if syntax::named_records(f).iter().any(is_missing) {
            return None;
        }
        let none = Records::default();
        let records = records.unwrap_or(&none);
        let mut paths: Vec<ast::Path> = Vec::new();
        let mut shape = |t: &ast::Type| of_type(t, 0, records, &mut paths);
        let mut args = f.params.iter().map(|p| shape(&p.ty)).collect::<Option<Vec<_>>>()?;
        let result = shape(&f.result)?;
        for (s, input) in args.iter_mut().zip(&item.sig.inputs) {
            if let syn::FnArg::Typed(input) = input {
                s.mark_sizes(&input.ty);
            }
        }
        let mut next = 0;
        let mut active = Vec::new();
        for (p, s) in f.params.iter().zip(&args) {
            let floats = s.floats(Like::Argument, &mut next);
            active.extend(floats.filter(|_| !p.no_grad));
        }
        let records = paths.iter().map(|p| carrier::path_tokens(p, item)).collect();
        let constants = (args.len(), Rc::default());
        Some(Signature { types: Types { records, args, result, constants }, active })
    }

    /// With constants of the surrounding code of these types, which calls do not give.
    pub fn with_constants(&self, constants: Vec<Elem>) -> Signature {
        let types = Types { constants: (self.types.args.len(), constants.into()), ..self.types.clone() };
        Signature { types, active: self.active.clone() }
    }

    /// Whether the value is one float.
    fn is_scalar(&self) -> bool {
        matches!(&self.types.result, Shape::Leaf(l) if l.rank == 0 && l.elem.is_float())
    }

    /// The derivatives that there may be, as far as the types tell.
    pub fn derivatives(&self) -> Vec<Derivative> {
        let shapes = || self.types.args.iter().chain([&self.types.result]);
        let known = shapes().all(Shape::is_known);
        // A complex entry would say the derivatives of holomorphic functions only.
        let has_matrices = known && !shapes().any(Shape::has_complex);
        let mut all = Vec::new();
        if self.active.is_empty() {
            return all;
        }
        if self.is_scalar() {
            all.extend([Derivative::Grad, Derivative::ValueAndGrad, Derivative::Hvp]);
            all.extend(has_matrices.then_some(Derivative::Hessian));
        }
        if self.types.result.floats(Like::Result, &mut 0).is_some() {
            all.extend([Derivative::Vjp, Derivative::Jvp]);
            all.extend(has_matrices.then_some(Derivative::Jacobian));
        }
        all.extend(known.then_some(Derivative::Vmap));
        all
    }

    /// The types of the kernel, or of a derivative of it.
    pub fn derived(&self, path: &[Derivative]) -> Types {
        let t = &self.types;
        // The second gradient of a function of one float has the types of the first.
        let Some(d) = path.first() else { return t.clone() };
        let with = |more: &[Shape]| [t.args.as_slice(), more].concat();
        let gradient = bundle(&self.active);
        let beside =
            |s: Option<Shape>| Shape::Tuple([Some(t.result.clone()), s].into_iter().flatten().collect());
        let slopes = t.result.floats(Like::Result, &mut 0);
        match d {
            Derivative::Grad => t.with(t.args.clone(), gradient),
            Derivative::ValueAndGrad => t.with(t.args.clone(), beside(Some(gradient))),
            Derivative::Hvp => t.with(with(&self.active), gradient),
            Derivative::Vjp => {
                let cotangents = slopes.map(|s| s.components()).unwrap_or_default();
                t.with(with(&cotangents), beside(Some(gradient)))
            }
            Derivative::Jvp => t.with(with(&self.active), beside(slopes)),
            Derivative::Jacobian => {
                let rows = slopes.map(|s| s.present()).unwrap_or_default();
                t.with(t.args.clone(), matrices(&rows, &gradient))
            }
            Derivative::Hessian => t.with(t.args.clone(), matrices(&gradient.present(), &gradient)),
            Derivative::Vmap => {
                let batch = |s: &Shape| s.plain(1).unwrap_or(Shape::Tuple(Vec::new()));
                t.with(t.args.iter().map(batch).collect(), batch(&t.result))
            }
        }
    }
}

/// One value bare, several as a tuple.
fn bundle(parts: &[Shape]) -> Shape {
    match parts {
        [one] => one.clone(),
        several => Shape::Tuple(several.to_vec()),
    }
}

/// For each of `rows`, the parts of `columns` with the dimensions of both and the row's element type.
fn matrices(rows: &[Leaf], columns: &Shape) -> Shape {
    let parts: Vec<Shape> = rows
        .iter()
        .map(|row| columns.plain(row.rank).map_or(Shape::Tuple(Vec::new()), |s| s.of(row.elem)))
        .collect();
    bundle(&parts)
}

/// The structure of a type under `rank` dimensions; an array of tuples is a tuple of arrays.
fn of_type(ty: &ast::Type, rank: usize, records: &Records, paths: &mut Vec<ast::Path>) -> Option<Shape> {
    match &ty.kind {
        ast::TypeKind::Scalar(elem) => {
            Some(Shape::Leaf(Leaf { elem: *elem, rank, absent: None, is_size: false }))
        }
        ast::TypeKind::Array(inner, _) => of_type(inner, rank + 1, records, paths),
        ast::TypeKind::Tuple(parts) => {
            Some(Shape::Tuple(parts.iter().map(|t| of_type(t, rank, records, paths)).collect::<Option<_>>()?))
        }
        ast::TypeKind::Record(path) if rank == 0 => {
            let text = path.text();
            let known = paths.iter().position(|p| p.text() == text);
            let at = known.unwrap_or_else(|| {
                paths.push(path.clone());
                paths.len() - 1
            });
            // The records in it are taken apart with it, so they need no path.
            let fields = records.get(&text).and_then(|r| {
                let fields = r.fields.iter();
                fields.map(|f| Some((f.name.clone(), of_type(&f.ty, 0, records, &mut Vec::new())?))).collect()
            });
            Some(Shape::Record(at, fields))
        }
        ast::TypeKind::Record(_)
        | ast::TypeKind::Generic(_)
        | ast::TypeKind::Complex(_)
        | ast::TypeKind::Function(_)
        | ast::TypeKind::Infer => None,
    }
}
