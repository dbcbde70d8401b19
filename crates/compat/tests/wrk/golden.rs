//! Outputs that the real wrk and wrk2 have printed: ours have the same keys, units and
//! columns. How they were made is in `tests/golden/wrk/README.md`.

use crate::server::{Server, answer, ok};
use crate::shape::shape;
use crate::support::prony;
use std::path::Path;

fn golden(name: &str) -> String {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/wrk");
    std::fs::read_to_string(place.join(name)).unwrap()
}

fn prints(name: &str, server: &Server, flags: &[&str]) {
    let url = server.url("/x");
    let ran = prony(&[flags, &[&url]].concat());
    assert_eq!(ran.status, 0, "{}", ran.err);
    // The heading names another port.
    let skip = |text: &str| shape(text).split_off(1);
    assert_eq!(skip(&golden(name)), skip(&ran.out), "{name}\n{}", ran.out);
}

// Slow: 4 loads of 1 s, the shortest there are.
#[test]
fn wrk() {
    let server = Server::always(ok("hello"));
    prints("plain.txt", &server, &["-t2", "-c4", "-d1"]);
    prints("latency.txt", &server, &["-t1", "-c2", "-d1", "--latency"]);
    let server = Server::always(answer("404 Not Found", "no"));
    prints("not-found.txt", &server, &["-t1", "-c2", "-d1"]);
    let server = Server::new(|_, _| (Vec::new(), false));
    prints("closed.txt", &server, &["-t1", "-c2", "-d1"]);
}

// Slow: 3 loads of 1 s, the shortest there are.
#[test]
fn wrk2() {
    let server = Server::always(ok("hello"));
    prints("wrk2-plain.txt", &server, &["-t1", "-c4", "-d1", "-R200"]);
    prints(
        "wrk2-latency.txt",
        &server,
        &["-t1", "-c4", "-d1", "-R200", "-L"],
    );
    prints(
        "wrk2-uncorrected.txt",
        &server,
        &["-t1", "-c4", "-d1", "-R200", "-U"],
    );
}
