//! Where to: URLs as these tools read them, and host names.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// A URL in its parts, exactly as they were written: nothing is decoded, added or put in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Url {
    /// The host, without the brackets of an IPv6 address.
    pub host: String,
    /// The port, if there is one.
    pub port: Option<u16>,
    /// Path and query; empty when there is none.
    pub target: String,
}

/// Why a URL cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadUrl {
    /// The URL wants TLS.
    Tls,
    /// The URL has no host, or a port that is no port.
    Malformed,
}

impl Url {
    /// `[http://]host[:port][/path]`.
    pub(crate) fn parse(text: &str) -> Result<Self, BadUrl> {
        if text.starts_with("https://") {
            return Err(BadUrl::Tls);
        }
        let rest = text.strip_prefix("http://").unwrap_or(text);
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        let (host, port) = split_port(authority).ok_or(BadUrl::Malformed)?;
        // Bytes that would end the request line is invalid.
        let clean = |text: &str| !text.bytes().any(|b| b <= b' ' || b == 0x7f);
        if host.is_empty() || !clean(host) || !clean(target) {
            return Err(BadUrl::Malformed);
        }
        Ok(Self {
            host: host.to_owned(),
            port,
            target: target.to_owned(),
        })
    }

    /// `host`, and `:port` unless it is `default`, the scheme's.
    pub(crate) fn authority(&self, default: u16) -> String {
        authority(&self.host, self.port.unwrap_or(default), default)
    }
}

/// `host`, and `:port` unless it is `default`.
pub(crate) fn authority(host: &str, port: u16, default: u16) -> String {
    let host = match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    };
    match port == default {
        true => host,
        false => format!("{host}:{port}"),
    }
}

/// The port of a scheme: that of `https`, or that of `http`.
pub(crate) fn default_port(secure: bool) -> u16 {
    if secure { 443 } else { 80 }
}

/// `host`, `host:port`, `[v6]` or `[v6]:port`, with a port from 1 to 65535.
pub(crate) fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            match rest.strip_prefix(':') {
                None if !rest.is_empty() => return None,
                port => (host, port),
            }
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    match port {
        None => Some((host, None)),
        Some(port) => match port.parse() {
            Ok(0) | Err(_) => None,
            Ok(port) => Some((host, Some(port))),
        },
    }
}

/// Kinds of addresses that may be used for a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// Any: the first that accepts a connection.
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

/// Looks a host up once. Where there is a choice between addresses, it falls on the first that
/// accepts a connection; otherwise none is made unless `knock` asks for it.
///
/// # Errors
/// When the name has no address of that kind, or no server accepts. An error that has an OS number
/// came from connecting; others from looking up.
pub(crate) fn resolve(
    host: &str,
    port: u16,
    family: Family,
    knock: bool,
    timeout: Duration,
) -> io::Result<SocketAddr> {
    let addresses = addresses(host, port, family)?;
    if let [only] = addresses[..]
        && !knock
    {
        return Ok(only);
    }
    let mut refused = io::Error::other("it has no such address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(_) => return Ok(address),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// Looks a host up, and gives its addresses in the system's order.
///
/// # Errors
/// When the name cannot be looked up.
pub(crate) fn addresses(host: &str, port: u16, family: Family) -> io::Result<Vec<SocketAddr>> {
    let wanted = |address: &SocketAddr| match family {
        Family::Any => true,
        Family::V4 => address.is_ipv4(),
        Family::V6 => address.is_ipv6(),
    };
    let mut addresses: Vec<_> = (host, port).to_socket_addrs()?.filter(wanted).collect();
    addresses.dedup();
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(host: &str, port: Option<u16>, target: &str) -> Url {
        Url {
            host: host.into(),
            port,
            target: target.into(),
        }
    }

    #[test]
    fn urls_keep_every_byte() {
        for (text, expected) in [
            ("http://h:81/a%2Fb?c=d", url("h", Some(81), "/a%2Fb?c=d")),
            ("h/", url("h", None, "/")),
            ("h", url("h", None, "")),
            ("http://[::1]:8080/x", url("::1", Some(8080), "/x")),
            ("http://[::1]", url("::1", None, "")),
        ] {
            assert_eq!(Url::parse(text), Ok(expected), "{text}");
        }
        assert_eq!(Url::parse("https://h/"), Err(BadUrl::Tls));
        for text in [
            "",
            "http://",
            "http://:80/",
            "h:x/",
            "h:0/",
            "h:99999/",
            "[::1/",
            "[::1]x/",
            "h/a b",
        ] {
            assert_eq!(Url::parse(text), Err(BadUrl::Malformed), "{text}");
        }
    }

    #[test]
    fn the_authority_names_every_port_but_the_schemes() {
        for (url, default, shown) in [
            ("h:80/", 80, "h"),
            ("h:81/", 80, "h:81"),
            ("[::1]:81/", 80, "[::1]:81"),
            ("h/", 443, "h"),
            ("h:80/", 443, "h:80"),
            ("h:443/", 443, "h"),
        ] {
            assert_eq!(Url::parse(url).unwrap().authority(default), shown, "{url}");
        }
    }

    #[test]
    fn a_family_narrows_the_choice() {
        let find = |family| resolve("127.0.0.1", 1, family, false, Duration::from_secs(1));
        assert!(find(Family::Any).is_ok() && find(Family::V4).is_ok());
        assert!(find(Family::V6).is_err());
    }
}
