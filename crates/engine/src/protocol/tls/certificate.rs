//! Contents of a server's certificate, and whether it is trusted.

use prony_record::tls::Certificate;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::asn1::UintRef;
use x509_cert::der::{Decode, Reader, SliceReader};

/// Certificates without further checks, including those that RFC 5280 does not allow.
type X509 = CertificateInner<Raw>;

/// Decides whether a certificate is trusted, and keeps the first one that it was shown.
#[derive(Debug)]
pub(super) struct Verifier {
    provider: Arc<CryptoProvider>,
    /// None: every certificate is accepted.
    trust: Option<Arc<WebPkiServerVerifier>>,
    /// Certificates that are trusted as they are: a self-signed one is its own authority.
    pinned: Vec<CertificateDer<'static>>,
    pub(super) seen: OnceLock<CertificateDer<'static>>,
    /// Why a certificate was refused first. QUIC says only that one was.
    refused: OnceLock<CertificateError>,
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
            refused: OnceLock::new(),
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

    /// Why a certificate was refused, if one was.
    pub(super) fn refused(&self) -> Option<CertificateError> {
        self.refused.get().cloned()
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
        let parsed = X509::from_der(certificate).map_err(|_| CertificateError::BadEncoding)?;
        let validity = parsed.tbs_certificate().validity();
        let valid = validity.not_before.to_system_time()..=validity.not_after.to_system_time();
        match valid.contains(&SystemTime::now()) {
            true => Ok(true),
            false => Err(CertificateError::Expired.into()),
        }
    }

    /// Result of the check of a handshake's signature. Without trust, a certificate of a kind that cannot be read is
    /// accepted like any other; a wrong signature never is.
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
            Err(Error::InvalidCertificate(why)) => match self.is_pinned(certificate, name) {
                Ok(true) => Ok(ServerCertVerified::assertion()),
                pinned => {
                    let why = match pinned {
                        Err(Error::InvalidCertificate(other)) => other,
                        _ => why,
                    };
                    let _ = self.refused.set(why.clone());
                    Err(Error::InvalidCertificate(why))
                }
            },
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
    let parsed = X509::from_der(der).ok()?;
    let info = parsed.tbs_certificate().subject_public_key_info();
    let bytes = info.subject_public_key.raw_bytes();
    let (key, bits) = match info.algorithm.oid.to_string().as_str() {
        "1.2.840.113549.1.1.1" => ("RSA".to_owned(), rsa_bits(bytes)),
        // A point that is not compressed: a byte of 4, and two coordinates (SEC 1, 2.3.3).
        "1.2.840.10045.2.1" => ("ECDSA".to_owned(), Some(bytes.len().saturating_sub(1) * 4)),
        "1.3.101.112" => ("Ed25519".to_owned(), None),
        "1.3.101.113" => ("Ed448".to_owned(), None),
        other => (other.to_owned(), None),
    };
    Some(Certificate {
        key,
        bits: bits.and_then(|bits| u32::try_from(bits).ok()),
    })
}

/// How long the modulus is: `RSAPublicKey ::= SEQUENCE { modulus, publicExponent }` (RFC 8017, A.1.1).
fn rsa_bits(key: &[u8]) -> Option<usize> {
    let mut reader = SliceReader::new(key).ok()?;
    let modulus = reader.sequence(|fields| {
        let modulus = UintRef::decode(fields)?;
        UintRef::decode(fields)?;
        Ok::<_, x509_cert::der::Error>(modulus)
    });
    let modulus = modulus.ok()?.as_bytes();
    let unused = modulus.first()?.leading_zeros();
    Some(8 * modulus.len() - usize::try_from(unused).ok()?)
}

/// Describes a certificate by subject, issuer and end of validity: `"CN=a", issued by "CN=b", valid until
/// 2030-01-01T00:00:00Z`. None if it cannot be parsed.
pub(super) fn description(der: &CertificateDer<'_>) -> Option<String> {
    let parsed = X509::from_der(der).ok()?;
    let fields = parsed.tbs_certificate();
    let (subject, issuer) = (fields.subject().to_string(), fields.issuer().to_string());
    let by = match subject == issuer {
        true => "self-signed".to_owned(),
        false => format!("issued by {issuer:?}"),
    };
    let until = fields.validity().not_after;
    Some(format!("{subject:?}, {by}, valid until {until}"))
}
