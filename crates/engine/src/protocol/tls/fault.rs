//! Faults in TLS.

use rustls::{CertificateError, Error};

/// Why a TLS connection cannot be used any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TlsFault {
    /// The server sent a fatal alert, by its name in RFC 8446.
    #[error("the server sent the TLS alert {0}")]
    Alert(&'static str),
    /// The received bytes are not TLS records.
    #[error("what came is not TLS")]
    NotTls,
    /// A record could not be decrypted.
    #[error("a TLS record could not be decrypted")]
    Decrypt,
    /// A record is longer than TLS allows.
    #[error("a TLS record is longer than TLS allows")]
    TooLong,
    /// The certificate was refused.
    #[error("the server's certificate was refused: {0}")]
    Certificate(&'static str),
    /// Both sides speak TLS, and have nothing in common.
    #[error("no common TLS version, cipher suite or group")]
    Incompatible,
    /// The server broke the protocol.
    #[error("the server broke the TLS protocol")]
    Protocol,
}

impl From<&Error> for TlsFault {
    fn from(error: &Error) -> Self {
        match error {
            Error::AlertReceived(alert) => Self::Alert(alert.as_str().unwrap_or("(unknown)")),
            Error::InvalidMessage(_) => Self::NotTls,
            Error::DecryptError => Self::Decrypt,
            Error::PeerSentOversizedRecord => Self::TooLong,
            Error::InvalidCertificate(why) => Self::Certificate(refusal(why)),
            Error::NoCertificatesPresented => Self::Certificate("there is none"),
            Error::PeerIncompatible(_) | Error::NoApplicationProtocol => Self::Incompatible,
            _ => Self::Protocol,
        }
    }
}

/// Why a certificate is refused, in a few words.
pub(super) fn refusal(why: &CertificateError) -> &'static str {
    match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another name"
        }
        CertificateError::UnknownIssuer => "its issuer is not trusted",
        CertificateError::BadSignature => "its signature is wrong",
        CertificateError::Revoked => "it is revoked",
        CertificateError::BadEncoding => "it cannot be read",
        _ => "it is not acceptable",
    }
}
