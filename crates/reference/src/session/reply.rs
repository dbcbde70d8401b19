//! Writing HTTP replies.

use super::request::{KeepAlive, Manner, Refusal};
use crate::Date;

/// Leave to send the body.
pub(super) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Between the target and the date in a body.
const AT: &[u8] = b" at ";

/// Appends the reply to a well-formed request.
pub(super) fn answer(target: &[u8], manner: Manner, date: &Date, out: &mut Vec<u8>) {
    let length = target.len() + AT.len() + Date::LEN;
    out.extend_from_slice(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: ");
    out.extend_from_slice(date.as_bytes());
    out.extend_from_slice(b"\r\nContent-Length: ");
    push_decimal(length, out);
    out.extend_from_slice(match manner.connection {
        KeepAlive::Kept => b"\r\n\r\n",
        KeepAlive::KeptOnRequest => b"\r\nConnection: keep-alive\r\n\r\n",
        KeepAlive::Closed => b"\r\nConnection: close\r\n\r\n",
    });
    if !manner.head_only {
        out.extend_from_slice(target);
        out.extend_from_slice(AT);
        out.extend_from_slice(date.as_bytes());
    }
}

/// Appends the reply to a request that is not answered. The connection ends with it.
pub(super) fn refuse(refusal: Refusal, date: &Date, out: &mut Vec<u8>) {
    out.extend_from_slice(match refusal {
        Refusal::Malformed => b"HTTP/1.1 400 Bad Request\r\n",
        Refusal::HeadTooLong => b"HTTP/1.1 431 Request Header Fields Too Large\r\n",
    });
    out.extend_from_slice(b"Date: ");
    out.extend_from_slice(date.as_bytes());
    out.extend_from_slice(b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

fn push_decimal(mut value: usize, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals() {
        for value in [0, 7, 10, 16_417, usize::MAX] {
            let mut out = Vec::new();
            push_decimal(value, &mut out);
            assert_eq!(out, value.to_string().into_bytes());
        }
    }
}
