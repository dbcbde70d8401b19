//! The requests of a file, tried before they are loaded.

use miette::{Result, miette};
use prony_engine::{Dialogue, Plan, Target};
use prony_lab::requests::verify::{Tried, Way, verify};
use prony_record::inert;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// After a request that failed for longer than this the others are not tried: the server most likely says nothing at all.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a connection to a server may take that other machines load.
const REACH: Duration = Duration::from_secs(2);

/// Can this machine reach the server that others load?
///
/// # Errors
/// Why not, in words.
pub fn reached(plan: &Plan) -> Result<(), String> {
    let Target::Tcp(address) = &plan.target else {
        return Err("a unix socket is reached on its own machine only".into());
    };
    if address.ip().is_loopback() {
        // Whatever answers there is not what they load.
        return Err(format!("{address} is another place on each machine"));
    }
    match TcpStream::connect_timeout(address, plan.load.timeout.0.min(REACH)) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("this machine cannot reach {address}: {error}")),
    }
}

/// Proves that every request, or session, of a file is answered rightly at all: what no answer meets is found in the file
/// before a load is made with it. One that is answered rightly now and then is loaded, which counts how often. Tables of
/// rows that are sent once are left for the load.
pub fn verified(file: &str, plan: &Plan) -> Result<()> {
    let Dialogue::Mix(mix) = &plan.dialogue else {
        return Ok(());
    };
    if mix.tables.iter().any(|table| table.once) {
        return Ok(());
    }
    let silence = plan.load.timeout.0;
    let tls = plan.tls.as_ref();
    let mut begun = Instant::now();
    let go_on = &mut |tried: &Tried| {
        let silent = tried.wrong.is_some() && begun.elapsed() > PATIENCE;
        begun = Instant::now();
        !silent
    };
    // Not the values that the load will send.
    let (target, seed) = (&plan.target, !plan.seed);
    let all = verify(mix, target, tls, seed, silence, &[Way::Whole], go_on);
    let kinds = match mix.sessions.len() {
        0 => mix.requests.len(),
        n => n,
    };
    let never = |tried: &Tried| match &tried.wrong {
        Some(wrong) if tried.right == 0 => {
            let wrong = inert::line(wrong);
            // A wrong answer is told with the name of its request.
            Some(match wrong.starts_with(&format!("{}: ", tried.name)) {
                true => format!("\n{wrong}"),
                false => format!("\n{}: {wrong}", tried.name),
            })
        }
        _ => None,
    };
    let failed: Vec<String> = all.iter().filter_map(never).collect();
    match failed.len() {
        0 => Ok(()),
        n => Err(miette!(
            help = "`prony verify FILE URL` tries them in every way; --no-verify loads the server as it is",
            "{n} of {kinds} in {} are not answered rightly:{}{}",
            inert::line(file),
            failed.concat(),
            match kinds - all.len() {
                0 => String::new(),
                rest => format!("\n{rest} were not tried after that"),
            }
        )),
    }
}
