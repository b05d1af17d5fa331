//! A hand of random numbers against a plain program, against differences, and wrong inputs.

use super::*;
use serde_json::json;

const VERTICES: usize = 9;

fn wave(k: usize) -> f64 {
    (k as f64 * 1.3).sin()
}

fn list(seed: usize, length: usize) -> Vec<f64> {
    (0..length).map(|k| wave(seed + k)).collect()
}

fn rows_of(seed: usize, count: usize, length: usize) -> Vec<Vec<f64>> {
    (0..count).map(|i| list(seed + i * length, length)).collect()
}

fn transforms(seed: usize) -> Vec<Vec<Vec<f64>>> {
    let mut all: Vec<_> = (0..BONES).map(|b| rows_of(seed + 16 * b, 4, 4)).collect();
    for transform in &mut all {
        transform[3] = vec![0.0, 0.0, 0.0, 1.0];
    }
    all
}

fn input(triangles: bool, mirrored: bool) -> Value {
    let mut base = rows_of(5, VERTICES, 4);
    for vertex in &mut base {
        vertex[3] = 1.0;
    }
    let parents: Vec<i64> = (0..BONES as i64)
        .map(|b| {
            if b == 0 {
                -1
            } else if b % 4 == 1 {
                0
            } else {
                b - 1
            }
        })
        .collect();
    json!({
        "theta": list(1, 26),
        "data": {
            "model": {
                "bone_count": BONES,
                "parents": parents,
                "base_relatives": transforms(100),
                "inverse_base_absolutes": transforms(1000),
                "base_positions": base,
                "weights": rows_of(7, VERTICES, BONES),
                "triangles": [[0, 1, 2], [8, 3, 4], [5, 6, 7]],
                "is_mirrored": mirrored,
            },
            "correspondences": [2, 0, 1, 1],
            "points": rows_of(3, 4, 3),
        },
        "us": if triangles { rows_of(11, 4, 2) } else { Vec::new() },
    })
}

fn numbers(function: &str, input: &Value) -> Result<Value, Error> {
    Ok(task(function, input.clone())?.run()?.json())
}

type Matrix = [[f64; 4]; 4];

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..4).map(|k| a[i][k] * b[k][j]).sum()))
}

fn matrix(a: &Array3<f64>, b: usize) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| a[[b, i, j]]))
}

/// The vertices, one after the other, with the angles of all bones written down before.
fn plainly(q: &Question) -> Vec<[f64; 3]> {
    let t = &q.theta;
    let mut angles = [[0.0; 2]; BONES];
    for finger in 0..5 {
        let at = 6 + 4 * finger;
        angles[2 + 4 * finger] = [t[at], t[at + 1]];
        angles[3 + 4 * finger] = [t[at + 2], 0.0];
        angles[4 + 4 * finger] = [t[at + 3], 0.0];
    }
    let mut absolute: Vec<Matrix> = Vec::new();
    for (b, [x, z]) in angles.into_iter().enumerate() {
        let around_x = [
            [1.0, 0.0, 0.0, 0.0],
            [0.0, x.cos(), -x.sin(), 0.0],
            [0.0, x.sin(), x.cos(), 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ];
        let around_z = [
            [z.cos(), -z.sin(), 0.0, 0.0],
            [z.sin(), z.cos(), 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ];
        let local = product(&matrix(&q.hand.relatives, b), &product(&around_z, &around_x));
        let parent = usize::try_from(q.hand.parents[b]);
        absolute.push(parent.map_or(local, |p| product(&absolute[p], &local)));
    }
    let angle = (t[0] * t[0] + t[1] * t[1] + t[2] * t[2]).sqrt();
    let a = [t[0] / angle, t[1] / angle, t[2] / angle];
    let one = |v: usize| {
        let mut sum = [0.0; 3];
        for (b, absolute) in absolute.iter().enumerate() {
            let skin = product(absolute, &matrix(&q.hand.inverses, b));
            for (i, sum) in sum.iter_mut().enumerate() {
                let moved: f64 = (0..4).map(|j| skin[i][j] * q.hand.base[[v, j]]).sum();
                *sum += q.hand.weights[[v, b]] * moved;
            }
        }
        sum[0] *= q.hand.mirror;
        let along = (a[0] * sum[0] + a[1] * sum[1] + a[2] * sum[2]) * (1.0 - angle.cos());
        std::array::from_fn(|i| {
            let (j, k) = ((i + 1) % 3, (i + 2) % 3);
            let across = a[j] * sum[k] - a[k] * sum[j];
            sum[i] * angle.cos() + across * angle.sin() + a[i] * along + t[3 + i]
        })
    };
    (0..VERTICES).map(one).collect()
}

#[test]
fn errors_are_those_of_a_plain_program() -> Result<(), Error> {
    for (triangles, mirrored) in [(false, false), (false, true), (true, false)] {
        let input = input(triangles, mirrored);
        let q = Question::read(input.clone())?;
        let at = plainly(&q);
        let found: Vec<f64> = serde_json::from_value(numbers("objective", &input)?).map_err(Error::Input)?;
        assert_eq!(found.len(), 12);
        for (e, found) in found.into_iter().enumerate() {
            let (i, c) = (e / 3, e % 3);
            let expected = match &q.belongs {
                Belongs::Vertices(chosen) => at[chosen[i] as usize][c],
                Belongs::Triangles(corner, us) => {
                    let corner = |k: usize| at[corner[[i, k]] as usize][c];
                    let (u, v) = (us[[i, 0]], us[[i, 1]]);
                    u * corner(0) + v * corner(1) + (1.0 - u - v) * corner(2)
                }
            };
            let expected = q.points[[i, c]] - expected;
            assert!((found - expected).abs() < 1e-12 * (1.0 + expected.abs()), "{found} {expected}");
        }
    }
    Ok(())
}

#[test]
fn derivatives_agree_with_differences() -> Result<(), Error> {
    let Question { theta, hand, points, belongs } = Question::read(input(false, false))?;
    if let Belongs::Vertices(at) = belongs {
        let check = check_grad(simple, (&theta, &hand, &at, &points))?;
        assert!(check.agrees(1e-7), "{check}");
    }
    let Question { theta, hand, points, belongs } = Question::read(input(true, false))?;
    if let Belongs::Triangles(corner, us) = belongs {
        let check = check_grad(complicated, (&theta, &us, &hand, &corner, &points))?;
        assert!(check.agrees(1e-7), "{check}");
    }
    Ok(())
}

/// Along the pose both Jacobians are differences of errors; along `u` they are differences of vertices.
#[test]
fn jacobians_are_as_they_are_written() -> Result<(), Error> {
    for (triangles, along_u) in [(false, 0), (true, 2)] {
        let input = input(triangles, true);
        let rows: Vec<Vec<f64>> =
            serde_json::from_value(numbers("jacobian", &input)?).map_err(Error::Input)?;
        assert_eq!((rows.len(), rows[0].len()), (12, 26 + along_u));
        let h = 1e-6;
        let moved = |field: &str, at: &[usize], by: f64| -> Result<Vec<f64>, Error> {
            let mut moved = input.clone();
            for i in at {
                let number =
                    if field == "us" { &mut moved["us"][*i / 2][*i % 2] } else { &mut moved[field][*i] };
                *number = json!(number.as_f64().unwrap_or(f64::NAN) + by);
            }
            serde_json::from_value(numbers("objective", &moved)?).map_err(Error::Input)
        };
        for column in 0..26 + along_u {
            let (field, at) = if column < along_u {
                ("us", (0..4).map(|i| 2 * i + column).collect())
            } else {
                ("theta", vec![column - along_u])
            };
            let (above, below) = (moved(field, &at, h)?, moved(field, &at, -h)?);
            for (e, row) in rows.iter().enumerate() {
                let difference = (above[e] - below[e]) / (2.0 * h);
                assert!((row[column] - difference).abs() < 1e-6 * (1.0 + difference.abs()));
            }
        }
    }
    Ok(())
}

#[test]
fn hands_that_are_none_are_refused() {
    let wrong = |path: &str, value: Value, error: &str| {
        let mut input = input(true, false);
        if let Some(place) = input.pointer_mut(path) {
            *place = value;
        }
        assert_eq!(numbers("jacobian", &input).err().map(|e| e.to_string()).as_deref(), Some(error));
    };
    wrong("/theta", json!([1]), "field `theta` has length 1, expected 26");
    wrong("/data", json!([]), "field `data` is not an object");
    wrong("/data/model", json!({}), "field `data.model.base_positions` is missing");
    let bones = "field `data.model.parents` has length 1, expected 22";
    wrong("/data/model/parents", json!([-1]), bones);
    let cycle = "field `data.model.parents[1]` is 1, expected -1 or the number of an earlier bone";
    wrong("/data/model/parents/1", json!(1), cycle);
    let row = "field `data.model.base_relatives[3][0]` has length 1, expected 4";
    wrong("/data/model/base_relatives/3/0", json!([1]), row);
    let mirrored = "field `data.model.is_mirrored`: invalid type: integer `0`, expected a boolean";
    wrong("/data/model/is_mirrored", json!(0), mirrored);
    let weights = "field `data.model.weights[2]` has length 0, expected 22";
    wrong("/data/model/weights/2", json!([]), weights);
    let vertex = "field `data.model.triangles` is 9, expected the number of a vertex";
    wrong("/data/model/triangles/0/0", json!(9), vertex);
    let triangle = "field `data.correspondences` is -1, expected the number of a triangle";
    wrong("/data/correspondences/0", json!(-1), triangle);
    wrong("/data/points", json!([]), "field `data.points` has length 0, expected 4");
    wrong("/us", json!([[1, 2]]), "field `us` has length 1, expected 4");
}
