//! HTTP/1.1 as a client speaks it (RFC 9112).

mod answer;
mod head;

use super::{Events, Expect, Fault, Fifo, Session, surplus};

pub use answer::{AnswerProgress, HttpReader, HttpState, Keep};
pub use head::response_parser;

pub(super) use head::{asks_to_close, unasked};

/// How much of an answer is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Limits {
    /// Status line and header fields together, in bytes; also each chunk-size line and the
    /// trailer section.
    pub head: u64,
    /// The body, in bytes, after removal of any chunked coding.
    pub body: u64,
}

impl Default for Limits {
    /// 64 KiB of head (four times what common servers accept as a request's), 1 GiB of body.
    fn default() -> Self {
        Self {
            head: 64 << 10,
            body: 1 << 30,
        }
    }
}

/// A request as the user describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method, such as `GET`.
    pub method: String,
    /// The request target, such as `/path?query`.
    pub target: String,
    /// The `Host` field, unless `headers` has one.
    pub host: String,
    /// Further header fields, in order.
    pub headers: Vec<(String, String)>,
    /// The body; with one, a `Content-Length` is sent unless `headers` has one.
    pub body: Vec<u8>,
    /// Ask the server to keep the connection open.
    pub keepalive: bool,
}

impl HttpRequest {
    /// `GET target` with nothing else.
    pub fn get(host: impl Into<String>, target: impl Into<String>) -> Self {
        Self {
            method: "GET".into(),
            target: target.into(),
            host: host.into(),
            headers: Vec::new(),
            body: Vec::new(),
            keepalive: true,
        }
    }

    /// The request's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let has = |name: &str| {
            self.headers
                .iter()
                .any(|(n, _)| n.eq_ignore_ascii_case(name))
        };
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !has("host") {
            head += &format!("Host: {}\r\n", self.host);
        }
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let takes_body = matches!(self.method.as_str(), "POST" | "PUT" | "PATCH");
        if (takes_body || !self.body.is_empty())
            && !has("content-length")
            && !has("transfer-encoding")
        {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        if !self.keepalive && !has("connection") {
            head += "Connection: close\r\n";
        }
        head += "\r\n";
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// A request's bytes and what its answer must be.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HttpExchange {
    request: Vec<u8>,
    expect: Expect,
    /// Answers to HEAD have no body, whatever their header says.
    head: bool,
    /// Says `Connection: close`, so that it is the last on its connection (RFC 9112, 9.6).
    closes: bool,
}

impl HttpExchange {
    /// `request`, whose answer must be as `expect` says.
    pub fn new(request: &HttpRequest, expect: Expect) -> Self {
        Self::raw(request.encode(), expect)
    }

    /// A request as it goes over the wire: exactly one, complete with its body.
    pub fn raw(request: impl Into<Vec<u8>>, expect: Expect) -> Self {
        let request = request.into();
        Self {
            head: request.starts_with(b"HEAD "),
            closes: asks_to_close(&request),
            request,
            expect,
        }
    }
}

impl HttpExchange {
    /// The request, as it goes over the wire.
    #[must_use]
    pub fn request(&self) -> &[u8] {
        &self.request
    }

    /// Does the request say `Connection: close`?
    #[must_use]
    pub fn asks_to_close(&self) -> bool {
        self.closes
    }

    pub(crate) fn expects_status(&self) -> bool {
        self.expect.names_status()
    }

    /// Length of the request, in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.request.len() as u64
    }
}

/// Sends a list of requests in turn on every connection, each connection starting at another
/// place in the list, and judges every answer.
#[derive(Debug, Clone)]
pub struct Http {
    exchanges: Vec<HttpExchange>,
    reader: HttpReader,
}

impl Http {
    /// `exchanges` must not be empty.
    pub fn new(exchanges: Vec<HttpExchange>, limits: Limits) -> Self {
        assert!(!exchanges.is_empty(), "at least one request is needed");
        let reader = HttpReader::new(limits);
        Self {
            reader: match &exchanges[..] {
                [only] => reader.to(&only.request),
                _ => reader,
            },
            exchanges,
        }
    }

    fn exchange(exchanges: &[HttpExchange], slot: u32, nth: u32) -> &HttpExchange {
        match exchanges {
            [only] => only,
            many => &many[(slot.wrapping_add(nth)) as usize % many.len()],
        }
    }
}

/// State of a connection.
#[derive(Debug, Default)]
pub struct HttpConn {
    sent: u32,
    answered: u32,
    /// The last request on it has been sent.
    closing: bool,
    state: HttpState,
}

impl Session for Http {
    type Conn = HttpConn;
    type Token = Fifo;

    #[inline]
    fn accepts(&self, conn: &HttpConn) -> bool {
        !conn.closing
    }

    #[inline]
    fn request(&mut self, conn: &mut HttpConn, slot: u32, _: Fifo, out: &mut Vec<u8>) {
        let exchange = Self::exchange(&self.exchanges, slot, conn.sent);
        conn.closing = exchange.closes;
        conn.sent = conn.sent.wrapping_add(1);
        out.extend_from_slice(&exchange.request);
    }

    #[inline(always)] // once per answer; the worker's bookkeeping becomes a part of it
    fn received(
        &mut self,
        conn: &mut HttpConn,
        slot: u32,
        bytes: &[u8],
        _out: &mut Vec<u8>,
        events: &mut impl Events<Fifo>,
    ) -> Result<(), Fault> {
        if conn.sent == conn.answered {
            return Err(unasked(bytes));
        }
        let mut at = 0;
        while at < bytes.len() {
            let exchange = Self::exchange(&self.exchanges, slot, conn.answered);
            let (used, answer) = self.reader.read(
                &mut conn.state,
                &bytes[at..],
                exchange.head,
                &exchange.expect,
                &mut (),
            )?;
            at += used;
            let Some(mut answer) = answer else {
                if conn.state.begins() {
                    events.begun(Fifo);
                }
                continue;
            };
            conn.answered = conn.answered.wrapping_add(1);
            answer.last |= exchange.closes;
            if at < bytes.len() && (answer.last || conn.sent == conn.answered) {
                return Err(surplus(at, &answer, events));
            }
            events.answered(Fifo, answer);
        }
        Ok(())
    }

    fn end(&mut self, conn: &mut HttpConn, slot: u32, events: &mut impl Events<Fifo>) {
        if conn.sent != conn.answered {
            let exchange = Self::exchange(&self.exchanges, slot, conn.answered);
            if let Some(answer) = self.reader.end(&mut conn.state, &exchange.expect) {
                conn.answered = conn.answered.wrapping_add(1);
                events.answered(Fifo, answer);
            }
        }
    }

    fn first_head(&self) -> &[u8] {
        self.reader.first_head()
    }

    fn progress(&self, conn: &HttpConn, _: Fifo) -> AnswerProgress {
        conn.state.progress()
    }
}

#[cfg(test)]
mod tests;
