//! Options for the message that a gRPC call sends, and for the answer that must come.

use clap::Args;
use std::path::PathBuf;

/// A call, by grpc:// or grpcs:// (docs/grpc.md).
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "gRPC")]
pub struct GrpcArgs {
    /// .proto file with the method, so that messages are JSON
    ///
    /// May be repeated. Without it, prony asks a running server for the types, by reflection.
    #[arg(long, value_name = "FILE")]
    pub proto: Vec<PathBuf>,
    /// Folder for the imports of --proto [default: the file's own]
    ///
    /// May be repeated.
    #[arg(short = 'I', long, value_name = "DIR", requires = "proto")]
    pub proto_path: Vec<PathBuf>,
    /// Expected message, as JSON or @FILE
    ///
    /// Every response must have it; a stream, as its only message. By default the message of the
    /// first responses, where they agree.
    #[arg(long, value_name = "JSON")]
    pub expect_message: Option<String>,
    /// Expected number of messages, such as 10 or 1..5
    ///
    /// By default one; of a stream, any number.
    #[arg(long, value_name = "N", value_parser = range)]
    pub expect_messages: Option<Messages>,
}

/// The method and the message, where there is no URL with the method or where other messages have the same option.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "gRPC")]
pub struct Called {
    /// Call this method, as package.Service/Method
    #[arg(long, value_name = "METHOD", conflicts_with_all = ["path", "contract", "file"])]
    pub call: Option<String>,
    /// Message to send, as JSON or @FILE [default: empty]
    ///
    /// Without --proto, @FILE has the encoded message, and @FILE.json JSON. A method that takes a
    /// stream gets several JSON messages, one after the other.
    #[arg(long, value_name = "JSON")]
    pub message: Option<String>,
    #[command(flatten)]
    pub grpc: GrpcArgs,
}

/// Numbers of messages, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Messages(pub u64, pub u64);

fn range(text: &str) -> Result<Messages, String> {
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    match (least.parse(), most.parse()) {
        (Ok(least), Ok(most)) if least <= most => Ok(Messages(least, most)),
        _ => Err(format!(
            "{text:?} is not a number of messages: expected something like 10, or 1..5"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_messages() {
        assert_eq!(range("10"), Ok(Messages(10, 10)));
        assert_eq!(range("0..3"), Ok(Messages(0, 3)));
        for wrong in ["", "..", "3..1", "-1", "1..", "x"] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
    }
}
