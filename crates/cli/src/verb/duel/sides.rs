//! Sides of a duel, and the requests that they get.

use super::calls::{call, calls};
use super::folders::{Worktree, folders, revisions, shell};
use super::images::images;
use super::names;
use crate::args::around::Around;
use crate::args::grpc::Called;
use crate::args::request::Request;
use crate::args::shape::for_http1;
use crate::args::{Duel, Places};
use crate::http2::ProtocolOptions;
use crate::machines::Elsewhere;
use crate::request::PAUSES;
use crate::target::{self, is_url};
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use prony_engine::Target;
use prony_lab::builder::{BuildError, Builder, Built};
use prony_lab::catalog::{Catalog, Server};
use prony_lab::contract::Contract;
use prony_lab::duel::LoadSpec;
use prony_lab::get::Get;
use prony_lab::host::Host;
use prony_lab::manifest::on_path;
use prony_lab::requests::Server as Asking;
use prony_lab::requests::verify::RequestFile;
use prony_lab::side::{Role, Running, Side, What, Workload};
use prony_lab::socket::Socket;
use prony_record::load::Over;
use prony_record::{Failure, Load};
use prony_remote::RemoteHost;
use prony_verdict::design::Given;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long a running server may take to accept a connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// The sides, how they are loaded, and what goes with them when it is over.
pub struct Chosen {
    pub sides: Vec<Side>,
    pub spec: LoadSpec,
    _worktrees: Vec<Worktree>,
}

/// Does prony start any side?
pub fn any_starts(args: &Duel) -> bool {
    args.run.is_some()
        || !args.rev.is_empty()
        || !args.image.is_empty()
        || !args.sides.iter().all(|word| is_url(word))
}

/// Refuses a duel of fewer than two sides, or with wrong names, before anything is built or any machine is reached.
pub fn check(args: &Duel) -> Result<()> {
    let named = match (args.rev.len(), args.image.len()) {
        (0, 0) => args.sides.len(),
        (revisions, images) => revisions + images,
    };
    if named + usize::from(args.self_check) < 2 {
        return Err(usage!(
            help = "prony duel './old --port {port}' './new --port {port}'",
            "a duel needs two sides"
        ));
    }
    names::check(args, named)
}

/// Where servers of the catalog are built.
enum Site<'a> {
    Here(Builder),
    There(&'a RemoteHost),
}

impl<'a> Site<'a> {
    fn of(places: &Places, elsewhere: Option<&'a Elsewhere>) -> Result<Self> {
        Ok(match elsewhere.and_then(Elsewhere::host) {
            Some(host) => Self::There(host),
            None => Self::Here(Builder::new(&places.cache()?)),
        })
    }

    fn build(&self, server: &Server) -> Result<Built, BuildError> {
        match self {
            Self::Here(builder) => builder.build(server),
            Self::There(host) => host.build(server),
        }
    }
}

pub fn choose(places: &Places, args: &Duel, elsewhere: Option<&Elsewhere>) -> Result<Chosen> {
    let there = elsewhere.and_then(Elsewhere::host).is_some();
    if there && (args.run.is_some() || !args.rev.is_empty() || !args.image.is_empty()) {
        return Err(usage!(
            help = "start prony on that machine, or give command lines that are there",
            "--run, --rev and --image are about folders and images of this machine, and the servers are to run elsewhere"
        ));
    }
    if there && args.sides.iter().any(|word| is_url(word)) {
        return Err(usage!(
            "URLs and servers that prony starts cannot be compared from other machines: start both, or neither"
        ));
    }
    if args.build.is_some() && args.rev.is_empty() && args.run.is_none() {
        return Err(usage!(
            help = "--rev REVISION for revisions of this repository, --run COMMAND for folders, --setup COMMAND once before everything",
            "--build builds revisions or folders, and there are none"
        ));
    }
    let protocol_options = ProtocolOptions {
        tls: &args.tls,
        protocol: &args.protocol,
        messages: &args.messages,
        key: args.key.server_key,
        connect: &args.connect,
        calls: calls(args.called.call.as_deref(), args.contract),
    };
    protocol_options.fit(&args.sides)?;
    args.around.fit(&args.sides)?;
    if let Some(setup) = &args.setup {
        eprintln!("setting up: {setup}");
        shell(setup, Path::new(".")).wrap_err("--setup")?;
    }
    let mut worktrees = Vec::new();
    let (mut sides, hints) = match &args.run {
        Some(line) => without_hints(folders(args, line)?),
        None if !args.rev.is_empty() => without_hints(revisions(args, &mut worktrees)?),
        None if !args.image.is_empty() => {
            let mut sides = images(args)?;
            names::name(&[], &mut sides);
            without_hints(sides)
        }
        None => {
            let catalog = places.catalog()?;
            let site = Site::of(places, elsewhere)?;
            let asked =
                args.path.is_some() || args.called.call.is_some() || args.request.is_given();
            if args.contract.is_none() && !asked && !args.protocol.is_ws() {
                let hints: Vec<Hint> = args
                    .sides
                    .iter()
                    .map(|word| known(word, &catalog))
                    .collect();
                in_common(&hints).transpose()?;
            }
            let all = args.sides.iter();
            let all = all.enumerate().map(|(place, word)| {
                side(
                    (place, word),
                    (&protocol_options, &args.request),
                    &catalog,
                    &site,
                )
            });
            let mut found: (Vec<Side>, Vec<Hint>) =
                all.collect::<Result<Vec<_>>>()?.into_iter().unzip();
            names::name(&[], &mut found.0);
            found
        }
    };
    if !args.name.is_empty() {
        names::name(&args.name, &mut sides);
    }
    if args.self_check {
        sides.extend(sides.first().map(|first| Side {
            name: format!("{} again", first.name),
            ..first.clone()
        }));
    }
    protocol_options.speak(&mut sides);
    number_doubles(&mut sides);
    // With the names that they have now.
    args.around.put(&mut sides);
    let workload = match &args.asked.file {
        _ if over_ws(&protocol_options, &hints) => {
            let path = args.path.as_deref();
            socket(
                &protocol_options,
                (args.contract, path),
                &args.request,
                &args.asked,
                &hints,
            )?
        }
        Some(file) => of_file(file, &args.asked, args.contract, &args.request, &hints)?,
        None => {
            let get = args.path.as_deref();
            workload(args.contract, get, &args.request, &args.called, &hints)?
        }
    };
    spoken(&workload, &sides)?;
    let load = args.driven.load(&args.protocol);
    Ok(Chosen {
        spec: LoadSpec {
            load: shaped(load, &protocol_options, &workload, &sides)?,
            workload,
            given: Given {
                no_pause: args.no_pause,
                other_rates: args.cpu_rates,
                ..args.driven.given(args.rate)
            },
        },
        sides,
        _worktrees: worktrees,
    })
}

fn without_hints(sides: Vec<Side>) -> (Vec<Side>, Vec<Hint>) {
    let hints = sides.iter().map(|_| Hint::None).collect();
    (sides, hints)
}

/// The same server may be there twice, to show how far it differs from itself: `it` and `it (2)`.
fn number_doubles(sides: &mut [Side]) {
    for at in 1..sides.len() {
        let (before, this) = sides.split_at_mut(at);
        let name = this[0].name.clone();
        let taken = |name: &str| before.iter().any(|side| side.name == name);
        let free = (2..)
            .map(|n| format!("{name} ({n})"))
            .find(|new| !taken(new));
        if let (true, Some(free)) = (taken(&name), free) {
            this[0].name = free;
        }
    }
}

/// A server that is measured by itself, and how it is loaded.
pub struct One<'a> {
    /// The server, as it was typed.
    pub server: &'a str,
    pub path: Option<&'a str>,
    pub contract: Option<Contract>,
    pub request: &'a Request,
    pub called: &'a Called,
    pub asked: &'a crate::args::request::RequestFileArgs,
    pub protocol_options: ProtocolOptions<'a>,
    pub around: &'a Around,
    /// The load, but for what a pilot decides.
    pub load: Load,
    /// The options that the user has given.
    pub given: Given,
}

/// The server as the only side.
pub fn one(
    places: &Places,
    args: One<'_>,
    elsewhere: Option<&Elsewhere>,
) -> Result<(Side, LoadSpec)> {
    args.protocol_options.fit(&[args.server.to_owned()])?;
    args.around.fit(&[args.server.to_owned()])?;
    let catalog = places.catalog()?;
    let site = Site::of(places, elsewhere)?;
    let (mut side, hint) = side(
        (0, args.server),
        (&args.protocol_options, args.request),
        &catalog,
        &site,
    )?;
    side.name = names::alone(&side.name);
    args.around.put(std::slice::from_mut(&mut side));
    args.protocol_options.speak(std::slice::from_mut(&mut side));
    let hints = [hint];
    let workload = match &args.asked.file {
        _ if over_ws(&args.protocol_options, &hints) => {
            let said = (args.contract, args.path);
            socket(
                &args.protocol_options,
                said,
                args.request,
                args.asked,
                &hints,
            )?
        }
        Some(file) => of_file(file, args.asked, args.contract, args.request, &hints)?,
        None => workload(args.contract, args.path, args.request, args.called, &hints)?,
    };
    spoken(&workload, std::slice::from_ref(&side))?;
    let spec = LoadSpec {
        load: shaped(
            args.load,
            &args.protocol_options,
            &workload,
            std::slice::from_ref(&side),
        )?,
        workload,
        given: args.given,
    };
    Ok((side, spec))
}

/// The load, if these sides can be asked this with it.
fn shaped(
    load: Load,
    protocol_options: &ProtocolOptions<'_>,
    workload: &Workload,
    sides: &[Side],
) -> Result<Load> {
    let http2 = sides.iter().any(|side| side.http2.is_some());
    if http2 && load.pipeline > 1 && protocol_options.protocol.streams.is_none() {
        return Err(for_http1());
    }
    let sessions = match workload {
        Workload::Requests { asked, .. } => !asked.mix.sessions.is_empty(),
        _ => false,
    };
    if sessions && (load.pipeline > 1 || !load.keepalive || load.requests_per_connection.is_some())
    {
        return Err(usage!(
            "a session waits for each answer, and has a connection until it ends: sessions take no --pipeline, --streams, \
             --no-keepalive and --requests-per-connection"
        ));
    }
    // Connections and threads are settled when the pilots are known.
    let alone = Load {
        threads: 1,
        ..load.clone()
    };
    alone.check().map_err(|invalid| usage!("--{invalid}"))?;
    protocol_options.messages(load, workload)
}

/// Describes the requests that all sides get, and how they are sent.
pub fn asked(workload: &Workload, sides: &[Side]) -> String {
    let tls = |side: &Side| matches!(side.what, What::Started { .. }) && side.over().is_tls();
    // Calls have no other way.
    let http2 =
        sides.iter().all(|side| side.http2.is_some()) && !matches!(workload, Workload::Call(_));
    match (http2, sides.iter().all(tls)) {
        (true, true) => format!("{workload} over HTTP/2 and TLS"),
        (true, false) => format!("{workload} over HTTP/2"),
        (false, true) => format!("{workload} over TLS"),
        (false, false) => workload.to_string(),
    }
}

/// Servers that prony starts are called without TLS.
fn plain_calls(sides: &[Side]) -> Result<()> {
    match sides.iter().find(|side| side.key.is_some()) {
        None => Ok(()),
        Some(side) => Err(usage!(
            help = "grpcs://HOST/METHOD calls a server that runs already over TLS",
            "{}: servers that prony starts are called by gRPC without TLS",
            side.name
        )),
    }
}

/// Can it be asked over what the sides speak?
fn spoken(workload: &Workload, sides: &[Side]) -> Result<()> {
    match workload {
        // Calls have no other way than HTTP/2.
        Workload::Call(_) | Workload::Contract(Contract::GrpcEcho) => return plain_calls(sides),
        _ => {}
    }
    for side in sides {
        let What::Started { server, .. } = &side.what else {
            continue;
        };
        let (over, contract) = (side.over(), workload.contract());
        let plain = [Over::Plain];
        // A command line is not known by what it speaks.
        let speaks: &[Over] = match (workload, server.name.as_str()) {
            (_, "command") if contract.is_http() => continue,
            (_, "command") => &plain,
            (Workload::Get(_), _) => &server.manifest.speaks,
            _ => server.manifest.speaks(contract),
        };
        if !speaks.contains(&over) {
            let all: Vec<&str> = speaks.iter().map(|over| over.word()).collect();
            return Err(usage!(
                help = "--protocol selects the protocol; `prony servers list` shows those of each server",
                "{} does not speak {} ({}): under {contract} it speaks {}",
                side.name,
                over,
                over.phrase(),
                all.join(", ")
            ));
        }
    }
    Ok(())
}

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

/// Hint of a side from the catalog, before anything is built.
fn known(word: &str, catalog: &Catalog) -> Hint {
    let name = word.split_once('@').map_or(word, |(name, _)| name);
    match catalog.get(name) {
        Ok(server) if !is_url(word) => Hint::Contracts(server.manifest.contracts.clone()),
        _ => Hint::None,
    }
}

fn side(
    (place, word): (usize, &str),
    (protocol_options, request): (&ProtocolOptions<'_>, &Request),
    catalog: &Catalog,
    site: &Site<'_>,
) -> Result<(Side, Hint)> {
    if is_url(word) {
        let address = target::parse(word)?;
        let over_tls = address.tls && !address.ws;
        let http2 = address.h2c
            || address.grpc
            || (over_tls && protocol_options.protocol.over(place) == Over::H2);
        let target = address.resolve(protocol_options.connect, PATIENCE)?;
        if let Target::Unix(_) = target {
            return Err(usage!(
                "{word}: servers on unix sockets are loaded by `prony load` alone"
            ));
        }
        if let Some(place) = address.place(protocol_options.connect, &target) {
            eprintln!("{word} is loaded at {place}");
        }
        let tls = match address.tls {
            true => {
                let options = protocol_options.tls.options(&address.host, http2)?;
                if !address.ws {
                    crate::tls::tried(word, &target, &options, PATIENCE)?;
                }
                Some(Box::new(options))
            }
            false if http2 => {
                crate::http2::tried(word, &target, PATIENCE)?;
                None
            }
            false => None,
        };
        if address.ws {
            let upgrade = crate::ws::upgrade(request, protocol_options.messages, &address)?;
            crate::ws::tried(word, &target, tls.as_deref(), &upgrade, PATIENCE)?;
        }
        let hint = match address.http {
            true if address.grpc => Hint::Call(address.path),
            true if address.ws => Hint::Socket(address.path),
            true => Hint::Path(address.path),
            false => Hint::Contracts(vec![Contract::TcpEcho]),
        };
        let side = Side {
            name: word.to_owned(),
            what: What::Running(Running {
                target,
                authority: address.authority,
                tls,
                process: None,
            }),
            role: Role::Server,
            http2: http2.then(|| protocol_options.protocol.settings()),
            key: None,
        };
        return Ok((side, hint));
    }
    let (name, workers) = match word.split_once('@') {
        Some((name, workers)) => (name, workers.parse::<u32>().ok()),
        None => (word, None),
    };
    let Ok(server) = catalog.get(name) else {
        // One word that is neither a server nor a program is most likely a mistyped name.
        if !word.contains(char::is_whitespace) && !word.contains('/') && !on_path(word) {
            catalog.get(name)?;
        }
        let folder = std::env::current_dir().into_diagnostic()?;
        let side = Side::of_command(word, word, &folder).map_err(|error| miette!("{error}"))?;
        return Ok((side, Hint::None));
    };
    let workers = workers.unwrap_or_else(|| server.manifest.default_workers());
    if !server.manifest.allows(workers) {
        return Err(usage!("{name} cannot have {workers} workers"));
    }
    eprintln!("building {name}");
    let built = site.build(server).map_err(|error| {
        let failure = Failure::from(error);
        match failure.output.as_str() {
            "" => miette!("{name}: {failure}"),
            output => miette!("{name}: {failure}\n{output}"),
        }
    })?;
    let side = Side {
        name: word.to_owned(),
        what: What::Started {
            server: Box::new(server.clone()),
            built: Box::new(built),
            workers,
        },
        role: Role::Server,
        http2: None,
        key: None,
    };
    Ok((side, Hint::Contracts(server.manifest.contracts.clone())))
}

/// Chooses the requests for all sides: those that the user gives, else the one contract that all sides keep.
/// Without such a contract, the path of a URL, else `/`.
fn workload(
    contract: Option<Contract>,
    path: Option<&str>,
    request: &Request,
    called: &Called,
    hints: &[Hint],
) -> Result<Workload> {
    if let Some(rpc) = call(contract, path, request, called, hints)? {
        return Ok(Workload::Call(Box::new(rpc)));
    }
    if let Some(contract) = contract {
        if request.is_given() {
            return Err(usage!(
                help = "leave out --contract, or say the path with --path",
                "a contract has its own requests: {contract} takes no method, header, body, name, compression or expectation"
            ));
        }
        if contract == Contract::Weather {
            return Err(usage!(
                "a gateway needs an upstream: use an experiment (`prony run weather`)"
            ));
        }
        return Ok(Workload::Contract(contract));
    }
    let echoes =
        |hint: &Hint| matches!(hint, Hint::Contracts(list) if *list == [Contract::TcpEcho]);
    let get = |path: &str| -> Result<Workload> {
        if hints.iter().any(echoes) {
            return Err(usage!(
                help = "tcp://HOST:PORT and servers of the contract tcp-echo are compared with one another",
                "a server that echoes bytes, over tcp-echo alone, cannot be asked for {path}"
            ));
        }
        Ok(Workload::Get(Get {
            method: request.method()?,
            path: path.to_owned(),
            headers: request.fields()?,
            body: request.content()?,
            compressed: request.encoding.compressed,
            expect: request.expect()?,
        }))
    };
    if let Some(path) = path {
        return get(path);
    }
    match in_common(hints) {
        Some(contract) if !request.is_given() => Ok(Workload::Contract(contract?)),
        _ => get(path_of(hints).unwrap_or("/")),
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

/// Is WebSocket spoken?
fn over_ws(protocol_options: &ProtocolOptions<'_>, hints: &[Hint]) -> bool {
    protocol_options.protocol.is_ws() || hints.iter().any(|hint| matches!(hint, Hint::Socket(_)))
}

/// Messages over WebSocket for all sides: the contract where all of them keep it and nothing is said of the handshake.
fn socket(
    protocol_options: &ProtocolOptions<'_>,
    (contract, path): (Option<Contract>, Option<&str>),
    request: &Request,
    asked: &crate::args::request::RequestFileArgs,
    hints: &[Hint],
) -> Result<Workload> {
    request.fits_handshake()?;
    if asked.file.is_some() {
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
    let protocols = &protocol_options.messages.subprotocols;
    let plain = path.is_none() && !request.is_given() && protocols.is_empty();
    let all_keep = hints.iter().all(|hint| matches!(hint, Hint::Contracts(_)));
    match contract {
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
    Ok(Workload::Socket(Socket {
        path: path.or_else(|| path_of(hints)).unwrap_or("/").to_owned(),
        headers: request.fields()?,
        protocols: protocols.clone(),
    }))
}

/// The requests of a file. A path in the URL stands before every one.
fn of_file(
    file: &Path,
    asked: &crate::args::request::RequestFileArgs,
    contract: Option<Contract>,
    request: &Request,
    hints: &[Hint],
) -> Result<Workload> {
    if request.is_described() {
        return Err(usage!(
            "--file has complete requests: leave out method, header, body and expectation"
        ));
    }
    let contract = match (contract, in_common(hints)) {
        (Some(contract), _) => contract,
        (None, Some(contract)) => contract?,
        (None, None) => Contract::Http,
    };
    if let Contract::TcpEcho | Contract::WsEcho = contract {
        return Err(usage!(
            "--file has HTTP requests, and a server of {contract} does not answer them"
        ));
    }
    let server = Asking {
        prefix: crate::request::prefix(path_of(hints).unwrap_or_default())?,
        ..Asking::anywhere()
    };
    let ways = crate::request::ways(asked.no_pipelining);
    let mut asked = RequestFile::read(file, &server, ways)?;
    request.settle(&mut asked.mix)?;
    if asked.paused {
        eprintln!("{PAUSES}");
    }
    Ok(Workload::Requests {
        contract,
        asked: Arc::new(asked),
    })
}
