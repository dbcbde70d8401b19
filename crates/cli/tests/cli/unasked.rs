//! `prony load` against servers that send unsolicited bytes, loads beyond what can be carried out, and
//! measurements shorter than an answer.

use crate::http::{After, Constant};
use crate::support::{Background, Place, Served, raised, schema, valid};

#[test]
fn unsolicited_bytes_are_counted_and_quoted() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine, and more";
    let url = format!("http://{}/", Constant::new(answer, After::Keep).tcp());
    let place = Place::new();
    let load = ["load", "--quiet", "-n", "30", "-c", "3", &url];
    let done = place.prony(&[&load[..], &["--json"]].concat()).with(1);
    let report = done.json();
    valid(&schema("load"), &report);
    let outcomes = &report["outcomes"];
    assert_eq!(
        (&outcomes["ok"], &outcomes["wrong_answer"]),
        (&0.into(), &30.into()),
        "{done}"
    );
    assert_eq!(outcomes["unsolicited"], 30, "{done}");
    assert_eq!(
        report["unsolicited"],
        serde_json::json!([r#"", and more""#])
    );
    let text = "reading: bytes came that no request had asked for";
    assert_eq!(report["errors"][text], 30, "{done}");
    let names = raised(&report["checks"]);
    assert!(names.contains("unsolicited"), "{done}");
    let done = place.prony(&load).with(1);
    for part in [
        "wrong answers 30, unsolicited bytes 30",
        "serious: unsolicited",
        r#"(first: ", and more")"#,
    ] {
        assert!(done.stdout.contains(part), "{part}: {done}");
    }
}

#[test]
fn loads_beyond_the_limits_are_refused_with_the_limit() {
    let place = Place::new();
    let server = Served::start(&["http-echo"]);
    let url = server.http("/");
    let cases: [(&[&str], &str); 4] = [
        (
            &["--rate", "10G"],
            "--rate must be above 0 and at most 1000000000 requests per second",
        ),
        (&["--pipeline", "100000000"], "at most 4194304 requests"),
        (
            &["--threads", "5000", "-c", "6000"],
            "--threads must be at most 1024",
        ),
        (
            &["--pipeline", "60000", "--header", LONG],
            "--pipeline must be small enough",
        ),
    ];
    for (more, words) in cases {
        let arguments = [&["load", &url], more].concat();
        let done = place.refused(&arguments);
        let told: String = done.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.replace("│ ", "").contains(words), "{done}");
    }
}

/// A header field of 400 bytes.
const LONG: &str = concat!(
    "X: ",
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
);

#[test]
fn a_load_far_beyond_what_can_be_sent_ends_when_it_is_told_to() {
    let server = Served::start(&["http-echo"]);
    let place = Place::new();
    let url = server.http("/");
    let arguments = ["load", "-d", "600s", "--rate", "1G", "--json", &url];
    let mut prony = Background::start(&mut place.command(&arguments));
    prony.line("p99");
    prony.signal(libc::SIGTERM);
    let done = prony.end();
    let report = done.json();
    assert_eq!(report["interrupted"], true, "{done}");
    let outcomes = &report["outcomes"];
    assert!(outcomes["ok"].as_u64().unwrap() > 0, "{done}");
    assert!(
        outcomes["unsent_at_end"].as_u64().unwrap() > 100_000_000,
        "{done}"
    );
}

#[test]
fn a_measurement_shorter_than_an_answer_says_so() {
    let server = Served::start(&["clockwork", "--delay", "1500ms"]);
    let place = Place::new();
    let done = place
        .prony(&["load", "--quiet", "-d", "100ms", "-c", "8", &server.tcp()])
        .with(1);
    let text = "the measurement of 0.10 s was shorter than an answer: 8 requests were in flight";
    assert!(done.stdout.contains(text), "{done}");
}

// Slow: a server that is stopped after 1 s: its last answers are waited for until their time-out of 6 s.
#[test]
fn a_server_that_stops_answering_before_the_end_is_told_of() {
    let server = Served::start(&["tcp-echo"]);
    let place = Place::new();
    let url = server.tcp();
    let load = ["load", "-d", "4s", "--timeout", "6s", "-c", "8"];
    let load = [&load[..], &["--markdown", "-", &url]].concat();
    let mut prony = Background::start(&mut place.command(&load));
    prony.line("p99");
    server.signal(libc::SIGSTOP);
    let done = prony.end();
    // So that it can end.
    server.signal(libc::SIGCONT);
    let told = [
        "failed       unanswered at the end 8",
        "| unanswered at the end 8 |",
        "8 in flight at the end were never answered, and no other was: the server had stopped answering",
    ];
    for text in told {
        assert!(done.stdout.contains(text), "{text}: {done}");
    }
}
