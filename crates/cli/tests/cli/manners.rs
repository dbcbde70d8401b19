//! Options that are called as in curl: who asks, and where a connection goes.

use crate::http::{After, Constant};
use crate::support::Place;
use crate::tls::https_for;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine";
/// `ada:secret` in base64.
const ADA: &str = "Authorization: Basic YWRhOnNlY3JldA==\r\n";

fn server() -> (Arc<Constant>, String) {
    let server = Constant::new(OK, After::Keep);
    let url = format!("http://{}/", server.tcp());
    (server, url)
}

/// Options with which a duel, and a capacity search too, ends soon.
const SOON: [&str; 7] = ["-d", "50ms", "--warmup", "0s", "-c", "2", "--quiet"];

// Slow: waits for its turn to load, twice: a duel of a pilot and 2 rounds, and a capacity search.
#[test]
fn a_name_and_a_password_go_with_every_request() {
    let place = Place::new();
    let duel = ["--rounds", "2", "--only", "throughput"];
    for (verb, more, sides) in [
        ("load", &["-n", "10", "-q"][..], 1),
        ("duel", &[&SOON[..], &duel].concat(), 2),
        ("capacity", &[&SOON[..], &["--p99", "1ns"]].concat(), 1),
    ] {
        let (server, url) = server();
        let words = [&[verb, "-u", "ada:secret"], more, &vec![&*url; sides]].concat();
        let done = place.prony(&words);
        assert!(server.first().contains(ADA), "{verb}: {done}");
    }
    let lines: Vec<String> = place
        .notebook()
        .prepare("SELECT command_line FROM run")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(lines.len(), 3);
    for line in lines {
        assert!(
            line.contains("'ada:***'") && !line.contains("secret"),
            "{line}"
        );
    }
    assert!(
        !std::fs::read(place.path().join("notebook.db"))
            .unwrap()
            .windows(6)
            .any(|six| six == b"secret")
    );
}

#[test]
fn requests_of_a_file_keep_an_authorization_of_their_own() {
    for (text, expected) in [
        ("[[request]]\nname = 'a'\npath = '/'\n", ADA),
        (
            "[[request]]\nname = 'a'\npath = '/'\nheaders = { authorization = 'Bearer x' }\n",
            "authorization: Bearer x\r\n",
        ),
        (
            "[[session]]\nname = 'a'\n[[session.step]]\nname = 'b'\npath = '/'\n",
            ADA,
        ),
    ] {
        let place = Place::new();
        let file = place.file("shop.toml", text).display().to_string();
        let verify: &[&str] = &["verify", "-u", "ada:secret", &file];
        let load: &[&str] = &["load", "-u", "ada:secret", "-q", "-n", "10", "-f", &file];
        for words in [verify, load] {
            let (server, url) = server();
            let done = place.prony(&[words, &[&url]].concat()).with(0);
            let first = server.first();
            assert!(first.contains(expected), "{first}\n{done}");
            let fields = first.to_lowercase();
            assert_eq!(fields.matches("authorization:").count(), 1, "{first}");
        }
    }
}

#[test]
fn names_and_passwords_that_cannot_be_sent_are_told_without_the_password() {
    let place = Place::new();
    let (_, url) = server();
    for (words, why) in [
        (&["-u", "secret", &*url][..], "has no colon"),
        (&["-u", "ada:secret\n", &url], "control character"),
        (
            &["-u", "ada:secret", "-H", "authorization: Bearer x", &url],
            "both say who asks",
        ),
        (&["-u", "ada:secret", "tcp://127.0.0.1:7"], "is for HTTP"),
        (&["http://ada:secret@127.0.0.1:7/"], "--user NAME:PASSWORD"),
    ] {
        let done = place.refused(&[&["load"], words].concat());
        assert!(done.stderr.contains(why), "{done}");
    }
}

// Slow: 9 processes of prony; a duel and a capacity search wait for their turn to load.
#[test]
fn connections_go_elsewhere_and_requests_keep_the_name() {
    let place = Place::new();
    let file = place.file("a.toml", "[[request]]\nname = 'a'\npath = '/'\n");
    let file = file.display().to_string();
    let duel = [
        &["duel", "--rounds", "2", "--only", "throughput"],
        &SOON[..],
    ]
    .concat();
    let capacity = [&["capacity", "--p99", "1ns"], &SOON[..]].concat();
    let load = ["load", "-q", "--no-keep", "-n", "10"];
    let away = [&load[..], &["--client-host", "a", "--host", "a=env"]].concat();
    // What takes longer tries one of the ways.
    for (verb, sides, ways) in [
        (&load[..], 1, 3),
        (&duel, 2, 1),
        (&capacity, 1, 1),
        (&["verify", &file], 1, 3),
        (&away, 1, 1),
    ] {
        for (url, option) in [
            (
                "http://shop.test:PORT/",
                "--resolve=SHOP.test:PORT:127.0.0.9,127.0.0.1",
            ),
            ("http://shop.test:PORT/", "--resolve=*:PORT:127.0.0.1"),
            (
                "http://shop.test/",
                "--connect-to=shop.test:80:127.0.0.1:PORT",
            ),
        ]
        .into_iter()
        .take(ways)
        {
            let server = Constant::new(OK, After::Keep);
            let port = server.tcp().port().to_string();
            let [url, option] = [url, option].map(|text| text.replace("PORT", &port));
            let words = [verb, &[&option], &vec![&*url; sides]].concat();
            let done = place.prony(&words);
            let first = server.first();
            let host = url.trim_start_matches("http://").trim_end_matches('/');
            assert!(
                first.contains(&format!("Host: {host}\r\n")),
                "{first}\n{done}"
            );
        }
    }
}

#[test]
fn certificates_are_those_of_the_name_in_the_url() {
    let place = Place::new();
    let (port, certificate) = https_for("shop.test");
    let ca = place.file("ca.pem", &certificate).display().to_string();
    let option = format!("shop.test:443:localhost:{port}");
    let words = [
        "load",
        "--json",
        "--no-keep",
        "-n",
        "9",
        "--ca",
        &ca,
        "--connect-to",
        &option,
    ];
    let report = place.prony(&[&words[..], &["https://shop.test/"]].concat());
    let report = report.with(0).json();
    assert_eq!(report["outcomes"]["ok"], 9);
    let target = report["target"].as_str().unwrap();
    assert!(target.starts_with("https://shop.test/ at ") && target.ends_with(&port.to_string()));
    let option = format!("other.test:443:localhost:{port}");
    let words = [
        "load",
        "--ca",
        &ca,
        "--connect-to",
        &option,
        "https://other.test/",
    ];
    let done = place.prony(&words).with(1);
    assert!(done.stderr.contains("is not for \"other.test\""), "{done}");
}

// Slow: 6 processes of prony, of which 2 wait for their turn to load, and load nothing.
#[test]
fn rules_that_fit_nothing_are_errors() {
    let place = Place::new();
    let (_, url) = server();
    for (words, code, why) in [
        (
            &["load", "--resolve", "a:80:b"][..],
            2,
            "\"b\" is not an IP address",
        ),
        (
            &["load", "--connect-to", "a"],
            2,
            "expected HOST1:PORT1:HOST2:PORT2",
        ),
        (
            &["load", "--resolve", "a:80:127.0.0.1"],
            2,
            "fits no URL: connections go to 127.0.0.1",
        ),
        (
            &["capacity", "--connect-to", "a:::1"],
            2,
            "--connect-to a:::1 fits no URL",
        ),
        (
            &["load", "--unix", "/a", "--resolve", "a:80:127.0.0.1"],
            2,
            "cannot be used with",
        ),
    ] {
        let done = place.prony(&[words, &[&url]].concat()).with(code);
        assert!(done.stderr.contains(why), "{done}");
    }
    let words = [
        "duel",
        "--resolve",
        "a:80:127.0.0.1",
        "true {port}",
        "false {port}",
    ];
    let done = place.refused(&words);
    assert!(
        done.stderr.contains("no URL with a host and a port"),
        "{done}"
    );
}

/// A server of HTTP whose connections' addresses are noted.
fn noting() -> (String, Arc<Mutex<BTreeSet<IpAddr>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let peers = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&peers);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let peer = stream.peer_addr().unwrap().ip();
            let noted = Arc::clone(&noted);
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(1..) = stream.read(&mut buffer) {
                    noted.lock().unwrap().insert(peer);
                    if stream.write_all(OK.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (url, peers)
}

// Slow: 7 processes of prony; a duel and a capacity search wait for their turn to load.
#[test]
fn connections_come_from_the_addresses_that_are_given() {
    let place = Place::new();
    let duel = [
        &["duel", "--rounds", "2", "--only", "throughput"],
        &SOON[..],
    ]
    .concat();
    let capacity = [&["capacity", "--p99", "1ns"], &SOON[..]].concat();
    let load = ["load", "-q", "--no-keep", "-n", "100", "-c", "4"];
    let by = |transport| [&load[..], &["--transport", transport]].concat();
    let away = [&load[..], &["--client-host", "a", "--host", "a=env"]].concat();
    for (verb, sides) in [
        (by("epoll"), 1),
        (by("io_uring"), 1),
        (by("epoll"), 1),
        (duel, 2),
        (capacity, 1),
        (away, 1),
    ] {
        let (url, peers) = noting();
        let option = "--interface=127.0.0.2,127.0.0.3";
        let words = [&verb[..], &[option], &vec![&*url; sides]].concat();
        let done = place.prony(&words);
        let mut peers = peers.lock().unwrap().clone();
        // A duel and a capacity search look at answers before they load.
        peers.remove(&[127, 0, 0, 1].into());
        let expected = [[127, 0, 0, 2].into(), [127, 0, 0, 3].into()];
        assert_eq!(peers, expected.into(), "{verb:?}: {done}");
    }
    let (url, peers) = noting();
    let words = [&load[..], &["--interface", "lo", &url]].concat();
    place.prony(&words).with(0);
    assert_eq!(*peers.lock().unwrap(), [[127, 0, 0, 1].into()].into());
}

#[test]
fn connections_over_tls_come_from_the_addresses_too() {
    let (port, _) = https_for("localhost");
    let url = format!("https://127.0.0.1:{port}/");
    let words = ["load", "--json", "--no-keep", "-n", "99", "--insecure"];
    let words = [&words[..], &["--interface", "127.0.0.2", &url]].concat();
    let report = Place::new().prony(&words).with(0).json();
    assert_eq!(report["outcomes"]["ok"], 99);
}

#[test]
fn addresses_that_connections_cannot_come_from_are_told_before_the_load() {
    let place = Place::new();
    let (url, peers) = noting();
    for (words, why) in [
        // RFC 5737: for documentation, and no machine's.
        (
            &["load", "--interface", "127.0.0.2,192.0.2.1"][..],
            "192.0.2.1: the machine has no such",
        ),
        (
            &["capacity", "--interface", "192.0.2.1"],
            "192.0.2.1: the machine has no such",
        ),
        (
            &["load", "--interface", "no-such"],
            "\"no-such\" is neither an IP address nor an interface",
        ),
        (
            &[
                "load",
                "--interface",
                "lo",
                "--client-host",
                "a",
                "--host",
                "a=env",
            ],
            "interfaces of other machines",
        ),
        (
            &[
                "load",
                "--interface",
                "192.0.2.1",
                "--client-host",
                "a",
                "--host",
                "a=env",
            ],
            "192.0.2.1: the machine has no such",
        ),
    ] {
        let code = if why.starts_with("192.0.2.1") { 1 } else { 2 };
        let done = place.prony(&[words, &[&url]].concat()).with(code);
        assert!(done.stderr.contains(why), "{done}");
    }
    assert!(peers.lock().unwrap().is_empty());
    if TcpListener::bind("[::1]:0").is_ok() {
        let words = ["load", "--interface", "::1", &url];
        let done = place.refused(&words);
        assert!(
            done.stderr
                .contains("--interface must be of the server's family"),
            "{done}"
        );
    }
}
