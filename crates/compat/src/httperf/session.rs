//! A session whose requests go to the files of a working set in turn.

use super::working_set::{Digits, FileOrder};
use prony_engine::protocol::{Events, Fault, Fifo, Http, Session};
use std::sync::mpsc::Sender;

/// HTTP/1.1 with one request, in which the file's number is another one each time.
pub(super) struct Files {
    http: Http,
    order: FileOrder,
    /// Where the number stands in the request.
    digits: Digits,
    /// Hears of each file, if that is to be printed.
    accessed: Option<Sender<u64>>,
}

impl Files {
    /// `http` has one request, with a number of as many digits at that place.
    pub(super) fn new(
        http: Http,
        order: FileOrder,
        digits: Digits,
        accessed: Option<Sender<u64>>,
    ) -> Self {
        Self {
            http,
            order,
            digits,
            accessed,
        }
    }
}

impl Session for Files {
    type Conn = <Http as Session>::Conn;
    type Token = Fifo;

    fn request(&mut self, conn: &mut Self::Conn, slot: u32, token: Fifo, out: &mut Vec<u8>) {
        let from = out.len();
        self.http.request(conn, slot, token, out);
        let file = self.order.next().unwrap_or_default();
        self.digits.write(&mut out[from..], file);
        if let Some(accessed) = &self.accessed {
            let _ = accessed.send(file);
        }
    }

    fn received(
        &mut self,
        conn: &mut Self::Conn,
        slot: u32,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<Fifo>,
    ) -> Result<(), Fault> {
        self.http.received(conn, slot, bytes, out, events)
    }

    fn end(&mut self, conn: &mut Self::Conn, slot: u32, events: &mut impl Events<Fifo>) {
        self.http.end(conn, slot, events);
    }

    fn first_head(&self) -> &[u8] {
        self.http.first_head()
    }
}
