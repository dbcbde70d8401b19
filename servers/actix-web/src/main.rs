//! actix-web, answering "<path> at <date>".

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::time::SystemTime;
use std::{env, io};

use actix_web::http::header::ContentType;
use actix_web::http::{KeepAlive, Uri};
use actix_web::{web, App, HttpResponse, HttpServer};

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let host = args.first().and_then(|host| host.parse::<IpAddr>().ok());
    let port = args.get(1).and_then(|port| port.parse::<u16>().ok());
    let workers = args
        .get(2)
        .map_or(Some(1), |workers| workers.parse::<usize>().ok());
    let (Some(host), Some(port), Some(workers @ 1..)) = (host, port, workers) else {
        eprintln!("usage: actix-web-echo HOST PORT [WORKERS]");
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

/// Besides the workers' threads there is one that accepts connections and hands them out.
#[actix_web::main]
async fn run(addr: SocketAddr, workers: usize) -> io::Result<()> {
    HttpServer::new(|| App::new().default_service(web::get().to(echo)))
        .workers(workers)
        .backlog(4096)
        // Idle connections stay open: at a low rate, a time-out would look like a failure.
        .keep_alive(KeepAlive::Os)
        // The default action of SIGTERM ends it at once; actix would wait for connections.
        .disable_signals()
        .bind(addr)?
        .run()
        .await
}

async fn echo(target: Uri) -> HttpResponse {
    let date = httpdate::fmt_http_date(SystemTime::now());
    HttpResponse::Ok()
        .content_type(ContentType::plaintext())
        .body(format!("{target} at {date}"))
}
