//! Loops as Rust for all cores.
//!
//! A program becomes the middle of a function, whose beginning binds sizes and arguments and whose end gives the results
//! (`emit::host`): arrays are allocated, and steps executed in order. What a tree divides among tasks becomes a **region**: a struct
//! of what the code uses with a method `run` that the runtime calls inside functions compiled for the CPU's vector extensions, once
//! for each chunk. Chunks are of the points of the tree; of a tree without axes, of the trips of each loop in it; in `tile`, of both.
//! What is executed in order is one chunk. Where they begin depends on sizes only.
//!
//! A region's `run` has a constant `VECTOR`: with AVX-512 the bytes of a vector, up to whose end code in lanes goes (`together`); else 0.
//!
//! Names: `n3` size, `a7` array (a scalar if its rank is 0), `v12` scalar; others, as `lo`, `status`, `state12`, are of the code
//! around these. What is called is a region, or a path of `__rt`, `::core` or `::std`.
//!
//! | file | subject |
//! |---|---|
//! | `mod` | the steps of a program |
//! | `repeat` | loops of steps |
//! | `bands` | steps for some rows at a time |
//! | `tree` | trees: regions for what is divided among tasks |
//! | `region` | the code of one task |
//! | `angles` | regions with `sin`, `cos`, `tan` |
//! | `nodes` | loops, stores, updates |
//! | `fold` | reductions in lanes |
//! | `scan` | states that go from trip to trip |
//! | `together`, `pieces` | loops that several points make together, and the pieces of their code |
//! | `functions` | functions apart from code that changes arrays in place |
//! | `across` | tiles that read columns of arrays as rows |
//! | `addresses` | integers that loops over lanes compute again |
//! | `tile` | reductions of many neighbors at once |
//! | `expr` | scalar code |
//! | `runs` | long runs of it |

mod across;
mod addresses;
mod angles;
mod bands;
mod expr;
mod fold;
mod functions;
mod nodes;
mod pieces;
mod region;
mod repeat;
mod runs;
mod scan;
mod tile;
mod together;
mod tree;

use std::collections::BTreeSet;
use std::convert::Infallible;

use rustc_hash::{FxHashMap, FxHashSet};

use super::back_end::{BackEnd, steps};
use super::constants;
use crate::Verified;
use crate::bulk::{ArrayId, Call, Check, CheckKind, Trips};
use crate::dim::{Dim, SizeAtom};
use crate::internal::expect;
use crate::loops::{Bands, Contract, Home, Operand, Program, Repeat, Sort, Sorted, Step, Tree};
use crate::ty::{Const, Elem, Loc};

/// The generated code of one program.
pub struct CpuCode {
    /// Items: the regions.
    pub items: String,
    /// Statements that compute the result arrays; they use `return Err(..)` through `?`.
    pub body: String,
    /// Places that errors name, in the order of their numbers.
    pub sites: Vec<Loc>,
}

/// Prints a verified program.
pub fn emit(p: &Verified<Program>) -> CpuCode {
    let mut c = Cpu {
        p,
        items: String::new(),
        sites: Vec::new(),
        allocated: FxHashSet::default(),
        regions: 0,
        unset: BTreeSet::new(),
        any: BTreeSet::new(),
        last_uses: FxHashMap::default(),
        depth: 0,
        trips: FxHashSet::default(),
    };
    trips(&p.steps, &mut c.trips);
    c.last_uses = c.last_uses_of(&p.steps);
    let Ok(body) = steps(&mut c, &p.steps, "");
    let body = body.concat();
    CpuCode { items: runs::divided(&c.items), body: runs::divided(&body), sites: c.sites }
}

/// Returns the first failure so far, if there is one.
const END_IF_FAILED: &str = "status.finish(SITES)?;\n";

struct Cpu<'a> {
    p: &'a Program,
    items: String,
    sites: Vec<Loc>,
    /// Heap arrays whose memory exists.
    allocated: FxHashSet<ArrayId>,
    /// Arrays that the current tree sets every element of: their memory need not be set before.
    unset: BTreeSet<ArrayId>,
    /// Arrays that begin as anything.
    any: BTreeSet<ArrayId>,
    regions: usize,
    /// By step, the arrays that nothing after it needs.
    last_uses: FxHashMap<usize, Vec<ArrayId>>,
    /// The number of loops around the step.
    depth: usize,
    /// The numbers of trips.
    trips: FxHashSet<ArrayId>,
}

/// The numbers of the trips of loops.
fn trips(steps: &[Step], out: &mut FxHashSet<ArrayId>) {
    for s in steps {
        if let Step::Repeat(r) = s {
            out.extend(if let Trips::For(index, _) = r.trips { Some(index) } else { None });
        }
        trips(s.inside(), out);
    }
}

impl Cpu<'_> {
    fn root(&self, a: ArrayId) -> ArrayId {
        self.p.root(a)
    }

    fn rank(&self, a: ArrayId) -> usize {
        self.p.arrays[a.0 as usize].dims.len()
    }

    fn elem(&self, a: ArrayId) -> Elem {
        self.p.arrays[a.0 as usize].elem
    }

    /// The variable that holds an array's elements.
    fn name(&self, a: ArrayId) -> String {
        format!("a{}", self.root(a).0)
    }

    /// The dimensions that an array's memory has.
    fn memory_dims(&self, a: ArrayId) -> &[Dim] {
        self.p.memory_dims(a)
    }

    fn site(&mut self, l: Loc) -> usize {
        self.sites.iter().position(|s| *s == l).unwrap_or_else(|| {
            self.sites.push(l);
            self.sites.len() - 1
        })
    }

    /// A dimension as an `i64` expression.
    fn dim(&self, d: &Dim) -> String {
        if let Some(text) = self.in_trip(d) {
            return text;
        }
        let mut sum = String::new();
        for (m, c) in d.terms() {
            // Products and sums saturate: an absurd size must stay absurd until its allocation is refused.
            let mut factors = m.iter().map(|a| self.atom(a));
            let mut term = match (c, factors.next()) {
                (1, Some(f)) => f,
                (c, Some(f)) => format!("{f}.saturating_mul({c}i64)"),
                (c, None) => format!("({c}i64)"),
            };
            for f in factors {
                term = format!("{term}.saturating_mul({f})");
            }
            sum = if sum.is_empty() { term } else { format!("{sum}.saturating_add({term})") };
        }
        if sum.is_empty() { "0i64".into() } else { format!("({sum})") }
    }

    /// A size less the numbers of trips around, or such a number and a small constant: it cannot overflow, as these are counted up
    /// from zero, and it is computed in every trip.
    fn in_trip(&self, d: &Dim) -> Option<String> {
        let (mut plus, mut minus, mut constant) = (None, Vec::new(), 0);
        for (m, c) in d.terms() {
            match (&m[..], c) {
                ([], c) => constant = c,
                ([a], 1) if plus.is_none() => plus = Some(a),
                ([a], -1) => minus.push(a),
                _ => return None,
            }
        }
        let is_trip = |a: &SizeAtom| matches!(a, SizeAtom::Scalar(s) if self.trips.contains(&ArrayId(*s)));
        let grows = constant > 0 && plus.is_some_and(|a| !is_trip(a));
        let plus_fits = plus.is_none_or(|a| is_trip(a) || matches!(a, SizeAtom::Name(_)));
        let any = minus.iter().copied().chain(plus).any(is_trip);
        if !any
            || grows
            || !plus_fits
            || !minus.iter().all(|a| is_trip(a))
            || constant.unsigned_abs() >= 1 << 32
        {
            return None;
        }
        let mut text = plus.map_or_else(|| "0i64".into(), |a| self.atom(a));
        minus.into_iter().for_each(|a| text += &format!(".wrapping_sub({})", self.atom(a)));
        if constant != 0 {
            text += &format!(".wrapping_add({constant}i64)");
        }
        Some(format!("({text})"))
    }

    fn atom(&self, a: &SizeAtom) -> String {
        match a {
            SizeAtom::Name(n) => format!("n{}", constants::size(self.p, n)),
            SizeAtom::Scalar(s) => self.name(ArrayId(*s)),
        }
    }

    /// The step after which each heap array is not needed any more.
    fn last_uses_of(&self, steps: &[Step]) -> FxHashMap<usize, Vec<ArrayId>> {
        let kept: FxHashSet<ArrayId> = self.p.result.leaves().into_iter().map(|a| self.root(*a)).collect();
        let mut last: FxHashMap<ArrayId, usize> = FxHashMap::default();
        for (i, s) in steps.iter().enumerate() {
            for a in tree::arrays_of(self, s) {
                last.insert(self.root(a), i);
            }
        }
        let mut out: FxHashMap<usize, Vec<ArrayId>> = FxHashMap::default();
        let mut sorted: Vec<_> = last.into_iter().collect();
        sorted.sort();
        for (a, i) in sorted {
            if !kept.contains(&a) && self.p.arrays[a.0 as usize].home == Home::Heap {
                out.entry(i).or_default().push(a);
            }
        }
        out
    }

    /// Code that makes an array's memory exist.
    fn allocate(&mut self, a: ArrayId) -> String {
        let a = self.root(a);
        if self.p.arrays[a.0 as usize].home != Home::Heap || !self.allocated.insert(a) {
            return String::new();
        }
        let (name, t) = (self.name(a), self.elem(a));
        if self.rank(a) == 0 {
            return format!("let mut {name}: {t} = ::core::default::Default::default();\n");
        }
        let dims: Vec<String> = self.memory_dims(a).iter().map(|d| self.dim(d)).collect();
        let (function, held) = match self.unset.contains(&a) {
            true => ("alloc_unset", format!("::core::mem::MaybeUninit<{t}>")),
            false if self.any.contains(&a) => ("alloc_any", t.to_string()),
            false => ("alloc", t.to_string()),
        };
        // What leaves as a result may have memory already: that of the last result that shares this array.
        let leaves = self.p.result.leaves();
        let (from, at) = match leaves.iter().rposition(|l| self.root(**l) == a) {
            Some(k) => ("given".into(), format!("{k}, {}, ", self.owner(a))),
            None => (self.owner(a), String::new()),
        };
        format!(
            "let mut {name}: __rt::buffer::Buffer<{held}> = {from}.{function}::<{t}>({at}&[{}])?;\n",
            dims.join(", ")
        )
    }

    /// An array as errors about its memory name it.
    fn owner(&self, a: ArrayId) -> String {
        format!("SIGNATURE.owner({:?})", &*self.p.arrays[self.root(a).0 as usize].name)
    }

    fn filled(&self, array: ArrayId, value: Const) -> String {
        let (to, value) = (self.name(array), expr::constant(value));
        if self.rank(array) == 0 {
            return format!("{to} = {value};\n");
        }
        format!("__rt::cpu::fill(&mut {to}[..], {value});\n")
    }
}

type Printed = Result<String, Infallible>;

impl Cpu<'_> {
    /// A part of an array, as an operand.
    fn part(&self, o: &Operand) -> String {
        let list = |items: Vec<String>| items.join(", ");
        let axis = |x: &Option<usize>| x.map_or("__rt::contract::NO_AXIS".into(), |x| x.to_string());
        format!(
            "__rt::contract::Part {{ data: &{}[..], dims: &[{}], axes: &[{}], from: &[{}] }}",
            self.name(o.array),
            list(self.p.arrays[o.array.0 as usize].dims.iter().map(|d| self.dim(d)).collect()),
            list(o.places.iter().map(|(x, _)| axis(x)).collect()),
            list(o.places.iter().map(|(_, from)| self.dim(from)).collect()),
        )
    }
}

impl BackEnd for Cpu<'_> {
    type Step = String;
    type Refusal = Infallible;

    fn tree(&mut self, t: &Tree, _: &str) -> Printed {
        Ok(self.regions(t))
    }

    fn contract(&mut self, c: &Contract, _: &str) -> Printed {
        let fresh =
            self.p.arrays[c.result.0 as usize].home == Home::Heap && !self.allocated.contains(&c.result);
        let unset = fresh && self.rank(c.result) > 0;
        self.unset.extend(unset.then_some(c.result));
        let out = self.allocate(c.result);
        self.unset.clear();
        let name = self.name(c.result);
        // Memory that was not set becomes an array of results.
        let (left, into, result) = match unset {
            true => (format!("let mut {name} = "), "_into", name),
            false => (String::new(), "", format!("&mut {name}[..]")),
        };
        let extents: Vec<String> = c.extents.iter().map(|d| format!("{}.max(0)", self.dim(d))).collect();
        let extents = extents.join(", ");
        let dims = |a: ArrayId| &self.p.arrays[a.0 as usize].dims;
        if [&c.a, &c.b].iter().all(|o| o.is_whole(&c.extents, dims(o.array))) {
            return Ok(format!(
                "{out}{left}__rt::contract::contract{into}({result}, &{}[..], &{}[..], &[{extents}], &{:?}, &{:?}, &{:?});\n",
                self.name(c.a.array),
                self.name(c.b.array),
                c.out,
                c.a.axes(),
                c.b.axes(),
            ));
        }
        let [a, b] = [&c.a, &c.b].map(|o| self.part(o));
        Ok(format!(
            "{out}{left}__rt::contract::contract_parts{into}({result}, {a}, {b}, &[{extents}], &{:?});\n",
            c.out
        ))
    }

    /// Each row along the last dimension by the runtime.
    fn sort(&mut self, s: &Sort, _: &str) -> Printed {
        let out = self.allocate(s.result);
        let function = match s.gives {
            Sorted::Positions => "argsort",
            Sorted::Values => "sort",
        };
        let dims = &self.p.arrays[s.keys.0 as usize].dims;
        let row = dims.last().map_or_else(|| "1i64".into(), |d| self.dim(d));
        let (to, from) = (self.name(s.result), self.name(s.keys));
        let owner = self.owner(s.result);
        Ok(format!("{out}{owner}.got(__rt::cpu::{function}(&mut {to}[..], &{from}[..], {row}))?;\n"))
    }

    /// Arrays one after the other, each with its rows along the last dimension.
    fn call(&mut self, c: &Call) -> Printed {
        let mut out: String = c.results.iter().map(|a| self.allocate(*a)).collect();
        let all = |list: &[ArrayId], by: &str| -> String {
            let arrays: Vec<String> = list.iter().map(|a| format!("{by} {}[..]", self.name(*a))).collect();
            arrays.join(", ")
        };
        let dims = &self.p.arrays[c.args[0].0 as usize].dims;
        let own: Vec<String> = dims[dims.len() - c.routine.rank()..].iter().map(|d| self.dim(d)).collect();
        let (results, args, own) = (all(&c.results, "&mut"), all(&c.args, "&"), own.join(", "));
        let owner = self.owner(c.results[0]);
        let name = c.routine.name();
        out.push_str(&format!("{owner}.got(__rt::cpu::{name}([{results}], [{args}], {own}))?;\n"));
        Ok(out)
    }

    /// A check with the atoms it mentions as its own little list of sizes.
    fn check(&mut self, c: &Check, l: Loc) -> Printed {
        let mut atoms: Vec<SizeAtom> = c.dims().into_iter().flat_map(Dim::atoms).collect();
        atoms.sort();
        atoms.dedup();
        let poly = |d: &Dim| {
            poly(d, &|a| expect(atoms.iter().position(|b| b == a), || format!("{a:?} is not in its check")))
        };
        let described = |d: &Dim| format!("({}, {:?})", poly(d), constants::shown(self.p, d));
        let kind = match &c.kind {
            CheckKind::Equal(a, b) => format!("Equal({}, {})", described(a), described(b)),
            CheckKind::AtLeast(a, b) => format!("AtLeast({}, {})", described(a), described(b)),
            CheckKind::NonNegative(a) => format!("NonNegative({})", described(a)),
        };
        let guards: Vec<String> = c.guards.iter().map(poly).collect();
        let values: Vec<String> = atoms.iter().map(|a| self.atom(a)).collect();
        let (kernel, file, line) = constants::place(self.p, l);
        let site = format!("__rt::program::Site {{ kernel: {kernel:?}, file: {file:?}, line: {line} }}");
        Ok(format!(
            "{{ static CHECK: __rt::program::Check = __rt::program::Check {{ kind: __rt::program::CheckKind::{kind}, guards: &[{}], site: {site} }};\n__rt::entry::check(&CHECK, &[{}], {:?})?; }}\n",
            guards.join(", "),
            values.join(", "),
            self.p.name,
        ))
    }

    fn fill(&mut self, array: ArrayId, value: Option<Const>) -> Printed {
        let fresh = !self.allocated.contains(&self.root(array));
        let Some(value) = value else {
            self.any.insert(array);
            return Ok(self.allocate(array));
        };
        let out = self.allocate(array);
        if fresh && value.is_zero() && self.rank(array) > 0 {
            return Ok(out);
        }
        Ok(out + &self.filled(array, value))
    }

    fn copy(&mut self, array: ArrayId, source: ArrayId) -> Printed {
        let out = self.allocate(array);
        let (to, from) = (self.name(array), self.name(source));
        if self.rank(array) == 0 {
            return Ok(format!("{out}{to} = {from};\n"));
        }
        Ok(format!("{out}__rt::cpu::copy(&mut {to}[..], &{from}[..]);\n"))
    }

    fn take(&mut self, array: ArrayId, source: ArrayId) -> Printed {
        Ok(self.moved(array, source))
    }

    fn repeat(&mut self, r: &Repeat, label: &str) -> Printed {
        self.depth += 1;
        let printed = self.trips_of(r, label);
        self.depth -= 1;
        printed
    }

    fn bands(&mut self, b: &Bands, label: &str) -> Printed {
        self.depth += 1;
        let printed = self.in_bands(b, label);
        self.depth -= 1;
        printed
    }

    /// Memory that nothing needs any more is given back; inside of a loop that is the end of the trip, or of the band.
    fn after(&mut self, _: &[Step], at: usize) -> Result<Vec<String>, Infallible> {
        if self.depth > 0 {
            return Ok(Vec::new());
        }
        let last = self.last_uses.remove(&at).into_iter().flatten();
        let drops = last.filter(|a| self.allocated.contains(a) && self.rank(*a) > 0);
        Ok(drops.map(|a| format!("::core::mem::drop({});\n", self.name(a))).collect())
    }
}

/// A polynomial as a `Poly` constant; `at` numbers the atoms.
fn poly(d: &Dim, at: &dyn Fn(&SizeAtom) -> usize) -> String {
    let terms: Vec<String> = d
        .terms()
        .map(|(m, c)| {
            let atoms: Vec<String> = m.iter().map(|a| at(a).to_string()).collect();
            format!("({c}, &[{}])", atoms.join(", "))
        })
        .collect();
    format!("__rt::program::Poly(&[{}])", terms.join(", "))
}
