//! Small servers for the verifiers' tests: one thread per connection, on a free port.
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use prony_lab::contract::{Contract, Fixture, Inspection, Verified, Violation};

/// Verifies a server of one of the contracts that need nothing around them.
pub fn inspect(
    contract: Contract,
    addr: SocketAddr,
    how: &Inspection<'_>,
) -> Result<Verified, Violation> {
    let fixture = Fixture::set_up(contract, &std::env::temp_dir()).expect("nothing is to be made");
    how.of(contract, addr, &fixture)
}

/// Serves each connection with `handler`, which is also told its number.
pub fn serve(handler: impl Fn(TcpStream, usize) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = listener.local_addr().expect("an address");
    let handler = Arc::new(handler);
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let stream = stream.expect("an accepted connection");
            stream.set_nodelay(true).expect("a live socket");
            let handler = Arc::clone(&handler);
            thread::spawn(move || handler(stream, number));
        }
    });
    addr
}

/// Serves an echo that changes what it read by `change`, which gets the connection's number, how
/// many bytes it had read before, and the bytes.
pub fn echo(change: impl Fn(usize, usize, &[u8]) -> Vec<u8> + Send + Sync + 'static) -> SocketAddr {
    serve(move |mut stream, number| {
        let mut buf = vec![0; 8192];
        let mut before = 0;
        while let Ok(n @ 1..) = stream.read(&mut buf) {
            if stream
                .write_all(&change(number, before, &buf[..n]))
                .is_err()
            {
                return;
            }
            before += n;
        }
    })
}

/// A request as the honest HTTP server sees it.
#[derive(Debug, Clone)]
pub struct Request {
    pub target: String,
    pub close: bool,
    pub http_1_0: bool,
}

/// Reads requests, complete ones only.
pub struct Requests {
    stream: TcpStream,
    heard: Vec<u8>,
}

impl Requests {
    pub fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            heard: Vec::new(),
        }
    }

    pub fn next(&mut self) -> Option<Request> {
        loop {
            if let Some(end) = self.heard.windows(4).position(|w| w == b"\r\n\r\n") {
                let head: Vec<u8> = self.heard.drain(..end + 4).collect();
                return Some(parse(&head));
            }
            let mut buf = [0; 4096];
            match self.stream.read(&mut buf) {
                Ok(n @ 1..) => self.heard.extend_from_slice(&buf[..n]),
                _ => return None,
            }
        }
    }
}

/// Reads as much of a head as is there, complete or not.
pub fn parse(head: &[u8]) -> Request {
    let text = String::from_utf8_lossy(head);
    let target = text.split(' ').nth(1).unwrap_or("/").trim_end().to_owned();
    Request {
        target,
        close: text.contains("Connection: close"),
        http_1_0: text.contains(" HTTP/1.0\r\n"),
    }
}

/// Serves HTTP correctly but for the answer's bytes, which `answer` makes from the connection's
/// number and the request.
pub fn http(answer: impl Fn(usize, &Request) -> Vec<u8> + Send + Sync + 'static) -> SocketAddr {
    serve(move |stream, number| {
        let mut requests = Requests::new(stream.try_clone().expect("a live socket"));
        while let Some(request) = requests.next() {
            if (&stream).write_all(&answer(number, &request)).is_err() || request.close {
                return;
            }
            if request.http_1_0 {
                return;
            }
        }
    })
}

pub fn now() -> String {
    DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&Timestamp::now())
        .expect("a date")
}

/// The right answer to a request for `target`.
pub fn right(target: &str) -> Vec<u8> {
    plain(&format!("{target} at {}", now()))
}

/// A well-formed answer with any body.
pub fn plain(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}
