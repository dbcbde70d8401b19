//! Protocols told by the first bytes of a peer.

/// Content types of TLS records.
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;

/// A peer that was taken for a server of HTTP/1.x and speaks something else: in words, with what to do.
#[must_use]
pub fn recognized(first: &[u8]) -> Option<&'static str> {
    let begins = |all: &[&[u8]]| all.iter().any(|it| first.starts_with(it));
    if is_h2_settings(first) {
        return Some("the server speaks HTTP/2 without TLS: use h2c://, or grpc:// for gRPC");
    }
    if let &[kind @ (ALERT | HANDSHAKE), 3, 0..=4, ..] = first {
        return Some(match kind {
            ALERT => "a TLS alert: use https://, or wss:// or grpcs://",
            _ => "a TLS record: use https://, or wss:// or grpcs://",
        });
    }
    if begins(&[b"SSH-"]) {
        return Some("the server speaks SSH");
    }
    if begins(&[b"220 ", b"220-"]) {
        return Some("the server speaks SMTP or FTP");
    }
    if begins(&[b"-ERR ", b"-DENIED ", b"-NOAUTH "]) {
        return Some("the server speaks the protocol of Redis, or POP3");
    }
    if begins(&[b"* OK"]) {
        return Some("the server speaks IMAP");
    }
    if begins(&[b"RFB "]) {
        return Some("the server speaks VNC");
    }
    // A packet of its length, number 0, version 10 of the protocol.
    if first.len() > 4 && first[1..5] == [0, 0, 0, 10] {
        return Some("the server speaks the protocol of MySQL");
    }
    None
}

/// The head of a first SETTINGS frame: settings have six bytes each, and there are some thirty at most.
fn is_h2_settings(first: &[u8]) -> bool {
    match first {
        &[0, 0, length, 4, 0, 0, 0, 0, 0, ..] => length.is_multiple_of(6),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_told_by_their_first_bytes() {
        for (first, word) in [
            (
                &b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03"[..],
                "h2c://",
            ),
            (b"\x00\x00\x00\x04\x00\x00\x00\x00\x00", "h2c://"),
            (b"\x15\x03\x01\x00\x02\x02\x46", "https://"),
            (b"\x16\x03\x03\x00\x7a", "https://"),
            (b"SSH-2.0-OpenSSH_9.2p1\r\n", "SSH"),
            (b"220 mail.test ESMTP\r\n", "SMTP"),
            (b"-ERR wrong number of arguments", "Redis"),
            (b"J\x00\x00\x00\x0a8.0.36\x00", "MySQL"),
        ] {
            let found = recognized(first).unwrap_or("nothing");
            assert!(found.contains(word), "{}: {found}", first.escape_ascii());
        }
        for first in [
            &b"HTTP/1.1 200 OK\r\n"[..],
            b"",
            b"\x00\x00\x06\x04",
            b"\x00\x00\x05\x04\x00\x00\x00\x00\x00",
            b"ICY 200 OK\r\n",
            b"22",
        ] {
            assert_eq!(recognized(first), None, "{}", first.escape_ascii());
        }
    }
}
