//! Calls of gRPC: what a load says, and what is looked at before it.

use super::dialogue::limits;
use crate::args::Load;
use crate::grpc::rpc;
use crate::target::Address;
use miette::{Result, miette};
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::{Dialogue, Target};
use prony_lab::grpc::{Rpc, Seen};
use prony_record::inert;

/// The call of an address, and how a load makes it when nothing is known of its answers.
pub fn call(args: &Load, address: &Address) -> Result<(Rpc, Dialogue)> {
    args.shape.not_pipelined()?;
    if let Some(option) = match (&args.file, &args.replay) {
        (Some(_), _) => Some("--file"),
        (_, Some(_)) => Some("--replay"),
        _ => None,
    } {
        return Err(usage!(
            "{option} has requests of HTTP, and grpc:// makes one call again and again"
        ));
    }
    let rpc = rpc(
        &args.grpc,
        args.message.as_deref(),
        &args.request,
        &address.path,
    )?;
    let dialogue = said(args, address, &rpc, rpc.expect.clone())?;
    Ok((rpc, dialogue))
}

fn said(
    args: &Load,
    address: &Address,
    rpc: &Rpc,
    expect: prony_engine::protocol::grpc::GrpcExpect,
) -> Result<Dialogue> {
    let (authority, window) = (&address.authority, args.protocol.window());
    rpc.said(authority, address.tls, expect, limits(args), window)
        .map_err(|wrong| miette!("{wrong}"))
}

/// Looks at answers of the server: what cannot work is said, and what they are is expected from then on.
pub fn looked(
    args: &Load,
    address: &Address,
    rpc: &Rpc,
    target: &Target,
    tls: Option<&TlsOptions>,
) -> Result<Dialogue> {
    let Seen { first, expect } = rpc
        .look(target, tls, &address.authority, args.timeout.0)
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
    said(args, address, rpc, expect)
}
