//! Access control of the view.
//!
//! On a loopback address every user of this machine may read the notebook, and no one else. The `Host` of a request
//! must be one that means this machine. Otherwise a page from anywhere could have its own name resolved to 127.0.0.1
//! and read the notebook through its reader's browser (DNS rebinding). On any other address a token is needed, drawn
//! anew at each start, which a browser keeps as a cookie after its first use.

use crate::query::Query;
use hyper::header::{COOKIE, HOST};
use hyper::http::uri::Authority;
use hyper::{HeaderMap, Method, Request};
use sha2::{Digest, Sha256};
use std::net::{IpAddr, SocketAddr};

/// The lock and its key.
#[derive(Debug, Clone)]
pub struct Door {
    /// None where only this machine can come.
    token: Option<String>,
    /// Cookies do not tell ports apart, so its name does.
    cookie: String,
}

/// Result of the check of a request at the door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Welcome {
    /// The request may go on.
    In,
    /// The request has brought the token. It gets this cookie, and is sent to this address, which does not show the
    /// token to those who can see the screen.
    Key {
        /// For `Set-Cookie`.
        cookie: String,
        /// Path and what is asked, without the token.
        to: String,
    },
    /// Only GET and HEAD are understood.
    Method,
    /// The request is meant for another host.
    Host,
    /// The request has no token, or a wrong one.
    Token,
}

impl Door {
    /// The door of a view at this address.
    pub fn new(at: SocketAddr) -> Self {
        let token = (!at.ip().is_loopback()).then(|| {
            // 256 bits that cannot be guessed: the generator is seeded by the system.
            let bytes: [u8; 32] = rand::random();
            bytes.iter().map(|byte| format!("{byte:02x}")).collect()
        });
        Self {
            token,
            cookie: format!("prony-view-{}", at.port()),
        }
    }

    /// Is there a token?
    pub fn needs_token(&self) -> bool {
        self.token.is_some()
    }

    /// The address to open in a browser.
    pub fn url(&self, at: SocketAddr) -> String {
        let host = match at.ip() {
            // "Any address" is none that can be opened; the machine's name is.
            ip if ip.is_unspecified() => std::fs::read_to_string("/proc/sys/kernel/hostname")
                .map_or_else(|_| "localhost".into(), |name| name.trim().to_owned()),
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        match &self.token {
            None => format!("http://{host}:{}/", at.port()),
            Some(token) => format!("http://{host}:{}/?token={token}", at.port()),
        }
    }

    /// Looks at a request.
    pub fn welcome<B>(&self, request: &Request<B>) -> Welcome {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Welcome::Method;
        }
        let Some(token) = &self.token else {
            return match meant_for_loopback(request) {
                true => Welcome::In,
                false => Welcome::Host,
            };
        };
        let query = Query::of(request.uri().query());
        if let Some(given) = query.one("token") {
            return match same(given, token) {
                true => Welcome::Key {
                    cookie: format!("{}={token}; Path=/; HttpOnly; SameSite=Lax", self.cookie),
                    // One slash: two would begin the name of another host.
                    to: query.without("token").to(&format!(
                        "/{}",
                        request.uri().path().trim_start_matches('/')
                    )),
                },
                false => Welcome::Token,
            };
        }
        match cookies(request.headers(), &self.cookie).any(|given| same(given, token)) {
            true => Welcome::In,
            false => Welcome::Token,
        }
    }
}

/// Does every name that the request gives its receiver mean this machine, and is there one?
fn meant_for_loopback<B>(request: &Request<B>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    let (Some(Ok(host)), None) = (hosts.next().map(|host| host.to_str()), hosts.next()) else {
        return false;
    };
    let address = request.uri().authority().map(Authority::as_str);
    is_loopback(host) && address.is_none_or(is_loopback)
}

/// `localhost`, `127.0.0.1` or `[::1]`, with or without a port.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, port)) if port.is_empty() || port.starts_with(':') => name,
        Some(_) => return false,
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The values of the cookies of that name.
fn cookies<'a>(headers: &'a HeaderMap, name: &'a str) -> impl Iterator<Item = &'a str> {
    let all = headers.get_all(COOKIE).iter();
    all.filter_map(|header| header.to_str().ok())
        .flat_map(|header| header.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .filter_map(move |(key, value)| (key == name).then_some(value))
}

/// Are the two the same? How long it takes does not depend on where they differ: it is their digests
/// that are compared, to the end.
fn same(a: &str, b: &str) -> bool {
    let (a, b) = (Sha256::digest(a), Sha256::digest(b));
    let differ = a.iter().zip(b.iter()).fold(0, |all, (a, b)| all | (a ^ b));
    std::hint::black_box(differ) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &str, uri: &str, headers: &[(&str, &str)]) -> Request<()> {
        let request = Request::builder().method(method).uri(uri);
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        request.body(()).unwrap()
    }

    #[test]
    fn only_names_of_this_machine_are_taken() {
        for good in [
            "localhost",
            "LOCALHOST:7766",
            "127.0.0.1:7766",
            "127.1.2.3",
            "[::1]",
            "[::1]:80",
        ] {
            assert!(is_loopback(good), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "evil.example:7766",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "10.0.0.1",
            "[::2]:80",
            "[::1]x",
            "0.0.0.0",
            "127.1",
            "[127.0.0.1",
        ] {
            assert!(!is_loopback(bad), "{bad}");
        }
    }

    #[test]
    fn on_loopback_the_host_decides() {
        let door = Door::new("127.0.0.1:7766".parse().unwrap());
        let host = |host| door.welcome(&asked("GET", "/", &[("host", host)]));
        assert_eq!(host("127.0.0.1:7766"), Welcome::In);
        assert_eq!(host("evil.example"), Welcome::Host);
        assert_eq!(door.welcome(&asked("GET", "/", &[])), Welcome::Host);
        let two = [("host", "localhost"), ("host", "evil.example")];
        assert_eq!(door.welcome(&asked("GET", "/", &two)), Welcome::Host);
        let absolute = asked("GET", "http://evil.example/", &[("host", "localhost")]);
        assert_eq!(door.welcome(&absolute), Welcome::Host);
        assert_eq!(
            door.welcome(&asked("POST", "/", &[("host", "localhost")])),
            Welcome::Method
        );
    }

    #[test]
    fn elsewhere_the_token_decides_and_becomes_a_cookie() {
        let at: SocketAddr = "192.0.2.1:7766".parse().unwrap();
        let door = Door::new(at);
        let url = door.url(at);
        let token = url.strip_prefix("http://192.0.2.1:7766/?token=").unwrap();
        assert_eq!(token.len(), 64);
        assert_ne!(
            Door::new(at).url(at),
            url,
            "a token is drawn for each start"
        );
        let host = ("host", "anything.example");
        assert_eq!(
            door.welcome(&asked("GET", "/run/1", &[host])),
            Welcome::Token
        );
        let wrong = format!("/run/1?token={}", "0".repeat(64));
        assert_eq!(door.welcome(&asked("GET", &wrong, &[host])), Welcome::Token);
        let right = format!("/?q=a%20b&token={token}&name=c");
        let Welcome::Key { cookie, to } = door.welcome(&asked("GET", &right, &[host])) else {
            panic!("the token is refused");
        };
        assert_eq!(to, "/?q=a+b&name=c");
        assert!(
            cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax"),
            "{cookie}"
        );
        let kept = format!("other=1; {}", cookie.split(';').next().unwrap());
        assert_eq!(
            door.welcome(&asked("GET", "/", &[host, ("cookie", &kept)])),
            Welcome::In
        );
        let other = kept.replace("7766", "7767");
        assert_eq!(
            door.welcome(&asked("GET", "/", &[host, ("cookie", &other)])),
            Welcome::Token
        );
    }
}
