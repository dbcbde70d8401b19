//! What a coordinator and an agent say to each other.

use prony_engine::protocol::tls::TlsOptions;
use prony_engine::{Nanos, Part, PartMessage, Plan, Target};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::time::Duration;

/// How often each side says that it is there.
pub const BEAT: Duration = Duration::from_secs(1);
/// After such a silence the other side is lost.
pub const SILENCE: Duration = Duration::from_secs(10);

/// From the coordinator.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToAgent {
    /// It is still there.
    Beat,
    /// What time is it? Answered at once.
    Clock(u32),
    /// To be done and answered with the same number.
    Call(u32, Call),
    /// Gets a part of a load ready.
    Load(Box<Order>),
    /// Begins the load at this time of the agent's clock.
    BeginAt(Nanos),
    /// Measures it from and until these times since its start.
    Measure(Nanos, Nanos),
    /// Ends it; what was measured so far is kept.
    Stop,
    /// Nothing more is asked.
    Bye,
}

/// A part of a load.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    /// The whole load, but for the CPUs and the number of threads, which are the agent's.
    pub plan: Plan,
    /// Which part is the agent's.
    pub part: Part,
    /// How long it is measured when it is measured as soon as it begins; none: that is said later.
    pub at_once: Option<Nanos>,
}

/// What an agent is asked to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Call {
    /// Looks up a host name and makes a connection: answered by [`Reply::Address`].
    Connect {
        /// Name or IP address.
        host: String,
        /// Port.
        port: u16,
        /// How long each try may take.
        timeout: Duration,
    },
    /// Makes one connection over TLS, so that what cannot work is said before a load: answered by [`Reply::Done`].
    Probe {
        /// Where to.
        target: Target,
        /// How.
        tls: TlsOptions,
        /// How long each step may take.
        timeout: Duration,
    },
    /// Starts prony's echo server on a free port of this address of its own: answered by [`Reply::Address`]. It
    /// lasts as long as the agent, or until the next one is started.
    Serve(std::net::IpAddr),
}

/// What came of a [`Call`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// Where something listens.
    Address(SocketAddr),
    /// Nothing more to say.
    Done,
}

/// From an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FromAgent {
    /// Its first message.
    Hello(Box<Hello>),
    /// It is still there.
    Beat,
    /// The time of its clock at the question of this number.
    Clock(u32, Nanos),
    /// What came of the call of this number, or why nothing did.
    Reply(u32, Result<Reply, String>),
    /// What a worker of its part tells.
    Part(Box<PartMessage>),
    /// It has heard when the load begins, so much too late; 0: in time.
    Began(Nanos),
    /// It has heard when the load is measured, and this is what it does.
    Measured(Nanos, Nanos),
    /// Its part could not be carried out.
    Refused(String),
    /// It has ended everything. Its last message.
    Bye,
}

/// What machine an agent runs on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// prony's version and commit, as `prony --version` prints them.
    pub version: String,
    /// The machine.
    pub machine: prony_record::Host,
    /// CPUs that the agent may use.
    pub cpus: Vec<usize>,
    /// The most descriptors that it may have open.
    pub descriptors: u64,
}
