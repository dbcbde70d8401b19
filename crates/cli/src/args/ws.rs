//! Options for messages over WebSocket.

use clap::Args;
use prony_record::load::USUAL_SIZE;

/// Messages over WebSocket, by ws:// or wss://.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "WebSocket")]
pub struct Messages {
    /// Payload of each message, in bytes [default: 32]
    ///
    /// The payload differs in each message.
    #[arg(long, value_name = "BYTES")]
    pub size: Option<u32>,
    /// Send text messages instead of binary ones
    #[arg(long)]
    pub text: bool,
    /// Offer this subprotocol
    ///
    /// May be repeated.
    #[arg(long = "subprotocol", value_name = "NAME", value_parser = token)]
    pub subprotocols: Vec<String>,
}

impl Messages {
    /// Has the user said anything about them?
    pub fn is_given(&self) -> bool {
        self.size.is_some() || self.text || !self.subprotocols.is_empty()
    }

    /// The length of a payload, in bytes.
    pub fn size(&self) -> u32 {
        self.size.unwrap_or(USUAL_SIZE)
    }
}

/// A name that can stand in a list (RFC 9110, 5.6.2).
fn token(text: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    match !text.is_empty() && text.bytes().all(fits) {
        true => Ok(text.to_owned()),
        false => Err("a subprotocol's name has letters, digits and -._ alone".into()),
    }
}
