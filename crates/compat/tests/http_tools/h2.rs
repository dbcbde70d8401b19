//! A small server of HTTP/2, with and without TLS.

use prony_engine::protocol::tls::SelfSigned;
use rustls::crypto::ring::default_provider;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Response of the server to a request, which depends on how many requests came before it.
#[derive(Clone, Copy)]
pub enum Says {
    /// `hello`, with a status from HPACK's static table and a field that its dynamic table takes up.
    Status(u8),
    /// The stream is reset.
    Reset,
    /// Nothing.
    Nothing,
}

pub const OK: Says = Says::Status(0x88);
pub const NOT_FOUND: Says = Says::Status(0x8d);
pub const BROKEN: Says = Says::Status(0x8e);

fn frame(kind: u8, flags: u8, stream: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&[a, b, c, kind, flags], &stream[..], payload].concat()
}

/// A field with incremental indexing for the first answer of a connection, and by its index afterwards.
fn block(status: u8, first: bool) -> Vec<u8> {
    let field: &[u8] = match first {
        true => b"\x40\x03x-a\x0cabcdefghijkl",
        false => b"\xbe",
    };
    [&[status], field].concat()
}

fn serve(client: &mut dyn Wire, nth: &AtomicU64, says: fn(u64) -> Says) -> io::Result<()> {
    client.read_exact(&mut [0; 24])?;
    client.write_all(&frame(SETTINGS, 0, [0; 4], &[]))?;
    client.flush()?;
    let mut first = true;
    loop {
        let mut header = [0; 9];
        client.read_exact(&mut header)?;
        let [a, b, c, kind, flags, stream @ ..] = header;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        client.read_exact(&mut vec![0; length])?;
        if !matches!(kind, HEADERS | DATA) || flags & END_STREAM == 0 {
            continue;
        }
        let answer = match says(nth.fetch_add(1, Relaxed)) {
            Says::Nothing => continue,
            Says::Reset => frame(RST_STREAM, 0, stream, &[0, 0, 0, 2]),
            Says::Status(status) => {
                let block = block(status, std::mem::take(&mut first));
                let head = frame(HEADERS, END_HEADERS, stream, &block);
                [head, frame(DATA, END_STREAM, stream, b"hello")].concat()
            }
        };
        client.write_all(&answer)?;
        client.flush()?;
    }
}

/// A server in threads of this process, for as long as it lives.
pub fn server(says: fn(u64) -> Says) -> SocketAddr {
    listen(None, move |client, nth| serve(client, nth, says))
}

/// The same over TLS, with a self-signed certificate.
pub fn secure() -> SocketAddr {
    listen(Some(config(b"h2")), |client, nth| {
        serve(client, nth, |_| OK)
    })
}

/// A server of HTTP/1.0 over TLS, which says `answer` and closes.
pub fn secure_http1(answer: &'static str) -> SocketAddr {
    listen(Some(config(b"http/1.1")), |client, _| {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            client.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        client.write_all(answer.as_bytes())
    })
}

fn config(alpn: &[u8]) -> Arc<ServerConfig> {
    let own = SelfSigned::new(&["localhost"]).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.certificate], own.key.into())
        .unwrap();
    config.alpn_protocols = vec![alpn.to_vec()];
    Arc::new(config)
}

/// A connection, with or without TLS.
trait Wire: Read + Write {}
impl<T: Read + Write> Wire for T {}

fn listen<F>(tls: Option<Arc<ServerConfig>>, serve: F) -> SocketAddr
where
    F: Fn(&mut dyn Wire, &AtomicU64) -> io::Result<()> + Send + Sync + Copy + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        let nth = Arc::new(AtomicU64::new(0));
        for mut client in listener.incoming().map_while(Result::ok) {
            let (tls, nth) = (tls.clone(), nth.clone());
            thread::spawn(move || {
                let _ = client.set_nodelay(true);
                match tls {
                    None => serve(&mut client, &nth),
                    Some(config) => {
                        let tls = ServerConnection::new(config).unwrap();
                        let mut stream = StreamOwned::new(tls, client);
                        let result = serve(&mut stream, &nth);
                        stream.conn.send_close_notify();
                        let _ = stream.flush();
                        result
                    }
                }
            });
        }
    });
    addr
}
