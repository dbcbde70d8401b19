//! `prony serve`: prony's own servers.

use crate::Ended;
use crate::args::{Serve, Served};
use miette::{IntoDiagnostic, Result};
use prony_reference::{Contract, ceiling, clockwork};
use std::net::SocketAddr;

pub fn main(args: &Serve) -> Result<Ended> {
    let listen = SocketAddr::new(args.host, args.port);
    let contract = match args.what {
        Served::TcpEcho => Contract::TcpEcho,
        Served::HttpEcho => Contract::HttpEcho,
        Served::Clockwork => return clockwork(args, listen),
    };
    let options = ceiling::Options {
        listen,
        model: args.model,
        contract,
        workers: args.workers as usize,
        busy: args.busy.0,
    };
    let server = ceiling::Server::bind(&options).into_diagnostic()?;
    eprintln!(
        "serving {contract} ({}) on {}",
        args.model,
        server.local_addr()
    );
    server.run().into_diagnostic()?;
    Ok(Ended::Done)
}

fn clockwork(args: &Serve, listen: SocketAddr) -> Result<Ended> {
    let options = clockwork::Options {
        listen,
        contract: args.contract,
        script: clockwork::Script {
            delay: args.delay,
            stall: args.stall,
            queue: args.queue,
            seed: args.seed,
        },
        message: args.message,
        nagle: args.nagle,
        note: false,
    };
    let server = clockwork::Server::bind(&options).into_diagnostic()?;
    eprintln!(
        "serving {} by clockwork on {}",
        args.contract,
        server.local_addr()
    );
    let stop = clockwork::stop_on_signals().into_diagnostic()?;
    let report = server.run(stop).into_diagnostic()?;
    eprintln!("{report}");
    Ok(Ended::Done)
}
