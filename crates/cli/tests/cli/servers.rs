//! `prony servers`.

use crate::support::{Background, PRONY, Place, project, until};
use prony_lab::catalog::Catalog;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

/// One that is ready, one whose toolchain is missing, one that fails.
fn small() -> Place {
    let place = Place::with_references();
    place.echo_server(
        "absent",
        "no-such-runtime",
        "toolchain = ['no-such-runtime']\napt = ['it']",
    );
    place.echo_server("broken", "sh -c 'echo this is why; exit 9'", "");
    place
}

#[test]
fn list_shows_all_and_what_is_missing() {
    let place = small();
    let text = place.prony(&["servers", "list"]).with(0).stdout;
    for word in [
        "quick",
        "plain",
        "absent",
        "broken",
        "missing: no-such-runtime",
        "tcp-echo http-echo",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let some = place
        .prony(&["servers", "list", "http-echo"])
        .with(0)
        .stdout;
    assert!(some.contains("quick") && !some.contains("broken"), "{some}");
    let json = place.prony(&["servers", "list", "--json"]).with(0).json();
    let names: Vec<&str> = json
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["absent", "broken", "plain", "quick"]);
    assert_eq!(json[0]["missing"], serde_json::json!(["no-such-runtime"]));
    assert_eq!(
        json[3]["manifest"]["contracts"],
        serde_json::json!(["tcp-echo", "http-echo"])
    );
}

// Slow: 12 thorough verifications; those of tcp-echo send 16 MiB or more to a slow reader.
#[test]
fn check_tells_ready_missing_and_failing() {
    let place = small();
    let done = place.prony(&["servers", "check", "--json"]).with(1);
    let rows = done.json();
    let states: Vec<(&str, &str, &str)> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap();
            (text("server"), text("contract"), text("state"))
        })
        .collect();
    let expected = [
        ("absent", "tcp-echo", "missing"),
        ("broken", "tcp-echo", "failing"),
        ("plain", "tcp-echo", "ready"),
        ("plain", "http-echo", "ready"),
        ("quick", "tcp-echo", "ready"),
        ("quick", "http-echo", "ready"),
    ];
    assert_eq!(states, expected, "{done}");
    assert_eq!(rows[1]["step"], "ready");
    assert_eq!(rows[1]["output"], "this is why");
    let text = place.prony(&["servers", "check"]).with(1).stdout;
    for word in [
        "ready",
        "missing",
        "apt-get install it",
        "failing",
        "status 9",
        "  | this is why",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    // Nothing fails among these, and a missing toolchain is no failure.
    place
        .prony(&["servers", "check", "quick", "absent"])
        .with(0);
    let some = place
        .prony(&["servers", "check", "http-echo", "--json"])
        .with(0)
        .json();
    assert_eq!(some.as_array().unwrap().len(), 2, "{some:#}");
}

#[test]
fn start_prints_the_address_and_serves_until_ctrl_c() {
    let place = small();
    let mut child = place
        .command(&["servers", "start", "quick@2", "--contract", "tcp-echo"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Printed at once, also to a pipe: scripts read it.
    let mut stdout = child.stdout.take().unwrap();
    let mut printed = String::new();
    let mut byte = [0];
    while !printed.ends_with('\n') {
        stdout.read_exact(&mut byte).unwrap();
        printed.push(byte[0].into());
    }
    let mut stream = TcpStream::connect(printed.trim_end()).unwrap();
    stream.write_all(b"hello").unwrap();
    let mut back = [0; 5];
    stream.read_exact(&mut back).unwrap();
    assert_eq!(&back, b"hello");
    // SAFETY: a plain system call; the child has not been reaped.
    let sent = unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) };
    assert_eq!(sent, 0);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    until("the end of the server", || {
        TcpStream::connect(printed.trim_end()).is_err()
    });
}

#[test]
fn start_takes_a_port_and_says_what_it_cannot_do() {
    let place = small();
    let done = place.prony(&["servers", "start", "broken"]).with(1);
    assert!(
        done.stderr.contains("this is why") && done.stdout.is_empty(),
        "{done}"
    );
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let (number, address) = (port.to_string(), format!("127.0.0.1:{port}"));
    let arguments = [
        "servers",
        "start",
        "plain",
        "--contract",
        "tcp-echo",
        "--listen",
        &number,
    ];
    let mut started = Background::start(&mut place.command(&arguments));
    started.line(&address);
    started.signal(libc::SIGINT);
    assert_eq!(started.end().with(0).stdout.trim_end(), address);
    for (arguments, words) in [
        (&["quick"][..], &["several contracts", "--contract"][..]),
        (
            &["quik"],
            &["there is no server \"quik\"", "did you mean \"quick\"?"],
        ),
        (&["quick@0"], &["cannot have 0 workers"]),
        (&["quick@x"], &["a number of workers is expected"]),
        (
            &["broken", "--contract", "http-echo"],
            &["does not keep http-echo"],
        ),
        (&["absent"], &["no-such-runtime", "apt-get install it"]),
    ] {
        let here = ["quik", "absent"].contains(&arguments[0]);
        let done = place
            .prony(&[&["servers", "start"], arguments].concat())
            .with(if here { 1 } else { 2 });
        assert!(
            words.iter().all(|word| done.stderr.contains(word)),
            "{words:?}: {done}"
        );
        assert_eq!(done.stdout, "");
    }
}

/// Starts a server of the project's catalog on 127.0.0.7. `start` says where it listens once it has
/// answered there; nothing may answer on the same port of 127.0.0.1.
fn start_elsewhere(command: &mut Command, name: &str, contract: &str) {
    command
        .args(["servers", "start", name, "--contract", contract])
        .args(["--listen", "127.0.0.7"])
        .env("PRONY_ONLY_CATALOG", project().join("servers"));
    let mut started = Background::start(command);
    let line = started.line(&format!("keeps {contract} on 127.0.0.7:"));
    let port = line.split_once("127.0.0.7:").unwrap().1;
    let port: u16 = port.split_once(',').unwrap().0.parse().unwrap();
    let error = TcpStream::connect(("127.0.0.1", port)).expect_err(name);
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{name}");
    started.signal(libc::SIGINT);
    started.end().with(0);
}

#[test]
fn start_takes_an_address_to_listen_on() {
    let place = Place::new();
    for name in [
        "reference-epoll@2",
        "reference-io-uring",
        "python-asyncio@2",
    ] {
        start_elsewhere(&mut place.command(&[]), name, "tcp-echo");
    }
    let done = place.refused(&["servers", "start", "none", "--listen", "nowhere"]);
    assert!(done.stderr.contains("is not ADDR:PORT"), "{done}");
}

#[test]
#[ignore = "scripts/campaign catalog: every server has to be set up"]
fn every_server_listens_where_it_is_told() {
    let catalog = Catalog::open(&project().join("servers")).unwrap();
    for server in catalog.servers() {
        for contract in &server.manifest.contracts {
            for workers in (1..=2).filter(|&workers| server.manifest.allows(workers)) {
                let name = format!("{}@{workers}", server.name);
                start_elsewhere(&mut Command::new(PRONY), &name, &contract.to_string());
            }
        }
    }
}

#[test]
fn a_server_that_ends_by_itself_ends_start() {
    let place = Place::new();
    place.echo_server("brief", "sh -c '\"$0\" serve tcp-echo --listen :\"$1\" & sleep 2; kill $!; echo done now; exit 3' {prony} {port}", "");
    let done = Background::start(&mut place.command(&["servers", "start", "brief"]))
        .end()
        .with(1);
    assert!(
        done.stderr.contains("ended with status 3") && done.stderr.contains("done now"),
        "{done}"
    );
}

#[test]
fn another_server_on_the_port_is_not_taken_for_the_one_that_was_started() {
    let taken = crate::support::Served::start(&["tcp-echo"]);
    let place = Place::with_references();
    let port = taken.addr.port().to_string();
    let arguments = [
        "servers",
        "start",
        "plain",
        "--contract",
        "tcp-echo",
        "--listen",
        &port,
    ];
    let mut command = Command::new(PRONY);
    command
        .args(arguments)
        .env("PRONY_ONLY_CATALOG", place.path().join("catalog"));
    command.env("PRONY_CACHE", place.path().join("cache"));
    let done = Background::start(&mut command).end().with(1);
    assert!(done.stderr.contains("in use"), "{done}");
    assert_eq!(
        done.stdout, "",
        "another server's address is printed: {done}"
    );
}
