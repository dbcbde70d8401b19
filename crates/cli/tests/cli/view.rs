//! `prony view`.

use crate::support::{HANGS, PRONY, Place, until};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// A view of this place's notebook, and the address that it printed.
fn view(place: &Place, more: &[&str]) -> (Child, String) {
    let listen: &[&str] = match more.contains(&"--listen") {
        true => &[],
        false => &["--listen", ":0"],
    };
    let arguments = [&["view"], listen, more].concat();
    started(place.command(&arguments))
}

/// The view that a command starts, and the address that it printed.
fn started(mut command: Command) -> (Child, String) {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    (child, line.trim_end().to_owned())
}

fn get(url: &str) -> String {
    let (host, path) = url
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let port = host.rsplit_once(':').unwrap().1;
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    stream.set_read_timeout(Some(HANGS)).unwrap();
    let question = format!("GET /{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(question.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn it_shows_a_run_and_ends_with_ctrl_c() {
    let place = Place::with_references();
    let file = place.experiment(
        "two",
        "title = 'Two <b>servers</b>'\ncontract = 'tcp-echo'\nservers = ['quick', 'plain']\nrounds = 1\n\
         [load]\nconnections = 2\nrequests = 300\nwarmup = '0s'\n",
    );
    let (mut child, url) = view(&place, &[]);
    assert!(get(&url).contains("There are no runs yet"));
    // A run that is made while it is there is there.
    place.prony(&["run", &file, "--no-html"]).with(0);
    let list = get(&url);
    assert!(
        list.contains("Two &lt;b&gt;servers&lt;/b&gt;") && list.contains("finished"),
        "{list}"
    );
    assert!(get(&format!("{url}run/1/report")).contains("<h1>Two &lt;b&gt;servers&lt;/b&gt;</h1>"));
    assert!(get(&format!("{url}run/1")).contains("measured"));
    // A client still listens when it ends.
    let mut listener =
        TcpStream::connect(url.trim_start_matches("http://").trim_end_matches('/')).unwrap();
    listener
        .write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut first = [0; 12];
    listener.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    let pid = child.id().cast_signed();
    // SAFETY: a plain system call; the child has not been reaped, so the number is its own.
    let sent = unsafe { libc::kill(pid, libc::SIGINT) };
    assert_eq!(sent, 0);
    let mut ended = None;
    until("the end of the view", || {
        ended = child.try_wait().unwrap();
        ended.is_some()
    });
    assert_eq!(ended.unwrap().code(), Some(0));
}

#[test]
fn another_address_needs_the_token() {
    let place = Place::new();
    let (mut child, url) = view(&place, &["--listen", "0.0.0.0:0"]);
    let (bare, token) = url.split_once("?token=").expect("an address with a token");
    assert!(token.len() >= 32, "{url}");
    assert!(get(bare).starts_with("HTTP/1.1 401 "));
    assert!(get(&url).starts_with("HTTP/1.1 303 "));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_is_wrong_is_told_with_what_to_do() {
    let place = Place::new();
    let (mut child, url) = view(&place, &[]);
    let port = url.trim_end_matches('/').rsplit_once(':').unwrap().1;
    let done = place.prony(&["view", "--listen", port]).with(1);
    assert!(
        done.stderr.contains("is in use") && done.stderr.contains("--listen :0"),
        "{done}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    let done = place
        .prony(&["view", "--listen", ":0", "--notebook", PRONY])
        .with(1);
    assert!(done.stderr.contains("is not a notebook"), "{done}");
    let done = place.refused(&["view", "--listen", "nowhere"]);
    assert!(done.stderr.contains("--listen"), "{done}");
}

#[test]
fn clients_that_hold_connections_lock_nobody_out() {
    let place = Place::new();
    let few = place.shell_command("ulimit -n 64; exec \"$PRONY\" view --listen :0");
    let (mut child, url) = started(few);
    let at = url.trim_start_matches("http://").trim_end_matches('/');
    for sent in [
        // Half a request, nothing at all, an event stream that the client never reads, and a whole request.
        &b"GET / HTTP/1.1\r\nHost: local"[..],
        b"",
        b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ] {
        let mut held = Vec::new();
        for _ in 0..100 {
            let mut stream = TcpStream::connect(at).unwrap();
            // One that was closed for others cannot be written to any more.
            let _ = stream.write_all(sent);
            held.push(stream);
        }
        for _ in 0..3 {
            assert!(get(&url).contains("There are no runs yet"), "{sent:?}");
        }
        // Those that came first had to go.
        held[0].set_read_timeout(Some(HANGS)).unwrap();
        let mut rest = Vec::new();
        let end = held[0].read_to_end(&mut rest);
        let reset = |error: std::io::Error| error.kind() == std::io::ErrorKind::ConnectionReset;
        assert!(end.is_ok() || end.is_err_and(reset), "it is still there");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

// Slow: waits for the time-out of 10 s of a head that never ends.
#[test]
fn a_head_that_never_ends_is_given_up() {
    let place = Place::new();
    let (mut child, url) = view(&place, &[]);
    let mut stream =
        TcpStream::connect(url.trim_start_matches("http://").trim_end_matches('/')).unwrap();
    stream.set_read_timeout(Some(HANGS)).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: lo").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(!answer.contains("200 OK"), "{answer}");
    // One that is too long is refused at once.
    let mut stream =
        TcpStream::connect(url.trim_start_matches("http://").trim_end_matches('/')).unwrap();
    stream.set_read_timeout(Some(HANGS)).unwrap();
    let long = format!("GET /?q={} HTTP/1.1\r\n", "x".repeat(200_000));
    let _ = stream.write_all(long.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
        "{answer}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
}
