//! Scenes that other load generators were reported to get wrong: servers that are old, odd or asked in the wrong way, and
//! the reports about them.

use crate::http::{After, Constant};
use crate::support::{Done, Place};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

const RIGHT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A server that serves each connection in its own thread.
fn served(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            thread::spawn(move || serve(stream));
        }
    });
    addr
}

/// Reads a request without a body; false when the client has closed.
fn heard(stream: &mut TcpStream) -> bool {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4_096];
    while !bytes.ends_with(b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(n @ 1..) => bytes.extend_from_slice(&buffer[..n]),
            _ => return false,
        }
    }
    true
}

fn load(url: &str, more: &[&str]) -> Done {
    let place = Place::new();
    let connections: &[&str] = if more.contains(&"-c") {
        &[]
    } else {
        &["-c", "2"]
    };
    place.prony(&[&["load", "--no-keep"], connections, more, &[url]].concat())
}

#[track_caller]
fn checks(ran: &Done, name: &str) -> Option<(String, String)> {
    let report = ran.json();
    let all = report["checks"].as_array().unwrap();
    let found = all.iter().find(|check| check["name"] == name)?;
    let text = |key: &str| found[key].as_str().unwrap().to_owned();
    Some((text("severity"), text("text")))
}

#[test]
fn redirects_are_not_the_page() {
    let moved = "HTTP/1.1 301 Moved\r\nLocation: https://h/\r\nContent-Length: 0\r\n\r\n";
    let url = format!("http://{}/", Constant::new(moved, After::Keep).tcp());
    let text = load(&url, &["-n", "50"]).with(0).stdout;
    assert!(text.contains("statuses     301: 50"), "{text}");
    assert!(text.contains("redirects: 50 of 50"), "{text}");
    let expected = load(&url, &["-n", "50", "--expect-status", "301", "--json"]).with(0);
    assert_eq!(expected.json()["statuses"]["301"], 50);
    assert_eq!(checks(&expected, "redirects"), None);
    let right = Constant::right("", b"ok");
    let right = load(&right, &["-n", "50"]).with(0).stdout;
    assert!(!right.contains("statuses"), "{right}");
}

#[test]
fn a_request_that_closes_has_its_own_connection() {
    // The server goes on, whatever it was asked.
    let url = format!("http://{}/", Constant::new(RIGHT, After::Keep).tcp());
    let more = ["-n", "40", "-H", "Connection: close", "--json"];
    let report = load(&url, &more).with(0).json();
    assert_eq!(report["outcomes"]["ok"], 40);
    assert!(report["connect"]["n"].as_u64().unwrap() >= 40, "{report:#}");
    let place = Place::new();
    let file = place.file(
        "a.toml",
        "[[request]]\nname = \"a\"\npath = \"/\"\nheaders.Connection = \"close\"\n",
    );
    let file = file.display().to_string();
    let args = [
        "load",
        "--no-keep",
        "-c",
        "2",
        "-n",
        "40",
        "--no-verify",
        "--json",
        "-f",
        &file,
    ];
    let report = place.prony(&[&args[..], &[&url]].concat()).with(0).json();
    assert!(report["connect"]["n"].as_u64().unwrap() >= 40, "{report:#}");
}

#[test]
fn fields_that_frame_are_refused() {
    let url = format!("http://{}/", Constant::new(RIGHT, After::Keep).tcp());
    for field in ["Content-Length: 3", "transfer-encoding: chunked"] {
        let ran = load(&url, &["-n", "2", "-m", "POST", "-b", "x", "-H", field]).with(1);
        assert!(ran.stderr.contains("made from the body"), "{ran}");
    }
    // What is right may be said.
    load(
        &url,
        &[
            "-n",
            "2",
            "-m",
            "POST",
            "-b",
            "abc",
            "-H",
            "Content-Length: 3",
        ],
    )
    .with(0);
    let place = Place::new();
    for (line, word) in [
        ("headers.Content-Length = \"1\"", "made from the body"),
        ("path = \"/a#b\"", "a fragment"),
    ] {
        let path = if line.starts_with("path") {
            ""
        } else {
            "path = \"/\""
        };
        let text = format!("[[request]]\nname = \"a\"\n{path}\n{line}\n");
        let file = place.file("a.toml", &text).display().to_string();
        let ran = place
            .prony(&["load", "--no-keep", "-f", &file, &url])
            .with(1);
        assert!(ran.stderr.contains(word), "{ran}");
    }
}

// Slow: set-up waits for the time-out of 5 s of a server that speaks first; 2 loads of 0.3 s.
#[test]
fn a_server_of_http2_is_recognised() {
    let addr = served(|mut stream| {
        let _ = stream.write_all(&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 16]);
        let _ = stream.read(&mut [0; 4_096]);
        thread::sleep(Duration::from_millis(50));
    });
    let url = format!("http://{addr}/");
    let ran = load(&url, &["-d", "300ms"]).with(1);
    assert!(ran.stderr.contains(&format!("try h2c://{addr}/")), "{ran}");
    assert!(ran.stdout.contains("speaks HTTP/2 without TLS"), "{ran}");
    // One that waits for the client's preface, and ends what is none.
    let addr = served(|mut stream| {
        let mut first = [0; 24];
        if stream.read_exact(&mut first).is_ok() && first.starts_with(b"PRI * HTTP/2.0") {
            let _ = stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
            thread::sleep(Duration::from_millis(50));
        }
    });
    let ran = load(&format!("http://{addr}/"), &["-d", "300ms"]).with(1);
    assert!(ran.stderr.contains(&format!("try h2c://{addr}/")), "{ran}");
}

#[test]
fn old_but_valid_answers_are_right() {
    for answer in [
        &b"HTTP/1.1 200 OK\r\nX-Long: a\r\n  b\r\nContent-Length: 2\r\n\r\nok"[..],
        b"HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200\r\ncontent-length:2\r\n\r\nok",
        b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
        b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 \xc3\xa4\r\nX: \xe4\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n002 ;a=\"b\"\r\nok\r\n0\r\nT: a\r\n\tb\r\n\r\n",
    ] {
        let url = format!("http://{}/", Constant::new(answer, After::Keep).tcp());
        let ran = load(&url, &["-n", "20", "--expect-body", "ok", "--json"]).with(0);
        assert_eq!(ran.json()["outcomes"]["ok"], 20, "{}", answer.escape_ascii());
    }
}

#[test]
fn a_server_that_closes_idle_connections_is_not_in_doubt() {
    let addr = served(|mut stream| {
        stream
            .set_read_timeout(Some(Duration::from_millis(150)))
            .unwrap();
        let mut byte = [0];
        while stream.peek(&mut byte).is_ok_and(|n| n > 0) && heard(&mut stream) {
            let _ = stream.write_all(RIGHT);
        }
        let _ = stream.write_all(
            b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        );
    });
    let more = ["--rate", "8", "-c", "10", "-d", "1s", "--json"];
    let ran = load(&format!("http://{addr}/"), &more).with(0);
    assert_eq!(checks(&ran, "unsolicited"), None, "{ran}");
    let (severity, text) = checks(&ran, "idle-closed").unwrap_or_else(|| panic!("{ran}"));
    assert_eq!(severity, "note");
    assert!(text.contains("408"), "{text}");
    // A request may cross the server's 408: then that is its answer, or its connection has ended.
    let outcomes = &ran.json()["outcomes"];
    let crossed = ["wrong_answer", "read_error", "write_error"];
    let crossed: u64 = crossed.iter().filter_map(|n| outcomes[n].as_u64()).sum();
    let right = outcomes["ok"].as_u64().unwrap();
    assert_eq!(right + crossed, 8, "{ran}");
    assert!(right > crossed, "{ran}");
}

// Slow: 5 loads with a time-out of 0.3 s, after which TLS and HTTP/2 are tried, each for as long.
#[test]
fn a_time_out_says_how_far_its_answer_had_come() {
    for (answer, word) in [
        (&b""[..], "no byte of the answer had come"),
        (b"HTTP/1.1 20", "a part of the answer's head"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
            "nothing of its body",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
            "at least 4 bytes of its body",
        ),
        (
            b"HTTP/1.1 200 OK\r\n\r\nhello",
            "without Content-Length, and at least 4 bytes of a body that ends with its connection",
        ),
    ] {
        let addr = served(move |mut stream| {
            if heard(&mut stream) {
                let _ = stream.write_all(answer);
                let _ = stream.read(&mut [0; 16]);
            }
        });
        let more = ["-n", "2", "--timeout", "300ms", "--json"];
        let ran = load(&format!("http://{addr}/"), &more).with(1);
        let (_, text) = checks(&ran, "errors").unwrap_or_else(|| panic!("{ran}"));
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn a_server_that_closes_after_each_answer_has_not_stopped() {
    let addr = served(|mut stream| {
        if heard(&mut stream) {
            let _ = stream.write_all(RIGHT);
            // The next request is on its way when the connection ends.
            let _ = heard(&mut stream);
        }
    });
    let ran = load(&format!("http://{addr}/"), &["-d", "500ms", "--json"]).with(0);
    let (_, text) = checks(&ran, "errors").unwrap_or_else(|| panic!("{ran}"));
    assert!(text.contains("--no-keepalive loads it"), "{text}");
    assert!(!text.contains("stopped"), "{text}");
}

#[test]
fn a_number_of_requests_is_that_number_after_a_warm_up() {
    let addr = served(|mut stream| {
        while heard(&mut stream) {
            thread::sleep(Duration::from_millis(40));
            let _ = stream.write_all(RIGHT);
        }
    });
    let url = format!("http://{addr}/");
    let more = ["-n", "20", "-c", "4", "--warmup", "300ms", "--json"];
    let report = load(&url, &more).with(0).json();
    assert_eq!(report["outcomes"]["ok"], 20, "{report:#}");
    assert_eq!(report["latency"]["response"]["n"], 20, "{report:#}");
}
