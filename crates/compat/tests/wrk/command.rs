//! Behaviour of `prony wrk` that the original does not have: rates, checks, a stop.

use crate::server::{Server, ok};
use crate::shape::number;
use crate::support::{guarded, prony};
use std::thread;
use std::time::Duration;

// Slow: loads of 2 s and 1 s.
#[test]
fn with_a_rate_it_is_wrk2() {
    let server = Server::always(ok("hello"));
    let ran = prony(&["-t2", "-c4", "-d2", "-R", "100", "-L", &server.url("/")]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    // Every request that is due is sent; the last ones may be answered after the end.
    let requests = number(&ran.out, " requests in").unwrap();
    assert!(requests <= 200, "{}", ran.out);
    assert!(
        ran.out
            .contains("  Latency Distribution (HdrHistogram - Recorded Latency)\n")
    );
    assert!(
        ran.out.contains("Total count    =          200]"),
        "{}",
        ran.out
    );
    assert!(!ran.out.contains("Uncorrected"), "{}", ran.out);
    let both = prony(&["-t1", "-c1", "-d1", "-R", "50", "-U", &server.url("/")]);
    assert!(
        both.out
            .contains("HdrHistogram - Uncorrected Latency (measured without")
    );
}

#[test]
fn a_time_out_is_counted_and_is_in_the_distribution() {
    let server = Server::always(Vec::new());
    let ran = prony(&[
        "-t1",
        "-c3",
        "-d2",
        "--timeout",
        "1",
        "--latency",
        &server.url("/"),
    ]);
    assert_eq!(ran.status, 0);
    let timeouts = number(&ran.out, ", timeout ").unwrap();
    assert!(timeouts >= 3, "{}", ran.out);
    assert_eq!(number(&ran.out, " requests in"), Some(0));
    let slowest = ran.out.lines().find(|line| line.contains("99%")).unwrap();
    // Of the time-out at least; the moment until it was sent is a part of it.
    let seconds = slowest.trim().trim_start_matches("99%").trim();
    assert!(
        seconds.starts_with("1.") && seconds.ends_with('s'),
        "{slowest:?}"
    );
    assert!(
        ran.err.contains("prony: "),
        "the checks say it: {}",
        ran.err
    );
}

#[test]
fn quiet_silences_the_checks_and_nothing_else() {
    let server = Server::always(ok("x"));
    let ran = prony(&[
        "-t1",
        "-c1",
        "-d1",
        "--quiet",
        "-H",
        "nonsense",
        &server.url("/"),
    ]);
    assert_eq!(ran.err, "");
    assert!(ran.out.contains("Requests/sec"));
    let loud = prony(&[
        "-t1",
        "-c1",
        "-d1",
        "-H",
        "nonsense",
        "-B",
        &server.url("/"),
    ]);
    assert!(
        loud.err.contains("-H 'nonsense' is not sent"),
        "{}",
        loud.err
    );
    assert!(loud.err.contains("-B is not supported"), "{}", loud.err);
}

#[test]
fn a_stop_keeps_what_was_measured() {
    let server = Server::always(ok("x"));
    let ran = guarded(&["-t2", "-c4", "-d1h", &server.url("/")], &|control| {
        let control = control.clone();
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(300));
            control.stop();
        });
    });
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.out.starts_with("Running 60m test"), "{}", ran.out);
    assert!(number(&ran.out, " requests in").unwrap() > 0, "{}", ran.out);
}

#[test]
fn by_the_name_of_wrk2_a_rate_is_wanted() {
    let said = |args: &[&str]| {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut console = prony_compat::Console {
            out: &mut out,
            err: &mut err,
            guard: &|_| {},
        };
        let status =
            prony_compat::wrk::main_wrk2(args.iter().map(Into::into).collect(), &mut console);
        (status, String::from_utf8(err).unwrap())
    };
    let (status, err) = said(&["-c1", "-t1", "http://127.0.0.1:1/"]);
    assert_eq!(status, 1);
    assert!(err.contains("Throughput MUST be specified"), "{err}");
    let server = Server::always(ok("x"));
    let (status, err) = said(&[
        "-c1",
        "-t1",
        "-d1",
        "-R50",
        "-D",
        "exp",
        "--quiet",
        &server.url("/"),
    ]);
    assert_eq!((status, err.as_str()), (0, ""));
}
