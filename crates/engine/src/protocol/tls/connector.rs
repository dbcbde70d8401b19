//! From what the user says about TLS to the library's configuration.

use super::certificate::Verifier;
use super::probe::ProbeError;
use super::roots::Roots;
use crate::remedy::TlsFile;
use prony_record::tls::Certificate;
use rustls::client::{ResolvesClientCert, Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, SignatureScheme, SupportedCipherSuite};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How a load speaks TLS.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TlsOptions {
    /// The name or IP address that the server is asked for and its certificate must have.
    pub server_name: String,
    /// `1.2` or `1.3`; none: the best that both sides speak.
    pub version: Option<String>,
    /// The only cipher suites that are offered, by their IANA or OpenSSL names, with colons between them, the
    /// preferred one first; none: all that are thought secure.
    pub cipher: Option<String>,
    /// The certificates of authorities to trust, as PEM; none: those of the system.
    pub ca: Option<String>,
    /// Accept every certificate.
    pub insecure: bool,
    /// The client's certificate and those that lead to its authority, as PEM.
    pub certificate: Option<String>,
    /// The key of the client's certificate, as PEM.
    pub key: Option<String>,
    /// The application protocols that are offered, the preferred one first; empty: none.
    pub alpn: Vec<String>,
    /// Resume earlier sessions where the server allows it.
    pub resumption: bool,
    /// Over QUIC, send requests before the handshake is done where an earlier session is resumed (0-RTT).
    pub early_data: bool,
}

impl Default for TlsOptions {
    fn default() -> Self {
        Self {
            server_name: "localhost".into(),
            version: None,
            cipher: None,
            ca: None,
            insecure: false,
            certificate: None,
            key: None,
            alpn: Vec::new(),
            resumption: true,
            early_data: false,
        }
    }
}

impl TlsInvalid {
    /// QUIC cannot be spoken with the versions and cipher suites that the user allows.
    pub(in crate::protocol) fn without_tls13() -> Self {
        let why = "QUIC has TLS 1.3 only, and needs TLS_AES_128_GCM_SHA256 among its cipher suites";
        Self::Other(why.into())
    }
}

impl TlsOptions {
    /// Are they for QUIC, to speak HTTP/3?
    #[must_use]
    pub fn is_http3(&self) -> bool {
        self.alpn == ["h3"]
    }
}

/// Options that cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsInvalid {
    /// Neither a host name nor an IP address.
    #[error("{0:?} is neither a host name nor an IP address that a certificate could be for")]
    Name(String),
    /// There is no such version.
    #[error("{0:?} is not a version of TLS: there are 1.2 and 1.3")]
    Version(String),
    /// There is no such cipher suite.
    #[error("there is no cipher suite {name:?}: there are {known}")]
    Cipher {
        /// Name that the user gave.
        name: String,
        /// The names of those that there are.
        known: String,
    },
    /// A file of certificates, or with a key, holds none.
    #[error("{file} cannot be used: {why}")]
    Pem {
        /// File that cannot be used.
        file: TlsFile,
        /// Why it cannot be used.
        why: String,
    },
    /// The system has no certificates of authorities.
    #[error("this system has no trusted root certificates: {0}")]
    Roots(String),
    /// The library does not take it.
    #[error("TLS cannot be used like this: {0}")]
    Other(String),
}

/// Makes the configuration of connections; one for a whole load.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    config: ClientConfig,
    pub(super) name: ServerName<'static>,
    pub(super) verifier: Arc<Verifier>,
    pub(super) client: Arc<ClientCertificate>,
    resumption: bool,
    /// TLS 1.3 is among the versions that are offered.
    tls13: bool,
}

impl Connector {
    /// # Errors
    /// The first option that cannot be carried out.
    pub(crate) fn new(options: &TlsOptions) -> Result<Self, TlsInvalid> {
        let name = ServerName::try_from(options.server_name.clone())
            .map_err(|_| TlsInvalid::Name(options.server_name.clone()))?;
        let provider = Arc::new(provider(options)?);
        let versions = versions(options, &provider)?;
        let pinned = match &options.ca {
            Some(pem) => certificates(TlsFile::Authorities, pem)?,
            None => Vec::new(),
        };
        let trust = match options.insecure {
            true => None,
            false => Some(trust(&pinned, options.ca.is_some(), &provider)?),
        };
        let verifier = Arc::new(Verifier::new(Arc::clone(&provider), trust, pinned));
        let client = Arc::new(ClientCertificate {
            key: client_key(options, &provider)?,
            asked: AtomicBool::new(false),
        });
        let shared: Arc<Verifier> = Arc::clone(&verifier);
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(|error| TlsInvalid::Other(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(shared)
            .with_client_cert_resolver(Arc::clone(&client) as Arc<dyn ResolvesClientCert>);
        config.enable_early_data = options.early_data;
        config.alpn_protocols = options
            .alpn
            .iter()
            .map(|name| name.clone().into_bytes())
            .collect();
        Ok(Self {
            config,
            name,
            verifier,
            client,
            resumption: options.resumption,
            tls13: versions.contains(&&rustls::version::TLS13),
        })
    }

    /// The name, or address, that the server is asked for.
    pub(in crate::protocol) fn server_name(&self) -> String {
        self.name.to_str().into_owned()
    }

    /// The key of the first certificate that was seen.
    pub(in crate::protocol) fn certificate(&self) -> Option<Certificate> {
        self.verifier.certificate()
    }

    /// Is TLS 1.3 offered, the only version that QUIC has?
    pub(in crate::protocol) fn offers_tls13(&self) -> bool {
        self.tls13
    }

    /// Are certificates checked?
    pub(in crate::protocol) fn verifies(&self) -> bool {
        self.verifier.verifies()
    }

    /// Why a certificate was refused first, if one was.
    pub(in crate::protocol) fn refused(&self) -> Option<ProbeError> {
        let why = self.verifier.refused()?;
        Some(super::probe::certificate(&why, self))
    }

    /// A configuration with a cache of sessions of its own: workers share nothing.
    pub(in crate::protocol) fn config(&self) -> Arc<ClientConfig> {
        let mut config = self.config.clone();
        config.resumption = match self.resumption {
            true => Resumption::in_memory_sessions(8),
            false => Resumption::disabled(),
        };
        Arc::new(config)
    }
}

/// The configuration with which a client of QUIC other than this engine's speaks TLS, and the name that it asks for.
///
/// # Errors
/// The first option that cannot be carried out.
pub fn client_config(options: &TlsOptions) -> Result<(Arc<ClientConfig>, String), TlsInvalid> {
    let connector = Connector::new(options)?;
    match connector.offers_tls13() {
        true => Ok((connector.config(), connector.server_name())),
        false => Err(TlsInvalid::without_tls13()),
    }
}

/// *ring*: it needs a C compiler and nothing else to build. aws-lc-rs would add the post-quantum groups.
fn provider(options: &TlsOptions) -> Result<CryptoProvider, TlsInvalid> {
    let mut provider = ring::default_provider();
    if let Some(wanted) = &options.cipher {
        let named = |name: &str, suite: &SupportedCipherSuite| {
            let iana = iana(suite);
            name.eq_ignore_ascii_case(&iana) || name.eq_ignore_ascii_case(&openssl_name(&iana))
        };
        let all = &provider.cipher_suites;
        let known = |name: &&str| all.iter().any(|suite| named(name, suite));
        if let Some(unknown) = wanted.split(':').find(|name| !known(name)) {
            let all: Vec<String> = all.iter().map(iana).collect();
            return Err(TlsInvalid::Cipher {
                name: unknown.to_owned(),
                known: all.join(", "),
            });
        }
        let place =
            |suite: &SupportedCipherSuite| wanted.split(':').position(|it| named(it, suite));
        provider
            .cipher_suites
            .retain(|suite| place(suite).is_some());
        provider.cipher_suites.sort_by_key(place);
    }
    Ok(provider)
}

/// The name of a cipher suite in IANA's registry.
pub(in crate::protocol) fn iana(suite: &SupportedCipherSuite) -> String {
    let name = suite.suite().as_str().unwrap_or("(unknown)");
    name.replacen("TLS13_", "TLS_", 1)
}

/// The name that OpenSSL has for a cipher suite of IANA's registry; those of TLS 1.3 are the same.
pub fn openssl_name(iana: &str) -> String {
    match iana.strip_prefix("TLS_ECDHE_") {
        Some(rest) => {
            let rest = rest.replace("_WITH_", "-").replace("AES_", "AES");
            let rest = rest.replace("CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305");
            format!("ECDHE-{}", rest.replace('_', "-"))
        }
        None => iana.to_owned(),
    }
}

fn versions(
    options: &TlsOptions,
    provider: &CryptoProvider,
) -> Result<Vec<&'static rustls::SupportedProtocolVersion>, TlsInvalid> {
    let all = [&rustls::version::TLS13, &rustls::version::TLS12];
    let wanted = match options.version.as_deref() {
        None => &all[..],
        Some("1.3") => &all[..1],
        Some("1.2") => &all[1..],
        Some(other) => return Err(TlsInvalid::Version(other.to_owned())),
    };
    // A version without a cipher suite is not offered.
    let has_suite = |version: &&&'static rustls::SupportedProtocolVersion| {
        let suites = &provider.cipher_suites;
        suites.iter().any(|suite| suite.version() == **version)
    };
    let versions: Vec<_> = wanted.iter().filter(has_suite).copied().collect();
    match versions.is_empty() {
        true => Err(TlsInvalid::Other(format!(
            "{} is not a cipher suite of TLS {}",
            options.cipher.as_deref().unwrap_or_default(),
            options.version.as_deref().unwrap_or_default(),
        ))),
        false => Ok(versions),
    }
}

fn trust(
    named: &[CertificateDer<'static>],
    only_named: bool,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, TlsInvalid> {
    let mut roots = RootCertStore::empty();
    if only_named {
        for certificate in named {
            roots
                .add(certificate.clone())
                .map_err(|error| TlsInvalid::Pem {
                    file: TlsFile::Authorities,
                    why: error.to_string(),
                })?;
        }
    } else {
        let found = Roots::of_system();
        let (added, _) = roots.add_parsable_certificates(found.certificates);
        if added == 0 {
            let why = found.trouble.unwrap_or_else(|| "none was found".into());
            return Err(TlsInvalid::Roots(why));
        }
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| TlsInvalid::Other(error.to_string()))
}

fn certificates(file: TlsFile, pem: &str) -> Result<Vec<CertificateDer<'static>>, TlsInvalid> {
    let wrong = |why: String| TlsInvalid::Pem { file, why };
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match found {
        Err(error) => Err(wrong(error.to_string())),
        Ok(found) if found.is_empty() => Err(wrong("it has no certificate in PEM form".into())),
        Ok(found) => Ok(found),
    }
}

fn client_key(
    options: &TlsOptions,
    provider: &CryptoProvider,
) -> Result<Option<Arc<CertifiedKey>>, TlsInvalid> {
    let (Some(certificate), Some(key)) = (&options.certificate, &options.key) else {
        return Ok(None);
    };
    let chain = certificates(TlsFile::Certificate, certificate)?;
    let wrong = |why: String| TlsInvalid::Pem {
        file: TlsFile::Key,
        why,
    };
    let key =
        PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| wrong(error.to_string()))?;
    let key = CertifiedKey::from_der(chain, key, provider)
        .map_err(|error| wrong(format!("with this certificate: {error}")))?;
    Ok(Some(Arc::new(key)))
}

/// The client's certificate, if there is one, and whether a server has asked for it.
#[derive(Debug)]
pub(super) struct ClientCertificate {
    key: Option<Arc<CertifiedKey>>,
    asked: AtomicBool,
}

impl ClientCertificate {
    /// Has a server asked for a certificate, in vain?
    pub(super) fn missing(&self) -> bool {
        self.key.is_none() && self.asked.load(Ordering::Relaxed)
    }
}

impl ResolvesClientCert for ClientCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.asked.store(true, Ordering::Relaxed);
        self.key.clone()
    }

    fn has_certs(&self) -> bool {
        self.key.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(options: TlsOptions) -> String {
        let options = TlsOptions {
            insecure: true,
            ..options
        };
        Connector::new(&options).unwrap_err().to_string()
    }

    #[test]
    fn a_cipher_suite_has_the_names_of_iana_and_of_openssl() {
        assert_eq!(
            openssl_name("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
            "ECDHE-RSA-AES128-GCM-SHA256"
        );
        assert_eq!(
            openssl_name("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
            "ECDHE-ECDSA-CHACHA20-POLY1305"
        );
        for name in ["ECDHE-RSA-AES128-GCM-SHA256", "tls_aes_128_gcm_sha256"] {
            let options = TlsOptions {
                cipher: Some(name.into()),
                ..TlsOptions::default()
            };
            assert_eq!(provider(&options).unwrap().cipher_suites.len(), 1, "{name}");
        }
        let several = TlsOptions {
            cipher: Some("ECDHE-RSA-AES128-GCM-SHA256:TLS_AES_128_GCM_SHA256".into()),
            ..TlsOptions::default()
        };
        let offered = provider(&several).unwrap().cipher_suites;
        let names: Vec<_> = offered.iter().map(iana).collect();
        assert_eq!(
            names,
            [
                "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
                "TLS_AES_128_GCM_SHA256"
            ]
        );
    }

    #[test]
    fn options_that_cannot_be_carried_out_are_named() {
        let cases = [
            (
                TlsOptions {
                    version: Some("1.1".into()),
                    ..TlsOptions::default()
                },
                "1.1",
            ),
            (
                TlsOptions {
                    cipher: Some("RC4-MD5".into()),
                    ..TlsOptions::default()
                },
                "TLS_AES_128_GCM_SHA256",
            ),
            (
                TlsOptions {
                    cipher: Some("TLS_AES_128_GCM_SHA256".into()),
                    version: Some("1.2".into()),
                    ..TlsOptions::default()
                },
                "not a cipher suite of TLS 1.2",
            ),
            (
                TlsOptions {
                    server_name: "a b".into(),
                    ..TlsOptions::default()
                },
                "a b",
            ),
            (
                TlsOptions {
                    ca: Some("nothing".into()),
                    ..TlsOptions::default()
                },
                "the file of trusted certificates",
            ),
        ];
        for (options, why) in cases {
            let found = refused(options);
            assert!(found.contains(why), "{found}");
        }
    }
}
