//! Rows in order, digit by digit, the least significant first.
//!
//! Every element has a **key**, one word or two with the order of the elements (`sort_shader`). What is sorted by a word of the keys are pairs
//! of that word and a **payload**: the position of the element in its row, or, where the elements themselves are wanted and are
//! one word long, the element. For each of the four digits of a word, rows being divided into tiles of [`TILE`] elements:
//!
//! ```text
//! count      of each tile, how often each digit occurs
//! starts     of each digit of each row: its elements in the tiles before, and in all tiles
//! move       each tile puts itself in order by the digit, and every digit's elements where they belong
//! ```
//!
//! The first count and the first move make the keys; the last move writes the result. Keys of two words are sorted by the low one,
//! then by the high one, which is fetched by the positions. Every pass is stable, no workgroup waits for another, and the result does not
//! depend on their order. Passes: 12 for 32 bits, 24 for 64, 3 for booleans.
//!
//! Rows that fit one tile are sorted in a workgroup's memory, as many at a time as fit, in one dispatch: by their keys, then by their rows.
//!
//! A size that only the device knows is read: see `extent`.

use super::builtin::Builtin;
use super::execute::{Part, Run};
use super::pool::{GpuBuffer, MOST};
use crate::error::Error;
use crate::program::{Elem, Poly, Sorted};

/// The elements that a workgroup has at a time.
pub(super) const TILE: u32 = 2048;

/// The digits of a word.
const DIGITS: u32 = 4;

/// Up to so many tiles a row a thread goes through them alone.
const FEW_TILES: u32 = 32;

/// Where a pass finds its keys and payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Source {
    /// In the elements, as they come.
    Elements,
    /// The high words of the elements at the positions that are the payloads.
    Positions,
    /// In arrays of both.
    Pairs,
}

/// What a pass writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum To {
    /// Keys and payloads.
    Pairs,
    /// What is asked for.
    Result,
}

/// What the payloads are, and the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Gives {
    /// Positions; the result has two words for each.
    Positions,
    /// Elements of one word.
    Words,
    /// Positions; the result are the elements there, of two words.
    Doubles,
}

impl Gives {
    pub(super) fn of(elem: Elem, sorted: Sorted) -> Gives {
        match sorted {
            Sorted::Positions => Gives::Positions,
            Sorted::Values if elem.bytes() == 8 => Gives::Doubles,
            Sorted::Values => Gives::Words,
        }
    }
}

/// Rows to be sorted.
#[derive(Clone, Copy, Debug)]
struct Rows {
    elem: Elem,
    gives: Gives,
    rows: u32,
    length: u32,
    tiles: u32,
}

impl Run<'_> {
    /// See the module header.
    pub(super) async fn sort(
        &mut self,
        label: &'static str,
        sorted: Sorted,
        (result, keys): (usize, usize),
        (rows, length): (&'static [Poly], &'static Poly),
    ) -> Result<(), Error> {
        let elem = self.program.arrays[keys].elem;
        let gives = Gives::of(elem, sorted);
        let (elements, result) = (self.buffer(keys).await?, self.buffer(result).await?);
        let rows = self.exact_extents(rows).await?.into_iter().map(u64::from).product::<u64>();
        let [length] = self.exact_extents(std::slice::from_ref(length)).await?[..] else {
            return Err(self.internal("a row has one extent".into()));
        };
        let all = rows * u64::from(length);
        if all == 0 {
            return Ok(());
        }
        if all > elements.len().min(result.len()).min(MOST) as u64 {
            return Err(self.internal(format!("a sort of {rows} rows of {length} elements")));
        }
        let s = Rows { elem, gives, rows: rows as u32, length, tiles: length.div_ceil(TILE) };
        let part = Part { step: Some(label), operations: None };
        if s.tiles == 1 {
            let together = TILE / length;
            let bits = u32::BITS - (together - 1).leading_zeros();
            let (words, groups) = ([s.rows, length, together, bits], s.rows.div_ceil(together));
            let builtin = Builtin::SortTiles { elem, gives };
            return self.dispatch_builtin(builtin, &words, &[&elements, &result], groups, part).await;
        }
        self.sort_long(s, &elements, &result, part).await
    }

    /// Rows of several tiles.
    async fn sort_long(
        &mut self,
        s: Rows,
        elements: &GpuBuffer,
        result: &GpuBuffer,
        part: Part,
    ) -> Result<(), Error> {
        let Rows { elem, gives, rows, length, tiles } = s;
        let array = |n: u64, what| {
            let n = usize::try_from(n).unwrap_or(usize::MAX);
            self.gpu.allocate(n, Elem::U32, self.program.name, what).map(|(buffer, _)| buffer)
        };
        let all = u64::from(rows) * u64::from(length);
        let digits = u64::from(rows) * 256;
        let counts = array(digits * u64::from(tiles), "counts of digits")?;
        let totals = array(digits, "counts of digits")?;
        let pair = || Ok::<_, Error>((array(all, "keys of a sort")?, array(all, "payloads of a sort")?));
        let (mut from, mut to) = (pair()?, pair()?);
        // All of these are below 2^32: there are fewer than elements, or than words of an array.
        let (groups, lists) = (rows * tiles, digits as u32);
        let passes = passes(elem);
        for (at, &(source, shift)) in passes.iter().enumerate() {
            let words = [rows, length, tiles, shift];
            let first = match source {
                Source::Elements => vec![elements],
                Source::Positions => vec![elements, &from.1],
                Source::Pairs => vec![&from.0, &from.1],
            };
            // Counting needs no payloads but to find the keys.
            let counted = if source == Source::Pairs { &first[..1] } else { &first[..] };
            let buffers: Vec<&GpuBuffer> = counted.iter().copied().chain([&counts]).collect();
            self.dispatch_builtin(Builtin::SortCount { elem, source }, &words, &buffers, groups, part)
                .await?;

            let is_alone = tiles <= FEW_TILES;
            let starters = if is_alone { lists.div_ceil(256) } else { lists };
            let starts = Builtin::SortStarts { is_alone };
            self.dispatch_builtin(starts, &[lists, tiles], &[&counts, &totals], starters, part).await?;

            let goal = if at + 1 == passes.len() { To::Result } else { To::Pairs };
            let mut buffers: Vec<&GpuBuffer> = first;
            if gives == Gives::Doubles && goal == To::Result && source == Source::Pairs {
                buffers.push(elements);
            }
            buffers.extend([&counts, &totals]);
            match goal {
                To::Pairs => buffers.extend([&to.0, &to.1]),
                To::Result => buffers.push(result),
            }
            let moves = Builtin::SortMove { elem, gives, source, to: goal };
            self.dispatch_builtin(moves, &words, &buffers, groups, part).await?;
            std::mem::swap(&mut from, &mut to);
        }
        Ok(())
    }
}

/// The passes over keys of a type: where the keys are, and how far from the right of their word the digit begins.
fn passes(elem: Elem) -> Vec<(Source, u32)> {
    let word = |first| (0..DIGITS).map(move |d| (if d == 0 { first } else { Source::Pairs }, 8 * d));
    match elem {
        Elem::Bool => vec![(Source::Elements, 0)],
        Elem::F32 | Elem::I32 | Elem::U32 => word(Source::Elements).collect(),
        Elem::F64 | Elem::I64 => word(Source::Elements).chain(word(Source::Positions)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digit_has_a_pass() {
        assert_eq!(passes(Elem::Bool), [(Source::Elements, 0)]);
        let shifts = |elem| passes(elem).into_iter().map(|(_, shift)| shift).collect::<Vec<_>>();
        assert_eq!(shifts(Elem::I32), [0, 8, 16, 24]);
        assert_eq!(shifts(Elem::F64), [0, 8, 16, 24, 0, 8, 16, 24]);
        let rekeyed = passes(Elem::I64).iter().position(|p| p.0 == Source::Positions);
        assert_eq!(rekeyed, Some(4));
    }
}
