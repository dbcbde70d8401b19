//! Plans, and carrying them out with a guard against hanging.

use prony_engine::protocol::{Expect, HttpRequest};
use prony_engine::{
    Arrival, Control, Detail, Dialogue, Nanos, Plan, Target, Trace, available, run,
};
use prony_record::{Extent, Observation, Spacing, Span, Transport, Window};
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

pub const MS: Nanos = 1_000_000;
pub const HELLO: &[u8] = b"hello\n";
/// Longer than this, and it hangs.
pub const HANGS: Duration = Duration::from_secs(120);

pub const CLOSED: Arrival = Arrival::Closed;
pub const CONSTANT: Arrival = Arrival::Constant(5_000.0);
pub const POISSON: Arrival = Arrival::Poisson {
    rate: 5_000.0,
    seed: 1,
};
pub const ARRIVALS: [Arrival; 3] = [CLOSED, CONSTANT, POISSON];

/// The transports that this machine has.
pub fn transports() -> Vec<Transport> {
    let mut all = vec![Transport::Epoll, Transport::IoUring];
    all.retain(|&kind| available(kind));
    all
}

pub fn http() -> Dialogue {
    Dialogue::http(&HttpRequest::get("h", "/"), Expect::body("hello"))
}

pub fn hello() -> Dialogue {
    Dialogue::Echo(HELLO.to_vec())
}

/// A closed loop over `connections` that gives up after 10 s.
pub fn plan(target: &Target, dialogue: Dialogue, connections: u32, kind: Transport) -> Plan {
    let mut plan = Plan::closed(target.clone(), dialogue, connections);
    plan.load.transport = kind;
    plan.timeout(Duration::from_secs(10))
        .window(Duration::from_millis(100))
}

/// A plan with one thing changed.
pub trait With: Sized {
    fn with(self, change: impl FnOnce(&mut Plan)) -> Self;

    fn due(self, arrival: Arrival) -> Self {
        self.with(|plan| {
            (plan.load.rate, plan.load.arrival) = match arrival {
                Arrival::Closed => (None, Spacing::Constant),
                // The rate and its stages, or the recording, are set apart.
                Arrival::Staged | Arrival::Recorded => (plan.load.rate, Spacing::Constant),
                Arrival::Constant(rate) => (Some(rate), Spacing::Constant),
                Arrival::StagedPoisson { .. } => (plan.load.rate, Spacing::Poisson),
                Arrival::Poisson { rate, .. } => (Some(rate), Spacing::Poisson),
            };
            if let Arrival::Poisson { seed, .. } | Arrival::StagedPoisson { seed } = arrival {
                plan.seed = seed;
            }
        })
    }

    fn threads(self, threads: u32) -> Self {
        self.with(|plan| plan.load.threads = threads)
    }

    fn pipeline(self, pipeline: u32) -> Self {
        self.with(|plan| plan.load.pipeline = pipeline)
    }

    fn keepalive(self, keepalive: bool) -> Self {
        self.with(|plan| plan.load.keepalive = keepalive)
    }

    fn calls(self, calls: u32) -> Self {
        self.with(|plan| plan.load.calls = calls)
    }

    fn timeout(self, timeout: Duration) -> Self {
        self.with(|plan| plan.load.timeout = Span(timeout))
    }

    fn window(self, window: Duration) -> Self {
        self.with(|plan| plan.load.window = Span(window))
    }

    fn ends_after(self, requests: u64) -> Self {
        self.with(|plan| plan.load.extent = Extent::Requests(requests))
    }

    fn trace(self) -> Self {
        self.with(|plan| plan.trace = Trace::All)
    }
}

impl With for Plan {
    fn with(mut self, change: impl FnOnce(&mut Plan)) -> Self {
        change(&mut self);
        self
    }
}

/// Until the plan's number of requests is reached.
pub fn until_done(plan: &Plan) -> Ended {
    assert!(plan.requests().is_some());
    steered(plan, &Arc::new(Control::at_once(Nanos::MAX)))
}

/// Measured at once, for `length`.
pub fn during(plan: &Plan, length: Nanos) -> Ended {
    steered(plan, &Arc::new(Control::at_once(length)))
}

/// The same until something was answered in it: a machine that is busy may give the generator no CPU for so long.
pub fn during_which_it_ran(plan: &Plan, length: Nanos) -> Ended {
    for _ in 0..50 {
        let seen = during(plan, length);
        if seen.outcomes.ok > 0 {
            return seen;
        }
    }
    panic!("never an answer: {}", short(plan));
}

pub fn steered(plan: &Plan, control: &Arc<Control>) -> Ended {
    begin(plan, control).end()
}

/// A load under way in a thread of its own.
pub struct Running {
    ended: mpsc::Receiver<Result<(Observation, Detail), prony_engine::Error>>,
    what: String,
    errors: Arc<AtomicU64>,
}

/// Results of a load that has ended.
pub struct Ended {
    seen: Observation,
    pub detail: Detail,
}

impl From<(Observation, Detail)> for Ended {
    fn from((seen, detail): (Observation, Detail)) -> Self {
        Self { seen, detail }
    }
}

impl Deref for Ended {
    type Target = Observation;

    fn deref(&self) -> &Observation {
        &self.seen
    }
}

impl Running {
    pub fn end(self) -> Ended {
        match self.ended.recv_timeout(HANGS) {
            Ok(result) => result.expect("a server's failures are no errors").into(),
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("hangs: {}", self.what),
            Err(mpsc::RecvTimeoutError::Disconnected) => panic!("panicked: {}", self.what),
        }
    }

    /// How many connections have failed so far, in the windows that are over.
    pub fn errors(&self) -> u64 {
        self.errors.load(Relaxed)
    }
}

pub fn begin(plan: &Plan, control: &Arc<Control>) -> Running {
    let (sender, receiver) = mpsc::channel();
    let (plan, control) = (plan.clone(), control.clone());
    let what = short(&plan);
    let errors = Arc::new(AtomicU64::new(0));
    let running = Running {
        ended: receiver,
        what,
        errors: errors.clone(),
    };
    thread::spawn(move || {
        let count = |window: &Window| {
            errors.fetch_add(window.errors, Relaxed);
        };
        // The receiver is gone when it has hung.
        let _ = sender.send(run(&plan, &control, count));
    });
    running
}

pub fn short(plan: &Plan) -> String {
    format!(
        "{} {:?} {}c {}t p{} {}",
        plan.load.transport,
        plan.arrival(),
        plan.load.connections,
        plan.load.threads,
        plan.load.pipeline,
        if plan.load.keepalive {
            "kept"
        } else {
            "per request"
        }
    )
}

/// Waits for `what`, but not for ever.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = std::time::Instant::now() + HANGS;
    while !holds() {
        assert!(std::time::Instant::now() < patience, "never: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Does many things that mostly wait, `width` of them at once.
pub fn at_once<T: Sync>(width: usize, all: &[T], each: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..width {
            scope.spawn(|| {
                while let Some(one) = all.get(next.fetch_add(1, Relaxed)) {
                    each(one);
                }
            });
        }
    });
}
