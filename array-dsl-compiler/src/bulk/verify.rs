//! The rules of Bulk, as in the header of `bulk`:
//!
//! * arrays and scalars are bound once, before use, and in scope; branches hide what they bind;
//! * the atoms of a dimension are sizes of the program or `i64` arrays of rank 0 bound earlier;
//! * scalar functions get as many arguments as their row says, of its class and of one type; indices are `i64`;
//! * a yield's array has the extents of the axes (`Store`), of all but the last `over` axes (`Reduce`), or the type of
//!   `into`;
//! * a scan runs along an axis and starts from what is the same at all its points; its nest stores and reduces only;
//! * a reshape keeps the product of the dimensions, as polynomials or by an earlier `check`.
//!
//! That a read which is not compared with its array's dimensions has a reason to be inside is for `affine::check` to say, of
//! optimized programs: derivatives read where their primal has, which shows when they are simplified.
//!
//! What Loops shares is in `scope`.

mod scope;

pub(crate) use scope::{Scope, Visible, resolved, same_product};

use rustc_hash::FxHashSet;

use super::{
    ArrayId, ArrayInfo, Atom, Axis, Check, Item, Nest, Program, Repeat, Stm, Trips, Var, Yield, YieldKind,
};
use crate::Verified;
use crate::dim::told;
use crate::ty::Elem;

/// The program as one the back ends take, or every rule it breaks.
pub fn verify(p: Program) -> Result<Verified<Program>, Vec<String>> {
    let errors = check(&p);
    if errors.is_empty() { Ok(Verified::new(p)) } else { Err(errors) }
}

/// Every rule the program breaks.
pub fn check(p: &Program) -> Vec<String> {
    let mut v =
        Verifier { p, scope: Scope::new(&p.arrays, &p.vars, &p.sizes, p.places.len()), checks: Vec::new() };
    v.program();
    v.scope.errors
}

pub(crate) fn unproven_read(name: &str, a: ArrayId) -> String {
    format!("`{name}.{}` is read without a comparison and without a reason", a.0)
}

struct Verifier<'a> {
    p: &'a Program,
    scope: Scope<'a>,
    /// The checks made before.
    checks: Vec<Check>,
}

impl<'a> Verifier<'a> {
    fn program(&mut self) {
        let params: Vec<ArrayId> = self.p.params.iter().flat_map(|p| p.arrays.leaves()).copied().collect();
        params.iter().for_each(|a| self.bind(*a));
        params.iter().for_each(|a| self.dims(*a));
        let infos = params.iter().filter_map(|a| self.p.arrays.get(a.0 as usize));
        let told = told(&infos.flat_map(|i| &i.dims).collect::<Vec<_>>());
        for (i, size) in self.p.sizes.iter().enumerate() {
            if self.p.sizes[..i].contains(size) {
                self.scope.error(format!("size `{size}` is listed twice"));
            }
            let chosen = self.p.strips.iter().any(|s| [&s.width, &s.trips].contains(&size));
            if !chosen && !told.iter().any(|t| t.size == *size) {
                self.scope.error(format!("size `{size}` is told by no dimension of a parameter"));
            }
        }
        for s in &self.p.strips {
            self.scope.dim(&s.total, "the directions of a strip");
            self.scope.dim(&s.bytes, "the memory of a strip");
        }
        self.p.params.iter().for_each(|p| self.scope.loc(p.loc));
        self.p.stms.iter().for_each(|s| self.stm(s));
        for a in self.p.result.leaves() {
            self.scope.readable(*a);
        }
    }

    /// Binds an array, once.
    fn bind(&mut self, a: ArrayId) {
        let Some(info) = self.scope.info(a) else { return };
        let visible = Visible { indices: info.dims.len(), scalar: info.dims.is_empty() };
        if self.scope.readable[a.0 as usize].replace(visible).is_some() {
            let name = self.scope.name(a);
            self.scope.error(format!("`{name}` is bound twice"));
        }
    }

    fn dims(&mut self, a: ArrayId) {
        let Some(info) = self.scope.info(a) else { return };
        let name = self.scope.name(a);
        info.dims.iter().for_each(|d| self.scope.dim(d, &format!("a dimension of `{name}`")));
    }

    fn stm(&mut self, stm: &'a Stm) {
        // Dimensions of what is bound here can only mention what was bound before.
        stm.results().into_iter().for_each(|a| self.dims(a));
        match stm {
            Stm::Nest(n) => self.nest(n),
            Stm::Reshape { result, source } => {
                let (result, source) = (self.scope.info(*result), self.scope.readable(*source));
                if let (Some(r), Some((s, _))) = (result, source) {
                    if r.elem != s.elem {
                        self.scope.error(format!("`{}` of {} is a reshape of {}", r.name, r.elem, s.elem));
                    }
                    if !same_product(&r.dims, &s.dims, &self.checks) {
                        self.scope
                            .error(format!("`{}` has another number of elements than `{}`", r.name, s.name));
                    }
                }
            }
            Stm::Repeat(r) => self.repeat(r),
            Stm::Sort(s) => self.scope.sort(s.result, s.keys, |_| Elem::I64),
            Stm::Call(c) => self.scope.call(c),
            Stm::Custom(c) => self.scope.custom(c, self.p.rules.get(c.rule).map(|r| &**r)),
            Stm::Check(c, loc) => {
                self.scope.loc(*loc);
                self.scope.check(c);
                self.checks.push(c.clone());
            }
        }
        stm.results().into_iter().for_each(|a| self.bind(a));
    }

    fn repeat(&mut self, r: &'a Repeat) {
        self.scope.loc(r.loc);
        for c in &r.carried {
            let types = [c.state, c.start, c.next, c.result].map(|a| self.scope.info(a));
            if let [Some(a), Some(b), Some(c), Some(d)] = types
                && [b, c, d].iter().any(|x| x.elem != a.elem || x.dims != a.dims)
            {
                self.scope.error(format!("the state `{}` of a loop changes its type", a.name));
            }
            self.scope.readable(c.start);
        }
        match &r.trips {
            Trips::For(index, count) => {
                self.scope.dim(count, "the trips of a loop");
                if self.scope.info(*index).is_some_and(|i| i.elem != Elem::I64 || !i.dims.is_empty()) {
                    self.scope.error("the index of a loop is no i64 of rank 0");
                }
            }
            Trips::While(state) => {
                let is_state = r.carried.iter().any(|c| c.state == *state);
                if !is_state || self.scope.info(*state).is_some_and(|i| i.elem != Elem::Bool) {
                    self.scope.error("the condition of a loop is no bool of its state");
                }
            }
        }
        let (outside, checks) = (self.scope.readable.clone(), self.checks.len());
        for a in r.bound() {
            self.dims(a);
            self.bind(a);
        }
        r.body.iter().for_each(|s| self.stm(s));
        for c in &r.carried {
            self.scope.readable(c.next);
        }
        self.scope.readable = outside;
        self.checks.truncate(checks);
    }

    fn nest(&mut self, n: &Nest) {
        self.scope.loc(n.loc);
        let mark = self.scope.mark();
        n.axes.iter().for_each(|x| self.scope.axis(x));
        self.scope.body(&n.body);
        self.scans(n);
        n.yields.iter().for_each(|y| self.yields(n, y));
        self.scope.leave(mark);
    }

    /// Scans run along an axis, and start from what does not change along it.
    fn scans(&mut self, n: &Nest) {
        let Some(axis) = n.axes.last() else {
            if n.body.is_ordered() {
                self.scope.error("a scan in a nest without axes");
            }
            return;
        };
        let mut along: FxHashSet<Var> = FxHashSet::from_iter([axis.var]);
        for i in &n.body.items {
            let mut depends = false;
            i.visit_atoms(&mut |a| depends |= matches!(a, Atom::Var(v) if along.contains(&v)));
            let Item::Scan(s) = i else {
                if depends {
                    along.extend(i.vars());
                }
                continue;
            };
            along.extend(&s.vars);
            if s.start.iter().any(|a| matches!(a, Atom::Var(v) if along.contains(v))) {
                self.scope.error("a scan starts from what changes along its axis");
            }
            if s.is_associative() {
                s.step.visit_atoms(&mut |a| {
                    if matches!(a, Atom::Var(v) if along.contains(&v)) {
                        self.scope.error("the step of an associative scan changes along its axis");
                    }
                });
            }
        }
    }

    fn yields(&mut self, n: &Nest, y: &Yield) {
        let Some(result) = self.scope.info(y.array) else { return };
        let name = self.scope.name(y.array);
        if n.body.is_ordered() && matches!(y.kind, YieldKind::Accumulate { .. } | YieldKind::Write { .. }) {
            self.scope.error(format!("`{name}` is made by index in a nest with a scan"));
        }
        match &y.kind {
            YieldKind::Store(v) => {
                self.scope.expect(*v, result.elem, &format!("what `{name}` stores"));
                self.extents(&name, result, &n.axes);
            }
            YieldKind::Reduce { reducer, over, value } => {
                if let Some(elem) = self.scope.atom(*value) {
                    self.scope.reducer(*reducer, elem, false);
                    if reducer.result(elem) != result.elem {
                        self.scope.error(format!("`{name}` of {} reduces values of {elem}", result.elem));
                    }
                }
                if *over == 0 || *over > n.axes.len() || (reducer.op().is_none() && *over != 1) {
                    return self
                        .scope
                        .error(format!("`{name}` reduces over {over} axes of {}", n.axes.len()));
                }
                self.extents(&name, result, &n.axes[..n.axes.len() - over]);
            }
            YieldKind::Accumulate { reducer, into, index, value } => {
                self.scope.reducer(*reducer, result.elem, true);
                self.into(&name, result, *into, index, *value);
            }
            YieldKind::Write { into, index, value, .. } => self.into(&name, result, *into, index, *value),
        }
    }

    fn extents(&mut self, name: &str, result: &ArrayInfo, axes: &[Axis]) {
        if !result.dims.iter().eq(axes.iter().map(|x| &x.extent)) {
            self.scope.error(format!("the dimensions of `{name}` are not the extents of its axes"));
        }
    }

    fn into(&mut self, name: &str, result: &ArrayInfo, into: ArrayId, index: &[Atom], value: Atom) {
        if let Some((start, _)) = self.scope.readable(into)
            && (start.elem != result.elem || start.dims != result.dims)
        {
            let start = self.scope.name(into);
            self.scope.error(format!("`{name}` starts from `{start}`, which has another type"));
        }
        self.scope.index(into, index, result.dims.len());
        self.scope.expect(value, result.elem, &format!("what goes into `{name}`"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bulk::parse::parse;
    use crate::bulk::{Exp, Var};
    use crate::ty::Elem;

    fn errors(text: &str) -> Vec<String> {
        check(&parse(text).expect("it parses"))
    }

    /// The first error of a program with parameters `x`, `m`, `k` and these statements.
    fn error(stms: &str) -> String {
        let text = format!("program f(x.0: [n]f64, m.1: [n][n]f64, k.2: i64) sizes n\n{stms}\n=> ()");
        errors(&text).first().cloned().unwrap_or_default()
    }

    #[test]
    fn accepts_what_follows_the_rules() {
        let text = "program f(x.0: [n]f64, m.1: [n][c]f64, k.2: i64) sizes n, c
            check nonnegative k.2
            y.3: [n]f64 = nest [%0 < n, %1 < c] {
              %2 = m.1[%0, %1]
              %3 = gt %2 0.0f64
              %4 = if %3 { %5 = ln %2 => %5 } else { => 0.0f64 }
            } reduce(add) 1 %4
            z.4: [k.2]f64 = nest [%6 < k.2] { %7 = x.0[%6]? } store %7
            nest [%8 < n] { %9 = y.3[%8]; %10 = size n - 1 } yields (
              i.5: i64 = reduce(argmax) 1 %9, h.6: [k.2]f64 = accumulate(add) z.4[%10] %9)
            check k.2 == n * 2 if c > 0
            q.7: [c * n]f64 = reshape m.1
            o.8: [c][2 * n]f64 = nest [%11 < c, %12 < 2 * n] { } store 1.0f64
            r.9: [c][k.2]f64 = reshape o.8
            s.10: [n]i64 = argsort x.0
            => (i.5, h.6, q.7, r.9, s.10)";
        assert_eq!(errors(text), [""; 0]);
        assert!(verify(parse(text).expect("it parses")).is_ok());
    }

    #[test]
    fn each_rule_is_checked() {
        let cases = [
            ("y.3: [n]f64 = nest [%0 < n] { %0 = size n } store 1.0f64", "%0 is bound twice"),
            ("x.0: [n]f64 = nest [%0 < n] { } store 1.0f64", "`x.0` is bound twice"),
            ("y.3: [n]f64 = nest [%0 < q] { } store 1.0f64", "`q` is no size of the program"),
            ("y.3: [k.2]f64 = nest [%0 < n] { } store 1.0f64", "the dimensions of `y.3` are not the extents"),
            (
                "y.3: [n]f64 = nest [%0 < n, %1 < n] { } store 1.0f64",
                "the dimensions of `y.3` are not the extents",
            ),
            ("y.3: [n]f32 = nest [%0 < n] { } store 1.0f64", "what `y.3` stores is f64, not f32"),
            ("y.3: f64 = nest [%0 < n] { %1 = m.1[%0] } reduce(add) 1 %1", "`m.1` takes 2 indices, not 1"),
            (
                "y.3: f64 = nest [%0 < n] { %1 = x.0[1.0f64] } reduce(add) 1 %1",
                "an index of `x.0` is f64, not i64",
            ),
            ("y.3: f64 = nest [] { %1 = add 1.0f64 2 } store %1", "`add` of f64, i64"),
            ("y.3: f64 = nest [] { %1 = and 1.0f64 1.0f64 } store %1", "`and` of f64, f64"),
            ("y.3: f64 = nest [] { %1 = powi 1.0f64 1.0f64 } store %1", "the exponent of `powi` is f64"),
            (
                "y.3: f64 = nest [] { %1 = select 1 1.0f64 1.0f64 } store %1",
                "the condition of `select` is i64",
            ),
            ("y.3: f64 = nest [] { %1 = if true { => 1.0f64 } else { => 1 } } store %1", "the branches give"),
            (
                "y.3: f64 = nest [] { %1 = if 1 { => 1.0f64 } else { => 1.0f64 } } store %1",
                "a condition is i64",
            ),
            (
                "y.3: i64 = nest [] { %1 = if true { %2 = size n => %2 } else { => 1 } } store %2",
                "%2 is not in scope",
            ),
            ("y.3: [n]f64 = nest [%0 < n] { } reduce(add) 0 1.0f64", "`y.3` reduces over 0 axes of 1"),
            (
                "y.3: i64 = nest [%0 < n, %1 < n] { } reduce(argmin) 2 1.0f64",
                "`y.3` reduces over 2 axes of 2",
            ),
            ("y.3: f64 = nest [%0 < n] { } reduce(argmin) 1 1.0f64", "`y.3` of f64 reduces values of f64"),
            ("y.3: f64 = nest [%0 < n] { } reduce(or) 1 1.0f64", "`or` does not reduce f64"),
            (
                "y.3: [n]i64 = nest [%0 < n] { } accumulate(add) x.0[%0] 1",
                "starts from `x.0`, which has another type",
            ),
            (
                "y.3: [n]f64 = nest [%0 < n] { } accumulate(argmax) x.0[%0] 1.0f64",
                "`argmax` does not accumulate",
            ),
            ("y.3: [n]f64 = nest [%0 < n] { } write x.0[%0, %0] 1.0f64", "`x.0` takes 1 indices, not 2"),
            ("y.3: [n]f64 = nest [%0 < n] { } write x.0[%0] 1.0f32", "what goes into `y.3` is f32, not f64"),
            (
                "y.3: f64 = nest [] { %1 = scan inclusive [%2 = 0.0f64] [] { => %2 } } store %1",
                "a scan in a nest without axes",
            ),
            (
                "y.3: [n]f64 = nest [%0 < n] { %1 = x.0[%0]; %2 = scan inclusive [%3 = %1] [] { => %3 } } store %2",
                "a scan starts from what changes along its axis",
            ),
            (
                "y.3: [n]f64 = nest [%0 < n] {
                   %1 = x.0[%0]
                   %2 = scan inclusive [%3 = 0.0f64] [%4 = 1.0f64] { => %1 }
                 } store %2",
                "the step of an associative scan changes along its axis",
            ),
            (
                "y.3: [n]f64 = nest [%0 < n] { %1 = scan inclusive [%2 = 0.0f64] [] { => 1 } } store %1",
                "a scan goes from",
            ),
            (
                "y.3: [n]f64 = nest [%0 < n] {
                   %1 = scan inclusive [%2 = 0.0f64] [] { => %2 }
                 } accumulate(add) x.0[%0] %1",
                "`y.3` is made by index in a nest with a scan",
            ),
            ("y.3: [n]f64 = argsort x.0", "`y` is no sort of `x`"),
            ("y.3: [n]f64 = reshape m.1", "another number of elements"),
            ("y.3: [n * n]f32 = reshape m.1", "is a reshape of f64"),
            ("check n == q", "`q` is no size of the program"),
        ];
        for (stms, wanted) in &cases {
            let found = error(stms);
            assert!(found.contains(wanted), "{stms}\n{found}");
        }
        assert!(
            errors("program f(x.0: [n * n]f64) sizes n => x.0")[0]
                .contains("size `n` is told by no dimension")
        );
        assert!(
            errors("program f(x.0: [n]f64, s.1: f64) sizes n check n == s.1 => x.0")[0].contains("no i64")
        );
        assert!(errors("program f(x.0: [n]f64) sizes n check n == x.0 => x.0")[0].contains("no i64"));
    }

    #[test]
    fn use_before_binding_and_bad_numbers_are_errors() {
        let text = "program f(x.0: [n]f64) sizes n
            y.1: [n]f64 = nest [%0 < n] { %1 = x.0[%0] } store %1
            z.2: [n]f64 = reshape y.1
            => z.2";
        let good = parse(text).expect("it parses");
        let mut p = good.clone();
        p.stms.swap(0, 1);
        assert_eq!(check(&p), ["`y.1` is used before it is bound"]);
        let mut p = good.clone();
        p.stms.remove(1);
        assert_eq!(check(&p), ["`z.2` is used before it is bound"]);
        let mut p = good.clone();
        p.vars[1] = Elem::Infer(0);
        assert_eq!(check(&p)[0], "the type of `%1` is not settled");
        let mut p = good.clone();
        if let Stm::Nest(n) = &mut p.stms[0] {
            let Item::Let(l) = &mut n.body.items[0] else { panic!("a scan") };
            l.exp = Exp::Op(crate::scalar::Op::Neg, vec![Atom::Var(Var(77))]);
            n.yields[0].array = ArrayId(99);
        }
        assert!(check(&p).contains(&"%77 is not in scope".to_string()));
        assert!(check(&p).contains(&"there is no array 99".to_string()));
        let mut p = good;
        if let Stm::Nest(n) = &mut p.stms[0] {
            n.loc = crate::ty::Loc(9);
        }
        assert_eq!(check(&p), ["there is no place 9"]);
    }
}
