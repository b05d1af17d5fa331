//! The program itself: its arguments, its exit status, and that answers come before further questions.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Output, Stdio};

fn gradbench() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gradbench"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn told(arguments: &[&str], lines: &str) -> Output {
    let mut child = gradbench().args(arguments).spawn().unwrap();
    // It may be gone before it reads anything.
    let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn answers_at_once_and_ends_with_its_input() {
    let mut child = gradbench().arg("--threads").arg("2").spawn().unwrap();
    let (mut asks, mut hears) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for (question, answer) in [
        (
            "{\"id\": 0, \"kind\": \"start\"}",
            "{\"id\":0,\"tool\":\"array-dsl\",\"config\":{\"threads\":2}}\n",
        ),
        ("{\"id\": 1, \"kind\": \"define\", \"module\": \"hello\"}", "{\"id\":1,\"success\":true}\n"),
    ] {
        writeln!(asks, "{question}").unwrap();
        let mut line = String::new();
        hears.read_line(&mut line).unwrap();
        assert_eq!(line, answer);
    }
    drop(asks);
    assert!(child.wait().unwrap().success());
}

#[test]
fn nobody_reads_any_more() {
    let mut child = gradbench().spawn().unwrap();
    drop(child.stdout.take());
    writeln!(child.stdin.take().unwrap(), "{{\"id\": 0, \"kind\": \"start\"}}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_malformed_line_is_a_failure() {
    let output = told(&[], "{\"id\": 0, \"kind\": \"start\"}\n{\n");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"{\"id\":0,\"tool\":\"array-dsl\",\"config\":{\"threads\":1}}\n");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.starts_with("gradbench: line 2 is not a message: "), "{errors}");
}

#[test]
fn wrong_arguments_are_a_failure() {
    for arguments in [
        &["--threads"][..],
        &["--threads", "0"],
        &["--threads=x"],
        &["--thread"],
        &["--threadsx", "1"],
        &["-h"],
    ] {
        let output = told(arguments, "");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.starts_with("gradbench: ") && errors.contains("--threads"), "{errors}");
    }
    assert!(told(&["--threads=3"], "").status.success());
}
