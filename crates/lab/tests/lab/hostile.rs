//! Hostile servers: whatever they send, or do not send, a verifier ends in time and keeps no more
//! than a little of it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{inspect, serve};
use prony_lab::contract::{Contract, Depth, Inspection, Violation};

/// The limit on silence.
const LIMIT: Duration = Duration::from_millis(500);
/// Time after which a verification counts as hanging: many times what any of these takes.
const HANGS: Duration = Duration::from_secs(60);

/// Verification must fail, and so must a probe.
fn ends_in_time(contract: Contract, addr: SocketAddr) -> Violation {
    let start = Instant::now();
    let violation = inspect(
        contract,
        addr,
        &Inspection::new(Depth::Full, 1).within(LIMIT),
    )
    .expect_err("no honest server does this");
    let took = start.elapsed();
    assert!(took < HANGS, "{took:?} for {violation}");
    let line = violation.to_string();
    assert!(
        line.len() < 500 && !line.contains('\n'),
        "not one line: {line}"
    );
    let start = Instant::now();
    let _ = contract.probe(addr, LIMIT);
    assert!(
        start.elapsed() < HANGS,
        "the probe took {:?}",
        start.elapsed()
    );
    violation
}

/// Sends `head` and then `more` for ever; counts what was taken.
fn endless(head: &'static [u8], more: &'static [u8]) -> (SocketAddr, Arc<AtomicU64>) {
    let taken = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&taken);
    let block = more.repeat(64 * 1024 / more.len());
    let addr = serve(move |mut stream, _| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(head);
        while stream.write_all(&block).is_ok() {
            count.fetch_add(block.len() as u64, Ordering::Relaxed);
        }
    });
    (addr, taken)
}

#[test]
fn endless_answers_are_not_swallowed() {
    const OK: &[u8] = b"HTTP/1.1 200 OK\r\n";
    let cases: [(&[u8], &[u8]); 8] = [
        (b"HTTP/1.1 200 ", b"O"),
        (OK, b"X: y\r\n"),
        (b"HTTP/1.1 200 OK\r\nX: ", b"y"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n",
            b"body",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n",
            b"body",
        ),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"body"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"4\r\nbody\r\n",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
            b"Trailer: x\r\n",
        ),
    ];
    // What a verifier does not read stays in the socket's buffers, which the kernel bounds: 6 MiB
    // to receive and 4 to send by default. Every verification and probe opens a connection.
    const BUFFERS: u64 = 2 * 10 * 1024 * 1024;
    for (head, more) in cases {
        for contract in Contract::ALL {
            let (addr, taken) = endless(head, more);
            let violation = ends_in_time(contract, addr);
            let taken = taken.load(Ordering::Relaxed);
            assert!(taken < BUFFERS, "{taken} bytes taken before {violation}");
        }
    }
}

// Slow: 70 verifications and as many probes; some wait for 0.5 s of silence.
#[test]
fn garbage_is_refused() {
    let cases: [&[u8]; 7] = [
        b"\0\xff\x80\x01garbage\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
        b"\r\n\r\n\r\n\r\n",
    ];
    for garbage in cases {
        for contract in Contract::ALL {
            let addr = serve(move |mut stream, _| {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(garbage);
                let _ = stream.read(&mut [0; 4096]);
            });
            ends_in_time(contract, addr);
        }
    }
}

/// Reads one byte after the other, and after each pauses and calls `answer`.
fn dripping(answer: impl Fn(&mut TcpStream, u8) + Send + Sync + 'static) -> SocketAddr {
    serve(move |mut stream, _| {
        let mut byte = [0];
        while let Ok(1) = stream.read(&mut byte) {
            thread::sleep(Duration::from_millis(20));
            answer(&mut stream, byte[0]);
        }
    })
}

#[test]
fn an_endless_drip_ends_at_the_ceiling() {
    // There is never a silence as long as this.
    let how = Inspection::new(Depth::Full, 1).within(HANGS).at_most(LIMIT);
    // A head that never ends.
    let head = dripping(|stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"X: y\r\n").is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    });
    // A right echo, but one that would take minutes.
    let echo = dripping(|stream, byte| {
        let _ = stream.write_all(&[byte]);
    });
    for (contract, addr) in [(Contract::HttpEcho, head), (Contract::TcpEcho, echo)] {
        let start = Instant::now();
        let violation = inspect(contract, addr, &how).expect_err("it takes too long");
        let limit = "the limit of 0.5 s for a step reached";
        assert!(violation.found.contains(limit), "{violation}");
        assert!(start.elapsed() < HANGS, "{:?}", start.elapsed());
    }
}

/// The steps take longer than the limit on silence, and no pause comes near it.
// Slow: 10 ms for every 256 bytes, and one of the steps sends 92,708 bytes.
#[test]
fn a_slow_but_steady_server_passes() {
    const SILENCE: Duration = Duration::from_secs(2);
    let addr = serve(|mut stream, _| {
        let mut buf = [0; 256];
        while let Ok(n @ 1..) = stream.read(&mut buf) {
            thread::sleep(Duration::from_millis(10));
            if stream.write_all(&buf[..n]).is_err() {
                return;
            }
        }
    });
    let how = Inspection::new(Depth::Quick, 1).within(SILENCE);
    let verified = inspect(Contract::TcpEcho, addr, &how).expect("an honest server");
    let sizes = verified.steps.iter().find(|step| step.name == "sizes");
    let took = sizes.expect("it was taken").took;
    assert!(took > SILENCE, "{took:?} shows nothing");
}

// Slow: 10 contracts, each with 0.5 s of silence in a verification, and 0.5 s in a probe.
#[test]
fn a_server_that_takes_nothing_ends_in_time() {
    let addr = serve(|stream, _| {
        thread::sleep(Duration::from_secs(60));
        drop(stream);
    });
    for contract in Contract::ALL {
        ends_in_time(contract, addr);
    }
}

/// The first messages pass; then the large one meets a server that has stopped reading.
#[test]
fn a_server_that_stops_reading_ends_in_time() {
    let addr = serve(|mut stream, _| {
        let mut buf = [0; 8192];
        let mut total = 0;
        while let Ok(n @ 1..) = stream.read(&mut buf) {
            let _ = stream.write_all(&buf[..n]);
            total += n;
            if total > 150_000 {
                thread::sleep(Duration::from_secs(60));
            }
        }
    });
    // Long enough for the steps before, also on a busy machine.
    let how = Inspection::new(Depth::Full, 1).within(LIMIT * 4);
    let violation = inspect(Contract::TcpEcho, addr, &how).expect_err("it stops");
    assert_eq!(violation.step, "large-message", "{violation}");
    assert!(
        violation.found.contains("silence for 2.0 s after 0."),
        "{violation}"
    );
    assert!(violation.found.ends_with("of 1.0 MB"), "{violation}");
}

// Slow: 10 contracts, each with 0.5 s of silence in a verification, and 0.5 s in a probe.
#[test]
fn connections_never_accepted_end_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = listener.local_addr().expect("an address");
    for contract in Contract::ALL {
        ends_in_time(contract, addr);
    }
}

#[test]
fn a_port_without_a_listener_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = listener.local_addr().expect("an address");
    drop(listener);
    for contract in Contract::ALL {
        let violation = ends_in_time(contract, addr);
        assert!(violation.found.contains("refused"), "{violation}");
        let error = contract.probe(addr, LIMIT).expect_err("nothing listens");
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
    }
}

// Slow: 10 contracts, each with a probe of a server that is silent for 0.5 s.
#[test]
fn a_probe_wants_an_answer_not_just_a_connection() {
    use std::io::ErrorKind::{InvalidData, TimedOut, UnexpectedEof};
    let silent = serve(|stream, _| {
        thread::sleep(Duration::from_secs(60));
        drop(stream);
    });
    let closing = serve(|mut stream, _| {
        let _ = stream.read(&mut [0; 4096]);
    });
    let wrong = serve(|mut stream, _| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"220 mail.example ESMTP\r\n");
    });
    for contract in Contract::ALL {
        for (addr, kind) in [
            (silent, TimedOut),
            (closing, UnexpectedEof),
            (wrong, InvalidData),
        ] {
            let error = contract.probe(addr, LIMIT).expect_err("not ready");
            assert_eq!(error.kind(), kind, "{contract}: {error}");
        }
    }
}
