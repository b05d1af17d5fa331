//! Numbers of trips as extents.

use super::{Affine, Checked, Facts};
use crate::bulk::build::int;
use crate::bulk::{Check, CheckKind, Program, Stm};
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::ty::{Elem, Loc};

/// The number of trips as a dimension: of no trips if it is negative, as `n - 1` may be. The check, which always holds, says
/// to the proofs that reads are inside what the number is where there are trips.
pub(crate) fn not_negative(
    p: &mut Program,
    count: &Dim,
    known: &Checked,
    loc: Loc,
    out: &mut Vec<Stm>,
) -> Dim {
    if Facts::new(&[], known).nonnegative(&Affine::constant(count.clone())) {
        return count.clone();
    }
    let trips = p.store("trips", Elem::I64, &[], loc, |p, code, _| {
        let count = code.size(p, count);
        code.op(p, Op::Max, &[count, int(0)])
    });
    out.extend(p.stms.pop());
    let trips = Dim::atom(SizeAtom::Scalar(trips.0));
    let kind = CheckKind::AtLeast(trips.clone(), count.clone());
    out.push(Stm::Check(Check { kind, guards: vec![trips.clone()] }, loc));
    trips
}
