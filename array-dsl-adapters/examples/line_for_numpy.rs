//! A straight line through points by the normal equations, solved by a kernel, in an archive for NumPy:
//! `numpy.load("line.npz")["covariance"]`. Without an argument the file is a temporary one.

use array_dsl::prelude::*;
use array_dsl_adapters::npz::{load, save};
use ndarray::{Array1, Array2, array};

#[derive(Record, Clone, Debug, PartialEq)]
struct Fit {
    #[shape(2)]
    line: Array1<f64>,
    #[shape(2, 2)]
    covariance: Array2<f64>,
    points: i64,
}

#[kernel]
fn fit(x: [f64; n], y: [f64; n]) -> Fit {
    let design = build((n, 2), |i, k| if k == 0 { 1.0 } else { x[i] });
    let inverse = array_dsl::linalg::inverse(matmul(transpose(design), design));
    let line = matvec(inverse, matvec(transpose(design), y));
    let off = matvec(design, line) - y;
    Fit { line, covariance: inverse * (dot(off, off) / (n - 2) as f64), points: n as i64 }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The first of Anscombe's four sets of points, whose line is 3 + x / 2.
    let x = array![10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
    let y = array![8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
    let found = fit(&x, &y);
    println!("{:.4} + {:.4} x, by {} points", found.line[0], found.line[1], found.points);

    let given = std::env::args_os().nth(1);
    let temporary = std::env::temp_dir().join(format!("array-dsl-line-{}.npz", std::process::id()));
    let file = given.clone().map_or(temporary, Into::into);
    save(&found, &file)?;
    let read: Fit = load(&file)?;
    if given.is_none() {
        std::fs::remove_file(&file)?;
    }
    assert_eq!(read, found);
    assert!((read.line[0] - 3.0).abs() < 1e-3 && (read.line[1] - 0.5).abs() < 1e-3);
    Ok(())
}
