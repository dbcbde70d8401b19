//! Connections that are open at the same time: how many there may be, and how long they may be silent. A client that
//! sends half a request, or does not read its answer, holds a connection. Enough of them would lock all other clients
//! out, before the door has seen them.

use crate::route::Routes;
use crate::turns::{Asked, Turns};
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::sleep;
use tokio_io_timeout::TimeoutStream;

/// The most connections, whatever the system allows: their heads and buffers take 64 MiB at most.
const MOST: usize = 512;
/// Descriptors that are left for everything else: the notebook, its readers, the listener.
const SPARED: usize = 32;
/// How long the head of a request may take, and a connection may wait for its next request.
const HEAD: Duration = Duration::from_secs(10);
/// How long a client may read nothing of an answer that is on its way.
const UNREAD: Duration = Duration::from_secs(30);
/// The longest head; also how much of an answer is kept for a client that is slow.
const BUFFER: usize = 64 << 10;
/// After a connection could not be taken: what is in the way may be gone.
const PAUSE: Duration = Duration::from_millis(50);

/// Answers all who come, without end. When there are too many connections, the one that has been without a request
/// for the longest is closed for a new one. No more than `makers` answers are made at the same time.
pub async fn serve(listener: TcpListener, routes: Routes, makers: usize) -> Infallible {
    let limiter = ConnectionLimiter::new(room(descriptors()), makers);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => limiter.admit(stream, routes.clone()),
            // The client has gone, or descriptors have run out.
            Err(_) => {
                limiter.make_room();
                sleep(PAUSE).await;
            }
        }
    }
}

/// The soft limit on this process's descriptors; where it cannot be told, the usual one.
fn descriptors() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    line.and_then(|line| line.split_whitespace().nth(3))
        .and_then(|soft| soft.parse().ok())
        .unwrap_or(1_024)
}

/// How many connections these descriptors have room for.
fn room(descriptors: usize) -> usize {
    (descriptors.saturating_sub(SPARED) / 2).clamp(4, MOST)
}

/// The connections.
#[derive(Debug, Clone)]
struct ConnectionLimiter {
    most: usize,
    turns: Turns,
    connections: Arc<Mutex<Guests>>,
}

#[derive(Debug, Default)]
struct Guests {
    /// Grows with all that happens, so that it tells what happened before what.
    now: u64,
    all: HashMap<u64, Guest>,
}

#[derive(Debug)]
struct Guest {
    /// Whether its request is being answered, and when that began or it came. A connection that is being answered stays
    /// longer.
    since: (bool, u64),
    task: AbortHandle,
}

impl ConnectionLimiter {
    fn new(most: usize, makers: usize) -> Self {
        Self {
            most,
            turns: Turns::new(makers),
            connections: Arc::default(),
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Guests) -> T) -> T {
        let mut connections = self
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        connections.now += 1;
        act(&mut connections)
    }

    fn admit(&self, stream: TcpStream, routes: Routes) {
        if self.with(|connections| connections.all.len() >= self.most) {
            self.make_room();
        }
        self.with(|connections| {
            let id = connections.now;
            let task = tokio::spawn(self.clone().attend(id, stream, routes)).abort_handle();
            let since = (false, id);
            connections.all.insert(id, Guest { since, task });
        });
    }

    /// Closes the connection that can best be spared.
    fn make_room(&self) {
        self.with(|connections| {
            let longest = connections.all.iter().min_by_key(|(_, guest)| guest.since);
            if let Some(id) = longest.map(|(id, _)| *id)
                && let Some(guest) = connections.all.remove(&id)
            {
                guest.task.abort();
            }
        });
    }

    fn note(&self, id: u64, answering: bool) {
        self.with(|connections| {
            let since = (answering, connections.now);
            if let Some(guest) = connections.all.get_mut(&id) {
                guest.since = since;
            }
        });
    }

    /// Answers the requests of a connection, as long as it lasts.
    async fn attend(self, id: u64, stream: TcpStream, routes: Routes) {
        let asked = Mutex::new(Asked::new(Instant::now()));
        let answer = service_fn(|request: Request<Incoming>| async {
            self.note(id, true);
            let often = asked
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .again(Instant::now());
            let turn = self.turns.take(often).await;
            let answer = routes.answer(&request.map(drop)).await;
            drop(turn);
            self.note(id, false);
            Ok::<_, Infallible>(answer)
        });
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(UNREAD));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(BUFFER)
            .serve_connection(TokioIo::new(Box::pin(stream)), answer);
        // An error means that the client has disconnected: no answer can reach it.
        let _ = pin!(connection).await;
        self.with(|connections| connections.all.remove(&id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_some_whatever_the_limit() {
        assert_eq!((room(16), room(64), room(1_024)), (4, 16, 496));
        assert_eq!(room(usize::MAX), MOST);
        assert!(descriptors() >= 16);
    }
}
