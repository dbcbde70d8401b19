//! HTTP echo by every model of the ceiling.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use crate::client::{Answer, ceilings, connect, read_answer, read_to_end, start};
use prony_reference::ceiling::Model;
use prony_reference::{Contract::HttpEcho, Date};

fn ask(mut stream: &TcpStream, request: &str) -> Answer {
    stream.write_all(request.as_bytes()).unwrap();
    read_answer(stream, !request.starts_with("HEAD"))
}

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: test\r\n\r\n")
}

/// Whether the connection ends here, without another byte.
fn ends(mut stream: &TcpStream) -> bool {
    stream.read(&mut [0]).unwrap() == 0
}

#[test]
fn the_body_is_the_target_and_the_current_date() {
    for (_, address) in ceilings(HttpEcho) {
        let stream = connect(address);
        for target in ["/", "/a/b?c=d&e", "/%C3%A4", "*"] {
            let before = Date::now();
            let answer = ask(&stream, &get(target));
            let after = Date::now();
            assert_eq!(answer.status, 200);
            assert!(answer.head.contains("\r\ncontent-type: text/plain\r\n"));
            let expected = [before, after].map(|date| format!("{target} at {}", date.as_str()));
            assert!(expected.contains(&answer.body), "{}", answer.body);
        }
    }
}

#[test]
fn fragments_and_pipelining() {
    for (_, address) in ceilings(HttpEcho) {
        let mut stream = connect(address);
        for byte in get("/in-single-bytes").bytes() {
            stream.write_all(&[byte]).unwrap();
        }
        assert!(
            read_answer(&stream, true)
                .body
                .starts_with("/in-single-bytes at ")
        );
        let many: String = (0..3_000)
            .map(|number| get(&format!("/{number}")))
            .collect();
        let mut writer = stream.try_clone().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || writer.write_all(many.as_bytes()).unwrap());
            for number in 0..3_000 {
                let body = read_answer(&stream, true).body;
                assert!(body.starts_with(&format!("/{number} at ")), "{body}");
            }
        });
    }
}

#[test]
fn pipelining_without_reading_loses_nothing() {
    for (_, address) in ceilings(HttpEcho) {
        let mut stream = connect(address);
        let mut writer = stream.try_clone().unwrap();
        let sender = std::thread::spawn(move || {
            let block = get("/0123456789").repeat(1_000);
            for _ in 0..100 {
                writer.write_all(block.as_bytes()).unwrap();
            }
            writer.shutdown(Shutdown::Write).unwrap();
        });
        // Everything that the kernel's buffers hold piles up before the first read.
        std::thread::sleep(std::time::Duration::from_millis(100));
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        sender.join().unwrap();
        assert_eq!(text.matches("HTTP/1.1 200 OK\r\n").count(), 100_000);
        assert_eq!(text.matches("\r\n\r\n/0123456789 at ").count(), 100_000);
    }
}

#[test]
fn keep_alive_and_close() {
    for (_, address) in ceilings(HttpEcho) {
        for (request, connection, closes) in [
            ("GET /x HTTP/1.0\r\n\r\n", Some("close"), true),
            (
                "GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
                Some("keep-alive"),
                false,
            ),
            ("GET /x HTTP/1.1\r\nHost: x\r\n\r\n", None, false),
            (
                "GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                Some("close"),
                true,
            ),
        ] {
            let stream = connect(address);
            let answer = ask(&stream, request);
            assert_eq!(answer.status, 200);
            let said = answer
                .head
                .split("\r\n")
                .find_map(|line| line.strip_prefix("connection: "));
            assert_eq!(said, connection, "{request}");
            if closes {
                assert!(ends(&stream), "{request}");
            } else {
                assert_eq!(ask(&stream, &get("/again")).status, 200, "{request}");
            }
        }
    }
}

#[test]
fn head_and_bodies() {
    for (_, address) in ceilings(HttpEcho) {
        let stream = connect(address);
        let head = ask(&stream, "HEAD /abc HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(
            head.head.contains("\r\ncontent-length: 37\r\n"),
            "{}",
            head.head
        );
        let body = "GET ".repeat(30_000);
        let sized = format!(
            "POST /sized HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        assert!(ask(&stream, &sized).body.starts_with("/sized at "));
        let chunked = format!(
            "POST /chunked HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
            body.len()
        );
        assert!(ask(&stream, &chunked).body.starts_with("/chunked at "));
        assert!(ask(&stream, &get("/after")).body.starts_with("/after at "));
    }
}

#[test]
fn refusals_are_read_even_by_clients_that_send_on() {
    let long = "x".repeat(100_000);
    for (model, address) in ceilings(HttpEcho) {
        for (request, status) in [
            ("nonsense\r\n\r\n".to_owned(), 400),
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400),
            (
                format!("GET / HTTP/1.1\r\nHost: x\r\nLong: {long}\r\n\r\n"),
                431,
            ),
            (format!("{}broken\r\n\r\n{long}", get("/first")), 400),
        ] {
            let mut stream = connect(address);
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = read_answer(&stream, true);
            if request.contains("/first") {
                assert!(answer.body.starts_with("/first at "));
                answer = read_answer(&stream, true);
            }
            assert_eq!(answer.status, status, "{model}: {request:.40}");
            assert!(answer.head.contains("\r\nconnection: close\r\n"));
            stream.write_all(long.as_bytes()).unwrap();
            assert!(ends(&stream));
        }
    }
}

#[test]
fn half_close_and_reset() {
    for (_, address) in ceilings(HttpEcho) {
        let mut stream = connect(address);
        stream.write_all(get("/1").repeat(2).as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let text = String::from_utf8(read_to_end(&stream)).unwrap();
        assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 2);
        for _ in 0..20 {
            let mut stream = connect(address);
            stream
                .write_all(get("/unread").repeat(100).as_bytes())
                .unwrap();
            let _ = stream.read(&mut [0]).unwrap();
        }
        assert_eq!(ask(&connect(address), &get("/")).status, 200);
    }
}

#[test]
fn many_connections_at_once() {
    for model in Model::ALL {
        let address = start(model, HttpEcho, 2);
        let streams: Vec<TcpStream> = (0..200).map(|_| connect(address)).collect();
        for round in 0..3 {
            for (index, mut stream) in streams.iter().enumerate() {
                let request = get(&format!("/{round}/{index}"));
                stream.write_all(request.as_bytes()).unwrap();
            }
            for (index, stream) in streams.iter().enumerate() {
                let body = read_answer(stream, true).body;
                assert!(body.starts_with(&format!("/{round}/{index} at ")), "{body}");
            }
        }
    }
}
