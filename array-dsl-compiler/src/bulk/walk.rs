//! One walk over everything that statements and scalar code consist of: [`Visitor`] looks, [`Rewriter`] changes.
//!
//! Who implements one of them says what to do with the leaves: arrays, scalars, sizes, places. Who has a rule for a whole statement,
//! expression or branch overrides that function, and goes on with `walk_..`.
//!
//! **The walk is in the order of execution**: what something uses comes before what it binds, and that before what sees it. As every
//! array and scalar is bound once in its program, a rewriter may give new names to what is bound, and keep them all in one map.

use super::{
    ArrayId, Atom, Block, Body, Branch, Check, CheckKind, Exp, Item, Let, Nest, Repeat, Scan, Stm, Trips,
    Var, YieldKind,
};
use crate::dim::Dim;
use crate::ty::Loc;

macro_rules! walk {
    ($(#[$doc:meta])* $name:ident, $($mutability:ident)?) => {
        $(#[$doc])*
        pub trait $name: Sized {
            /// An array that is bound here.
            fn bound_array(&mut self, _: &$($mutability)? ArrayId) {}

            /// An array whose elements are used.
            fn array(&mut self, _: &$($mutability)? ArrayId) {}

            /// A scalar that is bound here.
            fn bound_var(&mut self, _: &$($mutability)? Var) {}

            /// A scalar that is used.
            fn atom(&mut self, _: &$($mutability)? Atom) {}

            /// A size; that of an axis, of a loop, in a check, in scalar code.
            fn dim(&mut self, _: &$($mutability)? Dim) {}

            /// A place of the source.
            fn loc(&mut self, _: &$($mutability)? Loc) {}

            /// The number of a rule.
            fn rule(&mut self, _: &$($mutability)? usize) {}

            /// A statement.
            fn stm(&mut self, s: &$($mutability)? Stm) {
                self.walk_stm(s);
            }

            /// A nest's code.
            fn body(&mut self, b: &$($mutability)? Body) {
                self.walk_body(b);
            }

            /// A part of a nest's code.
            fn item(&mut self, i: &$($mutability)? Item) {
                self.walk_item(i);
            }

            /// A scan.
            fn scan(&mut self, s: &$($mutability)? Scan) {
                self.walk_scan(s);
            }

            /// Scalar code.
            fn block(&mut self, b: &$($mutability)? Block) {
                self.walk_block(b);
            }

            /// A statement of scalar code.
            fn binding(&mut self, l: &$($mutability)? Let) {
                self.walk_binding(l);
            }

            /// An expression.
            fn exp(&mut self, e: &$($mutability)? Exp) {
                self.walk_exp(e);
            }

            /// A branch of a choice, or the step of a scan.
            fn branch(&mut self, b: &$($mutability)? Branch) {
                self.walk_branch(b);
            }

            /// What is in a statement.
            fn walk_stm(&mut self, s: &$($mutability)? Stm) {
                match s {
                    Stm::Nest(n) => self.walk_nest(n),
                    Stm::Reshape { result, source } => {
                        self.array(source);
                        self.bound_array(result);
                    }
                    Stm::Check(c, loc) => {
                        self.walk_check(c);
                        self.loc(loc);
                    }
                    Stm::Repeat(r) => self.walk_repeat(r),
                    Stm::Sort(s) => {
                        self.array(&$($mutability)? s.keys);
                        self.bound_array(&$($mutability)? s.result);
                    }
                    Stm::Call(c) => {
                        for a in &$($mutability)? c.args {
                            self.array(a);
                        }
                        for a in &$($mutability)? c.results {
                            self.bound_array(a);
                        }
                    }
                    Stm::Custom(c) => {
                        for a in &$($mutability)? c.values {
                            self.array(a);
                        }
                        for a in &$($mutability)? c.args {
                            self.array(a);
                        }
                        self.rule(&$($mutability)? c.rule);
                        for a in &$($mutability)? c.results {
                            self.bound_array(a);
                        }
                        self.loc(&$($mutability)? c.loc);
                    }
                }
            }

            /// What is in a nest.
            fn walk_nest(&mut self, n: &$($mutability)? Nest) {
                for a in &$($mutability)? n.axes {
                    self.dim(&$($mutability)? a.extent);
                    self.bound_var(&$($mutability)? a.var);
                }
                self.body(&$($mutability)? n.body);
                for y in &$($mutability)? n.yields {
                    self.walk_yield(&$($mutability)? y.kind);
                }
                for y in &$($mutability)? n.yields {
                    self.bound_array(&$($mutability)? y.array);
                }
                self.loc(&$($mutability)? n.loc);
            }

            /// What is in a yield, the array that it makes left out.
            fn walk_yield(&mut self, y: &$($mutability)? YieldKind) {
                match y {
                    YieldKind::Store(value) | YieldKind::Reduce { value, .. } => self.atom(value),
                    YieldKind::Accumulate { into, index, value, .. }
                    | YieldKind::Write { into, index, value, .. } => {
                        self.array(into);
                        for a in index {
                            self.atom(a);
                        }
                        self.atom(value);
                    }
                }
            }

            /// What is in a loop.
            fn walk_repeat(&mut self, r: &$($mutability)? Repeat) {
                for c in &$($mutability)? r.carried {
                    self.array(&$($mutability)? c.start);
                }
                if let Trips::For(_, count) = &$($mutability)? r.trips {
                    self.dim(count);
                }
                for c in &$($mutability)? r.carried {
                    self.bound_array(&$($mutability)? c.state);
                }
                match &$($mutability)? r.trips {
                    Trips::For(index, _) => self.bound_array(index),
                    Trips::While(state) => self.array(state),
                }
                for s in &$($mutability)? r.body {
                    self.stm(s);
                }
                for c in &$($mutability)? r.carried {
                    self.array(&$($mutability)? c.next);
                }
                for c in &$($mutability)? r.carried {
                    self.bound_array(&$($mutability)? c.result);
                }
                self.loc(&$($mutability)? r.loc);
            }

            /// What is in a check.
            fn walk_check(&mut self, c: &$($mutability)? Check) {
                match &$($mutability)? c.kind {
                    CheckKind::Equal(a, b) | CheckKind::AtLeast(a, b) => {
                        self.dim(a);
                        self.dim(b);
                    }
                    CheckKind::NonNegative(a) => self.dim(a),
                }
                for d in &$($mutability)? c.guards {
                    self.dim(d);
                }
            }

            /// What is in a nest's code.
            fn walk_body(&mut self, b: &$($mutability)? Body) {
                for i in &$($mutability)? b.items {
                    self.item(i);
                }
            }

            /// What is in a part of a nest's code.
            fn walk_item(&mut self, i: &$($mutability)? Item) {
                match i {
                    Item::Let(l) => self.binding(l),
                    Item::Scan(s) => self.scan(s),
                }
            }

            /// What is in a scan.
            fn walk_scan(&mut self, s: &$($mutability)? Scan) {
                for a in &$($mutability)? s.start {
                    self.atom(a);
                }
                for a in &$($mutability)? s.values {
                    self.atom(a);
                }
                for v in &$($mutability)? s.left {
                    self.bound_var(v);
                }
                for v in &$($mutability)? s.right {
                    self.bound_var(v);
                }
                self.branch(&$($mutability)? s.step);
                for v in &$($mutability)? s.vars {
                    self.bound_var(v);
                }
                self.loc(&$($mutability)? s.loc);
            }

            /// What is in scalar code.
            fn walk_block(&mut self, b: &$($mutability)? Block) {
                for l in &$($mutability)? b.lets {
                    self.binding(l);
                }
            }

            /// What is in a statement of scalar code.
            fn walk_binding(&mut self, l: &$($mutability)? Let) {
                self.exp(&$($mutability)? l.exp);
                for v in &$($mutability)? l.vars {
                    self.bound_var(v);
                }
                self.loc(&$($mutability)? l.loc);
            }

            /// What is in an expression.
            fn walk_exp(&mut self, e: &$($mutability)? Exp) {
                match e {
                    Exp::Op(_, args) => {
                        for a in args {
                            self.atom(a);
                        }
                    }
                    Exp::Size(d) => self.dim(d),
                    Exp::Read { array, index, .. } => {
                        self.array(array);
                        for a in index {
                            self.atom(a);
                        }
                    }
                    Exp::Inside { index, dims, .. } => {
                        for a in index {
                            self.atom(a);
                        }
                        for d in dims {
                            self.dim(d);
                        }
                    }
                    Exp::If(c, yes, no) => {
                        self.atom(c);
                        self.branch(yes);
                        self.branch(no);
                    }
                    Exp::StopGradient(a) => self.atom(a),
                }
            }

            /// What is in a branch.
            fn walk_branch(&mut self, b: &$($mutability)? Branch) {
                self.block(&$($mutability)? b.block);
                for a in &$($mutability)? b.results {
                    self.atom(a);
                }
            }
        }
    };
}

walk! {
    /// Looks at what statements and scalar code consist of.
    Visitor,
}

walk! {
    /// Changes what statements and scalar code consist of.
    Rewriter, mut
}
