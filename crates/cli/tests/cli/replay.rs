//! `prony load --replay`: a log, sent again at its own times.

use crate::support::{Place, schema, valid};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

type Seen = Arc<Mutex<Vec<String>>>;

/// Notes what is asked, as `METHOD PATH`; what is below `/gone` is not found.
fn noting() -> (SocketAddr, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (addr, seen) = (listener.local_addr().unwrap(), Seen::default());
    let all = seen.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = all.clone();
            thread::spawn(move || serve(stream, &seen));
        }
    });
    (addr, seen)
}

fn serve(mut stream: TcpStream, seen: &Seen) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    loop {
        let line = lines.next()?.ok()?;
        let mut length = 0;
        let mut field = lines.next()?.ok()?;
        while !field.is_empty() {
            if let Some(text) = field.strip_prefix("Content-Length: ") {
                length = text.parse().ok()?;
            }
            field = lines.next()?.ok()?;
        }
        if length > 0 {
            assert_eq!(length, 3, "bodies of these tests end with a line");
            lines.next()?.ok()?;
        }
        let request = line.strip_suffix(" HTTP/1.1")?.to_owned();
        let status = match request.contains(" /gone") {
            true => "404 Not Found",
            false => "200 OK",
        };
        seen.lock().unwrap().push(request);
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(answer.as_bytes()).ok()?;
    }
}

fn line(second: u32, request: &str, status: u16) -> String {
    format!("::1 - - [10/Oct/2000:13:55:{second:02} -0700] \"{request} HTTP/1.1\" {status} 5\n")
}

#[test]
fn a_log_is_sent_again_in_its_order() {
    let (addr, seen) = noting();
    let place = Place::new();
    let log: String = [
        line(1, "GET /a?n=1", 200),
        line(3, "GET /gone", 404),
        line(2, "GET /a?n=2", 200),
        line(2, "POST /orders", 201),
        line(2, "HEAD /a", 200),
        line(3, "GET /a?n=1", 200),
    ]
    .concat();
    let log = place.file("access.log", &log).display().to_string();
    let url = format!("http://{addr}");
    let load = |more: &[&str]| {
        let first = ["load", "--no-keep", "-c", "1", "--replay", &log];
        place.prony(&[&first, more, &[&url]].concat())
    };
    let done = load(&["--no-verify", "--speed", "×4", "--json"]).with(0);
    assert_eq!(
        *seen.lock().unwrap(),
        [
            "GET /a?n=1",
            "GET /a?n=2",
            "HEAD /a",
            "GET /gone",
            "GET /a?n=1"
        ]
    );
    assert!(
        done.stderr.contains(
            "1 item skipped, changed or guessed\n  1 × POST, whose bodies are not in a log\n      line 4\n"
        ),
        "{done}"
    );
    assert!(done.stderr.contains("times in whole seconds"), "{done}");
    assert!(done.stderr.contains("5 requests in 750ms"), "{done}");
    let report = done.json();
    valid(&schema("load"), &report);
    assert_eq!(
        (&report["arrival"], &report["outcomes"]["ok"]),
        (&"recorded".into(), &5.into())
    );
    assert_eq!(report["replay"]["speed"], 4.0);
    assert_eq!(report["recoveries"].as_array().unwrap().len(), 0);
    let names = report["requests"].as_array().unwrap();
    let names: Vec<&str> = names
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["get-a", "get-gone", "head-a"]);
    // As much as fits.
    seen.lock().unwrap().clear();
    let done = load(&["--no-verify", "--speed", "4", "-d", "250ms"]).with(0);
    assert!(
        done.stdout.contains("access.log ×4: 4.00 req/s on average"),
        "{done}"
    );
    assert_eq!(*seen.lock().unwrap(), ["GET /a?n=1"]);
    // It is tried first, as a file of requests is.
    seen.lock().unwrap().clear();
    load(&["--speed", "4"]).with(0);
    assert!(seen.lock().unwrap().len() > 5);
}

#[test]
fn lines_of_a_log_are_requests_of_a_file() {
    let (addr, seen) = noting();
    let place = Place::new();
    let log = [
        line(1, "POST /orders", 201),
        line(1, "GET /items/7", 200),
        line(2, "GET /others", 200),
    ];
    let log = place.file("access.log", &log.concat());
    let file = place.file(
        "shop.toml",
        "[[request]]\nname = \"item\"\npath = \"/items/{{int 1000 2000}}\"\n\
         [[request]]\nname = \"order\"\npath = \"/orders\"\nbody = \"x\\r\\n\"\n",
    );
    let url = format!("http://{addr}");
    let (file, log) = (file.display().to_string(), log.display().to_string());
    let load = |more: &[&str]| {
        let first = [
            "load",
            "--no-keep",
            "--no-verify",
            "-c",
            "1",
            "-f",
            &file,
            "--replay",
        ];
        place.prony(&[&first, more, &[&url]].concat())
    };
    let done = load(&[&log, "--speed", "5"]).with(0);
    assert!(done.stderr.contains("GET /others"), "{done}");
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0], "POST /orders");
    let item: u32 = seen[1]
        .strip_prefix("GET /items/")
        .unwrap()
        .parse()
        .unwrap();
    assert!((1_000..=2_000).contains(&item), "{item}");
    assert_eq!(seen.len(), 2);
    for (wrong, word) in [
        (&[file.as_str()][..], "no line of it can be sent again"),
        (&["none.log"], "cannot read"),
        (&[&log, "--warmup", "1s"], "--warmup must be 0s"),
    ] {
        let done = load(wrong).with(if word.starts_with("--") { 2 } else { 1 });
        let said = done.stderr.replace('\n', " ");
        assert!(said.contains(word), "{word}: {done}");
    }
}
