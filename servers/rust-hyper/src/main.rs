//! hyper on tokio, answering "<path> at <date>" over HTTP/1.1 or HTTP/2, with TLS or without.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;
use std::{env, io};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderValue, CONTENT_TYPE};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Builder;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::TlsAcceptor;

const MAX_HEAD: usize = 16 * 1024;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let host = args.first().and_then(|host| host.parse::<IpAddr>().ok());
    let port = args.get(1).and_then(|port| port.parse::<u16>().ok());
    let workers = args
        .get(2)
        .map_or(Some(1), |workers| workers.parse::<usize>().ok());
    let (Some(host), Some(port), Some(workers @ 1..)) = (host, port, workers) else {
        eprintln!("usage: rust-hyper HOST PORT [WORKERS [plain|tls|h2c|h2 [CERT KEY]]]");
        return ExitCode::from(2);
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
    match spoken.and_then(|spoken| run(addr, workers, spoken)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot serve on {addr}: {error}");
            ExitCode::FAILURE
        }
    }
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

fn run(addr: SocketAddr, workers: usize, spoken: Spoken) -> io::Result<()> {
    // One worker needs none of the machinery that steals tasks between threads.
    let mut runtime = match workers {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    let runtime = runtime.worker_threads(workers).enable_io().build()?;
    runtime.block_on(async {
        let listener = listen(addr)?;
        // A task of its own, because the future given to block_on runs on the main thread:
        // each connection would have to be handed over from there to a worker.
        tokio::spawn(accept(listener, spoken)).await?;
        Ok(())
    })
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

async fn accept(listener: TcpListener, spoken: Spoken) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(secure(stream, spoken.clone()))),
            // Out of descriptors, most likely: go on until a connection ends.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

/// Serves a connection. Its errors concern that client alone, and are ignored.
async fn secure(stream: TcpStream, spoken: Spoken) {
    let _ = match spoken.tls {
        None => serve(stream, spoken.http2).await,
        Some(tls) => match tls.accept(stream).await {
            Ok(stream) => serve(stream, spoken.http2).await,
            Err(_) => return,
        },
    };
}

/// Returns an error when the peer resets the connection or sends nonsense, which hyper has
/// answered by then.
async fn serve<S>(stream: S, http2: bool) -> hyper::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let stream = TokioIo::new(stream);
    if http2 {
        return http2::Builder::new(TokioExecutor::new())
            .serve_connection(stream, service_fn(echo))
            .await;
    }
    http1::Builder::new()
        .half_close(true)
        .max_buf_size(MAX_HEAD)
        .serve_connection(stream, service_fn(echo))
        .await
}

async fn echo(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let date = httpdate::fmt_http_date(SystemTime::now());
    // Over HTTP/2 the scheme and the authority are a part of the URI.
    let target = request.uri().path_and_query().map_or("", |it| it.as_str());
    let body = format!("{target} at {date}");
    let mut response = Response::new(Full::from(body));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Ok(response)
}
