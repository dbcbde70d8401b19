//! Causes that are planted in a server, and the signs by which a report names them.

use serde::Serialize;

/// Cause that is planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// 5% more work in a function that is most of a request
    Work,
    /// Two more system calls
    Calls,
    /// An answer in two writes
    Writes,
    /// A lock that threads wait for
    Lock,
    /// Memory that grows: page faults
    Faults,
    /// A sleep after each wake-up
    Sleep,
    /// An answer in two writes with Nagle's algorithm, which waits for the client's delayed acknowledgement
    Nagle,
    /// Memory that is asked of the kernel, or left to the garbage collector, rather than used again
    Alloc,
    /// Nothing: the same server twice
    Same,
}

/// Language in which the server is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// Threads with epoll each
    C,
    /// A goroutine for each connection
    Go,
}

impl Language {
    pub const ALL: [Self; 2] = [Self::C, Self::Go];
}

impl Cause {
    pub const ALL: [Self; 9] = [
        Self::Work,
        Self::Calls,
        Self::Writes,
        Self::Lock,
        Self::Faults,
        Self::Sleep,
        Self::Nagle,
        Self::Alloc,
        Self::Same,
    ];

    /// Arguments with which the server is started: without the cause, and with it.
    pub const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Work => ("same", "work"),
            Self::Calls => ("same", "calls"),
            Self::Writes => ("same", "writes"),
            Self::Lock => ("own-locks", "lock"),
            Self::Faults => ("same", "faults"),
            Self::Sleep => ("same", "sleep"),
            Self::Nagle => ("writes", "nagle"),
            Self::Alloc => ("heap", "alloc"),
            Self::Same => ("same", "same"),
        }
    }

    /// Texts that name the cause: names of functions and of system calls, kinds of kernel work, counts.
    pub const fn signs(self, language: Language) -> &'static [&'static str] {
        match (self, language) {
            (Self::Work, Language::C) => &["json_encode"],
            (Self::Work, Language::Go) => &["jsonEncode"],
            (Self::Calls, _) => &["getppid"],
            (Self::Writes, Language::C) => &["sendto"],
            (Self::Writes, Language::Go) => &["write"],
            (Self::Lock, Language::C) => &["futex", "voluntary switches"],
            // Goroutines that wait are parked by the runtime, and their thread runs others.
            (Self::Lock, Language::Go) => &["Mutex", "sema", "Lock", "lock", "futex"],
            (Self::Faults, _) => &["page faults", "memory grown"],
            (Self::Sleep, _) => &["nanosleep", "voluntary switches"],
            (Self::Nagle, _) => &["delayed TCP acknowledgements"],
            (Self::Alloc, Language::C) => &["mmap", "munmap", "page faults"],
            (Self::Alloc, Language::Go) => &["malloc", "memclr", "runtime.gc", "scan", "sweep"],
            (Self::Same, _) => &[],
        }
    }

    pub fn tells(self, language: Language, text: &str) -> bool {
        let mut signs = self.signs(language).iter();
        signs.any(|sign| text.contains(sign))
    }

    /// Connections, and requests per second of those that are asked for. A client only delays its acknowledgements on a
    /// connection on which it sends again within 40 ms; then that connection has no more than 25 requests in a second, and the
    /// server cannot keep up.
    pub const fn load(self, rate: f64) -> (u32, f64) {
        match self {
            Self::Nagle => (128, rate.min(4_000.0)),
            _ => (32, rate),
        }
    }

    /// Rounds of each duel's `--why`, and the length of their parts in seconds: as much as shows so small a difference. Others are
    /// seen in the shortest useful ones.
    pub const fn effort(self) -> (u32, f64) {
        match self {
            Self::Work => (48, 1.0),
            Self::Lock => (12, 0.5),
            Self::Same => (8, 0.5),
            Self::Nagle | Self::Alloc => (6, 0.5),
            Self::Calls | Self::Writes | Self::Faults | Self::Sleep => (6, 0.3),
        }
    }
}
