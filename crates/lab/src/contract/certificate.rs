//! The certificates that servers are given over TLS: made afresh by every process, and trusted by nothing else.

use prony_engine::protocol::tls::{SelfSigned, TlsOptions};
use prony_record::load::{KeyKind, Protocol};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// The name that the certificate is for before all others, and that connections ask for: the server may listen on any address, and some
/// servers choose a certificate by a name, which an address is not.
const NAME: &str = "localhost";
const NAMES: [&str; 3] = [NAME, "127.0.0.1", "::1"];

/// A certificate and its key, in files.
#[derive(Debug)]
pub struct Certificate {
    folder: TempDir,
    pem: String,
}

/// A certificate and its key, as PEM.
#[derive(Debug, Clone)]
struct PemPair {
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
        static ECDSA: OnceLock<Result<PemPair, String>> = OnceLock::new();
        static RSA: OnceLock<Result<PemPair, String>> = OnceLock::new();
        let made = match kind {
            KeyKind::EcdsaP256 => ECDSA.get_or_init(|| pair(None)),
            KeyKind::Rsa2048 => RSA.get_or_init(|| pair(Some(&rsa()?))),
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
    pub fn options(&self, over: Protocol) -> TlsOptions {
        TlsOptions {
            server_name: NAME.to_owned(),
            ca: Some(self.pem.clone()),
            alpn: vec![over.alpn().to_owned()],
            ..TlsOptions::default()
        }
    }
}

/// Name by which requests over TLS call a server on this port: the certificate's name, with the port.
pub fn authority(port: u16) -> String {
    format!("{NAME}:{port}")
}

/// A certificate that a key signs for itself: this one, or a new one.
fn pair(key: Option<&str>) -> Result<PemPair, String> {
    let made = match key {
        None => SelfSigned::new(&NAMES),
        Some(key) => SelfSigned::with_key(key, &NAMES),
    };
    let made = made.map_err(|error| error.to_string())?;
    Ok(PemPair {
        certificate: made.certificate_pem(),
        key: made.key_pem(),
    })
}

/// Makes an RSA key with the program `openssl`, as PEM: ring signs with RSA keys, and makes none.
fn rsa() -> Result<String, String> {
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
    String::from_utf8(made.stdout).map_err(|_| "openssl's RSA key is no text".to_owned())
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
