//! The clockwork over HTTP/3. quinn-proto keeps the state of QUIC; sockets and time are here, so that each reply leaves when
//! it is due.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use prony_engine::protocol::h3::Decoder;
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, ReadError,
    StreamEvent, StreamId, TransportConfig, VarInt,
};
use rustls::ServerConfig;

use super::report::{ClockworkReport, LatenessTally};
use super::server::{LOOK, Options};
use super::{ReplyScript, Timeline};
use crate::sys::{Interest, PollEvents, Poller, is_passing, monotonic_ns};
use crate::{Date, Error};

/// Streams that a client may have open.
const STREAMS: u32 = 4_096;
/// Longest datagram, in bytes.
const BUFFER: usize = 65_536;
/// Longest request that is read, in bytes.
const LONGEST: usize = 1 << 20;
/// Datagrams that are read before replies are looked at again, which happens after each of them too.
const BATCH: usize = 64;
/// Control stream with empty settings.
const GREETING: &[u8] = &[0, 4, 0];
/// Frames (RFC 9114, 7.2).
const DATA: u64 = 0;
const HEADERS: u64 = 1;

/// Serves until `stop` is set, as [`ClockworkServer::run`](super::ClockworkServer::run) does.
///
/// # Errors
/// [`Error::System`] if something fails that no server can go on without.
pub(super) fn run(
    (socket, tls): (&UdpSocket, Arc<ServerConfig>),
    options: &Options,
    origin_ns: u64,
    stop: &AtomicBool,
) -> Result<ClockworkReport, Error> {
    let mut clockwork = Http3Clockwork::new(socket, tls, options, origin_ns)?;
    let poller = Poller::new()?;
    poller.add(socket, 0, Interest::READ)?;
    let mut events = PollEvents::new(1);
    while !stop.load(Ordering::Relaxed) {
        poller.wait(&mut events, Some(clockwork.idle()))?;
        clockwork.turn()?;
    }
    Ok(clockwork.tally.into_report())
}

struct Http3Clockwork<'a> {
    socket: &'a UdpSocket,
    sleep: bool,
    origin_ns: u64,
    timeline: Timeline,
    tally: LatenessTally,
    date: Date,
    endpoint: Endpoint,
    peers: HashMap<ConnectionHandle, Peer>,
    replies: BinaryHeap<Reverse<HeldReply>>,
    /// Requests so far: replies that are due at the same time leave in the order of their requests.
    asked: u64,
    decoder: Decoder,
    buffer: Vec<u8>,
    out: Vec<u8>,
}

/// A client's connection.
struct Peer {
    quic: Connection,
    /// The number of connections accepted before it.
    number: usize,
    /// Requests that have not come whole.
    requests: HashMap<StreamId, Vec<u8>>,
}

/// A reply that is held back.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct HeldReply {
    /// In nanoseconds since the script's origin.
    due: u64,
    nth: u64,
    to: (ConnectionHandle, StreamId),
    bytes: Vec<u8>,
}

impl<'a> Http3Clockwork<'a> {
    fn new(
        socket: &'a UdpSocket,
        tls: Arc<ServerConfig>,
        options: &Options,
        origin_ns: u64,
    ) -> Result<Self, Error> {
        let crypto = QuicServerConfig::try_from(tls);
        let crypto = crypto.map_err(|error| Error::Tls(error.to_string()))?;
        let mut transport = TransportConfig::default();
        transport.max_concurrent_bidi_streams(STREAMS.into());
        let mut config = quinn_proto::ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(Arc::new(transport));
        let script: &ReplyScript = &options.script;
        Ok(Self {
            socket,
            sleep: options.sleep,
            origin_ns,
            timeline: Timeline::new(script),
            tally: LatenessTally::new(options.note),
            date: Date::now(),
            endpoint: Endpoint::new(
                Arc::new(EndpointConfig::default()),
                Some(Arc::new(config)),
                false,
                None,
            ),
            peers: HashMap::new(),
            replies: BinaryHeap::new(),
            asked: 0,
            decoder: Decoder::default(),
            buffer: vec![0; BUFFER],
            out: Vec::new(),
        })
    }

    /// Nanoseconds since the script's origin.
    fn now(&self) -> u64 {
        monotonic_ns() - self.origin_ns
    }

    /// How long nothing is due.
    fn idle(&mut self) -> Duration {
        if !self.sleep {
            return Duration::ZERO;
        }
        let now = (self.now(), Instant::now());
        let reply = self.replies.peek().map(|Reverse(reply)| reply.due);
        let reply = reply.map(|due| Duration::from_nanos(due.saturating_sub(now.0)));
        let timers = self.peers.values_mut();
        let timers = timers.filter_map(|peer| peer.quic.poll_timeout());
        let timer = timers.min().map(|at| at.saturating_duration_since(now.1));
        [reply, timer]
            .into_iter()
            .flatten()
            .fold(LOOK, Duration::min)
    }

    /// Replies that are due come first, and again after each datagram.
    fn turn(&mut self) -> Result<(), Error> {
        let arrival = self.now();
        self.send_due();
        for _ in 0..BATCH {
            let (length, from) = match self.socket.recv_from(&mut self.buffer) {
                Ok(received) => received,
                Err(error) if is_passing(&error) => break,
                // A client that has gone, on whose port nothing listens any more.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => continue,
                Err(error) => return Err(Error::system("recvfrom")(error)),
            };
            self.date.refresh();
            let now = Instant::now();
            let datagram = BytesMut::from(&self.buffer[..length]);
            self.out.clear();
            match self
                .endpoint
                .handle(now, from, None, None, datagram, &mut self.out)
            {
                Some(DatagramEvent::NewConnection(incoming)) => {
                    self.out.clear();
                    let accepted = self.endpoint.accept(incoming, now, &mut self.out, None);
                    if let Ok((handle, quic)) = accepted {
                        let peer = Peer {
                            quic,
                            number: self.tally.connection(),
                            requests: HashMap::new(),
                        };
                        self.peers.insert(handle, peer);
                        self.drive(handle, arrival);
                    }
                }
                Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                    if let Some(peer) = self.peers.get_mut(&handle) {
                        peer.quic.handle_event(event);
                        self.drive(handle, arrival);
                    }
                }
                Some(DatagramEvent::Response(response)) => {
                    let bytes = &self.out[..response.size];
                    let _ = self.socket.send_to(bytes, response.destination);
                }
                None => {}
            }
            self.send_due();
        }
        self.wake();
        Ok(())
    }

    /// Tells the connections whose timers have run out.
    fn wake(&mut self) {
        let now = Instant::now();
        let mut late = Vec::new();
        for (&handle, peer) in &mut self.peers {
            if peer.quic.poll_timeout().is_some_and(|at| at <= now) {
                peer.quic.handle_timeout(now);
                late.push(handle);
            }
        }
        for handle in late {
            self.drive(handle, self.now());
        }
    }

    /// Takes what a connection says of itself; requests that are whole now came at `arrival`.
    fn drive(&mut self, handle: ConnectionHandle, arrival: u64) {
        let Some(peer) = self.peers.get_mut(&handle) else {
            return;
        };
        let mut whole = Vec::new();
        let mut drained = false;
        loop {
            while let Some(event) = peer.quic.poll_endpoint_events() {
                drained |= event.is_drained();
                if let Some(event) = self.endpoint.handle_event(handle, event) {
                    peer.quic.handle_event(event);
                }
            }
            match peer.quic.poll() {
                None => break,
                Some(Event::Connected) => {
                    if let Some(control) = peer.quic.streams().open(Dir::Uni) {
                        let _ = peer.quic.send_stream(control).write(GREETING);
                    }
                }
                Some(Event::Stream(StreamEvent::Opened { dir })) => {
                    while let Some(id) = peer.quic.streams().accept(dir) {
                        peer.read(id, &mut whole);
                    }
                }
                Some(Event::Stream(StreamEvent::Readable { id })) => peer.read(id, &mut whole),
                Some(_) => {}
            }
        }
        for (id, request) in whole {
            self.tally.requests += 1;
            self.asked += 1;
            let target = target(&request, &mut self.decoder).unwrap_or_else(|| b"/".to_vec());
            self.replies.push(Reverse(HeldReply {
                due: self.timeline.reply(arrival),
                nth: self.asked,
                to: (handle, id),
                bytes: reply(&target, self.date.as_str()),
            }));
        }
        match drained {
            true => drop(self.peers.remove(&handle)),
            false => self.transmit(handle),
        }
    }

    /// Sends the replies that are due, each at once.
    fn send_due(&mut self) {
        while let Some(Reverse(reply)) = self.replies.peek() {
            let now = self.now();
            if reply.due > now {
                break;
            }
            let Some(Reverse(reply)) = self.replies.pop() else {
                break;
            };
            let (handle, id) = reply.to;
            if let Some(peer) = self.peers.get_mut(&handle) {
                self.tally.note(peer.number, now, now - reply.due);
                let mut stream = peer.quic.send_stream(id);
                // What the client gives no room for is not sent: replies are short, and clients give much.
                let _ = stream.write(&reply.bytes);
                let _ = stream.finish();
                self.transmit(handle);
            }
        }
    }

    /// Sends what a connection has to send. What the socket does not take is lost, as on any path.
    fn transmit(&mut self, handle: ConnectionHandle) {
        let Some(peer) = self.peers.get_mut(&handle) else {
            return;
        };
        loop {
            self.out.clear();
            let now = Instant::now();
            let Some(one) = peer.quic.poll_transmit(now, 1, &mut self.out) else {
                return;
            };
            let _ = self.socket.send_to(&self.out[..one.size], one.destination);
        }
    }
}

impl Peer {
    /// Reads what has come on a stream; a request that is whole is added to `whole`. What comes on streams in one direction
    /// is not looked at.
    fn read(&mut self, id: StreamId, whole: &mut Vec<(StreamId, Vec<u8>)>) {
        let is_request = id.dir() == Dir::Bi;
        let mut stream = self.quic.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else {
            return;
        };
        let request = self.requests.entry(id).or_default();
        let ended = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) if is_request => request.extend_from_slice(&chunk.bytes),
                Ok(Some(_)) => {}
                Ok(None) => break Some(true),
                Err(ReadError::Reset(_)) => break Some(false),
                Err(ReadError::Blocked) => break None,
            }
        };
        let _ = chunks.finalize();
        let too_long = request.len() > LONGEST;
        if too_long {
            let code = VarInt::from_u32(0x107); // H3_EXCESSIVE_LOAD
            let _ = self.quic.recv_stream(id).stop(code);
            let _ = self.quic.send_stream(id).reset(code);
        }
        if (ended.is_some() || too_long)
            && let Some(request) = self.requests.remove(&id)
            && ended == Some(true)
            && is_request
            && !too_long
        {
            whole.push((id, request));
        }
    }
}

/// Takes an integer from the front (RFC 9000, 16).
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let length = 1 << (bytes.first()? >> 6);
    let (number, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    let first = u64::from(number[0] & 0x3f);
    let more = number[1..].iter();
    Some(more.fold(first, |value, &byte| value << 8 | u64::from(byte)))
}

/// The path that a request asks for.
fn target(mut request: &[u8], decoder: &mut Decoder) -> Option<Vec<u8>> {
    loop {
        let (kind, length) = (varint(&mut request)?, varint(&mut request)?);
        let (payload, rest) = request.split_at_checked(usize::try_from(length).ok()?)?;
        request = rest;
        if kind != HEADERS {
            continue;
        }
        let mut path = None;
        let decoded = decoder.decode(payload, LONGEST, |name, value| {
            if name == b":path" {
                path = Some(value.to_vec());
            }
        });
        return path.filter(|_| decoded.is_ok());
    }
}

/// A reply of http-echo: the path and the date.
fn reply(target: &[u8], date: &str) -> Vec<u8> {
    let body = [target, b" at ", date.as_bytes()].concat();
    // A section without a dynamic table (RFC 9204, 4.5.1): `:status 200` and `content-type text/plain` are in the static
    // one, of content-length and date the names.
    let mut section = vec![0, 0, 0xc0 | 25, 0xc0 | 53];
    for (name, value) in [(4, body.len().to_string()), (6, date.to_owned())] {
        section.push(0x50 | name);
        section.push(value.len() as u8);
        section.extend_from_slice(value.as_bytes());
    }
    let mut out = Vec::with_capacity(section.len() + body.len() + 8);
    for (kind, payload) in [(HEADERS, &section), (DATA, &body)] {
        out.push(kind as u8);
        out.extend_from_slice(&(0x8000_0000 | payload.len() as u32).to_be_bytes());
        out.extend_from_slice(payload);
    }
    out
}
