//! Observations of QUIC.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packets of the connections of a load over QUIC, set-up included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quic {
    /// Connections whose handshake was done.
    pub connections: u64,
    /// Datagrams that were sent.
    pub datagrams_sent: u64,
    /// Runs of datagrams that were sent, each with one system call where the kernel sends several at once.
    pub sends: u64,
    /// Datagrams that were received.
    pub datagrams_received: u64,
    /// Datagrams that the kernel dropped because the load had not read those before.
    pub datagrams_dropped: u64,
    /// Packets of QUIC that were sent.
    pub packets_sent: u64,
    /// Packets that this side sent and thought lost; what was in them was sent again. Probes of the path's length are not
    /// among them.
    pub packets_lost: u64,
    /// Smoothed round-trip times at the ends of the connections, added up, in nanoseconds.
    pub rtt_sum_ns: u64,
    /// Times that sending was held back because the server gave no more room: on a stream, or on a connection.
    pub blocked: u64,
}

impl Quic {
    /// Adds what was seen elsewhere, or later.
    pub fn merge(&mut self, other: &Self) {
        self.connections += other.connections;
        self.datagrams_sent += other.datagrams_sent;
        self.sends += other.sends;
        self.datagrams_received += other.datagrams_received;
        self.datagrams_dropped += other.datagrams_dropped;
        self.packets_sent += other.packets_sent;
        self.packets_lost += other.packets_lost;
        self.rtt_sum_ns += other.rtt_sum_ns;
        self.blocked += other.blocked;
    }

    /// Mean smoothed round-trip time of a connection, in nanoseconds; none where there was no connection.
    #[must_use]
    pub fn rtt_ns(&self) -> Option<u64> {
        self.rtt_sum_ns.checked_div(self.connections)
    }
}
