//! `prony audit` and `prony import`: other tools' outputs and pages.

use crate::support::{Place, Served, schema, valid};
use std::process::Command;

/// wrk's output with a rate and a mean; 64 connections for 30 s.
fn wrk(rate: f64, mean: &str) -> String {
    format!(
        "Running 30s test @ http://10.0.0.2:8000/\n  4 threads and 64 connections\n  \
         Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
         Latency     {mean}  300.00us  70.00ms   90.00%\n    \
         Req/Sec     8.00k   300.00     9.00k    70.00%\n  \
         Latency Distribution\n     50%    1.95ms\n     99%   66.50ms\n  \
         {:.0} requests in 30.00s, 150.00MB read\n\
         Requests/sec:  {rate:.2}\nTransfer/sec:      5.00MB\n",
        rate * 30.0
    )
}

#[test]
fn serious_things_end_with_3() {
    let place = Place::new();
    place.file("bad.txt", &wrk(32_000.0, "66.00ms"));
    let done = place.prony(&["audit", "bad.txt"]).with(3);
    assert!(
        done.stdout.contains("bad.txt:4: serious: littles-law")
            // Nor can requests with these percentiles have such a mean.
            && done.stdout.contains("serious: percentile-order")
            && done.stdout.contains("Found: 2 serious"),
        "{done}"
    );
    assert_eq!(done.stderr, "");
    let json = place.prony(&["audit", "bad.txt", "--json"]).with(3).json();
    valid(&schema("audit"), &json);
    assert_eq!(json["files"][0]["outputs"]["wrk"], 1);
    let first = &json["remarks"][0];
    assert_eq!(
        (&first["name"], &first["severity"], &first["lines"][0]),
        (&"littles-law".into(), &"serious".into(), &4.into())
    );
    assert!(!place.path().join("notebook.db").exists());
}

#[test]
fn what_is_in_order_ends_with_0() {
    let place = Place::new();
    place.file("good.txt", &wrk(32_000.0, " 2.00ms"));
    let done = place.prony(&["audit", "good.txt"]).with(0);
    assert!(done.stdout.contains("nothing wrong was found"), "{done}");
    let done = place.shell("\"$PRONY\" audit - < good.txt").with(0);
    assert!(done.stdout.contains("1 output of wrk"), "{done}");
}

#[test]
fn what_is_no_benchmark_and_what_cannot_be_read_is_said() {
    let place = Place::new();
    place.file("poem.txt", "Roses are red.\n");
    let done = place.prony(&["audit", "poem.txt"]).with(1);
    assert!(
        done.stderr
            .contains("poem.txt: no output of a load generator"),
        "{done}"
    );
    let done = place.prony(&["audit", "missing.txt"]).with(1);
    assert!(done.stderr.contains("cannot read missing.txt"), "{done}");
    // The others are audited all the same.
    place.file("good.txt", &wrk(32_000.0, " 2.00ms"));
    let done = place.prony(&["audit", "missing.txt", "good.txt"]).with(1);
    assert!(
        done.stderr.contains("cannot read missing.txt") && done.stdout.contains("1 output of wrk"),
        "{done}"
    );
    let done = place.refused(&["audit", "poem.txt", "poem.txt"]);
    assert!(done.stderr.contains("poem.txt is given twice"), "{done}");
    place.refused(&["audit"]);
    let done = place.prony(&["import", "poem.txt", "--as", "poem"]).with(1);
    assert!(
        done.stderr.contains("there are no rates in poem.txt"),
        "{done}"
    );
    let done = place.refused(&["import", "poem.txt", "--as", "a/b"]);
    assert!(done.stderr.contains("a name has letters"), "{done}");
}

#[test]
fn no_escape_sequence_reaches_the_terminal() {
    let place = Place::new();
    let text = format!("# \u{7}bell\u{8}\n{}", wrk(32_000.0, "66.00ms"));
    place.file("odd\u{1b}[31m.txt", &text);
    let done = place.prony(&["audit", "odd\u{1b}[31m.txt"]).with(3);
    let control = |c: char| c.is_control() && c != '\n';
    assert!(!done.stdout.contains(control), "{done}");
}

#[test]
fn what_was_found_is_explained() {
    let place = Place::new();
    let one = place.prony(&["explain", "back-filled"]).with(0).stdout;
    assert!(
        one.starts_with("back-filled (prony audit)\n")
            && one.contains("example   a text that raises it:\n\n    Running 30s test @"),
        "{one}"
    );
    // Of a measurement and of a text: they see different things.
    let both = place.prony(&["explain", "littles-law"]).with(0).stdout;
    assert!(
        both.starts_with("littles-law\n") && both.contains("\nlittles-law (prony audit)\n"),
        "{both}"
    );
    let both = place.prony(&["explain", "littles-law", "--json"]).with(0);
    let of: Vec<_> = both
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["of"].clone())
        .collect();
    assert_eq!(of, ["measurement", "audit"]);
}

const PAGE: &str = "# Old servers\n\n    ./client -c5 -o2 -h100 far\n\n## Quick\n\n\
    Throughput: 500.00 [#/sec]\nThroughput: 510.00 [#/sec]\n\n## Other\n\n\
    Throughput: 100.00 [#/sec]\n";

const EXPERIMENT: &str = "title = 'T'
contract = 'tcp-echo'
servers = ['quick', 'plain']
rounds = 1
published = 'old'
[load]
connections = 2
requests = 200
warmup = '0s'
";

#[test]
fn imported_figures_stand_beside_measured_ones() {
    let place = Place::with_references();
    place.file("page.md", PAGE);
    let file = place.experiment("new", EXPERIMENT);
    let done = place.prony(&["run", &file]).with(1);
    assert!(
        done.stderr.contains("nothing was imported under it"),
        "{done}"
    );
    let done = place
        .prony(&[
            "import",
            "page.md",
            "--as",
            "old",
            "--server",
            "Other=plain",
        ])
        .with(0);
    assert!(
        done.stderr.contains("2 rows are kept") && done.stdout.contains("Quick"),
        "{done}"
    );
    let report = place.prony(&["run", &file, "--json"]).with(0).json();
    let published = &report["published"];
    assert_eq!(published["title"], "Old servers");
    assert_eq!(published["rows"][0]["published"], 505.0);
    // Its own name found its server; the other's was given.
    assert_eq!(
        (
            &published["rows"][0]["server"],
            &published["rows"][1]["server"]
        ),
        (&"quick".into(), &"plain".into())
    );
    assert!(published["rows"][1]["measured"].as_f64().unwrap() > 0.0);
    assert_eq!(published["order"]["pairs"], 1);
    // Again, under the same name, as JSON; the run keeps what it was compared with.
    place.file("page.md", &PAGE.replace("Old servers", "Newer"));
    let done = place
        .prony(&["import", "page.md", "--as", "old", "--json"])
        .with(0);
    assert!(done.stderr.contains("in place of"), "{done}");
    valid(&schema("published"), &done.json());
    assert_eq!(done.json()["title"], "Newer");
    let text = place.prony(&["report"]).with(0).stdout;
    assert!(text.contains("As published: Old servers"), "{text}");
    // Any run's report can have any figures beside it.
    let newer = ["report", "--published", "old"];
    let text = place.prony(&newer).with(0).stdout;
    assert!(text.contains("As published: Newer"), "{text}");
    let done = place.prony(&["report", "--published", "odl"]).with(1);
    assert!(
        done.stderr.contains("nothing was imported under it")
            && done.stderr.contains("prony import"),
        "{done}"
    );
}

/// 500 echoes in a second that has a second of sleep in it, and all of them in two.
#[test]
fn the_echo_clients_second_is_taken_out_of_imported_figures() {
    let place = Place::with_references();
    place.file("page.md", PAGE);
    let import = |file: &str| {
        let done = place.prony(&["import", file, "--as", "old", "--json"]);
        done.with(0).json()
    };
    let figures = import("page.md");
    assert_eq!(figures["unit"], "echoes/s");
    let correction = &figures["correction"];
    assert_eq!(
        (&correction["requests"], &correction["too_seconds"]),
        (&1000.into(), &1.0.into())
    );
    let file = place.experiment("new", EXPERIMENT);
    let report = place.prony(&["run", &file, "--json"]).with(0).json();
    let quick = &report["published"]["rows"][0];
    // 1000 / (1000 / 500 - 1) and 1000 / (1000 / 510 - 1)
    let corrected = quick["corrected"].as_f64().unwrap();
    assert!((corrected - 1020.408).abs() < 0.01, "{quick}");
    // A table does not say who measured it.
    let table = "| server | req/s |\n|--|--|\n| quick | 500.0 |\n| plain | 400.0 |\n";
    place.file("table.md", table);
    assert_eq!(import("table.md")["correction"], serde_json::Value::Null);
}

#[test]
fn servers_and_rows_that_do_not_exist_are_named() {
    let place = Place::with_references();
    place.file("page.md", PAGE);
    let import = |server: &str| {
        place
            .prony(&["import", "page.md", "--as", "x", "--server", server])
            .with(1)
    };
    let done = import("Qick=quick");
    assert!(
        done.stderr.contains("no row is called \"Qick\"") && done.stderr.contains("Quick, Other"),
        "{done}"
    );
    let done = import("Quick=qick");
    assert!(done.stderr.contains("qick"), "{done}");
    place.refused(&["import", "page.md", "--as", "x", "--server", "Quick"]);
}

/// The tools themselves, run against a server of prony's: their output is recognised, and its counts are what was asked
/// for.
#[test]
#[ignore = "scripts/campaign compat: needs the tools"]
fn outputs_of_the_tools_themselves() {
    let place = Place::new();
    let server = Served::start(&["http-echo"]);
    let url = server.http("/x");
    let tools: [(&str, &[&str]); 4] = [
        ("wrk", &["-t1", "-c2", "-d1s", "--latency"]),
        ("ab", &["-k", "-c2", "-n200"]),
        ("h2load", &["--h1", "-c2", "-n200"]),
        ("hey", &["-c", "2", "-n", "200"]),
    ];
    for (tool, flags) in tools {
        let output = Command::new(tool).args(flags).arg(&url).output();
        let output = output.unwrap_or_else(|error| panic!("{tool}: {error}"));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        place.file("output.txt", &text);
        let audit = place.prony(&["audit", "output.txt", "--json"]);
        assert_eq!(
            audit.json()["files"][0]["outputs"][tool],
            1,
            "{text}\n{audit}"
        );
        // Nothing is wrong with it but that it is short and on one machine. wrk invents samples after
        // any hiccup, which is then rightly said.
        if tool != "wrk" {
            audit.with(0);
        }
        let import = place
            .prony(&["import", "output.txt", "--as", tool, "--json"])
            .with(0);
        assert!(
            import.json()["row"][0]["rates"][0].as_f64().unwrap() > 0.0,
            "{text}\n{import}"
        );
    }
}
