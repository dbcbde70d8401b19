//! The one loop: schedule × session × transport × recorder.
//!
//! Everything a worker touches is its own. In a turn it sends what is due, looks after what has
//! taken too long, and waits for the transport, which calls back with what came.

mod answers;
mod backlog;
mod connection;
mod following;
mod growth;
mod links;
mod parking;
mod pool;
mod rest;
mod sending;
mod spread;
mod tracer;

use crate::clock::{self, Nanos};
use crate::control::Control;
use crate::plan::Plan;
use crate::protocol::{Ending, HeadBytes, PlainBytes, Session};
use crate::recorder::{Record, Recorder, RequestTimes, Slice};
use crate::schedule::{Schedule, Share};
use crate::trace::{Opening, TraceSample};
use crate::transport::{Outgoing, Slot, TICK, Transport, Wait};
use connection::{Connection, Link};
use links::SET_UP_PACE;
use parking::Parking;
use prony_record::{ByAddress, ByRequest, BySession, Grpc, Pool, Quic, Slo, Tls};
use rest::Alarms;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io;
use tracer::Tracer;

/// An open loop does not sleep when the next request is due sooner than this: to wake up takes a
/// virtual machine some 50 µs, with a long tail, and the request would be that late, or the answer to the
/// one before seem so.
const SPIN: Nanos = 1_000_000;
/// A turn of the loop in which nothing happens takes about a microsecond. A longer one was
/// preempted: it passed, but it was not CPU time spent waiting.
const LONGEST_IDLE_TURN: Nanos = 5_000;
/// After a stop, so much time for what is in flight.
const LAST_CALL: Nanos = 100_000_000;

/// How long connections are listened to after the load.
const LISTEN: Nanos = 10_000_000;

/// Event that a worker reports to the thread that started it.
pub(crate) enum Event {
    /// The worker's connections are set up as far as possible.
    Ready,
    /// A window has ended.
    Window(Box<Slice>),
}

/// Results that a worker hands over at the end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct WorkerReport {
    pub record: Record,
    /// When the measurement began and ended.
    pub measured: (Nanos, Nanos),
    /// CPU time used in the measurement, waiting without sleep included.
    pub cpu: Nanos,
    /// The part of `cpu` that was waiting without sleep.
    pub spin: Nanos,
    /// Time in the measurement in which the worker was ready and others had its CPU.
    pub kept_waiting: Nanos,
    /// Connections made, set-up included.
    pub connected: u64,
    /// Answers per connection in the measurement, in the order of the worker's connections.
    pub answers: Vec<u64>,
    /// How many connections there were; of a closed loop nothing.
    #[serde(default)]
    pub pool: Option<Pool>,
    pub first_head: Vec<u8>,
    pub by_request: Vec<ByRequest>,
    pub by_session: Vec<BySession>,
    #[serde(default)]
    pub by_address: Vec<ByAddress>,
    pub tls: Option<Tls>,
    #[serde(default)]
    pub streams_allowed: Option<u32>,
    #[serde(default)]
    pub grpc: Option<Grpc>,
    #[serde(default)]
    pub quic: Option<Quic>,
    pub heads: HeadBytes,
    pub plain: Option<PlainBytes>,
    pub opening: Opening,
    /// Empty unless asked for. It stays in the process.
    #[serde(skip)]
    pub trace: Vec<TraceSample>,
}

/// The CPU accounts at one end of the measurement.
#[derive(Debug, Clone, Copy)]
struct CpuMark {
    cpu: Nanos,
    spin: Nanos,
    kept_waiting: Nanos,
}

pub(crate) struct Worker<'a, S, P: Session> {
    control: &'a Control,
    /// `dyn`, since it is called once per window, and the loop would otherwise be compiled again for every caller.
    events: &'a dyn Fn(Event),
    schedule: S,
    protocol: P,
    recorder: Recorder,
    connections: Vec<Connection<P>>,
    /// The times of what is in flight: `pipeline` places for each connection.
    times: Vec<RequestTimes>,
    /// Bytes to send on the connection that is being worked on; empty in between.
    unsent: Vec<u8>,

    pipeline: usize,
    keepalive: bool,
    /// Connections are closed after a number of requests.
    closes: bool,
    /// How many requests a connection is for, and for how long.
    calls: u32,
    lifetime: Nanos,
    timeout: Nanos,
    /// Limits of a good answer.
    slo: Option<Slo>,
    /// The shortest time after which something is given up, or ended.
    patience: Nanos,
    /// Before a connection is tried again that brought no answer.
    retry: Nanos,
    window: Nanos,
    /// Number of requests, or of connections for several calls, that may still fall due in the measurement.
    quota: u64,
    /// The load is a number of requests: those count that fall due in the measurement.
    numbered: bool,

    /// When the load began; `None` while connections are being set up.
    start: Option<Nanos>,
    /// After this, set-up is over whether every connection is there or not.
    setup_until: Nanos,
    /// When the next connection may be opened while the load has not begun, and how long after it
    /// the one after that.
    next_open: Nanos,
    pace: Nanos,
    ready: bool,
    /// Closed slots to be opened now, and later (with their time, in order).
    to_open: VecDeque<Slot>,
    to_retry: VecDeque<(Nanos, Slot)>,
    /// Connections of a closed loop that have not begun, each with its time, in order.
    to_begin: VecDeque<(Nanos, Slot)>,
    /// Over how long they begin.
    spread: Nanos,
    /// Connections that rest, and until when.
    rests: Alarms,
    /// Connections that want to be woken, and when.
    timers: Alarms,
    /// Datagrams that the kernel dropped.
    dropped: u64,
    parking: Parking,
    pool: pool::Pool,
    tracer: Option<Box<Tracer>>,
    connecting: u32,
    connected: u64,
    /// Connections open or being made.
    alive: u32,
    opening: Opening,
    /// Requests in flight, and due but unsent, over all connections.
    in_flight: u64,
    waiting: u64,
    /// Requests sent since the load began; counted only in an open loop.
    sent: u64,
    /// The most that may wait.
    most_waiting: u64,
    /// Has the server said something on a connection before it was asked?
    speaks_first: bool,
    swept: Slot,
    next_sweep: Nanos,
    spin: Nanos,
    /// CPU time for the work until the last window ended.
    work: Nanos,
    begun: Option<CpuMark>,
    ended: Option<CpuMark>,
    /// When the protocol said that this worker's part is over.
    left: Option<Nanos>,
}

impl<'a, S: Schedule, P: Session> Worker<'a, S, P> {
    pub(crate) fn new(
        plan: &Plan,
        share: Share,
        control: &'a Control,
        schedule: S,
        protocol: P,
        events: &'a dyn Fn(Event),
    ) -> Self {
        let n = share.connections();
        let (workers, worker) = (u64::from(share.workers), u64::from(share.worker));
        let timeout = clock::nanos(plan.load.timeout.0);
        let lifetime = plan.load.connection_lifetime;
        let lifetime = lifetime.map_or(Nanos::MAX, |time| clock::nanos(time.0));
        let quota = plan.requests().map_or(u64::MAX, |total| {
            total / workers + u64::from(worker < total % workers)
        });
        let alarms = |wanted| Alarms::new(if wanted { n as usize } else { 0 });
        let rests = alarms(protocol.rests());
        let pool = pool::Pool::new(plan, share);
        let parking = Parking::new(&plan.load.connection_stages, share, pool.first());
        Self {
            control,
            events,
            schedule,
            protocol,
            recorder: Recorder::new(0, Nanos::MAX / 2),
            numbered: plan.requests().is_some(),
            connections: (0..n).map(|_| Connection::new()).collect(),
            times: vec![RequestTimes::default(); n as usize * plan.load.pipeline as usize],
            unsent: Vec::new(),
            pipeline: plan.load.pipeline as usize,
            keepalive: plan.load.keepalive,
            closes: !plan.load.keepalive
                || plan.load.requests_per_connection.is_some()
                || plan.load.connection_lifetime.is_some(),
            calls: match (plan.load.keepalive, plan.load.requests_per_connection) {
                (false, _) => plan.load.calls,
                (true, most) => most.unwrap_or(u32::MAX),
            },
            lifetime,
            timeout,
            slo: plan.load.slo,
            patience: plan
                .dialogue
                .listens()
                .unwrap_or(timeout)
                .min(timeout)
                .min(lifetime),
            retry: plan.retry,
            window: clock::nanos(plan.load.window.0),
            quota,
            start: None,
            // The time-out is that of the last connection.
            setup_until: clock::now() + Nanos::from(n) * SET_UP_PACE * workers + timeout,
            next_open: 0,
            pace: SET_UP_PACE * workers,
            ready: false,
            // Without keep-alive connections are a part of the load, not of its set-up.
            to_open: if plan.load.keepalive {
                (0..parking.on()).collect()
            } else {
                VecDeque::new()
            },
            to_retry: VecDeque::new(),
            to_begin: VecDeque::new(),
            spread: plan.spread,
            rests,
            timers: alarms(P::TIMERS),
            dropped: 0,
            parking,
            pool,
            tracer: Tracer::wanted(plan, share, quota),
            connecting: 0,
            connected: 0,
            alive: 0,
            opening: Opening::default(),
            in_flight: 0,
            waiting: 0,
            sent: 0,
            most_waiting: backlog::most(share.workers),
            speaks_first: false,
            swept: 0,
            next_sweep: 0,
            spin: 0,
            work: 0,
            begun: None,
            ended: None,
            left: None,
        }
    }

    /// Sets up the connections, waits for the start, carries out the load, and reports.
    pub(crate) fn run<T: Transport>(mut self, mut transport: T) -> io::Result<WorkerReport> {
        let mut last = clock::now();
        let mut idle = false;
        loop {
            let now = clock::now();
            if idle {
                self.spin += (now - last).min(LONGEST_IDLE_TURN);
            }
            // In a closed loop everything comes when it is read. In an open one it may have come before
            // that, so what came by a time is known once a poll has begun after it.
            let known = if S::CLOSED { now } else { last };
            if self.turn(transport.out(), now, known) {
                self.hear_out(&mut transport)?;
                return Ok(self.finish(now));
            }
            let wait = self.wait(now);
            last = now;
            idle = transport.poll(wait, &mut self)? == 0 && wait == Wait::No;
        }
    }

    /// After the load, what comes although nothing is asked any more: a server that has answered more
    /// than it was asked is still behind with that.
    #[cold]
    fn hear_out<T: Transport>(&mut self, transport: &mut T) -> io::Result<()> {
        self.ended.get_or_insert(self.mark());
        let until = clock::now() + LISTEN;
        while self.start.is_some() && self.alive > 0 {
            let left = until.saturating_sub(clock::now());
            if left == 0 {
                break;
            }
            transport.poll(Wait::For(left), self)?;
        }
        for slot in 0..self.connections.len() as Slot {
            if self.connections[slot as usize].link != Link::Closed {
                self.recorder.record.lost_segments += transport.out().lost_segments(slot);
                self.part(transport.out(), slot);
            }
        }
        Ok(())
    }

    /// Does everything that is due now, before the worker waits. Everything that came before `known` has been read.
    /// True: the load is over.
    #[inline]
    fn turn<O: Outgoing>(&mut self, out: &mut O, now: Nanos, known: Nanos) -> bool {
        if self.left.is_none() && self.protocol.ended() {
            self.left = Some(now);
        }
        let stopped = self.control.stopped();
        let Some(start) = self.start else {
            if P::TIMERS {
                self.fire(out, now);
            }
            self.set_up(out, now);
            return stopped;
        };
        (self.recorder.from, self.recorder.until) = self.control.measured_after(start);
        if stopped {
            self.cut_short(start, now);
        }
        if let Some(left) = self.left {
            self.recorder.until = self.recorder.until.min(left);
        }
        if self.begun.is_none() && now >= self.recorder.from {
            self.begun = Some(self.mark());
        }
        if self.ended.is_none() && now >= self.recorder.until {
            self.ended = Some(self.mark());
        }
        if known >= self.recorder.window_end() {
            self.roll(known);
            self.follow(out, now);
        }
        if now >= self.parking.next_change() {
            self.park(out, start, now);
        }
        if !S::CLOSED && now >= self.pool.growth.next() {
            self.grow(out, now);
        }
        self.open_some(out, now);
        if S::CLOSED && !self.to_begin.is_empty() {
            self.begin_some(out, now);
        }
        self.issue(out, start, now);
        if self.protocol.rests() {
            self.wake(out, now);
        }
        if P::TIMERS {
            self.fire(out, now);
        }
        self.sweep(out, now);
        self.is_over(known, stopped || self.left.is_some())
    }

    /// Hands over the windows that have ended. When several end at once, because this thread had
    /// no CPU for so long, the first has the work of all.
    #[cold]
    fn roll(&mut self, now: Nanos) {
        let mut work = self.worked();
        let events = self.events;
        let outstanding = self.in_flight + self.waiting;
        self.recorder.roll(now, |mut window| {
            window.work = std::mem::take(&mut work);
            window.outstanding = outstanding;
            events(Event::Window(Box::new(window)));
        });
    }

    /// CPU time for the work since this was last asked.
    fn worked(&mut self) -> Nanos {
        let total = clock::thread_cpu().saturating_sub(self.spin);
        // Spinning is timed by the wall clock, and can be a little more than its CPU time.
        let work = total.saturating_sub(self.work);
        self.work = self.work.max(total);
        work
    }

    /// A stop: what is measured ends now.
    #[cold]
    fn cut_short(&mut self, start: Nanos, now: Nanos) {
        let at = self.recorder.until.min(now);
        self.control.end(at.saturating_sub(start));
        let (from, until) = self.control.measured_after(start);
        self.recorder.from = from;
        self.recorder.end(until);
    }

    fn mark(&self) -> CpuMark {
        CpuMark {
            cpu: clock::thread_cpu(),
            spin: self.spin,
            kept_waiting: clock::thread_kept_waiting(),
        }
    }

    fn is_over(&self, now: Nanos, stopped: bool) -> bool {
        let from = self.recorder.from;
        let until = self.recorder.until;
        let nothing_due = now >= until || (self.quota == 0 && now >= from);
        if !nothing_due {
            return false;
        }
        // A connection for several calls that rests between two of them is not done before the end.
        let resting =
            self.protocol.rests() && !self.keepalive && now < until && self.rests.next().is_some();
        let quiet = self.in_flight == 0 && self.waiting == 0 && !resting;
        let patience = match stopped {
            true => LAST_CALL,
            false => self.timeout.saturating_add(self.recorder.longest_stream()),
        };
        // Streams without an end are not waited for, once the gaps are known that had begun.
        let heard = self.in_flight == self.recorder.heard_out();
        let endless = heard && self.in_flight > 0 && self.waiting == 0;
        quiet || endless || now >= until.saturating_add(patience)
    }

    /// How long the transport may sleep.
    #[inline]
    fn wait(&self, now: Nanos) -> Wait {
        let mut wake = self.next_sweep.min(self.recorder.window_end());
        wake = wake.min(self.parking.next_change());
        if !S::CLOSED && self.waiting > 0 {
            wake = wake.min(self.pool.growth.next());
        }
        for at in [self.recorder.from, self.recorder.until] {
            if at > now {
                wake = wake.min(at);
            }
        }
        for queue in [&self.to_retry, &self.to_begin] {
            if let Some(&(at, _)) = queue.front() {
                wake = wake.min(at);
            }
        }
        if self.protocol.rests()
            && let Some(at) = self.rests.next()
        {
            wake = wake.min(at);
        }
        if P::TIMERS
            && let Some(at) = self.timers.next()
        {
            wake = wake.min(at);
        }
        match self.start {
            None => wake = wake.min(now + self.pace.min(500_000)),
            Some(start) => {
                if let Some(arrival) = self.schedule.peek() {
                    let due = start + arrival.due;
                    let wanted = self.quota > 0 || due < self.recorder.from;
                    if wanted && due < self.recorder.until {
                        let places = self.parking.on() as usize * self.pipeline;
                        let room =
                            (self.in_flight as usize) < places && self.waiting < self.most_waiting;
                        match due.saturating_sub(SPIN) {
                            // Without room nothing can be sent before something comes.
                            at if at <= now && room => return Wait::No,
                            at if at > now => wake = wake.min(at),
                            _ => {}
                        }
                    }
                }
            }
        }
        match wake.saturating_sub(now) {
            TICK.. => Wait::Tick,
            sooner => Wait::For(sooner),
        }
    }

    fn finish(mut self, now: Nanos) -> WorkerReport {
        let outstanding = self.in_flight + self.waiting;
        for (index, connection) in self.connections.iter_mut().enumerate() {
            let times = &self.times[index * self.pipeline..][..self.pipeline];
            while let Some((token, request)) = connection.flow.oldest(times) {
                let (_, place) = connection.flow.take(token, times, now);
                let parts = connection.flow.take_parts(place);
                self.recorder.unfinished(request, parts, now);
                let booked = self.recorder.booked(request, now);
                let proto = &mut connection.proto;
                self.protocol
                    .failed(proto, token, booked, Ending::Unfinished);
            }
            for due in connection.backlog.take(usize::MAX) {
                self.recorder.unfinished(
                    RequestTimes {
                        due,
                        sent: Nanos::MAX,
                    },
                    None,
                    now,
                );
            }
        }
        for due in self.pool.queue.take(usize::MAX) {
            self.recorder.unfinished(
                RequestTimes {
                    due,
                    sent: Nanos::MAX,
                },
                None,
                now,
            );
        }
        let until = self.recorder.until.min(now);
        let from = self.recorder.from.min(until);
        if let Some(start) = self.start {
            self.schedule.skip(from.saturating_sub(start));
            let mut never = self.schedule.skip(until.saturating_sub(start));
            never.limit(self.quota);
            self.recorder.never_sent(&never.after(start), now);
            if until >= self.recorder.window_end() {
                self.roll(until);
            }
            if let Some(mut window) = self.recorder.last_window(until) {
                window.work = self.worked();
                window.outstanding = outstanding;
                (self.events)(Event::Window(Box::new(window)));
            }
        }
        let ended = self.ended.unwrap_or_else(|| self.mark());
        let begun = self.begun.unwrap_or(ended);
        let (trace, by_address) = match self.tracer.take() {
            Some(tracer) => tracer.done(),
            None => Default::default(),
        };
        WorkerReport {
            measured: (from, until),
            cpu: ended.cpu - begun.cpu,
            spin: ended.spin - begun.spin,
            kept_waiting: ended.kept_waiting.saturating_sub(begun.kept_waiting),
            connected: self.connected,
            answers: self
                .connections
                .iter()
                .take(match S::CLOSED {
                    // One that took part for a time only had answers too.
                    true => self.connections.len(),
                    false => self.parking.on() as usize,
                })
                .map(|connection| connection.flow.answers)
                .collect(),
            pool: (!S::CLOSED).then(|| self.pool.growth.result(self.parking.on())),
            first_head: self.protocol.first_head().to_owned(),
            by_request: self.protocol.by_request(),
            by_session: self.protocol.by_session(),
            tls: self.protocol.tls(),
            streams_allowed: self.protocol.streams_allowed(),
            grpc: self.protocol.grpc(),
            quic: self.protocol.quic().map(|quic| Quic {
                datagrams_dropped: self.dropped,
                ..quic
            }),
            heads: self.protocol.heads(),
            plain: self.protocol.plain(),
            opening: self.opening,
            trace,
            by_address,
            record: self.recorder.done(),
        }
    }
}
