//! WebSocket echo on fastwebsockets and hyper.

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::{env, io};

use fastwebsockets::{upgrade, FragmentCollector, OpCode, WebSocketError};
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Builder;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let host = args.first().and_then(|host| host.parse::<IpAddr>().ok());
    let port = args.get(1).and_then(|port| port.parse::<u16>().ok());
    let workers = args
        .get(2)
        .map_or(Some(1), |workers| workers.parse::<usize>().ok());
    let (Some(host), Some(port), Some(workers @ 1..)) = (host, port, workers) else {
        eprintln!("usage: rust-fastwebsockets HOST PORT [WORKERS]");
        return ExitCode::from(2);
    };
    let addr = SocketAddr::new(host, port);
    match run(addr, workers) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot serve on {addr}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(addr: SocketAddr, workers: usize) -> io::Result<()> {
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
        tokio::spawn(accept(listener)).await?;
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

async fn accept(listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(serve(stream))),
            // Out of descriptors, most likely: go on until a connection ends.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

/// Returns an error when the peer resets the connection or sends nonsense, which hyper has
/// answered by then.
async fn serve(stream: TcpStream) -> hyper::Result<()> {
    http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service_fn(agree))
        .with_upgrades()
        .await
}

async fn agree(mut request: Request<Incoming>) -> Result<Response<Empty<Bytes>>, WebSocketError> {
    if !upgrade::is_upgrade_request(&request) {
        let mut refusal = Response::new(Empty::new());
        *refusal.status_mut() = hyper::StatusCode::UPGRADE_REQUIRED;
        return Ok(refusal);
    }
    let (response, socket) = upgrade::upgrade(&mut request)?;
    tokio::spawn(echo(socket));
    Ok(response)
}

/// Pings and close frames are answered by the library while it reads.
async fn echo(socket: upgrade::UpgradeFut) -> Result<(), WebSocketError> {
    let mut socket = FragmentCollector::new(socket.await?);
    loop {
        let frame = socket.read_frame().await?;
        match frame.opcode {
            OpCode::Text | OpCode::Binary => socket.write_frame(frame).await?,
            OpCode::Close => return Ok(()),
            _ => {}
        }
    }
}
