//! Lives of connections: ended by prony, and not ended by servers that should.

use crate::http2::serves;
use crate::support::{Place, Served, raised};
use std::io::{Read, Write};
use std::net::TcpStream;

/// Answers every request on a connection, whatever it says about its end.
fn deaf(mut client: TcpStream) -> std::io::Result<()> {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let mut buffer = [0; 4096];
    while client.read(&mut buffer)? > 0 {
        client.write_all(answer)?;
    }
    Ok(())
}

#[test]
fn a_server_that_does_not_close_is_told_of() {
    let place = Place::new();
    let load = |url: &str, more: &[&str]| {
        let load = ["load", "--no-keep", "--json", "-n", "40", "-c", "2", url];
        let report = place.prony(&[&load[..], more].concat()).with(0).json();
        assert_eq!(report["outcomes"]["ok"], 40, "{report:#}");
        raised(&report["checks"]).contains("close-ignored")
    };
    let deaf = format!("http://127.0.0.1:{}/", serves(deaf));
    assert!(load(&deaf, &["--no-keepalive"]));
    assert!(!load(&deaf, &[]), "it was not asked to");
    let server = Served::start(&["http-echo"]);
    assert!(!load(&server.http("/"), &["--no-keepalive"]));
}

#[test]
fn connections_end_after_a_time() {
    let server = Served::start(&["http-echo"]);
    let place = Place::new();
    let url = server.http("/");
    let load = ["load", "--no-keep", "--json", "-c", "4", "-d", "1s", &url];
    let life = ["--connection-lifetime", "50ms"];
    let report = place.prony(&[&load[..], &life].concat()).with(0).json();
    assert_eq!(report["outcomes"]["read_error"], 0, "{report:#}");
    let made = report["connect"]["n"].as_u64().unwrap();
    assert!(made > 8, "{made} connections in 20 lives of 4");
    let both = place.refused(&[
        "load",
        "--connection-lifetime",
        "1s",
        "--no-keepalive",
        &url,
    ]);
    assert!(both.stderr.contains("cannot be used with"), "{both}");
}
