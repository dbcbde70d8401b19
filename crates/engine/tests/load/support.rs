//! Plans, and carrying them out with a guard against hanging.

use prony_engine::protocol::{Expect, HttpRequest};
use prony_engine::{
    Arrival, Control, Dialogue, Nanos, Observation, Plan, Target, TransportKind, available, run,
};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
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
pub fn transports() -> Vec<TransportKind> {
    let mut all = vec![TransportKind::Epoll, TransportKind::IoUring];
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
pub fn plan(target: &Target, dialogue: Dialogue, connections: u32, kind: TransportKind) -> Plan {
    Plan {
        timeout: Duration::from_secs(10),
        window: Duration::from_millis(100),
        transport: kind,
        ..Plan::closed(target.clone(), dialogue, connections)
    }
}

/// Until the plan's number of requests is reached.
pub fn until_done(plan: &Plan) -> Observation {
    assert!(plan.requests.is_some());
    steered(plan, &Arc::new(Control::at_once(Nanos::MAX)))
}

/// Measured at once, for `length`.
pub fn during(plan: &Plan, length: Nanos) -> Observation {
    steered(plan, &Arc::new(Control::at_once(length)))
}

pub fn steered(plan: &Plan, control: &Arc<Control>) -> Observation {
    begin(plan, control).end()
}

/// A load under way in a thread of its own.
pub struct Running(
    mpsc::Receiver<Result<Observation, prony_engine::Error>>,
    String,
);

impl Running {
    pub fn end(self) -> Observation {
        match self.0.recv_timeout(HANGS) {
            Ok(result) => result.expect("a server's failures are no errors"),
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("hangs: {}", self.1),
            Err(mpsc::RecvTimeoutError::Disconnected) => panic!("panicked: {}", self.1),
        }
    }
}

pub fn begin(plan: &Plan, control: &Arc<Control>) -> Running {
    let (sender, receiver) = mpsc::channel();
    let (plan, control) = (plan.clone(), control.clone());
    let what = short(&plan);
    thread::spawn(move || {
        // Nobody listens any more when it has hung.
        let _ = sender.send(run(&plan, &control, |_| {}));
    });
    Running(receiver, what)
}

pub fn short(plan: &Plan) -> String {
    format!(
        "{} {:?} {}c {}t p{} {}",
        plan.transport,
        plan.arrival,
        plan.connections,
        plan.threads,
        plan.pipeline,
        if plan.keepalive {
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
