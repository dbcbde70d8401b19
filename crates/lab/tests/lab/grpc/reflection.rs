//! Types that a server describes itself.

use super::server::{Call, Said, honest, serve};
use prony_engine::Target;
use prony_lab::grpc::Schema;
use prost::Message;
use prost_reflect::prost_types::FileDescriptorProto;
use std::net::SocketAddr;
use std::time::Duration;

const V1: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const V1_ALPHA: &str = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

/// Fields of questions.
const FILE: u8 = 3;
const SYMBOL: u8 = 4;
const LIST: u8 = 7;

/// A field with bytes, fewer than 2^14.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    let varint = [length as u8 & 0x7f | 0x80, (length >> 7) as u8];
    [&[number << 3 | 2], &varint[..], bytes].concat()
}

/// The files of a service, the importing one first.
fn files() -> Vec<FileDescriptorProto> {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "kinds.proto",
        "syntax = \"proto3\"; package k; message K { int32 n = 1; }",
    );
    write(
        "service.proto",
        "syntax = \"proto3\"; package s; import \"kinds.proto\"; import \"google/protobuf/empty.proto\";\n\
         service S { rpc M (k.K) returns (google.protobuf.Empty); rpc Up (stream k.K) returns (k.K); }",
    );
    let mut files = protox::compile(["service.proto"], [folder.path()])
        .unwrap()
        .file;
    files.reverse();
    assert_eq!(files[0].name(), "service.proto");
    files
}

/// Field and text of a question.
fn question(call: &Call) -> (u8, String) {
    let [tag, _length, text @ ..] = &call.message[..] else {
        panic!("{:?} is no question", call.message)
    };
    (tag >> 3, String::from_utf8(text.to_vec()).unwrap())
}

/// An honest server of reflection, in this version.
fn described(call: &Call, version: &str, files: &[FileDescriptorProto]) -> Said {
    if call.method != version {
        return honest(call);
    }
    let sent = |file: &FileDescriptorProto| field(4, &field(1, &file.encode_to_vec()));
    let reply = match question(call) {
        (SYMBOL, name) if name == "s.S" => sent(&files[0]),
        (FILE, name) => sent(files.iter().find(|file| file.name() == name).unwrap()),
        (LIST, _) => field(
            6,
            &["s.S", "grpc.reflection.v1.ServerReflection"]
                .map(|name| field(1, &field(1, name.as_bytes())))
                .concat(),
        ),
        _ => field(7, &[&[8, 5], &field(2, b"not here")[..]].concat()),
    };
    Said::messages(&[reply])
}

fn asked(addr: SocketAddr, path: &str) -> Result<Schema, String> {
    let (target, silence) = (Target::Tcp(addr), Duration::from_secs(20));
    Schema::of_server((&target, None), "test", path, &[], silence)
}

#[test]
fn a_service_is_known_with_all_that_it_imports() {
    for version in [V1, V1_ALPHA] {
        let files = files();
        let addr = serve(move |_, call| described(call, version, &files));
        let schema = asked(addr, "/s.S/M").unwrap();
        let method = schema.method("/s.S/M").unwrap();
        assert_eq!(method.input(r#"{"n": 3}"#).unwrap(), [[8, 3]]);
        assert_eq!(method.output("{}").unwrap(), b"");
        let up = schema.method("/s.S/Up").unwrap();
        assert_eq!(up.input(r#"{"n": 3} {"n": 4}"#).unwrap(), [[8, 3], [8, 4]]);
        let unknown = asked(addr, "/s.T/M").unwrap_err();
        assert_eq!(unknown, "the server has no service s.T: there are s.S");
    }
}

#[test]
fn what_is_no_reflection_is_told() {
    let addr = serve(|_, call| honest(call));
    let wrong = asked(addr, "/s.S/M").unwrap_err();
    assert_eq!(wrong, "the server has no reflection");
    // The importing file, whatever is asked for.
    let addr = serve(|_, _| Said::messages(&[field(4, &field(1, &files()[0].encode_to_vec()))]));
    let wrong = asked(addr, "/s.S/M").unwrap_err();
    assert!(wrong.contains("sends no file "), "{wrong}");
    let bytes = |bytes: &[u8]| {
        let bytes = bytes.to_vec();
        asked(
            serve(move |_, _| Said::messages(std::slice::from_ref(&bytes))),
            "/s.S/M",
        )
        .unwrap_err()
    };
    for (reply, why) in [
        (&b"\x22"[..], "no reply of it"),
        (b"", "sends no file"),
        (&field(4, &field(1, b"\x0a")), "a file that is none"),
    ] {
        let wrong = bytes(reply);
        assert!(wrong.contains(why), "{why}: {wrong}");
    }
    let addr = serve(|_, _| Said::error(16, "who are you"));
    let wrong = asked(addr, "/s.S/M").unwrap_err();
    assert!(
        wrong.contains("UNAUTHENTICATED (16): who are you"),
        "{wrong}"
    );
}
