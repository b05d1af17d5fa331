//! How vectors are made.

use super::{Form, Kind, Writer, form, outside};

pub(super) const FORMS: &[Form] = &[
    form("arithmetic, scalar functions", Writer::arithmetic),
    form("powers", Writer::powers),
    form("`min`, `max`, `clamp`", Writer::clamped),
    form("`build`", built),
    form("`build`", built),
    form("`map`", mapped),
    form("`if`", Writer::branch),
    form("`match`", Writer::matched),
    form("`match`", Writer::matched),
    form("`gather`", gathered),
    form("slices, `concat`, `reverse`, `rotate`", rearranged),
    form("tuples, `zip`", zipped),
    form("`sum`, `mean`, `dot`", |w, d| {
        let c = w.extent();
        let of = ["sum", "dot"][w.rng.below(2)];
        let m = w.matrix(&d[0], &c);
        if of == "sum" { format!("sum({m})") } else { format!("dot({m}, {})", w.leaf(&[c])) }
    }),
    form("`prod`", |w, d| {
        let c = w.extent();
        let m = w.matrix(&d[0], &c);
        w.bounded(&format!("prod({m})"))
    }),
    form("`minimum`, `maximum`", |w, d| {
        let c = w.extent();
        let m = w.matrix(&d[0], &c);
        let of = ["minimum", "maximum"][w.rng.below(2)];
        format!("{of}({m}).clamp(-2.5, 2.5)")
    }),
    form("`matmul`, `matvec`, `outer`", |w, d| {
        let c = w.extent();
        let (m, v) = (w.matrix(&d[0], &c), w.leaf(&[c]));
        format!("matvec({m}, {v})")
    }),
    form("`einsum!`", summed),
    form("`windows`, steps", |w, d| {
        let k = w.rng.between(1, 3);
        let (v, end) = (w.vector(&d[0]), w.leaf(&[k.to_string()]));
        let of = ["sum", "prod", "softmax"][w.rng.below(3)];
        let windows = format!("windows(concat({v}, {end}), {})", k + 1);
        if of == "softmax" { format!("transpose(softmax({windows}))[0]") } else { format!("{of}({windows})") }
    }),
    form("`erf`, `lgamma`, `digamma`", Writer::special),
    form("`logsumexp`, `softmax`", |w, d| {
        let v = w.vector(&d[0]);
        format!("softmax({v})")
    }),
    form("`cumsum`, `cumprod`", |w, d| {
        let v = w.vector(&d[0]);
        let of = ["cumsum", "cumprod"][w.rng.below(2)];
        w.bounded(&format!("{of}({v})"))
    }),
    form("`scan`, `scan_exclusive` by `min`, `max`", |w, d| {
        let v = w.vector(&d[0]);
        let v = w.bounded(&v);
        let (of, op) = (["scan", "scan_exclusive"][w.rng.below(2)], w.rng.below(2));
        format!("{of}({}, {}, {v})", ["min", "max"][op], ["9.0", "-9.0"][op])
    }),
    form("`scan` by an operator", scanned),
    form("`scan` by an operator", scanned),
    form("`hist` by `add`", |w, d| histogram(w, d, "add", "0.0")),
    form("`hist` by `mul`", |w, d| histogram(w, d, "mul", "1.0")),
    form("`hist` by `min`, `max`", |w, d| {
        if w.rng.chance(50) { histogram(w, d, "min", "9.0") } else { histogram(w, d, "max", "-9.0") }
    }),
    form("`hist` by an operator", histogram_by_operator),
    form("`reduce_by_index`", reduced_by_index),
    form("`scatter`", scattered),
    form("`scatter_add`", |w, d| {
        let e = w.extent();
        let (to, at, v) = (w.leaf(d), w.ints(&e), w.vector(&e));
        format!("scatter_add({to}, {at}, {v})")
    }),
    form("`sort`, `sort_by_key`", |w, d| {
        let v = w.vector(&d[0]);
        if w.rng.chance(50) { format!("sort({v})") } else { format!("sort_by_key({}, {v})", w.leaf(d)) }
    }),
    form("`argsort`", |w, d| {
        let (v, keys) = (w.leaf(d), w.vector(&d[0]));
        format!("gather({v}, argsort({keys}))")
    }),
    form("`for` that stays parallel", combined),
    form("`for` over arrays", Writer::recurrence),
    form("updates in place", updated),
    form("updates in place", updated),
    form("`while`", Writer::repeated),
    form("`for` at every point", |w, d| {
        w.inside(|w| {
            let i = w.axis(&d[0]);
            let e = w.recurrence(&[]);
            format!("build({}, |{i}| {e})", d[0])
        })
    }),
    form("`for` whose end the point decides", |w, d| w.ragged(&d[0], 0, &[])),
    form("`for` over a window", |w, d| w.ragged(&d[0], 1, &[])),
    form("`for` over a window, of functions", |w, d| w.weighed(&d[0])),
    form("`for` over as many trips as data say", |w, d| w.ragged(&d[0], 2, &[])),
    form("`for` over as many trips as data say", |w, d| w.ragged(&d[0], 2, &[])),
    form("indices kept within borders", |w, d| {
        let (v, d) = (w.vector(&d[0]), &d[0]);
        let (t, i) = (w.name("t"), w.name("i"));
        format!("{{ let {t} = {v}; build({d}, |{i}| {t}[min({i} + 1, {d} - 1)] - {t}[max({i} - 2, 0)]) }}")
    }),
    form("`for` over a triangle, of arrays", |w, d| w.ragged(&d[0], 0, &["2".into()])),
    form("`for` over a triangle, of arrays", |w, d| w.ragged(&d[0], 0, &["2".into()])),
    form("`for` over pairs", |w, d| {
        let e = w.pairs(&d[0]);
        format!("({} + {e})", w.leaf(d))
    }),
    form("complex arithmetic", |w, d| {
        let (x, y, z, q) = (w.vector(&d[0]), w.vector(&d[0]), w.name("z"), w.name("q"));
        format!(
            "{{ let {z} = Complex::new({x}, {y}); let {q} = {z} * {z} + 1.0 / ({z} * 0.5 - Complex::new(3.0, 1.5)); {q}.re - 0.5 * {q}.im }}"
        )
    }),
    form("functions of complex numbers", |w, d| {
        let (x, y, z) = (w.vector(&d[0]), w.vector(&d[0]), w.name("z"));
        format!(
            "{{ let {z} = Complex::new(tanh({x}), sin({y})); (exp({z}) * sqrt({z} + 2.5)).re + ln({z} + 2.5).im }}"
        )
    }),
    form("sums and products of complex numbers", |w, d| {
        let (x, y, z) = (w.vector(&d[0]), w.vector(&d[0]), w.name("z"));
        format!(
            "{{ let {z} = Complex::new(tanh({x}), {y}); (cumsum({z}) * 0.5).im + prod(1.0 + 0.1 * {z} / ({z} - 4.0)).re }}"
        )
    }),
    form("loops over complex numbers", |w, d| {
        let (x, t, z, i, j) = (w.vector(&d[0]), w.name("t"), w.name("z"), w.name("i"), w.name("j"));
        let d = &d[0];
        format!(
            "{{ let {t} = {x}; build({d}, |{i}| {{ let mut {z} = Complex::new(tanh({t}[{i}]), 0.5); for {j} in 0..3 {{ \
             {z} = {z} * {z} * 0.25 + Complex::new(0.1, sin({t}[{i}])); }} {z}.norm_sqr() }}) }}"
        )
    }),
    form("`#[checkpoint]`", Writer::checkpointed),
    form("`stop_gradient`", Writer::stopped),
    form("`grad` inside", Writer::gradient),
    form("`vjp`, `jvp` inside", Writer::linearized),
    form("`vjp = rule`", |w, d| {
        let v = w.vector(&d[0]);
        format!("bent({v})")
    }),
    form("generic kernels", Writer::generic),
    form("generic kernels", Writer::generic),
    form("records", |w, d| {
        let (v, s, r) = (w.vector(&d[0]), w.leaf(&[]), w.name("r"));
        format!("{{ let {r} = paired({v}, {s}); {r}.a * {r}.b }}")
    }),
    outside("slices that may fail", |w, d| {
        let (v, e, at, d) = (w.vector(&d[0]), w.leaf(&["2".into()]), w.any_int(), &d[0]);
        let i = w.name("i");
        format!("{{ let {i} = {at}; concat({v}, {e})[{i}..{i} + {d}] }}")
    }),
    outside("sizes that may fail", |w, d| {
        // Sizes that are known to differ are refused.
        let other = match d[0].as_str() {
            "n" => "m",
            "m" => "n",
            size => size,
        };
        let (v, u) = (w.vector(other), w.name("u"));
        format!("{{ let {u}: [f64; {}] = {v}; {u} }}", d[0])
    }),
    form("kernels called", |w, d| {
        let (v, s) = (w.vector(&d[0]), w.leaf(&[]));
        format!("mixed({v}, {s}).0")
    }),
];

fn built(w: &mut Writer, d: &[String]) -> String {
    w.inside(|w| {
        let i = w.axis(&d[0]);
        let e = w.number();
        format!("build({}, |{i}| {e})", d[0])
    })
}

fn mapped(w: &mut Writer, d: &[String]) -> String {
    let (a, b) = (w.vector(&d[0]), w.leaf(d));
    w.inside(|w| {
        let (p, q) = (w.bind("p", Kind::Float, &[]), w.bind("q", Kind::Float, &[]));
        let e = w.number();
        format!("map(|{p}, {q}| {e} * {p} - {q}, {a}, {b})")
    })
}

fn gathered(w: &mut Writer, d: &[String]) -> String {
    let from = ["3", "n + 1"][w.rng.below(2)];
    let (v, at) = (w.vector(from), w.ints(&d[0]));
    let k = w.name("k");
    format!("gather({v}, map(|{k}| {k}.rem_euclid({from}), {at}))")
}

fn rearranged(w: &mut Writer, d: &[String]) -> String {
    let v = w.vector(&d[0]);
    match w.rng.below(5) {
        0 => format!("reverse({v})"),
        1 => {
            let by = w.int();
            format!("rotate({v}, {by})")
        }
        2 => {
            let (e, d) = (w.extent(), &d[0]);
            let u = w.leaf(&[e]);
            format!("concat({v}, {u})[..{d}]")
        }
        3 => {
            let (e, d) = (w.extent(), &d[0]);
            let u = w.leaf(std::slice::from_ref(&e));
            format!("concat({u}, {v})[{e}..{e} + {d}]")
        }
        // The last first.
        _ => {
            let (u, end, d) = (w.name("u"), w.leaf(&[]), &d[0]);
            format!("{{ let {u} = concat({v}, [{end}]); concat({u}[{d}..], {u}[..{d}])[..{d}] }}")
        }
    }
}

fn zipped(w: &mut Writer, d: &[String]) -> String {
    let (a, b) = (w.vector(&d[0]), w.leaf(d));
    let (u, v) = (w.name("u"), w.name("v"));
    w.inside(|w| {
        let (p, q) = (w.bind("p", Kind::Float, &[]), w.bind("q", Kind::Float, &[]));
        let (e, f) = (w.number(), w.leaf(&[]));
        format!("{{ let ({u}, {v}) = map(|({p}, {q})| ({e} + {q}, {f} * {p}), zip({a}, {b})); {u} - {v} }}")
    })
}

fn summed(w: &mut Writer, d: &[String]) -> String {
    let (c, d) = (w.extent(), d[0].clone());
    let m = w.matrix(&d, &c);
    match w.rng.below(4) {
        0 => format!("einsum!(\"ij,j->i\", {m}, {})", w.leaf(&[c])),
        1 => {
            let (e, u) = (w.extent(), c.clone());
            let (k, v) = (w.leaf(&[u, e.clone()]), w.leaf(&[e]));
            format!("einsum!(\"ij,jk,k->i\", {m}, {k}, {v})")
        }
        2 => format!("einsum!(\"ij,ji->i\", {m}, {})", w.leaf(&[c, d])),
        _ => format!("einsum!(\"ij->i\", {m})"),
    }
}

fn scanned(w: &mut Writer, d: &[String]) -> String {
    let (v, u) = (w.vector(&d[0]), w.leaf(d));
    let of = ["scan", "scan_exclusive"][w.rng.below(2)];
    let (p, q) = (w.name("p"), w.name("q"));
    match w.rng.below(4) {
        0 => w.bounded(&format!("{of}(|a, b| a * b + a + b, 0.0, 0.5 * {v})")),
        1 => format!(
            "{{ let ({p}, {q}) = {of}(|(a, b), (c, d)| (a * c, b * c + d), (1.0, 0.0), (sin({v}), {u})); {p} + 0.5 * {q} }}"
        ),
        2 => format!(
            "{{ let ({p}, {q}) = {of}(|(a, b), (c, d)| (a * c - b * d, a * d + b * c), (1.0, 0.0), (cos({v}), sin({v}))); {p} - 0.5 * {q} }}"
        ),
        _ => format!(
            "{{ let ({p}, {q}) = {of}(|(a, i), (b, j)| if b > a {{ (b, j) }} else {{ (a, i) }}, (-9.0, 0), (sin({v}), iota({}))); {p} * 0.3 + ({q} as f64) }}",
            d[0]
        ),
    }
}

fn histogram(w: &mut Writer, d: &[String], op: &str, neutral: &str) -> String {
    let e = w.extent();
    let (at, v) = (w.ints(&e), w.vector(&e));
    let v = w.bounded(&v);
    format!("hist({op}, {neutral}, {}, {at}, {v})", d[0])
}

fn histogram_by_operator(w: &mut Writer, d: &[String]) -> String {
    let (e, d) = (w.extent(), &d[0]);
    let (at, v) = (w.ints(&e), w.vector(&e));
    if w.rng.chance(50) {
        return w.bounded(&format!("hist(|a, b| a * b + a + b, 0.0, {d}, {at}, 0.5 * {v})"));
    }
    let (u, p, q) = (w.leaf(&[e]), w.name("p"), w.name("q"));
    format!(
        "{{ let ({p}, {q}) = hist(|(a, b), (c, d)| (a * c, b * c + d), (1.0, 0.0), {d}, {at}, (sin({v}), {u})); {p} + 0.5 * {q} }}"
    )
}

fn reduced_by_index(w: &mut Writer, d: &[String]) -> String {
    let e = w.extent();
    let (to, at, v) = (w.leaf(d), w.ints(&e), w.vector(&e));
    let op = ["add", "mul", "min", "max", "|a, b| a * b + a + b"][w.rng.below(5)];
    w.bounded(&format!("reduce_by_index({to}, {op}, {at}, {v})"))
}

/// Indices that differ from point to point.
fn scattered(w: &mut Writer, d: &[String]) -> String {
    let e = w.extent();
    let (to, v) = (w.leaf(d), w.vector(&e));
    let by = w.rng.between(-1, 2);
    let at = match w.rng.below(3) {
        0 => format!("iota({e}) + {by}"),
        1 => format!("iota({e}) * 2 - 1"),
        _ => format!("2 - iota({e})"),
    };
    format!("scatter({to}, {at}, {v})")
}

/// A loop that stays parallel: rows of its own, or what combines.
fn combined(w: &mut Writer, d: &[String]) -> String {
    let (start, e) = (w.leaf(d), w.extent());
    let a = w.name("a");
    let kind = w.rng.below(4);
    let over = if kind < 2 { d[0].clone() } else { e };
    let (i, value, at) = w.inside(|w| {
        let i = w.axis(&over);
        let value = w.number();
        (i, value, w.index(&d[0]))
    });
    let step = match kind {
        0 => format!("{a}[{i}] = {value} + {a}[{i}] * 0.5;"),
        1 => format!("{a}[{i}] *= {value};"),
        k => {
            let (at, inside) = at;
            let step = if k == 2 {
                format!("{a}[{at}] += {value};")
            } else {
                format!("{a}[{at}] = {a}[{at}].min({value});")
            };
            if inside { step } else { format!("if {at} >= 0 && {at} < {} {{ {step} }}", d[0]) }
        }
    };
    format!("{{ let mut {a} = {start}; for {i} in 0..{over} {{ {step} }} {a} }}")
}

/// Each element from others that the loop may have changed.
fn updated(w: &mut Writer, d: &[String]) -> String {
    let (start, d) = (w.leaf(d), &d[0]);
    let from = w.rng.below(2);
    let (a, i, value) = w.inside(|w| {
        let a = w.bind("a", Kind::Float, std::slice::from_ref(d));
        let i = w.axis(d);
        let value = w.number();
        (a, i, value)
    });
    let before = match w.rng.below(3) {
        _ if from == 1 => format!("{a}[{i} - 1]"),
        0 => format!("{a}[({d}) - 1 - {i}]"),
        1 => format!("{a}[0]"),
        _ => format!("{a}[({i} + 1) % ({d})]"),
    };
    let step = match w.rng.below(3) {
        0 => format!("{a}[{i}] = sin({value} * {before} + {a}[{i}]);"),
        1 => format!("{a}[{i}] += {before} * 0.5; if {value} > 0.1 {{ {a}[{i}] = tanh({a}[{i}]); }}"),
        _ => format!("{a}[{i}] = cos({a}[{i}] - {before}) * {value};"),
    };
    format!("{{ let mut {a} = {start}; for {i} in {from}..{d} {{ {step} }} {a} }}")
}
