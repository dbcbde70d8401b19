//! SIGTERM and SIGINT as a flag.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn stop(_signal: libc::c_int) {
    STOP.store(true, Ordering::Relaxed);
}

/// From now on SIGTERM and SIGINT set the returned flag instead of ending the process.
pub(crate) fn stop_on_signals() -> io::Result<&'static AtomicBool> {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let handler: extern "C" fn(libc::c_int) = stop;
        // SAFETY: all-zero bytes are a valid sigaction: no flags, an empty mask, no handler.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: `action` is initialised; the handler only stores to an atomic, which a signal
        // handler may do at any moment.
        if unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(&STOP)
}
