use super::*;
use crate::quantity::rate_unit;
use crate::read::read;

fn seen(name: &str, text: &str) -> Vec<(String, String, f64)> {
    figures(&[read(name, text)])
        .iter()
        .map(|f| {
            let system = f.system.name.to_string();
            (system, f.load.to_string(), f.rate.value)
        })
        .collect()
}

fn row(system: &str, load: &str, rate: f64) -> (String, String, f64) {
    (system.into(), load.into(), rate)
}

#[test]
fn runs_below_each_other() {
    let text = "| | A | B |\n|--|--|--|\n| 1st | 10 | 20 |\n| 2nd | 11 | 21 |\n| Ave | 1 | 2 |\n";
    let expected = [
        row("A", "any load", 10.0),
        row("A", "any load", 11.0),
        row("B", "any load", 20.0),
        row("B", "any load", 21.0),
    ];
    assert_eq!(seen("x", text), expected);
}

#[test]
fn runs_beside_each_other() {
    let text = "# Requests per second\n\n| | run 1 | run 2 | mean |\n|--|--|--|--|\n| A | 10 | 11 | 10.5 |\n";
    let expected = [row("A", "any load", 10.0), row("A", "any load", 11.0)];
    assert_eq!(seen("x", text), expected);
}

#[test]
fn systems_beside_metrics() {
    let text = "| server | connections | k req/s | p99 ms |\n|--|--|--|--|\n| A | 64 | 1.5 | 3 |\n";
    assert_eq!(seen("x", text), [row("A", "c64", 1500.0)]);
    let text = "| server | latency ms |\n|--|--|\n| A | 64 |\n";
    assert_eq!(seen("x", text), []);
}

#[test]
fn columns_as_programs_call_them() {
    let text =
        "| server | MaxClients | MaxRPS | P95(ms) |\n|--|--|--|--|\n| A | 480 | 171391 | 1.29 |\n";
    assert_eq!(seen("x", text)[0].2, 171_391.0);
    assert_eq!(rate_unit("maximum"), None);
}

#[test]
fn pages_in_the_first_column_are_no_systems() {
    let table = "| Endpoint | Requests | Throughput (req/s) |\n|--|--|--|\n| List courses | 200 | 41.64 |\n\
        | Log in | 200 | 29.88 |\n\n";
    let text = format!("# gin\n\n{table}# echo\n\n{table}");
    let figures = figures(&[read("x", &text)]);
    let of = |n: usize| (&*figures[n].system.name, &*figures[n].system.section);
    assert_eq!(figures.len(), 4);
    assert_eq!((of(0).0, of(2).0), ("gin", "echo"));
    assert_eq!(of(0).1, of(2).1);
    assert_ne!(of(0).1, of(1).1);
}

#[test]
fn ranks_are_no_runs() {
    let text = "| # | server | req/s |\n|--|--|--|\n| 1 | A | 20 |\n| 2 | B | 10 |\n";
    let expected = [row("A", "any load", 20.0), row("B", "any load", 10.0)];
    assert_eq!(seen("x", text), expected);
}

#[test]
fn loads_in_brackets() {
    let text = "| Metric | Baseline (5 VUs) | Load test (100 VUs) |\n|--|--|--|\n\
        | Requests per second | 57.2 | 48.1 |\n| Mean ms | 24 | 848 |\n";
    let expected = [
        row("Baseline (5 VUs)", "c5", 57.2),
        row("Load test (100 VUs)", "c100", 48.1),
    ];
    assert_eq!(seen("x", text), expected);
}

#[test]
fn labels_that_stand_once_for_several_rows() {
    let text = "| framework | runtime | req/s |\n|--|--|--|\n| **alpha** | node | 10 |\n|  | bun | 20 |\n\
        | beta | node | 30 |\n| | bun | 40 |\n";
    let names: Vec<String> = seen("x", text).into_iter().map(|row| row.0).collect();
    assert_eq!(
        names,
        ["alpha, node", "alpha, bun", "beta, node", "beta, bun"]
    );
}

#[test]
fn rows_below_a_row_that_names_them() {
    let text = "| Query | server | req/s |\n|--|--|--|\n| 1 | posts |\n|| A | 20 |\n|| B | 10 |\n\
        | 2 | greetings |\n|| A | 200 |\n|| B | 100 |\n";
    let figures = figures(&[read("x", text)]);
    let sections: std::collections::BTreeSet<&str> =
        figures.iter().map(|f| &*f.system.section).collect();
    assert_eq!((figures.len(), sections.len()), (4, 2));
    assert!(
        figures
            .iter()
            .all(|f| ["A", "B"].contains(&&*f.system.name))
    );
}

#[test]
fn loads_in_front_of_systems_are_no_ranks() {
    for (name, loads) in [("Connections", ["c50", "c100"]), ("Rows", ["50", "100"])] {
        let text = format!(
            "| {name} | server | req/s | min |\n|--|--|--|--|\n\
             | 50 | A | 20 | 1 |\n| 50 | B | 10 | 1 |\n| 100 | A | 21 | 1 |\n| 100 | B | 11 | 1 |\n"
        );
        let expected = [
            row("A", loads[0], 20.0),
            row("B", loads[0], 10.0),
            row("A", loads[1], 21.0),
            row("B", loads[1], 11.0),
        ];
        assert_eq!(seen("x", &text), expected);
    }
    // Runs in front of systems are dropped as places are.
    let text = "| Run | server | req/s |\n|--|--|--|\n| 1 | A | 20 |\n| 1 | B | 10 |\n| 2 | A | 21 |\n| 2 | B | 11 |\n";
    let rows: Vec<_> = seen("x", text);
    assert!(
        rows.iter().all(|(_, load, _)| load == "any load"),
        "{rows:?}"
    );
    // Two in the first place.
    let text =
        "| # | server | req/s |\n|--|--|--|\n| 1 | A | 20 |\n| 1 | B | 20 |\n| 3 | C | 10 |\n";
    let names: Vec<String> = seen("x", text).into_iter().map(|row| row.0).collect();
    assert_eq!(names, ["A", "B", "C"]);
}

#[test]
fn loads_beside_each_other() {
    let text = "# Requests per second\n\n| Concurrent Connections | 50 | 100 | 500 |\n|--|--|--|--|\n\
        | A | 10 | 20 | 30 |\n| B | 11 | 21 | 31 |\n";
    assert_eq!(seen("x", text)[1], row("A", "c100", 20.0));
    assert_eq!(
        seen("x.csv", "100,3103.62\n200,3000.11\n400,2950.5\n")[2],
        row("x", "400", 2950.5)
    );
    let text = "language,framework,req/s\ngo,gin,100\ngo,fiber,200\nrust,axum,300\n";
    assert_eq!(seen("x.csv", text)[1], row("go, fiber", "any load", 200.0));
    let text = "server,size,req/s\na,64,100\na,1024,90\nb,64,80\n";
    assert_eq!(seen("x.csv", text)[1], row("a", "1024 bytes", 90.0));
    // What does not say what it is of is not taken for rates.
    assert_eq!(
        seen(
            "x",
            "| | 50 | 100 |\n|--|--|--|\n| A | 10 | 20 |\n| B | 1 | 2 |\n"
        ),
        []
    );
    assert_eq!(rate_unit("https"), None);
    assert_eq!(rate_unit("number of requests/s"), Some(1.0));
}

#[test]
fn bytes_per_second_are_no_rates() {
    let text = "# Throughput\n\n| size | a | b |\n|--|--|--|\n| 4 B | 1.3 GB/s | 1.2 GB/s |\n| 16 B | 2.9 GB/s | 3.5 GB/s |\n";
    assert_eq!(seen("x", text), []);
}

#[test]
fn addresses_tell_apart_what_nothing_else_does() {
    let run = |url: &str| {
        format!(
            "Running 1s test @ {url}\n  1 threads and 2 connections\nRequests/sec: 5.0\nTransfer/sec: 1KB\n\n"
        )
    };
    let two = run("http://h:8080/") + &run("http://h:8081/");
    assert_eq!(seen("x", &two)[1], row("x, port 8081", "c2", 5.0));
    let rates = |r: u32| format!("    wrk2 -R{r} -c2 http://h/\n{}", run("http://h/"));
    let figures = seen("x", &(rates(2000) + &rates(4000)));
    assert_eq!(
        (figures[0].1.as_str(), figures[1].1.as_str()),
        ("c2 2000/s", "c2 4000/s")
    );
    let same = run("http://h:8080/") + &run("http://h:8080/");
    assert_eq!(seen("x", &same)[1], row("x", "c2", 5.0));
}

#[test]
fn a_command_in_a_block_of_its_own_is_of_the_blocks_below() {
    let siege = |rate: f64| {
        format!(
            "```\nTransactions: 200 hits\nElapsed time: 3.2 secs\nTransaction rate: {rate} trans/sec\n```\n"
        )
    };
    let text = format!(
        "# One\n\n```\nsiege -c 100 http://h/\n```\n\na\n{}\nb\n{}\n# Two\n\nc\n{}",
        siege(62.5),
        siege(120.5),
        siege(70.5)
    );
    let expected = [
        row("One, a", "c100", 62.5),
        row("One, b", "c100", 120.5),
        row("Two, c", "any load", 70.5),
    ];
    assert_eq!(seen("x", &text), expected);
}

#[test]
fn quantities_below_each_other() {
    let text = "| Metric | nginx | caddy |\n|--|--|--|\n| Requests/sec | 200 | 100 |\n\
        | p99 (ms) | 3 | 4 |\n| CPU % | 50 | 60 |\n";
    let expected = [
        row("nginx", "any load", 200.0),
        row("caddy", "any load", 100.0),
    ];
    assert_eq!(seen("x", text), expected);
    let text = "| Param | Value |\n|--|--|\n| Framework | gin |\n| Connections | 64 |\n\
        | Requests/sec | 213.00 |\n| Memory, MiB | 119 |\n";
    assert_eq!(seen("x", text), [row("gin", "c64", 213.0)]);
    let text = "## gin\n\n| Metric | Value |\n|--|--|\n| Requests/sec | 213.00 |\n\
        | Mean latency | 4.2 ms |\n";
    assert_eq!(seen("x", text), [row("gin", "any load", 213.0)]);
}

#[test]
fn loads_beside_systems() {
    let text = "| Connections | A | B |\n|--|--|--|\n| 1 | 10 | 20 |\n| 8 | 11 | 21 |\n";
    assert_eq!(seen("x", text)[1], row("A", "c8", 11.0));
    let text = "*Just \"it\":*\n\nc1-t1: 10\nc4-t4: 20\nc8-t8: 30\n";
    assert_eq!(seen("x", text)[2], row("Just \"it\"", "c8 t8", 30.0));
}

#[test]
fn a_script_says_what_it_starts() {
    let run = |name: &str| {
        format!(
            "####\nStarting test for {name}\n####\nCmd: /bin/sh -c serve --worker-connections 1000 --bind 0.0.0.0:80 main:app\n\
             This is ApacheBench, Version 2.3\nConcurrency Level: 10\nRequests per second: 50.5 [#/sec] (mean)\n"
        )
    };
    let names: Vec<String> = seen("x", &(run("alpha") + &run("beta")))
        .into_iter()
        .map(|row| row.0)
        .collect();
    assert_eq!(names, ["alpha", "beta"]);
}

#[test]
fn a_label_with_an_id_stands_for_all_that_follows() {
    let id = "9ec46445a2d59749fb377d86343eebb1556f03d74c01a413872ae0f2637310da";
    let run = |tasks: u32| {
        format!(
            "Running 10s test @ http://h:5000\n  2 threads and {tasks} connections\nRequests/sec: 50.5\nTransfer/sec: 1KB\n\
             Number of Errors:       0\n"
        )
    };
    let group = |name: &str| {
        format!(
            "Benchmarking {name} with {id}\n\n{}{}{id}\n",
            run(2),
            run(8)
        )
    };
    let found = seen("x", &(group("alpha") + &group("beta")));
    let named: Vec<(&str, &str)> = found
        .iter()
        .map(|(name, load, _)| (&**name, &**load))
        .collect();
    let expected = [
        ("Benchmarking alpha", "c2 t2"),
        ("Benchmarking alpha", "c8 t2"),
        ("Benchmarking beta", "c2 t2"),
        ("Benchmarking beta", "c8 t2"),
    ];
    assert_eq!(named, expected);
}

#[test]
fn names_of_systems() {
    let text = "# Bench\n## Results - Execution 1\n### A\n\
        Running 1s test @ http://h/\n  1 threads and 2 connections\nRequests/sec: 5.0\nTransfer/sec: 1KB\n";
    assert_eq!(seen("x", text), [row("A", "c2", 5.0)]);
    let text = "Requests/sec: 5.0\n";
    assert_eq!(seen("x", text), [row("x", "any load", 5.0)]);
}
