//! `prony echo-client`: the client of the published benchmark of TCP echo servers.

use crate::CommandEnd;
use crate::place::on_signal;
use miette::{IntoDiagnostic, Result, miette};
use prony_compat::echo_client::EchoClient;
use prony_lab::interrupt::Interrupt;
use std::sync::Arc;

pub fn main(args: &EchoClient) -> Result<CommandEnd> {
    let connections = u64::from(args.threads) * u64::from(args.sockets);
    prony_engine::descriptors::reserve(connections).into_diagnostic()?;
    let interrupt = Arc::new(Interrupt::default());
    on_signal(&interrupt)?;
    let outcome = args
        .run(|load| interrupt.guard(load))
        .map_err(|error| miette!("{error}"))?;
    if args.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&outcome).into_diagnostic()?
        );
    } else {
        print!("{}", args.text(&outcome));
        if args.as_published && !args.quiet {
            eprintln!(
                "prony: by the published arithmetic: {} echoes / (1 s of sleep + {:.3} s of connecting + {:.3} s); honestly {:.2}/s",
                outcome.echoes, outcome.connecting_seconds, outcome.seconds, outcome.throughput
            );
        }
    }
    if outcome.lost() == 0 {
        return Ok(CommandEnd::Done);
    }
    if args.quiet {
        return Ok(CommandEnd::Incomplete);
    }
    eprintln!(
        "prony: {} of {} replies were lost{}",
        outcome.lost(),
        outcome.expected,
        match outcome.wrong {
            0 => String::new(),
            n => format!(", {n} of them because a byte was wrong"),
        }
    );
    for (text, n) in &outcome.errors {
        eprintln!("prony:   {text} ×{n}");
    }
    Ok(CommandEnd::Incomplete)
}
