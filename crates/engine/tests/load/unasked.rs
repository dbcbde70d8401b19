//! Servers that say what they were not asked, and servers whose chunks are none. Nothing of it is a
//! right answer, no request is lost for it, and it is always seen.

use crate::invariants::conserved;
use crate::servers::{Connection, Count, Server, answer};
use crate::support::*;
use crate::words::*;
use prony_engine::protocol::{Expect, HttpRequest};
use prony_engine::{Arrival, Dialogue, Plan};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::sleep;
use std::time::Duration;

/// Requests of each load.
const N: u64 = 48;
const TIMEOUT: Duration = Duration::from_millis(200);

/// Expected findings with a server, beyond that every request is accounted for.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    /// Unsolicited bytes and no right answer. With several requests in flight they may be taken for the
    /// beginning of the next answer, which is then a wrong one; never for a right one.
    Nothing,
    /// Unsolicited bytes, and at most as many right answers as the server has read requests.
    NoMoreThanAsked,
    /// No right answer; every one of them breaks the protocol.
    Broken,
}

type Serve = Arc<dyn Fn(&Connection) -> io::Result<()> + Send + Sync>;

struct Case {
    name: &'static str,
    dialogue: Dialogue,
    serve: Serve,
    seen: Seen,
}

fn case(
    name: &'static str,
    dialogue: Dialogue,
    seen: Seen,
    serve: impl Fn(&Connection) -> io::Result<()> + Send + Sync + 'static,
) -> Case {
    Case {
        name,
        dialogue,
        serve: Arc::new(serve),
        seen,
    }
}

/// Answers every HTTP request with these bytes, in one go.
fn web(name: &'static str, seen: Seen, bytes: &'static [u8]) -> Case {
    case(name, http(), seen, answer(bytes))
}

/// The same for an empty body.
fn bodiless(name: &'static str, method: &str, bytes: &'static [u8]) -> Case {
    let request = HttpRequest {
        method: method.into(),
        ..HttpRequest::get("h", "/")
    };
    let dialogue = Dialogue::http(&request, Expect::default());
    case(name, dialogue, Seen::Nothing, answer(bytes))
}

fn cases() -> Vec<Case> {
    use Seen::{Broken, Nothing};
    vec![
        web(
            "a body longer than its length",
            Nothing,
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, world",
        ),
        web(
            "garbage after the answer",
            Nothing,
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello\0\xff\r\n",
        ),
        web(
            "an empty line after the answer",
            Nothing,
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello\r\n",
        ),
        bodiless(
            "a body after 204",
            "GET",
            b"HTTP/1.1 204 No Content\r\n\r\nhello",
        ),
        bodiless(
            "a body after 304",
            "GET",
            b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello",
        ),
        bodiless(
            "a body after HEAD",
            "HEAD",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        ),
        bodiless(
            "a body after length 0",
            "GET",
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nhello",
        ),
        web(
            "more after the last chunk",
            Nothing,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n0\r\n\r\n",
        ),
        web(
            "an unrequested 101",
            Broken,
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        ),
        web("an unknown 1xx", Broken, b"HTTP/1.1 150 Hm\r\n\r\n"),
        web(
            "no last chunk",
            Broken,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n\r\n\r\n",
        ),
        web(
            "no empty line after the last chunk",
            Broken,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
        ),
        web(
            "a trailer that is none",
            Broken,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\ntrailer\r\n\r\n",
        ),
        web(
            "a size that does not fit",
            Broken,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000005\r\nhello\r\n0\r\n\r\n",
        ),
        case("doubles a byte", hello(), Nothing, |it| {
            it.messages(6, |_, message| it.write(&[&message[..1], message].concat()))
        }),
    ]
}

/// Cases in which some of what comes unasked is a right answer, byte for byte.
fn copies() -> Vec<Case> {
    use Seen::NoMoreThanAsked;
    let double = [LENGTH, LENGTH].concat();
    vec![
        case("two answers", http(), NoMoreThanAsked, move |it| {
            it.requests(|_, _| it.write(&double))
        }),
        case("two echoes", hello(), NoMoreThanAsked, |it| {
            it.messages(6, |_, message| it.write(&message.repeat(2)))
        }),
    ]
}

/// Cases in which unsolicited bytes come in segments of their own.
fn later() -> Vec<Case> {
    use Seen::NoMoreThanAsked;
    let pause = Duration::from_millis(1);
    vec![
        case("an answer at accept", http(), NoMoreThanAsked, |it| {
            it.write(LENGTH)?;
            answer(LENGTH)(it)
        }),
        case("an echo at accept", hello(), NoMoreThanAsked, |it| {
            it.write(HELLO)?;
            it.messages(6, |_, message| it.write(message))
        }),
        case("another answer later", http(), NoMoreThanAsked, move |it| {
            it.requests(|_, _| {
                it.write(LENGTH)?;
                sleep(pause);
                it.write(LENGTH)
            })
        }),
        case("another echo later", hello(), NoMoreThanAsked, move |it| {
            it.messages(6, |_, message| {
                it.write(message)?;
                sleep(pause);
                it.write(message)
            })
        }),
    ]
}

fn shapes(dialogue: &Dialogue) -> Vec<Plan> {
    let nowhere = prony_engine::Target::Tcp(([127, 0, 0, 1], 0).into());
    let rate = Arrival::Constant(500.0);
    let mut all = Vec::new();
    for kind in transports() {
        for (arrival, keepalive, pipeline) in [
            (CLOSED, true, 1),
            (CLOSED, true, 8),
            (CLOSED, false, 1),
            (rate, true, 1),
            (rate, true, 8),
            (rate, false, 1),
        ] {
            all.push(
                plan(&nowhere, dialogue.clone(), 4, kind)
                    .due(arrival)
                    .keepalive(keepalive)
                    .pipeline(pipeline)
                    .threads(2)
                    .timeout(TIMEOUT)
                    .ends_after(N),
            );
        }
    }
    all
}

/// Loads a server of this kind, and gives what was seen beside what the server has counted.
fn load(case: &Case, plan: &Plan) -> (Ended, Arc<Count>) {
    let serve = case.serve.clone();
    let server = Server::tcp(move |it| serve(it));
    let plan = Plan {
        target: server.target.clone(),
        ..plan.clone()
    };
    let seen = until_done(&plan);
    conserved(&plan, &seen);
    (seen, server.count.clone())
}

fn judge(case: &Case, plan: &Plan) {
    let (seen, _) = load(case, plan);
    let all = &seen.outcomes;
    let what = format!(
        "{}: {} {all:?} {:?} {:?}",
        case.name,
        short(plan),
        seen.errors,
        seen.wrong_answers
    );
    let alone = plan.load.pipeline == 1;
    match case.seen {
        Seen::Nothing => {
            // With several in flight only the answer that is the last of them has bytes behind it.
            assert!(!alone || all.ok == 0, "{what}");
            // A busy machine may give the server no CPU for as long as a request may take.
            assert!(
                !alone || (all.unsolicited > 0 && all.unsolicited + all.timeout == N),
                "{what}"
            );
            assert!(all.wrong_answer > 0, "{what}");
        }
        Seen::NoMoreThanAsked => {
            assert!(!alone || all.ok == 0, "{what}");
            assert!(all.unsolicited > 0, "{what}");
        }
        Seen::Broken => {
            assert_eq!(all.ok, 0, "{what}");
            assert_eq!(all.wrong_answer == 0, all.timeout == N, "{what}");
        }
    }
    assert_eq!(seen.unsolicited.is_empty(), all.unsolicited == 0, "{what}");
    let text = "reading: bytes came that no request had asked for";
    let told = seen.errors.get(text).copied().unwrap_or(0);
    assert_eq!(told, all.unsolicited, "{what}");
}

// Slow: an answer without its end: 12 loads in turn, in 8 of them 12 time-outs of 0.2 s in a row.
#[test]
fn what_was_not_asked_for_is_no_right_answer() {
    at_once(16, &cases(), |case| {
        for plan in shapes(&case.dialogue) {
            judge(case, &plan);
        }
    });
}

#[test]
fn a_copy_of_a_right_answer_is_none() {
    at_once(2, &copies(), |case| {
        for plan in shapes(&case.dialogue) {
            judge(case, &plan);
        }
    });
}

/// When such bytes come while another request is in flight, they are taken for its answer, and the
/// surplus shows at the end at the latest. When a server sends it is not certain, so the load
/// is repeated until it shows.
#[test]
fn what_comes_later_is_seen_in_the_end() {
    at_once(4, &later(), |case| {
        for plan in shapes(&case.dialogue) {
            if !plan.load.keepalive {
                continue; // The connection is closed by then.
            }
            eventually(case.name, || {
                let (seen, count) = load(case, &plan);
                let all = &seen.outcomes;
                let asked = count.requests.load(Relaxed);
                assert!(all.ok <= N && asked <= N, "{}: {all:?}", case.name);
                all.unsolicited > 0
            });
        }
    });
}

/// A server that speaks first is listened to: what it says is not taken for an answer to what it is
/// asked afterwards.
#[test]
fn the_first_words_of_a_server_are_told() {
    for kind in transports() {
        let server = Server::tcp(|it| {
            it.write(b"220 welcome to \xff\x00 this host, which has much to say\r\n")?;
            it.swallow()
        });
        let plan = plan(&server.target, hello(), 2, kind)
            .timeout(TIMEOUT)
            .ends_after(4);
        let told = r#""220 welcome to \xff\x00 this host, which has m"… (52 bytes)"#;
        // A server that has to wait for a CPU speaks after it has been asked; its first bytes are
        // then taken for the answer.
        eventually("the first words are told whole", || {
            let seen = until_done(&plan);
            conserved(&plan, &seen);
            assert_eq!(seen.outcomes.ok, 0);
            seen.unsolicited.first().is_some_and(|first| first == told)
        });
    }
}

#[test]
fn an_honest_server_is_heard_out_without_a_finding() {
    for kind in transports() {
        for arrival in [CLOSED, Arrival::Constant(2_000.0)] {
            let server = Server::tcp(answer(LENGTH));
            let plan = plan(&server.target, http(), 4, kind)
                .due(arrival)
                .pipeline(4)
                .ends_after(200);
            let seen = until_done(&plan);
            crate::invariants::flawless(&plan, &seen);
            assert_eq!(seen.outcomes.unsolicited, 0);
            assert_eq!(server.count.requests.load(Relaxed), 200);
        }
    }
}
