//! Exports of other programs, sent to a server in Python that notes what arrives: a collection of Postman, and a log of
//! Caddy.

use crate::support::{Background, Place};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

/// Notes each request as a line of JSON: method, path, fields, body, and when it came.
const SERVER: &str = r#"
import json, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        came = time.monotonic()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        seen = {"method": self.command, "path": self.path, "fields": dict(self.headers), "body": body, "came": came}
        with open(sys.argv[1], "a") as out:
            out.write(json.dumps(seen) + "\n")
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("port", server.server_port, file=sys.stderr, flush=True)
server.serve_forever()
"#;

struct Noting {
    _server: Background,
    url: String,
    seen: PathBuf,
}

impl Noting {
    fn start(place: &Place) -> Self {
        let program = place.file("noting.py", SERVER);
        let seen = place.path().join("seen.jsonl");
        let mut python = Command::new("python3");
        python.arg(program).arg(&seen);
        let mut server = Background::start(&mut python);
        let line = server.line("port ");
        let port = line.trim().rsplit(' ').next().unwrap();
        let url = format!("http://127.0.0.1:{port}");
        Self {
            _server: server,
            url,
            seen,
        }
    }

    /// The requests since the last call.
    fn seen(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.seen).unwrap_or_default();
        let _ = std::fs::remove_file(&self.seen);
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

#[test]
fn a_collection_of_postman_is_loaded() {
    let place = Place::new();
    let server = Noting::start(&place);
    let request = |method: &str, path: &str, body: Value| json!({"method": method, "url": format!("{{{{base}}}}{path}"), "body": body});
    let order = json!({"mode": "raw", "raw": "{\"id\": \"{{$guid}}\", \"by\": {\"name\":\"{{user}}\"}}", "options": {"raw": {"language": "json"}}});
    let upload = json!({"mode": "formdata", "formdata": [{"key": "file", "type": "file", "src": "/C:/Users/ann/note.txt"}]});
    let collection = json!({
        "info": {"name": "Shop", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
        "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "{{token}}"}]},
        "item": [
            {"name": "Orders", "item": [
                {"name": "Order", "request": request("POST", "/orders", order),
                    "event": [{"listen": "test", "script": {"exec": ["pm.response.to.have.status(200)"]}}]},
                {"name": "Lost", "request": request("GET", "/orders/{{order}}", Value::Null)},
            ]},
            {"name": "Upload", "request": request("PUT", "/notes/:id", upload)},
        ],
    });
    let environment = json!({"name": "local", "_postman_variable_scope": "environment",
        "values": [{"key": "base", "value": format!("{}/v1", server.url)}, {"key": "token", "value": "secret", "type": "secret"}]});
    let file = place.file("shop.json", &json!({"collection": collection}).to_string());
    place.file("local.json", &environment.to_string());
    place.file("note.txt", "a note");
    place.file("users.csv", "name\nann \"a\"\n");
    let from = |more: &[&str]| {
        let first = [
            "requests",
            "from",
            file.to_str().unwrap(),
            "-e",
            "local.json",
        ];
        place.prony(&[&first[..], more].concat())
    };
    let made = from(&["--var", "user={{row users.csv name}}", "--var", ":id=7"]).with(1);
    let listed = "\
shop.json: 2 items skipped, changed or guessed
  1 × skipped: a script that tests the response (expect.… in the file does that)
      Orders / Order
  1 × skipped: {{order}} has no value
      Orders / Lost
      --var order=VALUE sets it
";
    assert!(made.stderr.ends_with(listed), "{made}");
    place.file("shop.toml", &made.stdout);
    let load = [
        "load",
        "--no-keep",
        "--no-verify",
        "-f",
        "shop.toml",
        "-n",
        "40",
        "-c",
        "1",
        &server.url,
    ];
    place.prony(&load).with(0);
    let seen = server.seen();
    let [order, upload] = ["POST", "PUT"].map(|method| {
        let found = seen.iter().find(|one| one["method"] == method);
        found.unwrap_or_else(|| panic!("no {method}: {seen:?}"))
    });
    assert_eq!(seen.len(), 40);
    assert_eq!(
        (&order["path"], &upload["path"]),
        (&json!("/v1/orders"), &json!("/v1/notes/7"))
    );
    assert_eq!(order["fields"]["Authorization"], "Bearer secret");
    let body: Value = serde_json::from_str(order["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["by"]["name"], "ann \"a\"");
    assert_eq!(body["id"].as_str().unwrap().len(), 36, "{body}");
    let part = "name=\"file\"; filename=\"note.txt\"\r\nContent-Type: text/plain\r\n\r\na note\r\n";
    assert!(upload["body"].as_str().unwrap().contains(part), "{upload}");
    // Mistakes on the command line, and files that are not read.
    place.file("cut.json", &collection.to_string()[..200]);
    for (arguments, code, word) in [
        (
            &["shop.json", "--var", "token"][..],
            2,
            "expected NAME=VALUE",
        ),
        (
            &["shop.json", "--var", "a={{nothing}}"],
            2,
            "the value of a: there is no \"nothing\"",
        ),
        (&["shop.json", "-e", "shop.json"], 1, "no list \"values\""),
        (&["local.json"], 1, "an environment of Postman"),
        (
            &["cut.json"],
            1,
            "its JSON is cut off at line 1, column 200",
        ),
    ] {
        let done = place
            .prony(&[&["requests", "from"], arguments].concat())
            .with(code);
        assert!(
            done.stderr.replace('\n', " ").contains(word),
            "{word}: {done}"
        );
        assert_eq!(done.stdout, "", "{done}");
    }
}

#[test]
fn a_log_of_caddy_is_replayed_at_its_times() {
    let place = Place::new();
    let server = Noting::start(&place);
    // Written when the response was complete.
    let line = |ts: f64, duration: f64, method: &str, uri: &str| {
        let request = json!({"remote_ip": "10.0.0.1", "proto": "HTTP/2.0", "method": method, "host": "shop.test", "uri": uri,
            "headers": {"User-Agent": ["x"]}, "tls": {"version": 772}});
        json!({"level": "info", "ts": ts, "logger": "http.log.access.log0", "msg": "handled request", "request": request,
            "duration": duration, "status": 200, "size": 5})
        .to_string()
    };
    let log = [
        json!({"level": "info", "ts": 1_646_861_400.0, "msg": "serving initial configuration"})
            .to_string(),
        line(1_646_861_401.35, 0.5, "GET", "/second?q=1"),
        line(1_646_861_401.0, 0.25, "GET", "/first"),
        line(1_646_861_402.5, 0.25, "GET", "/third"),
        line(1_646_861_402.0, 0.25, "POST", "/orders"),
        line(1_646_861_402.0, 0.25, "GET", "/cut")[..60].to_owned(),
    ];
    let mut log = log.join("\n").into_bytes();
    log.extend_from_slice(b"\n\xff\n");
    std::fs::write(place.path().join("caddy.log"), log).unwrap();
    let load = [
        "load",
        "--no-keep",
        "--no-verify",
        "-c",
        "2",
        "--replay",
        "caddy.log",
        &server.url,
    ];
    let done = place.prony(&load).with(0);
    let listed = "\
caddy.log: 4 items skipped, changed or guessed
  1 × JSON that is cut off
      line 6
  1 × POST, whose bodies are not in a log
      line 5
  1 × no method and path in it
      line 1
  1 × not in the common or combined format
      line 7
";
    assert!(done.stderr.contains(listed), "{done}");
    assert!(!done.stderr.contains("whole seconds"), "{done}");
    assert!(done.stderr.contains("3 requests in 2.25s"), "{done}");
    let seen = server.seen();
    let paths: Vec<&str> = seen
        .iter()
        .map(|one| one["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["/first", "/second?q=1", "/third"]);
    let came: Vec<f64> = seen
        .iter()
        .map(|one| one["came"].as_f64().unwrap())
        .collect();
    // 100 ms and 1.4 s apart: whole seconds would make these the same.
    let apart: Vec<f64> = came.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(apart[1] > apart[0], "{apart:?}");
    let made = place.prony(&["requests", "from", "caddy.log"]).with(1);
    assert!(
        made.stdout
            .starts_with("# prony load -f THIS_FILE https://shop.test\n"),
        "{made}"
    );
    assert!(made.stderr.contains(listed), "{made}");
}
