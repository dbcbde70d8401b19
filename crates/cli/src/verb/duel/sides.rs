//! Sides of a duel, and the requests that they get.

use super::folders::{Worktree, folders, revisions, shell};
use super::images::images;
use super::names;
use crate::args::Limited;
use crate::args::around::Around;
use crate::args::shape::for_http1;
use crate::args::{Duel, Places};
use crate::http2::ProtocolOptions;
use crate::machines::Elsewhere;
use crate::running::{self, Reach};
use crate::target::{self, is_url};
use crate::workload::{Hint, WorkloadArgs};
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use prony_lab::builder::{BuildError, Builder, Built};
use prony_lab::catalog::{Catalog, Server};
use prony_lab::contract::Contract;
use prony_lab::duel::LoadSpec;
use prony_lab::grpc::Schema;
use prony_lab::host::Host;
use prony_lab::manifest::on_path;
use prony_lab::placement::Placement;
use prony_lab::side::{Role, Side, What};
use prony_lab::topology::Topology;
use prony_lab::workload::Workload;
use prony_record::load::Protocol;
use prony_record::{Failure, Load};
use prony_remote::RemoteHost;
use prony_verdict::design::Given;
use std::path::Path;
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
    let mut asked = WorkloadArgs::of(
        (args.contract, args.path.as_deref()),
        (&args.request, &args.called, &args.asked),
        (&args.messages, args.protocol.is_ws()),
    );
    let protocol_options = ProtocolOptions {
        tls: &args.tls,
        protocol: &args.protocol,
        messages: &args.messages,
        key: args.key.server_key,
        connect: &args.connect,
        calls: asked.calls(),
    };
    protocol_options.fit(&args.sides)?;
    args.around.fit(&args.sides)?;
    args.apart.limited.fit(&args.sides)?;
    if let Some(setup) = &args.setup {
        eprintln!("setting up: {setup}");
        shell(setup, Path::new(".")).wrap_err("--setup")?;
    }
    let catalog = places.catalog()?;
    let listed = args.run.is_none() && args.rev.is_empty() && args.image.is_empty();
    let hints: Vec<Hint> = match listed {
        true => (args.sides.iter())
            .map(|word| hint(word, &catalog))
            .collect::<Result<_>>()?,
        false => vec![Hint::None],
    };
    // Known before anything is built.
    asked.schema = reflected(&asked, &args.sides, &protocol_options)?;
    let workload = asked.workload(&hints)?;
    let mut worktrees = Vec::new();
    let mut sides = match &args.run {
        Some(line) => folders(args, line)?,
        None if !args.rev.is_empty() => revisions(args, &mut worktrees)?,
        None if !args.image.is_empty() => images(args)?,
        None => {
            let site = Site::of(places, elsewhere)?;
            let all = args.sides.iter().enumerate().map(|(place, word)| {
                side((place, word), &protocol_options, &workload, &catalog, &site)
            });
            all.collect::<Result<_>>()?
        }
    };
    if args.run.is_none() && args.rev.is_empty() {
        names::name(&[], &mut sides);
    }
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
    args.around.put(&mut sides)?;
    let given = Given {
        no_pause: args.no_pause,
        other_rates: args.cpu_rates,
        ..args.driven.given(args.rate)
    };
    let load = args.connect.begins(args.driven.load(&args.protocol))?;
    Ok(Chosen {
        spec: spec((load, given), &protocol_options, workload, &sides)?,
        sides,
        _worktrees: worktrees,
    })
}

/// How these sides are loaded, if they can be asked this.
fn spec(
    (load, given): (Load, Given),
    protocol_options: &ProtocolOptions<'_>,
    workload: Workload,
    sides: &[Side],
) -> Result<LoadSpec> {
    spoken(&workload, sides)?;
    on_own_ports(sides)?;
    Ok(LoadSpec {
        load: shaped(load, protocol_options, &workload, sides)?,
        workload,
        given,
    })
}

/// CPUs of these sides, of their services, and of the generator.
pub fn placement(sides: &[Side], workload: &Workload) -> Placement {
    let halves = Placement::split(&Topology::here());
    let needs = |side: &Side| match &side.what {
        What::Started { server, .. } => {
            !server.manifest.services.is_empty() || !workload.contract().services().is_empty()
        }
        What::Running(_) => false,
    };
    match sides.iter().any(needs) {
        true => halves.with_services(),
        false => halves,
    }
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
    pub asked: WorkloadArgs<'a>,
    pub protocol_options: ProtocolOptions<'a>,
    pub around: &'a Around,
    pub limited: &'a Limited,
    /// The load, but for what a pilot decides.
    pub load: Load,
    /// The options that the user has given.
    pub given: Given,
}

/// The server as the only side.
pub fn one(
    places: &Places,
    mut args: One<'_>,
    elsewhere: Option<&Elsewhere>,
) -> Result<(Side, LoadSpec)> {
    args.protocol_options.fit(&[args.server.to_owned()])?;
    args.around.fit(&[args.server.to_owned()])?;
    args.limited.fit(&[args.server.to_owned()])?;
    let catalog = places.catalog()?;
    let words = [args.server.to_owned()];
    args.asked.schema = reflected(&args.asked, &words, &args.protocol_options)?;
    let workload = args.asked.workload(&[hint(args.server, &catalog)?])?;
    let site = Site::of(places, elsewhere)?;
    let word = (0, args.server);
    let mut side = side(word, &args.protocol_options, &workload, &catalog, &site)?;
    side.name = names::alone(&side.name);
    args.around.put(std::slice::from_mut(&mut side))?;
    args.protocol_options.speak(std::slice::from_mut(&mut side));
    let sides = std::slice::from_ref(&side);
    let load = (args.load, args.given);
    let spec = spec(load, &args.protocol_options, workload, sides)?;
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
    let ends = load.requests_per_connection.is_some() || load.connection_lifetime.is_some();
    if sessions && (load.pipeline > 1 || !load.keepalive || ends) {
        return Err(usage!(
            "a session waits for each answer, and has a connection until it ends: sessions take no --pipeline, --streams, \
             --no-keepalive, --requests-per-connection and --connection-lifetime"
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
    let calls = matches!(workload, Workload::Call(_));
    let all = |holds: &dyn Fn(&Side) -> bool| sides.iter().all(holds);
    let http3 = all(&|side| side.over() == Protocol::H3);
    let http2 = !calls && all(&|side| side.over().is_http2());
    match (http2, all(&tls)) {
        _ if http3 => format!("{workload} over HTTP/3"),
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
        let plain = [Protocol::Plain];
        // A command line is not known by what it speaks.
        let speaks: &[Protocol] = match (workload, server.name.as_str()) {
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

/// Sides run at the same time: no two of them can have the same fixed port.
fn on_own_ports(sides: &[Side]) -> Result<()> {
    let port = |side: &Side| match &side.what {
        What::Started { server, .. } => server.manifest.port,
        What::Running(_) => None,
    };
    for (at, side) in sides.iter().enumerate() {
        let taken = |other: &&Side| port(other).is_some() && port(other) == port(side);
        if let (Some(other), Some(port)) = (sides[..at].iter().find(taken), port(side)) {
            return Err(usage!(
                help = "`prony run` starts one server at a time: name both in an experiment",
                "{} and {} both listen on port {port} alone, and a duel runs them at the same time",
                other.name,
                side.name
            ));
        }
    }
    Ok(())
}

/// Requests that suit a side, as far as its word shows.
fn hint(word: &str, catalog: &Catalog) -> Result<Hint> {
    if is_url(word) {
        return Ok(Hint::of_url(&target::parse(word)?));
    }
    let name = word.split_once('@').map_or(word, |(name, _)| name);
    Ok(match catalog.get(name) {
        Ok(server) => Hint::Contracts(server.manifest.contracts.clone()),
        Err(_) => Hint::None,
    })
}

/// Types of messages as the first server that runs already describes them, where they are needed.
fn reflected(
    asked: &WorkloadArgs<'_>,
    sides: &[String],
    options: &ProtocolOptions<'_>,
) -> Result<Option<Schema>> {
    let Some((place, word)) = sides.iter().enumerate().find(|(_, word)| is_url(word)) else {
        return Ok(None);
    };
    let address = target::parse(word)?;
    let proxy = running::proxy(&address, options, false)?;
    let endpoint = running::endpoint(place, &address, options, proxy.as_ref());
    let reach = Reach::from_here(PATIENCE);
    crate::grpc::reflected(asked, (word, &address), &endpoint, options, &reach)
}

fn side(
    (place, word): (usize, &str),
    protocol_options: &ProtocolOptions<'_>,
    workload: &Workload,
    catalog: &Catalog,
    site: &Site<'_>,
) -> Result<Side> {
    if is_url(word) {
        let address = target::parse(word)?;
        if address.unix.is_some() {
            return Err(usage!(
                "{word}: servers on unix sockets are loaded by `prony load` alone"
            ));
        }
        let proxy = running::proxy(&address, protocol_options, false)?;
        let endpoint = running::endpoint(place, &address, protocol_options, proxy.as_ref());
        let upgrade = crate::ws::upgrade(workload, &address.authority)?;
        let (url, reach) = ((word, &address), Reach::from_here(PATIENCE));
        let running = running::server(url, &endpoint, protocol_options, upgrade.as_ref(), &reach)?;
        if let Some(place) = address.place(protocol_options.connect, &running.target) {
            eprintln!("{word} is loaded {place}");
        }
        return Ok(running::side(word, running, &endpoint));
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
        return Side::of_command(word, word, &folder).map_err(|error| miette!("{error}"));
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
    Ok(Side {
        name: word.to_owned(),
        what: What::Started {
            server: Box::new(server.clone()),
            built: Box::new(built),
            workers,
        },
        role: Role::Server,
        http2: None,
        key: None,
    })
}
