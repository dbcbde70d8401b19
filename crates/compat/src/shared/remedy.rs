//! Remedies in the words of the imitated tools: their flags, or nothing where they have none.

use prony_engine::Remedy;

/// Tools that connect to a server once before they load it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ImitatedTool {
    Ab,
    H2load,
}

impl ImitatedTool {
    /// Returns an error with the remedy for it, in one line.
    pub(crate) fn advise(self, error: &impl std::fmt::Display, remedy: Remedy) -> String {
        match self.words(remedy) {
            Some(words) => format!("{error}; {words}"),
            None => error.to_string(),
        }
    }

    /// Both accept every certificate, so remedies for certificates of servers are missing.
    fn words(self, remedy: Remedy) -> Option<&'static str> {
        Some(match (self, remedy) {
            (_, Remedy::Plain | Remedy::PerhapsPlain) => "http:// is without TLS",
            (Self::Ab, Remedy::TlsFile(_)) => "-E FILE has certificate and key, as PEM",
            (Self::Ab, Remedy::ClientCertificate) => {
                "-E FILE sends one: certificate and key, as PEM"
            }
            (Self::Ab, Remedy::KnownName) => "-H 'Host: NAME' sends another name",
            (Self::Ab, Remedy::TlsVersions) => "leave out -f and -Z, or choose others",
            (Self::H2load, Remedy::Http1) => "--h1 is HTTP/1.1",
            (Self::H2load, Remedy::KnownName) => "--sni NAME sends another name",
            (Self::H2load, Remedy::NoHttp3) => "without --h3 it is HTTP/2 over TLS",
            (Self::H2load, Remedy::UdpPort) => {
                "does the server speak HTTP/3 there? Without --h3 it is HTTP/2 over TLS"
            }
            (Self::H2load, Remedy::TlsVersions) => {
                "leave out --ciphers and --tls13-ciphers, or choose others"
            }
            _ => return None,
        })
    }
}
