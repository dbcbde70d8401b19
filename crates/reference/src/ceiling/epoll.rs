//! Readiness: one thread, level-triggered epoll.
//!
//! Hot, a message costs one `recv` and one `send`. There is no second `recv` to see that nothing is
//! left: if something is, epoll says so again. What a `send` does not take is kept, and the
//! connection is not read until it is gone, so the kernel's buffers bound what a peer can pile up.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

use crate::session::{Session, Then};
use crate::slab::{Key, Slab};
use crate::sys::{self, Accepted, Interest, PollEvents, Poller, is_passing};
use crate::work::Work;
use crate::{Date, Error};

/// The token of the listening socket; no [`Key`] has it.
const LISTENER: u64 = u64::MAX;
/// Events taken per `epoll_wait`.
const EVENTS: usize = 512;
/// Most bytes of one read: few calls for large messages, and still inside the L2 cache.
const BUFFER: usize = 64 * 1024;

pub(super) fn serve<S: Session>(
    listener: &TcpListener,
    work: Work,
    setup: &S::Setup,
) -> Result<(), Error> {
    let mut worker = EpollWorker::<S>::new(listener, work, setup)?;
    let mut events = PollEvents::new(EVENTS);
    loop {
        worker.poller.wait(&mut events, None)?;
        if S::DATED {
            worker.date.refresh();
        }
        for index in 0..events.len() {
            match events.token(index) {
                LISTENER => worker.accept()?,
                token => worker.ready(Key::from_bits(token))?,
            }
        }
    }
}

struct EpollWorker<'a, S: Session> {
    poller: Poller,
    listener: &'a TcpListener,
    setup: &'a S::Setup,
    /// Whether the listener is watched: not while no descriptor is left.
    accepting: bool,
    connections: Slab<EpollConnection<S>>,
    date: Date,
    work: Work,
    buffer: Vec<u8>,
    scratch: Vec<u8>,
}

struct EpollConnection<S> {
    stream: TcpStream,
    session: S,
    phase: Phase,
}

enum Phase {
    Reading,
    /// Waits to send the rest of a reply.
    Writing {
        rest: Vec<u8>,
        sent: usize,
        then: Then,
    },
    /// Throws away what comes until the peer closes.
    Lingering,
}

/// Whether a connection goes on.
enum NextInterest {
    Open,
    /// The connection stays open, and waits for other events than before.
    Watch(Interest),
    Over,
}

impl<'a, S: Session> EpollWorker<'a, S> {
    fn new(listener: &'a TcpListener, work: Work, setup: &'a S::Setup) -> Result<Self, Error> {
        listener
            .set_nonblocking(true)
            .map_err(Error::system("ioctl"))?;
        let poller = Poller::new()?;
        poller.add(listener, LISTENER, Interest::READ)?;
        Ok(Self {
            poller,
            listener,
            setup,
            accepting: true,
            connections: Slab::new(),
            date: Date::now(),
            work,
            buffer: vec![0; BUFFER],
            scratch: Vec::new(),
        })
    }

    fn accept(&mut self) -> Result<(), Error> {
        loop {
            match sys::accept(self.listener)? {
                Accepted::Connection(stream) => {
                    let key = self.connections.insert(EpollConnection {
                        stream,
                        session: S::new(self.setup),
                        phase: Phase::Reading,
                    });
                    if let Some(connection) = self.connections.get_mut(key) {
                        let token = key.to_bits();
                        self.poller.add(&connection.stream, token, Interest::READ)?;
                    }
                }
                Accepted::NoneWaiting => return Ok(()),
                Accepted::Exhausted(error) if self.connections.is_empty() => {
                    return Err(Error::system("accept4")(error));
                }
                Accepted::Exhausted(_) => return self.set_accepting(false),
            }
        }
    }

    fn set_accepting(&mut self, accepting: bool) -> Result<(), Error> {
        self.accepting = accepting;
        let interest = if accepting {
            Interest::READ
        } else {
            Interest::NONE
        };
        self.poller.modify(self.listener, LISTENER, interest)
    }

    fn ready(&mut self, key: Key) -> Result<(), Error> {
        let Some(connection) = self.connections.get_mut(key) else {
            return Ok(()); // closed since the event was reported
        };
        let outcome = match connection.phase {
            Phase::Reading => match connection.stream.read(&mut self.buffer) {
                Ok(0) => NextInterest::Over,
                Ok(length) => {
                    let input = &self.buffer[..length];
                    let session = &mut connection.session;
                    let reply = session.receive(input, &self.date, &mut self.scratch);
                    self.work.perform(reply.requests);
                    connection.send(reply.bytes, reply.then)
                }
                Err(error) if is_passing(&error) => NextInterest::Open,
                Err(_) => NextInterest::Over,
            },
            Phase::Writing { .. } => connection.send_rest(),
            Phase::Lingering => match connection.stream.read(&mut self.buffer) {
                Ok(1..) => NextInterest::Open,
                Err(error) if is_passing(&error) => NextInterest::Open,
                Ok(0) | Err(_) => NextInterest::Over,
            },
        };
        match outcome {
            NextInterest::Open => Ok(()),
            NextInterest::Watch(interest) => {
                self.poller
                    .modify(&connection.stream, key.to_bits(), interest)
            }
            NextInterest::Over => {
                self.connections.remove(key);
                if self.accepting {
                    Ok(())
                } else {
                    self.set_accepting(true)
                }
            }
        }
    }
}

impl<S> EpollConnection<S> {
    fn send(&mut self, bytes: &[u8], then: Then) -> NextInterest {
        if bytes.is_empty() {
            return NextInterest::Open;
        }
        let sent = match self.stream.write(bytes) {
            Ok(sent) => sent,
            Err(error) if is_passing(&error) => 0,
            Err(_) => return NextInterest::Over,
        };
        if sent == bytes.len() {
            return self.after(then);
        }
        self.phase = Phase::Writing {
            rest: bytes[sent..].to_vec(),
            sent: 0,
            then,
        };
        NextInterest::Watch(Interest::WRITE)
    }

    fn send_rest(&mut self) -> NextInterest {
        let Phase::Writing { rest, sent, then } = &mut self.phase else {
            return NextInterest::Open;
        };
        match self.stream.write(&rest[*sent..]) {
            Ok(more) => *sent += more,
            Err(error) if is_passing(&error) => {}
            Err(_) => return NextInterest::Over,
        }
        if *sent < rest.len() {
            return NextInterest::Open;
        }
        let then = *then;
        self.phase = Phase::Reading;
        match self.after(then) {
            NextInterest::Open => NextInterest::Watch(Interest::READ),
            outcome => outcome,
        }
    }

    /// Returns what the connection does after a reply that is sent completely.
    fn after(&mut self, then: Then) -> NextInterest {
        match then {
            Then::Keep => NextInterest::Open,
            Then::Close => NextInterest::Over,
            Then::Linger => match self.stream.shutdown(Shutdown::Write) {
                Ok(()) => {
                    self.phase = Phase::Lingering;
                    NextInterest::Open
                }
                Err(_) => NextInterest::Over,
            },
        }
    }
}
