use super::super::testing::{CheckId, of, wrk};
use prony_checks::Severity;

#[test]
fn a_run_of_another_length() {
    let stopped = wrk(&[("30.00s", "2.83s"), ("960000", "90560")]);
    assert_eq!(of(CheckId::LabelDisagrees, &stopped)[0].lines, [1, 11]);
    let absurd = wrk(&[("30.00s", "307445734491.24m"), ("32000.00", "0.00")]);
    assert_eq!(of(CheckId::LabelDisagrees, &absurd).len(), 1);
    assert_eq!(
        of(
            CheckId::LabelDisagrees,
            &wrk(&[("30.00s", "31.10s"), ("960000", "995200")])
        ),
        []
    );
}

#[test]
fn a_protocol_that_a_tool_does_not_speak() {
    let text = format!("## HTTP/2\n\n{}", wrk(&[]));
    assert_eq!(of(CheckId::LabelDisagrees, &text)[0].lines, [1, 3]);
    assert_eq!(
        of(CheckId::LabelDisagrees, &text.replace("HTTP/2", "HTTP/1.1")),
        []
    );
    let h2load = |heading: &str, saved: &str| {
        format!(
            "## {heading}\n\nfinished in 2.00s, 500.00 req/s, 1.00MB/s\n\
             requests: 1000 total, 1000 started, 1000 done, 1000 succeeded, 0 failed, 0 errored, 0 timeout\n\
             traffic: 80KB (80000) total, 8KB (8000) headers (space savings {saved}), 57KB (57000) data\n"
        )
    };
    assert_eq!(
        of(CheckId::LabelDisagrees, &h2load("plain http/1.1", "91.23%"))[0].lines,
        [1, 5]
    );
    assert_eq!(
        of(CheckId::LabelDisagrees, &h2load("plain http/1.1", "0.00%")),
        []
    );
    assert_eq!(
        of(CheckId::LabelDisagrees, &h2load("plain h2c", "91.23%")),
        []
    );
}

#[test]
fn connections_that_were_to_be_kept_and_were_not() {
    let text = |kept: &str| {
        format!(
            "This is ApacheBench, Version 2.3\n\n\
             Concurrency Level:      100\nTime taken for tests:   3.895 seconds\nComplete requests:      100000\n\
             Failed requests:        0\n{kept}Requests per second:    25673.26 [#/sec] (mean)\n"
        )
    };
    let none = of(
        CheckId::LabelDisagrees,
        &text("Keep-Alive requests:    0\n"),
    );
    assert_eq!(none[0].lines, [7]);
    assert!(
        none[0]
            .finding
            .text
            .contains("each of its 100,000 requests")
    );
    for fine in ["", "Keep-Alive requests:    99000\n"] {
        assert_eq!(of(CheckId::LabelDisagrees, &text(fine)), [], "{fine}");
    }
}

#[test]
fn labels_and_commands() {
    let wrong = of(CheckId::LabelDisagrees, &format!("c256-t4\n{}", wrk(&[])));
    assert_eq!(wrong[0].lines, [1, 3]);
    assert!(
        wrong[0]
            .finding
            .text
            .contains("labelled 256 connections, run with 64")
    );
    assert_eq!(
        of(CheckId::LabelDisagrees, &format!("t4-c64\n{}", wrk(&[]))),
        []
    );
    assert_eq!(
        of(CheckId::LabelDisagrees, &format!("nginx\n{}", wrk(&[]))),
        []
    );
    let command = |command: &str| {
        of(
            CheckId::LabelDisagrees,
            &format!("    {command} http://x/\n{}", wrk(&[])),
        )
    };
    assert_eq!(command("wrk -c64 -t4 -d30s"), []);
    assert_eq!(command("wrk -c64 -t4 -d60s").len(), 1);
    assert_eq!(command("wrk -c65 -t8 -d30s")[0].lines, [1, 3]);
    let table =
        "    wrk -t12 -c400 http://h/\n\n| server | req/s |\n|--|--|\n| a | 10 |\n| b | 20 |\n";
    assert_eq!(of(CheckId::LabelDisagrees, table)[0].lines, [1]);
    let dropped = |text: &str| {
        of(
            CheckId::LabelDisagrees,
            &wrk(&[("4 threads and 64 connections", text)]),
        )
    };
    assert_eq!(dropped("20 threads and 50 connections")[0].lines, [2]);
    let few = dropped("12 threads and 400 connections");
    assert_eq!(few[0].finding.severity, Severity::Note);
    assert_eq!(dropped("16 threads and 400 connections"), []);
    // Which is of something else.
    assert_eq!(command("ab -c65 -n8"), []);
}

#[test]
fn wrk_rounds_minutes() {
    let text = |command: &str| {
        let output = wrk(&[
            ("30s test", "2m test"),
            ("30.00s", "1.67m"),
            ("960000", "3206400"),
        ]);
        format!("    wrk -t4 -c64 -d {command} http://10.0.0.2:8000/\n\n{output}")
    };
    assert_eq!(of(CheckId::LabelDisagrees, &text("100s")), []);
    assert_eq!(of(CheckId::LabelDisagrees, &text("30s")).len(), 1);
}
