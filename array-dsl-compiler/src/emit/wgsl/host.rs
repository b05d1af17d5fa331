//! The Rust constant that tells the runtime what to run: tokens of the types in the runtime's `program` module, under
//! paths that start at `__rt`. All nested data are `&[..]` of constants, so the whole may stand in a `static`.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};

use super::super::constants;
use super::ShaderText;
use super::context::Context;
use super::entry::MOST_PRIVATE;
use super::scan::Passes;
use super::shader::{Finished, Need};
use super::types::bits;
use super::words::Word;
use crate::bulk::{ArrayId, Check, CheckKind, Reducer, Trips};
use crate::dim::{Dim, SizeAtom};
use crate::loops::uses::Access;
use crate::loops::{Contract, Home, Repeat};
use crate::lower;
use crate::ty::{Const, Elem, Loc};

/// An index in the text of a constant.
fn at(array: ArrayId) -> Literal {
    Literal::u32_unsuffixed(array.0)
}

fn numbers(list: &[usize]) -> TokenStream {
    let list = list.iter().map(|n| Literal::usize_unsuffixed(*n));
    quote!(&[#(#list),*])
}

impl Context<'_> {
    /// A `Poly`, by its name: the same few occur everywhere, and rustc takes its time with each that is written out.
    pub(super) fn poly(&self, dim: &Dim) -> Result<TokenStream, String> {
        let known = self.polys.borrow().iter().position(|(d, _)| d == dim);
        let number = match known {
            Some(number) => number,
            None => {
                let written = self.written(dim)?;
                let mut polys = self.polys.borrow_mut();
                polys.push((dim.clone(), written));
                polys.len() - 1
            }
        };
        let name = format_ident!("POLY{number}");
        Ok(quote!(#name))
    }

    /// A `Poly` in full.
    fn written(&self, dim: &Dim) -> Result<TokenStream, String> {
        self.check_atoms(dim)?;
        let position = |atom: &SizeAtom| match atom {
            SizeAtom::Name(name) => Ok(Literal::usize_unsuffixed(constants::size(self.program, name))),
            SizeAtom::Scalar(s) => self.atom(ArrayId(*s)),
        };
        let mut terms = Vec::new();
        for (monomial, c) in dim.terms() {
            let atoms: Vec<Literal> = monomial.iter().map(position).collect::<Result<_, _>>()?;
            terms.push(quote!((#c, &[#(#atoms),*])));
        }
        Ok(quote!(__rt::program::Poly(&[#(#terms),*])))
    }

    /// The position of an integer among the atoms of sizes.
    fn atom(&self, scalar: ArrayId) -> Result<Literal, String> {
        let found = self.scalars.iter().chain(&self.computed).position(|a| *a == scalar);
        let at = found.map(|k| Literal::usize_unsuffixed(self.program.sizes.len() + k));
        at.ok_or_else(|| format!("the size {} is unknown", scalar.0))
    }

    fn polys<'d>(&self, dims: impl IntoIterator<Item = &'d Dim>) -> Result<TokenStream, String> {
        let list: Vec<TokenStream> = dims.into_iter().map(|d| self.poly(d)).collect::<Result<_, _>>()?;
        Ok(quote!(&[#(#list),*]))
    }

    /// A polynomial with its text.
    fn described(&self, dim: &Dim) -> Result<TokenStream, String> {
        let (poly, text) = (self.poly(dim)?, constants::shown(self.program, dim));
        Ok(quote!((#poly, #text)))
    }

    fn array(&self, id: ArrayId) -> Result<TokenStream, String> {
        let a = &self.program.arrays[id.0 as usize];
        let name = a.name.to_string();
        let elem = match a.elem {
            Elem::F32 => quote!(F32),
            Elem::F64 => quote!(F64),
            Elem::I32 => quote!(I32),
            Elem::I64 => quote!(I64),
            Elem::U32 => quote!(U32),
            Elem::Bool => quote!(Bool),
            Elem::Infer(_) => return Err(format!("`{name}` has no element type")),
        };
        let (home, dims) = match a.home {
            Home::Param if a.dims.is_empty() => (quote!(HostScalar), self.polys(&a.dims)?),
            Home::Param => (quote!(Input), self.polys(&a.dims)?),
            // The number of a trip.
            Home::Heap if self.is_host_scalar(id) => (quote!(HostScalar), self.polys(&a.dims)?),
            Home::Heap => (quote!(Heap), self.polys(&a.dims)?),
            Home::View(of) => {
                let of = at(of);
                (quote!(View(#of)), self.polys(&a.dims)?)
            }
            Home::Nowhere => (quote!(Nowhere), quote!(&[])),
            Home::Row { .. } => return Err(format!("`{name}` is an array private to one point")),
        };
        Ok(quote!(__rt::program::GpuArrayInfo {
            name: #name, elem: __rt::program::Elem::#elem, dims: #dims, home: __rt::program::GpuHome::#home
        }))
    }

    /// The whole program.
    pub(super) fn program(&self, steps: &[TokenStream]) -> Result<TokenStream, String> {
        let p = self.program;
        let name = p.name.to_string();
        let ids = (0..p.arrays.len() as u32).map(ArrayId);
        let arrays: Vec<TokenStream> = ids.map(|a| self.array(a)).collect::<Result<_, _>>()?;
        let inputs = lower::gpu::inputs(p).into_iter().map(at);
        let results = p.result.leaves().into_iter().map(|a| at(*a));
        let sites = self.sites.iter().map(|s| constants::site(p, *s));
        Ok(quote!(__rt::program::GpuProgram {
            name: #name,
            arrays: &[#(#arrays),*],
            inputs: &[#(#inputs),*],
            results: &[#(#results),*],
            steps: &[#(#steps),*],
            sites: &[#(#sites),*],
        }))
    }

    /// A shader, of which the program has the position among their texts.
    fn shader(&mut self, s: &Finished) -> Result<TokenStream, String> {
        let Finished { label, wgsl, status, .. } = s;
        let text = Literal::usize_unsuffixed(self.shaders.len());
        self.shaders.push(ShaderText { label: label.clone(), wgsl: wgsl.clone() });
        let sizes = self.polys(&s.made)?;
        let mut words = Vec::new();
        for w in &s.words {
            words.push(match w {
                Word::Size(dim) => {
                    let poly = self.poly(dim)?;
                    quote!(__rt::program::Word::Size(#poly))
                }
                Word::Long(dim) => {
                    let poly = self.poly(dim)?;
                    quote!(__rt::program::Word::Long(#poly))
                }
                Word::LongHigh(dim) => {
                    let poly = self.poly(dim)?;
                    quote!(__rt::program::Word::LongHigh(#poly))
                }
                Word::Scalar(a) => {
                    let a = at(*a);
                    quote!(__rt::program::Word::Scalar(#a))
                }
                Word::High(a) => {
                    let a = at(*a);
                    quote!(__rt::program::Word::High(#a))
                }
                Word::SiteBase => quote!(__rt::program::Word::SiteBase),
                Word::Parts => quote!(__rt::program::Word::Parts),
                Word::Each => quote!(__rt::program::Word::Each),
            });
        }
        let bindings = s.bindings.iter().map(|(array, access)| {
            let array = at(*array);
            let access = match access {
                Access::Read => quote!(Read),
                Access::Write => quote!(Write),
                Access::Combine => quote!(Atomic),
            };
            quote!((#array, __rt::program::Access::#access))
        });
        let needs = s.needs.iter().map(|need| match need {
            Need::F64 => quote!(__rt::program::Need::F64),
            Need::I64 => quote!(__rt::program::Need::I64),
            Need::I64Atomics => quote!(__rt::program::Need::I64Atomics),
        });
        Ok(quote!(__rt::program::Shader {
            label: #label, wgsl: SHADERS[#text], words: &[#(#words),*], sizes: #sizes, bindings: &[#(#bindings),*],
            status: #status, needs: &[#(#needs),*]
        }))
    }

    /// `GpuStep::Points`.
    pub(super) fn points_step(
        &mut self,
        s: &Finished,
        extents: &[&Dim],
        private: Option<&(Finished, ArrayId)>,
    ) -> Result<TokenStream, String> {
        let (shader, extents) = (self.shader(s)?, self.polys(extents.iter().copied())?);
        let private = match private {
            Some((shader, array)) => {
                let (shader, array, most) = (self.shader(shader)?, at(*array), MOST_PRIVATE as usize);
                let most = Literal::usize_unsuffixed(most);
                quote!(::core::option::Option::Some(__rt::program::Private { shader: #shader, array: #array, most: #most }))
            }
            None => quote!(::core::option::Option::None),
        };
        Ok(quote!(__rt::program::GpuStep::Points { shader: #shader, extents: #extents, private: #private }))
    }

    /// `GpuStep::Reduce`.
    pub(super) fn reduce_step(
        &mut self,
        (points, groups): (&Finished, &Finished),
        (outer, inner): (&[&Dim], &[&Dim]),
        reducer: Reducer,
        result: ArrayId,
    ) -> Result<TokenStream, String> {
        let (points, groups) = (self.shader(points)?, self.shader(groups)?);
        let (outer, inner) = (self.polys(outer.iter().copied())?, self.polys(inner.iter().copied())?);
        let reducer = match reducer {
            Reducer::Add => quote!(Add),
            Reducer::Mul => quote!(Mul),
            Reducer::Min => quote!(Min),
            Reducer::Max => quote!(Max),
            Reducer::And => quote!(And),
            Reducer::Or => quote!(Or),
            Reducer::ArgMin | Reducer::ArgMax | Reducer::Last => {
                return Err(format!("`{}` as a reduction", reducer.name()));
            }
        };
        let result = at(result);
        Ok(quote!(__rt::program::GpuStep::Reduce {
            points: #points, outer: #outer, inner: #inner, groups: #groups,
            reducer: __rt::program::Reducer::#reducer, result: #result
        }))
    }

    /// `GpuStep::Scan`.
    pub(super) fn scan_step(
        &mut self,
        points: &Finished,
        passes: &Passes,
        outer: &[&Dim],
        length: &Dim,
    ) -> Result<TokenStream, String> {
        let [points, fold, starts, run] =
            [points, &passes.fold, &passes.starts, &passes.run].map(|s| self.shader(s));
        let (points, fold, starts, run) = (points?, fold?, starts?, run?);
        let (outer, length) = (self.polys(outer.iter().copied())?, self.poly(length)?);
        let (states, scratch) = (Literal::usize_unsuffixed(passes.words), at(passes.scratch));
        let ends = passes.ends;
        Ok(quote!(__rt::program::GpuStep::Scan {
            points: #points, outer: #outer, length: #length, fold: #fold, starts: #starts, run: #run,
            states: #states, scratch: #scratch, ends: #ends
        }))
    }

    /// `GpuStep::Contract`.
    pub(super) fn contract_step(&self, c: &Contract) -> Result<TokenStream, String> {
        let extents = self.polys(&c.extents)?;
        let operand = |array: ArrayId, axes: &[usize]| {
            let (array, axes) = (at(array), numbers(axes));
            quote!((#array, #axes))
        };
        let out = operand(c.result, &c.out);
        let (a, b) = (operand(c.a.0, &c.a.1), operand(c.b.0, &c.b.1));
        Ok(quote!(__rt::program::GpuStep::Contract { extents: #extents, out: #out, a: #a, b: #b }))
    }

    /// `GpuStep::Fill`.
    pub(super) fn fill_step(&self, array: ArrayId, value: Const) -> Result<TokenStream, String> {
        let (array, value) = (at(array), bits(value)?);
        Ok(quote!(__rt::program::GpuStep::Fill(#array, #value)))
    }

    /// `GpuStep::Copy`.
    pub(super) fn copy_step(&self, array: ArrayId, source: ArrayId) -> TokenStream {
        let (array, source) = (at(array), at(source));
        quote!(__rt::program::GpuStep::Copy(#array, #source))
    }

    /// `GpuStep::Move`.
    pub(super) fn move_step(&self, array: ArrayId, source: ArrayId) -> TokenStream {
        let (array, source) = (at(array), at(source));
        quote!(__rt::program::GpuStep::Move(#array, #source))
    }

    /// `GpuStep::Size`.
    pub(super) fn size_step(&self, scalar: ArrayId) -> Result<TokenStream, String> {
        let (array, atom) = (at(self.root(scalar)), self.atom(scalar)?);
        // A bound is of use if the host knows what it is made of.
        let most = self.program.arrays[scalar.0 as usize].most.as_ref();
        let most = match most.filter(|bound| self.check_atoms(bound).is_ok()) {
            Some(bound) => {
                let bound = self.poly(bound)?;
                quote!(::core::option::Option::Some(#bound))
            }
            None => quote!(::core::option::Option::None),
        };
        Ok(quote!(__rt::program::GpuStep::Size { array: #array, atom: #atom, most: #most }))
    }

    /// `GpuStep::Repeat`.
    pub(super) fn repeat_step(&self, r: &Repeat, steps: &[TokenStream]) -> Result<TokenStream, String> {
        let trips = match &r.trips {
            Trips::For(index, count) => {
                let (atom, index, count) = (self.atom(*index)?, at(*index), self.poly(count)?);
                quote!(For { index: #index, atom: #atom, count: #count })
            }
            Trips::While(state) => {
                let state = at(*state);
                quote!(While(#state))
            }
        };
        let carried = r.carried.iter().map(|c| {
            let [state, start, next] = [c.arrays.state, c.arrays.start, c.arrays.next].map(at);
            quote!(__rt::program::Carried { state: #state, start: #start, next: #next })
        });
        Ok(quote!(__rt::program::GpuStep::Repeat {
            trips: __rt::program::Trips::#trips, carried: &[#(#carried),*], steps: &[#(#steps),*]
        }))
    }

    /// `GpuStep::Check`.
    pub(super) fn check_step(&self, c: &Check, loc: Loc) -> Result<TokenStream, String> {
        let kind = match &c.kind {
            CheckKind::Equal(a, b) => {
                let (a, b) = (self.described(a)?, self.described(b)?);
                quote!(Equal(#a, #b))
            }
            CheckKind::NonNegative(d) => {
                let d = self.described(d)?;
                quote!(NonNegative(#d))
            }
            CheckKind::AtLeast(lo, d) => {
                let (lo, d) = (self.described(lo)?, self.described(d)?);
                quote!(AtLeast(#lo, #d))
            }
        };
        let (guards, site) = (self.polys(&c.guards)?, constants::site(self.program, loc));
        Ok(quote!(__rt::program::GpuStep::Check(__rt::program::Check {
            kind: __rt::program::CheckKind::#kind, guards: #guards, site: #site
        })))
    }
}
