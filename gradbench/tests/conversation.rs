//! Conversations: what is asked, and what is answered to it, wrong questions and lines that are none among them.

use array_dsl_gradbench::protocol::{ProtocolError, serve};
use serde_json::{Value, json};

/// The responses to these lines, without how long runs took, which they have for each run.
fn told(lines: &str) -> (Vec<Value>, Result<(), ProtocolError>) {
    let mut written = Vec::new();
    let end = serve(lines.as_bytes(), &mut written, 1);
    let text = String::from_utf8(written).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    (text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), end)
}

fn evaluated(module: &str, function: &str, input: &Value) -> Value {
    let message =
        json!({"id": 7, "kind": "evaluate", "module": module, "function": function, "input": input});
    let (mut responses, end) = told(&message.to_string());
    end.unwrap();
    assert_eq!(responses.len(), 1);
    let response = responses.remove(0);
    assert_eq!(response["id"], 7);
    response
}

/// That an input is refused with this text.
fn assert_refused(module: &str, function: &str, input: &Value, error: &str) {
    assert_eq!(evaluated(module, function, input), json!({"id": 7, "success": false, "error": error}));
}

#[test]
fn a_conversation() {
    let (responses, end) = told(
        r#"{"id": 0, "kind": "start", "eval": "lse", "config": {"n": [1, 2]}}
{"id": 1, "kind": "define", "module": "lse"}
{"description": "n=2", "id": 2, "kind": "evaluate", "module": "lse", "function": "gradient", "input": {"x": [0, 0], "min_runs": 3, "min_seconds": 0}, "more": null}
{"id": 3, "kind": "analysis", "of": 2, "valid": true}
{"id": 4, "kind": "analysis", "of": 2, "valid": false, "error": "why"}
{"id": 5, "kind": "evaluate", "module": "lse", "function": "hessian", "input": {"x": [0]}}
{"id": 6, "kind": "define", "module": "nothing"}
{"id": -7, "kind": "evaluate", "module": "nothing", "function": "f", "input": null}
{"id": 8, "kind": "farewell"}"#,
    );
    end.unwrap();
    assert_eq!(responses.len(), 9);
    assert_eq!(responses[0], json!({"id": 0, "tool": "array-dsl", "config": {"threads": 1}}));
    assert_eq!(responses[1], json!({"id": 1, "success": true}));
    assert_eq!(responses[2]["success"], true);
    assert_eq!(responses[2]["output"], json!([0.5, 0.5]));
    assert_eq!(responses[2].get("error"), None);
    let timings = responses[2]["timings"].as_array().unwrap();
    assert_eq!(timings.len(), 3);
    assert!(timings.iter().all(|t| t["name"] == "evaluate" && t["nanoseconds"].is_u64()));
    assert_eq!(responses[3], json!({"id": 3}));
    assert_eq!(responses[4], json!({"id": 4}));
    let hessian = json!({"id": 5, "success": false, "error": "module `lse` has no function `hessian`"});
    assert_eq!(responses[5], hessian);
    let nothing = |id| json!({"id": id, "success": false, "error": "there is no module `nothing`"});
    assert_eq!(responses[6], nothing(6));
    assert_eq!(responses[7], nothing(-7));
    assert_eq!(responses[8], json!({"id": 8}));
}

#[test]
fn every_module_is_defined() {
    for name in
        ["hello", "llsq", "lse", "ode", "det", "gmm", "ba", "ht", "lstm", "kmeans", "particle", "saddle"]
    {
        let (responses, end) = told(&json!({"id": 1, "kind": "define", "module": name}).to_string());
        end.unwrap();
        assert_eq!(responses, [json!({"id": 1, "success": true})]);
    }
}

#[test]
fn silence_is_an_end() {
    let (responses, end) = told("");
    assert!(responses.is_empty() && end.is_ok());
}

#[test]
fn runs_take_as_long_as_they_are_to() {
    let once = evaluated("hello", "square", &json!(3));
    assert_eq!(once["timings"].as_array().map(Vec::len), Some(1));
    let input = json!({"x": [1, 2], "min_seconds": 0.02});
    let timings = evaluated("lse", "primal", &input)["timings"].as_array().cloned().unwrap();
    let mut nanoseconds = timings.iter().map(|t| t["nanoseconds"].as_u64().unwrap());
    let (all, last) = (nanoseconds.clone().sum::<u64>(), nanoseconds.next_back().unwrap());
    assert!(all >= 20_000_000 && all - last < 20_000_000, "{all}");
}

#[test]
fn what_is_not_finite_is_null() {
    assert_eq!(evaluated("lse", "primal", &json!({"x": []}))["output"], Value::Null);
    let response = evaluated("hello", "square", &json!(1e200));
    assert_eq!((&response["success"], &response["output"]), (&json!(true), &Value::Null));
}

#[test]
fn long_lines_are_read() {
    let x = vec![0.25; 200_000];
    let response = evaluated("lse", "gradient", &json!({"x": x}));
    assert_eq!(response["output"].as_array().map(Vec::len), Some(200_000));
}

#[test]
fn lines_that_are_no_messages_end_it() {
    let first = "{\"id\": 0, \"kind\": \"start\"}\n";
    for (line, error) in [
        ("nonsense", "line 2 is not a message"),
        ("", "line 2 is not a message"),
        ("{\"id\": 1, \"kind\": \"define\", \"module\": \"lse\"", "line 2 is not a message"),
        ("[1, 2]", "line 2 is not a message"),
        ("{\"kind\": \"define\", \"module\": \"lse\"}", "missing field `id`"),
        ("{\"id\": \"1\", \"kind\": \"define\"}", "line 2 is not a message"),
        ("{\"id\": 1}", "missing field `kind`"),
        ("{\"id\": 1, \"kind\": \"define\"}", "line 2: a message of kind `define` has a field `module`"),
        ("{\"id\": 1, \"kind\": \"evaluate\", \"function\": \"f\", \"input\": 1}", "has a field `module`"),
        ("{\"id\": 1, \"kind\": \"evaluate\", \"module\": \"f\", \"input\": 1}", "has a field `function`"),
        (
            "{\"id\": 1, \"kind\": \"evaluate\", \"module\": \"f\", \"function\": \"f\"}",
            "has a field `input`",
        ),
        ("{\"id\": 1, \"kind\": \"start\"} {\"id\": 2, \"kind\": \"start\"}", "line 2 is not a message"),
        ("{\"id\": 1, \"kind\": \"evaluate\", \"input\": NaN}", "line 2 is not a message"),
    ] {
        let (responses, end) = told(&format!("{first}{line}\n{first}"));
        assert_eq!(responses.len(), 1, "{line}");
        let message = end.expect_err(line).to_string();
        assert!(message.contains(error), "{message}");
    }
    let mut written = Vec::new();
    assert!(serve(&b"\xff\xfe\n"[..], &mut written, 1).is_err());
}

#[test]
fn wrong_inputs_are_refused() {
    for module in ["llsq", "lse", "ode", "det", "gmm", "ba", "ht", "lstm", "kmeans", "particle", "saddle"] {
        for input in [json!(null), json!(1), json!("x"), json!([])] {
            assert_refused(module, "primal", &input, "the input is not an object");
        }
    }
    let number = "the input: invalid type: string \"1\", expected f64";
    assert_refused("hello", "square", &json!("1"), number);
    assert_refused("lse", "primal", &json!({}), "field `x` is missing");
    let text = "field `x`: invalid type: string \"1\", expected f64";
    assert_refused("lse", "primal", &json!({"x": [0, "1"]}), text);
    let null = "field `x`: invalid type: null, expected f64";
    assert_refused("lse", "primal", &json!({"x": [null]}), null);
    let runs = "field `min_runs`: invalid value: integer `-1`, expected u64";
    assert_refused("lse", "primal", &json!({"x": [0], "min_runs": -1}), runs);
    let seconds = "field `min_seconds`: invalid type: string \"1\", expected f64";
    assert_refused("lse", "primal", &json!({"x": [0], "min_seconds": "1"}), seconds);
    assert_refused("llsq", "primal", &json!({"x": [0]}), "field `n` is missing");
    let negative = "field `n`: invalid value: integer `-1`, expected u32";
    assert_refused("llsq", "primal", &json!({"x": [0], "n": -1}), negative);
    assert_refused("ode", "primal", &json!({"x": [0], "s": 0}), "field `s` is 0, expected at least 1");
    let empty = "field `x` is empty, expected at least one number";
    assert_refused("ode", "gradient", &json!({"x": [], "s": 1}), empty);
    let length = "field `A` has length 3, expected 4";
    assert_refused("det", "primal", &json!({"A": [1, 2, 3], "ell": 2}), length);
    let large = "field `ell` is 21, expected at most 20";
    assert_refused("det", "primal", &json!({"A": [], "ell": 21}), large);
    assert_refused("particle", "rr", &json!({"w": []}), "field `w`: invalid type: sequence, expected f64");
    assert_refused("saddle", "rr", &json!({"start": [1]}), "field `start` has length 1, expected 2");
}

#[test]
fn wrong_matrices_are_refused() {
    let ragged = json!({"points": [[0, 1], [2]], "centroids": [[0, 1]]});
    assert_refused("kmeans", "cost", &ragged, "field `points[1]` has length 1, expected 2");
    let narrow = json!({"points": [[0, 1]], "centroids": [[0]]});
    assert_refused("kmeans", "dir", &narrow, "field `centroids[0]` has length 1, expected 2");
    let right = json!({
        "d": 2, "k": 1, "n": 1, "m": 0, "gamma": 1, "alpha": [0], "mu": [[0, 0]], "q": [[0, 0]], "l": [[0]],
        "x": [[0, 0]],
    });
    assert_eq!(evaluated("gmm", "jacobian", &right)["success"], true);
    for (field, value, error) in [
        ("d", json!(0), "field `d` is 0, expected at least 1"),
        ("d", json!(1.5), "field `d`: invalid type: floating point `1.5`, expected usize"),
        ("k", json!(2), "field `alpha` has length 1, expected 2"),
        ("n", json!(2), "field `x` has length 1, expected 2"),
        ("mu", json!([[0]]), "field `mu[0]` has length 1, expected 2"),
        ("q", json!([[0, 0], [0, 0]]), "field `q` has length 2, expected 1"),
        ("l", json!([[]]), "field `l[0]` has length 0, expected 1"),
        ("gamma", json!(null), "field `gamma`: invalid type: null, expected f64"),
    ] {
        let mut wrong = right.clone();
        wrong[field] = value;
        assert_refused("gmm", "objective", &wrong, error);
    }
    let scene = json!({
        "n": 1, "m": 1, "p": 0, "cam": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "x": [0, 0, 0], "w": 0, "feat": [0, 0],
    });
    assert_refused("ba", "objective", &scene, "field `p` is 0, expected at least 1");
    let mut scene = scene;
    scene["p"] = json!(1);
    scene["cam"] = json!([0]);
    assert_refused("ba", "jacobian", &scene, "field `cam` has length 1, expected 11");
    let right = json!({
        "sequence": [[0], [1]], "state": [[0], [0]], "main_params": [[0, 0, 0, 0], [0, 0, 0, 0]],
        "extra_params": [[0], [0], [0]],
    });
    assert_eq!(evaluated("lstm", "jacobian", &right)["success"], true);
    for (field, value, error) in [
        ("sequence", json!([[0]]), "field `sequence` is of length 1, expected at least 2 long"),
        ("state", json!([[0], [0], [0]]), "field `state` has length 3, expected 2"),
        ("state", json!([[0], [0], [0], [0]]), "field `main_params` has length 2, expected 4"),
        ("main_params", json!([[0, 0, 0], [0, 0, 0]]), "field `main_params[0]` has length 3, expected 4"),
        ("extra_params", json!([[0], [0]]), "field `extra_params` has length 2, expected 3"),
    ] {
        let mut wrong = right.clone();
        wrong[field] = value;
        assert_refused("lstm", "objective", &wrong, error);
    }
}

#[test]
fn memory_that_there_is_not() {
    let camera: Vec<u32> = (1..12).collect();
    let input =
        |p: i64| json!({"n": 1, "m": 1, "p": p, "cam": camera, "x": [1, 2, 3], "w": 1, "feat": [1, 2]});
    for (p, what) in [(1_000_000_000_000_000, "memory"), (i64::MAX, "too large to be represented")] {
        let response = evaluated("ba", "objective", &input(p));
        assert_eq!(response["success"], false);
        let error = response["error"].as_str().unwrap();
        assert!(error.contains("`repeated`") && error.contains(what), "{error}");
    }
}
