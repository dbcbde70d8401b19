//! The status codes of gRPC.

use std::fmt;

/// A status code that gRPC defines (`code.proto` of google.rpc).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(try_from = "u8", into = "u8")]
pub struct GrpcStatus(u8);

const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

impl GrpcStatus {
    /// The call succeeded.
    pub const OK: Self = Self(0);
    /// The server does not know the method.
    pub const UNIMPLEMENTED: Self = Self(12);
    /// All of them, by number.
    pub const ALL: [Self; 17] = {
        let mut all = [Self(0); 17];
        let mut n = 0;
        while n < 17 {
            all[n] = Self(n as u8);
            n += 1;
        }
        all
    };

    /// By its number.
    #[must_use]
    pub fn of(number: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// By its name in capitals, or its number.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let named = NAMES
            .iter()
            .position(|name| name.eq_ignore_ascii_case(text));
        match named {
            Some(place) => Some(Self(place as u8)),
            None => Self::of(text.parse().ok()?),
        }
    }

    /// Returns the status's number, 0 to 16.
    #[must_use]
    pub fn number(self) -> u8 {
        self.0
    }

    /// Returns the status's name in capitals.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES[usize::from(self.0)]
    }
}

impl From<GrpcStatus> for u8 {
    fn from(status: GrpcStatus) -> Self {
        status.0
    }
}

impl TryFrom<u8> for GrpcStatus {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::of(number.into()).ok_or_else(|| format!("{number} is no status of gRPC"))
    }
}

impl Default for GrpcStatus {
    fn default() -> Self {
        Self::OK
    }
}

impl fmt::Display for GrpcStatus {
    /// Name and number, as in `NOT_FOUND (5)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)
    }
}
