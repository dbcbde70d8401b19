//! TLS of QUIC connections, by rustls.
//!
//! quinn-proto could do this alone; but it says neither what was negotiated nor what the server announced, and does not let
//! the time be measured that encryption takes.

use crate::clock::{self, Nanos};
use crate::protocol::tls::{Connector, iana};
use bytes::BytesMut;
use prony_record::Tls;
use prony_record::quic::Announced;
use quinn_proto::crypto::{
    self, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use ring::aead;
use rustls::pki_types::ServerName;
use rustls::quic::{ClientConnection, KeyChange, PacketKey, Secrets, Suite, Version};
use rustls::{ClientConfig, HandshakeKind, SupportedCipherSuite};
use std::any::Any;
use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The version of QUIC that is spoken (RFC 9000).
pub(super) const VERSION: u32 = 1;
/// One packet of so many is timed.
const SAMPLED: u64 = 32;
/// A packet is encrypted in less than this, in nanoseconds: what takes longer was interrupted.
const LONGEST: Nanos = 50_000;

/// The configuration of a worker's connections.
pub(super) struct QuicTls {
    config: Arc<ClientConfig>,
    initial: Suite,
    cost: Arc<CryptoCost>,
}

/// Results of a handshake.
pub(super) struct Agreed {
    pub(super) suite: Option<SupportedCipherSuite>,
    pub(super) group: Option<&'static str>,
    pub(super) resumed: bool,
    /// The server had it repeated with a token, to see that the address is the client's (Retry).
    pub(super) retried: bool,
    pub(super) announced: Option<Announced>,
}

impl Agreed {
    /// Parameters in the form that reports of TLS have.
    pub(super) fn tls(&self, connector: &Connector) -> Tls {
        Tls {
            version: "TLSv1.3".into(),
            cipher: self.suite.as_ref().map(iana).unwrap_or_default(),
            group: self.group.map(str::to_owned),
            alpn: Some("h3".into()),
            certificate: connector.certificate(),
            verified: connector.verifies(),
            ..Tls::default()
        }
    }
}

/// CPU time that cryptography takes on a worker, whose thread alone writes it.
#[derive(Debug, Default)]
pub(super) struct CryptoCost {
    packets: AtomicU64,
    nanos: AtomicU64,
}

impl CryptoCost {
    /// The time so far, in nanoseconds: that of handshakes as measured, that of packets from a sample.
    pub(super) fn nanos(&self) -> Nanos {
        self.nanos.load(Ordering::Relaxed)
    }

    fn add(&self, nanos: Nanos) {
        // There is one writer.
        self.nanos.store(self.nanos() + nanos, Ordering::Relaxed);
    }

    fn handshake<R>(&self, work: impl FnOnce() -> R) -> R {
        let began = clock::now();
        let result = work();
        self.add(clock::now().saturating_sub(began));
        result
    }

    fn packet<R>(&self, work: impl FnOnce() -> R) -> R {
        let nth = self.packets.load(Ordering::Relaxed);
        self.packets.store(nth + 1, Ordering::Relaxed);
        if !nth.is_multiple_of(SAMPLED) {
            return work();
        }
        let began = clock::now();
        let result = work();
        let took = clock::now().saturating_sub(began);
        self.add(took.min(LONGEST) * SAMPLED);
        result
    }
}

impl QuicTls {
    /// None: the configuration lacks TLS 1.3 or the cipher suite of the first packets.
    pub(super) fn new(config: Arc<ClientConfig>) -> Option<Self> {
        let mut suites = config.crypto_provider().cipher_suites.iter();
        let initial = suites.find_map(|suite| match suite.suite() {
            rustls::CipherSuite::TLS13_AES_128_GCM_SHA256 => suite.tls13()?.quic_suite(),
            _ => None,
        })?;
        Some(Self {
            config,
            initial,
            cost: Arc::default(),
        })
    }

    pub(super) fn cost(&self) -> Arc<CryptoCost> {
        Arc::clone(&self.cost)
    }
}

impl crypto::ClientConfig for QuicTls {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, ConnectError> {
        if version != VERSION {
            return Err(UnsupportedVersion.into());
        }
        let invalid = || ConnectError::InvalidServerName(server_name.into());
        let name = ServerName::try_from(server_name.to_owned()).map_err(|_| invalid())?;
        let mut announced = Vec::new();
        params.write(&mut announced);
        let config = Arc::clone(&self.config);
        let tls = ClientConnection::new(config, Version::V1, name, announced);
        Ok(Box::new(QuicSession {
            tls: tls.map_err(|_| invalid())?,
            initial: self.initial,
            next: None,
            informed: false,
            retried: AtomicBool::new(false),
            cost: self.cost(),
        }))
    }
}

/// TLS's state of a connection.
struct QuicSession {
    tls: ClientConnection,
    initial: Suite,
    next: Option<Secrets>,
    /// quinn-proto knows that there is something to ask [`handshake_data`](crypto::Session::handshake_data) for.
    informed: bool,
    retried: AtomicBool,
    cost: Arc<CryptoCost>,
}

impl QuicSession {
    fn key(&self, key: Box<dyn PacketKey>) -> Box<dyn crypto::PacketKey> {
        let cost = Arc::clone(&self.cost);
        Box::new(TimedKey { key, cost })
    }

    fn keys(&self, keys: rustls::quic::Keys) -> Keys {
        Keys {
            header: KeyPair {
                local: Box::new(keys.local.header),
                remote: Box::new(keys.remote.header),
            },
            packet: KeyPair {
                local: self.key(keys.local.packet),
                remote: self.key(keys.remote.packet),
            },
        }
    }
}

impl crypto::Session for QuicSession {
    fn initial_keys(&self, to: &ConnectionId, side: Side) -> Keys {
        let side = match side {
            Side::Client => rustls::Side::Client,
            Side::Server => rustls::Side::Server,
        };
        self.keys(self.initial.keys(to, side, Version::V1))
    }

    /// An [`Agreed`].
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        let group = self.tls.negotiated_key_exchange_group();
        let announced = self.tls.quic_transport_parameters();
        let agreed = Agreed {
            suite: self.tls.negotiated_cipher_suite(),
            group: group.and_then(|group| group.name().as_str()),
            resumed: self.tls.handshake_kind() == Some(HandshakeKind::Resumed),
            retried: self.retried.load(Ordering::Relaxed),
            announced: announced.map(super::announced::parse),
        };
        self.informed.then(|| Box::new(agreed) as Box<dyn Any>)
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn crypto::PacketKey>)> {
        let keys = self.tls.zero_rtt_keys()?;
        Some((Box::new(keys.header), self.key(keys.packet)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        Some(self.tls.is_early_data_accepted())
    }

    fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        let tls = &mut self.tls;
        if let Err(error) = self.cost.handshake(|| tls.read_hs(bytes)) {
            let code = match tls.alert() {
                Some(alert) => TransportErrorCode::crypto(alert.into()),
                None => TransportErrorCode::PROTOCOL_VIOLATION,
            };
            return Err(TransportError {
                code,
                frame: None,
                reason: error.to_string(),
            });
        }
        let news = !self.informed && (tls.alpn_protocol().is_some() || !tls.is_handshaking());
        self.informed |= news;
        Ok(news)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(announced) = self.tls.quic_transport_parameters() else {
            return Ok(None);
        };
        let read = TransportParameters::read(Side::Client, &mut Cursor::new(announced));
        Ok(Some(read?))
    }

    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        let tls = &mut self.tls;
        let keys = match self.cost.handshake(|| tls.write_hs(out))? {
            KeyChange::Handshake { keys } => keys,
            KeyChange::OneRtt { keys, next } => {
                self.next = Some(next);
                keys
            }
        };
        Some(self.keys(keys))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn crypto::PacketKey>>> {
        let keys = self.next.as_mut()?.next_packet_keys();
        Some(KeyPair {
            local: self.key(keys.local),
            remote: self.key(keys.remote),
        })
    }

    /// By RFC 9001, 5.8, whose key and nonce these are.
    fn is_valid_retry(&self, original: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        const KEY: [u8; 16] = 0xbe0c_690b_9f66_575a_1d76_6b54_e368_c84e_u128.to_be_bytes();
        const NONCE: [u8; 12] = [
            0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb,
        ];
        let Some(rest) = payload.len().checked_sub(aead::AES_128_GCM.tag_len()) else {
            return false;
        };
        let (rest, tag) = payload.split_at(rest);
        let length = [original.len() as u8];
        let authenticated = [&length[..], original, header, rest].concat();
        let Ok(key) = aead::UnboundKey::new(&aead::AES_128_GCM, &KEY) else {
            return false;
        };
        let nonce = aead::Nonce::assume_unique_for_key(NONCE);
        let valid = aead::LessSafeKey::new(key)
            .open_in_place(nonce, aead::Aad::from(authenticated), &mut tag.to_vec())
            .is_ok();
        self.retried.fetch_or(valid, Ordering::Relaxed);
        valid
    }

    /// Nobody here asks for it.
    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

/// A key of packets whose use is timed.
struct TimedKey {
    key: Box<dyn PacketKey>,
    cost: Arc<CryptoCost>,
}

impl crypto::PacketKey for TimedKey {
    fn encrypt(&self, packet: u64, bytes: &mut [u8], header: usize) {
        let key = &self.key;
        self.cost
            .packet(|| crypto::PacketKey::encrypt(key, packet, bytes, header));
    }

    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let key = &self.key;
        self.cost
            .packet(|| crypto::PacketKey::decrypt(key, packet, header, payload))
    }

    fn tag_len(&self) -> usize {
        self.key.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.key.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.key.integrity_limit()
    }
}
