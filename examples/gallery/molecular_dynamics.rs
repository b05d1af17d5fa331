//! Molecular dynamics: a fluid of 144 atoms in two dimensions, with forces that nobody wrote.
//!
//! Two atoms at the distance `r` have Lennard and Jones's energy, shifted so that it ends at `r = 2.5` without a jump:
//!
//! ```text
//! u(r) = 4 (r^-12 - r^-6) - u_c.
//! ```
//!
//! The box is periodic: of all images of an atom the nearest one counts. The force is minus the gradient of the energy of all pairs,
//! which the compiler derives, and Verlet's method moves the atoms:
//!
//! ```text
//! v += dt f / 2,    q += dt v,    v += dt f(q) / 2.
//! ```
//!
//! The fluid is first brought to its temperature, then left alone; its energy must stay what it is. The picture shows the atoms, dark
//! ones slow and light ones fast, the energies over time, and the radial distribution: how many atoms there are at a distance from
//! another one, against how many there were without order. Its peaks are the shells of neighbors.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use array_dsl::prelude::*;
use array_dsl::random::{key, normal};
use array_dsl_examples::picture::{self, BLUE, GRAY, GREEN, ORANGE, PAPER, Panel, inferno};
use array_dsl_examples::program::{self, require};
use indicatif::ProgressBar;
use ndarray::{Array1, Array2, Axis};

const CUT: f64 = 2.5;

/// The energy of two atoms by the square of their distance.
#[kernel]
fn pair(r2: f64) -> f64 {
    let of = |r2: f64| 4.0 * (r2.powi(-6) - r2.powi(-3));
    if r2 < CUT * CUT { of(r2) - of(CUT * CUT) } else { 0.0 }
}

/// The square of the distance to the nearest image.
#[kernel]
fn apart(a: [f64; 2], b: [f64; 2], side: f64) -> f64 {
    let d = a - b;
    let d = d - side * round(d / side);
    dot(d, d)
}

/// The energy of all pairs.
#[kernel]
fn potential(q: [[f64; 2]; n], side: f64) -> f64 {
    let mut energy = 0.0;
    for i in 0..n {
        for j in i + 1..n {
            energy += pair(apart(q[i], q[j], side));
        }
    }
    energy
}

/// So many steps: positions and velocities, potential and kinetic energy.
#[kernel(value)]
fn moved(
    q0: [[f64; 2]; n],
    v0: [[f64; 2]; n],
    side: f64,
    dt: f64,
    steps: usize,
) -> ([[f64; 2]; n], [[f64; 2]; n], f64, f64) {
    let force = |q| -grad(|q| potential(q, side))(q);
    let (mut q, mut v) = (q0, v0);
    let mut f = force(q);
    for _ in 0..steps {
        v += 0.5 * dt * f;
        q += dt * v;
        f = force(q);
        v += 0.5 * dt * f;
    }
    (q, v, potential(q, side), 0.5 * sum(flatten(v * v)))
}

/// How many pairs there are at each distance, in bins of this width.
#[kernel(value)]
fn distances(q: [[f64; 2]; n], side: f64, width: f64, bins: usize) -> [f64; bins] {
    let at = build((n, n), |i, j| floor(sqrt(apart(q[i], q[j], side)) / width) as i64);
    let counts = build((n, n), |i, j| if i == j { 0.0 } else { 1.0 });
    hist(add, 0.0, bins, flatten(at), flatten(counts))
}

/// Velocities of a temperature, without a drift of the whole.
#[kernel(value)]
fn velocities(n: usize, temperature: f64) -> [[f64; 2]; n] {
    let v = reshape(normal(key(1), 0.0, sqrt(temperature), 2 * n), (n, 2));
    v - mean(transpose(v))
}

const ROW: usize = 12;
const ATOMS: usize = ROW * ROW;
const DENSITY: f64 = 0.7;
const TEMPERATURE: f64 = 0.75;
const DT: f64 = 0.004;
/// Steps of a call.
const STEPS: usize = 10;
const TO_WARM: usize = 60;
const TO_MEASURE: usize = 120;
const BINS: usize = 90;

fn main() -> ExitCode {
    program::main("molecular_dynamics", run)
}

fn run(out: &Path) -> Result<(), Box<dyn Error>> {
    let side = (ATOMS as f64 / DENSITY).sqrt();
    let lattice =
        |(i, k): (usize, usize)| (if k == 0 { i % ROW } else { i / ROW }) as f64 * side / ROW as f64;
    let mut q = Array2::from_shape_fn((ATOMS, 2), lattice);
    let mut v = Cpu.run(velocities, (ATOMS, TEMPERATURE))?;

    let width = 0.5 * side / BINS as f64;
    let mut radial = Array1::<f64>::zeros(BINS);
    let mut energies = vec![];
    let bar = ProgressBar::new((TO_WARM + TO_MEASURE) as u64);
    for k in 0..TO_WARM + TO_MEASURE {
        let (p, t);
        (q, v, p, t) = Cpu.run(moved, (&q, &v, side, DT, STEPS))?;
        if k < TO_WARM {
            v *= (TEMPERATURE * ATOMS as f64 / t).sqrt(); // two directions: the kinetic energy is T for each atom
        } else {
            let time = ((k - TO_WARM) * STEPS) as f64 * DT;
            energies.push((time, p / ATOMS as f64, t / ATOMS as f64));
            radial += &Cpu.run(distances, (&q, side, width, BINS))?;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    // Divided by how many there were of atoms that do not know of each other.
    let place = |k: usize| (k as f64 + 0.5) * width;
    for (k, g) in radial.iter_mut().enumerate() {
        let ring = 2.0 * std::f64::consts::PI * place(k) * width;
        *g /= (TO_MEASURE * ATOMS) as f64 * DENSITY * ring;
    }

    let total = |&(_, p, t): &(f64, f64, f64)| p + t;
    let first = energies.first().map_or(f64::NAN, total);
    let drift = energies.iter().map(|e| (total(e) - first).abs()).fold(0.0, f64::max);
    let temperature = energies.iter().map(|e| e.2).sum::<f64>() / energies.len() as f64;
    let peak = (0..BINS).fold(0, |best, k| if radial[k] > radial[best] { k } else { best });
    let far = radial.iter().skip(BINS * 3 / 4).sum::<f64>() / (BINS - BINS * 3 / 4) as f64;
    println!("energy of an atom: {first:.4}, changes by at most {drift:.1e} in {} steps", TO_MEASURE * STEPS);
    println!("temperature: {temperature:.3}");
    println!(
        "neighbors: most at {:.2} (least energy at 1.12), {:.2} times as many as without order; far away {far:.3} times",
        place(peak),
        radial[peak]
    );

    let speed = |i: usize| v.row(i).dot(&v.row(i)).sqrt();
    let mut atoms = Panel::square("atoms", side).band([(0.0, 0.0, side), (side, 0.0, side)], PAPER);
    for (i, at) in q.axis_iter(Axis(0)).enumerate() {
        let center = (at[0].rem_euclid(side), at[1].rem_euclid(side));
        atoms = atoms.dots([center], inferno(0.1 + 0.3 * speed(i)), 18);
    }
    let column = |f: fn(&(f64, f64, f64)) -> f64| energies.iter().map(move |e| (e.0, f(e)));
    let energy = Panel::chart("")
        .legend("kinetic", ORANGE)
        .legend("potential", BLUE)
        .legend("sum", GREEN)
        .line(column(|e| e.2), ORANGE, 2)
        .line(column(|e| e.1), BLUE, 2)
        .line(column(|e| e.1 + e.2), GREEN, 2)
        .below("energies over time");
    let distribution = Panel::chart("radial distribution")
        .line([(0.0, 1.0), (place(BINS - 1), 1.0)], GRAY, 1)
        .line((0..BINS).map(|k| (place(k), radial[k])), BLUE, 2)
        .below("distance");
    picture::save(out, (900, 340), &[&[atoms, energy, distribution]])?;

    require(drift < 0.01, "the energy is not conserved")?;
    require(
        (1.0..1.2).contains(&place(peak)) && radial[peak] > 2.0,
        "the first shell is not where it should be",
    )?;
    require((far - 1.0).abs() < 0.05, "there is an order far away, which a fluid does not have")
}
