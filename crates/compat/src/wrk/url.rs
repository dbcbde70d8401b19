//! The URL, taken apart as wrk does: every part stays as it was written.

/// A URL and its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Url {
    /// The whole URL, as given.
    pub text: String,
    /// Scheme, such as `http`.
    pub scheme: String,
    /// Without the brackets of an IPv6 address.
    pub host: String,
    /// Only when it is written.
    pub port: Option<String>,
    /// From the path on, with the query and whatever follows it; `/` without a path.
    pub path: String,
}

impl Url {
    /// `None` when it is not a whole URL: scheme, host and no characters that a URL cannot have.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        if scheme.is_empty() || !scheme.bytes().all(|b| b.is_ascii_alphabetic()) {
            return None;
        }
        let (authority, path) = match rest.find(['/', '?', '#']) {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        if !path.bytes().all(|b| b.is_ascii_graphic()) {
            return None;
        }
        // A user's name and password are overlooked.
        let place = authority
            .rsplit_once('@')
            .map_or(authority, |(_, place)| place);
        let (host, port) = match place.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']')?;
                let port = match rest {
                    "" => None,
                    _ => Some(rest.strip_prefix(':')?),
                };
                (
                    host.parse::<std::net::Ipv6Addr>().is_ok().then_some(host)?,
                    port,
                )
            }
            None => {
                let (host, port) = match place.split_once(':') {
                    Some((host, port)) => (host, Some(port)),
                    None => (place, None),
                };
                let fits = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
                (host.bytes().all(fits).then_some(host)?, port)
            }
        };
        let number =
            |port: &str| port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok();
        if host.is_empty() || port.is_some_and(|port| !number(port)) {
            return None;
        }
        Some(Self {
            text: text.to_owned(),
            scheme: scheme.to_owned(),
            host: host.to_owned(),
            port: port.map(str::to_owned),
            path: if path.starts_with('/') { path } else { "/" }.to_owned(),
        })
    }

    /// Returns the service that is looked up with the host: the port, or else the scheme.
    pub(super) fn service(&self) -> &str {
        self.port.as_deref().unwrap_or(&self.scheme)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Option<(String, Option<String>, String)> {
        Url::parse(text).map(|url| (url.host, url.port, url.path))
    }

    #[test]
    fn parts_stay_as_they_are_written() {
        let some = |host: &str, port: Option<&str>, path: &str| {
            Some((host.to_owned(), port.map(str::to_owned), path.to_owned()))
        };
        for (text, expected) in [
            ("http://h/", some("h", None, "/")),
            ("http://h", some("h", None, "/")),
            (
                "http://h:080/a%2f?b=c#d",
                some("h", Some("080"), "/a%2f?b=c#d"),
            ),
            ("http://h?x", some("h", None, "/")),
            ("http://u:p@h:1/x", some("h", Some("1"), "/x")),
            ("http://[::1]:8080/x", some("::1", Some("8080"), "/x")),
            ("http://[::1]", some("::1", None, "/")),
            (
                "http://my_host-1.local/",
                some("my_host-1.local", None, "/"),
            ),
        ] {
            assert_eq!(parts(text), expected, "{text}");
        }
        assert_eq!(Url::parse("http://h:81/").unwrap().service(), "81");
        assert_eq!(Url::parse("http://h/").unwrap().service(), "http");
    }

    #[test]
    fn what_is_no_url() {
        for text in [
            "",
            "foo",
            "h:80/x",
            "://h",
            "http://",
            "http:///x",
            "http://h:99999/",
            "http://h:x/",
            "http://[::1/",
            "http://[::1]x",
            "http://[x]/",
            "http://h/a b",
            "http://h/ä",
            "h2+c://h",
        ] {
            assert_eq!(Url::parse(text), None, "{text}");
        }
    }
}
