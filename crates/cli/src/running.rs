//! A server that runs already, as the command line names it: where it listens, and how it is spoken to. One connection is
//! tried first, so that errors are reported before the load.

use crate::http2::ProtocolOptions;
use crate::remedy::words;
use crate::target::TargetUrl;
use crate::{http2, tls, ws};
use miette::{Result, miette};
use prony_engine::Target;
use prony_engine::protocol::ws::Upgrade;
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
) -> Endpoint<'a> {
    Endpoint {
        authority: &address.authority,
        tls: address.tls,
        http2: options.protocol.streams_with(place, address),
        routes: None,
    }
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
    let target = match (&secured, reach.fleet) {
        (Some(secured), None) if http3 => address.resolve_udp(options.connect, |target| {
            http2::tried_http3(url, target, secured, reach.timeout)
        })?,
        _ => reach.target(address, options, http3)?,
    };
    match (&secured, upgrade, reach.fleet) {
        (_, Some(_), Some(_)) => {}
        (_, Some(upgrade), None) => {
            ws::tried(url, &target, secured.as_ref(), upgrade, reach.timeout)?;
        }
        (Some(secured), None, Some(fleet)) => fleet
            .probe(&target, secured, reach.timeout)
            .map_err(|(error, remedy)| match remedy {
                Some(remedy) => miette!(help = words(remedy), "{url}: {error}"),
                None => miette!("{url}: {error}"),
            })?,
        // Its address was found by trying.
        (Some(_), None, None) if http3 => {}
        (Some(secured), None, None) => tls::tried(url, &target, secured, reach.timeout)?,
        (None, None, None) if over.has_streams() => http2::tried(url, &target, reach.timeout)?,
        (None, None, _) => {}
    }
    Ok(Running {
        target,
        authority: address.authority.clone(),
        tls: secured.map(Box::new),
        process: None,
        as_given: None,
    })
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
