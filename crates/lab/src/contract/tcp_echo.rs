//! `tcp-echo`: every byte comes back, in order, unframed, until the client closes its sending
//! side; then the end of the stream.

use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use rand::{Rng, RngExt};

use super::wire::{Fault, QUIET, ReadResult, Wire, excerpt, portion, sending};
use super::{Act, Depth, Visit};

/// Sizes of single messages: tiny ones, both sides of a server's likely buffers (the published Go
/// server reads 24 bytes at a time; a page; a loopback segment of 64 KiB), none a round number
/// only.
const SIZES: [usize; 10] = [1, 6, 25, 100, 1_000, 1_461, 4_096, 4_097, 16_385, 65_537];

/// Messages this large are written and read at the same time: a server that stops reading until
/// its own answers are read would otherwise wait for us while we wait for it.
const CONCURRENT_FROM: usize = 16 * 1024;

/// The large message: more than the default socket buffers of both sides together.
const LARGE: usize = 1 << 20;

/// Fewest bytes that the slow reader sends.
const SLOW: usize = 16 << 20;
/// Bytes that the slow reader sends beyond what the kernel can hold for a server.
const BEYOND_KERNEL: usize = 4 << 20;
const SLOW_BUFFER: usize = 64 * 1024;

/// A server that takes nothing for this long, or longer where it has paused before, has stopped reading.
/// Should it only be slow, all that it takes later must come back all the same.
const STALLED: Duration = Duration::from_millis(300);

/// The slow reader's first reads are small and come with pauses.
const SIPS: usize = 20;

/// Connections used at once by the interleaving step.
const INTERLEAVED: usize = 8;

/// Connections held open at once; the published load of this contract uses 100.
const MANY: usize = 200;

pub(super) const SCRIPT: &[Act] = &[
    Act {
        name: "first-message",
        tried: "32 random bytes sent",
        from: Depth::Quick,
        run: first_message,
    },
    Act {
        name: "sizes",
        tried: "messages of many sizes on one connection",
        from: Depth::Quick,
        run: sizes,
    },
    Act {
        name: "fragments",
        tried: "a message sent byte by byte",
        from: Depth::Quick,
        run: fragments,
    },
    Act {
        name: "pipelined",
        tried: "several messages sent before any answer is read",
        from: Depth::Quick,
        run: pipelined,
    },
    Act {
        name: "interleaved",
        tried: "several connections used in turns",
        from: Depth::Quick,
        run: interleaved,
    },
    Act {
        name: "half-close",
        tried: "a message sent, then the sending side closed",
        from: Depth::Quick,
        run: half_close,
    },
    Act {
        name: "large-message",
        tried: "1 MiB in one message",
        from: Depth::Full,
        run: large,
    },
    Act {
        name: "slow-reader",
        tried: "more than the kernel can hold, from a client that does not read at first",
        from: Depth::Thorough,
        run: slow_reader,
    },
    Act {
        name: "many-connections",
        tried: "200 connections open at once",
        from: Depth::Full,
        run: many,
    },
    Act {
        name: "reset",
        tried: "clients that break off with their answers unread",
        from: Depth::Full,
        run: reset,
    },
];

/// One byte out, the same byte back.
pub(super) fn probe(wire: &Wire) -> io::Result<()> {
    const PROBE: u8 = b'?';
    wire.send(&[PROBE])?;
    let mut answer = [0];
    match wire.hear(&mut answer)? {
        ReadResult::Bytes(_) if answer[0] == PROBE => Ok(()),
        ReadResult::Bytes(_) => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("sent {}, got {}", excerpt(&[PROBE]), excerpt(&answer)),
        )),
        ReadResult::End => Err(io::ErrorKind::UnexpectedEof.into()),
        ReadResult::Silence => Err(io::ErrorKind::TimedOut.into()),
    }
}

fn first_message(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let wire = visit.open()?;
    exchange(&wire, &payload(visit, 32))?;
    wire.expect_quiet(QUIET, "nothing after the bytes that were sent")
}

fn sizes(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let wire = visit.open()?;
    for size in SIZES {
        exchange(&wire, &payload(visit, size))?;
    }
    Ok(())
}

fn fragments(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let wire = visit.open()?;
    let message = payload(visit, 64);
    crumble(&wire, &message, &[1, 2, 31, 63])?;
    expect_echo(&wire, &message)?;
    // A busy server finds several of those bytes together. What waits for its echo comes alone, whatever else the machine
    // does: at the beginning of a connection, and later.
    for wire in [visit.open()?, wire] {
        for byte in payload(visit, 16) {
            exchange(&wire, &[byte])?;
        }
    }
    Ok(())
}

fn pipelined(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let wire = visit.open()?;
    let messages: Vec<Vec<u8>> = (0..16)
        .map(|_| {
            let size = visit.rng.random_range(1..500);
            payload(visit, size)
        })
        .collect();
    for message in &messages {
        send(&wire, message)?;
    }
    messages
        .iter()
        .try_for_each(|message| expect_echo(&wire, message))
}

fn interleaved(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let wires = visit.open_many(INTERLEAVED)?;
    for _ in 0..visit.choose(2, 5) {
        round(visit, &wires, 300)?;
    }
    Ok(())
}

fn half_close(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let wire = visit.open()?;
    let message = payload(visit, visit.choose(3_000, 100_000));
    thread::scope(|scope| {
        sending(scope, || {
            // A failure to send shows in what comes back, which says more.
            let _ = wire.send(&message).and_then(|()| wire.finish_sending());
        })?;
        expect_echo(&wire, &message)
            .and_then(|()| wire.expect_end("the end of the stream once all bytes are back"))
            .inspect_err(|_| wire.hang_up())
    })
}

fn large(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let wire = visit.open()?;
    exchange(&wire, &payload(visit, LARGE))
}

/// A message that does not fit into the kernel's buffers. The client's own are [`SLOW_BUFFER`]; a
/// server's grow to the last numbers of `tcp_rmem` (what it has not read) and `tcp_wmem` (what it has
/// written), the former in earnest only for a server that is slow to read.
fn more_than_kernel_holds() -> usize {
    let most = |name: &str, usual: usize| {
        let text = fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).unwrap_or_default();
        let last = text.split_whitespace().nth(2);
        last.and_then(|n| n.parse().ok()).unwrap_or(usual)
    };
    let held = most("tcp_rmem", 6 << 20) + most("tcp_wmem", 4 << 20);
    SLOW.max(held + BEYOND_KERNEL)
}

/// A client that sends and does not read: the server must stop taking more once its answers are
/// stuck, or any client could fill its memory. Then all of it must come back, first in sips.
fn slow_reader(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let wire = visit.open()?;
    let message = payload(visit, more_than_kernel_holds());
    let refused = |error: &io::Error| Fault::io("the server to take what fits", error);
    wire.shrink_buffers(SLOW_BUFFER).map_err(|e| refused(&e))?;
    let taken = wire
        .send_until_stalled(&message, STALLED)
        .map_err(|e| refused(&e))?;
    if taken == message.len() {
        return Err(Fault::new(
            "the server to stop reading while its answers are not read",
            format!("it took all {taken} bytes"),
        ));
    }
    // All that it has taken must come back, and it must go on; the whole message would take long where
    // the kernel can hold much.
    let message = &message[..message.len().min(SLOW.max(taken + LARGE))];
    thread::scope(|scope| {
        // What came back says more than why the sending stopped, so that is reported.
        sending(scope, || drop(wire.send(&message[taken..])))?;
        let (sips, rest) = message.split_at(SIPS * 4096);
        sips.chunks(4096)
            .try_for_each(|sip| {
                thread::sleep(Duration::from_millis(1));
                expect_echo(&wire, sip)
            })
            .and_then(|()| expect_echo(&wire, rest))
            .inspect_err(|_| wire.hang_up())
    })
}

fn many(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut wires = Vec::with_capacity(MANY);
    for _ in 0..MANY {
        // Each is used before the next is opened: this step is about connections held at once,
        // not about the listen backlog.
        let wire = visit.open()?;
        exchange(&wire, &payload(visit, 8))?;
        wires.push(wire);
    }
    round(visit, &wires, 64)
}

fn reset(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let bystander = visit.open()?;
    exchange(&bystander, &payload(visit, 64))?;
    // Closing with unread bytes sends a reset (RFC 9293, 3.6.1). A small message finds the server
    // reading when the reset comes, a large one finds it writing.
    for size in [64, 256 * 1024, 64] {
        let wire = visit.open()?;
        wire.send_without_waiting(&payload(visit, size))
            .and_then(|()| wire.hear_without_taking())
            .map_err(|error| Fault::io("a new connection to be served", &error))?;
    }
    thread::sleep(QUIET);
    let alive = |fault: Fault| {
        Fault::new(
            format!("the server to live on: {}", fault.expected),
            fault.found,
        )
    };
    exchange(&bystander, &payload(visit, 64)).map_err(alive)?;
    let newcomer = visit.open().map_err(alive)?;
    exchange(&newcomer, &payload(visit, 64)).map_err(alive)
}

/// One message of `size` bytes on each of `wires`: sent in two pieces, in random order; read in
/// another order.
fn round(visit: &mut Visit<'_>, wires: &[Wire], size: usize) -> Result<(), Fault> {
    let messages: Vec<Vec<u8>> = wires.iter().map(|_| payload(visit, size)).collect();
    for half in 0..2 {
        for i in visit.shuffled(wires.len()) {
            let (first, second) = messages[i].split_at(size / 3);
            send(&wires[i], if half == 0 { first } else { second })?;
        }
    }
    for i in visit.shuffled(wires.len()) {
        expect_echo(&wires[i], &messages[i])?;
    }
    Ok(())
}

/// Random bytes, never the same twice.
fn payload(visit: &mut Visit<'_>, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    visit.rng.fill_bytes(&mut bytes);
    bytes
}

fn send(wire: &Wire, message: &[u8]) -> Result<(), Fault> {
    wire.send(message).map_err(|error| {
        Fault::io(
            format!("the server to take {} bytes", message.len()),
            &error,
        )
    })
}

fn crumble(wire: &Wire, message: &[u8], pauses: &[usize]) -> Result<(), Fault> {
    wire.send_in_crumbs(message, pauses).map_err(|error| {
        Fault::io(
            format!("the server to take {} single bytes", message.len()),
            &error,
        )
    })
}

/// Sends a message and reads it back; both at once if it is large.
fn exchange(wire: &Wire, message: &[u8]) -> Result<(), Fault> {
    if message.len() < CONCURRENT_FROM {
        send(wire, message)?;
        return expect_echo(wire, message);
    }
    thread::scope(|scope| {
        // What came back says more than why the sending stopped, so that is reported.
        sending(scope, || drop(wire.send(message)))?;
        expect_echo(wire, message).inspect_err(|_| wire.hang_up())
    })
}

/// Exactly `message` must come back. Compares as it arrives: the first wrong byte ends the step,
/// and nothing needs to be kept.
fn expect_echo(wire: &Wire, message: &[u8]) -> Result<(), Fault> {
    let size = message.len();
    let cut = |why: &str, at: usize| {
        let found = format!("{why} after {}", portion(at, size));
        Fault::new(format!("all {size} bytes back"), found)
    };
    let mut buf = [0; 16 * 1024];
    let mut at = 0;
    while at < size {
        let room = buf.len().min(size - at);
        match wire.hear(&mut buf[..room]) {
            Ok(ReadResult::Bytes(n)) => {
                let wanted = &message[at..at + n];
                if let Some(k) = buf[..n].iter().zip(wanted).position(|(a, b)| a != b) {
                    return Err(Fault::new(
                        format!(
                            "byte {} of {size} onwards to be {}",
                            at + k,
                            head(&wanted[k..])
                        ),
                        head(&buf[k..n]),
                    ));
                }
                at += n;
            }
            Ok(ReadResult::End) => return Err(cut("the end of the stream", at)),
            Ok(ReadResult::Silence) => return Err(cut(&wire.patience().ran_out(), at)),
            Err(error) => return Err(cut(&super::wire::describe(&error), at)),
        }
    }
    Ok(())
}

/// The first few bytes of a difference.
fn head(bytes: &[u8]) -> String {
    excerpt(&bytes[..bytes.len().min(12)])
}
