//! Commands around each start of a server.

use crate::support::{PRONY, Place};

const QUICK: [&str; 11] = [
    "--rounds",
    "2",
    "--only",
    "throughput",
    "-d",
    "50ms",
    "--warmup",
    "50ms",
    "-c",
    "2",
    "--quiet",
];

fn echo() -> String {
    format!("{PRONY} serve http-echo --listen :{{port}}")
}

// Slow: waits for its turn to load, then a duel: a pilot and 2 rounds with 6 starts.
#[test]
fn each_start_is_prepared_and_each_end_cleaned_up_after() {
    let place = Place::new();
    let server = echo();
    let prepare = "echo begin $PRONY_SIDE $PORT >> log; test -n \"$HOST\"";
    let line = [&["duel", &server, &server][..], &QUICK].concat();
    let around = [
        "--path",
        "/",
        "--prepare",
        prepare,
        "--cleanup",
        "echo end $PRONY_SIDE $PORT >> log",
    ];
    place.prony(&[&line[..], &around].concat()).with(0);
    let log = std::fs::read_to_string(place.path().join("log")).unwrap();
    let (mut begun, mut ended) = (Vec::new(), Vec::new());
    for line in log.lines() {
        let (what, which) = line.split_once(' ').unwrap();
        match what {
            "begin" => begun.push(which),
            _ => ended.push(which),
        }
    }
    // A pilot and two rounds, of two sides.
    assert!(begun.len() >= 6, "{log}");
    // By the names of the report.
    assert!(begun.iter().any(|it| it.starts_with("prony (2) ")), "{log}");
    begun.sort_unstable();
    ended.sort_unstable();
    assert_eq!(begun, ended, "{log}");
}

#[test]
fn what_cannot_be_prepared_is_not_started_and_is_cleaned_up_after() {
    let place = Place::new();
    let server = echo();
    let line = [
        "capacity",
        &server,
        "--path",
        "/",
        "--quiet",
        "--prepare",
        "echo no such table; exit 7",
    ];
    let failed = place
        .fails(&[&line[..], &["--cleanup", "touch cleaned"]].concat())
        .with(1);
    assert!(failed.stderr.contains("no such table"), "{failed}");
    assert!(failed.stderr.contains("exit status: 7"), "{failed}");
    assert!(place.path().join("cleaned").exists(), "{failed}");
}

#[test]
fn a_server_that_runs_already_is_not_prepared() {
    let place = Place::new();
    let line = [
        "duel",
        "http://127.0.0.1:9/",
        "http://127.0.0.1:9/x",
        "--prepare",
        "true",
    ];
    let wrong = place.refused(&line);
    assert!(
        wrong
            .stderr
            .contains("--prepare is about starting a server"),
        "{wrong}"
    );
}
