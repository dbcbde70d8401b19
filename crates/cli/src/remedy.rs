//! Remedies in the words of the command: its flags and its URLs.

use miette::{Report, miette};
use prony_engine::{Remedy, TlsFile};
use prony_lab::requests::RequestsError;
use prony_remote::UnknownHost;

/// Returns advice for a user of `prony load`, `duel`, `capacity`, `run`, `why` and `verify`.
pub fn words(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::TlsOptions => "see --help, under TLS",
        Remedy::TlsFile(TlsFile::Authorities) => "--ca FILE has certificates in PEM form",
        Remedy::TlsFile(TlsFile::Certificate) => "--cert FILE has a certificate in PEM form",
        Remedy::TlsFile(TlsFile::Key) => "--key FILE has the key of --cert, in PEM form",
        Remedy::TlsPort => "is this the right port, and does the server speak TLS there?",
        Remedy::PerhapsPlain => "does the server speak TLS on this port? if not, use http://",
        Remedy::Plain => "use http:// for this port, or another port for https://",
        Remedy::TrustIssuer => {
            "trust its issuer, or itself, with --ca FILE, or accept it with --insecure"
        }
        Remedy::RenewCertificate => "renew it, or accept it with --insecure",
        Remedy::CheckClock => "is this machine's clock right? --insecure accepts it",
        Remedy::CertifiedName => {
            "name the server as its certificate does, with --sni NAME, or accept it with --insecure"
        }
        Remedy::TrustCertificate => {
            "trust this very certificate with --ca FILE, or accept it with --insecure"
        }
        Remedy::KnownName => "--sni NAME sends another name; the server's log may say more",
        Remedy::ClientCertificate => "give one that it trusts: --cert FILE --key FILE",
        Remedy::TlsVersions => {
            "leave out --tls-version and --cipher, or choose others; prony speaks TLS 1.2 and 1.3"
        }
        Remedy::Http2 => "use --protocol h2, or grpcs:// for gRPC",
        Remedy::NoHttp2 => "leave out --protocol h2, or switch on HTTP/2 in the server",
        Remedy::NoHttp3 => "use --protocol h2 or tls, or switch on HTTP/3 in the server",
        Remedy::UdpPort => {
            "does the server speak HTTP/3 there, and do firewalls let UDP through? --protocol h2 is HTTP/2 over TLS"
        }
        Remedy::Mtu => {
            "raise the MTU of the interfaces on the way to 1,280 or more (ip link), or use --protocol h2"
        }
        Remedy::ServerLog => "the server's log may say more",
        Remedy::Http1 => {
            "use http://, or switch on HTTP/2 without TLS (h2c, prior knowledge) in the server"
        }
        Remedy::Http2Port => {
            "is this the right port? h2c:// is HTTP/2 without TLS; with TLS it is https:// and --protocol h2"
        }
        Remedy::SecureWebSocket => "use wss:// for TLS",
        Remedy::Identity => {
            "it wants to know who asks, or from where: --user NAME:PASSWORD, -H 'Authorization: …', -H 'Origin: …'"
        }
        Remedy::WebSocketPath => "is this the path? ws://HOST/PATH says which",
        Remedy::RedirectTarget => {
            "handshakes are not redirected: give the URL that it redirects to"
        }
        Remedy::AnotherPath => "it speaks HTTP there and not WebSocket: is this the path?",
        Remedy::Subprotocol => {
            "its log may show the reason; if it needs a subprotocol, pass --subprotocol NAME"
        }
        Remedy::WebSocketServer => "is what listens there a WebSocket server (RFC 6455)?",
        Remedy::WebSocketPort => {
            "is this the right port, and does the server speak WebSocket there?"
        }
        Remedy::ProxyCredentials => {
            "give user and password in --proxy http://USER:PASSWORD@HOST:PORT"
        }
        Remedy::ProxyOtherCredentials => {
            "are these the user and the password for it? --proxy http://USER:PASSWORD@HOST:PORT"
        }
        Remedy::ProxyRules => "have the proxy allow this server and port, or use another --proxy",
        Remedy::ProxyScheme => {
            "is this its port, and its protocol? --proxy http://, https://, socks5:// or socks5h://"
        }
        Remedy::ProxyLog => "does the server run? the proxy's log may say more",
    }
}

/// Says how to make a host known.
pub fn unknown(error: &UnknownHost) -> Report {
    let name = &error.name;
    miette!(
        help = format!("say how to start a program there: --host '{name}=ssh {name}'"),
        "{error}"
    )
}

/// Adds the flag of `prony load` that helps, where one does, to a mistake in a file of requests.
pub fn mistaken(mut error: RequestsError) -> Report {
    if let RequestsError::Mistake(mistake) = &mut error
        && mistake.helped_by_chance
    {
        let help = mistake.help.take().unwrap_or_default();
        mistake.help = Some(format!("{help}, or draw at random with --random-shares"));
    }
    error.into()
}

#[cfg(test)]
mod tests {
    use crate::args::Cli;
    use clap::CommandFactory;

    /// Flags that the first function names are flags of its commands.
    #[test]
    fn flags_of_remedies_exist() {
        let source = include_str!("remedy.rs");
        let table = source.split("\n}\n").next().unwrap();
        let command = Cli::command();
        let mut seen = 0;
        for flag in table.split(|c: char| !(c.is_alphanumeric() || c == '-')) {
            let Some(flag) = flag.strip_prefix("--").filter(|flag| *flag != "help") else {
                continue;
            };
            seen += 1;
            for verb in ["load", "duel", "capacity", "why"] {
                let verb = command.find_subcommand(verb).unwrap();
                let known = |arg: &clap::Arg| arg.get_long() == Some(flag);
                assert!(
                    verb.get_arguments().any(known),
                    "{}: --{flag}",
                    verb.get_name()
                );
            }
        }
        assert!(seen > 10, "{seen}");
    }
}
