//! Before a load: which address, and what is spoken there.

use super::flags::H2loadFlags;
use crate::shared::address::{Family, addresses, resolve};
use crate::shared::remedy::ImitatedTool;
use crate::shared::tls::temporary_key;
use prony_engine::Target;
use prony_engine::protocol::h2;
use prony_engine::protocol::h3::{self, H3ProbeError};
use prony_engine::protocol::tls::{self, TlsOptions, openssl_name};
use std::io;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// How long a connection before the load may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The cipher suites that are offered where the command line names none, in the original's order: those of its list that
/// prony has.
const TLS12: &str = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:\
                     ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:\
                     ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
const TLS13: &str = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

/// Protocol that is spoken on the connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spoken {
    Http1,
    Http2,
    Http3,
}

/// A server that can be loaded.
#[derive(Debug, Clone)]
pub(super) struct ReachedServer {
    pub target: Target,
    pub spoken: Spoken,
    pub tls: Option<TlsOptions>,
    /// Text that the original prints about the first connection.
    pub said: String,
}

/// Why there is nothing to load.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unreached {
    /// The original ends without a report.
    Unknown(String),
    /// The original reports that every request has failed.
    Failed(String),
}

/// Makes one connection.
pub(super) fn reach(flags: &H2loadFlags) -> Result<ReachedServer, Unreached> {
    if flags.is_quic() {
        return quic(flags);
    }
    let target = target(flags)?;
    if flags.place.secure {
        return secure(flags, target);
    }
    let (spoken, name) = match flags.plain_http1 {
        true => (Spoken::Http1, "http/1.1"),
        false => (Spoken::Http2, "h2c"),
    };
    match (spoken, &target) {
        (Spoken::Http2 | Spoken::Http3, _) => h2::probe(&target, PATIENCE)
            .map_err(|error| failed(&ImitatedTool::H2load.advise(&error, error.remedy())))?,
        (Spoken::Http1, Target::Unix(path)) => {
            UnixStream::connect(path).map_err(|error| failed(&error.to_string()))?;
        }
        // Where there is no choice between addresses, nothing was tried yet.
        (Spoken::Http1, Target::Tcp(address)) => {
            let host = address.ip().to_string();
            resolve(&host, address.port(), Family::Any, true, PATIENCE)
                .map_err(|error| not_resolved(&error))?;
        }
    }
    Ok(ReachedServer {
        target,
        spoken,
        tls: None,
        said: format!("Application protocol: {name}\n"),
    })
}

fn target(flags: &H2loadFlags) -> Result<Target, Unreached> {
    let place = &flags.place;
    if let Some(path) = &place.unix {
        return Ok(Target::Unix(path.clone()));
    }
    let (host, port) = where_to(flags);
    resolve(host, port, Family::Any, false, PATIENCE)
        .map(Target::Tcp)
        .map_err(|error| not_resolved(&error))
}

fn where_to(flags: &H2loadFlags) -> (&str, u16) {
    let place = &flags.place;
    match &flags.connect_to {
        Some((host, port)) => (host, port.unwrap_or(place.port)),
        None => (&place.host, place.port),
    }
}

fn not_resolved(error: &io::Error) -> Unreached {
    match error.raw_os_error() {
        Some(_) => failed(&error.to_string()),
        None => {
            let text = error.to_string();
            let words = text.rsplit(": ").next().unwrap_or(&text);
            Unreached::Unknown(format!("getaddrinfo() failed: {words}"))
        }
    }
}

fn failed(why: &str) -> Unreached {
    Unreached::Failed(why.to_owned())
}

/// Connects over TLS as the original does: accepts every certificate, resumes no session, and speaks what the server
/// chooses by ALPN.
fn secure(flags: &H2loadFlags, target: Target) -> Result<ReachedServer, Unreached> {
    let mut options = options(flags);
    let seen = tls::probe(&target, &options, PATIENCE).map_err(|error| match error {
        tls::ProbeError::Invalid(_) => Unreached::Unknown(format!("prony: {error}")),
        _ => failed(&ImitatedTool::H2load.advise(&error, error.remedy())),
    })?;
    let offers = |name: &str| flags.offered.iter().any(|offered| offered == name);
    let (spoken, protocol) = match seen.alpn.as_deref() {
        Some("h2") => (Spoken::Http2, "h2"),
        // A server without ALPN speaks HTTP/1.1, to the original too.
        Some("http/1.1") => (Spoken::Http1, "http/1.1"),
        None if offers("http/1.1") => (Spoken::Http1, "http/1.1"),
        other => {
            let agreed = other.unwrap_or("none");
            let offered = match flags.offered.is_empty() {
                true => "none".to_owned(),
                false => flags.offered.join(" and "),
            };
            return Err(failed(&format!(
                "no application protocol in common with the server (ALPN): offered {offered}, agreed on {agreed}"
            )));
        }
    };
    if seen.alpn.is_some() {
        options.alpn = vec![protocol.to_owned()];
    }
    let key = temporary(seen.group.as_deref());
    Ok(ReachedServer {
        target,
        spoken,
        tls: Some(options),
        said: format!(
            "TLS Protocol: {}\nCipher: {}\n{key}Application protocol: {protocol}\n",
            seen.version,
            openssl_name(&seen.cipher)
        ),
    })
}

/// Connects over QUIC, to the first of the host's addresses where HTTP/3 is spoken: nothing accepts there without that.
fn quic(flags: &H2loadFlags) -> Result<ReachedServer, Unreached> {
    let options = options(flags);
    let (host, port) = where_to(flags);
    let all = addresses(host, port, Family::Any).map_err(|error| not_resolved(&error))?;
    let mut unreached = failed("it has no such address");
    for target in all.into_iter().map(Target::Tcp) {
        let seen = match h3::probe(&target, &options, PATIENCE) {
            Ok(seen) => seen,
            Err(H3ProbeError::Tls(error @ tls::ProbeError::Invalid(_))) => {
                return Err(Unreached::Unknown(format!("prony: {error}")));
            }
            Err(error) => {
                unreached = failed(&ImitatedTool::H2load.advise(&error, error.remedy()));
                continue;
            }
        };
        let cipher = match seen.cipher.as_str() {
            "" => String::new(),
            cipher => format!("Cipher: {}\n", openssl_name(cipher)),
        };
        let key = temporary(seen.group.as_deref());
        return Ok(ReachedServer {
            target,
            spoken: Spoken::Http3,
            tls: Some(options),
            said: format!(
                "TLS Protocol: {}\n{cipher}{key}Application protocol: h3\n",
                seen.version
            ),
        });
    }
    Err(unreached)
}

/// How TLS is spoken: every certificate is accepted, and no session resumed.
fn options(flags: &H2loadFlags) -> TlsOptions {
    let name = flags.server_name.as_ref().unwrap_or(&flags.place.host);
    TlsOptions {
        server_name: name.clone(),
        cipher: Some(ciphers(flags)),
        insecure: true,
        alpn: flags.offered.clone(),
        resumption: false,
        ..TlsOptions::default()
    }
}

/// The line about the key exchange, if it is known.
fn temporary(group: Option<&str>) -> String {
    group.map_or(String::new(), |group| {
        format!("Server Temp Key: {}\n", temporary_key(group))
    })
}

/// Returns the cipher suites to offer. Many servers take the first that they know, so the order decides what a load
/// costs them.
fn ciphers(flags: &H2loadFlags) -> String {
    let tls12 = flags.tls12.as_deref().unwrap_or(TLS12);
    let tls13 = flags.tls13.as_deref().unwrap_or(TLS13);
    format!("{tls13}:{tls12}")
}
