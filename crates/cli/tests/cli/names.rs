//! Names and texts of others are shown, and never act: on a terminal, in a page, in a spreadsheet, or in a table.

use crate::support::Place;
use serde_json::Value;
use std::fs;

/// Hostile contents of a name: a terminal's title, a bell, text from right to left, a line break, a formula, markup,
/// and a table's border.
const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{202e}\u{9b}31m\r\n=cmd|'/c x'!A1,\"<script>alert(1)</script>|`*_[x](y)\\";

/// Keys whose values an attacker chooses: names and free text.
const CHOSEN: [&str; 20] = [
    "name",
    "title",
    "server",
    "servers",
    "baseline",
    "cell",
    "placement",
    "kernel",
    "cpu",
    "clock",
    "governor",
    "congestion_control",
    "command_line",
    "server_version",
    "prony_version",
    "prony_commit",
    "last_output",
    "text",
    "result",
    "wrong_answers",
];

/// Adds hostile characters to every text that an attacker can choose.
fn poison(value: &mut Value, key: &str) {
    match value {
        Value::String(text) if CHOSEN.contains(&key) => text.push_str(HOSTILE),
        // What a trial failed of, and not what it echoed.
        Value::String(text) if key == "message" && !text.ends_with('\n') => text.push_str(HOSTILE),
        Value::Array(items) => items.iter_mut().for_each(|item| poison(item, key)),
        Value::Object(entries) => {
            if ["manifests", "errors", "expected_failures"].contains(&key) {
                let all = std::mem::take(entries).into_iter();
                entries.extend(all.map(|(key, value)| (key + HOSTILE, value)));
            }
            for (inner, value) in entries {
                // A check's name is one of prony's own: import refuses any other.
                if (key, inner.as_str()) != ("checks", "name") {
                    poison(value, inner);
                }
            }
        }
        _ => {}
    }
}

fn poisoned() -> Place {
    let from = Place::with_references();
    from.echo_server("gone", "sh -c 'echo no luck; exit 3'", "");
    let file = from.experiment(
        "two",
        "title = 'Two'\ncontract = 'tcp-echo'\nservers = ['quick', 'plain', 'gone']\nrounds = 3\n\
         [load]\nconnections = 1\nrequests = 300\nwarmup = '0s'\n",
    );
    from.prony(&["run", &file, "--no-html"]).with(1);
    let mut export = from.prony(&["export", "1", "-f", "json"]).with(0).json();
    poison(&mut export, "");
    let place = Place::with_references();
    let path = place.file("run.json", &export.to_string());
    let path = path.to_str().unwrap();
    let done = place.prony(&["import", path]).with(0);
    harmless("import", &done.stdout);
    // The same run is known again, whatever its names are.
    let again = place.prony(&["import", path]).with(0);
    assert!(again.stderr.contains("as run 1"), "{again}");
    harmless("import again", &again.stderr);
    place.prony(&["import", path, "--again"]).with(0);
    place
}

#[track_caller]
fn harmless(what: &str, shown: &str) {
    let acts = |c: char| {
        (c.is_control() && !"\n\r\t".contains(c)) || ('\u{202a}'..='\u{202e}').contains(&c)
    };
    if let Some((at, c)) = shown.char_indices().find(|&(_, c)| acts(c)) {
        let near: String = shown[at..].chars().take(80).collect();
        panic!("{what} has {c:?}: {near:?}");
    }
    // HTML takes a line's end for a space.
    assert!(
        shown.starts_with("<!DOCTYPE") || !shown.contains("\n=cmd"),
        "{what} has a line of a name's own: {shown}"
    );
}

// Slow: a run of 9 trials, 3 of which cannot start, and 22 further processes of prony.
#[test]
fn names_and_texts_do_not_act_on_what_shows_them() {
    let place = poisoned();
    for arguments in [
        &["runs"] as &[&str],
        &["runs", "--json"],
        &["report", "1"],
        &["report", "1", "--json"],
        &["report", "1", "--markdown", "-"],
        &["report", "1", "--html", "-"],
        &["report", "--history", "1"],
        &["diff", "1", "2"],
        &["diff", "1", "2", "--json"],
        &["export", "1", "-f", "json"],
        &["export", "1", "-f", "csv"],
        &["export", "1", "-f", "markdown"],
        &["export", "1", "-f", "hlog"],
        &["export", "1", "-f", "openmetrics"],
        &["export", "1", "-f", "benchstat"],
    ] {
        let done = place.prony(arguments);
        harmless(&arguments.join(" "), &done.stdout);
        harmless(&arguments.join(" "), &done.stderr);
        assert!(
            !(arguments.contains(&"--html") || arguments.contains(&"markdown"))
                || !done.stdout.contains("<script>alert"),
            "{arguments:?}"
        );
    }
    let page = place.prony(&["report", "1", "--html", "-"]).with(0).stdout;
    assert!(page.contains("&lt;script&gt;alert"), "the name is shown");
    let csv = place.prony(&["export", "1", "-f", "csv"]).with(0).stdout;
    let width = csv.lines().next().unwrap().split(',').count();
    assert_eq!(
        csv.trim_end().split("\r\n").count(),
        1 + 9,
        "{width}: {csv}"
    );
    let metrics = place
        .prony(&["export", "1", "-f", "openmetrics"])
        .with(0)
        .stdout;
    for line in metrics.lines() {
        assert!(
            line.starts_with("prony_") || line.starts_with("# "),
            "{line:?}"
        );
    }
}

#[test]
fn files_of_others_do_not_act_on_the_terminal() {
    let place = Place::with_references();
    let hostile = "a\\u001b]0;owned\\u0007\\u202e\\nb";
    let right = format!(
        "title = \"{hostile}\"\ncontract = 'tcp-echo'\nservers = ['quick']\nrounds = 1\n\
         [[loads]]\nname = \"{hostile}\"\nconnections = 1\nrequests = 300\nwarmup = '0s'\n"
    );
    let file = place.experiment("right", &right);
    let done = place.prony(&["run", &file, "--no-html"]);
    harmless("run", &done.stdout);
    harmless("run", &done.stderr);
    let wrong = format!("title = \"a\u{1b}]0;owned\u{7}\"\n# {HOSTILE}\nrounds = x\n");
    let file = place.experiment("wrong", &wrong);
    let done = place.prony(&["run", &file, "--no-html"]).with(1);
    harmless("a mistake", &done.stderr);
    fs::write(
        place.path().join("figures.md"),
        format!("a {HOSTILE}\nRequests/sec: 12{HOSTILE}\n"),
    )
    .unwrap();
    let done = place.prony(&["audit", "figures.md"]);
    harmless("audit", &done.stdout);
    harmless("audit", &done.stderr);
}
