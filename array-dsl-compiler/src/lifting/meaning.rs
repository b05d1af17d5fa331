//! Whether elaborations mean the same: their normal forms by beta, fusion of maps and fusion of replications.
//!
//! A term is evaluated to what it is at every index: `map(f, xs)` is `f(xs[i])` over the indices of `xs`, a replication is
//! its value at every index. Free names stay as they are. An array of functions is read as the function that maps them,
//! and what only passes its parameter on is contracted. Equal forms mean the same; different ones may as well, and are
//! then called ambiguous, which is safe.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::elaboration::Elaboration;
use crate::ty::Name;

/// What a term is.
#[derive(Clone)]
enum Value {
    /// What cannot be computed further, as it depends on a free name or a parameter.
    Neutral(Rc<Neutral>),
    /// A function.
    Function(Rc<dyn Fn(Value) -> Value>),
    /// What is at each index; where the indices come from. None: as many as are needed.
    Array(Rc<[Extent]>, Rc<dyn Fn(usize) -> Value>),
}

enum Neutral {
    Free(Name),
    /// A parameter or, in `Index`, an index, by the number of those around it.
    Parameter(usize),
    Apply(Value, Value),
    Index(Value, usize),
    /// An element of an array literal.
    Element(usize, Vec<Value>),
}

#[derive(Clone)]
enum Extent {
    Of(Rc<Neutral>),
    Elements(usize),
}

type Scope = FxHashMap<Name, Value>;

/// The normal form of an elaboration, as a text.
pub fn normal_form(e: &Elaboration) -> String {
    read(&evaluate(e, &Scope::default()), 0)
}

fn evaluate(e: &Elaboration, scope: &Scope) -> Value {
    match e {
        Elaboration::Variable(x) => {
            scope.get(x).cloned().unwrap_or_else(|| Value::Neutral(Rc::new(Neutral::Free(x.clone()))))
        }
        Elaboration::Literal(text, _) => Value::Neutral(Rc::new(Neutral::Free(text.clone()))),
        Elaboration::Lambda(x, _, body) => {
            let (x, body, scope) = (x.clone(), body.clone(), scope.clone());
            Value::Function(Rc::new(move |v| {
                let mut scope = scope.clone();
                scope.insert(x.clone(), v);
                evaluate(&body, &scope)
            }))
        }
        Elaboration::Apply { function, argument, maps, reps } => {
            let argument = (0..*reps).fold(evaluate(argument, scope), |v, _| replicated(v));
            map(*maps, evaluate(function, scope), argument)
        }
        Elaboration::Map(f, a) => map(1, evaluate(f, scope), evaluate(a, scope)),
        Elaboration::Rep(e) => replicated(evaluate(e, scope)),
        Elaboration::Array(es) => {
            let elements: Vec<Value> = es.iter().map(|e| evaluate(e, scope)).collect();
            let extent = Rc::new([Extent::Elements(elements.len())]);
            let at = move |i| Value::Neutral(Rc::new(Neutral::Element(i, elements.clone())));
            Value::Array(extent, Rc::new(at))
        }
        Elaboration::Let(x, value, body) => {
            let mut inner = scope.clone();
            inner.insert(x.clone(), evaluate(value, scope));
            evaluate(body, &inner)
        }
    }
}

fn replicated(v: Value) -> Value {
    Value::Array(Rc::new([]), Rc::new(move |_| v.clone()))
}

/// A function mapped so many times.
fn map(times: usize, f: Value, v: Value) -> Value {
    if times == 0 {
        return apply(f, v);
    }
    Value::Array(extents(&v), Rc::new(move |i| map(times - 1, f.clone(), index(&v, i))))
}

/// An array of functions maps each of them.
fn apply(f: Value, v: Value) -> Value {
    match f {
        Value::Function(f) => f(v),
        Value::Array(extent, at) => {
            let both: Vec<Extent> = extent.iter().cloned().chain(extents(&v).iter().cloned()).collect();
            Value::Array(both.into(), Rc::new(move |i| apply(at(i), index(&v, i))))
        }
        neutral => Value::Neutral(Rc::new(Neutral::Apply(neutral, v))),
    }
}

fn index(v: &Value, i: usize) -> Value {
    match v {
        Value::Array(_, at) => at(i),
        v => Value::Neutral(Rc::new(Neutral::Index(v.clone(), i))),
    }
}

fn extents(v: &Value) -> Rc<[Extent]> {
    match v {
        Value::Neutral(s) => Rc::new([Extent::Of(s.clone())]),
        Value::Array(extent, _) => extent.clone(),
        Value::Function(_) => Rc::new([]),
    }
}

/// The text of a value inside so many parameters and indices.
fn read(v: &Value, level: usize) -> String {
    match v {
        Value::Neutral(s) => read_neutral(s, level),
        Value::Function(f) => {
            let parameter = Value::Neutral(Rc::new(Neutral::Parameter(level)));
            let result = f(parameter);
            if let Value::Neutral(s) = &result
                && let Neutral::Apply(f, a) = &**s
                && matches!(a, Value::Neutral(a) if matches!(**a, Neutral::Parameter(p) if p == level))
                && let text = read(f, level + 1)
                && !text.contains(&format!("%{level};"))
            {
                return text;
            }
            format!("fn %{level}; ({})", read(&result, level + 1))
        }
        Value::Array(extent, at) => {
            let element = at(level);
            if let Value::Function(_) = element {
                let functions = v.clone();
                return read(&Value::Function(Rc::new(move |a| apply(functions.clone(), a))), level);
            }
            let mut over: Vec<String> = extent.iter().map(|e| read_extent(e, level)).collect();
            over.sort();
            over.dedup();
            if let Value::Neutral(s) = &element
                && let Neutral::Index(array, i) = &**s
                && *i == level
                && let text = read(array, level + 1)
                && !text.contains(&format!("%{level};"))
                && over == [text.clone()]
            {
                return text;
            }
            format!("at %{level}; of {{{}}} ({})", over.join(" "), read(&element, level + 1))
        }
    }
}

fn read_neutral(s: &Neutral, level: usize) -> String {
    match s {
        Neutral::Free(x) => x.to_string(),
        Neutral::Parameter(i) => format!("%{i};"),
        Neutral::Apply(f, a) => format!("{}({})", read(f, level), read(a, level)),
        Neutral::Index(v, i) => format!("{}[%{i};]", read(v, level)),
        Neutral::Element(i, es) => {
            let es: Vec<String> = es.iter().map(|e| read(e, level)).collect();
            format!("[{}][%{i};]", es.join(", "))
        }
    }
}

fn read_extent(e: &Extent, level: usize) -> String {
    match e {
        Extent::Of(s) => read_neutral(s, level),
        Extent::Elements(n) => n.to_string(),
    }
}
