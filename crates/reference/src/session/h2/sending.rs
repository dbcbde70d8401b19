//! Bodies, as far as flow control lets them go.

use std::collections::BTreeMap;

use super::ConnectionError;
use super::frame::{self, MOST, flag, kind};

const DEFAULT: i64 = 65_535;
const LARGEST: i64 = i32::MAX as i64;

/// Flow-control windows, and the bodies that wait for room in them.
#[derive(Debug)]
pub(super) struct Sending {
    /// Window of the connection, in bytes.
    window: i64,
    /// Window of a new stream, in bytes.
    initial: i64,
    streams: BTreeMap<u32, Stream>,
}

#[derive(Debug)]
struct Stream {
    window: i64,
    /// Body of the answer; empty before there is an answer.
    body: Vec<u8>,
    sent: usize,
}

impl Default for Sending {
    fn default() -> Self {
        Self {
            window: DEFAULT,
            initial: DEFAULT,
            streams: BTreeMap::new(),
        }
    }
}

impl Sending {
    /// A request has begun: its stream has a window from here on.
    pub(super) fn open(&mut self, stream: u32) {
        let window = self.initial;
        let fresh = Stream {
            window,
            body: Vec::new(),
            sent: 0,
        };
        self.streams.insert(stream, fresh);
    }

    /// Nothing is sent on it any more.
    pub(super) fn forget(&mut self, stream: u32) {
        self.streams.remove(&stream);
    }

    /// Sends a body, which is not empty, and keeps what does not fit into the windows.
    pub(super) fn body(&mut self, stream: u32, body: Vec<u8>, out: &mut Vec<u8>) {
        if let Some(own) = self.streams.get_mut(&stream) {
            own.body = body;
            self.send(stream, out);
        }
    }

    /// More room on a stream, or on the connection (0).
    pub(super) fn widen(
        &mut self,
        stream: u32,
        by: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), ConnectionError> {
        if by == 0 {
            return Err(ConnectionError::Protocol);
        }
        let window = match stream {
            0 => &mut self.window,
            // One that is answered needs no room.
            _ => match self.streams.get_mut(&stream) {
                Some(own) => &mut own.window,
                None => return Ok(()),
            },
        };
        *window += i64::from(by);
        if *window > LARGEST {
            return Err(ConnectionError::FlowControl);
        }
        match stream {
            0 => self.send_all(out),
            _ => self.send(stream, out),
        }
        Ok(())
    }

    /// Another size of the windows of all streams.
    pub(super) fn resize(&mut self, size: u32, out: &mut Vec<u8>) -> Result<(), ConnectionError> {
        let size = i64::from(size);
        if size > LARGEST {
            return Err(ConnectionError::FlowControl);
        }
        for stream in self.streams.values_mut() {
            stream.window += size - self.initial;
        }
        self.initial = size;
        self.send_all(out);
        Ok(())
    }

    fn send_all(&mut self, out: &mut Vec<u8>) {
        let waiting: Vec<u32> = self.streams.keys().copied().collect();
        for stream in waiting {
            self.send(stream, out);
        }
    }

    fn send(&mut self, number: u32, out: &mut Vec<u8>) {
        let Some(stream) = self.streams.get_mut(&number) else {
            return;
        };
        while stream.sent < stream.body.len() {
            let room = self.window.min(stream.window).clamp(0, MOST as i64) as usize;
            if room == 0 {
                return;
            }
            let end = stream.body.len().min(stream.sent + room);
            let last = end == stream.body.len();
            let flags = if last { flag::END_STREAM } else { 0 };
            let piece = &stream.body[stream.sent..end];
            frame::put(kind::DATA, flags, number, piece, out);
            self.window -= piece.len() as i64;
            stream.window -= piece.len() as i64;
            stream.sent = end;
        }
        if !stream.body.is_empty() {
            self.streams.remove(&number);
        }
    }
}
