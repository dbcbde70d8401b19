use crate::support::{
    Run, answer, golden, http_echo, original, original_stopped, prony, server, shape, stopped,
    unused_port, without_port,
};
use prony_compat::httperf::main;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Beginnings of lines whose every figure follows from the command line and the server.
const COUNTS: [&str; 7] = [
    "httperf ",
    "Connection length",
    "Request size",
    "Reply size",
    "Reply status",
    "Errors: total",
    "Errors: fd-unavail",
];

/// Returns the lines that begin with `COUNTS`, and the counts of the line that ends with a duration.
fn counts(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text
        .lines()
        .filter(|line| COUNTS.iter().any(|name| line.starts_with(name)))
        .collect();
    let total = text
        .lines()
        .find(|line| line.starts_with("Total:"))
        .unwrap();
    lines.push(total.split_once(" test-duration").unwrap().0);
    lines
}

fn args<'a>(args: &[&'a str], port: &'a str) -> Vec<&'a str> {
    [args, &["--server", "127.0.0.1", "--port", port]].concat()
}

/// Runs both on the same server; the original only where it is.
fn compare(case: &str, flags: &[&str], addr: SocketAddr) -> Run {
    let port = addr.port().to_string();
    let line = args(flags, &port);
    let ours = prony(main, &line).with(0);
    let real = original("httperf", &line).map(|run| without_port(&run.with(0).out, addr));
    let out = without_port(&ours.out, addr);
    let golden = golden(case, real.as_deref());
    for real in real.iter().chain([&golden]) {
        assert_eq!(shape(&out), shape(real), "{case}");
        assert_eq!(counts(&out), counts(real), "{case}");
    }
    ours
}

#[test]
fn one_connection_after_the_other() {
    let addr = http_echo();
    compare(
        "httperf-plain",
        &["--num-conns", "5", "--uri", "/hoge"],
        addr,
    );
    let calls = ["--hog", "--num-conns", "7", "--num-calls", "10"];
    compare("httperf-calls", &calls, addr);
    let burst = [
        "--num-conns",
        "3",
        "--num-calls",
        "10",
        "--burst-length",
        "5",
    ];
    compare("httperf-burst", &burst, addr);
    compare("httperf-head", &["--method", "HEAD"], addr);
}

#[test]
fn connections_at_a_rate() {
    let flags = [
        "--hog",
        "--rate",
        "200",
        "--num-conns",
        "30",
        "--num-calls",
        "5",
        "--timeout",
        "5",
    ];
    let run = compare("httperf-rate", &flags, http_echo());
    assert!(
        run.err.contains("--rate is connections per second"),
        "{}",
        run.err
    );
    assert!(run.err.contains("1000 requests per second"), "{}", run.err);
}

/// An answer takes 50 ms at least, however many connections wait for theirs at the same time: what is
/// reported is never less.
#[test]
fn the_reply_time_begins_when_the_request_was_sent() {
    let slow = server(|mut stream, _| {
        thread::sleep(Duration::from_millis(50));
        answer(&mut stream, "200 OK", "abc");
    });
    let port = slow.port().to_string();
    let line = args(&["--num-conns", "60", "--rate", "1000"], &port);
    let reply_time = |out: &str| -> f64 {
        let line = out
            .lines()
            .find(|line| line.starts_with("Reply time"))
            .unwrap();
        line.split_whitespace().nth(4).unwrap().parse().unwrap()
    };
    let done = prony(main, &[&line[..], &["--quiet"]].concat()).with(0);
    assert!(reply_time(&done.out) >= 50.0, "{}", done.out);
    if let Some(real) = original("httperf", &line) {
        // Its clock is up to a millisecond old.
        assert!(reply_time(&real.with(0).out) >= 49.0);
    }
}

/// The sizes are those of the replies that are counted, whatever comes later.
#[test]
fn what_comes_after_ctrl_c_is_not_counted() {
    let slow = server(|mut stream, _| {
        thread::sleep(Duration::from_millis(300));
        answer(&mut stream, "200 OK", "abc");
    });
    let port = slow.port().to_string();
    let line = args(&["--num-conns", "1000", "--rate", "50"], &port);
    let size = |run: &Run| {
        let line = run.out.lines().find(|line| line.starts_with("Reply size"));
        line.unwrap().to_owned()
    };
    let ours = stopped(main, Duration::from_secs(1), &line).with(0);
    assert_eq!(
        size(&ours),
        "Reply size [B]: header 58.0 content 3.0 footer 0.0 (total 61.0)"
    );
    if let Some(real) = original_stopped("httperf", Duration::from_secs(1), &line) {
        assert_eq!(size(&ours), size(&real.with(0)));
    }
}

#[test]
fn errors_are_told_apart() {
    let hang = server(|stream, _| {
        thread::sleep(Duration::from_secs(3));
        drop(stream);
    });
    compare(
        "httperf-timeout",
        &["--num-conns", "2", "--timeout", "0.2"],
        hang,
    );
    compare("httperf-refused", &["--num-conns", "3"], unused_port());
    let closes = server(|stream: TcpStream, _| drop(stream));
    compare("httperf-closed", &["--num-conns", "3"], closes);
    let statuses = server(|mut stream, nth| {
        let status = ["404 NF", "500 No", "302 Fo", "200 OK"][nth as usize % 4];
        answer(&mut stream, status, "abc");
    });
    // Four each: the original's turn begins where this one's has ended.
    compare("httperf-status", &["--num-conns", "4"], statuses);
}

#[test]
fn a_server_that_closes_early_ends_the_connection_and_not_the_run() {
    let addr = server(|mut stream, _| {
        answer(&mut stream, "200 OK", "abc");
    });
    let port = addr.port().to_string();
    let line = args(&["--num-conns", "3", "--num-calls", "5", "--quiet"], &port);
    let done = prony(main, &line).with(0);
    // Calls that could not be made are errors, and never silence.
    let errors = "Errors: total 3 client-timo 0 socket-timo 0 connrefused 0 connreset 3\n";
    assert!(done.out.contains(errors), "{}", done.out);
    let real: Vec<&str> = line
        .iter()
        .copied()
        .filter(|arg| *arg != "--quiet")
        .collect();
    if let Some(real) = original("httperf", &real) {
        assert!(real.with(0).out.contains(errors));
    }
    assert!(
        done.out
            .contains("Total: connections 3 requests 3 replies 3"),
        "{}",
        done.out
    );
    assert!(done.out.contains("[replies/conn]: 1.000"), "{}", done.out);
    assert_eq!(done.err, "");
}

/// The URIs that a server was asked for, in order.
fn asked(flags: &[&str], run: impl Fn(&[&str]) -> Option<Run>) -> Option<(Run, Vec<String>)> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let (uri, uris) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut lines = BufReader::new(stream.unwrap());
            let mut line = String::new();
            while matches!(lines.read_line(&mut line), Ok(1..)) {
                if let Some(rest) = line.strip_prefix("GET ") {
                    let _ = uri.send(rest.split(' ').next().unwrap().to_owned());
                }
                if line == "\r\n" {
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
                    let _ = lines.get_mut().write_all(answer);
                }
                line.clear();
            }
        }
    });
    let run = run(&args(flags, &port))?;
    Some((run, uris.try_iter().collect()))
}

#[test]
fn files_of_a_working_set_are_asked_for_as_by_the_original() {
    for flags in [
        &["--wset", "3,0.5", "--num-conns", "7"][..],
        &[
            "--wset",
            "12,0.3",
            "--num-conns",
            "3",
            "--num-calls",
            "5",
            "--uri",
            "/a/",
        ],
        &[
            "--wset",
            "5,0.4",
            "--client",
            "1/2",
            "--num-conns",
            "9",
            "--uri",
            "/c",
        ],
        &[
            "--wset",
            "100,0.1",
            "--num-calls",
            "23",
            "--verbose",
            "--uri",
            "/e",
        ],
        &["--wset", "0,1", "--num-conns", "2"],
    ] {
        let (ours, uris) = asked(flags, |line| Some(prony(main, line).with(0))).unwrap();
        let Some((real, expected)) = asked(flags, |line| original("httperf", line)) else {
            continue;
        };
        assert_eq!(uris, expected, "{flags:?}");
        let lines = |text: &str| -> Vec<String> {
            let wanted = |line: &&str| line.contains("accessing") || line.contains("--wset");
            let lines = text.lines().filter(wanted);
            let without_port = |line: &str| {
                line.split(" --")
                    .filter(|flag| !flag.starts_with("port="))
                    .collect()
            };
            lines.map(without_port).collect()
        };
        assert_eq!(lines(&ours.out), lines(&real.out), "{flags:?}");
    }
}

#[test]
fn what_is_not_supported_says_so() {
    let done = prony(main, &["--wsess", "3,2,0.1"]).with(1);
    assert_eq!(done.err, "httperf: --wsess is not supported\n");
    let done = prony(main, &["--wlog", "y,urls"]).with(1);
    assert_eq!(done.err, "httperf: --wlog is not supported\n");
    let done = prony(main, &["--ws", "3"]).with(1);
    let why =
        "option '--ws' is ambiguous; possibilities: '--wsess' '--wsesslog' '--wsesspage' '--wset'";
    assert!(done.err.contains(why), "{}", done.err);
    if let Some(real) = original("httperf", &["--ws", "3"]) {
        assert!(real.err.contains(why), "{}", real.err);
    }
    let done = prony(main, &["--nu", "2"]).with(1);
    let why = "option '--nu' is ambiguous; possibilities: '--num-calls' '--num-conns'";
    assert!(done.err.contains(why), "{}", done.err);
    if let Some(real) = original("httperf", &["--nu", "2"]) {
        assert!(real.err.contains(why), "{}", real.err);
    }
    let done = prony(main, &["--server", "no such host"]).with(1);
    assert!(done.err.contains("invalid server address"), "{}", done.err);
}
