//! `prony duel`, `diff`, `calibration` and `explain`, end to end. What they find is noise
//! here; what is asserted is what they do.

use crate::http::{After, Constant};
use crate::support::{Place, Served, schema, valid};
use std::process::Command;

const QUICK: [&str; 8] = [
    "--rounds", "2", "-d", "100ms", "--warmup", "100ms", "-c", "4",
];

/// The first duel of five in which both sides kept the common rate: others may have the CPUs for all of one.
pub fn with_common_rate(duel: impl Fn() -> serde_json::Value) -> serde_json::Value {
    let overloaded =
        |report: &serde_json::Value| report["notes"].to_string().contains("did not keep");
    let kept = (0..5).map(|_| duel()).find(|report| !overloaded(report));
    kept.expect("no common rate was kept in any of five duels")
}

fn duel(place: &Place, arguments: &[&str]) -> crate::support::Done {
    place.prony(&[&["duel"], arguments, &QUICK].concat())
}

/// A duel with wrong arguments.
fn refused(place: &Place, arguments: &[&str]) -> crate::support::Done {
    fails(place, arguments).with(2)
}

/// A duel that fails before it loads.
fn fails(place: &Place, arguments: &[&str]) -> crate::support::Done {
    place.fails(&[&["duel"], arguments, &QUICK].concat())
}

// Slow: waits for its turn to load; then a duel: a pilot and 2 rounds.
#[test]
fn servers_of_the_catalog_and_what_is_kept_of_them() {
    let place = Place::with_references();
    let line = ["quick", "plain", "--contract", "tcp-echo", "--json"];
    let report = duel(&place, &line).with(0).json();
    valid(&schema("duel"), &report);
    assert_eq!(report["rounds"], 2);
    assert_eq!(report["sides"][1]["name"], "plain");
    let quantities: Vec<&str> = report["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["quantity"].as_str().unwrap())
        .collect();
    assert!(quantities.contains(&"throughput"), "{report:#}");
    // On a busy machine a side may miss the common rate: a note reports that, and CPU time is not compared.
    let missed = report["notes"].to_string().contains("did not keep");
    assert!(quantities.contains(&"cpu") || missed, "{report:#}");
    assert!(report["rate"].as_f64().unwrap() > 0.0);
    assert_eq!(report["values"].as_array().unwrap().len(), 2);
    // It is a run like any other.
    let kept = place.prony(&["report", "--json"]).with(0).json();
    assert_eq!(kept["run"]["name"], "duel");
    assert_eq!(kept["cells"].as_array().unwrap().len(), 4, "{kept:#}");
    let done = refused(&place, &["quick", "plain"]);
    assert!(done.stderr.contains("say which with --contract"), "{done}");
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn only_what_is_asked_is_measured_and_compared() {
    let place = Place::with_references();
    let sides = ["quick", "plain", "--contract", "tcp-echo"];
    let only = |more: &[&str]| duel(&place, &[&sides[..], more, &["--json"]].concat());
    let compared = |report: &serde_json::Value| -> Vec<String> {
        let all = report["comparisons"].as_array().unwrap().iter();
        all.map(|c| c["quantity"].as_str().unwrap().to_owned())
            .collect()
    };
    let report = only(&["--only", "cpu", "--rate", "500"]).with(0).json();
    // With its parts, as far as so short a time has shown them.
    let compared_then = compared(&report);
    let parts = ["user", "kernel", "wakeups"];
    assert_eq!(compared_then[0], "cpu");
    assert!(
        compared_then[1..]
            .iter()
            .all(|name| parts.contains(&name.as_str()))
    );
    assert!(report["values"][0][0]["throughput"].is_null(), "{report:#}");
    let kept = place.prony(&["report", "--json"]).with(0).json();
    let cells = kept["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2, "none at saturation: {kept:#}");
    let text = place.prony(&["report"]).with(0).stdout;
    assert!(text.contains("CPU per request"), "{text}");
    // A rate is of no use to throughput.
    for rate in [&[][..], &["--rate", "500"]] {
        let asked = [&["--only", "throughput"][..], rate].concat();
        let report = only(&asked).with(0).json();
        assert_eq!(compared(&report), ["throughput"]);
        assert!(report["rate"].is_null(), "{report:#}");
    }
    let done = only(&["--only", "speed"]).with(2);
    assert!(done.stderr.contains("throughput, p50, p99, cpu"), "{done}");
}

/// A side that is busy while it should rest is stopped, so that it takes no CPU time from the other.
// Slow: waits for its turn to load, twice: 2 duels, each a pilot and 2 rounds.
#[test]
fn a_side_that_never_rests_is_stopped_while_the_other_is_measured() {
    let place = Place::new();
    let calm = format!(
        "{} serve http-echo --listen :{{port}}",
        crate::support::PRONY
    );
    let busy = format!(
        "sh -c 'while :; do :; done & exec {} serve http-echo --listen :$PORT'",
        crate::support::PRONY
    );
    let sides = ["-n", "calm", "-n", "busy", &calm, &busy, "--json"];
    let report = duel(&place, &sides).with(0).json();
    assert_eq!(report["design"]["paused"], true, "{report:#}");
    let not_idle = |report: &serde_json::Value| {
        let mut checks = report["checks"].as_array().unwrap().iter();
        checks.any(|it| it["name"] == "side-not-idle" && it["text"].to_string().contains("busy"))
    };
    assert!(!not_idle(&report), "{report:#}");
    let report = duel(&place, &[&sides[..], &["--no-pause"]].concat())
        .with(0)
        .json();
    let given = report["design"]["given"].to_string();
    assert!(given.contains("no-pause"), "{given}");
    assert!(not_idle(&report), "{report:#}");
}

/// Whole rounds are shown before the failure that ended the duel, there and in its report.
// Slow: waits for its turn to load, then a duel: a pilot and 2 rounds before the one that fails.
#[test]
fn a_duel_that_fails_shows_its_rounds_and_why_it_failed() {
    let place = Place::new();
    let prony = crate::support::PRONY;
    let steady = format!("{prony} serve http-echo --listen :{{port}}");
    let starts = place.path().join("starts");
    let starts = starts.display();
    // Its pilot and two rounds start it; then it does not.
    let failing = format!(
        "sh -c 'echo >> {starts}; [ $(wc -l < {starts}) -lt 4 ] || {{ echo no luck; exit 3; }}; \
         exec {prony} serve http-echo --listen :$PORT'"
    );
    let quick = [
        "--rounds", "4", "-d", "100ms", "--warmup", "100ms", "-c", "4",
    ];
    let sides = [&["duel", &steady, &failing][..], &quick].concat();
    let done = place.prony(&sides).with(1);
    assert!(done.stderr.contains("no luck"), "{done}");
    assert!(done.stdout.contains("2 rounds"), "{done}");
    let kept = place.prony(&["report"]).with(0).stdout;
    assert!(kept.contains("2 rounds"), "{kept}");
    let kept = place.prony(&["report", "--json"]).with(0).json();
    assert_eq!(kept["run"]["status"], "failed", "{kept:#}");
    let failure = kept["run"]["failure"].as_str().unwrap();
    assert!(failure.contains("status 3"), "{failure}");
}

// Slow: waits for its turn to load; then a duel: a pilot and 2 rounds.
#[test]
fn sides_have_the_names_that_they_are_given() {
    let place = Place::with_references();
    let line = [
        "-n",
        "old",
        "--name",
        "new",
        "quick",
        "plain",
        "--contract",
        "tcp-echo",
    ];
    let report = duel(&place, &[&line[..], &["--json"]].concat())
        .with(0)
        .json();
    assert_eq!(report["sides"][0]["name"], "old", "{report:#}");
    assert_eq!(report["sides"][1]["name"], "new", "{report:#}");
    let kept = place.prony(&["runs", "--json"]).with(0).json();
    assert!(kept.to_string().contains("old against new"), "{kept:#}");
    for (names, why) in [
        (&["-n", "old"][..], "one for each"),
        (&["-n", "old", "-n", "old"], "same name"),
        (&["-n", "old", "-n", " "], "is not a name"),
    ] {
        let sides = ["quick", "plain", "--contract", "tcp-echo"];
        let done = refused(&place, &[names, &sides].concat());
        assert!(done.stderr.contains(why), "{done}");
    }
}

// Slow: waits for its turn to load, then a duel that ends after 2 s.
#[test]
fn time_ends_a_duel_whose_rounds_were_said() {
    let place = Place::with_references();
    let sides = ["duel", "quick", "plain", "--contract", "tcp-echo", "--json"];
    let short = ["-d", "100ms", "--warmup", "0s", "--rounds", "1000"];
    let timed = [&sides[..], &short, &["--max-time", "2s"]].concat();
    let report = place.prony(&timed).with(0).json();
    assert!(report["rounds"].as_u64().unwrap() < 1000, "{report:#}");
    assert_eq!(report["cut_short"], true, "{report:#}");
}

// Slow: waits for its turn to load, 3 times: 2 duels, each a pilot and 2 rounds, and one that fails.
#[test]
fn command_lines_are_started_with_a_port() {
    let place = Place::new();
    let prony = crate::support::PRONY;
    let with_flag = format!("{prony} serve http-echo --listen :{{port}}");
    let with_variable = format!(
        "sh -c 'exec {prony} serve http-echo --listen :$PORT --model threads' --to http://127.0.0.1:9"
    );
    let text = duel(
        &place,
        &[&with_flag, &with_variable, "--path", "/some/path"],
    )
    .with(0);
    for word in ["prony: ", "sh: ", "requests/s", "verdict", "2 rounds"] {
        assert!(text.stdout.contains(word), "{word}: {text}");
    }
    assert!(!text.stdout.contains("wrong-answers"), "{text}");
    // The notebook says the same later, and so does its page.
    let later = place.prony(&["report"]).with(0);
    assert_eq!(later.stdout, text.stdout);
    let page = place.prony(&["report", "--html", "-"]).with(0).stdout;
    let sentence = text.stdout.lines().next().unwrap();
    assert!(sentence.contains(" rounds"), "{text}");
    assert!(page.contains(sentence), "{sentence}");
    assert!(page.contains("CPU per request"));
    // Pasted into a pull request it says the same, in the same direction.
    let markdown = place
        .prony(&["export", "latest", "--format", "markdown"])
        .with(0)
        .stdout;
    let rows = |text: &str| -> Vec<String> {
        let ratio = |line: &str| {
            let signed = |word: &&str| word.starts_with(['+', '-']) && word.ends_with('%');
            line.split_whitespace().find(signed).map(String::from)
        };
        text.lines().filter_map(ratio).collect()
    };
    assert!(!rows(&text.stdout).is_empty(), "{text}");
    assert_eq!(rows(&markdown), rows(&text.stdout), "{markdown}");
    assert!(markdown.contains("sh vs prony"), "{markdown}");
    let done = duel(&place, &[&with_flag, "sh -c 'echo no luck; exit 3'"]).with(1);
    assert!(
        done.stderr.contains("no luck") && done.stderr.contains("status 3"),
        "{done}"
    );
    let done = duel(&place, &[&with_flag, &with_flag]).with(0);
    assert!(
        done.stdout.contains("prony (2) "),
        "the same server twice is a fair question: {done}"
    );
}

// Slow: waits for its turn to load; then a duel: a pilot and 2 rounds.
#[test]
fn servers_that_are_already_running() {
    let (one, two) = (Served::start(&["http-echo"]), Served::start(&["http-echo"]));
    let place = Place::with_references();
    let rate = ["--rate", "500", "--json"];
    let done = duel(
        &place,
        &[&[&*one.http("/x"), &*two.http("/x")], &rate[..]].concat(),
    )
    .with(0);
    let report = done.json();
    let compared: Vec<&str> = report["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["quantity"].as_str().unwrap())
        .collect();
    assert_eq!(compared[0], "throughput", "{report:#}");
    // CPU time is that of processes that prony has started.
    assert!(!compared.contains(&"cpu"), "{report:#}");
    let done = refused(&place, &[&one.http("/x")]);
    assert!(done.stderr.contains("a duel needs two sides"), "{done}");
    let echo = Served::start(&["tcp-echo"]);
    let done = refused(&place, &[&one.http("/x"), &echo.tcp()]);
    assert!(done.stderr.contains("cannot be asked for"), "{done}");
    let done = fails(&place, &["quik", "plain", "--contract", "tcp-echo"]).with(1);
    assert!(done.stderr.contains("did you mean \"quick\"?"), "{done}");
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn answers_without_a_body_are_answers() {
    let place = Place::with_references();
    let none = "HTTP/1.1 204 No Content\r\n\r\n";
    let announced = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    let posted = ["-b", "x", "--expect-status", "204"];
    for (answer, request) in [(none, &posted[..]), (announced, &["-m", "HEAD"])] {
        let url = || format!("http://{}/", Constant::new(answer, After::Keep).tcp());
        let sides = [&url()[..], &url(), "--json"];
        let report = duel(&place, &[&sides, request].concat()).with(0).json();
        assert_eq!(report["sides"][0]["errors"], 0.0, "{report:#}");
        assert_eq!(report["comparisons"][0]["quantity"], "throughput");
    }
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn two_revisions_of_a_server() {
    let place = Place::new();
    let folder = place.path().join("repo");
    std::fs::create_dir(&folder).unwrap();
    let git = |arguments: &[&str]| {
        let done = Command::new("git")
            .args([
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@t",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(arguments)
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    for model in ["epoll", "threads"] {
        std::fs::write(folder.join("model"), model).unwrap();
        git(&["add", "."]);
        git(&["commit", "-qm", model]);
    }
    let line = format!(
        "sh -c '{} serve http-echo --listen :{{port}} --model $(cat built)'",
        crate::support::PRONY
    );
    let mut command = place.command(&[]);
    command
        .args([
            "duel",
            "--rev",
            "HEAD~1",
            "--rev",
            "HEAD",
            "--build",
            "cp model built",
            "--json",
            &line,
        ])
        .args(QUICK)
        .current_dir(&folder);
    let done = crate::support::Background::start(&mut command)
        .end()
        .with(0);
    let report = done.json();
    let side = |at: usize, key: &str| report["sides"][at][key].as_str().unwrap().to_owned();
    assert!(side(0, "name").starts_with("HEAD~1 ("), "{report:#}");
    assert!(side(1, "name").starts_with("HEAD ("), "{report:#}");
    assert!(
        side(0, "version").ends_with(" epoll"),
        "commit and subject: {report:#}"
    );
    let left = Command::new("git")
        .args(["worktree", "list"])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&left.stdout).lines().count(), 1);
    let mut command = place.command(&[]);
    command
        .args(["duel", "--rev", "HEAD", "--rev", "nowhere", &line])
        .current_dir(&folder);
    let done = crate::support::Background::start(&mut command)
        .end()
        .with(1);
    assert!(
        done.stderr
            .contains("there is no revision \"nowhere\" here"),
        "{done}"
    );
    assert!(
        !done.stderr.contains("building"),
        "all are looked up first: {done}"
    );
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn folders_are_sides_and_a_server_may_be_compared_with_itself() {
    let place = Place::with_references();
    for (folder, model) in [("old", "epoll"), ("new", "threads")] {
        std::fs::create_dir(place.path().join(folder)).unwrap();
        std::fs::write(place.path().join(folder).join("model"), model).unwrap();
    }
    let line = format!(
        "sh -c '{} serve http-echo --listen :{{port}} --model $(cat built)'",
        crate::support::PRONY
    );
    let run = ["--run", &line, "--build", "cp model built"];
    let report = duel(
        &place,
        &[&["old", "new", "--self-check", "--json"], &run[..]].concat(),
    )
    .with(0)
    .json();
    let names: Vec<&str> = report["sides"]
        .as_array()
        .unwrap()
        .iter()
        .map(|side| side["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["old", "new", "old again"]);
    let twice = ["quick", "quick", "--contract", "tcp-echo", "--json"];
    let report = duel(&place, &twice).with(0).json();
    assert_eq!(report["sides"][1]["name"], "quick (2)", "{report:#}");
    let done = duel(&place, &[&["old", "nothing"], &run[..]].concat()).with(1);
    assert!(done.stderr.contains("nothing is not a folder"), "{done}");
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn runs_are_compared_and_limits_are_exit_statuses() {
    let place = Place::with_references();
    let experiment = |busy: &str| {
        place.echo_server(
            "it",
            &format!("{{prony}} serve tcp-echo --listen :{{port}} --busy {busy}"),
            "",
        );
        place.experiment(
            "e",
            "title = 'T'\ncontract = 'tcp-echo'\nservers = ['it']\nrounds = 4\n\
             [load]\nconnections = 8\nduration = '400ms'\nwarmup = '100ms'\n",
        )
    };
    // Two hundred microseconds more for each answer: only others who have the CPUs for a whole trial hide that.
    let compared = (0..5).find_map(|_| {
        let [before, after] = ["0s", "200us"].map(|busy| {
            let file = experiment(busy);
            let run = place.prony(&["run", &file, "--json"]).json();
            run["run"]["id"].to_string()
        });
        let compare = ["diff", &before, &after, "--json"];
        let report = place.prony(&compare).json();
        valid(&schema("diff"), &report);
        let cell = &report["cells"][0];
        (cell["throughput_verdict"] == "slower" && cell["cpu_verdict"] == "more expensive")
            .then_some((before, after))
    });
    let (before, after) = compared.expect("a verdict in one of five attempts");
    let done = place
        .prony(&["diff", &before, &after, "--fail-if", "throughput < -5%"])
        .with(3);
    assert!(
        done.stderr
            .contains("failed: throughput < -5%: it under c8"),
        "{done}"
    );
    place
        .prony(&["diff", &after, &before, "--fail-if", "throughput < -5%"])
        .with(0);
    place.prony(&["diff", &before, "99"]).with(1);
    place.refused(&["diff", &before, &after, "--fail-if", "throughput < 5x"]);
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn the_rig_is_weighed_and_reports_know() {
    let place = Place::with_references();
    let arguments = [
        "calibrate",
        "--contract",
        "tcp-echo",
        "--connections",
        "2",
        "--rounds",
        "2",
        "-d",
        "100ms",
        "--json",
    ];
    let report = place.prony(&arguments).with(0).json();
    valid(&schema("calibrate"), &report);
    assert_eq!(report["cells"][0]["connections"], 2);
    assert!(report["cells"][0]["ceiling"]["value"].as_f64().unwrap() > 0.0);
    assert!(
        !report["cells"][0]["noise"].as_array().unwrap().is_empty(),
        "{report:#}"
    );
    // The reference server under another name is at the ceiling, or not far below it.
    let file = place.experiment(
        "e",
        "title = 'T'\ncontract = 'tcp-echo'\nservers = ['quick']\nrounds = 1\n\
         [load]\nconnections = 2\nduration = '200ms'\nwarmup = '0s'\n",
    );
    place.prony(&["run", &file]).with(0);
    let done = place.refused(&["calibrate", "--contract", "weather"]);
    assert!(done.stderr.contains("do not keep weather"), "{done}");
}

#[test]
fn checks_are_explained() {
    let place = Place::new();
    let one = place.prony(&["explain", "server-idle"]).with(0).stdout;
    for word in ["server-idle", "cause", "evidence", "remedy"] {
        assert!(one.contains(word), "{word}: {one}");
    }
    let all = place.prony(&["explain", "--json"]).with(0).json();
    assert!(all.as_array().unwrap().len() > 15);
    let done = place.refused(&["explain", "server-idel"]);
    assert!(
        done.stderr.contains("there is no check") && done.stderr.contains("server-idle"),
        "{done}"
    );
}
