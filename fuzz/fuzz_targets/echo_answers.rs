//! Bytes from a server that is to echo: only the message, again and again, is right.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_engine::protocol::{Answer, Booked, Echo, Events, Fifo, Session};

#[derive(Default)]
struct Seen(Vec<Answer>);

impl Events<Fifo> for Seen {
    fn ready(&mut self) {}

    fn answered(&mut self, _: Fifo, answer: Answer) -> Booked {
        self.0.push(answer);
        Booked::default()
    }

    fn closing(&mut self) {}
}

/// Messages of one length, so that half of what is random is right now and then.
const MESSAGE: &[u8] = b"ab\n";

fuzz_target!(|input: &[u8]| {
    let Some((&how, wire)) = input.split_first() else {
        return;
    };
    let requests = usize::from(how % 16) + 1;
    let mut echo = Echo::new(MESSAGE);
    let mut conn = <Echo as Session>::Conn::default();
    let mut out = Vec::new();
    for _ in 0..requests {
        echo.request(&mut conn, 0, Fifo, &mut out);
    }
    let mut seen = Seen::default();
    let mut fault = false;
    let mut taken = 0;
    for part in wire.chunks(usize::from(how / 16) + 1) {
        taken += part.len();
        if echo
            .received(&mut conn, 0, part, &mut out, &mut seen)
            .is_err()
        {
            fault = true;
            break;
        }
    }
    assert!(seen.0.len() <= requests);
    assert_eq!(
        fault,
        taken > requests * MESSAGE.len(),
        "surplus is a fault, and nothing else is"
    );
    for (answer, bytes) in seen.0.iter().zip(wire.chunks(MESSAGE.len())) {
        if answer.wrong.is_none() {
            assert_eq!(bytes, MESSAGE, "a right answer is the message");
        }
    }
});
