//! Verifications over HTTP/2 and TLS: an honest server passes, and every cheat is caught by the step meant for it.

use bytes::Bytes;
use h2::server;
use http::Response;
use prony_engine::protocol::tls::TlsOptions;
use prony_lab::contract::{
    Contract, Depth, Fixture, HttpEndpoint, Inspection, Verified, Violation,
};
use prony_record::load::Protocol;
use std::collections::BTreeSet;
use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// An honest server of http-echo over HTTP/2, but for the body, which `body` makes from the target.
fn honest(body: fn(&str) -> String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                tokio::spawn(async move {
                    let Ok(mut connection) = server::handshake(stream).await else {
                        return;
                    };
                    while let Some(Ok((request, mut respond))) = connection.accept().await {
                        let head = Response::builder()
                            .header("content-type", "text/plain")
                            .body(())
                            .unwrap();
                        let target = request.uri().path_and_query().unwrap().as_str();
                        let body = Bytes::from(body(target));
                        tokio::spawn(async move {
                            // Its end is awaited, as a server does that gives request bodies to its application.
                            let mut sent = request.into_body();
                            while let Some(Ok(_)) = sent.data().await {}
                            if let Ok(mut stream) = respond.send_response(head, false) {
                                let _ = stream.send_data(body, true);
                            }
                        });
                    }
                });
            }
        });
    });
    addr
}

fn right(target: &str) -> String {
    format!("{target} at {}", crate::support::now())
}

/// A frame of HTTP/2.
struct Frame {
    kind: u8,
    stream: u32,
    bytes: Vec<u8>,
}

const HEADER: usize = 9;
const PREFACE: usize = 24;

/// A server that does to frames of its clients what `change` says: it gives what reaches an honest server, or None to break
/// off.
fn altered(change: fn(&mut Seen, Frame) -> Option<Vec<u8>>) -> SocketAddr {
    let server = honest(right);
    crate::support::serve(move |client, _| {
        let there = TcpStream::connect(server).unwrap();
        there.set_nodelay(true).unwrap();
        let (mut from, mut to) = (there.try_clone().unwrap(), client.try_clone().unwrap());
        let answers = thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
        if !pass_on(&client, &there, change) {
            // One of them has ended: what the server has said still comes.
            let _ = there.shutdown(Shutdown::Write);
            let _ = answers.join();
        }
        let _ = client.shutdown(Shutdown::Both);
        let _ = there.shutdown(Shutdown::Both);
    })
}

/// Facts about a connection that a cheat has seen.
#[derive(Default)]
struct Seen {
    streams: BTreeSet<u32>,
}

/// Until one of both ends; did the cheat break off?
fn pass_on(
    client: &TcpStream,
    mut server: &TcpStream,
    change: fn(&mut Seen, Frame) -> Option<Vec<u8>>,
) -> bool {
    let mut seen = Seen::default();
    let mut client = BufReader::new(client);
    // What came at once passes on at once or, where it is broken off, not at all: nothing of it has been answered before.
    let mut passes = Vec::new();
    let mut preface = [0; PREFACE];
    if client.read_exact(&mut preface).is_err() || server.write_all(&preface).is_err() {
        return false;
    }
    loop {
        let mut header = [0; HEADER];
        if client.read_exact(&mut header).is_err() {
            return false;
        }
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        let mut bytes = header.to_vec();
        bytes.resize(HEADER + length, 0);
        if client.read_exact(&mut bytes[HEADER..]).is_err() {
            return false;
        }
        let frame = Frame {
            kind: header[3],
            stream: u32::from_be_bytes([header[5], header[6], header[7], header[8]]),
            bytes,
        };
        match change(&mut seen, frame) {
            Some(bytes) => passes.extend(bytes),
            None => return true,
        }
        if client.buffer().is_empty() {
            if server.write_all(&passes).is_err() {
                return false;
            }
            passes.clear();
        }
    }
}

fn inspect(addr: SocketAddr, depth: Depth) -> Result<Verified, Violation> {
    let fixture = Fixture::set_up(Contract::HttpEcho, &std::env::temp_dir()).unwrap();
    let authority = addr.to_string();
    let way = HttpEndpoint {
        over: Protocol::H2c,
        authority: &authority,
        tls: None,
        window: None,
    };
    // Silent cheats cost this much each.
    Inspection::new(depth, 7)
        .within(Duration::from_secs(2))
        .by(way)
        .of(Contract::HttpEcho, addr, &fixture)
}

fn caught_at(step: &str, addr: SocketAddr) {
    match inspect(addr, Depth::Full) {
        Ok(_) => panic!("the cheat went unnoticed, instead of at {step}"),
        Err(violation) => {
            assert_eq!(violation.step, step, "{violation}");
            assert!(!violation.to_string().contains('\n'), "{violation}");
        }
    }
}

#[test]
fn an_honest_server_keeps_a_contract_over_http2() {
    for depth in [Depth::Quick, Depth::Full, Depth::Thorough] {
        let verified = inspect(honest(right), depth).unwrap_or_else(|error| panic!("{error}"));
        let names: Vec<_> = verified.steps.iter().map(|step| step.name).collect();
        assert!(names.contains(&"streams-at-once"), "{names:?}");
        assert!(!names.contains(&"pipelined"), "{names:?}");
        assert_eq!(names.contains(&"goaway"), depth != Depth::Quick);
    }
}

#[test]
fn an_honest_server_behind_the_one_that_alters_nothing_keeps_it_too() {
    let addr = altered(|_, frame| Some(frame.bytes));
    inspect(addr, Depth::Full).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn the_contract_itself_is_verified() {
    caught_at("answer", honest(std::borrow::ToOwned::to_owned));
    caught_at(
        "distinct-targets",
        honest(|target| right(target.split('?').next().unwrap())),
    );
    // With the date of another day.
    let wrong = |target: &str| format!("{target} at Sun, 06 Nov 1994 08:49:37 GMT");
    caught_at("date", honest(wrong));
}

#[test]
fn a_server_of_http1_does_not_pass() {
    caught_at(
        "answer",
        crate::support::http(|_, request| crate::support::right(&request.target)),
    );
}

#[test]
fn few_streams_at_once() {
    // The 51st stream is taken for an attack, although the settings allow it.
    let addr = altered(|seen, frame| {
        if frame.kind == 1 {
            seen.streams.insert(frame.stream);
        }
        (seen.streams.len() <= 50).then_some(frame.bytes)
    });
    caught_at("streams-at-once", addr);
}

#[test]
fn data_that_alternates_lost() {
    // Frames of a stream are dropped once another one is open.
    let addr = altered(|seen, frame| {
        if frame.kind == 1 {
            seen.streams.insert(frame.stream);
        }
        let newest = seen.streams.last() == Some(&frame.stream);
        Some(match frame.kind == 0 && !newest {
            true => Vec::new(),
            false => frame.bytes,
        })
    });
    caught_at("interleaved-data", addr);
}

#[test]
fn a_window_that_is_not_kept() {
    // The honest server never hears of a window.
    let addr = altered(|_, frame| {
        let initial = frame.kind == 4 && frame.bytes.len() > HEADER;
        Some(match initial {
            true => [&[0, 0, 0, 4, 0, 0, 0, 0, 0][..]].concat(),
            false => frame.bytes,
        })
    });
    caught_at("one-byte-window", addr);
}

#[test]
fn continuation_dropped() {
    let addr = altered(|_, frame| (frame.kind != 9).then_some(frame.bytes));
    caught_at("continuation", addr);
}

#[test]
fn unknown_frames_taken_for_errors() {
    let addr = altered(|_, frame| (frame.kind <= 9).then_some(frame.bytes));
    caught_at("unknown-frame", addr);
}

#[test]
fn pings_left_without_an_answer() {
    let addr = altered(|_, frame| {
        let ping = frame.kind == 6 && frame.bytes[4] == 0;
        Some(if ping { Vec::new() } else { frame.bytes })
    });
    caught_at("ping", addr);
}

#[test]
fn connections_that_end_with_a_stream() {
    let addr = altered(|_, frame| (frame.kind != 3).then_some(frame.bytes));
    caught_at("reset", addr);
}

#[test]
fn answers_dropped_at_a_goaway() {
    let addr = altered(|_, frame| (frame.kind != 7).then_some(frame.bytes));
    caught_at("goaway", addr);
}

#[test]
fn the_same_without_tls_on_a_port_of_tls() {
    let addr = crate::support::http(|_, request| crate::support::right(&request.target));
    let fixture = Fixture::set_up(Contract::HttpEcho, &std::env::temp_dir()).unwrap();
    let (authority, options) = (addr.to_string(), TlsOptions::default());
    let way = HttpEndpoint {
        over: Protocol::Tls,
        authority: &authority,
        tls: Some((addr, &options)),
        window: None,
    };
    let violation = Inspection::new(Depth::Full, 1)
        .by(way)
        .of(Contract::HttpEcho, addr, &fixture)
        .unwrap_err();
    assert_eq!(violation.step, "tls-only", "{violation}");
}
