//! The server that keeps a script.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::held::Held;
use super::http3;
use super::report::{ClockworkReport, LatenessTally};
use super::requests::Requests;
use super::wire::Wire;
use super::{ReplyScript, Timeline};
use crate::session::Then;
use crate::slab::{Key, Slab};
use crate::sys::{self, Accepted, Interest, PollEvents, Poller, Sharing, is_passing, monotonic_ns};
use crate::{Contract, Date, Error, Layers};

use rustls::ServerConfig;

const LISTENER: u64 = u64::MAX;
/// Few, so that replies due meanwhile are not kept waiting by a long list.
const EVENTS: usize = 64;
/// Most bytes of one read.
const BUFFER: usize = 64 * 1024;
/// A connection with more held back than this, beyond one message, is not read until it is less.
const MOST_HELD: usize = 64 * 1024 * 1024;
/// How often a server that sleeps looks whether it is to stop.
pub(super) const LOOK: Duration = Duration::from_millis(20);
/// The script's origin is a whole multiple of this.
const SECOND_NS: u64 = 1_000_000_000;

/// Options of a clockwork server: contract, address and script.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where to listen; port 0 lets the kernel choose.
    pub listen: SocketAddr,
    /// Contract of the server's answers. Dates are those of the arrival, not of the reply.
    pub contract: Contract,
    /// When it is answered.
    pub script: ReplyScript,
    /// How many bytes of a tcp-echo connection are one request; `None` for whatever a read brings.
    /// What is left when the peer closes its side counts as a last request.
    pub message: Option<NonZeroUsize>,
    /// Leaves Nagle's algorithm on and sends in two pieces whatever leaves at once, as servers do
    /// that write head and body separately: once the client delays its acknowledgements, the second
    /// piece waits for one (40 ms and more).
    pub nagle: bool,
    /// Waits asleep rather than spinning: it leaves the CPU to others, and replies some 0.1 ms late.
    pub sleep: bool,
    /// Layers below HTTP, or TLS below WebSocket.
    pub over: Layers,
    /// HTTP is spoken as HTTP/3; the certificate is that of the layers.
    pub http3: bool,
    /// Notes when each reply is released, for [`ClockworkReport::released`]: eight bytes for each.
    pub note: bool,
}

impl Options {
    /// TCP echo, a read a request, answered at once.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            contract: Contract::TcpEcho,
            script: ReplyScript::default(),
            message: None,
            nagle: false,
            sleep: false,
            over: Layers::default(),
            http3: false,
            note: false,
        }
    }
}

/// A server that listens but does not serve yet: connections wait.
#[derive(Debug)]
pub struct ClockworkServer {
    options: Options,
    local_addr: SocketAddr,
    listener: ListeningSocket,
    tls: Option<Arc<ServerConfig>>,
    origin_ns: u64,
}

/// Socket on which clients are heard.
#[derive(Debug)]
enum ListeningSocket {
    Tcp(TcpListener),
    Udp(UdpSocket),
}

impl ClockworkServer {
    /// Listens. Also raises this process's soft limit of open files to the hard limit, since every
    /// connection needs a descriptor.
    ///
    /// # Errors
    ///
    /// [`Error::Listen`] if the address is taken or not this host's, [`Error::Options`] if the script
    /// does not pass [`ReplyScript::check`].
    pub fn bind(options: &Options) -> Result<Self, Error> {
        options.script.check()?;
        options.over.check(options.contract)?;
        let plain = options.contract == Contract::HttpEcho && !options.over.http2 && !options.http3;
        if options.script.events.is_some() && !plain {
            return Err(Error::Options(
                "events are served over HTTP/1.1, by http-echo",
            ));
        }
        let alpn = match options.http3 {
            true => &["h3"],
            false => options.over.alpn(),
        };
        let tls = options.over.config(alpn)?;
        sys::raise_open_files();
        let (listener, local_addr) = match options.http3 {
            true if options.contract != Contract::HttpEcho => {
                return Err(Error::Options("only http-echo is served over HTTP/3"));
            }
            true if tls.is_none() => {
                return Err(Error::Options("HTTP/3 needs a certificate"));
            }
            true => {
                let socket = sys::bind_datagrams(options.listen, false)?;
                let unwaiting = socket.set_nonblocking(true);
                unwaiting.map_err(Error::system("ioctl"))?;
                let local = socket.local_addr();
                (ListeningSocket::Udp(socket), local)
            }
            false => {
                let sharing = Sharing {
                    reuse_port: false,
                    nagle: options.nagle,
                };
                let listener = sys::listen(options.listen, sharing)?;
                let unwaiting = listener.set_nonblocking(true);
                unwaiting.map_err(Error::system("ioctl"))?;
                let local = listener.local_addr();
                (ListeningSocket::Tcp(listener), local)
            }
        };
        let now = monotonic_ns();
        Ok(Self {
            options: options.clone(),
            local_addr: local_addr.map_err(Error::system("getsockname"))?,
            listener,
            tls,
            origin_ns: now - now % SECOND_NS,
        })
    }

    /// Where it listens, with the port that the kernel chose.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// The script's origin on CLOCK_MONOTONIC, in nanoseconds: the last whole second before
    /// [`Self::bind`]. Another process on this host thus knows the phase of every stall whose period
    /// divides a second.
    pub fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    /// Serves until `stop` is set, keeping one CPU busy all the while unless it is to sleep: it spins, because
    /// a thread that sleeps wakes up late. Replies still held back then are dropped.
    ///
    /// A request arrives when the server learns of its last byte: at the return of the `epoll_wait`
    /// that reports it.
    ///
    /// # Errors
    ///
    /// [`Error::System`] if something fails that no server can go on without. What befalls a single
    /// connection ends that connection only.
    pub fn run(self, stop: &AtomicBool) -> Result<ClockworkReport, Error> {
        let listener = match (&self.listener, &self.tls) {
            (ListeningSocket::Tcp(listener), _) => listener,
            (ListeningSocket::Udp(socket), tls) => {
                let tls = tls.clone().expect("without it nothing was bound");
                return http3::run((socket, tls), &self.options, self.origin_ns, stop);
            }
        };
        let mut clockwork = Clockwork::new(&self, listener)?;
        let mut events = PollEvents::new(EVENTS);
        while !stop.load(Ordering::Relaxed) {
            clockwork.turn(&mut events)?;
        }
        Ok(clockwork.tally.into_report())
    }
}

struct Clockwork<'a> {
    options: &'a Options,
    listener: &'a TcpListener,
    tls: Option<&'a Arc<ServerConfig>>,
    origin_ns: u64,
    timeline: Timeline,
    poller: Poller,
    connections: Slab<Connection>,
    /// One entry for each connection that holds replies back: when the first of them is due.
    due: BinaryHeap<Reverse<(u64, Key)>>,
    tally: LatenessTally,
    date: Date,
    buffer: Vec<u8>,
}

struct Connection {
    wire: Wire,
    /// The number of connections accepted before it.
    number: usize,
    requests: Requests,
    held: Held,
    /// Whether it has its entry in the heap.
    scheduled: bool,
    /// Whether the connection stays open once everything is sent.
    then: Then,
    /// The peer has closed its side.
    ended: bool,
    /// Our side is closed.
    lingering: bool,
    interest: Interest,
}

impl<'a> Clockwork<'a> {
    fn new(server: &'a ClockworkServer, listener: &'a TcpListener) -> Result<Self, Error> {
        let poller = Poller::new()?;
        poller.add(listener, LISTENER, Interest::READ)?;
        Ok(Self {
            options: &server.options,
            listener,
            tls: server.tls.as_ref(),
            origin_ns: server.origin_ns,
            timeline: Timeline::new(&server.options.script),
            poller,
            connections: Slab::new(),
            due: BinaryHeap::new(),
            tally: LatenessTally::new(server.options.note),
            date: Date::now(),
            buffer: vec![0; BUFFER],
        })
    }

    /// Nanoseconds since the script's origin.
    fn now(&self) -> u64 {
        monotonic_ns() - self.origin_ns
    }

    /// Looks once for whatever there is to do. Replies that are due come first, and again after each
    /// connection's turn: reading is never so urgent.
    fn turn(&mut self, events: &mut PollEvents) -> Result<(), Error> {
        self.poller.wait(events, Some(self.idle()))?;
        let arrival = self.now();
        self.send_due()?;
        if events.len() > 0 {
            self.date.refresh();
        }
        for index in 0..events.len() {
            match events.token(index) {
                LISTENER => self.accept()?,
                token => self.ready(Key::from_bits(token), events.is_gone(index), arrival)?,
            }
            self.send_due()?;
        }
        Ok(())
    }

    /// How long nothing is due.
    fn idle(&self) -> Duration {
        if !self.options.sleep {
            return Duration::ZERO;
        }
        let due = self.due.peek().map(|Reverse((due, _))| due);
        due.map_or(LOOK, |due| {
            Duration::from_nanos(due.saturating_sub(self.now())).min(LOOK)
        })
    }

    fn accept(&mut self) -> Result<(), Error> {
        // Without a descriptor left the peer waits; the next turn looks again.
        while let Accepted::Connection(stream) = sys::accept(self.listener)? {
            let key = self.connections.insert(Connection {
                wire: Wire::new(stream, self.tls),
                number: self.tally.connection(),
                requests: Requests::new(
                    self.options.contract,
                    self.options.over.http2,
                    self.options.message,
                    self.options.script.events.map(|events| events.number),
                ),
                held: Held::default(),
                scheduled: false,
                then: Then::Keep,
                ended: false,
                lingering: false,
                interest: Interest::READ,
            });
            if let Some(connection) = self.connections.get_mut(key) {
                self.poller
                    .add(&connection.wire.stream, key.to_bits(), Interest::READ)?;
            }
        }
        Ok(())
    }

    fn send_due(&mut self) -> Result<(), Error> {
        while let Some(&Reverse((due, key))) = self.due.peek() {
            let now = self.now();
            if due > now {
                break;
            }
            self.due.pop();
            if let Some(connection) = self.connections.get_mut(key) {
                connection.scheduled = false;
                let number = connection.number;
                let tally = &mut self.tally;
                connection
                    .held
                    .release(now, |late| tally.note(number, now, late));
                // A connection that waits for room gets its turn when there is some.
                let result = if connection.interest.write {
                    Ok(())
                } else {
                    connection.send(self.options.nagle)
                };
                self.settle(key, result.is_err())?;
            }
        }
        Ok(())
    }

    fn ready(&mut self, key: Key, is_gone: bool, arrival: u64) -> Result<(), Error> {
        let Some(connection) = self.connections.get_mut(key) else {
            return Ok(()); // closed since the event was reported
        };
        if is_gone {
            self.connections.remove(key);
            return Ok(());
        }
        let mut result = Ok(());
        if connection.interest.write {
            result = connection.send(false);
        }
        if result.is_ok() && connection.interest.read {
            let due = |before: Option<u64>| match before {
                None => {
                    self.tally.requests += 1;
                    self.timeline.reply(arrival)
                }
                Some(before) => self.timeline.event(before),
            };
            result = connection.receive(&mut self.buffer, &self.date, arrival, due);
        }
        self.settle(key, result.is_err())
    }

    /// Ends a connection that has failed or is done; else sees that it is heard of again.
    fn settle(&mut self, key: Key, failed: bool) -> Result<(), Error> {
        let Some(connection) = self.connections.get_mut(key) else {
            return Ok(());
        };
        if failed || connection.is_over() {
            self.connections.remove(key);
            return Ok(());
        }
        if let Some(due) = connection.held.next_due()
            && !connection.scheduled
        {
            connection.scheduled = true;
            self.due.push(Reverse((due, key)));
        }
        let most = MOST_HELD + self.options.message.map_or(0, NonZeroUsize::get);
        let interest = Interest {
            read: !connection.ended && connection.held.len() < most,
            write: connection.wire.waits() || !connection.held.sendable().is_empty(),
        };
        if interest != connection.interest {
            connection.interest = interest;
            self.poller
                .modify(&connection.wire.stream, key.to_bits(), interest)?;
        }
        Ok(())
    }
}

impl Connection {
    /// Reads once.
    fn receive(
        &mut self,
        buffer: &mut [u8],
        date: &Date,
        arrival: u64,
        due: impl FnMut(Option<u64>) -> u64,
    ) -> io::Result<()> {
        match self.wire.read(buffer) {
            Ok(0) => {
                self.ended = true;
                self.requests.end(&mut self.held, due);
            }
            Ok(length) if self.then == Then::Keep => {
                let input = &buffer[..length];
                let held = &mut self.held;
                self.then = self.requests.receive(input, date, arrival, held, due);
            }
            Ok(_) => {} // nothing is answered any more
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Sends what is released, as far as there is room.
    fn send(&mut self, in_two: bool) -> io::Result<()> {
        let length = self.held.sendable().len();
        if in_two && length > 1 {
            let sent = self.wire.write(&self.held.sendable()[..length / 2])?;
            self.held.advance(sent);
        }
        if length > 0 {
            let sent = self.wire.write(self.held.sendable())?;
            self.held.advance(sent);
        }
        self.wire.flush()
    }

    /// Whether it is done with. Closes our side where the peer is to be heard out.
    fn is_over(&mut self) -> bool {
        if self.held.len() > 0 || self.wire.waits() {
            return false;
        }
        if self.then == Then::Linger && !self.ended && !self.lingering {
            self.lingering = true;
            return self.wire.close().is_err();
        }
        self.ended || self.then == Then::Close
    }
}
