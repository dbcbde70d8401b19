//! http-echo over HTTP/3, by the crates `quinn` and `h3`. It is no ceiling: most of its time goes into QUIC.

use std::future::Future;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, EndpointConfig, ServerConfig, TokioRuntime, TransportConfig};
use tokio::runtime;

use crate::ceiling::Layers;
use crate::work::Work;
use crate::{Contract, Date, Error, sys};

/// Streams that a client may have open.
const STREAMS: u32 = 1000;

/// A server that has its port and does not serve yet: datagrams wait.
#[derive(Debug)]
pub struct Http3Server {
    local_addr: SocketAddr,
    sockets: Vec<UdpSocket>,
    config: ServerConfig,
    work: Work,
}

impl Http3Server {
    /// Takes the port, with a socket for each of `workers`, over which the kernel spreads the connections. `busy`: CPU work
    /// added to each request.
    ///
    /// # Errors
    /// [`Error::Listen`] if the address is taken or not this host's, [`Error::Options`] for zero workers or without a
    /// certificate, [`Error::Tls`] if that cannot be used.
    pub fn bind(
        listen: SocketAddr,
        workers: usize,
        busy: Duration,
        layers: &Layers,
    ) -> Result<Self, Error> {
        if workers == 0 {
            return Err(Error::Options("a server needs at least one worker"));
        }
        let tls = layers.config(&["h3"])?;
        let tls = tls.ok_or(Error::Options("HTTP/3 needs a certificate"))?;
        let crypto = QuicServerConfig::try_from(tls);
        let crypto = crypto.map_err(|error| Error::Tls(error.to_string()))?;
        let mut transport = TransportConfig::default();
        transport.max_concurrent_bidi_streams(STREAMS.into());
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(Arc::new(transport));
        let first = sys::bind_datagrams(listen, workers > 1)?;
        let local_addr = first.local_addr().map_err(Error::system("getsockname"))?;
        let mut sockets = vec![first];
        for _ in 1..workers {
            sockets.push(sys::bind_datagrams(local_addr, true)?);
        }
        Ok(Self {
            local_addr,
            sockets,
            config,
            work: Work::lasting(busy),
        })
    }

    /// Where it listens, with the port that the kernel chose.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// The contract that it keeps.
    pub const CONTRACT: Contract = Contract::HttpEcho;

    /// Serves until something fails that no server can go on without; never returns `Ok`.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn run(self) -> Result<(), Error> {
        let (report, failures) = mpsc::channel();
        for (index, socket) in self.sockets.into_iter().enumerate() {
            let (report, config, work) = (report.clone(), self.config.clone(), self.work);
            thread::Builder::new()
                .name(format!("worker-{index}"))
                .spawn(move || report.send(worker(socket, config, work)))
                .map_err(Error::system("clone"))?;
        }
        drop(report);
        failures
            .recv()
            .expect("a worker reports its end unless it panics")
    }
}

fn worker(socket: UdpSocket, config: ServerConfig, work: Work) -> Result<(), Error> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::system("epoll_create"))?;
    runtime.block_on(async {
        let runtime = Arc::new(TokioRuntime);
        let endpoint = Endpoint::new(EndpointConfig::default(), Some(config), socket, runtime)
            .map_err(Error::system("socket"))?;
        while let Some(incoming) = endpoint.accept().await {
            spawn(async move {
                // A server can use a connection at once, before its handshake is done.
                let (connection, _) = incoming.accept().ok()?.into_0rtt().ok()?;
                let connection = h3_quinn::Connection::new(connection);
                let mut connection = h3::server::Connection::new(connection).await.ok()?;
                while let Some(request) = connection.accept().await.ok()? {
                    spawn(async move {
                        let (request, stream) = request.resolve_request().await.ok()?;
                        answer(&request, stream, work).await
                    });
                }
                Some(())
            });
        }
        Ok(())
    })
}

/// Carries out a task by itself: an error ends the connection or request that it is about, and no other.
fn spawn(it: impl Future<Output = Option<()>> + Send + 'static) {
    tokio::spawn(it);
}

type Stream = h3::server::RequestStream<h3_quinn::BidiStream<Bytes>, Bytes>;

async fn answer(request: &http::Request<()>, mut stream: Stream, work: Work) -> Option<()> {
    while stream.recv_data().await.ok()?.is_some() {}
    work.perform(1);
    let target = request.uri().path_and_query().map_or("/", |it| it.as_str());
    let date = Date::now();
    let body = format!("{target} at {}", date.as_str());
    let head = Response::builder()
        .status(StatusCode::OK)
        .header("content-type", "text/plain")
        .header("content-length", body.len())
        .header("date", date.as_str())
        .body(())
        .ok()?;
    stream.send_response(head).await.ok()?;
    if request.method() != Method::HEAD {
        stream.send_data(body.into()).await.ok()?;
    }
    stream.finish().await.ok()
}
