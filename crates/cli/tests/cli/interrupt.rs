//! Ctrl-C: what was measured is kept and reported.

use crate::support::{Background, Place, Served, schema, valid};
use std::time::Duration;

/// Rounds enough that the test is certainly not too late.
const LONG: &str = "title = 'Long'\ncontract = 'tcp-echo'\nservers = ['quick', 'plain']\nrounds = 500\n\
                    [load]\nconnections = 2\nduration = '300ms'\nwarmup = '0s'\n";

// Slow: 2 runs until their second round, with trials of 0.3 s on fresh starts.
#[test]
fn a_run_keeps_its_finished_trials() {
    for (signal, json) in [(libc::SIGINT, true), (libc::SIGTERM, false)] {
        let place = Place::with_references();
        let file = place.experiment("long", LONG);
        let arguments: &[&str] = if json {
            &["run", &file, "--json"]
        } else {
            &["run", &file]
        };
        let mut prony = Background::start(&mut place.command(arguments));
        prony.line("round 2/500");
        prony.signal(signal);
        let done = prony.end().with(1);
        assert!(done.stderr.contains("interrupted"), "{done}");
        if json {
            let report = done.json();
            valid(&schema("run"), &report);
            assert_eq!(report["run"]["status"], "interrupted");
            let trials = report["cells"].as_array().unwrap().iter();
            assert!(
                trials
                    .map(|cell| cell["trials"].as_u64().unwrap())
                    .sum::<u64>()
                    >= 3,
                "{done}"
            );
        } else {
            assert!(
                done.stdout
                    .contains("interrupted: these are the figures until then"),
                "{done}"
            );
            assert!(
                done.stdout.contains("quick") && done.stdout.contains("plain"),
                "{done}"
            );
        }
        let runs = place.prony(&["runs", "--json"]).with(0).json();
        assert_eq!(runs[0]["status"], "interrupted");
        let again = place
            .prony(&[&["report", "latest"], &arguments[2..]].concat())
            .with(0);
        assert_eq!(again.stdout, done.stdout);
    }
}

// Slow: a run until its second round, with trials of 0.3 s on fresh starts.
#[test]
fn a_run_that_was_killed_is_shown_as_interrupted() {
    let place = Place::with_references();
    let file = place.experiment("long", LONG);
    let mut prony = Background::start(&mut place.command(&["run", &file]));
    prony.line("round 2/500");
    drop(prony);
    let runs = place.prony(&["runs", "--json"]).with(0).json();
    assert_eq!(runs[0]["status"], "interrupted", "{runs:#}");
    let report = place.prony(&["report", "--json"]).with(0).json();
    assert_eq!(report["run"]["status"], "interrupted");
    assert_eq!(report["cells"].as_array().unwrap().len(), 2);
}

#[test]
fn a_run_before_its_first_figures() {
    let place = Place::with_references();
    let file = place.experiment("long", &LONG.replace("300ms", "600s"));
    let prony = Background::start(&mut place.command(&["run", &file]));
    // It says nothing before its first figures: the notebook tells that it has begun.
    while place.prony(&["runs", "--json"]).with(0).json()[0]["status"] != "running" {
        std::thread::sleep(Duration::from_millis(20));
    }
    prony.signal(libc::SIGINT);
    let done = prony.end().with(1);
    assert!(done.stdout.contains("interrupted"), "{done}");
}

// Slow: 2 loads, each until the first line of progress, which comes after 1 s.
#[test]
fn a_load_reports_what_was_measured() {
    let server = Served::start(&["http-echo"]);
    let place = Place::new();
    for (more, signal) in [(&["--json"][..], libc::SIGINT), (&[], libc::SIGTERM)] {
        let url = server.http("/");
        let arguments = [&["load", "-d", "600s", "-c", "4", &url], more].concat();
        let mut prony = Background::start(&mut place.command(&arguments));
        prony.line("p99");
        prony.signal(signal);
        let done = prony.end();
        if more.is_empty() {
            assert!(
                done.stdout
                    .contains("interrupted: these are the figures until then"),
                "{done}"
            );
            continue;
        }
        let report = done.json();
        valid(&schema("load"), &report);
        assert_eq!(report["interrupted"], true, "{done}");
        assert!(report["outcomes"]["ok"].as_u64().unwrap() > 0, "{done}");
        let seconds = report["seconds"].as_f64().unwrap();
        assert!(seconds > 0.5 && seconds < 300.0, "{seconds}");
        assert!(report["throughput"]["value"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn a_load_of_a_server_that_hangs() {
    let server = Served::start(&["clockwork", "--delay", "30s"]);
    let place = Place::new();
    let arguments = [
        "load",
        "-n",
        "5",
        "-c",
        "2",
        "--timeout",
        "60s",
        "--json",
        &server.tcp(),
    ];
    let mut prony = Background::start(&mut place.command(&arguments));
    // A line a second: it is loaded.
    prony.line("0.00 req/s");
    prony.signal(libc::SIGINT);
    let done = prony.end().with(1);
    let report = done.json();
    assert_eq!(
        (&report["interrupted"], &report["outcomes"]["ok"]),
        (&true.into(), &0.into())
    );
    assert_eq!(report["outcomes"]["in_flight_at_end"], 2, "{done}");
}
