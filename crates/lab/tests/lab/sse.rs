//! The contract sse: an honest server passes, and each cheat is caught by the step meant for it.

use crate::support::{inspect, serve};
use prony_lab::contract::{Contract, Depth, Inspection};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

/// A stream that is asked for.
struct Asked {
    events: u64,
    gap: Duration,
    word: String,
}

/// How a server answers.
#[derive(Clone, Copy)]
struct Ways {
    content_type: &'static str,
    /// The bytes of an event, by its number.
    event: fn(&Asked, u64) -> String,
    /// How many events there are.
    events: fn(&Asked) -> u64,
    gap: fn(&Asked) -> Duration,
    end: &'static str,
    /// Everything is written at the end.
    held_back: bool,
    /// One stream at a time.
    one: bool,
}

const HONEST: Ways = Ways {
    content_type: "text/event-stream",
    event: |asked, nth| format!("data: {} {nth}\n\n", asked.word),
    events: |asked| asked.events,
    gap: |asked| asked.gap,
    end: "data: [DONE]\n\n",
    held_back: false,
    one: false,
};

static ONE: Mutex<()> = Mutex::new(());

/// The next request head, and what is behind it; None: the connection ends.
fn head(stream: &mut TcpStream, heard: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some(at) = heard.windows(4).position(|part| part == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&heard[..at]).into_owned();
            heard.drain(..at + 4);
            return Some(head);
        }
        let mut piece = [0; 4096];
        match stream.read(&mut piece) {
            Ok(n @ 1..) => heard.extend_from_slice(&piece[..n]),
            _ => return None,
        }
    }
}

fn asked(head: &str) -> Option<Asked> {
    let target = head.split(' ').nth(1)?;
    let parts: Vec<&str> = target.split('/').collect();
    let ["", "events", events, gap, word] = parts[..] else {
        return None;
    };
    Some(Asked {
        events: events.parse().ok()?,
        gap: Duration::from_millis(gap.parse().ok()?),
        word: word.to_owned(),
    })
}

fn converse(mut stream: TcpStream, ways: &Ways) -> std::io::Result<()> {
    let mut heard = Vec::new();
    while let Some(head) = head(&mut stream, &mut heard) {
        let Some(asked) = asked(&head) else {
            stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?;
            continue;
        };
        let _turn = ways.one.then(|| ONE.lock().unwrap());
        let mut held = Vec::new();
        let mut send = |bytes: &[u8]| match ways.held_back {
            true => held.write_all(bytes),
            false => stream.write_all(bytes),
        };
        let kind = ways.content_type;
        let head_of_answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        send(head_of_answer.as_bytes())?;
        let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len()).into_bytes();
        for nth in 1..=(ways.events)(&asked) {
            if nth > 1 {
                thread::sleep((ways.gap)(&asked));
            }
            send(&chunk(&(ways.event)(&asked, nth)))?;
        }
        if !ways.end.is_empty() {
            send(&chunk(ways.end))?;
        }
        send(b"0\r\n\r\n")?;
        stream.write_all(&held)?;
        if head.contains("Connection: close") {
            return Ok(());
        }
    }
    Ok(())
}

fn server(ways: Ways) -> SocketAddr {
    serve(move |stream, _| {
        // A client that leaves is no fault.
        let _ = converse(stream, &ways);
    })
}

#[test]
fn an_honest_server_passes() {
    let in_another_form = Ways {
        event: |asked, nth| format!(": note\r\nid: {nth}\r\ndata:{} {nth}\r\n\r\n", asked.word),
        content_type: "text/event-stream;charset=utf-8",
        ..HONEST
    };
    for ways in [HONEST, in_another_form] {
        let addr = server(ways);
        for (depth, seeds) in [(Depth::Quick, 5), (Depth::Thorough, 2)] {
            for seed in 0..seeds {
                let how = Inspection::new(depth, seed);
                if let Err(violation) = inspect(Contract::Sse, addr, &how) {
                    panic!("seed {seed}, {depth:?}: {violation}");
                }
            }
        }
    }
}

fn caught(step: &str, said: &str, ways: Ways) {
    // Long enough for the steps before it on a busy machine.
    let how = Inspection::new(Depth::Full, 1).within(Duration::from_secs(2));
    match inspect(Contract::Sse, server(ways), &how) {
        Ok(_) => panic!("the cheat went unnoticed"),
        Err(violation) => {
            assert_eq!(violation.step, step, "{violation}");
            assert!(violation.to_string().contains(said), "{said}: {violation}");
        }
    }
}

#[test]
fn other_events() {
    let word = |asked: &Asked, nth: u64| format!("data: {} {}\n\n", asked.word, nth - 1);
    caught(
        "events",
        " in event 1; found ",
        Ways {
            event: word,
            ..HONEST
        },
    );
    let constant = |_: &Asked, nth: u64| format!("data: word {nth}\n\n");
    caught(
        "events",
        " in event 1; found ",
        Ways {
            event: constant,
            ..HONEST
        },
    );
}

#[test]
fn fewer_or_more_events() {
    let fewer = |asked: &Asked| asked.events.saturating_sub(1);
    caught(
        "events",
        " in event 1; found ",
        Ways {
            events: fewer,
            ..HONEST
        },
    );
    let more = |asked: &Asked| asked.events + 1;
    caught(
        "events",
        "\"[DONE]\" in event 2; found ",
        Ways {
            events: more,
            ..HONEST
        },
    );
    let none = Ways { end: "", ..HONEST };
    caught("events", "; found 1 events", none);
    let cut = Ways {
        end: "data: [DONE]\n",
        ..HONEST
    };
    caught("events", "a stream that ends after an event", cut);
}

#[test]
fn another_media_type() {
    let plain = Ways {
        content_type: "text/plain",
        ..HONEST
    };
    caught("events", "Content-Type: text/event-stream", plain);
}

#[test]
fn events_that_do_not_wait() {
    let at_once = |_: &Asked| Duration::ZERO;
    caught(
        "as-they-come",
        "no earlier than",
        Ways {
            gap: at_once,
            ..HONEST
        },
    );
}

// Slow: each of 5 streams is held back for 0.2 s.
#[test]
fn events_that_are_held_back() {
    caught(
        "as-they-come",
        "held back until the end",
        Ways {
            held_back: true,
            ..HONEST
        },
    );
}

// Slow: the second stream is waited for in vain, for 2 s.
#[test]
fn one_stream_at_a_time() {
    caught(
        "streams-at-once",
        " on each of 8 connections",
        Ways {
            one: true,
            ..HONEST
        },
    );
}
