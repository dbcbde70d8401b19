//! Where the connections to a URL go, and where they come from, by what the command line says of it.

use crate::args::connect::{Connect, ConnectTo, SourceArgs};
use crate::target::{TargetUrl, unix};
use miette::{Result, miette};
use prony_engine::{Target, check_sources};
use prony_lab::sources::Sources;
use prony_remote::Fleet;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

/// Where the connections to a URL go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The host as it is looked up, without brackets.
    pub host: String,
    pub port: u16,
    /// Addresses that `--resolve` gives; `None` if the host is looked up.
    pub addresses: Option<Vec<IpAddr>>,
}

impl Connect {
    /// Does the user say anything about it?
    pub fn is_given(&self) -> bool {
        !self.resolve.is_empty() || !self.connect_to.is_empty()
    }

    /// Where the connections to this address go. As in curl, the first `--connect-to` that fits counts, then the last
    /// `--resolve` that fits what it gives; one with a name goes before `*`.
    pub fn route(&self, address: &TargetUrl) -> Route {
        let (host, port) = match self.moved(address) {
            None => (None, None),
            Some(rule) => (rule.to.0.as_ref(), rule.to.1),
        };
        let host = host.unwrap_or(&address.host).clone();
        let port = port.unwrap_or(address.port);
        let named = |name: &Option<String>| {
            let name = name.as_ref();
            name.map(|name| name.eq_ignore_ascii_case(&host))
        };
        let rules = || self.resolve.iter().rev().filter(|rule| rule.port == port);
        let rule = rules()
            .find(|rule| named(&rule.host) == Some(true))
            .or_else(|| rules().find(|rule| rule.host.is_none()));
        Route {
            addresses: rule.map(|rule| rule.addresses.clone()),
            host,
            port,
        }
    }

    /// The rule that sends connections elsewhere.
    fn moved(&self, address: &TargetUrl) -> Option<&ConnectTo> {
        let fits = |(host, port): &(Option<String>, Option<u16>)| {
            let host = host.as_ref();
            host.is_none_or(|host| host.eq_ignore_ascii_case(&address.host))
                && port.is_none_or(|port| port == address.port)
        };
        self.connect_to.iter().find(|rule| fits(&rule.from))
    }

    /// Do the options fit any of these addresses? Those that fit none are most likely mistyped.
    pub fn fit(&self, addresses: &[TargetUrl]) -> Result<()> {
        let reached = || addresses.iter().filter(|address| address.unix.is_none());
        let option = match (self.connect_to.first(), self.resolve.first()) {
            (Some(rule), _) if reached().all(|it| self.moved(it).is_none()) => {
                format!("--connect-to {}", rule.text)
            }
            (_, Some(rule)) if reached().all(|it| self.route(it).addresses.is_none()) => {
                format!("--resolve {}", rule.text)
            }
            _ => return Ok(()),
        };
        let goes = |address: &TargetUrl| {
            let Route { host, port, .. } = self.route(address);
            format!("{host}:{port}")
        };
        let all: Vec<String> = reached().map(goes).collect();
        Err(match all.as_slice() {
            [] => usage!("{option}: there is no URL with a host and a port"),
            all => usage!(
                help = "80 is the port of http://, and 443 that of https://, unless the URL has another",
                "{option} fits no URL: connections go to {}",
                all.join(", ")
            ),
        })
    }
}

impl SourceArgs {
    /// The addresses that connections come from. With `client_host` they are those of other machines, each of which looks
    /// whether it has them.
    pub fn sources(&self, client_host: &[String]) -> Result<Sources> {
        let here = client_host.is_empty();
        let name = self
            .interface
            .iter()
            .find(|word| word.parse::<IpAddr>().is_err());
        if let (false, Some(name)) = (here, name) {
            return Err(usage!(
                help = "give addresses, which every machine of --client-host must have",
                "--interface: {name:?} is no IP address, and the interfaces of other machines are not known here"
            ));
        }
        let sources =
            Sources::parse(&self.interface).map_err(|why| usage!("--interface: {why}"))?;
        if here {
            check_sources(&sources.all()).map_err(|error| {
                miette!(
                    help = "`ip address` lists its addresses",
                    "--interface: {error}"
                )
            })?;
        }
        Ok(sources)
    }
}

impl Route {
    /// Looks the host up on the first of these machines, which also tries to connect; not over UDP, where nothing accepts.
    pub fn from(&self, fleet: &Fleet, udp: bool, timeout: Duration) -> Result<Target> {
        let hosts = match &self.addresses {
            None => vec![self.host.clone()],
            Some(addresses) => addresses.iter().map(IpAddr::to_string).collect(),
        };
        let mut first = None;
        for host in hosts {
            match fleet.connect((&host, self.port), udp, timeout) {
                Ok(address) => return Ok(Target::Tcp(address)),
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(miette!("{}", first.unwrap_or_default()))
    }
}

impl TargetUrl {
    /// Where connections go, if the URL does not say so: `at` the address, and of how many of the name's it is one, or
    /// `through` a proxy.
    pub fn place(&self, connect: &Connect, target: &Target) -> Option<String> {
        let route = connect.route(self);
        let named = route.host.parse::<IpAddr>().is_err() && route.host != "localhost";
        if let Some(proxy) = connect.through().ok().flatten() {
            return Some(format!("through {}", proxy.shown()));
        }
        if self.unix.is_some() || !(named || connect.is_given()) {
            return None;
        }
        let several = match route.look_up() {
            Ok(all) if all.len() > 1 && named => {
                format!(", one of {} addresses of {}", all.len(), route.host)
            }
            _ => String::new(),
        };
        Some(format!("at {target}{several}"))
    }

    /// Looks the name up once, unless `connect` has its addresses, and finds the first of them that `accepts`: over UDP
    /// there is nothing that accepts a connection before its protocol does.
    pub fn resolve_udp(
        &self,
        connect: &Connect,
        accepts: impl Fn(&Target) -> Result<()>,
    ) -> Result<Target> {
        let mut first = None;
        for address in connect.route(self).look_up()? {
            let target = Target::Tcp(address);
            match accepts(&target) {
                Ok(()) => return Ok(target),
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.unwrap_or_else(|| miette!("{:?} has no address", self.host)))
    }

    /// Looks the name up once, unless `connect` has its addresses, and finds the first of them that accepts a
    /// connection.
    pub fn resolve(&self, connect: &Connect, timeout: Duration) -> Result<Target> {
        if let Some(socket) = &self.unix {
            return unix(socket);
        }
        let route = connect.route(self);
        let (host, name) = (&route.host, format!("{}:{}", route.host, route.port));
        let mut first = None;
        for address in route.look_up()? {
            match TcpStream::connect_timeout(&address, timeout) {
                Ok(_) => return Ok(Target::Tcp(address)),
                Err(error) => first = first.or(Some((address, error))),
            }
        }
        Err(match first {
            Some((address, error)) => {
                let shown = if *host == address.ip().to_string() {
                    address.to_string()
                } else {
                    format!("{name} ({address})")
                };
                let help = match error.kind() {
                    ErrorKind::AddrNotAvailable => {
                        "no port is left to connect from: other connections to this server have them, or had them a moment ago"
                    }
                    _ => "is the server running, and on this port?",
                };
                miette!(help = help, "cannot connect to {shown}: {error}")
            }
            None => miette!("{host:?} has no address"),
        })
    }
}

/// The number of a zone: itself, or that of the interface of this name.
fn scope(zone: &str) -> Option<u32> {
    let of_interface = || {
        let plain = !zone.contains('/') && !zone.starts_with('.');
        let path = Path::new("/sys/class/net").join(zone).join("ifindex");
        let index = std::fs::read_to_string(path).ok().filter(|_| plain)?;
        index.trim().parse().ok()
    };
    zone.parse().ok().or_else(of_interface)
}

impl Route {
    /// Looks up the addresses of the host: at least one unless the name has none.
    pub fn look_up(&self) -> Result<Vec<SocketAddr>> {
        if let Some(addresses) = &self.addresses {
            let all = addresses.iter();
            return Ok(all.map(|&ip| SocketAddr::new(ip, self.port)).collect());
        }
        if let Some((address, zone)) = self.host.split_once('%') {
            let scope = scope(zone).ok_or_else(|| {
                miette!(
                    help = "`ip link` lists the interfaces of this machine",
                    "{:?}: there is no interface {zone:?}",
                    self.host
                )
            })?;
            let ip: Ipv6Addr = address
                .parse()
                .map_err(|_| miette!("{:?} is not an IPv6 address with a zone", self.host))?;
            return Ok(vec![SocketAddrV6::new(ip, self.port, 0, scope).into()]);
        }
        let mut addresses: Vec<_> = (self.host.as_str(), self.port)
            .to_socket_addrs()
            .map_err(|error| miette!("cannot look up {:?}: {error}", self.host))?
            .collect();
        if self.host.eq_ignore_ascii_case("localhost") {
            // Both, whatever the host's table says: a server may listen on one alone.
            for ip in [
                IpAddr::from(Ipv4Addr::LOCALHOST),
                Ipv6Addr::LOCALHOST.into(),
            ] {
                let address = SocketAddr::new(ip, self.port);
                if !addresses.contains(&address) {
                    addresses.push(address);
                }
            }
        }
        Ok(addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::parse;
    use clap::Parser;

    #[derive(Parser)]
    struct TestArgs {
        #[command(flatten)]
        connect: Connect,
    }

    fn connect(line: &str) -> Connect {
        let words = std::iter::once("it").chain(line.split_whitespace());
        let line = TestArgs::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
        line.connect
    }

    #[test]
    fn connections_go_where_the_rules_say() {
        let url = "https://Example.com/";
        for (line, expected) in [
            ("", "example.com:443"),
            ("--connect-to example.com:443:b:81", "b:81"),
            ("--connect-to ::b:", "b:443"),
            (
                "--connect-to example.com::: --connect-to ::b:1",
                "example.com:443",
            ),
            ("--connect-to a:443:b:81", "example.com:443"),
            ("--resolve EXAMPLE.com:443:1.2.3.4,::1", "1.2.3.4,::1:443"),
            ("--resolve example.com:80:1.2.3.4", "example.com:443"),
            (
                "--resolve example.com:443:1.2.3.4 --resolve *:443:5.6.7.8",
                "1.2.3.4:443",
            ),
            (
                "--resolve *:443:1.2.3.4 --resolve *:443:5.6.7.8",
                "5.6.7.8:443",
            ),
            ("--connect-to ::b:1 --resolve b:1:1.2.3.4", "1.2.3.4:1"),
            (
                "--connect-to ::b:1 --resolve example.com:443:1.2.3.4",
                "b:1",
            ),
        ] {
            let route = connect(line).route(&parse(url).unwrap());
            let texts = |all: &Vec<IpAddr>| {
                let all: Vec<String> = all.iter().map(IpAddr::to_string).collect();
                all.join(",")
            };
            let host = route.addresses.as_ref().map_or(route.host.clone(), texts);
            assert_eq!(format!("{host}:{}", route.port), expected, "{line}");
        }
    }

    #[test]
    fn rules_that_fit_nothing_are_told() {
        let urls = [parse("https://a/").unwrap(), parse("http://b:81/").unwrap()];
        for fits in [
            "",
            "--resolve b:81:1.2.3.4",
            "--resolve a:80:1.2.3.4 --resolve a:443:1.2.3.4",
            "--connect-to a:::1",
        ] {
            assert!(connect(fits).fit(&urls).is_ok(), "{fits}");
        }
        for (line, why) in [
            (
                "--resolve a:80:1.2.3.4",
                "fits no URL: connections go to a:443, b:81",
            ),
            ("--connect-to b:80:c:1", "--connect-to b:80:c:1 fits no URL"),
            (
                "--connect-to a:443:c:1 --resolve a:443:1.2.3.4",
                "connections go to c:1, b:81",
            ),
        ] {
            let error = connect(line).fit(&urls).unwrap_err().to_string();
            assert!(error.contains(why), "{line}: {error}");
        }
        let unix = [parse("unix:///run/app.sock").unwrap()];
        let error = connect("--connect-to ::b:1").fit(&unix).unwrap_err();
        assert!(error.to_string().contains("no URL with a host"), "{error}");
    }

    #[test]
    fn zones_are_interfaces_or_numbers() {
        let route = |host: &str| Route {
            host: host.into(),
            port: 80,
            addresses: None,
        };
        for zone in ["lo", "1"] {
            let found = route(&format!("fe80::1%{zone}")).look_up().unwrap();
            let [SocketAddr::V6(address)] = found.as_slice() else {
                panic!("{found:?}");
            };
            assert_eq!((address.scope_id(), address.port()), (1, 80));
        }
        let error = route("fe80::1%none0").look_up().unwrap_err();
        assert!(
            error.to_string().contains("no interface \"none0\""),
            "{error}"
        );
        assert!(route("fe80::1%../lo").look_up().is_err());
    }
}
