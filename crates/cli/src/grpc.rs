//! Calls of gRPC from the command line.

use crate::args::grpc::{GrpcArgs, Messages};
use crate::args::request::{RequestArgs, Statuses};
use crate::http2::ProtocolOptions;
use crate::request::text_or_file;
use crate::running::{self, Reach};
use crate::target::TargetUrl;
use crate::workload::WorkloadArgs;
use miette::{IntoDiagnostic, Result, miette};
use prony_engine::protocol::Expect;
use prony_engine::protocol::grpc::{Call, GrpcExpect};
use prony_lab::grpc::{Method, Rpc, Schema};
use prony_lab::relay::Passage;
use prony_lab::workload::Endpoint;
use prony_record::inert;

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

    /// Does prony have to ask the server for the types of JSON messages?
    fn asks_server(&self, message: Option<&str>) -> bool {
        let json = message.is_some_and(|text| !is_encoded(text)) || self.expect_message.is_some();
        json && self.proto.is_empty()
    }

    /// The encoded messages: from JSON with the method's types, else from a file.
    fn encoded(message: Option<&str>, method: Option<&Method>) -> Result<Vec<Vec<u8>>> {
        match (message, method) {
            (None, _) => Ok(vec![Vec::new()]),
            (Some(json), Some(method)) => method
                .input(&json_of(json)?)
                .map_err(|wrong| usage!("--message: {wrong}")),
            (Some(file), None) if is_encoded(file) => Ok(vec![text_or_file(file)?]),
            (Some(_), None) => Err(usage!(
                help = "without --proto, --message @FILE has the encoded message; a running server needs reflection instead",
                "--message is JSON, which needs the .proto file of the method: --proto FILE"
            )),
        }
    }
}

/// Is a message the name of a file that has it in protobuf's encoding?
fn is_encoded(message: &str) -> bool {
    message.starts_with('@') && !message.ends_with(".json")
}

/// JSON, or that of a file after `@`.
fn json_of(text: &str) -> Result<String> {
    String::from_utf8(text_or_file(text)?).into_diagnostic()
}

/// The method of a path, with its slash, if it is one.
fn method_of(path: &str) -> Result<String> {
    let path = format!("/{}", path.trim_start_matches('/'));
    let names: Vec<&str> = path.split('/').collect();
    if names.len() != 3 || names[1..].iter().any(|name| name.is_empty()) || path.contains('?') {
        return Err(usage!(
            help = URL,
            "{path:?} is not a method: expected package.Service/Method"
        ));
    }
    Ok(path)
}

/// Types of messages as the server of a URL describes them, where messages are JSON and there is no .proto file; None:
/// they are not needed, or the URL is not gRPC's.
pub fn reflected(
    asked: &WorkloadArgs<'_>,
    (url, address): (&str, &TargetUrl),
    endpoint: &Endpoint<'_>,
    options: &ProtocolOptions<'_>,
    reach: &Reach<'_>,
) -> Result<Option<Schema>> {
    // Other machines may reach a server that this one does not.
    if !address.grpc || reach.fleet.is_some() || !asked.grpc.asks_server(asked.message) {
        return Ok(None);
    }
    let method = method_of(asked.call.unwrap_or(&address.path))?;
    let running = running::server((url, address), endpoint, options, None, reach)?;
    let passage = Passage::of(&running).into_diagnostic()?;
    let target = passage
        .as_ref()
        .map_or_else(|| running.target.clone(), Passage::target);
    let schema = Schema::of_server(
        (&target, running.tls.as_deref()),
        endpoint.authority,
        &method,
        &asked.request.fields()?,
        reach.timeout,
    );
    schema.map(Some).map_err(|wrong| {
        miette!(
            help = "--proto FILE says the types of messages, for servers without reflection",
            "{url}: {}",
            inert::line(&wrong)
        )
    })
}

/// The call of `path`, which is `/package.Service/Method`, with the options about it. `schema` has the types of its
/// messages where there is no .proto file and the server was asked.
pub fn rpc(
    grpc: &GrpcArgs,
    schema: Option<&Schema>,
    message: Option<&str>,
    request: &RequestArgs,
    path: &str,
) -> Result<Rpc> {
    let path = method_of(path)?;
    let method = match (grpc.proto.as_slice(), schema) {
        ([], None) => None,
        ([], Some(schema)) => Some(schema.method(&path)?),
        (files, _) => Some(Schema::read(files, &grpc.proto_path)?.method(&path)?),
    };
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
            messages: GrpcArgs::encoded(message, method.as_ref())?,
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
