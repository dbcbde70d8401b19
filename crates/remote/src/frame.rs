//! Messages on a stream of bytes: each in a frame with its number, its length and a checksum.
//!
//! What carries the bytes is another program (ssh, srun, kubectl), which may cut them off, repeat or damage them, and
//! end well all the same. Nothing of that may become a figure, so a frame that is not the expected one is an error.

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};

/// Bytes that an agent writes before its first frame, to separate it from the output of a login shell.
pub const MAGIC: &[u8] = b"\x01prony frames 1\x02";
/// The most bytes before [`MAGIC`]: greetings are short.
const LONGEST_GREETING: usize = 64 << 10;
/// Length, number and checksum.
const HEAD: usize = 12;
/// The longest message, compressed: a plan may contain a body of many megabytes.
const LONGEST: u32 = 512 << 20;
/// The longest message, in JSON.
const LONGEST_TEXT: u64 = 4 << 30;

/// Why no message could be read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The stream ended between two frames.
    #[error("the connection ended")]
    Ended,
    /// The stream ended inside a frame.
    #[error("the connection ended in the middle of a message")]
    Cut,
    /// A frame is not what was sent, or not the one after the last.
    #[error("a message was damaged on its way: {0}")]
    Damaged(String),
    /// Reading failed.
    #[error("reading failed: {0}")]
    Io(io::Error),
    /// No agent speaks.
    #[error("no prony answered there{0}")]
    NoAgent(String),
}

/// Writes frames.
#[derive(Debug)]
pub struct Sender<W> {
    to: W,
    next: u32,
}

impl<W: Write> Sender<W> {
    /// Begins with the first frame.
    pub fn new(to: W) -> Self {
        Self { to, next: 0 }
    }

    /// Sends a message at once.
    ///
    /// # Errors
    /// When it cannot be written, or is too long.
    pub fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
        serde_json::to_writer(&mut packer, message)?;
        let body = packer.finish()?;
        let length = u32::try_from(body.len()).ok().filter(|&n| n <= LONGEST);
        let Some(length) = length else {
            return Err(io::Error::other("a message is longer than 512 MiB"));
        };
        let mut frame = Vec::with_capacity(HEAD + body.len());
        frame.extend(length.to_le_bytes());
        frame.extend(self.next.to_le_bytes());
        frame.extend(checksum(&frame, &body).to_le_bytes());
        frame.extend(body);
        self.to.write_all(&frame)?;
        self.to.flush()?;
        self.next = self.next.wrapping_add(1);
        Ok(())
    }
}

fn checksum(head: &[u8], body: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(head);
    sum.update(body);
    sum.finalize()
}

/// Reads frames.
#[derive(Debug)]
pub struct Receiver<R> {
    from: R,
    next: u32,
    bytes: u64,
}

impl<R: Read> Receiver<R> {
    /// Begins with the first frame.
    pub fn new(from: R) -> Self {
        Self {
            from,
            next: 0,
            bytes: 0,
        }
    }

    /// Bytes of all messages so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next message.
    ///
    /// # Errors
    /// When there is none, or it is not what was sent.
    pub fn receive<M: DeserializeOwned>(&mut self) -> Result<M, FrameError> {
        let mut head = [0; HEAD];
        let first = self.from.read(&mut head).map_err(FrameError::Io)?;
        if first == 0 {
            return Err(FrameError::Ended);
        }
        self.fill(&mut head[first..])?;
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("4 bytes"));
        let (length, number, sum) = (word(0), word(4), word(8));
        if length > LONGEST {
            return Err(FrameError::Damaged(format!("it claims {length} bytes")));
        }
        let mut body = Vec::new();
        // Memory is taken as bytes come, not as the head says.
        (&mut self.from)
            .take(u64::from(length))
            .read_to_end(&mut body)
            .map_err(FrameError::Io)?;
        if body.len() < length as usize {
            return Err(FrameError::Cut);
        }
        if checksum(&head[..8], &body) != sum {
            return Err(FrameError::Damaged("its checksum is wrong".into()));
        }
        if number != self.next {
            let text = format!("it is number {number}, and {} was due", self.next);
            return Err(FrameError::Damaged(text));
        }
        self.next = self.next.wrapping_add(1);
        self.bytes += HEAD as u64 + u64::from(length);
        serde_json::from_reader(ZlibDecoder::new(&body[..]).take(LONGEST_TEXT))
            .map_err(|error| FrameError::Damaged(error.to_string()))
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), FrameError> {
        self.from
            .read_exact(buffer)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => FrameError::Cut,
                _ => FrameError::Io(error),
            })
    }

    /// Passes over what stands before an agent's first frame.
    ///
    /// # Errors
    /// [`FrameError::NoAgent`], with what was found, when no agent speaks.
    pub fn find_agent(&mut self) -> Result<(), FrameError> {
        let mut seen = Vec::new();
        let mut byte = [0];
        while !seen.ends_with(MAGIC) {
            let n = self.from.read(&mut byte).map_err(FrameError::Io)?;
            if n == 0 || seen.len() > LONGEST_GREETING {
                let shown = &seen[..seen.len().min(200)];
                return Err(FrameError::NoAgent(match shown {
                    [] => String::new(),
                    _ => format!(", but \"{}\"", shown.trim_ascii().escape_ascii()),
                }));
            }
            seen.push(byte[0]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sent(messages: &[String]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut sender = Sender::new(&mut bytes);
        for message in messages {
            sender.send(message).unwrap();
        }
        bytes
    }

    /// Everything until the first error.
    fn received(bytes: &[u8]) -> (Vec<String>, FrameError) {
        let mut receiver = Receiver::new(bytes);
        let mut all = Vec::new();
        loop {
            match receiver.receive() {
                Ok(message) => all.push(message),
                Err(error) => return (all, error),
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_sent_is_received(messages: Vec<String>) {
            let (all, end) = received(&sent(&messages));
            prop_assert_eq!(all, messages);
            prop_assert!(matches!(end, FrameError::Ended));
        }

        #[test]
        fn damage_is_never_a_message(
            messages in prop::collection::vec(".{0,40}", 1..5),
            at: prop::sample::Index,
            change in 1..=255_u8,
        ) {
            let mut bytes = sent(&messages);
            let at = at.index(bytes.len());
            bytes[at] ^= change;
            let (all, end) = received(&bytes);
            prop_assert!(all.len() < messages.len());
            prop_assert_eq!(&all[..], &messages[..all.len()]);
            prop_assert!(!matches!(end, FrameError::Ended));
        }

        #[test]
        fn what_is_cut_off_is_no_message(
            messages in prop::collection::vec(".{0,40}", 1..5),
            at: prop::sample::Index,
        ) {
            let bytes = sent(&messages);
            let (all, _) = received(&bytes[..at.index(bytes.len())]);
            prop_assert!(all.len() < messages.len());
            prop_assert_eq!(&all[..], &messages[..all.len()]);
        }
    }

    #[test]
    fn a_message_that_comes_twice_is_damage() {
        let one = sent(&["one".into()]);
        let (all, end) = received(&[&one[..], &one].concat());
        assert_eq!(all, ["one"]);
        assert!(matches!(end, FrameError::Damaged(_)), "{end}");
    }

    #[test]
    fn greetings_are_passed_over() {
        let bytes = [b"Welcome!\n", MAGIC, &sent(&["one".into()])].concat();
        let mut receiver = Receiver::new(&bytes[..]);
        receiver.find_agent().unwrap();
        assert_eq!(receiver.receive::<String>().unwrap(), "one");
        let error = Receiver::new(&b"sh: prony: not found\n"[..])
            .find_agent()
            .unwrap_err();
        let text = error.to_string();
        assert_eq!(
            text,
            "no prony answered there, but \"sh: prony: not found\""
        );
    }
}
