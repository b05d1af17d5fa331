//! Comparisons: of our own tool with itself, and of tools that are none.

use array_dsl_gradbench::compare::tool::Tool;
use array_dsl_gradbench::compare::workload::{self, Workload};
use array_dsl_gradbench::compare::{Error, Repetition, Report, compare, table};

fn ours(name: &str) -> Tool {
    Tool::program(name, env!("CARGO_BIN_EXE_gradbench").into(), vec!["--threads".into(), "1".into()])
}

/// A tool that answers these lines, whatever it is asked.
fn scripted(lines: &str) -> Tool {
    let script = format!("for answer in {lines}; do read -r line || exit 0; echo \"$answer\"; done");
    Tool::program("other", "sh".into(), vec!["-c".into(), script])
}

fn compared(tools: &[Tool], workloads: &[Workload]) -> Report {
    compare(tools, workloads, Repetition { runs: 2, seconds: 0.0 }, &mut |_| ())
}

fn errors(report: &Report) -> Vec<String> {
    report.errors.iter().map(Error::to_string).collect()
}

#[test]
fn our_tool_agrees_with_itself_on_every_problem() {
    let workloads = [
        workload::llsq(7, 3),
        workload::lse(9),
        workload::ode(6, 2),
        workload::det(3),
        workload::det(4),
        workload::gmm(3, 2, 5),
        workload::ba("ba", 2, 3, 20),
        workload::ht(30, 4, false),
        workload::ht(30, 4, true),
        workload::lstm(1, 4),
        workload::kmeans(2, 9, 3),
    ];
    let mut told = Vec::new();
    let tools = [ours("array-dsl"), ours("twin")];
    let repetition = Repetition { runs: 2, seconds: 0.0 };
    let report = compare(&tools, &workloads, repetition, &mut |workload| told.push(workload.name.clone()));
    assert_eq!(errors(&report), [""; 0]);
    assert_eq!(told, workloads.iter().map(|w| w.name.clone()).collect::<Vec<_>>());
    assert_eq!(report.rows.len(), workloads.len());
    for row in &report.rows {
        assert_eq!(row.difference, Some(0.0), "{row:?}");
        assert!(row.times.iter().all(|t| t.value.is_some() && t.derivative.is_some()), "{row:?}");
    }
    let problems: Vec<_> = report.peaks.iter().map(|peak| peak.problem).collect();
    assert_eq!(problems, ["llsq", "lse", "ode", "det", "gmm", "ba", "ht", "lstm", "kmeans"]);
    let peaks = report.peaks.iter().flat_map(|peak| &peak.kilobytes);
    assert!(!cfg!(target_os = "linux") || peaks.clone().all(|k| k.is_some_and(|k| k > 0)));
    let table = table::times(&["array-dsl", "twin"], &report.rows);
    assert_eq!(table.lines().count(), 2 + workloads.len());
}

#[cfg(unix)]
#[test]
fn a_tool_without_the_problem_has_dashes() {
    let other = scripted(r#"'{"id":0}' '{"id":1,"success":false,"error":"unknown"}'"#);
    let report = compared(&[ours("array-dsl"), other], &[workload::lse(3)]);
    assert_eq!(errors(&report), [""; 0]);
    let row = &report.rows[0];
    assert!(row.times[1].value.is_none() && row.times[1].derivative.is_none());
    assert!(row.difference.is_none() && row.ratio().is_none() && row.overhead().is_some());
    assert!(table::times(&["array-dsl", "other"], &report.rows).contains(" | - | - | - | "));
}

#[cfg(unix)]
#[test]
fn tools_that_disagree_refuse_or_break_off() {
    let start = r#"'{"id":0}' '{"id":1,"success":true}'"#;
    for (answers, expected) in [
        (
            r#"'{"id":2,"success":true,"output":1e3,"timings":[]}' '{"id":3,"success":true,"output":[1]}'"#,
            vec![
                "other: lse n=3 primal: the output: a difference of 1.0e0",
                "other: lse n=3 gradient: the output: 1 elements, expected 3",
            ],
        ),
        (
            r#"'{"id":2,"success":false,"error":"no"}' '{"id":3,"success":true}'"#,
            vec!["other: lse n=3 primal: no", "other: lse n=3 gradient: a success without an output"],
        ),
        (r#"'{"id":5}'"#, vec!["other: lse n=3 primal: message 2 is answered as 5"]),
        ("", vec!["other: lse n=3 primal: it ended before it answered (exit status: 0)"]),
    ] {
        let report =
            compared(&[ours("array-dsl"), scripted(&format!("{start} {answers}"))], &[workload::lse(3)]);
        let found = errors(&report);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{found}");
        }
        assert!(report.rows[0].times[0].derivative.is_some());
    }
}

#[test]
fn a_tool_that_is_not_there() {
    let missing = Tool::program("other", "no/such/program".into(), Vec::new());
    let report = compared(&[ours("array-dsl"), missing], &[workload::lse(3)]);
    let found = errors(&report);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("other: lse: `no/such/program` does not start: "), "{found:?}");
}
