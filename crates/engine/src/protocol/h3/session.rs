//! All connections of a worker.

use super::conn::{H3Conn, OpenConn};
use super::request::{Heads, Prepared};
use super::shared::Shared;
use super::tls::{self, Agreed, CryptoCost, QuicTls};
use crate::clock::{self, Nanos};
use crate::protocol::h2::StreamedExchange;
use crate::protocol::h2::content::{Content, Plain};
use crate::protocol::tls::{Connector, TlsInvalid};
use crate::protocol::{
    AnswerProgress, Booked, Ending, Events, Fault, HeadBytes, Limits, NextSend, Session, Tag,
};
use crate::transport::datagrams::{self, CONGESTED, ID};
use bytes::{Bytes, BytesMut};
use prony_record::{ByRequest, BySession, Quic, Tls};
use quinn_proto::{
    ClientConfig, ConnectionId, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint,
    EndpointConfig, EndpointEvent, TransportConfig, VarInt,
};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Streams that a server may open: its control stream, those of its QPACK, and some that mean nothing here.
const INCOMING: u32 = 16;

/// Sends a list of requests in turn on every connection, each connection starting at another place in the list, and judges
/// every answer as its content is judged.
pub struct H3<C: Content = Plain> {
    shared: Shared<C>,
    quic: QuicSide,
    tls: Tls,
    seen: Quic,
    /// The fewest streams that a server has allowed on a connection.
    allowed: u32,
    /// Memory for the datagrams that are sent.
    memory: Vec<u8>,
}

/// The part of a worker, or of a probe, that all its connections of QUIC share.
pub(super) struct QuicSide {
    endpoint: Endpoint,
    /// Slot of the connection that gets the next IDs.
    slot: Arc<AtomicU32>,
    config: ClientConfig,
    /// Name of the server.
    name: String,
    remote: SocketAddr,
    cost: Arc<CryptoCost>,
    /// Memory for answers to datagrams of no connection, which are not sent.
    unsent: Vec<u8>,
    /// One moment on both clocks.
    began: (Instant, Nanos),
}

/// IDs that say to which slot a datagram goes, where connections share a socket.
struct SlotIds {
    slot: Arc<AtomicU32>,
    /// IDs so far.
    nth: u32,
}

impl ConnectionIdGenerator for SlotIds {
    fn generate_cid(&mut self) -> ConnectionId {
        self.nth = self.nth.wrapping_add(1);
        ConnectionId::new(&datagrams::id(self.slot.load(Ordering::Relaxed), self.nth))
    }

    fn cid_len(&self) -> usize {
        ID
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// Can QUIC be spoken with a server as the connector says?
///
/// # Errors
/// Why not.
pub(crate) fn possible(connector: &Connector, remote: SocketAddr) -> Result<(), TlsInvalid> {
    QuicSide::new(connector, remote, 0).map(drop)
}

impl QuicSide {
    /// # Errors
    /// When TLS cannot be spoken as the connector says over QUIC, which has TLS 1.3 only.
    pub(super) fn new(
        connector: &Connector,
        remote: SocketAddr,
        window: u32,
    ) -> Result<Self, TlsInvalid> {
        // The library panics without TLS 1.3.
        if !connector.offers_tls13() {
            return Err(TlsInvalid::without_tls13());
        }
        let crypto = QuicTls::new(connector.config()).ok_or_else(TlsInvalid::without_tls13)?;
        let cost = crypto.cost();
        let mut transport = TransportConfig::default();
        transport
            .max_concurrent_bidi_streams(VarInt::from_u32(0))
            .max_concurrent_uni_streams(VarInt::from_u32(INCOMING))
            .stream_receive_window(VarInt::from_u32(window))
            .receive_window(VarInt::from_u32(window.max(65_535)))
            .datagram_receive_buffer_size(None)
            // The worker gives up what takes too long.
            .max_idle_timeout(None);
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.transport_config(Arc::new(transport));
        let slot = Arc::<AtomicU32>::default();
        let ids = Arc::clone(&slot);
        let mut endpoint = EndpointConfig::default();
        endpoint.cid_generator(move || {
            let slot = Arc::clone(&ids);
            Box::new(SlotIds { slot, nth: 0 })
        });
        Ok(Self {
            endpoint: Endpoint::new(Arc::new(endpoint), None, true, None),
            slot,
            config,
            name: connector.server_name(),
            remote,
            cost,
            unsent: Vec::new(),
            began: (Instant::now(), clock::now()),
        })
    }

    /// Begins a connection.
    pub(super) fn connect<C: Content>(&mut self, slot: u32) -> Option<OpenConn<C>> {
        let (config, name) = (self.config.clone(), &self.name);
        self.slot.store(slot, Ordering::Relaxed);
        let made = self
            .endpoint
            .connect(Instant::now(), config, self.remote, name);
        made.ok()
            .map(|(handle, quic)| OpenConn::new(handle, quic, slot))
    }

    /// Tells the endpoint what happens on a connection, and the connection what follows from that.
    pub(super) fn attend<C: Content>(&mut self, open: &mut OpenConn<C>) {
        while let Some(event) = open.quic.poll_endpoint_events() {
            open.drained |= event.is_drained();
            self.slot.store(open.slot(), Ordering::Relaxed);
            if let Some(event) = self.endpoint.handle_event(open.handle, event) {
                open.quic.handle_event(event);
            }
        }
    }

    /// Hands what came on the socket of a connection to it.
    pub(super) fn received<C: Content>(&mut self, open: &mut OpenConn<C>, mut bytes: &[u8]) {
        let now = Instant::now();
        while let Some(run) = datagrams::next(&mut bytes) {
            let mark = EcnCodepoint::from_bits(run.mark);
            let mut rest = BytesMut::from(run.bytes);
            while !rest.is_empty() {
                let one = rest.split_to(run.segment.min(rest.len()));
                open.marked += u64::from(run.mark == CONGESTED);
                let (endpoint, unsent) = (&mut self.endpoint, &mut self.unsent);
                unsent.clear();
                // What belongs to no connection, or to another one, is nothing that this server should send here.
                if let Some(DatagramEvent::ConnectionEvent(handle, event)) =
                    endpoint.handle(now, self.remote, None, mark, one, unsent)
                    && handle == open.handle
                {
                    open.quic.handle_event(event);
                    open.came = open.came.wrapping_add(1);
                    open.dirty = true;
                }
            }
        }
    }

    /// When a connection wants to be woken, on the engine's clock.
    fn nanos(&self, at: Instant) -> Nanos {
        let (instant, nanos) = self.began;
        nanos + clock::nanos(at.saturating_duration_since(instant))
    }
}

impl<C: Content> H3<C> {
    fn with(
        shared: Shared<C>,
        connector: &Connector,
        remote: SocketAddr,
        window: u32,
    ) -> Result<Self, TlsInvalid> {
        Ok(Self {
            shared,
            quic: QuicSide::new(connector, remote, window)?,
            tls: Tls::default(),
            seen: Quic {
                version: tls::VERSION,
                ..Quic::default()
            },
            allowed: u32::MAX,
            memory: Vec::new(),
        })
    }

    /// Takes what a connection says of itself.
    fn drive(&mut self, conn: &mut H3Conn<C>, events: &mut impl Events<Tag>) -> Result<(), Fault> {
        let Some(open) = &mut conn.open else {
            return Ok(());
        };
        let before = open.ready;
        let result = open.drive(&mut self.quic, &mut self.shared, events);
        if open.ready && !before {
            if let Some(agreed) = &open.agreed {
                secured(
                    &mut self.tls,
                    &mut self.seen,
                    agreed,
                    &self.shared.connector,
                );
            }
            if !open.early {
                opened(&mut self.shared, open);
            }
        }
        result
    }
}

impl<C: Content<State: Default>> H3<C> {
    /// `exchanges` must not be empty; `window` is that of each stream and each connection, in bytes; a connection has at least
    /// 65,535.
    ///
    /// # Errors
    /// When TLS cannot be spoken as the connector says over QUIC.
    pub(crate) fn new(
        exchanges: Vec<StreamedExchange<C::Expect>>,
        limits: Limits,
        window: u32,
        (connector, remote): (&Connector, SocketAddr),
    ) -> Result<Self, TlsInvalid> {
        assert!(!exchanges.is_empty(), "at least one request is needed");
        let exchanges = exchanges.into_iter().map(Prepared::new).collect();
        let state = C::State::default();
        let shared = Shared::new(exchanges, Heads::default(), limits, state, connector);
        Self::with(shared, connector, remote, window)
    }
}

impl<C: Content<Expect = ()>> H3<C> {
    /// Requests that are composed, whose heads are encoded in this way.
    ///
    /// # Errors
    /// When TLS cannot be spoken as the connector says over QUIC.
    pub(crate) fn composed(
        state: C::State,
        heads: Heads,
        limits: Limits,
        window: u32,
        (connector, remote): (&Connector, SocketAddr),
    ) -> Result<Self, TlsInvalid> {
        let exchanges = vec![Prepared::of_composed()];
        let shared = Shared::new(exchanges, heads, limits, state, connector);
        Self::with(shared, connector, remote, window)
    }
}

impl<C: Content> Session for H3<C> {
    type Conn = H3Conn<C>;
    type Token = Tag;

    const TLS: bool = true;
    const TIMERS: bool = true;

    fn opened(
        &mut self,
        conn: &mut H3Conn<C>,
        slot: u32,
        _: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) {
        conn.open = self.quic.connect(slot).map(Box::new);
        let Some(open) = &mut conn.open else {
            return;
        };
        // Only where the user allows it, and an earlier session can be resumed so.
        if open.quic.has_0rtt() {
            open.early = true;
            opened(&mut self.shared, open);
            open.begin();
            open.tell_ready(events);
        }
    }

    #[inline]
    fn accepts(&self, conn: &H3Conn<C>) -> bool {
        let open = conn.open.as_ref().filter(|open| open.accepts());
        open.is_some_and(|open| C::accepts(&self.shared.state, open.streams.first()))
    }

    fn request(&mut self, conn: &mut H3Conn<C>, _: u32, tag: Tag, _: &mut Vec<u8>) {
        if let Some(open) = &mut conn.open {
            open.request(&mut self.shared, tag);
        }
    }

    fn received(
        &mut self,
        conn: &mut H3Conn<C>,
        _: u32,
        bytes: &[u8],
        _: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) -> Result<(), Fault> {
        if let Some(open) = &mut conn.open {
            self.quic.received(open, bytes);
        }
        self.drive(conn, events)
    }

    fn end(&mut self, _: &mut H3Conn<C>, _: u32, _: &mut impl Events<Tag>) {}

    fn cancel(&mut self, conn: &mut H3Conn<C>, _: u32, tag: Tag, _: &mut Vec<u8>) -> bool {
        match &mut conn.open {
            Some(open) => open.cancel(tag),
            None => false,
        }
    }

    fn streams(&self) -> bool {
        C::streams(&self.shared.state)
    }

    fn listens(&self, conn: &H3Conn<C>, tag: Tag) -> Option<Nanos> {
        let stream = conn.open.as_ref()?.streams.in_flight(tag)?;
        C::listens(&self.shared.state, &stream.answer.reading)
    }

    fn hang_up(
        &mut self,
        conn: &mut H3Conn<C>,
        _: u32,
        tag: Tag,
        _: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) -> bool {
        let open = conn.open.as_mut();
        open.is_some_and(|open| open.hang_up(tag, &mut self.shared, events))
    }

    fn pack(&mut self, conn: &mut H3Conn<C>, out: &mut Vec<u8>) {
        if let Some(open) = conn.open.as_mut().filter(|open| open.dirty) {
            open.transmit(Instant::now(), &mut self.memory, |run| run.put(out));
        }
    }

    fn payload(bytes: &[u8]) -> u64 {
        datagrams::payload(bytes)
    }

    fn timer(&mut self, conn: &mut H3Conn<C>) -> Option<Nanos> {
        let at = conn.open.as_mut()?.quic.poll_timeout()?;
        Some(self.quic.nanos(at))
    }

    fn woken(
        &mut self,
        conn: &mut H3Conn<C>,
        _: u32,
        events: &mut impl Events<Tag>,
    ) -> Result<(), Fault> {
        if let Some(open) = &mut conn.open {
            open.quic.handle_timeout(Instant::now());
            open.dirty = true;
        }
        self.drive(conn, events)
    }

    fn goodbye(&mut self, conn: &mut H3Conn<C>, out: &mut Vec<u8>) {
        // What is in flight is still to be reported to it.
        let Some(open) = conn.open.as_mut().filter(|open| !open.parted) else {
            return;
        };
        open.parted = true;
        let code = VarInt::from_u32(super::frame::NO_ERROR);
        open.quic.close(Instant::now(), code, Bytes::new());
        open.transmit(Instant::now(), &mut self.memory, |run| run.put(out));
        if !open.drained {
            let gone = EndpointEvent::drained();
            self.quic.endpoint.handle_event(open.handle, gone);
        }
        count(&mut self.seen, open);
        self.allowed = self.allowed.min(open.limited.unwrap_or(u32::MAX));
    }

    #[inline]
    fn rests(&self) -> bool {
        C::rests(&self.shared.state)
    }

    #[inline]
    fn pace(&mut self, conn: &mut H3Conn<C>, slot: u32) -> NextSend {
        match &mut conn.open {
            Some(open) if C::rests(&self.shared.state) => {
                C::pace(&mut self.shared.state, open.streams.reading(0), slot)
            }
            _ => NextSend::Now,
        }
    }

    #[inline]
    fn ended(&self) -> bool {
        C::ended(&self.shared.state)
    }

    #[inline]
    fn failed(&mut self, conn: &mut H3Conn<C>, tag: Tag, booked: Booked, ending: Ending) {
        if let Some(open) = &mut conn.open
            && C::COMPOSES
        {
            let reading = open.streams.reading(tag.index());
            C::failed(&mut self.shared.state, reading, booked, ending);
        }
    }

    fn heads(&mut self) -> HeadBytes {
        self.shared.heads
    }

    fn progress(&self, conn: &H3Conn<C>, tag: Tag) -> AnswerProgress {
        let open = conn.open.as_ref();
        open.map_or(AnswerProgress::Unknown, |open| open.streams.progress(tag))
    }

    fn streams_allowed(&self) -> Option<u32> {
        (self.allowed < u32::MAX).then_some(self.allowed)
    }

    fn tls(&mut self) -> Option<Tls> {
        Some(std::mem::take(&mut self.tls))
    }

    fn quic(&mut self) -> Option<Quic> {
        Some(Quic {
            crypto_ns: self.quic.cost.nanos(),
            cpu_ns: clock::thread_cpu(),
            ..std::mem::take(&mut self.seen)
        })
    }

    fn by_request(&mut self) -> Vec<ByRequest> {
        C::by_request(&mut self.shared.state)
    }

    fn by_session(&mut self) -> Vec<BySession> {
        C::by_session(&mut self.shared.state)
    }

    fn how_ended(&self, conn: &H3Conn<C>) -> &'static str {
        let open = conn.open.as_ref();
        open.map_or("the QUIC connection could not be begun", |open| {
            open.how_ended()
        })
    }

    fn said_goodbye(&self, conn: &H3Conn<C>) -> bool {
        let open = conn.open.as_ref();
        open.is_some_and(|open| open.control.is_leaving())
    }
}

/// Requests are composed on a connection from now on.
fn opened<C: Content>(shared: &mut Shared<C>, open: &mut OpenConn<C>) {
    if C::COMPOSES {
        let slot = open.slot();
        C::opened(&mut shared.state, open.streams.reading(0), slot);
    }
}

/// Adds a handshake that is done.
fn secured(tls: &mut Tls, quic: &mut Quic, agreed: &Agreed, connector: &Connector) {
    if tls.handshakes.all() == 0 {
        let handshakes = tls.handshakes;
        *tls = agreed.tls(connector);
        tls.handshakes = handshakes;
    }
    tls.handshakes.count(agreed.resumed);
    quic.retried += u64::from(agreed.retried);
    quic.announced = quic.announced.or(agreed.announced);
}

/// Adds what a connection has seen, which is closed.
fn count<C: Content>(seen: &mut Quic, open: &OpenConn<C>) {
    let stats = open.quic.stats();
    let of_streams = stats.frame_tx.stream_data_blocked + stats.frame_tx.streams_blocked_bidi;
    let taken = open.quic.accepted_0rtt();
    seen.merge(&Quic {
        connections: u64::from(open.ready),
        early: u64::from(open.ready && open.early && taken),
        early_refused: u64::from(open.ready && open.early && !taken),
        datagrams_sent: stats.udp_tx.datagrams,
        bytes_sent: stats.udp_tx.bytes,
        sends: stats.udp_tx.ios,
        datagrams_received: stats.udp_rx.datagrams,
        bytes_received: stats.udp_rx.bytes,
        datagrams_marked: open.marked,
        // The transport knows of them.
        datagrams_dropped: 0,
        packets_sent: stats.path.sent_packets,
        packets_lost: stats.path.lost_packets,
        congestion_events: stats.path.congestion_events,
        rtt_sum_ns: match open.ready {
            true => clock::nanos(stats.path.rtt),
            false => 0,
        },
        blocked: stats.frame_tx.data_blocked + of_streams,
        ..Quic::default()
    });
}
