//! `recvmsg` and `sendmsg` of datagrams. Each connection has a connected socket, so that the kernel spreads connections over
//! the processes of a server that share a port. Several datagrams go in one call where the kernel can (GSO, GRO).

use super::datagrams::{self, HEADER, MARK, Run};
use super::endpoints::{Endpoints, Sockets};
use super::epoll::{Readiness, untag};
use super::socket::{self, switch_on, would_block};
use super::stamp::{self, Stamps};
use super::{Came, Handler, Outgoing, Slot, Transport, Wait};
use crate::clock;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Bytes received at once: the most that the kernel joins.
const BUFFER: usize = 65_535;
/// Size of a socket's receive buffer, in bytes: bursts come while other connections are being served.
const RECEIVE_BUFFER: libc::c_int = 1 << 20;

/// Datagrams for all connections of one worker.
pub(crate) struct Udp {
    out: UdpOut,
    /// With room for the header in front.
    buffer: Box<[u8]>,
    /// Datagrams of one of several connections, with their header.
    addressed: Vec<u8>,
    stamps: Stamps,
}

pub(crate) struct UdpOut {
    readiness: Readiness,
    sockets: Sockets,
    came: Came,
    /// One for each slot, or fewer, which slots share by turns.
    descriptors: Box<[Descriptor]>,
    slots: Box<[SlotState]>,
    /// Does the kernel send several datagrams in one call?
    segments: bool,
    /// Slots whose sockets are there, and whose handler has not been told.
    opened: Vec<Slot>,
}

#[derive(Default)]
struct Descriptor {
    fd: Option<OwnedFd>,
    /// How often it was opened: readiness reports of an earlier socket have a lower number.
    generation: u32,
    /// The mark of congestion notification that its datagrams get.
    mark: u8,
}

#[derive(Default)]
struct SlotState {
    open: bool,
    /// Datagrams, with their headers, that the kernel did not take at once.
    unsent: Vec<u8>,
}

impl Udp {
    /// `shared`: the most sockets that all connections share; none: each has its own.
    ///
    /// # Errors
    /// When the kernel has no more file descriptors to give.
    pub(crate) fn new(
        ends: &Endpoints<'_>,
        connections: u32,
        shared: Option<u32>,
        came: Came,
    ) -> io::Result<Self> {
        let sockets = shared.unwrap_or(connections).min(connections);
        Ok(Self {
            out: UdpOut {
                readiness: Readiness::new()?,
                sockets: Sockets::datagrams(ends)?,
                came,
                descriptors: (0..sockets).map(|_| Descriptor::default()).collect(),
                slots: (0..connections).map(|_| SlotState::default()).collect(),
                segments: true,
                opened: Vec::new(),
            },
            buffer: vec![0; HEADER + BUFFER].into_boxed_slice(),
            addressed: Vec::new(),
            stamps: Stamps::default(),
        })
    }

    /// Hands what came on a socket that several connections share to each of them.
    fn deliver<H: Handler<UdpOut>>(&mut self, nth: u32, run: &Received, handler: &mut H) {
        let n = run.n as usize;
        let mut rest = HEADER..HEADER + n;
        while !rest.is_empty() {
            let first = rest.start..(rest.start + run.segment).min(rest.end);
            let to = datagrams::slot(&self.buffer[first.clone()]);
            let mut group = first;
            while group.end < rest.end {
                let next = group.end..(group.end + run.segment).min(rest.end);
                if datagrams::slot(&self.buffer[next.clone()]) != to {
                    break;
                }
                group.end = next.end;
            }
            rest.start = group.end;
            // What is for nobody here is dropped, as the kernel does.
            if let Some(slot) = to.filter(|&slot| self.out.has(nth, slot)) {
                self.addressed.clear();
                let datagrams = Run {
                    segment: run.segment,
                    mark: run.mark,
                    bytes: &self.buffer[group],
                };
                datagrams.put(&mut self.addressed);
                handler.received(&mut self.out, slot, &self.addressed, run.at);
            }
        }
    }
}

impl Transport for Udp {
    type Out = UdpOut;

    fn out(&mut self) -> &mut UdpOut {
        &mut self.out
    }

    fn poll<H: Handler<UdpOut>>(&mut self, wait: Wait, handler: &mut H) -> io::Result<usize> {
        let mut opened = std::mem::take(&mut self.out.opened);
        let wait = if opened.is_empty() { wait } else { Wait::No };
        let told = opened.len();
        for slot in opened.drain(..) {
            if self.out.slots[slot as usize].open {
                handler.opened(&mut self.out, slot, Ok(()), clock::now());
            }
        }
        let ready = self.out.readiness.wait(wait)?;
        for event in 0..ready {
            let Some((tag, flags)) = self.out.readiness.event(event) else {
                continue;
            };
            let (nth, generation) = untag(tag);
            let descriptor = &self.out.descriptors[nth as usize];
            let fd = match &descriptor.fd {
                Some(fd) if descriptor.generation == generation => fd.as_raw_fd(),
                _ => continue,
            };
            if flags & libc::EPOLLOUT as u32 != 0
                && let Err(error) = self.out.flush(nth)
            {
                self.out.lose(nth, &error, handler);
                continue;
            }
            if flags & !(libc::EPOLLOUT as u32) == 0 {
                continue;
            }
            let stamps = match self.out.came {
                Came::Read => None,
                Came::Stamped => Some(&mut self.stamps),
            };
            let mut received = receive(fd, &mut self.buffer[HEADER..], stamps);
            match received.n {
                // A datagram without any bytes is none of QUIC.
                0 => {}
                1.. => {
                    let n = received.n as usize;
                    if received.segment == 0 {
                        received.segment = n;
                    }
                    if self.out.shares() {
                        self.deliver(nth, &received, handler);
                        continue;
                    }
                    let run = Run {
                        segment: received.segment,
                        mark: received.mark,
                        bytes: &self.buffer[HEADER..][..n],
                    };
                    let header = run.header();
                    self.buffer[..HEADER].copy_from_slice(&header);
                    let bytes = &self.buffer[..HEADER + n];
                    handler.received(&mut self.out, nth, bytes, received.at);
                }
                _ => match io::Error::last_os_error() {
                    error if would_block(&error) => {}
                    error => self.out.lose(nth, &error, handler),
                },
            }
        }
        Ok(ready + told)
    }
}

impl Outgoing for UdpOut {
    fn open(&mut self, slot: Slot) -> io::Result<()> {
        let nth = self.descriptor(slot);
        if self.descriptors[nth as usize].fd.is_none() {
            let fd = self.socket()?;
            let descriptor = &mut self.descriptors[nth as usize];
            descriptor.generation = descriptor.generation.wrapping_add(1);
            descriptor.fd = Some(fd);
            descriptor.mark = 0;
            self.control(libc::EPOLL_CTL_ADD, nth, libc::EPOLLIN)?;
        }
        self.slots[slot as usize].open = true;
        self.opened.push(slot);
        Ok(())
    }

    fn send(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<()> {
        let state = &mut self.slots[slot as usize];
        if !state.open {
            return Err(io::ErrorKind::NotConnected.into());
        }
        if !state.unsent.is_empty() {
            state.unsent.extend_from_slice(bytes);
            return Ok(());
        }
        let sent = self.transmit(slot, bytes)?;
        if sent < bytes.len() {
            let unsent = &mut self.slots[slot as usize].unsent;
            unsent.extend_from_slice(&bytes[sent..]);
            let nth = self.descriptor(slot);
            self.control(libc::EPOLL_CTL_MOD, nth, libc::EPOLLIN | libc::EPOLLOUT)?;
        }
        Ok(())
    }

    fn dropped_datagrams(&self, slot: Slot) -> u64 {
        // Of a socket that is shared, the first of its slots counts them.
        let descriptor = self.descriptors.get(slot as usize);
        let fd = descriptor.and_then(|descriptor| descriptor.fd.as_ref());
        fd.map_or(0, |fd| socket::dropped_datagrams(fd.as_raw_fd()))
    }

    fn close(&mut self, slot: Slot) {
        self.slots[slot as usize] = SlotState::default();
        if !self.shares() {
            // Closing the only descriptor of a socket takes it out of the epoll set.
            self.descriptors[slot as usize].fd = None;
        }
        self.opened.retain(|&other| other != slot);
    }
}

impl UdpOut {
    /// Do connections share sockets?
    fn shares(&self) -> bool {
        self.descriptors.len() < self.slots.len()
    }

    /// Index of a slot's socket.
    fn descriptor(&self, slot: Slot) -> u32 {
        slot % self.descriptors.len() as u32
    }

    /// Is this slot open, and on this socket?
    fn has(&self, nth: u32, slot: Slot) -> bool {
        let state = self.slots.get(slot as usize);
        state.is_some_and(|state| state.open) && self.descriptor(slot) == nth
    }

    /// Makes a socket that is connected to the server.
    fn socket(&mut self) -> io::Result<OwnedFd> {
        let fd = self.sockets.socket()?;
        if self.came == Came::Stamped {
            stamp::ask(&fd);
        }
        // Not necessary, and not everywhere there: joined datagrams, and a larger buffer.
        let _ = switch_on(&fd, libc::SOL_UDP, libc::UDP_GRO);
        let _ = socket::set(&fd, libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER);
        // Marks of congestion notification.
        let _ = match self.sockets.is_ipv6() {
            true => switch_on(&fd, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS),
            false => switch_on(&fd, libc::IPPROTO_IP, libc::IP_RECVTOS),
        };
        let _ = unfragmented(&fd, self.sockets.is_ipv6());
        let (address, length) = self.sockets.target();
        // SAFETY: the address is valid for the call, and its length is given.
        match unsafe { libc::connect(fd.as_raw_fd(), address, length) } {
            0.. => Ok(fd),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Sends on a slot's socket; gives how many bytes were sent.
    fn transmit(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<usize> {
        let nth = self.descriptor(slot);
        let ipv6 = self.sockets.is_ipv6();
        let descriptor = &mut self.descriptors[nth as usize];
        match &descriptor.fd {
            Some(fd) => transmit(fd, bytes, &mut self.segments, (&mut descriptor.mark, ipv6)),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Slots of a socket.
    fn slots(&self, nth: u32) -> impl Iterator<Item = Slot> + use<> {
        (nth..self.slots.len() as u32).step_by(self.descriptors.len())
    }

    /// Sends what the kernel did not take at once.
    fn flush(&mut self, nth: u32) -> io::Result<()> {
        for slot in self.slots(nth) {
            let unsent = std::mem::take(&mut self.slots[slot as usize].unsent);
            if unsent.is_empty() {
                continue;
            }
            let sent = self.transmit(slot, &unsent)?;
            if sent < unsent.len() {
                self.slots[slot as usize].unsent = unsent[sent..].to_vec();
                return Ok(());
            }
        }
        self.control(libc::EPOLL_CTL_MOD, nth, libc::EPOLLIN)
    }

    /// A socket has failed, and with it all its connections.
    #[cold]
    fn lose<H: Handler<Self>>(&mut self, nth: u32, error: &io::Error, handler: &mut H) {
        for slot in self.slots(nth) {
            if self.slots[slot as usize].open {
                let error = match error.raw_os_error() {
                    Some(code) => io::Error::from_raw_os_error(code),
                    None => error.kind().into(),
                };
                handler.ended(self, slot, Some(error), clock::now());
            }
        }
    }

    fn control(&self, operation: libc::c_int, nth: u32, interest: libc::c_int) -> io::Result<()> {
        let descriptor = &self.descriptors[nth as usize];
        let Some(fd) = &descriptor.fd else {
            return Ok(());
        };
        let tag = (nth, descriptor.generation);
        self.readiness
            .control(operation, fd.as_raw_fd(), interest, tag)
    }
}

/// Has the kernel send datagrams whole or not at all: those of QUIC are not to be fragmented (RFC 9000, 14).
///
/// # Errors
/// When the kernel cannot.
pub(crate) fn unfragmented(fd: &impl AsRawFd, ipv6: bool) -> io::Result<()> {
    let (level, option, value) = match ipv6 {
        true => (
            libc::IPPROTO_IPV6,
            libc::IPV6_MTU_DISCOVER,
            libc::IPV6_PMTUDISC_PROBE,
        ),
        false => (
            libc::IPPROTO_IP,
            libc::IP_MTU_DISCOVER,
            libc::IP_PMTUDISC_PROBE,
        ),
    };
    socket::set(fd, level, option, value)
}

/// Sends runs of datagrams. Gives how many bytes were sent, headers included, up to the end of a run. `marking` is the mark
/// that the socket gives them, and whether it is one of IPv6.
fn transmit(
    fd: &OwnedFd,
    bytes: &[u8],
    segments: &mut bool,
    (marked, ipv6): (&mut u8, bool),
) -> io::Result<usize> {
    let mut rest = bytes;
    loop {
        let sent = bytes.len() - rest.len();
        let Some(next) = datagrams::next(&mut rest) else {
            return Ok(sent);
        };
        // All datagrams of a connection have one mark for nearly all of its life.
        if next.mark != *marked {
            *marked = next.mark;
            let mark = libc::c_int::from(next.mark);
            let _ = match ipv6 {
                true => socket::set(fd, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, mark),
                false => socket::set(fd, libc::IPPROTO_IP, libc::IP_TOS, mark),
            };
        }
        match run(fd.as_raw_fd(), next.segment, next.bytes, segments) {
            Ok(()) => {}
            // What has been sent of the run already is sent again with it, and dropped by the server.
            Err(error) if would_block(&error) => return Ok(sent),
            // Longer than the path allows: lost, as those that look for its length may be.
            Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Sends datagrams of one length, in one call where the kernel can.
fn run(fd: RawFd, segment: usize, datagrams: &[u8], segments: &mut bool) -> io::Result<()> {
    if datagrams.len() > segment && *segments {
        match send(fd, datagrams, Some(segment as u16)) {
            // Network cards without checksums, and old kernels.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL)) => {
                *segments = false;
            }
            result => return result,
        }
    }
    datagrams
        .chunks(segment)
        .try_for_each(|datagram| send(fd, datagram, None))
}

/// Length of a control message with one number, in bytes.
const ROOM: usize = size_of::<libc::cmsghdr>() + size_of::<usize>();

fn send(fd: RawFd, bytes: &[u8], segment: Option<u16>) -> io::Result<()> {
    let mut control = [0_usize; ROOM / size_of::<usize>()];
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: all-zero bytes are a valid msghdr.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if let Some(segment) = segment {
        let header = libc::cmsghdr {
            cmsg_len: size_of::<libc::cmsghdr>() + size_of::<u16>(),
            cmsg_level: libc::SOL_UDP,
            cmsg_type: libc::UDP_SEGMENT,
        };
        let place = control.as_mut_ptr().cast::<libc::cmsghdr>();
        // SAFETY: there is room for both, and the array is aligned as a header is.
        unsafe {
            place.write(header);
            place.add(1).cast::<u16>().write(segment);
        }
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = ROOM;
    }
    // SAFETY: everything that the message points to is valid for the call, and the sizes are given; the kernel only reads
    // the bytes.
    match unsafe { libc::sendmsg(fd, &raw const message, libc::MSG_NOSIGNAL) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Datagrams that came in one system call.
struct Received {
    /// Their bytes together, negative after an error.
    n: isize,
    /// Length of each datagram, 0 for one alone.
    segment: usize,
    /// Their mark of congestion notification.
    mark: u8,
    /// When they came.
    at: clock::Nanos,
}

/// Receives once. The time is that of the kernel's stamps if there are `stamps`, or else that of the reading.
fn receive(fd: RawFd, buffer: &mut [u8], stamps: Option<&mut Stamps>) -> Received {
    const CONTROL: usize = 3 * ROOM + size_of::<libc::timespec>();
    let mut control = [0_usize; CONTROL / size_of::<usize>()];
    let (n, control) = stamp::message(fd, buffer, &mut control);
    if n <= 0 {
        let at = clock::now();
        return Received {
            n,
            segment: 0,
            mark: 0,
            at,
        };
    }
    let segment = stamp::number(control, libc::SOL_UDP, libc::UDP_GRO).unwrap_or(0);
    let mark = stamp::byte(control, libc::IPPROTO_IP, libc::IP_TOS).or_else(|| {
        let class = stamp::number(control, libc::IPPROTO_IPV6, libc::IPV6_TCLASS);
        class.map(|class| class as u8)
    });
    Received {
        n,
        segment: segment as usize,
        mark: mark.unwrap_or(0) & MARK,
        at: stamps.map_or_else(clock::now, |stamps| stamps.now(control)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;
    use std::net::UdpSocket;

    #[derive(Default)]
    struct Heard {
        opened: bool,
        /// Length of each datagram, and all bytes.
        runs: Vec<usize>,
        marks: Vec<u8>,
        bytes: Vec<u8>,
        error: Option<io::Error>,
    }

    impl<O> Handler<O> for Heard {
        fn opened(&mut self, _: &mut O, _: Slot, result: io::Result<()>, _: clock::Nanos) {
            result.unwrap();
            self.opened = true;
        }

        fn received(&mut self, _: &mut O, _: Slot, mut bytes: &[u8], _: clock::Nanos) {
            while let Some(run) = datagrams::next(&mut bytes) {
                self.runs
                    .extend(run.bytes.chunks(run.segment).map(<[u8]>::len));
                self.marks.push(run.mark);
                self.bytes.extend(run.bytes);
            }
            assert!(bytes.is_empty());
        }

        fn ended(&mut self, _: &mut O, _: Slot, error: Option<io::Error>, _: clock::Nanos) {
            self.error = error;
        }
    }

    fn put(segment: usize, bytes: &[u8], out: &mut Vec<u8>) {
        let mark = 0;
        Run {
            segment,
            mark,
            bytes,
        }
        .put(out);
    }

    fn until(udp: &mut Udp, heard: &mut Heard, holds: impl Fn(&Heard) -> bool) {
        let patience = clock::now() + 10 * clock::SECOND;
        while !holds(heard) {
            assert!(clock::now() < patience);
            udp.poll(Wait::Tick, heard).unwrap();
        }
    }

    #[test]
    fn datagrams_keep_their_ends_both_ways() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let target = Target::Tcp(server.local_addr().unwrap());
        for (came, segments) in [(Came::Read, true), (Came::Stamped, false)] {
            let mut udp = Udp::new(&Endpoints::to(&target), 1, None, came).unwrap();
            udp.out.segments = segments;
            let mut heard = Heard::default();
            udp.out().open(0).unwrap();
            until(&mut udp, &mut heard, |heard| heard.opened);
            let run: Vec<u8> = (0..3_500_u32).map(|n| n as u8).collect();
            let mut out = Vec::new();
            put(1_000, &run, &mut out);
            put(3, b"end", &mut out);
            assert_eq!(datagrams::payload(&out), 3_503);
            udp.out().send(0, &out).unwrap();
            let mut buffer = [0; 2_000];
            let mut lengths = Vec::new();
            for _ in 0..5 {
                let (n, from) = server.recv_from(&mut buffer).unwrap();
                lengths.push(n);
                server.send_to(&buffer[..n], from).unwrap();
            }
            assert_eq!(lengths, [1_000, 1_000, 1_000, 500, 3]);
            until(&mut udp, &mut heard, |heard| heard.bytes.len() == 3_503);
            assert_eq!(heard.runs, lengths);
            assert_eq!(heard.bytes, [&run[..], b"end"].concat());
        }
    }

    #[test]
    fn connections_that_share_sockets_get_their_own_datagrams() {
        #[derive(Default)]
        struct Addressed(Vec<(Slot, Vec<u8>)>);
        impl<O> Handler<O> for Addressed {
            fn opened(&mut self, _: &mut O, _: Slot, result: io::Result<()>, _: clock::Nanos) {
                result.unwrap();
            }
            fn received(&mut self, _: &mut O, slot: Slot, mut bytes: &[u8], _: clock::Nanos) {
                while let Some(run) = datagrams::next(&mut bytes) {
                    let all = run.bytes.chunks(run.segment);
                    self.0.extend(all.map(|one| (slot, one.to_vec())));
                }
            }
            fn ended(&mut self, _: &mut O, _: Slot, _: Option<io::Error>, _: clock::Nanos) {}
        }
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let target = Target::Tcp(server.local_addr().unwrap());
        let mut udp = Udp::new(&Endpoints::to(&target), 5, Some(2), Came::Read).unwrap();
        let datagram = |slot| [&[0x40][..], &datagrams::id(slot, 0), b"text"].concat();
        let mut buffer = [0; 100];
        let mut from = std::collections::BTreeSet::new();
        for slot in [0, 1, 2, 4] {
            udp.out().open(slot).unwrap();
            let mut out = Vec::new();
            put(13, &datagram(slot), &mut out);
            udp.out().send(slot, &out).unwrap();
            let (n, address) = server.recv_from(&mut buffer).unwrap();
            from.insert(address);
            // Back to it, to one that is not open, and to one that is not there.
            for to in [slot, 3, 99] {
                buffer[1..9].copy_from_slice(&datagrams::id(to, 0));
                server.send_to(&buffer[..n], address).unwrap();
            }
        }
        assert_eq!(from.len(), 2);
        let mut heard = Addressed::default();
        let patience = clock::now() + 10 * clock::SECOND;
        while heard.0.len() < 4 {
            assert!(clock::now() < patience);
            udp.poll(Wait::Tick, &mut heard).unwrap();
        }
        heard.0.sort();
        assert_eq!(heard.0, [0, 1, 2, 4].map(|slot| (slot, datagram(slot))));
        udp.out().close(0);
        assert!(udp.out().send(0, b"").is_err());
        assert!(udp.out().send(2, b"").is_ok());
    }

    #[test]
    fn marks_of_congestion_go_both_ways() {
        for server in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(server) = UdpSocket::bind(server) else {
                continue;
            };
            let to = server.local_addr().unwrap();
            let mut peer = Udp::new(&Endpoints::to(&Target::Tcp(to)), 1, None, Came::Read).unwrap();
            let mut heard = Heard::default();
            peer.out().open(0).unwrap();
            until(&mut peer, &mut heard, |heard| heard.opened);
            let mut buffer = [0; 10];
            for mark in [0b10, 0b01, 0b00, 0b11] {
                let mut out = Vec::new();
                let (segment, bytes) = (1, &b"x"[..]);
                Run {
                    segment,
                    mark,
                    bytes,
                }
                .put(&mut out);
                peer.out().send(0, &out).unwrap();
                let (_, from) = server.recv_from(&mut buffer).unwrap();
                assert_eq!(peer.out.descriptors[0].mark, mark);
                // What the server sends back has the mark that its socket has.
                let value = libc::c_int::from(mark);
                let set = match to.is_ipv6() {
                    true => socket::set(&server, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, value),
                    false => socket::set(&server, libc::IPPROTO_IP, libc::IP_TOS, value),
                };
                set.unwrap();
                server.send_to(b"y", from).unwrap();
                let seen = heard.marks.len();
                until(&mut peer, &mut heard, |heard| heard.marks.len() > seen);
                assert_eq!(heard.marks.last(), Some(&mark));
            }
        }
    }

    #[test]
    fn a_port_where_nobody_listens_is_told() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let target = Target::Tcp(server.local_addr().unwrap());
        drop(server);
        let mut udp = Udp::new(&Endpoints::to(&target), 1, None, Came::Read).unwrap();
        udp.out().open(0).unwrap();
        let mut out = Vec::new();
        put(1, b"x", &mut out);
        udp.out().send(0, &out).unwrap();
        let mut heard = Heard::default();
        until(&mut udp, &mut heard, |heard| heard.error.is_some());
        let error = heard.error.map(|error| error.kind());
        assert_eq!(error, Some(io::ErrorKind::ConnectionRefused));
    }
}
