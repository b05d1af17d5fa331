//! How matrices are made.

use super::{Form, Kind, Writer, form};

pub(super) const FORMS: &[Form] = &[
    form("arithmetic, scalar functions", Writer::arithmetic),
    form("arithmetic, scalar functions", Writer::arithmetic),
    form("`min`, `max`, `clamp`", Writer::clamped),
    form("`build`", |w, d| {
        w.inside(|w| {
            let (i, j) = (w.axis(&d[0]), w.axis(&d[1]));
            let e = w.number();
            format!("build(({}, {}), |{i}, {j}| {e})", d[0], d[1])
        })
    }),
    form("`build`", rows),
    form("`build`", rows),
    form("`map`", |w, d| {
        let m = w.matrix(&d[0], &d[1]);
        w.inside(|w| {
            let row = w.bind("r", Kind::Float, &d[1..]);
            let e = w.vector(&d[1]);
            format!("map(|{row}| {e} + {row}, {m})")
        })
    }),
    form("`if`", Writer::branch),
    form("`gather`", |w, d| {
        let (m, at) = (w.matrix("3", &d[1]), w.ints(&d[0]));
        let k = w.name("k");
        format!("gather({m}, map(|{k}| {k}.rem_euclid(3), {at}))")
    }),
    form("slices, `concat`, `reverse`, `rotate`", |w, d| {
        let m = w.matrix(&d[0], &d[1]);
        let e = w.extent();
        match w.rng.below(3) {
            0 => format!("reverse({m})"),
            1 => format!("rotate({m}, {})", w.int()),
            _ => format!("concat({m}, {})[..{}]", w.leaf(&[e, d[1].clone()]), d[0]),
        }
    }),
    form("slices of several dimensions", |w, d| {
        let e = w.extent();
        if w.rng.chance(50) {
            let (m, other) = (w.matrix(&d[1], &d[0]), w.leaf(&[e.clone(), d[0].clone()]));
            return format!("transpose(concat({m}, {other}))[s![.., {e}..{e} + {}]]", d[1]);
        }
        let (m, other) = (w.matrix(&d[0], &d[1]), w.leaf(&[e.clone(), d[1].clone()]));
        format!("concat({m}, {other})[[{e}..{e} + {}, ..{}]]", d[0], d[1])
    }),
    form("`transpose`, `permute`, `reshape`", |w, d| {
        let m = w.matrix(&d[1], &d[0]);
        match w.rng.below(3) {
            0 => format!("transpose({m})"),
            1 => format!("permute({m}, (1, 0))"),
            _ => format!("reshape({m}, ({}, {}))", d[0], d[1]),
        }
    }),
    form("`matmul`, `matvec`, `outer`", |w, d| {
        if w.rng.chance(40) {
            let (a, b) = (w.vector(&d[0]), w.leaf(&d[1..]));
            return format!("outer({a}, {b})");
        }
        let c = w.extent();
        let (a, b) = (w.matrix(&d[0], &c), w.leaf(&[c, d[1].clone()]));
        format!("matmul({a}, {b})")
    }),
    form("`einsum!`", |w, d| {
        let c = w.extent();
        let (a, b, v) = (w.matrix(&d[0], &c), w.leaf(&[d[1].clone(), c.clone()]), w.leaf(&[c]));
        format!("einsum!(\"ik,jk,k->ij\", {a}, {b}, {v})")
    }),
    form("`logsumexp`, `softmax`", |w, d| {
        let m = w.matrix(&d[0], &d[1]);
        format!("softmax({m})")
    }),
    form("`cumsum`, `cumprod`", |w, d| {
        let m = w.matrix(&d[0], &d[1]);
        let of = ["cumsum", "cumprod"][w.rng.below(2)];
        w.bounded(&format!("{of}({m})"))
    }),
    form("`scan` of rows", scanned),
    form("`scan` of rows", scanned),
    form("`scan` of rows", scanned),
    form("`hist` by `add`", |w, d| {
        let e = w.extent();
        let (at, m) = (w.ints(&e), w.matrix(&e, &d[1]));
        format!("hist(add, replicate({}, 0.0), {}, {at}, {m})", d[1], d[0])
    }),
    form("`reduce_by_index`", |w, d| {
        let e = w.extent();
        let (to, at, m) = (w.leaf(d), w.ints(&e), w.matrix(&e, &d[1]));
        let op = ["add", "mul", "min", "max"][w.rng.below(4)];
        w.bounded(&format!("reduce_by_index({to}, {op}, {at}, {m})"))
    }),
    form("`scatter`", |w, d| {
        let e = w.extent();
        let (to, m, by) = (w.leaf(d), w.matrix(&e, &d[1]), w.rng.between(-1, 2));
        format!("scatter({to}, iota({e}) + {by}, {m})")
    }),
    form("`scatter_add`", |w, d| {
        let e = w.extent();
        let (to, at, m) = (w.leaf(d), w.ints(&e), w.matrix(&e, &d[1]));
        format!("scatter_add({to}, {at}, {m})")
    }),
    form("`sort`, `sort_by_key`", |w, d| {
        let m = w.matrix(&d[0], &d[1]);
        format!("sort({m})")
    }),
    form("`for` that stays parallel", |w, d| {
        let (start, a) = (w.leaf(d), w.name("a"));
        let (i, row) = w.inside(|w| (w.axis(&d[0]), w.vector(&d[1])));
        let step = match w.rng.below(3) {
            0 => format!("{a}[{i}] = {row} + 0.5 * {a}[{i}];"),
            1 => format!("{a}[{i}] += {row};"),
            _ => format!("{a} += {row};"),
        };
        let text = format!("{{ let mut {a} = {start}; for {i} in 0..{} {{ {step} }} {a} }}", d[0]);
        w.bounded(&text)
    }),
    form("`for` over arrays", Writer::recurrence),
    form("updates in place", updated),
    form("updates in place", updated),
    form("updates of slices", |w, d| {
        let (start, a) = (w.leaf(d), w.name("a"));
        let (j, column) = w.inside(|w| (w.axis(&d[1]), w.vector(&d[0])));
        let (r, c) = (&d[0], &d[1]);
        let step = match w.rng.below(3) {
            0 => format!("for {j} in 0..{c} {{ {a}[s![.., {j}]] = {column} + 0.5 * {a}[s![.., {j}]]; }}"),
            1 => format!("{a}[s![{r} / 2.., {c} / 2..]] *= 0.5;"),
            _ => format!("for {j} in 1..{c} {{ {a}[s![1.., {j}]] += 0.3 * {a}[s![..{r} - 1, {j} - 1]]; }}"),
        };
        w.bounded(&format!("{{ let mut {a} = {start}; {step} {a} }}"))
    }),
    form("`while`", Writer::repeated),
    form("`#[checkpoint]`", Writer::checkpointed),
    form("`stop_gradient`", Writer::stopped),
    form("`grad` inside", Writer::gradient),
    form("`vjp`, `jvp` inside", Writer::linearized),
];

fn rows(w: &mut Writer, d: &[String]) -> String {
    w.inside(|w| {
        let i = w.axis(&d[0]);
        let e = w.vector(&d[1]);
        format!("build({}, |{i}| {e})", d[0])
    })
}

fn scanned(w: &mut Writer, d: &[String]) -> String {
    let m = w.matrix(&d[0], &d[1]);
    let of = ["scan", "scan_exclusive"][w.rng.below(2)];
    let text = match w.rng.below(3) {
        0 => format!("{of}(|a, b| a * b + a + b, 0.0, 0.5 * {m})"),
        1 => format!("{of}(add, 0.0, {m})"),
        _ => format!("{of}(|a, b| max(a, b), -9.0, {m})"),
    };
    w.bounded(&text)
}

/// Each row from the one before, or each element from its neighbours.
fn updated(w: &mut Writer, d: &[String]) -> String {
    let (start, r, c) = (w.leaf(d), &d[0], &d[1]);
    let (a, i, row, j, value) = w.inside(|w| {
        let a = w.bind("a", Kind::Float, d);
        let i = w.axis(r);
        let row = w.vector(c);
        let j = w.axis(c);
        let value = w.number();
        (a, i, row, j, value)
    });
    let body = match w.rng.below(3) {
        0 => format!("{a}[{i}] = tanh({row} + {a}[{i} - 1]);"),
        1 => format!("for {j} in 0..{c} {{ {a}[{i}][{j}] = sin({value} + {a}[{i} - 1][{j}]); }}"),
        _ => format!(
            "for {j} in 1..{c} {{ {a}[{i}][{j}] += 0.3 * {a}[{i} - 1][{j} - 1] * {a}[{i}][{j} - 1]; }}"
        ),
    };
    format!("{{ let mut {a} = {start}; for {i} in 1..{r} {{ {body} }} {a} }}")
}
