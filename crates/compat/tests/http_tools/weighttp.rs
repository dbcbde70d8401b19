use crate::support::{
    answer, fields, golden, http_echo, prony, server, shape, unused_port, without_port,
};
use prony_compat::weighttp::main;
use std::net::SocketAddr;

/// Lines whose every figure follows from the command line and the server.
const COUNTS: [&str; 3] = ["requests", "status codes", "traffic"];

fn run(args: &[&str], addr: SocketAddr) -> String {
    let url = format!("http://{addr}/hoge");
    let done = prony(main, &[args, &[&url]].concat()).with(0);
    without_port(&done.out, addr)
}

fn compare(ours: &str, real: &str) {
    // The first line says who speaks.
    let body = |text: &str| shape(text).split_off(1);
    assert_eq!(body(ours), body(real));
    let (ours, real) = (fields(ours), fields(real));
    for name in COUNTS {
        assert_eq!(ours[name], real[name], "{name}");
    }
}

/// Debian has no weighttp. The golden files are outputs of version 0.4, built for the purpose.
#[test]
fn outputs_are_those_of_the_original() {
    let addr = http_echo();
    for (case, args) in [
        ("weighttp-close", &["-n", "50", "-c", "4"][..]),
        (
            "weighttp-keepalive",
            &["-n", "23", "-c", "4", "-t", "2", "-k"],
        ),
    ] {
        compare(&run(args, addr), &golden(case, None));
    }
}

#[test]
fn failures_are_counted() {
    let addr = server(|mut stream, _| answer(&mut stream, "404 Not Found", "abc"));
    let out = run(&["-n", "6", "-c", "2"], addr);
    let lines = fields(&out);
    assert_eq!(
        lines["requests"],
        "6 total, 6 started, 6 done, 0 succeeded, 6 failed, 0 errored"
    );
    assert_eq!(lines["status codes"], "0 2xx, 0 3xx, 6 4xx, 0 5xx");
    let out = run(&["-n", "4", "-c", "2"], unused_port());
    assert_eq!(
        fields(&out)["requests"],
        "4 total, 4 started, 4 done, 0 succeeded, 4 failed, 4 errored"
    );
}

#[test]
fn with_keep_alive_a_server_that_refuses_is_told_at_once() {
    let url = format!("http://{}/", unused_port());
    let done = prony(main, &["-n", "4", "-k", &url]).with(1);
    assert!(done.err.contains("Connection refused"), "{}", done.err);
}

#[test]
fn other_addresses() {
    let addr = http_echo();
    let url = format!("http://127.0.0.1:{}/", addr.port());
    let done = prony(main, &["-n", "1", "-6", &url]).with(1);
    assert!(
        done.err.contains("could not resolve hostname"),
        "{}",
        done.err
    );
    let done = prony(main, &["-n", "3", "-i", &url]).with(0);
    assert!(done.out.contains(" 0 bytes data"), "{}", done.out);
}

#[test]
fn quiet_silences_the_checks() {
    let url = format!("http://{}/", http_echo());
    assert!(!prony(main, &["-n", "3", &url]).err.is_empty());
    assert_eq!(prony(main, &["-n", "3", "--quiet", &url]).err, "");
}
