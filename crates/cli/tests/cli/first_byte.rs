//! Time to the first byte of answers that come in parts.

use crate::http2::{answers, data};
use crate::support::{Background, Place, schema, valid};
use serde_json::Value;
use std::io::Write;
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Between the first byte of an answer and the rest.
const BETWEEN: Duration = Duration::from_millis(80);

/// Sends the first byte of each body at once, and the rest later: with a length, in chunks, or until the end of the connection.
const PARTS: &str = r#"
import socketserver, sys, time

class Parts(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self):
        while (line := self.rfile.readline()).strip():
            path = line.split()[1].decode()
            while self.rfile.readline().strip():
                pass
            head, first, rest = {
                "/length": ("Content-Length: 5", b"h", b"ello"),
                "/chunks": ("Transfer-Encoding: chunked", b"1\r\nh\r\n", b"4\r\nello\r\n0\r\n\r\n"),
                "/close": ("Connection: close", b"h", b"ello"),
                "/whole": ("Content-Length: 5", b"hello", b""),
            }.get(path, ("Content-Length: 0", b"", b""))
            self.wfile.write(b"HTTP/1.1 200 OK\r\n" + head.encode() + b"\r\n\r\n" + first)
            if rest:
                time.sleep(float(sys.argv[2]))
                self.wfile.write(rest)
            if path == "/close":
                return

class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

with Server(("127.0.0.1", int(sys.argv[1])), Parts) as server:
    print("port", server.server_address[1], file=sys.stderr, flush=True)
    server.serve_forever()
"#;

fn loaded(place: &Place, url: &str, more: &[&str]) -> Value {
    let load = ["load", "--no-keep", "--json", "-n", "80", "-c", "4", url];
    let report = place.prony(&[&load[..], more].concat()).with(0).json();
    valid(&schema("load"), &report);
    assert_eq!(report["outcomes"]["ok"], 80, "{report:#}");
    report["latency"].clone()
}

fn median(latency: &Value, of: &str) -> Duration {
    Duration::from_nanos(latency[of]["p50"].as_u64().unwrap())
}

/// The last byte comes after the first by what the server waits; a few first bytes may be read late.
fn came_in_parts(latency: &Value) {
    assert_eq!(latency["first_byte"]["n"], latency["response"]["n"]);
    let (first, last) = (median(latency, "first_byte"), median(latency, "response"));
    assert!(last >= BETWEEN && first < last, "{latency:#}");
}

#[test]
fn the_first_byte_comes_before_the_last_over_http_1() {
    let place = Place::new();
    let program = place.file("parts.py", PARTS);
    let mut python = Command::new("python3");
    let between = BETWEEN.as_secs_f64().to_string();
    python.arg(program).args(["0", &between]);
    let mut server = Background::start(&mut python);
    let line = server.line("port ");
    let port = line.trim().rsplit(' ').next().unwrap();
    let url = |path: &str| format!("http://127.0.0.1:{port}{path}");
    for path in ["/length", "/chunks", "/close"] {
        came_in_parts(&loaded(&place, &url(path), &[]));
    }
    // The same by a file of requests.
    let file = "[[request]]\nname = 'parts'\npath = '/chunks'\nexpect.body = 'hello'\n";
    place.file("parts.toml", file);
    came_in_parts(&loaded(&place, &url("/"), &["-f", "parts.toml"]));
    // What comes in one part has no other time.
    let whole = loaded(&place, &url("/whole"), &[]);
    assert_eq!(whole["first_byte"]["p50"], whole["response"]["p50"]);
    let with = |path: &str, more: &[&str]| {
        let load = ["load", "--no-keep", "-n", "80", "-c", "4"];
        place.prony(&[&load[..], more, &[url(path).as_str()]].concat())
    };
    let in_parts = with("/length", &[]).with(0);
    assert!(in_parts.stdout.contains("\nfirst byte "), "{in_parts}");
    let markdown = with("/length", &["--markdown", "-"]).with(0);
    assert!(markdown.stdout.contains("First byte: p50 "), "{markdown}");
    let whole = with("/whole", &[]).with(0);
    assert!(!whole.stdout.contains("first byte"), "{whole}");
    with("/length", &["--fail-if", "p50-ttfb > 10s"]).with(0);
    with("/length", &["--fail-if", "p50-ttfb > 1ns"]).with(3);
}

/// Answers over HTTP/2 with `h`, and `ello` later.
fn in_parts(client: &mut TcpStream, stream: [u8; 4]) -> std::io::Result<()> {
    client.write_all(&data(stream, "h", false))?;
    thread::sleep(BETWEEN);
    client.write_all(&data(stream, "ello", true))
}

#[test]
fn the_first_byte_comes_before_the_last_over_http_2() {
    let port = answers(in_parts);
    let place = Place::new();
    came_in_parts(&loaded(&place, &format!("h2c://127.0.0.1:{port}/"), &[]));
}

// Slow: a duel of two rounds, whose segments last as long as twenty answers.
#[test]
fn a_duel_and_a_capacity_know_first_bytes() {
    let place = Place::new();
    place.file("parts.py", PARTS);
    let side = |between: &str| format!("python3 parts.py {{port}} {between}");
    let (a, b) = (side("0.01"), side("0.02"));
    let duel = ["duel", &a, &b, "--path", "/length", "--json"];
    let short = [
        "--rounds", "2", "-d", "600ms", "--warmup", "50ms", "-c", "8", "--rate", "60",
    ];
    let line = [&duel[..], &short].concat();
    let report = crate::duel::with_common_rate(|| place.prony(&line).with(0).json());
    valid(&schema("duel"), &report);
    let compared = report["comparisons"].to_string();
    assert!(compared.contains("\"p50-ttfb\""), "{compared}");
    let capacity = ["capacity", &a, "--path", "/length", "--p50-ttfb", "20s"];
    let quick = ["--starts", "1", "-d", "200ms", "--max-time", "3s", "--json"];
    let report = place.prony(&[&capacity[..], &quick].concat()).json();
    let limit = &report["limits"]["latency"][0];
    assert_eq!(limit["of"], "ttfb", "{report:#}");
}
