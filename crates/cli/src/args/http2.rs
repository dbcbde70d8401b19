//! How HTTP/2 is spoken.

use super::number::count;
use clap::Args;
use prony_engine::protocol::h2::{MOST_WINDOW, WINDOW};

/// HTTP/2, by h2c:// or --http2.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "HTTP/2")]
pub struct Http2 {
    /// Use HTTP/2: over TLS for https://, else without TLS
    ///
    /// For https:// URLs by ALPN. For servers that prony starts, without TLS. h2c:// URLs are
    /// HTTP/2 without TLS.
    #[arg(long)]
    pub http2: bool,
    /// HTTP/2 streams on each connection [default: 1]
    #[arg(long, value_name = "N", value_parser = count::<u32>)]
    pub streams: Option<u32>,
    /// HTTP/2 flow-control window, of streams and connections
    ///
    /// A connection has at least 65535. By default 1073741823, as in h2load.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_WINDOW)))]
    pub window: Option<u32>,
}

impl Http2 {
    /// The window.
    pub fn window(&self) -> u32 {
        self.window.unwrap_or(WINDOW)
    }
}
