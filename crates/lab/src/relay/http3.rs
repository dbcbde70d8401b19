//! From HTTP/2 on one side to a server's HTTP/3 on the other: what verifies a server over HTTP/2 verifies it over HTTP/3
//! through this. The crates `quinn` and `h3` speak with the server, other implementations than those that load.

use bytes::{Buf, Bytes};
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream, server};
use http::{Request, Response, Version};
use prony_engine::protocol::tls::{TlsOptions, client_config};
use quinn::crypto::rustls::QuicClientConfig;
use std::error::Error;
use std::future::poll_fn;
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime;
use tokio::time::timeout;

/// A handshake takes at most this.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Streams of a client at once.
const STREAMS: u32 = 1_000;

type Failed = Box<dyn Error + Send + Sync>;
type Requests = h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>;

/// Serves one client, on a connection of QUIC of its own.
pub(super) fn serve(client: &TcpStream, server: SocketAddr, options: &TlsOptions) {
    let carried = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failed::from)
        .and_then(|runtime| runtime.block_on(carry(client, server, options)));
    // Why it ended is the affair of the client, which finds its connection closed.
    drop(carried);
    let _ = client.shutdown(Shutdown::Both);
}

async fn carry(client: &TcpStream, at: SocketAddr, options: &TlsOptions) -> Result<(), Failed> {
    let client = client.try_clone()?;
    client.set_nonblocking(true)?;
    let client = tokio::net::TcpStream::from_std(client)?;
    let mut builder = server::Builder::new();
    builder.max_concurrent_streams(STREAMS);
    let mut client = builder.handshake::<_, Bytes>(client).await?;
    let (requests, endpoint) = timeout(HANDSHAKE, connect(at, options)).await??;
    while let Some(accepted) = client.accept().await {
        let (request, respond) = accepted?;
        tokio::spawn(pass_on(requests.clone(), request, respond));
    }
    // The server is told that the connection is over.
    endpoint.close(0x100_u32.into(), b"");
    let _ = timeout(Duration::from_secs(1), endpoint.wait_idle()).await;
    Ok(())
}

async fn connect(
    at: SocketAddr,
    options: &TlsOptions,
) -> Result<(Requests, quinn::Endpoint), Failed> {
    let (tls, name) = client_config(options)?;
    let config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    let any: SocketAddr = match at {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let endpoint = quinn::Endpoint::client(any)?;
    let connection = endpoint.connect_with(config, at, &name)?.await?;
    let connection = h3_quinn::Connection::new(connection);
    let (mut driver, requests) = h3::client::new(connection).await?;
    tokio::spawn(async move { poll_fn(|context| driver.poll_close(context)).await });
    Ok((requests, endpoint))
}

/// Passes a request on, and its answer back.
async fn pass_on(
    requests: Requests,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
) {
    if exchange(requests, request, &mut respond).await.is_err() {
        respond.send_reset(Reason::INTERNAL_ERROR);
    }
}

async fn exchange(
    mut requests: Requests,
    request: Request<RecvStream>,
    respond: &mut SendResponse<Bytes>,
) -> Result<(), Failed> {
    let (mut head, mut body) = request.into_parts();
    head.version = Version::HTTP_3;
    let stream = requests.send_request(Request::from_parts(head, ())).await?;
    let (mut sending, mut receiving) = stream.split();
    // An answer may come before the whole of its request has been taken.
    let up = tokio::spawn(async move {
        while let Some(piece) = body.data().await {
            let piece = piece?;
            let _ = body.flow_control().release_capacity(piece.len());
            sending.send_data(piece).await?;
        }
        if let Some(trailers) = body.trailers().await? {
            sending.send_trailers(trailers).await?;
        }
        sending.finish().await?;
        Ok::<(), Failed>(())
    });
    let down = async {
        let (mut head, ()) = receiving.recv_response().await?.into_parts();
        head.version = Version::HTTP_2;
        let mut out = respond.send_response(Response::from_parts(head, ()), false)?;
        while let Some(mut piece) = receiving.recv_data().await? {
            let piece = piece.copy_to_bytes(piece.remaining());
            send(&mut out, piece).await?;
        }
        match receiving.recv_trailers().await? {
            Some(trailers) => out.send_trailers(trailers)?,
            None => out.send_data(Bytes::new(), true)?,
        }
        Ok::<(), Failed>(())
    };
    let result = down.await;
    // What the server has not taken by then it does not want.
    up.abort();
    result
}

/// Sends a piece of a body as the client gives room for it.
async fn send(out: &mut SendStream<Bytes>, mut piece: Bytes) -> Result<(), Failed> {
    while !piece.is_empty() {
        out.reserve_capacity(piece.len());
        let room = poll_fn(|context| out.poll_capacity(context)).await;
        let room = room.ok_or("the client has gone")??;
        let part = piece.split_to(room.min(piece.len()));
        out.send_data(part, false)?;
    }
    Ok(())
}
