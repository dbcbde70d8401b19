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
    /// Requests over HTTP/1.1 that are answered with so many events.
    Events(Http, u32),
    H2(Box<H2>),
    Ws(Ws),
}

impl Requests {
    pub(super) fn new(
        contract: Contract,
        http2: bool,
        message: Option<NonZeroUsize>,
        events: Option<u32>,
    ) -> Self {
        match contract {
            Contract::HttpEcho if let Some(number) = events => {
                Self::Events(Http::default(), number)
            }
            Contract::HttpEcho if http2 => Self::H2(Box::default()),
            Contract::TcpEcho => Self::Echo { message },
            Contract::HttpEcho => Self::Http(Http::default()),
            Contract::WsEcho => Self::Ws(Ws::default()),
        }
    }

    /// Takes `input`, which is not empty, and seals the replies that it completes. `due` is asked once per request, in
    /// order, and after that for each further event of its stream, with the time of the one before. Bytes that are no reply (the leave to send a body) are due at `now`.
    pub(super) fn receive(
        &mut self,
        mut input: &[u8],
        date: &Date,
        now: u64,
        held: &mut Held,
        mut due: impl FnMut(Option<u64>) -> u64,
    ) -> Then {
        match self {
            Self::Echo { message } => {
                held.bytes().extend_from_slice(input);
                let message = message.map_or(input.len(), NonZeroUsize::get);
                while held.unsealed() >= message {
                    held.seal(message, due(None));
                }
                Then::Keep
            }
            Self::Http(http) => {
                let mut then = Then::Keep;
                while let Some(after) = http.next(&mut input, date, held.bytes()) {
                    held.seal(held.unsealed(), due(None));
                    then = after;
                }
                held.seal_aside(now);
                then
            }
            Self::Events(http, number) => {
                let mut then = Then::Keep;
                let before = held.unsealed();
                while let Some(after) = http.next(&mut input, date, held.bytes()) {
                    let reply = held.unsealed() - before;
                    let bytes = held.bytes();
                    bytes.truncate(bytes.len() - reply);
                    stream(*number, held, &mut due);
                    then = after;
                }
                held.seal_aside(now);
                then
            }
            Self::H2(h2) => {
                let mut then = Then::Keep;
                while let Some(said) = h2.next(&mut input, date, held.bytes()) {
                    match said {
                        Said::Message => held.seal(held.unsealed(), due(None)),
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
                        Said::Message => held.seal(held.unsealed(), due(None)),
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
    pub(super) fn end(&mut self, held: &mut Held, due: impl FnOnce(Option<u64>) -> u64) {
        if held.unsealed() > 0 {
            held.seal(held.unsealed(), due(None));
        }
    }
}

/// An event of a stream in a chunk, in the form of those of model servers: each brings a word.
const EVENT: &[u8] =
    b"3d\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" tick\"}}]}\n\n\r\n";
const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const END: &[u8] = b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";

/// Seals a stream of so many events, each for its time; the end of the stream comes with the last.
fn stream(number: u32, held: &mut Held, due: &mut impl FnMut(Option<u64>) -> u64) {
    let mut at = due(None);
    held.bytes().extend_from_slice(HEAD);
    for nth in 1..=number {
        if nth > 1 {
            at = due(Some(at));
        }
        held.bytes().extend_from_slice(EVENT);
        if nth == number {
            held.bytes().extend_from_slice(END);
        }
        held.seal(held.unsealed(), at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many requests the input makes, and what leaves at once.
    fn feed(requests: &mut Requests, held: &mut Held, input: &[u8]) -> (u32, usize) {
        let mut count = 0;
        requests.receive(input, &Date::at(0), 0, held, |_| {
            count += 1;
            10
        });
        held.release(0, |_| ());
        (count, held.sendable().len())
    }

    #[test]
    fn an_echo_is_cut_into_messages() {
        let mut requests = Requests::new(Contract::TcpEcho, false, NonZeroUsize::new(6), None);
        let mut held = Held::default();
        assert_eq!(feed(&mut requests, &mut held, b"hel"), (0, 0));
        assert_eq!(feed(&mut requests, &mut held, b"lo\nhello\nhe"), (2, 0));
        requests.end(&mut held, |_| 11);
        held.release(10, |_| ());
        assert_eq!(held.sendable(), b"hello\nhello\n");
        held.release(11, |_| ());
        assert_eq!(held.sendable(), b"hello\nhello\nhe");
    }

    #[test]
    fn or_a_read_is_a_message() {
        let mut requests = Requests::new(Contract::TcpEcho, false, None, None);
        let mut held = Held::default();
        assert_eq!(feed(&mut requests, &mut held, b"hel"), (1, 0));
        assert_eq!(feed(&mut requests, &mut held, b"lo"), (1, 0));
        held.release(10, |_| ());
        held.advance(5);
        assert_eq!(feed(&mut requests, &mut held, b"again"), (1, 0));
    }

    #[test]
    fn replies_over_http2_wait_but_settings_do_not() {
        let mut requests = Requests::new(Contract::HttpEcho, true, None, None);
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
    fn a_stream_is_sealed_event_by_event() {
        let length = EVENT.windows(2).position(|two| two == b"\r\n").unwrap();
        let said = usize::from_str_radix(str::from_utf8(&EVENT[..length]).unwrap(), 16);
        assert_eq!(said.unwrap(), EVENT.len() - length - 4, "the chunk's size");
        let mut requests = Requests::new(Contract::HttpEcho, false, None, Some(3));
        let mut held = Held::default();
        let get = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        let due = |before: Option<u64>| before.map_or(10, |before| before + 5);
        requests.receive(get, &Date::at(0), 0, &mut held, due);
        let mut came = Vec::new();
        for time in [9, 10, 15, 20] {
            held.release(time, |_| ());
            came.push(held.sendable().len());
        }
        let first = HEAD.len() + EVENT.len();
        let all = first + 2 * EVENT.len() + END.len();
        assert_eq!(came, [0, first, first + EVENT.len(), all]);
    }

    #[test]
    fn http_replies_wait_but_the_leave_to_send_does_not() {
        let mut requests = Requests::new(Contract::HttpEcho, false, None, None);
        let mut held = Held::default();
        let get = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        let post =
            b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n";
        assert_eq!(feed(&mut requests, &mut held, post), (0, 25));
        assert_eq!(feed(&mut requests, &mut held, b"x"), (1, 25));
        assert_eq!(feed(&mut requests, &mut held, &get.repeat(2)), (2, 25));
    }
}
