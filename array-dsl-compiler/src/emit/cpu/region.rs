//! Regions: the code that one task executes, as a struct of everything it uses with a method `run`.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::angles::{self, Run};
use super::together::Wide;
use super::{Cpu, expr};
use crate::bulk::{ArrayId, Atom, Var};
use crate::dim::Dim;
use crate::loops::Home;
use crate::ty::{Const, Elem};

/// The bytes of scratch memory that may be on the stack: those of the nearest cache.
const ON_STACK: i64 = 1 << 15;

/// What the code of a region uses and binds: its parameters follow from that.
#[derive(Default)]
pub(super) struct Region {
    pub sizes: BTreeSet<usize>,
    pub arrays: BTreeSet<ArrayId>,
    /// Arrays the region writes; their memory starts at the chunk's first row.
    pub outputs: BTreeSet<ArrayId>,
    pub rows: BTreeSet<ArrayId>,
    /// Scratch arrays, and which of their dimensions are the points'.
    pub scratch: BTreeMap<ArrayId, BTreeSet<usize>>,
    /// Of how many points at a time there is scratch memory, where they go together: an expression, called `width`.
    pub width: Option<String>,
    /// What `width` is at most; 0 where points do not go together.
    pub most_lanes: usize,
    /// Arrays that all tasks have, and of which each reads and changes elements of its own only.
    pub owned: BTreeSet<ArrayId>,
    pub free: BTreeSet<Var>,
    pub bound: FxHashSet<Var>,
    /// Parallel axes in groups; the axes of a group are one axis, named like the first.
    pub groups: Vec<Vec<Var>>,
    /// More parameters: names, types with the lifetime `'a`, and values.
    pub extra: Vec<(String, String, String)>,
    /// The arrays that the code changes in place, and what they are called.
    pub targets: BTreeMap<ArrayId, String>,
    /// Where these begin as neutral values and are only combined into: the code that has them begin so again.
    pub reset: Option<String>,
    /// Whether all tasks have that array, of which each sets elements of its own.
    pub shared: bool,
    /// Whether there are functions of angles: see `angles`.
    pub angles: bool,
    /// Whether the code reads what it writes.
    pub rereads: bool,
    /// The loop in tiles across arrays that the code is in, and these.
    pub across: Option<(Var, Vec<ArrayId>)>,
    /// Arrays whose rows are read as columns, with how often.
    pub columns: BTreeMap<ArrayId, Vec<Dim>>,
    /// At the host level nothing is passed: everything is in scope.
    pub host: bool,
    /// Whether the code is in lanes some of which have no point (`together`).
    pub masked: bool,
    /// Whether lanes that have ended are left out of the code (`together`). What it chooses data decide, and nobody guesses: a processor
    /// that does is wrong half of the time.
    pub guarded: bool,
    /// The points whose lanes the code is executed by: `base + lane`.
    pub lanes: Option<Var>,
    /// Whether both sides of choices are computed (`together`).
    pub both_sides: bool,
    /// On one of them, the condition under which it is taken.
    pub taken: Option<String>,
    /// Whether it is that of whole blocks (`together`).
    pub whole: bool,
    /// Where there is such code: the condition under which a chunk has a whole block, called `wide`, and the lanes of one.
    pub wide_if: Option<(String, i64)>,
    /// The arrays that whole blocks combine into in lanes, and the memory for that.
    pub wide: BTreeMap<ArrayId, Wide>,
}

/// How to run a region: what to prepare, and the call for one chunk.
pub(super) struct Call {
    pub shared: String,
    pub invoke: String,
    /// What to check when all chunks are done.
    pub after: &'static str,
}

/// What a region gives.
pub(super) struct Given<'t> {
    /// Its type.
    pub output: &'t str,
    /// The value at the end of the code.
    pub value: &'t str,
    /// What stands for it where the region is left out after a failure, or a buffer cannot be had: anything that can be worked
    /// with.
    pub left_out: &'t str,
    /// The place of the chunk in the order of all: two numbers.
    pub at: &'t str,
}

impl Given<'static> {
    /// Nothing.
    pub const NOTHING: Given<'static> = Given { output: "()", value: "", left_out: "()", at: "(lo, 0)" };
}

/// Whether code may fail: it then has a chunk that may, or hands the status on with the number of a place.
pub(super) fn can_fail(code: &str) -> bool {
    const HANDED: &str = "status, ";
    let is_number = |at: usize| code[at + HANDED.len()..].starts_with(|c: char| c.is_ascii_digit());
    code.contains("status.chunk(") || code.match_indices(HANDED).any(|(at, _)| is_number(at))
}

impl Region {
    pub fn atom(&mut self, a: Atom) -> String {
        if let Atom::Var(v) = a
            && !self.bound.contains(&v)
        {
            self.free.insert(v);
        }
        expr::atom(a)
    }

    pub fn bound(&mut self, v: Var) {
        self.bound.insert(v);
    }

    /// What has to be done before the code can be executed again, if it can be.
    fn again(&self) -> Option<&str> {
        let reset = if self.targets.is_empty() { Some("") } else { self.reset.as_deref() };
        reset.filter(|_| !self.rereads)
    }

    /// A value, in lanes without a point another one.
    pub fn in_points(&self, value: String, otherwise: &str) -> String {
        if self.masked { format!("if inside {{ {value} }} else {{ {otherwise} }}") } else { value }
    }

    /// The same, with the other one on a side of a choice that is not taken, too.
    pub fn where_taken(&self, value: String, otherwise: &str) -> String {
        let value = match &self.taken {
            Some(taken) => format!("if {taken} {{ {value} }} else {{ {otherwise} }}"),
            None => value,
        };
        self.in_points(value, otherwise)
    }

    /// Code that changes memory, in lanes without a point left out.
    pub fn only_in_points(&self, code: String) -> String {
        if self.masked { format!("if inside {{ {code} }}\n") } else { code }
    }

    pub fn uses_size(&mut self, k: usize) {
        self.sizes.insert(k);
    }

    pub fn uses_array(&mut self, a: ArrayId) {
        self.arrays.insert(a);
    }

    pub fn is_output(&self, a: ArrayId) -> bool {
        self.outputs.contains(&a)
    }

    /// How many of the indices that start with `a` are one merged axis.
    pub fn group(&self, a: Atom) -> usize {
        let group = |v| self.groups.iter().find(|g| g.first() == Some(&v)).map_or(1, Vec::len);
        if let Atom::Var(v) = a { group(v) } else { 1 }
    }

    /// An array as a slice expression.
    pub fn array(&mut self, c: &Cpu<'_>, a: ArrayId) -> String {
        let root = c.root(a);
        let name = c.name(a);
        self.rereads |= self.is_output(root) || self.targets.contains_key(&root);
        if matches!(c.p.arrays[root.0 as usize].home, Home::Row { .. }) {
            self.rows.insert(root);
            return format!("&{name}[..]");
        }
        if self.scratch.contains_key(&root) {
            return format!("&{name}[..]");
        }
        if self.owned.contains(&root) {
            self.rereads = true;
            return name;
        }
        if let Some(target) = self.targets.get(&root) {
            return format!("&*{target}");
        }
        if self.is_output(root) {
            return format!("&*{name}");
        }
        self.uses_array(root);
        if self.host { format!("&{name}[..]") } else { name }
    }
}

impl Cpu<'_> {
    /// Makes a region of the code; how to call it.
    pub(super) fn region(&mut self, r: &mut Region, run: &str, given: &Given<'_>) -> Call {
        let Given { output, value: finish, left_out, at } = given;
        let id = format!("Region{}", self.regions);
        self.regions += 1;
        let mut rows = Rows::default();
        for a in r.rows.clone() {
            let dims: Vec<String> = self.memory_dims(a).to_vec().iter().map(|d| self.dim_in(d, r)).collect();
            self.buffer(&self.name(a), a, &dims, left_out, &mut rows);
        }
        if let (Some(width), false) = (&r.width, r.scratch.is_empty()) {
            rows.width = format!("let width: i64 = {width};\n");
        }
        for (a, points) in r.scratch.clone() {
            self.scratch_buffer(a, &points, r, left_out, &mut rows);
        }
        if let Some((condition, width)) = &r.wide_if {
            rows.wide = format!("let wide: bool = {condition};\n");
            for (a, Wide { name, elements, reducer }) in &r.wide {
                let dims = [format!("if wide {{ {elements} + 1 }} else {{ 0 }}"), width.to_string()];
                self.buffer(name, *a, &dims, left_out, &mut rows);
                let neutral = expr::constant(reducer.neutral(self.elem(*a)));
                rows.buffers.push_str(&format!("{name}.fill({neutral});\n"));
            }
        }
        let mut fields: Vec<(String, String, String)> = Vec::new();
        let mut shared = String::new();
        for k in &r.sizes {
            fields.push((format!("n{k}"), "i64".into(), format!("n{k}")));
        }
        for v in r.free.difference(&r.bound.iter().copied().collect()) {
            let name = format!("v{}", v.0);
            fields.push((name.clone(), self.p.vars[v.0 as usize].to_string(), name));
        }
        for a in &r.arrays {
            let (name, t) = (self.name(*a), self.elem(*a));
            if r.is_output(*a) {
                continue;
            }
            if self.rank(*a) == 0 {
                fields.push((name.clone(), t.to_string(), name));
            } else {
                fields.push((name.clone(), format!("&'a [{t}]"), format!("&{name}[..]")));
            }
        }
        for a in &r.outputs {
            let name = self.name(*a);
            let t = self.output_type(*a);
            // Chunks are of the first axis, which may be the first few dimensions in one. A point of the host level has all.
            let leading = if r.host { 0 } else { r.groups.first().map_or(1, Vec::len) };
            let stride = expr::product(self.memory_dims(*a)[leading..].iter().map(|d| self.dim(d)));
            shared.push_str(&format!("let {name} = __rt::trusted::Shared::new({});\n", self.slice_mut(*a)));
            fields.push((
                name.clone(),
                format!("&'a mut [{t}]"),
                format!("unsafe {{ {name}.rows(lo, hi, {stride} as usize) }}"),
            ));
        }
        for a in &r.owned {
            let (name, t) = (self.name(*a), self.elem(*a));
            shared.push_str(&format!("let {name} = __rt::trusted::Owned::new(&mut {name}[..]);\n"));
            fields.push((name.clone(), format!("__rt::trusted::Owned<'a, {t}>"), format!("{name}.clone()")));
        }
        for (a, around) in &r.columns {
            let (name, t) = (format!("columns{}", a.0), self.elem(*a));
            shared.push_str(&self.made_columns(*a, around));
            fields.push((name.clone(), format!("&'a [{t}]"), format!("&{name}[..]")));
        }
        fields.extend(r.extra.iter().cloned());
        let declared: String = fields.iter().map(|(n, t, _)| format!("{n}: {t}, ")).collect();
        let names: String = fields.iter().map(|(n, ..)| format!("{n}, ")).collect();
        let plain: String = fields
            .iter()
            .map(|(n, t, _)| format!("{n}: {}, ", t.replace("'a ", "").replace("<'a, ", "<'_, ")))
            .collect();
        let values: String = fields.iter().map(|(n, _, v)| format!("{n}: {v}, ")).collect();
        let Run { constants, parameter, functions, code } = match r.angles {
            true => angles::angles(&id, &fields, &plain, output, r.again()),
            false => angles::plain(&id, &names),
        };
        self.items.push_str(&format!(
            "struct {id}<'a> {{ lo: i64, hi: i64, status: &'a __rt::status::Status, {declared}}}\n\
             impl<'a> __rt::cpu::Region for {id}<'a> {{\n\
             type Output = {output};\n\
             #[inline(always)]\n\
             fn run<const VECTOR: i64>(self) -> {output} {{\n\
             let {id} {{ lo, hi, status, {names}}} = self;\n\
             {code}\n}}\n}}\n{functions}\
             {}",
            rows.functions(
                &id,
                constants,
                [
                    format!("{}lo: i64, hi: i64, status: &__rt::status::Status, {plain}", parameter[0]),
                    format!("{}lo, hi, status, {names}", parameter[1]),
                ],
                output,
                &format!("{run}{finish}"),
            )
        ));
        let by = if r.host { "Region::run::<0>" } else { "simd" };
        let invoke = format!("__rt::cpu::{by}({id} {{ lo: lo as i64, hi: hi as i64, status, {values}}})");
        let invoke = match can_fail(run) {
            true => format!("status.chunk({at}, || {left_out}, |status| {invoke})"),
            false => invoke,
        };
        let has_buffers = !r.rows.is_empty() || !r.scratch.is_empty();
        let after = if has_buffers { "status.allocated(&SIGNATURE)?;\n" } else { "" };
        Call { shared, invoke, after }
    }

    /// The element type of the slice that a region writes an array through.
    fn output_type(&self, a: ArrayId) -> String {
        let t: Elem = self.elem(a);
        if self.unset.contains(&a) { format!("::core::mem::MaybeUninit<{t}>") } else { t.to_string() }
    }

    /// Scratch memory in the region: the lanes of the points are its last dimension. What is little, as constants say, is on the stack,
    /// where rustc sees that no two arrays are one.
    fn scratch_buffer(
        &mut self,
        a: ArrayId,
        points: &BTreeSet<usize>,
        r: &mut Region,
        empty: &str,
        rows: &mut Rows,
    ) {
        let dims = self.memory_dims(a).to_vec();
        let own: Vec<_> =
            dims.iter().enumerate().filter(|(k, _)| !points.contains(k)).map(|(_, d)| d).collect();
        let elements =
            own.iter().try_fold(r.most_lanes.max(1) as i64, |n, d| n.checked_mul(d.as_constant()?));
        let (name, t) = (self.name(a), self.elem(a));
        if let Some(n) = elements.filter(|n| (1..=(ON_STACK - rows.stack) / t.bytes()).contains(n)) {
            rows.stack += n * t.bytes();
            let zero = expr::constant(Const::of(t, 0));
            rows.locals.push_str(&format!("let mut {name}: [{t}; {n}] = [{zero}; {n}];\n"));
            return;
        }
        let mut dims: Vec<String> = own.into_iter().map(|d| self.dim_in(d, r)).collect();
        dims.extend(r.width.as_ref().map(|_| "width".into()));
        self.buffer(&name, a, &dims, empty, rows);
    }

    /// Memory of this name, for a row of an array or what belongs to it.
    fn buffer(&self, name: &str, a: ArrayId, dims: &[String], empty: &str, rows: &mut Rows) {
        let t = self.elem(a);
        rows.buffers.push_str(&format!(
            "let ::core::option::Option::Some(mut {name}) = __rt::allocate::row::<{t}>(&[{}], {:?}, status) else {{ return {empty}; }};\n",
            dims.join(", "),
            &*self.p.arrays[a.0 as usize].name
        ));
        rows.parameters.push_str(&format!("{name}: &mut [{t}], "));
        rows.lent.push_str(&format!("&mut {name}[..], "));
    }
}

/// The memory of a region's own arrays. What is not on the stack is allocated by a function that lends it to the one that has the code:
/// as that one's parameters no two of them are one, which LLVM would ask of their addresses before each loop else, and deny where a
/// loop around it goes backwards through one of them.
#[derive(Default)]
struct Rows {
    /// How many points go together, and whether there are whole blocks with code of their own.
    width: String,
    wide: String,
    /// The declarations of those in memory, and what they are as parameters and as arguments.
    buffers: String,
    parameters: String,
    lent: String,
    /// The declarations of those on the stack, and how many bytes these have.
    locals: String,
    stack: i64,
}

/// What the code of a region begins with. LLVM may look whether there is anything to do before it makes room on the stack, and where that is
/// more than some pages it then overwrites a register (r11 on x86) that may hold the answer: the end of a loop, in one case. Room that is
/// used at once is made at once.
const ROOM_FIRST: &str = "::core::hint::black_box(0u8);\n";

impl Rows {
    /// The function of a region that has this code. Its constants and parameters come as declared, and as handed on.
    fn functions(
        &self,
        id: &str,
        constants: [&str; 2],
        [parameters, arguments]: [String; 2],
        output: &str,
        code: &str,
    ) -> String {
        let Rows { width, wide, buffers, parameters: rows, lent, locals, .. } = self;
        let function = |name: &str, parameters: &str, code: &str| {
            let declared = constants[0];
            format!("#[inline(always)]\nfn {id}_{name}{declared}({parameters}) -> {output} {{\n{code}\n}}\n")
        };
        if buffers.is_empty() {
            return function("run", &parameters, &format!("{ROOM_FIRST}{width}{wide}{locals}{code}"));
        }
        let [of_width, its_value] = if width.is_empty() { ["", ""] } else { ["width: i64, ", "width, "] };
        let call = format!("{id}_in::{}({arguments}{its_value}{lent})", constants[1]);
        function("run", &parameters, &format!("{ROOM_FIRST}{width}{wide}{buffers}{call}"))
            + &function("in", &format!("{parameters}{of_width}{rows}"), &format!("{wide}{locals}{code}"))
    }
}
