//! Bad input: one clear message, and nothing else.

use crate::support::{Done, Place, Served};
use std::net::TcpListener;

/// The command must fail with this status, nothing on standard output, and all of these words on
/// standard error.
#[track_caller]
fn refused(place: &Place, arguments: &[&str], code: i32, words: &[&str]) -> Done {
    let done = place.fails(arguments).with(code);
    assert_eq!(done.stdout, "", "{done}");
    for word in words {
        assert!(
            done.stderr.contains(word),
            "{arguments:?}: {word:?} is not in {done}"
        );
    }
    done
}

/// The same, and the message is one line, help aside.
#[track_caller]
fn refused_in_a_line(place: &Place, arguments: &[&str], code: i32, words: &[&str]) {
    let done = refused(place, arguments, code, words);
    let lines: Vec<&str> = done
        .stderr
        .lines()
        .filter(|line| !line.is_empty() && !line.trim_start().starts_with("help:"))
        // clap's last line.
        .filter(|line| !line.starts_with("For more information"))
        .collect();
    assert_eq!(lines.len(), 1, "{arguments:?}: {done}");
}

const GOOD: &str = "title = 'T'
contract = 'tcp-echo'
servers = ['quick', 'plain']
rounds = 1

[load]
connections = 2
requests = 10
";

#[test]
fn mistakes_in_an_experiment_are_shown_in_their_place() {
    let place = Place::with_references();
    // What is wrong, its line, the text that is underlined, and what is said.
    for (from, to, line, underlined, said) in [
        ("rounds = 1", "rounds = 'x'", 4, "'x'", "expected u32"),
        ("rounds = 1", "rounds = = 1", 4, "=", "expected"),
        (
            "rounds = 1",
            "rounds = 0",
            4,
            "0",
            "must be from 1 to 10000",
        ),
        (
            "requests = 10",
            "duration = '200'",
            8,
            "'200'",
            "has no unit",
        ),
        (
            "rounds = 1",
            "ruonds = 1",
            4,
            "ruonds",
            "unknown field `ruonds`",
        ),
        (
            "'plain'",
            "'plian'",
            3,
            "'plian'",
            "did you mean \"plain\"?",
        ),
        ("'plain'", "'plain@2'", 3, "'plain@2'", "one worker"),
        ("'plain'", "'quick'", 3, "'quick'", "named twice"),
        (
            "'tcp-echo'",
            "'udp-echo'",
            2,
            "'udp-echo'",
            "expected one of `tcp-echo`, `http-echo`",
        ),
        (
            "connections = 2",
            "connections = 0",
            7,
            "connections = 0",
            "must be at least 1",
        ),
        (
            "requests = 10",
            "requests = 10\nduration = '1s'",
            8,
            "requests = 10",
            "not both",
        ),
        (
            "requests = 10",
            "duration = '5 parsecs'",
            8,
            "'5 parsecs'",
            "is not a duration",
        ),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let file = place.experiment("wrong", &GOOD.replace(from, to));
        let done = refused(&place, &["run", &file], 1, &[said, "wrong.toml"]);
        assert!(
            done.stderr.contains(&format!("wrong.toml:{line}:")),
            "line {line}: {done}"
        );
        // The line under the text marks it from its first character on.
        let lines: Vec<&str> = done.stderr.lines().collect();
        let shown = lines
            .iter()
            .position(|l| l.starts_with(&format!(" {line} │")));
        let shown = shown.unwrap_or_else(|| panic!("line {line} is not shown: {done}"));
        let at = |text: &str, part: &str| text.find(part).map(|i| text[..i].chars().count());
        let mark = lines[shown + 1].chars().position(|c| "─┬▲╰".contains(c));
        let columns: Vec<usize> = (0..lines[shown].chars().count())
            .filter(|&i| {
                lines[shown]
                    .chars()
                    .skip(i)
                    .collect::<String>()
                    .starts_with(underlined)
            })
            .collect();
        assert!(at(lines[shown], underlined).is_some(), "{done}");
        assert!(
            columns.contains(&mark.unwrap()),
            "{underlined} is not marked: {done}"
        );
    }
    assert!(
        !place.path().join("notebook.db").exists(),
        "nothing was run"
    );
}

#[test]
fn a_mistake_in_a_manifest_is_shown_in_its_place() {
    for (manifest, said) in [
        (
            "title = 'T'\nlanguage = 'C'\nmodel = 'm'\ncontracts = ['tcp-eco']\nrun = 'x'\n",
            "expected one of `tcp-echo`",
        ),
        (
            "title = 'T'\nlanguage = 'C'\nmodel = 'm'\ncontracts = ['tcp-echo']\nrun = 'x {prot}'\n",
            "{prot} is not a placeholder",
        ),
        (
            "title = 'T'\nlanguage = 'C'\nmodel = 'm'\ncontracts = ['tcp-echo']\n",
            "missing field `run`",
        ),
        ("title = 'T'\nlangauge = 'C'\n", "unknown field `langauge`"),
        ("title = 'T\n", "title"),
    ] {
        let place = Place::with_references();
        place.manifest("broken", manifest);
        let file = place.experiment("it", GOOD);
        for arguments in [
            &["run", &file][..],
            &["servers", "list"],
            &["servers", "check", "quick"],
        ] {
            refused(&place, arguments, 1, &[said, "broken/server.toml"]);
        }
    }
}

#[test]
fn experiments_that_are_not_there() {
    let place = Place::with_references();
    refused(
        &place,
        &["run", "quickstar"],
        1,
        &["quickstar", "did you mean \"quickstart\"?"],
    );
    refused(
        &place,
        &["run", "nothing-like-it"],
        1,
        &["nothing-like-it", "quickstart"],
    );
    refused(&place, &["run", "./no/such.toml"], 1, &["no/such.toml"]);
    place.file("folder.toml/x", "");
    refused(&place, &["run", "folder.toml"], 1, &["folder.toml"]);
    place.file("other.toml", "");
    refused(
        &place,
        &["run", "other.toml"],
        1,
        &["missing field `title`"],
    );
    std::fs::write(place.path().join("bytes.toml"), [0xff, 0xfe]).unwrap();
    refused(
        &place,
        &["run", "bytes.toml"],
        1,
        &["cannot read", "bytes.toml"],
    );
}

#[test]
fn places_that_cannot_be_used() {
    let place = Place::with_references();
    let file = place.experiment("it", GOOD);
    let text = place.file(
        "notes.txt",
        "this is no database, but long enough to be told from one\n",
    );
    let text = text.to_str().unwrap();
    for verb in [&["runs"][..], &["report"], &["run", &file]] {
        let arguments = [verb, &["--notebook", text]].concat();
        refused_in_a_line(&place, &arguments, 1, &["notes.txt is not a notebook"]);
    }
    assert!(
        std::fs::read_to_string(text)
            .unwrap()
            .starts_with("this is no database")
    );
    refused_in_a_line(
        &place,
        &["runs", "--notebook", "/proc/no/such"],
        1,
        &["/proc/no"],
    );
    refused_in_a_line(
        &place,
        &["servers", "list", "--only-catalog", "/no/such"],
        1,
        &["cannot read the catalog /no/such"],
    );
    let under = format!("{text}/cache");
    let done = place.prony(&["run", &file, "--cache", &under]).with(1);
    assert!(
        done.stdout.contains("failed: quick") && done.stdout.contains("notes.txt"),
        "{done}"
    );
}

#[test]
fn runs_that_are_not_there() {
    let place = Place::new();
    for which in ["999", "latest", "nobody", "-1"] {
        let arguments: &[&str] = if which == "-1" {
            &["report", "--", "-1"]
        } else {
            &["report", which]
        };
        refused_in_a_line(
            &place,
            arguments,
            1,
            &[&format!("there is no run \"{which}\"")],
        );
    }
    let none = place.prony(&["runs"]).with(0);
    assert_eq!(none.stdout, "", "{none}");
    for words in ["no runs yet", "prony run quickstart"] {
        assert!(none.stderr.contains(words), "{none}");
    }
    assert_eq!(
        place.prony(&["runs", "--json"]).with(0).json(),
        serde_json::json!([])
    );
}

#[test]
fn addresses_that_lead_nowhere() {
    let place = Place::new();
    // A port that was free a moment ago and that the kernel gives to no other program in between.
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let dead = format!("http://127.0.0.1:{port}/");
    for json in [&[][..], &["--json"]] {
        let arguments = [&["load", &dead][..], json].concat();
        refused_in_a_line(
            &place,
            &arguments,
            1,
            &["cannot connect", "refused", &port.to_string()],
        );
    }
    refused_in_a_line(
        &place,
        &["load", &format!("tcp://127.0.0.1:{port}")],
        1,
        &["cannot connect"],
    );
    refused_in_a_line(
        &place,
        &["load", "http://no-such-host.invalid/"],
        1,
        &["cannot look up \"no-such-host.invalid\""],
    );
    refused_in_a_line(
        &place,
        &["load", "--unix", "/no/such.sock", "http://x/"],
        1,
        &["/no/such.sock"],
    );
    for (url, word) in [
        ("8000", "does not begin with http://"),
        ("", "does not begin with http://"),
        ("https://", "host"),
        ("ftp://127.0.0.1/", "ftp"),
        ("tcp://127.0.0.1", "no port"),
        ("http://127.0.0.1:70000/", "port"),
        ("http://", "host"),
        ("http://user:secret@127.0.0.1/", "--user"),
    ] {
        refused_in_a_line(&place, &["load", url], 2, &[word]);
    }
}

#[test]
fn loads_that_make_no_sense() {
    let server = Served::start(&["http-echo"]);
    let echo = Served::start(&["tcp-echo"]);
    let place = Place::new();
    let (http, tcp) = (server.http("/"), echo.tcp());
    let refusals: [(&[&str], &[&str]); 14] = [
        (
            &["-H", "no colon", &http],
            &["\"no colon\" is not a header field", "Name: value"],
        ),
        (&["-H", "bad name: x", &http], &["is not a header field"]),
        (&["-H", "a: x\r\nb: y", &http], &["is not a header field"]),
        (&["-m", "GE T", &http], &["\"GE T\" is not a method"]),
        (
            &["-m", "POST", "-b", "@/no/such", &http],
            &["cannot read /no/such"],
        ),
        (
            &["--expect-body", "@/no/such", &http],
            &["cannot read /no/such"],
        ),
        (&["--message", "@/no/such", &tcp], &["cannot read /no/such"]),
        (&["--message", "", &tcp], &["at least one byte"]),
        (&["--message", "a\\x", &tcp], &["unknown escape"]),
        (
            &["-c", "2", "-t", "3", &http],
            &["--threads must be at most the number of connections", "3"],
        ),
        (
            &["--pipeline", "2", "--no-keepalive", &http],
            &["--pipeline"],
        ),
        (
            &["-d", "0s", &http],
            &["--duration", "must be longer than 0s"],
        ),
        (
            &["--timeout", "0", &http],
            &["--timeout", "must be longer than 0s"],
        ),
        (&["--cpus", "1000", &http], &["there is no CPU 1000"]),
    ];
    for (arguments, words) in refusals {
        let here = words
            .iter()
            .any(|word| word.starts_with("cannot read") || word.contains("no CPU"));
        let code = if here { 1 } else { 2 };
        refused_in_a_line(&place, &[&["load"], arguments].concat(), code, words);
    }
}

#[test]
fn wrong_usage_ends_with_two() {
    let place = Place::new();
    let http = "http://127.0.0.1:9/";
    let refusals: [(&[&str], &str); 18] = [
        (&["load"], "<URL>"),
        (&["load", "--rate", "0", http], "\"0\" is not a rate"),
        (&["load", "--rate", "nan", http], "\"nan\" is not a rate"),
        (
            &["load", "-n", "5", "-d", "1s", http],
            "cannot be used with",
        ),
        (&["load", "--arrival", "poisson", http], "--rate"),
        (&["load", "-c", "0", http], "is not a whole number above 0"),
        (&["load", "-n", "0", http], "is not a whole number above 0"),
        (
            &["load", "-n", "many", http],
            "is not a whole number above 0",
        ),
        (&["load", "-d", "10 parsecs", http], "is not a duration"),
        (
            &["load", "--expect-status", "99", http],
            "expected a number such as 200",
        ),
        (&["load", "--transport", "carrier-pigeon", http], "io_uring"),
        (&["load", "--cpus", "x", http], "--cpus"),
        (&["load", http, http], "unexpected argument"),
        (&["run"], "<EXPERIMENT>"),
        (&["run", "quickstart", "--rounds", "0"], "0 is not in 1.."),
        (&["laod"], "'load'"),
        (&["serve", "udp-echo"], "tcp-echo"),
        (&["schema", "nothing"], "experiment"),
    ];
    for (arguments, word) in refusals {
        refused(&place, arguments, 2, &[word]);
    }
}

#[test]
fn limits_of_a_capacity_have_units() {
    let place = Place::new();
    let refusals: [(&[&str], &[&str]); 7] = [
        (&["--p50", "10"], &["has no unit", "\"10ms\"", "\"10s\""]),
        (&["--p99", "5"], &["has no unit", "\"5ms\""]),
        (&["--p99.9", "5"], &["has no unit", "\"5ms\""]),
        (&["--p95", "10 parsecs"], &["is not a duration"]),
        (
            &["--errors", "0.1"],
            &["has no unit", "\"0.1%\" or \"10%\""],
        ),
        (&["--beyond", "200"], &["\"200%\""]),
        (&["--beyond", "90%"], &["not a share above 100%"]),
    ];
    for (arguments, words) in refusals {
        refused(&place, &[&["capacity", "x"], arguments].concat(), 2, words);
    }
}

#[test]
fn a_port_that_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let place = Place::new();
    for what in ["http-echo", "tcp-echo", "clockwork"] {
        refused(
            &place,
            &["serve", what, "--listen", &port],
            1,
            &[&port, "in use"],
        );
    }
}
