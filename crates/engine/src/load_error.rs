//! Errors of a load's connections.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;

/// Error that a connection met. Its text is what records have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LoadError {
    /// Activity during which it occurred.
    pub doing: IoActivity,
    /// Reason for it.
    pub cause: Cause,
}

/// Activity during which a connection met an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum IoActivity {
    /// Making a connection.
    Connecting,
    /// Waiting for an answer, or reading it.
    Reading,
    /// Sending a request.
    Writing,
    /// Waiting for an answer for longer than the time-out.
    TimedOut,
}

/// Cause of an error.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Cause {
    /// The system's number of an error.
    System(i32),
    /// The server closed the connection, in words, with a request in flight, after it had answered an earlier one.
    ClosedAfterAnswer(String),
    /// Anything else, in words.
    Other(String),
}

impl LoadError {
    pub(crate) fn new(doing: IoActivity, error: &io::Error) -> Self {
        let cause = match error.raw_os_error() {
            Some(number) => Cause::System(number),
            None => Cause::Other(error.to_string()),
        };
        Self { doing, cause }
    }

    /// No port was left to connect from. Source addresses are tried before the load: what is not available is a port.
    pub(crate) fn is_lack_of_ports(&self) -> bool {
        self.doing == IoActivity::Connecting && self.cause == Cause::System(libc::EADDRNOTAVAIL)
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let doing = match self.doing {
            IoActivity::Connecting => "connecting",
            IoActivity::Reading => "reading",
            IoActivity::Writing => "writing",
            IoActivity::TimedOut => "timed out",
        };
        write!(f, "{doing}: ")?;
        match &self.cause {
            _ if self.is_lack_of_ports() => f.write_str("no port is left to connect from"),
            Cause::System(number) => io::Error::from_raw_os_error(*number).fmt(f),
            Cause::ClosedAfterAnswer(how) => write!(f, "{how} after an earlier answer"),
            Cause::Other(why) => f.write_str(why),
        }
    }
}

/// JSON has no maps with such keys: they are sent as pairs.
pub(crate) mod pairs {
    use super::LoadError;
    use serde::{Deserialize, Deserializer, Serializer};
    use std::collections::BTreeMap;

    pub(crate) fn serialize<S: Serializer>(
        errors: &BTreeMap<LoadError, u64>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(errors)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<LoadError, u64>, D::Error> {
        Ok(Vec::deserialize(from)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_in_words() {
        let of = |doing, number| LoadError {
            doing,
            cause: Cause::System(number),
        };
        let ports = of(IoActivity::Connecting, libc::EADDRNOTAVAIL);
        assert!(ports.is_lack_of_ports());
        assert_eq!(
            ports.to_string(),
            "connecting: no port is left to connect from"
        );
        let refused = of(IoActivity::Connecting, libc::ECONNREFUSED).to_string();
        assert_eq!(refused, "connecting: Connection refused (os error 111)");
        let error = io::Error::other("the server closed the connection");
        let closed = LoadError::new(IoActivity::Reading, &error);
        assert_eq!(
            closed.to_string(),
            "reading: the server closed the connection"
        );
    }
}
