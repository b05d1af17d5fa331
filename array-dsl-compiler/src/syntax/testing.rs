//! For this module's tests: sources to trees, trees to compact text, errors to text.

use super::ast::{
    Arm, Binary, Checkpoint, Expr, ExprKind, For, Function, IndexKind, Over, Param, Part, Pattern, Stmt,
    Type, TypeKind, Unary,
};
use super::parse::parse_function;
use crate::diagnostics::Diagnostics;
use crate::ty::Elem;

/// The tree of a function, and what is wrong with it.
pub fn parsed(source: &str) -> (Function, Diagnostics) {
    let item = syn::parse_str::<syn::ItemFn>(source).unwrap_or_else(|e| panic!("{source}: {e}"));
    let mut diagnostics = Diagnostics::default();
    (parse_function(&item, &mut diagnostics), diagnostics)
}

/// The errors as `code message | help`.
pub fn errors(source: &str) -> Vec<String> {
    let (_, diagnostics) = parsed(source);
    diagnostics.list().iter().map(|d| format!("{} {} | {}", d.code.text(), d.message, d.help)).collect()
}

/// A function's body.
pub fn body(source: &str) -> String {
    expr(&parsed(source).0.body)
}

/// A whole function.
pub fn shown(source: &str) -> String {
    show(&parsed(source).0)
}

/// A function's tree.
pub fn show(f: &Function) -> String {
    let param = |p: &Param| {
        format!("{}{}: {}", if p.no_grad { "#[no_grad] " } else { "" }, pattern(&p.pattern), ty(&p.ty))
    };
    let params = join(&f.params, ", ", param);
    let generics = join(&f.generics, ", ", |g| format!("{}: {:?}", g.name.name, g.bound));
    let generics = if generics.is_empty() { generics } else { format!("<{generics}>") };
    format!("{}{generics}({params}) -> {} {}", f.name.name, ty(&f.result), expr(&f.body))
}

fn join<T>(items: &[T], separator: &str, show: impl Fn(&T) -> String) -> String {
    items.iter().map(show).collect::<Vec<_>>().join(separator)
}

fn pattern(p: &Pattern) -> String {
    match p {
        Pattern::Name(name) => name.name.to_string(),
        Pattern::Mutable(name) => format!("mut {}", name.name),
        Pattern::Wildcard(_) => "_".into(),
        Pattern::Tuple(parts, _) => format!("({})", join(parts, ", ", pattern)),
        Pattern::Array(array) => {
            let rest = array.rest.then(|| "..".to_string());
            let all = array.first.iter().map(pattern).chain(rest).chain(array.last.iter().map(pattern));
            format!("[{}]", all.collect::<Vec<_>>().join(", "))
        }
        Pattern::Record(r) => {
            let mut fields: Vec<String> =
                r.fields.iter().map(|(n, p)| format!("{}: {}", n.name, pattern(p))).collect();
            fields.extend(r.rest.then(|| "..".to_string()));
            braced(&r.path.text(), &fields)
        }
    }
}

/// `Name { a, b }`.
fn braced(name: &str, fields: &[String]) -> String {
    if fields.is_empty() { format!("{name} {{ }}") } else { format!("{name} {{ {} }}", fields.join(", ")) }
}

fn ty(t: &Type) -> String {
    match &t.kind {
        TypeKind::Scalar(elem) => elem.to_string(),
        TypeKind::Array(element, None) => format!("[{}]", ty(element)),
        TypeKind::Array(element, Some(size)) => format!("[{}; {}]", ty(element), expr(size)),
        TypeKind::Tuple(parts) => format!("({})", join(parts, ", ", ty)),
        TypeKind::Record(path) => path.text(),
        TypeKind::Generic(name) => name.to_string(),
        TypeKind::Complex(name) => format!("Complex<{name}>"),
        TypeKind::Function(f) => format!("Fn({}) -> {}", join(&f.params, ", ", ty), ty(&f.result)),
        TypeKind::Infer => "_".into(),
    }
}

fn list(head: &str, es: &[Expr]) -> String {
    es.iter().fold(format!("({head}"), |text, e| format!("{text} {}", expr(e))) + ")"
}

fn expr(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Int(v, s) => format!("{v}{}", suffix(*s)),
        ExprKind::Float(v, s) => format!("{v:?}{}", suffix(*s)),
        ExprKind::Bool(v) => v.to_string(),
        ExprKind::Path(path) => path.text(),
        ExprKind::Unary(Unary::Neg, a) => format!("(neg {})", expr(a)),
        ExprKind::Unary(Unary::Not, a) => format!("(not {})", expr(a)),
        ExprKind::Binary(op, a, b, _) => format!("({} {} {})", operator(*op), expr(a), expr(b)),
        ExprKind::Cast(a, t) => format!("(as {} {})", expr(a), ty(t)),
        ExprKind::Call(f, args) => list(&format!("call {}", expr(f)), args),
        ExprKind::Method(receiver, name, args) => list(&format!(".{} {}", name.name, expr(receiver)), args),
        ExprKind::Index(a, i) => format!("{}[{}]", expr(a), index(i)),
        ExprKind::Tuple(es) => list("tuple", es),
        ExprKind::Field(a, i) => format!("{}.{i}", expr(a)),
        ExprKind::Einsum(s, es) => {
            let letters = |term: &Vec<char>| term.iter().collect::<String>();
            list(&format!("einsum {}->{}", join(&s.operands, ",", letters), letters(&s.output)), es)
        }
        ExprKind::Record(path, fields, base) => {
            let mut parts: Vec<String> =
                fields.iter().map(|(n, e)| format!("{}: {}", n.name, expr(e))).collect();
            parts.extend(base.iter().map(|e| format!("..{}", expr(e))));
            braced(&path.text(), &parts)
        }
        ExprKind::Array(es) => format!("[{}]", join(es, ", ", expr)),
        ExprKind::Repeat(a, n) => format!("[{}; {}]", expr(a), expr(n)),
        ExprKind::Closure(params, body) => {
            let param = |(p, t): &(Pattern, Option<Type>)| format!("{}{}", pattern(p), annotation(t));
            format!("|{}| {}", join(params, ", ", param), expr(body))
        }
        ExprKind::If(c, a, b) => {
            let otherwise = b.as_ref().map_or(String::new(), |b| format!(" else {}", expr(b)));
            format!("if {} {}{otherwise}", expr(c), expr(a))
        }
        ExprKind::Match(value, arms) => format!("match {} {{ {} }}", expr(value), join(arms, ", ", arm)),
        ExprKind::Assign(target, op, value, _) => {
            format!("({}= {} {})", op.map_or(String::new(), operator), expr(target), expr(value))
        }
        ExprKind::For(e) => for_loop(e),
        ExprKind::While(condition, body) => format!("while {} {}", expr(condition), expr(body)),
        ExprKind::Block(stmts, result) => {
            let mut parts = stmts.iter().map(stmt).collect::<Vec<_>>();
            parts.extend(result.iter().map(|e| expr(e)));
            format!("{{ {} }}", parts.join(" "))
        }
        ExprKind::Error => "<error>".into(),
    }
}

/// What follows a literal.
fn suffix(elem: Option<Elem>) -> String {
    elem.map_or(String::new(), |e| e.to_string())
}

fn operator(op: Binary) -> String {
    format!("{op:?}").to_lowercase()
}

/// What follows a pattern.
fn annotation(t: &Option<Type>) -> String {
    t.as_ref().map_or(String::new(), |t| format!(": {}", ty(t)))
}

/// What is between brackets.
fn index(index: &IndexKind) -> String {
    let end = |e: &Option<Box<Expr>>| e.as_ref().map_or(String::new(), |e| expr(e));
    match index {
        IndexKind::At(i) => expr(i),
        IndexKind::Multi(es) => format!("[{}]", join(es, ", ", expr)),
        IndexKind::Slice(lo, hi) => format!("{}..{}", end(lo), end(hi)),
        IndexKind::Parts(parts) => {
            let part = |p: &Part| match p {
                Part::At(i) => expr(i),
                Part::Range(lo, hi) => format!("{}..{}", end(lo), end(hi)),
            };
            format!("s![{}]", join(parts, ", ", part))
        }
    }
}

fn arm(arm: &Arm) -> String {
    let head = match &arm.binding {
        Some(name) => name.name.to_string(),
        None if arm.alternatives.is_empty() => "_".into(),
        None => join(&arm.alternatives, " | ", expr),
    };
    format!("{head} => {}", expr(&arm.body))
}

fn for_loop(e: &For) -> String {
    let over = match &e.over {
        Over::Range { lo, hi, reversed } => {
            format!("{}..{}{}", expr(lo), expr(hi), if *reversed { " reversed" } else { "" })
        }
        Over::Array { array, numbered } => {
            format!("{}{}", expr(array), if *numbered { " numbered" } else { "" })
        }
    };
    let checkpoint = match &e.checkpoint {
        None => String::new(),
        Some(Checkpoint::Every(k)) => format!("checkpoint every {} ", expr(k)),
        Some(Checkpoint::Levels(l)) => format!("checkpoint levels {l} "),
    };
    format!("{checkpoint}for {} in {over} {}", pattern(&e.pattern), expr(&e.body))
}

fn stmt(s: &Stmt) -> String {
    match s {
        Stmt::Let { pattern: p, ty, value } => {
            format!("let {}{} = {};", pattern(p), annotation(ty), expr(value))
        }
        Stmt::Expr(e) => format!("{};", expr(e)),
    }
}
