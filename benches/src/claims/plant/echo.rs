//! Echo servers, each with one fault.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How a message is answered.
type Answer = fn(&mut TcpStream, &[u8]) -> io::Result<()>;

/// A thread for each connection.
pub fn threads(address: SocketAddr, answer: Answer) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    for stream in listener.incoming() {
        let stream = stream?;
        thread::spawn(move || {
            // A client that broke off is no concern of a plant.
            let _ = converse(stream, answer);
        });
    }
    Ok(())
}

fn converse(mut stream: TcpStream, answer: Answer) -> io::Result<()> {
    let mut buffer = [0; 16 << 10];
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            n => answer(&mut stream, &buffer[..n])?,
        }
    }
}

pub fn plain(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    stream.write_all(message)
}

pub fn lock(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    static LOCK: Mutex<()> = Mutex::new(());
    {
        let _held = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        thread::sleep(Duration::from_millis(1));
    }
    stream.write_all(message)
}

/// The second part waits until the first is acknowledged, and that is put off by 40 ms in the hope
/// of an answer to carry it.
pub fn nagle(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    let (first, second) = message.split_at(message.len().min(1));
    stream.write_all(first)?;
    stream.write_all(second)
}

/// One answer in a hundred is wrong once there have been more in a tenth of a second than any
/// verification asks for.
pub fn wrong(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    const MANY: u64 = 1_500;
    static ANSWERS: Mutex<Option<(Instant, u64)>> = Mutex::new(None);
    let now = Instant::now();
    let count = {
        let mut answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
        let (begin, count) = answers.get_or_insert((now, 0));
        if now.duration_since(*begin) > Duration::from_millis(100) {
            (*begin, *count) = (now, 0);
        }
        *count += 1;
        *count
    };
    let mut message = message.to_vec();
    if count > MANY && count % 100 == 99 {
        message[0] ^= 1;
    }
    stream.write_all(&message)
}

/// Since the first message under load.
fn age() -> Duration {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed()
}

fn work(length: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < length {}
}

pub fn warming(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    work(Duration::from_micros(150).mul_f64((-age().as_secs_f64() / 4.0).exp()));
    stream.write_all(message)
}

pub fn drifting(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    work(Duration::from_micros(40).mul_f64(1.0 + 0.2 * age().as_secs_f64()));
    stream.write_all(message)
}

/// Two event loops; of eight connections the first gets seven.
pub fn uneven(address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    let loops = [epoll()?, epoll()?];
    for poller in &loops {
        let poller = poller.as_raw_fd();
        thread::spawn(move || turn(poller));
    }
    for (number, stream) in listener.incoming().enumerate() {
        // From here on the loop owns the descriptor.
        let fd = std::os::fd::IntoRawFd::into_raw_fd(stream?);
        let poller = &loops[usize::from(number % 8 == 7)];
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: fd as u64,
        };
        // SAFETY: `event` is valid for the length of the call.
        unsafe { libc::epoll_ctl(poller.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut event) };
    }
    Ok(())
}

fn epoll() -> io::Result<OwnedFd> {
    // SAFETY: without pointers.
    let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, so this is its only owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn turn(poller: i32) {
    let mut buffer = vec![0; 64 << 10];
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
    loop {
        // SAFETY: `events` is valid for as many as are said.
        let ready = unsafe { libc::epoll_wait(poller, events.as_mut_ptr(), 64, -1) };
        for event in &events[..usize::try_from(ready).unwrap_or(0)] {
            let fd = event.u64 as i32;
            // SAFETY: the descriptor is open, and this loop's, until it is dropped below.
            let mut stream = unsafe { TcpStream::from_raw_fd(fd) };
            let answered = stream.read(&mut buffer).and_then(|n| match n {
                0 => Err(io::ErrorKind::UnexpectedEof.into()),
                n => stream.write_all(&buffer[..n]),
            });
            if answered.is_ok() {
                // Keeps it open.
                let _ = std::os::fd::IntoRawFd::into_raw_fd(stream);
            }
        }
    }
}

/// Connections that are not accepted in time: SYNs are dropped, and sent again after a second.
pub fn backlog(address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    // A second listen() changes the backlog.
    // SAFETY: without pointers.
    if unsafe { libc::listen(listener.as_raw_fd(), 1) } < 0 {
        return Err(io::Error::last_os_error());
    }
    for stream in listener.incoming() {
        let stream = stream?;
        thread::spawn(move || converse(stream, plain));
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
