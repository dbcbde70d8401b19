//! Raw echo: what was sent comes back, byte for byte, without framing.

use super::{Answer, Difference, Events, Expect, Fault, Fifo, Mismatch, Session, surplus};

/// Sends one message again and again and expects it back.
#[derive(Debug, Clone)]
pub struct Echo {
    message: Vec<u8>,
    expect: Expect,
}

impl Echo {
    /// An echo of `message`, which must not be empty (an empty answer could not be seen).
    pub fn new(message: impl Into<Vec<u8>>) -> Self {
        let message = message.into();
        assert!(!message.is_empty(), "an echo needs at least one byte");
        Self {
            expect: Expect::body(message.clone()),
            message,
        }
    }
}

/// How far the answers of one connection have come.
#[derive(Debug, Default)]
pub struct EchoConn {
    waiting: u32,
    received: usize,
    difference: Option<Box<Difference>>,
}

impl Session for Echo {
    type Conn = EchoConn;
    type Token = Fifo;

    #[inline]
    fn request(&mut self, conn: &mut EchoConn, _slot: u32, _: Fifo, out: &mut Vec<u8>) {
        conn.waiting += 1;
        out.extend_from_slice(&self.message);
    }

    #[inline(always)] // once per answer; the worker's bookkeeping becomes a part of it
    fn received(
        &mut self,
        conn: &mut EchoConn,
        _slot: u32,
        mut bytes: &[u8],
        _out: &mut Vec<u8>,
        events: &mut impl Events<Fifo>,
    ) -> Result<(), Fault> {
        if conn.waiting == 0 {
            return Err(Fault::Unsolicited { at: 0 });
        }
        let length = bytes.len();
        while !bytes.is_empty() {
            let n = bytes.len().min(self.message.len() - conn.received);
            let (piece, rest) = bytes.split_at(n);
            let at = conn.received as u64;
            if !self.expect.matches_at(at, piece) && conn.difference.is_none() {
                conn.difference = self.expect.difference_at(at, piece);
            }
            conn.received += n;
            bytes = rest;
            if conn.received == self.message.len() {
                let wrong = conn.difference.take().map(Mismatch::Body);
                let body = conn.received as u64;
                *conn = EchoConn {
                    waiting: conn.waiting - 1,
                    ..EchoConn::default()
                };
                let answer = Answer {
                    status: 0,
                    wrong,
                    last: false,
                    body,
                };
                if conn.waiting == 0 && !bytes.is_empty() {
                    return Err(surplus(length - bytes.len(), &answer, events));
                }
                events.answered(Fifo, answer);
            }
        }
        Ok(())
    }

    fn end(&mut self, _: &mut EchoConn, _slot: u32, _: &mut impl Events<Fifo>) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::seen::RecordedEvents;
    use proptest::prelude::*;

    fn feed(
        echo: &mut Echo,
        conn: &mut EchoConn,
        bytes: &[u8],
    ) -> (Vec<Answer>, Result<(), Fault>) {
        let mut seen = RecordedEvents::default();
        let result = echo.received(conn, 0, bytes, &mut Vec::new(), &mut seen);
        (seen.answers(), result)
    }

    proptest! {
        #[test]
        fn any_fragmentation_gives_the_same_answers(
            message in proptest::collection::vec(any::<u8>(), 1..40),
            count in 1usize..20,
            cuts in proptest::collection::vec(1usize..50, 1..40),
        ) {
            let mut echo = Echo::new(message.clone());
            let mut conn = EchoConn::default();
            let mut wire = Vec::new();
            for _ in 0..count {
                echo.request(&mut conn, 0, Fifo, &mut wire);
            }
            prop_assert_eq!(&wire, &message.repeat(count));
            let mut answers = Vec::new();
            let mut cuts = cuts.iter().cycle();
            let mut rest = &wire[..];
            while !rest.is_empty() {
                let (piece, tail) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                let (some, result) = feed(&mut echo, &mut conn, piece);
                prop_assert!(result.is_ok());
                answers.extend(some);
                rest = tail;
            }
            prop_assert_eq!(answers.len(), count);
            prop_assert!(answers.iter().all(|answer| answer.wrong.is_none() && !answer.last));
        }
    }

    #[test]
    fn one_wrong_byte_spoils_one_answer_only() {
        let mut echo = Echo::new("hello\n");
        let mut conn = EchoConn::default();
        let mut out = Vec::new();
        for _ in 0..3 {
            echo.request(&mut conn, 0, Fifo, &mut out);
        }
        let (answers, result) = feed(&mut echo, &mut conn, b"hello\nheLlo\nhello\n");
        assert!(result.is_ok());
        let wrong: Vec<bool> = answers
            .iter()
            .map(|answer| answer.wrong.is_some())
            .collect();
        assert_eq!(wrong, [false, true, false]);
    }

    #[test]
    fn more_than_was_asked_for_is_a_fault() {
        let mut echo = Echo::new("ab");
        let mut conn = EchoConn::default();
        echo.request(&mut conn, 0, Fifo, &mut Vec::new());
        let surplus = Fault::Unsolicited { at: 2 };
        let (answers, result) = feed(&mut echo, &mut conn, b"abX");
        assert_eq!(result, Err(surplus.clone()));
        let wrong: Vec<_> = answers.into_iter().map(|answer| answer.wrong).collect();
        assert_eq!(wrong, [Some(Mismatch::Fault(surplus))], "the answer too");
        let before = Err(Fault::Unsolicited { at: 0 });
        assert_eq!(feed(&mut echo, &mut conn, b"ab"), (vec![], before));
    }
}
