//! Sides of a measurement.

use crate::as_given::AsGiven;
use crate::builder::Built;
use crate::catalog::Server;
use crate::contract::Contract;
use crate::experiment::Entrant;
use crate::manifest::{CommandError, Manifest};
use crate::service::ServiceSpecs;
use crate::tree::Attached;
use prony_engine::Target;
use prony_engine::protocol::h2::WINDOW;
use prony_engine::protocol::proxy::Proxy;
use prony_engine::protocol::tls::TlsOptions;
use prony_record::Load;
use prony_record::load::{KeyKind, Protocol, ProxyProtocol};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

/// A server of the catalog as it takes part.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The server.
    pub server: &'a Server,
    /// Build of the server.
    pub built: &'a Built,
    /// Number of workers.
    pub workers: u32,
    /// Contract that the server must keep.
    pub contract: Contract,
    /// Role of the server, which decides its CPUs.
    pub role: Role,
    /// HTTP variant that the server speaks.
    pub over: Protocol,
    /// Kind of the certificate's key, where it speaks TLS.
    pub key: KeyKind,
}

/// How HTTP/2, or HTTP/3, is spoken with a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpStreams {
    /// How many bytes the server may send ahead, on each stream and each connection.
    pub window: u32,
    /// HTTP/3 is spoken, and not HTTP/2.
    #[serde(default)]
    pub http3: bool,
}

/// HTTP variant, by whether it is spoken over TLS, and how HTTP/2 or HTTP/3 is spoken, if it is.
#[must_use]
pub fn variant(tls: bool, http2: Option<HttpStreams>) -> Protocol {
    match http2 {
        Some(it) if it.http3 => Protocol::H3,
        other => Protocol::of(tls, other.is_some()),
    }
}

/// Role of a server in a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The server that is measured.
    Server,
    /// A server behind the measured one.
    Upstream,
}

/// A side of a duel, or the only server of a capacity search.
#[derive(Debug, Clone)]
pub struct Side {
    /// Name of the side.
    pub name: String,
    /// Server of the side.
    pub what: What,
    /// Role of the server.
    pub role: Role,
    /// How HTTP/2, or HTTP/3, is spoken with it; none: it speaks HTTP/1.1, or no HTTP at all.
    pub http2: Option<HttpStreams>,
    /// If prony starts it, it speaks TLS, with a certificate of such a key. Of a running one, [`Running::tls`] says so.
    pub key: Option<KeyKind>,
}

/// Server of a side, by who starts it.
#[derive(Debug, Clone)]
pub enum What {
    /// Started anew in every round.
    Started {
        /// The server.
        server: Box<Server>,
        /// Build of the server.
        built: Box<Built>,
        /// Number of workers.
        workers: u32,
    },
    /// Another program has started it; it is only loaded.
    Running(Running),
}

/// A server that another program has started.
#[derive(Debug, Clone)]
pub struct Running {
    /// Where it listens; behind a proxy, where the proxy does.
    pub target: Target,
    /// Addresses that connections are spread over, the target's among them; empty: all go to the target.
    pub addresses: Vec<SocketAddr>,
    /// Host and port to look up again under load; None: the addresses stay.
    pub name: Option<(String, u16)>,
    /// Proxy that it is reached through; None: none.
    pub proxy: Option<Box<Proxy>>,
    /// Header of a balancer that connections begin with; None: none.
    pub proxy_protocol: Option<ProxyProtocol>,
    /// Name by which requests call the server: the `Host` field of HTTP/1.1, and `:authority` of HTTP/2.
    pub authority: String,
    /// How it speaks TLS; none: it does not.
    pub tls: Option<Box<TlsOptions>>,
    /// First process of the server on this machine; None: only its answers are known.
    pub process: Option<Attached>,
    /// How it is loaded as its user says; None: what it answers before a load says what is expected during it.
    pub as_given: Option<Box<AsGiven>>,
}

impl Side {
    /// Does prony start it in a container?
    #[must_use]
    pub fn in_container(&self) -> bool {
        match &self.what {
            What::Started { built, .. } => built.container.is_some(),
            What::Running(_) => false,
        }
    }

    /// The same with what its manifest adds when stacks are sampled; None where that is nothing.
    #[must_use]
    pub fn profiled(&self) -> Option<Self> {
        let mut side = self.clone();
        let What::Started { server, .. } = &mut side.what else {
            return None;
        };
        let manifest = &mut server.manifest;
        for (name, more) in &manifest.profile.env {
            let value = manifest.env.entry(name.clone()).or_default();
            if !value.is_empty() {
                value.push(' ');
            }
            value.push_str(more);
        }
        (!manifest.profile.env.is_empty()).then_some(side)
    }

    /// A command line as a side: `{host}` and `{port}` in it, and the variables HOST and PORT, are where
    /// it must listen.
    ///
    /// # Errors
    /// When it cannot be split as a shell would.
    pub fn of_command(name: &str, line: &str, folder: &Path) -> Result<Self, String> {
        let text = toml::toml! {
            title = "given on the command line"
            language = "any"
            model = "any"
            contracts = ["tcp-echo"]
            run = "true"
            env = { HOST = "{host}", PORT = "{port}" }
        };
        let mut manifest: Manifest = text.try_into().expect("a constant manifest");
        // Its placeholders are checked when its services are known.
        if shlex::split(line).is_none_or(|words| words.is_empty()) {
            return Err(CommandError::Split(line.to_owned()).to_string());
        }
        line.clone_into(&mut manifest.run);
        let server = Server {
            // Files are called after it.
            name: "command".into(),
            folder: folder.to_owned(),
            manifest,
        };
        let built = Built {
            src: folder.to_owned(),
            build: folder.to_owned(),
            deps: folder.to_owned(),
            shared: folder.to_owned(),
            version: String::new(),
            cached: true,
            container: None,
        };
        Ok(Self {
            name: name.to_owned(),
            what: What::Started {
                server: Box::new(server),
                built: Box::new(built),
                workers: 1,
            },
            role: Role::Server,
            http2: None,
            key: None,
        })
    }

    /// A server of an experiment, with this build.
    #[must_use]
    pub fn of_entrant(entrant: &Entrant, built: &Built) -> Self {
        Self {
            name: entrant.label(),
            what: What::Started {
                server: Box::new(entrant.server.clone()),
                built: Box::new(built.clone()),
                workers: entrant.workers,
            },
            role: Role::Server,
            http2: None,
            key: None,
        }
    }

    /// The same, started to be spoken to as a load says.
    #[must_use]
    pub fn under(self, load: &Load) -> Self {
        Self {
            http2: load.over.has_streams().then_some(HttpStreams {
                window: WINDOW,
                http3: load.over == Protocol::H3,
            }),
            key: load.over.is_tls().then_some(load.key),
            ..self
        }
    }

    /// HTTP variant that is spoken with the side.
    #[must_use]
    pub fn over(&self) -> Protocol {
        let tls = match &self.what {
            What::Started { .. } => self.key.is_some(),
            What::Running(running) => running.tls.is_some(),
        };
        variant(tls, self.http2)
    }

    /// Number of workers; None: another program has started the server.
    #[must_use]
    pub fn workers(&self) -> Option<u32> {
        match &self.what {
            What::Started { workers, .. } => Some(*workers),
            What::Running(_) => None,
        }
    }

    /// Version of the server, such as that of its runtime, its image or its commit; empty when it is not known.
    #[must_use]
    pub fn version(&self) -> &str {
        match &self.what {
            What::Started { built, .. } => &built.version,
            What::Running(_) => "",
        }
    }
}

impl Candidate<'_> {
    /// Services that it needs: those of the contract and its own, by name.
    #[must_use]
    pub fn services(&self) -> ServiceSpecs {
        self.server.manifest.services(self.contract)
    }

    /// Steps of the verification that its stack cannot pass, with the reason.
    #[must_use]
    pub fn expected_failures(&self) -> &BTreeMap<String, String> {
        &self.server.manifest.expected_failures
    }
}
