//! The upgrade from HTTP/1.1 (RFC 6455, section 4.2).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha1::{Digest, Sha1};

use super::super::request::MAX_HEAD;

const MAGIC: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The most header fields.
const MAX_FIELDS: usize = 100;

/// Result of a handshake.
pub(super) enum Answered {
    /// The request is not complete.
    Not,
    Agreed,
    Refused,
}

/// Takes a request's head from `input`, after what came before, and appends the answer to `out`.
pub(super) fn answer(kept: &mut Vec<u8>, input: &mut &[u8], out: &mut Vec<u8>) -> Answered {
    let before = kept.len();
    let n = input.len().min(MAX_HEAD - before);
    kept.extend_from_slice(&input[..n]);
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let refusal = match request.parse(kept) {
        Ok(httparse::Status::Complete(length)) => {
            *input = &input[length - before..];
            match key(&request) {
                Ok(key) => {
                    agree(key, out);
                    return Answered::Agreed;
                }
                Err(refusal) => refusal,
            }
        }
        Ok(httparse::Status::Partial) if kept.len() < MAX_HEAD => {
            *input = &[];
            return Answered::Not;
        }
        Ok(httparse::Status::Partial) => "431 Request Header Fields Too Large",
        Err(_) => "400 Bad Request",
    };
    *input = &[];
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(refusal.as_bytes());
    out.extend_from_slice(
        b"\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    );
    Answered::Refused
}

/// The key of a handshake that can be agreed to, or why it cannot be.
fn key<'a>(request: &httparse::Request<'_, 'a>) -> Result<&'a [u8], &'static str> {
    let all = |name: &'static str| {
        let fields = request.headers.iter();
        fields
            .filter(move |field| field.name.eq_ignore_ascii_case(name))
            .map(|field| field.value.trim_ascii())
    };
    let has = |name: &'static str, token: &[u8]| {
        let mut tokens = all(name).flat_map(|value| value.split(|&byte| byte == b','));
        tokens.any(|one| one.trim_ascii().eq_ignore_ascii_case(token))
    };
    if request.method != Some("GET") || request.version != Some(1) || all("host").count() != 1 {
        return Err("400 Bad Request");
    }
    if !has("upgrade", b"websocket")
        || !has("connection", b"upgrade")
        || !all("sec-websocket-version").eq([&b"13"[..]])
    {
        return Err("426 Upgrade Required");
    }
    let mut keys = all("sec-websocket-key");
    match (keys.next(), keys.next()) {
        (Some(key), None) if BASE64_STANDARD.decode(key).is_ok_and(|it| it.len() == 16) => Ok(key),
        _ => Err("400 Bad Request"),
    }
}

fn agree(key: &[u8], out: &mut Vec<u8>) {
    let digest = Sha1::new().chain_update(key).chain_update(MAGIC).finalize();
    out.extend_from_slice(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ",
    );
    out.extend_from_slice(BASE64_STANDARD.encode(digest).as_bytes());
    out.extend_from_slice(b"\r\n\r\n");
}
