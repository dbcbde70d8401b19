//! Where one request ends and the next begins.

use std::num::NonZeroUsize;

use super::held::Held;
use crate::session::{Http, Then};
use crate::{Contract, Date};

/// One connection's input, cut into requests.
#[derive(Debug)]
pub(super) enum Requests {
    Echo {
        /// Bytes in a request, or `None`: what a read brings is one.
        message: Option<NonZeroUsize>,
    },
    Http(Http),
}

impl Requests {
    pub(super) fn new(contract: Contract, message: Option<NonZeroUsize>) -> Self {
        match contract {
            Contract::TcpEcho => Self::Echo { message },
            Contract::HttpEcho => Self::Http(Http::default()),
        }
    }

    /// Takes `input`, which is not empty, and seals the replies that it completes. `due` is asked once per request, in
    /// order. Bytes that are no reply (the leave to send a body) are due at `now`.
    pub(super) fn receive(
        &mut self,
        mut input: &[u8],
        date: &Date,
        now: u64,
        held: &mut Held,
        mut due: impl FnMut() -> u64,
    ) -> Then {
        match self {
            Self::Echo { message } => {
                held.bytes().extend_from_slice(input);
                let message = message.map_or(input.len(), NonZeroUsize::get);
                while held.unsealed() >= message {
                    held.seal(message, due());
                }
                Then::Keep
            }
            Self::Http(http) => {
                let mut then = Then::Keep;
                while let Some(after) = http.next(&mut input, date, held.bytes()) {
                    held.seal(held.unsealed(), due());
                    then = after;
                }
                if held.unsealed() > 0 {
                    held.seal(held.unsealed(), now);
                }
                then
            }
        }
    }

    /// The peer sends no more: what is left of an echo counts as a last, shorter request.
    pub(super) fn end(&mut self, held: &mut Held, due: impl FnOnce() -> u64) {
        if held.unsealed() > 0 {
            held.seal(held.unsealed(), due());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many requests the input makes, and what leaves at once.
    fn feed(requests: &mut Requests, held: &mut Held, input: &[u8]) -> (u32, usize) {
        let mut count = 0;
        requests.receive(input, &Date::at(0), 0, held, || {
            count += 1;
            10
        });
        held.release(0, |_| ());
        (count, held.sendable().len())
    }

    #[test]
    fn an_echo_is_cut_into_messages() {
        let mut requests = Requests::new(Contract::TcpEcho, NonZeroUsize::new(6));
        let mut held = Held::default();
        assert_eq!(feed(&mut requests, &mut held, b"hel"), (0, 0));
        assert_eq!(feed(&mut requests, &mut held, b"lo\nhello\nhe"), (2, 0));
        requests.end(&mut held, || 11);
        held.release(10, |_| ());
        assert_eq!(held.sendable(), b"hello\nhello\n");
        held.release(11, |_| ());
        assert_eq!(held.sendable(), b"hello\nhello\nhe");
    }

    #[test]
    fn or_a_read_is_a_message() {
        let mut requests = Requests::new(Contract::TcpEcho, None);
        let mut held = Held::default();
        assert_eq!(feed(&mut requests, &mut held, b"hel"), (1, 0));
        assert_eq!(feed(&mut requests, &mut held, b"lo"), (1, 0));
        held.release(10, |_| ());
        held.advance(5);
        assert_eq!(feed(&mut requests, &mut held, b"again"), (1, 0));
    }

    #[test]
    fn http_replies_wait_but_the_leave_to_send_does_not() {
        let mut requests = Requests::new(Contract::HttpEcho, None);
        let mut held = Held::default();
        let get = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        let post =
            b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n";
        assert_eq!(feed(&mut requests, &mut held, post), (0, 25));
        assert_eq!(feed(&mut requests, &mut held, b"x"), (1, 25));
        assert_eq!(feed(&mut requests, &mut held, &get.repeat(2)), (2, 25));
    }
}
