//! HTTP servers in threads of the test, for answers that prony's own servers do not give.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

/// Fate of a connection after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    Keep,
    Close,
}

/// A server that gives every request the same answer.
pub struct Constant {
    answer: Vec<u8>,
    after: After,
    /// The first request that came, its body included.
    first: Mutex<Option<Vec<u8>>>,
}

impl Constant {
    pub fn new(answer: &(impl AsRef<[u8]> + ?Sized), after: After) -> Arc<Self> {
        Arc::new(Self {
            answer: answer.as_ref().to_vec(),
            after,
            first: Mutex::default(),
        })
    }

    /// The URL of a server that answers 200 with these header fields, each with its line end, and this body.
    pub fn right(fields: &str, body: &[u8]) -> String {
        let length = body.len();
        let head = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {length}\r\n\r\n");
        let server = Self::new(&[head.as_bytes(), body].concat(), After::Keep);
        format!("http://{}/", server.tcp())
    }

    /// Listens on a free port, for as long as the test process lives.
    pub fn tcp(self: &Arc<Self>) -> SocketAddr {
        self.on(Ipv4Addr::LOCALHOST.into())
    }

    /// The same on this address.
    pub fn on(self: &Arc<Self>, ip: IpAddr) -> SocketAddr {
        let listener = TcpListener::bind((ip, 0)).unwrap();
        let addr = listener.local_addr().unwrap();
        let this = Arc::clone(self);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let this = Arc::clone(&this);
                thread::spawn(move || this.serve(stream));
            }
        });
        addr
    }

    /// Listens on a unix socket.
    pub fn unix(self: &Arc<Self>, path: &Path) {
        let listener = UnixListener::bind(path).unwrap();
        let this = Arc::clone(self);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let this = Arc::clone(&this);
                thread::spawn(move || this.serve(stream));
            }
        });
    }

    /// The first request that came.
    pub fn first(&self) -> String {
        String::from_utf8(self.first.lock().unwrap().clone().expect("a request came")).unwrap()
    }

    fn serve(&self, mut stream: impl Read + Write) {
        let mut pending = Vec::new();
        let mut buffer = [0; 8192];
        while let Ok(n @ 1..) = stream.read(&mut buffer) {
            pending.extend_from_slice(&buffer[..n]);
            while let Some(length) = request(&pending) {
                let request: Vec<u8> = pending.drain(..length).collect();
                self.first.lock().unwrap().get_or_insert(request);
                if stream.write_all(&self.answer).is_err() || self.after == After::Close {
                    return;
                }
            }
        }
    }
}

/// The length of the first request in these bytes, when all of it is there.
fn request(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head])
        .unwrap()
        .to_ascii_lowercase();
    let body = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok())
        .unwrap_or(0);
    (bytes.len() >= head + body).then_some(head + body)
}
