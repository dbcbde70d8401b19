//! Clients that are slow on purpose, and servers to try them on.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use prony_reference::Contract;
use prony_reference::ceiling::{Model, Options, Server};

/// No test waits longer than this for anything: only a server that hangs makes it so long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A server of each model, serving until the test process ends.
pub fn ceilings(contract: Contract) -> impl Iterator<Item = (Model, SocketAddr)> {
    Model::ALL
        .into_iter()
        .map(move |model| (model, start(model, contract, 1)))
}

pub fn start(model: Model, contract: Contract, workers: usize) -> SocketAddr {
    let server = Server::bind(&Options {
        model,
        contract,
        workers,
        ..Options::new("127.0.0.1:0".parse().unwrap())
    })
    .unwrap();
    let address = server.local_addr();
    std::thread::spawn(move || panic!("{model} {contract} ended: {:?}", server.run()));
    address
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Bytes that are unlike at every place within any 64 KiB.
pub fn pattern(length: usize) -> Vec<u8> {
    (0..length as u32)
        .map(|place| (place.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect()
}

/// Sends `message` and expects it back, reading while writing.
pub fn expect_echo(stream: &TcpStream, message: &[u8]) {
    std::thread::scope(|scope| {
        scope.spawn(|| (&*stream).write_all(message).unwrap());
        let mut back = vec![0; message.len()];
        (&*stream).read_exact(&mut back).unwrap();
        assert!(back == message, "{} bytes came back changed", back.len());
    });
}

/// Everything up to the end of the connection.
pub fn read_to_end(mut stream: &TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    bytes
}

pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// Reads one HTTP answer and not a byte more.
pub fn read_answer(stream: &TcpStream, has_body: bool) -> Answer {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        (&*stream).read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head
        .split("\r\n")
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; if has_body { length } else { 0 }];
    (&*stream).read_exact(&mut body).unwrap();
    Answer {
        status: head[9..12].parse().unwrap(),
        head,
        body: String::from_utf8(body).unwrap(),
    }
}
