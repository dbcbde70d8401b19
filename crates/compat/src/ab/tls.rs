//! TLS as `ab` speaks it: it accepts every certificate, and resumes no session.

use super::flags::AbFlags;
use crate::shared::address::split_port;
use crate::shared::tls::temporary_key;
use prony_engine::protocol::tls::{TlsOptions, openssl_name};
use prony_record::Tls as Seen;
use std::net::{IpAddr, SocketAddr};

/// TLS options of the command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TlsFlags {
    /// `1.2` or `1.3`; none: the best that both sides speak.
    version: Option<String>,
    ciphers: Option<String>,
    /// The client's certificate and its key, as PEM.
    certificate: Option<String>,
    /// The server is not told which name it is asked for.
    nameless: bool,
}

impl TlsFlags {
    /// Takes one of its flags.
    ///
    /// # Errors
    /// What is wrong with the value.
    pub(super) fn take(&mut self, letter: char, value: String) -> Result<(), String> {
        match letter {
            'f' => {
                self.version = match value.to_ascii_uppercase().as_str() {
                    "ALL" => None,
                    "TLS1.2" => Some("1.2".into()),
                    "TLS1.3" => Some("1.3".into()),
                    _ => return Err(format!("ab: -f {value}: prony speaks TLS1.2 and TLS1.3")),
                }
            }
            'Z' => self.ciphers = Some(value),
            'E' => {
                let read = std::fs::read_to_string(&value);
                let says = |error| format!("unable to get certificate from '{value}': {error}");
                self.certificate = Some(read.map_err(says)?);
            }
            _ => self.nameless = true,
        }
        Ok(())
    }

    /// For the engine. Without a name, the server's address stands for it, which is not sent.
    pub(super) fn options(&self, flags: &AbFlags, address: SocketAddr) -> TlsOptions {
        let name = name(flags).map_or_else(|| address.ip().to_string(), str::to_owned);
        TlsOptions {
            server_name: name,
            version: self.version.clone(),
            cipher: self.ciphers.clone(),
            insecure: true,
            certificate: self.certificate.clone(),
            key: self.certificate.clone(),
            resumption: false,
            ..TlsOptions::default()
        }
    }
}

/// The name that the server is asked for: that of `-H Host:`, or the URL's. An address is none.
pub(super) fn name(flags: &AbFlags) -> Option<&str> {
    let given = flags.headers.iter().find_map(|field| {
        let (name, value) = field.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    let host = match given.and_then(split_port) {
        Some((host, _)) => host,
        None => &flags.url.host,
    };
    let asked = flags.tls.as_ref().is_some_and(|tls| !tls.nameless);
    (asked && host.parse::<IpAddr>().is_err()).then_some(host)
}

/// The lines of the report, names and values, as far as they are known.
pub(super) fn lines(flags: &AbFlags, seen: Option<&Seen>) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(seen) = seen {
        let cipher = openssl_name(&seen.cipher);
        let key = seen.certificate.as_ref();
        // Where the kind of a key has one length only, it is Ed25519's.
        let bits = key.map_or(0, |key| key.bits.unwrap_or(256));
        let secret = if cipher.contains("128") { 128 } else { 256 };
        let agreed = format!("{},{cipher},{bits},{secret}", seen.version);
        lines.push(("SSL/TLS Protocol", agreed));
        if let Some(group) = &seen.group {
            lines.push(("Server Temp Key", temporary_key(group).to_owned()));
        }
    }
    if let Some(name) = name(flags) {
        lines.push(("TLS Server Name", name.to_owned()));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ab::flags::parse;
    use std::ffi::OsString;

    fn flags(line: &str) -> AbFlags {
        parse(line.split('|').map(OsString::from).collect()).unwrap()
    }

    #[test]
    fn the_server_is_asked_for_a_name_but_not_for_an_address() {
        for (line, expected) in [
            ("https://example.org:8443/", Some("example.org")),
            ("https://127.0.0.1/", None),
            ("https://[::1]/", None),
            ("-I|https://example.org/", None),
            ("-H|Host: other:81|https://127.0.0.1/", Some("other")),
            ("http://example.org/", None),
        ] {
            assert_eq!(name(&flags(line)), expected, "{line}");
        }
        let it = flags("-I|-f|tls1.2|-Z|ECDHE-RSA-AES128-GCM-SHA256|https://example.org/");
        let options = it.tls.as_ref().unwrap();
        let options = options.options(&it, ([127, 0, 0, 1], 443).into());
        assert_eq!(options.server_name, "127.0.0.1");
        assert_eq!(options.version.as_deref(), Some("1.2"));
        assert!(options.insecure && !options.resumption);
        assert_eq!(flags("-f|ALL|https://h/").tls, Some(TlsFlags::default()));
        assert_eq!(it.connect_to(), ("example.org", 443));
    }

    /// Expected lines are those that the original printed.
    #[test]
    fn what_was_agreed_on() {
        let seen = |version: &str, cipher: &str, group: &str| Seen {
            version: version.into(),
            cipher: cipher.into(),
            group: Some(group.into()),
            certificate: Some(prony_record::tls::Certificate {
                key: "ECDSA".into(),
                bits: Some(256),
            }),
            ..Seen::default()
        };
        let it = flags("https://localhost:1/");
        let shown = |seen: &Seen| {
            lines(&it, Some(seen))
                .into_iter()
                .map(|(_, value)| value)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            shown(&seen("TLSv1.3", "TLS_AES_256_GCM_SHA384", "X25519")),
            [
                "TLSv1.3,TLS_AES_256_GCM_SHA384,256,256",
                "X25519 253 bits",
                "localhost"
            ]
        );
        assert_eq!(
            shown(&seen(
                "TLSv1.2",
                "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
                "secp256r1"
            ))[..2],
            [
                "TLSv1.2,ECDHE-ECDSA-AES128-GCM-SHA256,256,128",
                "ECDH P-256 256 bits"
            ]
        );
        assert_eq!(
            lines(&it, None),
            [("TLS Server Name", "localhost".to_owned())]
        );
    }
}
