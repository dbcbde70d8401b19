//! All addresses of a server's name, where connections are spread over them.

use crate::args::connect::Connect;
use crate::connect::Route;
use crate::running::Reach;
use crate::target::TargetUrl;
use miette::{Result, miette};
use prony_record::load::Addresses;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

/// Addresses that a load is spread over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpreadTargets {
    /// The first that accepted a connection is the first; empty: there is one, as usual.
    pub all: Vec<SocketAddr>,
    /// Host and port to look up again; None: never.
    pub name: Option<(String, u16)>,
}

impl Connect {
    /// The addresses that the load of this URL is spread over, each tried once. At least one accepts a connection.
    pub fn spread(
        &self,
        url: &str,
        address: &TargetUrl,
        reach: &Reach<'_>,
        http3: bool,
    ) -> Result<SpreadTargets> {
        if self.spread_over() == Addresses::First {
            return match self.dns_refresh {
                None => Ok(SpreadTargets::default()),
                Some(_) => Err(usage!(
                    help = "add --addresses even",
                    "--dns-refresh looks the addresses up again that --addresses spreads a load over"
                )),
            };
        }
        let refused = match (address.unix.is_some() || reach.unix.is_some(), http3) {
            (true, _) => Some("a unix socket has none"),
            (_, true) => Some("connections over HTTP/3 go to one"),
            _ => self.proxy.is_some().then_some("a proxy connects to one"),
        };
        if let Some(why) = refused {
            return Err(usage!(
                "--addresses spreads connections over several addresses: {why}"
            ));
        }
        let route = self.route(address);
        let name = self.name(&route)?;
        let mut found = route.look_up()?;
        let mut known = Vec::new();
        found.retain(|it| {
            !known.contains(it) && {
                known.push(*it);
                true
            }
        });
        let tried: Vec<(SocketAddr, Result<(), String>)> = found
            .into_iter()
            .map(|it| (it, accepts(it, reach)))
            .collect();
        // Both of the two that localhost may have are tried, whatever the host's table says.
        let local = route.host.eq_ignore_ascii_case("localhost");
        let (up, down): (Vec<_>, Vec<_>) = tried.into_iter().partition(|(_, it)| it.is_ok());
        let down: Vec<(SocketAddr, String)> = down
            .into_iter()
            .filter_map(|(it, tried)| Some((it, tried.err()?)))
            .collect();
        if up.is_empty() {
            let (first, why) = down
                .first()
                .ok_or_else(|| miette!("{:?} has no address", route.host))?;
            return Err(miette!(
                help = "is the server running, and on this port?",
                "none of the {} addresses of {} accepts a connection; {first}: {why}",
                down.len(),
                route.host
            ));
        }
        for (it, why) in down.iter().filter(|_| !local) {
            eprintln!("{url}: {it} accepts no connection ({why}): the load tries it again");
        }
        let down = down.into_iter().filter(|_| !local).map(|(it, _)| it);
        let all: Vec<SocketAddr> = up.into_iter().map(|(it, _)| it).chain(down).collect();
        Ok(match (all.len(), &name) {
            (1, None) => SpreadTargets::default(),
            _ => SpreadTargets { all, name },
        })
    }

    /// How connections are spread.
    pub fn spread_over(&self) -> Addresses {
        self.addresses.unwrap_or_default().0
    }

    /// The name to look up again.
    fn name(&self, route: &Route) -> Result<Option<(String, u16)>> {
        if self.dns_refresh.is_none() {
            return Ok(None);
        }
        // Of localhost, which has both families here, a resolver may know one.
        let local = route.host.eq_ignore_ascii_case("localhost");
        match local || route.addresses.is_some() || route.host.parse::<IpAddr>().is_ok() {
            false => Ok(Some((route.host.clone(), route.port))),
            true => Err(usage!(
                "--dns-refresh looks a name up again, and the addresses of this URL stay"
            )),
        }
    }
}

/// Can it be connected to, from where the load comes?
fn accepts(address: SocketAddr, reach: &Reach<'_>) -> Result<(), String> {
    let timeout: Duration = reach.timeout;
    match reach.fleet {
        None => TcpStream::connect_timeout(&address, timeout)
            .map(drop)
            .map_err(|error| error.to_string()),
        Some(fleet) => fleet
            .connect((&address.ip().to_string(), address.port()), false, timeout)
            .map(drop),
    }
}
