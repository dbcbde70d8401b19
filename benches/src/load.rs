//! prony's engine as a contestant: what is asked, what must be answered, and a warm-up that is not
//! measured.

use crate::error::{Error, Result};
use crate::place::Rig;
use prony_engine::protocol::h2::{StreamedExchange, WINDOW};
use prony_engine::protocol::ws::{Upgrade, WsMessages};
use prony_engine::protocol::{Expect, HttpRequest, Limits};
use prony_engine::{
    Control, Detail, Dialogue, Nanos, Plan, StreamedRequests, Target, available, clock, run,
};
use prony_record::load::Protocol;
use prony_record::{Observation, Transport, Window};
use std::net::SocketAddr;
use std::time::Duration;

/// Path that every HTTP client here requests.
pub const PATH: &str = "/prony/bench";

/// Both transports.
pub const TRANSPORTS: [Transport; 2] = [Transport::Epoll, Transport::IoUring];

/// The transports that this kernel offers; says so when one is missing.
pub fn transports() -> Vec<Transport> {
    let (offered, missing): (Vec<_>, Vec<_>) =
        TRANSPORTS.into_iter().partition(|&kind| available(kind));
    for kind in missing {
        eprintln!("{kind} is not available on this kernel, and is left out");
    }
    offered
}

/// The transports over which this protocol can be spoken: datagrams go by epoll alone.
pub fn transports_of(over: Protocol) -> Vec<Transport> {
    match over {
        Protocol::H3 => vec![Transport::Epoll],
        _ => transports(),
    }
}

/// How long: unmeasured first, then measured.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// Before it is measured.
    pub warmup: Duration,
    /// While it is measured.
    pub measured: Duration,
}

/// How long each measurement takes: a fifth more than what is measured, for a warm-up.
pub fn span(seconds: f64) -> Span {
    let measured = Duration::from_secs_f64(seconds);
    Span {
        warmup: (measured / 5).clamp(Duration::from_millis(200), Duration::from_secs(1)),
        measured,
    }
}

/// Messages of this length over WebSocket, in bytes.
pub fn ws(address: SocketAddr, size: usize) -> Dialogue {
    let request = HttpRequest::get(address.to_string(), "/");
    Dialogue::Ws(Box::new(WsMessages {
        upgrade: Upgrade::new(&request, &[]).expect("no fields are given"),
        text: false,
        size: u32::try_from(size).unwrap_or(u32::MAX),
        limits: Limits::default(),
    }))
}

/// The request, addressed as the other clients address it.
pub fn request(address: SocketAddr) -> HttpRequest {
    HttpRequest::get(address.to_string(), PATH)
}

/// The request, and an answer that is judged: its status, the length of its body, and how that
/// begins.
pub fn http(address: SocketAddr) -> Dialogue {
    Dialogue::http(&request(address), echoed())
}

/// The request over HTTP/2 or HTTP/3, and its answer, judged as over HTTP/1.1.
pub fn streams(address: SocketAddr, over: Protocol) -> Dialogue {
    let exchange = StreamedExchange::new(&request(address), over.is_tls(), echoed());
    let requests = Box::new(StreamedRequests {
        exchanges: vec![exchange.expect("it has no fields of its own")],
        limits: Limits::default(),
        window: WINDOW,
    });
    match over {
        Protocol::H3 => Dialogue::H3(requests),
        _ => Dialogue::H2(requests),
    }
}

/// Returns the answer that prony's own servers must give.
fn echoed() -> Expect {
    let prefix = format!("{PATH} at ").into_bytes();
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    Expect {
        status: Some((200, 200)),
        length: Some((prefix.len() + date.len()) as u64),
        prefix,
        ..Expect::default()
    }
}

/// A closed loop on the client's CPU.
pub fn closed(address: SocketAddr, connections: u32, transport: Transport, rig: Rig) -> Plan {
    let mut plan = Plan::closed(Target::Tcp(address), http(address), connections);
    plan.cpus = vec![rig.client];
    plan.load.transport = transport;
    plan
}

/// Results of a load, and the time at which it began.
#[derive(Debug)]
pub struct Seen {
    /// Observation of the load.
    pub observation: Observation,
    /// When it was measured.
    pub detail: Detail,
    /// The origin of its schedule's due times, on the engine's clock.
    pub start: Nanos,
}

/// Carries out `plan`, measured for `span.measured` after `span.warmup`.
///
/// # Errors
/// When it cannot be carried out, or a request failed: against a server that answers everything,
/// a failure is a fault of the rig, and no figure is worth reporting.
pub fn measure(plan: &Plan, span: Span) -> Result<Seen> {
    let control = Control::default();
    let from = clock::nanos(span.warmup);
    control.measure(from, from + clock::nanos(span.measured));
    let (observation, detail) = run(plan, &control, |_: &Window| {})?;
    let outcomes = &observation.outcomes;
    if outcomes.failed() > 0 || outcomes.ok == 0 || !observation.errors.is_empty() {
        return Err(Error::Unusable(format!(
            "prony over {} with {} connections: {} right answers and {} failures ({} wrong {:?}, errors {:?})",
            plan.load.transport,
            plan.load.connections,
            outcomes.ok,
            outcomes.failed(),
            outcomes.wrong_answer,
            observation.wrong_answers,
            observation.errors,
        )));
    }
    Ok(Seen {
        observation,
        detail,
        start: control.started().unwrap_or(0),
    })
}

/// The generator's CPU time per answer, waiting left out, in microseconds.
pub fn cpu_us(observation: &Observation) -> f64 {
    observation.generator.work_ns as f64 / observation.outcomes.ok as f64 / 1e3
}
