//! How a connection begins to carry requests: after its handshake, or before that is done (0-RTT).

use super::conn::OpenConn;
use super::frame;
use super::shared::Shared;
use crate::protocol::h2::content::Content;
use crate::protocol::h2::streams::LAST_STREAM;
use crate::protocol::{Events, Tag};
use bytes::Bytes;
use quinn_proto::Dir;

impl<C: Content> OpenConn<C> {
    /// Requests can be sent from now on: with what the server allowed on an earlier connection before the handshake is done,
    /// and with what it allows now after that.
    pub(super) fn begin(&mut self) {
        if let Some(id) = self.quic.streams().open(Dir::Uni) {
            let _ = self.quic.send_stream(id).write(&frame::greeting());
        }
        self.allow();
    }

    /// The handshake is done.
    pub(super) fn connected(&mut self, shared: &mut Shared<C>, events: &mut impl Events<Tag>) {
        self.ready = true;
        let agreed = self.quic.crypto_session().handshake_data();
        self.agreed = agreed.and_then(|agreed| agreed.downcast().ok());
        events.secured(self.agreed.as_ref().is_some_and(|agreed| agreed.resumed));
        if self.early && self.quic.accepted_0rtt() {
            return;
        }
        if self.early {
            self.refused(shared, events);
        }
        self.begin();
        self.tell_ready(events);
    }

    /// The server has not taken what was sent before the handshake was done: QUIC forgets those streams.
    fn refused(&mut self, shared: &mut Shared<C>, events: &mut impl Events<Tag>) {
        let mut again: Vec<(u32, usize)> = self
            .streams
            .all()
            .map(|(place, it)| (it.id, place))
            .collect();
        let slot = self.slot();
        // The newest first, so that the oldest is the first to be sent again.
        again.sort_unstable_by(|a, b| b.cmp(a));
        for (_, place) in again {
            self.unsent[place] = Bytes::new();
            if let Some(tag) = self.streams.close(place, false) {
                events.refused(tag);
                let reading = &mut self.streams.get(place).answer.reading;
                C::left_out(&mut shared.state, reading, slot);
            }
        }
        self.streams.restart();
    }

    /// Opens the stream of the next request, if the server allows one.
    pub(super) fn allow(&mut self) {
        self.next = match self.streams.next() < LAST_STREAM {
            true => self.quic.streams().open(Dir::Bi),
            false => None,
        };
        if self.next.is_none() {
            self.limited = self.limited.max(Some(self.streams.open));
        }
    }

    /// Tells once that requests can be sent. A server that allows none from the beginning has not made the connection.
    pub(super) fn tell_ready(&mut self, events: &mut impl Events<Tag>) {
        if self.next.is_some() && !std::mem::replace(&mut self.told, true) {
            events.ready();
        }
    }
}
