//! What happens on entry to a kernel: sizes are bound from the shapes of the arguments, everything else that the
//! signature says about them is checked, and host-level checks are made.
//!
//! * A dimension that is one size atom with coefficient 1, not yet bound, binds it. Then one in which a single size is not bound, and
//!   is added a number of times, binds that by division: `2 * l`, `n + 1` (the compiler's `dim::told` has the same rule).
//! * How many directions of a Jacobian are taken at a time is chosen then.
//! * All other dimensions are checked after all binding, in the order of the arguments, so that a size may be
//!   used in an expression before the argument that binds it.

use crate::error::{Error, NamedValue};
use crate::program::{Check, CheckKind, Poly, Signature, Site};

/// The values of all size atoms of a call: the named sizes of `sig`, bound from the arguments' shapes (one per
/// entry of `sig.arrays`), followed by `scalars`, the values of the host scalars that sizes mention.
///
/// Errors: [`Error::SizeMismatch`] for the first dimension that is not what the signature says, [`Error::NoSize`] where that is so
/// for every size that it could bind, [`Error::SizeOverflow`] where a dimension has no value in an `i64`.
pub fn bind(sig: &Signature, shapes: &[&[usize]], scalars: &[i64]) -> Result<Vec<i64>, Error> {
    debug_assert_eq!(sig.arrays.len(), shapes.len());
    let named = sig.sizes.len();
    let mut atoms: Vec<i64> = vec![0; named];
    let mut bound_by: Vec<Option<(usize, usize)>> = vec![None; named];
    atoms.extend_from_slice(scalars);
    for (position, (array, shape)) in sig.arrays.iter().zip(shapes).enumerate() {
        debug_assert_eq!(array.dims.len(), shape.len());
        for (axis, ((poly, _), &found)) in array.dims.iter().zip(*shape).enumerate() {
            if let Some(atom) = single_atom(poly).filter(|a| *a < named && bound_by[*a].is_none()) {
                atoms[atom] = found as i64;
                bound_by[atom] = Some((position, axis));
            }
        }
    }
    let chosen = |k: usize| sig.strips.iter().any(|s| s.at_once == k || s.trips == k);
    if bound_by.iter().enumerate().any(|(k, by)| by.is_none() && !chosen(k)) {
        divide(sig, shapes, &mut atoms, &mut bound_by)?;
    }
    for s in sig.strips {
        let (width, trips) = s.choose(&atoms);
        (atoms[s.at_once], atoms[s.trips]) = (width, trips);
    }
    debug_assert!(
        bound_by.iter().enumerate().all(|(k, by)| by.is_some() || chosen(k)),
        "the compiler lists only sizes that some argument binds"
    );
    for (position, (array, shape)) in sig.arrays.iter().zip(shapes).enumerate() {
        for (axis, ((poly, text), &found)) in array.dims.iter().zip(*shape).enumerate() {
            let site = Site { kernel: sig.kernel, file: sig.file, line: sig.line };
            let expected = value(poly, &atoms, array.name, site)?;
            if expected != found as i64 {
                return Err(Error::SizeMismatch {
                    kernel: sig.kernel,
                    argument: array.name,
                    dimension: axis,
                    name: (*text).into(),
                    expected,
                    found: found as i64,
                    bound_by: binders(sig, poly, &bound_by, position).map(String::into_boxed_str),
                    file: sig.file,
                    line: sig.line,
                });
            }
        }
    }
    Ok(atoms)
}

/// Binds the sizes that no dimension is alone, as far as dimensions tell them: each by the first that does.
fn divide(
    sig: &Signature,
    shapes: &[&[usize]],
    atoms: &mut [i64],
    bound_by: &mut [Option<(usize, usize)>],
) -> Result<(), Error> {
    let site = Site { kernel: sig.kernel, file: sig.file, line: sig.line };
    let dims = || {
        sig.arrays.iter().zip(shapes).enumerate().flat_map(|(position, (array, shape))| {
            array
                .dims
                .iter()
                .zip(*shape)
                .enumerate()
                .map(move |(axis, (dim, found))| (array.name, (position, axis), dim, *found as i64))
        })
    };
    while let Some((argument, at, (poly, text), found, (size, by))) = dims()
        .find_map(|(argument, at, dim, found)| Some((argument, at, dim, found, only_open(&dim.0, bound_by)?)))
    {
        // What is not bound yet is 0.
        let rest = value(poly, atoms, argument, site)?;
        let n = found.checked_sub(rest).and_then(|product| {
            product.checked_div(by).filter(|n| *n >= 0 && product.checked_rem(by) == Some(0))
        });
        atoms[size] = n.ok_or_else(|| Error::NoSize {
            kernel: sig.kernel,
            argument,
            dimension: at.1,
            name: (*text).into(),
            size: sig.sizes[size],
            found,
            file: sig.file,
            line: sig.line,
        })?;
        bound_by[size] = Some(at);
    }
    Ok(())
}

/// The one size in a polynomial that is not bound, if it is added a number of times, which is not zero.
fn only_open(poly: &Poly, bound_by: &[Option<(usize, usize)>]) -> Option<(usize, i64)> {
    let is_open = |a: &u16| bound_by.get(usize::from(*a)).is_some_and(Option::is_none);
    let mut open = poly.0.iter().filter(|(_, atoms)| atoms.iter().any(is_open));
    match (open.next()?, open.next()) {
        ((by, [size]), None) => Some((usize::from(*size), *by)),
        _ => None,
    }
}

/// The number of elements of an array with these dimensions. [`Error::SizeOverflow`] if the elements could not be
/// addressed (all element types have at most eight bytes); dimensions that checks keep from being negative
/// are not negative here.
pub fn elements(dims: &[Poly], atoms: &[i64], array: &'static str, site: Site) -> Result<i64, Error> {
    let overflow = || Error::SizeOverflow { kernel: site.kernel, array, file: site.file, line: site.line };
    let mut product = 1i64;
    let mut empty = false;
    for dim in dims {
        let extent = value(dim, atoms, array, site)?;
        if extent < 0 {
            return Err(overflow());
        }
        // An empty array is legal however long its other dimensions are.
        if extent == 0 {
            empty = true;
        } else if !empty {
            product = product.saturating_mul(extent);
        }
    }
    if empty {
        return Ok(0);
    }
    if product > isize::MAX as i64 / 8 { Err(overflow()) } else { Ok(product) }
}

/// The dimensions of each array of the result, for sizes that [`bind`] gave; `None` for those that only data tell.
///
/// Errors: [`Error::SizeOverflow`] where a dimension has no value in an `i64`, or is negative.
pub fn results(sig: &Signature, atoms: &[i64]) -> Result<Vec<Vec<Option<usize>>>, Error> {
    let site = Site { kernel: sig.kernel, file: sig.file, line: sig.line };
    let overflow =
        || Error::SizeOverflow { kernel: sig.kernel, array: "the result", file: sig.file, line: sig.line };
    let dim = |d: &Option<Poly>| match d {
        Some(d) => usize::try_from(value(d, atoms, "the result", site)?).map(Some).map_err(|_| overflow()),
        None => Ok(None),
    };
    sig.results.iter().map(|dims| dims.iter().map(dim).collect()).collect()
}

/// The value of a size, an overflow being an error about `array`.
pub fn value(poly: &Poly, atoms: &[i64], array: &'static str, site: Site) -> Result<i64, Error> {
    let Site { kernel, file, line } = site;
    poly.eval(atoms).ok_or(Error::SizeOverflow { kernel, array, file, line })
}

/// Makes a host-level check in a call of `kernel`. [`Error::SizeCheck`] if it does not hold.
pub fn check(c: &Check, atoms: &[i64], kernel: &'static str) -> Result<(), Error> {
    let Site { file, line, .. } = c.site;
    let site = Site { kernel, file, line };
    for guard in c.guards {
        if value(guard, atoms, "an array", site)? <= 0 {
            return Ok(());
        }
    }
    let eval = |(poly, text): &(Poly, &'static str)| value(poly, atoms, text, site);
    let message = match &c.kind {
        CheckKind::Equal(a, b) => {
            let (x, y) = (eval(a)?, eval(b)?);
            if x == y {
                return Ok(());
            }
            format!("sizes that must be equal differ: {} and {}", NamedValue(a.1, x), NamedValue(b.1, y))
        }
        CheckKind::NonNegative(a) => {
            let x = eval(a)?;
            if x >= 0 {
                return Ok(());
            }
            format!("{} is negative: the array would have a negative size", NamedValue(a.1, x))
        }
        CheckKind::AtLeast(a, b) => {
            let (x, y) = (eval(a)?, eval(b)?);
            if y >= x {
                return Ok(());
            }
            format!("{} must be at least {}", NamedValue(b.1, y), NamedValue(a.1, x))
        }
    };
    Err(Error::SizeCheck { kernel, message, file, line })
}

/// The atom, if the polynomial is exactly one atom with coefficient 1.
fn single_atom(poly: &Poly) -> Option<usize> {
    match poly.0 {
        [(1, [atom])] => Some(usize::from(*atom)),
        _ => None,
    }
}

/// The arguments that bound the sizes in `poly`, apart from the argument in question where others did.
fn binders(
    sig: &Signature,
    poly: &Poly,
    bound_by: &[Option<(usize, usize)>],
    position: usize,
) -> Option<String> {
    let mut positions: Vec<usize> = Vec::new();
    for atom in poly.0.iter().flat_map(|(_, atoms)| atoms.iter()) {
        // Host scalars are bound by no array.
        if let Some(Some((p, _))) = bound_by.get(usize::from(*atom)) {
            positions.push(*p);
        }
    }
    positions.sort_unstable();
    positions.dedup();
    if positions.iter().any(|p| *p != position) {
        positions.retain(|p| *p != position);
    }
    let names: Vec<&str> = positions.iter().map(|p| sig.arrays[*p].name).collect();
    (!names.is_empty()).then(|| names.join("`, `"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::ArrayArg;

    const N: Poly = Poly(&[(1, &[0])]);
    const M: Poly = Poly(&[(1, &[1])]);
    const N_PLUS_1: Poly = Poly(&[(1, &[0]), (1, &[])]);
    const N_TIMES_M: Poly = Poly(&[(1, &[0, 1])]);
    const COUNT: Poly = Poly(&[(1, &[2])]);
    const THREE: Poly = Poly(&[(3, &[])]);
    const SITE: Site = Site { kernel: "f", file: "src/lib.rs", line: 12 };

    const SIG: Signature = Signature {
        kernel: "nll",
        sizes: &["n", "m"],
        strips: &[],
        results: &[],
        arrays: &[
            ArrayArg { name: "e", dims: &[(N_PLUS_1, "n + 1")] },
            ArrayArg { name: "x", dims: &[(N, "n"), (M, "m")] },
            ArrayArg { name: "y", dims: &[(N, "n")] },
            ArrayArg { name: "z", dims: &[(N_TIMES_M, "n * m"), (THREE, "3")] },
            ArrayArg { name: "s", dims: &[(COUNT, "count")] },
        ],
        file: "src/lib.rs",
        line: 12,
    };

    fn message(shapes: &[&[usize]]) -> String {
        bind(&SIG, shapes, &[4]).unwrap_err().to_string()
    }

    #[test]
    fn sizes_come_from_the_first_argument_that_mentions_them_alone() {
        assert_eq!(bind(&SIG, &[&[6], &[5, 2], &[5], &[10, 3], &[4]], &[4]), Ok(vec![5, 2, 4]));
        assert_eq!(bind(&SIG, &[&[1], &[0, 2], &[0], &[0, 3], &[4]], &[4]), Ok(vec![0, 2, 4]));
    }

    #[test]
    fn mismatches_name_argument_dimension_size_and_binder() {
        assert_eq!(
            message(&[&[6], &[5, 2], &[4], &[10, 3], &[4]]),
            "kernel `nll`: argument `y`, dimension 0: expected n = 5 (from argument `x`), found 4 (src/lib.rs:12)"
        );
        assert_eq!(
            message(&[&[5], &[5, 2], &[4], &[10, 3], &[4]]),
            "kernel `nll`: argument `e`, dimension 0: expected n + 1 = 6 (from argument `x`), found 5 (src/lib.rs:12)"
        );
        assert_eq!(
            message(&[&[6], &[5, 2], &[5], &[10, 2], &[4]]),
            "kernel `nll`: argument `z`, dimension 1: expected 3, found 2 (src/lib.rs:12)"
        );
        assert_eq!(
            message(&[&[6], &[5, 2], &[5], &[10, 3], &[5]]),
            "kernel `nll`: argument `s`, dimension 0: expected count = 4, found 5 (src/lib.rs:12)"
        );
    }

    #[test]
    fn a_square_argument_is_checked_against_itself() {
        let sig = Signature {
            kernel: "f",
            sizes: &["n"],
            strips: &[],
            results: &[],
            arrays: &[ArrayArg { name: "a", dims: &[(N, "n"), (N, "n")] }],
            file: "src/lib.rs",
            line: 12,
        };
        assert_eq!(
            bind(&sig, &[&[2, 3]], &[]).unwrap_err().to_string(),
            "kernel `f`: argument `a`, dimension 1: expected n = 2 (from argument `a`), found 3 (src/lib.rs:12)"
        );
    }

    const DIVIDED: Signature = Signature {
        kernel: "f",
        sizes: &["n", "m"],
        strips: &[],
        results: &[],
        arrays: &[
            ArrayArg { name: "x", dims: &[(Poly(&[(1, &[0]), (2, &[1])]), "n + 2 * m")] },
            ArrayArg { name: "y", dims: &[(N_PLUS_1, "n + 1")] },
            ArrayArg { name: "z", dims: &[(N_TIMES_M, "n * m")] },
        ],
        file: "src/lib.rs",
        line: 12,
    };

    #[test]
    fn what_is_left_is_told_by_division() {
        assert_eq!(bind(&DIVIDED, &[&[9], &[4], &[9]], &[]), Ok(vec![3, 3]));
        assert_eq!(bind(&DIVIDED, &[&[0], &[1], &[0]], &[]), Ok(vec![0, 0]));
        for (shapes, message) in [
            ([[8], [4], [9]], "argument `x`, dimension 0: expected n + 2 * m for a size m, found 8"),
            ([[1], [4], [0]], "argument `x`, dimension 0: expected n + 2 * m for a size m, found 1"),
            ([[8], [0], [9]], "argument `y`, dimension 0: expected n + 1 for a size n, found 0"),
            (
                [[9], [4], [8]],
                "argument `z`, dimension 0: expected n * m = 9 (from argument `x`, `y`), found 8",
            ),
        ] {
            let shapes: Vec<&[usize]> = shapes.iter().map(|s| s.as_slice()).collect();
            let error = bind(&DIVIDED, &shapes, &[]).unwrap_err().to_string();
            assert_eq!(error, format!("kernel `f`: {message} (src/lib.rs:12)"));
        }
    }

    fn run_check(kind: CheckKind, guards: &'static [Poly], n: i64) -> Result<(), String> {
        check(&Check { kind, guards, site: SITE }, &[n, 2], "f").map_err(|e| e.to_string())
    }

    #[test]
    fn checks() {
        const MINUS: Poly = Poly(&[(1, &[0]), (-2, &[])]);
        let non_negative = || CheckKind::NonNegative((MINUS, "n - 2"));
        assert_eq!(run_check(non_negative(), &[], 2), Ok(()));
        let text = "kernel `f`: n - 2 = -1 is negative: the array would have a negative size (src/lib.rs:12)"
            .to_string();
        assert_eq!(run_check(non_negative(), &[], 1), Err(text));
        let equal = || CheckKind::Equal((N, "n"), (M, "m"));
        assert_eq!(run_check(equal(), &[], 2), Ok(()));
        let text = "kernel `f`: sizes that must be equal differ: n = 3 and m = 2 (src/lib.rs:12)".to_string();
        assert_eq!(run_check(equal(), &[], 3), Err(text));
        let at_least = || CheckKind::AtLeast((THREE, "3"), (N, "n"));
        assert_eq!(run_check(at_least(), &[], 3), Ok(()));
        let text = "kernel `f`: n = 2 must be at least 3 (src/lib.rs:12)".to_string();
        assert_eq!(run_check(at_least(), &[], 2), Err(text));
        assert_eq!(run_check(at_least(), &[N], 0), Ok(()), "the guard n is not positive");
    }

    #[test]
    fn element_counts_that_overflow_are_errors() {
        assert_eq!(elements(&[N, M], &[3, 4], "t", SITE), Ok(12));
        assert_eq!(elements(&[], &[3, 4], "t", SITE), Ok(1));
        assert_eq!(elements(&[N, N, M], &[i64::MAX, 0], "t", SITE), Ok(0));
        let overflow = Error::SizeOverflow { kernel: "f", array: "t", file: "src/lib.rs", line: 12 };
        assert_eq!(elements(&[N, N], &[1 << 31, 0], "t", SITE), Err(overflow.clone()));
        assert_eq!(elements(&[N, N], &[1 << 32, 0], "t", SITE), Err(overflow.clone()));
        assert_eq!(elements(&[N_TIMES_M], &[1 << 32, 1 << 32], "t", SITE), Err(overflow));
    }
}
