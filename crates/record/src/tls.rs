//! Observations of TLS.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TLS parameters that the connections of a load negotiated with the server, and the number of handshakes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tls {
    /// The version, such as `TLSv1.3`.
    pub version: String,
    /// The cipher suite by its name in the IANA registry, such as `TLS_AES_128_GCM_SHA256`; empty over QUIC, whose library
    /// does not tell it.
    pub cipher: String,
    /// The group of the key exchange, such as `X25519`. Null when only resumed handshakes of TLS 1.2
    /// were seen: they exchange no keys.
    pub group: Option<String>,
    /// The application protocol, when one was negotiated (ALPN).
    pub alpn: Option<String>,
    /// The server's certificate; null when it sent none, as in a resumed handshake.
    pub certificate: Option<Certificate>,
    /// Was the certificate verified?
    pub verified: bool,
    /// Handshakes since the set-up began.
    pub handshakes: Handshakes,
    /// Handshakes that were done in the measurement.
    pub measured: Handshakes,
}

/// Handshakes that were done, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Handshakes {
    /// Full ones: the server proved with its certificate's key who it is.
    pub full: u64,
    /// Handshakes that resumed an earlier session.
    pub resumed: u64,
}

/// The key in a certificate, which decides what a full handshake costs the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Certificate {
    /// The kind of its key: `RSA`, `ECDSA`, `Ed25519`, or the OID of another one.
    pub key: String,
    /// The length of its key in bits; null where the kind has one length only.
    pub bits: Option<u32>,
}

impl Handshakes {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.full + self.resumed
    }

    /// Counts one.
    pub fn count(&mut self, resumed: bool) {
        *match resumed {
            true => &mut self.resumed,
            false => &mut self.full,
        } += 1;
    }
}

impl std::ops::AddAssign for Handshakes {
    fn add_assign(&mut self, other: Self) {
        self.full += other.full;
        self.resumed += other.resumed;
    }
}

impl Tls {
    /// Adds what another worker, or another load of the same kind, saw: handshakes are added, and what is
    /// not known here is taken from there.
    pub fn merge(&mut self, other: &Self) {
        if self.version.is_empty() {
            self.version.clone_from(&other.version);
            self.cipher.clone_from(&other.cipher);
        }
        self.group = self.group.take().or_else(|| other.group.clone());
        self.alpn = self.alpn.take().or_else(|| other.alpn.clone());
        self.certificate = self
            .certificate
            .take()
            .or_else(|| other.certificate.clone());
        self.verified |= other.verified;
        self.handshakes += other.handshakes;
        self.measured += other.measured;
    }

    /// In a line: version, cipher suite, group, and the certificate's key.
    #[must_use]
    pub fn line(&self) -> String {
        let parts = [
            Some(self.version.clone()),
            Some(self.cipher.clone()),
            self.group.clone(),
            self.alpn.as_ref().map(|alpn| format!("ALPN {alpn}")),
            self.certificate.as_ref().map(|certificate| {
                let verified = match self.verified {
                    true => "",
                    false => " not verified",
                };
                format!("{certificate} certificate{verified}")
            }),
        ];
        let known = parts.into_iter().flatten().filter(|part| !part.is_empty());
        known.collect::<Vec<_>>().join(", ")
    }
}

impl std::fmt::Display for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.bits {
            Some(bits) => write!(f, "{} {bits}", self.key),
            None => f.write_str(&self.key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_worker_did_not_see_another_did() {
        let mut one = Tls {
            handshakes: Handshakes {
                full: 0,
                resumed: 3,
            },
            ..Tls::default()
        };
        let other = Tls {
            version: "TLSv1.3".into(),
            cipher: "TLS_AES_128_GCM_SHA256".into(),
            group: Some("X25519".into()),
            certificate: Some(Certificate {
                key: "ECDSA".into(),
                bits: Some(256),
            }),
            handshakes: Handshakes {
                full: 2,
                resumed: 1,
            },
            ..Tls::default()
        };
        one.merge(&other);
        assert_eq!(one.handshakes.all(), 6);
        assert_eq!(
            one.line(),
            "TLSv1.3, TLS_AES_128_GCM_SHA256, X25519, ECDSA 256 certificate not verified"
        );
    }

    #[test]
    fn keys_that_are_not_there_have_defaults() {
        let tls: Tls = serde_json::from_str(r#"{"version":"TLSv1.2"}"#).unwrap();
        assert_eq!(tls.version, "TLSv1.2");
        assert_eq!(tls.handshakes.all(), 0);
    }
}
