//! The ceiling: a server that does as little per request as a server can.
//!
//! Its rate is the upper bound of what can be measured on this host. Three [`Model`]s, because which of
//! them is fastest depends on the kernel and the load.
//!
//! | model | per message, hot | reads while the peer does not read |
//! |---|---|---|
//! | epoll | one `recv`, one `send`; `epoll_wait` shared by all ready connections | no |
//! | io-uring | a share of one `io_uring_enter` | up to a bound, then no |
//! | threads | one `recv`, one `send`, two context switches | no |

mod epoll;
mod outgoing;
mod threads;
mod uring;

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::str::FromStr;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

pub use crate::over::Layers;
use rustls::ServerConfig;

use crate::session::{Echo, H2, Http, Secured, Session, Ws};
use crate::sys::{self, Sharing};
use crate::work::Work;
use crate::{Contract, Error, ParseError};

/// How the bytes travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// Readiness: level-triggered epoll, one thread per worker.
    Epoll,
    /// Completion: io_uring with multishot accept and receive, one ring and thread per worker.
    IoUring,
    /// One blocking thread per connection.
    Threads,
}

impl Model {
    /// All models, in the order in which they are listed to users.
    pub const ALL: [Self; 3] = [Self::Epoll, Self::IoUring, Self::Threads];
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Epoll => "epoll",
            Self::IoUring => "io-uring",
            Self::Threads => "threads",
        })
    }
}

impl FromStr for Model {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        ParseError::choose("model", text, &Self::ALL)
    }
}

/// Options of a ceiling server: contract, address and model.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where to listen; port 0 lets the kernel choose.
    pub listen: SocketAddr,
    /// How the bytes travel.
    pub model: Model,
    /// Contract of the server's answers.
    pub contract: Contract,
    /// Threads that serve, at least 1, each with a listening socket of its own over which the
    /// kernel spreads the connections. [`Model::Threads`] has one per connection instead and
    /// ignores this.
    pub workers: usize,
    /// CPU work added to each request (tcp-echo: to each read), to make a server that is slower by
    /// a known amount. Counted in steps that take this long on an undisturbed CPU.
    pub busy: Duration,
    /// Layers below HTTP.
    pub over: Layers,
}

impl Options {
    /// TCP echo over epoll with one worker and no extra work.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            model: Model::Epoll,
            contract: Contract::TcpEcho,
            workers: 1,
            busy: Duration::ZERO,
            over: Layers::default(),
        }
    }
}

/// A server that listens but does not serve yet: connections wait.
#[derive(Debug)]
pub struct Server {
    local_addr: SocketAddr,
    listeners: Vec<TcpListener>,
    model: Model,
    contract: Contract,
    work: Work,
    http2: bool,
    tls: Option<Arc<ServerConfig>>,
}

impl Server {
    /// Listens. Also raises this process's soft limit of open files to the hard limit, since every
    /// connection needs a descriptor.
    ///
    /// # Errors
    ///
    /// [`Error::Listen`] if the address is taken or not this host's, [`Error::Options`] for zero
    /// workers.
    pub fn bind(options: &Options) -> Result<Self, Error> {
        if options.workers == 0 {
            return Err(Error::Options("a server needs at least one worker"));
        }
        options.over.check(options.contract)?;
        let tls = options.over.config(options.over.alpn())?;
        sys::raise_open_files();
        let workers = match options.model {
            Model::Epoll | Model::IoUring => options.workers,
            Model::Threads => 1,
        };
        let sharing = Sharing {
            reuse_port: workers > 1,
            nagle: false,
        };
        let first = sys::listen(options.listen, sharing)?;
        let local_addr = first.local_addr().map_err(Error::system("getsockname"))?;
        let mut listeners = vec![first];
        for _ in 1..workers {
            listeners.push(sys::listen(local_addr, sharing)?);
        }
        Ok(Self {
            local_addr,
            listeners,
            model: options.model,
            contract: options.contract,
            work: Work::lasting(options.busy),
            http2: options.over.http2,
            tls,
        })
    }

    /// Where it listens, with the port that the kernel chose.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Serves until something fails that no server can go on without; never returns `Ok`.
    /// What befalls a single connection ends that connection only.
    ///
    /// With several workers, returns with the first that fails. The others go on until the process
    /// ends, which should be soon.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if the kernel lacks what the model needs, else [`Error::System`].
    pub fn run(self) -> Result<(), Error> {
        match (self.contract, self.http2, self.tls.clone()) {
            (Contract::TcpEcho, ..) => self.run_as::<Echo>(&()),
            (Contract::WsEcho, _, None) => self.run_as::<Ws>(&()),
            (Contract::WsEcho, _, Some(tls)) => self.run_as::<Secured<Ws>>(&(tls, ())),
            (_, false, None) => self.run_as::<Http>(&()),
            (_, true, None) => self.run_as::<H2>(&()),
            (_, false, Some(tls)) => self.run_as::<Secured<Http>>(&(tls, ())),
            (_, true, Some(tls)) => self.run_as::<Secured<H2>>(&(tls, ())),
        }
    }

    fn run_as<S: Session>(self, setup: &S::Setup) -> Result<(), Error> {
        let (serve, work) = (worker::<S>(self.model), self.work);
        let (report, failures) = mpsc::channel();
        for (index, listener) in self.listeners.into_iter().enumerate() {
            let (report, setup) = (report.clone(), setup.clone());
            thread::Builder::new()
                .name(format!("worker-{index}"))
                .spawn(move || report.send(serve(&listener, work, &setup)))
                .map_err(Error::system("clone"))?;
        }
        drop(report);
        failures
            .recv()
            .expect("a worker reports its end unless it panics")
    }
}

type Worker<S> = fn(&TcpListener, Work, &S) -> Result<(), Error>;

fn worker<S: Session>(model: Model) -> Worker<S::Setup> {
    match model {
        Model::Epoll => epoll::serve::<S>,
        Model::IoUring => uring::serve::<S>,
        Model::Threads => threads::serve::<S>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for model in Model::ALL {
            assert_eq!(model.to_string().parse(), Ok(model));
        }
        assert_eq!(
            "uring".parse::<Model>().unwrap_err().to_string(),
            "`uring` is not a model: expected epoll or io-uring or threads"
        );
    }

    #[test]
    fn a_taken_port_and_no_workers_are_errors() {
        let server = Server::bind(&Options::new("127.0.0.1:0".parse().unwrap())).unwrap();
        let again = Server::bind(&Options::new(server.local_addr()));
        assert!(matches!(again, Err(Error::Listen { .. })), "{again:?}");
        let none = Server::bind(&Options {
            workers: 0,
            ..Options::new("127.0.0.1:0".parse().unwrap())
        });
        assert!(matches!(none, Err(Error::Options(_))), "{none:?}");
    }

    #[test]
    fn workers_share_one_port() {
        let server = Server::bind(&Options {
            workers: 3,
            ..Options::new("127.0.0.1:0".parse().unwrap())
        })
        .unwrap();
        assert_eq!(server.listeners.len(), 3);
    }
}
