//! Something that the user may interrupt.

use prony_engine::Control;
use std::sync::{Arc, Mutex, PoisonError};

/// Something that the user may interrupt.
#[derive(Debug, Default)]
pub struct Interrupt {
    inner: Mutex<Interrupted>,
}

#[derive(Debug, Default)]
struct Interrupted {
    fired: bool,
    load: Option<Arc<Control>>,
}

impl Interrupt {
    /// Ends the load under way, if there is one, and every one after it.
    pub fn fire(&self) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.fired = true;
        if let Some(load) = &inner.load {
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
        inner.load = Some(Arc::clone(load));
    }
}
