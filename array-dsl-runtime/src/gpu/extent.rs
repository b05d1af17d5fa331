//! Sizes that the device has computed: what `filter` keeps, and whatever else data decide.
//!
//! The host would have to wait for such a number. But the compiler proves an upper bound of most of them (what is kept is
//! no more than there was), and with that the host plans: memory is taken and threads are started for the bound, and the
//! shaders get the number itself in their words, copied there on the device. Loops, strides and the numbers of points are
//! those of the number; what was started beyond them does nothing.
//!
//! **A size stays on the device until the host has a use for it that a bound does not serve**; then it is read, together
//! with all others of which that use speaks, and never again. These uses are:
//!
//! | use | why a bound does not do |
//! |---|---|
//! | the shape of a result | the caller sees it |
//! | a check that the bounds do not decide | it may fail |
//! | the trips of a loop of steps, the extents of a contraction or a sort | the host makes the trips, and the plan of the tiles |
//! | an extent that may be negative | the product of two of them would be positive |
//! | an extent or an array with the product of two such numbers | the product of their bounds may be far too much |
//! | what is beyond 2^30 by the bound | the number itself may be within |
//! | a size in a word that is not that number alone | only numbers can be copied |
//! | no bound | |

use std::collections::{BTreeMap, BTreeSet};

use super::execute::Run;
use super::pool::{GpuBuffer, MOST};
use crate::entry;
use crate::error::Error;
use crate::program::{Check, CheckKind, Poly, Shader, Word};

/// The values of the atoms of sizes: those of the call, then those that loops and the device make.
#[derive(Debug)]
pub(super) struct Atoms<B = GpuBuffer> {
    /// Of those that are not read or not there, anything.
    values: Vec<i64>,
    unread: BTreeMap<u16, Unread<B>>,
    /// Those before the last that nothing has set.
    missing: BTreeSet<u16>,
}

/// A number that the device has computed and the host has not read.
#[derive(Clone, Debug)]
struct Unread<B> {
    /// The element it is in.
    buffer: B,
    /// It is at least 0, and at most this.
    most: Option<i64>,
}

/// Where the value of a polynomial is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    least: i64,
    most: i64,
    /// The most numbers that are not read in one product.
    factors: usize,
}

impl<B> Atoms<B> {
    pub(super) fn new(values: &[i64]) -> Atoms<B> {
        Atoms { values: values.to_vec(), unread: BTreeMap::new(), missing: BTreeSet::new() }
    }

    /// Sets a number that the host knows.
    pub(super) fn set(&mut self, atom: u16, value: i64) {
        let at = usize::from(atom);
        while self.values.len() <= at {
            self.missing.extend(u16::try_from(self.values.len()));
            self.values.push(0);
        }
        self.values[at] = value;
        self.unread.remove(&atom);
        self.missing.remove(&atom);
    }

    /// An atom of these polynomials that has no value: a defect of the compiler.
    fn missing_in<'p>(&self, polys: impl IntoIterator<Item = &'p Poly>) -> Option<u16> {
        let mut atoms = polys.into_iter().flat_map(|p| p.0).flat_map(|(_, atoms)| *atoms).copied();
        atoms.find(|a| self.missing.contains(a) || usize::from(*a) >= self.values.len())
    }

    /// Sets a number that the device knows.
    fn set_unread(&mut self, atom: u16, buffer: B, most: Option<i64>) {
        self.set(atom, 0);
        self.unread.insert(atom, Unread { buffer, most });
    }

    /// Those in the polynomials that are not read.
    fn unread_in<'p>(&self, polys: impl IntoIterator<Item = &'p Poly>) -> Vec<u16> {
        let atoms = polys.into_iter().flat_map(|p| p.0).flat_map(|(_, atoms)| *atoms).copied();
        let mut found: Vec<u16> = atoms.filter(|a| self.unread.contains_key(a)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Where the value is, as far as bounds tell.
    fn range(&self, poly: &Poly) -> Option<Range> {
        if self.missing_in([poly]).is_some() {
            return None;
        }
        let mut sum = Range { least: 0, most: 0, factors: 0 };
        for (coefficient, atoms) in poly.0 {
            let (mut known, mut bound, mut factors) = (*coefficient, 1i64, 0);
            for atom in *atoms {
                match self.unread.get(atom) {
                    Some(unread) => {
                        bound = bound.checked_mul(unread.most?)?;
                        factors += 1;
                    }
                    None => known = known.checked_mul(*self.values.get(usize::from(*atom))?)?,
                }
            }
            let end = known.checked_mul(bound)?;
            let (least, most) = if factors == 0 { (end, end) } else { (end.min(0), end.max(0)) };
            sum.least = sum.least.checked_add(least)?;
            sum.most = sum.most.checked_add(most)?;
            sum.factors = sum.factors.max(factors);
        }
        Some(sum)
    }

    /// The product of extents, or a bound of it that may be planned with; a negative extent counts as 0.
    fn product(&self, extents: &[Poly]) -> Option<i64> {
        let (mut product, mut factors) = (1i64, 0);
        for extent in extents {
            let range = self.range(extent)?;
            if range.factors > 0 && range.least < 0 {
                return None;
            }
            factors += range.factors;
            product = product.saturating_mul(range.most.max(0));
        }
        (factors <= 1).then_some(product)
    }

    /// Whether the host need not read anything to make these words: see the header.
    fn are_enough_for(&self, word: &Word) -> bool {
        match word {
            Word::Size(size) if self.unread_in([size]).is_empty() => true,
            Word::Size(size) => self.single(size).is_some() && self.is_short(size),
            Word::Long(size) | Word::LongHigh(size) => self.unread_in([size]).is_empty(),
            _ => true,
        }
    }

    /// Whether a size is within 2^30, as far as bounds tell.
    fn is_short(&self, size: &Poly) -> bool {
        let end = MOST as i64;
        self.range(size).is_some_and(|r| r.least >= -end && r.most <= end)
    }

    /// The element with the number that is the polynomial, if it is one that is not read.
    pub(super) fn single(&self, poly: &Poly) -> Option<&B> {
        match poly.0 {
            [(1, [atom])] => self.unread.get(atom).map(|u| &u.buffer),
            _ => None,
        }
    }

    /// Whether a check holds whatever the numbers that are not read.
    fn decide(&self, check: &Check) -> bool {
        let range = |p: &Poly| self.range(p);
        if check.guards.iter().any(|g| range(g).is_some_and(|r| r.most <= 0)) {
            return true;
        }
        let holds = || match &check.kind {
            CheckKind::Equal(a, b) => Some(a.0 == b.0),
            CheckKind::NonNegative(a) => Some(range(&a.0)?.least >= 0),
            CheckKind::AtLeast(least, a) => Some(range(&a.0)?.least >= range(&least.0)?.most),
        };
        holds().unwrap_or(false)
    }
}

impl Run<'_> {
    /// `GpuStep::Size`.
    pub(super) async fn compute_size(
        &mut self,
        array: usize,
        atom: u16,
        most: Option<&'static Poly>,
    ) -> Result<(), Error> {
        let buffer = self.buffer(array).await?;
        let most = most.and_then(|m| self.atoms.range(m)).map(|r| r.most.max(0));
        self.atoms.set_unread(atom, buffer, most);
        Ok(())
    }

    /// Reads what the device knows of these polynomials. One wait, if any.
    pub(super) async fn know(&mut self, polys: &[&Poly]) -> Result<(), Error> {
        self.set_before(polys.iter().copied())?;
        let unread = self.atoms.unread_in(polys.iter().copied());
        if unread.is_empty() {
            return Ok(());
        }
        let buffers: Vec<GpuBuffer> = unread.iter().map(|a| self.atoms.unread[a].buffer.clone()).collect();
        let values = self.read_bits(&buffers).await?;
        for (atom, bits) in unread.into_iter().zip(values) {
            self.atoms.set(atom, bits.cast_signed());
        }
        Ok(())
    }

    /// The program has set all of which these sizes are made.
    fn set_before<'p>(&self, polys: impl IntoIterator<Item = &'p Poly>) -> Result<(), Error> {
        match self.atoms.missing_in(polys) {
            None => Ok(()),
            Some(atom) => Err(Error::Internal {
                kernel: self.program.name,
                message: format!("run on a GPU: a size is made of number {atom}, which has no value yet"),
            }),
        }
    }

    /// The value of a polynomial; `None` on overflow.
    pub(super) async fn value(&mut self, poly: &Poly) -> Result<Option<i64>, Error> {
        self.know(&[poly]).await?;
        Ok(poly.eval(&self.atoms.values))
    }

    /// The product of extents, or a bound of it that is within `most`; a negative extent counts as 0.
    pub(super) async fn product(&mut self, extents: &[Poly], most: i64) -> Result<i64, Error> {
        if self.atoms.product(extents).is_none_or(|n| n > most) {
            self.know(&Vec::from_iter(extents)).await?;
        }
        Ok(extents.iter().fold(1i64, |product, extent| {
            let range = self.atoms.range(extent);
            product.saturating_mul(range.map_or(i64::MAX, |r| r.most).max(0))
        }))
    }

    /// `GpuStep::Check`.
    pub(super) async fn check(&mut self, check: &'static Check) -> Result<(), Error> {
        if self.atoms.decide(check) {
            return Ok(());
        }
        let sides = match &check.kind {
            CheckKind::Equal(a, b) | CheckKind::AtLeast(a, b) => vec![&a.0, &b.0],
            CheckKind::NonNegative(a) => vec![&a.0],
        };
        self.know(&Vec::from_iter(check.guards.iter().chain(sides))).await?;
        entry::check(check, &self.atoms.values, self.program.name)
    }

    /// Reads what the words of a shader need, and refuses sizes beyond 2^30.
    pub(super) async fn prepare_words(&mut self, shader: &'static Shader) -> Result<(), Error> {
        let sizes = shader.words.iter().filter(|w| !self.atoms.are_enough_for(w)).filter_map(|w| match w {
            Word::Size(size) | Word::Long(size) | Word::LongHigh(size) => Some(size),
            _ => None,
        });
        let made = shader.sizes.iter().filter(|s| !self.atoms.is_short(s));
        let needed: Vec<&Poly> = sizes.chain(made).collect();
        self.know(&needed).await?;
        shader
            .sizes
            .iter()
            .filter(|s| self.atoms.unread_in([*s]).is_empty())
            .try_for_each(|s| self.size(s).map(|_| ()))
    }

    /// A size in a word; of one that the device has computed, zero: it is copied in when the shader is dispatched.
    pub(super) fn size(&self, size: &Poly) -> Result<u32, Error> {
        if self.atoms.single(size).is_some() {
            return Ok(0);
        }
        self.set_before([size])?;
        let value = size.eval(&self.atoms.values);
        let small = value.and_then(|v| i32::try_from(v).ok());
        small.filter(|v| v.unsigned_abs() as usize <= MOST).map(i32::cast_unsigned).ok_or_else(|| {
            Error::UnsupportedOnGpu {
                kernel: self.program.name,
                what: match value {
                    Some(v) => format!("a size is {v}, which is beyond 2^30"),
                    None => "a size overflows".into(),
                },
                help: "use smaller sizes, or run it on the CPU".into(),
            }
        })
    }

    /// The bits of a size in 64 bits.
    pub(super) fn long_size(&self, size: &Poly) -> Result<u64, Error> {
        self.set_before([size])?;
        size.eval(&self.atoms.values).map(i64::cast_unsigned).ok_or_else(|| Error::UnsupportedOnGpu {
            kernel: self.program.name,
            what: "a size overflows".into(),
            help: "use smaller sizes".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Site;

    /// Three numbers: `n` is 10, of `k` at most 10 are known to be, of `r` nothing is known.
    fn atoms() -> Atoms<()> {
        let mut atoms = Atoms::new(&[10]);
        atoms.set_unread(1, (), Some(10));
        atoms.set_unread(2, (), None);
        atoms
    }

    const N: Poly = Poly(&[(1, &[0])]);
    const K: Poly = Poly(&[(1, &[1])]);
    const R: Poly = Poly(&[(1, &[2])]);
    const N_LESS_K: Poly = Poly(&[(1, &[0]), (-1, &[1])]);
    const K_LESS_ONE: Poly = Poly(&[(1, &[1]), (-1, &[])]);
    const N_K: Poly = Poly(&[(1, &[0, 1])]);
    const K_K: Poly = Poly(&[(1, &[1, 1])]);
    const LONG_K: Poly = Poly(&[(1 << 28, &[1])]);

    #[test]
    fn bounds_are_planned_with() {
        let atoms = atoms();
        for (extents, product) in [
            (&[][..], Some(1)),
            (&[N], Some(10)),
            (&[K], Some(10)),
            (&[N, K], Some(100)),
            (&[N_LESS_K, N], Some(100)),
            (&[N_K], Some(100)),
            // Two such numbers, one that may be negative, one without a bound.
            (&[K, K], None),
            (&[K_K], None),
            (&[K, N_LESS_K], None),
            (&[K_LESS_ONE], None),
            (&[R], None),
            (&[N, R], None),
        ] {
            assert_eq!(atoms.product(extents), product, "{extents:?}");
        }
        assert_eq!(atoms.range(&K_LESS_ONE), Some(Range { least: -1, most: 9, factors: 1 }));
    }

    #[test]
    fn what_nothing_has_set_has_no_value() {
        let mut atoms = atoms();
        atoms.set(5, 7);
        let late = Poly(&[(1, &[0, 4])]);
        assert_eq!((atoms.missing_in([&N, &late]), atoms.range(&late)), (Some(4), None));
        assert_eq!(atoms.missing_in([&Poly(&[(1, &[6])])]), Some(6));
        atoms.set(4, 2);
        assert_eq!((atoms.missing_in([&N, &late]), atoms.product(&[late])), (None, Some(20)));
    }

    #[test]
    fn words_that_can_be_copied() {
        let atoms = atoms();
        for (word, enough) in [
            (Word::Size(N), true),
            (Word::Size(K), true),
            (Word::Size(R), false),
            (Word::Size(N_LESS_K), false),
            (Word::Long(N), true),
            (Word::LongHigh(K), false),
            (Word::SiteBase, true),
        ] {
            assert_eq!(atoms.are_enough_for(&word), enough, "{word:?}");
        }
        assert!(atoms.is_short(&N_LESS_K) && !atoms.is_short(&LONG_K) && !atoms.is_short(&R));
        assert!(
            atoms.single(&K).is_some() && atoms.single(&N).is_none() && atoms.single(&N_LESS_K).is_none()
        );
    }

    #[test]
    fn what_is_read_is_known() {
        let mut atoms = atoms();
        assert_eq!(atoms.unread_in([&N_LESS_K, &R, &K]), [1, 2]);
        atoms.set(1, 4);
        assert_eq!(atoms.unread_in([&N_LESS_K, &R, &K]), [2]);
        assert_eq!(atoms.product(&[K, K]), Some(16));
        assert_eq!(atoms.product(&[N_LESS_K]), Some(6));
        assert_eq!(atoms.product(&[LONG_K]), Some(1 << 30));
    }

    #[test]
    fn checks_that_bounds_decide() {
        let check = |kind, guards| Check { kind, guards, site: Site { kernel: "f", file: "a.rs", line: 1 } };
        let atoms = atoms();
        let at_least = |least, a| CheckKind::AtLeast((least, ""), (a, ""));
        for (kind, decided) in [
            (CheckKind::NonNegative((N_LESS_K, "")), true),
            (CheckKind::NonNegative((K_LESS_ONE, "")), false),
            (CheckKind::NonNegative((R, "")), false),
            (CheckKind::Equal((K, ""), (K, "")), true),
            (CheckKind::Equal((K, ""), (N, "")), false),
            (at_least(K, N), true),
            (at_least(N, K), false),
        ] {
            assert_eq!(atoms.decide(&check(kind, &[])), decided);
        }
        const NONE: Poly = Poly(&[]);
        assert!(atoms.decide(&check(at_least(N, K), &[N, NONE])));
    }
}
