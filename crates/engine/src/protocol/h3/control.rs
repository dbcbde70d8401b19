//! The streams that a server opens: its control stream, those of its QPACK, and unknown ones.

use super::frame::{self, varint};
use crate::protocol::Fault;
use quinn_proto::StreamId;

/// The longest frame on a control stream that is accepted, in bytes.
const MOST: u64 = 65_536;

/// A stream that the server has opened.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) id: StreamId,
    kind: Option<u64>,
    /// A frame, or the stream's kind, that has come in part.
    partial: Vec<u8>,
    /// Bytes that have come of an instruction of QPACK's decoder, which is not whole.
    within: u32,
}

/// News on a stream that the server has opened.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    /// The server has sent its settings.
    Settings,
    /// The server takes no more requests, and has not processed those from this stream on.
    Leaving(u64),
    /// A stream of an unknown kind: it is not read.
    Unknown,
}

/// State of the server's control stream.
#[derive(Debug, Default)]
pub(super) struct Control {
    opened: bool,
    /// Streams of the server's QPACK.
    encoder: bool,
    decoder: bool,
    settled: bool,
    leaving: Option<u64>,
}

impl Incoming {
    pub(super) fn new(id: StreamId) -> Self {
        Self {
            id,
            kind: None,
            partial: Vec::new(),
            within: 0,
        }
    }

    /// Is it the server's control stream, or one of its QPACK? They stay open as long as the connection.
    pub(super) fn is_critical(&self) -> bool {
        matches!(
            self.kind,
            Some(frame::CONTROL | frame::QPACK_ENCODER | frame::QPACK_DECODER)
        )
    }

    /// Takes bytes of it.
    ///
    /// # Errors
    /// When they break the protocol.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        control: &mut Control,
        mut tell: impl FnMut(News),
    ) -> Result<(), Fault> {
        match self.kind {
            None | Some(frame::CONTROL) => {}
            Some(frame::QPACK_ENCODER) => return encoder(bytes),
            Some(frame::QPACK_DECODER) => return self.decoder(bytes),
            Some(_) => return Ok(()),
        }
        self.partial.extend_from_slice(bytes);
        let mut rest = &self.partial[..];
        if self.kind.is_none() {
            let Some(kind) = varint(&mut rest) else {
                return Ok(());
            };
            self.kind = Some(kind);
            match kind {
                frame::CONTROL if std::mem::replace(&mut control.opened, true) => {
                    return Err(Fault::Malformed("a second control stream"));
                }
                frame::CONTROL => {}
                frame::PUSH => {
                    return Err(Fault::Malformed("a pushed answer, which was not allowed"));
                }
                frame::QPACK_ENCODER | frame::QPACK_DECODER => {
                    let (opened, again) = match kind {
                        frame::QPACK_ENCODER => (&mut control.encoder, "a second encoder stream"),
                        _ => (&mut control.decoder, "a second decoder stream"),
                    };
                    if std::mem::replace(opened, true) {
                        return Err(Fault::Malformed(again));
                    }
                    let rest = rest.to_vec();
                    self.partial = Vec::new();
                    return self.take(&rest, control, tell);
                }
                _ => {
                    self.partial = Vec::new();
                    tell(News::Unknown);
                    return Ok(());
                }
            }
        }
        loop {
            let mut ahead = rest;
            let (Some(kind), Some(length)) = (varint(&mut ahead), varint(&mut ahead)) else {
                break;
            };
            if length > MOST {
                return Err(Fault::TooLong {
                    part: "a frame of the control stream",
                    limit: MOST,
                });
            }
            let Some((payload, after)) = ahead.split_at_checked(length as usize) else {
                break;
            };
            control.frame(kind, payload, &mut tell)?;
            rest = after;
        }
        let used = self.partial.len() - rest.len();
        self.partial.drain(..used);
        Ok(())
    }

    /// Takes what the server's decoder says (RFC 9204, 4.4), which has nothing to acknowledge: only that it does not read
    /// a stream any more.
    fn decoder(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        /// The most bytes of an integer below 2^62, behind the first.
        const MOST: u32 = 9;
        for &byte in bytes {
            self.within = match self.within {
                0 if byte >> 6 == 1 => u32::from(byte == 0x7f),
                1..=MOST if byte & 0x80 != 0 => self.within + 1,
                1..=MOST => 0,
                _ => return Err(NO_TABLE),
            };
        }
        Ok(())
    }
}

/// Takes what the server's encoder says (RFC 9204, 4.3), which may have a table of no bytes.
fn encoder(bytes: &[u8]) -> Result<(), Fault> {
    const NO_CAPACITY: u8 = 0x20;
    match bytes.iter().all(|&byte| byte == NO_CAPACITY) {
        true => Ok(()),
        false => Err(NO_TABLE),
    }
}

const NO_TABLE: Fault =
    Fault::Malformed("an instruction of QPACK for a dynamic table, which was not allowed");

impl Control {
    /// Has the server said that it takes no more requests?
    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    fn frame(
        &mut self,
        kind: u64,
        mut payload: &[u8],
        tell: &mut impl FnMut(News),
    ) -> Result<(), Fault> {
        if self.settled == (kind == frame::SETTINGS) {
            return Err(Fault::Malformed(match self.settled {
                true => "settings twice",
                false => "a control stream that does not begin with settings",
            }));
        }
        match kind {
            frame::SETTINGS => {
                while !payload.is_empty() {
                    let (Some(setting), Some(_)) = (varint(&mut payload), varint(&mut payload))
                    else {
                        return Err(Fault::Malformed("a frame of a wrong size"));
                    };
                    if matches!(setting, 2..=5) {
                        return Err(Fault::Malformed("a setting that only HTTP/2 has"));
                    }
                }
                self.settled = true;
                tell(News::Settings);
            }
            frame::GOAWAY => {
                let id = varint(&mut payload).filter(|_| payload.is_empty());
                let id = id.ok_or(Fault::Malformed("a frame of a wrong size"))?;
                if !id.is_multiple_of(4) || self.leaving.is_some_and(|before| id > before) {
                    return Err(Fault::Malformed("GOAWAY with a wrong stream"));
                }
                self.leaving = Some(id);
                tell(News::Leaving(id));
            }
            frame::CANCEL_PUSH => {
                return Err(Fault::Malformed(
                    "CANCEL_PUSH of a push, which was not allowed",
                ));
            }
            frame::DATA | frame::HEADERS | frame::PUSH_PROMISE | frame::MAX_PUSH_ID => {
                return Err(Fault::Malformed("a frame on a wrong stream"));
            }
            kind if frame::is_of_http2(kind) => {
                return Err(Fault::Malformed("a frame that only HTTP/2 has"));
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quinn_proto::{Dir, Side};

    fn hear(bytes: &[u8], step: usize) -> Result<Vec<News>, Fault> {
        let mut stream = Incoming::new(StreamId::new(Side::Server, Dir::Uni, 0));
        let mut control = Control::default();
        let mut news = Vec::new();
        for part in bytes.chunks(step) {
            stream.take(part, &mut control, |it| news.push(it))?;
        }
        Ok(news)
    }

    fn frames(list: &[(u64, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0];
        for (kind, payload) in list {
            frame::put(*kind, payload, &mut bytes);
        }
        bytes
    }

    #[test]
    fn settings_and_goodbyes_are_told_however_they_come() {
        let bytes = frames(&[
            (frame::SETTINGS, b"\x06\x44\x00\x21\x00"),
            (0x21, b"grease"),
            (frame::GOAWAY, b"\x08"),
            (frame::GOAWAY, b"\x04"),
        ]);
        for step in 1..bytes.len() {
            let expected = vec![News::Settings, News::Leaving(8), News::Leaving(4)];
            assert_eq!(hear(&bytes, step), Ok(expected), "{step}");
        }
        assert_eq!(hear(b"\x21anything", 2), Ok(vec![News::Unknown]));
    }

    #[test]
    fn qpack_says_nothing_of_a_dynamic_table() {
        for right in [
            &b"\x02"[..],
            b"\x02\x20\x20",
            b"\x03",
            b"\x03\x40\x7e\x7f\0\x7f\x80\x80\x01\x40",
            b"\x03\x7f\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ] {
            for step in 1..=right.len() {
                assert_eq!(hear(right, step), Ok(Vec::new()), "{right:?}");
            }
        }
        for wrong in [
            &b"\x02\x21"[..],
            b"\x02\x3f\xe1\x1f",
            b"\x02\x20\xc0\x01y",
            b"\x02\x41x\x01y",
            b"\x02\0",
            b"\x03\x80",
            b"\x03\0",
            b"\x03\x40\x01",
            b"\x03\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ] {
            for step in 1..=wrong.len() {
                assert_eq!(hear(wrong, step), Err(NO_TABLE), "{wrong:?}");
            }
        }
        for kind in [frame::QPACK_ENCODER, frame::QPACK_DECODER] {
            let mut control = Control::default();
            let mut open = |nth| {
                let mut stream = Incoming::new(StreamId::new(Side::Server, Dir::Uni, nth));
                stream.take(&[kind as u8], &mut control, drop)
            };
            assert_eq!(open(0), Ok(()));
            assert!(open(1).is_err());
        }
    }

    #[test]
    fn a_control_stream_that_breaks_the_protocol_is_refused() {
        let settings = (frame::SETTINGS, &b""[..]);
        for list in [
            &[(frame::GOAWAY, &b"\0"[..])][..],
            &[settings, settings],
            &[(frame::SETTINGS, b"\x02\x00")],
            &[(frame::SETTINGS, b"\x06")],
            &[settings, (frame::DATA, b"")],
            &[settings, (frame::MAX_PUSH_ID, b"\0")],
            &[settings, (6, b"")],
            &[settings, (frame::CANCEL_PUSH, b"\0")],
            &[settings, (frame::GOAWAY, b"\x01")],
            &[settings, (frame::GOAWAY, b"\x04"), (frame::GOAWAY, b"\x08")],
            &[settings, (frame::GOAWAY, b"\x04\x04")],
        ] {
            assert!(hear(&frames(list), 3).is_err(), "{list:?}");
        }
        assert!(hear(b"\x01", 1).is_err());
        let mut long = frames(&[settings]);
        frame::put_varint(0x21, &mut long);
        frame::put_varint(MOST + 1, &mut long);
        assert!(hear(&long, 100).is_err());
    }
}
