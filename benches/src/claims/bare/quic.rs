//! quinn-proto, with its own sockets, and nothing of HTTP/3 but the bytes of one request: what comes on its stream is
//! dropped, and the stream's end is an answer.

use super::{Floor, Meter, Span, silent};
use bytes::BytesMut;
use prony_engine::protocol::tls::{TlsOptions, client_config};
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig,
    Event, StreamEvent, StreamId, Transmit, TransportConfig, VarInt,
};
use quinn_udp::{RecvMeta, UdpSocketState};
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

/// Readiness reports taken at once.
const BATCH: usize = 256;
/// Bytes received at once.
const BUFFER: usize = 64 << 10;
/// Datagrams sent at once.
const SEGMENTS: usize = 32;
/// After so long without an answer the server counts as dead.
const SILENCE_MS: u128 = 5_000;
/// Time after which timers are looked at, in milliseconds.
const TICK_MS: libc::c_int = 5;

/// A connection with its socket.
struct Line {
    handle: ConnectionHandle,
    quic: Connection,
    socket: UdpSocket,
    state: UdpSocketState,
    ready: bool,
    /// Requests in flight.
    open: usize,
}

/// The bytes of a GET of this path, on its stream.
fn request(authority: &str, path: &str) -> Vec<u8> {
    let mut section = vec![0, 0, 0xd1, 0xd7];
    for (name, value) in [(0x50, authority), (0x51, path)] {
        section.push(name);
        assert!(value.len() < 127, "a length of one byte");
        section.push(value.len() as u8);
        section.extend_from_slice(value.as_bytes());
    }
    assert!(section.len() < 64, "a length of one byte");
    [&[1, section.len() as u8], &section[..]].concat()
}

/// Runs the loop on the calling thread, with so many requests in flight on each connection.
///
/// # Errors
/// When a connection cannot be made or ends, or the server stops answering.
pub fn quic(
    addr: SocketAddr,
    (connections, streams): (usize, usize),
    (options, path): (&TlsOptions, &str),
    span: Span,
) -> io::Result<Floor> {
    let (tls, name) = client_config(options).map_err(io::Error::other)?;
    let crypto = QuicClientConfig::try_from(tls).map_err(io::Error::other)?;
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .stream_receive_window(VarInt::from_u32((1 << 30) - 1))
        .receive_window(VarInt::from_u32((1 << 30) - 1))
        .datagram_receive_buffer_size(None);
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport));
    let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), None, true, None);
    // SAFETY: a plain system call without pointers.
    let raw = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    if raw < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, so this is its only owner.
    let epoll = unsafe { OwnedFd::from_raw_fd(raw) };
    let mut lines = Vec::new();
    for index in 0..connections {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(addr)?;
        let state = UdpSocketState::new((&socket).into())?;
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: index as u64,
        };
        // SAFETY: both descriptors are open, and the event is valid for the call.
        let added = unsafe {
            libc::epoll_ctl(
                epoll.as_raw_fd(),
                libc::EPOLL_CTL_ADD,
                socket.as_raw_fd(),
                &raw mut event,
            )
        };
        if added < 0 {
            return Err(io::Error::last_os_error());
        }
        let (handle, quic) = endpoint
            .connect(Instant::now(), config.clone(), addr, &name)
            .map_err(io::Error::other)?;
        lines.push(Line {
            handle,
            quic,
            socket,
            state,
            ready: false,
            open: 0,
        });
    }
    let frames = bytes::Bytes::from(request(&name, path));
    let mut meter = Meter::new(span);
    let mut memory = Vec::new();
    let mut buffer = vec![0; BUFFER];
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; BATCH];
    let mut last = (Instant::now(), 0);
    for line in &mut lines {
        line.transmit(&mut memory)?;
    }
    loop {
        // SAFETY: the event array is valid and its length is given.
        let ready = unsafe {
            libc::epoll_wait(
                epoll.as_raw_fd(),
                events.as_mut_ptr(),
                BATCH as i32,
                TICK_MS,
            )
        };
        let now = Instant::now();
        if ready <= 0 {
            for line in &mut lines {
                if line.quic.poll_timeout().is_some_and(|at| at <= now) {
                    line.quic.handle_timeout(now);
                    line.transmit(&mut memory)?;
                }
            }
        }
        for event in &events[..ready.max(0) as usize] {
            let line = &mut lines[event.u64 as usize];
            line.receive(&mut endpoint, addr, &mut buffer, &mut memory)?;
            meter.answers += line.drive(&mut endpoint, streams, &frames)?;
            line.transmit(&mut memory)?;
        }
        if meter.answers > last.1 {
            last = (now, meter.answers);
        } else if (now - last.0).as_millis() > SILENCE_MS {
            return Err(silent());
        }
        if let Some(floor) = meter.turn() {
            return Ok(floor);
        }
    }
}

impl Line {
    fn receive(
        &mut self,
        endpoint: &mut Endpoint,
        addr: SocketAddr,
        buffer: &mut [u8],
        memory: &mut Vec<u8>,
    ) -> io::Result<()> {
        let mut meta = [RecvMeta::default()];
        let mut parts = [IoSliceMut::new(buffer)];
        match self
            .state
            .recv((&self.socket).into(), &mut parts, &mut meta)
        {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
        let [RecvMeta { len, stride, .. }] = meta;
        let now = Instant::now();
        let mut rest = BytesMut::from(&buffer[..len]);
        while !rest.is_empty() {
            let one = rest.split_to(stride.clamp(1, rest.len()));
            memory.clear();
            if let Some(DatagramEvent::ConnectionEvent(_, event)) =
                endpoint.handle(now, addr, None, None, one, memory)
            {
                self.quic.handle_event(event);
            }
        }
        Ok(())
    }

    /// Takes what has come, and asks again. Gives the number of answers.
    fn drive(
        &mut self,
        endpoint: &mut Endpoint,
        streams: usize,
        frames: &bytes::Bytes,
    ) -> io::Result<u64> {
        let mut answers = 0;
        loop {
            while let Some(event) = self.quic.poll_endpoint_events() {
                if let Some(event) = endpoint.handle_event(self.handle, event) {
                    self.quic.handle_event(event);
                }
            }
            match self.quic.poll() {
                None => break,
                Some(Event::Connected) => {
                    self.ready = true;
                    if let Some(id) = self.quic.streams().open(Dir::Uni) {
                        // The control stream, with empty settings.
                        let _ = self.quic.send_stream(id).write(&[0, 4, 0]);
                    }
                }
                Some(Event::ConnectionLost { reason }) => return Err(io::Error::other(reason)),
                Some(Event::Stream(StreamEvent::Opened { dir: Dir::Uni })) => {
                    while let Some(id) = self.quic.streams().accept(Dir::Uni) {
                        self.read(id);
                    }
                }
                Some(Event::Stream(StreamEvent::Readable { id })) => {
                    if self.read(id) && id.dir() == Dir::Bi {
                        answers += 1;
                        self.open -= 1;
                    }
                }
                Some(_) => {}
            }
        }
        while self.ready && self.open < streams {
            let Some(id) = self.quic.streams().open(Dir::Bi) else {
                break;
            };
            let mut stream = self.quic.send_stream(id);
            stream
                .write_chunks(&mut [frames.clone()])
                .map_err(io::Error::other)?;
            stream.finish().map_err(io::Error::other)?;
            self.open += 1;
        }
        Ok(answers)
    }

    /// Drops what has come on a stream. True: it has ended.
    fn read(&mut self, id: StreamId) -> bool {
        let mut stream = self.quic.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else {
            return false;
        };
        let ended = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(_)) => {}
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        let _ = chunks.finalize();
        ended
    }

    fn transmit(&mut self, memory: &mut Vec<u8>) -> io::Result<()> {
        loop {
            memory.clear();
            let now = Instant::now();
            let Some(Transmit {
                destination,
                size,
                segment_size,
                ..
            }) = self.quic.poll_transmit(now, SEGMENTS, memory)
            else {
                return Ok(());
            };
            let transmit = quinn_udp::Transmit {
                destination,
                ecn: None,
                contents: &memory[..size],
                segment_size,
                src_ip: None,
            };
            match self.state.try_send((&self.socket).into(), &transmit) {
                Ok(()) => {}
                // Lost, as on a network.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
}
