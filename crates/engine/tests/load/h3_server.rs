//! Servers over QUIC that do what a test says: quinn keeps its state, and the bytes on streams are the test's.

use prony_engine::Target;
use prony_engine::protocol::tls::{SelfSigned, TlsOptions};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Connection, Endpoint, RecvStream, SendStream, VarInt};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
/// A section with `:status` 200.
pub const OK: &[u8] = b"\0\0\xd9";
/// A control stream with empty settings.
pub const GREETING: &[u8] = b"\0\x04\0";

/// Answer of a server to a request.
pub enum Said {
    /// Sends these pieces, and ends the stream.
    Pieces(Vec<Vec<u8>>),
    /// Sends this, and resets the stream.
    Reset(Vec<u8>, u32),
    /// Sends this, and nothing more.
    Silence(Vec<u8>),
    /// Sends this on its control stream, and the rest as an answer.
    Control(Vec<u8>, Vec<u8>),
    /// Closes the connection.
    Close(u32),
}

/// A server, with how many requests it has read to their end.
pub struct H3Server {
    pub target: Target,
    pub tls: TlsOptions,
    pub requests: Arc<AtomicU64>,
}

pub fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    assert!(payload.len() < 64);
    [&[kind, payload.len() as u8], payload].concat()
}

pub fn answer(section: &[u8], body: &[u8]) -> Vec<u8> {
    [frame(HEADERS, section), frame(DATA, body)].concat()
}

pub fn right() -> Said {
    Said::Pieces(vec![answer(OK, b"hello")])
}

/// How a server is set up.
#[derive(Clone, Copy)]
pub struct Setup {
    pub alpn: &'static str,
    pub greeting: &'static [u8],
    pub streams: u32,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            alpn: "h3",
            greeting: GREETING,
            streams: 100,
        }
    }
}

impl H3Server {
    /// `says` is asked what is done with the n-th request, from 0 on.
    pub fn new(says: impl Fn(u64) -> Said + Send + Sync + 'static) -> Self {
        Self::with(Setup::default(), says)
    }

    pub fn with(setup: Setup, says: impl Fn(u64) -> Said + Send + Sync + 'static) -> Self {
        let own = SelfSigned::new(&["localhost"]).unwrap();
        let tls = TlsOptions {
            ca: Some(own.certificate_pem()),
            alpn: vec!["h3".into()],
            ..TlsOptions::default()
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![own.certificate], own.key.into())
            .unwrap();
        config.alpn_protocols = vec![setup.alpn.into()];
        let config = QuicServerConfig::try_from(config).unwrap();
        let mut config = quinn::ServerConfig::with_crypto(Arc::new(config));
        let mut transport = quinn::TransportConfig::default();
        transport.max_concurrent_bidi_streams(setup.streams.into());
        config.transport_config(Arc::new(transport));
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let target = Target::Tcp(socket.local_addr().unwrap());
        let requests = Arc::<AtomicU64>::default();
        let server = Self {
            target,
            tls,
            requests: requests.clone(),
        };
        let says: Arc<dyn Fn(u64) -> Said + Send + Sync> = Arc::new(says);
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let runtime = Arc::new(quinn::TokioRuntime);
                let endpoint =
                    Endpoint::new(Default::default(), Some(config), socket, runtime).unwrap();
                while let Some(incoming) = endpoint.accept().await {
                    let (says, requests) = (says.clone(), requests.clone());
                    tokio::spawn(async move {
                        if let Ok(connection) = incoming.await {
                            serve(connection, setup, says, requests).await;
                        }
                    });
                }
            });
        });
        server
    }
}

async fn serve(
    connection: Connection,
    setup: Setup,
    says: Arc<dyn Fn(u64) -> Said + Send + Sync>,
    requests: Arc<AtomicU64>,
) {
    let mut control = connection.open_uni().await.unwrap();
    let _ = control.write_all(setup.greeting).await;
    let control = Arc::new(tokio::sync::Mutex::new(control));
    while let Ok((send, recv)) = connection.accept_bi().await {
        let (says, requests, connection) = (says.clone(), requests.clone(), connection.clone());
        let control = control.clone();
        tokio::spawn(async move {
            // The stream is held until the client has all of it.
            let _ = one(connection, (send, recv), says, requests, control).await;
        });
    }
}

async fn one(
    connection: Connection,
    (mut send, mut recv): (SendStream, RecvStream),
    says: Arc<dyn Fn(u64) -> Said + Send + Sync>,
    requests: Arc<AtomicU64>,
    control: Arc<tokio::sync::Mutex<SendStream>>,
) -> Option<()> {
    recv.read_to_end(1 << 20).await.ok()?;
    let nth = requests.fetch_add(1, Relaxed);
    match says(nth) {
        Said::Pieces(pieces) => {
            for piece in pieces {
                send.write_all(&piece).await.ok()?;
                tokio::task::yield_now().await;
            }
            send.finish().ok()?;
        }
        Said::Reset(bytes, code) => {
            send.write_all(&bytes).await.ok()?;
            send.reset(VarInt::from_u32(code)).ok()?;
        }
        Said::Silence(bytes) => {
            send.write_all(&bytes).await.ok()?;
            connection.closed().await;
        }
        Said::Control(told, bytes) => {
            control.lock().await.write_all(&told).await.ok()?;
            send.write_all(&bytes).await.ok()?;
            send.finish().ok()?;
        }
        Said::Close(code) => connection.close(VarInt::from_u32(code), b"as the test says"),
    }
    let _ = send.stopped().await;
    Some(())
}
