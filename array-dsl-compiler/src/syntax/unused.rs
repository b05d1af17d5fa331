//! What rustc's lints would say of the names that a kernel binds, if it were shown them (`emit::host::lints`): names that nothing uses,
//! variables that are assigned and never read, and `mut` where nothing is assigned.
//!
//! Whether a name is used is asked of the tokens: one that stands in the function once, where it is bound, is not, and neither is one
//! that otherwise only stands on the left of an `=`. So of a name that is bound twice nothing is said; what is said is right.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use rustc_hash::FxHashMap;

use super::ast::{self, Arm, Expr, ExprKind, Pattern};
use super::walk::Visitor;

/// A name that a lint may speak of, at the user's tokens.
pub struct Binding {
    /// Where it is bound.
    pub name: Ident,
    /// The `mut` before it.
    pub mutability: Option<Ident>,
    /// Where it is assigned as a whole.
    pub assigned: Vec<Ident>,
    /// Whether something else stands for it.
    pub is_read: bool,
}

/// The bindings that a lint may speak of.
#[derive(Default)]
pub struct Unused {
    /// Parameters, and parts of them.
    pub parameters: Vec<Binding>,
    /// Variables of the body.
    pub locals: Vec<Binding>,
}

/// What rustc may say of a function; `item` has the tokens that `f` was read from.
pub fn unused(item: &syn::ItemFn, f: &ast::Function) -> Unused {
    let mut tokens = Tokens::default();
    tokens.add(item.sig.inputs.to_token_stream());
    tokens.add(item.sig.output.to_token_stream());
    tokens.add(item.block.to_token_stream());
    let (mut parameters, mut locals) = (Bound::default(), Bound::default());
    f.params.iter().for_each(|p| parameters.bind(&p.pattern));
    locals.expr(&f.body);
    let all: Vec<ast::Ident> = parameters.names.iter().chain(&locals.names).cloned().collect();
    let found = |bound: Vec<ast::Ident>| {
        let alone = |n: &ast::Ident| all.iter().filter(|other| other.name == n.name).count() == 1;
        bound.into_iter().filter(alone).filter_map(|n| tokens.binding(&n, &locals)).collect()
    };
    Unused { parameters: found(parameters.names.clone()), locals: found(locals.names.clone()) }
}

/// The identifiers of a function.
#[derive(Default)]
struct Tokens {
    /// How often each stands there.
    times: FxHashMap<String, usize>,
    /// The `mut` before a name; `None` where there are several.
    mutable: FxHashMap<String, Option<Ident>>,
}

impl Tokens {
    fn add(&mut self, tokens: TokenStream) {
        let mut mutability: Option<Ident> = None;
        for token in tokens {
            match token {
                TokenTree::Ident(name) if name == "mut" => {
                    mutability = Some(name);
                    continue;
                }
                TokenTree::Ident(name) => {
                    let name = name.to_string();
                    if let Some(token) = mutability.take() {
                        let known = self.mutable.contains_key(&name);
                        self.mutable.insert(name.clone(), (!known).then_some(token));
                    }
                    *self.times.entry(name).or_default() += 1;
                }
                TokenTree::Group(group) => self.add(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            mutability = None;
        }
    }

    /// A name that is bound once, if there is something to say.
    fn binding(&self, n: &ast::Ident, body: &Bound) -> Option<Binding> {
        // A raw identifier has another text among the tokens, and so is never found.
        let times = *self.times.get(&*n.name)?;
        let ident = |n: &ast::Ident| Ident::new(&n.name, n.span);
        let assigned: Vec<Ident> = body.assigned.iter().filter(|m| m.name == n.name).map(ident).collect();
        let is_read = n.name.starts_with('_') || times > 1 + assigned.len();
        let is_changed = !assigned.is_empty() || body.changed.iter().any(|m| m.name == n.name);
        let mutability = self.mutable.get(&*n.name).cloned().flatten();
        (!is_read || (mutability.is_some() && !is_changed)).then(|| Binding {
            name: ident(n),
            mutability,
            assigned,
            is_read,
        })
    }
}

/// The names that patterns bind, and those that are assigned.
#[derive(Default)]
struct Bound {
    names: Vec<ast::Ident>,
    /// As a whole.
    assigned: Vec<ast::Ident>,
    /// Parts of them: `a[i] = v`.
    changed: Vec<ast::Ident>,
}

impl Bound {
    /// What an assignment changes.
    fn target(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Path(path) => self.assigned.extend(path.single().cloned()),
            ExprKind::Tuple(parts) => parts.iter().for_each(|p| self.target(p)),
            _ => self.changed.extend(root(e)),
        }
    }
}

/// The variable whose part an expression is.
fn root(e: &Expr) -> Option<ast::Ident> {
    match &e.kind {
        ExprKind::Path(path) => path.single().cloned(),
        ExprKind::Field(of, _) | ExprKind::Index(of, _) => root(of),
        _ => None,
    }
}

impl Visitor for Bound {
    fn expr(&mut self, e: &Expr) {
        if let ExprKind::Assign(target, ..) = &e.kind {
            self.target(target);
        }
        self.walk_expr(e);
    }

    fn bind(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Name(name) | Pattern::Mutable(name) => self.names.push(name.clone()),
            Pattern::Wildcard(_) => {}
            Pattern::Tuple(parts, _) => parts.iter().for_each(|p| self.bind(p)),
            Pattern::Array(array) => array.parts().for_each(|p| self.bind(p)),
            // A field's name alone binds it too: rustc would say how to leave it out of the pattern, which is not there to be shown.
            Pattern::Record(r) => {
                let renamed = r.fields.iter().filter(|(f, p)| p.name().is_none_or(|n| n.name != f.name));
                renamed.for_each(|(_, p)| self.bind(p));
            }
        }
    }

    fn walk_arm(&mut self, arm: &Arm) {
        self.names.extend(arm.binding.clone());
        self.expr(&arm.body);
    }
}

#[cfg(test)]
mod tests {
    use super::{Binding, unused};
    use crate::syntax::testing::parsed;

    fn found(source: &str) -> String {
        let (f, diagnostics) = parsed(source);
        assert!(diagnostics.is_empty(), "{source}: {:?}", diagnostics.list());
        let unused = unused(&syn::parse_str(source).expect("a function"), &f);
        let shown = |b: &Binding| {
            let mutability = b.mutability.as_ref().map_or("", |_| "mut ");
            let rest = if b.is_read { " is read" } else { "" };
            format!("{mutability}{}{}{rest}", b.name, " =".repeat(b.assigned.len()))
        };
        let list = |all: Vec<Binding>| all.iter().map(shown).collect::<Vec<_>>().join(", ");
        format!("{} | {}", list(unused.parameters), list(unused.locals))
    }

    #[test]
    fn names_that_stand_where_they_are_bound_alone() {
        for (source, names) in [
            ("fn f(x: [f64; n], k: usize, y: f64) -> [f64; k] { let a = x; let b = 1; 2.0 }", "y | a, b"),
            ("fn f((x, y): (f64, f64), _z: f64) -> f64 { map(|a, b| a, y) }", "x | b"),
            (
                "fn f(x: f64) -> f64 { let P { a, b: c } = p(x); for (i, v) in x { } match x { 0 => 1, other => 2 } }",
                " | c, i, v, other",
            ),
            ("fn f(x: f64) -> f64 { let mut s = x; s = 2.0; x }", " | mut s ="),
            ("fn f(x: f64) -> f64 { let mut s = x; let mut t = x; s += 2.0; (s, t) = (x, x); s + t }", " | "),
            ("fn f(x: f64) -> f64 { let mut s = x; let mut _t = s; s }", " | mut s is read, mut _t is read"),
            ("fn f(mut x: f64, mut y: f64) -> f64 { y += x; y }", "mut x is read | "),
            (
                "fn f(x: [f64; n]) -> f64 { let mut a = x; let mut b = (x, x); a[0] = 1.0; b.0[1] = 2.0; 1.0 }",
                " | ",
            ),
            // Bound twice.
            ("fn f(x: f64) -> f64 { let mut s = x; let mut s = s + x; s }", " | "),
        ] {
            assert_eq!(found(source), names, "{source}");
        }
    }
}
