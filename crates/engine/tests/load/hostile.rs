//! Servers that do what they should not. Whatever they do: no request is lost, none is counted
//! twice, and the load comes to its end.

use crate::invariants::{accounted, conserved, hold};
use crate::servers::{Connection, Server, answer, answer_and_close, echo};
use crate::support::*;
use crate::words::*;
use prony_engine::{Arrival, Control, Dialogue, Nanos, Plan, Target};
use prony_record::Outcomes;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread::sleep;
use std::time::Duration;

/// Requests of each load.
const N: u64 = 24;
const TIMEOUT: Duration = Duration::from_millis(100);

struct Hostile {
    name: &'static str,
    dialogue: Dialogue,
    start: Box<dyn Fn() -> Server + Send + Sync>,
    /// Checks for outcomes that are possible only with this server.
    shows: fn(&Outcomes) -> bool,
}

fn hostile(
    name: &'static str,
    dialogue: Dialogue,
    shows: fn(&Outcomes) -> bool,
    serve: impl Fn(&Connection) -> io::Result<()> + Send + Sync + 'static,
) -> Hostile {
    let serve = Arc::new(serve);
    let start = move || {
        let serve = serve.clone();
        Server::tcp(move |it| serve(it))
    };
    Hostile {
        name,
        dialogue,
        start: Box::new(start),
        shows,
    }
}

fn all_time_out(of: &Outcomes) -> bool {
    of.timeout == N
}

fn none_is_ok(of: &Outcomes) -> bool {
    of.ok == 0
}

fn none_is_connected(of: &Outcomes) -> bool {
    of.connect_error == N
}

fn seven_at_most_are_ok(of: &Outcomes) -> bool {
    of.ok <= 7
}

/// Writes the same until the client has had enough.
fn pour(it: &Connection, bytes: &[u8]) -> io::Result<()> {
    let many = bytes.repeat(1 + 2_000 / bytes.len());
    loop {
        it.write(&many)?;
    }
}

/// Echo servers.
fn echoes() -> Vec<Hostile> {
    vec![
        hostile("never answers", hello(), all_time_out, Connection::swallow),
        hostile("never reads", hello(), all_time_out, |it| {
            it.ignore();
            Ok(())
        }),
        hostile("goes silent", hello(), seven_at_most_are_ok, |it| {
            it.messages(
                6,
                |nth, message| if nth < 7 { it.write(message) } else { Ok(()) },
            )
        }),
        hostile("closes in the middle", hello(), none_is_ok, |it| {
            it.messages(6, |_, message| {
                it.write(&message[..3])?;
                Err(io::ErrorKind::Other.into())
            })
        }),
        hostile("closes at once", hello(), none_is_ok, |_| Ok(())),
        hostile("resets at once", hello(), none_is_ok, |it| {
            it.reset();
            Ok(())
        }),
        hostile("resets in the middle", hello(), none_is_ok, |it| {
            it.messages(6, |_, message| {
                it.write(&message[..3])?;
                it.reset();
                Err(io::ErrorKind::Other.into())
            })
        }),
        hostile("changes every byte", hello(), none_is_ok, |it| {
            it.messages(6, |_, message| it.write(&message.to_ascii_uppercase()))
        }),
        hostile("drops the last byte", hello(), none_is_ok, |it| {
            it.messages(6, |_, message| it.write(&message[..5]))
        }),
        hostile("too slow a drip", hello(), none_is_ok, |it| {
            it.messages(6, |_, message| {
                for byte in message {
                    sleep(TIMEOUT / 4);
                    it.write(&[*byte])?;
                }
                Ok(())
            })
        }),
        hostile("speaks first", hello(), none_is_ok, |it| {
            it.write(b"220 welcome\r\n")?;
            it.swallow()
        }),
        hostile(
            "answers twice",
            hello(),
            |_| true,
            |it| it.messages(6, |_, message| it.write(&message.repeat(2))),
        ),
        Hostile {
            name: "refuses",
            dialogue: hello(),
            start: Box::new(Server::refused),
            shows: none_is_connected,
        },
        Hostile {
            name: "never accepts",
            dialogue: hello(),
            start: Box::new(Server::never_accepts),
            shows: none_is_ok,
        },
        Hostile {
            name: "never accepts (unix)",
            dialogue: hello(),
            start: Box::new(Server::never_accepts_unix),
            shows: none_is_ok,
        },
    ]
}

/// HTTP servers.
fn webs() -> Vec<Hostile> {
    vec![
        hostile("another status", http(), none_is_ok, |it| {
            answer(b"HTTP/1.1 503 No\r\nContent-Length: 5\r\n\r\nhello")(it)
        }),
        hostile("another body", http(), none_is_ok, |it| {
            answer(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhallo")(it)
        }),
        hostile("another length", http(), none_is_ok, |it| {
            answer(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell")(it)
        }),
        hostile("speaks something else", http(), none_is_ok, |it| {
            answer(b"SSH-2.0-OpenSSH_9.9\r\n")(it)
        }),
        hostile("closes inside the head", http(), none_is_ok, |it| {
            answer_and_close(&LENGTH[..10])(it)
        }),
        hostile("closes inside the body", http(), none_is_ok, |it| {
            answer_and_close(&LENGTH[..LENGTH.len() - 1])(it)
        }),
        hostile("closes inside a chunk", http(), none_is_ok, |it| {
            answer_and_close(&CHUNKED[..CHUNKED.len() - 12])(it)
        }),
        hostile(
            "closes without saying so",
            http(),
            |_| true,
            |it| answer_and_close(LENGTH)(it),
        ),
        hostile("forgets the body", http(), none_is_ok, |it| {
            answer(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n")(it)
        }),
    ]
}

/// Servers that never stop to send.
fn pourers() -> Vec<Hostile> {
    vec![
        hostile("pours", hello(), none_is_ok, |it| pour(it, b"X")),
        hostile("endless header", http(), none_is_ok, |it| {
            it.write(b"HTTP/1.1 200 OK\r\nX: ")?;
            pour(it, b"a")
        }),
        hostile("endless fields", http(), none_is_ok, |it| {
            it.requests(|_, _| {
                it.write(b"HTTP/1.1 200 OK\r\n")?;
                pour(it, b"X: a\r\n")
            })
        }),
        hostile("endless interim answers", http(), none_is_ok, |it| {
            it.requests(|_, _| pour(it, b"HTTP/1.1 100 Continue\r\n\r\n"))
        }),
        hostile("endless body", http(), none_is_ok, |it| {
            it.requests(|_, _| {
                it.write(b"HTTP/1.1 200 OK\r\n\r\n")?;
                pour(it, b"hello")
            })
        }),
        hostile("endless chunks", http(), none_is_ok, |it| {
            it.requests(|_, _| {
                it.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
                pour(it, b"5\r\nhello\r\n")
            })
        }),
    ]
}

/// The ways to load, all with `N` requests; where to is still to be said.
fn shapes(dialogue: &Dialogue) -> Vec<Plan> {
    let nowhere = Target::Tcp((Ipv4Addr::LOCALHOST, 0).into());
    let (constant, poisson) = (
        Arrival::Constant(400.0),
        Arrival::Poisson {
            rate: 400.0,
            seed: 7,
        },
    );
    let mut all = Vec::new();
    for kind in transports() {
        for (arrival, keepalive, pipeline, threads) in [
            (CLOSED, true, 1, 1),
            (CLOSED, true, 8, 3),
            (CLOSED, false, 1, 3),
            (constant, true, 8, 1),
            (constant, false, 1, 1),
            (poisson, true, 1, 3),
        ] {
            all.push(
                plan(&nowhere, dialogue.clone(), 6, kind)
                    .due(arrival)
                    .keepalive(keepalive)
                    .pipeline(pipeline)
                    .threads(threads)
                    .timeout(TIMEOUT)
                    .ends_after(N),
            );
        }
    }
    all
}

fn survive(width: usize, all: &[Hostile], shapes: impl Fn(&Dialogue) -> Vec<Plan> + Sync) {
    at_once(width, all, |it| {
        at_once(2, &shapes(&it.dialogue), |plan| {
            let server = (it.start)();
            let plan = &Plan {
                target: server.target.clone(),
                ..plan.clone()
            };
            let seen = until_done(plan);
            let (name, all) = (it.name, &seen.outcomes);
            assert!(
                (it.shows)(all),
                "{name}: {} {all:?} {:?}",
                short(plan),
                seen.errors
            );
            if let Err(panic) = std::panic::catch_unwind(|| conserved(plan, &seen)) {
                eprintln!("{}: {:?}", it.name, seen.errors);
                std::panic::resume_unwind(panic);
            }
        });
    });
}

// Slow: 15 servers x 12 loads, 16 at once; of many, requests time out after 0.1 s, 4 times in a row.
#[test]
fn no_request_is_lost_to_a_bad_echo_server() {
    survive(8, &echoes(), shapes);
}

// Slow: 9 servers x 12 loads, 16 at once; broken connections are made again after 20 ms.
#[test]
fn no_request_is_lost_to_a_bad_web_server() {
    survive(8, &webs(), shapes);
}

// Slow: 6 servers x 6 loads; they take all the CPU time that there is.
#[test]
fn no_request_is_lost_to_a_server_that_pours() {
    // They take all the CPU time that there is.
    survive(2, &pourers(), |dialogue| {
        let mut all = shapes(dialogue);
        all.retain(|plan| plan.load.threads == 1);
        all
    });
}

#[test]
fn a_timeout_is_a_sample_of_its_length() {
    at_once(8, &shapes(&hello()), |plan| {
        let server = Server::tcp(Connection::swallow);
        let seen = until_done(&Plan {
            target: server.target.clone(),
            ..plan.clone()
        });
        let service = &seen.times.service;
        let timeout = prony_engine::clock::nanos(TIMEOUT);
        assert_eq!(service.len(), N);
        assert!(
            service.equivalent(service.min(), timeout),
            "{}",
            service.min()
        );
        assert!(
            service.equivalent(service.max(), timeout),
            "{}",
            service.max()
        );
        assert!(seen.times.response.min() >= service.min());
    });
}

#[test]
fn spoilt_answers_are_counted_one_by_one() {
    for kind in transports() {
        for (pipeline, threads) in [(1, 1), (8, 3)] {
            let server = Server::tcp(|it| {
                it.messages(6, |nth, message| {
                    let mut message = message.to_vec();
                    if nth % 10 == 3 {
                        message[4] ^= 1;
                        it.count.spoilt.fetch_add(1, Relaxed);
                    }
                    it.write(&message)
                })
            });
            let plan = plan(&server.target, hello(), 5, kind)
                .pipeline(pipeline)
                .threads(threads)
                .ends_after(1_000);
            let seen = until_done(&plan);
            conserved(&plan, &seen);
            let spoilt = server.count.spoilt.load(Relaxed);
            assert_eq!(
                (seen.outcomes.wrong_answer, seen.outcomes.ok),
                (spoilt, 1_000 - spoilt)
            );
            assert_eq!(spoilt, 100);
            let first = &seen.wrong_answers[0];
            assert!(
                first.starts_with("another body: expected \"hello"),
                "{first}"
            );
            assert_eq!(
                seen.connected, 5,
                "a wrong answer alone is no reason to reconnect"
            );
        }
    }
}

#[test]
fn every_thousandth_byte_is_lost() {
    let lossy = |it: &Connection| {
        let (mut at, mut buffer) = (0u64, [0; 4096]);
        loop {
            let bytes = it.read(&mut buffer)?;
            if bytes.is_empty() {
                return Ok(());
            }
            let kept: Vec<u8> = bytes
                .iter()
                .copied()
                .filter(|_| {
                    at += 1;
                    !at.is_multiple_of(1_000)
                })
                .collect();
            it.write(&kept)?;
        }
    };
    for kind in transports() {
        for pipeline in [1, 8] {
            let server = Server::tcp(lossy);
            let plan = plan(&server.target, hello(), 4, kind)
                .pipeline(pipeline)
                .timeout(TIMEOUT)
                .ends_after(2_000);
            let seen = until_done(&plan);
            conserved(&plan, &seen);
            let all = &seen.outcomes;
            assert!(all.ok > 0 && all.failed() > 0 && all.timeout > 0, "{all:?}");
            if pipeline == 1 {
                assert!(seen.connected > 4, "what is out of step is closed");
            }
        }
    }
}

#[test]
fn what_breaks_the_protocol_is_wrong_and_ends_the_connection() {
    for kind in transports() {
        let server = Server::tcp(answer(b"HTTP/1.1 2OO OK\r\n\r\n"));
        let plan = plan(&server.target, http(), 4, kind).ends_after(12);
        let seen = until_done(&plan);
        conserved(&plan, &seen);
        assert_eq!(seen.outcomes.wrong_answer, 12);
        assert!(
            seen.wrong_answers[0].starts_with("malformed answer"),
            "{:?}",
            seen.wrong_answers
        );
        assert_eq!(seen.connected, 12, "each has its connection");
    }
}

#[test]
fn errors_are_told_in_words() {
    for kind in transports() {
        let server = Server::refused();
        let plan = plan(&server.target, hello(), 4, kind)
            .ends_after(8)
            .timeout(TIMEOUT);
        let seen = until_done(&plan);
        let texts: Vec<&String> = seen.errors.keys().collect();
        assert_eq!(texts, ["connecting: Connection refused (os error 111)"]);
        assert!(seen.errors.values().sum::<u64>() >= 8);
        assert_eq!((seen.connected, seen.times.response.len()), (0, 0));
    }
}

/// A server that answers and closes at once gives both to the client in one go. The connection's
/// descriptor number is then free for any other thread, while the next request may already wait
/// to be submitted: it must not go out on another connection.
// Slow: 2 loads of 6,000 connections, each for one request.
#[test]
fn a_request_never_goes_out_on_another_connection() {
    for kind in transports() {
        let server = Server::tcp(|it| {
            let mut buffer = [0; 64];
            let bytes = it.read(&mut buffer)?;
            if bytes.len() > HELLO.len() {
                it.count.spoilt.fetch_add(1, Relaxed);
            }
            it.write(bytes)
        });
        let plan = plan(&server.target, hello(), 60, kind)
            .threads(3)
            .ends_after(6_000);
        let seen = until_done(&plan);
        conserved(&plan, &seen);
        assert_eq!(
            server.count.spoilt.load(Relaxed),
            0,
            "two requests on one connection"
        );
        assert_eq!(seen.outcomes.wrong_answer, 0, "{:?}", seen.wrong_answers);
        let unasked = seen.errors.keys().any(|text| text.contains("no request"));
        assert!(!unasked, "{:?}", seen.errors);
    }
}

#[test]
fn a_server_that_falls_and_comes_back() {
    let kinds = transports().into_iter();
    let loads: Vec<_> = kinds
        .flat_map(|kind| [(kind, CLOSED), (kind, Arrival::Constant(400.0))])
        .collect();
    at_once(4, &loads, |&(kind, arrival)| {
        let mut first = low_port(echo);
        let Target::Tcp(address) = first.target else {
            unreachable!("it is a port")
        };
        let plan = plan(&first.target, hello(), 6, kind)
            .due(arrival)
            .threads(2)
            .timeout(TIMEOUT);
        let control = Arc::new(Control::at_once(Nanos::MAX));
        let running = begin(&plan, &control);
        let answers = |server: &Server| server.count.bytes.load(Relaxed) >= 30 * HELLO.len() as u64;
        eventually("answers", || answers(&first));
        first.fall();
        // Each connection fails when the server falls, perhaps once more when it was accepted last; then it is refused.
        eventually("connections are refused", || running.errors() > 3 * 6);
        let mut second = None;
        eventually("the port is free again", || {
            second = Server::at(address, echo).ok();
            second.is_some()
        });
        let second = second.expect("it has begun");
        eventually("all come back", || {
            second.count.connections.load(Relaxed) >= 6
        });
        eventually("answers again", || answers(&second));
        control.stop();
        let seen = running.end();
        hold(&plan, &seen);
        let all = &seen.outcomes;
        assert!(all.ok >= 50 && all.connect_error > 0, "{all:?}");
        assert_eq!(all.wrong_answer, 0);
        if let Some(rate) = plan.load.rate {
            let due = (seen.seconds() * rate).ceil() as u64;
            // Each thread takes notice of the stop in its own turn.
            assert!(accounted(all).abs_diff(due) <= 6, "{due} {all:?}");
        }
    });
}

/// A server on a port below the ephemeral range, which no outgoing connection can take while it is
/// away, nor another server of this test.
fn low_port(serve: fn(&Connection) -> io::Result<()>) -> Server {
    static STEP: AtomicU32 = AtomicU32::new(0);
    let own = std::process::id();
    (0..1_000)
        .map(|_| 20_000 + ((own + STEP.fetch_add(1, Relaxed) * 97) % 10_000) as u16)
        .find_map(|port| Server::at((Ipv4Addr::LOCALHOST, port).into(), serve).ok())
        .expect("a free port")
}
