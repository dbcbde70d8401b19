//! Answers over HTTP/2, read by another implementation than the one that loads.

use crate::contract::SILENCE_LIMIT;
use bytes::Bytes;
use h2::client;
use http::Request;
use prony_engine::protocol::HttpRequest;
use std::fmt::Display;
use std::future::Future;
use std::net::SocketAddr;
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::time::timeout;

/// The longest body that is read, in bytes.
const MOST: usize = 64 << 20;

/// Asks so often on one connection: gives status and body of each answer. `tls` says which scheme is named.
///
/// # Errors
/// When there is no answer, in words.
pub(super) fn fetch(
    addr: SocketAddr,
    request: &HttpRequest,
    tls: bool,
    times: usize,
) -> Result<Vec<(u16, Vec<u8>)>, String> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let stream = within("connecting", TcpStream::connect(addr)).await?;
        let (client, connection) = within("HTTP/2's greeting", client::handshake(stream)).await?;
        // What ends the connection is told where an answer is awaited.
        tokio::spawn(connection);
        let mut answers = Vec::with_capacity(times);
        for _ in 0..times {
            answers.push(ask(client.clone(), request, tls).await?);
        }
        Ok(answers)
    })
}

async fn ask(
    client: client::SendRequest<Bytes>,
    request: &HttpRequest,
    tls: bool,
) -> Result<(u16, Vec<u8>), String> {
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
    let mut client = within("room for a stream", client.ready()).await?;
    let empty = request.body.is_empty();
    let (answer, mut body) = client
        .send_request(built, empty)
        .map_err(|error| error.to_string())?;
    if !empty {
        body.send_data(request.body.clone().into(), true)
            .map_err(|error| error.to_string())?;
    }
    let (head, mut stream) = within("an answer", answer).await?.into_parts();
    let mut bytes = Vec::new();
    while let Some(piece) = limited("the rest of an answer", stream.data()).await? {
        let piece = piece.map_err(|error| error.to_string())?;
        let _ = stream.flow_control().release_capacity(piece.len());
        bytes.extend_from_slice(&piece);
        if bytes.len() > MOST {
            return Err(format!("an answer of more than {} MiB", MOST >> 20));
        }
    }
    Ok((head.status.as_u16(), bytes))
}

/// Waits for something that can fail, not for ever.
async fn within<T, E: Display>(
    what: &str,
    it: impl Future<Output = Result<T, E>>,
) -> Result<T, String> {
    let came = limited(what, it).await?;
    came.map_err(|error| format!("expected {what}; found: {error}"))
}

async fn limited<T>(what: &str, it: impl Future<Output = T>) -> Result<T, String> {
    timeout(SILENCE_LIMIT, it)
        .await
        .map_err(|_| format!("expected {what}; found silence for {SILENCE_LIMIT:?}"))
}
