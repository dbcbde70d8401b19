use super::super::flags::parse;
use super::*;
use prony_record::Outcomes;
use std::ffi::OsString;

fn flags(line: &str) -> H2loadFlags {
    parse(line.split(' ').map(OsString::from).collect()).unwrap()
}

fn seen(outcomes: Outcomes, statuses: &[(u16, u64)]) -> Observation {
    let mut seen = Observation {
        outcomes,
        measured_ns: 2 * SECOND,
        bytes_received: 2_048,
        body_bytes: 1_000,
        per_connection: vec![10, 30],
        ..Observation::default()
    };
    for &(status, times) in statuses {
        (0..times).for_each(|_| seen.outcomes.status.count(status));
    }
    seen
}

fn counts(line: &str, seen: &Observation, ended: LoadEnd) -> [u64; 7] {
    let it = Counts::new(&flags(line), seen, ended);
    let shown = [
        it.total,
        it.started,
        it.done,
        it.succeeded,
        it.failed,
        it.errored,
        it.timeout,
    ];
    assert_eq!(
        it.classes.iter().sum::<u64>(),
        it.done.min(it.classes.iter().sum())
    );
    shown
}

#[test]
fn a_report_without_a_load_is_the_originals() {
    let text = H2loadReport::nothing(&flags("-n 2 http://h")).text();
    assert_eq!(
        text,
        "\nfinished in 0us, 0.00 req/s, 0B/s\n\
         requests: 2 total, 0 started, 0 done, 0 succeeded, 2 failed, 2 errored, 0 timeout\n\
         status codes: 0 2xx, 0 3xx, 0 4xx, 0 5xx\n\
         traffic: 0B (0) total, 0B (0) headers (space savings 0.00%), 0B (0) data\n                     \
         min         max         mean         sd        +/- sd\n\
         time for request:        0us         0us         0us         0us     0.00%\n\
         time for connect:        0us         0us         0us         0us     0.00%\n\
         time to 1st byte:        0us         0us         0us         0us     0.00%\n\
         req/s           :       0.00        0.00        0.00        0.00   100.00%\n"
    );
}

#[test]
fn statuses_fail_and_are_no_errors() {
    let outcomes = Outcomes {
        ok: 30,
        wrong_answer: 10,
        timeout: 2,
        read_error: 3,
        connect_error: 5,
        ..Outcomes::default()
    };
    let it = seen(outcomes, &[(200, 28), (302, 2), (404, 6), (503, 3)]);
    assert_eq!(
        counts("-n 50 http://h", &it, LoadEnd::Itself),
        [50, 45, 40, 30, 20, 11, 2]
    );
    assert_eq!(
        counts("-D 2 http://h", &it, LoadEnd::Itself),
        [50, 45, 40, 30, 20, 11, 2]
    );
}

#[test]
fn what_was_not_sent_has_failed_unless_the_user_stopped_the_load() {
    let outcomes = Outcomes {
        ok: 5,
        in_flight_at_end: 2,
        ..Outcomes::default()
    };
    let it = seen(outcomes, &[(200, 5)]);
    let line = "-n 10 http://h";
    assert_eq!(counts(line, &it, LoadEnd::Expired), [10, 7, 5, 5, 5, 5, 2]);
    assert_eq!(counts(line, &it, LoadEnd::Stopped), [10, 7, 5, 5, 0, 0, 0]);
}

/// However a load went, the parts of its requests add up.
#[test]
fn parts_add_up() {
    let mut dice = 1_u64;
    let mut roll = |most: u64| {
        dice = dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % (most + 1)
    };
    for _ in 0..2_000 {
        let (ok, client, server, broken) = (roll(50), roll(5), roll(5), roll(5));
        let outcomes = Outcomes {
            ok,
            wrong_answer: client + server + broken,
            timeout: roll(4),
            read_error: roll(4),
            write_error: roll(4),
            connect_error: roll(4),
            in_flight_at_end: roll(9),
            ..Outcomes::default()
        };
        let it = seen(outcomes, &[(200, ok), (404, client), (500, server)]);
        for line in ["-D 1 http://h", "-n 1000 http://h"] {
            for ended in [LoadEnd::Itself, LoadEnd::Stopped, LoadEnd::Expired] {
                let [total, started, done, succeeded, failed, errored, timeout] =
                    counts(line, &it, ended);
                assert!(done <= started && succeeded <= done && errored <= failed);
                assert!(succeeded + failed <= total && timeout <= started);
                assert_eq!(failed - errored, client + server);
            }
        }
    }
}

#[test]
fn header_bytes_are_the_compressed_ones_over_http2() {
    let it = seen(
        Outcomes {
            ok: 40,
            ..Outcomes::default()
        },
        &[(200, 40)],
    );
    let mut detail = Detail::default();
    (detail.heads.compressed, detail.heads.plain) = (244, 1_588);
    let of = |spoken| {
        let flags = flags("-n 40 -c 2 http://h");
        H2loadReport::new(&flags, spoken, &it, &detail, LoadEnd::Itself).text()
    };
    let text = of(Spoken::Http2);
    assert!(
        text.contains("\nfinished in 2.00s, 20.00 req/s, 1.00KB/s\n"),
        "{text}"
    );
    assert!(text.contains("traffic: 2.00KB (2048) total, 244B (244) headers (space savings 84.63%), 1000B (1000) data\n"), "{text}");
    assert!(
        text.contains(
            "req/s           :       5.00       15.00       10.00        7.07   100.00%\n"
        ),
        "{text}"
    );
    let text = of(Spoken::Http1);
    assert!(
        text.contains("1.02KB (1048) headers (space savings 0.00%)"),
        "{text}"
    );
}

#[test]
fn first_bytes_and_lifetimes_are_those_of_connections() {
    let ms: Nanos = 1_000_000;
    let sample =
        |connection, connect: Nanos, sent: Nanos, first_byte: Nanos, done: Nanos| TraceSample {
            connection,
            connect: connect * ms,
            due: sent * ms,
            sent: sent * ms,
            first_byte: first_byte * ms,
            done: done * ms,
            status: 200,
            ..TraceSample::default()
        };
    let trace = [
        sample(1, 2, 10, 13, 14),
        sample(1, 0, 14, 15, 16),
        sample(2, 1, 21, 22, 24),
    ];
    assert_eq!(first_bytes(&trace).values(), [(2_000, 1), (5_000, 1)]);
    // Two answers in 8 ms, and one in 4 ms.
    assert_eq!(lifetimes(&trace), [250.0, 250.0]);
}
