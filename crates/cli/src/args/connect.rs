//! Where connections go, when it is not where the URL says, and where they come from.

use super::one_of;
use super::timed::length;
use clap::Args;
use prony_record::Span;
use prony_record::load::{Addresses, ProxyProtocol};
use std::convert::Infallible;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use url::Host;

/// Where connections go; requests, SNI and certificates keep the name in the URL.
#[derive(Debug, Clone, Default, Args)]
pub struct Connect {
    /// Use these addresses for HOST:PORT, as in curl
    ///
    /// For URLs with this host (`*`: any) and this port, instead of looking HOST up. May be
    /// repeated.
    #[arg(long, value_name = "HOST:PORT:ADDR[,ADDR…]", value_parser = resolve, help_heading = "Connections")]
    pub resolve: Vec<Resolve>,
    /// Connect to HOST2:PORT2 instead of HOST1:PORT1, as in curl
    ///
    /// An empty HOST1 or PORT1 fits any; an empty HOST2 or PORT2 is the URL's. May be repeated.
    #[arg(long, value_name = "HOST1:PORT1:HOST2:PORT2", value_parser = connect_to, help_heading = "Connections")]
    pub connect_to: Vec<ConnectTo>,
    /// Addresses of a name to connect to [default: first]
    ///
    /// first: the first that accepts. even: all (A and AAAA, or of --resolve), with the same number of
    /// connections each. per-thread: one for each thread in turn. docs/addresses.md
    #[arg(long, value_name = "WHICH", value_parser = one_of::<AddressChoice>(["first", "even", "per-thread"]), help_heading = "Connections")]
    pub addresses: Option<AddressChoice>,
    /// Look the addresses up again so often
    ///
    /// With --addresses even or per-thread. Connections move to new addresses, each between two
    /// requests.
    #[arg(long, value_name = "TIME", value_parser = length, help_heading = "Connections")]
    pub dns_refresh: Option<Span>,
    /// Connect through this proxy
    ///
    /// http://HOST:PORT or https://HOST:PORT (TLS to the proxy), socks5:// (prony looks the name up) or
    /// socks5h:// (the proxy does); USER:PASSWORD@ before HOST is never stored or printed. prony does
    /// not read the variables http_proxy and https_proxy. docs/proxies.md
    #[arg(short = 'x', long, value_name = "URL", value_parser = proxy_url, help_heading = "Connections")]
    pub proxy: Option<ProxyUrl>,
    /// Send a PROXY protocol header: v1 or v2
    ///
    /// A balancer begins each connection with it; it has the connection's source and destination.
    #[arg(long, value_name = "VERSION", value_parser = one_of::<ProxyVersion>(["v1", "v2"]), conflicts_with = "proxy", help_heading = "Connections")]
    pub proxy_protocol: Option<ProxyVersion>,
}

/// Addresses of a name that connections go to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AddressChoice(pub Addresses);

impl FromStr for AddressChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let choice = Addresses::of_word(text).map(Self);
        choice.ok_or_else(|| format!("{text:?}: there are first, even and per-thread"))
    }
}

/// URL of a proxy, as it was typed: it may have a password.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyUrl(pub String);

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProxyUrl(…)")
    }
}

/// The value is looked at later: an error of the command line would show it with its password.
fn proxy_url(text: &str) -> Result<ProxyUrl, Infallible> {
    Ok(ProxyUrl(text.to_owned()))
}

/// Version of the PROXY protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyVersion(pub ProxyProtocol);

impl FromStr for ProxyVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let version = ProxyProtocol::of_word(text).map(Self);
        version.ok_or_else(|| format!("{text:?} is no version: there are v1 and v2"))
    }
}

/// Where connections come from.
#[derive(Debug, Clone, Default, Args)]
pub struct SourceArgs {
    /// Connect from these addresses or interfaces, round-robin
    ///
    /// Each address allows about 28,000 connections to one server.
    #[arg(
        long,
        value_name = "ADDR|NAME,…",
        value_delimiter = ',',
        help_heading = "Connections"
    )]
    pub interface: Vec<String>,
}

/// Addresses that are not looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolve {
    /// Host that the addresses belong to; `None`: any host.
    pub host: Option<String>,
    pub port: u16,
    /// At least one.
    pub addresses: Vec<IpAddr>,
    /// The option's value, as it was typed.
    pub text: String,
}

/// Another host, or another port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectTo {
    /// In whose place; none: any.
    pub from: (Option<String>, Option<u16>),
    /// None: that of the URL.
    pub to: (Option<String>, Option<u16>),
    /// The option's value, as it was typed.
    pub text: String,
}

fn resolve(text: &str) -> Result<Resolve, String> {
    let expected = || "expected HOST:PORT:ADDR[,ADDR…], such as example.com:443:127.0.0.1";
    let (name, rest) = host_of(text).ok_or_else(expected)?;
    let (port, addresses) = rest.split_once(':').ok_or_else(expected)?;
    let port = port_of(port)?.ok_or("there is no port")?;
    let host = match name {
        "*" => None,
        name => Some(named(name)?.ok_or("there is no host: * stands for any")?),
    };
    let addresses = addresses
        .split(',')
        .map(address)
        .collect::<Result<_, _>>()?;
    Ok(Resolve {
        host,
        port,
        addresses,
        text: text.to_owned(),
    })
}

fn connect_to(text: &str) -> Result<ConnectTo, String> {
    let expected = || "expected HOST1:PORT1:HOST2:PORT2, such as example.com:443:localhost:8443";
    let (from, rest) = host_of(text).ok_or_else(expected)?;
    let (from_port, rest) = rest.split_once(':').ok_or_else(expected)?;
    // As in curl, the last field may be left out with its colon.
    let (to, to_port) = host_of(rest).unwrap_or((rest, ""));
    Ok(ConnectTo {
        from: (named(from)?, port_of(from_port)?),
        to: (named(to)?, port_of(to_port)?),
        text: text.to_owned(),
    })
}

/// The host before the first colon outside brackets, with them, and what comes after that.
fn host_of(text: &str) -> Option<(&str, &str)> {
    let end = match text.starts_with('[') {
        true => text.find(']')? + 1,
        false => text.find(':')?,
    };
    Some((&text[..end], text[end..].strip_prefix(':')?))
}

/// A host as URLs have it: in small letters, and without brackets; none: it is empty.
fn named(text: &str) -> Result<Option<String>, String> {
    match text {
        "" => Ok(None),
        text => match Host::parse(text) {
            Ok(Host::Ipv6(ip)) => Ok(Some(ip.to_string())),
            Ok(host) => Ok(Some(host.to_string())),
            Err(error) => Err(format!("{text:?} is not a host: {error}")),
        },
    }
}

fn port_of(text: &str) -> Result<Option<u16>, String> {
    match text.parse() {
        _ if text.is_empty() => Ok(None),
        Ok(port @ 1..) => Ok(Some(port)),
        _ => Err(format!("{text:?} is not a port")),
    }
}

/// An IP address; one of version 6 may have brackets.
fn address(text: &str) -> Result<IpAddr, String> {
    let inside = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let ip = inside.unwrap_or(text).parse::<IpAddr>();
    ip.map_err(|_| format!("{text:?} is not an IP address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_place_of_a_name() {
        let it = resolve("Example.com:443:127.0.0.1,[::1]").unwrap();
        assert_eq!(it.host.as_deref(), Some("example.com"));
        assert_eq!(it.port, 443);
        let both: Vec<IpAddr> = vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()];
        assert_eq!(it.addresses, both);
        assert_eq!(resolve("*:80:::1").unwrap().host, None);
        let six = resolve("[2001:DB8::1]:80:::1").unwrap();
        assert_eq!(six.host.as_deref(), Some("2001:db8::1"));
        for (wrong, why) in [
            ("a", "expected HOST:PORT:ADDR"),
            ("a:80", "expected HOST:PORT:ADDR"),
            ("a::1.2.3.4", "no port"),
            ("a:0:1.2.3.4", "not a port"),
            (":80:1.2.3.4", "no host"),
            ("a:80:", "not an IP address"),
            ("a:80:b", "not an IP address"),
            ("a:80:1.2.3.4,", "not an IP address"),
            ("a b:80:1.2.3.4", "not a host"),
        ] {
            let error = resolve(wrong).unwrap_err();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }

    #[test]
    fn another_host_or_port() {
        let it = |text| connect_to(text).map(|it| (it.from, it.to));
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            it("a:80:b:81"),
            Ok(((some("a"), Some(80)), (some("b"), Some(81))))
        );
        assert_eq!(it("::b:"), Ok(((None, None), (some("b"), None))));
        assert_eq!(it("::b"), Ok(((None, None), (some("b"), None))));
        assert_eq!(it("a:80::"), Ok(((some("a"), Some(80)), (None, None))));
        assert_eq!(
            it("[::1]:80:[::2]:81"),
            Ok(((some("::1"), Some(80)), (some("::2"), Some(81))))
        );
        for wrong in ["a", "a:b", "a:x:b:1", "a:1:b:99999", "[::1:80:b:1"] {
            assert!(it(wrong).is_err(), "{wrong}");
        }
    }
}
