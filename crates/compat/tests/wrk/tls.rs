//! wrk over TLS, beside the real one.

use crate::differential::same_shape;
use crate::shape::number;
use crate::support::{Ran, prony};
use prony_engine::protocol::tls::SelfSigned;
use rustls::crypto::ring::default_provider;
use rustls::{HandshakeKind, ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

/// Answers every request over TLS, with a self-signed certificate. Counts resumed
/// handshakes, and those with a name (SNI).
struct Server {
    address: SocketAddr,
    resumed: Arc<AtomicU64>,
    named: Arc<AtomicU64>,
}

fn server(answer: &'static [u8], stays: bool) -> Server {
    let own = SelfSigned::new(&["example.org"]).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.certificate], own.key.into())
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let this = Server {
        address: listener.local_addr().unwrap(),
        resumed: Arc::default(),
        named: Arc::default(),
    };
    let (resumed, named) = (this.resumed.clone(), this.named.clone());
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let (config, resumed, named) = (config.clone(), resumed.clone(), named.clone());
            thread::spawn(move || {
                let _ = client.set_nodelay(true);
                let tls = ServerConnection::new(config).unwrap();
                let mut stream = StreamOwned::new(tls, client);
                let (mut head, mut buffer) = (Vec::new(), [0; 4096]);
                while let Ok(n @ 1..) = stream.read(&mut buffer) {
                    head.extend_from_slice(&buffer[..n]);
                    if !head.ends_with(b"\r\n\r\n") {
                        continue;
                    }
                    head.clear();
                    if stream.write_all(answer).is_err() || !stays {
                        break;
                    }
                }
                let kind = stream.conn.handshake_kind();
                resumed.fetch_add(u64::from(kind == Some(HandshakeKind::Resumed)), Relaxed);
                named.fetch_add(u64::from(stream.conn.server_name().is_some()), Relaxed);
                stream.conn.send_close_notify();
                let _ = stream.flush();
            });
        }
    });
    this
}

const KEPT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const CLOSED: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";

/// The bytes that were read, as far as they are printed: three digits.
fn bytes_read(out: &str) -> f64 {
    let (before, _) = out.split_once(" read\n").expect("what was read");
    let text = before.rsplit(' ').next().unwrap();
    let digits = text.trim_end_matches(char::is_alphabetic);
    let unit = match &text[digits.len()..] {
        "B" => 1.0,
        "KB" => 1024.0,
        "MB" => 1024.0 * 1024.0,
        other => panic!("{other}"),
    };
    digits.parse::<f64>().unwrap() * unit
}

#[test]
fn a_load_over_tls() {
    let server = server(KEPT, true);
    let url = format!("https://{}/path?query", server.address);
    for args in [
        &["-t1", "-c2", "-d1s"][..],
        &["-t2", "-c4", "-d1", "--latency"],
    ] {
        let args = [args, &[&url]].concat();
        if let Some(ran) = same_shape(&args) {
            for Ran { out, .. } in ran {
                let requests = number(&out, " requests in").unwrap();
                assert!(requests > 0, "{out}");
                // The answer is 40 bytes long; what TLS adds to each is 22.
                let each = bytes_read(&out) / requests as f64;
                assert!((38.0..43.0).contains(&each), "{each} bytes: {out}");
                assert!(!out.contains("errors") && !out.contains("Non-2xx"), "{out}");
            }
        }
    }
}

#[test]
fn a_connection_for_each_request_resumes_as_the_real_one_does() {
    for real in [true, false] {
        let server = server(CLOSED, false);
        let url = format!("https://localhost:{}/", server.address.port());
        let args = ["-t1", "-c1", "-d1", &url];
        let ran = match real {
            true => crate::support::real(&args),
            false => Some(prony(&args)),
        };
        let Some(ran) = ran else { continue };
        assert!(number(&ran.out, " requests in").unwrap() > 1, "{}", ran.out);
        assert!(
            server.resumed.load(Relaxed) > 0,
            "real: {real}, {}",
            ran.out
        );
        assert!(server.named.load(Relaxed) > 0, "real: {real}, {}", ran.out);
    }
}

#[cfg(feature = "lua")]
#[test]
fn scripts_speak_through_tls_too() {
    let server = server(KEPT, true);
    let url = format!("https://{}/", server.address);
    let ran = prony(&[
        "-t1",
        "-c2",
        "-d1",
        "-s",
        &crate::support::script("counter.lua"),
        &url,
    ]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(number(&ran.out, " requests in").unwrap() > 0, "{}", ran.out);
}

/// Answers whatever comes first in plain HTTP, and closes the connection: to a client of TLS this is a mistake at once.
fn without_tls() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            // A client that has gone by now is no concern of this test.
            let _ = client.read(&mut [0; 4096]);
            let _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
    });
    address
}

// Slow: set-up waits for wrk's time-out of 2 s, before a load of 1 s.
#[test]
fn a_server_without_tls_gives_no_answers() {
    let url = format!("https://{}/", without_tls());
    let args = ["-t1", "-c1", "-d1", &url];
    for ran in [Some(prony(&args)), crate::support::real(&args)] {
        let Some(ran) = ran else { continue };
        assert_eq!(number(&ran.out, " requests in"), Some(0), "{}", ran.out);
        assert!(ran.out.contains("Socket errors: connect "), "{}", ran.out);
    }
}
