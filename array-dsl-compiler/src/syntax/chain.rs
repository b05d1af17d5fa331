//! Chains of operators: `a + b - c * d + ..`.
//!
//! A chain leans to the left and is as deep as it is long, and every pass walks a tree by recursion. So what stands to the left is
//! bound to a name after every [`LINK`] operators, with the same meaning: an operator's left side comes before its right side.
//!
//! ```text
//! e0 + e1 + .. + e64 + e65    is read as    { let left = e0 + e1 + .. + e64; left + e65 }
//! ```

use syn::spanned::Spanned;

use super::ast::{Binary, Expr, ExprKind, Ident, Path, Pattern, Stmt};
use super::parse::Parser;

/// So many operators make a level of a chain.
const LINK: usize = 64;

/// The name for what stands to the left; no user can write it.
const LEFT: &str = "(left)";

impl Parser<'_> {
    /// Reads an expression that ends with a binary operator and what stands to its right.
    pub(super) fn chain(&mut self, last: &syn::ExprBinary, op: Binary) -> Expr {
        let mut steps = vec![(op, last.op.span(), &*last.right)];
        let mut first = &*last.left;
        let mut error = false;
        while let syn::Expr::Binary(e) = first
            && let Some(op) = binary(&e.op)
        {
            error = self.is_power(e);
            if error {
                break;
            }
            steps.push((op, e.op.span(), &*e.right));
            first = &*e.left;
        }
        steps.reverse();
        // The operand beside the link's last operator is one level below it, the one beside the first as many as it has operators.
        let outside = self.depth;
        self.depth += steps.len().min(LINK) - 1;
        let mut value =
            if error { Expr { kind: ExprKind::Error, span: first.span() } } else { self.expr(first) };
        let start = value.span;
        let mut lets = Vec::new();
        for (i, link) in steps.chunks(LINK).enumerate() {
            if i > 0 {
                let span = value.span;
                let left = || Ident { name: LEFT.into(), span };
                lets.push(Stmt::Let { pattern: Pattern::Name(left()), ty: None, value });
                let path = Path { segments: vec![left()], leading_colon: false };
                value = Expr { kind: ExprKind::Path(path), span };
            }
            for (above, (op, place, right)) in link.iter().enumerate() {
                self.depth = outside + link.len() - 1 - above;
                let right = self.expr(right);
                let span = start.join(right.span).unwrap_or(start);
                value = Expr { kind: ExprKind::Binary(*op, Box::new(value), Box::new(right), *place), span };
            }
        }
        self.depth = outside;
        if lets.is_empty() {
            return value;
        }
        let span = value.span;
        Expr { kind: ExprKind::Block(lets, Some(Box::new(value))), span }
    }
}

/// The operator, unless it assigns.
pub(super) fn binary(op: &syn::BinOp) -> Option<Binary> {
    Some(match op {
        syn::BinOp::Add(_) => Binary::Add,
        syn::BinOp::Sub(_) => Binary::Sub,
        syn::BinOp::Mul(_) => Binary::Mul,
        syn::BinOp::Div(_) => Binary::Div,
        syn::BinOp::Rem(_) => Binary::Rem,
        syn::BinOp::And(_) => Binary::And,
        syn::BinOp::Or(_) => Binary::Or,
        syn::BinOp::BitXor(_) => Binary::BitXor,
        syn::BinOp::BitAnd(_) => Binary::BitAnd,
        syn::BinOp::BitOr(_) => Binary::BitOr,
        syn::BinOp::Shl(_) => Binary::Shl,
        syn::BinOp::Shr(_) => Binary::Shr,
        syn::BinOp::Eq(_) => Binary::Eq,
        syn::BinOp::Ne(_) => Binary::Ne,
        syn::BinOp::Lt(_) => Binary::Lt,
        syn::BinOp::Le(_) => Binary::Le,
        syn::BinOp::Gt(_) => Binary::Gt,
        syn::BinOp::Ge(_) => Binary::Ge,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::syntax::testing::{body, errors};

    /// `first`, then `link` so many times.
    fn text(first: &str, link: &str, n: usize) -> String {
        format!("fn f() -> f64 {{ {first}{} }}", link.repeat(n))
    }

    /// The tree of the operators without a `let`.
    fn tree(first: &str, n: usize) -> String {
        format!("{}{first}{}", "(add ".repeat(n), " 1)".repeat(n))
    }

    #[test]
    fn a_link_at_a_time() {
        for n in [1, 64] {
            assert_eq!(body(&text("x", " + 1", n)), format!("{{ {} }}", tree("x", n)));
        }
        for n in [65, 128] {
            let read = format!("{{ {{ let (left) = {}; {} }} }}", tree("x", 64), tree("(left)", n - 64));
            assert_eq!(body(&text("x", " + 1", n)), read);
        }
        // On as much stack as rustc gives a macro; syn prints and drops what it has read by recursion.
        let long = std::thread::Builder::new().stack_size(8 << 20).spawn(|| {
            assert!(errors(&text("x", " - y * 2.0", 5000)).is_empty());
            assert!(errors(&text("(x + 1)", " + (y * (x - 2))", 500)).is_empty());
        });
        long.expect("a thread").join().expect("no failure");
    }

    #[test]
    fn nesting_is_counted_as_it_is_walked() {
        let nested = |n: usize| format!("fn f() -> f64 {{ {}x{} }}", "(1 + ".repeat(n), ")".repeat(n));
        assert!(errors(&nested(120)).is_empty());
        let leaning = format!("fn f() -> f64 {{ {}x{} }}", "(".repeat(127), " + 1)".repeat(127));
        assert!(errors(&leaning).is_empty());
        for deep in
            [nested(200), format!("fn f() -> f64 {{ {} }}", "-(".repeat(200) + "x" + &")".repeat(200))]
        {
            let found = errors(&deep);
            assert!(
                found.len() == 1 && found[0].starts_with("AD0019 this is nested more than 256"),
                "{found:?}"
            );
        }
        // A long chain in the last operand of a long chain, and so on.
        let mut chains = String::from("x");
        for _ in 0..20 {
            chains = format!("({chains}{})", " + 1".repeat(100));
        }
        assert_eq!(errors(&format!("fn f() -> f64 {{ {chains} }}")).len(), 1);
    }

    #[test]
    fn errors_in_a_chain_are_all_told() {
        let found = errors(&text("x ** 2.0", " + loop {}", 70));
        assert_eq!(found.len(), 71, "{found:?}");
    }
}
