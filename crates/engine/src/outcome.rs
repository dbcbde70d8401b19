//! Results of a load beside its observation: progress, details for callers that report every request, and errors.

use crate::clock::Nanos;
use crate::load_error::LoadError;
use crate::protocol::tls::TlsInvalid;
use crate::protocol::{HeadBytes, PlainBytes};
use crate::recorder::Slice;
use crate::trace::{Opening, TraceSample};
use crate::worker::WorkerReport;
use prony_record::load::Invalid;
use prony_record::{Outcomes, Transport, Window};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

/// The reason that a load could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan is invalid.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The transport could not be had.
    #[error("{kind} cannot be used: {source}")]
    Transport {
        /// Transport that could not be set up.
        kind: Transport,
        /// Error from the kernel.
        source: io::Error,
    },
    /// Connections cannot come from one of the plan's [sources](crate::Plan::sources).
    #[error("connections cannot come from {address}: {}", unusable(.error))]
    Source {
        /// Source address, one of the plan's.
        address: IpAddr,
        /// Error from the kernel.
        error: io::Error,
    },
    /// The plan's options of TLS cannot be carried out.
    #[error(transparent)]
    Tls(#[from] TlsInvalid),
    /// A worker could not go on.
    #[error("a generator thread ended: {0}")]
    Worker(io::Error),
    /// A part of the load that another process carries out could not go on.
    #[error("{0}")]
    Elsewhere(String),
}

/// Why connections cannot come from an address.
fn unusable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrNotAvailable => "the machine has no such address".into(),
        _ => error.to_string(),
    }
}

/// Details of a load beyond what is [recorded](prony_record::Observation), for callers that report every
/// request or every thread.
#[derive(Debug, Default)]
pub struct Detail {
    /// When the measurement began, on the engine's clock.
    pub from: Nanos,
    /// When it ended.
    pub until: Nanos,
    /// Answers, right or wrong, per second of each worker in each of its whole windows inside the
    /// measurement, in no particular order.
    pub worker_rates: Vec<f64>,
    /// The requests that were answered or took too long in the measurement, worker by worker, in
    /// the order in which they ended: those that the [plan](crate::Plan::trace) asks for. One that
    /// met an error, or an answer that breaks the protocol, is not here.
    pub trace: Vec<TraceSample>,
    /// The head of the first answer, where the protocol has heads.
    pub first_head: Vec<u8>,
    /// Header blocks of answers, where the protocol compresses them.
    pub heads: HeadBytes,
    /// Bytes that went through TLS, without its handshakes and record overhead; None without TLS.
    pub plain: Option<PlainBytes>,
    /// How connections were opened.
    pub opening: Opening,
    /// Errors, with how often each occurred since the load began.
    pub errors: BTreeMap<LoadError, u64>,
}

/// Hears how a load goes, on the thread that called [`run`](crate::run).
pub trait Progress {
    /// The load begins at this time of the engine's clock, a moment from now.
    fn began(&mut self, _start: Nanos) {}

    /// How the requests ended that ended in the [window](Self::window) told of next.
    fn outcomes(&mut self, _outcomes: &Outcomes) {}

    /// All workers have finished this window.
    fn window(&mut self, window: &Window);
}

impl<F: FnMut(&Window)> Progress for F {
    fn window(&mut self, window: &Window) {
        self(window);
    }
}

/// A message of a worker to the thread that gathers.
#[derive(Debug)]
pub(crate) enum WorkerMessage {
    /// The worker's connections are set up as far as possible.
    Ready,
    /// A window has ended.
    Window(Box<Slice>),
    /// The worker has ended: the transport that moved its bytes, and its report.
    Done(Transport, Box<WorkerReport>),
    /// The worker could not go on.
    Failed(Error),
}
