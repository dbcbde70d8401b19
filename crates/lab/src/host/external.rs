//! A server that another program has started: it is verified and loaded, and left alone.

use super::{Proof, Started};
use crate::contract::{Fixture, Inspection, Wanted};
use crate::get::Spoken;
use crate::relay::Relay;
use crate::side::{Ask, Running};
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::{Dialogue, Nanos, Target};
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

    /// Where it is verified.
    fn plain(&self) -> SocketAddr {
        self.relay.as_ref().map_or(self.running.addr, Relay::addr)
    }
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
        let contract = match how.ask {
            Ask::Contract(contract) => contract,
            Ask::Get(_) => return Ok(()),
            Ask::Requests { asked, .. } => {
                let place = (&self.target(), self.running.tls.as_deref());
                return asked
                    .prove(place, &self.running.authority, (how.depth, how.seed))
                    .map_err(|message| Failure::new(step, message));
            }
        };
        Inspection::new(how.depth, how.seed)
            .of(*contract, self.plain(), &self.fixture)
            .map(drop)
            .map_err(|violation| Failure::new(step, violation.to_string()))
    }

    fn dialogue(&mut self, how: &Proof<'_>, load: &Load) -> Result<Dialogue, Failure> {
        let failed = |message: String| Failure::new(Step::Verify, message);
        match how.ask {
            Ask::Get(get) => {
                let spoken = Spoken {
                    authority: &self.running.authority,
                    tls: self.running.tls.is_some(),
                    http2: how.http2,
                };
                get.dialogue(self.plain(), &spoken).map_err(failed)
            }
            Ask::Requests { asked, .. } => {
                Ok(asked.dialogue(&self.running.authority, load.keepalive))
            }
            Ask::Contract(contract) => Inspection::new(how.depth, how.seed)
                .dialogue(*contract, self.plain(), &self.fixture, Wanted::of(load))
                .map_err(|violation| failed(violation.to_string())),
        }
    }

    fn root(&self) -> Option<libc::pid_t> {
        None
    }

    fn exited(&mut self) -> Option<String> {
        None
    }

    fn output(&self) -> String {
        String::new()
    }

    fn stop(self) {}
}
