//! Requests that servers are asked, from the command line: the same for every verb that loads servers.

use crate::args::grpc::{Called, GrpcArgs};
use crate::args::request::{RequestArgs, RequestFileArgs};
use crate::args::ws::Messages;
use crate::grpc::rpc;
use crate::request::{PAUSES, prefix, ways};
use crate::target::TargetUrl;
use miette::Result;
use prony_engine::protocol::mix::Shares;
use prony_lab::contract::Contract;
use prony_lab::get::Get;
use prony_lab::grpc::{Rpc, Schema};
use prony_lab::requests::ServerFacts;
use prony_lab::requests::verify::RequestFile;
use prony_lab::socket::Socket;
use prony_lab::workload::Workload;
use std::path::Path;
use std::sync::Arc;

/// Requests that suit a side, as far as the side alone shows.
pub enum Hint {
    /// One of these contracts.
    Contracts(Vec<Contract>),
    /// The path of its URL.
    Path(String),
    /// The gRPC method of its URL.
    Call(String),
    /// Messages over WebSocket at this path.
    Socket(String),
    /// Nothing.
    None,
}

impl Hint {
    /// The hint of a URL.
    pub fn of_url(address: &TargetUrl) -> Self {
        let path = address.path.clone();
        match address.http {
            true if address.grpc => Self::Call(path),
            true if address.ws => Self::Socket(path),
            true => Self::Path(path),
            false => Self::Contracts(vec![Contract::TcpEcho]),
        }
    }
}

/// Options of a verb about what is asked.
pub struct WorkloadArgs<'a> {
    pub contract: Option<Contract>,
    pub path: Option<&'a str>,
    pub request: &'a RequestArgs,
    pub messages: &'a Messages,
    /// WebSocket is spoken with servers that prony starts.
    pub over_ws: bool,
    /// The method that is called, where no URL has one.
    pub call: Option<&'a str>,
    pub message: Option<&'a str>,
    pub grpc: &'a GrpcArgs,
    /// Types of messages as a server has described them; None: --proto says them, or nothing does.
    pub schema: Option<Schema>,
    pub file: Option<&'a Path>,
    pub no_pipelining: bool,
}

impl<'a> WorkloadArgs<'a> {
    /// Options of a verb that compares servers, or starts them.
    pub fn of(
        (contract, path): (Option<Contract>, Option<&'a str>),
        (request, called, asked): (&'a RequestArgs, &'a Called, &'a RequestFileArgs),
        (messages, over_ws): (&'a Messages, bool),
    ) -> Self {
        Self {
            contract,
            path,
            request,
            messages,
            over_ws,
            call: called.call.as_deref(),
            message: called.message.as_deref(),
            grpc: &called.grpc,
            schema: None,
            file: asked.file.as_deref(),
            no_pipelining: asked.no_pipelining,
        }
    }

    /// Are servers that prony starts called by gRPC?
    pub fn calls(&self) -> bool {
        self.call.is_some() || self.contract == Some(Contract::GrpcEcho)
    }

    /// Chooses the requests for all sides: those that the user gives, else the one contract that all sides keep.
    /// Without such a contract, the path of a URL, else `/`.
    pub fn workload(&self, hints: &[Hint]) -> Result<Workload> {
        if self.over_ws || hints.iter().any(|hint| matches!(hint, Hint::Socket(_))) {
            return self.socket(hints);
        }
        if let Some(file) = self.file {
            return self.of_file(file, hints);
        }
        if let Some(rpc) = self.rpc(hints)? {
            return Ok(Workload::Call(Box::new(rpc)));
        }
        if let Some(contract) = self.contract {
            if self.request.is_given() {
                return Err(usage!(
                    help = "leave out --contract, or say the path with --path",
                    "a contract has its own requests: {contract} takes no method, header, body, name, compression, expectation or limit"
                ));
            }
            if contract == Contract::Weather {
                return Err(usage!(
                    "a gateway needs an upstream: use an experiment (`prony run weather`)"
                ));
            }
            return Ok(Workload::Contract(contract));
        }
        if let Some(path) = self.path {
            return self.get(path, hints);
        }
        match in_common(hints) {
            Some(contract) if !self.request.is_given() => Ok(Workload::Contract(contract?)),
            _ => self.get(path_of(hints).unwrap_or("/"), hints),
        }
    }

    fn get(&self, path: &str, hints: &[Hint]) -> Result<Workload> {
        let echoes =
            |hint: &Hint| matches!(hint, Hint::Contracts(list) if *list == [Contract::TcpEcho]);
        if hints.iter().any(echoes) {
            return Err(usage!(
                help = "tcp://HOST:PORT and servers of the contract tcp-echo are compared with one another",
                "a server that echoes bytes, over tcp-echo alone, cannot be asked for {path}"
            ));
        }
        self.request.fits_streams()?;
        Ok(Workload::Get(Get {
            method: self.request.method()?,
            path: path.to_owned(),
            headers: self.request.fields()?,
            body: self.request.content()?,
            compressed: self.request.encoding.compressed,
            expect: self.request.expect()?,
            limits: self.request.accepted(),
            stream: self.request.streams.stream(),
        }))
    }

    /// Refuses options of calls.
    fn call_unused(&self) -> Result<()> {
        match self.message {
            Some(_) => Err(usage!(
                help = crate::grpc::URL,
                "--message is for gRPC, and nothing is called"
            )),
            None => self.grpc.unused(),
        }
    }

    /// The call that all sides are asked for: what the user says, or the URLs; none where nothing is called.
    fn rpc(&self, hints: &[Hint]) -> Result<Option<Rpc>> {
        let mut methods = hints.iter().filter_map(|hint| match hint {
            Hint::Call(path) if path != "/" => Some(path.as_str()),
            _ => None,
        });
        let of_url = methods.next();
        let is_called = |hint: &Hint| matches!(hint, Hint::Call(_));
        let path = match (self.call, of_url) {
            (None, None) if !hints.iter().any(is_called) => {
                self.call_unused()?;
                return Ok(None);
            }
            // A server of a URL that says no method may keep the contract.
            (None, None) if self.contract == Some(Contract::GrpcEcho) => {
                self.call_unused()?;
                return Ok(None);
            }
            (None, None) => {
                return Err(usage!(
                    help = "grpc://HOST:PORT/package.Service/Method",
                    "the URL does not say which method is called"
                ));
            }
            (Some(path), _) | (None, Some(path)) => path,
        };
        let wanted = path.trim_start_matches('/');
        if let Some(other) = of_url
            .into_iter()
            .chain(methods)
            .find(|other| other.trim_start_matches('/') != wanted)
        {
            return Err(usage!(
                "all sides are asked for the same, and here two methods are called: {wanted} and {}",
                other.trim_start_matches('/')
            ));
        }
        if self.contract.is_some() || self.path.is_some() {
            return Err(usage!(
                help = "leave out --contract and --path, or the method",
                "--call cannot be used with --contract or --path"
            ));
        }
        let speaks_http = |hint: &Hint| matches!(hint, Hint::Path(_) | Hint::Socket(_));
        if hints.iter().any(speaks_http) {
            return Err(usage!(
                help = "grpc:// for all of them",
                "a call of gRPC cannot be compared with a request of HTTP or a message over WebSocket"
            ));
        }
        rpc(
            self.grpc,
            self.schema.as_ref(),
            self.message,
            self.request,
            path,
        )
        .map(Some)
    }

    /// Messages over WebSocket for all sides: the contract ws-echo where all of them keep it and no option changes the
    /// handshake.
    fn socket(&self, hints: &[Hint]) -> Result<Workload> {
        self.request.fits_handshake()?;
        if self.file.is_some() {
            return Err(usage!(
                "--file has HTTP requests: they are not sent over WebSocket"
            ));
        }
        let others = |hint: &&Hint| match hint {
            Hint::Contracts(list) => !list.contains(&Contract::WsEcho),
            Hint::Path(_) | Hint::Call(_) => true,
            Hint::Socket(_) | Hint::None => false,
        };
        if hints.iter().any(|hint| others(&hint)) {
            return Err(usage!(
                help = "ws://HOST/PATH for servers that run, --protocol ws for those that prony starts, servers of the catalog that keep ws-echo",
                "WebSocket is compared with WebSocket, and one side does not speak it"
            ));
        }
        let protocols = &self.messages.subprotocols;
        let plain = self.path.is_none() && !self.request.is_given() && protocols.is_empty();
        let all_keep = hints.iter().all(|hint| matches!(hint, Hint::Contracts(_)));
        match self.contract {
            Some(Contract::WsEcho) if plain => return Ok(Workload::Contract(Contract::WsEcho)),
            None if plain && all_keep => return Ok(Workload::Contract(Contract::WsEcho)),
            None => {}
            Some(contract) => {
                return Err(usage!(
                    help = "--contract ws-echo verifies WebSocket at /, without further header fields and subprotocols",
                    "{contract} is no contract for these messages over WebSocket"
                ));
            }
        }
        let path = self.path.or_else(|| path_of(hints)).unwrap_or("/");
        Ok(Workload::Socket(Socket {
            path: path.to_owned(),
            headers: self.request.fields()?,
            protocols: protocols.clone(),
            limits: self.request.limits.accepted(),
        }))
    }

    /// The requests of a file, to be compared. A path in the URL stands before every one.
    fn of_file(&self, file: &Path, hints: &[Hint]) -> Result<Workload> {
        if self.request.is_described() {
            return Err(usage!(
                "--file has complete requests: leave out method, header, body and expectation"
            ));
        }
        let contract = match (self.contract, in_common(hints)) {
            (Some(contract), _) => contract,
            (None, Some(contract)) => contract?,
            (None, None) => Contract::Http,
        };
        if let Contract::TcpEcho | Contract::WsEcho = contract {
            return Err(usage!(
                "--file has HTTP requests, and a server of {contract} does not answer them"
            ));
        }
        let server = self.server(path_of(hints).unwrap_or_default(), Shares::Exact)?;
        let asked = RequestFile::read(file, &server, ways(self.no_pipelining))?;
        let mut asked = asked.without_pauses();
        self.request.settle(&mut asked.mix)?;
        if asked.paused {
            eprintln!("{PAUSES}");
        }
        Ok(Workload::Requests {
            contract,
            asked: Arc::new(asked),
        })
    }

    /// Any server, as the requests of a file depend on it; `path` stands before every path of the file.
    pub fn server(&self, path: &str, shares: Shares) -> Result<ServerFacts> {
        Ok(ServerFacts {
            prefix: prefix(path)?,
            limits: self.request.accepted(),
            shares,
            ..ServerFacts::anywhere()
        })
    }
}

/// The one contract that all sides keep; none when some side is not known by its contracts.
fn in_common(hints: &[Hint]) -> Option<Result<Contract>> {
    let lists: Vec<&Vec<Contract>> = hints
        .iter()
        .filter_map(|hint| match hint {
            Hint::Contracts(list) => Some(list),
            _ => None,
        })
        .collect();
    if lists.len() != hints.len() {
        return None;
    }
    let keep = |contract: &&Contract| lists.iter().all(|list| list.contains(contract));
    Some(
        match Contract::ALL.iter().filter(keep).collect::<Vec<_>>()[..] {
            [only] => Ok(*only),
            [] => Err(usage!("these servers keep no contract in common")),
            ref several => Err(usage!(
                help = "say which with --contract",
                "these servers keep several contracts: {}",
                several
                    .iter()
                    .map(|c| c.name())
                    .collect::<Vec<_>>()
                    .join(", ")
            )),
        },
    )
}

/// The path of the first URL.
fn path_of(hints: &[Hint]) -> Option<&str> {
    hints.iter().find_map(|hint| match hint {
        Hint::Path(path) | Hint::Socket(path) => Some(path.as_str()),
        _ => None,
    })
}
