//! actix-web, answering "<path> at <date>" over HTTP/1.1, or over HTTP/2, with TLS or without.

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::time::SystemTime;
use std::{env, io};

use actix_web::http::header::ContentType;
use actix_web::http::{KeepAlive, Uri};
use actix_web::{web, App, HttpResponse, HttpServer};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::ServerConfig;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let host = args.first().and_then(|host| host.parse::<IpAddr>().ok());
    let port = args.get(1).and_then(|port| port.parse::<u16>().ok());
    let workers = args
        .get(2)
        .map_or(Some(1), |workers| workers.parse::<usize>().ok());
    let (Some(host), Some(port), Some(workers @ 1..)) = (host, port, workers) else {
        eprintln!("usage: actix-web-echo HOST PORT [WORKERS [plain|tls|h2c|h2 [CERT KEY]]]");
        return ExitCode::from(2);
    };
    let addr = SocketAddr::new(host, port);
    let over = args.get(3).map_or("plain", String::as_str);
    let tls = match (over, args.get(4), args.get(5)) {
        ("tls" | "h2", Some(cert), Some(key)) => config(cert, key).map(Some),
        _ => Ok(None),
    };
    match tls.and_then(|tls| run(addr, workers, over == "h2c", tls)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot serve on {addr}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Besides the workers' threads there is one that accepts connections and hands them out.
#[actix_web::main]
async fn run(
    addr: SocketAddr,
    workers: usize,
    h2c: bool,
    tls: Option<ServerConfig>,
) -> io::Result<()> {
    let server = HttpServer::new(|| App::new().default_service(web::get().to(echo)))
        .workers(workers)
        .backlog(4096)
        // Idle connections stay open: at a low rate, a time-out would look like a failure.
        .keep_alive(KeepAlive::Os)
        // The default action of SIGTERM ends it at once; actix would wait for connections.
        .disable_signals();
    // With TLS, actix offers both HTTP/2 and HTTP/1.1, and the client chooses.
    let server = match tls {
        Some(tls) => server.bind_rustls_0_23(addr, tls)?,
        None if h2c => server.bind_auto_h2c(addr)?,
        None => server.bind(addr)?,
    };
    server.run().await
}

fn config(cert: &str, key: &str) -> io::Result<ServerConfig> {
    let chain = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(io::Error::other)?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(io::Error::other)?;
    ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(io::Error::other)
}

async fn echo(target: Uri) -> HttpResponse {
    let date = httpdate::fmt_http_date(SystemTime::now());
    // Over HTTP/2 the scheme and the authority are a part of the URI.
    let target = target.path_and_query().map_or("", |it| it.as_str());
    HttpResponse::Ok()
        .content_type(ContentType::plaintext())
        .body(format!("{target} at {date}"))
}
