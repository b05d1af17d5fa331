//! Whole matrices of derivatives, and programs over batches, by lifting.
//!
//! ```text
//! jacobian, forward   J[.., a..] = the tangent of the result for the unit tangent a of the argument
//! jacobian, reverse   J[r.., ..] = the cotangent of the argument for the unit cotangent r of the result
//! hessian             H[a.., b..] = the tangent of the gradient by b for the unit tangent a
//! vmap                every argument with one more leading dimension, the same for all
//! ```
//!
//! The program, its forward or its reverse mode is executed at every unit; what does not depend on the unit is
//! computed once. A Jacobian is taken forward unless the result has fewer dimensions than the arguments, and these are known
//! before it runs. Where there may be many units, the program is executed for strips of them, one after the other (`strip`):
//! then the tangents of all intermediate arrays are there for a strip at a time. They are not where a loop computes the size of a result
//! together with tangents.

use rustc_hash::FxHashMap;

use super::lift::{broadcast, lift, unit};
use super::strip::{self, Orientation, Strips};
use super::{
    Derivative, NotDifferentiable, active_leaves, active_params, bundle, finished, forward, reverse,
};
use crate::bulk::{ArrayId, Program, Stm};
use crate::dim::{Dim, SizeAtom};
use crate::internal::expect;
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc, Name, Tree, is_constant};

/// What a matrix is made for.
struct Matrix {
    what: Derivative,
    /// The program's name.
    name: Name,
    orientation: Orientation,
    /// How many parameters the program has.
    params: usize,
    /// The structure of its differentiated arguments.
    arguments: Vec<Tree<ArrayId>>,
    /// How many of its results are floats.
    results: usize,
}

/// A derivative in one direction. The matrix is made of it in two steps, before each of which the program is made simpler.
pub struct Directional {
    /// It has parameters for tangents or cotangents after those of the program.
    pub program: Program,
    matrix: Matrix,
}

/// The derivative at all unit directions.
pub struct AtUnits {
    /// Its result is, for each direction's parameter, what the second part of the derivative's result is. What the directions
    /// share is found before it is kept out of the loops over strips.
    pub program: Program,
    directions: Vec<Directions>,
    /// How many arrays there are for each direction's parameter.
    outputs: usize,
    matrix: Matrix,
}

/// The Jacobian of a program: for each float result, a tree of arrays like its differentiated arguments.
pub(super) fn jacobian(p: &Program) -> Result<Directional, NotDifferentiable> {
    let ranks = |leaves: &[ArrayId]| leaves.iter().map(|a| p.array(*a).dims.len()).sum::<usize>();
    let results = float_results(p);
    // Units of a result are made before there is the result.
    let sized = results.iter().all(|a| p.array(*a).dims.iter().all(|d| strip::is_known_to_host(p, d)));
    let orientation = if sized && ranks(&results) < ranks(&active_leaves(p)) {
        Orientation::Rows
    } else {
        Orientation::Columns
    };
    directional(p, Matrix::of(p, Derivative::Jacobian, orientation))
}

/// The Hessian of a program with one float as its value: for each differentiated argument, a tree like all of them.
pub(super) fn hessian(p: &Program) -> Result<Directional, NotDifferentiable> {
    let gradient = reverse::reverse(p, Derivative::Grad)?;
    let matrix = Matrix::of(&gradient, Derivative::Hessian, Orientation::Columns);
    directional(&gradient, Matrix { name: p.name.clone(), ..matrix })
}

/// Forward mode gives columns, and reverse mode rows.
fn directional(p: &Program, matrix: Matrix) -> Result<Directional, NotDifferentiable> {
    let program = match matrix.orientation {
        Orientation::Columns => forward::forward(p)?,
        Orientation::Rows => reverse::reverse(p, Derivative::Vjp)?,
    };
    Ok(Directional { program, matrix })
}

/// The float arrays of the result, in order.
fn float_results(p: &Program) -> Vec<ArrayId> {
    p.result.leaves().into_iter().copied().filter(|a| p.array(*a).elem.is_float()).collect()
}

impl Matrix {
    fn of(p: &Program, what: Derivative, orientation: Orientation) -> Matrix {
        let arguments = active_params(p).into_iter().map(|(_, t)| t).collect();
        let (name, results) = (p.name.clone(), float_results(p).len());
        Matrix { what, name, orientation, params: p.params.len(), arguments, results }
    }
}

/// The directions along one parameter for tangents or cotangents.
struct Directions {
    /// Its dimensions and type.
    dims: Vec<Dim>,
    elem: Elem,
    /// If they are not taken all at once.
    strips: Option<Strips>,
}

impl Directional {
    /// The derivative at every unit of each of the parameters for directions, the others zero.
    ///
    /// # Errors
    /// A statement cannot be executed at every point of a frame.
    pub fn at_units(self) -> Result<AtUnits, NotDifferentiable> {
        let Directional { program: d, matrix } = self;
        let units = d.params[matrix.params..].iter().flat_map(|q| q.arrays.leaves());
        let units: Vec<ArrayId> = units.copied().collect();
        let outputs: Vec<ArrayId> = match &d.result {
            Tree::Tuple(parts) => parts.get(1).into_iter().flat_map(Tree::leaves).copied().collect(),
            Tree::Leaf(_) => Vec::new(),
        };
        let mut q = d.clone();
        q.stms.clear();
        q.params.truncate(matrix.params);
        let all_at_once = strip::sized_with_tangents(&d, &units, &outputs);
        let (mut all, mut lifted_outputs) = (Vec::new(), Vec::new());
        for along in &units {
            let info = q.array(*along).clone();
            let strips = if all_at_once { None } else { Strips::new(&mut q, &info.dims) };
            let directions = Directions { dims: info.dims, elem: info.elem, strips };
            let lifted = at_units_of(&mut q, &d, &units, *along, &directions, &outputs)?;
            lifted_outputs.extend(lifted.into_iter().map(Tree::Leaf));
            all.push(directions);
        }
        q.result = Tree::Tuple(lifted_outputs);
        Ok(AtUnits { program: q, directions: all, outputs: outputs.len(), matrix })
    }
}

impl AtUnits {
    /// The program that gives the matrices: for each float result, the arguments in their structure.
    ///
    /// # Errors
    /// One of them has too many dimensions.
    pub fn matrices(self) -> Result<Program, NotDifferentiable> {
        let AtUnits { program: mut q, directions, outputs, matrix } = self;
        let lifted: Vec<ArrayId> = q.result.leaves().into_iter().copied().collect();
        let mut rest = lifted.as_slice();
        let mut blocks = Vec::new();
        for directions in &directions {
            let (lifted, others) = rest.split_at(outputs);
            rest = others;
            blocks.push(matrices(&mut q, directions, lifted, matrix.orientation));
        }
        let rows = match matrix.orientation {
            Orientation::Rows => blocks,
            Orientation::Columns => {
                let row = |r: usize| blocks.iter().filter_map(|column| column.get(r).copied()).collect();
                (0..matrix.results).map(row).collect()
            }
        };
        q.result = bundle(rows.iter().map(|row| matrix.row(row)).collect());
        finished(within_ranks(q)?, matrix.what, &matrix.name)
    }
}

/// Appends a derivative at every unit of one of its parameters: the outputs, with the directions as their first dimensions.
fn at_units_of(
    q: &mut Program,
    d: &Program,
    units: &[ArrayId],
    along: ArrayId,
    directions: &Directions,
    outputs: &[ArrayId],
) -> Result<Vec<ArrayId>, NotDifferentiable> {
    let Directions { dims, elem, strips } = directions;
    let (frame, one) = match strips {
        Some(strips) => (strips.frame(), strips.unit(q, *elem, dims)),
        None => (dims.clone(), unit(q, *elem, dims)),
    };
    let (mut names, mut lifted) = (FxHashMap::default(), FxHashMap::default());
    for parameter in units {
        let info = q.array(*parameter).clone();
        let array = if *parameter == along {
            let array = q.new_array(info.name, info.elem, info.dims);
            lifted.insert(array, one);
            array
        } else {
            q.constant(&info.name, &info.dims, Const::of(info.elem, 0), Loc::default())
        };
        names.insert(*parameter, array);
    }
    let stms = q.copy_stms(&d.stms, &mut names);
    lift(q, &stms, &frame, &mut lifted)?;
    let here = outputs.iter().map(|a| names.get(a).copied().unwrap_or(*a));
    Ok(here.map(|a| broadcast(q, a, &frame, &lifted)).collect())
}

/// The matrices of arrays that have the directions as first dimensions. A matrix is of its result's type, whichever way it was
/// taken.
fn matrices(
    q: &mut Program,
    directions: &Directions,
    lifted: &[ArrayId],
    orientation: Orientation,
) -> Vec<ArrayId> {
    let lifted: Vec<(ArrayId, Elem)> = lifted
        .iter()
        .map(|a| match orientation {
            Orientation::Rows => (*a, directions.elem),
            Orientation::Columns => (*a, q.array(*a).elem),
        })
        .collect();
    let Some(strips) = &directions.strips else {
        let rank = directions.dims.len();
        return lifted.into_iter().map(|(a, elem)| transposed(q, a, rank, elem, orientation)).collect();
    };
    let found = strips.matrices(q, &lifted, orientation);
    let reshaped = |(matrix, (array, elem)): (ArrayId, (ArrayId, Elem))| {
        let rest = q.array(array).dims[1..].to_vec();
        let dims: Vec<Dim> = match orientation {
            Orientation::Rows => directions.dims.iter().chain(&rest).cloned().collect(),
            Orientation::Columns => rest.iter().chain(&directions.dims).cloned().collect(),
        };
        if q.array(matrix).dims == dims {
            return matrix;
        }
        let result = q.new_array("jacobian", elem, dims);
        q.stms.push(Stm::Reshape { result, source: matrix });
        result
    };
    found.into_iter().zip(lifted).map(reshaped).collect()
}

/// The matrix of an array whose first `rank` dimensions are the directions.
fn transposed(q: &mut Program, a: ArrayId, rank: usize, elem: Elem, orientation: Orientation) -> ArrayId {
    let info = q.array(a).clone();
    let mut dims = info.dims;
    if orientation == Orientation::Columns {
        dims.rotate_left(rank);
    } else if info.elem == elem {
        return a;
    }
    q.store("jacobian", elem, &dims, Loc::default(), |p, code, index| {
        let mut at = index.to_vec();
        if orientation == Orientation::Columns {
            at.rotate_right(rank);
        }
        let x = code.read(p, a, &at);
        if info.elem == elem { x } else { code.op(p, Op::Cast(elem), &[x]) }
    })
}

impl Matrix {
    /// The blocks of one result, in the structure of the arguments.
    fn row(&self, blocks: &[ArrayId]) -> Tree<ArrayId> {
        let mut blocks = blocks.iter();
        let mut block = |a: &ArrayId| *expect(blocks.next(), || format!("no block for array {}", a.0));
        bundle(self.arguments.iter().map(|t| t.map(&mut block)).collect())
    }
}

/// The program for a batch.
pub(super) fn vmap(p: &Program) -> Result<Program, NotDifferentiable> {
    let mut q = p.clone();
    q.stms.clear();
    // In a batch a scalar that is a size of other arguments would be several.
    let given = p.params.iter().filter(|q| !is_constant(&q.name));
    let leaves: Vec<ArrayId> = given.flat_map(|q| q.arrays.leaves()).copied().collect();
    for dim in leaves.iter().flat_map(|a| &p.array(*a).dims) {
        let parameter = |a: &SizeAtom| matches!(a, SizeAtom::Scalar(s) if leaves.contains(&ArrayId(*s)));
        if dim.atoms().iter().any(parameter) {
            let what = "the size of an argument is another argument".into();
            return Err(NotDifferentiable { what, loc: None });
        }
    }
    let first = p.params.first().map_or("batch", |a| &*a.name);
    let mut size = Name::from(format!("#{first}.0"));
    while q.sizes.contains(&size) {
        size = Name::from(format!("{size}'"));
    }
    q.sizes.push(size.clone());
    let frame = [Dim::name(size)];
    let mut lifted = FxHashMap::default();
    for i in (0..q.params.len()).filter(|i| !is_constant(&p.params[*i].name)) {
        let arrays = q.params[i].arrays.map(&mut |a| {
            let info = q.arrays[a.0 as usize].clone();
            let dims = frame.iter().cloned().chain(info.dims).collect();
            q.arrays.push(crate::bulk::ArrayInfo { name: info.name, elem: info.elem, dims });
            let new = ArrayId(q.arrays.len() as u32 - 1);
            lifted.insert(*a, new);
            new
        });
        q.params[i].arrays = arrays;
    }
    lift(&mut q, &p.stms, &frame, &mut lifted)?;
    let results: Vec<ArrayId> = p.result.leaves().into_iter().copied().collect();
    let batches: FxHashMap<ArrayId, ArrayId> =
        results.iter().map(|a| (*a, broadcast(&mut q, *a, &frame, &lifted))).collect();
    q.result = p.result.map(&mut |a| batches[a]);
    within_ranks(q)
}

/// The most dimensions that the host's arrays have.
const MAX_HOST_RANK: usize = 6;

fn within_ranks(p: Program) -> Result<Program, NotDifferentiable> {
    let outside = p.params.iter().flat_map(|q| q.arrays.leaves()).chain(p.result.leaves());
    let rank = outside.map(|a| p.array(*a).dims.len()).max().unwrap_or(0);
    if rank > MAX_HOST_RANK {
        let what = format!(
            "it would take or give an array of {rank} dimensions, which is more than {MAX_HOST_RANK}"
        );
        return Err(NotDifferentiable { what, loc: None });
    }
    Ok(p)
}
