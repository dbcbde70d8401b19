//! Loads that change while they last.

use crate::support::{Place, Served, schema, valid};
use serde_json::Value;

// Slow: 6 loads of 1 to 1.5 s, 7 s together.
#[test]
fn a_rate_that_changes_is_shown_over_time() {
    let http = Served::start(&["http-echo"]);
    let place = Place::new();
    let url = http.http("/");
    let load = |more: &[&str]| {
        let first = ["load", "--quiet", "--no-keep", "-c", "4"];
        place.prony(&[&first, more, &[&url]].concat())
    };
    let stages = "500 for 500ms, 500..1500 for 500ms, 100 for 500ms";
    let report = load(&["--json", "--rate", stages]).with(0).json();
    valid(&schema("load"), &report);
    // 250 + 500 + 50, of which the last ones may be in flight at the end.
    let ended = |report: &Value| {
        let outcomes = &report["outcomes"];
        let late = ["ok", "in_flight_at_end", "unsent_at_end"];
        late.map(|name| outcomes[name].as_u64().unwrap())
            .iter()
            .sum::<u64>()
    };
    assert_eq!(ended(&report), 800, "{report:#}");
    assert_eq!(report["stages"].as_array().unwrap().len(), 3);
    let over_time = report["over_time"].as_array().unwrap();
    assert!(over_time.len() >= 18, "{report:#}");
    let asked = |at: usize| over_time[at]["rate_asked"].as_f64().unwrap();
    assert!((asked(0) - 500.0).abs() < 1.0, "{}", asked(0));
    assert!(asked(12) > 1_000.0 && asked(17) < 200.0, "{over_time:?}");
    let random = load(&[
        "--json",
        "--arrival",
        "poisson",
        "--seed",
        "3",
        "--rate",
        stages,
    ]);
    let random = random.with(0).json();
    assert_eq!(random["arrival"], "poisson", "{random:#}");
    // 800 on average; a seed gives the same arrivals, and so the same number.
    let count = ended(&random);
    assert!((600..1_000).contains(&count) && count != 800, "{random:#}");
    // Nothing before the last stage was as slow as it is.
    assert_eq!(report["recoveries"].as_array().unwrap().len(), 0);
    let spike = load(&["--rate", "100 for 300ms, 900 for 200ms, 100 for 500ms"]).with(0);
    let text = spike.stdout.replace('\n', " ");
    assert!(
        text.contains("the spike of 900 req/s that ended at 0.5 s"),
        "{text}"
    );
    let ramp = load(&["--json", "--rate", "100..900", "-d", "1s", "-t", "2"]);
    assert_eq!(ended(&ramp.with(0).json()), 500);
    let text = load(&["--rate", "100..900", "-d", "1s"]).with(0);
    for word in [
        "over time",
        "asked",
        "100..900 for 1s: 500 req/s on average",
    ] {
        assert!(text.stdout.contains(word), "{word}: {text}");
    }
    let markdown = load(&["--rate", "100..900", "-d", "1s", "--markdown", "-"]).with(0);
    for said in [
        // More than the four where the machine is busy.
        " of 500 req/s asked over ",
        " connections; p99",
        "Target rate: 100..900 for 1s: 500 req/s on average, constant.",
    ] {
        assert!(markdown.stdout.contains(said), "{said}: {markdown}");
    }
    for wrong in [
        &["--rate", "100 for 1s", "-d", "1s"][..],
        &["--rate", "100..200", "-n", "10"],
        &["--rate", "100..200", "--warmup", "1s"],
    ] {
        load(wrong).with(2);
    }
    load(&["--rate", "100 for"]).with(2);
}

// Slow: 3 loads of 1 to 1.2 s, 3.2 s together.
#[test]
fn connections_that_change_are_shown_over_time() {
    let http = Served::start(&["http-echo"]);
    let place = Place::new();
    let url = http.http("/");
    let load = |more: &[&str]| {
        let first = ["load", "--quiet", "--no-keep"];
        place.prony(&[&first, more, &[&url]].concat())
    };
    let stages = "2 for 400ms, 9 for 400ms, 2 for 400ms";
    let report = load(&["--json", "-c", stages]).with(0).json();
    valid(&schema("load"), &report);
    assert_eq!(
        (&report["connections"], &report["rate"]),
        (&Value::from(9), &Value::Null)
    );
    assert_eq!(report["connection_stages"].as_array().unwrap().len(), 3);
    assert_eq!(report["outcomes"]["read_error"], 0, "{report:#}");
    assert_eq!(report["errors"].as_object().unwrap().len(), 0, "{report:#}");
    // What a load does that changes says nothing of the spread of one that does not.
    assert_eq!(report["throughput"]["interval"], Value::Null, "{report:#}");
    let over_time = report["over_time"].as_array().unwrap();
    let connections = |at: usize| over_time[at]["connections"].as_f64().unwrap().round();
    assert_eq!(
        [connections(0), connections(10), connections(16)],
        [2.0, 9.0, 2.0]
    );
    assert_eq!(over_time[0]["rate_asked"], Value::Null);
    let text = load(&["-c", "1..5", "-d", "1s", "-t", "2"]).with(0);
    for word in ["over time", "1..5 for 1s: 3.0 on average"] {
        assert!(text.stdout.contains(word), "{word}: {text}");
    }
    let markdown = load(&["-c", "1..5", "-d", "1s", "-t", "2", "--markdown", "-"]).with(0);
    for said in [
        " over 3.0 connections on average; p99",
        "Connections: 1..5 for 1s: 3.0 on average.",
    ] {
        assert!(markdown.stdout.contains(said), "{said}: {markdown}");
    }
    for (wrong, word) in [
        (&["-c", "1 for 1s", "-d", "1s"][..], "leave out --duration"),
        (
            &["-c", "1..2", "-n", "10"],
            "--requests needs the same --connections throughout",
        ),
        (
            &["-c", "1..2", "--warmup", "1s"],
            "the first stage is the warm-up",
        ),
        (
            &["-c", "1..2", "--rate", "10"],
            "--connections must be constant at a rate",
        ),
        (&["-c", "1..2", "-t", "3"], "--threads must be at most"),
    ] {
        let done = load(wrong).with(2);
        assert!(done.stderr.contains(word), "{word}: {done}");
    }
    load(&["-c", "0..2"]).with(2);
}
