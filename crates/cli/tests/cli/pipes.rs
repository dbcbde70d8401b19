//! The reader of what prony prints may stop reading.

use crate::support::{Place, Served};
use std::fs::File;
use std::process::{Command, Output, Stdio};

const EXPERIMENT: &str = "title = 'One'\ncontract = 'tcp-echo'\nservers = ['quick']\nrounds = 1\n\
                          [load]\nconnections = 1\nrequests = 50\nwarmup = '0s'\n";

/// A pipe without a reader.
fn gone() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let place = Place::with_references();
    let file = place.experiment("one", EXPERIMENT);
    let server = Served::start(&["http-echo"]);
    let url = server.http("/");
    let all: [&[&str]; 12] = [
        &["run", &file, "--no-html"],
        &["runs"],
        &["report"],
        &["report", "--html", "-"],
        &["export", "--format", "json"],
        &["load", "-n", "20", "-c", "1", &url],
        &["servers", "list"],
        &["explain"],
        &["schema", "run"],
        &["man"],
        &["completions", "bash"],
        &["--help"],
    ];
    for arguments in all {
        let output = place.command(arguments).stdout(gone()).output().unwrap();
        let told = said(&output);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {told}");
        for sign in ["panicked", "Broken pipe"] {
            assert!(!told.contains(sign), "{arguments:?}: {told}");
        }
        // Nor does it matter whether the progress has a reader.
        let mut deaf: Command = place.command(arguments);
        let status = deaf.stdout(gone()).stderr(gone()).status().unwrap();
        assert_eq!(status.code(), Some(0), "{arguments:?}");
    }
    // What was measured is kept all the same.
    let runs = place.prony(&["runs", "--json"]).with(0).json();
    assert_eq!(runs[1]["status"], "finished", "{runs:#}");
}

#[test]
fn a_full_disk_is_one() {
    let place = Place::new();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = place.command(&["explain"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = said(&output);
    assert!(told.contains("standard output cannot be written"), "{told}");
}
