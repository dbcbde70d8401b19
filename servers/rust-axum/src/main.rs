//! axum on tokio, over HTTP/1.1 or HTTP/2, with TLS or without. As http-echo it answers "<path> at <date>", as sse with
//! events.

mod sse;

use std::future::IntoFuture;
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;
use std::{env, io};

use axum::http::Uri;
use axum::routing::get;
use axum::Router;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Builder;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::TlsAcceptor;

fn main() -> ExitCode {
    let mut args = env::args().skip(1);
    let app = match args.next().as_deref() {
        // Every path is the fallback's: a route with a wildcard would not match "/".
        Some("http-echo") => Router::new().fallback(get(echo)),
        Some("sse") => Router::new().route("/events/{n}/{gap}/{word}", get(sse::events)),
        _ => return usage(),
    };
    let args: Vec<String> = args.collect();
    let host = args.first().and_then(|host| host.parse::<IpAddr>().ok());
    let port = args.get(1).and_then(|port| port.parse::<u16>().ok());
    let workers = args
        .get(2)
        .map_or(Some(1), |workers| workers.parse::<usize>().ok());
    let (Some(host), Some(port), Some(workers @ 1..)) = (host, port, workers) else {
        return usage();
    };
    let addr = SocketAddr::new(host, port);
    let over = args.get(3).map_or("plain", String::as_str);
    let spoken = match (over, args.get(4), args.get(5)) {
        ("tls" | "h2", Some(cert), Some(key)) => acceptor(cert, key, over == "h2").map(Some),
        _ => Ok(None),
    };
    let spoken = spoken.map(|tls| Spoken {
        http2: over.starts_with("h2"),
        tls,
    });
    match spoken.and_then(|spoken| run(addr, workers, app, spoken)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot serve on {addr}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: rust-axum http-echo|sse HOST PORT [WORKERS [plain|tls|h2c|h2 [CERT KEY]]]");
    ExitCode::from(2)
}

/// Protocols of the server's connections.
#[derive(Clone)]
struct Spoken {
    http2: bool,
    tls: Option<TlsAcceptor>,
}

fn acceptor(cert: &str, key: &str, http2: bool) -> io::Result<TlsAcceptor> {
    let chain = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(io::Error::other)?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(io::Error::other)?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(io::Error::other)?;
    let protocol: &[u8] = if http2 { b"h2" } else { b"http/1.1" };
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn run(addr: SocketAddr, workers: usize, app: Router, spoken: Spoken) -> io::Result<()> {
    // One worker needs none of the machinery that steals tasks between threads.
    let mut runtime = match workers {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    let runtime = runtime.worker_threads(workers).enable_all().build()?;
    runtime.block_on(async {
        let listener = listen(addr)?;
        // A task of its own, because the future given to block_on runs on the main thread:
        // each connection would have to be handed over from there to a worker.
        if spoken.http2 || spoken.tls.is_some() {
            tokio::spawn(accept(listener, app, spoken)).await?;
            return Ok(());
        }
        tokio::spawn(axum::serve(listener, app).into_future()).await?
    })
}

/// Accepts connections over TLS and HTTP/2, which axum::serve leaves to hyper.
async fn accept(listener: TcpListener, app: Router, spoken: Spoken) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(secure(stream, app.clone(), spoken.clone()))),
            // Out of descriptors, most likely: go on until a connection ends.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

/// Serves a connection. Its errors concern that client alone, and are ignored.
async fn secure(stream: TcpStream, app: Router, spoken: Spoken) {
    let _ = match spoken.tls {
        None => serve(stream, app, spoken.http2).await,
        Some(tls) => match tls.accept(stream).await {
            Ok(stream) => serve(stream, app, spoken.http2).await,
            Err(_) => return,
        },
    };
}

async fn serve<S>(stream: S, app: Router, http2: bool) -> hyper::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (stream, service) = (TokioIo::new(stream), TowerToHyperService::new(app));
    if http2 {
        return http2::Builder::new(TokioExecutor::new())
            .serve_connection(stream, service)
            .await;
    }
    http1::Builder::new()
        .half_close(true)
        .serve_connection(stream, service)
        .await
}

fn listen(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = match addr {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    // Accepted sockets inherit this on Linux.
    socket.set_nodelay(true)?;
    socket.bind(addr)?;
    socket.listen(4096)
}

/// axum sends a String as text/plain.
async fn echo(target: Uri) -> String {
    let date = httpdate::fmt_http_date(SystemTime::now());
    // Over HTTP/2 the scheme and the authority are a part of the URI.
    let target = target.path_and_query().map_or("", |it| it.as_str());
    format!("{target} at {date}")
}
