//! A hand of random numbers with the sizes of a real one: bones that move rigidly, vertices of which each follows few of them.

use serde_json::{Value, json};

use super::random::Random;

/// As many as the angles of a pose are for.
const BONES: usize = 22;

/// A transform of homogeneous coordinates.
type Transform = [[f64; 4]; 4];

fn product(a: &Transform, b: &Transform) -> Transform {
    let mut all = [[0.0; 4]; 4];
    for (i, row) in all.iter_mut().enumerate() {
        for (j, x) in row.iter_mut().enumerate() {
            *x = (0..4).map(|k| a[i][k] * b[k][j]).sum();
        }
    }
    all
}

/// A turn around the vector by its length, by the formula of Rodrigues, and then a translation.
fn rigid(turn: [f64; 3], translation: [f64; 3]) -> Transform {
    let angle = turn.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-9);
    let a = turn.map(|x| x / angle);
    let (sine, cosine) = angle.sin_cos();
    let across = [[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]];
    let mut all = [[0.0; 4]; 4];
    for i in 0..3 {
        for j in 0..3 {
            let identity = if i == j { cosine } else { 0.0 };
            all[i][j] = identity + sine * across[i][j] + (1.0 - cosine) * a[i] * a[j];
        }
        all[i][3] = translation[i];
    }
    all[3][3] = 1.0;
    all
}

/// The inverse of a turn and a translation.
fn inverse(a: &Transform) -> Transform {
    let mut all = [[0.0; 4]; 4];
    for i in 0..3 {
        for j in 0..3 {
            all[i][j] = a[j][i];
            all[i][3] -= a[j][i] * a[j][3];
        }
    }
    all[3][3] = 1.0;
    all
}

/// The parent of each bone: a wrist, four bones of each finger, a forearm.
fn parents() -> Vec<i64> {
    let parent = |bone: usize| match bone {
        0 => -1,
        _ if bone % 4 == 1 => 0,
        _ => bone as i64 - 1,
    };
    (0..BONES).map(parent).collect()
}

/// Weights of the bones, of which one to four are not zero, that add up to 1.
fn weights(random: &mut Random) -> [f64; BONES] {
    let mut all = [0.0; BONES];
    for _ in 0..=random.below(4) {
        all[random.below(BONES)] += random.uniform() + 0.1;
    }
    let sum: f64 = all.iter().sum();
    all.map(|w| w / sum)
}

fn vector(random: &mut Random, scale: f64) -> [f64; 3] {
    std::array::from_fn(|_| scale * random.normal())
}

/// The input for a hand of so many vertices and so many points, which belong to triangles or to vertices. Triangles have the first
/// 544 vertices at most.
#[must_use]
pub fn input(vertices: usize, points: usize, triangles: bool, random: &mut Random) -> Value {
    let parents = parents();
    let relatives: Vec<_> = (0..BONES).map(|_| rigid(vector(random, 0.3), vector(random, 0.3))).collect();
    let mut absolutes: Vec<Transform> = Vec::new();
    for (relative, parent) in relatives.iter().zip(&parents) {
        absolutes.push(match usize::try_from(*parent) {
            Ok(parent) => product(&absolutes[parent], relative),
            Err(_) => *relative,
        });
    }
    let corners = vertices.min(544);
    let base: Vec<_> = (0..vertices)
        .map(|_| {
            let [x, y, z] = vector(random, 0.5);
            [x, y, z, 1.0]
        })
        .collect();
    let model = json!({
        "bone_count": BONES,
        "bone_names": (0..BONES).map(|b| format!("bone{b}")).collect::<Vec<_>>(),
        "parents": parents,
        "base_relatives": relatives,
        "inverse_base_absolutes": absolutes.iter().map(inverse).collect::<Vec<_>>(),
        "base_positions": base,
        "weights": (0..vertices).map(|_| weights(random).to_vec()).collect::<Vec<_>>(),
        "triangles": (0..1084).map(|_| [(); 3].map(|()| random.below(corners))).collect::<Vec<_>>(),
        "is_mirrored": false,
    });
    let ends = if triangles { 1084 } else { vertices };
    json!({
        "theta": random.normals(26).into_iter().map(|x| 0.3 * x).collect::<Vec<_>>(),
        "data": {
            "model": model,
            "correspondences": (0..points).map(|_| random.below(ends)).collect::<Vec<_>>(),
            "points": random.normal_rows(points, 3),
        },
        "us": if triangles { random.uniform_rows(points, 2) } else { Vec::new() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transforms() {
        let mut random = Random::new(3);
        let a = rigid(vector(&mut random, 1.0), vector(&mut random, 1.0));
        for (i, row) in product(&a, &inverse(&a)).iter().enumerate() {
            for (j, x) in row.iter().enumerate() {
                assert!((x - f64::from(u8::from(i == j))).abs() < 1e-14, "{i} {j} {x}");
            }
        }
        let around_z = rigid([0.0, 0.0, std::f64::consts::FRAC_PI_2], [5.0, 6.0, 7.0]);
        for (found, expected) in around_z[1].iter().zip([1.0, 0.0, 0.0, 6.0]) {
            assert!((found - expected).abs() < 1e-15);
        }
    }

    #[test]
    fn bones_and_weights() {
        let parents = parents();
        assert_eq!(parents[..7], [-1, 0, 1, 2, 3, 0, 5]);
        assert_eq!(parents[20..], [19, 0]);
        let mut random = Random::new(4);
        for _ in 0..50 {
            let weights = weights(&mut random);
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            assert!((1..=4).contains(&weights.iter().filter(|w| **w > 0.0).count()));
        }
    }
}
