//! `grpc-echo`: the service of `echo.proto` over gRPC without TLS. Messages come back whole, errors as they were asked
//! for, and streams message by message.
//!
//! Calls are made by the crate `h2`, and messages are encoded by `prost`: the load has implementations of its own.

mod asking;
mod messages;
mod steps;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use asking::payload;
use prony_engine::protocol::grpc::{Call, GrpcExpect, GrpcStatus};
use prony_engine::protocol::h2::{self, H2ProbeError, WINDOW};
use prony_engine::protocol::{Expect, Limits};
use prony_engine::{Dialogue, StreamedRequests, Target};
use prost::Message;

use super::{Act, Depth, Visit};
use crate::grpc::client::{Client, GrpcRequest};

/// The service, as servers implement it.
pub const PROTO: &str = include_str!("echo.proto");

const ECHO: &str = "/prony.echo.EchoService/Echo";
const FAIL: &str = "/prony.echo.EchoService/Fail";
const STREAM: &str = "/prony.echo.EchoService/Stream";

/// Different calls of a load.
const CALLS: usize = 64;
pub(super) const SCRIPT: &[Act] = &[
    Act {
        name: "echo",
        tried: "random messages, sent one after the other",
        from: Depth::Quick,
        run: steps::echo,
    },
    Act {
        name: "numbers",
        tried: "numbers at the ends of their range",
        from: Depth::Quick,
        run: steps::numbers,
    },
    Act {
        name: "texts",
        tried: "texts in many scripts, and an empty message",
        from: Depth::Quick,
        run: steps::texts,
    },
    Act {
        name: "data",
        tried: "bytes of every value, and of many lengths",
        from: Depth::Quick,
        run: steps::data,
    },
    Act {
        name: "nested",
        tried: "messages within messages",
        from: Depth::Quick,
        run: steps::nested,
    },
    Act {
        name: "fragments",
        tried: "a message in DATA frames that are split at odd places",
        from: Depth::Quick,
        run: steps::fragments,
    },
    Act {
        name: "streams",
        tried: "calls in flight at once on one connection",
        from: Depth::Quick,
        run: steps::streams,
    },
    Act {
        name: "errors",
        tried: "calls that must fail, with a status and a message",
        from: Depth::Quick,
        run: steps::errors,
    },
    Act {
        name: "server-stream",
        tried: "answers of several messages",
        from: Depth::Quick,
        run: steps::server_stream,
    },
    Act {
        name: "connections",
        tried: "several connections used at once",
        from: Depth::Full,
        run: steps::connections,
    },
    Act {
        name: "unknown-method",
        tried: "methods and services that there are not",
        from: Depth::Full,
        run: steps::unknown_method,
    },
    Act {
        name: "malformed-message",
        tried: "bytes that are no message",
        from: Depth::Full,
        run: steps::malformed,
    },
    Act {
        name: "invalid-text",
        tried: "text that is not UTF-8",
        from: Depth::Full,
        run: steps::invalid_text,
    },
    Act {
        name: "large-message",
        tried: "a message of 1 MiB, alone and several at once",
        from: Depth::Full,
        run: steps::large,
    },
    Act {
        name: "breaking-off",
        tried: "clients that leave in the middle of a message",
        from: Depth::Thorough,
        run: steps::breaking_off,
    },
];

/// An empty message, and the same back.
pub(super) fn probe(addr: SocketAddr, timeout: Duration) -> io::Result<()> {
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let target = Target::Tcp(addr);
    h2::probe(&target, timeout).map_err(|error| {
        let kind = match &error {
            H2ProbeError::Connection(error) => error.kind(),
            H2ProbeError::Closed => io::ErrorKind::UnexpectedEof,
            H2ProbeError::Silent(_) => io::ErrorKind::TimedOut,
            H2ProbeError::Http1 | H2ProbeError::Other => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    })?;
    let client = Client::connect(&target, &addr.to_string(), false, timeout).map_err(invalid)?;
    let answer = client
        .call(&GrpcRequest::message(ECHO, &[], &[]))
        .map_err(invalid)?;
    answer.check(GrpcStatus::OK).map_err(invalid)
}

/// Calls that cannot be guessed, and what their answers must be. Encoders write fields in the order of their numbers,
/// and leave out what has its default: no field here has it.
pub(super) fn dialogue(visit: &mut Visit<'_>) -> Dialogue {
    let authority = visit.addr.to_string();
    let exchanges = (0..CALLS).map(|_| {
        let message = payload(visit, 32).encode_to_vec();
        let expect = GrpcExpect {
            content: Expect::body(message.clone()),
            ..GrpcExpect::default()
        };
        let call = Call {
            path: ECHO.to_owned(),
            metadata: Vec::new(),
            messages: vec![message],
        };
        let exchange = call.exchange(&authority, false, expect);
        exchange.expect("a call without metadata")
    });
    Dialogue::Grpc(Box::new(StreamedRequests {
        exchanges: exchanges.collect(),
        limits: Limits::default(),
        window: WINDOW,
    }))
}
