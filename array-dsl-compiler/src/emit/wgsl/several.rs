//! Several points of little work for each thread.
//!
//! A thread waits for what it reads; the more of it is on the way, the nearer a device comes to the speed of its memory. So a thread
//! takes [`EACH`] points, 256 apart, first reads and computes for all of them, and then stores:
//!
//! ```text
//! before   v = x[point];  y[point] = f(v)
//! after    v_at_0 = x[point_at_0];  v_at_1 = x[point_at_1]; ..    y[point_at_0] = f(v_at_0);  y[point_at_1] = f(v_at_1); ..
//! ```
//!
//! Only where nothing that is stored is read, and nothing may fail. Points beyond the last one read what that one does, and store
//! nothing.

use rustc_hash::FxHashSet;

use super::context::Context;
use super::shader::{Finished, Shader};
use crate::loops::uses::reads_changed;
use crate::loops::{Node, Tree};

/// The points of a thread.
pub(super) const EACH: usize = 4;

/// With more nodes a point has enough on the way by itself.
const MOST_NODES: usize = 40;

/// Whether several points of a tree are worth a thread.
pub(super) fn is_worthwhile(cx: &Context<'_>, tree: &Tree) -> bool {
    !tree.axes.is_empty()
        && tree.body.len() <= MOST_NODES
        && tree.body.iter().all(|n| matches!(n, Node::Let(_) | Node::Store { .. }))
        && !reads_changed(cx.program, &tree.body)
}

/// The shader, unless something may fail.
pub(super) fn points(cx: &mut Context<'_>, tree: &Tree, label: &str) -> Result<Option<Finished>, String> {
    let sites = cx.sites.len();
    let mut sh = Shader::new(cx, &tree.body)?;
    sh.enter("point", &tree.axes);
    let of = |stores: bool| -> Vec<Node> {
        tree.body.iter().filter(|n| matches!(n, Node::Let(_)) != stores).cloned().collect()
    };
    let computing = sh.apart(|sh| sh.nodes(&of(false)))?;
    let storing = sh.apart(|sh| sh.nodes(&of(true)))?;
    if sh.failing > 0 {
        sh.cx.sites.truncate(sites);
        return Ok(None);
    }
    let axes = sh.decode(0)?;
    let names = names("point", &[&axes, &computing]);
    for k in 0..EACH {
        sh.line(format!("let number_{k} = first + {}u;", 256 * k));
        sh.line(format!("let point_at_{k} = min(number_{k}, points - 1u);"));
        sh.insert(&copy(&axes, &names, k));
        sh.insert(&copy(&computing, &names, k));
    }
    for k in 0..EACH {
        sh.open(format!("if number_{k} < points {{"));
        sh.insert(&copy(&storing, &names, k));
        sh.close("}");
    }
    let total = sh.points(&tree.axes)?;
    let head = format!(
        "    let first = (wg.x + wg.y * num_wg.x) * {}u + local;
    let points = {total};
    if first >= points {{ return; }}
",
        256 * EACH
    );
    let shader = sh.finish(label.to_string(), "", &head)?;
    Ok(Some(Finished { each: EACH, ..shader }))
}

/// The names that lines define, and that of the number they begin from.
pub(super) fn names<'t>(number: &'t str, lines: &[&'t str]) -> FxHashSet<&'t str> {
    defined(lines).chain([number]).collect()
}

/// The names that lines define.
pub(super) fn defined<'t>(lines: &[&'t str]) -> impl Iterator<Item = &'t str> {
    let words = |lines: &'t str| lines.split(|c: char| !is_part(c)).filter(|w| !w.is_empty());
    let mut defines = false;
    lines.iter().flat_map(move |lines| words(lines)).filter(move |word| {
        let is_defined = defines;
        defines = matches!(*word, "let" | "var");
        is_defined
    })
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The lines with these names as the copy's own.
pub(super) fn copy(lines: &str, names: &FxHashSet<&str>, k: usize) -> String {
    renamed(lines, |word| names.contains(word).then(|| format!("_at_{k}")))
}

/// The lines with what is appended to each of their words.
pub(super) fn renamed(lines: &str, suffix: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(lines.len() + lines.len() / 2);
    let mut rest = lines;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        out.push_str(word);
        out.extend(suffix(word));
        let next = after.find(is_part).unwrap_or(after.len());
        out.push_str(&after[..next]);
        rest = &after[next..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{copy, names};

    #[test]
    fn copies_have_names_of_their_own() {
        let lines =
            "let v12 = a3[point] + f(v2.x, 1.5f, vec2, s0);\n    var point_1 = point / u32(s0) + v12;\n";
        let expected = "let v12_at_2 = a3[point_at_2] + f(v2.x, 1.5f, vec2, s0);\n    \
                        var point_1_at_2 = point_at_2 / u32(s0) + v12_at_2;\n";
        assert_eq!(copy(lines, &names("point", &[lines]), 2), expected);
        assert_eq!(copy("", &names("point", &[]), 0), "");
    }
}
