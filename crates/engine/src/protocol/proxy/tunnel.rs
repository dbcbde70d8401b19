//! Making one tunnel through a proxy, without I/O.

use super::fault::{ProxyFault, Refusal};
use super::socks5::{self, Next, Question};
use super::{Proxy, ProxyWay, connect};

/// A tunnel being made.
#[derive(Debug, Default)]
pub(super) struct Tunnel {
    /// Bytes that have come so far.
    came: Vec<u8>,
    /// How many of them are answers of SOCKS5 that are read.
    read: usize,
    /// Question of SOCKS5 that is open.
    question: Option<Question>,
}

impl Tunnel {
    /// Begins one; what is appended to `out` is sent.
    pub(super) fn begin(proxy: &Proxy, out: &mut Vec<u8>) -> Self {
        let mut tunnel = Self::default();
        match proxy.way {
            ProxyWay::Forward => {}
            ProxyWay::Connect => out.extend(connect::request(proxy)),
            ProxyWay::Socks5 => {
                socks5::ask(Question::Methods, proxy, out);
                tunnel.question = Some(Question::Methods);
            }
        }
        tunnel
    }

    /// Takes bytes from the proxy; what is appended to `out` is sent. Gives how many of them were the proxy's own when the
    /// tunnel is made: the rest came through it.
    ///
    /// # Errors
    /// When the proxy does not make it.
    pub(super) fn received(
        &mut self,
        proxy: &Proxy,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>, ProxyFault> {
        let before = self.came.len();
        self.came.extend_from_slice(bytes);
        let read = self.read(proxy, out);
        let end = read.map_err(|refusal| fault(proxy, refusal))?;
        // What was whole before these bytes came has been read then.
        Ok(end.map(|end| end - before))
    }

    fn read(&mut self, proxy: &Proxy, out: &mut Vec<u8>) -> Result<Option<usize>, Refusal> {
        let authorized = proxy.credentials.is_some();
        while let Some(question) = self.question {
            match socks5::read(question, &self.came[self.read..], authorized)? {
                Next::More => return Ok(None),
                Next::Ask(next, read) => {
                    socks5::ask(next, proxy, out);
                    self.question = Some(next);
                    self.read += read;
                }
                Next::Made(read) => return Ok(Some(self.read + read)),
            }
        }
        connect::read(&self.came, authorized)
    }
}

/// A fault of this proxy.
pub(super) fn fault(proxy: &Proxy, refusal: Refusal) -> ProxyFault {
    ProxyFault {
        proxy: proxy.name.clone(),
        refusal,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Credentials;
    use super::*;

    fn proxy(way: ProxyWay) -> Proxy {
        Proxy {
            name: "127.0.0.1:1080".into(),
            way,
            host: "example.com".into(),
            port: 443,
            credentials: Some(Credentials {
                user: "ada".into(),
                password: "secret".into(),
            }),
            tls: None,
        }
    }

    /// Hands over an answer in pieces of this size; gives what was asked after it, and how many bytes were not the proxy's.
    fn answered(way: ProxyWay, answer: &[u8], piece: usize) -> (Vec<u8>, Option<usize>) {
        let (proxy, mut out) = (proxy(way), Vec::new());
        let mut tunnel = Tunnel::begin(&proxy, &mut out);
        out.clear();
        let mut came = 0;
        for bytes in answer.chunks(piece) {
            came += bytes.len();
            if let Some(used) = tunnel.received(&proxy, bytes, &mut out).unwrap() {
                return (out, Some(bytes.len() - used + answer.len() - came));
            }
        }
        (out, None)
    }

    #[test]
    fn tunnels_are_made_whatever_pieces_the_answers_come_in() {
        let socks = b"\x05\x02\x01\0\x05\0\0\x01\0\0\0\0\0\0hello";
        let connect = b"HTTP/1.1 200 OK\r\n\r\nhello";
        for piece in 1..=connect.len() {
            let (_, rest) = answered(ProxyWay::Connect, connect, piece);
            assert_eq!(rest, Some(5), "{piece}");
            let (out, rest) = answered(ProxyWay::Socks5, socks, piece);
            assert_eq!(rest, Some(5), "{piece}");
            assert_eq!(
                out,
                b"\x01\x03ada\x06secret\x05\x01\0\x03\x0bexample.com\x01\xbb"
            );
        }
        assert_eq!(answered(ProxyWay::Socks5, &socks[..8], 3).1, None);
    }

    #[test]
    fn a_request_has_the_credentials_and_no_text_of_them_otherwise() {
        let (proxy, mut out) = (proxy(ProxyWay::Connect), Vec::new());
        Tunnel::begin(&proxy, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\
             Proxy-Authorization: Basic YWRhOnNlY3JldA==\r\n\r\n"
        );
        let shown = format!("{proxy:?}");
        assert!(
            !shown.contains("ada") && !shown.contains("secret"),
            "{shown}"
        );
    }
}
