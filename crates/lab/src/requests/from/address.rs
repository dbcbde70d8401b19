//! URLs and header fields as they are found, and as a file has them.

use super::is_mark;
use crate::requests::is_token;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use percent_encoding::percent_decode_str;
use url::Url;

/// A URL taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SplitUrl {
    /// Scheme, host and port.
    pub(super) origin: String,
    /// Host and port.
    pub(super) authority: String,
    /// Path and query.
    pub(super) path: String,
    /// Name and password, percent-encoded, with a colon between them.
    pub(super) user: Option<String>,
}

impl SplitUrl {
    /// The host alone.
    pub(super) fn host(&self) -> &str {
        let host = self.authority.rsplit_once(':');
        match host.filter(|(host, _)| !host.contains(':') || host.ends_with(']')) {
            Some((host, _)) => host,
            None => &self.authority,
        }
    }
}

/// A URL taken apart; in words why not. Path and query stay as they are written, as far as they can be sent: without a
/// fragment, and (unless they are wanted `as_is`) without segments that are dots.
pub(super) fn split_url(url: &str, as_is: bool) -> Result<SplitUrl, String> {
    let parsed = Url::parse(url).map_err(|error| format!("{url}: {error}"))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(format!("{url}: not over HTTP"));
    }
    let authority = &parsed[url::Position::BeforeHost..url::Position::AfterPort];
    let user = match (parsed.username(), parsed.password()) {
        ("", None) => None,
        (name, None) => Some(name.to_owned()),
        (name, Some(password)) => Some(format!("{name}:{password}")),
    };
    let after = url.split_once("://").map_or("", |(_, after)| after);
    let written = &after[after.find(['/', '?', '#']).unwrap_or(after.len())..];
    let written = written.split('#').next().unwrap_or_default();
    let segments = written.split('?').next().unwrap_or_default().split('/');
    let mut dots = segments.filter(|segment| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        plain == "." || plain == ".."
    });
    let fits = written
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let path = match fits && (as_is || dots.next().is_none()) {
        true if written.starts_with('/') => written.to_owned(),
        true => format!("/{written}"),
        false => parsed[url::Position::BeforePath..url::Position::AfterQuery].to_owned(),
    };
    Ok(SplitUrl {
        origin: format!("{}://{authority}", parsed.scheme()),
        authority: authority.to_owned(),
        path,
        user,
    })
}

/// Names and values of header fields.
pub(super) type Fields = Vec<(String, String)>;

/// The field for name and password of a URL.
pub(super) fn basic(user: &str) -> (String, String) {
    let user = percent_decode_str(user).decode_utf8_lossy();
    let colon = if user.contains(':') { "" } else { ":" };
    let value = format!("Basic {}", BASE64.encode(format!("{user}{colon}")));
    ("Authorization".to_owned(), value)
}

/// Header fields as [`fields_of`] gives them, of a text that has no values between marks.
pub(super) fn headers_of(all: Fields, url: &SplitUrl) -> Result<(Fields, Vec<String>), String> {
    match all.iter().find(|(_, value)| value.contains(is_mark)) {
        Some((name, _)) => Err(format!("{name:?} with its value is not a header field")),
        None => fields_of(all, url),
    }
}

/// Header fields that are sent with a request to this URL, each once, and what was left out of them. The generator
/// makes some itself, and others belong to one connection.
pub(super) fn fields_of(all: Fields, url: &SplitUrl) -> Result<(Fields, Vec<String>), String> {
    let mut notes = Vec::new();
    let mut kept = Vec::new();
    for (name, value) in all {
        let lower = name.to_ascii_lowercase();
        let keeps = match lower.as_str() {
            _ if name.starts_with(':') => false,
            "content-length" | "keep-alive" | "proxy-connection" => false,
            "host" => !value.eq_ignore_ascii_case(&url.authority),
            "connection" => {
                // What it asks for is usual, and over TLS the file may be sent over HTTP/2, which has no such field.
                let kept = url.origin.starts_with("http://") && !value.contains(',');
                let has = |word: &str| {
                    let mut tokens = value.split(',').map(str::trim);
                    tokens.any(|token| token.eq_ignore_ascii_case(word))
                };
                has("close") || kept && has("keep-alive")
            }
            "transfer-encoding" => {
                notes.push(format!(
                    "{name}: {value} was left out: the body is sent with its length"
                ));
                false
            }
            "upgrade" | "http2-settings" => {
                notes.push(format!("{name}: {value} was left out"));
                false
            }
            _ => true,
        };
        if keeps {
            kept.push((name, value));
        }
    }
    Ok((once_each(kept)?, notes))
}

/// Each field once: several of one name are joined, as HTTP has it (RFC 9110, 5.3); cookies by `;`.
pub(super) fn once_each(all: Vec<(String, String)>) -> Result<Vec<(String, String)>, String> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for (name, value) in all {
        let unfit = |c: char| c.is_control() && c != '\t' && !is_mark(c);
        if !is_token(&name) || value.chars().any(unfit) {
            return Err(format!("{name:?} with its value is not a header field"));
        }
        let same = |known: &&mut (String, String)| known.0.eq_ignore_ascii_case(&name);
        match fields.iter_mut().find(same) {
            Some((known, text)) => {
                let between = match known.eq_ignore_ascii_case("cookie") {
                    true => "; ",
                    false => ", ",
                };
                *text += between;
                *text += &value;
            }
            None => fields.push((name, value)),
        }
    }
    Ok(fields)
}
