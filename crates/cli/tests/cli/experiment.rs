//! `prony run`, and what the notebook gives back of it.

use crate::support::{Place, raised, schema, valid};
use prony_record::times::decode;
use rusqlite::Connection;
use serde_json::Value;

/// Two servers, two rounds, a fifth of a second each.
const SMALL: &str = "title = 'Two of our own'
contract = 'http-echo'
servers = ['quick', 'plain']
rounds = 2
[load]
connections = 4
duration = '200ms'
warmup = '200ms'
";

/// Smallest experiment, for tests of what runs rather than of its results.
const TINY: &str = "title = 'Little'
contract = 'tcp-echo'
servers = ['quick', 'plain', 'quick@2']
rounds = 2
[load]
connections = 2
requests = 100
warmup = '0s'
";

/// The expected number of answers: a request that was sent before the measurement and answered in it counts, so
/// there may be one more for each of the (at most three) connections, and of their pipelines' four.
fn counted(answers: &Value, requests: u64) -> bool {
    (requests..=requests + 12).contains(&answers.as_u64().unwrap())
}

fn column<T: rusqlite::types::FromSql>(notebook: &Connection, sql: &str) -> Vec<T> {
    let mut statement = notebook.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

// Slow: 4 trials of up to 0.4 s on fresh starts, and 6 further processes of prony.
#[test]
fn an_experiment_from_file_to_report() {
    let place = Place::with_references();
    let file = place.experiment("small", SMALL);
    let done = place.prony(&["run", &file, "--json"]).with(0);
    let report = done.json();
    valid(&schema("run"), &report);
    assert_eq!(report["run"]["status"], "finished");
    assert_eq!(report["run"]["baseline"], "quick");
    assert_eq!(report["failures"], serde_json::json!([]));
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    for cell in cells {
        check_cell(cell);
    }
    check_notebook(&place.notebook());

    // Everything again from the notebook alone.
    for which in ["latest", "1", "small"] {
        assert_eq!(
            place.prony(&["report", which, "--json"]).with(0).stdout,
            done.stdout
        );
    }
    let table = place.prony(&["report"]).with(0);
    let words = [
        "Two of our own",
        "quick",
        "plain",
        "requests/s",
        "±95%",
        "p50",
        "p99",
        "max",
        "CPU/req",
        "memory",
        "ratio",
        "95% CI",
        "checks",
        "load c4, 2 rounds",
    ];
    for word in words {
        assert!(table.stdout.contains(word), "{word}: {table}");
    }
    assert!(
        !table.stdout.contains('\x1b') && table.stderr.is_empty(),
        "{table}"
    );

    let runs = place.prony(&["runs"]).with(0);
    assert!(
        runs.stdout.contains("small  Two of our own\n      ") && runs.stdout.contains("quick"),
        "{runs}"
    );
    let runs = place.prony(&["runs", "--json"]).with(0).json();
    assert_eq!(
        (&runs[0]["id"], &runs[0]["name"]),
        (&1.into(), &"small".into()),
        "{runs:#}"
    );
    assert_eq!(runs[0]["status"], "finished");
    assert!(runs[0]["command_line"].as_str().unwrap().contains("--json"));
}

fn check_cell(cell: &Value) {
    assert_eq!(
        (&cell["trials"], &cell["workers"]),
        (&2.into(), &1.into()),
        "{cell:#}"
    );
    assert_eq!(cell["verified"], true);
    assert_eq!(cell["load"]["connections"], 4);
    for key in ["throughput", "server_cpu_us_per_request", "ratio"] {
        for part in ["value", "low", "high"] {
            assert!(cell[key][part].as_f64().is_some(), "{key}.{part}: {cell:#}");
        }
        assert!(cell[key]["value"].as_f64().unwrap() > 0.0);
    }
    assert!(
        cell["rss_peak_bytes"].as_u64().unwrap() > 100_000,
        "{cell:#}"
    );
    assert!(cell["latency"]["response"]["p50"].as_u64().unwrap() > 0);
    // Response times are those of requests that began in the measurement, and answers those that ended in it: at each end
    // of the two trials up to four are in flight.
    let n = |count: &Value| count.as_u64().unwrap();
    let apart = n(&cell["latency"]["response"]["n"]).abs_diff(n(&cell["answers"]));
    assert!(apart <= 2 * 4, "{cell:#}");
    assert!(raised(&cell["checks"]).contains("too-short"));
}

fn check_notebook(notebook: &Connection) {
    let trials: Vec<i64> = column(notebook, "SELECT id FROM trial WHERE status = 'ok'");
    assert_eq!(trials.len(), 4);
    let mut switches = 0;
    for trial in trials {
        let phases: Vec<String> = column(
            notebook,
            &format!("SELECT phase FROM window WHERE trial_id = {trial}"),
        );
        for phase in ["warmup", "measure"] {
            assert!(phases.iter().any(|p| p == phase), "{phase}: {phases:?}");
        }
        let windows: Vec<i64> = column(
            notebook,
            &format!(
                "SELECT verified_answers FROM window WHERE trial_id = {trial} AND phase = 'measure'"
            ),
        );
        let answers: Vec<i64> = column(
            notebook,
            &format!("SELECT verified_answers FROM trial WHERE id = {trial}"),
        );
        // A window ends with a turn of the generator's loop, a little off the measurement's ends.
        assert!(
            windows.iter().sum::<i64>().abs_diff(answers[0]) <= 16,
            "{windows:?} {answers:?}"
        );
        for kind in ["response", "service", "send-delay"] {
            let of = format!("FROM histogram WHERE trial_id = {trial} AND kind = '{kind}'");
            let data: Vec<Vec<u8>> = column(notebook, &format!("SELECT data {of}"));
            let count: Vec<i64> = column(notebook, &format!("SELECT count {of}"));
            let times = decode(&data[0]).unwrap();
            assert_eq!(times.len().cast_signed(), count[0], "{kind}");
            assert!(!times.is_empty(), "{kind}");
        }
        let observation: Vec<String> = column(
            notebook,
            &format!("SELECT observation_json FROM trial WHERE id = {trial}"),
        );
        let facts: Value = serde_json::from_str(&observation[0]).unwrap();
        // Response times are those of requests that began in the measurement, and answers those that ended in it. What is
        // left are those that had begun before: one on each of four connections at most.
        let count: Vec<i64> = column(
            notebook,
            &format!("SELECT count FROM histogram WHERE trial_id = {trial} AND kind = 'response'"),
        );
        let outcome = |key: &str| facts["outcomes"][key].as_i64().unwrap();
        let begun_before = outcome("ok") + outcome("in_flight_at_end") - count[0];
        assert!((0..=4).contains(&begun_before), "{begun_before}: {facts:#}");
        for key in ["server_cpu_ns", "rss_peak_bytes", "threads", "processes"] {
            assert!(
                facts["resources"][key].as_u64().unwrap() > 0,
                "{key}: {facts:#}"
            );
        }
        // One trial may have none: a server that always has requests waiting never leaves its CPU.
        switches += facts["resources"]["context_switches"].as_u64().unwrap();
        for key in [
            "ready_ns",
            "verify_ns",
            "warmup_ns",
            "measured_ns",
            "total_ns",
        ] {
            assert!(
                facts["durations"][key].as_u64().unwrap() > 0,
                "{key}: {facts:#}"
            );
        }
        let command: Vec<String> = column(
            notebook,
            &format!("SELECT command_line FROM trial WHERE id = {trial}"),
        );
        assert!(command[0].contains("serve http-echo"), "{command:?}");
    }
    let host: Vec<String> = column(notebook, "SELECT host_json FROM run");
    let host: Value = serde_json::from_str(&host[0]).unwrap();
    for key in ["kernel", "cpu"] {
        assert!(
            !host[key].as_str().unwrap_or("").is_empty(),
            "{key}: {host:#}"
        );
    }
    assert!(switches > 0, "no server was ever switched to");
}

// Slow: 2 runs of 6 trials, each on a fresh start that is verified.
#[test]
fn what_run_prints_is_what_report_prints() {
    let place = Place::with_references();
    let file = place.experiment("tiny", TINY);
    let run = place.prony(&["run", &file]).with(0);
    assert!(
        run.stderr.contains("round 2/2") && run.stderr.contains("prony report 1"),
        "{run}"
    );
    assert_eq!(place.prony(&["report", "tiny"]).with(0).stdout, run.stdout);
    let quiet = place.prony(&["run", &file, "--quiet", "--json"]).with(0);
    assert_eq!(quiet.stderr, "", "{quiet}");
    let latest = place.prony(&["report", "latest", "--json"]).with(0).json();
    assert_eq!(latest["run"]["id"], 2);
}

#[test]
fn lists_make_a_grid_of_cells() {
    let place = Place::with_references();
    let file = place.experiment(
        "grid",
        &TINY
            .replace("connections = 2", "connections = [2, 3]\npipeline = [1, 4]")
            .replace(", 'quick@2'", "")
            .replace("rounds = 2", "rounds = 1"),
    );
    let report = place.prony(&["run", &file, "--json"]).with(0).json();
    let mut cells: Vec<(String, u64, u64)> = report["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| {
            assert!(counted(&cell["answers"], 100), "{cell:#}");
            let load = |key: &str| cell["load"][key].as_u64().unwrap();
            (
                cell["server"].as_str().unwrap().to_owned(),
                load("connections"),
                load("pipeline"),
            )
        })
        .collect();
    cells.sort();
    let expected = ["plain", "quick"].iter().flat_map(|server| {
        [(2, 1), (2, 4), (3, 1), (3, 4)].map(|(c, p)| ((*server).to_owned(), c, p))
    });
    assert_eq!(cells, expected.collect::<Vec<_>>());
    let text = place.prony(&["report"]).with(0).stdout;
    for load in ["load c2,", "load c2 p4,", "load c3,", "load c3 p4,"] {
        assert!(text.contains(load), "{load}: {text}");
    }
}

/// The servers of a run in the order of their trials.
fn order(place: &Place, run: i64) -> Vec<String> {
    column(
        &place.notebook(),
        &format!(
            "SELECT round || ' ' || server || '@' || workers FROM trial \
             WHERE run_id = {run} ORDER BY ordinal"
        ),
    )
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn a_seed_repeats_the_order_of_trials() {
    let place = Place::with_references();
    let file = place.experiment("tiny", TINY);
    for seed in ["7", "7", "8", "9"] {
        place
            .prony(&["run", &file, "--rounds", "3", "--seed", seed])
            .with(0);
    }
    let first = order(&place, 1);
    assert_eq!(first.len(), 9);
    assert_eq!(first, order(&place, 2));
    assert!(
        first != order(&place, 3) || first != order(&place, 4),
        "{first:?}"
    );
    // Each round is complete before the next.
    for (round, block) in first.chunks(3).enumerate() {
        assert!(
            block
                .iter()
                .all(|trial| trial.starts_with(&format!("{round} "))),
            "{first:?}"
        );
        let mut servers = block.to_vec();
        servers.sort();
        servers.dedup();
        assert_eq!(servers.len(), 3, "{first:?}");
    }
}

// Slow: 5 runs with 14 trials, each on a fresh start that is verified.
#[test]
fn rounds_quick_and_only() {
    let place = Place::with_references();
    let file = place.experiment("tiny", TINY);
    let run = |more: &[&str]| {
        let report = place
            .prony(&[&["run", &file, "--json"], more].concat())
            .with(0)
            .json();
        let cells = report["cells"].as_array().unwrap();
        let mut seen: Vec<String> = cells
            .iter()
            .map(|cell| {
                let trials = cell["trials"].as_u64().unwrap();
                let each = if more.contains(&"--quick") { 10 } else { 100 };
                assert!(counted(&cell["answers"], trials * each), "{cell:#}");
                format!(
                    "{}@{} {trials}",
                    cell["server"].as_str().unwrap(),
                    cell["workers"]
                )
            })
            .collect();
        seen.sort();
        seen
    };
    assert_eq!(
        run(&["--rounds", "1"]),
        ["plain@1 1", "quick@1 1", "quick@2 1"]
    );
    assert_eq!(run(&["--quick"]), ["plain@1 1", "quick@1 1", "quick@2 1"]);
    // The experiment has no warm-up, and --quick never lengthens one.
    run(&["--quick", "--warmup", "200ms"]);
    let kept = place.prony(&["export", "latest", "--format", "json"]);
    for trial in kept.with(0).json()["trials"].as_array().unwrap() {
        assert_eq!(trial["load"]["warmup"], "200ms", "{trial:#}");
    }
    // The baseline stays: without it there is nothing to compare with.
    assert_eq!(run(&["--only", "plain"]), ["plain@1 2", "quick@1 2"]);
    assert_eq!(run(&["--only", "quick", "--rounds", "1"]), ["quick@1 1"]);
    let wrong = place.refused(&["run", &file, "--only", "palin"]);
    assert!(
        wrong.stderr.contains("\"palin\"") && wrong.stderr.contains("plain"),
        "{wrong}"
    );
    assert_eq!(wrong.stdout, "");
}

// Slow: 8 runs, each with a start that is verified.
#[test]
fn every_kind_of_load_can_be_written_down() {
    let place = Place::with_references();
    for load in [
        "rate = 500.0\narrival = 'poisson'\nthreads = 2",
        "keepalive = false",
        "transport = 'epoll'\nmessage = 'a longer message\\n'",
        "transport = 'io_uring'\nwindow = '20ms'",
    ] {
        for contract in ["tcp-echo", "http-echo"] {
            let text = format!(
                "title = 'T'\ncontract = '{contract}'\nservers = ['quick']\nrounds = 1\n\
                 [load]\nconnections = 2\nrequests = 60\nwarmup = '0s'\n{}\n",
                load.replace('\'', "\"")
            );
            let file = place.experiment("load", &text);
            let report = place.prony(&["run", &file, "--json"]).with(0).json();
            assert!(
                counted(&report["cells"][0]["answers"], 60),
                "{load}: {report:#}"
            );
        }
    }
}

#[test]
fn an_experiment_of_prony_is_found_by_its_name_from_anywhere() {
    // The catalog and the experiments inside prony, which are unpacked below the cache.
    let place = Place::new();
    let mut command = place.command(&[
        "run",
        "quickstart",
        "--quick",
        "--json",
        "--only",
        "reference-epoll",
    ]);
    command.env_remove("PRONY_ONLY_CATALOG");
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        report["cells"][0]["server"], "reference-epoll",
        "{report:#}"
    );
}

#[test]
fn some_loads_of_a_grid() {
    let place = Place::with_references();
    let file = place.experiment(
        "grid",
        &TINY.replace("connections = 2", "connections = [1, 2, 3]"),
    );
    let arguments = [
        "run", &file, "--json", "--rounds", "1", "--load", "c1", "--load", "c3",
    ];
    let report = place.prony(&arguments).with(0).json();
    let mut seen: Vec<u64> = report["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["load"]["connections"].as_u64().unwrap())
        .collect();
    seen.dedup();
    assert_eq!(seen, [1, 3]);
    let done = place.refused(&["run", &file, "--load", "c4"]);
    assert!(
        done.stderr.contains("\"c4\" is no load of grid") && done.stderr.contains("c1, c2, c3"),
        "{done}"
    );
}
