//! Hosts and generators, on this machine or on others, as one type each: what a command measures with is known only when
//! it runs.

use crate::fleet::Fleet;
use crate::host::{RemoteHost, RemoteServer, RemoteWatch};
use prony_engine::descriptors::TooFewDescriptors;
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::{Dialogue, Error, Nanos, Plan, Target};
use prony_lab::builder::{BuildError, Built};
use prony_lab::catalog::Server;
use prony_lab::generator::{Generator, Local, LoadController};
use prony_lab::host::{Host, LocalHost, LocalServer, LocalWatch, Watcher, VerifySpec, Started, Watched};
use prony_lab::interrupt::Interrupt;
use prony_lab::placement::Placement;
use prony_lab::side::{Workload, Candidate, Running};
use prony_lab::tree::Root;
use prony_record::{Failure, Load, Observation, Step};
use std::time::Duration;

/// Where servers run.
pub enum ServerPlace {
    /// On this machine.
    Here(Box<LocalHost>),
    /// On another one.
    There(Box<RemoteHost>),
}

/// A server on this machine or another one.
pub enum PlacedServer {
    /// On this machine.
    Here(LocalServer),
    /// On another one.
    There(RemoteServer),
}

/// Watch of a server on this machine or another one.
pub enum PlacedWatch {
    /// On this machine.
    Here(LocalWatch),
    /// On another one.
    There(RemoteWatch),
}

/// Where loads come from.
pub enum LoadPlace {
    /// From this process.
    Here(Local),
    /// From agents.
    There(Fleet),
}

/// The same of whichever it is.
macro_rules! either {
    ($of:expr, $it:ident => $do:expr) => {
        match $of {
            Self::Here($it) => $do,
            Self::There($it) => $do,
        }
    };
}

impl Host for ServerPlace {
    type Server = PlacedServer;
    type Watch = PlacedWatch;

    fn machine(&self) -> prony_record::Host {
        either!(self, it => it.machine())
    }

    fn placement(&self) -> &Placement {
        either!(self, it => it.placement())
    }

    fn build(&self, server: &Server) -> Result<Built, BuildError> {
        either!(self, it => it.build(server))
    }

    fn build_upstream(&self, server: &Server) -> Result<Built, BuildError> {
        either!(self, it => it.build_upstream(server))
    }

    fn reachable(&self) -> Result<(), String> {
        either!(self, it => it.reachable())
    }

    fn start(&self, who: &Candidate<'_>) -> Result<PlacedServer, Failure> {
        match self {
            Self::Here(host) => host.start(who).map(PlacedServer::Here),
            Self::There(host) => host.start(who).map(PlacedServer::There),
        }
    }

    fn attach(&self, running: &Running, workload: &Workload) -> Result<PlacedServer, Failure> {
        match self {
            Self::Here(host) => host.attach(running, workload).map(PlacedServer::Here),
            Self::There(host) => host.attach(running, workload).map(PlacedServer::There),
        }
    }

    fn attach_upstream(
        &self,
        gateway: &mut PlacedServer,
        upstream: &Candidate<'_>,
    ) -> Result<PlacedServer, Failure> {
        match (self, gateway) {
            (Self::Here(host), PlacedServer::Here(gateway)) => {
                host.attach_upstream(gateway, upstream).map(PlacedServer::Here)
            }
            (Self::There(host), PlacedServer::There(gateway)) => {
                host.attach_upstream(gateway, upstream).map(PlacedServer::There)
            }
            _ => unreachable!("a server is where its host is"),
        }
    }

    fn watch(
        &self,
        server: &PlacedServer,
        upstream: Option<&PlacedServer>,
        period: Duration,
    ) -> PlacedWatch {
        match (self, server) {
            (Self::Here(host), PlacedServer::Here(server)) => {
                let upstream = upstream.and_then(|upstream| match upstream {
                    PlacedServer::Here(upstream) => Some(upstream),
                    PlacedServer::There(_) => None,
                });
                PlacedWatch::Here(host.watch(server, upstream, period))
            }
            (Self::There(host), PlacedServer::There(server)) => {
                let upstream = upstream.and_then(|upstream| match upstream {
                    PlacedServer::There(upstream) => Some(upstream),
                    PlacedServer::Here(_) => None,
                });
                PlacedWatch::There(host.watch(server, upstream, period))
            }
            _ => unreachable!("a server is where its host is"),
        }
    }
}

impl Started for PlacedServer {
    fn target(&self) -> Target {
        either!(self, it => it.target())
    }

    fn tls(&self) -> Option<TlsOptions> {
        either!(self, it => it.tls())
    }

    fn command(&self) -> &[String] {
        either!(self, it => it.command())
    }

    fn ready_ns(&self) -> Nanos {
        either!(self, it => it.ready_ns())
    }

    fn verify(&mut self, step: Step, how: &VerifySpec<'_>) -> Result<(), Failure> {
        either!(self, it => it.verify(step, how))
    }

    fn dialogue(&mut self, how: &VerifySpec<'_>, load: &Load) -> Result<Dialogue, Failure> {
        either!(self, it => it.dialogue(how, load))
    }

    fn root(&self) -> Option<Root> {
        either!(self, it => it.root())
    }

    fn pause(&mut self) {
        either!(self, it => it.pause());
    }

    fn resume(&mut self) {
        either!(self, it => it.resume());
    }

    fn exited(&mut self) -> Option<String> {
        either!(self, it => it.exited())
    }

    fn output(&self) -> String {
        either!(self, it => it.output())
    }

    fn stop(self) {
        either!(self, it => it.stop());
    }
}

impl Watcher for PlacedWatch {
    fn measure(&self, from: Nanos, until: Nanos) {
        either!(self, it => it.measure(from, until));
    }

    fn used(&self) -> Option<f64> {
        either!(self, it => it.used())
    }

    fn finish(self) -> Watched {
        either!(self, it => it.finish())
    }
}

impl Generator for LoadPlace {
    fn load(
        &self,
        plan: &Plan,
        interrupt: &Interrupt,
        controller: &mut dyn LoadController,
    ) -> Result<Observation, Error> {
        either!(self, it => it.load(plan, interrupt, controller))
    }

    fn reserve(&self, connections: u64) -> Result<(), TooFewDescriptors> {
        either!(self, it => it.reserve(connections))
    }

    fn reachable(&self) -> Result<(), String> {
        either!(self, it => it.reachable())
    }
}
