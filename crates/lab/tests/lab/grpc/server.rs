//! A server of gRPC over the crate `h2`, whose messages are read by the `.proto` file and not by what the verifier has.

use bytes::Bytes;
use h2::server::{self, SendResponse};
use http::{HeaderMap, Request, Response};
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, Value};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::thread;

static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/contract/grpc_echo");
    let set = protox::compile(["echo.proto"], [folder]).expect("the file");
    DescriptorPool::from_file_descriptor_set(set).expect("the file")
});

fn kind(name: &str) -> MessageDescriptor {
    let name = format!("prony.echo.{name}");
    POOL.get_message_by_name(&name)
        .expect("a message of the file")
}

/// A call as it came.
pub struct Call {
    pub method: String,
    pub message: Vec<u8>,
}

/// Answer to a call.
#[derive(Debug, Clone)]
pub struct Said {
    pub http: u16,
    pub content_type: &'static str,
    /// With what stands before each.
    pub body: Vec<u8>,
    pub status: Option<String>,
    pub text: String,
}

impl Said {
    pub fn messages(messages: &[Vec<u8>]) -> Self {
        Self {
            http: 200,
            content_type: "application/grpc",
            body: messages
                .iter()
                .flat_map(|message| framed(message))
                .collect(),
            status: Some("0".into()),
            text: String::new(),
        }
    }

    pub fn error(code: i32, text: &str) -> Self {
        Self {
            status: Some(code.to_string()),
            text: text.into(),
            ..Self::messages(&[])
        }
    }
}

pub fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap();
    [&[0], &length.to_be_bytes()[..], message].concat()
}

/// Returns an honest server's answer, whose payloads go through `change` before they are sent.
pub fn changed(call: &Call, change: impl Fn(&mut DynamicMessage)) -> Said {
    let read = |name| DynamicMessage::decode(kind(name), &call.message[..]);
    let wrong = |error: prost::DecodeError| Said::error(13, &error.to_string());
    match call.method.as_str() {
        "/prony.echo.EchoService/Echo" => match read("Payload") {
            Ok(mut payload) => {
                change(&mut payload);
                Said::messages(&[payload.encode_to_vec()])
            }
            Err(error) => wrong(error),
        },
        "/prony.echo.EchoService/Fail" => match read("Failure") {
            Ok(failure) => {
                let field = |name| failure.get_field_by_name(name).unwrap().into_owned();
                let code = field("code").as_i32().unwrap();
                Said::error(code, field("text").as_str().unwrap())
            }
            Err(error) => wrong(error),
        },
        "/prony.echo.EchoService/Stream" => match read("Repetition") {
            Ok(asked) => {
                let field = |name| asked.get_field_by_name(name).unwrap().into_owned();
                let payload = field("payload").as_message().unwrap().clone();
                let first = payload
                    .get_field_by_name("number")
                    .unwrap()
                    .as_i64()
                    .unwrap();
                let one = |nth: i32| {
                    let mut payload = payload.clone();
                    payload.set_field_by_name("number", Value::I64(first + i64::from(nth)));
                    change(&mut payload);
                    payload.encode_to_vec()
                };
                let times = field("times").as_i32().unwrap();
                Said::messages(&(0..times).map(one).collect::<Vec<_>>())
            }
            Err(error) => wrong(error),
        },
        other => Said::error(12, &format!("no method {other}")),
    }
}

pub fn honest(call: &Call) -> Said {
    changed(call, |_| {})
}

/// Serves on a free port until the test ends; `answer` is told the number of the connection.
pub fn serve(answer: impl Fn(usize, &Call) -> Said + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.set_nonblocking(true).expect("a socket");
    let addr = listener.local_addr().expect("an address");
    let answer = Arc::new(answer);
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            for number in 0.. {
                let (stream, _) = listener.accept().await.expect("a connection");
                let answer = Arc::clone(&answer);
                tokio::spawn(async move {
                    let _ = stream.set_nodelay(true);
                    let Ok(mut connection) = server::handshake(stream).await else {
                        return;
                    };
                    while let Some(Ok((request, respond))) = connection.accept().await {
                        let answer = Arc::clone(&answer);
                        tokio::spawn(async move {
                            // A client that leaves is no fault.
                            let _ = one(request, respond, |call| answer(number, call)).await;
                        });
                    }
                });
            }
        });
    });
    addr
}

async fn one(
    request: Request<h2::RecvStream>,
    mut respond: SendResponse<Bytes>,
    answer: impl Fn(&Call) -> Said,
) -> Result<(), h2::Error> {
    let method = request.uri().path().to_owned();
    assert_eq!(request.headers()["te"], "trailers");
    assert_eq!(request.headers()["content-type"], "application/grpc");
    let mut body = request.into_body();
    let mut bytes = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        body.flow_control().release_capacity(piece.len())?;
        bytes.extend_from_slice(&piece);
    }
    assert!(bytes.len() >= 5, "a call has one message");
    let call = Call {
        method,
        message: bytes[5..].to_vec(),
    };
    let said = answer(&call);
    let mut head = Response::builder()
        .status(said.http)
        .header("content-type", said.content_type);
    let mut trailers = HeaderMap::new();
    if let Some(status) = &said.status {
        trailers.insert("grpc-status", status.parse().unwrap());
    }
    if !said.text.is_empty() {
        let text: String = said
            .text
            .bytes()
            .map(|b| match b {
                b'%' | 0..=31 | 127.. => format!("%{b:02X}"),
                plain => char::from(plain).to_string(),
            })
            .collect();
        trailers.insert("grpc-message", text.parse().unwrap());
    }
    if said.body.is_empty() && said.status.as_deref() != Some("0") {
        // Trailers only.
        for (name, value) in &trailers {
            head = head.header(name, value);
        }
        respond.send_response(head.body(()).unwrap(), true)?;
        return Ok(());
    }
    let mut stream = respond.send_response(head.body(()).unwrap(), false)?;
    if !said.body.is_empty() {
        stream.send_data(said.body.into(), trailers.is_empty())?;
    }
    if !trailers.is_empty() {
        stream.send_trailers(trailers)?;
    }
    Ok(())
}
