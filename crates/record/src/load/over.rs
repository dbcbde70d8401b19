//! Transport and HTTP version of the connections to a server.

use crate::word::words;

words! {
    /// Transport under HTTP, and the version of HTTP.
    #[derive(Default)]
    Protocol {
        /// HTTP/1.1 over TCP.
        #[default]
        Plain = "plain",
        /// HTTP/1.1 over TLS.
        Tls = "tls",
        /// HTTP/2 over TCP, with prior knowledge.
        H2c = "h2c",
        /// HTTP/2 over TLS.
        H2 = "h2",
        /// HTTP/3 over QUIC.
        H3 = "h3",
    }
}

words! {
    /// The key of a certificate, which decides what a full handshake costs a server.
    #[derive(Default)]
    KeyKind {
        /// ECDSA with the curve P-256.
        #[default]
        EcdsaP256 = "ecdsa-p256",
        /// RSA with 2048 bits.
        Rsa2048 = "rsa2048",
    }
}

impl Protocol {
    /// Variant with or without TLS, and with HTTP/2 or HTTP/1.1.
    #[must_use]
    pub const fn of(tls: bool, http2: bool) -> Self {
        match (tls, http2) {
            (false, false) => Self::Plain,
            (true, false) => Self::Tls,
            (false, true) => Self::H2c,
            (true, true) => Self::H2,
        }
    }

    /// Is it encrypted?
    #[must_use]
    pub const fn is_tls(self) -> bool {
        matches!(self, Self::Tls | Self::H2 | Self::H3)
    }

    /// Is it HTTP/2?
    #[must_use]
    pub const fn is_http2(self) -> bool {
        matches!(self, Self::H2c | Self::H2)
    }

    /// Do its connections carry several requests at once, on streams: is it HTTP/2 or HTTP/3?
    #[must_use]
    pub const fn has_streams(self) -> bool {
        matches!(self, Self::H2c | Self::H2 | Self::H3)
    }

    /// Name of its version of HTTP where TLS agrees on one (ALPN).
    #[must_use]
    pub const fn alpn(self) -> &'static str {
        match self {
            Self::Plain | Self::Tls => "http/1.1",
            Self::H2c | Self::H2 => "h2",
            Self::H3 => "h3",
        }
    }

    /// Is it HTTP/1.1 over TCP?
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    #[must_use]
    pub const fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }

    /// In words: `HTTP/2 over TLS`.
    #[must_use]
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Plain => "HTTP/1.1",
            Self::Tls => "HTTP/1.1 over TLS",
            Self::H2c => "HTTP/2 without TLS",
            Self::H2 => "HTTP/2 over TLS",
            Self::H3 => "HTTP/3",
        }
    }
}

impl KeyKind {
    /// Is it the one that is used unless another is asked for?
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    #[must_use]
    pub const fn is_default(&self) -> bool {
        matches!(self, Self::EcdsaP256)
    }
}

/// A word that is none of a list.
fn unknown<T: std::fmt::Display>(text: &str, what: &str, all: &[T]) -> String {
    let all: Vec<String> = all.iter().map(T::to_string).collect();
    format!("{text:?} is not {what}: expected one of {}", all.join(", "))
}

impl std::str::FromStr for Protocol {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::of_word(text).ok_or_else(|| unknown(text, "what HTTP is spoken over", Self::ALL))
    }
}

impl std::str::FromStr for KeyKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::of_word(text).ok_or_else(|| unknown(text, "a kind of key", Self::ALL))
    }
}
