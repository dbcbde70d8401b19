//! Addresses of a name that change while a load runs.

use crate::plan::Plan;
use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};

type Resolve = dyn Fn() -> io::Result<Vec<SocketAddr>> + Send + Sync + UnwindSafe + RefUnwindSafe;

/// Latest addresses of a name, which one thread looks up and all workers read. Clones share them.
#[derive(Clone, Default)]
pub struct Lookups(Arc<Latest>);

#[derive(Default)]
struct Latest {
    /// Number of changes.
    generation: AtomicU64,
    addresses: Mutex<Vec<SocketAddr>>,
    /// In the place of the system's resolver.
    resolve: Option<Box<Resolve>>,
}

impl fmt::Debug for Lookups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lookups")
    }
}

impl Lookups {
    /// Addresses that `resolve` gives, instead of the system's resolver.
    pub fn by(
        resolve: impl Fn() -> io::Result<Vec<SocketAddr>>
        + Send
        + Sync
        + UnwindSafe
        + RefUnwindSafe
        + 'static,
    ) -> Self {
        Self(Arc::new(Latest {
            resolve: Some(Box::new(resolve)),
            ..Latest::default()
        }))
    }

    /// Looks a name up. Where that fails, or gives nothing, the addresses before stay in use.
    pub(crate) fn look_up(&self, (host, port): &(String, u16)) {
        let found = match &self.0.resolve {
            Some(resolve) => resolve(),
            None => (host.as_str(), *port)
                .to_socket_addrs()
                .map(Iterator::collect),
        };
        if let Ok(found) = found
            && !found.is_empty()
        {
            self.publish(found);
        }
    }

    /// Publishes the addresses, if they have changed but for their order, which resolvers rotate.
    pub(crate) fn publish(&self, mut found: Vec<SocketAddr>) {
        found.sort_unstable();
        found.dedup();
        let mut latest = self
            .0
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if *latest != found {
            *latest = found;
            self.0.generation.fetch_add(1, Ordering::Release);
        }
    }

    /// The addresses, and their generation, if that is another one.
    pub(crate) fn since(&self, generation: u64) -> Option<(u64, Vec<SocketAddr>)> {
        let now = self.0.generation.load(Ordering::Acquire);
        (now != generation).then(|| {
            let latest = self
                .0
                .addresses
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            (now, latest.clone())
        })
    }
}

/// Looks the plan's name up repeatedly, until the returned sender is dropped. Its thread is not joined, since it may be
/// waiting for a resolver.
pub(crate) fn look_up_again(plan: &Plan) -> Option<mpsc::Sender<()>> {
    let (every, name) = plan.load.dns_refresh.zip(plan.name.clone())?;
    let (ends, end) = mpsc::channel::<()>();
    let lookups = plan.lookups.clone();
    let thread = std::thread::Builder::new().name("look-up".into());
    let looks = thread.spawn(move || {
        while end.recv_timeout(every.0) == Err(RecvTimeoutError::Timeout) {
            lookups.look_up(&name);
        }
    });
    looks.is_ok().then_some(ends)
}
