//! Loads through proxies and as from a balancer. Proxies and the balanced server are of Python's standard library.

use crate::http::Constant;
use crate::support::{Background, Done, Place, Served};
use std::process::Command;

const HTTP: &str = include_str!("proxies/http_proxy.py");
const SOCKS5: &str = include_str!("proxies/socks5.py");
const BALANCED: &str = include_str!("proxies/balanced.py");

/// A program of Python that listens, and its `HOST:PORT`.
fn python(place: &Place, name: &str, text: &str, arguments: &[&str]) -> (Background, String) {
    let program = place.file(name, text);
    let mut python = Command::new("python3");
    let mut server = Background::start(python.arg("-u").arg(program).args(arguments));
    let line = server.line("port ");
    let port = line.trim().rsplit(' ').next().unwrap();
    (server, format!("127.0.0.1:{port}"))
}

fn load(place: &Place, more: &[&str]) -> Done {
    place.prony(&[&["load", "-n", "40", "-c", "4"], more].concat())
}

/// No file that prony wrote has this text.
fn nowhere_stored(place: &Place, secret: &str) {
    let mut files = 0;
    for entry in std::fs::read_dir(place.path()).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with("notebook") {
            continue;
        }
        files += 1;
        let bytes = std::fs::read(entry.path()).unwrap();
        let found = bytes
            .windows(secret.len())
            .any(|it| it == secret.as_bytes());
        assert!(!found, "{name} has {secret}");
    }
    assert!(files > 0);
}

#[test]
fn requests_are_forwarded_and_the_record_knows_the_proxy_but_not_its_password() {
    let place = Place::new();
    let url = Constant::right("", b"hello");
    let (mut proxy, at) = python(&place, "proxy.py", HTTP, &["ada:s3cret"]);
    let through = format!("http://ada:s3cret@{at}");
    let done = load(&place, &["--json", "--proxy", &through, &url]).with(0);
    let report = done.json();
    assert_eq!(report["outcomes"]["ok"], 40, "{done}");
    assert_eq!(report["proxy"], format!("http://{at}"));
    assert!(report["server"].is_null(), "the proxy is not the server");
    let line = proxy.line("GET ");
    assert!(line.contains(&url), "{line}");
    let kept = place.prony(&["report", "latest", "--json"]).with(0);
    assert!(kept.stdout.contains(&format!("http://{at}")), "{kept}");
    let text = place.prony(&["report", "latest"]).with(0);
    assert!(
        text.stdout.contains(&format!("through http://{at}")),
        "{text}"
    );
    for done in [&done, &kept, &text] {
        assert!(!format!("{done}").contains("s3cret"), "{done}");
    }
    nowhere_stored(&place, "s3cret");
    nowhere_stored(&place, "YWRhOnMzY3JldA");
    // Without them, and in a file of requests.
    let refused = load(&place, &["--no-keep", "--proxy", &at, &url]).with(1);
    let why = format!("the proxy {at} answered 407 Proxy Authentication Required: give user");
    assert!(refused.stderr.contains(&why), "{refused}");
    place.file(
        "hi.toml",
        "[[request]]\nname = 'hi'\npath = '/{{seq}}'\nexpect.status = 200\n",
    );
    load(
        &place,
        &["--no-keep", "-f", "hi.toml", "-x", &through, &url],
    )
    .with(0);
    place
        .prony(&["verify", "hi.toml", &url, "--proxy", &through])
        .with(0);
}

#[test]
fn tunnels_by_connect_and_by_socks5() {
    let (place, server) = (Place::new(), Served::start(&["tcp-echo"]));
    let url = server.tcp();
    let (mut proxy, at) = python(&place, "proxy.py", HTTP, &["ada:s3cret"]);
    let through = format!("http://ada:s3cret@{at}");
    load(&place, &["--proxy", &through, &url]).with(0);
    let line = proxy.line("CONNECT ");
    assert!(
        url.ends_with(line.trim().trim_start_matches("CONNECT ")),
        "{line}"
    );
    let refused = load(&place, &["--no-keep", "--proxy", &at, &url]).with(1);
    let why = format!("the proxy {at} answered 407 Proxy Authentication Required");
    assert!(refused.stderr.contains(&why), "{refused}");
    assert!(
        refused.stderr.contains("http://USER:PASSWORD@HOST:PORT"),
        "{refused}"
    );
    let (mut socks, at) = python(&place, "socks5.py", SOCKS5, &["ada:s3cret"]);
    let through = format!("socks5://ada:s3cret@{at}");
    load(&place, &["--proxy", &through, &url]).with(0);
    assert!(socks.line("kind ").starts_with("kind 1 127.0.0.1"));
    let named = url.replace("127.0.0.1", "localhost");
    let through = format!("socks5h://ada:s3cret@{at}");
    load(&place, &["--proxy", &through, &named]).with(0);
    while !socks.line("kind ").starts_with("kind 3 localhost") {}
    let wrong = format!("socks5://ada:other@{at}");
    let refused = load(&place, &["--no-keep", "--proxy", &wrong, &url]).with(1);
    let why = format!("the proxy {at} refused the user or the password");
    assert!(refused.stderr.contains(&why), "{refused}");
    nowhere_stored(&place, "s3cret");
    // Machines that send the load connect to the proxy.
    let elsewhere = [
        "--no-keep",
        "--client-host",
        "a",
        "--host",
        "a=env",
        "-x",
        &through,
        &named,
    ];
    load(&place, &elsewhere).with(0);
    let refused = load(
        &place,
        &[
            "--no-keep",
            "--client-host",
            "a",
            "--host",
            "a=env",
            "-x",
            &wrong,
            &url,
        ],
    )
    .with(1);
    assert!(refused.stderr.contains(&why), "{refused}");
}

#[test]
fn connections_begin_as_from_a_balancer() {
    let place = Place::new();
    let (mut server, at) = python(&place, "balanced.py", BALANCED, &[]);
    let url = format!("http://{at}/");
    for version in ["v1", "v2"] {
        let done = load(&place, &["--json", "--proxy-protocol", version, &url]).with(0);
        assert_eq!(done.json()["proxy_protocol"], version);
        let header = format!("header {version}");
        while server.line("header").trim() != header {}
    }
    place.file(
        "hi.toml",
        "[[request]]\nname = 'hi'\npath = '/'\nexpect.body = 'hello'\n",
    );
    let with = ["--no-keep", "--proxy-protocol", "v2"];
    load(&place, &[&with[..], &["-f", "hi.toml", &url]].concat()).with(0);
    let elsewhere = ["--client-host", "a", "--host", "a=env", &url];
    load(&place, &[&with[..], &elsewhere].concat()).with(0);
    load(&place, &["--no-keep", &url]).with(1);
}

#[test]
fn what_no_proxy_is_for_is_refused() {
    let place = Place::new();
    for (arguments, why) in [
        (
            "load --proxy http://p:1 unix:///run/a",
            "no proxy connects to a unix socket",
        ),
        (
            "load --proxy http://p:1 --http3 https://a/",
            "HTTP/3 is spoken over UDP",
        ),
        (
            "load --proxy-protocol v1 --http3 https://a/",
            "HTTP/3 is spoken over UDP",
        ),
        (
            "load --proxy http://p:1 --proxy-protocol v1 http://a/",
            "cannot be used with",
        ),
        (
            "duel --proxy http://p:1 ./a ./b",
            "--proxy is for servers that run",
        ),
        (
            "capacity --proxy-protocol v2 ./a",
            "--proxy-protocol is for servers that run",
        ),
        (
            "load --proxy ftp://ada:s3cret@p:1 http://a/",
            "no proxy of the kind ftp://",
        ),
        ("load --proxy-protocol v3 http://a/", "v3"),
    ] {
        let words: Vec<&str> = arguments.split(' ').collect();
        let refused = place.refused(&words);
        assert!(refused.stderr.contains(why), "{arguments}: {refused}");
        assert!(!refused.stderr.contains("s3cret"), "{refused}");
    }
}
