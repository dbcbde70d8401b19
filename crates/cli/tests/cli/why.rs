//! `prony why` and `prony duel --why`, end to end. What this system does not allow to be seen is said instead; what is
//! asserted holds either way.

use crate::support::{Background, Done, PRONY, Place, Served, schema, valid};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// Short rounds at a low rate.
pub const SHORT: [&str; 12] = [
    "--rate", "200", "--rounds", "3", "-d", "200ms", "--warmup", "200ms", "-c", "4", "--path", "/",
];

/// A server of which a request costs enough for some samples.
fn server() -> String {
    format!("{PRONY} serve http-echo --listen :{{port}} --busy 1ms")
}

/// The anatomy in a report: sampled, or said to be refused.
pub fn anatomy(report: &Value) -> &Value {
    let why = &report["why"];
    assert_eq!(why["rounds"], 3, "{report:#}");
    let seen = why["sides"][0]["samples"].as_u64().unwrap() > 0;
    let refused = !why["refused"].as_array().unwrap().is_empty();
    assert!(seen || refused, "{report:#}");
    let switches = |count: &Value| count[0] == "voluntary switches";
    let counts = why["sides"][0]["counts"].as_array().unwrap();
    assert!(counts.iter().any(switches), "{report:#}");
    why
}

// Slow: a pilot, and 3 rounds of 8 looks on fresh starts.
#[test]
fn what_a_request_costs_a_server() {
    let place = Place::new();
    let files = [
        "--html",
        "why.html",
        "--folded",
        "stacks",
        "--markdown",
        "why.md",
    ];
    let server = server();
    let done = place.prony(&[&["why", &server, "--json"][..], &SHORT, &files].concat());
    let report = done.with(0).json();
    valid(&schema("why"), &report);
    assert_eq!(report["reached"], Value::Null);
    let why = anatomy(&report);
    let side = &why["sides"][0];
    let sentence = side["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("a request costs ") || side["cpu"].is_null(),
        "{sentence}"
    );
    assert!(
        side["requests"].as_u64().unwrap() > 0 && side["failed"] == 0,
        "{side:#}"
    );
    if let Some(cpu) = side["sampled_cpu"]["value"].as_f64() {
        let parts = side["parts"].as_array().unwrap().iter();
        let sum: f64 = parts.map(|part| part[1]["value"].as_f64().unwrap()).sum();
        assert!((sum - cpu).abs() < 1e-6 * cpu, "{sum} of {cpu}");
    }
    let read = |name: &str| fs::read_to_string(place.path().join(name)).unwrap();
    assert!(read("why.html").contains("<h1>Why: "));
    let markdown = read("why.md");
    assert!(
        markdown.starts_with("### What a request costs ") && markdown.contains("<pre>per request"),
        "{markdown}"
    );
    // Waits are recorded where the system allows it, and then have stacks of their own.
    let waits = side["waits"].as_array().unwrap();
    assert_eq!(
        fs::read_dir(place.path().join("stacks")).unwrap().count(),
        1 + usize::from(!waits.is_empty())
    );
}

/// Threads that each read a message and send it back: two calls for each, and no other.
#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn system_calls_are_counted_exactly() {
    let place = Place::new();
    let server = format!("{PRONY} serve tcp-echo --model threads --listen :{{port}}");
    let words = [
        "why",
        &server,
        "--json",
        "--contract",
        "tcp-echo",
        "--rate",
        "2000",
        "--rounds",
        "3",
        "-d",
        "800ms",
        "--warmup",
        "200ms",
        "-c",
        "4",
    ];
    let unseen = |text: &Value| text.as_str().unwrap().contains("counting system calls");
    // Where others have the CPUs, a rate needs more connections, and each costs this server a thread and its calls.
    let quiet = (0..3).find_map(|_| {
        let report = place.prony(&words).with(0).json();
        let why = anatomy(&report).clone();
        let refused = why["refused"].as_array().unwrap().iter().any(unseen);
        (refused || why["sides"][0]["unsent"] == 0).then_some((why, refused))
    });
    let (why, refused) = match quiet {
        Some(it) => it,
        None => return eprintln!("not judged: other processes have the CPUs"),
    };
    if refused {
        return;
    }
    let side = &why["sides"][0];
    let calls: Vec<(&str, f64)> = (side["counts"].as_array().unwrap().iter())
        .map(|count| {
            (
                count[0].as_str().unwrap(),
                count[1]["value"].as_f64().unwrap(),
            )
        })
        .filter(|(name, _)| name.ends_with(" calls"))
        .collect();
    // At both ends of the six segments, which have a tenth of all requests at the least, four requests may be under way.
    let requests = side["requests"].as_f64().unwrap();
    let edges = 6.0 * 8.0 / (0.1 * requests);
    assert!(calls.len() >= 2, "{side:#}");
    for (name, each) in calls {
        let expected = match name {
            "`recvfrom` calls" | "`sendto` calls" => 1.0,
            _ => 0.0,
        };
        assert!(
            (each - expected).abs() <= edges,
            "{name}: {each}, {edges}, {side:#}"
        );
    }
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn without_a_rate_it_is_half_of_what_the_server_reaches() {
    let place = Place::new();
    let short = [
        "--rounds", "3", "-d", "200ms", "--warmup", "200ms", "-c", "4", "--path", "/",
    ];
    let server = server();
    let done = place
        .prony(&[&["why", &server][..], &short].concat())
        .with(0);
    // Each answer takes 1 ms of the only loop.
    let line = done
        .stdout
        .lines()
        .find(|line| line.contains("half of the "))
        .unwrap();
    assert!(
        line.contains("asked GET / over 4 connections at "),
        "{done}"
    );
    assert!(
        done.stdout.contains("per request") && done.stdout.contains("voluntary switches"),
        "{done}"
    );
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn a_server_that_runs_already_is_looked_at_and_left_alone() {
    let place = Place::new();
    let served = Served::start(&["http-echo", "--busy", "1ms"]);
    let (url, pid) = (served.http("/"), served.pid().to_string());
    let done = place.prony(&[&["why", &url, "--pid", &pid, "--json"][..], &SHORT].concat());
    let report = done.with(0).json();
    valid(&schema("why"), &report);
    let side = &anatomy(&report)["sides"][0];
    assert!(side["cpu"]["value"].as_f64().unwrap() > 1e5, "{report:#}");
    // It still answers, and is found by its port.
    let port = served.addr.port();
    let done = place.prony(&["why", &url]).with(1);
    let known = format!("process {pid} (prony) listens on port {port}: --pid {pid}");
    assert!(done.stderr.contains(&known), "{done}");
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn another_programs_process_is_said_to_be_one() {
    let place = Place::new();
    let served = Served::start(&["http-echo"]);
    let other = Background::start(Command::new("sleep").arg("600"));
    let (url, pid) = (served.http("/"), other.pid().to_string());
    let done = place.prony(&[&["why", &url, "--pid", &pid][..], &SHORT].concat());
    let port = served.addr.port();
    let said = format!(
        "process {pid} does not listen on port {port}, nor does any below it; {} (prony) does: is it the server?",
        served.pid()
    );
    assert!(done.stderr.contains(&said), "{done}");
}

// Slow: a pilot, and rounds of 8 looks until the second.
#[test]
fn a_server_that_dies_meanwhile_ends_it() {
    let place = Place::new();
    let served = Served::start(&["http-echo"]);
    let (url, pid) = (served.http("/"), served.pid().to_string());
    let line = [
        "why", &url, "--pid", &pid, "--rate", "200", "--rounds", "1000", "-d", "200ms", "--warmup",
        "200ms",
    ];
    let mut why = Background::start(&mut place.command(&line));
    why.line("round 2 of 1000");
    drop(served);
    let done = why.end().with(1);
    assert!(
        done.stderr
            .contains(&format!("there is no process {pid} any more")),
        "{done}"
    );
    // What the rounds before have shown is kept.
    assert!(done.stderr.contains("of the anatomy failed"), "{done}");
    assert!(done.stdout.contains("recvfrom"), "{done}");
}

#[test]
fn a_process_that_cannot_be_meant_is_refused() {
    let place = Place::new();
    let refused = |line: &[&str], said: &str| -> Done {
        let done = place.fails(line);
        assert!(done.stderr.contains(said), "{done}");
        done
    };
    let none = i32::MAX.to_string();
    let url = "http://127.0.0.1:1/";
    refused(
        &["why", url, "--pid", &none],
        &format!("there is no process {none}"),
    )
    .with(1);
    refused(&["why", url], "--pid PID says which process").with(1);
    refused(
        &["why", "it {port}", "--pid", "1"],
        "--pid is for the URL of a server",
    )
    .with(2);
    refused(&["why", url, "--pid", "0"], "invalid value '0'").with(2);
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn a_duel_says_why_and_keeps_it() {
    let place = Place::new();
    let (first, second) = (server(), format!("{} --workers 2", server()));
    let duel = [
        "duel",
        &first,
        &second,
        "--only",
        "cpu",
        "--why",
        "--json",
        "--markdown",
        "duel.md",
        "--html",
        "duel.html",
        "--rate",
        "200",
        "--rounds",
        "2",
        "--why-rounds",
        "3",
        "-d",
        "100ms",
        "--warmup",
        "100ms",
        "-c",
        "4",
    ];
    let report = place.prony(&duel).with(0).json();
    valid(&schema("duel"), &report);
    let why = anatomy(&report);
    let sentence = why["differences"][0]["sentence"].as_str().unwrap();
    let markdown = fs::read_to_string(place.path().join("duel.md")).unwrap();
    assert!(markdown.contains("**Why: "), "{markdown}");
    let page = fs::read_to_string(place.path().join("duel.html")).unwrap();
    assert!(page.contains(sentence), "{sentence}");
    assert!(
        markdown.contains("<summary>The anatomy of a request</summary>"),
        "{markdown}"
    );
    kept(&place, &report, sentence);
    // The same in another notebook.
    fs::write(place.path().join("run.json"), exported(&place, "json")).unwrap();
    let there = Place::new();
    let file = place.path().join("run.json").display().to_string();
    there.prony(&["import", &file]).with(0);
    kept(&there, &report, sentence);
}

fn exported(place: &Place, format: &str) -> String {
    place
        .prony(&["export", "latest", "--format", format])
        .with(0)
        .stdout
}

/// Checks that the notebook's latest run has the report and the sentence that the command printed.
fn kept(place: &Place, report: &Value, sentence: &str) {
    let shown = place.prony(&["report", "latest"]).with(0);
    assert!(
        shown.stdout.contains(&format!("Why: {sentence}")),
        "{shown}"
    );
    let again = place.prony(&["report", "latest", "--json"]).with(0).json();
    valid(&schema("run"), &again);
    assert_eq!(again["why"], report["why"]);
    assert!(exported(place, "markdown").contains("**Why: "));
    let page = place
        .prony(&["report", "latest", "--html", "-"])
        .with(0)
        .stdout;
    assert!(page.contains("<section id=\"why\">"));
    // Two servers have stacks: the one that is meant has to be named.
    let which = place.refused(&["export", "latest", "--format", "folded"]);
    assert!(which.stderr.contains("say which"), "{which}");
    for side in report["why"]["sides"].as_array().unwrap() {
        let name = side["name"].as_str().unwrap();
        let folded = place.prony(&["export", "latest", "--format", "folded", "--server", name]);
        let lines = folded.with(0).stdout;
        let samples = lines
            .lines()
            .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap());
        let samples = samples.sum::<u64>();
        assert_eq!(samples, side["samples"].as_u64().unwrap());
        profiled(place, name, samples);
    }
}

/// Go's pprof, where there is one, finds as many samples in the profile as were taken.
fn profiled(place: &Place, name: &str, samples: u64) {
    let line = [
        "export", "latest", "--format", "pprof", "--server", name, "--output", "it.pb.gz",
    ];
    place.prony(&line).with(0);
    let profile = place.path().join("it.pb.gz");
    assert_eq!(fs::read(&profile).unwrap()[..2], [0x1f, 0x8b]);
    let pprof = Command::new("go")
        .args(["tool", "pprof", "-sample_index=samples", "-top"])
        .arg(&profile)
        .output();
    let Ok(found) = pprof else { return };
    let text = String::from_utf8_lossy(&found.stdout);
    assert!(found.status.success(), "{found:?}");
    // `Showing nodes accounting for 31, 100% of 31 total`
    assert!(
        samples == 0 || text.contains(&format!(" of {samples} total")),
        "{text}"
    );
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn a_run_says_why_against_its_baseline() {
    let place = Place::with_references();
    let experiment = place.experiment(
        "two",
        "title = 'Two'\ncontract = 'http-echo'\nservers = ['plain', 'quick']\nbaseline = 'quick'\nrounds = 2\n\
         [load]\nconnections = 2\nrate = 200\nduration = '100ms'\nwarmup = '100ms'\n",
    );
    let done = place.prony(&[
        "run",
        &experiment,
        "--json",
        "--no-html",
        "--why",
        "--why-rounds",
        "3",
    ]);
    let report = done.with(0).json();
    valid(&schema("run"), &report);
    let why = &report["why"];
    assert_eq!(why["rounds"], 3, "{report:#}");
    let names: Vec<&str> = why["sides"]
        .as_array()
        .unwrap()
        .iter()
        .map(|side| side["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["quick", "plain"]);
    assert_eq!(why["differences"][0]["side"], "plain");
    let sentence = why["differences"][0]["sentence"].as_str().unwrap();
    kept(&place, &report, sentence);
    // A second run of the same: what a request costs each server in the one and in the other.
    let again = [
        "run",
        &experiment,
        "--quiet",
        "--no-html",
        "--why",
        "--why-rounds",
        "3",
    ];
    place.prony(&again).with(0);
    let compared = place.prony(&["diff", "1", "2", "--json"]).with(0).json();
    valid(&schema("diff"), &compared);
    let sides = compared["why"].as_array().unwrap().iter();
    let sides: Vec<&str> = sides
        .map(|anatomy| anatomy["differences"][0]["side"].as_str().unwrap())
        .collect();
    assert_eq!(sides, ["quick in run 2", "plain in run 2"]);
    let text = place.prony(&["diff", "1", "2"]).with(0).stdout;
    assert_eq!(text.matches("\nWhy: ").count(), 2, "{text}");
}

#[test]
fn a_run_without_why_has_no_stacks() {
    let place = Place::with_references();
    let experiment = place.experiment(
        "one",
        "title = 'One'\ncontract = 'http-echo'\nservers = ['quick']\nrounds = 1\n\
         [load]\nconnections = 2\nrate = 200\nduration = '100ms'\nwarmup = '100ms'\n",
    );
    place
        .prony(&["run", &experiment, "--quiet", "--no-html"])
        .with(0);
    let none = place
        .prony(&["export", "latest", "--format", "folded"])
        .with(1);
    assert!(none.stderr.contains("has no stacks"), "{none}");
    let gateways = place.prony(&["run", "weather", "--why"]);
    let done = gateways.with(1);
    assert!(
        done.stderr.contains("gateway") || done.stderr.contains("server"),
        "{done}"
    );
}
