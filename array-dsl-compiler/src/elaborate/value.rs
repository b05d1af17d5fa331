//! What expressions evaluate to, and emitting Core statements.

use std::rc::Rc;

use proc_macro2::Span;

use super::scope::Scope;
use super::{Callee, Elaborator, Generic, Site};
use crate::core::{Atom, Axis, Body, Exp, Stm, Type, Var};
use crate::derive::Derivative;
use crate::dim::{Dim, SizeAtom};
use crate::record::Record;
use crate::scalar::Op;
use crate::syntax::ast;
use crate::ty::{Const, Elem, Name, Tree};
use crate::value::{Scalar, apply};

/// The value of an expression. An array of tuples is a tuple of arrays.
#[derive(Clone)]
pub(super) enum Value {
    /// A scalar or an array.
    Atom(Atom),
    /// A tuple.
    Tuple(Vec<Value>),
    /// A record: the values of its fields in order. An array of records is a record of arrays.
    Record(Rc<Record>, Vec<Value>),
    /// A function, to be called or handed to an array function.
    Function(Function),
}

/// Functions as values.
#[derive(Clone)]
pub(super) enum Function {
    /// A closure with the names it saw.
    Closure(Rc<Closure>),
    /// A built-in function.
    Builtin(Name),
    /// A kernel.
    Kernel(Rc<Callee>),
    /// `grad(f)` and the like.
    Derivative(Derivative, Rc<Function>),
    /// A generic kernel.
    Generic(Rc<Generic>),
    /// A parameter of a generic kernel.
    Given(Rc<Given>),
}

/// A function that a generic kernel is given, under the type that the kernel declares.
pub(super) struct Given {
    pub name: Name,
    pub ty: ast::FunctionType,
    /// Where the sizes of the type mean something.
    pub scope: Scope,
    pub site: Site,
    /// `None` while a definition is checked, when any function may come.
    pub function: Option<Function>,
}

/// A closure.
pub(super) struct Closure {
    pub params: Vec<(ast::Pattern, Option<ast::Type>)>,
    pub body: ast::Expr,
    pub scope: Scope,
    pub site: Site,
}

impl Value {
    /// The value of a tree of variables.
    pub fn from_tree(t: &Tree<Var>) -> Value {
        match t {
            Tree::Leaf(v) => Value::Atom(Atom::Var(*v)),
            Tree::Tuple(ts) => Value::Tuple(ts.iter().map(Value::from_tree).collect()),
        }
    }

    /// `()`: what statements give.
    pub fn unit() -> Value {
        Value::Tuple(Vec::new())
    }

    /// One value bare, several as a tuple.
    pub fn bundle(mut values: Vec<Value>) -> Value {
        if values.len() == 1 { values.remove(0) } else { Value::Tuple(values) }
    }

    /// Whether this is `()`.
    pub fn is_unit(&self) -> bool {
        matches!(self, Value::Tuple(vs) if vs.is_empty())
    }

    /// All atoms, left to right; `None` if there is a function inside.
    pub fn atoms(&self) -> Option<Vec<Atom>> {
        match self {
            Value::Atom(a) => Some(vec![*a]),
            Value::Tuple(vs) | Value::Record(_, vs) => {
                let parts: Option<Vec<Vec<Atom>>> = vs.iter().map(Value::atoms).collect();
                Some(parts?.concat())
            }
            Value::Function(_) => None,
        }
    }

    /// The same structure with other atoms, taken in order.
    pub fn with_atoms(&self, atoms: &mut impl Iterator<Item = Atom>) -> Value {
        match self {
            Value::Atom(_) => Value::Atom(atoms.next().expect("as many atoms as there are")),
            Value::Tuple(vs) => Value::Tuple(vs.iter().map(|v| v.with_atoms(atoms)).collect()),
            Value::Record(r, vs) => {
                Value::Record(r.clone(), vs.iter().map(|v| v.with_atoms(atoms)).collect())
            }
            Value::Function(f) => Value::Function(f.clone()),
        }
    }
}

impl Elaborator<'_> {
    /// The type of an atom.
    pub(super) fn atom_type(&self, a: Atom) -> Type {
        match a {
            Atom::Var(v) => self.vars[v.0 as usize].ty.clone(),
            Atom::Const(c) => Type::scalar(c.elem),
        }
    }

    /// The number of dimensions of an atom.
    pub(super) fn rank(&self, a: Atom) -> usize {
        match a {
            Atom::Var(v) => self.vars[v.0 as usize].ty.rank(),
            Atom::Const(_) => 0,
        }
    }

    /// The settled element type of an atom.
    pub(super) fn elem(&self, a: Atom) -> Elem {
        self.inference.resolve(match a {
            Atom::Var(v) => self.vars[v.0 as usize].ty.elem,
            Atom::Const(c) => c.elem,
        })
    }

    /// Appends a statement with one result.
    pub(super) fn emit(&mut self, name: &str, ty: Type, exp: Exp, span: Span) -> Atom {
        let loc = self.loc(span);
        let var = self.new_var(name, ty);
        self.push(Stm { vars: vec![var], exp, loc });
        Atom::Var(var)
    }

    pub(super) fn push(&mut self, stm: Stm) {
        if let Some(body) = self.bodies.last_mut() {
            body.push(stm);
        }
    }

    /// The end of the innermost statement list.
    pub(super) fn close_body(&mut self) -> Vec<Stm> {
        self.bodies.pop().expect("every body that ends has begun")
    }

    /// Runs `f` on a new statement list; the statements and what `f` gives.
    pub(super) fn in_body<T>(&mut self, f: impl FnOnce(&mut Self) -> Option<T>) -> Option<(Vec<Stm>, T)> {
        self.bodies.push(Vec::new());
        let result = f(self);
        let stms = self.close_body();
        result.map(|r| (stms, r))
    }

    /// An `i64` constant.
    pub(super) fn int(&self, i: i64) -> Atom {
        Atom::Const(Const::int(Elem::I64, i))
    }

    /// A size as an integer value.
    pub(super) fn size_value(&mut self, d: &Dim, span: Span) -> Atom {
        if let Some(c) = d.as_constant() {
            return self.int(c);
        }
        if let Some(SizeAtom::Scalar(v)) = d.as_atom() {
            return Atom::Var(Var(*v));
        }
        let a = self.emit("size", Type::scalar(Elem::I64), Exp::Size(d.clone()), span);
        if let Atom::Var(v) = a {
            self.known.insert(v, d.clone());
        }
        a
    }

    /// Emits a scalar function whose argument types are already right.
    pub(super) fn op(&mut self, op: Op, args: &[Atom], span: Span) -> Atom {
        let elems: Vec<Elem> = args.iter().map(|a| self.elem(*a)).collect();
        let elem = match op {
            Op::Complex => self.inference.complex(elems[0]),
            Op::Re | Op::Im => self.inference.part(elems[0]),
            op => op.result(&elems),
        };
        let known = self.known_result(op, args);
        let a = self.emit(&op.name(), Type::scalar(elem), Exp::Op(op, args.to_vec()), span);
        if let (Atom::Var(v), Some(d)) = (a, known) {
            self.known.insert(v, d);
        }
        a
    }

    /// The polynomial that a function of known integers is.
    pub(super) fn known_result(&self, op: Op, args: &[Atom]) -> Option<Dim> {
        if !args.iter().all(|a| self.inference.is_int(self.elem(*a))) {
            return None;
        }
        let d: Option<Vec<Dim>> = args.iter().map(|a| self.known_int(*a)).collect();
        let d = d?;
        let found = match op {
            Op::Add => d[0].add(&d[1]),
            Op::Sub => d[0].sub(&d[1]),
            Op::Mul => d[0].mul(&d[1]),
            Op::Neg => d[0].scale(-1),
            // Of constants everything else is constant too.
            _ if op.result(&[Elem::I64, Elem::I64]) == Elem::I64 => {
                let known: Option<Vec<Scalar>> =
                    d.iter().map(|d| Some(Scalar::I64(d.as_constant()?))).collect();
                Dim::constant(apply(op, &known?).ok()?.as_i64()?)
            }
            _ => return None,
        };
        if args.iter().all(|a| self.elem(*a) == Elem::I64) {
            return Some(found);
        }
        // What the type of literals will be is not known yet: small numbers are the same in all of them.
        let plain = matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Rem);
        let is_small = |d: &Dim| d.as_constant().is_some_and(|c| (0..=i64::from(i32::MAX)).contains(&c));
        (plain && d.iter().chain([&found]).all(is_small)).then_some(found)
    }

    /// The polynomial an integer is known to be.
    pub(super) fn known_int(&self, a: Atom) -> Option<Dim> {
        match a {
            Atom::Const(c) => Some(Dim::constant(c.raw() as i64)),
            Atom::Var(v) => self.known.get(&v).cloned().or_else(|| self.known_constant(v)),
        }
    }

    /// Reads a sub-array or an element at leading indices.
    pub(super) fn index(&mut self, array: Atom, at: &[Atom], span: Span) -> Atom {
        let Atom::Var(v) = array else { return array };
        if at.is_empty() {
            return array;
        }
        let ty = self.atom_type(array);
        let ty = Type { elem: ty.elem, dims: ty.dims[at.len()..].to_vec() };
        let name = self.vars[v.0 as usize].name.clone();
        self.emit(&name, ty, Exp::Index(v, at.to_vec()), span)
    }

    /// `build` over the given extents: `f` gets the index variables and returns the value of a point; every atom
    /// of it becomes an array with the extents in front.
    pub(super) fn build(
        &mut self,
        name: &str,
        extents: &[Dim],
        names: &[Name],
        span: Span,
        f: impl FnOnce(&mut Self, &[Atom]) -> Option<Value>,
    ) -> Option<Value> {
        if extents.is_empty() {
            // Of no sizes, `zeros(())`: one value.
            return f(self, &[]);
        }
        let axes: Vec<Axis> = extents
            .iter()
            .enumerate()
            .map(|(i, d)| {
                let name = names.get(i).map_or("i", |n| n);
                Axis { var: self.new_var(name, Type::scalar(Elem::I64)), extent: d.clone() }
            })
            .collect();
        let vars: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let depth = self.frame.len();
        let named =
            extents.iter().enumerate().map(|(i, d)| (d.clone(), names.get(i).cloned().unwrap_or_default()));
        self.frame.extend(named);
        let result = self.in_body(|e| f(e, &vars));
        self.frame.truncate(depth);
        let (stms, value) = result?;
        let Some(results) = value.atoms() else {
            self.error(
                crate::diagnostics::Code::Unsupported,
                span,
                "an array of functions cannot be built",
                "call the function and build an array of its values",
            );
            return None;
        };
        if results.is_empty() {
            self.no_value(span, "this closure has no value");
            return None;
        }
        let loc = self.loc(span);
        let vars: Vec<Var> = results
            .iter()
            .map(|a| {
                let ty = self.atom_type(*a);
                let dims = extents.iter().cloned().chain(ty.dims).collect();
                self.new_var(name, Type { elem: ty.elem, dims })
            })
            .collect();
        self.push(Stm { vars: vars.clone(), exp: Exp::Build(axes, Body { stms, results }), loc });
        Some(value.with_atoms(&mut vars.into_iter().map(Atom::Var)))
    }
}
