//! The requests: the original's bytes over HTTP/1.1, and its fields over HTTP/2.

use super::flags::H2loadFlags;
use prony_engine::protocol::h2::{ForbiddenField, StreamedExchange};
use prony_engine::protocol::{Expect, HttpExchange, HttpRequest};

/// The original's name, which a server may look at.
const AGENT: &str = "h2load nghttp2/1.52.0";

/// Over HTTP/1.1, one for each URI.
pub(super) fn http1(flags: &H2loadFlags) -> Vec<HttpExchange> {
    let exchange =
        |path: &String| HttpExchange::raw(bytes(&request(flags, path)), Expect::default());
    flags.place.paths.iter().map(exchange).collect()
}

/// Over HTTP/2 and HTTP/3, one for each URI.
///
/// # Errors
/// When a field cannot be sent over them.
pub(super) fn http2(flags: &H2loadFlags) -> Result<Vec<StreamedExchange>, ForbiddenField> {
    let exchange = |path: &String| {
        StreamedExchange::new(&request(flags, path), flags.place.secure, Expect::default())
    };
    flags.place.paths.iter().map(exchange).collect()
}

fn request(flags: &H2loadFlags, path: &str) -> HttpRequest {
    let named = |wanted: &str| {
        let mut fields = flags.headers.iter();
        let field = fields.find(|(name, _)| name == wanted);
        field.map(|(_, value)| value.clone())
    };
    let method = if flags.data.is_some() { "POST" } else { "GET" };
    let agent = named("user-agent").unwrap_or_else(|| AGENT.to_owned());
    let own = [":method", ":authority", "host", "user-agent"];
    let others = flags.headers.iter();
    let others = others.filter(|(name, _)| !own.contains(&name.as_str()));
    let mut headers = vec![("user-agent".to_owned(), agent)];
    headers.extend(others.cloned());
    HttpRequest {
        method: named(":method").unwrap_or_else(|| method.to_owned()),
        target: path.to_owned(),
        host: named(":authority")
            .or_else(|| named("host"))
            .unwrap_or_else(|| flags.place.authority()),
        headers,
        body: flags.data.clone().unwrap_or_default(),
        keepalive: true,
    }
}

/// Writes a request as the original does: a length is added exactly when there is a body without one.
fn bytes(request: &HttpRequest) -> Vec<u8> {
    let HttpRequest {
        method,
        target,
        host,
        headers,
        body,
        ..
    } = request;
    let mut head = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    let has_length = headers.iter().any(|(name, _)| name == "content-length");
    if !body.is_empty() && !has_length {
        head += &format!("Content-Length: {}\r\n", body.len());
    }
    head += "\r\n";
    [head.as_bytes(), body].concat()
}

#[cfg(test)]
mod tests {
    use super::super::flags::parse;
    use super::*;
    use std::ffi::OsString;

    fn flags(line: &str) -> H2loadFlags {
        parse(line.split('|').map(OsString::from).collect()).unwrap()
    }

    fn sent(line: &str) -> Vec<String> {
        let flags = flags(line);
        let paths = flags.place.paths.iter();
        let bytes = paths.map(|path| bytes(&request(&flags, path)));
        bytes.map(|it| String::from_utf8(it).unwrap()).collect()
    }

    /// Captured from the original, but for its second `Host` field when there is one on the command line.
    #[test]
    fn the_originals_bytes() {
        let agent = "user-agent: h2load nghttp2/1.52.0\r\n";
        assert_eq!(
            sent("--h1|http://127.0.0.1:49903"),
            [format!(
                "GET / HTTP/1.1\r\nHost: 127.0.0.1:49903\r\n{agent}\r\n"
            )]
        );
        assert_eq!(
            sent("-H|X-Foo: bar|-H|Host: abc|-H|user-agent:me|http://localhost:1/x?y#z|/b"),
            ["/x?y", "/b"].map(|path| format!(
                "GET {path} HTTP/1.1\r\nHost: abc\r\nuser-agent: me\r\nx-foo: bar\r\n\r\n"
            ))
        );
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a=1&b=2").unwrap();
        let data = format!("-d|{}|-H|X-Foo:bar|http://h/", file.path().display());
        assert_eq!(
            sent(&data),
            [format!(
                "POST / HTTP/1.1\r\nHost: h\r\n{agent}x-foo: bar\r\nContent-Length: 7\r\n\r\na=1&b=2"
            )]
        );
        let method = format!("-H|:method: PUT|{data}");
        assert!(sent(&method)[0].starts_with("PUT / HTTP/1.1\r\n"));
    }

    #[test]
    fn fields_of_connections_cannot_go_over_http2() {
        let line = "-H|Connection: close|http://h/";
        assert!(http2(&flags(line)).is_err());
        assert_eq!(http1(&flags(line)).len(), 1);
        assert_eq!(http2(&flags("http://h/|/b|/c")).unwrap().len(), 3);
    }
}
