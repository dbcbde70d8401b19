//! Proxies between prony and a server, as the command line names them.

use crate::args::connect::{Connect, ProxyUrl};
use crate::connect::Route;
use crate::remedy::words;
use crate::target::TargetUrl;
use miette::{Report, Result, miette};
use percent_encoding::percent_decode_str;
use prony_engine::protocol::proxy::{Credentials, DialError, Proxy, ProxyWay, dial};
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::{Plan, Remedy, Target};
use prony_record::Load;
use prony_record::load::Protocol;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;
use url::{Host, Url};

/// The longest name, user or password over SOCKS5, in bytes.
const MOST: usize = 255;
const HELP: &str = "--proxy http://HOST:PORT, https://HOST:PORT, socks5://HOST:PORT or socks5h://HOST:PORT, \
    with USER:PASSWORD@ before HOST if the proxy wants it";

/// Protocol spoken with a proxy, by the scheme of its URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
    /// Looks up the server's name on this machine.
    Socks5,
    /// Has the proxy look it up.
    Socks5h,
}

/// A proxy taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyAddress {
    scheme: Scheme,
    /// Without brackets.
    host: String,
    port: u16,
    credentials: Option<Credentials>,
}

impl ProxyUrl {
    /// The text with asterisks in the place of user and password; None: it has neither.
    pub fn without_login(&self) -> Option<String> {
        let (scheme, rest) = match self.0.split_once("://") {
            Some((scheme, rest)) => (format!("{scheme}://"), rest),
            None => (String::new(), self.0.as_str()),
        };
        let (_, host) = rest.rsplit_once('@')?;
        Some(format!("{scheme}***@{host}"))
    }

    /// Takes it apart. No error shows its user and password.
    fn parse(&self) -> Result<ProxyAddress> {
        let text = match self.0.contains("://") {
            true => self.0.clone(),
            false => format!("http://{}", self.0),
        };
        let wrong = |why: &str| usage!(help = HELP, "--proxy: {why}");
        let url = Url::parse(&text).map_err(|error| wrong(&error.to_string()))?;
        let (scheme, usual) = match url.scheme() {
            "http" => (Scheme::Http, 80),
            "https" => (Scheme::Https, 443),
            "socks5" => (Scheme::Socks5, 1080),
            "socks5h" => (Scheme::Socks5h, 1080),
            other => return Err(wrong(&format!("there is no proxy of the kind {other}://"))),
        };
        // The host of a scheme that is not of the web is not parsed as one.
        let host = match url.host_str().map(Host::parse) {
            Some(Ok(Host::Ipv6(ip))) => ip.to_string(),
            Some(Ok(host)) if !host.to_string().is_empty() => host.to_string(),
            _ => return Err(wrong("it has no host")),
        };
        if !matches!(url.path(), "" | "/") || url.query().is_some() {
            return Err(wrong("a proxy has no path"));
        }
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let (user, password) = (
            decoded(url.username()),
            decoded(url.password().unwrap_or_default()),
        );
        let credentials =
            (!user.is_empty() || !password.is_empty()).then_some(Credentials { user, password });
        if let Some(Credentials { user, password }) = &credentials {
            let socks = matches!(scheme, Scheme::Socks5 | Scheme::Socks5h);
            let fits = |text: &str| (1..=MOST).contains(&text.len());
            if socks && !(fits(user) && fits(password)) {
                return Err(wrong(
                    "over SOCKS5, user and password have 1 to 255 bytes each",
                ));
            }
            if user.contains(':')
                || [user, password]
                    .iter()
                    .any(|it| it.chars().any(char::is_control))
            {
                return Err(wrong(
                    "a user has no colon, and neither has a control character",
                ));
            }
        }
        Ok(ProxyAddress {
            scheme,
            host,
            port: url.port().unwrap_or(usual),
            credentials,
        })
    }
}

impl ProxyAddress {
    /// `HOST:PORT`.
    fn name(&self) -> String {
        match self.host.parse::<IpAddr>() {
            Ok(IpAddr::V6(ip)) => format!("[{ip}]:{}", self.port),
            _ => format!("{}:{}", self.host, self.port),
        }
    }

    /// URL without user and password.
    pub fn shown(&self) -> String {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
            Scheme::Socks5 => "socks5",
            Scheme::Socks5h => "socks5h",
        };
        format!("{scheme}://{}", self.name())
    }

    /// The proxy as a server that connections go to.
    pub fn as_server(&self) -> TargetUrl {
        TargetUrl {
            http: true,
            tls: false,
            h2c: false,
            grpc: false,
            ws: false,
            unix: None,
            host: self.host.clone(),
            port: self.port,
            authority: self.name(),
            path: "/".into(),
        }
    }

    /// How it is asked for this server, which is looked up at `route`. `elsewhere`: other machines send the load.
    pub fn toward(
        &self,
        address: &TargetUrl,
        route: &Route,
        (ca, insecure): (Option<String>, bool),
        elsewhere: bool,
    ) -> Result<Proxy> {
        let moved = route.addresses.is_some()
            || (route.host.as_str(), route.port) != (address.host.as_str(), address.port);
        let plain =
            address.http && !(address.tls || address.h2c || address.grpc || address.ws || moved);
        let socks = matches!(self.scheme, Scheme::Socks5 | Scheme::Socks5h);
        let named = route.host.parse::<IpAddr>().is_err();
        let host = match (&route.addresses, self.scheme) {
            (Some(addresses), _) => addresses[0].to_string(),
            (None, Scheme::Socks5) if named && elsewhere => {
                return Err(usage!(
                    help = "socks5h:// has the proxy look it up",
                    "--proxy socks5:// looks {} up on this machine, and others send the load",
                    route.host
                ));
            }
            (None, Scheme::Socks5) => match route.look_up()?.first() {
                Some(address) => address.ip().to_string(),
                None => return Err(miette!("{:?} has no address", route.host)),
            },
            (None, _) => route.host.clone(),
        };
        if socks && host.len() > MOST {
            return Err(usage!("over SOCKS5 a host has at most 255 characters"));
        }
        Ok(Proxy {
            name: self.name(),
            way: match (socks, plain) {
                (true, _) => ProxyWay::Socks5,
                (false, true) => ProxyWay::Forward,
                (false, false) => ProxyWay::Connect,
            },
            host,
            port: route.port,
            credentials: self.credentials.clone(),
            tls: (self.scheme == Scheme::Https).then(|| TlsOptions {
                server_name: self.host.clone(),
                ca,
                insecure,
                alpn: vec![Protocol::Tls.alpn().to_owned()],
                ..TlsOptions::default()
            }),
        })
    }
}

impl Connect {
    /// The proxy, if the user names one.
    pub fn through(&self) -> Result<Option<ProxyAddress>> {
        self.proxy.as_ref().map(ProxyUrl::parse).transpose()
    }

    /// Is TLS spoken with the proxy?
    pub fn secure_proxy(&self) -> Result<bool> {
        let proxy = self.through()?;
        Ok(proxy.is_some_and(|proxy| proxy.scheme == Scheme::Https))
    }

    /// The load with what its connections begin with.
    pub fn begins(&self, load: Load) -> Result<Load> {
        Ok(Load {
            proxy: self.through()?.map(|proxy| proxy.shown()),
            proxy_protocol: self.proxy_protocol.map(|version| version.0),
            addresses: self.spread_over(),
            dns_refresh: self.dns_refresh,
            ..load
        })
    }

    /// Are a proxy, the header of a balancer and several addresses given, if at all, where they are used? `sides` are the numbers of servers
    /// that prony starts, of URLs on unix sockets, and of URLs over HTTP/3.
    pub fn begin_where_used(&self, (started, unix, http3): (usize, usize, usize)) -> Result<()> {
        self.through()?;
        let option = match (&self.proxy, self.proxy_protocol, self.addresses) {
            (Some(_), _, _) => "--proxy",
            (None, Some(_), _) => "--proxy-protocol",
            (None, None, Some(_)) => "--addresses",
            (None, None, None) => return Ok(()),
        };
        match (started, unix, http3) {
            (0, 0, 0) => Ok(()),
            (1.., _, _) => Err(usage!(
                help = "give the URL of a server that runs",
                "{option} is for servers that run, and prony would start one"
            )),
            (_, 1.., _) if option == "--proxy" => {
                Err(usage!("--proxy: no proxy connects to a unix socket"))
            }
            (_, 1.., _) => Ok(()),
            (_, _, _) => Err(usage!(
                help = "use --protocol h2",
                "{option} is for TCP, and HTTP/3 is spoken over UDP"
            )),
        }
    }
}

/// A hint at what a proxy that forwards requests lacks, if it answered them itself; None: nothing.
pub fn hint(plan: &Plan, statuses: &BTreeMap<String, u64>) -> Option<String> {
    let proxy = plan.proxy.as_ref()?;
    let remedy = match (statuses.contains_key("407"), &proxy.credentials) {
        (true, None) => Remedy::ProxyCredentials,
        (true, Some(_)) => Remedy::ProxyOtherCredentials,
        (false, _) => return None,
    };
    Some(format!(
        "the proxy {} answered 407 Proxy Authentication Required: {}",
        proxy.name,
        words(remedy)
    ))
}

/// Reaches the server once through the proxy, so that prony reports a failure before the load.
pub fn tried(url: &str, target: &Target, proxy: &Proxy, timeout: Duration) -> Result<()> {
    let Target::Tcp(address) = target else {
        return Ok(());
    };
    dial(*address, (Some(proxy), None), timeout)
        .map(drop)
        .map_err(|error| explain(url, &error))
}

fn explain(url: &str, error: &DialError) -> Report {
    refused(url, &error.to_string(), error.remedy())
}

/// An error of a try, with the flag that helps.
pub fn refused(url: &str, error: &str, remedy: Option<Remedy>) -> Report {
    match remedy {
        Some(remedy) => miette!(help = words(remedy), "{url}: {error}"),
        None => miette!("{url}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::parse;

    fn proxy(text: &str) -> Result<ProxyAddress> {
        ProxyUrl(text.to_owned()).parse()
    }

    #[test]
    fn proxies_are_taken_apart() {
        for (text, shown) in [
            ("127.0.0.1:3128", "http://127.0.0.1:3128"),
            ("http://[::1]:3128/", "http://[::1]:3128"),
            ("https://proxy.example", "https://proxy.example:443"),
            (
                "socks5://ada:secret@localhost:9050",
                "socks5://localhost:9050",
            ),
            ("socks5h://localhost", "socks5h://localhost:1080"),
        ] {
            assert_eq!(proxy(text).unwrap().shown(), shown, "{text}");
        }
        let it = proxy("http://a%40b:s%3Ae@p:1")
            .unwrap()
            .credentials
            .unwrap();
        assert_eq!((it.user.as_str(), it.password.as_str()), ("a@b", "s:e"));
    }

    #[test]
    fn errors_show_no_password() {
        for (text, why) in [
            ("ftp://ada:secret@x:1", "no proxy of the kind ftp://"),
            ("http://ada:secret@x:99999", "invalid port"),
            ("http://ada:secret@x:1/path", "no path"),
            ("http://ada:secret@", "host"),
            ("socks5://ada@x:1", "1 to 255 bytes"),
        ] {
            let error = proxy(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn requests_are_forwarded_where_curl_does_so() {
        let way = |url: &str, proxy_url: &str, line: &Connect| {
            let address = parse(url).unwrap();
            let route = line.route(&address);
            let made = proxy(proxy_url).unwrap();
            made.toward(&address, &route, (None, false), false).unwrap()
        };
        let none = Connect::default();
        for (url, expected) in [
            ("http://a/", ProxyWay::Forward),
            ("https://a/", ProxyWay::Connect),
            ("h2c://a/", ProxyWay::Connect),
            ("ws://a/", ProxyWay::Connect),
            ("grpc://a/b.C/d", ProxyWay::Connect),
            ("tcp://a:7", ProxyWay::Connect),
        ] {
            assert_eq!(way(url, "http://p:1", &none).way, expected, "{url}");
            assert_eq!(
                way(url, "socks5h://p:1", &none).way,
                ProxyWay::Socks5,
                "{url}"
            );
        }
        let it = way("https://[::1]:8443/", "https://p:1", &none);
        assert_eq!((it.host.as_str(), it.port), ("::1", 8443));
        assert_eq!(it.tls.unwrap().server_name, "p");
        assert_eq!(
            way("http://127.0.0.1/", "socks5://p:1", &none).host,
            "127.0.0.1"
        );
    }
}
