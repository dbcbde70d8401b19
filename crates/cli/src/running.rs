//! A server that runs already, as the command line names it: where it listens, and how it is spoken to. One connection is
//! tried first, so that errors are reported before the load.

use crate::args::connect::Connect;
use crate::http2::ProtocolOptions;
use crate::proxy::{refused, tried};
use crate::remedy::words;
use crate::target::TargetUrl;
use crate::{http2, tls, ws};
use miette::{IntoDiagnostic, Result, miette};
use prony_engine::Target;
use prony_engine::protocol::proxy::Proxy;
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::protocol::ws::Upgrade;
use prony_lab::relay::Passage;
use prony_lab::side::{Role, Running, Side, What, variant};
use prony_lab::workload::Endpoint;
use prony_record::load::Protocol;
use prony_remote::Fleet;
use std::path::Path;
use std::time::Duration;

/// From where it is reached, and for how long it is waited for.
pub struct Reach<'a> {
    pub timeout: Duration,
    /// Other machines that load it; they alone may reach it.
    pub fleet: Option<&'a Fleet>,
    /// The unix socket on which it listens, where the URL has none.
    pub unix: Option<&'a Path>,
}

impl Reach<'_> {
    /// From this machine.
    pub fn from_here(timeout: Duration) -> Self {
        Self {
            timeout,
            fleet: None,
            unix: None,
        }
    }

    fn target(
        &self,
        address: &TargetUrl,
        options: &ProtocolOptions<'_>,
        udp: bool,
    ) -> Result<Target> {
        match (self.unix, self.fleet) {
            (Some(path), _) => crate::target::unix(path),
            (None, None) => address.resolve(options.connect, self.timeout),
            (None, Some(_)) if address.unix.is_some() => {
                Err(usage!("a unix socket is reached on its own machine only"))
            }
            (None, Some(fleet)) => {
                let route = options.connect.route(address);
                route.from(fleet, udp, self.timeout)
            }
        }
    }
}

/// How requests are sent to the server of a URL: the one at this place of the command line.
pub fn endpoint<'a>(
    place: usize,
    address: &'a TargetUrl,
    options: &ProtocolOptions<'_>,
    proxy: Option<&'a Proxy>,
) -> Endpoint<'a> {
    Endpoint {
        authority: &address.authority,
        tls: address.tls,
        http2: options.protocol.streams_with(place, address),
        proxy,
        routes: None,
    }
}

/// The proxy through which the server of a URL is reached; None: it is reached directly. `elsewhere`: other machines send
/// the load.
pub fn proxy(
    address: &TargetUrl,
    options: &ProtocolOptions<'_>,
    elsewhere: bool,
) -> Result<Option<Proxy>> {
    let Some(proxy) = options.connect.through()? else {
        return Ok(None);
    };
    let route = options.connect.route(address);
    let trust = (options.tls.authorities()?, options.tls.insecure);
    proxy.toward(address, &route, trust, elsewhere).map(Some)
}

/// The server of a URL, after one try. `upgrade` is the handshake of WebSocket where that is spoken.
pub fn server(
    (url, address): (&str, &TargetUrl),
    endpoint: &Endpoint<'_>,
    options: &ProtocolOptions<'_>,
    upgrade: Option<&Upgrade>,
    reach: &Reach<'_>,
) -> Result<Running> {
    let over = variant(endpoint.tls, endpoint.http2);
    let http3 = over == Protocol::H3;
    let secured = match address.tls {
        true => Some(options.tls.options(&address.host, over)?),
        false => None,
    };
    if http3 && reach.unix.is_some() {
        return Err(usage!(
            "HTTP/3 is spoken over UDP, which a unix socket does not have"
        ));
    }
    if let Some(proxy) = endpoint.proxy {
        // Refuses options about several addresses.
        options.connect.spread(url, address, reach, http3)?;
        return behind(proxy, (url, address), secured, options, upgrade, reach);
    }
    let spread = options.connect.spread(url, address, reach, http3)?;
    let target = match (&secured, reach.fleet) {
        (Some(secured), None) if http3 => address.resolve_udp(options.connect, |target| {
            http2::tried_http3(url, target, secured, reach.timeout)
        })?,
        _ => match spread.all.first() {
            Some(first) => Target::Tcp(*first),
            None => reach.target(address, options, http3)?,
        },
    };
    let passage = match (&target, options.connect.proxy_protocol) {
        (Target::Tcp(address), Some(version)) if reach.fleet.is_none() => {
            Some(Passage::to(*address, None, Some(version.0)).into_diagnostic()?)
        }
        _ => None,
    };
    let through = passage
        .as_ref()
        .map_or_else(|| target.clone(), Passage::target);
    match (&secured, upgrade, reach.fleet) {
        (_, Some(_), Some(_)) => {}
        (_, Some(upgrade), None) => {
            ws::tried(url, &through, secured.as_ref(), upgrade, reach.timeout)?;
        }
        // The agents' tries send no header.
        (Some(_), None, Some(_)) if options.connect.proxy_protocol.is_some() => {}
        (Some(secured), None, Some(fleet)) => fleet
            .probe(&target, secured, reach.timeout)
            .map_err(|(error, remedy)| match remedy {
                Some(remedy) => miette!(help = words(remedy), "{url}: {error}"),
                None => miette!("{url}: {error}"),
            })?,
        // Its address was found by trying.
        (Some(_), None, None) if http3 => {}
        (Some(secured), None, None) => tls::tried(url, &through, secured, reach.timeout)?,
        (None, None, None) if over.has_streams() => http2::tried(url, &through, reach.timeout)?,
        (None, None, _) => {}
    }
    Ok(Running {
        target,
        addresses: spread.all,
        name: spread.name,
        proxy: None,
        proxy_protocol: options.connect.proxy_protocol.map(|version| version.0),
        authority: address.authority.clone(),
        tls: secured.map(Box::new),
        process: None,
        as_given: None,
    })
}

/// The server of a URL behind a proxy, after one try.
fn behind(
    proxy: &Proxy,
    (url, address): (&str, &TargetUrl),
    secured: Option<TlsOptions>,
    options: &ProtocolOptions<'_>,
    upgrade: Option<&Upgrade>,
    reach: &Reach<'_>,
) -> Result<Running> {
    let direct = Connect::default();
    let there = options.connect.through()?.map(|it| it.as_server());
    let there = there.as_ref().unwrap_or(address);
    let target = match reach.fleet {
        None => there.resolve(&direct, reach.timeout),
        Some(fleet) => direct.route(there).from(fleet, false, reach.timeout),
    };
    let target = target.map_err(|error| {
        miette!(
            help = "is the proxy running, and on this port?",
            "--proxy: {error}"
        )
    })?;
    let running = Running {
        target: target.clone(),
        addresses: Vec::new(),
        name: None,
        proxy: Some(Box::new(proxy.clone())),
        proxy_protocol: None,
        authority: address.authority.clone(),
        tls: secured.map(Box::new),
        process: None,
        as_given: None,
    };
    if let Some(fleet) = reach.fleet {
        let tried = fleet.dial(&target, proxy, reach.timeout);
        tried.map_err(|(error, remedy)| refused(url, &error, remedy))?;
        return Ok(running);
    }
    tried(url, &target, proxy, reach.timeout)?;
    let passage = Passage::of(&running).into_diagnostic()?;
    let through = passage.as_ref().map_or(target, Passage::target);
    match (running.tls.as_deref(), upgrade) {
        (secured, Some(upgrade)) => ws::tried(url, &through, secured, upgrade, reach.timeout)?,
        (Some(secured), None) => tls::tried(url, &through, secured, reach.timeout)?,
        (None, None) if address.h2c => http2::tried(url, &through, reach.timeout)?,
        (None, None) => {}
    }
    Ok(running)
}

/// The server as a side.
pub fn side(url: &str, running: Running, endpoint: &Endpoint<'_>) -> Side {
    Side {
        name: url.to_owned(),
        what: What::Running(running),
        role: Role::Server,
        http2: endpoint.http2,
        key: None,
    }
}
