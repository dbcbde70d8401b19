//! The clockwork server against real sockets. What it promises about time is that no reply comes
//! early, which these tests demand; how late replies are is reported, not tested.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::client::{connect, expect_echo, pattern, read_answer, read_to_end};
use prony_reference::clockwork::{ClockworkReport, ClockworkServer, Options, ReplyScript};
use prony_reference::{Contract, Error};

/// A server in this process, stopped when it is asked for its report.
struct Running {
    address: SocketAddr,
    origin_ns: u64,
    stop: &'static AtomicBool,
    thread: JoinHandle<Result<ClockworkReport, Error>>,
}

impl Running {
    fn start(change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options::new("127.0.0.1:0".parse().unwrap());
        change(&mut options);
        let server = ClockworkServer::bind(&options).unwrap();
        let stop: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
        Self {
            address: server.local_addr(),
            origin_ns: server.origin_ns(),
            stop,
            thread: std::thread::spawn(move || server.run(stop)),
        }
    }

    fn stop(self) -> ClockworkReport {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap().unwrap()
    }
}

fn delayed(delay: &str) -> ReplyScript {
    ReplyScript {
        delay: delay.parse().unwrap(),
        ..ReplyScript::default()
    }
}

/// How long one echo takes.
fn time(stream: &TcpStream, message: &[u8]) -> Duration {
    let start = Instant::now();
    expect_echo(stream, message);
    start.elapsed()
}

#[test]
fn without_a_script_it_is_a_plain_echo_server() {
    let server = Running::start(|_| ());
    let stream = connect(server.address);
    for length in [1, 6, 1 << 20, 16 << 20] {
        expect_echo(&stream, &pattern(length));
    }
    for length in [0, 5, 100_000] {
        let mut stream = connect(server.address);
        stream.write_all(&pattern(length)).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        assert!(read_to_end(&stream) == pattern(length));
    }
    let streams: Vec<TcpStream> = (0..200).map(|_| connect(server.address)).collect();
    for stream in &streams {
        expect_echo(stream, b"hello\n");
    }
    let report = server.stop();
    assert!(report.requests >= 206, "{report}");
}

#[test]
fn no_reply_is_early() {
    for sleep in [false, true] {
        let server = Running::start(|options| {
            options.script = delayed("uniform:20ms..30ms");
            options.sleep = sleep;
        });
        let stream = connect(server.address);
        for _ in 0..5 {
            assert!(time(&stream, b"hello\n") >= Duration::from_millis(20));
        }
        let report = server.stop();
        assert_eq!((report.requests, report.replies), (5, 5));
    }
}

#[test]
fn messages_are_counted_in_bytes() {
    let server = Running::start(|options| {
        options.script = delayed("10ms");
        options.message = NonZeroUsize::new(6);
    });
    let mut stream = connect(server.address);
    for byte in b"hello\n".repeat(20) {
        stream.write_all(&[byte]).unwrap();
    }
    stream.write_all(b"rest").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(
        read_to_end(&stream),
        [&b"hello\n".repeat(20)[..], b"rest"].concat()
    );
    assert_eq!(server.stop().requests, 21);
}

#[test]
fn a_queue_serves_connections_one_after_the_other() {
    let server = Running::start(|options| {
        options.script = ReplyScript {
            queue: true,
            ..delayed("20ms")
        };
    });
    let streams = [(); 5].map(|()| connect(server.address));
    let start = Instant::now();
    for mut stream in &streams {
        stream.write_all(b"hello\n").unwrap();
    }
    for mut stream in &streams {
        stream.read_exact(&mut [0; 6]).unwrap();
    }
    assert!(start.elapsed() >= Duration::from_millis(100));
    server.stop();
}

#[test]
fn what_is_asked_in_a_stall_is_answered_after_it() {
    let (every, length) = (200_000_000, 100_000_000);
    let server = Running::start(|options| {
        options.script.stall = Some("100ms/200ms".parse().unwrap());
    });
    let stream = connect(server.address);
    let since_origin = || monotonic_ns() - server.origin_ns;
    let mut asked_in_stalls = 0;
    while asked_in_stalls < 3 {
        let asked = since_origin();
        if asked < every || asked % every >= length {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        asked_in_stalls += 1;
        expect_echo(&stream, b"hello\n");
        assert!(since_origin() >= asked - asked % every + length);
    }
    server.stop();
}

/// CLOCK_MONOTONIC, as the server reads it.
fn monotonic_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a timespec of our own, alive during the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[test]
fn http_is_delayed_in_order_and_closed_after_the_reply() {
    let server = Running::start(|options| {
        options.contract = Contract::HttpEcho;
        options.script = delayed("bimodal:1ms,20ms,0.5");
    });
    let mut stream = connect(server.address);
    let many: String = (0..50)
        .map(|number| format!("GET /{number} HTTP/1.1\r\nHost: x\r\n\r\n"))
        .collect();
    stream.write_all(many.as_bytes()).unwrap();
    for number in 0..50 {
        let body = read_answer(&stream, true).body;
        assert!(body.starts_with(&format!("/{number} at ")), "{body}");
    }
    stream.write_all(b"GET /last HTTP/1.0\r\n\r\n").unwrap();
    assert!(read_answer(&stream, true).body.starts_with("/last at "));
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);

    let mut stream = connect(server.address);
    stream.write_all(b"nonsense\r\n\r\n").unwrap();
    assert_eq!(read_answer(&stream, true).status, 400);
    stream.write_all(&pattern(100_000)).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    assert_eq!(server.stop().requests, 52);
}

#[test]
fn in_two_pieces_the_bytes_are_the_same() {
    let server = Running::start(|options| options.nagle = true);
    let stream = connect(server.address);
    for length in [1, 2, 7, 100_000] {
        expect_echo(&stream, &pattern(length));
    }
    server.stop();
}

#[test]
fn a_reset_does_not_affect_other_connections() {
    let server = Running::start(|options| options.script = delayed("1ms"));
    let other = connect(server.address);
    for _ in 0..20 {
        let mut stream = connect(server.address);
        stream.write_all(&pattern(100_000)).unwrap();
        stream.read_exact(&mut [0]).unwrap();
        drop(stream); // with unread data: a reset
        expect_echo(&other, b"hello\n");
    }
    server.stop();
}
