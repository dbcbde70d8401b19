//! Loads over TLS: honest servers, and those that a probe refuses.

use crate::invariants::flawless;
use crate::servers::{Connection, Server};
use crate::support::*;
use crate::tls_server::{ANSWER, BOTH, answering, identity, identity_for, secured, trusting};
use prony_engine::protocol::tls::{ProbeError, TlsOptions, probe};
use prony_engine::{Plan, Remedy};
use rustls::version;
use std::time::Duration;

/// Requests of each load.
pub const N: u64 = 24;
pub const TIMEOUT: Duration = Duration::from_millis(200);

pub fn over_tls(server: &Server, options: &TlsOptions) -> Vec<Plan> {
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

// Slow: 32 loads of 24 requests, each with a handshake of its own.
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
        (
            answering(&expired),
            trusting(&expired),
            ("expired", Remedy::RenewCertificate),
        ),
        (
            answering(&other),
            trusting(&other),
            ("not for \"localhost\"", Remedy::CertifiedName),
        ),
        (
            answering(&good),
            trusting(&other),
            ("not issued by an authority", Remedy::TrustIssuer),
        ),
        (answering(&old), only_13, ("in common", Remedy::TlsVersions)),
        (
            answering(&picky),
            trusting(&picky),
            ("client certificate", Remedy::ClientCertificate),
        ),
        (
            answering(&picky_old),
            trusting(&picky_old),
            ("client certificate", Remedy::ClientCertificate),
        ),
        (
            Server::tcp(|it| it.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
            trusting(&good),
            ("does not speak TLS", Remedy::Plain),
        ),
        (
            Server::tcp(|_| Ok(())),
            trusting(&good),
            ("closed the connection", Remedy::TlsPort),
        ),
    ];
    for (server, options, (why, remedy)) in cases {
        let error = probe(&server.target, &options, HANGS).unwrap_err();
        assert!(error.to_string().contains(why), "{why}: {error}");
        assert_eq!(error.remedy(), remedy, "{why}");
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
