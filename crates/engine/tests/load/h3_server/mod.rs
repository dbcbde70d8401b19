//! Servers over QUIC that follow a script: quinn keeps its state, and the bytes on streams are the script's.
//! `prony-benches hostile` includes this folder too.

// Neither of the two uses all of it.
#![allow(dead_code)]

mod relay;
mod serving;
mod words;

pub use relay::{Mischief, Relay};
pub use words::*;

use prony_engine::Target;
use prony_engine::protocol::tls::{SelfSigned, TlsOptions};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{EndpointConfig, ServerConfig, TransportConfig};
use quinn_proto::HashedConnectionIdGenerator;
use rustls::server::{ServerSessionMemoryCache, StoresServerSessions};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use tokio::runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Step of a server's script, on a connection or in answer to a request.
#[derive(Debug, Clone)]
pub enum Step {
    /// Sends these bytes on the stream of the request.
    Write(Vec<u8>),
    /// Sends them one by one, with this pause before each.
    Drip(Vec<u8>, Duration),
    /// Sends these bytes for as long as the client takes them.
    Pour(Vec<u8>),
    /// Waits.
    Pause(Duration),
    /// Ends the stream of the request.
    End,
    /// Resets the stream of the request with this code.
    Reset(u64),
    /// Asks the client to send no more of the request, with this code.
    Stop(u64),
    /// Sends nothing more on this stream.
    Silence,
    /// Sends these bytes on its control stream.
    Control(Vec<u8>),
    /// Ends its control stream, or resets it with this code.
    EndControl(Option<u64>),
    /// Opens another stream in one direction with these bytes, and lets it be.
    Open(Vec<u8>),
    /// Opens one, and ends it.
    OpenEnded(Vec<u8>),
    /// Closes the connection with this code.
    Close(u64),
    /// Forgets everything, without a word.
    Die(Then),
}

/// How a server goes on that has forgotten everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Again on its port, where it says of earlier connections that it does not know them (stateless reset).
    Resets,
    /// The same, with a key that clients do not know.
    ResetsStrangely,
    /// Again on its port, and takes no notice of earlier connections.
    Forgets,
    /// Not at all: the port stays open, and nobody reads.
    Silent,
    /// Not at all: the port is closed.
    Gone,
    /// The same, at the end of a test.
    Over,
}

/// A request that a server has read.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// Number among all requests of the server, from 0 on.
    pub nth: u64,
    /// Number among those of the connection.
    pub of_connection: u64,
    /// Id of the stream.
    pub stream: u64,
}

/// Steps in answer to a request.
pub type Says = Arc<dyn Fn(Request) -> Vec<Step> + Send + Sync>;

/// Treatment of connections before they are any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    Open,
    /// Lets a client prove its address first (Retry).
    Retry,
    /// Refuses connections.
    Refuses,
    /// Takes no notice of them.
    Ignores,
    /// Refuses every other one.
    RefusesHalf,
}

/// How a server is set up.
#[derive(Clone)]
pub struct Setup {
    pub alpn: &'static str,
    /// First bytes on its control stream; none: it opens no such stream.
    pub greeting: Vec<u8>,
    /// Steps at the start of a connection, before any request.
    pub first: Vec<Step>,
    /// Streams that a client may have open, and the bytes that it may send on each before they are read.
    pub streams: u32,
    pub window: u32,
    pub door: Door,
    /// A request is answered when its first bytes have come, and not when it is whole.
    pub early: bool,
    /// Takes requests before the handshake is done (0-RTT), and forgets every so many-th session, whose requests it then
    /// refuses; 0: none of it.
    pub forgets: u64,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            alpn: "h3",
            greeting: GREETING.to_vec(),
            first: Vec::new(),
            streams: 100,
            window: 1 << 20,
            door: Door::Open,
            early: false,
            forgets: 0,
        }
    }
}

/// A server, with how many requests it has read. It ends with this value.
pub struct H3Server {
    pub target: Target,
    pub tls: TlsOptions,
    pub requests: Arc<AtomicU64>,
    end: UnboundedSender<Then>,
}

impl H3Server {
    /// `says` is asked what is done with each request.
    pub fn new(setup: Setup, says: Says) -> Self {
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
        if setup.forgets > 0 {
            config.max_early_data_size = u32::MAX;
            config.session_storage = Arc::new(Forgetful {
                sessions: ServerSessionMemoryCache::new(1_000),
                asked: AtomicU64::new(0),
                forgets: setup.forgets,
            });
        }
        let config = QuicServerConfig::try_from(config).unwrap();
        let mut config = ServerConfig::with_crypto(Arc::new(config));
        let mut transport = TransportConfig::default();
        transport
            .max_concurrent_bidi_streams(setup.streams.into())
            .stream_receive_window(setup.window.into())
            // A client must notice by itself that nothing comes any more.
            .max_idle_timeout(None);
        config.transport_config(Arc::new(transport));
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let target = Target::Tcp(socket.local_addr().unwrap());
        let (end, ends) = unbounded_channel();
        let shared = Arc::new(serving::Shared {
            setup,
            says,
            requests: Arc::default(),
            end: end.clone(),
        });
        let requests = shared.requests.clone();
        thread::spawn(move || live(&socket, &config, &shared, ends));
        Self {
            target,
            tls,
            requests,
            end,
        }
    }
}

impl Drop for H3Server {
    fn drop(&mut self) {
        let _ = self.end.send(Then::Over);
    }
}

/// Sessions of which some are forgotten.
#[derive(Debug)]
struct Forgetful {
    sessions: Arc<ServerSessionMemoryCache>,
    asked: AtomicU64,
    forgets: u64,
}

impl StoresServerSessions for Forgetful {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        self.sessions.put(key, value)
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.sessions.get(key)
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let nth = self.asked.fetch_add(1, Relaxed) + 1;
        let session = self.sessions.take(key);
        session.filter(|_| !nth.is_multiple_of(self.forgets))
    }

    fn can_cache(&self) -> bool {
        true
    }
}

/// One life after the other.
fn live(
    socket: &UdpSocket,
    config: &ServerConfig,
    shared: &Arc<serving::Shared>,
    mut ends: UnboundedReceiver<Then>,
) {
    let known = || {
        let mut known = EndpointConfig::default();
        // With IDs of another key it would take no notice of earlier connections.
        known.cid_generator(|| Box::new(HashedConnectionIdGenerator::from_key(1)));
        known
    };
    let mut endpoint = known();
    loop {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let socket_now = socket.try_clone().unwrap();
        let then = runtime.block_on(async {
            let serving = serving::serve(socket_now, endpoint.clone(), config.clone(), shared);
            tokio::spawn(serving);
            ends.recv().await
        });
        // Without a word: what is under way is not polled any more.
        runtime.shutdown_background();
        match then {
            Some(Then::Resets) => {}
            Some(Then::ResetsStrangely) => endpoint = known(),
            Some(Then::Forgets) => endpoint = EndpointConfig::default(),
            Some(Then::Silent) => {
                let mut over = false;
                while !over {
                    over = matches!(ends.blocking_recv(), None | Some(Then::Over));
                }
                return;
            }
            None | Some(Then::Gone | Then::Over) => return,
        }
        // Others that were to die at the same time have.
        while let Ok(then) = ends.try_recv() {
            if then == Then::Over {
                return;
            }
        }
    }
}
