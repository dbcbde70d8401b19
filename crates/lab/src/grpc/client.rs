//! Calls over the crate `h2`: by another implementation of HTTP/2 and of gRPC's framing than the one that loads.

use crate::relay::Relay;
use bytes::Bytes;
use h2::client::{self, SendRequest};
use h2::{RecvStream, SendStream};
use http::{HeaderMap, Request};
use percent_encoding::percent_decode;
use prony_engine::Target;
use prony_engine::protocol::grpc::{GrpcStatus, shown};
use prony_engine::protocol::tls::TlsOptions;
use std::fmt::Display;
use std::future::Future;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::{self, Runtime};
use tokio::time::timeout;

/// The most bytes of an answer that are read.
const MOST: usize = 64 << 20;
/// How much the server may send ahead.
const WINDOW: u32 = 1 << 20;
/// How long a call may take, as a multiple of the longest silence.
const CEILING: u32 = 60;

/// An answer, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrpcAnswer {
    /// The status of HTTP.
    pub http: u16,
    /// `content-type`, if there is one.
    pub content_type: Option<String>,
    /// `grpc-status`; None: there is none.
    pub status: Option<String>,
    /// `grpc-message`, decoded.
    pub text: String,
    /// The messages.
    pub messages: Vec<Vec<u8>>,
}

impl GrpcAnswer {
    /// The status, if it is one that gRPC has.
    #[must_use]
    pub fn code(&self) -> Option<GrpcStatus> {
        let number: u32 = self.status.as_deref()?.parse().ok()?;
        GrpcStatus::of(number)
    }

    /// Checks an answer that should have this status: everything between HTTP and the messages.
    ///
    /// # Errors
    /// What came instead, in words.
    pub fn check(&self, expected: GrpcStatus) -> Result<(), String> {
        let text = match self.text.as_str() {
            "" => String::new(),
            text => format!(": {}", shown(text.as_bytes())),
        };
        if self.status.is_none() && self.http != 200 {
            return Err(format!("HTTP status {} and no grpc-status", self.http));
        }
        let content = self.content_type.as_deref().unwrap_or_default();
        let rest = content.strip_prefix("application/grpc");
        if !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', ';'])) {
            return Err(match content {
                "" => "an answer without content-type, expected application/grpc".to_owned(),
                other => format!(
                    "content-type {}, expected application/grpc",
                    shown(other.as_bytes())
                ),
            });
        }
        match (&self.status, self.code()) {
            (None, _) => Err("an answer without grpc-status".to_owned()),
            (Some(other), None) => Err(format!(
                "grpc-status {:?}, which is none of gRPC's{text}",
                shown(other.as_bytes())
            )),
            (Some(_), Some(code)) if code != expected => Err(format!("status {code}{text}")),
            _ if self.http != 200 => Err(format!("HTTP status {}, expected 200", self.http)),
            _ => Ok(()),
        }
    }
}

/// Request to send: its path and metadata, and its body in pieces, each in a separate DATA frame.
#[derive(Debug, Clone)]
pub(crate) struct GrpcRequest {
    pub path: String,
    pub metadata: Vec<(String, String)>,
    pub body: Vec<Bytes>,
}

impl GrpcRequest {
    /// A message in one piece.
    pub fn message(path: &str, metadata: &[(String, String)], message: &[u8]) -> Self {
        Self::messages(path, metadata, &[message.to_vec()])
    }

    /// Several messages, each in one piece.
    pub fn messages(path: &str, metadata: &[(String, String)], messages: &[Vec<u8>]) -> Self {
        Self {
            path: path.to_owned(),
            metadata: metadata.to_vec(),
            body: messages.iter().map(|one| framed(one).into()).collect(),
        }
    }
}

/// A message with its prefix.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let mut body = Vec::with_capacity(5 + message.len());
    body.push(0);
    body.extend_from_slice(&length.to_be_bytes());
    body.extend_from_slice(message);
    body
}

/// A connection.
pub(crate) struct Client {
    runtime: Runtime,
    line: Channel,
    /// To a server with TLS, as long as it is spoken to.
    _relay: Option<Relay>,
}

/// Parts of a connection that a call needs.
#[derive(Clone)]
struct Channel {
    client: SendRequest<Bytes>,
    authority: String,
    secure: bool,
    silence: Duration,
}

impl Client {
    /// To a server, over TLS or not. The crate `h2` speaks without TLS; a relay speaks TLS with the server.
    pub fn reach(
        target: &Target,
        tls: Option<&TlsOptions>,
        authority: &str,
        silence: Duration,
    ) -> Result<Self, String> {
        let (Some(options), Target::Tcp(addr)) = (tls, target) else {
            return Self::connect(target, authority, tls.is_some(), silence);
        };
        let relay = Relay::to(*addr, options).map_err(|error| error.to_string())?;
        let client = Self::connect(&Target::Tcp(relay.addr()), authority, true, silence)?;
        Ok(Self {
            _relay: Some(relay),
            ..client
        })
    }

    /// To a server that listens without TLS; `secure` says that it is called as one with TLS is. Nothing is waited for
    /// longer than `silence` without something coming.
    pub fn connect(
        target: &Target,
        authority: &str,
        secure: bool,
        silence: Duration,
    ) -> Result<Self, String> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        let client = runtime.block_on(async {
            match target {
                Target::Tcp(addr) => {
                    let stream = within(silence, "a connection", TcpStream::connect(addr)).await?;
                    stream
                        .set_nodelay(true)
                        .map_err(|error| error.to_string())?;
                    greet(stream, silence).await
                }
                Target::Unix(path) => {
                    let stream = within(silence, "a connection", UnixStream::connect(path)).await?;
                    greet(stream, silence).await
                }
            }
        })?;
        Ok(Self {
            runtime,
            line: Channel {
                client,
                authority: authority.to_owned(),
                secure,
                silence,
            },
            _relay: None,
        })
    }

    /// Makes one call.
    pub fn call(&self, sent: &GrpcRequest) -> Result<GrpcAnswer, String> {
        self.runtime
            .block_on(self.line.clone().limited_call(sent.clone()))
    }

    /// Begins a call, and leaves before it has been sent whole.
    pub fn leave(self, sent: &GrpcRequest) -> Result<(), String> {
        self.runtime.block_on(async {
            let mut client = self.line.client.clone();
            let (_answer, mut body) = client
                .send_request(self.line.request(sent)?, false)
                .map_err(|error| error.to_string())?;
            for piece in &sent.body {
                body.send_data(piece.clone(), false)
                    .map_err(|error| error.to_string())?;
            }
            // The connection's own task writes it.
            tokio::time::sleep(Duration::from_millis(2)).await;
            Ok(())
        })
    }

    /// Makes calls that are all in flight at once; gives their answers in the order of the calls.
    pub fn at_once(&self, all: &[GrpcRequest]) -> Vec<Result<GrpcAnswer, String>> {
        self.runtime.block_on(async {
            let tasks: Vec<_> = all
                .iter()
                .map(|sent| tokio::spawn(self.line.clone().limited_call(sent.clone())))
                .collect();
            let mut answers = Vec::with_capacity(tasks.len());
            for task in tasks {
                answers.push(task.await.unwrap_or_else(|error| Err(error.to_string())));
            }
            answers
        })
    }
}

async fn greet(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    silence: Duration,
) -> Result<SendRequest<Bytes>, String> {
    let mut builder = client::Builder::new();
    builder
        .initial_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .enable_push(false);
    let greeting = builder.handshake(stream);
    let (client, connection) = within(silence, "HTTP/2's greeting", greeting).await?;
    // What ends the connection is told where an answer is awaited.
    tokio::spawn(connection);
    Ok(client)
}

impl Channel {
    /// A call that ends, whatever the server does: one that lets bytes trickle is not read for ever.
    async fn limited_call(self, sent: GrpcRequest) -> Result<GrpcAnswer, String> {
        let ceiling = self.silence.saturating_mul(CEILING);
        match timeout(ceiling, self.call(sent)).await {
            Ok(answer) => answer,
            Err(_) => Err(format!(
                "expected a whole answer; found a part of it after {ceiling:?}"
            )),
        }
    }

    fn request(&self, sent: &GrpcRequest) -> Result<Request<()>, String> {
        let scheme = if self.secure { "https" } else { "http" };
        let has = |name: &str| {
            let mut names = sent.metadata.iter().map(|(name, _)| name);
            names.any(|other| other.eq_ignore_ascii_case(name))
        };
        let host = sent
            .metadata
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("host"));
        let authority = host.map_or(&self.authority, |(_, value)| value);
        let mut request = Request::builder()
            .method("POST")
            .uri(format!("{scheme}://{authority}{}", sent.path))
            .header("te", "trailers")
            .header("content-type", "application/grpc");
        if !has("user-agent") {
            request = request.header("user-agent", "grpc-prony-verifier");
        }
        for (name, value) in &sent.metadata {
            if !name.eq_ignore_ascii_case("host") {
                request = request.header(name.to_ascii_lowercase(), value);
            }
        }
        request.body(()).map_err(|error| error.to_string())
    }

    async fn call(self, sent: GrpcRequest) -> Result<GrpcAnswer, String> {
        let silence = self.silence;
        let request = self.request(&sent)?;
        let mut client = within(silence, "room for a stream", self.client.ready()).await?;
        let (answer, body) = client
            .send_request(request, sent.body.is_empty())
            .map_err(|error| error.to_string())?;
        send(body, sent.body).await?;
        let (head, body) = within(silence, "an answer", answer).await?.into_parts();
        read(head.status.as_u16(), &head.headers, body, silence).await
    }
}

/// Hands over the body, piece by piece, so that each is a frame of its own. A server that answers before it has
/// everything is heard.
async fn send(mut body: SendStream<Bytes>, pieces: Vec<Bytes>) -> Result<(), String> {
    let last = pieces.len().saturating_sub(1);
    for (nth, piece) in pieces.into_iter().enumerate() {
        if body.send_data(piece, nth == last).is_err() {
            return Ok(());
        }
        tokio::task::yield_now().await;
    }
    Ok(())
}

async fn read(
    http: u16,
    head: &HeaderMap,
    mut body: RecvStream,
    silence: Duration,
) -> Result<GrpcAnswer, String> {
    let mut bytes = Vec::new();
    while let Some(piece) = limited(silence, "the rest of an answer", body.data()).await? {
        let piece = piece.map_err(|error| format!("the answer broke off: {error}"))?;
        let _ = body.flow_control().release_capacity(piece.len());
        bytes.extend_from_slice(&piece);
        if bytes.len() > MOST {
            return Err(format!("an answer of more than {} MiB", MOST >> 20));
        }
    }
    let trailers = within(silence, "trailers", body.trailers()).await?;
    let field = |name: &str| {
        let value = trailers.as_ref().and_then(|trailers| trailers.get(name));
        let value = value.or_else(|| head.get(name));
        value.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let content_type = field("content-type");
    // What is not gRPC has no messages; that is told by its head.
    let is_grpc = content_type
        .as_deref()
        .is_some_and(|it| it.starts_with("application/grpc"));
    let messages = if is_grpc {
        messages(&bytes)?
    } else {
        Vec::new()
    };
    let text = field("grpc-message").unwrap_or_default();
    Ok(GrpcAnswer {
        http,
        content_type,
        status: field("grpc-status"),
        text: percent_decode(text.as_bytes())
            .decode_utf8_lossy()
            .into_owned(),
        messages,
    })
}

/// The messages of a body.
fn messages(mut body: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let mut all = Vec::new();
    while let [flag, a, b, c, d, rest @ ..] = body {
        if *flag != 0 {
            return Err(format!(
                "a message whose flag is {flag}, expected 0: it was not asked for compressed"
            ));
        }
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        let message = rest
            .get(..length)
            .ok_or_else(|| format!("a message of {length} bytes that ends after {}", rest.len()))?;
        all.push(message.to_vec());
        body = &rest[length..];
    }
    match body.len() {
        0 => Ok(all),
        n => Err(format!("{n} bytes behind the last message")),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_apart() {
        let body = [framed(b"ab"), framed(b""), framed(b"c")].concat();
        assert_eq!(messages(&body).unwrap(), [&b"ab"[..], b"", b"c"]);
        assert_eq!(messages(&[]).unwrap().len(), 0);
        for (wrong, why) in [
            (&body[..6], "ends after 1"),
            (&body[..10], "behind the last"),
            (&b"\x01\0\0\0\0"[..], "flag is 1"),
        ] {
            let error = messages(wrong).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
