//! `prony verify CONTRACT URL`: does a running server keep a contract?

use crate::Ended;
use crate::args::Verify;
use crate::target::Address;
use miette::Result;
use prony_engine::Target;
use prony_engine::protocol::h2::WINDOW;
use prony_lab::contract::{Contract, Depth, Inspection, Step};
use prony_lab::host::verify_running;
use prony_lab::side::{Http2, Running};

/// The contract that was named, unless there is a file of that name.
pub fn named(args: &Verify) -> Option<Contract> {
    let name = args.file.to_str()?;
    let contract = name.parse().ok()?;
    (!args.file.exists()).then_some(contract)
}

/// Verifies all steps of it that leave no mark on the server.
pub fn verify(args: &Verify, contract: Contract, address: &Address) -> Result<Ended> {
    if contract.needs_fixture() {
        return Err(usage!(
            help = "`prony servers check NAME` starts a server of the catalog with it; docs/adding-a-server.md",
            "{contract} needs a folder or an upstream around the server, which a server that runs already does not have"
        ));
    }
    if contract == Contract::GrpcEcho {
        return Err(usage!(
            help = "`prony servers check NAME` verifies servers of the catalog; `prony load grpc://…` judges every answer",
            "grpc-echo is not verified of a server that runs already"
        ));
    }
    if contract.is_http() != address.http {
        let scheme = if contract.is_http() {
            "http://, https:// or h2c://"
        } else {
            "tcp://"
        };
        return Err(usage!("the URL of {contract} begins with {scheme}"));
    }
    if !address.path.trim_matches('/').is_empty() {
        return Err(usage!(
            "a contract has its own paths: leave out {}",
            address.path
        ));
    }
    args.connect.fit(std::slice::from_ref(address))?;
    let target = address.resolve(&args.connect, args.timeout.0)?;
    let http2 = args.protocol().is_spoken(address)?;
    let url = (args.url.as_str(), address);
    let tls = crate::tls::settled(&args.tls, url, &target, args.timeout.0, (None, http2))?;
    if address.h2c {
        crate::http2::tried(&args.url, &target, args.timeout.0)?;
    }
    if let Target::Unix(_) = target {
        return Err(usage!("contracts are verified over TCP"));
    }
    let running = Running {
        target,
        authority: address.authority.clone(),
        tls: tls.map(Box::new),
        process: None,
    };
    let seed = args.seed.unwrap_or_else(rand::random);
    let how = Inspection::new(Depth::Full, seed).within(args.timeout.0);
    let http2 = http2.then_some(Http2 { window: WINDOW });
    match verify_running(&running, contract, &how, http2) {
        Ok(verified) => {
            for Step { name, took, .. } in &verified.steps {
                println!("passed: {name}, {} ms", took.as_millis());
            }
            Ok(Ended::Done)
        }
        Err(why) => {
            println!("failed: {why}");
            eprintln!("{contract} is not kept; `--seed {seed}` sends the same values again");
            Ok(Ended::Incomplete)
        }
    }
}
