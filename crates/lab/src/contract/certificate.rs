//! The certificates that servers are given over TLS: made afresh by every process, and trusted by nothing else.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use prony_engine::protocol::tls::TlsOptions;
use prony_record::load::KeyKind;
use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256};
use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// The name that the certificate is for, and that connections ask for: the server may listen on any address, and some
/// servers choose a certificate by a name, which an address is not.
const NAME: &str = "localhost";

/// A certificate and its key, in files.
#[derive(Debug)]
pub struct Certificate {
    folder: TempDir,
    pem: String,
}

/// A certificate and its key, as PEM.
#[derive(Debug, Clone)]
struct Pair {
    certificate: String,
    key: String,
}

impl Certificate {
    /// The one with such a key, in files below `scratch`. It is made when it is first asked for: every server of a run has
    /// the same.
    ///
    /// # Errors
    /// When it cannot be made or written, in words.
    pub fn below(scratch: &Path, kind: KeyKind) -> Result<Self, String> {
        static ECDSA: OnceLock<Result<Pair, String>> = OnceLock::new();
        static RSA: OnceLock<Result<Pair, String>> = OnceLock::new();
        let made = match kind {
            KeyKind::EcdsaP256 => ECDSA.get_or_init(|| pair(&ecdsa()?)),
            KeyKind::Rsa2048 => RSA.get_or_init(|| pair(&rsa()?)),
        };
        let pair = made.clone()?;
        let cannot = |error: io::Error| format!("the certificate cannot be written: {error}");
        let folder = tempfile::Builder::new()
            .prefix("tls-")
            .tempdir_in(scratch)
            .map_err(cannot)?;
        let this = Self {
            folder,
            pem: pair.certificate.clone(),
        };
        fs::write(this.path(), &pair.certificate).map_err(cannot)?;
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(this.key_path())
            .and_then(|mut file| file.write_all(pair.key.as_bytes()))
            .map_err(cannot)?;
        Ok(this)
    }

    /// The certificate's file.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    /// The key's file, as PKCS #8. HAProxy looks for it under this name, beside the certificate.
    pub fn key_path(&self) -> PathBuf {
        self.folder.path().join("cert.pem.key")
    }

    /// How it is verified, and which version of HTTP is agreed on.
    pub fn options(&self, http2: bool) -> TlsOptions {
        TlsOptions {
            server_name: NAME.to_owned(),
            ca: Some(self.pem.clone()),
            alpn: vec![if http2 { "h2" } else { "http/1.1" }.to_owned()],
            ..TlsOptions::default()
        }
    }
}

/// What requests over TLS call a server on this port: the certificate's name.
pub fn authority(port: u16) -> String {
    format!("{NAME}:{port}")
}

/// A certificate that a key signs for itself.
fn pair(key: &KeyPair) -> Result<Pair, String> {
    let names = [NAME, "127.0.0.1", "::1"].map(str::to_owned);
    let certificate = CertificateParams::new(names)
        .and_then(|params| params.self_signed(key))
        .map_err(|error| format!("no certificate can be made: {error}"))?;
    Ok(Pair {
        certificate: pem("CERTIFICATE", certificate.der()),
        key: pem("PRIVATE KEY", key.serialized_der()),
    })
}

/// Lines of 64 characters between two that name what they are (RFC 7468).
fn pem(label: &str, der: &[u8]) -> String {
    let mut out = format!("-----BEGIN {label}-----\n");
    let mut rest = BASE64_STANDARD.encode(der);
    while !rest.is_empty() {
        let after = rest.split_off(rest.len().min(64));
        out += &rest;
        out.push('\n');
        rest = after;
    }
    out + &format!("-----END {label}-----\n")
}

fn ecdsa() -> Result<KeyPair, String> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)
        .map_err(|error| format!("no key can be made: {error}"))
}

/// By the program `openssl`: ring signs with RSA keys, and makes none.
fn rsa() -> Result<KeyPair, String> {
    let words = [
        "genpkey",
        "-algorithm",
        "RSA",
        "-pkeyopt",
        "rsa_keygen_bits:2048",
    ];
    let made = Command::new("openssl").args(words).output().map_err(|error| {
        format!(
            "the key {} is made by the program openssl, which cannot be run: {error}; install it (apt install openssl), or use the key {}",
            KeyKind::Rsa2048,
            KeyKind::EcdsaP256
        )
    })?;
    let said = || String::from_utf8_lossy(&made.stderr).trim().to_owned();
    if !made.status.success() {
        return Err(format!("openssl made no RSA key: {}", said()));
    }
    let pem = String::from_utf8_lossy(&made.stdout);
    let base64: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let cannot = |error: &dyn Display| format!("openssl's RSA key cannot be used: {error}");
    let der = BASE64_STANDARD
        .decode(base64)
        .map_err(|error| cannot(&error))?;
    KeyPair::try_from(der).map_err(|error| cannot(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_of_a_run_has_the_same_certificate_in_files_of_its_own() {
        let scratch = tempfile::tempdir().unwrap();
        for (kind, least) in [(KeyKind::EcdsaP256, 100), (KeyKind::Rsa2048, 1_000)] {
            let [one, other] = [(); 2].map(|()| Certificate::below(scratch.path(), kind).unwrap());
            assert_ne!(one.path(), other.path());
            let read = |path: PathBuf| fs::read_to_string(path).unwrap();
            assert_eq!(read(one.path()), read(other.path()));
            assert!(read(one.key_path()).contains("BEGIN PRIVATE KEY"));
            assert!(read(one.key_path()).len() > least, "{kind}");
            let files = one.path();
            drop(one);
            assert!(!files.exists());
        }
    }
}
