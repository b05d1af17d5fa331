//! One shader under construction: its interface (uniform words, buffers, status) and its text.
//!
//! Names in the text are made from numbers, never from the user's names: `v3` the scalar 3, `a2` the array 2, `s0` a
//! size, `adsl_*` the prelude. Comments at the top say which array is which.
//!
//! A **space** is a list of axes whose points are numbered, last axis fastest. A shader has its threads' space
//! (`point`) and, where a workgroup folds, a second one (`inner`). Axes are decoded from the number only if something
//! uses them, and an array indexed by the leading axes of its own shape is indexed by the number itself, so an element-wise
//! shader divides nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::body::Target;
use super::context::Context;
use super::prelude;
use super::types::Kind;
use super::words::Word;
use crate::bulk::{ArrayId, Atom, Axis, Reducer, Var};
use crate::dim::Dim;
use crate::loops::uses::{Access, visit_arrays};
use crate::loops::{Home, Node, Tree, scratch};

/// A shader with the data that describes its interface.
pub(super) struct Finished {
    pub(super) label: String,
    pub(super) wgsl: String,
    pub(super) words: Vec<Word>,
    /// Sizes that are made of the words.
    pub(super) made: Vec<Dim>,
    pub(super) bindings: Vec<(ArrayId, Access)>,
    pub(super) status: bool,
    /// The points of a thread that has one point after the other.
    pub(super) each: usize,
    pub(super) needs: Vec<Need>,
}

/// What not every device has, as in the runtime's `Need`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    F64,
    I64,
    I64Atomics,
}

impl Need {
    /// What a text needs, which has no names but ours.
    fn of(code: &str) -> Vec<Need> {
        let has = |words: &[&str]| words.iter().any(|w| code.contains(w));
        let table = [
            (Need::F64, has(&["f64"])),
            (Need::I64, has(&["i64", "u64"])),
            (Need::I64Atomics, has(&["atomic<i64>", "atomic<u64>"])),
        ];
        table.into_iter().filter(|(_, needed)| *needed).map(|(need, _)| need).collect()
    }
}

/// Numbered points; see the header.
struct Space {
    name: &'static str,
    axes: Vec<Axis>,
    /// Axes that the code uses.
    used: BTreeSet<usize>,
    /// Lengths of the prefixes of axes whose number the code uses.
    prefixes: BTreeSet<usize>,
}

/// See the module header.
pub(super) struct Shader<'c, 'p> {
    pub(super) cx: &'c mut Context<'p>,
    pub(super) words: Vec<Word>,
    /// Sizes that are made of the words, and numbers of trips that are bounded.
    pub(super) made: Vec<Dim>,
    bindings: Vec<(ArrayId, Access)>,
    /// The arrays of which a thread has its own elements, and which of their dimensions are the points'.
    own: BTreeMap<ArrayId, BTreeSet<usize>>,
    /// Sizes that have a name in `main`.
    pub(super) sizes: Vec<Dim>,
    spaces: Vec<Space>,
    /// The axes in scope.
    extents: FxHashMap<Var, Dim>,
    /// Functions that combine into an element.
    pub(super) combiners: BTreeSet<(Target, Kind, Reducer)>,
    /// The array that values are combined into in the workgroup's own memory first.
    pub(super) private: Option<ArrayId>,
    /// The extents of the loops around the code.
    pub(super) around: Vec<Dim>,
    /// Whether loops of the point count their trips, and whether some have.
    pub(super) counts: bool,
    pub(super) has_counted: bool,
    /// How much of the code so far may fail.
    pub(super) failing: usize,
    body: String,
    depth: usize,
    fresh: usize,
}

impl<'c, 'p> Shader<'c, 'p> {
    /// A shader for these nodes, with every array they use bound: those only read first.
    pub(super) fn new(cx: &'c mut Context<'p>, nodes: &[Node]) -> Result<Self, String> {
        let mut uses: Vec<(ArrayId, Access)> = Vec::new();
        visit_arrays(nodes, &mut |array, access| {
            let array = cx.root(array);
            match uses.iter_mut().find(|u| u.0 == array) {
                Some(u) => u.1 = u.1.max(access),
                None => uses.push((array, access)),
            }
        });
        let mut own = BTreeSet::new();
        changed_by_points(nodes, false, &mut |array| own.extend([cx.root(array)]));
        for (array, access) in &mut uses {
            if own.contains(array) {
                *access = (*access).min(Access::Write);
            }
        }
        uses.retain(|u| !cx.is_host_scalar(u.0));
        uses.sort_by_key(|u| u.1);
        uses.retain(|u| cx.program.arrays[u.0.0 as usize].home != Home::Scratch);
        for (array, _) in &uses {
            let info = &cx.program.arrays[array.0 as usize];
            if !matches!(info.home, Home::Param | Home::Heap) {
                return Err(format!("`{}` is an array private to one point", info.name));
            }
        }
        Ok(Shader {
            cx,
            words: Vec::new(),
            made: Vec::new(),
            bindings: uses,
            own: BTreeMap::new(),
            sizes: Vec::new(),
            spaces: Vec::new(),
            extents: FxHashMap::default(),
            combiners: BTreeSet::new(),
            private: None,
            around: Vec::new(),
            counts: false,
            has_counted: false,
            failing: 0,
            body: String::new(),
            depth: 1,
            fresh: 0,
        })
    }

    /// Binds the memory that a step works in, last.
    pub(super) fn bind_scratch(&mut self, array: ArrayId, access: Access) {
        self.bindings.push((array, access));
    }

    /// Declares the arrays of which a thread has its own elements.
    pub(super) fn own_arrays(&mut self, tree: &Tree) -> Result<(), String> {
        let mut all = BTreeSet::new();
        let is_own = |a: ArrayId| self.cx.program.arrays[a.0 as usize].home == Home::Scratch;
        visit_arrays(&tree.body, &mut |a, _| all.extend(Some(a).filter(|a| is_own(*a))));
        for a in all {
            let info = &self.cx.program.arrays[a.0 as usize];
            let points = scratch::points(self.cx.program, tree, a);
            let points = points.ok_or_else(|| format!("`{}` as memory of one point", info.name))?;
            let own = info.dims.iter().enumerate().filter(|(k, _)| !points.contains(k)).map(|(_, d)| d);
            let elements = Dim::product(own).as_constant().filter(|n| *n > 0);
            let elements = elements.ok_or_else(|| format!("`{}`, whose size is not known", info.name))?;
            let kind = Kind::of(info.elem)?;
            self.line(format!("var a{}: array<{}, {elements}>;", a.0, kind.stored()));
            self.own.insert(a, points);
        }
        Ok(())
    }

    /// What of an index, or of the dimensions of an array, is not the points', which have elements of their own.
    pub(super) fn beside_points<T: Clone>(&self, root: ArrayId, all: &[T]) -> Vec<T> {
        let is_beside = |k: &usize| self.own.get(&root).is_none_or(|points| !points.contains(k));
        (0..all.len()).filter(is_beside).map(|k| all[k].clone()).collect()
    }

    /// How the array is bound.
    pub(super) fn access(&self, root: ArrayId) -> Result<Access, String> {
        if self.own.contains_key(&root) {
            return Ok(Access::Write);
        }
        let bound = self.bindings.iter().find(|b| b.0 == root);
        bound.map(|b| b.1).ok_or_else(|| {
            format!(
                "`{}`, which one of its shaders does not have",
                self.cx.program.arrays[root.0 as usize].name
            )
        })
    }

    /// A line of code.
    pub(super) fn line(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.body, "{:1$}{2}", "", self.depth * 4, text.as_ref());
    }

    /// A line that opens a block, up to `close`.
    pub(super) fn open(&mut self, text: impl AsRef<str>) {
        self.line(text);
        self.depth += 1;
    }

    /// The end of a block; `text` is `}` or goes on with `} else {`.
    pub(super) fn close(&mut self, text: &str) {
        self.depth -= 1;
        self.line(text);
        if text.ends_with('{') {
            self.depth += 1;
        }
    }

    /// The lines that `f` writes, kept apart.
    pub(super) fn apart(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<String, String> {
        let outside = std::mem::take(&mut self.body);
        let done = f(self);
        let inside = std::mem::replace(&mut self.body, outside);
        done.map(|()| inside)
    }

    /// Inserts lines made by `apart`.
    pub(super) fn insert(&mut self, lines: &str) {
        self.body.push_str(lines);
    }

    /// A name that nothing else has.
    pub(super) fn fresh(&mut self) -> String {
        self.fresh += 1;
        format!("t{}", self.fresh)
    }

    /// Brings the axes of a numbered space into scope. Their definitions come from `decode`, after the code.
    pub(super) fn enter(&mut self, name: &'static str, axes: &[Axis]) {
        self.spaces.push(Space {
            name,
            axes: axes.to_vec(),
            used: BTreeSet::new(),
            prefixes: BTreeSet::new(),
        });
        axes.iter().for_each(|a| self.axis(a));
    }

    /// Brings a loop's axis into scope.
    pub(super) fn axis(&mut self, axis: &Axis) {
        self.extents.insert(axis.var, axis.extent.clone());
    }

    /// The text of a scalar.
    pub(super) fn var(&mut self, v: Var) -> String {
        for space in &mut self.spaces {
            if let Some(at) = space.axes.iter().position(|a| a.var == v) {
                space.used.insert(at);
            }
        }
        format!("v{}", v.0)
    }

    /// Whether an index is known to be inside a dimension.
    pub(super) fn is_inside(&self, index: Atom, dim: &Dim) -> bool {
        match index {
            Atom::Var(v) => self.extents.get(&v) == Some(dim),
            Atom::Const(c) => dim.as_constant().is_some_and(|n| (0..n).contains(&c.as_i64())),
        }
    }

    /// The number, as a `u32`, of the leading indices when they are the leading axes of a space over the
    /// leading dimensions, and how many these are.
    pub(super) fn prefix(&mut self, index: &[Atom], dims: &[Dim]) -> Option<(String, usize)> {
        for space in &mut self.spaces {
            let same = |k: &usize| {
                let axis = &space.axes[*k];
                index.get(*k) == Some(&Atom::Var(axis.var)) && (*k == 0 || dims[*k] == axis.extent)
            };
            let n = (0..space.axes.len()).take_while(same).count();
            if n >= 2 || (n == 1 && space.axes.len() == 1) {
                space.prefixes.insert(n);
                let all = n == space.axes.len();
                return Some((if all { space.name.into() } else { format!("{}_{n}", space.name) }, n));
            }
        }
        None
    }

    /// The lines that define the used axes of the space entered last but `from_last`, for insertion before the
    /// code that uses them. With `q_k` the number of the first `k` axes: `q_k = q_(k+1) / n_k` and `v_k = q_(k+1) - q_k n_k`.
    pub(super) fn decode(&mut self, space: usize) -> Result<String, String> {
        let Space { name, axes, used, prefixes } = &self.spaces[space];
        let (name, axes, used) = (*name, axes.clone(), used.clone());
        let last = used.first().copied().into_iter().map(|k| k.max(1)).chain(prefixes.first().copied()).min();
        self.apart(|sh| {
            let number = |k: usize| if k == axes.len() { name.to_string() } else { format!("{name}_{k}") };
            for k in (0..axes.len()).rev() {
                // Axis 0 needs no division: it is the number of the first axis.
                if k > 0 && last.is_some_and(|l| k >= l) {
                    let n = sh.extent(&axes[k].extent)?;
                    sh.line(format!("let {} = {} / u32({n});", number(k), number(k + 1)));
                }
                if used.contains(&k) {
                    let v = axes[k].var.0;
                    if k == 0 {
                        sh.line(format!("let v{v} = i32({});", number(1)));
                    } else {
                        let n = sh.extent(&axes[k].extent)?;
                        sh.line(format!("let v{v} = i32({} - {} * u32({n}));", number(k + 1), number(k)));
                    }
                }
            }
            Ok(())
        })
    }

    /// Inserts code after the definitions of the axes of this space that it uses.
    pub(super) fn insert_in(&mut self, space: usize, code: &str) -> Result<(), String> {
        let axes = self.decode(space)?;
        self.insert(&axes);
        self.insert(code);
        Ok(())
    }

    /// The whole text; `head` goes before the sizes, `globals` before the functions.
    pub(super) fn finish(mut self, label: String, globals: &str, head: &str) -> Result<Finished, String> {
        let body = std::mem::take(&mut self.body);
        let functions = super::body::combiners(&self)?;
        self.depth = 1;
        self.define_sizes();
        let sizes = std::mem::take(&mut self.body);
        let mut code = prelude::functions_for(&format!("{functions}{body}"));
        if code.contains("adsl_zero()") {
            let zero = self.word(Word::Zero);
            code = format!("\nfn adsl_zero() -> u32 {{\n    return {zero};\n}}\n{code}");
        }
        let status = code.contains("status[");

        let mut out = String::new();
        let _ = writeln!(out, "// {label}");
        for (array, access) in &self.bindings {
            let info = &self.cx.program.arrays[array.0 as usize];
            let dims: Vec<String> = info.dims.iter().map(Dim::to_string).collect();
            let how = match access {
                Access::Read => "read",
                Access::Write => "written",
                Access::Combine => "combined into",
            };
            let _ =
                writeln!(out, "// a{}: {} [{}] {}, {how}", array.0, info.name, dims.join(", "), info.elem);
        }
        let comments = out.len();
        let blocks = self.words.len().div_ceil(4).max(1);
        let _ = writeln!(out, "@group(0) @binding(0) var<uniform> words: array<vec4<u32>, {blocks}>;");
        if status {
            let _ = writeln!(
                out,
                "@group(0) @binding(1) var<storage, read_write> status: array<atomic<u32>, 4>;"
            );
        }
        for (at, (array, access)) in self.bindings.iter().enumerate() {
            let kind = Kind::of(self.cx.program.arrays[array.0 as usize].elem)?;
            let (space, elem) = match access {
                Access::Read => ("read", kind.stored().to_string()),
                Access::Write => ("read_write", kind.stored().to_string()),
                Access::Combine => ("read_write", format!("atomic<{}>", kind.atomic())),
            };
            let binding = at + 2;
            let _ = writeln!(
                out,
                "@group(0) @binding({binding}) var<storage, {space}> a{}: array<{elem}>;",
                array.0
            );
        }
        let _ = write!(
            out,
            "{globals}{code}{functions}
@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num_wg: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {{
{head}{sizes}{body}}}
"
        );
        let needs = Need::of(out.get(comments..).unwrap_or_default());
        let Shader { words, made, bindings, .. } = self;
        Ok(Finished { label, wgsl: out, words, made, bindings, status, each: 1, needs })
    }
}

/// Calls `f` with every array that loops of points combine into: every access to it leads to an element of the point's own.
fn changed_by_points(nodes: &[Node], is_inside: bool, f: &mut impl FnMut(ArrayId)) {
    for n in nodes {
        match n {
            Node::Loop(l) => changed_by_points(&l.body, is_inside, f),
            Node::Recurrence(r) => changed_by_points(&r.body, true, f),
            Node::Accumulate { array, .. } if is_inside => f(*array),
            Node::Let(_)
            | Node::Scan(_)
            | Node::Store { .. }
            | Node::Accumulate { .. }
            | Node::Write { .. } => {}
        }
    }
}
