//! Errors, described for the person at the terminal.

use std::fmt::Display;
use std::io;
use std::net::SocketAddr;

/// Why a server could not start or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address could not be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// Error from the kernel.
        source: io::Error,
    },
    /// A system call that the server cannot do without failed.
    #[error("{call} failed")]
    System {
        /// The call's name, as in its manual page.
        call: &'static str,
        /// Error from the kernel.
        source: io::Error,
    },
    /// The kernel is too old or forbids what the model needs.
    #[error("this kernel does not offer {feature}, which io-uring needs (Linux 6.0): try epoll")]
    Unsupported {
        /// Name of the missing feature.
        feature: &'static str,
        /// Error from the kernel.
        source: io::Error,
    },
    /// The certificate or its key cannot be used.
    #[error("TLS cannot be spoken with {0}")]
    Tls(String),
    /// The options contradict themselves.
    #[error("{0}")]
    Options(&'static str),
}

impl Error {
    /// For `map_err`: gives a failed system call its name.
    pub(crate) fn system(call: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { call, source }
    }
}

/// A word on the command line or in a file that does not mean anything here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a {what}: expected {expected}")]
pub struct ParseError {
    what: &'static str,
    found: String,
    expected: String,
}

impl ParseError {
    pub(crate) fn new(what: &'static str, found: &str, expected: impl Into<String>) -> Self {
        Self {
            what,
            found: found.to_owned(),
            expected: expected.into(),
        }
    }

    /// The one of `choices` whose name is `text`.
    pub(crate) fn choose<T: Copy + Display>(
        what: &'static str,
        text: &str,
        choices: &[T],
    ) -> Result<T, Self> {
        let named = |choice: &&T| choice.to_string() == text;
        choices.iter().find(named).copied().ok_or_else(|| {
            let names: Vec<String> = choices.iter().map(ToString::to_string).collect();
            Self::new(what, text, names.join(" or "))
        })
    }
}
