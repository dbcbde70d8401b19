//! Calls of gRPC that sides are asked for.

use super::sides::Hint;
use crate::args::grpc::Called;
use crate::args::request::Request;
use crate::grpc::rpc;
use miette::Result;
use prony_lab::contract::Contract;
use prony_lab::grpc::Rpc;

/// Are servers that prony starts called by gRPC?
pub fn calls(call: Option<&str>, contract: Option<Contract>) -> bool {
    call.is_some() || contract == Some(Contract::GrpcEcho)
}

/// The call that all sides are asked for: what the user says, or the URLs; none where nothing is called.
pub(super) fn call(
    contract: Option<Contract>,
    asked: Option<&str>,
    request: &Request,
    called: &Called,
    hints: &[Hint],
) -> Result<Option<Rpc>> {
    let mut methods = hints.iter().filter_map(|hint| match hint {
        Hint::Call(path) if path != "/" => Some(path.as_str()),
        _ => None,
    });
    let of_url = methods.next();
    let is_called = |hint: &Hint| matches!(hint, Hint::Call(_));
    let path = match (called.call.as_deref(), of_url) {
        (None, None) if !hints.iter().any(is_called) => {
            called.unused()?;
            return Ok(None);
        }
        // A server of a URL that says no method may keep the contract.
        (None, None) if contract == Some(Contract::GrpcEcho) => {
            called.unused()?;
            return Ok(None);
        }
        (None, None) => {
            return Err(usage!(
                help = "grpc://HOST:PORT/package.Service/Method, or --call package.Service/Method",
                "the URL does not say which method is called"
            ));
        }
        (Some(path), _) | (None, Some(path)) => path,
    };
    let wanted = path.trim_start_matches('/');
    if let Some(other) = of_url
        .into_iter()
        .chain(methods)
        .find(|other| other.trim_start_matches('/') != wanted)
    {
        return Err(usage!(
            "all sides are asked for the same, and here two methods are called: {wanted} and {}",
            other.trim_start_matches('/')
        ));
    }
    if contract.is_some() || asked.is_some() {
        return Err(usage!(
            help = "leave out --contract and --path, or the method",
            "--call cannot be used with --contract or --path"
        ));
    }
    let speaks_http = |hint: &Hint| matches!(hint, Hint::Path(_) | Hint::Socket(_));
    if hints.iter().any(speaks_http) {
        return Err(usage!(
            help = "grpc:// for all of them",
            "a call of gRPC cannot be compared with a request of HTTP or a message over WebSocket"
        ));
    }
    rpc(&called.grpc, called.message.as_deref(), request, path).map(Some)
}
