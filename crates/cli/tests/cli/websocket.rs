//! WebSocket on the command line. What is said on a connection is tested in the engine, the contract in the lab.

use crate::support::{PRONY, Place, Served};
use prony_engine::protocol::tls::SelfSigned;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

/// A server in a thread of this process that answers every connection with these bytes; gives its port.
fn saying(bytes: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = client.read(&mut [0; 4096]);
            let _ = client.write_all(bytes);
            let _ = client.read_to_end(&mut Vec::new());
        }
    });
    port
}

fn ws(server: &Served, path: &str) -> String {
    server.http(path).replacen("http://", "ws://", 1)
}

#[test]
fn a_load_is_made_over_websocket() {
    let server = Served::start(&["ws-echo"]);
    let url = ws(&server, "/any/path?x=1");
    let place = Place::new();
    let load = ["load", "-n", "300", "-c", "3"];
    let more = [
        "--pipeline",
        "4",
        "--size",
        "1000",
        "--text",
        "--json",
        &url,
    ];
    let seen = place.prony(&[&load[..], &more].concat()).with(0).json();
    assert_eq!(seen["outcomes"]["ok"], 300, "{seen:#}");
    let messages = &seen["websocket"];
    assert_eq!(messages["size"], 1000, "{seen:#}");
    assert_eq!(messages["text"], true, "{seen:#}");
    assert_eq!(messages["in_flight"], 4, "{seen:#}");
    for transport in ["epoll", "io_uring"] {
        let each = ["--no-keepalive", "--transport", transport, "--json", &url];
        let seen = place.prony(&[&load[..], &each].concat()).with(0).json();
        assert_eq!(seen["outcomes"]["ok"], 300, "{seen:#}");
    }
    let rate = [
        "--rate",
        "2000",
        "-H",
        "Origin: http://x",
        "-u",
        "a:b",
        &url,
    ];
    let text = place.prony(&[&load[..], &rate].concat()).with(0);
    let line = "WebSocket    binary messages of 32 bytes, 1 in flight on each connection";
    assert!(text.stdout.contains(line), "{text}");
    let kept = place.prony(&["export", "--format", "markdown"]).with(0);
    assert!(kept.stdout.contains("ws://127.0.0.1:"), "{kept}");
}

#[test]
fn the_echo_is_served_over_tls() {
    let place = Place::new();
    let made = SelfSigned::new(&["127.0.0.1"]).unwrap();
    let [cert, key] = [
        ("cert.pem", made.certificate_pem()),
        ("key.pem", made.key_pem()),
    ]
    .map(|(name, pem)| place.file(name, &pem).display().to_string());
    for model in ["epoll", "io-uring", "threads"] {
        let tls = ["--protocol", "tls", "--cert", &cert, "--key", &key];
        let server = Served::start(&[&["ws-echo", "--model", model][..], &tls].concat());
        let url = ws(&server, "/").replacen("ws://", "wss://", 1);
        let load = [
            "load", "-n", "300", "-c", "3", "--json", "--ca", &cert, &url,
        ];
        let seen = place.prony(&load).with(0).json();
        assert_eq!(seen["outcomes"]["ok"], 300, "{seen:#}");
    }
    let serve = [
        "serve",
        "ws-echo",
        "--protocol",
        "h2",
        "--cert",
        &cert,
        "--key",
        &key,
    ];
    let done = place.prony(&serve).with(1);
    assert!(done.stderr.contains("not served over HTTP/2"), "{done}");
}

#[test]
fn what_cannot_work_over_websocket_is_said() {
    let at = |port: u16| format!("ws://127.0.0.1:{port}/");
    let http = at(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    let missing = at(saying(
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    ));
    let other_key = at(saying(
        b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n",
    ));
    let echo = Served::start(&["ws-echo"]);
    let good = ws(&echo, "/");
    let secure = good.replacen("ws://", "wss://", 1);
    let plain = echo.http("/");
    let place = Place::new();
    let file = place.file("a.toml", "[[request]]\nname = 'a'\npath = '/'\n");
    let file = file.to_str().unwrap();
    for (arguments, said) in [
        (&["load", &http][..], "answered with status 200, not 101"),
        (&["load", &missing], "is this the path?"),
        (&["load", &other_key], "does not fit the key"),
        (&["load", &secure], "without TLS it is ws://"),
        (&["load", "--size", "9", &plain], "are for WebSocket"),
        (
            &["load", "--message", "x", &good],
            "--message is for tcp:// and grpc://",
        ),
        (
            &["load", "-b", "x", &good],
            "--body is for requests over HTTP",
        ),
        (&["load", "-f", file, &good], "must begin with http://"),
        (
            &["load", "--protocol", "h2", &secure],
            "does not fit the URL",
        ),
        (
            &["load", "-H", "Upgrade: x", &good],
            "belongs to WebSocket's handshake",
        ),
        (
            &["load", "--size", "99999999", &good],
            "at most 67108864 bytes",
        ),
        (&["load", "--insecure", &good], "options of TLS"),
        (
            &["load", "--subprotocol", "a b", &good],
            "a subprotocol's name",
        ),
        (&["verify", file, &good], "not sent over WebSocket"),
        (&["duel", &missing, &good], "is this the path?"),
        (&["duel", &plain, &good], "one side does not speak it"),
        (
            &["duel", "--size", "9", &plain, &plain],
            "are for WebSocket",
        ),
        (
            &["duel", "--contract", "http-echo", &good, &good],
            "http-echo is no contract",
        ),
        (
            &["capacity", "--p99", "1s", &http],
            "answered with status 200",
        ),
    ] {
        let done = place.fails(arguments);
        let flat: Vec<&str> = done.stderr.split_whitespace().collect();
        assert!(flat.join(" ").contains(said), "{arguments:?}: {done}");
        assert_eq!(done.stdout, "", "{done}");
    }
}

const SHORT: [&str; 10] = [
    "--json",
    "--rounds",
    "2",
    "--only",
    "throughput",
    "-d",
    "100ms",
    "--warmup",
    "0s",
    "-c",
];

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn duels_are_fought_over_websocket() {
    let place = Place::new();
    let duel = [&["duel"][..], &SHORT, &["2", "--size", "100", "--text"]].concat();
    let (one, other) = (Served::start(&["ws-echo"]), Served::start(&["ws-echo"]));
    place
        .prony(&[&duel[..], &[&ws(&one, "/a"), &ws(&other, "/a")]].concat())
        .with(0);
    let kept = place.prony(&["export", "--format", "json"]).with(0).json();
    let trials = kept["trials"].as_array().unwrap();
    assert!(!trials.is_empty());
    let asked = &kept["run"]["experiment"]["contract"];
    assert_eq!(asked, "messages over WebSocket at /a");
    assert!(
        trials
            .iter()
            .all(|trial| trial["load"]["size"] == 100 && trial["load"]["text"] == true)
    );
    // Servers that prony starts, and one of the catalog by its contract.
    let prony = PRONY;
    let line = format!("{prony} serve ws-echo --listen :{{port}}");
    place
        .prony(&[&duel[..], &["--protocol", "ws", &line, &line]].concat())
        .with(0);
    for name in ["one", "other"] {
        let manifest = "title = 'prony'\nlanguage = 'Rust'\nmodel = 'epoll'\ncontracts = ['ws-echo']\n\
                        run = '{prony} serve {contract} --listen [{host}]:{port}'\n";
        place.manifest(name, manifest);
    }
    let contract = ["--contract", "ws-echo", "one", "other"];
    place.prony(&[&duel[..], &contract].concat()).with(0);
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn a_capacity_is_found_over_websocket() {
    let place = Place::new();
    let server = Served::start(&["ws-echo"]);
    let url = ws(&server, "/");
    let search = [
        "capacity", "--json", "--p99", "20ms", "-d", "200ms", "-c", "2", "--warmup", "100ms",
        "--starts", "1", &url,
    ];
    let report = place.prony(&search).json();
    assert!(
        !report["steps"].as_array().unwrap().is_empty(),
        "{report:#}"
    );
}
