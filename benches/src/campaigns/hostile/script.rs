//! A server that follows a script, whatever it is asked, and counts what it was asked.

use super::breaking;
use super::line::Line;
use rustls::ServerConfig;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// Step of a server's script.
#[derive(Debug, Clone)]
pub enum Step {
    /// Sends these bytes in one go.
    Write(Vec<u8>),
    /// Sends them one by one, with this pause before each.
    Drip(Vec<u8>, Duration),
    /// Waits.
    Pause(Duration),
    /// Sends these bytes for as long as the client takes them.
    Pour(Vec<u8>),
    /// Says that it will send no more, and reads on.
    End,
    /// Closes.
    Close,
    /// Breaks the connection.
    Reset,
    /// Reads on, and never sends anything again.
    Silence,
    /// Does not even read any more.
    Deafness,
}

/// How the server finds requests in what it reads.
#[derive(Debug, Clone, Copy)]
pub enum Unit {
    /// A head that ends in an empty line.
    Head,
    /// Fixed number of bytes.
    Bytes(usize),
}

/// Steps of a server on each connection.
#[derive(Debug, Clone)]
pub struct Script {
    /// Steps at the start of a connection, before any request.
    pub first: Vec<Step>,
    /// For each request of a connection in turn; the last of them for all that follow.
    pub answers: Vec<Vec<Step>>,
    /// Unit in which the server reads requests.
    pub unit: Unit,
}

/// A server under way. It ends with this value.
pub struct Scripted {
    /// Where it listens.
    pub at: SocketAddr,
    /// Requests that it has read.
    pub requests: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Scripted {
    /// Starts it, on a free port of this machine; with a configuration, over TLS.
    ///
    /// # Errors
    /// When it cannot listen.
    pub fn start(script: Script, tls: Option<Arc<ServerConfig>>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        // 128 connections at once fill the standard library's backlog.
        breaking::listen_with_backlog(&listener, 4_096);
        let this = Self {
            at: listener.local_addr()?,
            requests: Arc::default(),
            over: Arc::default(),
        };
        let (requests, over) = (Arc::clone(&this.requests), Arc::clone(&this.over));
        let script = Arc::new(script);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if over.load(Relaxed) {
                    return;
                }
                let (script, requests) = (Arc::clone(&script), Arc::clone(&requests));
                let tls = tls.clone();
                // Handshakes need more.
                let stack = if tls.is_some() { 512 << 10 } else { 128 << 10 };
                let serve = move || {
                    let _ = stream.set_nodelay(true);
                    // A client that goes away is no mistake of the server's.
                    let _ = serve(&mut Line::new(stream, tls), &script, &requests);
                };
                let thread = thread::Builder::new().stack_size(stack);
                if thread.spawn(serve).is_err() {
                    return;
                }
            }
        });
        Ok(this)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        // Wakes what accepts.
        let _ = TcpStream::connect(self.at);
    }
}

fn serve(line: &mut Line, script: &Script, requests: &AtomicU64) -> io::Result<()> {
    act(line, &script.first)?;
    let mut pending = Vec::new();
    let mut buffer = [0; 4_096];
    let mut answered = 0;
    loop {
        while let Some(end) = whole(&pending, script.unit) {
            pending.drain(..end);
            requests.fetch_add(1, Relaxed);
            act(
                line,
                &script.answers[answered.min(script.answers.len() - 1)],
            )?;
            answered += 1;
        }
        match line.read(&mut buffer)? {
            0 => return Ok(()),
            n => pending.extend_from_slice(&buffer[..n]),
        }
    }
}

/// The length of the first request, when it is whole.
fn whole(bytes: &[u8], unit: Unit) -> Option<usize> {
    match unit {
        Unit::Head => Some(bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4),
        Unit::Bytes(n) => (bytes.len() >= n).then_some(n),
    }
}

fn act(line: &mut Line, steps: &[Step]) -> io::Result<()> {
    let ended = || io::Error::from(io::ErrorKind::Other);
    for step in steps {
        match step {
            Step::Write(bytes) => line.write_all(bytes)?,
            Step::Drip(bytes, pause) => {
                for byte in bytes {
                    thread::sleep(*pause);
                    line.write_all(&[*byte])?;
                }
            }
            Step::Pause(length) => thread::sleep(*length),
            Step::Pour(bytes) => {
                let many = bytes.repeat(1 + 4_096 / bytes.len());
                loop {
                    line.write_all(&many)?;
                }
            }
            Step::End => {
                line.end()?;
                swallow(line)?;
                return Err(ended());
            }
            Step::Close => {
                line.notify()?;
                return Err(ended());
            }
            Step::Reset => {
                line.reset();
                return Err(ended());
            }
            Step::Silence => {
                swallow(line)?;
                return Err(ended());
            }
            Step::Deafness => {
                line.wait_until_closed();
                return Err(ended());
            }
        }
    }
    Ok(())
}

fn swallow(line: &mut Line) -> io::Result<()> {
    let mut buffer = [0; 4_096];
    while line.read(&mut buffer)? > 0 {}
    Ok(())
}
