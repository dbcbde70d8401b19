//! `--compressed`: answers that have a content coding, right ones and others.

use crate::http::{After, Constant};
use crate::support::{Done, Place, schema, valid};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

const BODY: &str = r#"{"id":17,"name":"a shop, a shop, a shop, a shop"}"#;

/// Expects the decoded body in every way that there is.
const FILE: &str = r#"
sample = 1.0

[[request]]
name = "whole"
path = "/"
expect.body = '{"id":17,"name":"a shop, a shop, a shop, a shop"}'

[[request]]
name = "parts"
path = "/"
expect.length = 49
expect.contains = "a shop, a shop"
expect.matches = '^\{"id":\d+,'
expect.json = { "$.id" = 17 }

[[request]]
name = "own"
path = "/?id={{id = int 17 17}}"
expect.json = { "$.id" = "{{id}}" }
"#;

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

/// The URL of a server with this body, which it calls encoded.
fn server(encoding: &str, body: &[u8]) -> String {
    Constant::right(&format!("Content-Encoding: {encoding}\r\n"), body)
}

fn file(place: &Place) -> String {
    let file = place.path().join("shop.toml");
    std::fs::write(&file, FILE).unwrap();
    file.display().to_string()
}

fn load(place: &Place, more: &[&str]) -> Done {
    let first = ["load", "--quiet", "--no-keep", "--compressed", "-c", "2"];
    place.prony(&[&first, more].concat())
}

#[test]
fn a_load_of_one_request_and_of_a_file_judges_decoded_bodies() {
    let place = Place::new();
    let file = file(&place);
    for (encoding, body) in [
        ("gzip", gzip(BODY.as_bytes())),
        ("gzip, gzip", gzip(&gzip(BODY.as_bytes()))),
    ] {
        let url = server(encoding, &body);
        let one = ["-n", "500", "--json", "--expect-body", BODY, &url];
        let report = load(&place, &one).with(0).json();
        valid(&schema("load"), &report);
        assert_eq!(report["outcomes"]["ok"], 500);
        let seen = &report["requests"][0]["encodings"][encoding];
        // The sample, of which the first answer is always one.
        let n = seen["answers"].as_u64().unwrap();
        assert!((1..500).contains(&n), "{n}");
        assert_eq!(seen["decoded"], n);
        assert_eq!(seen["wire_bytes"], n * body.len() as u64);
        assert_eq!(seen["decoded_bytes"], n * BODY.len() as u64);
        let report = load(&place, &["-n", "300", "--json", "-f", &file, &url]);
        let report = report.with(0).json();
        assert_eq!(report["outcomes"]["ok"], 300, "{report}");
        for request in report["requests"].as_array().unwrap() {
            let answers = &request["encodings"][encoding]["answers"];
            assert_eq!(answers, &request["outcomes"]["ok"]);
        }
    }
    let url = server("gzip", &gzip(BODY.as_bytes()));
    let text = load(&place, &["-n", "300", "-f", &file, &url]).with(0);
    let line = "encoded      gzip 100%; a decoded body has 49.0 B, ";
    assert!(text.stdout.contains(line), "{text}");
    assert!(text.stdout.contains("(of 300 looked at)"), "{text}");
}

#[test]
fn it_asks_for_encodings_unless_the_request_does() {
    let place = Place::new();
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    for (own, expected) in [
        (None, "Accept-Encoding: deflate, gzip, br, zstd"),
        (Some("Accept-Encoding: br"), "Accept-Encoding: br"),
    ] {
        let server = Constant::new(answer, After::Keep);
        let url = format!("http://{}/", server.tcp());
        let field: Vec<&str> = own.iter().flat_map(|own| ["-H", own]).collect();
        let more = [&["-n", "10", "--expect-body", "hi"], &field[..], &[&url]].concat();
        let text = load(&place, &more).with(0);
        assert!(text.stdout.contains("encoded      identity 100%"), "{text}");
        let first = server.first();
        let asked = |line: &&str| line.to_ascii_lowercase().starts_with("accept-encoding");
        let lines: Vec<&str> = first.lines().filter(asked).collect();
        assert_eq!(lines, [expected]);
    }
}

// Slow: 8 loads that fail, after each of which TLS is tried for 1 s.
#[test]
fn what_is_not_what_it_says_is_wrong_before_a_load_and_in_it() {
    let place = Place::new();
    let file = file(&place);
    let whole = gzip(BODY.as_bytes());
    let other = BODY.replace("17", "71");
    for (encoding, body, expected) in [
        ("gzip", gzip(other.as_bytes()), "expected 17, found 71"),
        (
            "gzip",
            whole[..whole.len() - 4].to_vec(),
            "the body's gzip is cut short",
        ),
        (
            "gzip",
            BODY.into(),
            "Content-Encoding says gzip, which the body is not",
        ),
        (
            "snappy",
            whole.clone(),
            "Content-Encoding: snappy: only deflate",
        ),
    ] {
        let url = server(encoding, &body);
        let refused = load(&place, &["-n", "30", "-f", &file, &url]).with(1);
        assert!(refused.stderr.contains("3 of 3 in"), "{refused}");
        assert!(refused.stderr.contains(expected), "{refused}");
        let loaded = load(
            &place,
            &["-n", "30", "-f", &file, "--no-verify", "--json", &url],
        );
        let report = loaded.with(1).json();
        assert_eq!(report["outcomes"]["wrong_answer"], 30);
        let verified = place
            .prony(&["verify", "--compressed", &file, &url])
            .with(1);
        assert!(verified.stderr.contains("9 of 9 failed"), "{verified}");
        assert!(verified.stdout.contains(expected), "{verified}");
    }
}

#[test]
fn a_bomb_is_decoded_to_the_limit() {
    let place = Place::new();
    let url = server("gzip", &gzip(&vec![b' '; 8 << 20]));
    let one = ["-n", "20", "--max-body", "100000", "--json", &url];
    let report = load(&place, &one).json();
    let wrong = report["wrong_answers"][0].as_str().unwrap();
    assert!(wrong.contains("longer than 100000 bytes"), "{wrong}");
}

#[test]
fn without_it_bodies_are_judged_as_they_come() {
    let place = Place::new();
    let file = file(&place);
    let url = server("gzip", &gzip(BODY.as_bytes()));
    let plain = [
        "load",
        "--quiet",
        "--no-keep",
        "-n",
        "30",
        "-f",
        &file,
        &url,
    ];
    let refused = place.prony(&plain).with(1);
    assert!(refused.stderr.contains("3 of 3 in"), "{refused}");
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn duels_and_capacity_searches_look_at_decoded_answers_first() {
    let place = Place::new();
    let right = server("gzip", &gzip(b"hello"));
    let wrong = server("gzip", b"hello");
    let quick = ["--rounds", "2", "-d", "300ms", "--warmup", "0s", "--quiet"];
    let duel = |one: &str, other: &str, more: &[&str]| {
        let first = ["duel", "--compressed", "--expect-body", "hello", one, other];
        place.prony(&[&first[..], &quick, more].concat())
    };
    let done = duel(&right, &right, &["--json"]);
    let report = done.json();
    valid(&schema("duel"), &report);
    let checks = report["checks"].to_string();
    assert!(!checks.contains("wrong-answers"), "{report}");
    let refused = duel(&right, &wrong, &[]).with(1);
    assert!(
        refused.stderr.contains("which the body is not"),
        "{refused}"
    );
    let refused = place.prony(&["capacity", "--compressed", &wrong]).with(1);
    assert!(
        refused.stderr.contains("which the body is not"),
        "{refused}"
    );
}

// Slow: waits for its turn to load, like every duel, which is then refused.
#[test]
fn what_has_no_encodings_is_refused() {
    let place = Place::new();
    let url = server("gzip", &gzip(b"hello"));
    for (line, expected) in [
        (
            &["load", "--compressed", "tcp://127.0.0.1:1"][..],
            "is for HTTP",
        ),
        (
            &[
                "duel",
                "--compressed",
                "--contract",
                "http-echo",
                &url,
                &url,
            ],
            "a contract has its own requests",
        ),
    ] {
        let refused = place.refused(line);
        assert!(refused.stderr.contains(expected), "{refused}");
    }
}
