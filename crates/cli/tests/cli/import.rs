//! Runs that were exported are read back.

use crate::support::{PRONY, Place};
use serde_json::Value;
use std::fs;

const EXPERIMENT: &str = "title = 'Two'
contract = 'tcp-echo'
servers = ['quick', 'plain', 'gone']
rounds = 2
[load]
connections = [1, 2]
requests = 300
warmup = '0s'
";

/// A place with a run, whose third server cannot be started.
fn measured() -> Place {
    let place = Place::with_references();
    place.echo_server("gone", "sh -c 'echo no luck; exit 3'", "");
    let file = place.experiment("two", EXPERIMENT);
    place.prony(&["run", &file, "--no-html"]).with(1);
    place
}

/// A run as JSON, and its report, without its number.
fn told(place: &Place, run: &str) -> (Value, Value) {
    let mut export = place.prony(&["export", run, "-f", "json"]).with(0).json();
    let mut report = place.prony(&["report", run, "--json"]).with(0).json();
    assert!(export["run"]["id"].take().is_number());
    assert!(report["run"]["id"].take().is_number());
    (export, report)
}

/// Exports a run, imports it elsewhere, where it becomes run 2, and compares what is told of it.
#[track_caller]
fn round_trip(from: &Place, run: &str) -> Place {
    let to = Place::with_references();
    // Run 1 is another one: numbers differ.
    let file = to.experiment("other", &EXPERIMENT.replace(", 'gone'", ""));
    to.prony(&["run", &file, "--no-html"]).with(0);
    let path = to.path().join("run.json");
    let path = path.to_str().unwrap();
    from.prony(&["export", run, "-f", "json", "--output", path])
        .with(0);
    let done = to.prony(&["import", path]).with(0);
    assert!(done.stdout.starts_with("run 2: "), "{done}");
    let (before, after) = (told(from, run), told(&to, "2"));
    assert_eq!(before.0, after.0);
    assert_eq!(before.1, after.1);
    to
}

// Slow: 2 runs, of 12 and 8 trials on fresh starts, and 10 further processes of prony.
#[test]
fn a_run_is_the_same_elsewhere() {
    let from = measured();
    let to = round_trip(&from, "1");
    // But for the data to download: with another number in it it is compressed to another size. What is in
    // it is compared above.
    let page = |place: &Place, run: &str| {
        let page = place.prony(&["report", run, "--html", "-"]).with(0).stdout;
        let (before, rest) = page.split_once("id=\"download\"").unwrap();
        let (_, after) = rest.split_once("): every trial").unwrap();
        let whole = format!("{before}{after}").replace(&format!("run {run}"), "run N");
        whole.replace(&format!("\"id\":{run},"), "\"id\":N,")
    };
    let (before, after) = (page(&from, "1"), page(&to, "2"));
    let differing = before.lines().zip(after.lines()).find(|(a, b)| a != b);
    assert_eq!(differing, None);
    assert_eq!(before.len(), after.len());
    // It is known to come from elsewhere.
    let runs = to.prony(&["runs"]).with(0).stdout;
    assert!(runs.contains("(run 1 elsewhere, imported 20"), "{runs}");
    let runs = to.prony(&["runs", "--json"]).with(0).json();
    assert_eq!(runs[0]["imported"]["number"], 1);
    assert_eq!(runs[1]["imported"], Value::Null);
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn duels_capacities_and_tares_are_the_same_elsewhere() {
    let place = Place::with_references();
    let server = format!("{PRONY} serve http-echo --listen :{{port}} --busy 2ms");
    let all: [&[&str]; 3] = [
        &[
            "calibrate",
            "--contract",
            "tcp-echo",
            "--connections",
            "2",
            "--rounds",
            "2",
            "-d",
            "100ms",
        ],
        &[
            "duel",
            "quick",
            "plain",
            "--contract",
            "tcp-echo",
            "--rounds",
            "2",
            "-d",
            "100ms",
            "--warmup",
            "100ms",
            "-c",
            "2",
        ],
        &[
            "capacity", "--starts", "1", &server, "--path", "/", "--p90", "1ns", "-d", "100ms",
            "--warmup", "100ms",
        ],
    ];
    for arguments in all {
        // On a busy machine a capacity may be none, which is kept as well.
        let done = place.prony(arguments);
        assert!(done.stderr.contains("kept as run"), "{done}");
    }
    round_trip(&place, "1");
    // The others have the calibration before them, which knows how fast this rig is.
    let to = round_trip(&place, "2");
    let export = to.prony(&["export", "2", "-f", "json"]).with(0).json();
    assert_eq!(
        export["calibration"]["cells"][0]["connections"], 2,
        "{export:#}"
    );
    let to = round_trip(&place, "3");
    // A calibration of this host says nothing of one that was put in, nor the other way round.
    to.prony(all[0]).with(0);
    let before = told(&place, "3").1;
    assert_eq!(told(&to, "2").1, before);
}

// Slow: a run of 12 trials, 4 of which cannot start, and 8 further processes of prony.
#[test]
fn what_is_there_already_is_not_put_in_again() {
    let place = measured();
    let export = place.prony(&["export", "1", "-f", "json", "--output", "run.json"]);
    export.with(0);
    let count = || {
        place
            .prony(&["runs", "--json"])
            .with(0)
            .json()
            .as_array()
            .unwrap()
            .len()
    };
    let done = place.prony(&["import", "run.json"]).with(0);
    assert!(
        done.stderr
            .contains("run.json is in the notebook already, as run 1"),
        "{done}"
    );
    assert_eq!((count(), done.stdout.as_str()), (1, ""));
    let done = place
        .prony(&["import", "run.json", "--again", "--json"])
        .with(0);
    assert_eq!(
        (&done.json()[0]["run"], &done.json()[0]["new"]),
        (&2.into(), &true.into())
    );
    assert_eq!(count(), 2);
    let done = place.prony(&["import", "run.json", "--json"]).with(0);
    assert_eq!(
        (&done.json()[0]["run"], &done.json()[0]["new"]),
        (&1.into(), &false.into())
    );
    assert_eq!(count(), 2);
    // From standard input, elsewhere.
    let other = Place::new();
    let path = place.path().join("run.json");
    let done = other
        .shell(&format!("\"$PRONY\" import - < '{}'", path.display()))
        .with(0);
    assert!(
        done.stdout
            .starts_with("run 1: two, 12 trials, measured 20"),
        "{done}"
    );
}

// Slow: a run of 12 trials, 4 of which cannot start, and 22 further processes of prony.
#[test]
fn what_is_broken_is_refused_whole() {
    let from = measured();
    let text = from.prony(&["export", "1", "-f", "json"]).with(0).stdout;
    let good: Value = serde_json::from_str(&text).unwrap();
    // In which order servers were started is chance; what a failed one has is not looked at.
    let trials = good["trials"].as_array().unwrap();
    let ok = trials
        .iter()
        .position(|trial| trial["status"] == "ok")
        .unwrap();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut value = good.clone();
        change(&mut value);
        serde_json::to_string(&value).unwrap()
    };
    let place = Place::new();
    for (name, text, says) in [
        (
            "cut",
            text[..text.len() / 2].to_owned(),
            "EOF while parsing",
        ),
        ("later", changed(&|v| v["version"] = 2.into()), "version 2"),
        (
            "type",
            changed(&|v| v["trials"][0]["round"] = "x".into()),
            "invalid type: string",
        ),
        (
            "lacking",
            changed(&|v| v["run"].as_object_mut().unwrap().retain(|k, _| k != "host")),
            "missing field `host`",
        ),
        (
            "state",
            changed(&|v| v["run"]["status"] = "odd".into()),
            "odd",
        ),
        (
            "about",
            changed(&|v| v["run"]["experiment"] = Value::Null),
            "it is not as the schema of runs says",
        ),
        (
            "facts",
            changed(&|v| v["trials"][ok]["observation"] = 5.into()),
            "it is not as the schema of runs says",
        ),
        (
            "twins",
            changed(&|v| v["trials"][1]["ordinal"] = v["trials"][0]["ordinal"].clone()),
            "importing trial",
        ),
        (
            "times",
            changed(&|v| v["trials"][0]["histograms"]["response"] = "AAAA".into()),
            "a histogram cannot be read: response",
        ),
        (
            "base64",
            changed(&|v| v["trials"][0]["histograms"]["response"] = "%".into()),
            "it is not as the schema of runs says",
        ),
        (
            "kind",
            changed(&|v| v["trials"][0]["histograms"]["odd"] = "AAAA".into()),
            "it is not as the schema of runs says",
        ),
        (
            "endless",
            changed(&|v| v["trials"][ok]["throughput"] = 1e308.into()),
            "\"throughput\" is 1e308",
        ),
        (
            "rounds",
            changed(&|v| v["run"]["experiment"]["rounds"] = u32::MAX.into()),
            "must be from 0.0 to 10000.0",
        ),
        (
            "seconds",
            changed(&|v| v["trials"][ok]["measured_seconds"] = 1e308.into()),
            "\"measured_seconds\"",
        ),
        (
            "negative",
            changed(&|v| v["trials"][ok]["cpu_ns_per_request"] = (-5.0).into()),
            "\"cpu_ns_per_request\" is -5.0",
        ),
        (
            "title",
            changed(&|v| v["run"]["title"] = "x".repeat(100_000).into()),
            "the text of \"title\" has 100000 bytes",
        ),
        (
            "claim",
            changed(&|v| v["trials"][ok]["throughput"] = 7e6.into()),
            "are not 7000000 per second",
        ),
        (
            "windows",
            changed(&|v| v["trials"][ok]["windows"][0]["length_ns"] = 0.into()),
            "has no length",
        ),
        (
            "load",
            changed(&|v| v["trials"][ok]["load"]["connections"] = 0.into()),
            "connections must be at least 1",
        ),
        (
            "lean",
            changed(&|v| {
                v["cells"] = serde_json::json!([{"server": "a", "load": "b", "histograms": {}}]);
            }),
            "made smaller",
        ),
    ] {
        let path = place.file(name, &text);
        let done = place.prony(&["import", path.to_str().unwrap()]).with(1);
        assert!(
            done.stderr.contains(&format!("{name} cannot be imported"))
                && done.stderr.contains(says),
            "{name}: {done}"
        );
    }
    assert_eq!(
        place.prony(&["runs", "--json"]).with(0).json(),
        serde_json::json!([])
    );
}

// Slow: a run of 12 trials, 4 of which cannot start, and 5 further processes of prony.
#[test]
fn runs_and_figures_are_told_apart() {
    let place = measured();
    place
        .prony(&["export", "1", "-f", "json", "--output", "run.json"])
        .with(0);
    let done = place.refused(&["import", "run.json", "--as", "x"]);
    assert!(
        done.stderr.contains("--as and --server are for figures"),
        "{done}"
    );
    fs::write(
        place.path().join("figures.md"),
        "Throughput: 500.00 [#/sec]\n",
    )
    .unwrap();
    let done = place.refused(&["import", "figures.md"]);
    assert!(done.stderr.contains("say --as NAME"), "{done}");
    let done = place.refused(&["import", "run.json", "figures.md"]);
    assert!(
        done.stderr
            .contains("run.json is a run of prony, and figures.md is not"),
        "{done}"
    );
    // JSON of something else is not taken for a run.
    fs::write(place.path().join("other.json"), "{\"format\": \"other\"}").unwrap();
    place.refused(&["import", "other.json"]);
}
