//! Where one request ends and the next begins.

use std::num::NonZeroUsize;

use super::held::Held;
use crate::session::{H2, Http, Said, Then, Ws};
use crate::{Contract, Date};

/// One connection's input, cut into requests.
#[derive(Debug)]
pub(super) enum Requests {
    Echo {
        /// Bytes in a request, or `None`: what a read brings is one.
        message: Option<NonZeroUsize>,
    },
    Http(Http),
    H2(Box<H2>),
    Ws(Ws),
}

impl Requests {
    pub(super) fn new(contract: Contract, http2: bool, message: Option<NonZeroUsize>) -> Self {
        match contract {
            Contract::HttpEcho if http2 => Self::H2(Box::default()),
            Contract::TcpEcho => Self::Echo { message },
            Contract::HttpEcho => Self::Http(Http::default()),
            Contract::WsEcho => Self::Ws(Ws::default()),
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
                held.seal_aside(now);
                then
            }
            Self::H2(h2) => {
                let mut then = Then::Keep;
                while let Some(said) = h2.next(&mut input, date, held.bytes()) {
                    match said {
                        Said::Message => held.seal(held.unsealed(), due()),
                        // Settings, pings, more room, the last word.
                        Said::Aside(after) => {
                            held.seal_aside(now);
                            then = after;
                        }
                    }
                }
                then
            }
            Self::Ws(ws) => {
                let mut then = Then::Keep;
                while let Some(said) = ws.next(&mut input, held.bytes()) {
                    match said {
                        Said::Message => held.seal(held.unsealed(), due()),
                        // A handshake, a pong, a close frame.
                        Said::Aside(after) => {
                            held.seal_aside(now);
                            then = after;
                        }
                    }
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
        let mut requests = Requests::new(Contract::TcpEcho, false, NonZeroUsize::new(6));
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
        let mut requests = Requests::new(Contract::TcpEcho, false, None);
        let mut held = Held::default();
        assert_eq!(feed(&mut requests, &mut held, b"hel"), (1, 0));
        assert_eq!(feed(&mut requests, &mut held, b"lo"), (1, 0));
        held.release(10, |_| ());
        held.advance(5);
        assert_eq!(feed(&mut requests, &mut held, b"again"), (1, 0));
    }

    #[test]
    fn replies_over_http2_wait_but_settings_do_not() {
        let mut requests = Requests::new(Contract::HttpEcho, true, None);
        let mut held = Held::default();
        let settings = *b"\0\0\0\x04\0\0\0\0\0";
        let greeting = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &settings].concat();
        let (count, greeted) = feed(&mut requests, &mut held, &greeting);
        assert_eq!(count, 0);
        assert!(greeted > 9, "its settings, and the acknowledgement of ours");
        // :method GET, :scheme http, :path /, on streams 1 and 3; the second comes in two pieces.
        let request = |stream: u8| [0, 0, 3, 1, 5, 0, 0, 0, stream, 0x82, 0x86, 0x84];
        let both = [request(1), request(3)].concat();
        assert_eq!(feed(&mut requests, &mut held, &both[..20]), (1, greeted));
        assert_eq!(feed(&mut requests, &mut held, &both[20..]), (1, greeted));
        let mut released = 0;
        held.release(10, |_| released += 1);
        assert_eq!(released, 2);
    }

    #[test]
    fn http_replies_wait_but_the_leave_to_send_does_not() {
        let mut requests = Requests::new(Contract::HttpEcho, false, None);
        let mut held = Held::default();
        let get = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        let post =
            b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n";
        assert_eq!(feed(&mut requests, &mut held, post), (0, 25));
        assert_eq!(feed(&mut requests, &mut held, b"x"), (1, 25));
        assert_eq!(feed(&mut requests, &mut held, &get.repeat(2)), (2, 25));
    }
}
