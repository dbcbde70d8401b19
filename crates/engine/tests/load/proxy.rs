//! Loads through proxies, honest and hostile, and with the header of a balancer.

use crate::invariants::{flawless, hold};
use crate::servers::{Connection, Server};
use crate::support::*;
use crate::tls::{N, TIMEOUT};
use crate::tls_server::{BOTH, answering, identity, trusting};
use prony_engine::protocol::proxy::{Credentials, Proxy, ProxyWay, dial};
use prony_engine::{Plan, Remedy, Target};
use prony_record::Outcomes;
use prony_record::load::ProxyProtocol;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

const MADE: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn address(target: &Target) -> SocketAddr {
    match target {
        Target::Tcp(address) => *address,
        Target::Unix(path) => panic!("{}", path.display()),
    }
}

/// The proxy that listens at `proxy`, to `server`.
fn through(proxy: &Server, way: ProxyWay, server: &Target) -> Proxy {
    let server = address(server);
    Proxy {
        name: proxy.target.to_string(),
        way,
        host: server.ip().to_string(),
        port: server.port(),
        credentials: Some(Credentials {
            user: "ada".into(),
            password: "secret".into(),
        }),
        tls: None,
    }
}

/// Plans of a load behind a proxy, of each kind.
fn behind(proxy: &Server, how: &Proxy) -> Vec<Plan> {
    let mut all = Vec::new();
    for kind in transports() {
        for keepalive in [true, false] {
            for arrival in [CLOSED, CONSTANT] {
                let plan = plan(&proxy.target, http(), 4, kind)
                    .with(|plan| plan.proxy = Some(how.clone()));
                all.push(plan.ends_after(N).keepalive(keepalive).due(arrival));
            }
        }
    }
    all
}

/// Copies bytes both ways between a client and a server, until both have ended.
fn relay(client: &Connection, server: &TcpStream) -> io::Result<()> {
    server.set_nodelay(true)?;
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = [0; 4096];
            while let Ok(bytes @ [_, ..]) = client.read(&mut buffer) {
                let _ = (&*server).write_all(bytes);
            }
            let _ = server.shutdown(std::net::Shutdown::Write);
        });
        let (mut server, mut buffer) = (server, [0; 4096]);
        while let Ok(n @ 1..) = server.read(&mut buffer) {
            client.write(&buffer[..n])?;
        }
        client.end();
        Ok(())
    })
}

/// Reads until the end of a head.
fn head(it: &Connection) -> io::Result<String> {
    let (mut all, mut one) = (String::new(), [0]);
    while !all.ends_with("\r\n\r\n") {
        match it.read(&mut one)? {
            [] => return Err(io::ErrorKind::UnexpectedEof.into()),
            byte => all.push(char::from(byte[0])),
        }
    }
    Ok(all)
}

/// A proxy that answers CONNECT with `before`, connects, and relays.
fn connecting(before: &'static [u8], wanted: &'static str) -> Server {
    Server::tcp(move |it| {
        let head = head(it)?;
        assert!(head.contains(wanted), "{head}");
        let server = head.split_whitespace().nth(1).unwrap();
        let server = TcpStream::connect(server)?;
        it.write(before)?;
        relay(it, &server)
    })
}

#[test]
fn every_answer_comes_through_a_tunnel_and_set_up_is_not_its_response_time() {
    let server = Server::tcp(|it| it.requests(|_, _| it.write(HELLO)));
    let proxy = connecting(MADE, "Proxy-Authorization: Basic YWRhOnNlY3JldA==\r\n");
    for plan in behind(&proxy, &through(&proxy, ProxyWay::Connect, &server.target)) {
        let seen = until_done(&plan);
        flawless(&plan, &seen);
        assert!(seen.tls.is_none());
        assert_eq!(seen.times.connect.len(), seen.connected, "{}", short(&plan));
    }
}

#[test]
fn tls_to_the_server_goes_through_the_tunnel_and_is_measured_apart() {
    let own = identity("localhost", 2100, BOTH);
    let server = answering(&own);
    let proxy = connecting(MADE, "CONNECT 127.0.0.1:");
    for mut plan in behind(&proxy, &through(&proxy, ProxyWay::Connect, &server.target)) {
        plan.tls = Some(trusting(&own));
        let seen = until_done(&plan);
        flawless(&plan, &seen);
        let tls = seen.tls.as_ref().expect("the server's TLS");
        assert_eq!(tls.handshakes.all(), seen.connected);
        assert_eq!(seen.times.handshake.len(), seen.connected);
    }
}

#[test]
fn bytes_of_the_tunnel_in_the_packet_of_the_proxys_head_are_not_lost() {
    let both = [MADE, b"surprise"].concat();
    let proxy = Server::tcp(move |it| {
        head(it)?;
        it.write(&both)?;
        it.swallow()
    });
    let how = through(&proxy, ProxyWay::Connect, &proxy.target);
    for kind in transports() {
        let plan = plan(&proxy.target, http(), 1, kind).with(|plan| plan.proxy = Some(how.clone()));
        let seen = until_done(&plan.keepalive(false).ends_after(2));
        let unsolicited = seen.unsolicited.join(" ");
        assert!(unsolicited.contains("surprise"), "{unsolicited}");
    }
    // A try before the load hands them on.
    let dialed = dial(address(&proxy.target), (Some(&how), None), TIMEOUT * 50).unwrap();
    let (mut first, mut rest) = (dialed.first.clone(), [0; 8]);
    while first.len() < 8 {
        let n = (&dialed).read(&mut rest).unwrap();
        first.extend_from_slice(&rest[..n]);
    }
    assert_eq!(first, b"surprise");
}

#[test]
fn socks5_with_user_and_password() {
    let server = Server::tcp(|it| it.requests(|_, _| it.write(HELLO)));
    let port = address(&server.target).port();
    let proxy = Server::tcp(move |it| {
        let expect = |expected: &[u8]| {
            let (mut all, mut one) = (Vec::new(), [0]);
            while all.len() < expected.len() {
                all.extend_from_slice(it.read(&mut one)?);
            }
            assert_eq!(all, expected);
            io::Result::Ok(())
        };
        expect(b"\x05\x02\0\x02")?;
        it.write(b"\x05")?;
        it.write(b"\x02")?;
        expect(b"\x01\x03ada\x06secret")?;
        it.write(b"\x01\0")?;
        expect(&[b"\x05\x01\0\x01\x7f\0\0\x01", &port.to_be_bytes()[..]].concat())?;
        let server = TcpStream::connect(("127.0.0.1", port))?;
        it.write(b"\x05\0\0\x03\x04name\0\0")?;
        relay(it, &server)
    });
    for plan in behind(&proxy, &through(&proxy, ProxyWay::Socks5, &server.target)) {
        let seen = until_done(&plan);
        flawless(&plan, &seen);
    }
}

struct Hostile {
    name: &'static str,
    proxy: Server,
    /// In the errors of the load.
    error: &'static str,
    shows: fn(&Outcomes) -> bool,
}

fn not_connected(of: &Outcomes) -> bool {
    of.connect_error == N
}

fn timed_out(of: &Outcomes) -> bool {
    of.timeout == N
}

fn saying(bytes: impl Into<Vec<u8>>, end: bool) -> Server {
    let bytes = bytes.into();
    Server::tcp(move |it| {
        head(it)?;
        it.write(&bytes)?;
        match end {
            true => Ok(()),
            false => it.swallow(),
        }
    })
}

fn hostile() -> Vec<Hostile> {
    let it = |name, error, shows: fn(&Outcomes) -> bool, proxy| Hostile {
        name,
        proxy,
        error,
        shows,
    };
    let long = format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(70_000));
    vec![
        it(
            "407",
            "answered 407 Proxy Authentication Required",
            not_connected,
            saying(
                &b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"[..],
                false,
            ),
        ),
        it(
            "the end at once",
            "the proxy closed the connection before the tunnel was made",
            not_connected,
            Server::tcp(|it| {
                head(it)?;
                Ok(())
            }),
        ),
        it(
            "the end in the head",
            "the proxy closed the connection before the tunnel was made",
            not_connected,
            saying(&MADE[..10], true),
        ),
        it(
            "half a head, and silence",
            "the proxy did not make the tunnel",
            timed_out,
            saying(&MADE[..10], false),
        ),
        it(
            "garbage",
            "does not answer in HTTP",
            not_connected,
            saying(&b"SSH-2.0-OpenSSH_9.6\r\n"[..], false),
        ),
        it(
            "a head that is not HTTP's",
            "sent a malformed answer to CONNECT",
            not_connected,
            saying(&b"HTTP/1.1 yes\r\n\r\n"[..], false),
        ),
        it(
            "a very long head",
            "longer than 65536 bytes",
            not_connected,
            saying(long, false),
        ),
        it(
            "a reset",
            "reset",
            not_connected,
            Server::tcp(|it| {
                head(it)?;
                it.reset();
                Ok(())
            }),
        ),
    ]
}

#[test]
fn hostile_proxies_lose_no_request_and_are_named() {
    at_once(4, &hostile(), |hostile| {
        let how = through(&hostile.proxy, ProxyWay::Connect, &hostile.proxy.target);
        for plan in behind(&hostile.proxy, &how) {
            let plan = plan.timeout(TIMEOUT).keepalive(false);
            let seen = until_done(&plan);
            hold(&plan, &seen);
            let what = format!("{}: {} {:?}", hostile.name, short(&plan), seen.errors);
            assert!(
                (hostile.shows)(&seen.outcomes),
                "{what} {:?}",
                seen.outcomes
            );
            let said = |text: &String| text.contains(hostile.error);
            assert!(seen.errors.keys().any(said), "{what}");
            let secret = |text: &String| text.contains("secret") || text.contains("YWRh");
            assert!(!seen.errors.keys().any(secret), "{what}");
        }
    });
}

#[test]
fn a_tunnel_that_ends_at_once_is_no_answer() {
    let proxy = saying(MADE, true);
    for plan in behind(&proxy, &through(&proxy, ProxyWay::Connect, &proxy.target)) {
        let plan = plan.timeout(TIMEOUT).keepalive(false);
        let seen = until_done(&plan);
        hold(&plan, &seen);
        let Outcomes {
            ok,
            read_error,
            write_error,
            connect_error,
            ..
        } = seen.outcomes;
        assert_eq!((ok, read_error + write_error + connect_error), (0, N));
    }
}

#[test]
fn one_try_says_what_is_wrong_and_what_helps() {
    for (answer, way, remedy) in [
        (
            &b"HTTP/1.1 407 No\r\n\r\n"[..],
            ProxyWay::Connect,
            Remedy::ProxyOtherCredentials,
        ),
        (
            b"HTTP/1.1 403 No\r\n\r\n",
            ProxyWay::Connect,
            Remedy::ProxyRules,
        ),
        (b"\x05\x02", ProxyWay::Connect, Remedy::ProxyScheme),
        (
            b"HTTP/1.1 400 No\r\n\r\n",
            ProxyWay::Socks5,
            Remedy::ProxyScheme,
        ),
        (b"\x05\xff", ProxyWay::Socks5, Remedy::ProxyCredentials),
    ] {
        let proxy = Server::tcp(move |it| {
            it.read(&mut [0; 4])?;
            it.write(answer)?;
            it.swallow()
        });
        let how = through(&proxy, way, &proxy.target);
        let error = dial(address(&proxy.target), (Some(&how), None), TIMEOUT * 50).unwrap_err();
        assert_eq!(error.remedy(), Some(remedy), "{error}");
        let name = format!("the proxy {}", proxy.target);
        assert!(error.to_string().starts_with(&name), "{error}");
    }
}

#[test]
fn each_connection_begins_with_the_header_of_its_real_addresses() {
    let seen: Arc<Mutex<Vec<SocketAddr>>> = Arc::default();
    let wrong: Arc<Mutex<Vec<String>>> = Arc::default();
    let (known, mistakes) = (Arc::clone(&seen), Arc::clone(&wrong));
    let server = Server::tcp(move |it| {
        let (mut all, mut one) = (Vec::new(), [0]);
        while !all.ends_with(b"\r\n") || all.len() <= 12 && all.starts_with(b"\r\n") {
            match it.read(&mut one)? {
                [] => return Ok(()),
                byte => all.extend_from_slice(byte),
            }
            if all.len() == 28 && all.starts_with(b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c") {
                break;
            }
        }
        let port = it.peer_address().port();
        let expected = match all.as_slice() {
            [b'P', ..] => {
                let line = String::from_utf8(all.clone()).unwrap();
                line.starts_with(&format!("PROXY TCP4 127.0.0.1 127.0.0.1 {port} "))
            }
            binary => binary[24..26] == port.to_be_bytes(),
        };
        if !expected {
            mistakes.lock().unwrap().push(format!("{all:?}"));
        }
        known.lock().unwrap().push(it.peer_address());
        it.requests(|_, _| it.write(HELLO))
    });
    for version in [ProxyProtocol::V1, ProxyProtocol::V2] {
        for kind in transports() {
            for keepalive in [true, false] {
                let plan = plan(&server.target, http(), 4, kind)
                    .with(|plan| plan.load.proxy_protocol = Some(version))
                    .ends_after(N)
                    .keepalive(keepalive);
                let seen = until_done(&plan);
                flawless(&plan, &seen);
            }
        }
    }
    assert_eq!(*wrong.lock().unwrap(), Vec::<String>::new());
    assert!(!seen.lock().unwrap().is_empty());
}

#[test]
fn what_cannot_be_is_refused() {
    let nowhere = Server::tcp(|_| Ok(()));
    let how = through(&nowhere, ProxyWay::Connect, &nowhere.target);
    let plan = plan(&nowhere.target, http(), 1, transports()[0]).with(|plan| {
        plan.proxy = Some(how);
        plan.load.proxy_protocol = Some(ProxyProtocol::V1);
    });
    let error = plan.validate().unwrap_err().to_string();
    assert!(
        error.contains("the header would reach the proxy"),
        "{error}"
    );
    let shown = format!("{plan:?}");
    assert!(!shown.contains("secret"), "{shown}");
    let sent = serde_json::to_string(&plan).unwrap();
    let back: Plan = serde_json::from_str(&sent).unwrap();
    assert_eq!(back.proxy, plan.proxy, "agents get it whole");
}
