//! Registration: which way has an image been warped?
//!
//! Two images of one thing were taken at different times: it has turned, grown and bent in between. We look for the map that brings
//! the second one back onto the first,
//!
//! ```text
//! p -> A p + b + sum_ab B(p - g_ab) c_ab,
//! ```
//!
//! an affine part and a smooth field, given by displacements `c` on a grid of 8 by 8 points with linear interpolation between them.
//! The least sum of squares of the differences is wanted, plus a price for bending. An image is read between its pixels by
//! linear interpolation as well, which gives the gradient: where a pixel comes from is decided by `floor`, how much it counts is not.
//!
//! The picture shows both images and the second one as it was brought back; then the differences before and after, and where a grid
//! on the first image is found on the second one, in orange, with the true places in gray.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use array_dsl::prelude::*;
use array_dsl_examples::picture::{self, ORANGE, Panel, SILVER, blue_red, gray};
use array_dsl_examples::program::{self, require};
use indicatif::ProgressBar;
use ndarray::{Array1, Array2, Array3};

/// The value between four elements of an array: numbers of an image, or displacements of a grid. Outside, that of the border.
#[kernel]
fn between<T>(a: [[T; w]; h], y: f64, x: f64) -> T {
    let (y, x) = (clamp(y, 0.0, (h - 1) as f64), clamp(x, 0.0, (w - 1) as f64));
    let (i, j) = (min(floor(y) as i64, h - 2), min(floor(x) as i64, w - 2));
    let (v, u) = (y - i as f64, x - j as f64);
    (1.0 - v) * ((1.0 - u) * a[i][j] + u * a[i][j + 1]) + v * ((1.0 - u) * a[i + 1][j] + u * a[i + 1][j + 1])
}

/// An affine map and displacements on a grid. Coordinates are (down, across), each from -1 to 1.
#[derive(Record, Clone, Debug)]
struct Warp {
    #[shape(2, 2)]
    turn: Array2<f64>,
    #[shape(2)]
    shift: Array1<f64>,
    #[shape(g, g, 2)]
    bend: Array3<f64>,
}

/// Where a point is in the other image.
#[kernel]
fn place(warp: &Warp, p: [f64; 2]) -> [f64; 2] {
    let cell = 0.5 * (p + 1.0) * (g - 1) as f64;
    matvec(warp.turn, p) + warp.shift + between(warp.bend, cell[0], cell[1])
}

/// The places of all pixels.
#[kernel]
fn places(warp: &Warp, h: usize, w: usize) -> [[[f64; 2]; w]; h] {
    let along = |i, n| 2.0 * i as f64 / (n - 1) as f64 - 1.0;
    build((h, w), |i, j| place(warp, [along(i, h), along(j, w)]))
}

/// The image as it is seen through the map.
#[kernel]
fn warped(image: [[f64; w]; h], warp: &Warp) -> [[f64; w]; h] {
    let at = places(warp, h, w);
    build((h, w), |i, j| {
        let (y, x) = (at[i][j][0], at[i][j][1]);
        between(image, 0.5 * (y + 1.0) * (h - 1) as f64, 0.5 * (x + 1.0) * (w - 1) as f64)
    })
}

/// The mean square of the difference, and how much the field bends.
#[kernel]
fn loss(
    warp: &Warp,
    #[no_grad] fixed: [[f64; w]; h],
    #[no_grad] moving: [[f64; w]; h],
    #[no_grad] price: f64,
) -> f64 {
    let off = flatten(warped(moving, warp) - fixed);
    let c = warp.bend;
    let down = flatten(c[1..] - c[..g - 1]);
    let across = flatten(c[s![.., 1..]] - c[s![.., ..g - 1]]);
    dot(off, off) / (h * w) as f64 + price * (dot(down, down) + dot(across, across))
}

/// A step of Adam: the map, and the running means of the gradient and of its square.
#[kernel(value)]
fn adam(warp: &Warp, mean: &Warp, square: &Warp, gradient: &Warp, rate: f64) -> (Warp, Warp, Warp) {
    let mean = 0.9 * mean + 0.1 * gradient;
    let square = 0.98 * square + 0.02 * gradient * gradient;
    (warp - rate * mean / (sqrt(square) + 1e-10), mean, square)
}

const SIDE: usize = 72;
const GRID: usize = 8;
const PRICE: f64 = 1e-3;
/// Where the grid that is drawn begins.
const EDGE: usize = 18;
const ITERATIONS: usize = 300;

fn main() -> ExitCode {
    program::main("image_warp", run)
}

/// A head in slices: ellipses (value, down, across, half axes, angle), smoothed a little.
fn head(y: f64, x: f64) -> f64 {
    const ELLIPSES: [(f64, f64, f64, f64, f64, f64); 8] = [
        (0.9, 0.0, 0.0, 0.82, 0.64, 0.0),
        (-0.55, 0.0, 0.0, 0.74, 0.55, 0.0),
        (-0.25, -0.05, 0.22, 0.3, 0.12, 0.3),
        (-0.25, -0.05, -0.22, 0.36, 0.15, -0.3),
        (0.3, -0.4, 0.0, 0.16, 0.2, 0.0),
        (0.4, 0.45, 0.12, 0.09, 0.16, 0.5),
        (0.35, 0.42, -0.2, 0.12, 0.08, 0.0),
        (0.25, 0.05, 0.0, 0.08, 0.05, 0.0),
    ];
    let of = |(value, down, across, a, b, angle): (f64, f64, f64, f64, f64, f64)| {
        let (v, u) = (y - down, x - across);
        let (sin, cos) = f64::sin_cos(angle);
        let r = ((v * cos - u * sin) / a).hypot((v * sin + u * cos) / b);
        value / (1.0 + ((r - 1.0) * f64::min(a, b) / 0.02).exp())
    };
    ELLIPSES.into_iter().map(of).sum()
}

/// Where the truth sends a point.
fn truth(y: f64, x: f64) -> (f64, f64) {
    let (v, u) = (0.95 * y + 0.22 * x + 0.04, -0.2 * y + 1.08 * x - 0.06);
    (v + 0.07 * (2.5 * x + 0.5).sin(), u + 0.07 * (2.8 * y).cos() - 0.03)
}

fn run(out: &Path) -> Result<(), Box<dyn Error>> {
    let along = |i: usize| 2.0 * i as f64 / (SIDE - 1) as f64 - 1.0;
    let moving = Array2::from_shape_fn((SIDE, SIDE), |(i, j)| head(along(i), along(j)));
    let fixed = Array2::from_shape_fn((SIDE, SIDE), |(i, j)| {
        let (y, x) = truth(along(i), along(j));
        head(y, x)
    });

    let zero =
        Warp { turn: Array2::zeros((2, 2)), shift: Array1::zeros(2), bend: Array3::zeros((GRID, GRID, 2)) };
    let start = Warp { turn: Array2::eye(2), ..zero.clone() };
    let (mut warp, mut mean, mut square) = (start.clone(), zero.clone(), zero);
    let bar = ProgressBar::new(ITERATIONS as u64);
    for k in 0..ITERATIONS {
        let gradient: Warp = Cpu.run(grad(loss), (&warp, &fixed, &moving, PRICE))?;
        let rate = 0.02 * (1.0 - k as f64 / ITERATIONS as f64);
        (warp, mean, square) = Cpu.run(adam, (&warp, &mean, &square, &gradient, rate))?;
        bar.inc(1);
    }
    bar.finish_and_clear();

    let back = Cpu.run(warped, (&moving, &warp))?;
    let (before, after) = (&moving - &fixed, &back - &fixed);
    let size = |d: &Array2<f64>| d.pow2().mean().unwrap_or(f64::NAN).sqrt();
    println!("difference of the images: {:.4} before, {:.4} after", size(&before), size(&after));
    // How far the places are from the true ones, in pixels, where there is something to see.
    let error = |warp: &Warp| -> Result<f64, array_dsl::Error> {
        let at = Cpu.run(places, (warp, SIDE, SIDE))?;
        let (mut sum, mut count) = (0.0f64, 0.0);
        for ((i, j), _) in fixed.indexed_iter().filter(|(_, v)| **v > 0.1) {
            let (y, x) = truth(along(i), along(j));
            sum += (at[[i, j, 0]] - y).powi(2) + (at[[i, j, 1]] - x).powi(2);
            count += 1.0;
        }
        Ok((sum / count).sqrt() * 0.5 * (SIDE - 1) as f64)
    };
    let (far, near) = (error(&start)?, error(&warp)?);
    println!("error of the places: {far:.2} pixels before, {near:.2} after");

    let at = Cpu.run(places, (&warp, SIDE, SIDE))?;
    let pixel = |(y, x): (f64, f64)| {
        (0.5 * (x + 1.0) * (SIDE - 1) as f64 + 0.5, 0.5 * (y + 1.0) * (SIDE - 1) as f64 + 0.5)
    };
    let mut grid = Panel::image("the grid", &moving, 0.0..1.0, gray);
    for k in (EDGE..=SIDE - EDGE).step_by(6) {
        for line in [|k: usize, i: usize| (k, i), |k: usize, i: usize| (i, k)] {
            let points = (EDGE..=SIDE - EDGE).map(|i| line(k, i));
            let of_truth = points.clone().map(|(i, j)| pixel(truth(along(i), along(j))));
            let of_fit = points.map(|(i, j)| pixel((at[[i, j, 0]], at[[i, j, 1]])));
            grid = grid.line(of_truth, SILVER, 4).line(of_fit, ORANGE, 2);
        }
    }
    let show = |title: &str, image: &Array2<f64>| Panel::image(title, image, 0.0..1.0, gray);
    picture::save(
        out,
        (900, 620),
        &[
            &[show("first", &fixed), show("second", &moving), show("second, brought back", &back)],
            &[
                Panel::image("difference before", &before, -0.8..0.8, blue_red),
                Panel::image("difference after", &after, -0.8..0.8, blue_red),
                grid,
            ],
        ],
    )?;
    require(size(&after) < 0.2 * size(&before), "the images are not alike")?;
    require(near < 1.0 && near < 0.2 * far, "the map is not the true one")
}
