//! The requests of a file, tried before and after a load of them.

use crate::requests::{SHOP, answer, load, shop};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

/// A server that says nothing costs one time-out, not one for each request of the file.
// Slow: a silent server: a time-out of 1.2 s, then TLS and HTTP/2 are tried for 1 s each.
#[test]
fn a_silent_server_is_told_before_a_load() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (place, file) = shop(SHOP);
    let done = load(&place, &file, &url, &["--timeout", "1200ms"]).with(1);
    let text = done.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in [
        "1 of 3 in",
        "said nothing for too long",
        "2 were not tried after that",
    ] {
        assert!(text.contains(word), "{word}: {done}");
    }
}

/// A server that answers rightly until a connection with more than `most` requests has ended, and wrongly from then on. One
/// connection at a time.
fn wrong_once_loaded(most: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut loaded = false;
        for mut stream in listener.incoming().flatten() {
            let body = if loaded { "goodbye" } else { "hello" };
            let (mut requests, mut buffer) = (0, [0; 8192]);
            while let Ok(1..) = stream.read(&mut buffer) {
                requests += 1;
                if stream.write_all(answer(body).as_bytes()).is_err() {
                    break;
                }
            }
            loaded |= requests > most;
        }
    });
    address
}

#[test]
fn a_server_that_a_load_has_broken_is_told_after_it() {
    let url = format!("http://{}", wrong_once_loaded(50));
    let (place, file) = shop(
        "sample = 1.0\n[[request]]\nname = \"a\"\npath = \"/\"\nexpect.contains = \"hello\"\n",
    );
    let more = ["-c", "1", "-n", "200", "--json"];
    let done = load(&place, &file, &url, &more).with(1);
    let text = done.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in ["after the load: 1 of 1 in", "goodbye"] {
        assert!(text.contains(word), "{word}: {done}");
    }
    let report = done.json();
    assert_eq!(report["outcomes"]["ok"], 200, "what was measured is shown");
    // As it answers now.
    let more = [&more[..], &["--no-verify"]].concat();
    let report = load(&place, &file, &url, &more).with(1).json();
    assert_eq!(report["outcomes"]["ok"], 0, "{report:#}");
}
