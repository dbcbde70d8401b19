//! A server that this program has started.

use super::reached::Reached;
use super::{Started, VerifySpec};
use crate::container;
use crate::contract::parts::{Parts, Routes};
use crate::contract::{Certificate, Contract, Depth, Fixture, Inspection, Verified, authority};
use crate::control_group::Folders;
use crate::hook::AtEnd;
use crate::paused::Paused;
use crate::port::Port;
use crate::process::Process;
use crate::relay::Relay;
use crate::service::{ServiceRoot, Services};
use crate::tree::Root;
use prony_engine::protocol::{h2, h3, tls};
use prony_engine::{Dialogue, Nanos, Target, clock};
use prony_record::load::{KeyKind, Protocol};
use prony_record::{Failure, Load, Step};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A server that this program has started.
#[derive(Debug)]
pub struct SpawnedServer {
    /// While it rests. Before `process`: what is stopped goes on before it is ended.
    pub(super) paused: Option<Paused>,
    /// Container of the server, and the first process in it. Before `process`: it is stopped first.
    pub(super) container: Option<(container::Running, libc::pid_t)>,
    pub(super) process: Process,
    /// After `process`: they end when nothing asks them any longer.
    pub(super) services: Services,
    /// After `process`: runs when that has ended.
    pub(super) _cleanup: Option<AtEnd>,
    /// None: it was told where to listen. After `process`: given back when that has ended.
    pub(super) _port: Option<Port>,
    pub(super) place: ServerEndpoint,
    pub(super) command: Vec<String>,
    pub(super) ready: Duration,
    pub(super) fixture: Fixture,
    pub(super) expected_failures: BTreeMap<String, String>,
    /// Parts of its contract that it keeps; None: all of them.
    pub(super) parts: Option<Parts>,
    /// Control group that limits it.
    pub(super) limited: Option<Folders>,
}

/// Where a server listens, and how it is spoken to there.
#[derive(Debug)]
pub(super) struct ServerEndpoint {
    pub(super) addr: SocketAddr,
    /// Where it is verified: there, or at a relay on another machine.
    reached: SocketAddr,
    over: Protocol,
    authority: String,
    /// Over TLS.
    secured: Option<Secured>,
}

/// A server's TLS.
#[derive(Debug)]
struct Secured {
    certificate: Certificate,
    options: tls::TlsOptions,
    /// Relay through which the server is verified.
    relay: Relay,
}

impl ServerEndpoint {
    /// A server at this address; over TLS or QUIC it is given a certificate with such a key, in files below `scratch`.
    ///
    /// # Errors
    /// When the certificate cannot be made.
    pub(super) fn new(
        addr: SocketAddr,
        (over, key): (Protocol, KeyKind),
        scratch: &Path,
    ) -> Result<Self, String> {
        let secured = over.is_tls().then(|| {
            let certificate = Certificate::below(scratch, key)?;
            let options = certificate.options(over);
            let relay = Relay::to(addr, &options).map_err(|error| error.to_string())?;
            Ok::<_, String>(Secured {
                certificate,
                options,
                relay,
            })
        });
        Ok(Self {
            addr,
            reached: addr,
            over,
            authority: match over.is_tls() {
                true => authority(addr.port()),
                false => addr.to_string(),
            },
            secured: secured.transpose()?,
        })
    }

    /// HTTP variant, as manifests name it.
    pub(super) fn over(&self) -> Protocol {
        self.over
    }

    /// The file of the certificate; None without TLS.
    pub(super) fn certificate(&self) -> Option<PathBuf> {
        self.secured.as_ref().map(|it| it.certificate.path())
    }

    /// The files of the certificate and of its key; empty without TLS.
    pub(super) fn files(&self) -> (String, String) {
        let shown = |path: PathBuf| path.display().to_string();
        self.secured.as_ref().map_or_else(Default::default, |it| {
            (
                shown(it.certificate.path()),
                shown(it.certificate.key_path()),
            )
        })
    }

    /// Is it ready: does it accept a connection, and answer?
    ///
    /// # Errors
    /// What it did instead, in words.
    pub(super) fn probe(&self, contract: Contract, patience: Duration) -> Result<(), String> {
        let plain = self.plain();
        if let Some(it) = &self.secured {
            let target = Target::Tcp(self.addr);
            if self.over == Protocol::H3 {
                let probed = h3::probe(&target, &it.options, patience);
                return probed.map(drop).map_err(|error| error.to_string());
            }
            tls::probe(&target, &it.options, patience).map_err(|error| error.to_string())?;
        }
        match self.over.is_http2() {
            true => h2::probe(&Target::Tcp(plain), patience).map_err(|error| error.to_string()),
            false => contract
                .probe(plain, patience)
                .map_err(|error| error.to_string()),
        }
    }

    /// From here on it is verified through this relay; none: where it listens.
    ///
    /// # Errors
    /// When the relay that takes TLS off cannot be made.
    pub(super) fn reach(&mut self, relay: Option<SocketAddr>) -> Result<(), Failure> {
        let reached = relay.unwrap_or(self.addr);
        if let (Some(it), true) = (&mut self.secured, reached != self.reached) {
            it.relay = Relay::to(reached, &it.options)
                .map_err(|error| Failure::new(Step::Verify, error.to_string()))?;
        }
        self.reached = reached;
        Ok(())
    }

    /// Where it is spoken to without TLS.
    fn plain(&self) -> SocketAddr {
        match &self.secured {
            Some(it) => it.relay.addr(),
            None => self.reached,
        }
    }

    fn tls(&self) -> Option<&tls::TlsOptions> {
        self.secured.as_ref().map(|it| &it.options)
    }
}

impl SpawnedServer {
    pub(super) fn inspect(
        &mut self,
        step: Step,
        contract: Contract,
        depth: Depth,
        seed: u64,
    ) -> Result<Verified, Failure> {
        let reached = self.reached();
        Inspection::new(depth, seed)
            .knowing(&self.expected_failures)
            .by(reached.way(None))
            .keeping(self.parts.as_ref().map(|kept| Routes::new(contract, kept)))
            .of(contract, self.place.plain(), &self.fixture)
            .map_err(|violation| self.failure(step, violation.to_string()))
    }

    fn reached(&self) -> Reached<'_> {
        Reached {
            target: Target::Tcp(self.place.reached),
            plain: Ok(self.place.plain()),
            proxy: None,
            authority: &self.place.authority,
            over: Some(self.place.over()),
            tls: self.place.tls(),
            fixture: &self.fixture,
            as_given: None,
            expected_failures: Some(&self.expected_failures),
            parts: self.parts.as_ref(),
        }
    }

    /// Adds to a failure how the server ended, if it did, and the end of what it printed.
    fn failure(&mut self, step: Step, what: String) -> Failure {
        // A server fails in many ways without its database: that is the cause then.
        if let Some(lost) = self.services.ended() {
            let output = self.services.last_words().to_owned();
            return Failure::new(step, format!("it {lost}: {what}")).with_output(output);
        }
        let message = match self.process.exited() {
            Some(exit) => format!("{what} (the server {exit})"),
            None => what,
        };
        Failure::new(step, message).with_output(self.process.output())
    }
}

impl SpawnedServer {
    /// The file of the certificate that it was given; None without TLS.
    #[must_use]
    pub fn certificate(&self) -> Option<PathBuf> {
        self.place.certificate()
    }

    /// From here on it is verified through this relay; none: where it listens.
    ///
    /// # Errors
    /// When the relay that takes TLS off cannot be made.
    pub fn verify_through(&mut self, relay: Option<SocketAddr>) -> Result<(), Failure> {
        self.place.reach(relay)
    }

    /// Stops prony's own upstream behind it, so that another can take its place.
    pub fn release_upstream(&mut self) {
        self.fixture.release();
    }

    /// Starts prony's own upstream again where it was, so that the gateway can be verified.
    ///
    /// # Errors
    /// When its address is in use.
    pub fn resume_upstream(&mut self) -> Result<(), Failure> {
        self.fixture.resume().map_err(|error| {
            Failure::new(Step::VerifyAgain, format!("prony's own upstream: {error}"))
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.place.addr
    }
}

impl Started for SpawnedServer {
    fn target(&self) -> Target {
        Target::Tcp(self.place.addr)
    }

    fn tls(&self) -> Option<tls::TlsOptions> {
        self.place.tls().cloned()
    }

    fn command(&self) -> &[String] {
        &self.command
    }

    fn ready_ns(&self) -> Nanos {
        clock::nanos(self.ready)
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
        Some(match &self.container {
            Some((_, first)) => Root::itself(*first),
            None => Root::above(self.process.root()),
        })
    }

    fn pause(&mut self) {
        let supervisor = self.process.root();
        self.paused = self.root().and_then(|root| Paused::new(root, supervisor));
        self.services.pause();
    }

    fn resume(&mut self) {
        self.paused = None;
        self.services.resume();
    }

    fn exited(&mut self) -> Option<String> {
        if let Some(lost) = self.services.ended() {
            return Some(lost);
        }
        self.process.exited().map(ToOwned::to_owned)
    }

    fn output(&self) -> String {
        match self.services.last_words() {
            "" => self.process.output(),
            lost => lost.to_owned(),
        }
    }

    fn services(&self) -> Vec<ServiceRoot> {
        self.services.roots()
    }

    fn limited(&self) -> Option<Folders> {
        self.limited.clone()
    }

    fn stop(self: Box<Self>) {
        let mut this = *self;
        // A server may wait for them when it is to end.
        this.services.resume();
        drop(this.paused);
        drop(this.container);
        this.process.stop();
    }
}
