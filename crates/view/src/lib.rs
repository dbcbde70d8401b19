//! The notebook over HTTP: runs, reports, comparisons and histories as pages, and what changes while
//! a page is open.
//!
//! - `limiter`: how many may come in at once, and for how long
//! - `turns`: whose answer is made next
//! - [`door`]: who may come in: the `Host`, the method, the token
//! - [`shelf`]: the notebook, opened as often as needed, and the pages that were made of it
//! - [`mod@file`]: the formats of other tools
//! - [`live`]: one task that looks for what is new, for all who listen
//! - [`route`]: from an address to an answer
//! - [`page`]: the pages
//! - [`query`], [`answer`], [`body`]: what is asked, and how it is answered
//!
//! It only reads. Nothing in an address becomes the name of a file: runs and trials are numbers, and
//! everything else is compared with what is known. All pages are made by [`maud`], which escapes
//! every value; a policy allows one style sheet and one script, both from here.

#![forbid(unsafe_code)]

pub mod answer;
pub mod body;
pub mod door;
pub mod file;
mod limiter;
pub mod live;
pub mod page;
pub mod query;
pub mod route;
pub mod shelf;
mod turns;

use door::Door;
use prony_notebook::{Notebook, NotebookError};
use route::Routes;
use shelf::Shelf;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

/// Threads that read the notebook: readers take no more than these from a measurement.
const READERS: usize = 2;

/// Why the notebook cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The port is taken.
    #[error("port {} of {} is in use: by another prony view? `--listen :0` takes any free one", .0.port(), .0.ip())]
    Busy(SocketAddr),
    /// The address is not one of this machine, or may not be used.
    #[error(
        "cannot listen on {at}: {source}; `--listen ADDR:PORT` takes an address of this machine and a port of 1024 or above"
    )]
    Listen {
        /// The address.
        at: SocketAddr,
        /// Error that the system returned.
        source: io::Error,
    },
    /// The server cannot be run.
    #[error("cannot serve: {0}")]
    Serve(#[source] io::Error),
    /// The notebook cannot be read.
    #[error(transparent)]
    Notebook(#[from] NotebookError),
}

/// A view that listens already, and answers once it is [served](Self::serve).
#[derive(Debug)]
pub struct View {
    listener: TcpListener,
    door: Door,
    shelf: Shelf,
    url: String,
}

impl View {
    /// Listens on an address; port 0 is any free one. On another address than a loopback one
    /// every reader needs a token, which is part of the [address](Self::url).
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub fn new(notebook: Notebook, ip: IpAddr, port: u16) -> Result<Self, ViewError> {
        let at = SocketAddr::new(ip, port);
        let listener = TcpListener::bind(at).map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => ViewError::Busy(at),
            _ => ViewError::Listen { at, source },
        })?;
        let at = listener.local_addr().map_err(ViewError::Serve)?;
        let door = Door::new(at);
        let url = door.url(at);
        Ok(Self {
            listener,
            door,
            shelf: Shelf::new(notebook),
            url,
        })
    }

    /// Where it is, for a browser; with the token if there is one.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Does a reader need the token?
    pub fn needs_token(&self) -> bool {
        self.door.needs_token()
    }

    /// Answers until the process ends.
    ///
    /// # Errors
    /// When it cannot begin.
    pub fn serve(self) -> Result<Infallible, ViewError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(READERS)
            .thread_keep_alive(Duration::from_secs(60))
            .build()
            .map_err(ViewError::Serve)?;
        runtime.block_on(async {
            self.listener
                .set_nonblocking(true)
                .map_err(ViewError::Serve)?;
            let listener =
                tokio::net::TcpListener::from_std(self.listener).map_err(ViewError::Serve)?;
            let routes = Routes::new(Arc::new(self.shelf), Arc::new(self.door));
            Ok(limiter::serve(listener, routes, READERS).await)
        })
    }
}
