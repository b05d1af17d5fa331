//! Scalar code as Rust.

use std::collections::BTreeSet;

use super::super::constants;
use super::region::Region;
use super::{Cpu, runs};
use crate::bulk::{ArrayId, Atom, Axis, Branch, Exp, Let, Reducer, Var};
use crate::dim::Dim;
use crate::internal::{self, expect};
use crate::loops::Home;
use crate::loops::together::selects;
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc};

/// A constant; negative ones in parentheses, so that methods can be called on it.
pub(super) fn constant(c: Const) -> String {
    let text = match c.elem {
        Elem::Bool => return c.as_bool().to_string(),
        e if e.is_float() => {
            let x = c.as_f64();
            if x.is_nan() {
                return format!("{e}::NAN");
            } else if x.is_infinite() {
                return if x > 0.0 { format!("{e}::INFINITY") } else { format!("{e}::NEG_INFINITY") };
            } else if e == Elem::F32 {
                format!("{:?}f32", x as f32)
            } else {
                format!("{x:?}f64")
            }
        }
        Elem::I64 if c.as_i64() == i64::MIN => return "i64::MIN".into(),
        Elem::I32 if c.as_i64() == i64::from(i32::MIN) => return "i32::MIN".into(),
        e => format!("{}{e}", c.as_i64()),
    };
    if text.starts_with('-') { format!("({text})") } else { text }
}

pub(super) fn atom(a: Atom) -> String {
    match a {
        Atom::Var(v) => format!("v{}", v.0),
        Atom::Const(c) => constant(c),
    }
}

/// `a` and `b` combined by a reducer.
pub(super) fn combine(r: Reducer, elem: Elem, a: &str, b: &str) -> String {
    match r.op() {
        Some(op) => apply(op, &[elem, elem], &[a.to_string(), b.to_string()], 0),
        None => String::new(),
    }
}

/// A function of the table applied to texts.
fn apply(op: Op, elems: &[Elem], args: &[String], site: usize) -> String {
    let elem = match op {
        Op::Select => elems[1],
        _ => elems[0],
    };
    if let Op::Cast(to) = op {
        return match (elem, to) {
            (Elem::Bool, t) if t.is_float() => format!("({} as i64 as {t})", args[0]),
            (f, Elem::Bool) if f.is_float() => format!("({} != 0.0)", args[0]),
            (_, Elem::Bool) if elem != Elem::Bool => format!("({} != 0)", args[0]),
            (_, t) => format!("({} as {t})", args[0]),
        };
    }
    let row = expect(op.row(), || format!("`{}` has no text", op.name()));
    let mut out = String::new();
    let mut chars = row.rust(elem).chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '{' | '}' if chars.peek() == Some(&c) => {
                out.push(c);
                chars.next();
            }
            '{' => {
                let digit = chars.next().and_then(|d| d.to_digit(10));
                let arg = digit.and_then(|d| args.get(d as usize)).map(String::as_str);
                out.push_str(expect(arg, || format!("`{}` of {} arguments", op.name(), args.len())));
                chars.next();
            }
            c => out.push(c),
        }
    }
    out.replace("R::", &format!("<{elem} as __rt::real::Real>::"))
        .replace("D::", &format!("<{elem} as __rt::real::Division>::"))
        .replace("SITE", &format!("{site}u32"))
}

/// The product of extents. Where one of them is zero others may be beyond all memory, so it saturates.
pub(super) fn product(extents: impl IntoIterator<Item = String>) -> String {
    let factors = extents.into_iter().map(|e| format!("{e}.max(0)"));
    factors.reduce(|p, f| format!("{p}.saturating_mul({f})")).map_or_else(|| "1".into(), |p| format!("({p})"))
}

impl Cpu<'_> {
    pub(super) fn atom_elem(&self, a: Atom) -> Elem {
        match a {
            Atom::Var(v) => self.p.vars[v.0 as usize],
            Atom::Const(c) => c.elem,
        }
    }

    /// A statement.
    pub(super) fn binding(&mut self, l: &Let, r: &mut Region) -> String {
        match &l.exp {
            Exp::If(c, x, y) => {
                let names: Vec<String> = l.vars.iter().map(|v| format!("v{}", v.0)).collect();
                l.vars.iter().for_each(|v| r.bound(*v));
                let left =
                    if names.len() == 1 { names[0].clone() } else { format!("({})", names.join(", ")) };
                let c = r.atom(*c);
                if r.both_sides && selects(l, &self.p.vars) {
                    return self.selection(&l.vars, &c, [x, y], r);
                }
                let (x, y) = (self.branch(x, r), self.branch(y, r));
                runs::marked(&format!("let {left} = if {c} {{\n{x}}} else {{\n{y}}};\n"))
            }
            e => {
                let text = self.expression(e, l, r);
                r.bound(l.vars[0]);
                let elem = self.p.vars[l.vars[0].0 as usize];
                runs::marked(&format!("let v{}: {elem} = {text};\n", l.vars[0].0))
            }
        }
    }

    /// A choice whose sides are both computed. There are no choices on them.
    fn selection(&mut self, vars: &[Var], c: &str, sides: [&Branch; 2], r: &mut Region) -> String {
        let mut out = String::new();
        for (side, taken) in sides.into_iter().zip([c.to_owned(), format!("!{c}")]) {
            r.taken = Some(taken);
            side.block.lets.iter().for_each(|l| out.push_str(&self.binding(l, r)));
        }
        r.taken = None;
        for ((v, x), y) in vars.iter().zip(&sides[0].results).zip(&sides[1].results) {
            let (elem, x, y) = (self.p.vars[v.0 as usize], r.atom(*x), r.atom(*y));
            out.push_str(&runs::marked(&format!(
                "let v{}: {elem} = if {c} {{ {x} }} else {{ {y} }};\n",
                v.0
            )));
        }
        out
    }

    pub(super) fn branch(&mut self, b: &Branch, r: &mut Region) -> String {
        let mut out = String::new();
        for l in &b.block.lets {
            out.push_str(&self.binding(l, r));
        }
        let results: Vec<String> = b.results.iter().map(|a| r.atom(*a)).collect();
        if results.len() == 1 { out + &results[0] + "\n" } else { format!("{out}({})\n", results.join(", ")) }
    }

    fn expression(&mut self, e: &Exp, l: &Let, r: &mut Region) -> String {
        match e {
            Exp::Op(op, args) => {
                let site = if op.can_fail() { self.site(l.loc) } else { 0 };
                let elems: Vec<Elem> = args.iter().map(|a| self.atom_elem(*a)).collect();
                let texts: Vec<String> = args.iter().map(|a| r.atom(*a)).collect();
                if let (false, Op::Sin | Op::Cos | Op::Tan) = (r.host, op) {
                    r.angles = true;
                    // What a lane without a point computes, or a side that is not taken, is no angle that the region would be executed
                    // again for.
                    let angle = r.where_taken(texts[0].clone(), &constant(Const::of(elems[0], 0)));
                    return format!("__rt::real::{}::<LONG, {}>({angle}, long)", op.name(), elems[0]);
                }
                if r.guarded && *op == Op::Select {
                    return format!("::core::hint::select_unpredictable({})", texts.join(", "));
                }
                apply(*op, &elems, &texts, site)
            }
            Exp::Size(d) => self.dim_in(d, r),
            Exp::StopGradient(a) => r.atom(*a),
            Exp::Read { array, index, checked } => {
                if self.rank(*array) == 0 {
                    r.uses_array(self.root(*array));
                    return self.name(*array);
                }
                let zero = constant(Const::of(self.elem(*array), 0));
                if let (false, Some(column)) = (checked, self.of_columns(*array, index, r)) {
                    return r.in_points(column, &zero);
                }
                let name = r.array(self, *array);
                let read = if r.owned.contains(&self.root(*array)) {
                    format!("unsafe {{ {name}.get({}) }}", self.linear(*array, index, r))
                } else {
                    let (memory, at) = self.located(&name, "tail", (*array, index), r);
                    format!("unsafe {{ __rt::trusted::get({memory}, {at}) }}")
                };
                if !checked {
                    return r.in_points(read, &zero);
                }
                let dims = self.memory_dims(*array).to_vec();
                let inside = self.compared(index, &dims, l.loc, r);
                format!("if {inside} {{ {read} }} else {{ {zero} }}")
            }
            Exp::Inside { index, dims, .. } => self.compared(index, dims, l.loc, r),
            Exp::If(..) => internal::broken("a choice is no expression".into()),
        }
    }

    /// Whether an index is inside, which is a failure else.
    fn compared(&mut self, index: &[Atom], dims: &[Dim], loc: Loc, r: &mut Region) -> String {
        let site = self.site(loc);
        let mut test = |(i, d): (&Atom, &Dim)| {
            let d = self.dim_in(d, r);
            format!("__rt::status::in_range({}, {d}, status, {site}u32)", r.atom(*i))
        };
        index.iter().zip(dims).map(&mut test).collect::<Vec<_>>().join(" && ")
    }

    /// The position of an element in an array's memory. In the region that writes it, memory starts at the chunk's
    /// first row.
    pub(super) fn linear(&mut self, array: ArrayId, index: &[Atom], r: &mut Region) -> String {
        if let Some(points) = r.scratch.get(&array).cloned() {
            return self.in_scratch(array, index, &points, r);
        }
        let first = index.first().map(|a| r.atom(*a)).unwrap_or_default();
        let first = if self.is_local(array, r) { format!("({first} - lo)") } else { first };
        self.after_first(array, index, first, r)
    }

    /// Memory, and the position of an element in it; `tail` is the function that takes memory from some row on. In lanes that have rows of their own, memory from the first lane's row on. Then
    /// positions are less than the lanes times what a row has, and LLVM need not compare them with what a number can be: where it has
    /// more than 16 of them to compare, it makes no vectors.
    pub(super) fn located(
        &mut self,
        name: &str,
        tail: &str,
        (array, index): (ArrayId, &[Atom]),
        r: &mut Region,
    ) -> (String, String) {
        let is_lane = r.lanes.is_some() && index.first().and_then(|a| a.var()) == r.lanes;
        if !is_lane || index.len() == 1 || r.scratch.contains_key(&array) {
            return (name.to_owned(), self.linear(array, index, r));
        }
        let base = if self.is_local(array, r) { "(base - lo)" } else { "base" };
        let dims = self.memory_dims(array)[r.group(index[0])..].to_vec();
        let row = dims.iter().fold(base.to_owned(), |row, d| format!("{row} * {}", self.dim_in(d, r)));
        let at = self.after_first(array, index, "lane".into(), r);
        (format!("__rt::trusted::{tail}({name}, {row})"), at)
    }

    /// Whether a region's memory of an array starts at the chunk's first row.
    fn is_local(&self, array: ArrayId, r: &Region) -> bool {
        r.is_output(self.root(array)) && !matches!(self.p.arrays[array.0 as usize].home, Home::Row { .. })
    }

    /// The position of an element, of whose index the first number is given.
    fn after_first(&mut self, array: ArrayId, index: &[Atom], first: String, r: &mut Region) -> String {
        let dims: Vec<String> = self.memory_dims(array).to_vec().iter().map(|d| self.dim_in(d, r)).collect();
        let mut out = String::new();
        let mut k = 0;
        while k < index.len() {
            let merged = r.group(index[k]);
            let dims = expect(dims.get(k..k + merged), || {
                format!("an index of more than {} dimensions", dims.len())
            })
            .join(" * ");
            out = match k {
                0 => first.clone(),
                _ => format!("({out} * {dims} + {})", r.atom(index[k])),
            };
            k += merged;
        }
        if out.is_empty() { "0i64".into() } else { out }
    }

    /// The same in scratch memory, where the points' dimensions are one of lanes, the last.
    fn in_scratch(
        &mut self,
        array: ArrayId,
        index: &[Atom],
        points: &BTreeSet<usize>,
        r: &mut Region,
    ) -> String {
        let dims = self.memory_dims(array).to_vec();
        let own = index.iter().zip(&dims).enumerate().filter(|(k, _)| !points.contains(k));
        let mut out = String::new();
        for (_, (i, d)) in own {
            let text = r.atom(*i);
            out = if out.is_empty() { text } else { format!("({out} * {} + {text})", self.dim_in(d, r)) };
        }
        match (&r.width, out.is_empty()) {
            (Some(_), true) => "lane".into(),
            (Some(_), false) => format!("({out} * width + lane)"),
            (None, true) => "0i64".into(),
            (None, false) => out,
        }
    }

    /// The number of points of axes that count as one, inside a region. A negative extent is that of no points: where sizes are not
    /// checked because the code is not executed there may be two of them.
    pub(super) fn trips_in<'x>(&self, axes: impl Iterator<Item = &'x Axis>, r: &mut Region) -> String {
        let extents: Vec<String> = axes.map(|a| self.dim_in(&a.extent, r)).collect();
        match extents.as_slice() {
            [extent] => extent.clone(),
            _ => product(extents),
        }
    }

    /// A dimension inside a region, which then needs its sizes.
    pub(super) fn dim_in(&self, d: &crate::dim::Dim, r: &mut Region) -> String {
        for a in d.atoms() {
            match a {
                crate::dim::SizeAtom::Name(n) => {
                    r.uses_size(constants::size(self.p, &n));
                }
                crate::dim::SizeAtom::Scalar(s) => r.uses_array(self.root(ArrayId(s))),
            }
        }
        self.dim(d)
    }
}
