//! Messages between a coordinator and an agent.

use prony_engine::protocol::proxy::Proxy;
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::{Dialogue, LoadShare, Nanos, PartMessage, Plan, Remedy, Target};
use prony_lab::builder::{Built, Missing};
use prony_lab::contract::Depth;
use prony_lab::get::Get;
use prony_lab::grpc::Rpc;
use prony_lab::host::{Elsewhere, Watched};
use prony_lab::manifest::Manifest;
use prony_lab::placement::Placement;
use prony_lab::requests::verify::RequestFile;
use prony_lab::service::{Connected, ServiceSpecs};
use prony_lab::side::{HttpStreams, Role};
use prony_lab::socket::Socket;
use prony_lab::topology::Topology;
use prony_record::load::{KeyKind, Protocol};
use prony_record::{Failure, Load, Step};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// How often each side says that it is there.
pub const BEAT: Duration = Duration::from_secs(1);
/// After such a silence the other side is lost.
pub const SILENCE: Duration = Duration::from_secs(10);

/// From the coordinator.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToAgent {
    /// The coordinator is still there.
    Beat,
    /// Reads the agent's clock: answered at once by [`FromAgent::Clock`] with the same number.
    Clock(u32),
    /// To be done and answered with the same number.
    Call(u32, Call),
    /// Gets a part of a load ready.
    Load(Box<LoadOrder>),
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
pub struct LoadOrder {
    /// The whole load, but for the CPUs and the number of threads, which are the agent's.
    pub plan: Plan,
    /// Part that the agent carries out.
    pub part: LoadShare,
    /// How long it is measured when it is measured as soon as it begins; none: that is said later.
    pub at_once: Option<Nanos>,
}

/// Request to an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Call {
    /// Looks up a host name and makes a connection, or none over UDP: answered by [`Reply::Address`].
    Connect {
        /// Name or IP address.
        host: String,
        /// Port.
        port: u16,
        /// The server is reached over UDP.
        udp: bool,
        /// How long each try may take.
        timeout: Duration,
    },
    /// Makes one connection over TLS or QUIC, so that what cannot work is said before a load: answered by [`Reply::Done`] or
    /// [`Reply::Refused`].
    Probe {
        /// Where to.
        target: Target,
        /// How.
        tls: Box<TlsOptions>,
        /// How long each step may take.
        timeout: Duration,
    },
    /// Reaches a server through a proxy, so that what cannot work is said before a load: answered by [`Reply::Done`] or
    /// [`Reply::Refused`].
    Dial {
        /// Where the proxy listens.
        address: SocketAddr,
        /// How it is asked for the server.
        proxy: Box<Proxy>,
        /// How long each step may take.
        timeout: Duration,
    },
    /// Starts prony's echo server on a free port of this address of its own: answered by [`Reply::Address`]. It
    /// lasts as long as the agent.
    Serve(IpAddr),
    /// Lists the machine's addresses: answered by [`Reply::Addresses`].
    Addresses,
    /// Finds a free port of this address of its own, below those of clients: answered by [`Reply::Address`].
    FreePort(IpAddr),
    /// Passes on what comes to the first address, where port 0 is a free one, to the second: answered by
    /// [`Reply::Address`]. It lasts until [`Call::EndRelay`], or as long as the agent.
    Relay(SocketAddr, SocketAddr),
    /// Ends the relay of this address: answered by [`Reply::Done`].
    EndRelay(SocketAddr),
    /// Becomes a host of servers, with these CPUs for them: answered by [`Reply::Done`].
    Host(Placement),
    /// Takes over the files of a server of the catalog: answered by [`Reply::Done`].
    Adopt(Box<Sources>),
    /// Builds a server that it has taken over: answered by [`Reply::Built`].
    Build(String),
    /// Starts a server: answered by [`Reply::Server`].
    Start(Box<Start>),
    /// Starts services that listen on this address: answered by [`Reply::Services`]. With their number, calls mean all of them.
    StartServices(ServiceSpecs, IpAddr),
    /// Starts an upstream behind a gateway, by its number: answered by [`Reply::Server`].
    PutBehind(u32, Box<Start>),
    /// Stops prony's own upstream behind a gateway, whose upstream has a machine of its own: answered by [`Reply::Done`].
    Release(u32),
    /// Starts it again: answered by [`Reply::Done`].
    Resume(u32),
    /// Verifies a server: answered by [`Reply::Done`].
    Verify(u32, Step, RemoteVerifySpec),
    /// Builds the dialogue of a load with a server: answered by [`Reply::Dialogue`].
    Dialogue(u32, RemoteVerifySpec, Box<Load>),
    /// How a server ended, if it did: answered by [`Reply::Exited`].
    Exited(u32),
    /// Reads the end of a server's output: answered by [`Reply::Text`].
    Output(u32),
    /// Stops the processes of a server while others are measured: answered by [`Reply::Done`].
    Pause(u32),
    /// Lets them go on: answered by [`Reply::Done`].
    GoOn(u32),
    /// Ends a server: answered by [`Reply::Done`].
    Stop(u32),
    /// Watches a server, and its upstream, once per period: answered by [`Reply::Done`].
    Watch(u32, Option<u32>, Duration),
    /// From when until when the watched server is measured, on the agent's clock: answered by [`Reply::Done`].
    WatchFrom(u32, Nanos, Nanos),
    /// How many CPUs the watched server used last: answered by [`Reply::Used`].
    Used(u32),
    /// Ends the watching: answered by [`Reply::Watched`].
    Watched(u32),
}

/// The files of a server of the catalog.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sources {
    /// Name of the server.
    pub name: String,
    /// Manifest of the server.
    pub manifest: Manifest,
    /// All files of the server's folder.
    pub files: Vec<SourceFile>,
}

/// A file of a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SourceFile {
    /// Below the server's folder.
    pub path: String,
    /// May it be executed?
    pub executable: bool,
    /// Content of the file, in base64.
    pub base64: String,
}

/// A server that is to be started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Start {
    /// Name of the server, from which the name of its log file is made.
    pub name: String,
    /// Manifest of the server.
    pub manifest: Manifest,
    /// Result of its build; none: nothing is built, and it runs where the agent does.
    pub built: Option<Built>,
    /// Number of the server's workers.
    pub workers: u32,
    /// Name of the contract that the server must fulfil.
    pub contract: String,
    /// Role of the server: measured itself, or behind the one that is.
    pub role: Role,
    /// HTTP variant that the server speaks.
    pub over: Protocol,
    /// Kind of key in the certificate with which the server speaks TLS, if it does.
    pub key: KeyKind,
    /// Where it listens; port 0: on a free one.
    pub at: SocketAddr,
    /// Parts that surround it and run on other machines.
    pub elsewhere: Elsewhere,
}

/// How a server is verified.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RemoteVerifySpec {
    /// Answers that are required of the server.
    pub workload: RemoteWorkload,
    /// How HTTP/2 is spoken with it, if it is.
    pub http2: Option<HttpStreams>,
    /// How thoroughly.
    pub depth: Depth,
    /// Seed of payloads that the server cannot know.
    pub seed: u64,
    /// Through which relay on another machine; none: on its own machine.
    pub through: Option<SocketAddr>,
}

/// Answers that are required of a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemoteWorkload {
    /// A contract, by name.
    Contract(String),
    /// A request.
    Get(Box<Get>),
    /// A call of gRPC.
    Call(Box<Rpc>),
    /// Messages over WebSocket.
    Socket(Box<Socket>),
    /// A message over TCP.
    Echo(Vec<u8>),
    /// The requests of a file, and the name of the contract by which servers are started.
    Requests(String, Box<RequestFile>),
}

/// Result of a [`Call`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// Where something listens.
    Address(SocketAddr),
    /// Several addresses.
    Addresses(Vec<IpAddr>),
    /// A server was built.
    Built(Box<Built>),
    /// A server could not be built: the failure, with the build's output, and whether the server is only not set up
    /// there.
    NotBuilt(Failure, Missing),
    /// A server was started.
    Server(Box<Up>),
    /// Services were started: their number among the agent's servers, and how they are found.
    Services(u32, Box<Connected>),
    /// A step of it failed.
    Failed(Failure),
    /// A server cannot be loaded: why, and what may help.
    Refused(String, Remedy),
    /// Dialogue of a load.
    Dialogue(Box<Dialogue>),
    /// How a server ended; none: it is running.
    Exited(Option<String>),
    /// End of a server's output.
    Text(String),
    /// CPUs used.
    Used(Option<f64>),
    /// Results of watching a server.
    Watched(Box<Watched>),
    /// Nothing more to say.
    Done,
}

/// From an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FromAgent {
    /// First message of an agent.
    Hello(Box<Hello>),
    /// The agent is still there.
    Beat,
    /// The time of its clock at the question of this number.
    Clock(u32, Nanos),
    /// Result of the call of this number, or why there is none.
    Reply(u32, Result<Reply, String>),
    /// Message of a worker of the agent's part of a load.
    Part(Box<PartMessage>),
    /// The agent knows when the load begins, and learned it so late, in nanoseconds; 0: in time.
    Began(Nanos),
    /// The agent measures the load from and until these times since its start.
    Measured(Nanos, Nanos),
    /// The agent's part could not be carried out, for this reason.
    Refused(String),
    /// The agent has ended everything. This is its last message.
    Bye,
}

/// Version of an agent, and the machine that it runs on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// prony's version and commit, as `prony --version` prints them.
    pub version: String,
    /// The machine.
    pub machine: prony_record::Host,
    /// The CPUs that the agent may use.
    pub topology: Topology,
    /// The most descriptors that it may have open.
    pub descriptors: u64,
}

/// A server that was started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Up {
    /// Number of the server among those of the agent.
    pub number: u32,
    /// Where it listens.
    pub address: SocketAddr,
    /// Command line of the server.
    pub command: Vec<String>,
    /// From its start until it answered, in nanoseconds.
    pub ready_ns: Nanos,
    /// How it speaks TLS; none: it does not.
    pub tls: Option<TlsOptions>,
}
