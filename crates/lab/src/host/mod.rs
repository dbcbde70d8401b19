//! The host, as the lab sees it: a machine on which servers are built, started, watched and stopped.

mod attached;
mod local;
mod reached;
mod spawned;

pub use attached::verify_running;
pub use local::{Elsewhere, LocalHost, Relayed};
pub use spawned::SpawnedServer;

use crate::builder::{BuildError, Built};
use crate::catalog::Server;
use crate::contract::Depth;
use crate::control_group::Folders;
use crate::placement::Placement;
use crate::service::ServiceRoot;
use crate::side::{Candidate, HttpStreams, Running};
use crate::tree::{Root, cpu_time};
use crate::watch::ProcessSample;
use crate::workload::Workload;
use prony_engine::protocol::proxy::Proxy;
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::{Dialogue, Nanos, Target};
use prony_record::{Failure, Load, Resources, Step};
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::net::SocketAddr;
use std::time::Duration;

/// A machine on which servers run. One implementation is this machine ([`LocalHost`]); another one, and
/// those of tests, are others.
///
/// A host only gets servers that it has started or attached itself.
pub trait Host: Send + Sync {
    /// Describes the machine.
    fn machine(&self) -> prony_record::Host;

    /// CPUs of the machine that server, upstream and generator have.
    fn placement(&self) -> &Placement;

    /// Builds a server of the catalog.
    ///
    /// # Errors
    /// When it is not set up, or cannot be built.
    fn build(&self, server: &Server) -> Result<Built, BuildError>;

    /// Builds the server behind gateways, which may have a machine of its own.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    fn build_upstream(&self, server: &Server) -> Result<Built, BuildError> {
        self.build(server)
    }

    /// Can servers still be started there? A machine that was lost is reached again if it can be.
    ///
    /// # Errors
    /// Why not.
    fn reachable(&self) -> Result<(), String> {
        Ok(())
    }

    /// Starts a server and waits until it answers.
    ///
    /// # Errors
    /// When it does not start, ends by itself, or does not answer in time.
    fn start(&self, who: &Candidate<'_>) -> Result<Box<dyn Started>, Failure>;

    /// A server that is running already, and stays so.
    ///
    /// # Errors
    /// When what surrounds it cannot be made.
    fn attach(&self, running: &Running, workload: &Workload) -> Result<Box<dyn Started>, Failure>;

    /// Puts a real upstream behind a gateway, in the place of the one that verified it.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    fn attach_upstream(
        &self,
        gateway: &mut dyn Started,
        upstream: &Candidate<'_>,
    ) -> Result<Box<dyn Started>, Failure>;

    /// Watches a server, and its upstream if it has one, once per `period` while it is measured.
    fn watch(
        &self,
        server: &dyn Started,
        upstream: Option<&dyn Started>,
        period: Duration,
    ) -> Box<dyn Watcher>;
}

/// A server that is up. Dropping it stops it, if this program has started it.
pub trait Started: Any {
    /// Where it listens.
    fn target(&self) -> Target;

    /// How it speaks TLS; none: it does not.
    fn tls(&self) -> Option<TlsOptions>;

    /// Addresses that connections are spread over, and the name to look up again, if there is one; empty: all go to the
    /// target.
    fn addresses(&self) -> (Vec<SocketAddr>, Option<(String, u16)>) {
        (Vec::new(), None)
    }

    /// Proxy that it is reached through; None: none.
    fn proxy(&self) -> Option<Proxy> {
        None
    }

    /// Command line of the server; empty when another program has started it.
    fn command(&self) -> &[String];

    /// From its start until it answered, in nanoseconds; 0 when another program has started it.
    fn ready_ns(&self) -> Nanos;

    /// Proves that it answers what is asked.
    ///
    /// # Errors
    /// What was expected and what was found.
    fn verify(&mut self, step: Step, how: &VerifySpec<'_>) -> Result<(), Failure>;

    /// Returns what a load sends to the server, and what it expects.
    ///
    /// # Errors
    /// When an answer is needed to know what to expect, and it is wrong.
    fn dialogue(&mut self, how: &VerifySpec<'_>, load: &Load) -> Result<Dialogue, Failure>;

    /// The process that all of its processes come from; None when it is not known.
    fn root(&self) -> Option<Root>;

    /// CPU time that its present processes have used so far, in nanoseconds; None when they are not known.
    fn cpu_time(&self) -> Option<u64> {
        let processes = self.root()?.processes();
        Some(processes.into_iter().filter_map(cpu_time).sum())
    }

    /// Stops its processes, where this program has started and may stop them: they use no CPU time until
    /// [`resume`](Self::resume).
    fn pause(&mut self);

    /// Lets its processes go on, if they are stopped.
    fn resume(&mut self);

    /// How it ended or lost a service, if it did, as words that follow its name: `ended with status 1`, `lost its
    /// postgres, which ended by signal 9`.
    fn exited(&mut self) -> Option<String>;

    /// Services that it was started with, to be watched; none where they run on another machine.
    fn services(&self) -> Vec<ServiceRoot> {
        Vec::new()
    }

    /// Control group that limits it, to be watched; None where it has no limits, or runs on another machine.
    fn limited(&self) -> Option<Folders> {
        None
    }

    /// The end of what it printed; what a service printed that it has lost.
    fn output(&self) -> String;

    /// Ends it and everything that it has started; leaves alone what another program has started.
    fn stop(self: Box<Self>);
}

/// How a server is verified.
#[derive(Debug, Clone, Copy)]
pub struct VerifySpec<'a> {
    /// Requests that the server must answer.
    pub workload: &'a Workload,
    /// How HTTP/2 is spoken with it, if it is.
    pub http2: Option<HttpStreams>,
    /// How thoroughly.
    pub depth: Depth,
    /// Seed of payloads that the server cannot know.
    pub seed: u64,
}

/// Watching a server while it is measured.
pub trait Watcher {
    /// Says what is measured, before it begins, on the host's clock.
    fn measure(&self, from: Nanos, until: Nanos);

    /// How many CPUs the server used between the last two looks; none before there are two.
    fn used(&self) -> Option<f64>;

    /// Ends the watching; without a measurement nothing was seen.
    fn finish(self: Box<Self>) -> Watched;
}

/// Observations of a server and its machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Watched {
    /// Resources that were used, except shares of the machine, which depend on the generator's CPU time.
    pub resources: Resources,
    /// Busy time of all CPUs in use here, of all processes.
    pub all_cpus_busy: Nanos,
    /// Time of those CPUs that the hypervisor gave to other machines.
    pub stolen: Nanos,
    /// How many CPUs these are.
    pub cpus: usize,
    /// The server at every window, both ends included.
    pub samples: Vec<ProcessSample>,
    /// The generator is on another machine.
    #[serde(default)]
    pub apart: bool,
}

impl Watched {
    /// Returns the resources that were used, with the shares that other processes and the hypervisor had of the CPUs.
    /// `generator` is the CPU time of the generator, in nanoseconds.
    pub fn resources(&self, generator: Nanos) -> Resources {
        let used = &self.resources;
        let time = (used.watched_ns as f64 * self.cpus as f64).max(1.0);
        let generator = if self.apart { 0 } else { generator };
        let behind = used.upstream_cpu_ns + used.services_cpu_ns();
        let ours = used.server_cpu_ns + behind + generator;
        Resources {
            others_busy: self.all_cpus_busy.saturating_sub(ours) as f64 / time,
            stolen: self.stolen as f64 / time,
            ..used.clone()
        }
    }
}
