//! Other machines: prony is started on them by a program that the user has already (ssh, srun, kubectl), and spoken
//! with over that program's standard input and output alone.
//!
//! | part | what it does |
//! |---|---|
//! | [`hosts`] | which machines there are, and how programs are started there |
//! | `launch` | starts an agent, and copies this program there when it is missing |
//! | `frame`, `message` | what is said, with length, number and checksum |
//! | [`link`] | the conversation with an agent: heartbeats, calls, clocks |
//! | [`registry`] | all agents: started when needed, and again when lost |
//! | [`fleet`] | generators on several machines as one [`Generator`](prony_lab::generator::Generator) |
//! | [`slow_client`] | a client that only measures, beside the load |
//! | [`host`] | another machine as a [`Host`](prony_lab::host::Host) of servers |
//! | [`service_host`] | another machine for services of servers |
//! | `watch` | watches servers and services there |
//! | [`reach`] | by which address machines reach each other |
//! | [`agent`], `servers` | the other side |

pub mod agent;
pub mod check;
pub mod clocks;
pub mod fleet;
mod frame;
pub mod host;
pub mod hosts;
mod launch;
pub mod link;
pub mod message;
pub mod reach;
pub mod registry;
mod servers;
pub mod service_host;
pub mod slow_client;
mod watch;

pub use fleet::Fleet;
pub use host::RemoteHost;
pub use hosts::{HostSpec, Hosts, LOCAL, UnknownHost};
pub use link::Link;
pub use registry::Registry;
pub use slow_client::SlowClient;
