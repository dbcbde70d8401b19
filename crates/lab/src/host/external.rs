//! A server that another program has started: it is verified and loaded, and left alone.

use super::{Proof, Started};
use crate::contract::{Contract, Fixture, Inspection, Verified, Wanted, Way};
use crate::get::Spoken;
use crate::relay::Relay;
use crate::side::{Ask, Http2, Running};
use crate::tree::{Attached, Root};
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::{Dialogue, Nanos, Target};
use prony_record::load::Over;
use prony_record::{Failure, Load, Step};
use std::net::SocketAddr;
use std::path::Path;

#[derive(Debug)]
pub(super) struct External {
    running: Running,
    /// What it is verified through, when it speaks TLS.
    relay: Option<Relay>,
    fixture: Fixture,
}

impl External {
    pub(super) fn of(running: &Running, ask: &Ask, scratch: &Path) -> Result<Self, Failure> {
        if let Some(gone) = running.process.and_then(gone) {
            return Err(Failure::new(Step::Start, gone));
        }
        let failed = |error: &dyn std::fmt::Display| Failure::new(Step::Verify, error.to_string());
        let fixture = Fixture::set_up(ask.contract(), scratch).map_err(|error| failed(&error))?;
        let relay = match running.tls.as_deref() {
            None => None,
            Some(options) => {
                Some(Relay::to(running.addr, options).map_err(|error| failed(&error))?)
            }
        };
        Ok(Self {
            running: running.clone(),
            relay,
            fixture,
        })
    }

    /// What failed; a process that has ended is the reason.
    fn failure(&self, step: Step, message: String) -> Failure {
        match self.running.process.and_then(gone) {
            Some(gone) => Failure::new(step, format!("{message} ({gone})")),
            None => Failure::new(step, message),
        }
    }

    /// How it is reached.
    fn way(&self, http2: Option<Http2>) -> Way<'_> {
        let tls = self.running.tls.as_deref();
        Way {
            over: Over::of(tls.is_some(), http2.is_some()),
            authority: &self.running.authority,
            tls: tls.map(|options| (self.running.addr, options)),
            window: http2.map(|http2| http2.window),
        }
    }

    fn spoken(&self, how: &Proof<'_>) -> Spoken<'_> {
        Spoken {
            authority: &self.running.authority,
            tls: self.running.tls.is_some(),
            http2: how.http2,
        }
    }

    /// Where it is verified.
    fn plain(&self) -> SocketAddr {
        self.relay.as_ref().map_or(self.running.addr, Relay::addr)
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
    http2: Option<Http2>,
) -> Result<Verified, String> {
    let scratch = std::env::temp_dir();
    let external = External::of(running, &Ask::Contract(contract), &scratch)
        .map_err(|failure| failure.message)?;
    how.by(external.way(http2))
        .of(contract, external.plain(), &external.fixture)
        .map_err(|violation| violation.to_string())
}

/// Says that a process has ended, if it has.
fn gone(process: Attached) -> Option<String> {
    (!process.lives()).then(|| format!("there is no process {} any more", process.pid))
}

impl Started for External {
    fn target(&self) -> Target {
        Target::Tcp(self.running.addr)
    }

    fn tls(&self) -> Option<TlsOptions> {
        self.running.tls.as_deref().cloned()
    }

    fn command(&self) -> &[String] {
        &[]
    }

    fn ready_ns(&self) -> Nanos {
        0
    }

    fn verify(&mut self, step: Step, how: &Proof<'_>) -> Result<(), Failure> {
        match how.ask {
            Ask::Get(_) | Ask::Call(_) | Ask::Socket(_) => Ok(()),
            Ask::Requests { asked, .. } => {
                let place = (&self.target(), self.running.tls.as_deref());
                asked.prove(place, &self.spoken(how), (how.depth, how.seed))
            }
            Ask::Contract(contract) => Inspection::new(how.depth, how.seed)
                .by(self.way(how.http2))
                .of(*contract, self.plain(), &self.fixture)
                .map(drop)
                .map_err(|violation| violation.to_string()),
        }
        .map_err(|message| self.failure(step, message))
    }

    fn dialogue(&mut self, how: &Proof<'_>, load: &Load) -> Result<Dialogue, Failure> {
        match how.ask {
            Ask::Get(get) => get.dialogue(self.plain(), &self.spoken(how)),
            Ask::Call(rpc) => {
                let secure = self.running.tls.is_some();
                rpc.dialogue(self.plain(), &self.running.authority, secure, how.http2)
            }
            Ask::Socket(socket) => socket.dialogue(self.plain(), &self.running.authority, load),
            Ask::Requests { asked, .. } => asked.dialogue(&self.spoken(how), load.keepalive),
            Ask::Contract(contract) => Inspection::new(how.depth, how.seed)
                .by(self.way(how.http2))
                .dialogue(*contract, self.plain(), &self.fixture, Wanted::of(load))
                .map_err(|violation| violation.to_string()),
        }
        .map_err(|message| self.failure(Step::Verify, message))
    }

    fn root(&self) -> Option<Root> {
        self.running
            .process
            .map(|process| Root::itself(process.pid))
    }

    fn exited(&mut self) -> Option<String> {
        let gone = self.running.process.and_then(gone)?;
        Some(format!("({gone})"))
    }

    fn output(&self) -> String {
        String::new()
    }

    fn stop(self) {}
}
