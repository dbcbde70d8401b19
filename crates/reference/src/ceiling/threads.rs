//! One blocking thread per connection.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::session::{Session, Then};
use crate::sys;
use crate::work::Work;
use crate::{Date, Error};

/// Enough for the deepest call (reading an HTTP head needs some 5 KiB), so that thousands of threads
/// cost little address space.
const STACK: usize = 128 * 1024;
/// Most bytes of one read.
const BUFFER: usize = 16 * 1024;
/// How long to wait for a connection to end when there is no room for another.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(5);

pub(super) fn serve<S: Session>(
    listener: &TcpListener,
    work: Work,
    setup: &S::Setup,
) -> Result<(), Error> {
    loop {
        let connection = match listener.accept() {
            Ok((connection, _)) => connection,
            Err(error) if sys::out_of_descriptors(&error) => {
                thread::sleep(EXHAUSTED_PAUSE);
                continue;
            }
            Err(error) if sys::listener_is_broken(&error) => {
                return Err(Error::system("accept4")(error));
            }
            Err(_) => continue, // that connection's own misfortune
        };
        // Without room for a thread the connection is dropped, which closes it.
        let session = S::new(setup);
        let spawned = thread::Builder::new()
            .stack_size(STACK)
            .spawn(move || converse(connection, work, session));
        drop(spawned);
    }
}

/// Answers one connection to its end.
fn converse<S: Session>(mut connection: TcpStream, work: Work, mut session: S) {
    let mut date = Date::now();
    let mut scratch = Vec::new();
    let mut buffer = vec![0; BUFFER];
    loop {
        let length = match connection.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        if S::DATED {
            date.refresh();
        }
        let reply = session.receive(&buffer[..length], &date, &mut scratch);
        work.perform(reply.requests);
        if !reply.bytes.is_empty() && connection.write_all(reply.bytes).is_err() {
            return;
        }
        match reply.then {
            Then::Keep => {}
            Then::Close => return,
            Then::Linger => return linger(&mut connection, &mut buffer),
        }
    }
}

fn linger(connection: &mut TcpStream, buffer: &mut [u8]) {
    if connection.shutdown(Shutdown::Write).is_ok() {
        while connection.read(buffer).is_ok_and(|length| length > 0) {}
    }
}
