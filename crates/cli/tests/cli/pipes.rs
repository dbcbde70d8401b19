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

#[test]
fn a_full_disk_loses_nothing_that_was_measured() {
    let place = Place::new();
    let server = Served::start(&["http-echo"]);
    let url = server.http("/");
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let output = place
        .command(&["load", "-n", "20", "-c", "1", "--json", &url])
        .stdout(full())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = said(&output);
    assert_eq!(told.matches("cannot be written").count(), 1, "{told}");
    let runs = place.prony(&["runs", "--json"]).with(0).json();
    assert_eq!(runs[0]["status"], "finished", "{runs:#}");
    // Nor does the help go nowhere in silence.
    let output = place.command(&["--help"]).stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_result_goes_to_the_file_that_is_named() {
    let place = Place::new();
    let server = Served::start(&["http-echo"]);
    let url = server.http("/");
    let file = place.file("result", &"an older, much longer result\n".repeat(1_000));
    let name = file.to_str().unwrap();
    let load = ["load", "-q", "-n", "20", "-c", "1", "-o", name, &url];

    // One that could not be made leaves the older one.
    let failed = ["load", "-q", "-o", name, "http://127.0.0.1:1/"];
    place.prony(&failed).with(1);
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .starts_with("an older")
    );

    let done = place.prony(&[&load[..], &["--json"]].concat()).with(0);
    assert_eq!(done.stdout, "");
    let result = std::fs::read_to_string(&file).unwrap();
    let result: serde_json::Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["outcomes"]["ok"], 20, "{result:#}");

    place.prony(&load).with(0);
    let report = std::fs::read_to_string(&file).unwrap();
    assert!(report.contains("20 ok, 0 failed"), "{report}");
    let stdout = ["load", "-q", "-n", "20", "-c", "1", "-o", "-", &url];
    let done = place.prony(&stdout).with(0);
    assert!(done.stdout.contains("20 ok, 0 failed"), "{done}");
    // Nothing is loaded for a file that cannot be written.
    let nowhere = ["load", "-n", "20", "--output", "/no/such/file", &url];
    let done = place.refused(&nowhere);
    assert!(done.stderr.contains("--output /no/such/file: "), "{done}");
}

#[test]
fn a_locale_without_unicode_gets_none() {
    let place = Place::new();
    let server = Served::start(&["http-echo"]);
    let url = server.http("/");
    let mut load = place.command(&["load", "-n", "2000", "-c", "1", &url]);
    let shown = |load: &mut Command| String::from_utf8(load.output().unwrap().stdout).unwrap();
    let plain = shown(load.env("LC_ALL", "C"));
    assert!(plain.is_ascii() && plain.contains(" us "), "{plain}");
    let rich = shown(load.env("LC_ALL", "C.UTF-8"));
    assert!(rich.contains(" µs "), "{rich}");
}

#[test]
fn an_empty_variable_is_as_good_as_none() {
    let place = Place::new();
    let mut runs = place.command(&["runs"]);
    let home = place.path().join("home");
    runs.env("PRONY_NOTEBOOK", "")
        .env("PRONY_CACHE", "")
        .env("PRONY_CATALOG", "");
    let output = runs
        .env("HOME", &home)
        .env_remove("XDG_DATA_HOME")
        .output()
        .unwrap();
    assert!(said(&output).contains("no runs yet"), "{}", said(&output));
    assert_eq!(output.status.code(), Some(0));
}
