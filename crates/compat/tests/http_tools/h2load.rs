use crate::h2::{BROKEN, NOT_FOUND, OK, Says, secure, server};
use crate::support::{
    Run, fields, golden, http_echo, original, prony, shape, unused_port, without_port,
};
use prony_compat::Console;
use prony_compat::h2load::main;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::SocketAddr;

/// Lines whose every figure follows from the command line and the server.
const COUNTS: [&str; 2] = ["requests", "status codes"];

fn at<'a>(args: &[&'a str], url: &'a str) -> Vec<&'a str> {
    [args, &[url]].concat()
}

/// Ours, on a server of `hello`.
fn run(args: &[&str]) -> Run {
    let url = format!("http://{}/", server(|_| OK));
    prony(main, &at(args, &url)).with(0)
}

/// The lines without the sizes of their figures. Those of several threads, and of connections that begin at a rate, come
/// in another order each time.
fn lines(text: &str) -> Vec<String> {
    let units = [
        ("#us", "#s"),
        ("#ms", "#s"),
        ("#KB", "#B"),
        ("#MB", "#B"),
        ("#GB", "#B"),
    ];
    let mut lines: Vec<String> = shape(text)
        .into_iter()
        .map(|line| {
            let one = |line: String, (unit, same): (&str, &str)| line.replace(unit, same);
            units.into_iter().fold(line, one)
        })
        .collect();
    lines.sort();
    lines
}

#[track_caller]
fn compare(ours: &str, real: &str, equal: &[&str]) {
    assert_eq!(lines(ours), lines(real), "\n{ours}\n{real}");
    let (ours, real) = (fields(ours), fields(real));
    for name in equal {
        assert_eq!(ours.get(name), real.get(name), "{name}");
    }
}

/// Compares with a golden file, and with the original where it is installed.
#[track_caller]
fn paired(case: &str, args: &[&str], addr: SocketAddr, scheme: &str, equal: &[&str]) {
    let url = format!("{scheme}://{addr}/");
    let args = at(args, &url);
    let ours = prony(main, &args).with(0).out;
    let real = original("h2load", &args).map(|run| without_port(&run.with(0).out, addr));
    compare(&ours, &golden(case, real.as_deref()), equal);
    if let Some(real) = real {
        compare(&ours, &real, equal);
    }
}

#[test]
fn outputs_are_those_of_the_original() {
    let ok = server(|_| OK);
    for (case, args) in [
        (
            "h2load-requests",
            &["-n", "23", "-c", "4", "-t", "2", "-m", "3"][..],
        ),
        ("h2load-few", &["-n", "3"]),
        (
            "h2load-rate",
            &["-n", "12", "-c", "4", "-r", "2", "--rate-period=50ms"],
        ),
        ("h2load-rps", &["-n", "20", "-c", "2", "--rps", "100"]),
    ] {
        paired(case, args, ok, "http", &COUNTS);
    }
}

#[test]
fn loads_that_end_by_time_look_alike() {
    let ok = server(|_| OK);
    for (case, args) in [
        ("h2load-duration", &["-D", "1", "-c", "3", "-t", "1"][..]),
        (
            "h2load-warm-up",
            &["-D", "1s", "--warm-up-time=500ms", "-c", "12", "-m", "2"],
        ),
    ] {
        paired(case, args, ok, "http", &[]);
    }
}

#[test]
fn statuses_are_counted_as_the_original_counts_them() {
    paired(
        "h2load-404",
        &["-n", "6", "-c", "2"],
        server(|_| NOT_FOUND),
        "http",
        &COUNTS,
    );
    let mixed = |nth: u64| [OK, NOT_FOUND, BROKEN, OK][nth as usize % 4];
    paired(
        "h2load-mixed",
        &["-n", "8", "-m", "2"],
        server(mixed),
        "http",
        &COUNTS,
    );
}

#[test]
fn over_http1() {
    let args = ["--h1", "-n", "24", "-c", "3", "-m", "2"];
    paired("h2load-h1", &args, http_echo(), "http", &COUNTS);
}

#[test]
fn over_tls() {
    let cipher = "--tls13-ciphers=TLS_CHACHA20_POLY1305_SHA256";
    let equal = [
        &COUNTS[..],
        &[
            "TLS Protocol",
            "Cipher",
            "Server Temp Key",
            "Application protocol",
            "traffic",
        ],
    ];
    paired(
        "h2load-tls",
        &["-n", "6", "-c", "2", cipher],
        secure(),
        "https",
        &equal.concat(),
    );
}

#[test]
fn over_http3() {
    let url = format!("https://{}/", crate::h3::http_echo());
    let real = golden("h2load-h3", None);
    let same = [
        "TLS Protocol",
        "Application protocol",
        "requests",
        "status codes",
    ];
    let counts = |text: &str| {
        let lines = text
            .lines()
            .map(|line| line.split(':').next().unwrap().to_owned());
        let lines: Vec<_> = lines.skip_while(|line| line != "requests").collect();
        lines
            .into_iter()
            .take_while(|name| !name.starts_with(' '))
            .collect::<Vec<_>>()
    };
    for args in [
        &["--h3", "-n", "24", "-c", "3", "-m", "4"][..],
        &[
            "--alpn-list=h3",
            "-n",
            "24",
            "-t",
            "2",
            "-c",
            "2",
            "-W",
            "20",
            "-w",
            "20",
        ],
        &[
            "--h3",
            "-n",
            "24",
            "-c",
            "4",
            "-r",
            "2",
            "--rate-period=50ms",
        ],
    ] {
        let done = prony(main, &at(args, &url)).with(0);
        let said = fields(&done.out);
        for name in same {
            assert_eq!(said[name], fields(&real)[name], "{}", done.out);
        }
        assert_eq!(counts(&done.out), counts(&real), "{}", done.out);
        let datagrams = said["UDP datagram"].split_once(" sent, ").unwrap();
        let received = datagrams.1.strip_suffix(" received").unwrap();
        for number in [datagrams.0, received] {
            assert!(number.parse::<u64>().unwrap() >= 4, "{}", done.out);
        }
    }
    let timed = ["--h3", "-D", "1", "-c", "2", "-m", "8"];
    let done = prony(main, &at(&timed, &url)).with(0);
    let said = fields(&done.out);
    assert!(
        said["requests"].ends_with(" 0 failed, 0 errored, 0 timeout"),
        "{}",
        done.out
    );
}

#[test]
fn a_body_goes_over_http3() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![b'x'; 100_000]).unwrap();
    let url = format!("https://{}/", crate::h3::http_echo());
    let data = format!("--data={}", file.path().display());
    let done = prony(
        main,
        &["--h3", "-n", "6", "-c", "2", "-m", "2", &data, &url],
    )
    .with(0);
    assert_eq!(
        fields(&done.out)["status codes"],
        "6 2xx, 0 3xx, 0 4xx, 0 5xx"
    );
}

#[test]
fn http3_where_it_is_not_spoken() {
    let over_tcp = format!("https://{}/", secure());
    let args = ["--h3", "-n", "4", "-c", "2", &over_tcp];
    let done = prony(main, &args).with(0);
    let said = fields(&done.out);
    assert_eq!(
        said["requests"],
        "4 total, 0 started, 0 done, 0 succeeded, 4 failed, 4 errored, 0 timeout"
    );
    assert_eq!(said["UDP datagram"], "0 sent, 0 received");
    assert!(
        done.err.contains("nothing listens on UDP port"),
        "{}",
        done.err
    );
    assert!(done.err.contains("Without --h3"), "{}", done.err);
}

/// Both print a report, and neither fails. The original says nothing of the reason.
#[test]
fn a_server_that_is_not_there() {
    let addr = unused_port();
    paired(
        "h2load-refused",
        &["-n", "5", "-c", "2"],
        addr,
        "http",
        &COUNTS,
    );
    let url = format!("http://{addr}/");
    let done = prony(main, &["-n", "5", "-c", "2", "--quiet", &url]).with(0);
    assert!(done.err.contains("Connection refused"), "{}", done.err);
    let done = prony(main, &["http://nohost.invalid/"]).with(1);
    assert!(
        done.err.starts_with("getaddrinfo() failed: "),
        "{}",
        done.err
    );
    assert_eq!(done.out, "");
}

#[test]
fn a_server_that_speaks_http1_on_the_port() {
    let url = format!(
        "http://{}/",
        crate::support::server(|mut stream, _| {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            let _ = stream.read_to_end(&mut Vec::new());
        })
    );
    let done = prony(main, &["-n", "4", "-c", "2", &url]).with(0);
    assert_eq!(
        fields(&done.out)["requests"],
        "4 total, 0 started, 0 done, 0 succeeded, 4 failed, 4 errored, 0 timeout"
    );
    assert!(
        done.err
            .contains("the server speaks HTTP/1.1, not HTTP/2; --h1"),
        "{}",
        done.err
    );
}

#[test]
fn streams_that_are_reset_are_errors() {
    let url = format!(
        "http://{}/",
        server(|nth| if nth < 2 { Says::Reset } else { OK })
    );
    let done = prony(main, &["-n", "6", &url]).with(0);
    assert_eq!(
        fields(&done.out)["requests"],
        "6 total, 6 started, 6 done, 4 succeeded, 2 failed, 2 errored, 0 timeout"
    );
    assert_eq!(
        fields(&done.out)["status codes"],
        "4 2xx, 0 3xx, 0 4xx, 0 5xx"
    );
}

// Slow: two loads: two time-outs of 1 s in a row, then one of 2 s.
#[test]
fn a_server_that_says_nothing_runs_into_the_limits() {
    let url = format!("http://{}/", server(|_| Says::Nothing));
    let done = prony(main, &["-n", "4", "-c", "2", "-N", "1s", &url]).with(0);
    assert_eq!(
        fields(&done.out)["requests"],
        "4 total, 4 started, 0 done, 0 succeeded, 4 failed, 4 errored, 4 timeout"
    );
    let done = prony(main, &["-n", "4", "-c", "2", "-T", "1s", "-N", "2s", &url]).with(0);
    assert_eq!(
        fields(&done.out)["requests"],
        "4 total, 2 started, 0 done, 0 succeeded, 4 failed, 4 errored, 2 timeout"
    );
}

#[test]
fn several_uris_and_a_file_to_post() {
    let base = [
        "-n",
        "8",
        "-c",
        "2",
        "-m",
        "2",
        "http://127.0.0.1:1/a",
        "/b",
        "-B",
    ];
    let done = run(&base);
    assert!(
        fields(&done.out)["requests"].contains("8 succeeded"),
        "{}",
        done.out
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    // Three of them fit the window of 65,535 bytes, which the server never enlarges.
    std::fs::write(file.path(), vec![b'x'; 20_000]).unwrap();
    let path = file.path().to_str().unwrap();
    let done = run(&["-n", "3", "-c", "1", "-d", path]);
    assert!(
        fields(&done.out)["requests"].contains("3 succeeded"),
        "{}",
        done.out
    );
}

#[test]
fn connections_may_go_elsewhere() {
    let addr = server(|_| OK);
    let elsewhere = format!("--connect-to=127.0.0.1:{}", addr.port());
    let done = prony(main, &["-n", "3", &elsewhere, "http://nohost.invalid/"]).with(0);
    assert!(
        fields(&done.out)["requests"].contains("3 succeeded"),
        "{}",
        done.out
    );
}

#[test]
fn the_log_has_a_line_for_each_request() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let log = format!("--log-file={}", file.path().display());
    let addr = server(|nth| if nth == 1 { NOT_FOUND } else { OK });
    let url = format!("http://{addr}/");
    prony(main, &["-n", "5", &log, &url]).with(0);
    let text = std::fs::read_to_string(file.path()).unwrap();
    let rows: Vec<Vec<u64>> = text
        .lines()
        .map(|line| line.split('\t').map(|cell| cell.parse().unwrap()).collect())
        .collect();
    let statuses: Vec<u64> = rows.iter().map(|row| row[1]).collect();
    assert_eq!(statuses, [200, 404, 200, 200, 200]);
    assert!(rows.iter().map(|row| row[0] + row[2]).is_sorted(), "{text}");
    let done = prony(main, &["--log-file=/nonexistent/x", &url]).with(1);
    assert_eq!(done.err, "--log-file: Could not open file /nonexistent/x\n");
}

/// The space savings are those of the fields that the server sent: 3 + 12 bytes of the field, and 7 + 3 of the status.
#[test]
fn header_bytes_are_exact() {
    let out = run(&["-n", "5"]).out;
    let (first, again, plain) = (1 + 1 + 4 + 13, 2, 25);
    let (heads, plain) = (first + 4 * again, 5 * plain);
    let saved = 100.0 - 100.0 * f64::from(heads) / f64::from(plain);
    let expected = format!("{heads}B ({heads}) headers (space savings {saved:.2}%), 25B (25) data");
    assert!(out.contains(&expected), "{expected}: {out}");
}

#[test]
fn ctrl_c_prints_what_was_measured() {
    let url = format!("http://{}/", server(|_| OK));
    let args = ["-D", "10m", "-c", "2", &url];
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let status = main(
        args.iter().map(OsString::from).collect(),
        &mut Console {
            out: &mut out,
            err: &mut err,
            guard: &|control| {
                let control = control.clone();
                std::thread::spawn(move || {
                    while control.elapsed().is_none_or(|passed| passed < 300_000_000) {
                        std::thread::yield_now();
                    }
                    control.stop();
                });
            },
        },
    );
    let out = String::from_utf8(out).unwrap();
    assert_eq!(status, 0, "{out}");
    assert!(
        out.contains("\nfinished in ") && out.contains(" 0 failed, 0 errored"),
        "{out}"
    );
}

#[test]
fn quiet_silences_the_checks_and_the_notes() {
    let url = format!("http://{}/", server(|_| OK));
    let done = prony(main, &["-v", "-n", "3", &url]).with(0);
    assert!(
        done.err.contains("prony: --verbose has no effect"),
        "{}",
        done.err
    );
    assert!(done.err.contains("too-few-samples"), "{}", done.err);
    assert_eq!(
        prony(main, &["-v", "-n", "3", "--quiet", &url]).with(0).err,
        ""
    );
}

#[test]
fn fields_that_http2_does_not_have_are_refused() {
    let url = format!("http://{}/", server(|_| OK));
    let done = prony(main, &["-H", "Connection: close", &url]).with(1);
    assert!(
        done.err
            .contains("prony: -H: HTTP/2 has no header field \"connection\""),
        "{}",
        done.err
    );
}
