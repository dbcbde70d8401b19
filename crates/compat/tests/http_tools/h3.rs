//! prony's server of HTTP/3, with a self-signed certificate.

use prony_engine::protocol::tls::SelfSigned;
use prony_reference::Layers;
use prony_reference::http3::Http3Server;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

/// http-echo over HTTP/3, until the process ends.
pub fn http_echo() -> SocketAddr {
    let own = SelfSigned::new(&["localhost"]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [certificate, key] = ["certificate", "key"].map(|name| folder.path().join(name));
    std::fs::write(&certificate, own.certificate_pem()).unwrap();
    std::fs::write(&key, own.key_pem()).unwrap();
    let layers = Layers {
        http2: false,
        tls: Some((certificate, key)),
    };
    let listen = "127.0.0.1:0".parse().unwrap();
    let server = Http3Server::bind(listen, 1, Duration::ZERO, &layers).unwrap();
    let addr = server.local_addr();
    thread::spawn(move || server.run());
    addr
}
