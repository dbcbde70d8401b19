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
    settled: bool,
    leaving: Option<u64>,
}

impl Incoming {
    pub(super) fn new(id: StreamId) -> Self {
        Self {
            id,
            kind: None,
            partial: Vec::new(),
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
        // Without a dynamic table the streams of QPACK have nothing to say.
        if matches!(self.kind, Some(kind) if kind != frame::CONTROL) {
            return Ok(());
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
                    self.partial = Vec::new();
                    return Ok(());
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
}

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
        assert_eq!(hear(b"\x02anything", 2), Ok(Vec::new()));
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
