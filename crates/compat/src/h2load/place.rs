//! Where requests go, and which paths they ask for.

use crate::shared::address::{Url, authority, default_port, split_port};
use std::path::PathBuf;

/// Server and paths of a command line's URIs, of which the first (or the base URI) names the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Destination {
    /// Over TLS?
    pub secure: bool,
    /// The host, without the brackets of an IPv6 address.
    pub host: String,
    pub port: u16,
    /// Connections go through this socket instead.
    pub unix: Option<PathBuf>,
    /// Paths that are requested in turns; at least one.
    pub paths: Vec<String>,
}

impl Destination {
    /// # Errors
    /// What the original prints.
    pub(super) fn new(uris: &[String], base: Option<&str>) -> Result<Self, String> {
        let first = uris.first().ok_or("no URI available")?;
        let unix = base.and_then(|base| base.strip_prefix("unix:"));
        let (named, of) = match base.filter(|_| unix.is_none()) {
            Some(base) => (parse(base), format!("--base-uri: invalid base URI: {base}")),
            None => (parse(first), format!("invalid URI: {first}")),
        };
        let (secure, url) = named.ok_or(of)?;
        let paths: Result<_, String> = uris
            .iter()
            .map(|uri| path(uri).ok_or_else(|| format!("invalid URI: {uri}")))
            .collect();
        Ok(Self {
            secure,
            port: url.port.unwrap_or(default_port(secure)),
            host: url.host,
            unix: unix.map(PathBuf::from),
            paths: paths?,
        })
    }

    /// `host`, and `:port` unless it is the scheme's.
    pub(super) fn authority(&self) -> String {
        authority(&self.host, self.port, default_port(self.secure))
    }
}

/// `http://…` or `https://…`, and which of them.
fn parse(uri: &str) -> Option<(bool, Url)> {
    let (secure, rest) = match uri.strip_prefix("https://") {
        Some(rest) => (true, rest),
        None => (false, uri.strip_prefix("http://")?),
    };
    let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
    Some((secure, Url::parse(&format!("http://{rest}")).ok()?))
}

/// The path and query of a URI, or of a path alone.
fn path(uri: &str) -> Option<String> {
    let target = match uri.starts_with('/') {
        true => Url::parse(&format!("http://h{uri}")).ok()?.target,
        false => parse(uri)?.1.target,
    };
    let target = target
        .split_once('#')
        .map_or(target.as_str(), |(path, _)| path);
    Some(match target {
        "" => "/".to_owned(),
        query if query.starts_with('?') => format!("/{query}"),
        path => path.to_owned(),
    })
}

/// `host` or `host:port`, for `--connect-to`.
pub(super) fn elsewhere(text: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = split_port(text)?;
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(uris: &[&str], base: Option<&str>) -> Result<Destination, String> {
        let uris: Vec<String> = uris.iter().map(|&uri| uri.to_owned()).collect();
        Destination::new(&uris, base)
    }

    #[test]
    fn the_first_uri_names_the_server_and_all_name_paths() {
        let it = place(
            &["http://h:81/a?b#c", "https://other/x", "/y#z", "http://h"],
            None,
        )
        .unwrap();
        assert_eq!((it.secure, it.host.as_str(), it.port), (false, "h", 81));
        assert_eq!(it.paths, ["/a?b", "/x", "/y", "/"]);
        assert_eq!(it.authority(), "h:81");
    }

    #[test]
    fn a_base_uri_names_the_server_instead() {
        let it = place(&["/a", "http://h:81/b?"], Some("https://[::1]/ignored")).unwrap();
        assert_eq!((it.secure, it.host.as_str(), it.port), (true, "::1", 443));
        assert_eq!(it.authority(), "[::1]");
        assert_eq!(it.paths, ["/a", "/b?"]);
        let it = place(&["http://h/?q"], Some("unix:/run/socket")).unwrap();
        assert_eq!(it.unix, Some(PathBuf::from("/run/socket")));
        assert_eq!(
            (it.authority().as_str(), &it.paths[..]),
            ("h", &["/?q".to_owned()][..])
        );
    }

    #[test]
    fn what_names_no_server_is_said_as_the_original_does() {
        for (uris, base, said) in [
            (&[][..], None, "no URI available"),
            (&["127.0.0.1:1/"], None, "invalid URI: 127.0.0.1:1/"),
            (&["http://h/", "x"], None, "invalid URI: x"),
            (&["http://h:0/"], None, "invalid URI: http://h:0/"),
            (&["/"], Some("foo"), "--base-uri: invalid base URI: foo"),
            (&["/"], Some("unix:/s"), "invalid URI: /"),
        ] {
            assert_eq!(place(uris, base), Err(said.to_owned()));
        }
    }

    #[test]
    fn connections_may_go_elsewhere() {
        assert_eq!(elsewhere("h:81"), Some(("h".into(), Some(81))));
        assert_eq!(elsewhere("[::1]"), Some(("::1".into(), None)));
        assert_eq!(elsewhere("h:x"), None);
        assert_eq!(elsewhere(""), None);
    }
}
