//! The command itself. (With a test of it, `cargo test` builds it, as `scripts/test` needs it.)

use std::process::Command;

fn benches(argument: &str) -> std::process::Output {
    let program = env!("CARGO_BIN_EXE_prony-benches");
    Command::new(program).arg(argument).output().unwrap()
}

#[test]
fn every_benchmark_has_a_line_of_help() {
    let output = benches("--help");
    assert!(output.status.success());
    let help = String::from_utf8(output.stdout).unwrap();
    let (_, listed) = help.split_once("Commands:\n").unwrap();
    let (listed, _) = listed.split_once("\n\n").unwrap();
    // Descriptions go on in lines that begin further to the right.
    let name = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let bare = |line: &&str| name(line) && line.split_whitespace().count() < 2;
    assert_eq!(listed.lines().find(bare), None, "{help}");
}

#[test]
fn a_benchmark_that_does_not_exist_is_refused() {
    let output = benches("no-such-benchmark");
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("no-such-benchmark"), "{error}");
}
