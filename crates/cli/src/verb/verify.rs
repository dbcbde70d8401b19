//! `prony verify`: does a running server answer as a file of requests says, or keep a contract?

mod contract;

use crate::CommandEnd;
use crate::args::Verify;
use crate::args::protocol::ProtocolArgs;
use crate::args::ws::Messages;
use crate::http2::ProtocolOptions;
use crate::request::{prefix, ways};
use crate::running::{self, Reach};
use crate::target;
use miette::{IntoDiagnostic, Result};
use prony_engine::protocol::mix::Shares;
use prony_lab::relay::Passage;
use prony_lab::requests::ServerFacts;
use prony_lab::requests::verify::{RequestFile, Tried, verify};
use prony_lab::side::Running;

pub fn main(args: &Verify) -> Result<CommandEnd> {
    if args.tls.early_data {
        return Err(usage!(
            help = "leave it out",
            "--early-data is for loads: a verification sends nothing early"
        ));
    }
    let address = target::parse(&args.url)?;
    if let Some(named) = contract::named(args) {
        return contract::verify(args, named, &address);
    }
    if !address.http {
        return Err(usage!(
            "the requests are HTTP: the URL must begin with http://, https:// or h2c://"
        ));
    }
    let protocol = args.protocol();
    let options = options(args, &protocol);
    options.fit(std::slice::from_ref(&args.url))?;
    if address.ws {
        return Err(usage!(
            help = "prony load ws://… judges every message; `prony servers check` verifies ws-echo",
            "a file has HTTP requests, which are not sent over WebSocket"
        ));
    }
    let server = ServerFacts {
        prefix: prefix(&address.path)?,
        // No share is kept here: each request is sent by itself, however rare it is.
        shares: Shares::Random,
        ..ServerFacts::anywhere()
    };
    let mut file = RequestFile::read(&args.file, &server, ways(args.no_pipelining))?;
    args.login.authorize(&mut file.mix)?;
    args.encoding.settle(&mut file.mix);
    if args.connect.addresses.is_some() {
        return Err(usage!("--addresses spreads the connections of a load"));
    }
    let proxy = running::proxy(&address, &options, false)?;
    let endpoint = running::endpoint(0, &address, &options, proxy.as_ref());
    let mix = file
        .mix(&endpoint, true)
        .map_err(|wrong| usage!("{wrong}"))?;
    let url = (args.url.as_str(), &address);
    let reach = Reach::from_here(args.timeout.0);
    let running = running::server(url, &endpoint, &options, None, &reach)?;
    let passage = Passage::of(&running).into_diagnostic()?;
    let Running { target, tls, .. } = running;
    let target = passage.as_ref().map_or(target, Passage::target);
    let seed = args.seed.unwrap_or_else(rand::random);
    let (tls, ways) = (tls.as_deref(), &file.ways);
    let told = &mut |tried: &Tried| {
        println!("{}", line(tried));
        true
    };
    let all = verify(&mix, &target, tls, seed, args.timeout.0, ways, told);
    let failed = all.iter().filter(|tried| tried.wrong.is_some()).count();
    if failed == 0 {
        return Ok(CommandEnd::Done);
    }
    eprintln!(
        "{failed} of {} failed; `--seed {seed}` sends the same values again",
        all.len()
    );
    Ok(CommandEnd::Incomplete)
}

/// `prony verify` has no options for messages over WebSocket.
static NO_MESSAGES: Messages = Messages {
    size: None,
    text: false,
    subprotocols: Vec::new(),
};

/// How the server is spoken to.
fn options<'a>(args: &'a Verify, protocol: &'a ProtocolArgs) -> ProtocolOptions<'a> {
    ProtocolOptions {
        tls: &args.tls,
        protocol,
        messages: &NO_MESSAGES,
        key: None,
        connect: &args.connect,
        calls: false,
    }
}

fn line(tried: &Tried) -> String {
    let Tried {
        name,
        way,
        right,
        wrong,
    } = tried;
    match wrong {
        None => format!("passed: {name}, {way}: {right} answers"),
        Some(wrong) => format!("failed: {name}, {way}: {wrong}"),
    }
}
