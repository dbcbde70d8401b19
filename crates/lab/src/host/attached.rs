//! A server that another program has started: it is verified and loaded, and left alone.

use super::reached::Reached;
use super::{Started, VerifySpec};
use crate::contract::{Contract, Fixture, Inspection, Verified};
use crate::relay::{Passage, Relay};
use crate::side::{HttpStreams, Running};
use crate::tree::{Attached, Root};
use crate::workload::Workload;
use prony_engine::protocol::proxy::{Proxy, ProxyWay};
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::{Dialogue, Nanos, Target};
use prony_record::{Failure, Load, Step};
use std::net::SocketAddr;
use std::path::Path;

#[derive(Debug)]
pub(super) struct AttachedServer {
    running: Running,
    /// Passage through which it is verified, when it is behind a proxy, or wants the header of one.
    passage: Option<Passage>,
    /// Relay through which the server is verified, when it speaks TLS.
    relay: Option<Relay>,
    fixture: Fixture,
}

impl AttachedServer {
    pub(super) fn of(
        running: &Running,
        workload: &Workload,
        scratch: &Path,
    ) -> Result<Self, Failure> {
        if let Some(gone) = running.process.and_then(gone) {
            return Err(Failure::new(Step::Start, gone));
        }
        let failed = |error: &dyn std::fmt::Display| Failure::new(Step::Verify, error.to_string());
        let fixture =
            Fixture::set_up(workload.contract(), scratch).map_err(|error| failed(&error))?;
        let fixture = fixture.of_running_server();
        let forwards = |proxy: &Proxy| proxy.way == ProxyWay::Forward;
        if running.proxy.as_deref().is_some_and(forwards) && by_contract(workload) {
            return Err(failed(
                &"a server behind a proxy that forwards requests is not verified by a contract",
            ));
        }
        let passage = Passage::of(running).map_err(|error| failed(&error))?;
        let target = passage
            .as_ref()
            .map_or_else(|| running.target.clone(), Passage::target);
        // Nothing is looked at before a load as given but over the engine's own TLS.
        let learnt = running.as_given.is_none();
        let relay = match (running.tls.as_deref(), &target) {
            (Some(options), Target::Tcp(address)) if learnt => {
                Some(Relay::to(*address, options).map_err(|error| failed(&error))?)
            }
            _ => None,
        };
        Ok(Self {
            running: running.clone(),
            passage,
            relay,
            fixture,
        })
    }

    /// Returns a failure of this step; if the server's process has ended, the message gives that as the reason.
    fn failure(&self, step: Step, message: String) -> Failure {
        match self.running.process.and_then(gone) {
            Some(gone) => Failure::new(step, format!("{message} ({gone})")),
            None => Failure::new(step, message),
        }
    }

    fn reached(&self) -> Reached<'_> {
        let target = match &self.passage {
            Some(passage) => passage.target(),
            None => self.running.target.clone(),
        };
        Reached {
            plain: match (&self.relay, &target) {
                (Some(relay), _) => Ok(relay.addr()),
                (None, Target::Tcp(address)) => Ok(*address),
                (None, Target::Unix(_)) => Err(format!("{target} has no TCP address")),
            },
            target,
            proxy: self.running.proxy.as_deref(),
            authority: &self.running.authority,
            over: None,
            tls: self.running.tls.as_deref(),
            fixture: &self.fixture,
            as_given: self.running.as_given.as_deref(),
            expected_failures: None,
            parts: None,
        }
    }
}

/// Verifies that a server that runs already keeps a contract. What a contract needs around a server, such as a folder that it
/// serves, it does not have: see [`Contract::needs_fixture`].
///
/// # Errors
/// Why it cannot be reached, or the first step that failed.
pub fn verify_running(
    running: &Running,
    contract: Contract,
    how: &Inspection<'_>,
    http2: Option<HttpStreams>,
) -> Result<Verified, String> {
    let scratch = std::env::temp_dir();
    let attached = AttachedServer::of(running, &Workload::Contract(contract), &scratch)
        .map_err(|failure| failure.message)?;
    let reached = attached.reached();
    how.by(reached.way(http2))
        .of(contract, reached.plain.clone()?, &attached.fixture)
        .map_err(|violation| violation.to_string())
}

/// Does a verifier of contracts speak to the server?
fn by_contract(workload: &Workload) -> bool {
    match workload {
        Workload::Contract(_) => true,
        Workload::Requests { contract, .. } => *contract != Contract::Http,
        _ => false,
    }
}

/// Says that a process has ended, if it has.
fn gone(process: Attached) -> Option<String> {
    (!process.lives()).then(|| format!("there is no process {} any more", process.pid))
}

impl Started for AttachedServer {
    fn target(&self) -> Target {
        self.running.target.clone()
    }

    fn tls(&self) -> Option<TlsOptions> {
        self.running.tls.as_deref().cloned()
    }

    fn addresses(&self) -> (Vec<SocketAddr>, Option<(String, u16)>) {
        (self.running.addresses.clone(), self.running.name.clone())
    }

    fn proxy(&self) -> Option<Proxy> {
        self.running.proxy.as_deref().cloned()
    }

    fn command(&self) -> &[String] {
        &[]
    }

    fn ready_ns(&self) -> Nanos {
        0
    }

    fn verify(&mut self, step: Step, how: &VerifySpec<'_>) -> Result<(), Failure> {
        let verified = self.reached().verify(how);
        verified.map_err(|message| self.failure(step, message))
    }

    fn dialogue(&mut self, how: &VerifySpec<'_>, load: &Load) -> Result<Dialogue, Failure> {
        let dialogue = self.reached().dialogue(how, load);
        dialogue.map_err(|message| self.failure(Step::Verify, message))
    }

    fn root(&self) -> Option<Root> {
        self.running
            .process
            .map(|process| Root::itself(process.pid))
    }

    /// Another program has started it, and may have others to serve.
    fn pause(&mut self) {}

    fn resume(&mut self) {}

    fn exited(&mut self) -> Option<String> {
        // A load as given goes on when the process ends: another one may take its place, as with a supervisor.
        let process = (self.running.process).filter(|_| self.running.as_given.is_none());
        let gone = process.and_then(gone)?;
        Some(format!("ended ({gone})"))
    }

    fn output(&self) -> String {
        String::new()
    }

    fn stop(self: Box<Self>) {}
}
