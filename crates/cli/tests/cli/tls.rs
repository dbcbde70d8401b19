//! Servers that speak TLS: what is measured is measured over TLS, in every command.

use crate::support::Place;
use prony_engine::protocol::tls::SelfSigned;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n";

fn https() -> (u16, String) {
    https_for("localhost")
}

/// An HTTPS server in threads of this process, for as long as it lives; gives its port and its certificate,
/// which is for this name.
pub fn https_for(name: &str) -> (u16, String) {
    https_of(name, &[], serve)
}

/// The same with these protocols (ALPN), and with what is done with each connection.
pub fn https_of(
    name: &str,
    protocols: &[&str],
    serve: fn(TcpStream, Arc<ServerConfig>),
) -> (u16, String) {
    let made = SelfSigned::new(&[name]).unwrap();
    let pem = made.certificate_pem();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.certificate], made.key.into())
        .unwrap();
    let protocols = protocols.iter();
    config.alpn_protocols = protocols.map(|it| it.as_bytes().to_vec()).collect();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let config = Arc::clone(&config);
            thread::spawn(move || serve(client, config));
        }
    });
    (port, pem)
}

/// Answers every head until the client goes.
fn serve(client: TcpStream, config: Arc<ServerConfig>) {
    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), client);
    let mut heads = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = stream.read(&mut buffer) {
        heads.extend_from_slice(&buffer[..n]);
        while let Some(end) = heads.windows(4).position(|it| it == b"\r\n\r\n") {
            heads.drain(..end + 4);
            if stream.write_all(ANSWER).is_err() {
                return;
            }
        }
    }
}

/// Ends each connection at its first bytes.
fn end(client: TcpStream, config: Arc<ServerConfig>) {
    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), client);
    let _ = stream.read(&mut [0; 4096]);
    stream.conn.send_close_notify();
    let _ = stream.flush();
}

#[test]
fn a_server_of_http2_is_recognised_over_tls() {
    for (protocols, word) in [
        (&["h2"][..], "use --protocol h2, or grpcs://"),
        (&["h2", "http/1.1"], "try --protocol h2, or grpcs://"),
    ] {
        let (port, _) = https_of("localhost", protocols, end);
        let url = format!("https://localhost:{port}/");
        let load = [
            "load",
            "--no-keep",
            "--insecure",
            "-d",
            "300ms",
            "-c",
            "1",
            &url,
        ];
        let ran = Place::new().prony(&load).with(1);
        assert!(ran.stderr.contains(word), "{word}: {ran}");
    }
}

// Slow: waits for its turn to load, then a duel over TLS: a pilot and 2 rounds.
#[test]
fn a_load_a_duel_and_a_verification_are_made_over_tls() {
    let (port, certificate) = https();
    let place = Place::new();
    let ca = place.file("ca.pem", &certificate);
    let ca = ca.to_str().unwrap();
    let url = format!("https://localhost:{port}/");

    let body = ["--expect-body", "hello\n", "--ca", ca];
    let load = ["load", "-n", "200", "-c", "4", "--json", &url];
    let load = place.prony(&[&load[..], &body].concat()).with(0).json();
    assert_eq!(load["outcomes"]["ok"], 200, "{load:#}");
    assert_eq!(load["tls"]["version"], "TLSv1.3", "{load:#}");

    let duel = [
        "duel", &url, &url, "--rounds", "2", "-d", "300ms", "-c", "2",
    ];
    let more = ["--warmup", "0s", "--only", "throughput", "--json"];
    let duel = place
        .prony(&[&duel[..], &more, &body].concat())
        .with(0)
        .json();
    let checks = duel["checks"].to_string();
    assert!(!checks.contains("wrong-answers"), "{duel:#}");
    assert_eq!(duel["rounds"], 2, "{duel:#}");
    let sides = duel["sides"].as_array().unwrap();
    assert_eq!(sides.len(), 2, "{duel:#}");
    for side in sides {
        assert_eq!(side["errors"], 0.0, "{side:#}");
        let throughput = &side["figures"][0]["value"]["value"];
        assert!(throughput.as_f64() > Some(0.0), "{side:#}");
    }

    let file =
        "[[request]]\nname = \"hello\"\npath = \"/\"\n[request.expect]\nbody = \"hello\\n\"\n";
    let file = place.file("hello.toml", file);
    place
        .prony(&["verify", file.to_str().unwrap(), &url, "--ca", ca])
        .with(0);
}

// Slow: 12 processes of prony, of which 6 wait for their turn to load, and load nothing.
#[test]
fn what_cannot_work_is_said_before_the_load() {
    let (port, certificate) = https();
    let place = Place::new();
    let ca = place.file("ca.pem", &certificate);
    let ca = ca.to_str().unwrap();
    let url = |name: &str| format!("https://{name}:{port}/");
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = plain.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut client in plain.incoming().flatten() {
            let _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let cases: [(&[&str], &str); 6] = [
        (&[&url("localhost")], "--insecure"),
        (
            &["--ca", ca, "--cert", ca, "--key", ca, &url("localhost")],
            "--key FILE has",
        ),
        (&["--ca", ca, &url("127.0.0.1")], "127.0.0.1"),
        (&["--ca", "missing.pem", &url("localhost")], "missing.pem"),
        (
            &["--insecure", &format!("https://127.0.0.1:{silent}/")],
            "TLS",
        ),
        (
            &["--ca", ca, &format!("http://127.0.0.1:{port}/")],
            "https://",
        ),
    ];
    for verb in ["load", "duel"] {
        for (options, words) in cases {
            let sides: &[&str] = match verb {
                "load" => &["load", "-d", "100ms"],
                _ => &["duel", options[options.len() - 1]],
            };
            let done = place.fails(&[sides, options].concat());
            assert!(done.stderr.contains(words), "{verb} {options:?}: {done}");
        }
    }
}
