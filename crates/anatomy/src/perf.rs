//! `perf_event_open`: events of a CPU, and the ring buffer that the kernel writes their records to.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

const SOFTWARE: u32 = 1;
const TRACEPOINT: u32 = 2;
const CPU_CLOCK: u64 = 0;

pub(crate) const SAMPLE_TID: u64 = 1 << 1;
pub(crate) const SAMPLE_TIME: u64 = 1 << 2;
pub(crate) const SAMPLE_CALLCHAIN: u64 = 1 << 5;
pub(crate) const SAMPLE_RAW: u64 = 1 << 10;

const DISABLED: u64 = 1;
const EXCLUDE_IDLE: u64 = 1 << 7;
/// Records of forks and ends of processes.
const TASK: u64 = 1 << 13;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const USE_CLOCKID: u64 = 1 << 25;

const IOCTL_ENABLE: libc::c_ulong = 0x2400;
const FLAG_CLOEXEC: libc::c_ulong = 1 << 3;

/// `struct perf_event_attr` in its fifth version (Linux 4.1), as far as it is used here.
#[repr(C)]
#[derive(Debug, Default)]
struct Attr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clockid: i32,
    sample_regs_intr: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}

/// Kind of records that an event makes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EventKind {
    /// The stack of what runs, every so many nanoseconds of the CPU's time.
    Stacks(u64),
    /// Every hit of the tracepoint with this number, with its fields.
    Tracepoint(u64),
    /// The same with the stack of what runs.
    TracepointStacks(u64),
}

impl EventKind {
    pub(crate) const fn sample_type(self) -> u64 {
        SAMPLE_TID
            | SAMPLE_TIME
            | match self {
                Self::Stacks(_) => SAMPLE_CALLCHAIN,
                Self::Tracepoint(_) => SAMPLE_RAW,
                Self::TracepointStacks(_) => SAMPLE_CALLCHAIN | SAMPLE_RAW,
            }
    }

    /// Bytes of a ring that lasts for several tenths of a second at the rates of a busy CPU. A power of two.
    const fn ring_bytes(self) -> usize {
        match self {
            Self::Stacks(_) => 1 << 20,
            Self::Tracepoint(_) | Self::TracepointStacks(_) => 1 << 23,
        }
    }
}

/// An event on one CPU, with its ring. Recording ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Ring {
    event: OwnedFd,
    base: NonNull<u8>,
    page: usize,
    data: usize,
}

// SAFETY: the mapping belongs to this value alone, and is reached through `&mut self` only.
unsafe impl Send for Ring {}

impl Ring {
    /// An event on this CPU, of all processes; nothing is recorded before [`enable`](Self::enable).
    pub(crate) fn open(kind: EventKind, cpu: usize) -> io::Result<Self> {
        let (event_type, config, period) = match kind {
            EventKind::Stacks(period) => (SOFTWARE, CPU_CLOCK, period),
            EventKind::Tracepoint(id) | EventKind::TracepointStacks(id) => (TRACEPOINT, id, 1),
        };
        let attr = Attr {
            kind: event_type,
            size: size_of::<Attr>() as u32,
            config,
            sample_period: period,
            sample_type: kind.sample_type(),
            flags: DISABLED | EXCLUDE_IDLE | TASK | SAMPLE_ID_ALL | USE_CLOCKID,
            clockid: libc::CLOCK_MONOTONIC,
            ..Attr::default()
        };
        // SAFETY: `attr` is a valid perf_event_attr of the size that it states, and outlives the call.
        let fd = unsafe {
            let all_processes: libc::pid_t = -1;
            let no_group: RawFd = -1;
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attr,
                all_processes,
                cpu as libc::c_int,
                no_group,
                FLAG_CLOEXEC,
            )
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and has no other owner.
        let event = unsafe { OwnedFd::from_raw_fd(fd as RawFd) };
        // SAFETY: a plain question.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let data = kind.ring_bytes();
        // SAFETY: a new shared mapping of the event, in the form that perf_event_open(2) asks for: a page of control
        // data, and a power of two of pages of records.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                page + data,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self {
            event,
            base,
            page,
            data,
        })
    }

    /// Records from here on.
    pub(crate) fn enable(&self) -> io::Result<()> {
        // SAFETY: a plain call on an open event.
        match unsafe { libc::ioctl(self.event.as_raw_fd(), IOCTL_ENABLE as _, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Gives every record that is there (its type and its body, without the header), and makes room.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(u32, &[u8])) {
        // SAFETY: `data_head` and `data_tail` lie at these offsets of the control page (linux/perf_event.h), are aligned,
        // and are accessed by the kernel and by this value alone.
        let (head, tail) = unsafe {
            let at = |offset: usize| &*self.base.as_ptr().add(offset).cast::<AtomicU64>();
            (at(1024), at(1032))
        };
        let until = head.load(Ordering::Acquire);
        let mut from = tail.load(Ordering::Relaxed);
        let mut record = Vec::new();
        while from < until {
            let mut header = [0; 8];
            self.copy(from, &mut header);
            let kind = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
            let size = usize::from(u16::from_ne_bytes([header[6], header[7]]));
            if size < header.len() {
                break;
            }
            record.resize(size - header.len(), 0);
            self.copy(from + header.len() as u64, &mut record);
            each(kind, &record);
            from += size as u64;
        }
        tail.store(until, Ordering::Release);
    }

    /// Copies what lies at this position of the records, which go round.
    fn copy(&self, position: u64, into: &mut [u8]) {
        let start = position as usize % self.data;
        let first = into.len().min(self.data - start);
        // SAFETY: both parts lie in the mapping's records, between the tail and the head: the kernel does not write there
        // until the tail is moved on.
        unsafe {
            let records = self.base.as_ptr().add(self.page);
            std::ptr::copy_nonoverlapping(records.add(start), into.as_mut_ptr(), first);
            let rest = into.len() - first;
            std::ptr::copy_nonoverlapping(records, into.as_mut_ptr().add(first), rest);
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this mapping was made in `open` and is not used after this.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.page + self.data) };
    }
}
