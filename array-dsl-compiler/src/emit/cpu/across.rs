//! Tiles that read columns of arrays as rows.
//!
//! In `for i { for j { for c { .. x[j, c] .. } fold + } fold min }` the loop over `c` is too short for lanes, and neighboring trips of
//! the loop over `j` read elements that are far from each other. If it is executed often, a copy pays of which the rows are columns:
//!
//! ```text
//! columns[c, j] = x[j, c]
//! for i { for each tile { for c { for j in tile { .. columns[c, j] .. } fold + }; for j in tile { } fold min } }
//! ```
//!
//! Whether it does depends on sizes: **where the runtime made no copy, the loop has its other form**.

use super::region::Region;
use super::{Cpu, expr, fold};
use crate::bulk::{ArrayId, Atom, Reducer, Var};
use crate::dim::Dim;
use crate::loops::{Across, Fold, LANES, Loop, Plan};

impl Cpu<'_> {
    /// `for axis in from..to` in tiles, or else; leaves the states of the folds in scope.
    pub(super) fn across(&mut self, l: &Loop, a: &Across, from: &str, to: &str, r: &mut Region) -> String {
        for x in &a.arrays {
            r.columns.entry(*x).or_insert_with(|| a.around.clone());
        }
        let around = r.across.replace((l.axis.var, a.arrays.clone()));
        let initial: String = l.folds.iter().map(|f| fold::initial(self, f)).collect();
        let tiles = self.whole_tiles(&l.axis, &l.body, &l.folds, from, to, r);
        r.across = around;
        let other = Loop { plan: Plan { form: (*a.otherwise).clone(), ..l.plan.clone() }, ..l.clone() };
        let other = self.range_loop(&other, from, to, r);
        let made = a.arrays.iter().map(|x| format!("!columns{}.is_empty()", x.0));
        // The loop may go over fewer rows than there are.
        let made: Vec<String> = made.chain([format!("({to}) - ({from}) >= {LANES}")]).collect();
        let states: String = l.folds.iter().map(|f| fold::state_value(f) + ", ").collect();
        let (bound, given) = match l.folds.is_empty() {
            true => (String::new(), String::new()),
            false => (format!("let ({states}) = "), format!("({states})\n")),
        };
        format!("{bound}if {} {{\n{initial}{tiles}{given}}} else {{\n{other}{given}}};\n", made.join(" && "))
    }

    /// The element of a copy that stands for this one of an array.
    pub(super) fn of_columns(&self, array: ArrayId, index: &[Atom], r: &mut Region) -> Option<String> {
        let (row, arrays) = r.across.as_ref()?;
        let ([first, k], true) = (index, arrays.contains(&array)) else { return None };
        if *first != Atom::Var(*row) {
            return None;
        }
        let rows = self.dim_in(&self.memory_dims(array)[0].clone(), r);
        let (row, k) = (r.atom(*first), r.atom(*k));
        Some(format!("unsafe {{ __rt::trusted::get(columns{}, ({k} * {rows} + {row})) }}", array.0))
    }

    /// Makes the copy, if that pays.
    pub(super) fn made_columns(&self, array: ArrayId, around: &[Dim]) -> String {
        let dims: Vec<String> = self.memory_dims(array).iter().map(|d| self.dim(d)).collect();
        let around: String = around.iter().map(|d| format!(".saturating_mul({})", self.dim(d))).collect();
        format!(
            "let columns{} = {}.columns(&{}[..], [{}], 1i64{around})?;\n",
            array.0,
            self.owner(array),
            self.name(array),
            dims.join(", ")
        )
    }

    /// Folds the values of a tile, where they are in memory if they are an array. What was folded before makes no least value less, nor is
    /// it the first of a new one.
    pub(super) fn fold_of_tile(&mut self, axis: Var, f: &Fold, is_array: bool, r: &mut Region) -> String {
        let state = fold::state_value(f);
        let less = match f.reducer {
            Reducer::Min | Reducer::ArgMin => "<",
            _ => ">",
        };
        if let (Reducer::Min | Reducer::Max | Reducer::ArgMin | Reducer::ArgMax, true, Atom::Var(v)) =
            (f.reducer, is_array, f.value)
        {
            let (t, values) = (self.atom_elem(f.value), format!("unsafe {{ s{}.all() }}", v.0));
            let neutral = expr::constant(f.reducer.neutral(t));
            let best =
                format!("let best = __rt::cpu::best({values}, {neutral}, |x: {t}, y: {t}| x {less} y);\n");
            let new = match f.reducer.is_extremum() {
                true => format!("(best, tile + __rt::cpu::place({values}, best))"),
                false => "best".into(),
            };
            let old = if f.reducer.is_extremum() { format!("{state}.0") } else { state.clone() };
            return format!("{best}if best {less} {old} {{ {state} = {new}; }}\n");
        }
        r.bound(axis);
        let mut value = String::new();
        if let (Atom::Var(v), true) = (f.value, is_array) {
            r.bound(v);
            value = format!("let v{0} = unsafe {{ s{0}.get(t) }};\n", v.0);
        }
        let step = fold::step(self, f, axis, r);
        format!(
            "let mut t: i64 = done;\nwhile t < width {{\nlet v{}: i64 = tile + t;\n{value}{step}t += 1;\n}}\n",
            axis.0
        )
    }
}
