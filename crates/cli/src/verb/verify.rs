//! `prony verify`: does a running server answer as a file of requests says, or keep a contract?

mod contract;

use crate::Ended;
use crate::args::Verify;
use crate::request::{prefix, ways};
use crate::target;
use miette::Result;
use prony_engine::protocol::Limits;
use prony_engine::protocol::mix::Shares;
use prony_lab::requests::verify::{Tried, verify};
use prony_lab::requests::{self, Server};

pub fn main(args: &Verify) -> Result<Ended> {
    let address = target::parse(&args.url)?;
    if let Some(named) = contract::named(args) {
        return contract::verify(args, named, &address);
    }
    if !address.http {
        return Err(usage!(
            "the requests are HTTP: the URL must begin with http://, https:// or h2c://"
        ));
    }
    let settings = args.protocol();
    let http2 = settings.is_spoken(&address)?;
    if address.ws {
        return Err(usage!(
            help = "prony load ws://… judges every message; `prony servers check` verifies ws-echo",
            "a file has HTTP requests, which are not sent over WebSocket"
        ));
    }
    let server = Server {
        host: address.authority.clone(),
        prefix: prefix(&address.path)?,
        keepalive: true,
        limits: Limits::default(),
        // No share is kept here: each request is sent by itself, however rare it is.
        shares: Shares::Random,
    };
    let mut mix = requests::read(&args.file, &server)?;
    args.login.authorize(&mut mix)?;
    args.encoding.settle(&mut mix);
    if http2 {
        mix = settings.speaks(mix, &address)?;
    }
    args.connect.fit(std::slice::from_ref(&address))?;
    let target = address.resolve(&args.connect, args.timeout.0)?;
    let url = (args.url.as_str(), &address);
    let tls = crate::tls::settled(&args.tls, url, &target, args.timeout.0, (None, http2))?;
    if address.h2c {
        crate::http2::tried(&args.url, &target, args.timeout.0)?;
    }
    let seed = args.seed.unwrap_or_else(rand::random);
    let ways = ways(args.no_pipelining);
    let tls = tls.as_ref();
    let told = &mut |tried: &Tried| {
        println!("{}", line(tried));
        true
    };
    let all = verify(&mix, &target, tls, seed, args.timeout.0, &ways, told);
    let failed = all.iter().filter(|tried| tried.wrong.is_some()).count();
    if failed == 0 {
        return Ok(Ended::Done);
    }
    eprintln!(
        "{failed} of {} failed; `--seed {seed}` sends the same values again",
        all.len()
    );
    Ok(Ended::Incomplete)
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
