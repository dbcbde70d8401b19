//! When the kernel had what is received: `SO_TIMESTAMPNS`.
//!
//! A generator that is busy with other answers, or whose CPU ran another program for a while, comes to an
//! answer late. The kernel had it in time and notes when (Linux, Documentation/networking/timestamping).
//! Where several packets have come by the time they are read, the note is that of the last.

use super::socket::switch_on;
use crate::clock::{self, Nanos};
use io_uring::types::RecvMsgOut;
use std::os::fd::{OwnedFd, RawFd};

/// Room for one time stamp among what the kernel says beside the bytes, as [`libc::CMSG_SPACE`] has it.
const ROOM: usize =
    (size_of::<libc::cmsghdr>() + size_of::<libc::timespec>()).next_multiple_of(size_of::<usize>());

/// Asks for time stamps. Where there are none to be had the time of the reading stands in for them.
pub(super) fn ask(socket: &OwnedFd) {
    let _ = switch_on(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS);
}

/// Readings that took no longer were of one moment. Three of them take a tenth of that.
const AT_ONCE: Nanos = 1_000;
/// How often the clocks are read again at most, if a pair of readings took longer than that.
const TRIES: u32 = 3;

/// The two clocks at one moment: time stamps are in `CLOCK_REALTIME`.
#[derive(Debug, Clone, Copy)]
struct ClockPair {
    engine: Nanos,
    real: Nanos,
}

impl ClockPair {
    /// A thread that is preempted between the two readings has two moments: such a pair is read again.
    fn now() -> Self {
        let mut before = clock::now();
        let mut read = || {
            let real = clock::real();
            let engine = clock::now();
            let took = engine - std::mem::replace(&mut before, engine);
            (took, Self { engine, real })
        };
        let mut best = read();
        for _ in 0..TRIES {
            if best.0 <= AT_ONCE {
                break;
            }
            let next = read();
            if next.0 < best.0 {
                best = next;
            }
        }
        best.1
    }

    /// When something came that was there by this moment, on the engine's clock. `control` is what the
    /// kernel said beside the bytes; without a time stamp in it, or with one of the future, it came now.
    fn came(self, control: &[u8]) -> Nanos {
        let age = stamp(control).map_or(0, |stamp| self.real.saturating_sub(stamp));
        self.engine.saturating_sub(age)
    }
}

/// Between two readings the two clocks move apart by far less, unless one of them was set.
const STEP: u64 = 500_000;
/// For so long after the clock was set, what is read may have come before: the longest that a generator is
/// kept from reading, with much to spare.
const UNSURE: Nanos = 100_000_000;

/// Time stamps of one worker's connections. For a while after `CLOCK_REALTIME` was set they say
/// nothing: what is read then came now.
#[derive(Debug, Default)]
pub(super) struct Stamps {
    /// By how much the two clocks differed last, in nanoseconds.
    apart: Option<i64>,
    /// On the engine's clock.
    unsure_until: Nanos,
}

impl Stamps {
    /// Returns the time at which something came that has just been received; `control` is what the kernel said beside it.
    #[inline]
    pub(super) fn now(&mut self, control: &[u8]) -> Nanos {
        self.came(ClockPair::now(), control)
    }

    /// When something came that was there by `moment`, as [`ClockPair::came`].
    #[inline]
    fn came(&mut self, moment: ClockPair, control: &[u8]) -> Nanos {
        let apart = moment.real.wrapping_sub(moment.engine) as i64;
        if let Some(before) = self.apart.replace(apart)
            && apart.wrapping_sub(before).unsigned_abs() > STEP
        {
            self.unsure_until = moment.engine + UNSURE;
        }
        match moment.engine < self.unsure_until {
            true => moment.engine,
            false => moment.came(control),
        }
    }
}

/// The first time stamp, in nanoseconds.
fn stamp(control: &[u8]) -> Option<Nanos> {
    let data = find(
        control,
        (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS),
        size_of::<libc::timespec>(),
    )?;
    // SAFETY: there are as many bytes, and any bytes are a valid time, wherever they stand.
    let time: libc::timespec = unsafe { data.as_ptr().cast::<libc::timespec>().read_unaligned() };
    Some(time.tv_sec as u64 * clock::SECOND + time.tv_nsec as u64)
}

/// Returns the first byte of the first control message of this level and kind.
pub(super) fn byte(control: &[u8], level: libc::c_int, kind: libc::c_int) -> Option<u8> {
    find(control, (level, kind), 1)?.first().copied()
}

/// Returns the first control message of this level and kind, as a number.
pub(super) fn number(control: &[u8], level: libc::c_int, kind: libc::c_int) -> Option<u32> {
    let data = find(control, (level, kind), size_of::<u32>())?;
    data.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// Returns the data of the first control message of this level and kind that has at least so many bytes.
fn find(
    mut control: &[u8],
    (level, kind): (libc::c_int, libc::c_int),
    least: usize,
) -> Option<&[u8]> {
    let head = size_of::<libc::cmsghdr>();
    while control.len() >= head {
        // SAFETY: there are as many bytes, and any bytes are a valid header, wherever they stand.
        let message: libc::cmsghdr =
            unsafe { control.as_ptr().cast::<libc::cmsghdr>().read_unaligned() };
        let length = message.cmsg_len;
        let data = control.get(head..length)?;
        let is_it = message.cmsg_level == level && message.cmsg_type == kind;
        if is_it && data.len() >= least {
            return Some(data);
        }
        control = control.get(length.next_multiple_of(size_of::<usize>())..)?;
    }
    None
}

/// Receives into `buffer`. The number of bytes is as `recv` has it, negative after an error; `control` gets what the kernel says
/// beside them, which is returned.
#[inline]
pub(super) fn message<'a>(
    socket: RawFd,
    buffer: &mut [u8],
    control: &'a mut [usize],
) -> (isize, &'a [u8]) {
    let room = size_of_val(control);
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: all-zero bytes are a valid msghdr.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    // Aligned as a header is.
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = room;
    // SAFETY: everything that the message points to is valid for the call, and the sizes are given.
    let n = unsafe { libc::recvmsg(socket, &raw mut message, 0) };
    if n <= 0 {
        return (n, &[]);
    }
    let said = message.msg_controllen.min(room);
    // SAFETY: `control` has that number of bytes, and any numbers are valid bytes.
    let control = unsafe { std::slice::from_raw_parts(control.as_ptr().cast::<u8>(), said) };
    (n, control)
}

/// Receives, and says when it came. The number of bytes is as `recv` has it, negative after an error.
#[inline]
pub(super) fn receive(socket: RawFd, buffer: &mut [u8], stamps: &mut Stamps) -> (isize, Nanos) {
    let mut control = [0usize; ROOM / size_of::<usize>()];
    match message(socket, buffer, &mut control) {
        (n @ 1.., control) => (n, stamps.now(control)),
        (n, _) => (n, clock::now()),
    }
}

/// Header of an `io_uring` receive that stays armed: no name, and room for a time stamp.
pub(super) fn template() -> libc::msghdr {
    // SAFETY: all-zero bytes are a valid msghdr.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_controllen = ROOM;
    message
}

/// The bytes in a buffer that such a receive has filled, and when they came.
#[inline]
pub(super) fn parse<'a>(
    buffer: &'a [u8],
    template: &libc::msghdr,
    stamps: &mut Stamps,
) -> (&'a [u8], Nanos) {
    match RecvMsgOut::parse(buffer, template) {
        Ok(out) => {
            // They stand at the end.
            let start = buffer.len() - out.payload_data().len();
            let came = stamps.came(ClockPair::now(), out.control_data());
            (&buffer[start..], came)
        }
        // The kernel never writes less than the template asks for.
        Err(()) => (&[], clock::now()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::time::Duration;

    fn message(level: libc::c_int, kind: libc::c_int, data: &[u8]) -> Vec<u8> {
        let length = size_of::<libc::cmsghdr>() + data.len();
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(data);
        bytes.resize(length.next_multiple_of(size_of::<usize>()), 0);
        bytes
    }

    #[test]
    fn a_stamp_is_found_among_others_and_nonsense_is_none() {
        let time = [3_i64.to_ne_bytes(), 500_i64.to_ne_bytes()].concat();
        let ours = message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &time);
        assert_eq!(ours.len(), ROOM);
        assert_eq!(stamp(&ours), Some(3_000_000_500));
        let other = message(libc::IPPROTO_TCP, 1, b"abc");
        assert_eq!(
            stamp(&[other.clone(), ours.clone()].concat()),
            Some(3_000_000_500)
        );
        for wrong in [&[][..], &other, &ours[..ROOM - 1], &[0; 40], &[0xff; 40]] {
            assert_eq!(stamp(wrong), None, "{wrong:?}");
        }
        let moment = ClockPair {
            engine: 1_000,
            real: 3_000_000_900,
        };
        assert_eq!(moment.came(&ours), 600);
        assert_eq!(moment.came(&other), 1_000);
        let set_back = ClockPair { real: 5, ..moment };
        assert_eq!(set_back.came(&ours), 1_000);
    }

    #[test]
    fn a_clock_that_is_set_makes_no_answer_come_sooner() {
        let stamp_at = |real: Nanos| {
            let parts = [real / clock::SECOND, real % clock::SECOND];
            let data: Vec<u8> = parts.iter().flat_map(|part| part.to_ne_bytes()).collect();
            message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &data)
        };
        let (noon, hour) = (1_800_000_000 * clock::SECOND, 3_600 * clock::SECOND);
        for step in [hour as i64, -(hour as i64), 2_000_000, -2_000_000] {
            let mut stamps = Stamps::default();
            let real = |engine: Nanos, stepped: bool| {
                noon.wrapping_add(engine)
                    .wrapping_add_signed(if stepped { step } else { 0 })
            };
            let mut read = |engine: Nanos, stepped: bool, came: Nanos| {
                let moment = ClockPair {
                    engine,
                    real: real(engine, stepped),
                };
                stamps.came(moment, &stamp_at(came))
            };
            assert_eq!(read(5_000, false, real(4_000, false)), 4_000);
            // Both came before the step, and are read after it.
            assert_eq!(read(9_000, true, real(6_000, false)), 9_000, "{step}");
            assert_eq!(read(9_500, true, real(6_500, false)), 9_500, "{step}");
            // Later, stamps are of the new time.
            let later = 9_000 + UNSURE;
            assert_eq!(read(later, true, real(later - 300, true)), later - 300);
        }
    }

    #[test]
    fn what_is_read_late_came_in_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = OwnedFd::from(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        ask(&socket);
        // The kernel begins to take the time a moment after it was first asked to.
        std::thread::sleep(Duration::from_millis(20));
        let before = clock::now();
        listener.accept().unwrap().0.write_all(b"hello").unwrap();
        let after = clock::now();
        std::thread::sleep(Duration::from_millis(50));
        let mut buffer = [0; 16];
        let (n, at) = receive(socket.as_raw_fd(), &mut buffer, &mut Stamps::default());
        assert_eq!(n, 5, "{}", io::Error::last_os_error());
        // The two clocks are read one after the other, and one may be slewed against the other.
        let slack = 5_000_000;
        assert!(
            (before - slack..=after + slack).contains(&at),
            "{before} to {after}, but {at}"
        );
    }
}
