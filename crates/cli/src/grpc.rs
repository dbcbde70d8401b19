//! Calls of gRPC from the command line.

use crate::args::grpc::{GrpcArgs, Messages};
use crate::args::request::{RequestArgs, Statuses};
use crate::request::text_or_file;
use miette::{IntoDiagnostic, Result, miette};
use prony_engine::protocol::Expect;
use prony_engine::protocol::grpc::{Call, GrpcExpect};
use prony_lab::grpc::{Method, Rpc, Schema};

pub const URL: &str = "grpc://HOST:PORT/package.Service/Method, or grpcs:// over TLS";

impl GrpcArgs {
    fn is_given(&self) -> bool {
        !self.proto.is_empty() || self.expect_message.is_some() || self.expect_messages.is_some()
    }

    /// Where nothing is called: nothing may have been said about it.
    pub fn unused(&self) -> Result<()> {
        match self.is_given() {
            true => Err(usage!(
                help = URL,
                "there are options of gRPC, and nothing is called"
            )),
            false => Ok(()),
        }
    }

    /// The encoded message: from JSON with the method's types, else from a file.
    fn encoded(message: Option<&str>, method: Option<&Method>) -> Result<Vec<u8>> {
        match (message, method) {
            (None, _) => Ok(Vec::new()),
            (Some(json), Some(method)) => method
                .input(&json_of(json)?)
                .map_err(|wrong| usage!("--message: {wrong}")),
            (Some(file), None) if file.starts_with('@') => text_or_file(file),
            (Some(_), None) => Err(usage!(
                help = "without --proto, --message @FILE has the encoded message",
                "--message is JSON, which needs the .proto file of the method: --proto FILE"
            )),
        }
    }
}

/// JSON, or that of a file after `@`.
fn json_of(text: &str) -> Result<String> {
    String::from_utf8(text_or_file(text)?).into_diagnostic()
}

/// The call of `path`, which is `/package.Service/Method`, with what was said of it.
pub fn rpc(
    grpc: &GrpcArgs,
    message: Option<&str>,
    request: &RequestArgs,
    path: &str,
) -> Result<Rpc> {
    let path = format!("/{}", path.trim_start_matches('/'));
    let names: Vec<&str> = path.split('/').collect();
    if names.len() != 3 || names[1..].iter().any(|name| name.is_empty()) || path.contains('?') {
        return Err(usage!(
            help = URL,
            "{path:?} is not a method: expected package.Service/Method"
        ));
    }
    let method = match grpc.proto.as_slice() {
        [] => None,
        files => Some(Schema::read(files, &grpc.proto_path)?.method(&path)?),
    };
    if method.as_ref().is_some_and(Method::takes_stream) {
        return Err(miette!(
            help = "methods that take one message can be called, whether they answer with one or with a stream",
            "{path} takes a stream of messages, which prony does not send"
        ));
    }
    if request.method.is_some() || request.body.is_some() {
        return Err(usage!(
            help = "--message is the request message; -H is metadata",
            "a call of gRPC has no --method and no --body"
        ));
    }
    if request.expect_body.is_some() {
        return Err(usage!(
            "--expect-body is for HTTP: a call has --expect-message"
        ));
    }
    request.streams.unused("gRPC has messages")?;
    if request.encoding.compressed {
        return Err(usage!(
            "--compressed is for HTTP/1.1: messages come uncompressed"
        ));
    }
    let streaming = match (&method, grpc.expect_messages) {
        (Some(method), _) => method.streams(),
        // Without a .proto file only the user knows.
        (None, Some(Messages(least, most))) => (least, most) != (1, 1),
        (None, None) => false,
    };
    let status = match request.expect_status {
        None => prony_engine::protocol::grpc::GrpcStatus::OK,
        Some(Statuses::Grpc(status)) => status,
        Some(Statuses::Http(code, _)) => {
            return Err(usage!(
                "--expect-status {code}: a call's status is 0 to 16, or a name such as NOT_FOUND"
            ));
        }
    };
    let content = match (&grpc.expect_message, &method) {
        (Some(json), Some(method)) => {
            let wanted = method.output(&json_of(json)?);
            Expect::body(wanted.map_err(|wrong| usage!("--expect-message: {wrong}"))?)
        }
        _ => Expect::default(),
    };
    let messages = match (grpc.expect_messages, &grpc.expect_message) {
        (Some(Messages(least, most)), _) => Some((least, most)),
        (None, Some(_)) if streaming => Some((1, 1)),
        _ => None,
    };
    Ok(Rpc {
        call: Call {
            path,
            metadata: request.fields()?,
            message: GrpcArgs::encoded(message, method.as_ref())?,
        },
        expect: GrpcExpect {
            status,
            messages,
            streaming,
            content,
        },
        output: method.as_ref().map(Method::answers),
        limits: request.limits.accepted(),
    })
}
