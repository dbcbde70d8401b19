//! Headers of the PROXY protocol, versions 1 and 2, as HAProxy defines them.

use prony_record::load::ProxyProtocol;
use std::net::{IpAddr, SocketAddr};

const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// Version 2, and whether the header names a client's connection (`PROXY`) or the sender's own (`LOCAL`).
const LOCAL: u8 = 0x20;
const PROXY: u8 = 0x21;

/// Appends the header of a connection between these addresses, the client's first; None: over a unix socket.
pub(super) fn header(
    version: ProxyProtocol,
    ends: Option<(SocketAddr, SocketAddr)>,
    out: &mut Vec<u8>,
) {
    let Some((from, to)) = ends else {
        return match version {
            ProxyProtocol::V1 => out.extend_from_slice(b"PROXY UNKNOWN\r\n"),
            ProxyProtocol::V2 => {
                out.extend_from_slice(SIGNATURE);
                out.extend([LOCAL, 0, 0, 0]);
            }
        };
    };
    match version {
        ProxyProtocol::V1 => {
            let family = match from.is_ipv6() {
                true => "TCP6",
                false => "TCP4",
            };
            let (from_ip, to_ip) = (from.ip(), to.ip());
            let line = format!(
                "PROXY {family} {from_ip} {to_ip} {} {}\r\n",
                from.port(),
                to.port()
            );
            out.extend_from_slice(line.as_bytes());
        }
        ProxyProtocol::V2 => {
            let (family, length) = match from.is_ipv6() {
                true => (0x21, 36),
                false => (0x11, 12),
            };
            out.extend_from_slice(SIGNATURE);
            out.extend([PROXY, family, 0, length]);
            for end in [from, to] {
                match end.ip() {
                    IpAddr::V4(ip) => out.extend(ip.octets()),
                    IpAddr::V6(ip) => out.extend(ip.octets()),
                }
            }
            for end in [from, to] {
                out.extend(end.port().to_be_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(version: ProxyProtocol, from: &str, to: &str) -> Vec<u8> {
        let ends = (from.parse().unwrap(), to.parse().unwrap());
        let mut out = Vec::new();
        header(version, Some(ends), &mut out);
        out
    }

    #[test]
    fn a_line_of_text() {
        let line = of(ProxyProtocol::V1, "10.0.0.1:4000", "10.0.0.2:80");
        assert_eq!(line, b"PROXY TCP4 10.0.0.1 10.0.0.2 4000 80\r\n");
        let line = of(ProxyProtocol::V1, "[::1]:4000", "[::1]:80");
        assert_eq!(line, b"PROXY TCP6 ::1 ::1 4000 80\r\n");
        let mut unix = Vec::new();
        header(ProxyProtocol::V1, None, &mut unix);
        assert_eq!(unix, b"PROXY UNKNOWN\r\n");
    }

    #[test]
    fn binary() {
        let bytes = of(ProxyProtocol::V2, "10.0.0.1:4000", "10.0.0.2:80");
        let rest = b"\x21\x11\0\x0c\x0a\0\0\x01\x0a\0\0\x02\x0f\xa0\0\x50";
        assert_eq!(bytes, [&SIGNATURE[..], rest].concat());
        let bytes = of(ProxyProtocol::V2, "[::1]:1", "[::2]:2");
        assert_eq!(bytes.len(), 16 + 36);
        assert_eq!(bytes[13..16], [0x21, 0, 36]);
        let mut unix = Vec::new();
        header(ProxyProtocol::V2, None, &mut unix);
        assert_eq!(unix, [&SIGNATURE[..], &[0x20, 0, 0, 0]].concat());
    }
}
