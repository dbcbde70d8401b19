//! The system calls.

use super::super::datagrams::{self, MARK};
use super::super::socket::{self, would_block};
use super::super::stamp::{self, Stamps};
use crate::clock;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

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
pub(super) fn transmit(
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
pub(super) struct Received {
    /// Bytes of all datagrams, negative after an error.
    pub(super) n: isize,
    /// Length of each datagram, 0 for one alone.
    pub(super) segment: usize,
    /// Mark of congestion notification.
    pub(super) mark: u8,
    /// When they came.
    pub(super) at: clock::Nanos,
}

/// Receives once. The time is that of the kernel's stamps if there are `stamps`, or else that of the reading.
pub(super) fn receive(fd: RawFd, buffer: &mut [u8], stamps: Option<&mut Stamps>) -> Received {
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
