//! salvo, answering "<path> at <date>" over HTTP/1.1, HTTP/2 or, by quinn, HTTP/3.

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::time::SystemTime;
use std::{env, io};

use salvo_core::conn::quinn::QuinnListener;
use salvo_core::conn::rustls::{Keycert, RustlsConfig, RustlsListener};
use salvo_core::conn::tcp::TcpAcceptor;
use salvo_core::conn::{Acceptor, Listener};
use salvo_core::{async_trait, Depot, FlowCtrl, Handler, Request, Response, Router, Server};
use tokio::net::TcpSocket;
use tokio::runtime::Builder;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let host = args.first().and_then(|host| host.parse::<IpAddr>().ok());
    let port = args.get(1).and_then(|port| port.parse::<u16>().ok());
    let workers = args.get(2).and_then(|workers| workers.parse().ok());
    let (Some(host), Some(port), Some(workers @ 1..)) = (host, port, workers) else {
        eprintln!("usage: rust-salvo HOST PORT WORKERS [plain|tls|h2|h3 [CERT KEY]]");
        return ExitCode::from(2);
    };
    let addr = SocketAddr::new(host, port);
    let over = args.get(3).map_or("plain", String::as_str);
    let files = args.get(4).zip(args.get(5));
    match run(addr, workers, over, files) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot serve on {addr}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(
    addr: SocketAddr,
    workers: usize,
    over: &str,
    files: Option<(&String, &String)>,
) -> Result<(), salvo_core::Error> {
    // One worker needs none of the machinery that steals tasks between threads.
    let mut runtime = match workers {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    let runtime = runtime.worker_threads(workers).enable_all().build()?;
    let config = |protocol: &str| {
        let (cert, key) = files.ok_or_else(|| io::Error::other("no certificate"))?;
        let pair = Keycert::new().cert_from_path(cert)?.key_from_path(key)?;
        Ok::<_, io::Error>(RustlsConfig::new(pair).alpn_protocols([protocol.into()]))
    };
    let tcp = Tcp(addr);
    runtime.block_on(async {
        match over {
            "plain" => serve(tcp.try_bind().await?).await,
            "tls" => serve(RustlsListener::new(config("http/1.1")?, tcp).try_bind().await?).await,
            "h2" => serve(RustlsListener::new(config("h2")?, tcp).try_bind().await?).await,
            _ => {
                let config = config("h3")?.build_quinn_config()?;
                serve(QuinnListener::new(config, addr).try_bind().await?).await
            }
        }
    })
}

async fn serve<A: Acceptor + Send + 'static>(acceptor: A) -> Result<(), salvo_core::Error> {
    let router = Router::with_path("{**path}").goal(Echo);
    // A task of its own, because the future given to block_on runs on the main thread:
    // each connection would have to be handed over from there to a worker.
    let served = tokio::spawn(Server::new(acceptor).try_serve(router));
    Ok(served.await.map_err(io::Error::other)??)
}

/// Sets the backlog, and Nagle's algorithm, which salvo's own listener leaves as they are.
struct Tcp(SocketAddr);

impl Listener for Tcp {
    type Acceptor = TcpAcceptor;

    async fn try_bind(self) -> salvo_core::Result<TcpAcceptor> {
        let socket = match self.0 {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        socket.set_reuseaddr(true)?;
        // Accepted sockets inherit this on Linux.
        socket.set_nodelay(true)?;
        socket.bind(self.0)?;
        Ok(TcpAcceptor::try_from(socket.listen(4096)?)?)
    }
}

struct Echo;

#[async_trait]
impl Handler for Echo {
    async fn handle(
        &self,
        request: &mut Request,
        _: &mut Depot,
        response: &mut Response,
        _: &mut FlowCtrl,
    ) {
        // Over HTTP/2 and HTTP/3 the scheme and the authority are a part of the URI.
        let target = request.uri().path_and_query().map_or("", |it| it.as_str());
        let date = httpdate::fmt_http_date(SystemTime::now());
        response.render(format!("{target} at {date}"));
    }
}
