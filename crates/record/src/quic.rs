//! Observations of QUIC.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packets of the connections of a load over QUIC, set-up included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Quic {
    /// The version of QUIC, such as 1 (RFC 9000).
    pub version: u32,
    /// Connections whose handshake was done.
    pub connections: u64,
    /// Connections whose handshake the server had repeated with a token (Retry), to see that the client's address is its own.
    pub retried: u64,
    /// Connections that sent requests before the handshake was done (0-RTT), and whose server took them.
    pub early: u64,
    /// Connections that sent requests before the handshake was done, which the server refused: they were sent again after it.
    pub early_refused: u64,
    /// Datagrams that were sent.
    pub datagrams_sent: u64,
    /// Bytes in them.
    pub bytes_sent: u64,
    /// Runs of datagrams that were sent, each with one system call where the kernel sends several at once.
    pub sends: u64,
    /// Datagrams that were received.
    pub datagrams_received: u64,
    /// Bytes in them.
    pub bytes_received: u64,
    /// Received datagrams that a router on the way had marked because of congestion (ECN).
    pub datagrams_marked: u64,
    /// Datagrams that the kernel dropped because the load had not read those before.
    pub datagrams_dropped: u64,
    /// Packets of QUIC that were sent.
    pub packets_sent: u64,
    /// Packets that this side sent and thought lost; what was in them was sent again. Probes of the path's length are not
    /// among them.
    pub packets_lost: u64,
    /// Times that a connection was slowed down because of lost packets, or of marks that the server had received.
    pub congestion_events: u64,
    /// Smoothed round-trip times at the ends of the connections, added up, in nanoseconds.
    pub rtt_sum_ns: u64,
    /// Times that sending was held back because the server gave no more room: on a stream, or on a connection.
    pub blocked: u64,
    /// CPU time of the load generator for cryptography, in nanoseconds: that of handshakes as measured, that of packets from a
    /// sample.
    pub crypto_ns: u64,
    /// CPU time of the load generator, set-up included, in nanoseconds.
    pub cpu_ns: u64,
    /// Limits that the server announced on the first connection.
    pub announced: Option<Announced>,
}

/// Transport parameters that a server announced (RFC 9000, 18.2). Null: it did not, and the default of the RFC holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Announced {
    /// How long a connection may be idle, in milliseconds.
    pub idle_timeout_ms: Option<u64>,
    /// The longest datagram that the server takes, in bytes.
    pub datagram_bytes: Option<u64>,
    /// Bytes that it takes at first on a connection.
    pub window: Option<u64>,
    /// Bytes that it takes at first on the stream of a request.
    pub stream_window: Option<u64>,
    /// Streams of requests that it allows at first.
    pub streams: Option<u64>,
    /// Streams in one direction that it allows at first.
    pub unidirectional_streams: Option<u64>,
    /// How late it acknowledges at most, in milliseconds.
    pub ack_delay_ms: Option<u64>,
}

impl Quic {
    /// Adds what was seen elsewhere, or later.
    pub fn merge(&mut self, other: &Self) {
        self.version = self.version.max(other.version);
        self.announced = self.announced.or(other.announced);
        let sums = [
            (&mut self.connections, other.connections),
            (&mut self.retried, other.retried),
            (&mut self.early, other.early),
            (&mut self.early_refused, other.early_refused),
            (&mut self.datagrams_sent, other.datagrams_sent),
            (&mut self.bytes_sent, other.bytes_sent),
            (&mut self.sends, other.sends),
            (&mut self.datagrams_received, other.datagrams_received),
            (&mut self.bytes_received, other.bytes_received),
            (&mut self.datagrams_marked, other.datagrams_marked),
            (&mut self.datagrams_dropped, other.datagrams_dropped),
            (&mut self.packets_sent, other.packets_sent),
            (&mut self.packets_lost, other.packets_lost),
            (&mut self.congestion_events, other.congestion_events),
            (&mut self.rtt_sum_ns, other.rtt_sum_ns),
            (&mut self.blocked, other.blocked),
            (&mut self.crypto_ns, other.crypto_ns),
            (&mut self.cpu_ns, other.cpu_ns),
        ];
        for (sum, more) in sums {
            *sum += more;
        }
    }

    /// Mean smoothed round-trip time of a connection, in nanoseconds; none where there was no connection.
    #[must_use]
    pub fn rtt_ns(&self) -> Option<u64> {
        self.rtt_sum_ns.checked_div(self.connections)
    }

    /// Cryptography's share of the load generator's CPU time, from 0 to 1; none where that was not measured.
    #[must_use]
    pub fn crypto_share(&self) -> Option<f64> {
        (self.cpu_ns > 0).then(|| (self.crypto_ns as f64 / self.cpu_ns as f64).min(1.0))
    }
}
