//! HTTP/3 in every command that loads or verifies.

use crate::support::{Place, Served, raised, schema, valid};
use crate::tls::https_of;
use prony_engine::protocol::tls::SelfSigned;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;

/// prony's server of HTTP/3; gives its URL, and the file of its certificate.
fn served(place: &Place) -> (Served, String, String) {
    let made = SelfSigned::new(&["127.0.0.1"]).unwrap();
    let certificate = place.file("cert.pem", &made.certificate_pem());
    let key = place.file("key.pem", &made.key_pem());
    let path = |path: &std::path::Path| path.display().to_string();
    let server = Served::start(&[
        "http-echo",
        "--protocol",
        "h3",
        "--cert",
        &path(&certificate),
        "--key",
        &path(&key),
        "--listen",
        "127.0.0.1:0",
    ]);
    let url = format!("https://{}", server.addr);
    (server, url, path(&certificate))
}

/// Adds prony's server of HTTP/3 to the catalog.
fn manifest(place: &Place) {
    place.manifest(
        "ours",
        "title = 'prony'\nlanguage = 'Rust'\nmodel = 'loop'\ncontracts = ['http-echo']\nspeaks = ['h3']\n\
         run = '''{prony} serve {contract} --protocol {over} \"--cert={cert}\" \"--key={key}\" \
         --listen [{host}]:{port}'''\n",
    );
}

#[test]
fn a_load_reports_streams_and_packets() {
    let place = Place::new();
    let (_server, url, ca) = served(&place);
    let url = format!("{url}/a");
    let load = ["load", &url, "--http3", "--ca", &ca, "-c", "3"];
    let more = ["--streams", "4", "-n", "200", "--json"];
    let done = place.prony(&[&load[..], &more].concat()).with(0);
    let report = done.json();
    valid(&schema("load"), &report);
    assert_eq!(report["outcomes"]["ok"], 200, "{done}");
    assert_eq!(report["http3"]["streams"], 4);
    assert_eq!(report["http2"], serde_json::Value::Null);
    assert_eq!(report["tls"]["alpn"], "h3");
    assert_eq!(report["quic"]["connections"], 3);
    assert_eq!(report["handshake"]["n"], 3);
    for way in ["datagrams_sent", "datagrams_received", "packets_sent"] {
        assert!(report["quic"][way].as_u64().unwrap() > 3, "{way}: {done}");
    }
    let row = place.prony(&["report", "1"]).with(0);
    assert!(row.stdout.contains("c3 s4 h3"), "{row}");

    let more = ["--no-keepalive", "-n", "20", "--no-keep"];
    let done = place.prony(&[&load[..], &more].concat()).with(0);
    assert!(done.stdout.contains("20 ok, 0 failed"), "{done}");
    for row in ["QUIC", "packets", "announced", "cryptography"] {
        assert!(done.stdout.contains(&format!("\n{row} ")), "{row}: {done}");
    }
    assert!(done.stdout.contains("TLSv1.3, TLS_"), "{done}");
}

#[test]
fn connections_share_as_many_sockets_as_are_asked_for() {
    let place = Place::new();
    let (_server, url, ca) = served(&place);
    let load = [
        "load", &url, "--http3", "--ca", &ca, "-c", "30", "-n", "300",
    ];
    let more = ["--udp-sockets", "2", "--json"];
    let done = place.prony(&[&load[..], &more].concat()).with(0);
    assert_eq!(done.json()["outcomes"]["ok"], 300, "{done}");
    assert_eq!(done.json()["quic"]["connections"], 30, "{done}");
    let row = place.prony(&["report", "1"]).with(0);
    assert!(row.stdout.contains("u2 h3"), "{row}");
    let tls = place.refused(&["load", &url, "--udp-sockets", "2"]);
    assert!(tls.stderr.contains("--udp-sockets is for HTTP/3"), "{tls}");
}

#[test]
fn requests_are_sent_before_the_handshake_is_done_where_that_is_asked_for() {
    let place = Place::new();
    let (_server, url, ca) = served(&place);
    let load = ["load", &url, "--http3", "--ca", &ca, "-c", "2"];
    let more = ["--no-keepalive", "-n", "40", "--no-keep", "--json"];
    let late = place.prony(&[&load[..], &more].concat()).with(0);
    assert_eq!(late.json()["quic"]["early"], 0, "{late}");
    assert!(late.json()["tls"]["handshakes"]["resumed"].as_u64() > Some(0));
    let early = place
        .prony(&[&load[..], &more, &["--early-data"]].concat())
        .with(0);
    assert_eq!(early.json()["outcomes"]["ok"], 40, "{early}");
    assert!(early.json()["quic"]["early"].as_u64() > Some(0), "{early}");
    let other = place.refused(&["load", &url, "--early-data"]);
    assert!(other.stderr.contains("use --http3"), "{other}");
    let verify = ["verify", "http-echo", &url, "--http3", "--early-data"];
    let verify = place.refused(&verify);
    assert!(verify.stderr.contains("is for loads"), "{verify}");
}

/// Answers one request over HTTP/1.1, for `/alt/PORT` with an offer of HTTP/3 at that port.
fn offer(client: TcpStream, config: Arc<ServerConfig>) {
    let connection = ServerConnection::new(config).unwrap();
    let mut stream = BufReader::new(StreamOwned::new(connection, client));
    loop {
        let mut path = None;
        let mut line = String::new();
        while stream.read_line(&mut line).is_ok_and(|n| n > 2) {
            path = path.or_else(|| line.split(' ').nth(1).map(str::to_owned));
            line.clear();
        }
        let Some(path) = path else { return };
        let offer = path.strip_prefix("/alt/").map_or(String::new(), |port| {
            format!("Alt-Svc: h3-29=\":1\", h3=\":{port}\"; ma=60\r\n")
        });
        let answer = format!("HTTP/1.1 200 OK\r\n{offer}Content-Length: 0\r\n\r\n");
        let stream = stream.get_mut();
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn the_newest_protocol_that_a_server_offers_is_found() {
    let place = Place::new();
    let (server, _, _) = served(&place);
    let (port, _) = https_of("localhost", &["http/1.1"], offer);
    let load = |path: &str| {
        let url = format!("https://127.0.0.1:{port}{path}");
        let load = ["load", "--protocol", "auto", "-k", &url, "-n", "20"];
        place
            .prony(&[&load[..], &["--no-keep", "--json"]].concat())
            .with(0)
    };
    let h3 = load(&format!("/alt/{}", server.addr.port()));
    assert_eq!(h3.json()["quic"]["version"], 1, "{h3}");
    assert!(h3.stderr.contains("by the server's Alt-Svc"), "{h3}");
    // A UDP port on which nothing listens.
    let free = UdpSocket::bind("127.0.0.1:0").unwrap();
    let nobody = free.local_addr().unwrap().port();
    drop(free);
    let gone = load(&format!("/alt/{nobody}"));
    assert_eq!(gone.json()["tls"]["alpn"], "http/1.1", "{gone}");
    assert!(gone.stderr.contains("fails: "), "{gone}");
    let none = load("/");
    assert!(
        none.stderr.contains("the server offers no HTTP/3"),
        "{none}"
    );
    let started = place.refused(&["duel", "--protocol", "auto", "./a {port}", "./b {port}"]);
    assert!(
        started.stderr.contains("asks a server that runs"),
        "{started}"
    );
}

#[test]
fn requests_of_a_file_are_verified_and_sent() {
    let place = Place::new();
    let (_server, url, ca) = served(&place);
    let file = place.file(
        "shop.toml",
        "[[request]]\nname = 'page'\npath = '/page'\nexpect = { contains = '/page at ' }\n\
         [[request]]\nname = 'order'\nmethod = 'POST'\npath = '/order?{{seq}}'\nbody = '{{uuid}}'\n",
    );
    let file = file.display().to_string();
    let done = place.prony(&["verify", &file, &url, "--http3", "--ca", &ca]);
    let done = done.with(0);
    assert_eq!(done.stdout.matches("passed: ").count(), 6, "{done}");
    let load = ["load", "-f", &file, &url, "--http3", "--ca", &ca];
    let more = ["-n", "60", "-c", "2", "--streams", "3", "--json"];
    let done = place.prony(&[&load[..], &more].concat()).with(0);
    assert_eq!(done.json()["outcomes"]["ok"], 60, "{done}");
    assert_eq!(raised(&done.json()["checks"]).get("errors"), None);
}

#[test]
fn what_cannot_be_loaded_over_http3_is_said_in_a_line() {
    let place = Place::new();
    let free = UdpSocket::bind("127.0.0.1:0").unwrap();
    let addr = free.local_addr().unwrap();
    let url = format!("https://{addr}/");
    let told = |arguments: &[&str]| place.prony(arguments).stderr;
    let silent = told(&["load", "--http3", &url, "--timeout", "300ms"]);
    assert!(
        silent.contains("no datagram came back on UDP port"),
        "{silent}"
    );
    drop(free);
    let refused = told(&["load", "--http3", &url]);
    assert!(refused.contains("nothing listens on UDP port"), "{refused}");
    assert!(refused.contains("--protocol h2"), "{refused}");
    let (_server, url, _) = served(&place);
    let other = SelfSigned::new(&["127.0.0.1"]).unwrap();
    let other = place.file("other.pem", &other.certificate_pem());
    let other = other.display().to_string();
    let untrusted = told(&["load", "--http3", &url, "--ca", &other]);
    assert!(
        untrusted.contains("not issued by an authority"),
        "{untrusted}"
    );
    let old = told(&["load", "--http3", &url, "-k", "--tls-version", "1.2"]);
    assert!(old.contains("QUIC has TLS 1.3 only"), "{old}");
    let plain = told(&["load", "--http3", "http://localhost:1/"]);
    assert!(plain.contains("does not fit the URL"), "{plain}");
    let unix = told(&[
        "load",
        "--http3",
        "https://localhost/",
        "--unix-socket",
        "/no/such",
    ]);
    assert!(unix.contains("UDP"), "{unix}");
}

// Slow: 2 trials of a duel on fresh starts, each verified through a relay.
#[test]
fn an_experiment_measures_a_server_over_http3() {
    let place = Place::new();
    manifest(&place);
    let done = place.prony(&["servers", "check", "ours", "--json"]).with(0);
    assert_eq!(done.json()[0]["over"], "h3", "{done}");
    let file = place.experiment(
        "quic",
        "title = 'QUIC'\ncontract = 'http-echo'\nservers = ['ours']\nrounds = 1\n\
         [load]\nover = 'h3'\nstreams = 4\nconnections = 2\nrequests = 200\nwarmup = '0s'\n",
    );
    let report = place.prony(&["run", &file, "--json"]).with(0).json();
    assert_eq!(report["failures"], serde_json::json!([]));
    assert_eq!(report["cells"][0]["load"]["over"], "h3", "{report}");
}

// Slow: two agents are started, and a trial on another "machine".
#[test]
fn other_machines_load_and_run_servers_of_http3() {
    let place = Place::new();
    let (_server, url, ca) = served(&place);
    let load = ["load", &url, "--http3", "--ca", &ca, "-n", "50", "-c", "2"];
    let more = ["--client-host", "a,b", "--host", "a=env", "--host", "b=env"];
    let done = place
        .prony(&[&load[..], &more, &["--json", "--no-keep"]].concat())
        .with(0);
    assert_eq!(done.json()["outcomes"]["ok"], 50, "{done}");
    assert_eq!(done.json()["quic"]["connections"], 2, "{done}");
    manifest(&place);
    let file = place.experiment(
        "far",
        "title = 'Far'\ncontract = 'http-echo'\nservers = ['ours']\nrounds = 1\n\
         [load]\nover = 'h3'\nconnections = 2\nrequests = 100\nwarmup = '0s'\n",
    );
    let run = [
        "run",
        &file,
        "--json",
        "--server-host",
        "a",
        "--client-host",
        "b",
    ];
    let done = place.prony(&[&run[..], &more[2..]].concat()).with(0);
    assert_eq!(done.json()["failures"], serde_json::json!([]), "{done}");
}
