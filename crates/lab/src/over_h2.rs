//! Answers over HTTP/2, read by another implementation than the one that loads.

use bytes::Bytes;
use h2::client;
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use prony_engine::protocol::HttpRequest;
use prony_engine::protocol::encoding::Encoding;
use std::fmt::Display;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::time::timeout;

/// The longest body that is read, in bytes.
const MOST: usize = 64 << 20;

/// One whole answer.
#[derive(Debug)]
pub(crate) struct H2Answer {
    pub(crate) status: u16,
    pub(crate) fields: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl H2Answer {
    /// The body without its content codings, to at most `limit` bytes; as it came without one.
    pub(crate) fn decoded(self, limit: Option<u64>) -> Result<Vec<u8>, String> {
        let encoding = Encoding::of(
            self.fields
                .get_all("content-encoding")
                .iter()
                .map(HeaderValue::as_bytes),
        );
        match limit {
            Some(limit) if !encoding.is_identity() => encoding.decode(&self.body, limit),
            _ => Ok(self.body),
        }
    }
}

/// End of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestEnd {
    /// The last of its head and body.
    Itself,
    /// A piece of body that is empty.
    EmptyData,
    /// A field after the body.
    Trailers,
}

/// Asks once, as [`fetch`] does, with this end.
///
/// # Errors
/// When there is no answer, in words.
pub(crate) fn fetch_one(
    addr: SocketAddr,
    (request, end): (&HttpRequest, RequestEnd),
    tls: bool,
    silence: Duration,
) -> Result<H2Answer, String> {
    let answers = fetch_ended(addr, (request, end), tls, 1, silence)?;
    answers.into_iter().next().ok_or_else(|| "no answer".into())
}

/// Asks so often on one connection, and gives the answers. `tls` says which scheme is named; `silence` is how long each
/// step of it may take, of which every piece of a body is one.
///
/// # Errors
/// When there is no answer, in words.
pub(crate) fn fetch(
    addr: SocketAddr,
    request: &HttpRequest,
    tls: bool,
    times: usize,
    silence: Duration,
) -> Result<Vec<H2Answer>, String> {
    fetch_ended(addr, (request, RequestEnd::Itself), tls, times, silence)
}

fn fetch_ended(
    addr: SocketAddr,
    asked: (&HttpRequest, RequestEnd),
    tls: bool,
    times: usize,
    silence: Duration,
) -> Result<Vec<H2Answer>, String> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let stream = within(silence, "a connection", TcpStream::connect(addr)).await?;
        let handshake = client::handshake(stream);
        let (client, connection) = within(silence, "HTTP/2's greeting", handshake).await?;
        // What ends the connection is told where an answer is awaited.
        tokio::spawn(connection);
        let mut answers = Vec::with_capacity(times);
        for _ in 0..times {
            answers.push(ask(client.clone(), asked, tls, silence).await?);
        }
        Ok(answers)
    })
}

async fn ask(
    client: client::SendRequest<Bytes>,
    (request, end): (&HttpRequest, RequestEnd),
    tls: bool,
    silence: Duration,
) -> Result<H2Answer, String> {
    let scheme = if tls { "https" } else { "http" };
    let host = request
        .headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("host"))
        .map_or(&request.host, |(_, value)| value);
    let mut built = Request::builder()
        .method(request.method.as_str())
        .uri(format!("{scheme}://{host}{}", request.target));
    for (name, value) in &request.headers {
        if !name.eq_ignore_ascii_case("host") {
            built = built.header(name, value);
        }
    }
    let takes_body = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH");
    let has_length = |(name, _): &(String, String)| name.eq_ignore_ascii_case("content-length");
    if (takes_body || !request.body.is_empty()) && !request.headers.iter().any(has_length) {
        built = built.header("content-length", request.body.len());
    }
    let built = built.body(()).map_err(|error| error.to_string())?;
    let mut client = within(silence, "room for a stream", client.ready()).await?;
    let ends = end == RequestEnd::Itself;
    let empty = request.body.is_empty();
    let (answer, mut body) = client
        .send_request(built, empty && ends)
        .map_err(|error| error.to_string())?;
    let mut sent = match empty {
        true => Ok(()),
        false => body.send_data(request.body.clone().into(), ends),
    };
    sent = sent.and_then(|()| match end {
        RequestEnd::Itself => Ok(()),
        RequestEnd::EmptyData => body.send_data(Bytes::new(), true),
        RequestEnd::Trailers => {
            let name = HeaderName::from_static("x-trailer");
            let value = HeaderValue::from_static("to be ignored");
            body.send_trailers(HeaderMap::from_iter([(name, value)]))
        }
    });
    sent.map_err(|error| error.to_string())?;
    let (head, mut stream) = within(silence, "an answer", answer).await?.into_parts();
    let mut bytes = Vec::new();
    while let Some(piece) = limited(silence, "the rest of an answer", stream.data()).await? {
        let piece = piece.map_err(|error| error.to_string())?;
        let _ = stream.flow_control().release_capacity(piece.len());
        bytes.extend_from_slice(&piece);
        if bytes.len() > MOST {
            return Err(format!("an answer of more than {} MiB", MOST >> 20));
        }
    }
    Ok(H2Answer {
        status: head.status.as_u16(),
        fields: head.headers,
        body: bytes,
    })
}

/// Waits for something that can fail, not for ever.
async fn within<T, E: Display>(
    silence: Duration,
    what: &str,
    it: impl Future<Output = Result<T, E>>,
) -> Result<T, String> {
    let came = limited(silence, what, it).await?;
    came.map_err(|error| format!("expected {what}; found: {error}"))
}

async fn limited<T>(
    silence: Duration,
    what: &str,
    it: impl Future<Output = T>,
) -> Result<T, String> {
    timeout(silence, it)
        .await
        .map_err(|_| format!("expected {what}; found silence for {silence:?}"))
}
