//! Lives of connections: ended by prony, and not ended by servers that should.

use crate::http2::serves;
use crate::support::{PRONY, Place, Served, raised, schema, valid};
use rustls::{ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

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

/// Closes connections on which nothing comes for 50 ms.
fn impatient(client: TcpStream) -> std::io::Result<()> {
    client.set_read_timeout(Some(Duration::from_millis(50)))?;
    deaf(client)
}

#[test]
fn idle_connections_stay_beside_a_load() {
    let place = Place::new();
    let idle = |url: &str, more: &[&str]| {
        let load = ["load", "--no-keep", "--json", "-d", "500ms", "-c", "2", url];
        let idle = ["--idle-connections", "30"];
        let report = place.prony(&[&load[..], &idle, more].concat());
        let report = report.with(0).json();
        valid(&schema("load"), &report);
        report["idle"].clone()
    };
    let server = Served::start(&["http-echo"]);
    let seen = idle(&server.http("/"), &[]);
    assert_eq!((&seen["opened"], &seen["open"]), (&30.into(), &30.into()));
    // A process of this machine, whose memory is known.
    assert!(seen["memory_bytes"].is_u64(), "{seen}");
    let impatient = format!("http://127.0.0.1:{}/", serves(impatient));
    let seen = idle(&impatient, &["--rate", "200"]);
    assert_eq!((&seen["opened"], &seen["open"]), (&30.into(), &0.into()));
    let (port, certificate) = crate::tls::https_of("localhost", &[], |client, config| {
        let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), client);
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        let _ = stream.read(&mut [0; 4096]);
    });
    let ca = place.file("ca.pem", &certificate);
    let url = format!("https://localhost:{port}/");
    let seen = idle(&url, &["--ca", ca.to_str().unwrap(), "--no-keepalive"]);
    assert_eq!((&seen["opened"], &seen["open"]), (&30.into(), &30.into()));
    let through = ["--proxy", "http://127.0.0.1:1", &server.http("/")];
    let load = ["load", "--idle-connections", "1"];
    let refused = place.fails(&[&load[..], &through].concat());
    assert!(
        refused
            .stderr
            .contains("0 over HTTP/3, through a proxy, and with the PROXY protocol"),
        "{refused}"
    );
}

// Slow: a duel: a pilot and 2 rounds.
#[test]
fn a_duel_compares_the_memory_of_idle_connections() {
    let place = Place::new();
    let server = format!("{PRONY} serve http-echo --listen :{{port}}");
    let duel = [
        "duel",
        &server,
        &server,
        "--path",
        "/",
        "--idle-connections",
        "40",
    ];
    let short = [
        "--rounds", "2", "-d", "100ms", "--warmup", "0s", "-c", "2", "--rate", "200", "--json",
    ];
    let report = place.prony(&[&duel[..], &short].concat()).with(0).json();
    valid(&schema("duel"), &report);
    for side in report["sides"].as_array().unwrap() {
        let idle = &side["idle"];
        assert_eq!((&idle["opened"], &idle["open"]), (&40.into(), &40.into()));
        assert!(idle["memory_bytes"].is_u64(), "{side:#}");
    }
    for how in [&["report"][..], &["export", "--format", "markdown"]] {
        let report = place.prony(how).with(0);
        assert!(report.stdout.contains("memory each"), "{report}");
    }
    let page = place.path().join("page.html");
    place
        .prony(&["report", "--html", page.to_str().unwrap()])
        .with(0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<h2>Idle connections</h2>"));
}
