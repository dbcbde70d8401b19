//! Calls of gRPC: what is looked at before a load.

use crate::args::LoadArgs;
use miette::{Result, miette};
use prony_engine::Target;
use prony_engine::protocol::grpc::GrpcExpect;
use prony_engine::protocol::tls::TlsOptions;
use prony_lab::grpc::{CallProbe, Rpc};
use prony_lab::workload::Endpoint;
use prony_record::inert;

/// Looks at answers of the server: what cannot work is said, and what they are is expected from then on.
pub fn looked(
    args: &LoadArgs,
    endpoint: &Endpoint<'_>,
    rpc: &Rpc,
    target: &Target,
    tls: Option<&TlsOptions>,
) -> Result<GrpcExpect> {
    let CallProbe { first, expect } = rpc
        .look(target, tls, endpoint.authority, args.timeout.0)
        .map_err(|wrong| {
            miette!(
                help = "--expect-status expects another status; --no-verify loads the server without a look at its answers",
                "{}: {}",
                args.url,
                inert::line(&wrong)
            )
        })?;
    if args.show_answer {
        for message in &first.messages {
            eprintln!("answer: {}", rpc.show(message));
        }
        if first.messages.is_empty() {
            eprintln!("answer: no message, status {}", rpc.expect.status);
        }
    }
    if rpc.expect.content.length.is_some() && expect.content.length.is_none() {
        eprintln!(
            "the answers mean what --expect-message says in bytes that differ from answer to answer: under load their \
             messages are not compared, only counted"
        );
    }
    Ok(expect)
}
