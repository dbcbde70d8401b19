//! URLs of servers, taken apart.

use miette::{Result, miette};
use percent_encoding::percent_decode_str;
use prony_engine::Target;
use prony_engine::protocol::h2;
use prony_engine::protocol::tls::speaks_tls;
use std::borrow::Cow;
use std::convert::Infallible;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use url::{Host, Url};

/// A URL taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetUrl {
    /// HTTP, or else a raw echo.
    pub http: bool,
    /// Over TLS.
    pub tls: bool,
    /// HTTP/2 without TLS, with prior knowledge.
    pub h2c: bool,
    /// Calls of gRPC; the path is the method's.
    pub grpc: bool,
    /// WebSocket, upgraded from HTTP/1.1.
    pub ws: bool,
    /// A unix socket instead of host and port.
    pub unix: Option<PathBuf>,
    /// The host as it is looked up.
    pub host: String,
    pub port: u16,
    /// The `Host` field of a request.
    pub authority: String,
    /// Path and query.
    pub path: String,
}

/// A URL on the command line; without a scheme it is http://, and without a host localhost: `localhost:8000/x`, `:8000`.
pub fn url(text: &str) -> Result<String, Infallible> {
    let number = text.chars().all(|c| c.is_ascii_digit());
    Ok(match text {
        // A number alone is an address to URLs: 8000 is 0.0.31.64. Nothing is nothing.
        _ if number || text.contains("://") || text.starts_with("unix:") => text.to_owned(),
        _ if text.starts_with(':') => format!("http://localhost{text}"),
        _ => format!("http://{text}"),
    })
}

/// A server on the command line: HOST:PORT and :PORT are the URLs of servers that run, all else stands as it is.
pub fn server(text: &str) -> Result<String, Infallible> {
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '[' | ']' | ':');
    let authority = text.split(['/', '?']).next().unwrap_or_default();
    let port = authority.rsplit_once(':').filter(|(host, port)| {
        let one = !host.contains(':') || (host.starts_with('[') && host.ends_with(']'));
        host.chars().all(named) && one && port.parse::<u16>().is_ok()
    });
    match port {
        Some(_) => url(text),
        None => Ok(text.to_owned()),
    }
}

/// Is it a URL, and not the name or command line of a server? A command line may have a URL in it.
pub fn is_url(text: &str) -> bool {
    let scheme_has = |c: char| c.is_ascii_alphanumeric() || c == '+';
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.chars().all(scheme_has))
}

/// Takes a URL apart.
pub fn parse(text: &str) -> Result<TargetUrl> {
    // The scheme is not a registered one: host, port and path are those of http://.
    if let Some(rest) = text.strip_prefix("h2c://") {
        let plain = parse(&format!("http://{rest}"))?;
        return Ok(TargetUrl { h2c: true, ..plain });
    }
    for (scheme, as_http) in [("grpc://", "http://"), ("grpcs://", "https://")] {
        if let Some(rest) = text.strip_prefix(scheme) {
            let address = parse(&format!("{as_http}{rest}"))?;
            return Ok(TargetUrl {
                grpc: true,
                h2c: !address.tls,
                ..address
            });
        }
    }
    let help =
        "give a URL such as http://HOST:PORT/PATH; `prony load --help` lists the other schemes";
    let wrong = |why: String| usage!(help = help, "{text:?} is not an address to load: {why}");
    let (text, zone) = without_zone(text);
    let url = Url::parse(&text).map_err(|error| match error {
        url::ParseError::RelativeUrlWithoutBase => {
            wrong("it does not begin with http:// or another scheme".into())
        }
        other => wrong(other.to_string()),
    })?;
    let tls = matches!(url.scheme(), "https" | "wss");
    let ws = matches!(url.scheme(), "ws" | "wss");
    let http = match url.scheme() {
        "http" | "https" | "ws" | "wss" => true,
        "tcp" => false,
        "unix" => return Ok(TargetUrl::over_unix(false, url.path().into(), "/".into())),
        "http+unix" => {
            let host = url.host_str().unwrap_or("");
            let socket = percent_decode_str(host).decode_utf8_lossy().into_owned();
            if !socket.starts_with('/') {
                return Err(wrong(
                    "the socket's path must be absolute, its slashes as %2F".into(),
                ));
            }
            return Ok(TargetUrl::over_unix(
                true,
                socket.into(),
                path_and_query(&url),
            ));
        }
        other => return Err(wrong(format!("prony cannot load {other}://"))),
    };
    let host = match url.host() {
        Some(Host::Ipv6(ip)) => format!("{ip}{zone}"),
        Some(host) if !host.to_string().is_empty() => host.to_string(),
        _ => return Err(wrong("it has no host".into())),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(
            "it has a name or a password: --user NAME:PASSWORD sends them".into(),
        ));
    }
    let port = match url.port_or_known_default() {
        Some(0) | None => return Err(wrong("it has no port".into())),
        Some(port) => port,
    };
    let path = path_and_query(&url);
    let authority = &url[url::Position::BeforeHost..url::Position::AfterPort];
    Ok(TargetUrl {
        http,
        tls,
        h2c: false,
        grpc: false,
        ws,
        unix: None,
        host,
        port,
        authority: authority.to_owned(),
        path,
    })
}

/// A URL without the zone of its IPv6 address, which the `Host` field does not have (RFC 6874, 4), and the zone with its `%`.
fn without_zone(text: &str) -> (Cow<'_, str>, String) {
    let parts = text.split_once("://[").and_then(|(scheme, rest)| {
        let (inside, behind) = rest.split_once(']')?;
        let (address, zone) = inside.split_once('%')?;
        Some((scheme, address, zone, behind))
    });
    match parts {
        None => (text.into(), String::new()),
        Some((scheme, address, zone, behind)) => {
            // The percent sign is percent-encoded in a URL, and often is not.
            let zone = zone.strip_prefix("25").filter(|it| !it.is_empty());
            let zone = zone
                .or(parts.map(|(_, _, zone, _)| zone))
                .unwrap_or_default();
            (
                format!("{scheme}://[{address}]{behind}").into(),
                format!("%{zone}"),
            )
        }
    }
}

fn path_and_query(url: &Url) -> String {
    url[url::Position::BeforePath..url::Position::AfterQuery].to_owned()
}

impl TargetUrl {
    fn over_unix(http: bool, socket: PathBuf, path: String) -> Self {
        Self {
            http,
            tls: false,
            h2c: false,
            grpc: false,
            ws: false,
            unix: Some(socket),
            host: String::new(),
            port: 0,
            authority: "localhost".into(),
            path,
        }
    }
}

/// Prints what a server speaks that answered nothing rightly over http://, if that is found out.
pub fn hint(url: &str, target: &Target, timeout: Duration) {
    let timeout = timeout.min(Duration::from_secs(1));
    if speaks_tls(target, timeout) {
        let secure = url.replacen("http://", "https://", 1);
        eprintln!("\nthe server speaks TLS on this port: try {secure}");
    } else if h2::probe(target, timeout).is_ok() {
        let h2c = url.replacen("http://", "h2c://", 1);
        eprintln!(
            "\nthe server speaks HTTP/2 without TLS on this port: try {h2c}, or grpc:// for gRPC"
        );
    }
}

/// A unix socket that accepts a connection.
pub fn unix(path: &Path) -> Result<Target> {
    match UnixStream::connect(path) {
        Ok(_) => Ok(Target::Unix(path.to_owned())),
        Err(error) => Err(miette!(
            "cannot connect to the unix socket {}: {error}",
            path.display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let it = parse("http://localhost/a/b?c=d").unwrap();
        assert_eq!((it.http, it.port, it.path.as_str()), (true, 80, "/a/b?c=d"));
        assert_eq!(it.authority, "localhost");
        let it = parse("http://[::1]:8080").unwrap();
        assert_eq!(
            (it.host.as_str(), it.port, it.path.as_str()),
            ("::1", 8080, "/")
        );
        assert_eq!(it.authority, "[::1]:8080");
        for url in ["http://[fe80::1%25eth0]:81/a", "http://[fe80::1%eth0]:81/a"] {
            let it = parse(url).unwrap();
            assert_eq!((it.host.as_str(), it.port), ("fe80::1%eth0", 81), "{url}");
            assert_eq!(
                (it.authority.as_str(), it.path.as_str()),
                ("[fe80::1]:81", "/a")
            );
        }
        let it = parse("https://[::1]").unwrap();
        assert_eq!((it.authority.as_str(), it.port), ("[::1]", 443));
        let it = parse("ws://localhost/chat").unwrap();
        assert!(it.http && it.ws && !it.tls);
        assert_eq!((it.port, it.path.as_str()), (80, "/chat"));
        let it = parse("wss://localhost").unwrap();
        assert!(it.ws && it.tls);
        assert_eq!((it.port, it.path.as_str()), (443, "/"));
        let it = parse("h2c://127.0.0.1:8080/a").unwrap();
        assert!(it.http && it.h2c && !it.tls);
        assert_eq!(
            (it.host.as_str(), it.port, it.path.as_str()),
            ("127.0.0.1", 8080, "/a")
        );
        let it = parse("grpc://127.0.0.1:8080/a.B/C").unwrap();
        assert!(it.grpc && it.h2c && !it.tls);
        assert_eq!((it.port, it.path.as_str()), (8080, "/a.B/C"));
        let it = parse("grpcs://localhost/a.B/C").unwrap();
        assert!(it.grpc && it.tls && !it.h2c && it.port == 443);
        let it = parse("tcp://127.0.0.1:7000").unwrap();
        assert_eq!((it.http, it.port), (false, 7000));
    }

    #[test]
    fn urls_and_command_lines() {
        for text in ["http://x/", "h2c://x:1", "http+unix://%2Fa/", "tcp://x:1"] {
            assert!(is_url(text), "{text}");
        }
        for text in ["node", "./a --to http://x:1/", "env A=tcp://x ./a", "a@4"] {
            assert!(!is_url(text), "{text}");
        }
    }

    #[test]
    fn addresses_without_a_scheme() {
        for (text, expected) in [
            ("localhost:8000", "http://localhost:8000"),
            (":8000/a?b", "http://localhost:8000/a?b"),
            ("example.com/a", "http://example.com/a"),
            ("[::1]:80", "http://[::1]:80"),
            ("https://x/", "https://x/"),
            ("unix:/run/a", "unix:/run/a"),
            ("8000", "8000"),
        ] {
            assert_eq!(url(text).unwrap(), expected);
        }
        for (text, expected) in [
            ("localhost:8000/a", "http://localhost:8000/a"),
            (":8000", "http://localhost:8000"),
            ("[::1]:80", "http://[::1]:80"),
        ] {
            assert_eq!(server(text).unwrap(), expected);
        }
        for text in [
            "node",
            "node@2",
            "./serve:80",
            "./a --to b:80",
            "a:{port}",
            "a:b:80",
            "example.com/a",
            "tcp://x:1",
        ] {
            assert_eq!(server(text).unwrap(), text);
        }
    }

    #[test]
    fn unix_sockets() {
        let it = parse("http+unix://%2Frun%2Fapp.sock/a?b").unwrap();
        assert_eq!((it.http, it.path.as_str()), (true, "/a?b"));
        assert_eq!(it.unix.unwrap(), Path::new("/run/app.sock"));
        for text in ["unix:///run/echo.sock", "unix:/run/echo.sock"] {
            let it = parse(text).unwrap();
            assert!(!it.http, "{text}");
            assert_eq!(it.unix.unwrap(), Path::new("/run/echo.sock"));
        }
        assert!(
            parse("http+unix://run/a")
                .unwrap_err()
                .to_string()
                .contains("absolute")
        );
    }

    #[test]
    fn wrong_addresses_are_told_why() {
        for (text, why) in [
            ("8000", "does not begin with"),
            ("https:///", "host"),
            ("ftp://x/", "cannot load ftp"),
            ("tcp://x", "no port"),
            ("http://x:99999/", "invalid port"),
            ("http://a:b@x/", "--user"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
