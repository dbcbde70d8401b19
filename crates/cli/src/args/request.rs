//! Options for the request and its expected answer: the same for `load`, `duel` and `capacity`.

use super::stream::StreamArgs;
use clap::Args;
use prony_engine::protocol::grpc::GrpcStatus;
use std::path::PathBuf;

/// A request, and what is expected of its answer.
#[derive(Debug, Clone, Default, Args)]
pub struct RequestArgs {
    /// Method [default: GET, or POST with a body]
    ///
    /// Also -X, as in curl.
    #[arg(
        short,
        short_alias = 'X',
        long,
        alias = "request",
        value_name = "METHOD",
        help_heading = "Request"
    )]
    pub method: Option<String>,
    /// Header field or gRPC metadata, as 'Name: value'
    ///
    /// May be repeated.
    #[arg(
        short = 'H',
        long = "header",
        value_name = "FIELD",
        help_heading = "Request"
    )]
    pub headers: Vec<String>,
    /// Request body, or @FILE
    ///
    /// Also --data, as in curl.
    #[arg(
        short,
        long,
        alias = "data",
        value_name = "BODY",
        help_heading = "Request"
    )]
    pub body: Option<String>,
    /// Expected status, such as 200 or 2xx
    ///
    /// By default any below 400. Of a gRPC call its name or number, such as NOT_FOUND or 5; by default OK.
    #[arg(long, value_name = "CODE", value_parser = status, help_heading = "Answer")]
    pub expect_status: Option<Statuses>,
    /// Expected body, or @FILE [default: any]
    #[arg(long, value_name = "BODY", help_heading = "Answer")]
    pub expect_body: Option<String>,
    #[command(flatten)]
    pub encoding: EncodingArgs,
    #[command(flatten)]
    pub limits: AnswerLimits,
    #[command(flatten)]
    pub login: Login,
    #[command(flatten)]
    pub streams: StreamArgs,
}

/// How much of an answer is accepted: with the requests of a file too.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct AnswerLimits {
    /// Largest response head, in bytes [default: 64 KiB]
    #[arg(long, value_name = "BYTES", help_heading = "Answer")]
    pub max_head: Option<u64>,
    /// Largest response body or message, in bytes [default: 1 GiB]
    #[arg(long, value_name = "BYTES", help_heading = "Answer")]
    pub max_body: Option<u64>,
}

/// Credentials of the client: for the requests of a file too.
#[derive(Clone, Default, Args)]
pub struct Login {
    /// Name and password for HTTP Basic authentication
    ///
    /// Requests without an Authorization header get one. Other users of this
    /// machine can see command lines.
    #[arg(short, long, value_name = "NAME:PASSWORD", help_heading = "Request")]
    pub user: Option<String>,
}

impl std::fmt::Debug for Login {
    /// Without the password, wherever arguments are printed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

/// How answers may come: with the requests of a file too.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct EncodingArgs {
    /// Request compressed responses
    ///
    /// deflate, gzip, br or zstd. prony checks bodies decompressed, on a sample of the responses:
    /// docs/curl.md
    #[arg(long, help_heading = "Answer")]
    pub compressed: bool,
}

/// The requests of a file instead.
#[derive(Debug, Clone, Default, Args)]
pub struct RequestFileArgs {
    /// Requests and expected responses from FILE
    ///
    /// docs/your-own-requests.md. They are verified before and after the load. Servers of the
    /// catalog are started for --contract.
    #[arg(
        short,
        long,
        value_name = "FILE",
        conflicts_with = "path",
        help_heading = "Request"
    )]
    pub file: Option<PathBuf>,
    /// Do not verify with pipelined requests
    #[arg(long, requires = "file", help_heading = "Request")]
    pub no_pipelining: bool,
}

/// The statuses that are expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statuses {
    /// Statuses of HTTP, from the first to the last.
    Http(u16, u16),
    /// A status of gRPC.
    Grpc(GrpcStatus),
}

fn status(text: &str) -> Result<Statuses, String> {
    if let Some(status) = GrpcStatus::parse(text) {
        return Ok(Statuses::Grpc(status));
    }
    let class = text.strip_suffix("xx").and_then(|digit| digit.parse().ok());
    match (class, text.parse()) {
        (Some(class @ 1..=9), _) => Ok(Statuses::Http(100 * class, 100 * class + 99)),
        (None, Ok(code)) if (100..1000).contains(&code) => Ok(Statuses::Http(code, code)),
        _ => Err(format!(
            "{text:?} is not a status: expected a number such as 200, a class such as 2xx, or a status of gRPC such as NOT_FOUND"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_and_classes() {
        assert_eq!(status("404"), Ok(Statuses::Http(404, 404)));
        assert_eq!(status("2xx"), Ok(Statuses::Http(200, 299)));
        for name in ["NOT_FOUND", "not_found", "5"] {
            assert!(matches!(status(name), Ok(Statuses::Grpc(code)) if code.number() == 5));
        }
        for wrong in ["", "xx", "0xx", "10xx", "20x", "99", "1000", "-200"] {
            assert!(status(wrong).is_err(), "{wrong}");
        }
    }
}
