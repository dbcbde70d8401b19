//! `prony serve`: prony's own servers.

use crate::CommandEnd;
use crate::args::{Serve, Served};
use miette::{IntoDiagnostic, Result};
use prony_record::load::Protocol;
use prony_reference::{Contract, ceiling, clockwork, http3};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

pub fn main(args: &Serve) -> Result<CommandEnd> {
    let listen = args.listen;
    let contract = match args.what {
        Served::TcpEcho => Contract::TcpEcho,
        Served::HttpEcho => Contract::HttpEcho,
        Served::WsEcho => Contract::WsEcho,
        Served::Clockwork => return clockwork(args, listen),
    };
    if args.protocol == Protocol::H3 {
        return http3(args, contract, listen);
    }
    let options = ceiling::Options {
        listen,
        model: args.model,
        contract,
        workers: args.workers as usize,
        busy: args.busy.0,
        over: over(args)?,
    };
    let server = ceiling::Server::bind(&options).into_diagnostic()?;
    eprintln!(
        "serving {contract} ({}) on {}",
        args.model,
        server.local_addr()
    );
    server.run().into_diagnostic()?;
    Ok(CommandEnd::Done)
}

/// Returns the protocol to serve, and the certificate for it.
fn over(args: &Serve) -> Result<ceiling::Layers> {
    // In manifests, what there is not is empty.
    let given = |path: &Option<OsString>| {
        let path = path.clone().filter(|path| !path.is_empty());
        path.map(PathBuf::from)
    };
    let tls = given(&args.cert).zip(given(&args.key));
    match (args.protocol.is_tls(), &tls) {
        (true, None) => Err(usage!(
            help = "`prony servers start reference-epoll --protocol tls` makes a certificate",
            "--protocol {} needs a certificate: --cert FILE --key FILE",
            args.protocol
        )),
        (false, Some(_)) => Err(usage!("--cert is for --protocol tls, h2 and h3")),
        _ => Ok(ceiling::Layers {
            http2: args.protocol.is_http2(),
            tls,
        }),
    }
}

fn http3(args: &Serve, contract: Contract, listen: SocketAddr) -> Result<CommandEnd> {
    if contract != http3::Http3Server::CONTRACT {
        return Err(usage!("{contract} is not served over HTTP/3"));
    }
    let layers = over(args)?;
    let server = http3::Http3Server::bind(listen, args.workers as usize, args.busy.0, &layers);
    let server = server.into_diagnostic()?;
    eprintln!("serving {contract} (HTTP/3) on {}", server.local_addr());
    server.run().into_diagnostic()?;
    Ok(CommandEnd::Done)
}

fn clockwork(args: &Serve, listen: SocketAddr) -> Result<CommandEnd> {
    let options = clockwork::Options {
        listen,
        contract: match args.events {
            Some(_) => Contract::HttpEcho,
            None => args.contract,
        },
        script: clockwork::ReplyScript {
            delay: args.delay,
            stall: args.stall,
            queue: args.queue,
            events: args.events.map(|number| clockwork::EventScript {
                number,
                gap: args.gap,
            }),
            seed: args.seed,
        },
        message: args.message,
        nagle: args.nagle,
        sleep: args.sleep,
        over: over(args)?,
        http3: args.protocol == Protocol::H3,
        note: false,
    };
    let server = clockwork::ClockworkServer::bind(&options).into_diagnostic()?;
    eprintln!(
        "serving {} by clockwork on {}",
        options.contract,
        server.local_addr()
    );
    let stop = clockwork::stop_on_signals().into_diagnostic()?;
    let report = server.run(stop).into_diagnostic()?;
    eprintln!("{report}");
    Ok(CommandEnd::Done)
}
