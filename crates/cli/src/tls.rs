//! TLS as the command line has it, and what is found out about a server before it is loaded.

use crate::args::tls::TlsArgs;
use crate::remedy::words;
use miette::{Result, miette};
use prony_engine::Target;
use prony_engine::protocol::h2;
use prony_engine::protocol::tls::{ProbeError, TlsOptions, probe};
use prony_record::load::Protocol;
use std::path::PathBuf;
use std::time::Duration;

impl TlsArgs {
    /// Has the user said anything about it?
    fn is_given(&self) -> bool {
        self.ca.is_some()
            || self.insecure
            || self.cert.is_some()
            || self.sni.is_some()
            || self.tls_version.is_some()
            || self.cipher.is_some()
            || self.no_resumption
            || self.early_data
    }

    /// Where no URL has TLS: nothing may have been said about it.
    pub fn unused(&self) -> Result<()> {
        match self.is_given() {
            true => Err(usage!(
                help = "use https:// for TLS",
                "there are options of TLS, and no URL that begins with https://"
            )),
            false => Ok(()),
        }
    }

    /// The certificates of authorities to trust, as PEM; None: those of the system.
    pub fn authorities(&self) -> Result<Option<String>> {
        read(self.ca.as_ref())
    }

    /// The options for a server of this name, to speak this variant of HTTP with it.
    pub fn options(&self, host: &str, over: Protocol) -> Result<TlsOptions> {
        if self.early_data && over != Protocol::H3 {
            return Err(usage!(help = "use --http3", "--early-data is for HTTP/3"));
        }
        Ok(TlsOptions {
            server_name: self.sni.clone().unwrap_or_else(|| {
                // A certificate has no zone.
                host.split('%').next().unwrap_or_default().to_owned()
            }),
            version: self.tls_version.clone(),
            cipher: self.cipher.clone(),
            ca: self.authorities()?,
            insecure: self.insecure,
            certificate: read(self.cert.as_ref())?,
            key: read(self.key.as_ref())?,
            alpn: vec![over.alpn().to_owned()],
            resumption: !self.no_resumption,
            early_data: self.early_data,
        })
    }
}

fn read(path: Option<&PathBuf>) -> Result<Option<String>> {
    match path {
        None => Ok(None),
        Some(path) => std::fs::read_to_string(path)
            .map(Some)
            .map_err(|error| miette!("cannot read {}: {error}", path.display())),
    }
}

/// Tries it with one connection, so that what cannot work is said before anything is loaded.
pub fn tried(url: &str, target: &Target, options: &TlsOptions, timeout: Duration) -> Result<()> {
    match probe(target, options, timeout) {
        Ok(_) => Ok(()),
        Err(ProbeError::NotTls) if h2::probe(target, timeout).is_ok() => {
            let help = match url.strip_prefix("grpcs://") {
                Some(rest) => format!("use grpc://{rest}"),
                None => format!("use {}", url.replacen("https://", "h2c://", 1)),
            };
            Err(miette!(
                help = help,
                "{url}: the server speaks HTTP/2 without TLS on this port"
            ))
        }
        Err(error) => Err(miette!(help = words(error.remedy()), "{url}: {error}")),
    }
}

/// Prints that a server to which nothing came through over HTTP/1.1 agrees to HTTP/2, if it does.
pub fn hint(target: &Target, options: &TlsOptions, timeout: Duration) {
    let http2 = TlsOptions {
        alpn: vec!["h2".to_owned()],
        ..options.clone()
    };
    let timeout = timeout.min(Duration::from_secs(1));
    if options.alpn != http2.alpn && probe(target, &http2, timeout).is_ok() {
        eprintln!(
            "\nthe server speaks HTTP/2 on this port: try --protocol h2, or grpcs:// for gRPC"
        );
    }
}
