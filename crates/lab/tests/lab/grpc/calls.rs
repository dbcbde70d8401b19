//! Calls that users give: what is said of a server before it is loaded, and what is expected from then on.

use super::server::{Said, honest, serve};
use prony_engine::Target;
use prony_engine::protocol::grpc::{Call, GrpcExpect, GrpcStatus};
use prony_engine::protocol::{Expect, Limits};
use prony_lab::grpc::{CallProbe, Rpc, Schema};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

fn proto() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/contract/grpc_echo/echo.proto")
}

fn rpc(method: &str, json: &str) -> Rpc {
    let path = format!("/prony.echo.EchoService/{method}");
    let method = Schema::read(&[proto()], &[])
        .unwrap()
        .method(&path)
        .unwrap();
    Rpc {
        call: Call {
            path,
            metadata: vec![("x-token".into(), "abc".into())],
            messages: method.input(json).unwrap(),
        },
        expect: GrpcExpect {
            streaming: method.streams(),
            ..GrpcExpect::default()
        },
        output: Some(method.answers()),
        limits: Limits::default(),
    }
}

fn look(rpc: &Rpc, addr: SocketAddr) -> Result<CallProbe, String> {
    rpc.look(&Target::Tcp(addr), None, "test", Duration::from_secs(20))
}

#[test]
fn a_constant_answer_is_expected_from_then_on() {
    let addr = serve(|_, call| honest(call));
    let rpc = rpc("Echo", r#"{"text": "hello", "number": "-1"}"#);
    let seen = look(&rpc, addr).unwrap();
    assert_eq!(
        seen.expect.content,
        Expect::body(rpc.call.messages[0].clone())
    );
    let shown = rpc.show(&seen.first.messages[0]);
    assert_eq!(shown, r#"{"text":"hello","number":"-1"}"#);
}

#[test]
fn answers_that_change_are_not() {
    let count = AtomicU64::new(0);
    let addr = serve(move |_, _| Said::messages(&[vec![0x10, count.fetch_add(1, Relaxed) as u8]]));
    let seen = look(&rpc("Echo", "{}"), addr).unwrap();
    assert_eq!(seen.expect.content, Expect::default());
    // The same each time, but with a time in it.
    let addr = serve(|_, call| honest(call));
    let seen = look(&rpc("Echo", r#"{"text": "at 12:30"}"#), addr).unwrap();
    assert_eq!(seen.expect.content, Expect::default());
}

#[test]
fn a_message_is_the_same_in_another_order_of_its_fields() {
    // number, then text.
    let reversed = b"\x10\x07\x0a\x02hi".to_vec();
    let answer = reversed.clone();
    let addr = serve(move |_, _| Said::messages(std::slice::from_ref(&answer)));
    let wanted = |json: &str| {
        let rpc = rpc("Echo", json);
        Rpc {
            expect: GrpcExpect {
                content: Expect::body(rpc.call.messages[0].clone()),
                ..GrpcExpect::default()
            },
            ..rpc
        }
    };
    let seen = look(&wanted(r#"{"text": "hi", "number": 7}"#), addr).unwrap();
    assert_eq!(seen.expect.content, Expect::body(reversed));
    let wrong = look(&wanted(r#"{"text": "hi", "number": 8}"#), addr).unwrap_err();
    assert!(
        wrong.contains(
            r#"answered with {"text":"hi","number":"7"}, expected {"text":"hi","number":"8"}"#
        ),
        "{wrong}"
    );
}

/// Answer of a server to every call.
type Answer = fn() -> Said;

#[test]
fn what_cannot_work_is_said() {
    let cases: [(Answer, &str); 6] = [
        (
            || Said::error(12, ""),
            "the server has no method /prony.echo.EchoService/Echo, status UNIMPLEMENTED (12)",
        ),
        (
            || Said::error(16, "who\nare you"),
            "status UNAUTHENTICATED (16): who\u{fffd}are you",
        ),
        (
            || Said {
                content_type: "text/html",
                status: None,
                ..Said::messages(&[])
            },
            "content-type text/html",
        ),
        (
            || Said {
                http: 404,
                status: None,
                ..Said::messages(&[])
            },
            "HTTP status 404 and no grpc-status",
        ),
        (
            || Said {
                status: None,
                ..Said::messages(&[vec![]])
            },
            "without grpc-status",
        ),
        (
            || Said::messages(&[vec![], vec![]]),
            "with 2 messages, expected 1",
        ),
    ];
    for (said, text) in cases {
        let addr = serve(move |_, _| said());
        let wrong = look(&rpc("Echo", "{}"), addr).unwrap_err();
        assert!(wrong.contains(text), "{text}: {wrong}");
    }
}

#[test]
fn an_error_may_be_expected_and_streams_may_be_long() {
    let addr = serve(|_, call| honest(call));
    let mut fail = rpc("Fail", r#"{"code": 5, "text": "not here"}"#);
    let wrong = look(&fail, addr).unwrap_err();
    assert!(wrong.contains("status NOT_FOUND (5): not here"), "{wrong}");
    fail.expect.status = GrpcStatus::parse("NOT_FOUND").unwrap();
    assert_eq!(look(&fail, addr).unwrap().first.messages.len(), 0);
    let mut stream = rpc("Stream", r#"{"payload": {"text": "x"}, "times": 30}"#);
    assert_eq!(look(&stream, addr).unwrap().first.messages.len(), 30);
    stream.expect.messages = Some((31, 31));
    let wrong = look(&stream, addr).unwrap_err();
    assert!(wrong.contains("30 messages, expected 31"), "{wrong}");
}

#[test]
fn mistakes_in_files_and_messages_are_told() {
    let schema = Schema::read(&[proto()], &[]).unwrap();
    let error = schema.method("/prony.echo.EchoService/Ecko").unwrap_err();
    let help = error.help().unwrap().to_string();
    assert!(
        help.starts_with("there are prony.echo.EchoService/Echo, "),
        "{help}"
    );
    let method = schema.method("prony.echo.EchoService/Echo").unwrap();
    for (json, why) in [
        (r#"{"txt": "x"}"#, "txt"),
        (r#"{"number": "ten"}"#, "prony.echo.Payload"),
        ("{} {}", "trailing"),
        ("", "EOF"),
    ] {
        let wrong = method.input(json).unwrap_err();
        assert!(wrong.contains(why), "{json}: {wrong}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.proto");
    std::fs::write(
        &file,
        "syntax = \"proto3\";\nservice A { rpc B (C) returns (C); }\n",
    )
    .unwrap();
    let error = Schema::read(&[file], &[]).unwrap_err().to_string();
    assert!(error.contains('C'), "{error}");
    let missing = Schema::read(&[folder.path().join("none.proto")], &[]).unwrap_err();
    assert!(missing.to_string().contains("no such file"), "{missing}");
}

#[test]
fn imports_are_found_in_the_folders_that_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    };
    write(
        "common/kinds.proto",
        "syntax = \"proto3\"; package k; message K { int32 n = 1; }",
    );
    let file = write(
        "api/service.proto",
        "syntax = \"proto3\"; import \"common/kinds.proto\"; import \"google/protobuf/empty.proto\";\n\
         service S { rpc M (k.K) returns (google.protobuf.Empty); }",
    );
    assert!(Schema::read(std::slice::from_ref(&file), &[]).is_err());
    let schema = Schema::read(&[file], &[folder.path().to_owned()]).unwrap();
    let method = schema.method("/S/M").unwrap();
    assert_eq!(method.input(r#"{"n": 3}"#).unwrap(), [[8, 3]]);
}
