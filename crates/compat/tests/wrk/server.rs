//! A small web server in threads of the test, which says what it was asked.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;

/// Handles one request, given the number of requests before it: returns the bytes to send, and whether
/// the connection stays open.
pub type Serve = dyn Fn(&Request, u64) -> (Vec<u8>, bool) + Send + Sync;

/// A request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub line: String,
    /// `name: value`, in order of the alphabet.
    pub fields: Vec<String>,
    pub body: String,
}

pub struct Server {
    pub address: SocketAddr,
    /// The first hundred requests.
    pub requests: Arc<Mutex<Vec<Request>>>,
    pub count: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
}

/// 200 with this body.
pub fn ok(body: &str) -> Vec<u8> {
    answer("200 OK", body)
}

/// An answer with a length.
pub fn answer(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into()
}

impl Server {
    pub fn new(serve: impl Fn(&Request, u64) -> (Vec<u8>, bool) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("127.0.0.1 is there");
        let this = Self {
            address: listener.local_addr().expect("it is bound"),
            requests: Arc::default(),
            count: Arc::default(),
            ended: Arc::default(),
        };
        let (requests, count, ended) = (
            this.requests.clone(),
            this.count.clone(),
            this.ended.clone(),
        );
        let serve: Arc<Serve> = Arc::new(serve);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let _ = stream.set_nodelay(true);
                let (requests, count, serve) = (requests.clone(), count.clone(), serve.clone());
                thread::spawn(move || {
                    // A client that goes away is no mistake of the server's.
                    let _ = converse(&stream, &requests, &count, &*serve);
                    let _ = stream.shutdown(Shutdown::Both);
                });
            }
        });
        this
    }

    /// Always the same answer on connections that stay open.
    pub fn always(bytes: Vec<u8>) -> Self {
        Self::new(move |_, _| (bytes.clone(), true))
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn seen(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Relaxed);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

fn converse(
    mut stream: &TcpStream,
    requests: &Mutex<Vec<Request>>,
    count: &AtomicU64,
    serve: &Serve,
) -> io::Result<()> {
    let mut pending = Vec::new();
    let mut buffer = [0; 16 << 10];
    loop {
        let mut answers = Vec::new();
        let mut stays = true;
        while let Some((length, request)) = parse(&pending) {
            pending.drain(..length);
            let (bytes, open) = serve(&request, count.fetch_add(1, Relaxed));
            let mut all = requests.lock().unwrap();
            if all.len() < 100 {
                all.push(request);
            }
            answers.extend(bytes);
            stays &= open;
        }
        stream.write_all(&answers)?;
        if !stays {
            return Ok(());
        }
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            n => pending.extend_from_slice(&buffer[..n]),
        }
    }
}

/// The first whole request and its length.
fn parse(bytes: &[u8]) -> Option<(usize, Request)> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.trim_end().split("\r\n").map(str::to_owned);
    let line = lines.next()?;
    let mut fields: Vec<String> = lines.collect();
    fields.sort();
    let length = fields
        .iter()
        .find_map(|field| field.strip_prefix("Content-Length: "))
        .map_or(0, |length| length.parse().expect("a number"));
    let body = bytes.get(head..head + length)?;
    let body = String::from_utf8_lossy(body).into_owned();
    Some((head + length, Request { line, fields, body }))
}
