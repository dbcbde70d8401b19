use super::super::{Format, ServerFacts, make};
use prony_engine::protocol::{Fifo, Mixed, Session};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// A request as a server receives it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone)]
struct Received {
    line: String,
    fields: BTreeMap<String, String>,
    body: String,
}

/// A request without what differs from version to version, and from run to run.
fn received(bytes: &[u8]) -> Received {
    let end = bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap();
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut body = bytes[end + 4..].escape_ascii().to_string();
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap().to_owned();
    let mut fields: BTreeMap<String, String> = BTreeMap::new();
    for field in lines {
        let (name, value) = field.split_once(':').unwrap();
        let (name, mut value) = (name.to_lowercase(), value.trim().to_owned());
        if let Some((_, boundary)) = value.clone().split_once("boundary=") {
            body = body.replace(boundary, "BOUNDARY");
            value = value.replace(boundary, "BOUNDARY");
        }
        // prony sends a body at once, as any client may (RFC 9110, 10.1.1).
        if name == "expect" {
            continue;
        }
        let differs = match name.as_str() {
            "user-agent" => value.starts_with("curl/"),
            "accept-encoding" => value.contains("gzip"),
            _ => false,
        };
        let value = if differs { "…".into() } else { value };
        match fields.get_mut(&name) {
            Some(known) => {
                *known += &format!("{}{value}", if name == "cookie" { "; " } else { ", " });
            }
            None => {
                fields.insert(name, value);
            }
        }
    }
    // Boundaries have different lengths.
    if body.contains("BOUNDARY") {
        fields.remove("content-length");
    }
    // Versions of curl write hexadecimal digits in both cases.
    let mut line = line;
    for at in 0..line.len() {
        if line[at..].starts_with('%') && line.is_char_boundary(at + 3) {
            let upper = line[at..at + 3].to_uppercase();
            line.replace_range(at..at + 3, &upper);
        }
    }
    Received { line, fields, body }
}

/// A server that answers everything, and gives what it received.
fn recording() -> (u16, std::sync::mpsc::Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, all) = std::sync::mpsc::channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let sender = sender.clone();
            thread::spawn(move || {
                let mut bytes = Vec::new();
                let mut buffer = [0; 65_536];
                loop {
                    while let Some(length) = whole(&bytes) {
                        let rest = bytes.split_off(length);
                        let _ = sender.send(std::mem::replace(&mut bytes, rest));
                        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                    }
                    match stream.read(&mut buffer) {
                        Ok(n @ 1..) => bytes.extend_from_slice(&buffer[..n]),
                        _ => return,
                    }
                }
            });
        }
    });
    (port, all)
}

/// The length of the first request, when it is there whole.
fn whole(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length = head.split("content-length:").nth(1);
    let length = length.and_then(|rest| rest.split("\r\n").next()?.trim().parse::<usize>().ok());
    let length = end + length.unwrap_or(0);
    (bytes.len() >= length).then_some(length)
}

/// The requests that curl itself sends.
fn by_curl(line: &str, folder: &Path, all: &std::sync::mpsc::Receiver<Vec<u8>>) -> Vec<Received> {
    let mut shell = Command::new("bash");
    shell.args(["-c", line]).current_dir(folder);
    shell.env("HOME", folder).env_remove("http_proxy");
    let shell = shell
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    assert!(shell.status().is_ok(), "{line}");
    let mut found = Vec::new();
    while let Ok(bytes) = all.recv_timeout(Duration::from_millis(if found.is_empty() {
        2_000
    } else {
        20
    })) {
        found.push(received(&bytes));
    }
    found
}

/// The requests that prony sends, and what was left out.
fn by_prony(line: &str, folder: &Path) -> (Vec<Received>, String) {
    let made = make(line, Some(Format::Curl), None, folder);
    let made = made.unwrap_or_else(|error| panic!("{line}: {error}"));
    let source = crate::source::Source::new("shop.toml", made.text.as_str());
    let host = made.server.split_once("://").unwrap().1;
    let mix = crate::requests::parse(&source, folder, &ServerFacts::anywhere()).unwrap();
    let mix = mix.for_host(host, true);
    let mut session = Mixed::new(&mix, 1, 0, 1);
    let mut all = Vec::new();
    for (kind, request) in mix.requests.iter().enumerate() {
        session.only(kind);
        let mut out = Vec::new();
        session.request(&mut Default::default(), 0, Fifo, &mut out);
        (0..request.weight).for_each(|_| all.push(received(&out)));
    }
    let notes: Vec<String> = made.notes.iter().map(ToString::to_string).collect();
    (all, notes.join("\n"))
}

const BODY: &str = "{\"a\":\n1}\n";

// Slow: 132 command lines: a shell and a curl for each, and 20 ms in which nothing more comes.
#[test]
fn what_curl_sends_is_sent() {
    if Command::new("curl")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        eprintln!("curl is not installed: nothing is compared with it");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("body.json", BODY);
    write("headers.txt", "X-One: 1\nX-Two: 2\n");
    write("name.txt", "Ann & Bob");
    write("page.html", "<p>\"x\"</p>");
    let (port, all) = recording();
    write(
        "options.curl",
        &format!(
            "# options\nurl = \"http://127.0.0.1:{port}/config\"\n-X PUT\nheader = \"X-Q: \\\"q\\\"\"\ndata = a=1\n"
        ),
    );
    write(
        "cookies.txt",
        "# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\t42\n127.0.0.1\tFALSE\t/x\tFALSE\t0\tno\t1\n",
    );
    let lines = include_str!("lines.txt");
    let (mut count, mut wrong) = (0, Vec::new());
    for line in lines
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let line = line
            .replace("\\n\\\n", "\n")
            .replace("HOST", &format!("127.0.0.1:{port}"));
        let line = line.replace('⏎', "\n");
        let mut expected = by_curl(&line, folder.path(), &all);
        let (mut found, _) = by_prony(&line, folder.path());
        expected.sort();
        found.sort();
        if found != expected {
            wrong.push(format!("{line}\nprony {found:?}\ncurl  {expected:?}"));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(count >= 100, "{count} lines");
}

#[test]
fn what_is_left_out_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for (line, word) in [
        ("curl -L http://h/", "-L: redirects are not followed"),
        ("curl --digest -u a:b http://h/", "--digest was left out"),
        (
            "curl --frobnicate 5 http://h/",
            "--frobnicate is not known, and was left out with \"5\"",
        ),
        (
            "curl --frobnicate http://h/",
            "--frobnicate is not known, and was left out",
        ),
        (
            "curl -H \"A: $TOKEN\" http://h/",
            "$TOKEN is known to the shell only",
        ),
        (
            "curl --resolve h:80:1.2.3.4 http://h/",
            "it is an option of prony load",
        ),
        (
            "curl -k https://h/",
            "-k was left out: it is an option of prony load",
        ),
        ("curl -u ann http://h/", "curl asks for the password"),
        (
            "curl -H 'Transfer-Encoding: chunked' -d x http://h/",
            "the body is sent with its length",
        ),
        (
            "curl http://h/ -d @none.json; curl http://h/",
            "cannot read",
        ),
        ("curl http://h/a ftp://h/b", "ftp://h/b: not over HTTP"),
        (
            "curl -d @- http://h/; curl http://h/",
            "standard input, which is not known",
        ),
        (
            "curl 'http://h/[1-' http://h/a; curl http://h/",
            "a range that has no end",
        ),
        ("curl --http2 https://h/", "--http2 was left out"),
    ] {
        let (found, notes) = by_prony(line, folder.path());
        assert_eq!(found.len(), 1, "{line}: {found:?}");
        assert!(notes.contains(word), "{line}: {notes}");
        assert!(notes.starts_with("line 1"), "{line}: {notes}");
    }
    for line in [
        "curl --oauth2-bearer tok http://h/a",
        "curl --proto '=https' --tlsv1.2 -sSf http://h/a -o out",
        "curl --noproxy '*' http://h/a",
        "curl --trace-ascii - http://h/a",
        "curl -w '%{http_code}' -m 5 --retry 3 http://h/a",
        "curl -- http://h/a",
        "curl --next http://h/a".replace("--next ", "").as_str(),
    ] {
        let (found, notes) = by_prony(line, folder.path());
        assert_eq!((found.len(), notes.as_str()), (1, ""), "{line}");
        assert_eq!(found[0].line, "GET /a HTTP/1.1", "{line}");
    }
    let (found, _) = by_prony("curl --digest -u a:b http://h/", folder.path());
    assert!(!found[0].fields.contains_key("authorization"), "{found:?}");
    for line in [
        "curl -d x -F a=1 http://h/",
        "curl -I -d x http://h/",
        "curl -T f -d x http://h/",
    ] {
        let error = make(line, None, None, folder.path())
            .unwrap_err()
            .to_string();
        assert!(error.contains("curl takes only one of"), "{line}: {error}");
    }
    let unknown = make(
        "curl --frobnicate h",
        Some(Format::Curl),
        None,
        folder.path(),
    );
    let unknown = unknown.unwrap_err().to_string();
    assert!(unknown.contains("may be its value or a URL"), "{unknown}");
}

/// The same request as three shells write it.
#[test]
fn all_shells_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let posix =
        "curl 'http://h/a?b=1&c=2' \\\n  -H 'x-q: \"q\"' \\\n  --data-raw '{\"a\":\"it'\\''s\"}'";
    let cmd = "curl ^\"http://h/a?b=1^&c=2^\" ^\r\n  -H ^\"x-q: ^\\^\"q^\\^\"^\" ^\r\n  --data-raw ^\"^{^\\^\"a^\\^\":^\\^\"it's^\\^\"^}^\"\r\n";
    let power =
        "curl.exe 'http://h/a?b=1&c=2' `\n  -H 'x-q: \"q\"' `\n  --data-raw '{\"a\":\"it''s\"}'";
    let expected = by_prony(posix, folder.path());
    assert_eq!(expected.0[0].body, "{\\\"a\\\":\\\"it\\'s\\\"}");
    assert_eq!(by_prony(cmd, folder.path()), expected);
    assert_eq!(by_prony(power, folder.path()), expected);
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "(curl|'|\"|\\\\|\\$|`|\\^|<|>|\\||&|;|\\{|\\[|-|@|=| |\n|h|1|\\PC){0,40}") {
        let _ = make(&format!("curl {text}"), Some(Format::Curl), None, Path::new("/none"));
    }
}
