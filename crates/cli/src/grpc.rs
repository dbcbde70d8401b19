//! Calls of gRPC from the command line.

use crate::args::grpc::{Called, Grpc, Messages};
use crate::args::request::{Request, Statuses};
use crate::request::text_or_file;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use miette::{IntoDiagnostic, Result, miette};
use prony_engine::protocol::Expect;
use prony_engine::protocol::grpc::{Call, GrpcExpect};
use prony_lab::grpc::{Method, Rpc, Schema};

const URL: &str = "grpc://HOST:PORT/package.Service/Method, or grpcs:// over TLS";

impl Grpc {
    fn is_given(&self) -> bool {
        !self.proto.is_empty()
            || self.message_file.is_some()
            || self.message_hex.is_some()
            || self.message_base64.is_some()
            || self.expect_message.is_some()
            || self.expect_messages.is_some()
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

    /// The message as it is encoded. `message` is what was said as JSON.
    fn encoded(&self, message: Option<&str>, method: Option<&Method>) -> Result<Vec<u8>> {
        if let Some(path) = &self.message_file {
            return std::fs::read(path)
                .map_err(|error| miette!("cannot read {}: {error}", path.display()));
        }
        if let Some(text) = &self.message_hex {
            return hex(text).ok_or_else(|| {
                usage!("--message-hex: expected pairs of hexadecimal digits, found {text:?}")
            });
        }
        if let Some(text) = &self.message_base64 {
            return BASE64
                .decode(text)
                .map_err(|error| usage!("--message-base64: {error}"));
        }
        match (message, method) {
            (None, _) => Ok(Vec::new()),
            (Some(_), None) => Err(usage!(
                help = "--message-file, --message-hex and --message-base64 take a message as it is encoded",
                "--message is JSON, which needs the .proto file of the method: --proto FILE"
            )),
            (Some(json), Some(method)) => method
                .input(&json_of(json)?)
                .map_err(|wrong| usage!("--message: {wrong}")),
        }
    }
}

impl Called {
    /// Where nothing is called: nothing may have been said about it.
    pub fn unused(&self) -> Result<()> {
        match self.message {
            Some(_) => Err(usage!(
                help = URL,
                "--message is for gRPC, and nothing is called"
            )),
            None => self.grpc.unused(),
        }
    }
}

/// JSON, or that of a file after `@`.
fn json_of(text: &str) -> Result<String> {
    String::from_utf8(text_or_file(text)?).into_diagnostic()
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let value = |digit: u8| char::from(digit).to_digit(16);
    let pairs = digits.chunks(2);
    pairs
        .map(|pair| match *pair {
            [high, low] => u8::try_from(16 * value(high)? + value(low)?).ok(),
            _ => None,
        })
        .collect()
}

/// The call of `path`, which is `/package.Service/Method`, with what was said of it.
pub fn rpc(grpc: &Grpc, message: Option<&str>, request: &Request, path: &str) -> Result<Rpc> {
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
    if request.method.is_some() || request.body.is_some() || request.body_file.is_some() {
        return Err(usage!(
            help = "--message or --message-file is what it sends; -H is metadata",
            "a call of gRPC has no --method and no --body"
        ));
    }
    if request.expect_body.is_some() {
        return Err(usage!(
            "--expect-body is for HTTP: a call has --expect-message"
        ));
    }
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
        None => prony_engine::protocol::grpc::Status::OK,
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
            message: grpc.encoded(message, method.as_ref())?,
        },
        expect: GrpcExpect {
            status,
            messages,
            streaming,
            content,
        },
        output: method.as_ref().map(Method::answers),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digits() {
        assert_eq!(hex("0a05 ff"), Some(vec![10, 5, 255]));
        assert_eq!(hex(""), Some(Vec::new()));
        for wrong in ["0", "0g", "abc", "ä0"] {
            assert_eq!(hex(wrong), None, "{wrong}");
        }
    }
}
