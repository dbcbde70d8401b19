//! The contract grpc-echo with tonic on tokio.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::{env, io};

use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Builder;
use tonic::transport::server::TcpIncoming;
use tonic::transport::Server;
use tonic::{Code, Request, Response, Status};

mod echo {
    tonic::include_proto!("prony.echo");
}

use echo::echo_service_server::{EchoService, EchoServiceServer};
use echo::{Failure, Payload, Repetition};

struct Service;

#[tonic::async_trait]
impl EchoService for Service {
    async fn echo(&self, request: Request<Payload>) -> Result<Response<Payload>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    async fn fail(&self, request: Request<Failure>) -> Result<Response<Payload>, Status> {
        let Failure { code, text } = request.into_inner();
        Err(Status::new(Code::from_i32(code), text))
    }

    type StreamStream = tokio_stream::Iter<Repeated>;

    async fn stream(
        &self,
        request: Request<Repetition>,
    ) -> Result<Response<Self::StreamStream>, Status> {
        let Repetition { payload, times } = request.into_inner();
        let payloads = Repeated {
            next: payload.unwrap_or_default(),
            left: times,
        };
        Ok(Response::new(tokio_stream::iter(payloads)))
    }
}

/// The payloads of a stream.
struct Repeated {
    next: Payload,
    left: i32,
}

impl Iterator for Repeated {
    type Item = Result<Payload, Status>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left <= 0 {
            return None;
        }
        self.left -= 1;
        let payload = self.next.clone();
        self.next.number = self.next.number.wrapping_add(1);
        Some(Ok(payload))
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let host = args.first().and_then(|host| host.parse::<IpAddr>().ok());
    let port = args.get(1).and_then(|port| port.parse::<u16>().ok());
    let workers = args
        .get(2)
        .map_or(Some(1), |workers| workers.parse::<usize>().ok());
    let (Some(host), Some(port), Some(workers @ 1..)) = (host, port, workers) else {
        eprintln!("usage: rust-tonic HOST PORT [WORKERS]");
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

fn run(addr: SocketAddr, workers: usize) -> Result<(), Box<dyn Error>> {
    // One worker needs none of the machinery that steals tasks between threads.
    let mut runtime = match workers {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    let runtime = runtime.worker_threads(workers).enable_all().build()?;
    runtime.block_on(async {
        let incoming = TcpIncoming::from(listen(addr)?);
        let server = Server::builder().add_service(EchoServiceServer::new(Service));
        // A task of its own, because the future given to block_on runs on the main thread:
        // each connection would have to be handed over from there to a worker.
        tokio::spawn(server.serve_with_incoming(incoming)).await??;
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
