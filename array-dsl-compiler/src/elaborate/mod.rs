//! From the syntax tree to Core: names, element types, rank lifting, sizes, and inlining of closures and called
//! kernels, in one forward pass.
//!
//! | file | subject |
//! |---|---|
//! | `mod` | the elaborator's state, the signature, finishing |
//! | `value` | what expressions evaluate to; emitting Core statements |
//! | `infer` | element types of literals (union-find) |
//! | `sizes`, `checks` | dimensions of expressions and annotations; equal dimensions, what is checked when running |
//! | `conditions` | where branches are taken, for the checks of their code |
//! | `hoist` | sizes computed inside loops that do not depend on them |
//! | `rank` | rank lifting: which maps and replications an application needs |
//! | `joint`, `terms` | rank lifting where one application does not decide; the terms that `crate::lifting` is asked about |
//! | `scope` | names, variables and their current values |
//! | `expr`, `constants`, `index`, `slices`, `branch`, `block` | expressions, choices, statements |
//! | `mutate`, `store` | assignment; values with a part replaced |
//! | `effects`, `rows` | what a loop's body does to the variables around it |
//! | `loops`, `checkpoint` | `for` and `while`, sequential; loops that keep few states |
//! | `parallel`, `space`, `writes`, `attempt` | `for` loops whose trips may run in any order |
//! | `call` | closures, scalar functions, kernels |
//! | `inline` | the code of called kernels |
//! | `generic` | generic kernels and the functions that they are given |
//! | `records`, `tied` | tuples whose parts have names; their sizes |
//! | `ranges` | how many indices a range has, for all integers |
//! | `steps` | arrays read in steps and around |
//! | `sort` | sorting, by positions |
//! | `custom` | derivatives that the user writes |
//! | `derivative`, `directions`, `jacobian` | `grad(f)` and the like inside kernels; tangents and cotangents of values; matrices |
//! | `filter` | arrays of a size that only data tell |
//! | `scan` | reductions and scans by operators |
//! | `bins`, `segments` | values combined or written by their index; by any operator |
//! | `operator`, `positions` | what an operator is; its scalar code; `map` in `map` as code on numbers |
//! | `unroll` | operators on small arrays, element by element |
//! | `einsum`, `order` | `einsum!`; which operands it contracts first |
//! | `builtins` | the table of array functions, and how they are called |
//! | `points`, `shapes`, `reductions` | rules of array functions: what stands where, other shapes, sums and extrema |
//! | `text` | array functions written in the language itself |
//! | `outside` | constants of the surrounding code, those of called kernels among them |
//! | `names`, `facts` | the names of the built-in functions, suggestions; what the tables say of them, for the reference |
//!
//! Rules: a function that returns `Option` has recorded an error when it returns `None`; errors inside library
//! code are reported at the user's call; every `Infer` type is gone when `elaborate` returns.

mod attempt;
mod bins;
mod block;
mod branch;
mod builtins;
mod call;
mod checkpoint;
mod checks;
mod complex;
mod conditions;
mod constants;
mod custom;
mod derivative;
mod directions;
mod effects;
mod einsum;
mod expr;
mod facts;
mod filter;
pub mod generic;
mod hoist;
mod index;
mod infer;
mod inline;
mod jacobian;
mod joint;
mod loops;
mod mutate;
mod names;
mod operator;
mod order;
mod outside;
mod parallel;
mod points;
mod positions;
mod ranges;
mod rank;
mod records;
mod reductions;
mod rows;
mod scan;
mod scope;
mod segments;
mod shapes;
mod sizes;
mod slices;
mod sort;
mod space;
mod steps;
mod store;
mod terms;
mod text;
mod tied;
mod unroll;
mod value;
mod writes;

use std::rc::Rc;

use proc_macro2::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::core::{self, Atom, Body, Param, Stm, Type, Var, VarInfo};
use crate::diagnostics::{Code, Diagnostics};
use crate::dim::{Dim, SizeAtom, told};
use crate::record::{self, Interface, Records};
use crate::routine::Routine;
use crate::syntax::ast;
use crate::ty::{Elem, Loc, Name, Place, Tree, is_constant};
pub use facts::facts;
use infer::Inference;
pub use names::{builtins, is_builtin, meant, takes_function};
use outside::Outside;
pub use outside::Source;
use scope::Scope;
use sizes::Declared;
use value::Value;
use writes::Write;

/// A kernel that is called.
#[derive(Clone, Debug)]
pub struct Callee {
    /// Its code.
    pub function: Rc<core::Function>,
    /// Its types, if there are records among them.
    pub interface: Option<Interface>,
}

impl Callee {
    /// The parameters that a call has arguments for.
    pub fn arguments(&self) -> impl Iterator<Item = &Param> {
        self.function.params.iter().filter(|p| !is_constant(&p.name))
    }

    /// Those that are constants of the surrounding code, which come last.
    fn constants(&self) -> impl Iterator<Item = &Param> {
        self.function.params.iter().filter(|p| is_constant(&p.name))
    }
}

impl std::ops::Deref for Callee {
    type Target = core::Function;

    fn deref(&self) -> &core::Function {
        &self.function
    }
}

/// A generic kernel that is called: as it was written, with what its paths stand for where it was written.
#[derive(Clone, Debug)]
pub struct Generic {
    /// The kernel.
    pub function: ast::Function,
    /// What its paths stand for.
    pub callees: Rc<Callees>,
}

/// What the paths of a function stand for.
#[derive(Clone, Debug, Default)]
pub struct Callees {
    kernels: FxHashMap<String, Rc<Callee>>,
    generics: FxHashMap<String, Rc<Generic>>,
    /// The records, by path and by `id`.
    pub records: Records,
}

impl Callees {
    /// Nothing.
    pub fn new() -> Callees {
        Callees::default()
    }

    /// Adds a kernel without records by the text of its path.
    pub fn insert(&mut self, path: String, function: Rc<core::Function>) {
        self.insert_callee(&path, Callee { function, interface: None });
    }

    /// Adds a kernel by the text of its path.
    pub fn insert_callee(&mut self, path: &str, callee: Callee) {
        self.kernels.insert(path.to_string(), Rc::new(callee));
    }

    /// Adds a generic kernel by the text of its path.
    pub fn insert_generic(&mut self, path: &str, generic: Generic) {
        // What it gives may be a record that only it names.
        let records = generic.callees.records.iter().filter(|(path, r)| **path == *r.id);
        self.records.extend(records.map(|(id, r)| (id.clone(), r.clone())));
        self.generics.insert(path.to_string(), Rc::new(generic));
    }

    /// The generic kernel of that path.
    pub fn generic(&self, path: &str) -> Option<&Rc<Generic>> {
        self.generics.get(path)
    }

    /// The kernels that are not generic, in the order of their paths.
    fn kernels(&self) -> Vec<(&String, &Rc<Callee>)> {
        let mut all: Vec<_> = self.kernels.iter().collect();
        all.sort_by_key(|(path, _)| *path);
        all
    }

    /// The kernel of that path.
    fn kernel(&self, path: &str) -> Option<&Rc<Callee>> {
        self.kernels.get(path)
    }
}

/// The result: Core, and the span of each of its places that lies in this function's own tokens.
pub struct Elaborated {
    /// The kernel.
    pub function: core::Function,
    /// By `Loc`; places of called kernels have the span of the call.
    pub spans: Vec<Span>,
    /// Its loops that run in order, as far as was seen here.
    pub in_order: Vec<InOrder>,
    /// Where the constants that it takes after its arguments come from, in order.
    pub constants: Vec<Source>,
}

/// Why a loop runs in order, unless it turns out that no trip needs another one.
#[derive(Clone, Debug)]
pub struct InOrder {
    /// The loop.
    pub of: Loc,
    /// What makes it.
    pub at: Loc,
    /// The reason, as `explain` tells it.
    pub why: String,
}

/// What stands for a kernel's text: where it is differentiated, and where its values are computed.
#[derive(Clone, Copy, Debug)]
pub struct OwnRule<'a> {
    /// The kernel that is its derivative.
    pub path: &'a ast::Path,
    /// What gives its values on a target that has it, and where that is said.
    pub routine: Option<(Routine, Span)>,
}

/// Elaborates a kernel, which may have a rule for its derivative. Returns `None` when errors were recorded.
pub fn elaborate(
    f: &ast::Function,
    rule: Option<OwnRule<'_>>,
    callees: &Callees,
    diagnostics: &mut Diagnostics,
) -> Option<Elaborated> {
    let before = diagnostics.list().len();
    let mut e = Elaborator::new(f, callees, diagnostics);
    let mut params = e.signature(f);
    // A body under a wrong signature would only give more errors.
    if e.diagnostics.list().len() > before {
        return None;
    }
    let mut result = e.body(f);
    e.take_constants(f, rule.map(|r| r.path), &mut params);
    if let (Some(rule), Some((tree, results, types))) = (rule, result.take_if(|_| rule.is_some())) {
        result = e.with_rule(rule, &params, results).map(|results| (tree, results, types));
    }
    let inference = e.inference.clone();
    let (vars, places, spans, sizes, in_order) = (e.vars, e.places, e.spans, e.sizes, e.in_order);
    let (rules, outside) = (e.rules, e.outside);
    let [body_stms]: [Vec<Stm>; 1] = e.bodies.try_into().expect("every body that began has ended");
    let body_stms = checks::earliest(body_stms);
    if diagnostics.list().len() > before {
        return None;
    }
    let (tree, results, result_types) = result?;
    let mut function = core::Function {
        name: f.name.name.clone(),
        sizes,
        params,
        vars,
        body: Body { stms: body_stms, results },
        result: tree,
        result_types,
        places,
        rules,
    };
    if let Some(at) = too_large(&function, &function.body) {
        let span = spans.get(at.0 as usize).copied().unwrap_or(f.name.span);
        diagnostics.error(Code::Limit, span, TOO_LARGE, "sizes and numbers of elements are 64-bit integers");
        return None;
    }
    inference.settle(&mut function);
    let constants = outside.sources(&|v| function.vars[v.0 as usize].ty.elem);
    Some(Elaborated { function, spans, in_order, constants })
}

/// What is wrong with a size that is too large.
const TOO_LARGE: &str = "a size here does not fit into 64 bits, whatever the arguments are";

/// Where a size is too large.
fn too_large(f: &core::Function, body: &Body) -> Option<Loc> {
    body.stms.iter().find_map(|s| {
        let types = s.vars.iter().flat_map(|v| &f.vars[v.0 as usize].ty.dims);
        let own = types.chain(s.exp.dims()).any(Dim::is_too_large).then_some(s.loc);
        own.or_else(|| s.exp.bodies().into_iter().find_map(|b| too_large(f, b)))
    })
}

/// Where code was written: what it means depends on that, wherever it is used.
#[derive(Clone)]
struct Site {
    /// What paths stand for there.
    callees: Rc<Callees>,
    /// The generic kernel in which it is. Sizes of the kernel under construction are out of sight there.
    generic: Option<Name>,
    /// In library code or a called kernel: the user's call.
    call_span: Option<Span>,
    /// In library code: the function that the user calls, for messages.
    call_name: Option<String>,
}

/// The state of elaborating one function.
struct Elaborator<'a> {
    diagnostics: &'a mut Diagnostics,
    kernel: Name,
    site: Site,
    inference: Inference,
    vars: Vec<VarInfo>,
    places: Vec<Place>,
    rules: Vec<Rc<core::Rule>>,
    spans: Vec<Span>,
    sizes: Vec<Name>,
    /// In the type of a parameter: where in a record.
    in_record: Option<record::Place>,
    /// The parameters' variables.
    params: Vec<Var>,
    /// The constants of the surrounding code.
    outside: Outside,
    /// The variables of the states of loops.
    states: FxHashSet<Var>,
    /// Statement lists under construction; the first is depth 0.
    bodies: Vec<Vec<Stm>>,
    /// The points of the derivatives around the current place, outermost first, and the number of statement lists around each.
    points: Vec<(usize, Vec<Var>)>,
    /// Extents of the axes around the current place, outermost first; their names are empty where the user has none for them.
    frame: Vec<(Dim, Name)>,
    /// The branches around the current place, outermost first.
    branches: Vec<conditions::Branch>,
    scope: Scope,
    /// Integers known as polynomials over sizes.
    known: FxHashMap<Var, Dim>,
    /// What the parallel loops around write into arrays, so far.
    writes: Vec<Write>,
    /// The parallel loop around must be made sequential after all.
    declined: bool,
    in_order: Vec<InOrder>,
    /// Nesting of closure calls, to refuse runaway recursion.
    depth: usize,
    /// Nesting of expressions.
    nesting: usize,
    /// What is decided for expressions as a whole.
    joint: joint::Joint,
}

impl<'a> Elaborator<'a> {
    fn new(f: &ast::Function, callees: &Callees, diagnostics: &'a mut Diagnostics) -> Self {
        let callees = Rc::new(callees.clone());
        Elaborator {
            diagnostics,
            kernel: f.name.name.clone(),
            site: Site { callees, generic: None, call_span: None, call_name: None },
            inference: Inference::default(),
            vars: Vec::new(),
            places: Vec::new(),
            rules: Vec::new(),
            spans: Vec::new(),
            sizes: Vec::new(),
            in_record: None,
            params: Vec::new(),
            outside: Outside::default(),
            states: FxHashSet::default(),
            bodies: vec![Vec::new()],
            points: Vec::new(),
            frame: Vec::new(),
            branches: Vec::new(),
            scope: Scope::default(),
            known: FxHashMap::default(),
            writes: Vec::new(),
            declined: false,
            in_order: Vec::new(),
            depth: 0,
            nesting: 0,
            joint: joint::Joint::default(),
        }
    }

    /// Records an error at `span`, or at the user's call while in code that is not the user's here.
    fn error(&mut self, code: Code, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.joint.doubts += usize::from(code == Code::Rank);
        let mut message = message.into();
        if let Some(name) = &self.site.generic
            && !message.contains(&format!("kernel `{name}`"))
        {
            message = format!("in kernel `{name}`, which is generic: {message}");
        }
        self.diagnostics.error(code, self.site.call_span.unwrap_or(span), message, help);
    }

    /// What a message is about: the user's call while in library code.
    fn subject(&self, what: &str) -> String {
        self.site.call_name.clone().unwrap_or_else(|| what.into())
    }

    /// The place of a span.
    fn loc(&mut self, span: Span) -> Loc {
        let span = self.site.call_span.unwrap_or(span);
        let at = span.start();
        let place = Place {
            kernel: self.kernel.clone(),
            file: Name::from(span.file()),
            line: at.line as u32,
            column: at.column as u32 + 1,
        };
        self.add_place(place, span)
    }

    fn add_place(&mut self, place: Place, span: Span) -> Loc {
        let known = self.places.iter().position(|p| *p == place);
        Loc(known.unwrap_or_else(|| {
            self.places.push(place);
            self.spans.push(span);
            self.places.len() - 1
        }) as u32)
    }

    fn new_var(&mut self, name: &str, ty: Type) -> Var {
        self.vars.push(VarInfo { name: name.into(), ty });
        Var(self.vars.len() as u32 - 1)
    }

    /// Binds the parameters and the sizes they mention.
    fn signature(&mut self, f: &ast::Function) -> Vec<Param> {
        // Scalar parameters first: they may serve as sizes wherever they stand.
        let mut scalars: FxHashMap<Name, Var> = FxHashMap::default();
        for p in &f.params {
            if let (Some(name), ast::TypeKind::Scalar(elem)) = (p.pattern.name(), &p.ty.kind) {
                let var = self.new_var(&name.name, Type::scalar(*elem));
                if *elem == Elem::I64 {
                    self.known.insert(var, Dim::atom(SizeAtom::Scalar(var.0)));
                }
                scalars.insert(name.name.clone(), var);
            }
        }
        for (v, name) in scalars.iter().map(|(n, v)| (*v, n.clone())).collect::<Vec<_>>() {
            self.scope.bind(name, Value::Atom(Atom::Var(v)));
        }
        self.declare_constants(f);
        let mut params = Vec::new();
        let mut all_dims: Vec<Dim> = Vec::new();
        for p in f.params.iter().filter(|p| !p.is_function()) {
            let name = match p.pattern.name() {
                Some(n) => n.name.clone(),
                None => Name::from(format!("argument {}", params.len())),
            };
            let loc = self.loc(p.ty.span);
            let vars = match scalars.get(&name).filter(|_| p.pattern.name().is_some()) {
                Some(v) => Tree::Leaf(*v),
                None => self.param_vars(&name, &p.ty, &mut all_dims),
            };
            self.params.extend(vars.leaves());
            let value = self.named(Value::from_tree(&vars), &p.ty);
            self.bind_pattern(&p.pattern, value);
            params.push(Param { name, vars, active: !p.no_grad, loc });
        }
        let told = told(&all_dims.iter().collect::<Vec<_>>());
        for size in self.sizes.clone() {
            if !told.iter().any(|t| t.size == size) {
                self.error(
                    Code::MissingAnnotation,
                    f.name.span,
                    format!(
                        "the size `{size}` of kernel `{}` cannot be told from its arguments",
                        f.name.name
                    ),
                    format!("let some argument have `{size}` alone as a dimension, or pass `{size}: usize`"),
                );
            }
        }
        self.bind_functions(&f.params, |_| None);
        params
    }

    fn param_vars(&mut self, name: &str, ty: &ast::Type, all: &mut Vec<Dim>) -> Tree<Var> {
        if let ast::TypeKind::Tuple(parts) = &ty.kind {
            let place = self.in_record.take();
            let parts = parts.iter().enumerate().map(|(i, t)| {
                self.in_record = place.as_ref().map(|p| p.part(&i.to_string()));
                self.param_vars(&format!("{name}.{i}"), t, all)
            });
            let parts = parts.collect();
            self.in_record = place;
            return Tree::Tuple(parts);
        }
        if let ast::TypeKind::Record(path) = &ty.kind {
            let vars = self.record_vars(name, path, ty.span, all);
            // Its error is recorded.
            return vars.unwrap_or(Tree::Tuple(Vec::new()));
        }
        let mut dims = Vec::new();
        let mut t = ty;
        while let ast::TypeKind::Array(inner, size) = &t.kind {
            let dim = match size {
                Some(expr) => self.signature_dim(expr).unwrap_or_default(),
                None => {
                    // An unnamed size gets a name that no user can write.
                    let size = Name::from(format!("#{name}.{}", dims.len()));
                    self.sizes.push(size.clone());
                    Dim::name(size)
                }
            };
            dims.push(dim);
            t = inner;
        }
        let elem = match &t.kind {
            ast::TypeKind::Scalar(e) => *e,
            ast::TypeKind::Record(path) => {
                self.error(
                    Code::Unsupported,
                    t.span,
                    format!("an array of records as a parameter is not supported: `{}`", path.text()),
                    "pass a record of arrays; kernels store it that way",
                );
                Elem::F64
            }
            ast::TypeKind::Tuple(_) => {
                self.error(
                    Code::Unsupported,
                    t.span,
                    "an array of tuples as a parameter is not supported",
                    "pass a tuple of arrays: `([f64; n], [f64; n])`; it is stored that way",
                );
                Elem::F64
            }
            _ => Elem::F64,
        };
        all.extend(dims.iter().cloned());
        Tree::Leaf(self.new_var(name, Type { elem, dims }))
    }

    /// Elaborates the body against the declared result type.
    fn body(&mut self, f: &ast::Function) -> Option<(Tree<usize>, Vec<Atom>, Vec<Type>)> {
        // The sizes of the result's type are those of the signature, whatever the body assigns.
        let scope = self.scope.clone();
        let value = self.expr(&f.body)?;
        if let (ast::ExprKind::Block(_, None), true) = (&f.body.kind, value.is_unit()) {
            self.no_value(f.body.span, "this block has no value");
            return None;
        }
        self.scope = scope;
        let value = self.annotate(value, &f.result, "the result", Declared::InSignature)?;
        let mut results = Vec::new();
        let tree = self.result_tree(&value, &mut results, f.result.span)?;
        let types = results.iter().map(|a| self.atom_type(*a)).collect();
        Some((tree, results, types))
    }

    fn result_tree(&mut self, v: &Value, out: &mut Vec<Atom>, span: Span) -> Option<Tree<usize>> {
        match v {
            Value::Atom(a) => {
                out.push(*a);
                Some(Tree::Leaf(out.len() - 1))
            }
            Value::Tuple(vs) | Value::Record(_, vs) => {
                Some(Tree::Tuple(vs.iter().map(|v| self.result_tree(v, out, span)).collect::<Option<_>>()?))
            }
            Value::Function(_) => {
                self.error(
                    Code::ResultType,
                    span,
                    "a kernel cannot return a function",
                    "call it and return its value",
                );
                None
            }
        }
    }
}
