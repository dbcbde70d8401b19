//! HTTP/3 in every command that loads or verifies.

use crate::support::{Place, Served, raised, schema, valid};
use prony_engine::protocol::tls::SelfSigned;
use std::net::UdpSocket;

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

/// The same as a server of the catalog.
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
    assert!(done.stdout.contains("\nQUIC  "), "{done}");
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
