//! WebSocket as the command line has it, and what is found out about a server before it is loaded.

use crate::args::request::RequestArgs;
use crate::args::ws::Messages;
use crate::http2::ProtocolOptions;
use crate::remedy::words;
use miette::{Result, miette};
use prony_engine::Target;
use prony_engine::protocol::tls;
use prony_engine::protocol::tls::{ProbeError, TlsOptions};
use prony_engine::protocol::ws::{Upgrade, probe};
use prony_lab::contract::Contract;
use prony_lab::workload::Workload;
use prony_record::Load;
use std::time::Duration;

const SPOKEN_BY: &str = "ws://HOST/PATH is WebSocket, wss://HOST/PATH is WebSocket over TLS";

impl Messages {
    /// Where nothing speaks WebSocket: nothing may have been said about it.
    pub fn unused(&self) -> Result<()> {
        match self.is_given() {
            true => Err(usage!(
                help = SPOKEN_BY,
                "--size, --text and --subprotocol are for WebSocket"
            )),
            false => Ok(()),
        }
    }
}

impl RequestArgs {
    /// Is only said what a handshake has a place for: header fields, and who asks?
    pub fn fits_handshake(&self) -> Result<()> {
        let given = [
            ("--method", self.method.is_some()),
            ("--body", self.body.is_some()),
            ("--expect-status", self.expect_status.is_some()),
            ("--expect-body", self.expect_body.is_some()),
            ("--compressed", self.encoding.compressed),
            ("--stream", self.streams.stream.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(usage!(
                help = "over WebSocket, messages have --size and --text, and must come back as they are; -H and --user go into the handshake",
                "{option} is for requests over HTTP"
            )),
            None => Ok(()),
        }
    }
}

impl ProtocolOptions<'_> {
    /// Returns `load` with the messages that the user wants.
    ///
    /// Options for messages, if the server is not sent messages over WebSocket.
    pub fn messages(&self, load: Load, ask: &Workload) -> Result<Load> {
        let messages = self.messages;
        if !matches!(
            ask,
            Workload::Socket(_) | Workload::Contract(Contract::WsEcho)
        ) {
            messages.unused()?;
        }
        Ok(Load {
            size: messages.size(),
            text: messages.text,
            ..load
        })
    }
}

/// The handshake with the server of this name; none where WebSocket is not spoken.
pub fn upgrade(workload: &Workload, authority: &str) -> Result<Option<Upgrade>> {
    let Workload::Socket(socket) = workload else {
        return Ok(None);
    };
    let help = "subprotocols are offered with --subprotocol NAME";
    let upgrade = socket.upgrade(authority);
    upgrade
        .map(Some)
        .map_err(|reserved| usage!(help = help, "{reserved}"))
}

/// Tries a server with one connection, so that what cannot work is said before anything is loaded.
pub fn tried(
    url: &str,
    target: &Target,
    tls: Option<&TlsOptions>,
    upgrade: &Upgrade,
    timeout: Duration,
) -> Result<()> {
    if let (Some(options), Target::Tcp(_)) = (tls, target)
        && let Err(error) = tls::probe(target, options, timeout)
    {
        let help = match error {
            ProbeError::NotTls | ProbeError::Silent(_) => "without TLS it is ws://",
            ref other => words(other.remedy()),
        };
        return Err(miette!(help = help, "{url}: {error}"));
    }
    probe(target, tls, upgrade, timeout)
        .map_err(|error| miette!(help = words(error.remedy()), "{url}: {error}"))
}
