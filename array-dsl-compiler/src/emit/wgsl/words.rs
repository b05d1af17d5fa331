//! The uniform words of a shader: numbers of the host, and sizes.
//!
//! Only the number itself can be copied to the words when the device has computed it. So a size with more in it than such a
//! number is made in the shader, of the words of its atoms.

use super::shader::Shader;
use super::types::{Kind, int};
use crate::bulk::{ArrayId, Axis};
use crate::dim::Dim;
use crate::ty::{Const, Elem, Loc};

/// A word of the uniform block, as in the runtime's `Word`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Size(Dim),
    /// The low and the high word of a size of 64 bits.
    Long(Dim),
    LongHigh(Dim),
    Scalar(ArrayId),
    /// The second word of a scalar of 64 bits.
    High(ArrayId),
    SiteBase,
    /// The most trips of a `while`.
    MostTrips,
    Parts,
    Each,
    /// The outer points that a reduction is planned for.
    Planned,
    /// The stage of a reduction in parts.
    Stage,
    /// 0, which no compiler knows.
    Zero,
}

impl Shader<'_, '_> {
    /// The text of a uniform word, a `u32`.
    pub(super) fn word(&mut self, word: Word) -> String {
        let at = self.words.iter().position(|w| *w == word).unwrap_or_else(|| {
            self.words.push(word);
            self.words.len() - 1
        });
        format!("words[{}].{}", at / 4, ["x", "y", "z", "w"][at % 4])
    }

    /// The text of a size, an `i32`.
    pub(super) fn size(&mut self, dim: &Dim) -> Result<String, String> {
        self.cx.check_size(dim)?;
        if let Some(c) = dim.as_constant() {
            return Ok(int(c as i32));
        }
        let at = self.sizes.iter().position(|d| d == dim).unwrap_or_else(|| {
            self.sizes.push(dim.clone());
            self.sizes.len() - 1
        });
        Ok(format!("s{at}"))
    }

    /// The text of an axis's extent as a divisor, an `i32`. Where there are no points nothing is divided, but division by a
    /// constant zero would make the shader invalid.
    pub(super) fn extent(&mut self, dim: &Dim) -> Result<String, String> {
        match dim.as_constant() {
            Some(c) if c <= 0 => Ok(int(1)),
            _ => self.size(dim),
        }
    }

    /// The text of a number of points, a `u32`.
    pub(super) fn points<'a>(&mut self, axes: impl IntoIterator<Item = &'a Axis>) -> Result<String, String> {
        let total = Dim::product(axes.into_iter().map(|a| &a.extent));
        self.cx.check_size(&total)?;
        Ok(match total.as_constant() {
            Some(c) => format!("{}u", c.max(0)),
            None if self.cx.is_made(&total) => format!("u32({})", self.sum(&total)),
            None => self.word(Word::Size(total)),
        })
    }

    /// The text of a size of which the device knows a part: an `i32` made of the words of its atoms, since only numbers can be
    /// copied there. Whatever overflows on the way, the end is right if it is within 2^30.
    fn sum(&mut self, dim: &Dim) -> String {
        if !self.made.contains(dim) {
            self.made.push(dim.clone());
        }
        let mut terms = Vec::new();
        for (monomial, coefficient) in dim.terms() {
            let mut factors: Vec<String> = Vec::new();
            for atom in monomial {
                let word = self.word(Word::Size(Dim::atom(atom.clone())));
                factors.push(format!("bitcast<i32>({word})"));
            }
            if coefficient != 1 || factors.is_empty() {
                factors.push(int(coefficient as i32));
            }
            terms.push(factors.join(" * "));
        }
        format!("({})", terms.join(" + "))
    }

    /// The text of a size that may need 64 bits, an `i64`.
    pub(super) fn long_size(&mut self, dim: &Dim) -> Result<String, String> {
        self.cx.check_atoms(dim)?;
        if let Some(c) = dim.as_constant() {
            return Ok(Kind::I64.literal(Const::int(Elem::I64, c)));
        }
        let words = [self.word(Word::Long(dim.clone())), self.word(Word::LongHigh(dim.clone()))];
        Ok(Kind::I64.of_words(&words))
    }

    /// The text of the number of a place among all sites of the device, as `adsl_fail` wants it.
    pub(super) fn site(&mut self, loc: Loc) -> String {
        self.failing += 1;
        let n = self.cx.site(loc);
        format!("{n}u + {}", self.word(Word::SiteBase))
    }

    /// The lines that name the sizes that the code uses.
    pub(super) fn define_sizes(&mut self) {
        for (k, dim) in self.sizes.clone().into_iter().enumerate() {
            let text = if self.cx.is_made(&dim) {
                self.sum(&dim)
            } else {
                format!("bitcast<i32>({})", self.word(Word::Size(dim)))
            };
            self.line(format!("let s{k} = {text};"));
        }
    }
}
