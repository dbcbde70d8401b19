//! Servers that break TLS, in the handshake and after it: no request is lost.

use crate::invariants::conserved;
use crate::servers::{Connection, Server};
use crate::support::*;
use crate::tls::{N, TIMEOUT, over_tls};
use crate::tls_server::{ANSWER, BOTH, Identity, answering, blurting, identity, secured, trusting};
use prony_engine::Plan;
use prony_engine::protocol::tls::TlsOptions;
use prony_record::Outcomes;
use rustls::version;
use std::io::{self, Write};

fn not_connected(of: &Outcomes) -> bool {
    of.connect_error == N
}

fn cut_off(of: &Outcomes) -> bool {
    of.read_error == N
}

fn timed_out(of: &Outcomes) -> bool {
    of.timeout == N
}

fn right(of: &Outcomes) -> bool {
    of.ok == N
}

struct Hostile {
    name: &'static str,
    shows: fn(&Outcomes) -> bool,
    options: TlsOptions,
    server: Server,
}

/// The first bytes of a ServerHello, of which the rest does not come.
const HALF: &[u8] = b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03";

fn in_the_handshake(good: &Identity) -> Vec<Hostile> {
    let it = |name, shows, server| Hostile {
        name,
        shows,
        options: trusting(good),
        server,
    };
    let expired = identity("localhost", 2021, BOTH);
    let other = identity("example.org", 2100, BOTH);
    let old = identity("localhost", 2100, &[&version::TLS12]);
    vec![
        it(
            "an alert at once",
            not_connected,
            blurting(b"\x15\x03\x03\x00\x02\x02\x28", true),
        ),
        it(
            "an alert, and no end",
            not_connected,
            blurting(b"\x15\x03\x03\x00\x02\x02\x28", false),
        ),
        it(
            "garbage",
            not_connected,
            blurting(b"\x80\x80\x80\x80\x80\x80\x80\x80", false),
        ),
        it(
            "plain HTTP",
            not_connected,
            blurting(b"HTTP/1.1 400 Bad Request\r\n\r\n", true),
        ),
        it(
            "a record of 64 KiB",
            not_connected,
            blurting(b"\x16\x03\x03\xff\xff\x02\x00\x00\x76", false),
        ),
        it(
            "a handshake message of 16 MiB",
            not_connected,
            blurting(b"\x16\x03\x03\x00\x04\x02\xff\xff\xff", false),
        ),
        it(
            "an encrypted record before there is a key",
            not_connected,
            blurting(b"\x17\x03\x03\x00\x05hello", false),
        ),
        it(
            "an empty ServerHello",
            not_connected,
            blurting(b"\x16\x03\x03\x00\x04\x02\x00\x00\x00", false),
        ),
        it(
            "a certificate before the ServerHello",
            not_connected,
            blurting(b"\x16\x03\x03\x00\x04\x0b\x00\x00\x00", false),
        ),
        it(
            "half a ServerHello, and the end",
            not_connected,
            blurting(HALF, true),
        ),
        it(
            "half a ServerHello, and silence",
            timed_out,
            blurting(HALF, false),
        ),
        it("the end at once", not_connected, Server::tcp(|_| Ok(()))),
        it(
            "a reset",
            not_connected,
            Server::tcp(|it| {
                it.read(&mut [0; 4096])?;
                it.reset();
                Ok(())
            }),
        ),
        it(
            "nothing but silence",
            timed_out,
            Server::tcp(Connection::swallow),
        ),
        Hostile {
            options: trusting(&expired),
            ..it("an expired certificate", not_connected, answering(&expired))
        },
        Hostile {
            options: trusting(&other),
            ..it("another's certificate", not_connected, answering(&other))
        },
        it("a self-signed certificate", not_connected, answering(&old)),
        Hostile {
            options: TlsOptions {
                version: Some("1.3".into()),
                ..trusting(&old)
            },
            ..it("an old version", not_connected, answering(&old))
        },
    ]
}

fn after_the_handshake(good: &Identity) -> Vec<Hostile> {
    let it = |name, shows, server| Hostile {
        name,
        shows,
        options: trusting(good),
        server,
    };
    vec![
        it(
            "garbage for a record",
            cut_off,
            secured(good, |it| {
                it.it
                    .write(b"\x17\x03\x03\x00\x20garbagegarbagegarbagegarbage1234")?;
                Ok(true)
            }),
        ),
        it(
            "a flipped bit",
            cut_off,
            secured(good, |it| {
                it.tls.writer().write_all(ANSWER)?;
                let mut record = it.sealed();
                let last = record.len() - 1;
                record[last] ^= 1;
                it.it.write(&record).map(|()| true)
            }),
        ),
        it(
            "a record twice",
            |of| of.ok + of.read_error == N && of.wrong_answer == 0 && of.read_error > 0,
            secured(good, |it| {
                it.tls
                    .writer()
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe")?;
                let record = it.sealed();
                it.it.write(&record)?;
                it.it.write(&record).map(|()| true)
            }),
        ),
        it(
            "plain HTTP after the handshake",
            cut_off,
            secured(good, |it| it.it.write(ANSWER).map(|()| true)),
        ),
        it(
            "a fatal alert for an answer",
            cut_off,
            secured(good, |it| {
                // Unencrypted, which is not allowed any more.
                it.it.write(b"\x15\x03\x03\x00\x02\x02\x50").map(|()| true)
            }),
        ),
        it(
            "a renegotiation in the clear",
            cut_off,
            secured(good, |it| {
                it.it
                    .write(b"\x16\x03\x03\x00\x04\x00\x00\x00\x00")
                    .map(|()| true)
            }),
        ),
        it(
            "half a record, and silence",
            timed_out,
            secured(good, |it| {
                it.tls.writer().write_all(ANSWER)?;
                let record = it.sealed();
                it.it.write(&record[..record.len() / 2])?;
                it.it.swallow().map(|()| false)
            }),
        ),
        it(
            "half a record, and the end",
            cut_off,
            secured(good, |it| {
                it.tls.writer().write_all(ANSWER)?;
                let record = it.sealed();
                it.it.write(&record[..record.len() / 2]).map(|()| false)
            }),
        ),
        it(
            "the end in the body",
            cut_off,
            secured(good, |it| {
                it.say(&ANSWER[..ANSWER.len() - 2]).map(|()| false)
            }),
        ),
        it(
            "the end without close_notify of a body that the end completes",
            cut_off,
            secured(good, |it| {
                it.say(b"HTTP/1.1 200 OK\r\n\r\nhello").map(|()| false)
            }),
        ),
        it(
            "a close_notify that completes a body",
            right,
            secured(good, |it| {
                it.say(b"HTTP/1.1 200 OK\r\n\r\nhello")?;
                it.tls.send_close_notify();
                it.flush().map(|()| false)
            }),
        ),
        it(
            "a close_notify, and no end",
            right,
            secured(good, |it| {
                it.say(b"HTTP/1.1 200 OK\r\n\r\nhello")?;
                it.tls.send_close_notify();
                it.flush()?;
                it.it.swallow().map(|()| false)
            }),
        ),
        it(
            "a close_notify for an answer",
            cut_off,
            secured(good, |it| {
                it.tls.send_close_notify();
                it.flush()?;
                it.it.swallow().map(|()| false)
            }),
        ),
        it(
            "a reset for an answer",
            cut_off,
            secured(good, |it| {
                it.it.reset();
                Ok(false)
            }),
        ),
        it(
            "answers byte by byte, in records of a byte",
            right,
            secured(good, |it| {
                for byte in ANSWER {
                    it.tls.writer().write_all(&[*byte])?;
                }
                for byte in it.sealed() {
                    it.it.write(&[byte])?;
                }
                Ok(true)
            }),
        ),
        it(
            "new keys before every answer",
            right,
            secured(good, |it| {
                it.tls.refresh_traffic_keys().map_err(io::Error::other)?;
                it.say(ANSWER).map(|()| true)
            }),
        ),
    ]
}

fn survive(all: &[Hostile], plans: fn(&Server, &TlsOptions) -> Vec<Plan>) {
    at_once(12, all, |it| {
        for plan in plans(&it.server, &it.options) {
            let plan = match it.name.ends_with("silence") {
                true => plan.timeout(TIMEOUT),
                false => plan,
            };
            let seen = until_done(&plan);
            assert!(
                (it.shows)(&seen.outcomes),
                "{}: {} {:?} {:?}",
                it.name,
                short(&plan),
                seen.outcomes,
                seen.errors
            );
            conserved(&plan, &seen);
        }
    });
}

/// Where no connection can be made, set-up ends with its time-out, in each load: those that have no set-up, and one
/// that has.
fn without_waiting(server: &Server, options: &TlsOptions) -> Vec<Plan> {
    let (mut kept, mut all): (Vec<Plan>, Vec<Plan>) = over_tls(server, options)
        .into_iter()
        .partition(|plan| plan.load.keepalive);
    all.extend(kept.pop());
    all
}

// Slow: 18 servers, 12 at once: one load's set-up waits for the time-out of 10 s, with nearly all.
#[test]
fn no_request_is_lost_to_a_bad_handshake() {
    survive(
        &in_the_handshake(&identity("localhost", 2100, BOTH)),
        without_waiting,
    );
}

// Slow: a server falls silent: 2 x 8 loads in turn, in each 6 time-outs of 0.2 s in a row.
#[test]
fn no_request_is_lost_to_bad_records() {
    let new = identity("localhost", 2100, &[&version::TLS13]);
    survive(&after_the_handshake(&new), over_tls);
    let old = identity("localhost", 2100, &[&version::TLS12]);
    let mut all = after_the_handshake(&old);
    // TLS 1.2 has no new keys.
    all.retain(|it| !it.name.starts_with("new keys"));
    survive(&all, over_tls);
}
