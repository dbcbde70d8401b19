//! `prony verify CONTRACT URL`: does a running server keep a contract?

use crate::CommandEnd;
use crate::args::Verify;
use crate::running::{self, Reach};
use crate::target::TargetUrl;
use miette::Result;
use prony_lab::contract::{Contract, Depth, Inspection, PassedStep};
use prony_lab::host::verify_running;

/// The contract that was named, unless there is a file of that name.
pub fn named(args: &Verify) -> Option<Contract> {
    let name = args.file.to_str()?;
    let contract = name.parse().ok()?;
    (!args.file.exists()).then_some(contract)
}

/// Verifies all steps of it that leave no mark on the server.
pub fn verify(args: &Verify, contract: Contract, address: &TargetUrl) -> Result<CommandEnd> {
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
    if address.unix.is_some() {
        return Err(usage!("contracts are verified over TCP"));
    }
    let protocol = args.protocol();
    let options = super::options(args, &protocol);
    options.fit(std::slice::from_ref(&args.url))?;
    let proxy = running::proxy(address, &options, false)?;
    let endpoint = running::endpoint(0, address, &options, proxy.as_ref());
    let url = (args.url.as_str(), address);
    let reach = Reach::from_here(args.timeout.0);
    let running = running::server(url, &endpoint, &options, None, &reach)?;
    let seed = args.seed.unwrap_or_else(rand::random);
    let how = Inspection::new(Depth::Full, seed).within(args.timeout.0);
    match verify_running(&running, contract, &how, endpoint.http2) {
        Ok(verified) => {
            for PassedStep { name, took, .. } in &verified.steps {
                println!("passed: {name}, {} ms", took.as_millis());
            }
            for name in &verified.left_out {
                println!("left out: {name}, which asks the server's database");
            }
            Ok(CommandEnd::Done)
        }
        Err(why) => {
            println!("failed: {why}");
            eprintln!("{contract} is not kept; `--seed {seed}` sends the same values again");
            Ok(CommandEnd::Incomplete)
        }
    }
}
