//! Texts that come back as they were, and texts that are none.

use super::super::print::{pretty, print};
use super::*;
use crate::core::{Check, CheckKind, Exp};
use crate::ty::Const;

const EXAMPLE: &str = r#"fn rows(w.0: [d][c]f64 @0, p = (a.1: [n]f64, (b.2: f64,)) @0, no_grad y.3: [n]i64 @0) -> ([d]f64, (f64,)) sizes d, c, n
  z.4: [d]f64, k.5: [d]i64 = build [i.6 < d] {
    m.7: f64, k.8: i64 = reduce (add, argmax) j.9 < c {
      e.10: f64 = w.0[i.6, j.9] @1
      => e.10, e.10
    } @1
    => m.7, k.8
  } @1
  check n == d when c @0
  check nonnegative(-2 * c * d + n) @0
  check 3 <= n when c, d - 1 @1
  q.12: bool = lt(b.2, -1.5e-7f64) @1
  r.13: f64 = if q.12 {
    s.14: f64 = exp(b.2) @1
    => s.14
  } else { => inf_f64 } @1
  t.15: i64 = size d * n + 1 @0
  u.16: [t.15]f64 = build [i.17 < t.15] { => 0.0f64 } @1
  v.18: [t.15]f64 = scatter add into u.16 [i.19 < n, j.20 < d] {
    x.21: i64 = mul(i.19, j.20) @1
    => x.21, 1.0f64
  } @1
  v.22: [t.15]f64 = scatter write into v.18 [] { => 0, nan_f64 } @1
  a.23: [c * d]f64 = reshape w.0 [c * d] @0
  a.24: f64 = stop_gradient r.13 @0
  o.25: [n]f64, p.26: [n]i64 = scan inclusive (add, max) i.27 < n {
    e.28: f64 = a.1[i.27] @1
    => e.28, i.27
  } @0
  o.29: [n]f64 = scan exclusive (mul) i.30 < n { => b.2 } @0
  c.31: f64, s.32: f64 = fold (c.33: f64, s.34: f64; d.35: f64, t.36: f64) from 1.0f64, 0.0f64 with {
    c.37: f64 = mul(c.33, d.35) @1
    s.38: f64 = mul(s.34, d.35) @1
    s.39: f64 = add(s.38, t.36) @1
    => c.37, s.39
  } over i.40 < n { => b.2, b.2 } @0
  c.41: [n]f64 = fold inclusive (l.42: f64; r.43: f64) from 0.0f64 with { => r.43 } over i.44 < n {
    e.45: f64 = a.1[i.44] @1
    => e.45
  } @0
  c.46: [n]bool = fold exclusive (l.47: bool; r.48: bool) from true with { => l.47 } over i.49 < n { => q.12 } @0
  = fold (; ) from with { => } over i.50 < n { => } @0
  a.51: [n]f64, k.52: i64 = loop for t.53 < t.15 with s.54: [n]f64 from a.1, k.55: i64 from 0 {
    u.56: [n]f64 = update s.54[t.53] with b.2 @1
    => u.56, t.53
  } @1
  b.57: f64 = loop while {
    g.58: bool = lt(x.59, 100.0f64) @0
    => g.58
  } with x.59: f64 from b.2 {
    y.60: f64 = mul(2.0f64, x.59) @0
    => y.60
  } @1
  = loop while { => false } with { => } @1
  = loop for t.61 < 3 with { => } @1
  w.62: [d][c]f64 = update w.0[] with w.0 @1
  o.63: [d][c]i64 = argsort w.0 @1
  y.64: f64, k.65: i64, g.66: [n]f64, h.67: f64 = pullback x.68: [n]f64 from a.1, v.69: f64 from 2.0f64 {
    e.70: f64 = x.68[0] @1
    => e.70, 3, 1.0f64
  } @1
  y.71: f64, d.72: f64 = pushforward x.73: f64 from b.2, v.74: f64 from r.13 along 1.0f64, b.2 { => x.73 } @0
  => z.4, a.24
unused t.11: [n]f32
places
  rows "src/lib.rs" 12 5
  rows "C:\\dir\\\"x\".rs // no" 13 9
"#;

fn read(text: &str) -> Function {
    parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn the_example_comes_back() {
    let f = read(EXAMPLE);
    assert_eq!(print(&f), EXAMPLE);
    assert_eq!(super::super::verify::check(&f), Vec::<String>::new());
    assert_eq!((f.vars.len(), f.places.len(), f.params[1].vars.leaves().len()), (75, 2, 2));
    assert!(!f.params[2].active && f.params[0].active);
    assert_eq!(f.body.stms[3].exp, read(EXAMPLE).body.stms[3].exp);
}

#[test]
fn pretty_has_no_places_and_can_be_read() {
    let f = read(EXAMPLE);
    let text = pretty(&f);
    assert!(!text.contains('@') && !text.contains("places") && !text.contains("unused"));
    let g = read(&text);
    assert_eq!(pretty(&g), text);
    assert_eq!(g.places.len(), 1);
    assert_eq!(read(&print(&g)), g);
}

#[test]
fn every_constant_comes_back_to_the_bit() {
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.1,
        1e300,
        1e-300,
        5e-324,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        -f64::NAN,
        f64::from_bits(0x7ff8_0000_0000_1234),
        16_777_217.0,
        1e16,
        1.5e-7,
    ];
    let ints = [0, 1, -1, i64::MAX, i64::MIN, i64::from(i32::MIN), i64::from(u32::MAX)];
    let mut constants: Vec<Const> = vec![Const::bool(true), Const::bool(false)];
    for elem in [Elem::F32, Elem::F64] {
        constants.extend(floats.iter().map(|x| Const::float(elem, *x)));
    }
    for elem in [Elem::I32, Elem::I64, Elem::U32] {
        constants.extend(ints.iter().map(|x| Const::int(elem, *x)));
    }
    let mut f = read("fn f() -> ()\n  =>");
    f.body.results = constants.iter().copied().map(Atom::Const).collect();
    f.result_types = constants.iter().map(|c| Type::scalar(c.elem)).collect();
    f.result = Tree::Tuple((0..constants.len()).map(Tree::Leaf).collect());
    let g = read(&print(&f));
    for (found, c) in g.body.results.iter().zip(&constants) {
        assert_eq!(*found, Atom::Const(*c), "{}", super::super::print::constant(*c));
    }
    assert_eq!(g, f);
}

#[test]
fn every_name_comes_back() {
    let names = [
        "x",
        "argument 0",
        "p.0",
        "#x.0",
        "",
        "0",
        "1.5",
        "a\"b\\",
        "größe",
        "no_grad",
        "f64",
        "true",
        "x\n",
        "if",
        ".",
    ];
    for name in names {
        let mut f = read(
            "fn f(x.0: [n]f64, s.1: i64, q = (t.2: f64)) -> [n]f64 sizes n\n  y.3: [n]f64 = x.0\n  => y.3",
        );
        let size = Dim::name(name).mul(&Dim::atom(SizeAtom::Scalar(1))).sub(&Dim::constant(2));
        f.name = name.into();
        f.sizes[0] = name.into();
        f.params[2].name = name.into();
        f.params[1].active = false;
        f.places[0].kernel = name.into();
        f.places[0].file = name.into();
        for v in &mut f.vars {
            v.name = name.into();
        }
        f.vars[0].ty.dims = vec![Dim::name(name), size.clone(), Dim::default(), Dim::constant(i64::MIN)];
        f.body.stms.push(Stm {
            vars: vec![],
            exp: Exp::Check(Check {
                kind: CheckKind::NonNegative(size.clone()),
                guards: vec![size.clone(), Dim::name(name)],
            }),
            loc: Loc(0),
        });
        f.body.stms.push(Stm { vars: vec![], exp: Exp::Atom(Atom::Var(Var(0))), loc: Loc(0) });
        let text = print(&f);
        assert_eq!(read(&text), f, "{text}");
    }
}

#[test]
fn results_in_another_order_come_back() {
    let mut f = read("fn f(x.0: f64) -> (f64, f64)\n  => x.0, 2.0f64");
    for tree in [
        Tree::Tuple(vec![Tree::Leaf(1), Tree::Leaf(0)]),
        Tree::Leaf(1),
        Tree::Tuple(vec![Tree::Leaf(0), Tree::Tuple(vec![Tree::Leaf(0)]), Tree::Tuple(vec![])]),
        Tree::Tuple(vec![]),
    ] {
        f.result = tree;
        assert_eq!(read(&print(&f)), f);
    }
    f.result_types.clear();
    assert_eq!(read(&print(&f)), f);
}

#[test]
fn bad_texts_name_their_line() {
    let bad = [
        ("", "line 1: expected `fn`, found the end of the text"),
        ("fn f() -> f64\n  x.0: f64 = foo(1)\n  => x.0", "line 2: there is no function `foo`"),
        ("fn f() -> f64\n  x.0: f65 = 1.0f64", "line 2: expected a type, found `f65`"),
        ("fn f() -> f64\n  x.0: f64 = 1.0f64\n", "line 2: expected `=`, found the end of the text"),
        (
            "fn f() -> f64\n  x.0: f64 = 1.0\n  => x.0",
            "line 2: expected a variable or a constant, found `1.0`",
        ),
        ("fn f() -> f64\n  => y.0 $", "line 2: unexpected `$`"),
        ("fn f(x.0: f64) -> f64\n\n  => y.0", "line 3: `y.0` is called `x` where it is bound"),
        ("fn f() -> f64\n => x.99999999", "line 2: the number of `x.99999999` is too large"),
        (
            "fn f() -> f64\n => x.99999999999",
            "line 2: expected a variable's number after the dot, found `99999999999`",
        ),
        (
            "fn f() -> i32\n => 3000000000i32",
            "line 2: expected a variable or a constant, found `3000000000i32`",
        ),
        (
            "fn f() -> f64\n  x.0: [n]f64 = scan (add) i.1 < n { => 1.0f64 }",
            "line 2: expected `inclusive` or `exclusive`, found `(`",
        ),
        ("fn f() -> f64\n  = loop until", "line 2: expected `for`, found `until`"),
        ("fn f() -> f64\n  = fold (a.1: f64, b.2: f64) from", "line 2: expected `;`, found `)`"),
        ("fn \"f() -> f64", "line 1: a quote is not closed"),
        ("fn f() -> f64 => 1.0f64 => ", "line 1: expected the end of the text, found `=>`"),
        (
            "fn f(x.0: [9999999999999999999999]f64) -> f64 => 1.0f64",
            "line 1: the size 9999999999999999999999 is too large",
        ),
    ];
    for (text, message) in bad {
        assert_eq!(parse(text).err().as_deref(), Some(message), "{text}");
    }
    let deep =
        format!("fn f(x.0: f64) -> f64 {} => x.0", "y.1: f64 = reduce (add) i.2 < 3 { ".repeat(100_000));
    assert_eq!(parse(&deep).err().as_deref(), Some("line 1: nested too deeply"));
    let deep = format!("fn f(p = {}", "(".repeat(100_000));
    assert_eq!(parse(&deep).err().as_deref(), Some("line 1: nested too deeply"));
}

#[test]
fn damaged_texts_do_not_panic() {
    let chars: Vec<char> = EXAMPLE.chars().collect();
    for cut in 0..chars.len() {
        let _ = parse(&chars[..cut].iter().collect::<String>());
        let _ = parse(&chars[cut..].iter().collect::<String>());
        let mut without = chars.clone();
        without.remove(cut);
        if let Ok(f) = parse(&without.iter().collect::<String>()) {
            let _ = super::super::verify::check(&f);
            let _ = print(&f);
        }
    }
}

/// Constants of every type at their ends come back as the bits that they are.
#[test]
fn constants_at_their_ends_come_back() {
    let floats = [
        0.0,
        -0.0,
        1.0,
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        f64::MAX,
        f64::EPSILON,
        1e300,
        0.1,
        123456789.123,
    ];
    let special = [
        f64::INFINITY,
        f64::NAN,
        f64::from_bits(0x7ff8_0000_0000_0001),
        f64::from_bits(0xfff0_dead_beef_0001),
    ];
    let integers =
        [0, 1, -1, i64::MAX, i64::MIN, i64::from(i32::MAX), i64::from(i32::MIN), i64::from(u32::MAX)];
    let mut constants = vec![Const::bool(true), Const::bool(false)];
    for x in floats.into_iter().chain(special).flat_map(|x| [x, -x]) {
        constants.extend([Elem::F64, Elem::F32].map(|e| Const::float(e, x)));
        constants.push(Const::float(Elem::F32, f64::from(x as f32)));
    }
    for i in integers {
        constants.extend([Elem::I64, Elem::I32, Elem::U32].map(|e| Const::int(e, i)));
    }
    let mut f = read("fn f() -> f64 => 1.0f64");
    for c in constants {
        f.body.results = vec![Atom::Const(c)];
        f.result_types = vec![Type::scalar(c.elem)];
        let again = read(&print(&f));
        assert_eq!(again, f, "{c:?}: {}", print(&f));
    }
}

/// Names that are words of the text, or that no text would have plainly.
#[test]
fn names_of_all_kinds_come_back() {
    let words = "fn build reduce scan fold loop for while with if else check when nonnegative size sizes types as no_grad unused \
                 places rule of over from into write add inf_f64 nan_f64 true false f64 i64 along pullback pushforward \
                 custom by update scatter reshape argsort stop_gradient inclusive exclusive";
    let mut names: Vec<String> = words.split_whitespace().map(String::from).collect();
    names.extend(
        [
            "größe", "数", "a·b", "e\u{301}", "\u{2118}", "x.y", "#x.0", "#", "1st", "a b", "\"", "\\", "//",
            "-", "@0", "\n", "", "'a", "r#fn", "_",
        ]
        .map(String::from),
    );
    for name in names {
        let name = Name::from(name);
        let mut f = read(
            "fn f(n.0: i64 @0, p = (a.1: [s]f64, b.2: [2 * s * n.0 - 1]f64) @0) -> [s]f64 sizes s\n  check s == n.0 when s @0\n  => a.1\nplaces\n  f \"x.rs\" 1 2\n",
        );
        for info in &mut f.vars {
            info.name = name.clone();
            for d in &mut info.ty.dims {
                *d = d.substitute(&mut |a| match a {
                    SizeAtom::Name(_) => Dim::name(name.clone()),
                    a => Dim::atom(a.clone()),
                });
            }
        }
        f.name = name.clone();
        f.sizes = vec![name.clone()];
        f.result_types[0].dims = vec![Dim::name(name.clone())];
        f.params.iter_mut().for_each(|p| p.name = name.clone());
        for active in [true, false] {
            f.params.iter_mut().for_each(|p| p.active = active);
            f.places[0].kernel = name.clone();
            f.places[0].file = name.clone();
            let Exp::Check(c) = &mut f.body.stms[0].exp else { panic!("it is a check") };
            c.guards = vec![Dim::name(name.clone())];
            c.kind =
                CheckKind::Equal(Dim::name(name.clone()), Dim::atom(SizeAtom::Scalar(0)).scale(i64::MIN));
            let text = print(&f);
            let again = parse(&text).unwrap_or_else(|e| panic!("{name:?}: {e}\n{text}"));
            assert_eq!(again, f, "{name:?}\n{text}");
        }
    }
}
