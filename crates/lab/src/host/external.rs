//! A server that another program has started: it is verified and loaded, and left alone.

use super::{Proof, Started};
use crate::contract::{Fixture, Inspection, Wanted};
use crate::side::Ask;
use prony_engine::{Dialogue, Nanos, Target};
use prony_record::{Failure, Load, Step};
use std::net::SocketAddr;
use std::path::Path;

#[derive(Debug)]
pub(super) struct External {
    addr: SocketAddr,
    fixture: Fixture,
}

impl External {
    pub(super) fn at(addr: SocketAddr, ask: &Ask, scratch: &Path) -> Result<Self, Failure> {
        let fixture = Fixture::set_up(ask.contract(), scratch)
            .map_err(|error| Failure::new(Step::Verify, error.to_string()))?;
        Ok(Self { addr, fixture })
    }
}

impl Started for External {
    fn target(&self) -> Target {
        Target::Tcp(self.addr)
    }

    fn command(&self) -> &[String] {
        &[]
    }

    fn ready_ns(&self) -> Nanos {
        0
    }

    fn verify(&mut self, step: Step, how: &Proof<'_>) -> Result<(), Failure> {
        let Ask::Contract(contract) = how.ask else {
            return Ok(());
        };
        Inspection::new(how.depth, how.seed)
            .of(*contract, self.addr, &self.fixture)
            .map(drop)
            .map_err(|violation| Failure::new(step, violation.to_string()))
    }

    fn dialogue(&mut self, how: &Proof<'_>, load: &Load) -> Result<Dialogue, Failure> {
        let failed = |message: String| Failure::new(Step::Verify, message);
        match how.ask {
            Ask::Get(get) => get.dialogue(self.addr).map_err(failed),
            Ask::Contract(contract) => Inspection::new(how.depth, how.seed)
                .dialogue(*contract, self.addr, &self.fixture, Wanted::of(load))
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
