//! Worked numbers of every problem, as GradBench's inputs ask for them.

use array_dsl_gradbench::module;
use serde_json::{Value, json};

fn answer(name: &str, function: &str, input: Value) -> Value {
    module(name).and_then(|m| m(function, input)).and_then(|t| t.run()).unwrap().json()
}

/// GradBench's measure of how numbers differ, over everything of which the two values consist.
fn assert_close(found: &Value, expected: &Value, tolerance: f64) {
    match (found, expected) {
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len());
            a.iter().zip(b).for_each(|(a, b)| assert_close(a, b, tolerance));
        }
        (Value::Object(a), Value::Object(b)) => {
            assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
            a.iter().for_each(|(key, a)| assert_close(a, &b[key], tolerance));
        }
        _ => {
            let (Some(a), Some(b)) = (found.as_f64(), expected.as_f64()) else {
                panic!("{found} and {expected} are not both numbers")
            };
            let difference = (a - b).abs() / 1.0f64.max(a.abs() + b.abs());
            assert!(difference <= tolerance, "{a} differs from {b}");
        }
    }
}

#[test]
fn hello() {
    let mut y = json!(1.0);
    for (square, double) in [(1.0, 2.0), (4.0, 8.0), (64.0, 128.0)] {
        y = answer("hello", "square", y);
        assert_eq!(y, square);
        y = answer("hello", "double", y);
        assert_eq!(y, double);
    }
    assert_eq!(answer("hello", "square", json!(3)), 9.0);
}

#[test]
fn llsq() {
    let input = json!({"x": [1, 2, 3], "n": 4});
    assert_close(&answer("llsq", "primal", input.clone()), &json!(18.88888888888889), 1e-14);
    let gradient = json!([10.6666666666667, 1.77777777777778, 8.2962962962963]);
    assert_close(&answer("llsq", "gradient", input), &gradient, 1e-13);
    assert_eq!(answer("llsq", "primal", json!({"x": [1, 1], "n": 1})), Value::Null);
}

#[test]
fn lse() {
    let input = json!({"x": [1.0, 2.0, 3.0]});
    assert_close(&answer("lse", "primal", input.clone()), &json!(3.4076059644443806), 1e-15);
    let gradient = json!([0.0900305731703804, 0.244728471054798, 0.665240955774822]);
    assert_close(&answer("lse", "gradient", input), &gradient, 1e-14);
}

#[test]
fn det() {
    let input = json!({"A": [2, -1, 0, 1, 3, 2, 0, 1, 4], "ell": 3});
    assert_eq!(answer("det", "primal", input.clone()), 24.0);
    assert_eq!(answer("det", "gradient", input), json!([10.0, -4.0, 1.0, 4.0, 8.0, -2.0, -2.0, -4.0, 7.0]));
    // The sum of A ⊙ gradient is the size times the determinant.
    let a: Vec<f64> = (0..49).map(|k| (k as f64 * 1.3).sin()).collect();
    let input = json!({"A": a, "ell": 7});
    let gradient: Vec<f64> = serde_json::from_value(answer("det", "gradient", input.clone())).unwrap();
    let total: f64 = a.iter().zip(&gradient).map(|(a, g)| a * g).sum();
    let det = answer("det", "primal", input).as_f64().unwrap();
    assert_close(&json!(total), &json!(7.0 * det), 1e-13);
}

#[test]
fn gmm() {
    let input = json!({
        "d": 2, "k": 2, "n": 3, "m": 2, "gamma": 0.5, "alpha": [0.1, -0.2], "mu": [[0, 0.5], [1, -1]],
        "q": [[0.2, -0.3], [0, 0.4]], "l": [[0.7], [-0.5]], "x": [[0.3, 0.1], [-0.4, 0.9], [1.5, -0.7]],
    });
    let objective = answer("gmm", "objective", input.clone());
    assert_close(&objective, &json!(-29.976872900688516), 1e-14);
    let gradient = json!({
        "alpha": [0.300250293291308, -0.300250293291308],
        "mu": [[0.103387895049607, -0.0262382093005719], [0.128456401655103, 0.624178092984221]],
        "q": [[2.79622475476272, 3.88037987116258], [2.4508755829773, 1.9299866616481]],
        "l": [[-0.181642109837976], [0.218489394418951]],
    });
    assert_close(&answer("gmm", "jacobian", input), &gradient, 1e-13);
}

/// The camera turns, or does not.
fn scene(p: usize, turned: bool) -> Value {
    let r = if turned { [0.1, -0.2, 0.3] } else { [0.0; 3] };
    let cam = [r[0], r[1], r[2], 0.5, -0.4, -6.0, 100.0, 3.0, -2.0, 0.01, -0.002];
    json!({"n": 2, "m": 3, "p": p, "cam": cam, "x": [1, 2, 3], "w": 0.5, "feat": [10, 20]})
}

#[test]
fn ba() {
    let errors = json!({
        "reproj_error": {"elements": [-13.9200903407043, -3.93740207370459], "repeated": 20},
        "w_err": {"element": 0.75, "repeated": 20},
    });
    assert_close(&answer("ba", "objective", scene(20, true)), &errors, 1e-13);
    let jacobian = answer("ba", "jacobian", scene(20, true));
    let rows: Vec<usize> = (0..30).map(|i| 15 * i).chain([620]).collect();
    assert_eq!(jacobian["rows"], json!(rows));
    let cameras = (0..11).chain(22..25).chain([31]);
    let columns: Vec<usize> = cameras.clone().chain(cameras).chain([50]).collect();
    assert_eq!(jacobian["cols"], json!(columns));
    let values = json!([
        8.30899717836673,
        50.8752554155849,
        -10.2459009320013,
        -5.42133953805345,
        1.60141602439795,
        -0.125858743280928,
        -0.104200903407043,
        0.5,
        0,
        -0.659224181776799,
        -0.0417317057766806,
        5.42133953805345,
        -1.60141602439795,
        0.125858743280928,
        -27.8401806814086,
        -51.2498157512421,
        5.84934864126255,
        -5.45260887956705,
        -1.39945551753954,
        -5.20726237502551,
        1.466350828759,
        0.0706259792629541,
        0,
        0.5,
        0.446813337211999,
        0.0282851922624725,
        1.39945551753954,
        5.20726237502551,
        -1.466350828759,
        -7.87480414740918,
        -1
    ]);
    assert_close(&jacobian["vals"], &values, 1e-13);
}

/// Rows of observations come before those of weights, and both are among the first thirty if there are few.
#[test]
fn ba_of_few_observations() {
    let jacobian = answer("ba", "jacobian", scene(1, false));
    assert_eq!(jacobian["rows"], json!([0, 15, 30, 31, 31]));
    assert_eq!(jacobian["cols"][14], json!(31));
    assert_eq!(jacobian["vals"].as_array().map(Vec::len), Some(31));
    assert!(jacobian["vals"].as_array().unwrap().iter().all(Value::is_f64), "{jacobian}");
}

#[test]
fn lstm() {
    let input = json!({
        "main_params": [
            [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
            [-0.1, 0.1, -0.2, 0.2, -0.3, 0.3, -0.4, 0.4],
        ],
        "extra_params": [[1, 0.5], [0.3, -0.3], [0.1, -0.1]],
        "state": [[0.2, -0.2], [0.5, 0.1]],
        "sequence": [[0, 1], [1, 1], [1, 0]],
    });
    assert_close(&answer("lstm", "objective", input.clone()), &json!(1.0190102818255895), 1e-15);
    let gradient = json!([
        -0.000880971340012136,
        3.0043106941564e-05,
        0.000530432680027082,
        -0.000341710124598968,
        0.00132463230403605,
        0.0001544227626873,
        -0.00335341292547378,
        -0.00237283489895604,
        -0.00483470216946185,
        6.0086213883128e-05,
        0.00456460991510448,
        8.01627475868352e-05,
        0.000153629234013703,
        0.000308845525374599,
        -0.0255699620762246,
        0.0054122084372363,
        0.000574219018016813,
        0.000197324558001385,
        0.0042721809699693,
        -0.00431891471173779,
        -0.290521162991958,
        -0.0867972143559202
    ]);
    assert_close(&answer("lstm", "jacobian", input), &gradient, 1e-15);
}

#[test]
fn kmeans() {
    let input = json!({
        "points": [[0, 0], [1, 0], [4, 4], [5, 4], [4, 6]],
        "centroids": [[1, 1], [4, 5]],
    });
    assert_eq!(answer("kmeans", "cost", input.clone()), 7.0);
    let third = 1.0 / 3.0;
    assert_close(&answer("kmeans", "dir", input), &json!([[0.5, 1], [-third, third]]), 1e-15);
}

#[test]
fn ode() {
    let input = json!({"x": [0.5, 2, 3, 1.5, 0.8, 1.2], "s": 2});
    assert_close(&answer("ode", "primal", input.clone()), &json!([1, 2, 4, 3, 0.9, 0.3]), 1e-15);
    let gradient = json!([0.6, 0.15, 0.1, 0.2, 0.375, 0.25]);
    assert_close(&answer("ode", "gradient", input), &gradient, 1e-14);
}

#[test]
fn particle() {
    for function in ["rr", "rf", "fr", "ff"] {
        assert_close(&answer("particle", function, json!({"w": 0})), &json!(0.2071918746486), 1e-12);
    }
}

#[test]
fn saddle() {
    for function in ["rr", "rf", "fr", "ff"] {
        let found = answer("saddle", function, json!({"start": [1, 1]}));
        assert_close(&found, &json!(vec![8.2463248261e-06; 4]), 1e-15);
    }
}
