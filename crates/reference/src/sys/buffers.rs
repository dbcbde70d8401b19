//! A ring of receive buffers that the kernel takes from (io_uring "provided buffers").

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;

/// Buffers of equal size, shared with the kernel. Each belongs either to the kernel, which may write
/// into it at any time, or to us: from the completion that names it until it is given back.
///
/// The memory is never freed: the kernel may use it until the io_uring instance is gone, which is
/// some time after its descriptor is closed. There is one ring per worker, and a worker lives as
/// long as the process.
pub(crate) struct Buffers {
    entries: NonNull<BufRingEntry>,
    memory: NonNull<u8>,
    count: u16,
    size: u32,
    tail: u16,
}

impl Buffers {
    /// Hands `count` (a power of two up to 2^15) buffers of `size` bytes to the kernel as `group`.
    pub(crate) fn register(ring: &IoUring, group: u16, count: u16, size: u32) -> io::Result<Self> {
        assert!(count.is_power_of_two() && count <= 1 << 15);
        let entries = map(usize::from(count) * size_of::<BufRingEntry>())?;
        let memory = map(usize::from(count) * size as usize)?;
        // SAFETY: the mapping is page-aligned, holds `count` entries and is never unmapped.
        unsafe {
            let address = entries.as_ptr() as u64;
            ring.submitter()
                .register_buf_ring_with_flags(address, count, group, 0)?;
        }
        let mut buffers = Self {
            entries: entries.cast(),
            memory,
            count,
            size,
            tail: 0,
        };
        for id in 0..count {
            // SAFETY: the kernel has none of the buffers yet.
            unsafe { buffers.give_back(id) };
        }
        Ok(buffers)
    }

    /// The first `length` bytes of a buffer.
    ///
    /// # Safety
    ///
    /// A completion must have named `id` with a result of `length` bytes, and the buffer must not
    /// have been given back since.
    pub(crate) unsafe fn bytes(&self, id: u16, length: u32) -> &[u8] {
        assert!(id < self.count && length <= self.size);
        // SAFETY: inside the mapping by the assertion; initialised, because mappings start as
        // zeros; not written to by the kernel, by this function's contract.
        unsafe {
            let start = self.memory.add(usize::from(id) * self.size as usize);
            std::slice::from_raw_parts(start.as_ptr(), length as usize)
        }
    }

    /// Returns a buffer to the kernel.
    ///
    /// # Safety
    ///
    /// The buffer must be ours, and no slice of it may be used any more.
    pub(crate) unsafe fn give_back(&mut self, id: u16) {
        assert!(id < self.count);
        let place = usize::from(self.tail & (self.count - 1));
        // SAFETY: `place` and `id` are below `count`, so both are inside their mappings. The kernel
        // does not read an entry at or behind the tail until the tail has passed it.
        unsafe {
            let entry = self.entries.add(place).as_mut();
            let start = self.memory.add(usize::from(id) * self.size as usize);
            entry.set_addr(start.as_ptr() as u64);
            entry.set_len(self.size);
            entry.set_bid(id);
        }
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail is an aligned u16 inside the first entry, mapped and initialised; the
        // kernel and we both access it atomically. Release: the entry is seen before the tail.
        unsafe {
            let tail = BufRingEntry::tail(self.entries.as_ptr()).cast_mut();
            AtomicU16::from_ptr(tail).store(self.tail, Ordering::Release);
        }
    }
}

/// Fresh, zeroed, page-aligned memory.
fn map(length: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches no other memory.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(address.cast()).ok_or_else(|| io::Error::other("mmap returned address zero"))
}
