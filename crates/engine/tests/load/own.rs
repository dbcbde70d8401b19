//! Protocols that the caller supplies.

use crate::servers::{Server, answer_and_close, echo};
use crate::support::{Ended, HANGS, HELLO, MS, POISSON, With, plan, transports};
use prony_engine::protocol::{
    Answer, Booked, Echo, Events, Expect, Fault, Http, HttpExchange, HttpRequest, Limits, NextSend,
    Session,
};
use prony_engine::{Control, Dialogue, Nanos, Plan, Target, run, run_with};
use prony_record::{Transport, Window};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

/// Another protocol, with manners of its own.
struct Mannered<P> {
    inner: P,
    rest: Option<Nanos>,
    /// Number of requests sent at once, then none until all are answered.
    batch: u32,
    /// Ends after this many answers.
    last: u64,
    answers: u64,
    seen: Arc<Seen>,
}

/// Events of all workers together.
#[derive(Default)]
struct Seen {
    rests: AtomicU64,
    /// `s`ent and `a`nswered, in order.
    events: Mutex<String>,
}

#[derive(Default)]
struct MannersConn<C> {
    inner: C,
    sent: u32,
    in_flight: u32,
}

impl<P> Mannered<P> {
    fn new(inner: P, seen: &Arc<Seen>) -> Self {
        Self {
            inner,
            rest: None,
            batch: 1,
            last: u64::MAX,
            answers: 0,
            seen: seen.clone(),
        }
    }
}

/// Passes on what the other protocol reports, and counts its answers.
struct Counted<'a, E> {
    events: &'a mut E,
    log: &'a Mutex<String>,
    answers: u32,
}

impl<T, E: Events<T>> Events<T> for Counted<'_, E> {
    fn ready(&mut self) {
        self.events.ready();
    }

    fn answered(&mut self, token: T, answer: Answer) -> Booked {
        self.answers += 1;
        self.log.lock().unwrap().push('a');
        self.events.answered(token, answer)
    }

    fn closing(&mut self) {
        self.events.closing();
    }
}

impl<P: Session> Session for Mannered<P> {
    type Conn = MannersConn<P::Conn>;
    type Token = P::Token;

    fn request(&mut self, conn: &mut Self::Conn, slot: u32, token: P::Token, out: &mut Vec<u8>) {
        self.seen.events.lock().unwrap().push('s');
        conn.sent += 1;
        conn.in_flight += 1;
        self.inner.request(&mut conn.inner, slot, token, out);
    }

    fn received(
        &mut self,
        conn: &mut Self::Conn,
        slot: u32,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<P::Token>,
    ) -> Result<(), Fault> {
        let mut counted = Counted {
            events,
            log: &self.seen.events,
            answers: 0,
        };
        let result = self
            .inner
            .received(&mut conn.inner, slot, bytes, out, &mut counted);
        conn.in_flight -= counted.answers;
        self.answers += u64::from(counted.answers);
        result
    }

    fn end(&mut self, conn: &mut Self::Conn, slot: u32, events: &mut impl Events<P::Token>) {
        self.inner.end(&mut conn.inner, slot, events);
    }

    fn rests(&self) -> bool {
        self.rest.is_some()
    }

    fn pace(&mut self, conn: &mut Self::Conn, _slot: u32) -> NextSend {
        if self.ended() || (conn.in_flight > 0 && conn.sent.is_multiple_of(self.batch)) {
            return NextSend::WhenAnswered;
        }
        match self.rest {
            Some(rest) => {
                self.seen.rests.fetch_add(1, Relaxed);
                NextSend::After(rest)
            }
            None => NextSend::Now,
        }
    }

    fn ended(&self) -> bool {
        self.answers >= self.last
    }
}

pub fn own(server: &Server, connections: u32, requests: u64, kind: Transport) -> Plan {
    plan(&server.target, Dialogue::Own, connections, kind).ends_after(requests)
}

/// Until the number of requests is reached, with a guard against hanging.
pub fn carry_out<P: Session>(
    plan: &Plan,
    part: impl Fn(u32) -> (Target, P) + Send + Sync + 'static,
) -> Ended {
    let (sender, receiver) = mpsc::channel();
    let plan = plan.clone();
    thread::spawn(move || {
        // The receiver is gone when it has hung.
        let _ = sender.send(run_with(
            &plan,
            &Control::at_once(Nanos::MAX),
            part,
            |_: &Window| {},
        ));
    });
    let result = receiver.recv_timeout(HANGS).expect("hangs, or panicked");
    result.expect("a server's failures are no errors").into()
}

#[test]
fn a_plan_without_a_dialogue_is_for_run_with_only() {
    let plan = Plan::closed(Server::refused().target.clone(), Dialogue::Own, 1);
    let error = run(&plan, &Control::default(), |_: &Window| {}).unwrap_err();
    assert!(error.to_string().contains("run_with"), "{error}");
}

#[test]
fn each_worker_has_its_own_target_and_words() {
    for kind in transports() {
        let servers = [Server::tcp(echo), Server::tcp(echo)];
        let targets = servers.each_ref().map(|server| server.target.clone());
        let plan = own(&Server::refused(), 4, 200, kind).threads(2);
        let seen = carry_out(&plan, move |worker| {
            let worker = worker as usize;
            (targets[worker].clone(), Echo::new(["a", "bbb"][worker]))
        });
        assert_eq!(seen.outcomes.ok, 200, "{:?}", seen.outcomes);
        let bytes = servers.map(|server| server.count.bytes.load(Relaxed));
        assert_eq!(bytes, [100, 300]);
    }
}

#[test]
fn a_rest_comes_before_every_request() {
    const REST: Nanos = 3 * MS;
    for kind in transports() {
        let server = Server::tcp(echo);
        let (events, target) = (Arc::new(Seen::default()), server.target.clone());
        let rests = events.clone();
        let seen = carry_out(&own(&server, 2, 20, kind), move |_| {
            let mut it = Mannered::new(Echo::new(HELLO), &events);
            it.rest = Some(REST);
            (target.clone(), it)
        });
        assert_eq!(seen.outcomes.ok, 20, "{:?}", seen.outcomes);
        assert!(seen.measured_ns >= 10 * REST, "{}", seen.measured_ns);
        // Each connection may begin a rest that the end of the load cuts short.
        let rests = rests.rests.load(Relaxed);
        assert!((20..=22).contains(&rests), "{rests}");
    }
}

#[test]
fn a_rest_is_kept_on_connections_that_are_opened_anew() {
    const CLOSING: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    for kind in transports() {
        for keepalive in [true, false] {
            let server = Server::tcp(answer_and_close(CLOSING));
            let (events, target) = (Arc::new(Seen::default()), server.target.clone());
            let rests = events.clone();
            let plan = own(&server, 3, 30, kind).keepalive(keepalive);
            let seen = carry_out(&plan, move |_| {
                let request = HttpRequest::get("h", "/");
                let exchange = HttpExchange::new(&request, Expect::body("ok"));
                let http = Http::new(vec![exchange], Limits::default());
                let mut it = Mannered::new(http, &events);
                it.rest = Some(MS);
                (target.clone(), it)
            });
            assert_eq!(
                seen.outcomes.ok, 30,
                "{:?} {:?}",
                seen.outcomes, seen.errors
            );
            assert_eq!(seen.outcomes.failed(), 0, "{:?}", seen.errors);
            assert!(rests.rests.load(Relaxed) >= 30);
        }
    }
}

#[test]
fn a_batch_waits_for_its_last_answer() {
    for kind in transports() {
        let server = Server::tcp(echo);
        let (events, target) = (Arc::new(Seen::default()), server.target.clone());
        let log = events.clone();
        let plan = own(&server, 1, 40, kind).pipeline(8);
        let seen = carry_out(&plan, move |_| {
            let mut it = Mannered::new(Echo::new(HELLO), &events);
            it.batch = 4;
            (target.clone(), it)
        });
        assert_eq!(seen.outcomes.ok, 40, "{:?}", seen.outcomes);
        assert_eq!(*log.events.lock().unwrap(), "ssssaaaa".repeat(10));
    }
}

#[test]
fn one_worker_ends_and_the_others_go_on() {
    for kind in transports() {
        let server = Server::tcp(echo);
        let (events, target) = (Arc::new(Seen::default()), server.target.clone());
        let plan = own(&server, 2, 1_000, kind).threads(2);
        let seen = carry_out(&plan, move |worker| {
            let mut it = Mannered::new(Echo::new(HELLO), &events);
            it.last = if worker == 0 { 10 } else { u64::MAX };
            (target.clone(), it)
        });
        assert_eq!(seen.per_connection, [10, 500]);
        assert_eq!(seen.outcomes.ok, 510);
        assert_eq!(seen.outcomes.in_flight_at_end, 0, "{:?}", seen.outcomes);
    }
}

#[test]
fn an_open_loop_asks_for_no_pace() {
    for kind in transports() {
        let server = Server::tcp(echo);
        let (events, target) = (Arc::new(Seen::default()), server.target.clone());
        let rests = events.clone();
        let plan = own(&server, 2, 50, kind).due(POISSON);
        let seen = carry_out(&plan, move |_| {
            let mut it = Mannered::new(Echo::new(HELLO), &events);
            it.rest = Some(MS);
            (target.clone(), it)
        });
        assert_eq!(seen.outcomes.ok, 50, "{:?}", seen.outcomes);
        assert_eq!(rests.rests.load(Relaxed), 0);
    }
}

#[test]
fn the_rates_of_workers_add_up() {
    let server = Server::tcp(echo);
    for kind in transports() {
        let plan = plan(&server.target, Dialogue::Echo(HELLO.to_vec()), 4, kind).threads(2);
        let seen = crate::support::during(&plan, 350 * MS);
        let whole: Vec<_> = seen.measured_windows().collect();
        // 100 ms each: three whole ones of each worker, and a last one that is cut.
        assert_eq!(seen.detail.worker_rates.len(), 2 * 3);
        let answers: u64 = whole[..3]
            .iter()
            .map(|window| window.verified_answers)
            .sum();
        let rates: f64 = seen.detail.worker_rates.iter().sum();
        assert!(
            (rates / 10.0 - answers as f64).abs() < 1e-6 * rates,
            "{rates} {answers}"
        );
    }
}
