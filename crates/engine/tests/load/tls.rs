//! Loads over TLS: honest servers, and every kind of bad one.

use crate::invariants::{conserved, flawless};
use crate::servers::{Connection, Server};
use crate::support::*;
use prony_engine::Plan;
use prony_engine::protocol::tls::{ProbeError, TlsOptions, probe};
use prony_record::Outcomes;
use rcgen::{CertificateParams, CertifiedKey, KeyPair, date_time_ymd};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion, version};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

/// Requests of each load.
const N: u64 = 24;
const TIMEOUT: Duration = Duration::from_millis(200);
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const BOTH: &[&SupportedProtocolVersion] = &[&version::TLS13, &version::TLS12];

/// A certificate for `localhost`, valid until this year, and its key.
fn certificate(name: &str, until: i32) -> CertifiedKey<KeyPair> {
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(until, 1, 1);
    let signing_key = KeyPair::generate().unwrap();
    let cert = params.self_signed(&signing_key).unwrap();
    CertifiedKey { cert, signing_key }
}

struct Identity {
    pem: String,
    config: Arc<ServerConfig>,
}

/// A server of these versions with a certificate of its own.
fn identity(name: &str, until: i32, versions: &[&'static SupportedProtocolVersion]) -> Identity {
    identity_for(name, until, versions, false)
}

fn identity_for(
    name: &str,
    until: i32,
    versions: &[&'static SupportedProtocolVersion],
    clients_too: bool,
) -> Identity {
    let own = certificate(name, until);
    let chain = vec![CertificateDer::from(own.cert.der().to_vec())];
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(versions)
        .unwrap();
    let builder = match clients_too {
        false => builder.with_no_client_auth(),
        true => {
            let mut roots = RootCertStore::empty();
            roots.add(chain[0].clone()).unwrap();
            let provider = Arc::new(default_provider());
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    Identity {
        pem: own.cert.pem(),
        config: Arc::new(builder.with_single_cert(chain, key).unwrap()),
    }
}

fn trusting(identity: &Identity) -> TlsOptions {
    TlsOptions {
        ca: Some(identity.pem.clone()),
        ..TlsOptions::default()
    }
}

/// The server's side of a connection.
struct Secure<'a> {
    it: &'a Connection,
    tls: ServerConnection,
    pending: Vec<u8>,
}

impl<'a> Secure<'a> {
    /// After the handshake.
    fn accept(it: &'a Connection, config: &Arc<ServerConfig>) -> io::Result<Self> {
        let tls = ServerConnection::new(config.clone()).unwrap();
        let mut secure = Self {
            it,
            tls,
            pending: Vec::new(),
        };
        while secure.tls.is_handshaking() {
            secure.hear()?;
        }
        secure.flush()?;
        Ok(secure)
    }

    fn hear(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        let mut bytes = self.it.read(&mut buffer)?;
        if bytes.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        while !bytes.is_empty() {
            self.tls.read_tls(&mut bytes)?;
            let result = self.tls.process_new_packets();
            self.flush()?;
            result.map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn sealed(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut out).unwrap();
        }
        out
    }

    fn flush(&mut self) -> io::Result<()> {
        let out = self.sealed();
        self.it.write(&out)
    }

    fn say(&mut self, plain: &[u8]) -> io::Result<()> {
        self.tls.writer().write_all(plain)?;
        self.flush()
    }

    /// Waits for a whole request.
    fn asked(&mut self) -> io::Result<()> {
        loop {
            let end = self.pending.windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(end) = end {
                self.pending.drain(..end + 4);
                return Ok(());
            }
            let mut buffer = [0; 4096];
            match self.tls.reader().read(&mut buffer) {
                Ok(n) if n > 0 => self.pending.extend_from_slice(&buffer[..n]),
                Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.hear()?,
                Err(error) => return Err(error),
            }
        }
    }
}

/// Serves with `each` for every request.
fn secured(
    identity: &Identity,
    each: impl Fn(&mut Secure<'_>) -> io::Result<bool> + Send + Sync + 'static,
) -> Server {
    let config = identity.config.clone();
    Server::tcp(move |it| {
        let mut secure = Secure::accept(it, &config)?;
        loop {
            secure.asked()?;
            if !each(&mut secure)? {
                return Ok(());
            }
        }
    })
}

fn answering(identity: &Identity) -> Server {
    secured(identity, |it| it.say(ANSWER).map(|()| true))
}

fn over_tls(server: &Server, options: &TlsOptions) -> Vec<Plan> {
    let mut all = Vec::new();
    for kind in transports() {
        for keepalive in [true, false] {
            for arrival in [CLOSED, CONSTANT] {
                let plan = plan(&server.target, http(), 4, kind)
                    .with(|plan| plan.tls = Some(options.clone()));
                all.push(plan.ends_after(N).keepalive(keepalive).due(arrival));
            }
        }
    }
    all
}

#[test]
fn every_answer_comes_through_tls() {
    for (versions, name, pipeline) in [
        (&[&version::TLS12][..], "TLSv1.2", 1),
        (&[&version::TLS13][..], "TLSv1.3", 1),
        (BOTH, "TLSv1.3", 4),
    ] {
        let own = identity("localhost", 2100, versions);
        let server = answering(&own);
        for plan in over_tls(&server, &trusting(&own)) {
            let plan = match plan.load.keepalive {
                true => plan.pipeline(pipeline),
                false => plan,
            };
            let seen = until_done(&plan);
            flawless(&plan, &seen);
            let tls = seen.tls.as_ref().expect("facts of TLS");
            assert_eq!(tls.version, name);
            assert!(tls.cipher.starts_with("TLS_"), "{}", tls.cipher);
            assert!(tls.verified);
            let key = tls.certificate.as_ref().unwrap();
            assert_eq!((key.key.as_str(), key.bits), ("ECDSA", Some(256)));
            assert_eq!(tls.handshakes.all(), seen.connected);
            assert_eq!(seen.times.handshake.len(), seen.connected);
            assert_eq!(tls.group.as_deref(), Some("X25519"));
        }
    }
}

#[test]
fn sessions_are_resumed_unless_that_is_switched_off() {
    for versions in [&[&version::TLS12], &[&version::TLS13]] {
        let own = identity("localhost", 2100, versions);
        let server = answering(&own);
        for resumption in [true, false] {
            let options = TlsOptions {
                resumption,
                ..trusting(&own)
            };
            for mut plan in over_tls(&server, &options) {
                plan.load.keepalive = false;
                plan.load.connections = 1;
                let seen = until_done(&plan);
                flawless(&plan, &seen);
                let tls = seen.tls.as_ref().unwrap();
                assert_eq!(tls.handshakes.resumed > 0, resumption, "{}", short(&plan));
                assert!(tls.handshakes.full > 0);
                assert_eq!(tls.measured.all(), N);
            }
        }
    }
}

#[test]
fn only_the_version_and_the_cipher_suite_that_were_asked_for_are_used() {
    let own = identity("localhost", 2100, BOTH);
    let server = answering(&own);
    for (version, cipher, found) in [
        (Some("1.2"), None, "TLSv1.2"),
        (None, Some("TLS_CHACHA20_POLY1305_SHA256"), "TLSv1.3"),
        (None, Some("ECDHE-ECDSA-AES128-GCM-SHA256"), "TLSv1.2"),
    ] {
        let options = TlsOptions {
            version: version.map(str::to_owned),
            cipher: cipher.map(str::to_owned),
            ..trusting(&own)
        };
        let seen = probe(&server.target, &options, HANGS).unwrap();
        assert_eq!(seen.version, found);
    }
}

#[test]
fn what_came_unasked_is_shown_as_it_was_before_it_was_encrypted() {
    let own = identity("localhost", 2100, BOTH);
    let server = secured(&own, |it| {
        it.say(ANSWER)?;
        it.say(b"and more").map(|()| false)
    });
    let plan = plan(&server.target, http(), 1, transports()[0])
        .with(|plan| plan.tls = Some(trusting(&own)))
        .ends_after(N);
    let seen = until_done(&plan);
    assert!(seen.outcomes.unsolicited > 0, "{:?}", seen.outcomes);
    assert_eq!(seen.unsolicited, ["\"and more\""]);
}

/// A certificate that cannot be accepted, with what the probe says of it.
#[test]
fn the_probe_says_what_is_wrong_before_a_load() {
    let good = identity("localhost", 2100, BOTH);
    let expired = identity("localhost", 2021, BOTH);
    let other = identity("example.org", 2100, BOTH);
    let old = identity("localhost", 2100, &[&version::TLS12]);
    let picky = identity_for("localhost", 2100, BOTH, true);
    let picky_old = identity_for("localhost", 2100, &[&version::TLS12], true);
    let only_13 = TlsOptions {
        version: Some("1.3".into()),
        ..trusting(&old)
    };
    let cases = [
        (answering(&expired), trusting(&expired), "expired"),
        (answering(&other), trusting(&other), "not for \"localhost\""),
        (
            answering(&good),
            trusting(&other),
            "not issued by an authority",
        ),
        (answering(&old), only_13, "in common"),
        (answering(&picky), trusting(&picky), "client certificate"),
        (
            answering(&picky_old),
            trusting(&picky_old),
            "client certificate",
        ),
        (
            Server::tcp(|it| it.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
            trusting(&good),
            "does not speak TLS",
        ),
        (
            Server::tcp(|_| Ok(())),
            trusting(&good),
            "closed the connection",
        ),
    ];
    for (server, options, why) in cases {
        let error = probe(&server.target, &options, HANGS).unwrap_err();
        assert!(error.to_string().contains(why), "{why}: {error}");
        assert!(!error.help().is_empty());
    }
    let silent = Server::tcp(Connection::swallow);
    let error = probe(&silent.target, &trusting(&good), TIMEOUT).unwrap_err();
    assert!(matches!(error, ProbeError::Silent(_)), "{error}");
    let insecure = TlsOptions {
        insecure: true,
        ..TlsOptions::default()
    };
    for server in [answering(&expired), answering(&other)] {
        assert!(!probe(&server.target, &insecure, HANGS).unwrap().verified);
    }
}

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

/// A server that says this as soon as a client has said something, and then closes or is silent.
fn blurting(bytes: &'static [u8], closes: bool) -> Server {
    Server::tcp(move |it| {
        it.read(&mut [0; 4096])?;
        it.write(bytes)?;
        match closes {
            true => Ok(()),
            false => it.swallow(),
        }
    })
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

fn survive(all: &[Hostile]) {
    at_once(8, all, |it| {
        for plan in over_tls(&it.server, &it.options) {
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

#[test]
fn no_request_is_lost_to_a_bad_handshake() {
    survive(&in_the_handshake(&identity("localhost", 2100, BOTH)));
}

#[test]
fn no_request_is_lost_to_bad_records() {
    let new = identity("localhost", 2100, &[&version::TLS13]);
    survive(&after_the_handshake(&new));
    let old = identity("localhost", 2100, &[&version::TLS12]);
    let mut all = after_the_handshake(&old);
    // TLS 1.2 has no new keys.
    all.retain(|it| !it.name.starts_with("new keys"));
    survive(&all);
}
