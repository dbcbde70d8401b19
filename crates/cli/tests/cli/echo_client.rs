//! `prony echo-client`, against servers that echo and servers that do not.

use crate::support::{Background, Place, Served};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

fn port(server: &Served) -> String {
    server.addr.port().to_string()
}

/// The figure of a line `Throughput: 123.45 [#/sec]`.
fn throughput(stdout: &str) -> f64 {
    let line = stdout.lines().last().unwrap();
    let number = line
        .strip_prefix("Throughput: ")
        .and_then(|rest| rest.strip_suffix(" [#/sec]"))
        .unwrap_or_else(|| panic!("{stdout}"));
    assert_eq!(number.split_once('.').unwrap().1.len(), 2, "{number}");
    number.parse().unwrap()
}

#[test]
fn the_published_command_line_and_its_output_line() {
    let server = Served::start(&["tcp-echo"]);
    let place = Place::new();
    let port = port(&server);
    let flags = ["echo-client", "-c5", "-o2", "-h200", "-p", &port];
    let done = place.prony(&[&flags[..], &["127.0.0.1"]].concat()).with(0);
    assert!(throughput(&done.stdout) > 0.0);
    assert_eq!(done.stdout.lines().count(), 1);
    let done = place
        .prony(&[&flags[..], &["-n3", "-g", "--json", "localhost"]].concat())
        .with(0);
    let json = done.json();
    assert_eq!(
        (json["expected"].as_u64(), json["echoes"].as_u64()),
        (Some(6_000), Some(6_000))
    );
    assert_eq!(json["wrong"], 0);
}

#[test]
fn the_published_arithmetic_is_named_and_never_faster_than_a_second_allows() {
    let server = Served::start(&["tcp-echo"]);
    let place = Place::new();
    let arguments = [
        "echo-client",
        "-h",
        "100",
        "-p",
        &port(&server),
        "--as-published",
        "localhost",
    ];
    let done = place.prony(&arguments).with(0);
    // 100 echoes in more than a second.
    assert!(throughput(&done.stdout) < 100.0, "{done}");
    assert!(
        done.stderr.contains("published arithmetic") && done.stderr.contains("honestly"),
        "{done}"
    );
}

#[test]
fn the_histogram_has_every_echo_once() {
    let server = Served::start(&["tcp-echo"]);
    let place = Place::new();
    let arguments = [
        "echo-client",
        "-v",
        "-c4",
        "-h50",
        "-p",
        &port(&server),
        "127.0.0.1",
    ];
    let done = place.prony(&arguments).with(0);
    let counts = done.stdout.lines().filter_map(|line| {
        let (_, count) = line
            .strip_prefix(" ")?
            .split_once("]: ")
            .or(line.split_once("sec: "))?;
        count.parse::<u64>().ok()
    });
    assert_eq!(counts.sum::<u64>(), 200, "{done}");
    assert!(done.stdout.contains(" >= 10sec: 0"), "{done}");
}

/// A server that handles each connection in a thread of its own.
fn serve(handle: impl Fn(std::net::TcpStream) + Send + Sync + Clone + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let handle = handle.clone();
            std::thread::spawn(move || handle(stream));
        }
    });
    port
}

#[test]
fn replies_that_are_lost_or_wrong_are_an_error() {
    let place = Place::new();
    let wrong = serve(|mut stream| {
        let mut buf = [0; 6];
        while stream.read_exact(&mut buf).is_ok() {
            buf[1] ^= 1;
            let _ = stream.write_all(&buf);
        }
    });
    // As long as an echo: the original would call it one.
    let done = place
        .prony(&["echo-client", "-h5", "-p", &wrong, "127.0.0.1"])
        .with(1);
    assert_eq!(throughput(&done.stdout), 0.0);
    assert!(
        done.stderr
            .contains("5 of 5 replies were lost, 5 of them because a byte was wrong"),
        "{done}"
    );
    let silent = serve(|mut stream| drop(stream.read(&mut [0; 6])));
    let done = place
        .prony(&["echo-client", "-h5", "-p", &silent, "127.0.0.1"])
        .with(1);
    assert!(done.stderr.contains("of 5 replies were lost"), "{done}");
}

#[test]
fn nobody_there_is_said() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let place = Place::new();
    let done = place
        .prony(&["echo-client", "-p", &port.to_string(), "127.0.0.1"])
        .with(1);
    assert!(
        done.stderr.contains("cannot connect to 127.0.0.1"),
        "{done}"
    );
    let done = place
        .prony(&["echo-client", "no-such-host.invalid"])
        .with(1);
    assert!(
        done.stderr
            .contains("cannot look up \"no-such-host.invalid\""),
        "{done}"
    );
    place.refused(&["echo-client"]);
    place.refused(&["echo-client", "-c", "0", "localhost"]);
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    let server = Served::start(&["tcp-echo"]);
    let mut command = Command::new(crate::support::PRONY);
    command.args([
        "echo-client",
        "-h",
        "4000000000",
        "-p",
        &port(&server),
        "127.0.0.1",
    ]);
    let client = Background::start(&mut command);
    std::thread::sleep(std::time::Duration::from_millis(500));
    client.signal(libc::SIGINT);
    let done = client.end().with(1);
    assert!(throughput(&done.stdout) > 0.0, "{done}");
}
