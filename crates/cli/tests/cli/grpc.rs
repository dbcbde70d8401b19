//! gRPC on the command line. What is said on a connection is tested in the engine, and calls before a load in the lab.

use crate::support::Place;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

fn frame(kind: u8, flags: u8, stream: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).expect("a short frame");
    [&[0, 0, length, kind, flags][..], &stream, payload].concat()
}

/// A field as a literal that has no effect on the table.
fn field(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    [vec![0], text(name), text(value)].concat()
}

/// A field with bytes, fewer than 128.
fn bytes(number: u8, bytes: &[u8]) -> Vec<u8> {
    let length = u8::try_from(bytes.len()).expect("few bytes");
    assert!(length < 0x80, "{bytes:?}");
    [&[number << 3 | 2, length], bytes].concat()
}

/// The answer of gRPC's reflection to who asks for `hello.Greeter`: a file descriptor, in pieces that a field holds.
fn described() -> Vec<u8> {
    let kind = |name: &str, field: &str| {
        // An optional text.
        let number_and_type = [0x18, 1, 0x20, 1, 0x28, 9];
        let field = [&bytes(1, field.as_bytes())[..], &number_and_type].concat();
        bytes(4, &[bytes(1, name.as_bytes()), bytes(2, &field)].concat())
    };
    let (input, output) = (bytes(2, b".hello.Name"), bytes(3, b".hello.Greeting"));
    // Streams in both directions.
    let chat = [bytes(1, b"Chat"), input, output, vec![0x28, 1, 0x30, 1]].concat();
    let service = [bytes(1, b"Greeter"), bytes(2, &chat)].concat();
    let file = [
        bytes(1, b"hello.proto"),
        bytes(2, b"hello"),
        kind("Name", "name"),
        kind("Greeting", "text"),
        bytes(6, &service),
        bytes(12, b"proto3"),
    ]
    .concat();
    let long = |number: u8, of: &[u8]| {
        let varint = [of.len() as u8 & 0x7f | 0x80, (of.len() >> 7) as u8];
        [&[number << 3 | 2], &varint[..], of].concat()
    };
    long(4, &long(1, &file))
}

/// Answers every call with as many messages as it has, and with two if the last name is `two`: `text` is `hello`, `number`
/// 7. A request for server reflection gets the description of the service.
fn serve(mut client: TcpStream) -> std::io::Result<()> {
    let mut calls: HashMap<[u8; 4], Vec<u8>> = HashMap::new();
    client.read_exact(&mut [0; 24])?;
    client.write_all(&frame(4, 0, [0; 4], &[]))?;
    let head = [
        field(":status", "200"),
        field("content-type", "application/grpc"),
    ]
    .concat();
    loop {
        let mut header = [0; 9];
        client.read_exact(&mut header)?;
        let length = usize::from(header[1]) << 8 | usize::from(header[2]);
        let mut payload = vec![0; length];
        client.read_exact(&mut payload)?;
        if header[3] != 0 {
            continue;
        }
        let stream: [u8; 4] = header[5..].try_into().expect("four bytes");
        let call = calls.entry(stream).or_default();
        call.extend(payload);
        // DATA that ends its stream: a call has come whole.
        if header[4] & 1 == 1 {
            let call = calls.remove(&stream).expect("a call");
            let mut messages = 0;
            let mut rest = &call[..];
            while let [0, 0, 0, 0, length, after @ ..] = rest {
                (messages, rest) = (messages + 1, &after[usize::from(*length)..]);
            }
            let message = b"\0\0\0\0\x09\x0a\x05hello\x10\x07";
            let answer = match rest.is_empty() && call.ends_with(&bytes(4, b"hello.Greeter")) {
                true => {
                    let described = described();
                    [&[0, 0, 0, 0, described.len() as u8], &described[..]].concat()
                }
                false if call.ends_with(b"two") => message.repeat(2),
                false => message.repeat(messages),
            };
            let all = [
                frame(1, 4, stream, &head),
                frame(0, 0, stream, &answer),
                frame(1, 5, stream, &field("grpc-status", "0")),
            ];
            client.write_all(&all.concat())?;
        }
    }
}

fn serves(serve: fn(TcpStream) -> std::io::Result<()>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || serve(client));
        }
    });
    port
}

struct World {
    place: Place,
    port: u16,
}

fn world() -> World {
    World {
        place: Place::new(),
        port: serves(serve),
    }
}

impl World {
    fn url(&self, method: &str) -> String {
        format!("grpc://127.0.0.1:{}/hello.Greeter/{method}", self.port)
    }
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn a_duel_makes_calls() {
    let it = world();
    let url = it.url("Greet");
    let duel = [
        "duel",
        "--rounds",
        "2",
        "-d",
        "300ms",
        "--warmup",
        "0s",
        "-c",
        "2",
        "--streams",
        "2",
    ];
    let said = it
        .place
        .prony(&[&duel[..], &["--json", &url, &url]].concat())
        .with(0);
    assert_eq!(
        said.json()["sides"].as_array().map(Vec::len),
        Some(2),
        "{said}"
    );
    let mixed = format!("http://127.0.0.1:{}/", it.port);
    let said = it.place.refused(&["duel", &url, &mixed]);
    assert!(said.stderr.contains("cannot be compared"), "{said}");
}

#[test]
fn without_a_file_the_bytes_do() {
    let it = world();
    let url = it.url("Count");
    let file = it.place.path().join("call.bin");
    std::fs::write(&file, b"\x0a\x03two").unwrap();
    let file = format!("@{}", file.display());
    let bytes = ["load", "-n", "50", "-c", "1", "--message", &file, "--json"];
    let more = ["--expect-messages", "0..5", "--no-verify", &url];
    let seen = it.place.prony(&[&bytes[..], &more].concat()).with(0).json();
    assert_eq!(seen["grpc"]["messages"], 100, "{seen:#}");
}

/// Messages as JSON, and methods as a `.proto` file has them.
#[cfg(feature = "proto")]
mod files {
    use super::*;

    const PROTO: &str = r#"syntax = "proto3";
package hello;
service Greeter {
  rpc Greet (Name) returns (Greeting);
  rpc Count (Name) returns (stream Greeting);
}
message Name { string name = 1; }
message Greeting { string text = 1; int64 number = 2; }
"#;

    fn proto(it: &World) -> String {
        let file = it.place.file("hello.proto", PROTO);
        file.display().to_string()
    }

    #[test]
    fn calls_are_made_and_their_messages_compared() {
        let it = world();
        let proto = proto(&it);
        let url = it.url("Greet");
        let load = [
            "load",
            "-n",
            "200",
            "-c",
            "2",
            "--streams",
            "4",
            "--proto",
            &proto,
        ];
        let message = ["--message", r#"{"name": "x"}"#];
        let expect = ["--expect-message", r#"{"text": "hello", "number": "7"}"#];
        let all = [
            &load[..],
            &message,
            &expect,
            &["--show-answer", "--json", &url],
        ]
        .concat();
        let printed = it.place.prony(&all).with(0);
        assert!(
            printed
                .stderr
                .contains(r#"answer: {"text":"hello","number":"7"}"#),
            "{printed}"
        );
        let seen = printed.json();
        assert_eq!(seen["outcomes"]["ok"], 200, "{seen:#}");
        assert_eq!(seen["http2"]["streams"], 4, "{seen:#}");
        assert_eq!(seen["grpc"]["messages"], 200, "{seen:#}");
        assert_eq!(seen["grpc"]["statuses"]["OK"], 200, "{seen:#}");
        let text = it
            .place
            .prony(&[&load[..], &message, &[&url]].concat())
            .with(0);
        assert!(
            text.stdout.contains("gRPC         200 messages received"),
            "{text}"
        );
    }

    #[test]
    fn types_are_those_that_the_server_describes() {
        let it = world();
        let url = it.url("Chat");
        let load = ["load", "-n", "50", "-c", "1", "--json"];
        let three = r#"{"name": "a"} {"name": "b"} {"name": "c"}"#;
        for more in [&[][..], &["--expect-message", r#"{"text": "hello"}"#]] {
            let all = [
                &load[..],
                &["--message", three, "--expect-messages", "3", &url],
            ]
            .concat();
            let done = it.place.prony(&[&all[..], more].concat());
            if more.is_empty() {
                let seen = done.with(0).json();
                assert_eq!(seen["grpc"]["messages"], 150, "{seen:#}");
                continue;
            }
            // Three messages are another answer than one.
            let said = done.with(1);
            assert!(said.stderr.contains("answered with"), "{said}");
        }
        let wrong = ["--message", r#"{"nam": "a"}"#, &url];
        let said = it.place.refused(&[&load[..], &wrong].concat());
        assert!(said.stderr.contains("not a hello.Name as JSON"), "{said}");
        let unknown = ["--message", "{}", &it.url("Greet")];
        let said = it.place.prony(&[&load[..], &unknown].concat()).with(1);
        assert!(
            said.stderr.contains("has no method hello.Greeter/Greet"),
            "{said}"
        );
        let started = ["--call", "hello.Greeter/Chat", "--message", "{}"];
        let said = it
            .place
            .refused(&[&["duel", "a {port}", "b {port}"][..], &started].concat());
        assert!(said.stderr.contains("needs the .proto file"), "{said}");
    }

    #[test]
    fn streams_are_counted_by_message() {
        let it = world();
        let proto = proto(&it);
        let url = it.url("Count");
        let load = ["load", "-n", "50", "-c", "1", "--proto", &proto, "--json"];
        let two = [
            "--message",
            r#"{"name": "two"}"#,
            "--expect-messages",
            "2",
            &url,
        ];
        let seen = it.place.prony(&[&load[..], &two].concat()).with(0).json();
        assert_eq!(seen["grpc"]["messages"], 100, "{seen:#}");
        let wrong = [
            "--message",
            r#"{"name": "two"}"#,
            "--expect-messages",
            "3",
            &url,
        ];
        let said = it.place.prony(&[&load[..], &wrong].concat()).with(1);
        assert!(
            said.stderr.contains("with 2 messages, expected 3"),
            "{said}"
        );
    }

    #[test]
    fn what_cannot_work_is_said() {
        let it = world();
        let proto = proto(&it);
        let (proto, url) = (proto.as_str(), it.url("Greet"));
        let other = it.url("Great");
        let http = format!("http://127.0.0.1:{}/", it.port);
        let bare = format!("grpc://127.0.0.1:{}/Greet", it.port);
        let http1 = serves(|mut client| {
            client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")?;
            client.read_exact(&mut [0; 24])
        });
        let http1 = format!("grpc://127.0.0.1:{http1}/hello.Greeter/Greet");
        let cases: [(&[&str], &[&str]); 11] = [
            (
                &["--proto", proto, &other],
                &[
                    "has no method hello.Greeter/Great",
                    "hello.Greeter/Greet, hello.Greeter/Count",
                ],
            ),
            (
                &["--message", "{}", &bare],
                &["is not a method: expected package.Service/Method"],
            ),
            (
                &["--message", "{}", &http1],
                &["the server speaks HTTP/1.1, not HTTP/2"],
            ),
            (
                &["--proto", proto, "--message", r#"{"nam": 1}"#, &url],
                &["not a hello.Name as JSON", "nam"],
            ),
            (
                &[
                    "--proto",
                    proto,
                    "--expect-message",
                    r#"{"text": "bye"}"#,
                    &url,
                ],
                &[r#"answered with {"text":"hello","number":"7"}, expected {"text":"bye"}"#],
            ),
            (&["--expect-status", "NOT_FOUND", &url], &["status OK (0)"]),
            (
                &["--expect-status", "404", &url],
                &["a call's status is 0 to 16"],
            ),
            (
                &["-b", "x", &url],
                &["no --method and no --body", "--message"],
            ),
            (
                &[&bare],
                &["is not a method: expected package.Service/Method"],
            ),
            (
                &["--proto", proto, &http],
                &["options of gRPC, and nothing is called"],
            ),
            (&[&http1], &["the server speaks HTTP/1.1, not HTTP/2"]),
        ];
        for (args, texts) in cases {
            // What the server speaks is no mistake in the command line, nor is a file that is not there.
            let found = [
                "server speaks",
                "cannot read",
                "has no method",
                "answered with",
                "status OK",
            ];
            let found = found
                .iter()
                .any(|one| texts.iter().any(|text| text.contains(one)));
            let said = it
                .place
                .prony(&[&["load", "-n", "1"][..], args].concat())
                .with(if found { 1 } else { 2 });
            let flat = said.stderr.replace(['\n', '│'], " ");
            let flat = flat.split_whitespace().collect::<Vec<_>>().join(" ");
            for text in texts {
                assert!(flat.contains(text), "{text}: {said}");
            }
        }
    }
}
