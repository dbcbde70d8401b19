//! Loads that are spread over all addresses of a name. The servers are of Python's standard library.

use crate::support::{Background, Done, Place};
use serde_json::Value;
use std::net::TcpListener;
use std::process::Command;

const HELLO: &str = include_str!("proxies/hello.py");

/// A server on this address, and its port.
fn hello(place: &Place, address: &str, port: u16) -> (Background, u16) {
    let program = place.file("hello.py", HELLO);
    let mut python = Command::new("python3");
    python.arg(program).args([address, &port.to_string()]);
    let mut server = Background::start(&mut python);
    let line = server.line("port ");
    (
        server,
        line.trim().rsplit(' ').next().unwrap().parse().unwrap(),
    )
}

fn addresses(done: &Done) -> Vec<Value> {
    done.json()["addresses"].as_array().unwrap().clone()
}

#[test]
fn each_address_has_its_share_and_one_that_dies_is_named() {
    let place = Place::new();
    let six = TcpListener::bind("[::1]:0").is_ok();
    let all = match six {
        true => ["127.0.0.1", "127.0.0.2", "::1"],
        false => ["127.0.0.1", "127.0.0.2", "127.0.0.3"],
    };
    let (_first, port) = hello(&place, all[0], 0);
    let (second, _) = hello(&place, all[1], port);
    let (_third, _) = hello(&place, all[2], port);
    let url = format!("http://shop.test:{port}/");
    let resolve = format!("shop.test:{port}:{}", all.join(","));
    let load = |more: &[&str]| {
        let words = ["load", "-c", "6", "-n", "120", "--resolve", &resolve];
        place.prony(&[&words[..], more, &[&url]].concat())
    };
    let even = load(&["--json", "--addresses", "even"]).with(0);
    assert_eq!(even.json()["outcomes"]["ok"], 120);
    let of = addresses(&even);
    assert_eq!(of.len(), 3);
    for one in &of {
        assert_eq!(one["connections"], 2, "{one}");
        assert!(one["answers"].as_u64().unwrap() > 0, "{one}");
    }
    // In the record too.
    let kept = place.prony(&["report", "latest", "--json"]).with(0);
    assert!(kept.stdout.contains(r#""addresses": "even""#), "{kept}");
    let exported = place.prony(&["export", "latest", "-f", "json"]).with(0);
    assert!(exported.stdout.contains("127.0.0.2:"), "{exported}");
    let threads = load(&["--json", "--addresses", "per-thread", "-t", "3"]).with(0);
    assert!(
        addresses(&threads)
            .iter()
            .all(|one| one["connections"] == 2)
    );
    // Other machines.
    let agents = [
        "--json",
        "--addresses",
        "even",
        "--client-host",
        "a,b",
        "--host",
        "a=env",
        "--host",
        "b=env",
    ];
    let agents = load(&agents).with(0);
    assert!(
        addresses(&agents).iter().all(|one| one["connections"] == 2),
        "{agents}"
    );
    // By default, one.
    let first = load(&["--json"]).with(0);
    assert!(first.json().get("addresses").is_none());
    second.signal(libc::SIGKILL);
    let rest = load(&["--addresses", "even"]).with(0);
    let dead = format!("127.0.0.2:{port} accepts no connection");
    assert!(rest.stderr.contains(&dead), "{rest}");
    assert!(rest.stdout.contains("120 ok, 0 failed"), "{rest}");
    assert!(rest.stdout.contains("unreachable"), "{rest}");
    assert!(rest.stdout.contains("Connection refused"), "{rest}");
}

#[test]
fn options_of_several_addresses_are_refused_where_they_have_no_effect() {
    let place = Place::new();
    for (arguments, why) in [
        (
            "load --dns-refresh 1s http://a/",
            "needs connections that are spread over all addresses",
        ),
        (
            "load --addresses even --dns-refresh 1s http://127.0.0.1/",
            "the addresses of this URL stay",
        ),
        (
            "load --addresses even --proxy p:1 http://a/",
            "a proxy connects to one",
        ),
        ("load --addresses even --http3 https://a/", "HTTP/3"),
        (
            "load --addresses even unix:///run/a",
            "a unix socket has none",
        ),
        ("load --addresses some http://a/", "first, even, per-thread"),
        (
            "duel --addresses even ./a ./b",
            "--addresses is for servers that run",
        ),
        (
            "verify --addresses even x.toml http://a/",
            "the connections of a load",
        ),
    ] {
        let words: Vec<&str> = arguments.split(' ').collect();
        place.file("x.toml", "[[request]]\nname = 'x'\npath = '/'\n");
        let refused = place.refused(&words);
        assert!(refused.stderr.contains(why), "{arguments}: {refused}");
    }
}
