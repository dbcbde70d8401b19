//! What a server's certificate says, and whether it is trusted.

use prony_record::tls::Certificate;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use std::sync::{Arc, OnceLock};
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::public_key::PublicKey;

/// Decides whether a certificate is trusted, and keeps the first one that it was shown.
#[derive(Debug)]
pub(super) struct Verifier {
    provider: Arc<CryptoProvider>,
    /// None: every certificate is accepted.
    trust: Option<Arc<WebPkiServerVerifier>>,
    /// Certificates that are trusted as they are: a self-signed one is its own authority.
    pinned: Vec<CertificateDer<'static>>,
    pub(super) seen: OnceLock<CertificateDer<'static>>,
}

impl Verifier {
    pub(super) fn new(
        provider: Arc<CryptoProvider>,
        trust: Option<Arc<WebPkiServerVerifier>>,
        pinned: Vec<CertificateDer<'static>>,
    ) -> Self {
        Self {
            provider,
            trust,
            pinned,
            seen: OnceLock::new(),
        }
    }

    /// Is a certificate checked at all?
    pub(super) fn verifies(&self) -> bool {
        self.trust.is_some()
    }

    /// The key of the first certificate that was seen.
    pub(super) fn certificate(&self) -> Option<Certificate> {
        key(self.seen.get()?)
    }

    /// A certificate that `--ca` names itself is trusted for its names while it is valid.
    fn is_pinned(
        &self,
        certificate: &CertificateDer<'_>,
        name: &ServerName<'_>,
    ) -> Result<bool, Error> {
        if !self.pinned.iter().any(|pinned| pinned == certificate) {
            return Ok(false);
        }
        verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
        match X509Certificate::from_der(certificate) {
            Ok((_, parsed)) if !parsed.validity().is_valid() => {
                Err(CertificateError::Expired.into())
            }
            Ok(_) => Ok(true),
            Err(_) => Err(CertificateError::BadEncoding.into()),
        }
    }

    /// What the check of a handshake's signature says. Without trust, a certificate of a kind that cannot
    /// be read is accepted like any other; a wrong signature never is.
    fn lenient(
        &self,
        result: Result<HandshakeSignatureValid, Error>,
    ) -> Result<HandshakeSignatureValid, Error> {
        match result {
            Err(Error::InvalidCertificate(why))
                if !self.verifies() && why != CertificateError::BadSignature =>
            {
                Ok(HandshakeSignatureValid::assertion())
            }
            other => other,
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.seen
            .get_or_init(|| CertificateDer::from(certificate.to_vec()));
        let Some(trust) = &self.trust else {
            return Ok(ServerCertVerified::assertion());
        };
        match trust.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            Err(_) if self.is_pinned(certificate, name)? => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        self.lenient(verify_tls12_signature(
            message,
            certificate,
            signed,
            algorithms,
        ))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        self.lenient(verify_tls13_signature(
            message,
            certificate,
            signed,
            algorithms,
        ))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

/// The key of a certificate.
fn key(der: &CertificateDer<'_>) -> Option<Certificate> {
    let (_, parsed) = X509Certificate::from_der(der).ok()?;
    let info = parsed.public_key();
    let (key, bits) = match info.parsed() {
        Ok(PublicKey::RSA(rsa)) => ("RSA".to_owned(), Some(rsa.key_size())),
        Ok(PublicKey::EC(point)) => ("ECDSA".to_owned(), Some(point.key_size())),
        _ => match info.algorithm.algorithm.to_id_string().as_str() {
            "1.3.101.112" => ("Ed25519".to_owned(), None),
            "1.3.101.113" => ("Ed448".to_owned(), None),
            other => (other.to_owned(), None),
        },
    };
    Some(Certificate {
        key,
        bits: bits.and_then(|bits| u32::try_from(bits).ok()),
    })
}

/// Whom a certificate is for and by, and until when: `CN=a, by CN=b, valid until …`.
pub(super) fn description(der: &CertificateDer<'_>) -> Option<String> {
    let (_, parsed) = X509Certificate::from_der(der).ok()?;
    let (subject, issuer) = (parsed.subject().to_string(), parsed.issuer().to_string());
    let by = match subject == issuer {
        true => "self-signed".to_owned(),
        false => format!("issued by {issuer:?}"),
    };
    let until = parsed.validity().not_after;
    Some(format!("{subject:?}, {by}, valid until {until}"))
}
