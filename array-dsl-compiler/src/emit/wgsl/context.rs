//! What the shaders and the constant of one program share.

use crate::bulk::ArrayId;
use crate::dim::{Dim, SizeAtom};
use crate::loops::{Home, Program};
use crate::ty::Loc;

/// See the module header.
pub(super) struct Context<'p> {
    pub(super) program: &'p Program,
    /// The host scalars that sizes may mention: see `host::size_scalars`, then the numbers of trips.
    pub(super) scalars: Vec<ArrayId>,
    /// The integers that the device computes and the host reads; see `sizes`. Among the atoms of sizes they come last.
    pub(super) computed: Vec<ArrayId>,
    /// The array that stands for the memory that steps work in.
    pub(super) scratch: ArrayId,
    /// The places that index errors name.
    pub(super) sites: Vec<Loc>,
}

impl Context<'_> {
    /// The array whose memory `a` is.
    pub(super) fn root(&self, a: ArrayId) -> ArrayId {
        match self.program.arrays[a.0 as usize].home {
            Home::View(of) => self.root(of),
            _ => a,
        }
    }

    /// Whether the array's only element is a number that the host passes by value.
    pub(super) fn is_host_scalar(&self, a: ArrayId) -> bool {
        let root = self.root(a);
        let info = &self.program.arrays[root.0 as usize];
        info.dims.is_empty() && (info.home == Home::Param || self.scalars.contains(&root))
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

    /// Refuses sizes that the host cannot know.
    pub(super) fn check_size(&self, dim: &Dim) -> Result<(), String> {
        for atom in dim.atoms() {
            if let SizeAtom::Scalar(s) = atom
                && !self.scalars.contains(&ArrayId(s))
                && !self.computed.contains(&ArrayId(s))
            {
                let name = self.program.arrays.get(s as usize).map_or("", |a| &a.name);
                return Err(format!("a size depends on `{name}`, which the kernel computes itself"));
            }
        }
        match dim.as_constant() {
            Some(c) if i32::try_from(c).is_err() => Err(format!("the size {c} needs more than 31 bits")),
            _ => Ok(()),
        }
    }
}
