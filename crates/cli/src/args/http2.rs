//! How HTTP/2 is spoken.

use super::number::count;
use clap::Args;
use prony_engine::protocol::h2::{MOST_WINDOW, WINDOW};

/// HTTP/2, by h2c:// or --http2.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "HTTP/2")]
pub struct Http2 {
    /// Speak HTTP/2 over https:// (ALPN h2); without TLS, h2c:// says so. With servers that prony starts, without TLS
    #[arg(long)]
    pub http2: bool,
    /// Requests in flight on each connection, as streams [default: 1]
    #[arg(long, value_name = "N", value_parser = count::<u32>)]
    pub streams: Option<u32>,
    /// How many bytes the server may send ahead, on each stream and each connection (a connection has at least
    /// 65535) [default: 1073741823, as h2load]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_WINDOW)))]
    pub window: Option<u32>,
}

impl Http2 {
    /// The window.
    pub fn window(&self) -> u32 {
        self.window.unwrap_or(WINDOW)
    }
}
