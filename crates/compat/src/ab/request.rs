//! The request: the original's bytes.

use super::flags::AbFlags;
use crate::shared::address::default_port;

/// Returns the bytes of the request that is sent again and again.
pub(super) fn bytes(flags: &AbFlags) -> Vec<u8> {
    let authority = flags.url.authority(default_port(flags.tls.is_some()));
    let target = match flags.proxy {
        Some(_) if flags.tls.is_some() => format!("https://{authority}{}", flags.url.target),
        Some(_) => format!("http://{authority}{}", flags.url.target),
        None => flags.url.target.clone(),
    };
    let mut head = format!("{} {target} HTTP/1.0\r\n", flags.method());
    let mut line = |text: &str| {
        head += text;
        head += "\r\n";
    };
    if flags.keepalive {
        line("Connection: Keep-Alive");
    }
    if let Some(cookie) = &flags.cookie {
        line(&format!("Cookie: {cookie}"));
    }
    flags.credentials.iter().for_each(|text| line(text));
    if let Some(upload) = &flags.upload {
        line(&format!("Content-length: {}", upload.body.len()));
        line(&format!("Content-type: {}", flags.content_type));
    }
    flags.headers.iter().for_each(|text| line(text));
    let given = |name: &str| {
        flags.headers.iter().any(|field| {
            field
                .split_once(':')
                .is_some_and(|(given, _)| given.eq_ignore_ascii_case(name))
        })
    };
    if !given("host") {
        line(&format!("Host: {authority}"));
    }
    if !given("user-agent") {
        line("User-Agent: ApacheBench/2.3");
    }
    if !given("accept") {
        line("Accept: */*");
    }
    line("");
    let mut bytes = head.into_bytes();
    if let Some(upload) = &flags.upload {
        bytes.extend_from_slice(&upload.body);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ab::flags::parse;
    use std::ffi::OsString;

    fn request(line: &str) -> String {
        let args = line.split('|').map(OsString::from).collect();
        String::from_utf8(bytes(&parse(args).unwrap())).unwrap()
    }

    /// Each of these was captured from the original.
    #[test]
    fn the_originals_bytes() {
        let common = "User-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n";
        for (line, expected) in [
            (
                "-n1|http://127.0.0.1:18090/a?b=c",
                format!("GET /a?b=c HTTP/1.0\r\nHost: 127.0.0.1:18090\r\n{common}"),
            ),
            (
                "-k|-C|a=b|-C|c=d|-H|X-A: 1|-A|u:p|-P|x:y|http://127.0.0.1:18090/",
                format!(
                    "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\nCookie: c=d\r\nAuthorization: Basic dTpw\r\n\
                     Proxy-Authorization: Basic eDp5\r\nX-A: 1\r\nHost: 127.0.0.1:18090\r\n{common}"
                ),
            ),
            (
                "-i|http://127.0.0.1:18090/h",
                format!("HEAD /h HTTP/1.0\r\nHost: 127.0.0.1:18090\r\n{common}"),
            ),
            (
                "-m|DELETE|http://127.0.0.1:18090/h",
                format!("DELETE /h HTTP/1.0\r\nHost: 127.0.0.1:18090\r\n{common}"),
            ),
            (
                "-X|127.0.0.1:18090|http://example.com:81/z",
                format!("GET http://example.com:81/z HTTP/1.0\r\nHost: example.com:81\r\n{common}"),
            ),
            (
                "-H|User-Agent: me|-H|host: foo|-H|Accept: x|http://127.0.0.1:18090/h",
                "GET /h HTTP/1.0\r\nUser-Agent: me\r\nhost: foo\r\nAccept: x\r\n\r\n".to_owned(),
            ),
        ] {
            assert_eq!(request(line), expected, "{line}");
        }
    }

    #[test]
    fn files_are_sent() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a=1&b=2").unwrap();
        let path = file.path().display();
        let body = |method: &str, kind: &str| {
            format!(
                "{method} /p HTTP/1.0\r\nContent-length: 7\r\nContent-type: {kind}\r\nHost: h:1\r\n\
                 User-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\na=1&b=2"
            )
        };
        assert_eq!(
            request(&format!("-p|{path}|-T|text/json|h:1/p")),
            body("POST", "text/json")
        );
        assert_eq!(
            request(&format!("-u|{path}|h:1/p")),
            body("PUT", "text/plain")
        );
        assert_eq!(
            request(&format!("-p|{path}|-m|PATCH|h:1/p")),
            body("PATCH", "text/plain")
        );
    }
}
