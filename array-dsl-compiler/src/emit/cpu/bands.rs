//! Steps for some rows at a time: a closure that the runtime calls for each band, on all cores, or once for all rows.
//!
//! ```text
//! let (sum0, ..) = in_bands(total, bytes, |lo, hi| { rows of arrays; steps; Ok((addend0, ..)) }, |x, y| x += y)?;
//! ```
//!
//! Each band has a status of its own, and ends where a tree has failed; if there are several, all is done again at once then. What the
//! steps hand on to each other is allocated in the closure: memory of one band.

use std::convert::Infallible;

use super::super::back_end::steps;
use super::{Cpu, expr};
use crate::bulk::ArrayId;
use crate::loops::{Bands, Handed};
use crate::ty::Elem;

impl Cpu<'_> {
    pub(super) fn in_bands(&mut self, b: &Bands, label: &str) -> Result<String, Infallible> {
        let (mut before, mut shared, mut rows) = (String::new(), String::new(), String::new());
        for h in &b.read {
            let (all, own, row) = (self.name(h.outside), self.name(h.inside), self.row(h.inside));
            rows.push_str(&format!("let {own} = __rt::cpu::rows_of(&{all}[..], lo, hi, {row} as usize);\n"));
        }
        for h in &b.made {
            let (all, own, row) = (self.name(h.outside), self.name(h.inside), self.row(h.inside));
            before.push_str(&self.allocate_any(h.outside));
            shared.push_str(&format!("let {all} = __rt::trusted::Shared::new(&mut {all}[..]);\n"));
            rows.push_str(&format!("let {own} = unsafe {{ {all}.rows(lo, hi, {row} as usize) }};\n"));
        }
        self.allocated.extend(b.read.iter().chain(&b.made).map(|h| h.inside));
        self.allocated.extend([b.first, b.rows]);
        let (first, count) = (self.name(b.first), self.name(b.rows));
        let inside = steps(self, &b.steps, label)?.concat();
        let each = |f: &dyn Fn(usize, &Handed) -> String| -> String {
            b.sums.iter().enumerate().map(|(k, h)| f(k, h)).collect()
        };
        let addends = each(&|_, h| format!("{}, ", self.name(h.inside)));
        let names = each(&|k, _| format!("sum{k}, "));
        let added = each(&|k, h| match self.rank(h.outside) {
            0 => format!("x.{k} += y.{k};\n"),
            _ => format!("__rt::cpu::combine(&mut x.{k}[..], &y.{k}[..], |x, y| x + y);\n"),
        });
        let [total, row, sums] = [&b.total, &b.row_bytes(self.p), &b.sum_bytes(self.p)].map(|d| self.dim(d));
        let taken: String = b.sums.iter().enumerate().map(|(k, h)| self.sum(k, h.outside)).collect();
        Ok(format!(
            "{before}let ({names}) = {{\nlet mut at_once = false;\nloop {{\n{shared}\
             let done = __rt::cpu::in_bands({total}, [{row}, {sums}], at_once, &|lo, hi| {{\n\
             let status = &__rt::status::Status::new();\nlet {first} = lo as i64;\nlet {count} = (hi - lo) as i64;\n\
             {rows}{inside}::core::result::Result::Ok(({addends}))\n}}, &|x, y| {{\n{added}}});\n\
             if let ::core::option::Option::Some(done) = done {{ break done?; }}\nat_once = true;\n}}\n}};\n{taken}"
        ))
    }

    /// The number of elements of a row.
    fn row(&self, a: ArrayId) -> String {
        expr::product(self.p.arrays[a.0 as usize].dims[1..].iter().map(|d| self.dim(d)))
    }

    /// Memory all of which is written before it is read.
    fn allocate_any(&mut self, a: ArrayId) -> String {
        // Not any byte is a truth value.
        self.any.extend((self.elem(a) != Elem::Bool).then_some(a));
        self.allocate(a)
    }

    /// The array that is sum `k`. What leaves as a result may have memory already.
    fn sum(&mut self, k: usize, a: ArrayId) -> String {
        let name = self.name(a);
        let leaves = self.p.result.leaves().iter().any(|l| self.root(**l) == self.root(a));
        if self.rank(a) > 0 && leaves {
            return self.allocate_any(a) + &format!("__rt::cpu::copy(&mut {name}[..], &sum{k}[..]);\n");
        }
        self.allocated.insert(a);
        format!("let mut {name} = sum{k};\n")
    }
}
