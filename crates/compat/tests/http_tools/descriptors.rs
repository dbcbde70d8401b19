//! Measurements with fewer file descriptors than connections.

use crate::support::{
    Run, answer, http_echo, if_started_with_few, original_with_few, prony_with_few, server,
};
use prony_compat::{ab, httperf, wrk};
use std::thread;
use std::time::Duration;

/// The number behind `name`.
fn number(text: &str, name: &str) -> u64 {
    let rest = text
        .split_once(name)
        .unwrap_or_else(|| panic!("no {name} in {text}"))
        .1;
    let digits = rest
        .trim_start()
        .split(|c: char| !c.is_ascii_digit())
        .next();
    digits.unwrap().parse().unwrap()
}

/// The others are errors, once each.
#[test]
fn wrk_measures_with_the_connections_that_it_gets() {
    if_started_with_few(wrk::main);
    let name = "descriptors::wrk_measures_with_the_connections_that_it_gets";
    let url = format!("http://{}/", http_echo());
    let args = ["-t2", "-c100", "-d1s", url.as_str()];
    let missing = |run: &Run| {
        assert_eq!(run.status, 0, "{run:#?}");
        let requests = run.out.lines().find(|line| line.contains(" requests in"));
        assert!(number(requests.unwrap(), " ") > 0, "{run:#?}");
        assert!(run.out.contains(", read 0, write 0, timeout 0"), "{run:#?}");
        number(&run.out, "Socket errors: connect ")
    };
    let ours = missing(&prony_with_few(name, 60, &args));
    assert!((41..100).contains(&ours), "{ours}");
    if let Some(real) = original_with_few("wrk", 60, &args) {
        // prony has a few files open that wrk has not.
        let real = missing(&real);
        assert!((real..real + 12).contains(&ours), "{ours} and {real}");
    }
}

/// Every connection is due while the first ones wait for their answers.
#[test]
fn httperf_counts_connections_without_a_descriptor() {
    if_started_with_few(httperf::main);
    let name = "descriptors::httperf_counts_connections_without_a_descriptor";
    let slow = server(|mut stream, _| {
        thread::sleep(Duration::from_secs(2));
        answer(&mut stream, "200 OK", "abc");
    });
    let port = slow.port().to_string();
    let args = [
        "--num-conns",
        "100",
        "--rate",
        "1000",
        "--server",
        "127.0.0.1",
        "--port",
        &port,
    ];
    let missing = |run: &Run| {
        assert_eq!(run.status, 0, "{run:#?}");
        let missing = number(&run.out, "fd-unavail ");
        assert_eq!(number(&run.out, "Errors: total "), missing, "{run:#?}");
        for made in ["Total: connections ", " requests ", " replies "] {
            assert_eq!(number(&run.out, made), 100 - missing, "{run:#?}");
        }
        missing
    };
    let ours = missing(&prony_with_few(name, 30, &args));
    assert!((71..100).contains(&ours), "{ours}");
    if let Some(real) = original_with_few("httperf", 30, &args) {
        let real = missing(&real);
        assert!((real..real + 12).contains(&ours), "{ours} and {real}");
    }
}

#[test]
fn ab_ends_without_a_report() {
    if_started_with_few(ab::main);
    let name = "descriptors::ab_ends_without_a_report";
    let url = format!("http://{}/", http_echo());
    for (connections, status) in [("10", 0), ("40", 24)] {
        let args = ["-q", "-n", "100", "-c", connections, url.as_str()];
        let ours = prony_with_few(name, 30, &args).with(status);
        if let Some(real) = original_with_few("ab", 30, &args) {
            let real = real.with(status);
            if status != 0 {
                assert_eq!(ours.err.lines().next(), real.err.lines().next());
            }
        }
    }
}
