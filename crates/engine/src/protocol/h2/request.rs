//! Requests of HTTP/2, encoded once.

use super::hpack::{self, DYNAMIC, Form, OVERHEAD, TABLE_SIZE};
use super::reception::Wanted;
use crate::protocol::{Expect, HttpRequest};

/// A header field that HTTP/2 has no place for (RFC 9113, 8.2.2).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("HTTP/2 has no header field {0:?}: it is about a connection of HTTP/1.1")]
pub struct ForbiddenField(pub String);

/// A request over HTTP/2 or HTTP/3 and what its answer must be.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StreamedExchange<E = Expect> {
    /// Names in lower case, pseudo-header fields first.
    fields: Vec<(String, String)>,
    body: Vec<u8>,
    expect: E,
    /// Answers to HEAD have no body, whatever their header says.
    head: bool,
}

impl<E> StreamedExchange<E> {
    /// `request`, whose answer must be as `expect` says. `secure`: it goes over TLS.
    ///
    /// # Errors
    /// When a field cannot be sent over HTTP/2.
    pub fn new(request: &HttpRequest, secure: bool, expect: E) -> Result<Self, ForbiddenField> {
        let named = |name: &str| {
            let mut fields = request.headers.iter();
            fields.find(|field| field.0.eq_ignore_ascii_case(name))
        };
        let authority = named("host").map_or(&request.host, |(_, value)| value);
        let scheme = if secure { "https" } else { "http" };
        let mut fields: Vec<(String, String)> = [
            (":method", request.method.as_str()),
            (":scheme", scheme),
            (":authority", authority),
            (":path", &request.target),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        for (name, value) in &request.headers {
            match name.to_ascii_lowercase() {
                lower if lower == "host" => {}
                lower if is_forbidden(&lower, value) => return Err(ForbiddenField(name.clone())),
                lower => fields.push((lower, value.clone())),
            }
        }
        let takes_body = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH");
        if (takes_body || !request.body.is_empty()) && named("content-length").is_none() {
            fields.push(("content-length".into(), request.body.len().to_string()));
        }
        Ok(Self {
            fields,
            body: request.body.clone(),
            expect,
            head: request.method == "HEAD",
        })
    }

    /// The same without content-length, which HTTP/2 does not need.
    #[must_use]
    pub(crate) fn without_length(mut self) -> Self {
        self.fields.retain(|(name, _)| name != "content-length");
        self
    }

    /// Length of the request, in bytes.
    pub(crate) fn length(&self) -> u64 {
        let fields = self.fields.iter();
        let fields: usize = fields.map(|(name, value)| name.len() + value.len()).sum();
        (fields + self.body.len()) as u64
    }
}

impl<E> StreamedExchange<E> {
    /// Returns the fields, pseudo-header fields first.
    pub(in crate::protocol) fn fields(&self) -> &[(String, String)] {
        &self.fields
    }

    /// Returns its body, what is expected of its answer, and whether it is one of HEAD.
    pub(in crate::protocol) fn into_rest(self) -> (Vec<u8>, E, bool) {
        (self.body, self.expect, self.head)
    }
}

impl StreamedExchange {
    pub(crate) fn expects_status(&self) -> bool {
        self.expect.names_status()
    }
}

/// Has HTTP/2 no place for this field, whose name is in lower case?
pub(in crate::protocol) fn is_forbidden(name: &str, value: &str) -> bool {
    match name {
        "connection" | "keep-alive" | "proxy-connection" | "transfer-encoding" | "upgrade" => true,
        "te" => !value.eq_ignore_ascii_case("trailers"),
        _ => false,
    }
}

/// An exchange as it goes over the wire.
#[derive(Debug, Clone)]
pub(super) struct Prepared<E = Expect> {
    /// The header block that adds its fields to the server's table, and the one that refers to them afterwards.
    pub(super) first: Vec<u8>,
    pub(super) again: Vec<u8>,
    /// The header block that has no effect on the server's table.
    pub(super) plain: Vec<u8>,
    /// Size of the fields in the server's table, in bytes as HPACK counts them.
    pub(super) table: usize,
    pub(super) body: Vec<u8>,
    pub(super) expect: E,
    pub(super) head: bool,
}

impl Prepared<()> {
    /// In the place of requests that are composed.
    pub(super) fn of_composed() -> Self {
        Self {
            first: Vec::new(),
            again: Vec::new(),
            plain: Vec::new(),
            table: 0,
            body: Vec::new(),
            expect: (),
            head: false,
        }
    }
}

impl<E> Prepared<E> {
    #[inline]
    pub(super) fn wanted(&self) -> Wanted<'_, E> {
        Wanted {
            expect: &self.expect,
            head: self.head,
        }
    }

    pub(super) fn new(exchange: StreamedExchange<E>) -> Self {
        let (mut first, mut again, mut plain) = (Vec::new(), Vec::new(), Vec::new());
        let is_added = |(name, value): &&(String, String)| hpack::known(name, value).is_none();
        let added = exchange.fields.iter().filter(is_added).count();
        let mut nth = 0;
        let mut table = 0;
        for (name, value) in &exchange.fields {
            if let Some(index) = hpack::known(name, value) {
                for block in [&mut first, &mut again, &mut plain] {
                    hpack::put_index(index, block);
                }
                continue;
            }
            table += name.len() + value.len() + OVERHEAD;
            nth += 1;
            hpack::put(name, value, Form::Added, &mut first);
            // The one that was added last has the first index.
            hpack::put_index(DYNAMIC + added - nth, &mut again);
            hpack::put(name, value, Form::Literal, &mut plain);
        }
        if table > TABLE_SIZE {
            table = usize::MAX;
        }
        Self {
            first,
            again,
            plain,
            table,
            body: exchange.body,
            expect: exchange.expect,
            head: exchange.head,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::hpack::Decoder;
    use super::*;

    fn fields(decoder: &mut Decoder, block: &[u8]) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        decoder
            .decode(block, 65_536, |name, value| {
                fields.push((text(name), text(value)));
            })
            .unwrap();
        fields
    }

    #[test]
    fn all_three_blocks_have_the_same_fields() {
        let request = HttpRequest {
            method: "POST".into(),
            headers: vec![
                ("X-One".into(), "1".into()),
                ("Accept".into(), "*/*".into()),
                ("Host".into(), "other".into()),
            ],
            body: b"hello".to_vec(),
            ..HttpRequest::get("h:1", "/a?b")
        };
        let exchange = StreamedExchange::new(&request, false, Expect::default()).unwrap();
        let expected = exchange.fields.clone();
        let names: Vec<_> = expected.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                ":method",
                ":scheme",
                ":authority",
                ":path",
                "x-one",
                "accept",
                "content-length"
            ]
        );
        assert_eq!(expected[2].1, "other");
        let it = Prepared::new(exchange);
        let mut decoder = Decoder::default();
        for block in [&it.plain, &it.first, &it.again, &it.again, &it.plain] {
            assert_eq!(fields(&mut decoder, block), expected);
        }
    }

    #[test]
    fn fields_of_a_connection_are_refused() {
        for (name, value) in [("Connection", "close"), ("TE", "gzip"), ("Upgrade", "x")] {
            let request = HttpRequest {
                headers: vec![(name.into(), value.into())],
                ..HttpRequest::get("h", "/")
            };
            let result = StreamedExchange::new(&request, true, Expect::default());
            assert_eq!(result, Err(ForbiddenField(name.into())));
        }
    }
}
