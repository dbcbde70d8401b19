//! Servers and neighbours with a known fault, for [`attribution`](crate::claims::attribution): each is a
//! process of its own, this program with a hidden subcommand.

mod echo;
mod hog;
mod http;

use crate::error::{Error, Result};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Kind of plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Plant {
    /// An echo that is all right: a thread per connection.
    Plain,
    /// Every answer holds one lock for a millisecond, asleep.
    Lock,
    /// An answer in two writes, with Nagle's algorithm on.
    Nagle,
    /// Under load one answer in a hundred is wrong.
    Wrong,
    /// Two event loops, of which one gets seven of eight connections.
    Uneven,
    /// Answers become cheaper for many seconds.
    Warming,
    /// Answers become more expensive and more expensive.
    Drifting,
    /// A backlog of one, and a pause after each connection that is accepted.
    Backlog,
    /// A weather gateway.
    Gateway,
    /// An upstream that gives one answer a millisecond.
    Upstream,
    /// No server: it uses a CPU.
    Hog,
}

/// The command line of a plant.
#[derive(Debug, clap::Args)]
pub struct PlantArgs {
    what: Plant,
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// A gateway's upstream.
    #[arg(long)]
    upstream: Option<String>,
    /// Folder with the file `weather.json` that an upstream serves.
    #[arg(long)]
    docroot: Option<PathBuf>,
}

/// Carries out the hidden subcommand: runs the plant until it is killed.
///
/// # Errors
/// When it cannot listen.
pub fn grow(args: &PlantArgs) -> Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let missing = |what: &str| Error::Unusable(format!("{what} is missing"));
    let served = match args.what {
        Plant::Hog => hog::burn(),
        Plant::Gateway => {
            let upstream = args.upstream.clone();
            http::gateway(address, upstream.ok_or_else(|| missing("--upstream"))?)
        }
        Plant::Upstream => {
            let docroot = args.docroot.clone();
            http::upstream(address, docroot.ok_or_else(|| missing("--docroot"))?)
        }
        Plant::Plain => echo::threads(address, echo::plain),
        Plant::Lock => echo::threads(address, echo::lock),
        Plant::Nagle => echo::threads(address, echo::nagle),
        Plant::Wrong => echo::threads(address, echo::wrong),
        Plant::Warming => echo::threads(address, echo::warming),
        Plant::Drifting => echo::threads(address, echo::drifting),
        Plant::Uneven => echo::uneven(address),
        Plant::Backlog => echo::backlog(address),
    };
    served.map_err(Error::io("cannot serve"))
}
