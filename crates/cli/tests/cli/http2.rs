//! HTTP/2 on the command line. What is said on a connection is tested in the engine.

use crate::support::{Place, Served};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// A frame's header.
pub fn frame(length: u8, kind: u8, flags: u8, stream: [u8; 4]) -> Vec<u8> {
    [&[0, 0, length, kind, flags][..], &stream].concat()
}

/// A DATA frame with this text; `end`: the last of its stream.
pub fn data(stream: [u8; 4], text: &str, end: bool) -> Vec<u8> {
    [
        frame(text.len() as u8, 0, u8::from(end), stream),
        text.into(),
    ]
    .concat()
}

/// Reads the frames of a client, and answers each request with status 200 and what `body` writes.
fn serve(
    mut client: TcpStream,
    body: fn(&mut TcpStream, [u8; 4]) -> std::io::Result<()>,
) -> std::io::Result<()> {
    client.read_exact(&mut [0; 24])?;
    client.write_all(&frame(0, 4, 0, [0; 4]))?;
    loop {
        let mut header = [0; 9];
        client.read_exact(&mut header)?;
        let length = usize::from(header[1]) << 8 | usize::from(header[2]);
        client.read_exact(&mut vec![0; length])?;
        if header[3] == 1 {
            let stream: [u8; 4] = header[5..].try_into().expect("four bytes");
            client.write_all(&[frame(1, 1, 4, stream), vec![0x88]].concat())?;
            body(&mut client, stream)?;
        }
    }
}

/// A server in threads of this process, for as long as it lives, with what is done with each connection; returns its port.
pub fn serves(serve: impl Fn(TcpStream) -> std::io::Result<()> + Copy + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || serve(client));
        }
    });
    port
}

/// A server of HTTP/2 whose bodies are written by `body`; returns its port.
pub fn answers(body: fn(&mut TcpStream, [u8; 4]) -> std::io::Result<()>) -> u16 {
    serves(move |client| serve(client, body))
}

fn hello(client: &mut TcpStream, stream: [u8; 4]) -> std::io::Result<()> {
    client.write_all(&data(stream, "hello", true))
}

#[test]
fn a_load_is_made_over_http2() {
    let url = format!("h2c://127.0.0.1:{}/", answers(hello));
    let place = Place::new();
    let load = ["load", "-n", "200", "-c", "2", "--expect-body", "hello"];
    let more = ["--streams", "8", "--window", "70000", "--json", &url];
    let seen = place.prony(&[&load[..], &more].concat()).with(0).json();
    assert_eq!(seen["outcomes"]["ok"], 200, "{seen:#}");
    assert_eq!(seen["http2"]["streams"], 8, "{seen:#}");
    assert_eq!(seen["http2"]["window"], 70_000, "{seen:#}");
    // In the notebook too it is one over HTTP/2.
    let kept = place.prony(&["report"]).with(0).stdout;
    assert!(kept.contains("c2 s8 h2c"), "{kept}");
    let text = place.prony(&[&load[..], &[&url]].concat()).with(0);
    let line = "HTTP/2       1 stream in flight on each connection";
    assert!(text.stdout.contains(line), "{text}");
}

const FILE: &str = "
[[request]]
name = 'page'
path = '/page/{{int 1 100}}'
expect.matches = '^/page/[0-9]+ at '

[[request]]
name = 'order'
path = '/orders'
body = 'one of {{seq}}'
headers = { Content-Type = 'text/plain' }
expect.status = 200
expect.contains = '/orders at '
";

// Slow: waits for its turn to load, then a duel: a pilot and 2 rounds; 3 further commands.
#[test]
fn the_requests_of_a_file_are_sent_over_http2() {
    let place = Place::new();
    let server = Served::start(&["http-echo", "--protocol", "h2c"]);
    let url = server.http("/").replacen("http:", "h2c:", 1);
    let file = place.file("shop.toml", FILE);
    let file = file.to_str().unwrap();
    let seen = place
        .prony(&[
            "load",
            "-f",
            file,
            "-n",
            "1000",
            "-c",
            "2",
            "--threads",
            "1",
            "--streams",
            "8",
            "--json",
            &url,
        ])
        .with(0)
        .json();
    assert_eq!(seen["outcomes"]["ok"], 1000, "{seen:#}");
    assert_eq!(seen["http2"]["streams"], 8, "{seen:#}");
    assert_eq!(seen["requests"][1]["name"], "order", "{seen:#}");
    // Shares are exact in 1,000 requests of a thread.
    assert_eq!(seen["requests"][1]["outcomes"]["ok"], 500, "{seen:#}");
    let verified = place.prony(&["verify", file, &url]).with(0).stdout;
    assert!(
        verified.contains("passed: order, on streams at once: 5 answers"),
        "{verified}"
    );
    assert_eq!(verified.matches("passed").count(), 6, "{verified}");
    let duel = [&["duel", "--json", "-f", file][..], &SHORT, &["2"]].concat();
    let report = place
        .prony(&[&duel[..], &["--streams", "4", &url, &url]].concat())
        .with(0)
        .json();
    assert_eq!(report["requests"][0]["name"], "page", "{report:#}");
    // What is wrong is told before the load.
    let wrong = place.file("wrong.toml", &FILE.replace("/orders at", "/nothing at"));
    let refused = place
        .prony(&["load", "-f", wrong.to_str().unwrap(), "-n", "10", &url])
        .with(1);
    assert!(
        refused
            .stderr
            .contains("order: expected a body that contains"),
        "{refused}"
    );
}

// Slow: 19 processes of prony, of which 9 wait for their turn to load, and load nothing.
#[test]
fn what_cannot_work_over_http2_is_said() {
    let http1 = serves(|mut client| {
        client.read_exact(&mut [0; 24])?;
        client.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")?;
        client.read_to_end(&mut Vec::new()).map(drop)
    });
    let place = Place::new();
    let old = format!("h2c://127.0.0.1:{http1}/");
    let new = format!("h2c://127.0.0.1:{}/", answers(hello));
    let plain = format!("http://127.0.0.1:{http1}/");
    let request = "[[request]]\nname = 'a'\npath = '/'\n";
    let file = place.file("a.toml", request);
    let upgrades = format!("{request}headers = {{ Upgrade = 'x' }}\n");
    let upgrades = place.file("b.toml", &upgrades);
    for (arguments, said) in [
        (&["load", &old][..], "speaks HTTP/1.1, not HTTP/2"),
        (
            &["load", "--protocol", "h2", &plain],
            "does not fit the URL",
        ),
        (&["load", "--streams", "2", &plain], "are for HTTP/2"),
        (
            &["load", "--pipeline", "2", &old],
            "--pipeline is for HTTP/1.1",
        ),
        (
            &["load", "-H", "Connection: close", &old],
            "no header field \"Connection\"",
        ),
        (
            &["load", "-f", file.to_str().unwrap(), &old],
            "speaks HTTP/1.1, not HTTP/2",
        ),
        (
            &["load", "-f", upgrades.to_str().unwrap(), &new],
            "no header field \"Upgrade\"",
        ),
        (
            &[
                "load",
                "-f",
                file.to_str().unwrap(),
                "--pipeline",
                "2",
                &new,
            ],
            "--streams N has N requests in flight",
        ),
        (
            &["verify", upgrades.to_str().unwrap(), &new],
            "no header field \"Upgrade\"",
        ),
        (
            &["verify", file.to_str().unwrap(), &old],
            "speaks HTTP/1.1, not HTTP/2",
        ),
        (&["duel", &old, &old], "speaks HTTP/1.1, not HTTP/2"),
        (
            &["capacity", "--p99", "1s", &old],
            "speaks HTTP/1.1, not HTTP/2",
        ),
        (
            &["duel", "--streams", "2", &plain, &plain],
            "are for HTTP/2",
        ),
        (
            &["duel", "--http2", &new, &new],
            "--protocol h2 does not fit the URL",
        ),
        (
            &["duel", "--streams", "2", &plain, &new],
            "one speaks HTTP/1.1",
        ),
        (
            &["duel", "--contract", "http-echo", &new, &new],
            "verification: answer (one request): expected Content-Type",
        ),
        (
            &["duel", "-f", upgrades.to_str().unwrap(), &new, &new],
            "no header field \"Upgrade\"",
        ),
        (
            &["duel", "-H", "Connection: close", &new, &new],
            "no header field \"Connection\"",
        ),
        (
            &["duel", "--expect-status", "404", &new, &new],
            "answered with status 200",
        ),
    ] {
        // What the server answers and what a file has are no mistakes in the command line.
        let answered = ["verification", "answered", "HTTP/1.1, not"];
        let answered = answered.iter().any(|one| said.contains(one));
        let verified = arguments[0] == "duel" && said.starts_with("no header field");
        let code = if answered || verified { 1 } else { 2 };
        let done = place.fails(arguments).with(code);
        assert!(done.stderr.contains(said), "{arguments:?}: {done}");
        assert_eq!(done.stdout, "", "{done}");
    }
}

/// The same server as a program: it listens where it is told.
const PROGRAM: &str = r"
import socket, sys, threading

def frame(length, kind, flags, stream):
    return bytes([0, 0, length, kind, flags]) + stream

def serve(client):
    with client, client.makefile('rb') as asked:
        asked.read(24)
        client.sendall(frame(0, 4, 0, bytes(4)))
        while len(header := asked.read(9)) == 9:
            asked.read(header[1] << 8 | header[2])
            if header[3] == 1:
                stream = header[5:]
                client.sendall(frame(1, 1, 4, stream) + b'\x88' + frame(5, 0, 1, stream) + b'hello')

listener = socket.create_server(('127.0.0.1', int(sys.argv[1])))
while True:
    client, _ = listener.accept()
    threading.Thread(target=serve, args=(client,), daemon=True).start()
";

const SHORT: [&str; 7] = ["--rounds", "2", "-d", "100ms", "--warmup", "0s", "-c"];

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn duels_are_fought_over_http2() {
    let place = Place::new();
    let duel = [
        &["duel", "--json", "--only", "throughput"][..],
        &SHORT,
        &["2"],
    ]
    .concat();
    let url = format!("h2c://127.0.0.1:{}/", answers(hello));
    place
        .prony(&[&duel[..], &["--streams", "4", &url, &url]].concat())
        .with(0);
    let kept = place.prony(&["export", "--format", "json"]).with(0).json();
    let trials = kept["trials"].as_array().unwrap();
    assert!(!trials.is_empty());
    assert_eq!(kept["run"]["experiment"]["contract"], "GET / over HTTP/2");
    assert!(
        trials.iter().all(|trial| trial["load"]["pipeline"] == 4),
        "{kept:#}"
    );
    // HTTP/1.1 against HTTP/2.
    let other = Served::start(&["http-echo"]);
    let report = place
        .prony(&[&duel[..], &[&other.http("/"), &url]].concat())
        .with(0)
        .json();
    let name = report["sides"][1]["name"].as_str().unwrap();
    assert!(url.contains(name) && name.starts_with(':'), "{report:#}");
    // Servers that prony starts.
    let program = place.file("server.py", PROGRAM);
    let line = format!("python3 {} {{port}}", program.display());
    place
        .prony(&[&duel[..], &["--protocol", "h2c", &line, &line]].concat())
        .with(0);
    // Without --protocol the server is not understood.
    let refused = place.prony(&[&duel[..], &[&line, &line]].concat());
    assert_eq!(refused.code, Some(1), "{refused}");
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn a_capacity_is_found_over_http2() {
    let place = Place::new();
    let url = format!("h2c://127.0.0.1:{}/", answers(hello));
    let search = [
        "capacity", "--json", "--p99", "20ms", "-d", "200ms", "-c", "2", "--starts", "1",
    ];
    let report = place
        .prony(&[&search[..], &["--warmup", "100ms", "--streams", "4", &url]].concat())
        .json();
    assert!(
        !report["steps"].as_array().unwrap().is_empty(),
        "{report:#}"
    );
}
