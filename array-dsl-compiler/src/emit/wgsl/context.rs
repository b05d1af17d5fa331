//! What the shaders and the constant of one program share.

use super::ShaderText;
use super::types::Kind;
use crate::bulk::{ArrayId, Atom};
use crate::dim::{Dim, SizeAtom};
use crate::loops::{Home, Program};
use crate::lower::gpu::{MOST, is_composed};
use crate::ty::{Elem, Loc};

/// See the module header.
pub(super) struct Context<'p> {
    pub(super) program: &'p Program,
    /// The host scalars that sizes may mention: see `lower::gpu::size_scalars`, then the numbers of trips.
    pub(super) scalars: Vec<ArrayId>,
    /// The sizes that the device computes; see `lower::gpu`. Among the atoms of sizes they come last.
    pub(super) computed: Vec<ArrayId>,
    /// The array that stands for the memory that steps work in.
    pub(super) scratch: ArrayId,
    /// The places that index errors name.
    pub(super) sites: Vec<Loc>,
    /// By scalar, whether it is an `i64` that fits 32 bits.
    pub(super) narrow: Vec<bool>,
    /// The shaders of the steps so far.
    pub(super) shaders: Vec<ShaderText>,
}

impl Context<'_> {
    /// The array whose memory `a` is.
    pub(super) fn root(&self, a: ArrayId) -> ArrayId {
        self.program.root(a)
    }

    /// Whether the array's only element is a number that the host passes by value.
    pub(super) fn is_host_scalar(&self, a: ArrayId) -> bool {
        let root = self.root(a);
        let info = &self.program.arrays[root.0 as usize];
        info.dims.is_empty() && (info.home == Home::Param || self.scalars.contains(&root))
    }

    /// The type that an atom is computed in.
    pub(super) fn kind(&self, a: Atom) -> Result<Kind, String> {
        match a {
            Atom::Var(v) if self.narrow[v.0 as usize] => Ok(Kind::I32),
            Atom::Var(v) => Kind::of(self.program.vars[v.0 as usize]),
            Atom::Const(c) if c.elem == Elem::I64 && i32::try_from(c.as_i64()).is_ok() => Ok(Kind::I32),
            Atom::Const(c) => Kind::of(c.elem),
        }
    }

    /// The number of a place among those that errors name.
    pub(super) fn site(&mut self, loc: Loc) -> usize {
        let line = |l: Loc| self.program.places.get(l.0 as usize).map(|p| (&p.kernel, &p.file, p.line));
        let known = self.sites.iter().position(|s| line(*s) == line(loc));
        known.unwrap_or_else(|| {
            self.sites.push(loc);
            self.sites.len() - 1
        })
    }

    /// Whether a size is made in the shader: the device computes an atom of it, and it is more than that atom.
    pub(super) fn is_made(&self, dim: &Dim) -> bool {
        is_composed(dim, &self.computed)
    }

    /// Refuses sizes that the host cannot know.
    pub(super) fn check_atoms(&self, dim: &Dim) -> Result<(), String> {
        for atom in dim.atoms() {
            if let SizeAtom::Scalar(s) = atom
                && !self.scalars.contains(&ArrayId(s))
                && !self.computed.contains(&ArrayId(s))
            {
                let name = self.program.arrays.get(s as usize).map_or("", |a| &a.name);
                return Err(format!("a size depends on `{name}`, which the kernel computes itself"));
            }
        }
        Ok(())
    }

    /// Refuses extents that the host cannot know, and constant ones that are too great.
    pub(super) fn check_size(&self, dim: &Dim) -> Result<(), String> {
        self.check_atoms(dim)?;
        match dim.as_constant() {
            Some(c) if !(-MOST..=MOST).contains(&c) => Err(format!("the size {c} is beyond 2^30")),
            _ => Ok(()),
        }
    }
}
