//! SOCKS version 5 (RFC 1928): three questions at most, with their answers.

use super::Proxy;
use super::fault::Refusal;
use std::net::IpAddr;

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const USER_AND_PASSWORD: u8 = 2;

/// Question whose answer is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// Ways to authenticate.
    Methods,
    /// User and password (RFC 1929).
    Password,
    /// Connect to the server.
    Connect,
}

/// Consequence of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// More bytes of it must come.
    More,
    /// Another question, after so many bytes.
    Ask(Question, usize),
    /// The tunnel is made; so many bytes are read.
    Made(usize),
}

/// Appends a question.
pub(super) fn ask(question: Question, proxy: &Proxy, out: &mut Vec<u8>) {
    match (question, &proxy.credentials) {
        (Question::Methods, None) => out.extend([VERSION, 1, NO_AUTHENTICATION]),
        (Question::Methods, Some(_)) => {
            out.extend([VERSION, 2, NO_AUTHENTICATION, USER_AND_PASSWORD]);
        }
        (Question::Password, credentials) => {
            out.push(1);
            let (user, password) = credentials
                .as_ref()
                .map_or(("", ""), |it| (&it.user, &it.password));
            for text in [user, password] {
                out.push(text.len() as u8);
                out.extend_from_slice(text.as_bytes());
            }
        }
        (Question::Connect, _) => {
            out.extend([VERSION, 1, 0]);
            match proxy.host.parse::<IpAddr>() {
                Ok(IpAddr::V4(ip)) => {
                    out.push(1);
                    out.extend(ip.octets());
                }
                Ok(IpAddr::V6(ip)) => {
                    out.push(4);
                    out.extend(ip.octets());
                }
                Err(_) => {
                    out.extend([3, proxy.host.len() as u8]);
                    out.extend_from_slice(proxy.host.as_bytes());
                }
            }
            out.extend(proxy.port.to_be_bytes());
        }
    }
}

/// Reads an answer as far as it has come.
pub(super) fn read(question: Question, bytes: &[u8], authorized: bool) -> Result<Next, Refusal> {
    match (question, bytes) {
        (_, []) => Ok(Next::More),
        (Question::Password, [1]) => Ok(Next::More),
        (Question::Password, [1, 0, ..]) => Ok(Next::Ask(Question::Connect, 2)),
        (Question::Password, [1, _, ..]) => Err(Refusal::WrongCredentials),
        (_, [first, ..]) if question == Question::Password || *first != VERSION => {
            Err(Refusal::NotSocks)
        }
        (_, [_]) => Ok(Next::More),
        (Question::Methods, [_, NO_AUTHENTICATION, ..]) => Ok(Next::Ask(Question::Connect, 2)),
        (Question::Methods, [_, USER_AND_PASSWORD, ..]) if authorized => {
            Ok(Next::Ask(Question::Password, 2))
        }
        (Question::Methods, [_, _, ..]) => Err(Refusal::Unauthenticated),
        (_, [_, 0, rest @ ..]) => {
            // A reserved byte, the kind of address, the address and the port that the proxy connects from.
            let address = match rest {
                [_, 1, ..] => 4,
                [_, 4, ..] => 16,
                [_, 3, length, ..] => 1 + usize::from(*length),
                [] | [_] | [_, 3] => return Ok(Next::More),
                _ => return Err(Refusal::NotSocks),
            };
            let length = 4 + address + 2;
            Ok(match bytes.len() < length {
                true => Next::More,
                false => Next::Made(length),
            })
        }
        (_, [_, number, ..]) => Err(Refusal::Socks(*number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_in_pieces() {
        let domain = b"\x05\0\0\x03\x02ab\x00\x50rest";
        for (answer, length) in [
            (&b"\x05\0\0\x01\x7f\0\0\x01\x00\x50rest"[..], 10),
            (&domain[..], 9),
            (b"\x05\0\0\x040123456789abcdef\x00\x50rest", 22),
        ] {
            for cut in 0..length {
                let read = read(Question::Connect, &answer[..cut], false);
                assert_eq!(read, Ok(Next::More), "{cut}");
            }
            let whole = read(Question::Connect, answer, false);
            assert_eq!(whole, Ok(Next::Made(length)));
        }
    }

    #[test]
    fn refusals() {
        let methods = |bytes: &[u8], authorized| read(Question::Methods, bytes, authorized);
        assert_eq!(methods(b"\x05\xff", true), Err(Refusal::Unauthenticated));
        // A method that was not offered.
        assert_eq!(methods(b"\x05\x02", false), Err(Refusal::Unauthenticated));
        assert_eq!(
            methods(b"\x05\x02", true),
            Ok(Next::Ask(Question::Password, 2))
        );
        assert_eq!(methods(b"H", false), Err(Refusal::NotSocks));
        let password = read(Question::Password, b"\x01\x01", true);
        assert_eq!(password, Err(Refusal::WrongCredentials));
        assert_eq!(
            read(Question::Password, b"\x05\0", true),
            Err(Refusal::NotSocks)
        );
        let connect = read(Question::Connect, b"\x05\x05", false);
        assert_eq!(connect, Err(Refusal::Socks(5)));
        let odd = read(Question::Connect, b"\x05\0\0\x09", false);
        assert_eq!(odd, Err(Refusal::NotSocks));
    }
}
