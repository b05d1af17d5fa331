//! The workloads: inputs with the sizes and the distributions of GradBench's, whose names they have.

use serde_json::{Value, json};

use super::{hand, random::Random};

/// An input of a problem, which is made when it is wanted.
pub struct Workload {
    /// The problem.
    pub problem: &'static str,
    /// Its sizes.
    pub name: String,
    /// The function and its derivative.
    pub functions: [&'static str; 2],
    make: Box<dyn Fn(&mut Random) -> Value>,
}

impl Workload {
    fn new(
        problem: &'static str,
        name: String,
        functions: [&'static str; 2],
        make: impl Fn(&mut Random) -> Value + 'static,
    ) -> Self {
        Self { problem, name, functions, make: Box::new(make) }
    }

    /// It and a function of it, as errors name them.
    #[must_use]
    pub fn at(&self, function: &str) -> String {
        format!("{} {} {function}", self.problem, self.name)
    }

    /// The input, the same every time.
    #[must_use]
    pub fn input(&self) -> Value {
        let seed = self.problem.bytes().chain(self.name.bytes());
        (self.make)(&mut Random::new(seed.fold(0, |seed, byte| seed * 131 % 1_000_000_007 + u64::from(byte))))
    }
}

/// A polynomial of `m` coefficients at `n` points.
#[must_use]
pub fn llsq(n: usize, m: usize) -> Workload {
    Workload::new(
        "llsq",
        format!("n={n},m={m}"),
        ["primal", "gradient"],
        move |random| json!({"x": random.uniforms(m), "n": n}),
    )
}

/// A sum of `n` exponentials.
#[must_use]
pub fn lse(n: usize) -> Workload {
    Workload::new(
        "lse",
        format!("n={n}"),
        ["primal", "gradient"],
        move |random| json!({"x": random.uniforms(n)}),
    )
}

/// A chain of `n` equations, `s` steps.
#[must_use]
pub fn ode(n: usize, s: usize) -> Workload {
    Workload::new(
        "ode",
        format!("n={n},s={s}"),
        ["primal", "gradient"],
        move |random| json!({"x": random.uniforms(n), "s": s}),
    )
}

/// A matrix of `ell` rows.
#[must_use]
pub fn det(ell: usize) -> Workload {
    Workload::new(
        "det",
        ell.to_string(),
        ["primal", "gradient"],
        move |random| json!({"A": random.uniforms(ell * ell), "ell": ell}),
    )
}

/// A mixture of `k` components of dimension `d`, and `n` points.
#[must_use]
pub fn gmm(d: usize, k: usize, n: usize) -> Workload {
    Workload::new("gmm", format!("{d}_{k}_{n}"), ["objective", "jacobian"], move |random| {
        json!({
            "d": d, "k": k, "n": n, "m": 0, "gamma": 1.0,
            "x": random.normal_rows(n, d),
            "alpha": random.normals(k),
            "mu": random.uniform_rows(k, d),
            "q": random.normal_rows(k, d),
            "l": random.normal_rows(k, d * (d - 1) / 2),
        })
    })
}

/// `p` observations of `m` points by `n` cameras.
#[must_use]
pub fn ba(name: &str, n: usize, m: usize, p: usize) -> Workload {
    Workload::new("ba", format!("{name}_n{n}_m{m}_p{p}"), ["objective", "jacobian"], move |random| {
        let mut near = |center: f64, spread: f64| center + spread * random.normal();
        let camera = [
            [near(0.0, 0.5), near(0.0, 0.5), near(0.0, 0.5)],
            [near(0.0, 1.0), near(0.0, 1.0), near(-20.0, 1.0)],
            [near(500.0, 50.0), near(0.0, 5.0), near(0.0, 5.0)],
        ];
        let camera = [camera.as_flattened(), &[near(0.0, 0.05), near(0.0, 0.005)]].concat();
        json!({
            "n": n, "m": m, "p": p, "cam": camera,
            "x": [near(0.0, 2.0), near(0.0, 2.0), near(0.0, 2.0)],
            "w": random.uniform(),
            "feat": [100.0 * random.normal(), 100.0 * random.normal()],
        })
    })
}

/// `n` points near a hand of so many vertices.
#[must_use]
pub fn ht(vertices: usize, n: usize, triangles: bool) -> Workload {
    let variant = if triangles { "complicated" } else { "simple" };
    Workload::new("ht", format!("{variant}_v{vertices}_n{n}"), ["objective", "jacobian"], move |random| {
        hand::input(vertices, n, triangles, random)
    })
}

/// `l` layers, `c` characters of 14 bits, which are letters and the like.
#[must_use]
pub fn lstm(l: usize, c: usize) -> Workload {
    const BITS: usize = 14;
    Workload::new("lstm", format!("l={l},c={c}"), ["objective", "jacobian"], move |random| {
        let mut character = || {
            let code = 32 + random.below(95);
            (0..BITS).rev().map(|bit| code >> bit & 1).collect::<Vec<_>>()
        };
        let sequence: Vec<_> = (0..c).map(|_| character()).collect();
        json!({
            "main_params": random.uniform_rows(2 * l, 4 * BITS),
            "extra_params": random.uniform_rows(3, BITS),
            "state": random.uniform_rows(2 * l, BITS),
            "sequence": sequence,
        })
    })
}

/// `n` points of dimension `d`, of which the last `k` are the centroids.
#[must_use]
pub fn kmeans(k: usize, n: usize, d: usize) -> Workload {
    Workload::new("kmeans", format!("k={k},n={n},d={d}"), ["cost", "dir"], move |random| {
        let points = random.uniform_rows(n, d);
        json!({"centroids": points[n.saturating_sub(k)..], "points": points})
    })
}

/// Workloads of all problems, those of a problem next to each other.
#[must_use]
pub fn all(quick: bool) -> Vec<Workload> {
    if quick {
        return vec![
            llsq(256, 128),
            lse(10_000),
            ode(1000, 10),
            det(5),
            det(6),
            gmm(10, 5, 1000),
            ba("ba", 5, 80, 300),
            ht(544, 100, false),
            ht(544, 100, true),
            lstm(2, 64),
            kmeans(10, 1000, 8),
        ];
    }
    let mut all = vec![llsq(16_392, 128), lse(1_280_000), ode(10_000, 10), ode(100_000, 100)];
    all.extend((5..10).map(det));
    all.extend([10, 32, 64].map(|d| gmm(d, 25, 1000)));
    all.extend([ba("ba1", 49, 7776, 31_843), ba("ba6", 539, 65_220, 277_273)]);
    for triangles in [false, true] {
        all.extend([ht(544, 100, triangles), ht(10_000, 12_800, triangles)]);
    }
    all.extend([lstm(2, 1024), lstm(4, 4096)]);
    all.extend([10, 100, 1000].map(|k| kmeans(k, 10_000, 16)));
    all
}
