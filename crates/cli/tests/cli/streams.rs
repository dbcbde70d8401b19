//! Responses that are streams of events: what they are recognised by, what ends them, and what is measured of them.

use crate::http2::{answers, data};
use crate::support::{Background, Place, Served, schema, valid};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Between two events, in seconds.
const GAP: f64 = 0.03;

/// Streams in the ways that servers do, and in some that they should not. The first path segment says how, the second how many
/// events.
const SERVER: &str = r##"
import socketserver, sys, time

GAP = float(sys.argv[2])
SSE = "text/event-stream; charset=utf-8"

class Streams(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def head(self, status="200 OK", kind=SSE, more="Transfer-Encoding: chunked"):
        lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", more, "", ""]
        self.wfile.write("\r\n".join(lines).encode())

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def events(self, n, event):
        for i in range(n):
            time.sleep(GAP)
            self.chunk(event(i))

    def end(self):
        self.wfile.write(b"0\r\n\r\n")

    def handle(self):
        while (line := self.rfile.readline()).strip():
            path = line.split()[1].decode().strip("/").split("/")
            while self.rfile.readline().strip():
                pass
            how, n = path[0], int((path + ["0"])[1])
            try:
                if not self.answer(how, n):
                    return
            except OSError:
                return

    def answer(self, how, n):
        event = lambda i: b'data: {"i": %d}\n\n' % i
        if how == "done":
            self.head()
            self.events(n, event)
            self.chunk(b"data: [DONE]\n\n")
            self.end()
        elif how == "tokens":
            # Three in an event.
            self.head()
            self.events(n, event)
            self.chunk(b'data: {"choices": [], "usage": {"completion_tokens": %d}}\n\n' % (3 * n))
            self.chunk(b"data: [DONE]\n\n")
            self.end()
        elif how == "endless":
            self.head()
            self.events(1 << 30, event)
        elif how == "lines":
            self.head(kind="application/x-ndjson")
            self.events(n, lambda i: b'{"i": %d}\r\n' % i)
            self.end()
        elif how == "chunks":
            self.head(kind="application/octet-stream")
            self.events(n, lambda i: b"part")
            self.end()
        elif how == "close":
            self.head(more="Connection: close")
            for i in range(n):
                time.sleep(GAP)
                # Every line end that there is, and an event in two pieces.
                self.wfile.write(b": note\r\rdata: a\r\ndata: b")
                self.wfile.flush()
                self.wfile.write(b"\n\r\n")
            return False
        elif how == "large":
            self.head()
            self.events(n, lambda i: b"data: " + b"x" * (4 << 20) + b"\n\n")
            self.end()
        elif how == "silent":
            # Only comments come after the first event.
            self.head()
            self.events(1, event)
            for _ in range(1 << 30):
                time.sleep(0.01)
                self.chunk(b": still here\n" * 100)
        elif how == "quiet":
            self.head()
            self.wfile.write(b"b\r\n: no events\r\n")
            time.sleep(60)
        elif how == "cut":
            self.head()
            self.events(n, event)
            self.wfile.write(b"40\r\ndata: ")
            return False
        elif how == "within":
            self.head()
            self.events(n, event)
            self.chunk(b"data: half")
            self.end()
        elif how == "encoded":
            self.head(more="Transfer-Encoding: chunked\r\nContent-Encoding: gzip")
            self.events(n, event)
            self.end()
        elif how == "busy":
            self.head(status="503 Service Unavailable", kind="application/json")
            self.events(1, lambda i: b'{"error": "busy"}')
            self.end()
        else:
            self.head(kind="text/plain", more="Content-Length: 0")
        return True

class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

with Server(("127.0.0.1", int(sys.argv[1])), Streams) as server:
    print("port", server.server_address[1], file=sys.stderr, flush=True)
    server.serve_forever()
"##;

struct Streams {
    place: Place,
    _server: Background,
    port: String,
}

impl Streams {
    fn start() -> Self {
        let place = Place::new();
        let program = place.file("streams.py", SERVER);
        let mut python = Command::new("python3");
        python.arg(program).args(["0", &GAP.to_string()]);
        let mut server = Background::start(&mut python);
        let line = server.line("port ");
        let port = line.trim().rsplit(' ').next().unwrap().to_owned();
        Self {
            place,
            _server: server,
            port,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// The report of a load of 12 streams over 4 connections, which ends with this status.
    fn load(&self, path: &str, more: &[&str], status: i32) -> Value {
        let url = self.url(path);
        let load = ["load", "--no-keep", "--json", "-c", "4", "--stream", &url];
        let number = match more.contains(&"-d") || more.contains(&"-n") {
            true => [].as_slice(),
            false => &["-n", "12"],
        };
        let line = [&load[..], number, more].concat();
        let report = self.place.prony(&line).with(status).json();
        valid(&schema("load"), &report);
        report
    }
}

fn seconds(report: &Value, of: &str, percentile: &str) -> f64 {
    let ns = report["latency"][of][percentile].as_u64();
    ns.unwrap_or_else(|| panic!("{of} {percentile} in {report:#}")) as f64 / 1e9
}

/// 12 streams came to their ends, with so many events each.
fn came(report: &Value, events: u64) {
    assert_eq!(report["outcomes"]["ok"], 12, "{report:#}");
    let seen = &report["events"];
    assert_eq!(seen["ended"], 12, "{report:#}");
    assert_eq!(seen["each"], events as f64, "{report:#}");
    assert_eq!(seen["events"], 12 * events, "{report:#}");
    let first = seconds(report, "first_event", "max");
    assert!(first >= GAP, "{report:#}");
    if events > 1 {
        assert_eq!(report["latency"]["gap"]["n"], 12 * (events - 1));
        assert!(seconds(report, "longest_gap", "max") >= GAP, "{report:#}");
        assert_eq!(report["latency"]["longest_gap"]["n"], 12);
    }
}

#[test]
fn streams_of_every_format_have_first_events_and_gaps() {
    let streams = Streams::start();
    came(&streams.load("done/5", &["--stream-end", "[DONE]"], 0), 5);
    // Without that it is an event like others.
    came(&streams.load("done/5", &[], 0), 6);
    came(&streams.load("lines/5", &[], 0), 5);
    came(&streams.load("chunks/5", &[], 0), 5);
    came(&streams.load("close/3", &[], 0), 3);
    came(&streams.load("large/2", &[], 0), 2);
    // In another format than its own it has other events, or none.
    let url = streams.url("lines/3");
    let wrong = [
        "load",
        "--no-keep",
        "--json",
        "-n",
        "4",
        "-c",
        "4",
        "--stream=sse",
    ];
    let report = streams.place.prony(&[&wrong[..], &[&url]].concat()).json();
    assert!(report["events"].is_null(), "{report:#}");
}

#[test]
fn a_stream_that_has_no_end_is_ended() {
    let streams = Streams::start();
    came(&streams.load("endless/0", &["--stream-events", "3"], 0), 3);
    let timed = streams.load("endless/0", &["--stream-time", "200ms"], 0);
    assert_eq!(timed["outcomes"]["ok"], 12, "{timed:#}");
    assert!(seconds(&timed, "response", "max") >= 0.2, "{timed:#}");
    // Also one without events.
    let quiet = streams.load("quiet/0", &["--stream-time", "200ms"], 0);
    assert_eq!(quiet["outcomes"]["ok"], 12, "{quiet:#}");
    // Neither side ends it: prony measures the events until the end of the load.
    let open = streams.load("endless/0", &["-d", "1s"], 0);
    let seen = &open["events"];
    assert_eq!((&seen["open"], &seen["ended"]), (&4.into(), &0.into()));
    assert!(seen["events"].as_u64().unwrap() > 4, "{open:#}");
    assert_eq!(open["latency"]["response"]["n"], 0, "{open:#}");
    assert!(seconds(&open, "gap", "p50") >= GAP, "{open:#}");
    let url = streams.url("endless/0");
    let load = ["load", "--no-keep", "-c", "4", "-d", "1s", "--stream", &url];
    let text = streams.place.prony(&load).with(0);
    for part in [" events/s", "\nfirst event ", "\ngap ", "4 open at the end"] {
        assert!(text.stdout.contains(part), "{text}");
    }
    assert!(!text.stdout.contains("unanswered"), "{text}");
}

#[test]
fn a_stream_that_breaks_is_told() {
    let streams = Streams::start();
    let wrong = |report: &Value, why: &str| {
        assert_eq!(report["outcomes"]["ok"], 0, "{report:#}");
        let told = report["wrong_answers"].to_string() + &report["errors"].to_string();
        assert!(told.contains(why), "{why}: {report:#}");
    };
    let without = streams.load("lines/2", &["--stream-end", "[DONE]"], 1);
    wrong(&without, "the stream ended after 2 events without");
    let within = streams.load("within/2", &[], 1);
    wrong(
        &within,
        "the stream ended within an event, after 2 whole ones",
    );
    wrong(
        &streams.load("encoded/2", &[], 1),
        "the events are encoded (gzip)",
    );
    let busy = streams.load("busy/1", &[], 1);
    wrong(&busy, "status 503");
    assert!(busy["events"].is_null(), "{busy:#}");
    let cut = streams.load("cut/2", &[], 1);
    assert_eq!(cut["outcomes"]["read_error"], 12, "{cut:#}");
    // A server that says nothing but comments is silent, however much it says.
    let silent = streams.load("silent/1", &["--timeout", "400ms", "-n", "4"], 1);
    assert_eq!(silent["outcomes"]["timeout"], 4, "{silent:#}");
    assert!(seconds(&silent, "longest_gap", "max") >= 0.4, "{silent:#}");
}

#[test]
fn requests_of_a_file_can_stream() {
    let streams = Streams::start();
    let file = "
[[request]]
name = 'stream'
path = '/done/4'
stream = { end = '[DONE]' }

[[request]]
name = 'first-two'
path = '/endless/0'
stream = { format = 'sse', events = 2 }
expect.status = 200
";
    streams.place.file("streams.toml", file);
    let url = streams.url("");
    let load = [
        "load",
        "-f",
        "streams.toml",
        "-n",
        "8",
        "-c",
        "2",
        "--json",
        &url,
    ];
    let report = streams.place.prony(&load).with(0).json();
    assert_eq!(report["outcomes"]["ok"], 8, "{report:#}");
    let answers = |at: usize| report["requests"][at]["outcomes"]["ok"].as_u64().unwrap();
    assert_eq!(report["requests"][0]["name"], "stream", "{report:#}");
    assert_eq!(
        report["events"]["events"],
        4 * answers(0) + 2 * answers(1),
        "{report:#}"
    );
    for (line, why) in [
        (
            "stream = { format = 'xml' }",
            "there are sse, ndjson and chunks",
        ),
        ("stream = { events = 0 }", "must be at least 1"),
        ("stream = { time = 'soon' }", "is no time"),
        ("stream = { end = '' }", "does not end a stream"),
    ] {
        let file = format!("[[request]]\nname = 'it'\npath = '/'\n{line}\n");
        streams.place.file("wrong.toml", &file);
        let load = ["load", "-f", "wrong.toml", &url];
        let refused = streams.place.prony(&load).with(1);
        assert!(refused.stderr.contains(why), "{refused}");
    }
}

#[test]
fn tokens_are_as_many_as_responses_say() {
    let streams = Streams::start();
    let counted = ["--stream-end", "[DONE]", "--stream-tokens"];
    let report = streams.load("tokens/4", &counted, 0);
    let tokens = &report["events"]["tokens"];
    assert_eq!(
        (&tokens["tokens"], &tokens["each"]),
        (&144.into(), &12.0.into())
    );
    assert!(tokens["per_second"].as_f64().unwrap() > 0.0, "{report:#}");
    let none = streams.load("done/4", &counted, 0);
    assert!(none["events"]["tokens"].is_null(), "{none:#}");
    let file = "[[request]]\nname = 'chat'\npath = '/tokens/4'\nstream = { end = '[DONE]', tokens = 'completion_tokens' }\n";
    streams.place.file("chat.toml", file);
    let url = streams.url("");
    let text = streams
        .place
        .prony(&["load", "-f", "chat.toml", "-n", "8", "-c", "2", &url]);
    assert!(text.stdout.contains("\ntokens       96, "), "{text}");
}

#[test]
fn good_responses_keep_all_limits_at_once() {
    let streams = Streams::start();
    // Three gaps of 30 ms are 22.5 ms for each of 5 events, and 8.2 ms for each of 12 tokens.
    let good = |more: &[&str]| {
        let limits = ["--slo", "tpot < 22ms", "--stream-end", "[DONE]"];
        let report = streams.load("tokens/4", &[&limits[..], more].concat(), 0);
        report["goodput"]["good"].as_u64().unwrap()
    };
    assert_eq!(good(&[]), 0);
    assert!(good(&["--stream-tokens"]) > 0);
    let slo = |limits: &str| streams.load("done/4", &["--slo", limits], 0)["goodput"].clone();
    let all = slo("ttft < 60s, gap < 60s, mean-gap < 60s, response < 60s");
    assert_eq!((&all["good"], &all["share"]), (&12.into(), &1.0.into()));
    let none = slo("first-event < 60s, gap < 1ms");
    assert_eq!(none["good"], 0, "{none:#}");
    let load = ["load", "--stream", "--slo", "gap < 5", "http://127.0.0.1:1"];
    let refused = streams.place.refused(&load);
    assert!(refused.stderr.contains("has no unit"), "{refused}");
}

/// Answers over HTTP/2 with three events, in two DATA frames that do not end where the events do, and does not end the stream.
fn three_events(client: &mut TcpStream, stream: [u8; 4]) -> std::io::Result<()> {
    client.write_all(&data(stream, "data: a\n\ndat", false))?;
    thread::sleep(Duration::from_secs_f64(GAP));
    client.write_all(&data(stream, "a: b\n\ndata: c\n\n", false))
}

#[test]
fn streams_over_http2_end_alone() {
    let place = Place::new();
    let url = format!("h2c://127.0.0.1:{}/", answers(three_events));
    let load = ["load", "--no-keep", "--json", "-n", "12", "-c", "1"];
    let more = [
        "--streams",
        "3",
        "--stream=sse",
        "--stream-events",
        "2",
        &url,
    ];
    let report = place.prony(&[&load[..], &more].concat()).with(0).json();
    assert_eq!(report["outcomes"]["ok"], 12, "{report:#}");
    assert_eq!(report["events"]["each"], 2.0, "{report:#}");
    // The connection stays.
    assert_eq!(report["connect"]["n"], 1, "{report:#}");
    let gap = report["latency"]["gap"]["p50"].as_u64();
    assert!(gap.is_none_or(|ns| ns as f64 >= GAP * 1e9), "{report:#}");
}

// Slow: a duel of two rounds, whose segments last as long as twenty streams.
#[test]
fn a_duel_and_a_capacity_know_events() {
    let place = Place::new();
    place.file("streams.py", SERVER);
    let side = |gap: &str| format!("python3 streams.py {{port}} {gap}");
    let (a, b) = (side("0.005"), side("0.01"));
    let duel = ["duel", &a, &b, "--path", "/done/3", "--stream", "--json"];
    let short = [
        "--rounds", "2", "-d", "600ms", "--warmup", "50ms", "-c", "8", "--rate", "60",
    ];
    let line = [&duel[..], &short].concat();
    let report = crate::duel::with_common_rate(|| place.prony(&line).with(0).json());
    valid(&schema("duel"), &report);
    let compared = report["comparisons"].to_string();
    for quantity in ["events", "p50-first-event", "p50-gap"] {
        assert!(compared.contains(&format!("\"{quantity}\"")), "{compared}");
    }
    let capacity = ["capacity", &a, "--path", "/done/3", "--stream", "--json"];
    let quick = ["--starts", "1", "-d", "200ms", "--max-time", "3s"];
    let limits = ["--p50-first-event", "20s", "--slo", "gap < 20s"];
    let report = place
        .prony(&[&capacity[..], &quick, &limits].concat())
        .json();
    valid(&schema("capacity"), &report);
    let limits = &report["limits"];
    assert_eq!(limits["latency"][0]["of"], "first-event", "{report:#}");
    assert_eq!(limits["good"], 0.99, "{report:#}");
}

/// Streams over TLS, two events to each request, without an end.
fn secured(client: TcpStream, config: Arc<ServerConfig>) {
    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), client);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: a\n\n";
    if let Ok(1..) = stream.read(&mut [0; 4096])
        && stream.write_all(head.as_bytes()).is_ok()
    {
        thread::sleep(Duration::from_secs_f64(GAP));
        let _ = stream.write_all(b"data: b\n\n");
        let _ = stream.read(&mut [0; 4096]);
    }
}

#[test]
fn streams_over_tls_are_ended_too() {
    let (port, certificate) = crate::tls::https_of("localhost", &[], secured);
    let place = Place::new();
    let ca = place.file("ca.pem", &certificate);
    let url = format!("https://localhost:{port}/");
    let load = [
        "load",
        "--no-keep",
        "--json",
        "-n",
        "8",
        "-c",
        "2",
        "--stream",
    ];
    let more = ["--stream-events", "2", "--ca", ca.to_str().unwrap(), &url];
    let report = place.prony(&[&load[..], &more].concat()).with(0).json();
    assert_eq!(report["outcomes"]["ok"], 8, "{report:#}");
    assert_eq!(report["events"]["each"], 2.0, "{report:#}");
    assert!(seconds(&report, "gap", "max") >= GAP, "{report:#}");
}

#[test]
fn the_clockwork_streams_on_time() {
    let server = Served::start(&["clockwork", "--events", "5", "--gap", "20ms", "--sleep"]);
    let place = Place::new();
    let url = server.http("/v1/chat/completions");
    let load = [
        "load",
        "--no-keep",
        "--json",
        "-n",
        "12",
        "-c",
        "4",
        "--stream",
    ];
    let report = place.prony(&[&load[..], &["--stream-end", "[DONE]", &url]].concat());
    let report = report.with(0).json();
    assert_eq!(report["events"]["events"], 60, "{report:#}");
    let gap = &report["latency"]["gap"];
    assert_eq!(gap["n"], 48, "{gap:#}");
    assert!(seconds(&report, "gap", "p50") >= 0.019, "{gap:#}");
}
