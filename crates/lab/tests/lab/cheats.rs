//! Servers that cheat, each in its own way: every one must be caught, by the step meant for it.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use crate::support::{echo, http, inspect, now, plain, right, serve};
use prony_lab::contract::{Contract, Depth, Inspection};

const BOTH: [Depth; 2] = [Depth::Quick, Depth::Full];

/// The server at `addr` must fail at `step`; with several seeds, at every depth given.
fn caught_at(contract: Contract, depths: &[Depth], step: &str, addr: SocketAddr) {
    for &depth in depths {
        for seed in 1..=2 {
            caught_once(contract, depth, seed, step, addr);
        }
    }
}

fn caught_once(contract: Contract, depth: Depth, seed: u64, step: &str, addr: SocketAddr) {
    // Silent cheats cost this much each; for the steps before it is long also on a busy machine.
    let how = Inspection::new(depth, seed).within(Duration::from_secs(2));
    match inspect(contract, addr, &how) {
        Ok(_) => panic!("seed {seed}, {depth:?}: the cheat went unnoticed"),
        Err(violation) => {
            assert_eq!(violation.step, step, "{violation}");
            let line = violation.to_string();
            assert!(
                line.len() < 500 && !line.contains('\n'),
                "not one line: {line}"
            );
        }
    }
}

/// The same with a fresh server each time, for cheats that remember earlier connections.
fn caught_freshly(contract: Contract, step: &str, server: impl Fn() -> SocketAddr) {
    for depth in BOTH {
        caught_once(contract, depth, 1, step, server());
    }
}

fn echo_caught(step: &str, addr: SocketAddr) {
    caught_at(Contract::TcpEcho, &BOTH, step, addr);
}

fn http_caught(step: &str, addr: SocketAddr) {
    caught_at(Contract::HttpEcho, &BOTH, step, addr);
}

mod tcp_echo {
    use super::*;

    #[test]
    fn a_constant_answer() {
        echo_caught("first-message", echo(|_, _, bytes| vec![b'x'; bytes.len()]));
    }

    #[test]
    fn the_first_answer_cached() {
        // Cached per connection: across connections the very first step would see it.
        let addr = serve(|mut stream, _| {
            let mut cache: Vec<u8> = Vec::new();
            let mut buf = [0; 8192];
            while let Ok(n @ 1..) = stream.read(&mut buf) {
                if cache.is_empty() {
                    cache = buf[..n].to_vec();
                }
                let answer: Vec<u8> = cache.iter().copied().cycle().take(n).collect();
                if stream.write_all(&answer).is_err() {
                    return;
                }
            }
        });
        echo_caught("sizes", addr);
    }

    // Slow: waits for 2 s of silence, with 2 depths x 2 seeds.
    #[test]
    fn only_the_first_byte_read() {
        echo_caught("first-message", echo(|_, _, bytes| bytes[..1].to_vec()));
    }

    #[test]
    fn the_right_length_with_the_first_byte_repeated() {
        echo_caught(
            "first-message",
            echo(|_, _, bytes| vec![bytes[0]; bytes.len()]),
        );
    }

    // Slow: waits for 2 s of silence, with 2 depths x 2 seeds.
    #[test]
    fn only_the_first_bytes_of_a_message() {
        echo_caught(
            "sizes",
            echo(|_, _, bytes| bytes[..bytes.len().min(1024)].to_vec()),
        );
    }

    // Slow: waits for 2 s of silence, with 2 depths x 2 seeds.
    #[test]
    fn only_the_first_segment_of_a_connection() {
        let addr = serve(|mut stream, _| {
            let mut buf = [0; 64];
            let n = stream.read(&mut buf).unwrap_or(0);
            let _ = stream.write_all(&buf[..n]);
            while let Ok(1..) = stream.read(&mut buf) {}
        });
        echo_caught("sizes", addr);
    }

    #[test]
    fn segments_shorter_than_a_message_ignored() {
        // A single byte is answered only as a connection's first.
        let addr = echo(|_, before, bytes| {
            let lone = bytes.len() == 1 && (1..64).contains(&before);
            if lone { Vec::new() } else { bytes.to_vec() }
        });
        echo_caught("fragments", addr);
    }

    #[test]
    fn every_thousandth_byte_dropped() {
        let addr = echo(|_, before, bytes| {
            let kept = bytes
                .iter()
                .enumerate()
                .filter(|(i, _)| (before + i + 1) % 1000 != 0);
            kept.map(|(_, &byte)| byte).collect()
        });
        echo_caught("sizes", addr);
    }

    // Slow: waits for 2 s of silence, with 2 depths.
    #[test]
    fn answers_swapped_between_connections() {
        let server = || {
            let live: Mutex<BTreeMap<usize, TcpStream>> = Mutex::default();
            serve(move |mut stream, number| {
                let own = stream.try_clone().expect("a live socket");
                live.lock().unwrap().insert(number, own);
                let mut buf = [0; 8192];
                while let Ok(n @ 1..) = stream.read(&mut buf) {
                    let live = live.lock().unwrap();
                    // With eight at once, as the interleaving step has, the next one gets it.
                    let next = live.range(number + 1..).chain(live.iter()).next();
                    let next = next.filter(|_| live.len() >= 8).map(|(_, stream)| stream);
                    if next.unwrap_or(&stream).write_all(&buf[..n]).is_err() {
                        break;
                    }
                }
                live.lock().unwrap().remove(&number);
            })
        };
        caught_freshly(Contract::TcpEcho, "interleaved", server);
    }

    // Slow: waits for 2 s of silence, with 2 depths x 2 seeds.
    #[test]
    fn no_answer_ever() {
        echo_caught("first-message", echo(|_, _, _| Vec::new()));
    }

    #[test]
    fn closed_at_once() {
        echo_caught("first-message", serve(|stream, _| drop(stream)));
    }

    #[test]
    fn junk_appended() {
        let addr = echo(|_, _, bytes| [bytes, b"!"].concat());
        echo_caught("first-message", addr);
    }

    #[test]
    fn junk_appended_at_the_end_of_the_stream() {
        let addr = serve(|mut stream, _| {
            let mut buf = [0; 8192];
            while let Ok(n @ 1..) = stream.read(&mut buf) {
                let _ = stream.write_all(&buf[..n]);
            }
            let _ = stream.write_all(b"bye\n");
        });
        echo_caught("half-close", addr);
    }

    // Slow: waits for 2 s of silence, with 2 depths x 2 seeds.
    #[test]
    fn a_half_close_ignored() {
        let addr = serve(|mut stream, _| {
            let mut buf = [0; 8192];
            while let Ok(n @ 1..) = stream.read(&mut buf) {
                let _ = stream.write_all(&buf[..n]);
            }
            thread::sleep(Duration::from_secs(60));
        });
        echo_caught("half-close", addr);
    }

    // Slow: each read is answered 20 ms late, in all steps up to this one, with 2 depths x 2 seeds.
    #[test]
    fn bytes_lost_at_a_half_close() {
        // Answers late, and drops what is still to be sent when the client has nothing to add.
        let addr = serve(|mut stream, _| {
            let (send, receive) = std::sync::mpsc::channel::<Vec<u8>>();
            let mut late = stream.try_clone().expect("a live socket");
            thread::spawn(move || {
                for bytes in receive {
                    thread::sleep(Duration::from_millis(20));
                    let _ = late.write_all(&bytes);
                }
            });
            let mut buf = vec![0; 8192];
            while let Ok(n @ 1..) = stream.read(&mut buf) {
                let _ = send.send(buf[..n].to_vec());
            }
            let _ = stream.shutdown(Shutdown::Both);
        });
        echo_caught("half-close", addr);
    }

    // Slow: waits for 2 s of silence, with 2 seeds.
    #[test]
    fn a_large_message_cut_short() {
        let addr = echo(|_, before, bytes| {
            let room = 500_000_usize.saturating_sub(before);
            bytes[..bytes.len().min(room)].to_vec()
        });
        caught_at(Contract::TcpEcho, &[Depth::Full], "large-message", addr);
    }

    /// Reads everything that comes and writes it when it can: any client can fill its memory.
    fn hoarder() -> SocketAddr {
        serve(|stream, _| {
            let mut reader = stream.try_clone().expect("a live socket");
            let (send, receive) = std::sync::mpsc::channel::<Vec<u8>>();
            let mut writer = stream;
            thread::spawn(move || {
                while let Ok(bytes) = receive.recv() {
                    if writer.write_all(&bytes).is_err() {
                        return;
                    }
                }
                let _ = writer.shutdown(Shutdown::Both);
            });
            let mut buf = [0; 65_536];
            while let Ok(n @ 1..) = reader.read(&mut buf) {
                let _ = send.send(buf[..n].to_vec());
            }
        })
    }

    #[test]
    fn everything_taken_from_a_client_that_does_not_read() {
        let how = Inspection::new(Depth::Thorough, 1);
        let violation = inspect(Contract::TcpEcho, hoarder(), &how).unwrap_err();
        assert_eq!(violation.step, "slow-reader", "{violation}");
        assert!(violation.found.contains("took all"), "{violation}");
    }

    #[test]
    fn a_known_limit_is_left_out_or_proven() {
        let known = BTreeMap::from([("slow-reader".to_owned(), "no back-pressure".to_owned())]);
        let how = |depth| Inspection::new(depth, 1).knowing(&known);
        let addr = hoarder();
        let quick = inspect(Contract::TcpEcho, addr, &how(Depth::Full)).unwrap();
        assert!(quick.steps.iter().all(|step| step.limit.is_none()));
        let proven = inspect(Contract::TcpEcho, addr, &how(Depth::Thorough)).unwrap();
        let found = |name| {
            let step = proven.steps.iter().find(|step| step.name == name);
            step.unwrap().limit.clone()
        };
        assert!(found("slow-reader").unwrap().contains("took all"));
        assert_eq!(found("half-close"), None);
    }

    #[test]
    fn a_known_limit_that_is_gone_must_be_taken_out() {
        let known = BTreeMap::from([("sizes".to_owned(), "too hard".to_owned())]);
        let addr = echo(|_, _, bytes| bytes.to_vec());
        let how = Inspection::new(Depth::Thorough, 1).knowing(&known);
        let violation = inspect(Contract::TcpEcho, addr, &how).unwrap_err();
        assert_eq!(violation.step, "sizes");
        assert!(
            violation.found.contains("[expected_failures]"),
            "{violation}"
        );
    }

    #[test]
    fn only_the_first_connections_served() {
        let addr = echo(|number, _, bytes| {
            if number < 100 {
                bytes.to_vec()
            } else {
                Vec::new()
            }
        });
        caught_once(Contract::TcpEcho, Depth::Full, 1, "many-connections", addr);
    }

    #[test]
    fn dead_after_a_reset() {
        for seed in 1..=5 {
            let dead = AtomicBool::new(false);
            let addr = serve(move |mut stream, _| {
                let mut buf = [0; 8192];
                while !dead.load(Ordering::Relaxed) {
                    match stream.read(&mut buf) {
                        Ok(0) => return,
                        Ok(n) if stream.write_all(&buf[..n]).is_ok() => {}
                        _ => dead.store(true, Ordering::Relaxed),
                    }
                }
            });
            caught_once(Contract::TcpEcho, Depth::Full, seed, "reset", addr);
        }
    }
}

mod http_echo {
    use super::*;

    /// Answers right but for the body, which `body` makes from the target.
    fn http_body(body: impl Fn(&str) -> String + Send + Sync + 'static) -> SocketAddr {
        http(move |_, request| plain(&body(&request.target)))
    }

    /// Answers each read of at most `size` bytes as if it were a request, if `whole` says so.
    fn answer_each_read(size: usize, whole: fn(&[u8]) -> bool) -> SocketAddr {
        serve(move |mut stream, _| {
            let mut buf = vec![0; size];
            while let Ok(n @ 1..) = stream.read(&mut buf) {
                if whole(&buf[..n]) {
                    let _ = stream.write_all(&right(&crate::support::parse(&buf[..n]).target));
                }
            }
        })
    }

    #[test]
    fn a_constant_answer() {
        http_caught("answer", http_body(|_| format!("/hello at {}", now())));
    }

    #[test]
    fn the_first_answer_cached() {
        let server = || {
            let cache = OnceLock::new();
            http(move |_, request| cache.get_or_init(|| right(&request.target)).clone())
        };
        caught_freshly(Contract::HttpEcho, "distinct-targets", server);
    }

    #[test]
    fn the_query_left_out() {
        let addr = http_body(|target| {
            format!(
                "{} at {}",
                target.split('?').next().unwrap_or_default(),
                now()
            )
        });
        http_caught("distinct-targets", addr);
    }

    #[test]
    fn the_target_decoded() {
        let addr = http_body(|target| format!("{} at {}", target.replace("%20", " "), now()));
        http_caught("distinct-targets", addr);
    }

    #[test]
    fn only_the_first_byte_read() {
        let addr = serve(|mut stream, _| {
            let mut buf = [0];
            if let Ok(1) = stream.read(&mut buf) {
                let _ = stream.write_all(&right("/"));
                let _ = stream.read(&mut [0; 4096]);
            }
        });
        http_caught("answer", addr);
    }

    // Slow: waits for 2 s of silence, with 2 depths x 2 seeds.
    #[test]
    fn a_fixed_number_of_bytes_read() {
        let addr = serve(|mut stream, _| {
            let mut buf = [0; 64];
            while stream.read_exact(&mut buf).is_ok() {
                let _ = stream.write_all(&right(&crate::support::parse(&buf).target));
            }
        });
        http_caught("distinct-targets", addr);
    }

    #[test]
    fn each_read_taken_for_a_request() {
        http_caught("complete-request", answer_each_read(8192, |_| true));
    }

    #[test]
    fn reads_without_an_end_forgotten() {
        http_caught(
            "complete-request",
            answer_each_read(8192, |read| read.ends_with(b"\r\n\r\n")),
        );
    }

    #[test]
    fn the_request_line_answered() {
        let addr = serve(|mut stream, _| {
            let mut heard = Vec::new();
            let mut byte = [0];
            while let Ok(1) = stream.read(&mut byte) {
                heard.push(byte[0]);
                if heard.starts_with(b"GET ") && heard.ends_with(b"HTTP/1.1\r\n") {
                    let _ = stream.write_all(&right(&crate::support::parse(&heard).target));
                }
                if heard.ends_with(b"\r\n\r\n") {
                    heard.clear();
                }
            }
        });
        http_caught("complete-request", addr);
    }

    #[test]
    fn the_last_byte_not_awaited() {
        let addr = serve(|mut stream, _| {
            let mut heard = Vec::new();
            let mut byte = [0];
            while let Ok(1) = stream.read(&mut byte) {
                heard.push(byte[0]);
                if heard.ends_with(b"\r\n\r") {
                    let _ = stream.write_all(&right(&crate::support::parse(&heard).target));
                    heard.clear();
                }
            }
        });
        http_caught("complete-request", addr);
    }

    #[test]
    fn answers_swapped_between_connections() {
        let server = || {
            let last: Mutex<BTreeMap<usize, String>> = Mutex::default();
            serve(move |mut stream, number| {
                let own = stream.try_clone().expect("a live socket");
                let mut requests = crate::support::Requests::new(own);
                last.lock().unwrap().insert(number, "/".to_owned());
                while let Some(request) = requests.next() {
                    let mut last = last.lock().unwrap();
                    last.insert(number, request.target.clone());
                    // With eight at once, as the interleaving step has, the next one's is given.
                    let next = last.range(number + 1..).chain(last.iter()).next();
                    let next = next
                        .filter(|_| last.len() >= 8)
                        .map(|(_, target)| target.clone());
                    drop(last);
                    let _ = stream.write_all(&right(&next.unwrap_or(request.target)));
                }
                last.lock().unwrap().remove(&number);
            })
        };
        caught_freshly(Contract::HttpEcho, "interleaved", server);
    }

    #[test]
    fn a_frozen_date() {
        http_caught(
            "date",
            http_body(|target| format!("{target} at Sat, 21 Nov 2020 10:09:54 GMT")),
        );
    }

    #[test]
    fn a_date_in_another_form() {
        http_caught(
            "answer",
            http_body(|target| format!("{target} at 2026-11-21T10:09:54Z")),
        );
    }

    // Slow: with two of the lengths, waits for 2 s of silence, with 2 depths x 2 seeds.
    #[test]
    fn a_content_length_too_long_or_too_short() {
        for off in [-20_isize, -1, 1, 100, 1_000_000_000] {
            let addr = http(move |_, request| {
                let body = format!("{} at {}", request.target, now());
                let length = body.len().strict_add_signed(off);
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain";
                format!("{head}\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
            });
            http_caught("answer", addr);
        }
    }

    #[test]
    fn junk_appended() {
        http_caught(
            "answer",
            http(|_, request| [&right(&request.target)[..], b"junk"].concat()),
        );
    }

    #[test]
    fn another_status_or_type() {
        for (from, to) in [
            ("200 OK", "404 No"),
            ("200 OK", "503 No"),
            ("text/plain", "text/html"),
        ] {
            let addr = http(move |_, request| {
                let answer = String::from_utf8(right(&request.target)).expect("ASCII");
                answer.replace(from, to).into_bytes()
            });
            http_caught("answer", addr);
        }
    }

    // Slow: waits for 2 s of silence, with 2 depths x 2 seeds.
    #[test]
    fn no_answer_ever() {
        http_caught("answer", http(|_, _| Vec::new()));
    }

    #[test]
    fn closed_at_once() {
        http_caught("answer", serve(|stream, _| drop(stream)));
    }

    #[test]
    fn one_answer_per_connection() {
        let addr = serve(|mut stream, _| {
            let mut requests =
                crate::support::Requests::new(stream.try_clone().expect("a live socket"));
            if let Some(request) = requests.next() {
                let _ = stream.write_all(&right(&request.target));
            }
        });
        http_caught("keep-alive", addr);
    }

    // Slow: waits for 2 s of silence, with 2 depths x 2 seeds.
    #[test]
    fn pipelined_requests_answered_once() {
        let addr = serve(|mut stream, _| {
            let mut heard = Vec::new();
            let mut buf = [0; 4096];
            while let Ok(n @ 1..) = stream.read(&mut buf) {
                heard.extend_from_slice(&buf[..n]);
                if heard.ends_with(b"\r\n\r\n") {
                    let _ = stream.write_all(&right(&crate::support::parse(&heard).target));
                    heard.clear();
                }
            }
        });
        http_caught("pipelined", addr);
    }

    #[test]
    fn a_long_target_cut_short() {
        let addr =
            http_body(|target| format!("{} at {}", &target[..target.len().min(1024)], now()));
        caught_at(Contract::HttpEcho, &[Depth::Full], "long-target", addr);
    }

    // Slow: waits for 2 s of silence, with 2 seeds.
    #[test]
    fn a_request_to_close_ignored() {
        let addr = serve(|mut stream, _| {
            let mut requests =
                crate::support::Requests::new(stream.try_clone().expect("a live socket"));
            while let Some(request) = requests.next() {
                let _ = stream.write_all(&right(&request.target));
            }
        });
        caught_at(Contract::HttpEcho, &[Depth::Full], "close", addr);
    }

    #[test]
    fn http_1_0_refused() {
        let addr = http(|_, request| {
            if request.http_1_0 {
                return b"HTTP/1.1 505 No\r\nContent-Length: 0\r\n\r\n".to_vec();
            }
            right(&request.target)
        });
        caught_at(Contract::HttpEcho, &[Depth::Full], "http-1.0", addr);
    }

    #[test]
    fn chunks_for_http_1_0() {
        let addr = http(|_, request| {
            let body = format!("{} at {}", request.target, now());
            let length = body.len();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain";
            format!("{head}\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n")
                .into_bytes()
        });
        caught_at(Contract::HttpEcho, &[Depth::Full], "http-1.0", addr);
    }
}
