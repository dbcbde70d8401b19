//! Outputs and texts with nothing wrong in them raise nothing.

use prony_audit::{CheckId, Remark, audit};

fn remarks(name: &str, text: &str) -> Vec<Remark> {
    audit(&[(name.to_owned(), text.to_owned())]).remarks
}

/// A golden file, as if client and server had been on two machines.
fn elsewhere(name: &str) -> String {
    let path = format!("{}/tests/audit/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path)
        .unwrap()
        .replace("127.0.0.1", "10.0.0.2")
}

#[test]
fn outputs_of_tools_that_do_not_invent_anything() {
    for name in [
        "wrk2.txt",
        "wrk2-uncorrected.txt",
        "oha.txt",
        "oha.json",
        "hey.txt",
        "h2load.txt",
        "k6.txt",
        "k6.json",
    ] {
        assert_eq!(remarks(name, &elsewhere(name)), [], "{name}");
    }
}

#[test]
fn short_runs_are_only_short() {
    for name in [
        "ab.txt",
        "ab-keepalive.txt",
        "httperf.txt",
        "weighttp-0.3.txt",
        "weighttp-0.5.txt",
    ] {
        let remarks = remarks(name, &elsewhere(name));
        let names: Vec<CheckId> = remarks.iter().map(|r| r.finding.name).collect();
        assert_eq!(names, [CheckId::TooShort], "{name}");
    }
}

/// wrk's output for a server that stalls: the mean is that of 136 requests in flight, of 32.
#[test]
fn wrk_invents_even_with_a_good_server() {
    let remarks = remarks("wrk.txt", &elsewhere("wrk.txt"));
    let names: Vec<CheckId> = remarks.iter().map(|r| r.finding.name).collect();
    assert_eq!(names, [CheckId::LittlesLaw, CheckId::BackFilled]);
}

/// A page as one would wish it: every server three times, on two machines, with figures that fit.
#[test]
fn a_good_page() {
    let mut text =
        "# Servers\n\nEvery server was started three times, in changing order.\n\n".to_owned();
    for (name, rate) in [("nginx", 40_000.0), ("node", 20_000.0), ("play", 30_000.0)] {
        text += &format!("## {name}\n\n");
        for run in [0.99, 1.0, 1.01] {
            let rate = rate * run;
            let ms = 64.0 / rate * 1e3;
            text += &format!(
                "    $ wrk -t4 -c64 -d60s http://10.0.0.2/\n    Running 1m test @ http://10.0.0.2/\n      \
                 4 threads and 64 connections\n      Thread Stats   Avg      Stdev     Max   +/- Stdev\n        \
                 Latency     {ms:.2}ms  100.00us   {:.2}ms   90.00%\n        Req/Sec    10.00k   300.00    12.00k    70.00%\n      \
                 {:.0} requests in 1.00m, {:.2}MB read\n    Requests/sec:  {rate:.2}\n    Transfer/sec:      5.00MB\n\n",
                1.9 * ms,
                rate * 60.0,
                rate * 60.0 * 130.0 / 1_048_576.0,
            );
        }
    }
    text += "## Summary\n\n| server | run 1 | run 2 | run 3 | mean | relative |\n|--|--|--|--|--|--|\n\
        | nginx | 39600 | 40000 | 40400 | 40000 | 1.00 |\n\
        | node | 19800 | 20000 | 20200 | 20000 | 0.50 |\n\
        | play | 29700 | 30000 | 30300 | 30000 | 0.75 |\n\nnode / nginx = 0.5\n";
    assert_eq!(remarks("page.md", &text), []);
}

#[test]
fn texts_about_other_things() {
    let changelog = "# Changes\n\n## 1.2.3\n\n- 3 % faster parsing\n- supports wrk and ab\n\n\
        | version | date | downloads |\n|--|--|--|\n| 1.2.3 | 2024-01-02 | 1,234 |\n| 1.2.2 | 2023-12-31 | 2,345 |\n";
    let config =
        "server {\n  listen 127.0.0.1:80;\n}\n{ \"a\": 1 }\nport: 80\nworkers: 4\nretries: 3\n";
    let prices = "item,price\napple,1.20\npear,1.10\nplum,1.05\nMean,1.12\n";
    for (name, text) in [("c.md", changelog), ("c.conf", config), ("c.csv", prices)] {
        assert_eq!(remarks(name, text), [], "{name}");
    }
}
