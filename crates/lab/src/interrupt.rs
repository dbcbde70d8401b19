//! Something that the user may interrupt.

use prony_engine::Control;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;

/// Calls `react` for each Ctrl-C, TERM and hang-up, on a thread for it.
///
/// # Errors
/// When the kernel gives no handler or no thread.
pub fn on_signal(mut react: impl FnMut() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || signals.forever().for_each(|_| react()))
        .map(drop)
}

/// Something that the user may interrupt.
#[derive(Debug, Default)]
pub struct Interrupt {
    inner: Mutex<Interrupted>,
}

#[derive(Debug, Default)]
struct Interrupted {
    fired: bool,
    /// Loads under way: one, or one for each rig.
    loads: Vec<Weak<Control>>,
}

impl Interrupt {
    /// Ends the loads under way, and every one after them.
    pub fn fire(&self) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.fired = true;
        for load in inner.loads.iter().filter_map(Weak::upgrade) {
            load.stop();
        }
    }

    /// Has it been fired?
    pub fn fired(&self) -> bool {
        self.inner
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .fired
    }

    /// From here on, firing stops this load.
    pub fn guard(&self, load: &Arc<Control>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.fired {
            load.stop();
        }
        inner.loads.retain(|old| old.strong_count() > 0);
        inner.loads.push(Arc::downgrade(load));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_under_way_is_stopped_and_those_that_come_after() {
        let interrupt = Interrupt::default();
        let (first, second) = (Arc::new(Control::default()), Arc::new(Control::default()));
        interrupt.guard(&first);
        interrupt.guard(&second);
        interrupt.guard(&Arc::new(Control::default()));
        assert!(!first.stopped() && !second.stopped());
        interrupt.fire();
        assert!(first.stopped() && second.stopped());
        let late = Arc::new(Control::default());
        interrupt.guard(&late);
        assert!(late.stopped());
    }
}
