//! How a server is verified, and what a load says to it: the same whoever has started it.

use super::VerifySpec;
use crate::as_given::AsGiven;
use crate::contract::parts::{Parts, Routes};
use crate::contract::{Contract, Fixture, HttpEndpoint, Inspection, Wanted};
use crate::side::{HttpStreams, variant};
use crate::workload::{Endpoint, Workload};
use prony_engine::protocol::proxy::Proxy;
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::{Dialogue, Target};
use prony_record::Load;
use prony_record::load::Protocol;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// A server, as the verifier reaches it.
pub(super) struct Reached<'a> {
    /// The address that the verifier connects to.
    pub target: Target,
    /// The same server without TLS; an error for one on a unix socket, which has no address.
    pub plain: Result<SocketAddr, String>,
    /// Proxy before it; None: none.
    pub proxy: Option<&'a Proxy>,
    /// The `Host` field of HTTP/1.1, and `:authority` of HTTP/2.
    pub authority: &'a str,
    /// HTTP variant for which the server was started; None: it follows from `tls` and the verification's HTTP/2.
    pub over: Option<Protocol>,
    /// None: without TLS.
    pub tls: Option<&'a TlsOptions>,
    /// The folder that it serves, or the upstream that it queries.
    pub fixture: &'a Fixture,
    /// How it is loaded as its user says; None: what it answers before a load says what is expected during it.
    pub as_given: Option<&'a AsGiven>,
    /// Steps of a contract that its stack cannot pass, with the reason.
    pub expected_failures: Option<&'a BTreeMap<String, String>>,
    /// Parts of a contract that it keeps; None: all of them.
    pub parts: Option<&'a Parts>,
}

impl Reached<'_> {
    /// How a verifier of contracts speaks with it.
    pub fn way(&self, http2: Option<HttpStreams>) -> HttpEndpoint<'_> {
        let address = match self.target {
            Target::Tcp(address) => Some(address),
            Target::Unix(_) => None,
        };
        HttpEndpoint {
            over: self
                .over
                .unwrap_or_else(|| variant(self.tls.is_some(), http2)),
            authority: self.authority,
            tls: address.zip(self.tls),
            window: http2.map(|http2| http2.window),
        }
    }

    fn inspection(&self, how: &VerifySpec<'_>) -> Inspection<'_> {
        let inspection = Inspection::new(how.depth, how.seed)
            .by(self.way(how.http2))
            .keeping(self.routes(how));
        match self.expected_failures {
            Some(known) => inspection.knowing(known),
            None => inspection,
        }
    }

    fn routes(&self, how: &VerifySpec<'_>) -> Option<Routes<'_>> {
        let contract = how.workload.contract();
        self.parts.map(|kept| Routes::new(contract, kept))
    }

    fn endpoint(&self, how: &VerifySpec<'_>) -> Endpoint<'_> {
        Endpoint {
            authority: self.authority,
            tls: self.tls.is_some(),
            http2: how.http2,
            proxy: self.proxy,
            routes: self.routes(how),
        }
    }

    /// Proves that it answers what is asked.
    pub fn verify(&self, how: &VerifySpec<'_>) -> Result<(), String> {
        match how.workload {
            Workload::Echo(_) | Workload::Get(_) | Workload::Call(_) | Workload::Socket(_) => {
                Ok(())
            }
            Workload::Requests { contract, asked } => {
                // Of any HTTP, the file says more than the contract.
                if *contract != Contract::Http && self.as_given.is_none() {
                    self.keeps(*contract, how)?;
                }
                let (place, endpoint) = ((&self.target, self.tls), self.endpoint(how));
                match self.as_given {
                    Some(as_given) => as_given.prove(asked, place, &endpoint, how.seed),
                    None => asked.prove(place, &endpoint, (how.depth, how.seed)),
                }
            }
            Workload::Contract(contract) => self.keeps(*contract, how),
        }
    }

    /// Proves that it keeps a contract.
    fn keeps(&self, contract: Contract, how: &VerifySpec<'_>) -> Result<(), String> {
        self.inspection(how)
            .of(contract, self.plain.clone()?, self.fixture)
            .map(drop)
            .map_err(|violation| violation.to_string())
    }

    /// Gives what a load says to it, and expects from it.
    pub fn dialogue(&self, how: &VerifySpec<'_>, load: &Load) -> Result<Dialogue, String> {
        let endpoint = self.endpoint(how);
        if let Some(as_given) = self.as_given {
            return how.workload.dialogue(&endpoint, load, as_given.keepalive);
        }
        match how.workload {
            Workload::Get(get) => get.dialogue(self.plain.clone()?, &endpoint, load.keepalive),
            Workload::Call(rpc) => rpc.dialogue(self.plain.clone()?, &endpoint),
            Workload::Socket(socket) => {
                socket.prove(self.plain.clone()?, self.authority, load)?;
                socket.dialogue(self.authority, load)
            }
            Workload::Echo(_) | Workload::Requests { .. } => {
                how.workload.dialogue(&endpoint, load, load.keepalive)
            }
            Workload::Contract(contract) => self
                .inspection(how)
                .dialogue(
                    *contract,
                    self.plain.clone()?,
                    self.fixture,
                    Wanted::of(load),
                )
                .map_err(|violation| violation.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Depth;
    use crate::requests::verify::{RequestFile, SendMode};
    use crate::requests::{Folder, ServerFacts};
    use crate::source::Source;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener};
    use std::path::Path;
    use std::sync::Arc;

    fn reached(address: SocketAddr, fixture: &Fixture, over: Option<Protocol>) -> Reached<'_> {
        Reached {
            target: Target::Tcp(address),
            plain: Ok(address),
            proxy: None,
            authority: "localhost",
            over,
            tls: None,
            fixture,
            as_given: None,
            expected_failures: None,
            parts: None,
        }
    }

    #[test]
    fn a_contract_is_verified_over_what_a_server_was_started_for() {
        let scratch = tempfile::tempdir().unwrap();
        let fixture = Fixture::set_up(Contract::Http, scratch.path()).unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let reached = |over| reached(address, &fixture, over);
        // Whoever checks it need not say so again.
        assert_eq!(reached(Some(Protocol::H2c)).way(None).over, Protocol::H2c);
        // Another program's server speaks what it is asked for.
        assert_eq!(reached(None).way(None).over, Protocol::Plain);
        let http2 = Some(HttpStreams {
            window: 65_535,
            http3: false,
        });
        assert_eq!(reached(None).way(http2).over, Protocol::H2c);
    }

    #[test]
    fn a_contract_is_verified_before_the_requests_of_a_file() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                std::thread::spawn(move || {
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
                    while let Ok(1..) = stream.read(&mut [0; 4096]) {
                        let _ = stream.write_all(answer);
                    }
                });
            }
        });
        let text = "[[request]]\nname = 'hi'\npath = '/'\nexpect.body = 'hi'\n";
        let (folder, server) = (Folder::Disk(Path::new("")), ServerFacts::anywhere());
        let source = Source::new("hi.toml", text);
        let asked = RequestFile::of(&source, folder, &server, vec![SendMode::Whole]).unwrap();
        let asked = Arc::new(asked);
        let verify = |contract| {
            let scratch = tempfile::tempdir().unwrap();
            let fixture = Fixture::set_up(contract, scratch.path()).unwrap();
            let workload = Workload::Requests {
                contract,
                asked: Arc::clone(&asked),
            };
            let how = VerifySpec {
                workload: &workload,
                http2: None,
                depth: Depth::Full,
                seed: 1,
            };
            reached(address, &fixture, None).verify(&how)
        };
        verify(Contract::Http).unwrap();
        let error = verify(Contract::Techempower).unwrap_err();
        assert!(error.starts_with("json (GET /json)"), "{error}");
    }
}
