//! How numbers are made.

use super::{Form, Writer, form, outside};

pub(super) const FORMS: &[Form] = &[
    form("arithmetic, scalar functions", Writer::arithmetic),
    form("arithmetic, scalar functions", Writer::arithmetic),
    form("powers", Writer::powers),
    form("`min`, `max`, `clamp`", Writer::clamped),
    form("`if`", Writer::branch),
    form("`match`", Writer::matched),
    form("`match`", Writer::matched),
    form("indices that data decide", chosen_by_data),
    form("generic kernels", Writer::generic),
    form("reads that may fail", |w, _| {
        let d = w.extent();
        let (v, at) = (w.leaf(&[d]), w.any_int());
        format!("({v})[{at}]")
    }),
    form("`sum`, `mean`, `dot`", sums),
    form("`prod`", |w, _| {
        let d = w.extent();
        let v = w.vector(&d);
        w.bounded(&format!("prod({v})"))
    }),
    form("`minimum`, `maximum`", extremum),
    form("`argmin`, `argmax`", place_of_extremum),
    form("`argmin`, `argmax`", place_of_extremum),
    form("`transpose`, `permute`, `reshape`", flattened),
    form("`einsum!`", summed),
    form("`erf`, `lgamma`, `digamma`", Writer::special),
    form("`logsumexp`, `softmax`", |w, _| {
        let v = w.vector("n + 1");
        format!("logsumexp({v})")
    }),
    form("`reduce` by an operator", reduced),
    form("`reduce` by an operator", reduced),
    // Inside of closures and loops these two are left out, so they are here more often.
    outside("`filter`", filtered),
    outside("`filter`", filtered),
    outside("`filter`", filtered),
    outside("`partition`", partitioned),
    outside("`partition`", partitioned),
    outside("`partition`", partitioned),
    outside("`partition`", partitioned),
    outside("`windows`, steps", |w, _| {
        let (d, k) = (w.extent(), w.rng.between(2, 3));
        let v = w.vector(&d);
        format!("sum({v}.step_by({k}))")
    }),
    form("`for` that stays parallel", accumulated),
    form("`for` over numbers", Writer::recurrence),
    form("`for` over numbers", Writer::recurrence),
    form("`while`", Writer::repeated),
    form("`#[checkpoint]`", Writer::checkpointed),
    form("`stop_gradient`", Writer::stopped),
    form("`grad` inside", Writer::gradient),
    form("`vjp`, `jvp` inside", Writer::linearized),
    form("kernels called", |w, _| {
        let (d, s) = (w.extent(), w.number());
        let v = w.vector(&d);
        format!("mixed({v}, {s}).1")
    }),
];

fn chosen_by_data(w: &mut Writer, _: &[String]) -> String {
    let v = w.vector("3");
    let i = w.int();
    format!("({v})[({i}).rem_euclid(3)]")
}

fn sums(w: &mut Writer, _: &[String]) -> String {
    let d = w.extent();
    let v = w.vector(&d);
    match w.rng.below(4) {
        0 => format!("sum({v})"),
        1 => format!("mean(concat({v}, [0.25]))"),
        2 => {
            let u = w.leaf(&[d]);
            format!("dot({v}, {u})")
        }
        _ => {
            let e = w.extent();
            let m = w.matrix(&e, &d);
            format!("sum(sum({m} * {v})) * 0.3")
        }
    }
}

/// The extremum of nothing is infinite.
fn extremum(w: &mut Writer, _: &[String]) -> String {
    let d = w.extent();
    let v = w.vector(&d);
    match w.rng.below(2) {
        0 => format!("minimum({v}).min(2.5)"),
        _ => format!("maximum({v}).max(-2.5)"),
    }
}

fn place_of_extremum(w: &mut Writer, _: &[String]) -> String {
    let (d, end) = (w.extent(), w.number());
    let v = w.vector(&d);
    let of = ["argmin", "argmax"][w.rng.below(2)];
    let (u, i) = (w.name("u"), w.name("p"));
    format!("{{ let {u} = concat({v}, [{end}]); let {i} = {of}({u}); {u}[{i}] + 0.1 * ({i} as f64) }}")
}

fn flattened(w: &mut Writer, _: &[String]) -> String {
    let (r, c) = (w.extent(), w.extent());
    let (a, b) = (w.matrix(&r, &c), w.leaf(&[c.clone(), r.clone()]));
    match w.rng.below(2) {
        0 => format!("dot(flatten(transpose({a})), flatten({b}))"),
        _ => format!("sum(sum(unflatten(flatten({b}), ({r}, {c})) * {a}))"),
    }
}

fn summed(w: &mut Writer, _: &[String]) -> String {
    let (r, c) = (w.extent(), w.extent());
    let a = w.matrix(&r, &c);
    match w.rng.below(4) {
        0 => format!("einsum!(\"ij->\", {a})"),
        1 => {
            let b = w.leaf(&[c, r]);
            format!("einsum!(\"ij,ji->\", {a}, {b})")
        }
        2 => {
            let (u, v) = (w.leaf(&[r]), w.leaf(&[c]));
            format!("einsum!(\"i,ij,j->\", {u}, {a}, {v})")
        }
        _ => {
            let b = w.leaf(&[r.clone(), r]);
            format!("einsum!(\"ii->\", {b})")
        }
    }
}

fn reduced(w: &mut Writer, _: &[String]) -> String {
    let d = w.extent();
    let v = w.vector(&d);
    let u = w.leaf(std::slice::from_ref(&d));
    match w.rng.below(5) {
        0 => w.bounded(&format!("reduce(|a, b| a * b + a + b, 0.0, 0.5 * {v})")),
        1 => {
            let (p, q) = (w.name("p"), w.name("q"));
            format!(
                "{{ let ({p}, {q}) = reduce(|(a, b), (c, d)| (a * c, b * c + d), (1.0, 0.0), (sin({v}), {u})); {p} + 0.5 * {q} }}"
            )
        }
        2 => {
            let (p, q) = (w.name("p"), w.name("q"));
            format!(
                "{{ let ({p}, {q}) = reduce(|(a, b), (c, d)| (a * c - b * d, a * d + b * c), (1.0, 0.0), (cos({v}), sin({v}))); {p} - 0.5 * {q} }}"
            )
        }
        3 => {
            let (p, q) = (w.name("p"), w.name("q"));
            format!(
                "{{ let ({p}, {q}) = reduce(|(a, i), (b, j)| if b > a {{ (b, j) }} else {{ (a, i) }}, (-9.0, 0), (sin({v}), iota({d}))); {p} * 0.3 + ({q} as f64) }}"
            )
        }
        _ => {
            let (p, q, r, s) = (w.name("p"), w.name("q"), w.name("r"), w.name("s"));
            let product = "(a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h)";
            let rows = format!("(sin({v}), {u} * 0.5, 0.5 * cos({u}), tanh({v}))");
            let text = format!(
                "let ({p}, {q}, {r}, {s}) = reduce(|(a, b, c, d), (e, f, g, h)| {product}, (1.0, 0.0, 0.0, 1.0), {rows});"
            );
            format!("{{ {text} {p} - {q} + 0.5 * {r} * {s} }}")
        }
    }
}

fn filtered(w: &mut Writer, _: &[String]) -> String {
    let d = w.extent();
    let v = w.vector(&d);
    let (p, kept) = (w.name("p"), w.name("kept"));
    let c = w.constant();
    match w.rng.below(3) {
        0 => format!("{{ let {kept} = filter(|{p}| {p} > {c}, {v}); sum({kept} * {kept}) }}"),
        1 => {
            let u = w.leaf(&[d]);
            let (x, y) = (w.name("x"), w.name("y"));
            format!("{{ let ({x}, {y}) = filter(|(a, b)| a < b, ({v}, {u})); dot(cumsum({x}), {y}) }}")
        }
        _ => format!(
            "{{ let {kept} = filter(|{p}| {p} < {c}, {v}); sum(sort({kept}) * (iota(len({kept})) as f64)) }}"
        ),
    }
}

fn partitioned(w: &mut Writer, _: &[String]) -> String {
    let d = w.extent();
    let v = w.vector(&d);
    let (p, yes, no) = (w.name("p"), w.name("yes"), w.name("no"));
    let c = w.leaf(&[]);
    let s = w.name("s");
    format!(
        "{{ let {s} = {c}; let ({yes}, {no}) = partition(|{p}| {p} > {s}, {v}); sum({yes} * {yes}) - sin(prod({no})) }}"
    )
}

/// Trips that combine by an associative operator.
fn accumulated(w: &mut Writer, _: &[String]) -> String {
    let (d, start) = (w.extent(), w.leaf(&[]));
    let t = w.name("t");
    let reversed = w.rng.chance(25);
    let (i, e, guard) = w.inside(|w| {
        let i = w.axis(&d);
        (i, w.number(), w.rng.chance(25).then(|| w.truth()))
    });
    let step = match w.rng.below(4) {
        0 => format!("{t} = {t}.max({e});"),
        1 => format!("{t} *= {e};"),
        _ => format!("{t} += {e};"),
    };
    let step = guard.map_or(step.clone(), |c| format!("if {c} {{ {step} }}"));
    let range = if reversed { format!("(0..{d}).rev()") } else { format!("0..{d}") };
    let text = format!("{{ let mut {t} = {start}; for {i} in {range} {{ {step} }} {t} }}");
    w.bounded(&text)
}
