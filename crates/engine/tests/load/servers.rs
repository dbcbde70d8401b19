//! Servers in threads of the test: blocking, one thread per connection.

use crate::breaking;
use prony_engine::Target;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::Duration;

/// Counts of a server.
#[derive(Debug, Default)]
pub struct Count {
    pub connections: AtomicU64,
    pub bytes: AtomicU64,
    pub requests: AtomicU64,
    /// Answers that it has spoilt on purpose.
    pub spoilt: AtomicU64,
}

/// One accepted connection.
pub struct Connection {
    /// Unix sockets too: reading and writing are the same calls.
    stream: Arc<TcpStream>,
    pub count: Arc<Count>,
}

impl Connection {
    /// The next bytes; none when the client has closed.
    pub fn read<'a>(&self, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let n = (&*self.stream).read(buffer)?;
        self.count.bytes.fetch_add(n as u64, Relaxed);
        Ok(&buffer[..n])
    }

    /// Address of the client; over TCP only.
    pub fn peer(&self) -> IpAddr {
        self.stream.peer_addr().expect("it is connected").ip()
    }

    /// Address and port of the client; over TCP only.
    pub fn peer_address(&self) -> SocketAddr {
        self.stream.peer_addr().expect("it is connected")
    }

    /// Says that nothing more comes.
    pub fn end(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        (&*self.stream).write_all(bytes)
    }

    /// Calls `serve` for each whole message of `length` bytes.
    pub fn messages(
        &self,
        length: usize,
        mut serve: impl FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut message = vec![0; length];
        loop {
            match (&*self.stream).read_exact(&mut message) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                result => result?,
            }
            self.count.bytes.fetch_add(length as u64, Relaxed);
            serve(self.count.requests.fetch_add(1, Relaxed), &message)?;
        }
    }

    /// Calls `serve` with the head of each HTTP request (none of them has a body) and how many
    /// came before it on all connections.
    pub fn requests(&self, mut serve: impl FnMut(u64, &str) -> io::Result<()>) -> io::Result<()> {
        let mut pending = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let bytes = self.read(&mut buffer)?;
            if bytes.is_empty() {
                return Ok(());
            }
            pending.extend_from_slice(bytes);
            while let Some(end) = pending.windows(4).position(|four| four == b"\r\n\r\n") {
                let head: Vec<u8> = pending.drain(..end + 4).collect();
                let head = String::from_utf8(head).expect("prony sends what it was given");
                serve(self.count.requests.fetch_add(1, Relaxed), &head)?;
            }
        }
    }

    /// Reads what comes and answers nothing, until the client closes.
    pub fn swallow(&self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        while !self.read(&mut buffer)?.is_empty() {}
        Ok(())
    }

    /// Reads nothing, until the client closes.
    pub fn ignore(&self) {
        breaking::wait_until_closed(&self.stream);
    }

    /// Breaks the connection: the client gets a reset instead of an end.
    pub fn reset(&self) {
        breaking::reset(&self.stream);
    }
}

/// A server, which ends with this value.
pub struct Server {
    pub target: Target,
    pub count: Arc<Count>,
    listener: Option<OwnedFd>,
    accepting: Option<thread::JoinHandle<()>>,
    open: Arc<Mutex<Vec<Weak<TcpStream>>>>,
    _place: Option<tempfile::TempDir>,
}

impl Server {
    /// On a free port of `127.0.0.1`. What `serve` returns is of no interest: a client that goes
    /// away is no mistake of the server's.
    pub fn tcp(serve: impl Fn(&Connection) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self::at((Ipv4Addr::LOCALHOST, 0).into(), serve).expect("127.0.0.1 is there")
    }

    /// On a free port of `::1`, if this machine has it.
    pub fn tcp6(
        serve: impl Fn(&Connection) -> io::Result<()> + Send + Sync + 'static,
    ) -> Option<Self> {
        Self::at((Ipv6Addr::LOCALHOST, 0).into(), serve).ok()
    }

    pub fn at(
        address: SocketAddr,
        serve: impl Fn(&Connection) -> io::Result<()> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let target = Target::Tcp(listener.local_addr()?);
        Ok(Self::listen(target, listener.into(), None, serve))
    }

    /// On a unix socket in a directory of its own.
    pub fn unix(serve: impl Fn(&Connection) -> io::Result<()> + Send + Sync + 'static) -> Self {
        let place = tempfile::tempdir().expect("a temporary directory");
        let path = place.path().join("socket");
        let listener = UnixListener::bind(&path).expect("a new path");
        Self::listen(Target::Unix(path), listener.into(), Some(place), serve)
    }

    /// A port at which nothing listens, and that no other program can get meanwhile.
    pub fn refused() -> Self {
        // SAFETY: plain system calls; the address is valid for the call, its size is given, and
        // the new descriptor has no other owner.
        let socket = unsafe {
            let fd = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
            let address = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: 0,
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes([127, 0, 0, 1]),
                },
                sin_zero: [0; 8],
            };
            let size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
            assert_eq!(libc::bind(fd, (&raw const address).cast(), size), 0);
            TcpListener::from_raw_fd(fd)
        };
        let target = Target::Tcp(socket.local_addr().expect("it is bound"));
        Self::quiet(target, socket.into(), None)
    }

    /// Listens with the shortest backlog and never accepts.
    pub fn never_accepts() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("127.0.0.1 is there");
        let target = Target::Tcp(listener.local_addr().expect("it is bound"));
        Self::quiet(target, with_backlog(0, listener.into()), None)
    }

    /// The same on a unix socket.
    pub fn never_accepts_unix() -> Self {
        let place = tempfile::tempdir().expect("a temporary directory");
        let path = place.path().join("socket");
        let listener = UnixListener::bind(&path).expect("a new path");
        Self::quiet(
            Target::Unix(path),
            with_backlog(0, listener.into()),
            Some(place),
        )
    }

    fn quiet(target: Target, listener: OwnedFd, place: Option<tempfile::TempDir>) -> Self {
        Self {
            target,
            count: Arc::default(),
            listener: Some(listener),
            accepting: None,
            open: Arc::default(),
            _place: place,
        }
    }

    fn listen(
        target: Target,
        listener: OwnedFd,
        place: Option<tempfile::TempDir>,
        serve: impl Fn(&Connection) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        // The standard library's 128 overflow when the generator is set up faster than this thread
        // accepts, and each lost SYN costs a second.
        let mut this = Self::quiet(target, with_backlog(4_096, listener), place);
        let fd = this.listener.as_ref().expect("just given").as_raw_fd();
        let (count, open) = (this.count.clone(), this.open.clone());
        let serve = Arc::new(serve);
        this.accepting = Some(thread::spawn(move || {
            while let Some(stream) = accept(fd) {
                let _ = stream.set_nodelay(true); // a unix socket has no such thing
                let stream = Arc::new(stream);
                open.lock().unwrap().push(Arc::downgrade(&stream));
                count.connections.fetch_add(1, Relaxed);
                let connection = Connection {
                    stream,
                    count: count.clone(),
                };
                let serve = serve.clone();
                thread::Builder::new()
                    .stack_size(192 << 10)
                    .spawn(move || serve(&connection))
                    .expect("a thread per connection");
            }
        }));
        this
    }

    /// Stops listening and breaks every connection.
    pub fn fall(&mut self) {
        if let Some(listener) = self.listener.take() {
            // SAFETY: a plain system call on an open descriptor; it ends a blocked accept.
            unsafe { libc::shutdown(listener.as_raw_fd(), libc::SHUT_RDWR) };
            // Closed only when nothing accepts on its number any more.
            if let Some(accepting) = self.accepting.take() {
                let _ = accepting.join();
            }
        }
        for stream in self.open.lock().unwrap().drain(..) {
            if let Some(stream) = stream.upgrade() {
                let _ = stream.shutdown(std::net::Shutdown::Both);
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.fall();
    }
}

fn with_backlog(length: libc::c_int, listener: OwnedFd) -> OwnedFd {
    breaking::listen_with_backlog(&listener, length);
    listener
}

/// The next connection; none when the listener has been shut down.
fn accept(listener: RawFd) -> Option<TcpStream> {
    loop {
        // SAFETY: null pointers ask for no address.
        let fd = unsafe {
            libc::accept4(
                listener,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                libc::SOCK_CLOEXEC,
            )
        };
        if fd >= 0 {
            // SAFETY: `fd` was just opened and has no other owner.
            return Some(unsafe { TcpStream::from_raw_fd(fd) });
        }
        match io::Error::last_os_error().raw_os_error() {
            Some(libc::EINVAL | libc::EBADF | libc::ENOTSOCK) => return None,
            _ => thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Serves a connection as an honest echo server.
pub fn echo(it: &Connection) -> io::Result<()> {
    let mut buffer = [0; 64 << 10];
    loop {
        match it.read(&mut buffer)? {
            [] => return Ok(()),
            bytes => it.write(bytes)?,
        }
    }
}

/// Echoes in pieces of these lengths in turn.
pub fn echo_in_pieces(lengths: Vec<usize>) -> impl Fn(&Connection) -> io::Result<()> {
    move |it| {
        let mut lengths = lengths.iter().cycle();
        let mut buffer = [0; 16 << 10];
        loop {
            let bytes = it.read(&mut buffer)?;
            if bytes.is_empty() {
                return Ok(());
            }
            write_in_pieces(it, bytes, &mut lengths)?;
        }
    }
}

pub fn write_in_pieces<'a>(
    it: &Connection,
    mut bytes: &[u8],
    lengths: &mut impl Iterator<Item = &'a usize>,
) -> io::Result<()> {
    while !bytes.is_empty() {
        let n = lengths.next().map_or(bytes.len(), |&n| n.min(bytes.len()));
        it.write(&bytes[..n])?;
        bytes = &bytes[n..];
        thread::yield_now();
    }
    Ok(())
}

/// Answers every HTTP request with these bytes.
pub fn answer(bytes: &'static [u8]) -> impl Fn(&Connection) -> io::Result<()> {
    move |it| it.requests(|_, _| it.write(bytes))
}

/// Answers one HTTP request with these bytes, says that there will be no more, and reads on: closing
/// with requests unread would send a reset, which may overtake the answer.
pub fn answer_and_end(bytes: &'static [u8]) -> impl Fn(&Connection) -> io::Result<()> {
    move |it| {
        let _ = it.requests(|_, _| {
            it.write(bytes)?;
            Err(io::ErrorKind::Other.into())
        });
        it.stream.shutdown(Shutdown::Write)?;
        while !it.read(&mut [0; 4096])?.is_empty() {}
        Ok(())
    }
}

/// Answers one HTTP request with these bytes and closes.
pub fn answer_and_close(bytes: &'static [u8]) -> impl Fn(&Connection) -> io::Result<()> {
    move |it| {
        let _ = it.requests(|_, _| {
            it.write(bytes)?;
            Err(io::ErrorKind::Other.into())
        });
        Ok(())
    }
}
