//! `recvmsg` and `sendmsg` of datagrams. Each connection has a connected socket, so that the kernel spreads connections over
//! the processes of a server that share a port. Several datagrams go in one call where the kernel can (GSO, GRO).

mod wire;

pub(crate) use wire::unfragmented;

use super::datagrams::{self, HEADER, Run};
use super::endpoints::{Endpoints, Sockets};
use super::epoll::{Readiness, untag};
use super::socket::{self, switch_on, would_block};
use super::stamp::{self, Stamps};
use super::{Came, Handler, Outgoing, Slot, Transport, Wait};
use crate::clock;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use wire::{Received, receive, transmit};

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

#[cfg(test)]
mod tests;
