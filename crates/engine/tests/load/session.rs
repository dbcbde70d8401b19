//! Features of sessions that HTTP/1.1 and echo do not use: see [`crate::sessions`].

use crate::own::{carry_out, own};
use crate::servers::{Connection, Server};
use crate::sessions::{
    ANSWER, CANCEL, FRAME, GOODBYE, HELLO, Masked, Masks, Multiplexed, PING, PONG, REQUEST,
    Streams, frame, parse,
};
use crate::support::{MS, With, transports};
use prony_engine::Arrival;
use prony_engine::protocol::{Answer, Booked, Echo, Events, Fault, InFlight, Session, Tag, Token};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const MANY: Multiplexed = Multiplexed {
    limit: usize::MAX,
    cancels: true,
};

/// Greets, and then tells `serve` of every frame.
fn greeting(it: &Connection, mut serve: impl FnMut(u8, u32) -> io::Result<()>) -> io::Result<()> {
    it.messages(FRAME, |_, bytes| match parse(bytes) {
        (HELLO, _) => it.write(&frame(HELLO, 0)),
        (kind, number) => serve(kind, number),
    })
}

/// Answers every request at once.
fn answering(it: &Connection) -> io::Result<()> {
    greeting(it, |_, number| it.write(&frame(ANSWER, number)))
}

#[test]
fn requests_wait_for_the_handshake_and_set_up_includes_it() {
    const DELAY: Duration = Duration::from_millis(30);
    for kind in transports() {
        for keepalive in [true, false] {
            let server = Server::tcp(|it| {
                greeting(it, |kind, number| {
                    assert_eq!(kind, REQUEST);
                    it.write(&frame(ANSWER, number))
                })
            });
            let slow = Server::tcp(|it| {
                it.messages(FRAME, |_, bytes| match parse(bytes) {
                    (HELLO, _) => {
                        // In pieces: a handshake may take several turns.
                        for byte in frame(HELLO, 0) {
                            thread::sleep(DELAY / FRAME as u32);
                            it.write(&[byte])?;
                        }
                        Ok(())
                    }
                    (_, number) => it.write(&frame(ANSWER, number)),
                })
            });
            for (server, at_least) in [(&server, 0), (&slow, 30 * MS)] {
                let target = server.target.clone();
                let plan = own(server, 3, 30, kind).keepalive(keepalive);
                // The session itself makes sure that no request is sent too early.
                let seen = carry_out(&plan, move |_| (target.clone(), MANY));
                assert_eq!(seen.outcomes.ok, 30, "{:?}", seen.errors);
                assert_eq!(seen.outcomes.failed(), 0, "{:?}", seen.errors);
                assert_eq!(seen.connected, if keepalive { 3 } else { 30 });
                assert_eq!(seen.times.connect.len(), seen.connected);
                // The histogram is within 0.1%.
                assert!(seen.times.connect.min() >= at_least * 999 / 1000);
            }
        }
    }
}

#[test]
fn a_connection_without_its_handshake_is_none() {
    for kind in transports() {
        let refusing = Server::tcp(|it| {
            it.read(&mut [0; FRAME])?;
            Ok(())
        });
        let babbling = Server::tcp(|it| {
            it.write(b"babble")?;
            it.swallow()
        });
        let silent = Server::tcp(Connection::swallow);
        for (server, text) in [
            (&refusing, "connecting: the server closed the connection"),
            (
                &babbling,
                "connecting: malformed answer: a frame that makes no sense",
            ),
            (
                &silent,
                "connecting: the connection was made, and the server did not complete the handshake",
            ),
        ] {
            let target = server.target.clone();
            let plan = own(server, 2, 6, kind)
                .keepalive(false)
                .timeout(Duration::from_millis(100));
            let seen = carry_out(&plan, move |_| (target.clone(), MANY));
            assert_eq!(seen.connected, 0);
            assert_eq!(seen.outcomes.ok, 0);
            assert_eq!(
                seen.outcomes.connect_error + seen.outcomes.timeout,
                6,
                "{:?}",
                seen.outcomes
            );
            assert_eq!(seen.outcomes.failed(), 6, "{:?}", seen.outcomes);
            assert!(seen.errors.contains_key(text), "{:?}", seen.errors);
        }
    }
}

#[test]
fn answers_in_another_order_belong_to_their_requests() {
    for kind in transports() {
        // Four at a time, the last first.
        let server = Server::tcp(|it| {
            let mut waiting = Vec::new();
            greeting(it, |_, number| {
                waiting.push(number);
                if waiting.len() == 4 {
                    for number in waiting.drain(..).rev() {
                        it.write(&frame(ANSWER, number))?;
                    }
                }
                Ok(())
            })
        });
        let target = server.target.clone();
        let plan = own(&server, 1, 200, kind)
            // Due times that tell requests apart.
            .due(Arrival::Constant(2_000.0))
            .pipeline(4)
            .trace();
        let seen = carry_out(&plan, move |_| (target.clone(), MANY));
        assert_eq!(seen.outcomes.ok, 200, "{:?}", seen.outcomes);
        let numbers: Vec<u64> = seen.detail.trace.iter().map(|sample| sample.body).collect();
        let reversed: Vec<u64> = (0..200).map(|n| n / 4 * 4 + 3 - n % 4).collect();
        assert_eq!(numbers, reversed);
        let mut samples = seen.detail.trace;
        samples.sort_by_key(|sample| sample.body);
        let due = samples.iter().map(|sample| sample.due);
        assert!(due.is_sorted_by(|one, next| one < next));
    }
}

#[test]
fn no_more_requests_than_the_session_accepts() {
    for kind in transports() {
        let server = Server::tcp(answering);
        let most = Arc::new(AtomicU64::new(0));
        let (target, watched) = (server.target.clone(), most.clone());
        let plan = own(&server, 1, 300, kind).pipeline(8);
        let seen = carry_out(&plan, move |_| {
            let inner = Multiplexed { limit: 3, ..MANY };
            let most = watched.clone();
            (target.clone(), Watched { inner, most })
        });
        assert_eq!(seen.outcomes.ok, 300, "{:?}", seen.outcomes);
        assert_eq!(most.load(Relaxed), 3);
    }
}

#[test]
fn a_ping_is_answered_at_once() {
    for kind in transports() {
        // Pings right after the handshake, and answers only what was ponged.
        let server = Server::tcp(|it| {
            let mut unanswered = None;
            let mut ponged = 0;
            it.messages(FRAME, |_, bytes| match parse(bytes) {
                (HELLO, _) => it.write(&[frame(HELLO, 0), frame(PING, 0)].concat()),
                (PONG, number) => {
                    assert_eq!(number, ponged);
                    ponged += 1;
                    match unanswered.take() {
                        Some(number) => it.write(&frame(ANSWER, number)),
                        None => Ok(()),
                    }
                }
                (_, number) => {
                    unanswered = Some(number);
                    it.write(&frame(PING, ponged))
                }
            })
        });
        let target = server.target.clone();
        let seen = carry_out(&own(&server, 2, 100, kind), move |_| (target.clone(), MANY));
        assert_eq!(seen.outcomes.ok, 100, "{:?}", seen.outcomes);
        assert_eq!(seen.connected, 2);
        // A greeting and the first pong on each, and a request and a pong for each answer.
        let frames = server.count.requests.load(Relaxed);
        assert_eq!(frames, 2 * 2 + 100 * 2);
    }
}

// Slow: 4 loads of 300 requests at 100 per second, one after the other.
#[test]
fn a_slow_request_times_out_alone_if_it_can_be_cancelled() {
    for kind in transports() {
        for cancels in [true, false] {
            let cancelled = Arc::new(Mutex::new(Vec::new()));
            let log = cancelled.clone();
            // Two requests of the first connection are not answered until they are cancelled: then
            // the answer crosses the cancellation.
            let server = Server::tcp(move |it| {
                let first = it.count.connections.load(Relaxed) == 1;
                greeting(it, |kind, number| match kind {
                    REQUEST if first && [3, 7].contains(&number) => Ok(()),
                    CANCEL => {
                        log.lock().unwrap().push(number);
                        it.write(&frame(ANSWER, number))
                    }
                    _ => it.write(&frame(ANSWER, number)),
                })
            });
            let target = server.target.clone();
            let plan = own(&server, 1, 300, kind)
                .pipeline(4)
                .timeout(Duration::from_secs(2))
                .trace()
                // More than are answered before the time-out, so that some are sent after it.
                .due(Arrival::Constant(100.0));
            let seen = carry_out(&plan, move |_| {
                let session = Multiplexed { cancels, ..MANY };
                (target.clone(), session)
            });
            let outcomes = &seen.outcomes;
            assert_eq!(outcomes.finished(), 300, "{outcomes:?}");
            let cancelled = cancelled.lock().unwrap().clone();
            if cancels {
                assert_eq!((outcomes.ok, outcomes.timeout), (298, 2), "{outcomes:?}");
                assert_eq!(seen.connected, 1);
                assert_eq!(cancelled, [3, 7]);
                let slow = seen.detail.trace.iter().filter(|sample| sample.last);
                let due: Vec<_> = slow.map(|sample| sample.due).collect();
                let mut all: Vec<_> = seen.detail.trace.iter().map(|sample| sample.due).collect();
                all.sort_unstable();
                assert_eq!(due, [all[3], all[7]]);
            } else {
                assert!(seen.connected > 1);
                assert!(outcomes.timeout >= 2, "{outcomes:?}");
                assert!(cancelled.is_empty());
            }
        }
    }
}

#[test]
fn a_closing_connection_answers_what_is_in_flight_and_is_replaced() {
    for kind in transports() {
        for keepalive in [true, false] {
            // Says goodbye with the third request, and answers what was sent before that came.
            let server = Server::tcp(|it| {
                greeting(it, |_, number| {
                    if number == 3 {
                        it.write(&frame(GOODBYE, 0))?;
                    }
                    it.write(&frame(ANSWER, number))
                })
            });
            let target = server.target.clone();
            let plan = own(&server, 2, 60, kind)
                .pipeline(4)
                .keepalive(keepalive)
                .calls(if keepalive { 1 } else { 8 });
            let seen = carry_out(&plan, move |_| (target.clone(), MANY));
            assert_eq!(seen.outcomes.failed(), 0, "{:?}", seen.errors);
            if keepalive {
                assert_eq!(seen.outcomes.ok, 60, "{:?}", seen.outcomes);
                // Four requests at a time, and no connection carries more than seven.
                assert!(seen.connected >= 60 / 7, "{}", seen.connected);
            } else {
                // What is counted are connections. Each has carried its first four requests.
                assert_eq!(seen.connected, 60);
                assert!(seen.outcomes.ok >= 60 * 4, "{:?}", seen.outcomes);
            }
        }
    }
}

/// Takes the mask off what comes, tells `serve` of it, and masks what that returns.
fn behind_a_mask(it: &Connection, mut serve: impl FnMut(&[u8]) -> Vec<u8>) -> io::Result<()> {
    let mut buffer = [0; 4096];
    let mut key = [0];
    it.read(&mut key)?;
    let half = it.count.connections.load(Relaxed) as u8;
    it.write(&[half])?;
    let mut masks = Masks::new(key[0], half);
    loop {
        let n = it.read(&mut buffer)?.len();
        if n == 0 {
            return Ok(());
        }
        let bytes = &mut buffer[..n];
        masks.to_server.apply(bytes);
        let mut answer = serve(bytes);
        masks.to_client.apply(&mut answer);
        it.write(&answer)?;
    }
}

#[test]
fn a_session_around_an_echo() {
    for kind in transports() {
        let plain = Arc::new(AtomicU64::new(0));
        let heard = plain.clone();
        let server = Server::tcp(move |it| {
            behind_a_mask(it, |bytes| {
                let expected = b"hello\n";
                let right = bytes.iter().all(|byte| expected.contains(byte));
                heard.fetch_add(u64::from(right) * bytes.len() as u64, Relaxed);
                bytes.to_vec()
            })
        });
        for pipeline in [1, 5] {
            plain.store(0, Relaxed);
            let target = server.target.clone();
            let plan = own(&server, 3, 300, kind).pipeline(pipeline);
            let seen = carry_out(&plan, move |_| {
                (target.clone(), Masked::new(Echo::new("hello\n")))
            });
            assert_eq!(seen.outcomes.ok, 300, "{:?}", seen.outcomes);
            assert_eq!(seen.outcomes.finished(), 300, "{:?}", seen.outcomes);
            assert_eq!(plain.load(Relaxed), 300 * 6);
        }
    }
}

#[test]
fn a_handshake_within_a_handshake() {
    for kind in transports() {
        let server = Server::tcp(|it| {
            let mut pending = Vec::new();
            behind_a_mask(it, |bytes| {
                pending.extend_from_slice(bytes);
                let whole = pending.len() / FRAME * FRAME;
                let frames: Vec<u8> = pending.drain(..whole).collect();
                let answers = frames.chunks(FRAME).map(|bytes| match parse(bytes) {
                    (HELLO, _) => frame(HELLO, 0),
                    (_, number) => frame(ANSWER, number),
                });
                answers.rev().flatten().collect()
            })
        });
        let target = server.target.clone();
        let plan = own(&server, 3, 300, kind).pipeline(4);
        let seen = carry_out(&plan, move |_| (target.clone(), Masked::new(MANY)));
        assert_eq!(seen.outcomes.ok, 300, "{:?}", seen.outcomes);
        assert_eq!(seen.connected, 3);
    }
}

/// Keeps the most requests that a connection ever had in flight.
struct Watched {
    inner: Multiplexed,
    most: Arc<AtomicU64>,
}

impl Session for Watched {
    type Conn = Streams;
    type Token = Tag;

    fn opened(
        &mut self,
        conn: &mut Streams,
        slot: u32,
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) {
        self.inner.opened(conn, slot, out, events);
    }

    fn accepts(&self, conn: &Streams) -> bool {
        self.inner.accepts(conn)
    }

    fn request(&mut self, conn: &mut Streams, slot: u32, tag: Tag, out: &mut Vec<u8>) {
        self.inner.request(conn, slot, tag, out);
        self.most.fetch_max(conn.most as u64, Relaxed);
    }

    fn received(
        &mut self,
        conn: &mut Streams,
        slot: u32,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) -> Result<(), Fault> {
        self.inner.received(conn, slot, bytes, out, events)
    }

    fn end(&mut self, conn: &mut Streams, slot: u32, events: &mut impl Events<Tag>) {
        self.inner.end(conn, slot, events);
    }
}

/// Record of a session's events, without a worker.
#[derive(Default)]
struct Reported {
    ready: u32,
    answered: Vec<(Tag, u64)>,
    closing: bool,
}

impl Events<Tag> for Reported {
    fn ready(&mut self) {
        self.ready += 1;
    }

    fn answered(&mut self, tag: Tag, answer: Answer) -> Booked {
        self.answered.push((tag, answer.body));
        Booked::default()
    }

    fn closing(&mut self) {
        self.closing = true;
    }
}

#[test]
fn a_session_needs_no_socket() {
    let mut session = Masked::new(MANY);
    let mut conn = <Masked<Multiplexed> as Session>::Conn::default();
    let mut tags = <Tag as Token>::InFlight::default();
    let mut seen = Reported::default();
    let mut out = Vec::new();

    session.opened(&mut conn, 0, &mut out, &mut seen);
    assert_eq!(out, [crate::sessions::CLIENT_KEY]);
    let mut server = Masks::new(out[0], 9);
    let mut masked = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        server.to_client.apply(&mut bytes);
        bytes
    };
    let mut client = Masks::new(out[0], 9).to_server;
    let mut sent = |out: &mut Vec<u8>| {
        client.apply(out);
        let frames: Vec<_> = out.chunks(FRAME).map(parse).collect();
        out.clear();
        frames
    };
    out.clear();

    // The inner session begins when the outer one has its key.
    session
        .received(&mut conn, 0, &[9], &mut out, &mut seen)
        .unwrap();
    assert_eq!((sent(&mut out), seen.ready), (vec![(HELLO, 0)], 0));
    let hello = masked(&frame(HELLO, 0));
    session
        .received(&mut conn, 0, &hello[..2], &mut out, &mut seen)
        .unwrap();
    assert_eq!(seen.ready, 0);
    session
        .received(&mut conn, 0, &hello[2..], &mut out, &mut seen)
        .unwrap();
    assert_eq!((out.len(), seen.ready), (0, 1));

    let tags = [(); 3].map(|()| {
        let (tag, _) = tags.put(3);
        session.request(&mut conn, 0, tag, &mut out);
        tag
    });
    let requests = vec![(REQUEST, 0), (REQUEST, 1), (REQUEST, 2)];
    assert_eq!(sent(&mut out), requests);
    assert!(session.cancel(&mut conn, 0, tags[1], &mut out));
    assert_eq!(sent(&mut out), [(CANCEL, 1)]);

    let frames = [
        frame(ANSWER, 2),
        frame(ANSWER, 1),
        frame(PING, 77),
        frame(GOODBYE, 0),
        frame(ANSWER, 0),
    ];
    let bytes = masked(&frames.concat());
    session
        .received(&mut conn, 0, &bytes, &mut out, &mut seen)
        .unwrap();
    assert_eq!(sent(&mut out), [(PONG, 77)]);
    assert_eq!(seen.answered, [(tags[2], 2), (tags[0], 0)]);
    assert!(seen.closing);

    let fault = session.received(&mut conn, 0, &masked(b"?????"), &mut out, &mut seen);
    assert!(matches!(fault, Err(Fault::Malformed(_))), "{fault:?}");
}
