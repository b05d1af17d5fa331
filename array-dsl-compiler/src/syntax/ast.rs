//! The syntax tree of a kernel: what the user wrote, with spans, before names and types mean anything.

use proc_macro2::Span;

use crate::ty::{Elem, Name};

/// An identifier with its place.
#[derive(Clone, Debug)]
pub struct Ident {
    /// Its text (a raw identifier without `r#`).
    pub name: Name,
    /// Where it stands.
    pub span: Span,
}

/// A `#[kernel]` function.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name.
    pub name: Ident,
    /// Type parameters in order, without those that stand for functions.
    pub generics: Vec<Generic>,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Declared result type.
    pub result: Type,
    /// The body block.
    pub body: Expr,
}

impl Function {
    /// Whether only calls can tell its types: it has type parameters or takes functions.
    pub fn is_generic(&self) -> bool {
        !self.generics.is_empty() || self.params.iter().any(Param::is_function)
    }
}

/// A type parameter.
#[derive(Clone, Debug)]
pub struct Generic {
    /// Its name.
    pub name: Ident,
    /// What it may stand for.
    pub bound: Bound,
}

/// What a type parameter may stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// `f32`, `f64`.
    Float,
    /// `i32`, `i64`, `u32`.
    Integer,
    /// Both of these.
    Number,
    /// Any scalar, array, tuple or record.
    Any,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// The name or tuple pattern.
    pub pattern: Pattern,
    /// Declared type.
    pub ty: Type,
    /// Marked `#[no_grad]`.
    pub no_grad: bool,
}

impl Param {
    /// Whether it stands for a function.
    pub fn is_function(&self) -> bool {
        matches!(self.ty.kind, TypeKind::Function(_))
    }
}

/// A declared type. References have been stripped.
#[derive(Clone, Debug)]
pub struct Type {
    /// What it is.
    pub kind: TypeKind,
    /// The whole type's span.
    pub span: Span,
}

/// Kinds of types.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// A scalar.
    Scalar(Elem),
    /// `[element; size]`; no size for `[element]` and `[element; _]`.
    Array(Box<Type>, Option<Box<Expr>>),
    /// A tuple.
    Tuple(Vec<Type>),
    /// A structure with `#[derive(Record)]`.
    Record(Path),
    /// A type parameter, only in generic kernels.
    Generic(Name),
    /// `Complex<T>` of a type parameter, likewise. Of a float type it is a scalar.
    Complex(Name),
    /// `impl Fn(f64) -> f64`, only as the type of a parameter.
    Function(Box<FunctionType>),
    /// `_`, only in `let` and closures.
    Infer,
}

/// The type of a function.
#[derive(Clone, Debug)]
pub struct FunctionType {
    /// Types of the parameters.
    pub params: Vec<Type>,
    /// Type of the result.
    pub result: Type,
}

/// What a value is bound to.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// A name.
    Name(Ident),
    /// `mut name`.
    Mutable(Ident),
    /// `_`.
    Wildcard(Span),
    /// A tuple of patterns.
    Tuple(Vec<Pattern>, Span),
    /// `[a, b, .., c]`.
    Array(ArrayPattern),
    /// `Name { field: pattern, .. }`.
    Record(RecordPattern),
}

/// A pattern that takes an array apart.
#[derive(Clone, Debug)]
pub struct ArrayPattern {
    /// The elements from the start on.
    pub first: Vec<Pattern>,
    /// Has `..`: there may be others in between.
    pub rest: bool,
    /// The elements at the end, after `..`.
    pub last: Vec<Pattern>,
    /// The whole pattern.
    pub span: Span,
}

impl ArrayPattern {
    /// Its parts.
    pub fn parts(&self) -> impl Iterator<Item = &Pattern> {
        self.first.iter().chain(&self.last)
    }
}

/// A pattern that takes a record apart.
#[derive(Clone, Debug)]
pub struct RecordPattern {
    /// The record's name.
    pub path: Path,
    /// The fields it names.
    pub fields: Vec<(Ident, Pattern)>,
    /// Ends with `..`: the other fields are left alone.
    pub rest: bool,
    /// The whole pattern.
    pub span: Span,
}

impl Pattern {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Pattern::Name(name) | Pattern::Mutable(name) => name.span,
            Pattern::Wildcard(span) | Pattern::Tuple(_, span) => *span,
            Pattern::Array(array) => array.span,
            Pattern::Record(record) => record.span,
        }
    }

    /// The name, when it is one name.
    pub fn name(&self) -> Option<&Ident> {
        match self {
            Pattern::Name(name) | Pattern::Mutable(name) => Some(name),
            Pattern::Wildcard(_) | Pattern::Tuple(..) | Pattern::Array(_) | Pattern::Record(_) => None,
        }
    }

    /// All names it binds.
    pub fn names(&self) -> Vec<&Ident> {
        match self {
            Pattern::Name(name) | Pattern::Mutable(name) => vec![name],
            Pattern::Wildcard(_) => Vec::new(),
            Pattern::Tuple(parts, _) => parts.iter().flat_map(Pattern::names).collect(),
            Pattern::Array(array) => array.parts().flat_map(Pattern::names).collect(),
            Pattern::Record(record) => record.fields.iter().flat_map(|(_, p)| p.names()).collect(),
        }
    }
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// The whole expression's span (its first token's, for compound ones, when spans cannot be joined).
    pub span: Span,
}

/// A statement of a block.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// `let pattern: ty = value;`
    Let {
        /// Left side.
        pattern: Pattern,
        /// Annotation.
        ty: Option<Type>,
        /// Right side.
        value: Expr,
    },
    /// An expression for what it assigns; its value is `()`.
    Expr(Expr),
}

/// A `for` loop.
#[derive(Clone, Debug)]
pub struct For {
    /// What the index or the element is bound to.
    pub pattern: Pattern,
    /// What it runs over.
    pub over: Over,
    /// The block.
    pub body: Expr,
    /// `#[checkpoint]`.
    pub checkpoint: Option<Checkpoint>,
}

/// How few of a loop's states are kept for its derivative; the others are computed again.
#[derive(Clone, Debug)]
pub enum Checkpoint {
    /// `#[checkpoint(every = k)]`: that of every k-th trip.
    Every(Expr),
    /// `#[checkpoint(levels = l)]`: so few that `l` more executions have them all; `#[checkpoint]` is 2 levels.
    Levels(u32),
}

/// What a `for` loop runs over.
#[derive(Clone, Debug)]
pub enum Over {
    /// `lo..hi`, or `(lo..hi).rev()`. (`lo..=hi` is given as `lo..hi + 1`.)
    Range {
        /// The first index.
        lo: Expr,
        /// One beyond the last.
        hi: Expr,
        /// From the last to the first.
        reversed: bool,
    },
    /// The elements or rows of an array.
    Array {
        /// The array.
        array: Expr,
        /// `.enumerate()`: pairs of the index and the element.
        numbered: bool,
    },
}

/// Binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "Rust's own names")]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
}

/// Unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "Rust's own names")]
pub enum Unary {
    Neg,
    Not,
}

/// One component of an indexing.
#[derive(Clone, Debug)]
pub enum IndexKind {
    /// `a[i]`.
    At(Box<Expr>),
    /// `a[lo..hi]`, either end left out. (`lo..=hi` is given as `lo..hi + 1`.)
    Slice(Option<Box<Expr>>, Option<Box<Expr>>),
    /// `a[[i, j]]`.
    Multi(Vec<Expr>),
    /// `a[s![i, lo..hi]]`: what is done with each of the first dimensions.
    Parts(Vec<Part>),
}

/// What is taken along one dimension.
#[derive(Clone, Debug)]
pub enum Part {
    /// One element: the result does not have the dimension.
    At(Expr),
    /// Those from here up to there, as in [`IndexKind::Slice`].
    Range(Option<Box<Expr>>, Option<Box<Expr>>),
}

impl Part {
    /// The index, or the ends.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let (at, ends) = match self {
            Part::At(i) => (Some(i), [None, None]),
            Part::Range(lo, hi) => (None, [lo.as_deref(), hi.as_deref()]),
        };
        at.into_iter().chain(ends.into_iter().flatten())
    }
}

/// What `einsum!` computes: a letter for each dimension of each operand, as many as there are operands, and of the result,
/// whose letters are distinct and all among the operands'.
#[derive(Clone, Debug)]
pub struct Subscripts {
    /// The letters of each operand.
    pub operands: Vec<Vec<char>>,
    /// The letters of the result.
    pub output: Vec<char>,
    /// The text.
    pub span: Span,
}

/// A function to call: its path and where it stands.
#[derive(Clone, Debug)]
pub struct Path {
    /// Segments; one for a plain name.
    pub segments: Vec<Ident>,
    /// Starts with `::`.
    pub leading_colon: bool,
}

impl Path {
    /// The text with `::`.
    pub fn text(&self) -> String {
        let joined = self.segments.iter().map(|s| &*s.name).collect::<Vec<_>>().join("::");
        if self.leading_colon { format!("::{joined}") } else { joined }
    }

    /// The span of the last segment, where messages point.
    pub fn span(&self) -> Span {
        self.segments.last().map_or_else(Span::call_site, |s| s.span)
    }

    /// The name, when it is one segment.
    pub fn single(&self) -> Option<&Ident> {
        (self.segments.len() == 1 && !self.leading_colon).then(|| &self.segments[0])
    }
}

/// A part of a tuple or of a record.
#[derive(Clone, Debug)]
pub enum Member {
    /// `.0`.
    Position(usize),
    /// `.name`.
    Name(Ident),
}

impl PartialEq for Member {
    /// Wherever the two are written.
    fn eq(&self, other: &Member) -> bool {
        match (self, other) {
            (Member::Position(a), Member::Position(b)) => a == b,
            (Member::Name(a), Member::Name(b)) => a.name == b.name,
            _ => false,
        }
    }
}

impl std::fmt::Display for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Member::Position(i) => write!(f, "{i}"),
            Member::Name(name) => f.write_str(&name.name),
        }
    }
}

/// Kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// An integer literal, with its suffix.
    Int(i64, Option<Elem>),
    /// A float literal, with its suffix.
    Float(f64, Option<Elem>),
    /// `true`, `false`.
    Bool(bool),
    /// A name or a path (a local, a size, a constant such as `f64::INFINITY`, a kernel).
    Path(Path),
    /// A unary operation.
    Unary(Unary, Box<Expr>),
    /// A binary operation; the span is the operator's.
    Binary(Binary, Box<Expr>, Box<Expr>, Span),
    /// `e as ty`.
    Cast(Box<Expr>, Type),
    /// `f(args)`. `f` is a path, or an expression such as a closure or `grad(g)`.
    Call(Box<Expr>, Vec<Expr>),
    /// `receiver.method(args)`.
    Method(Box<Expr>, Ident, Vec<Expr>),
    /// `a[..]`.
    Index(Box<Expr>, IndexKind),
    /// `(a, b)`; `()` is empty.
    Tuple(Vec<Expr>),
    /// `e.0`, `e.name`.
    Field(Box<Expr>, Member),
    /// `Name { field: value, ..base }`.
    Record(Path, Vec<(Ident, Expr)>, Option<Box<Expr>>),
    /// `[a, b, c]`.
    Array(Vec<Expr>),
    /// `einsum!("ij,jk->ik", a, b)`.
    Einsum(Subscripts, Vec<Expr>),
    /// `[e; n]`.
    Repeat(Box<Expr>, Box<Expr>),
    /// `|x, (y, z)| body`.
    Closure(Vec<(Pattern, Option<Type>)>, Box<Expr>),
    /// `if c { a } else { b }`.
    If(Box<Expr>, Box<Expr>, Option<Box<Expr>>),
    /// `match e { 0 => .., 1 | 2 => .., _ => .. }`: alternatives are literal patterns; empty: `_` or a name.
    Match(Box<Expr>, Vec<Arm>),
    /// `target = value`, or `target op= value`; the span is the operator's. A target is a name, a part of one (`t.0`,
    /// `a[i]`), or for `=` a tuple of targets.
    Assign(Box<Expr>, Option<Binary>, Box<Expr>, Span),
    /// `for pattern in over { .. }`; its value is `()`.
    For(Box<For>),
    /// `while condition { .. }`; its value is `()`.
    While(Box<Expr>, Box<Expr>),
    /// `{ stmts; result }`. Without a result the value is `()`.
    Block(Vec<Stmt>, Option<Box<Expr>>),
    /// What could not be understood; its error is already recorded.
    Error,
}

/// One arm of a `match`.
#[derive(Clone, Debug)]
pub struct Arm {
    /// Literal alternatives; empty for a catch-all.
    pub alternatives: Vec<Expr>,
    /// The name a catch-all binds.
    pub binding: Option<Ident>,
    /// The arm's value.
    pub body: Expr,
}
