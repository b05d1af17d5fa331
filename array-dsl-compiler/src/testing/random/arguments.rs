//! Random arguments that fit a program's signature.

use rustc_hash::FxHashMap;

use crate::core::{Function, Var};
use crate::dim::{Dim, SizeAtom};
use crate::testing::numbers::Rng;
use crate::ty::{Const, Elem, Name};
use crate::value::{Scalar, Value};

/// What numbers arguments have.
#[derive(Clone, Debug)]
pub struct Ranges {
    /// Named sizes, from and to.
    pub sizes: (i64, i64),
    /// Integers, from and to.
    pub integers: (i64, i64),
    /// Floats, from and to.
    pub floats: (f64, f64),
}

/// Arguments (the leaves of the parameters) with sizes 0 to 4, scalar integers 0 to 4, other integers -1 to 5, and
/// floats between -1.5 and 1.5.
pub fn arguments(f: &Function, seed: u64) -> Vec<Value> {
    arguments_within(f, seed, &Ranges { sizes: (0, 4), integers: (-1, 5), floats: (-1.5, 1.5) })
}

/// Arguments within ranges. Scalar integers are never negative: they may be sizes.
pub fn arguments_within(f: &Function, seed: u64, ranges: &Ranges) -> Vec<Value> {
    let counts = (ranges.integers.0.max(0), ranges.integers.1.min(4));
    arguments_with(f, seed, ranges, counts).expect("arguments of a reasonable size")
}

/// An argument has no more elements.
const MOST: usize = 1 << 25;

/// Arguments within ranges, scalar integers within another; none if one would have some ten million elements, or fewer than none.
pub fn arguments_with(f: &Function, seed: u64, ranges: &Ranges, counts: (i64, i64)) -> Option<Vec<Value>> {
    let mut rng = Rng::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let mut sizes: FxHashMap<Name, i64> = FxHashMap::default();
    for name in &f.sizes {
        let n = rng.between(ranges.sizes.0, ranges.sizes.1);
        // Few sizes are empty, or tests would be of nothing.
        let n =
            if n == 0 && ranges.sizes.1 > 0 && rng.chance(60) { rng.between(1, ranges.sizes.1) } else { n };
        sizes.insert(name.clone(), n);
    }
    let vars: Vec<Var> = f.params.iter().flat_map(|p| p.vars.leaves()).copied().collect();
    let mut scalars: FxHashMap<u32, Value> = FxHashMap::default();
    for v in vars.iter().filter(|v| f.ty(**v).rank() == 0) {
        let value = match f.ty(*v).elem {
            e if e.is_int() => Const::int(e, rng.between(counts.0, counts.1)),
            e => element(&mut rng, e, ranges),
        };
        scalars.insert(v.0, Value::scalar(value.into()));
    }
    let dim = |d: &Dim| {
        let n = d.eval(&mut |a| match a {
            SizeAtom::Name(n) => sizes.get(n).copied().unwrap_or(0),
            SizeAtom::Scalar(s) => scalars.get(s).and_then(Value::item).and_then(Scalar::as_i64).unwrap_or(0),
        });
        usize::try_from(n?).ok()
    };
    vars.iter()
        .map(|v| {
            if let Some(x) = scalars.get(&v.0) {
                return Some(x.clone());
            }
            let ty = f.ty(*v);
            let dims = ty.dims.iter().map(dim).collect::<Option<Vec<usize>>>()?;
            let elements = dims.iter().try_fold(1, |n: usize, d| n.checked_mul(*d));
            elements.filter(|n| *n <= MOST)?;
            let mut out = Value::filled(dims, Scalar::zero(ty.elem));
            for x in out.data_mut() {
                *x = element(&mut rng, ty.elem, ranges).into();
            }
            Some(out)
        })
        .collect()
}

fn element(rng: &mut Rng, elem: Elem, ranges: &Ranges) -> Const {
    match elem {
        e if e.is_float() => Const::float(e, rng.float(ranges.floats.0, ranges.floats.1)),
        Elem::Bool => Const::bool(rng.chance(50)),
        e => Const::int(e, rng.between(ranges.integers.0, ranges.integers.1)),
    }
}
