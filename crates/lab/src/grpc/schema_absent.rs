//! In the place of `schema` where protox and prost-reflect are left out: no `.proto` file is read, and of messages only
//! their bytes are known. Calls are made as ever.

use super::output::AnswerType;
use miette::{Result, miette};
use prony_engine::Target;
use prony_engine::protocol::tls::TlsOptions;
use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

/// There is none.
#[derive(Debug, Clone)]
pub struct Schema(Infallible);

/// There is none.
#[derive(Debug, Clone)]
pub struct Method(Infallible);

impl Schema {
    /// Reads nothing.
    ///
    /// # Errors
    /// Always.
    pub fn read(_files: &[PathBuf], _paths: &[PathBuf]) -> Result<Self> {
        Err(miette!(
            help = "build it with: cargo install --path crates/cli --features proto\n\
                without --proto, --message @FILE has the encoded message",
            "this prony was built without `proto`, which reads .proto files"
        ))
    }

    /// Asks nothing.
    ///
    /// # Errors
    /// Always.
    pub fn of_server(
        _server: (&Target, Option<&TlsOptions>),
        _authority: &str,
        _path: &str,
        _metadata: &[(String, String)],
        _silence: Duration,
    ) -> Result<Self, String> {
        Err(UNREAD.to_owned())
    }

    /// There is none.
    ///
    /// # Errors
    /// Never.
    pub fn method(&self, _path: &str) -> Result<Method> {
        match self.0 {}
    }
}

impl Method {
    /// There is none.
    #[must_use]
    pub fn takes_stream(&self) -> bool {
        match self.0 {}
    }

    /// There is none.
    #[must_use]
    pub fn streams(&self) -> bool {
        match self.0 {}
    }

    /// There is none.
    ///
    /// # Errors
    /// Never.
    pub fn input(&self, _json: &str) -> Result<Vec<Vec<u8>>, String> {
        match self.0 {}
    }

    /// There is none.
    ///
    /// # Errors
    /// Never.
    pub fn output(&self, _json: &str) -> Result<Vec<u8>, String> {
        match self.0 {}
    }

    /// There is none.
    #[must_use]
    pub fn answers(&self) -> AnswerType {
        match self.0 {}
    }
}

/// Said to another prony that asks one which cannot read messages.
const UNREAD: &str = "this prony was built without `proto`, which reads messages";

impl AnswerType {
    /// Reads nothing.
    ///
    /// # Errors
    /// Always.
    pub fn json(&self, _bytes: &[u8]) -> Result<String, String> {
        Err(UNREAD.to_owned())
    }

    /// Only the same bytes are known to be the same message.
    ///
    /// # Errors
    /// When they are not the same.
    pub fn same(&self, one: &[u8], other: &[u8]) -> Result<bool, String> {
        match one == other {
            true => Ok(true),
            false => Err(UNREAD.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_refused_and_bytes_compared() {
        let refused = Schema::read(&[], &[]).unwrap_err();
        assert!(refused.to_string().contains("without `proto`"), "{refused}");
        let help = refused.help().expect("a way out").to_string();
        assert!(help.contains("--features proto"), "{help}");
        // As another prony may send it.
        let output = AnswerType {
            descriptors: Vec::new(),
            name: "a.B".to_owned(),
        };
        assert_eq!(output.same(b"x", b"x"), Ok(true));
        assert!(output.same(b"x", b"y").is_err() && output.json(b"x").is_err());
    }
}
