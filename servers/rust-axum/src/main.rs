//! axum on tokio, answering "<path> at <date>".

use std::future::IntoFuture;
use std::process::ExitCode;
use std::time::SystemTime;
use std::{env, io};

use axum::http::Uri;
use axum::routing::get;
use axum::Router;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Builder;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let port = args.first().and_then(|port| port.parse::<u16>().ok());
    let workers = args
        .get(1)
        .map_or(Some(1), |workers| workers.parse::<usize>().ok());
    let (Some(port), Some(workers @ 1..)) = (port, workers) else {
        eprintln!("usage: rust-axum PORT [WORKERS]");
        return ExitCode::from(2);
    };
    match run(port, workers) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot serve on 127.0.0.1:{port}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(port: u16, workers: usize) -> io::Result<()> {
    // One worker needs none of the machinery that steals tasks between threads.
    let mut runtime = match workers {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    let runtime = runtime.worker_threads(workers).enable_all().build()?;
    runtime.block_on(async {
        let listener = listen(port)?;
        // Every path is the fallback's: a route with a wildcard would not match "/".
        let app = Router::new().fallback(get(echo));
        // A task of its own, because the future given to block_on runs on the main thread:
        // each connection would have to be handed over from there to a worker.
        tokio::spawn(axum::serve(listener, app).into_future()).await?
    })
}

fn listen(port: u16) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    // Accepted sockets inherit this on Linux.
    socket.set_nodelay(true)?;
    socket.bind(([127, 0, 0, 1], port).into())?;
    socket.listen(4096)
}

/// axum sends a String as text/plain.
async fn echo(target: Uri) -> String {
    let date = httpdate::fmt_http_date(SystemTime::now());
    format!("{target} at {date}")
}
