//! The upgrade from HTTP/1.1 (RFC 6455, section 4).

use crate::protocol::{Fault, HttpRequest, recognized, response_parser};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};

/// Text that a server appends to a key before it hashes it.
const MAGIC: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The most header fields in an answer.
const MAX_FIELDS: usize = 128;

/// A header field that the handshake sets by itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the header field {0:?} belongs to WebSocket's handshake, which sets it")]
pub struct ReservedField(pub String);

/// The request that a connection begins with, all but its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upgrade {
    /// Up to the key.
    before: Vec<u8>,
    /// Subprotocols that are offered.
    protocols: Vec<String>,
}

impl Upgrade {
    /// `GET` as `request` says, with its header fields, offering these subprotocols.
    ///
    /// # Errors
    /// When it has a field that the handshake sets.
    pub fn new(request: &HttpRequest, protocols: &[String]) -> Result<Self, ReservedField> {
        for (name, _) in &request.headers {
            let lower = name.to_ascii_lowercase();
            if lower.starts_with("sec-websocket-")
                || [
                    "upgrade",
                    "connection",
                    "content-length",
                    "transfer-encoding",
                ]
                .contains(&&*lower)
            {
                return Err(ReservedField(name.clone()));
            }
        }
        let mut headers = request.headers.clone();
        let mut add = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
        add("Upgrade", "websocket");
        add("Connection", "Upgrade");
        add("Sec-WebSocket-Version", "13");
        if !protocols.is_empty() {
            add("Sec-WebSocket-Protocol", &protocols.join(", "));
        }
        let whole = HttpRequest {
            method: "GET".into(),
            headers,
            body: Vec::new(),
            keepalive: true,
            ..request.clone()
        };
        let mut before = whole.encode();
        // The empty line comes after the key.
        before.truncate(before.len() - 2);
        before.extend_from_slice(b"Sec-WebSocket-Key: ");
        Ok(Self {
            before,
            protocols: protocols.to_vec(),
        })
    }

    /// Appends the request with this key, and gives what a server must answer to it.
    pub(super) fn put(&self, key: [u8; 16], out: &mut Vec<u8>) -> Accept {
        let key = BASE64_STANDARD.encode(key);
        out.extend_from_slice(&self.before);
        out.extend_from_slice(key.as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
        Accept::of(&key)
    }

    /// Reads the answer at the front of `bytes`, and gives its length; `None` when it is not complete.
    ///
    /// # Errors
    /// When it is no agreement.
    pub(super) fn answered(&self, accept: &Accept, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut answer = httparse::Response::new(&mut fields);
        let status = match response_parser().parse_response(&mut answer, bytes) {
            Ok(status) => status,
            Err(httparse::Error::TooManyHeaders) => {
                return Err(Fault::Malformed("more than 128 header fields"));
            }
            Err(_) => {
                let not_http = "the handshake's answer is not HTTP/1.1";
                return Err(Fault::Malformed(recognized(bytes).unwrap_or(not_http)));
            }
        };
        // The status is known before the fields are, and says more than what is wrong with these.
        match answer.code {
            Some(101) | None => {}
            Some(other) => return Err(Fault::Refused(other)),
        }
        let httparse::Status::Complete(used) = status else {
            return Ok(None);
        };
        let named = |name: &'static str| {
            let fields = answer.headers.iter();
            fields
                .filter(move |field| field.name.eq_ignore_ascii_case(name))
                .map(|field| field.value.trim_ascii())
        };
        let has = |name: &'static str, token: &[u8]| {
            let mut tokens = named(name).flat_map(|value| value.split(|&byte| byte == b','));
            tokens.any(|one| one.trim_ascii().eq_ignore_ascii_case(token))
        };
        let accepted: Vec<&[u8]> = named("sec-websocket-accept").collect();
        let mut protocols = named("sec-websocket-protocol");
        let (protocol, another) = (protocols.next(), protocols.next());
        let offered = |it: &[u8]| self.protocols.iter().any(|one| one.as_bytes() == it);
        let wrong = if !has("upgrade", b"websocket") {
            "the handshake's answer has no Upgrade: websocket"
        } else if !has("connection", b"upgrade") {
            "the handshake's answer has no Connection: Upgrade"
        } else if accepted.is_empty() {
            "the handshake's answer has no Sec-WebSocket-Accept"
        } else if accepted != [&accept.0[..]] {
            "Sec-WebSocket-Accept does not fit the key that was sent"
        } else if named("sec-websocket-extensions").any(|value| !value.is_empty()) {
            "the server chose an extension, and none was offered"
        } else if another.is_some() || protocol.is_some_and(|it| !offered(it)) {
            "the server chose a subprotocol that was not offered"
        } else {
            return Ok(Some(used));
        };
        Err(Fault::Malformed(wrong))
    }
}

/// The value of `Sec-WebSocket-Accept` that fits a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Accept([u8; 28]);

impl Accept {
    fn of(key: &str) -> Self {
        let digest = Sha1::new()
            .chain_update(key.as_bytes())
            .chain_update(MAGIC)
            .finalize();
        let mut text = [0; 28];
        // 20 bytes are 28 characters, always.
        let _ = BASE64_STANDARD.encode_slice(digest, &mut text);
        Self(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upgrade(protocols: &[&str]) -> Upgrade {
        let protocols: Vec<String> = protocols.iter().map(|&one| one.to_owned()).collect();
        Upgrade::new(&HttpRequest::get("h:1", "/chat"), &protocols).unwrap()
    }

    #[test]
    fn the_key_of_the_rfc_gives_its_accept() {
        let accept = Accept::of("dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(&accept.0, b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn a_request_has_what_the_rfc_asks_for() {
        let mut request = HttpRequest::get("h:1", "/chat?a");
        request.headers.push(("Origin".into(), "http://h".into()));
        let it = Upgrade::new(&request, &["a".into(), "b".into()]).unwrap();
        let mut out = Vec::new();
        it.put(*b"the sample nonce", &mut out);
        let text = String::from_utf8(out).unwrap();
        let expected = "GET /chat?a HTTP/1.1\r\nHost: h:1\r\nOrigin: http://h\r\nUpgrade: websocket\r\n\
                        Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: a, b\r\n\
                        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        assert_eq!(text, expected);
        for name in ["Connection", "SEC-WEBSOCKET-KEY", "upgrade"] {
            let mut request = HttpRequest::get("h", "/");
            request.headers.push((name.into(), "x".into()));
            let refused = Upgrade::new(&request, &[]);
            assert_eq!(refused, Err(ReservedField(name.into())));
        }
    }

    #[test]
    fn answers_are_judged() {
        const GOOD: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\n\
            connection: keep-alive, upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
        let accept = Accept::of("dGhlIHNhbXBsZSBub25jZQ==");
        let judge = |text: &str| upgrade(&["chat"]).answered(&accept, text.as_bytes());
        assert_eq!(judge(&format!("{GOOD}\u{1}")), Ok(Some(GOOD.len())));
        for end in 0..GOOD.len() {
            assert_eq!(judge(&GOOD[..end]), Ok(None));
        }
        let with =
            |field: &str| GOOD.replace("Upgrade: WebS", &format!("{field}\r\nUpgrade: WebS"));
        assert!(judge(&with("Sec-WebSocket-Protocol: chat")).is_ok());
        assert!(judge(&with("Sec-WebSocket-Extensions:")).is_ok());
        for (text, why) in [
            ("SSH-2.0-x\r\n".into(), "the server speaks SSH"),
            ("ICY 200 OK\r\n".into(), "not HTTP/1.1"),
            ("HTTP/1.1 200 OK\r\nContent-".into(), "status 200"),
            (GOOD.replace("101", "404"), "status 404"),
            (GOOD.replace(": WebSocket", ": h2c"), "no Upgrade"),
            (GOOD.replace(", upgrade", ""), "no Connection"),
            (GOOD.replace("Accept", "Except"), "no Sec-WebSocket-Accept"),
            (GOOD.replace("s3p", "S3p"), "does not fit"),
            (with("Sec-WebSocket-Accept: x"), "does not fit"),
            (with("Sec-WebSocket-Extensions: x"), "extension"),
            (with("Sec-WebSocket-Protocol: superchat"), "subprotocol"),
        ] {
            let error = judge(&text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
