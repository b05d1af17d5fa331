//! What names stand for. A name stands for a variable, and a variable has a value, which assignment replaces: the scope
//! is where elaboration turns assignments into new values (SSA conversion). Blocks and branches forget the names they
//! bind and keep what they assigned; a closure keeps the values of the place where it is written.

use rustc_hash::FxHashMap;

use super::value::Value;
use crate::core::{Atom, Reducer};
use crate::ty::Name;

/// A variable of a scope; numbers of variables that are out of sight are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Slot(usize);

/// What a name stands for.
#[derive(Clone)]
pub(super) struct Variable {
    /// Its value here.
    pub value: Value,
    /// Declared by `mut`.
    pub mutable: bool,
    /// What the parallel loop around makes of its assignments.
    pub role: Role,
}

/// How assignments to a variable are elaborated.
#[derive(Clone)]
pub(super) enum Role {
    /// They give it a new value.
    Plain,
    /// As for `Plain`; a parallel loop began with this neutral value, so that the first update needs no operation.
    Combined(Reducer, Atom),
    /// They are collected for a scatter; `None`: written, not combined.
    Scattered(Option<Reducer>),
}

/// The names in sight and the variables they stand for.
#[derive(Clone, Default)]
pub(super) struct Scope {
    /// `None`: the definition has an error.
    names: FxHashMap<Name, Option<Slot>>,
    variables: Vec<Variable>,
    /// Variables before this one belong to the surroundings of a closure.
    captured: usize,
}

/// The state of a scope where a block begins.
pub(super) struct Mark {
    names: FxHashMap<Name, Option<Slot>>,
    variables: usize,
}

impl Scope {
    /// Binds a name, hiding an earlier one.
    pub fn bind(&mut self, name: Name, value: Value) -> Slot {
        self.variables.push(Variable { value, mutable: false, role: Role::Plain });
        let slot = Slot(self.variables.len() - 1);
        self.names.insert(name, Some(slot));
        slot
    }

    /// Binds a name that can be assigned to.
    pub fn bind_mutable(&mut self, name: Name, value: Value) -> Slot {
        let slot = self.bind(name, value);
        self.variables[slot.0].mutable = true;
        slot
    }

    /// Binds a name whose definition has an error, hiding an earlier one.
    pub fn poison(&mut self, name: Name) {
        self.names.insert(name, None);
    }

    /// Whether the name's definition has an error.
    pub fn is_poisoned(&self, name: &str) -> bool {
        matches!(self.names.get(name), Some(None))
    }

    /// The variable that a name stands for.
    pub fn slot(&self, name: &str) -> Option<Slot> {
        *self.names.get(name)?
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        Some(&self.variables[self.slot(name)?.0].value)
    }

    /// A variable.
    pub fn variable(&self, slot: Slot) -> &Variable {
        &self.variables[slot.0]
    }

    /// Gives a variable a new value.
    pub fn set(&mut self, slot: Slot, value: Value) {
        self.variables[slot.0].value = value;
    }

    /// Gives a variable a new role.
    pub fn set_role(&mut self, slot: Slot, role: Role) {
        self.variables[slot.0].role = role;
    }

    /// Whether a variable belongs to the surroundings of the closure that this is the scope of.
    pub fn is_captured(&self, slot: Slot) -> bool {
        slot.0 < self.captured
    }

    /// Whether a name can be assigned to.
    pub fn is_assignable(&self, name: &str) -> bool {
        self.slot(name).is_some_and(|s| self.variables[s.0].mutable && !self.is_captured(s))
    }

    /// The scope inside a closure that is written here.
    pub fn inside_closure(&self) -> Scope {
        Scope { captured: self.variables.len(), ..self.clone() }
    }

    /// The beginning of a block.
    pub fn enter(&self) -> Mark {
        Mark { names: self.names.clone(), variables: self.variables.len() }
    }

    /// The end of a block: its names are forgotten, what it assigned stays.
    pub fn leave(&mut self, mark: Mark) {
        self.names = mark.names;
        self.variables.truncate(mark.variables);
    }

    /// The variables of this scope whose values differ in two later states of it.
    pub fn changed(&self, a: &Scope, b: &Scope) -> Vec<Slot> {
        let differ = |s: &Slot| a.variable(*s).value.atoms() != b.variable(*s).value.atoms();
        (0..self.variables.len()).map(Slot).filter(differ).collect()
    }

    /// Takes the values that the variables of this scope have in a later state of it.
    pub fn adopt(&mut self, later: &Scope) {
        for (v, new) in self.variables.iter_mut().zip(&later.variables) {
            v.value = new.value.clone();
        }
    }

    /// All names that users wrote, for suggestions.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.names.keys().filter(|n| !n.starts_with('#'))
    }
}
