use crate::h2::secure_http1 as secure;
use crate::support::{
    Run, answer, fields, golden, http_echo, original, original_stopped, prony, server, shape,
    stopped, unused_port, without_port,
};
use prony_compat::ab::main;
use prony_engine::protocol::tls::SelfSigned;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// Lines whose figures depend on the clock.
const TIMED: [&str; 9] = [
    "Time taken for tests",
    "Requests per second",
    "Time per request",
    "Transfer rate",
    "Connect",
    "Processing",
    "Waiting",
    "Total",
    "Benchmarking 127.0.0.1 (be patient)...LOG",
];

/// The report without the lines that say who speaks, and without the original's opinion of its
/// own figures, for which prony has checks; and without a server's date.
fn report(text: &str) -> String {
    let opinion = ["WARNING:", "ERROR:", "These results", "deviation apart"];
    text.lines()
        .skip_while(|line| !line.starts_with("Benchmarking") && !line.starts_with("<p>"))
        .filter(|line| {
            !opinion
                .iter()
                .any(|begin| line.trim_start().starts_with(begin))
        })
        .filter(|line| !line.starts_with(" Copyright") && !line.starts_with(" Licensed"))
        .filter(|line| !line.starts_with(" Spoken by") && !line.starts_with(" Its figures"))
        .filter(|line| !line.starts_with("Date:"))
        .map(|line| {
            if line.starts_with(" This is ApacheBench") {
                " This is ApacheBench\n".into()
            } else {
                format!("{line}\n")
            }
        })
        .collect()
}

/// All lines have the same form, and those without times the same figures.
fn same(case: &str, ours: &str, real: &str) {
    assert_eq!(shape(ours), shape(real), "{case}");
    let (ours, real) = (fields(ours), fields(real));
    for (name, value) in &real {
        if !TIMED.contains(name) && !name.starts_with('<') {
            assert_eq!(ours.get(name), Some(value), "{case}: {name}");
        }
    }
}

/// Runs both on the same server; the original only where it is.
fn compare(case: &str, flags: &[&str], addr: SocketAddr) -> Run {
    let url = format!("http://{addr}/hoge");
    let line = [flags, &[&url]].concat();
    let ours = prony(main, &line).with(0);
    let out = report(&without_port(&ours.out, addr));
    let real = original("ab", &line).map(|run| report(&without_port(&run.with(0).out, addr)));
    let golden = golden(case, real.as_deref());
    for real in real.iter().chain([&golden]) {
        same(case, &out, real);
    }
    consistent(&ours.out);
    ours
}

/// The report does not contradict itself.
fn consistent(out: &str) {
    let fields = fields(out);
    let number = |name: &str| -> Option<f64> {
        let value = fields.get(name)?.split(' ').next()?;
        value.parse().ok()
    };
    let (Some(rate), Some(complete)) = (number("Requests per second"), number("Complete requests"))
    else {
        return;
    };
    let each: f64 = out
        .lines()
        .find(|line| line.contains("across all concurrent"))
        .and_then(|line| line.split_whitespace().nth(3)?.parse().ok())
        .unwrap();
    // The rate is printed with two decimals and the time with three: some rate that prints as this
    // one must have a time that prints as this one.
    let (least, most) = (1e3 / (rate + 0.005), 1e3 / (rate - 0.005));
    assert!(
        (least - 0.000_501..=most + 0.000_501).contains(&each),
        "{each} is not within {least} to {most} of {complete}\n{out}"
    );
}

#[test]
fn reports_are_those_of_the_original() {
    let addr = http_echo();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "a=1&b=2").unwrap();
    let path = file.path().to_str().unwrap();
    for (case, flags) in [
        ("ab-plain", &["-n", "200", "-c", "10", "-q"][..]),
        ("ab-keepalive", &["-kqn100", "-c", "5"]),
        ("ab-post", &["-q", "-n", "20", "-p", path, "-T", "text/x"]),
        ("ab-put", &["-q", "-k", "-n", "20", "-u", path]),
        ("ab-head", &["-q", "-i", "-n", "20"]),
        ("ab-legacy", &["-q", "-S", "-d", "-n", "20"]),
        ("ab-variable", &["-q", "-l", "-n", "20"]),
        ("ab-html", &["-q", "-w", "-k", "-n", "20", "-p", path]),
        (
            "ab-verbose",
            &["-q", "-i", "-v", "4", "-n", "1", "-H", "X-A: b"],
        ),
        ("ab-one", &["-n", "1"]),
    ] {
        compare(case, flags, addr);
    }
}

#[test]
fn progress_is_that_of_the_original() {
    let addr = http_echo();
    let run = compare("ab-progress", &["-n", "400", "-c", "4"], addr);
    let progress: Vec<_> = run
        .err
        .lines()
        .filter(|line| !line.starts_with("prony"))
        .collect();
    let expected = [
        "Completed 100 requests",
        "Completed 200 requests",
        "Completed 300 requests",
        "Completed 400 requests",
        "Finished 400 requests",
    ];
    assert_eq!(progress, expected);
    let url = format!("http://{addr}/hoge");
    if let Some(real) = original("ab", &["-n", "400", "-c", "4", &url]) {
        assert_eq!(real.err.lines().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn failures_are_those_of_the_original() {
    let statuses = server(|mut stream, _| answer(&mut stream, "404 Not Found", "abc"));
    compare("ab-404", &["-q", "-n", "6", "-c", "2"], statuses);
    // Every other answer is of another length.
    let lengths = server(|mut stream, nth| {
        answer(
            &mut stream,
            "200 OK",
            if nth % 2 == 0 { "abc" } else { "abcd" },
        );
    });
    compare("ab-length", &["-q", "-n", "6"], lengths);
    compare("ab-length-html", &["-q", "-w", "-n", "6"], lengths);
}

#[test]
fn the_files_are_those_of_the_original() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://{}/hoge", http_echo());
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let shapes = |run: &dyn Fn(&[&str]) -> Option<Run>, who: &str| {
        let (csv, gnuplot) = (file(&format!("{who}.csv")), file(&format!("{who}.tsv")));
        run(&[
            "-q", "-n", "30", "-c", "3", "-e", &csv, "-g", &gnuplot, &url,
        ])?
        .with(0);
        let read = |path| std::fs::read_to_string(path).unwrap();
        Some((read(csv), read(gnuplot)))
    };
    let (csv, gnuplot) = shapes(&|args| Some(prony(main, args)), "ours").unwrap();
    assert_eq!(csv.lines().count(), 102);
    assert_eq!(gnuplot.lines().count(), 31);
    // The shortest first.
    let totals: Vec<u64> = gnuplot
        .lines()
        .skip(1)
        .map(|line| line.split('\t').nth(4).unwrap().parse().unwrap())
        .collect();
    assert!(totals.is_sorted(), "{gnuplot}");
    if let Some((real_csv, real_gnuplot)) = shapes(&|args| original("ab", args), "real") {
        assert_eq!(shape(&csv), shape(&real_csv));
        assert_eq!(shape(&gnuplot), shape(&real_gnuplot));
    }
}

/// Many a small server speaks HTTP/1.1 whatever it is asked in, and closes without saying so.
#[test]
fn a_connection_is_kept_where_the_server_says_so() {
    let closes = server(|mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
    });
    let url = format!("http://{closes}/");
    for verbosity in ["0", "2"] {
        let line = ["-q", "-k", "-n", "6", "-c", "2", "-v", verbosity, &url];
        let counts = |run: &Run| {
            let names = [
                "Complete requests",
                "Failed requests",
                "Keep-Alive requests",
            ];
            names.map(|name| fields(&run.out)[name].to_owned())
        };
        let ours = prony(main, &line).with(0);
        assert_eq!(counts(&ours), ["6", "0", "0"], "{ours:#?}");
        if let Some(real) = original("ab", &line) {
            assert_eq!(counts(&ours), counts(&real.with(0)));
        }
    }
}

/// The report is printed first.
#[test]
fn a_file_that_cannot_be_written_is_named_as_by_the_original() {
    let url = format!("http://{}/hoge", http_echo());
    for flag in ["-e", "-g"] {
        let line = ["-q", "-n", "2", flag, "/nonexistent/file", &url];
        let ours = prony(main, &line).with(1);
        let said = ours
            .err
            .lines()
            .find(|line| line.starts_with("Cannot open"));
        assert!(
            ours.out.contains("Complete requests:      2\n"),
            "{ours:#?}"
        );
        if let Some(real) = original("ab", &line) {
            assert_eq!(said, real.with(1).err.lines().next());
        }
    }
}

/// After Ctrl-C only the answers that were complete count, and only their bytes.
#[test]
fn what_comes_after_ctrl_c_is_not_counted() {
    let slow = server(|mut stream, _| {
        thread::sleep(Duration::from_millis(250));
        answer(&mut stream, "200 OK", "abc");
    });
    let url = format!("http://{slow}/");
    let line = ["-n", "1000", "-c", "7", &url];
    let ours = stopped(main, Duration::from_millis(700), &line);
    let count = |run: &Run, name: &str| -> u64 {
        let value = fields(&run.out)[name].split(' ').next().unwrap().to_owned();
        value.parse().unwrap()
    };
    let complete = count(&ours, "Complete requests");
    assert!(complete > 0, "{ours:#?}");
    assert_eq!(count(&ours, "HTML transferred"), 3 * complete, "{ours:#?}");
    let each = "HTTP/1.0 200 OK\r\nServer: demo/1 (x)\r\nContent-Length: 3\r\n\r\nabc".len();
    assert_eq!(count(&ours, "Total transferred"), each as u64 * complete);
    assert!(!ours.err.contains("Finished"), "{ours:#?}");
    if let Some(real) = original_stopped("ab", Duration::from_millis(700), &line) {
        assert_eq!(count(&real, "HTML transferred") % 3, 0);
        assert!(!real.err.contains("Finished"), "{real:#?}");
    }
}

#[test]
fn a_server_that_keeps_an_endless_answer_open_is_given_up() {
    let addr = server(|mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nabc");
        thread::sleep(Duration::from_secs(5));
    });
    let url = format!("http://{addr}/");
    let line = ["-s", "1", "-n", "4", "-c", "2", url.as_str()];
    let ours = prony(main, &line);
    if let Some(real) = original("ab", &line) {
        assert_eq!((ours.status, &ours.err), (real.status, &real.err));
    }
    assert!(
        ours.err
            .contains("The timeout specified has expired (70007)")
    );
}

#[test]
fn a_server_that_keeps_a_whole_answer_open_costs_nothing() {
    // The original waits for the end of the connection, until its time-out.
    let addr = server(|mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc");
        thread::sleep(Duration::from_secs(20));
    });
    let url = format!("http://{addr}/");
    let done = prony(main, &["-s", "10", "-n", "4", "-c", "2", &url]).with(0);
    assert_eq!(fields(&done.out)["Complete requests"], "4");
    assert_eq!(fields(&done.out)["Failed requests"], "0");
}

#[test]
fn one_slow_answer_is_a_time_out_and_not_the_end() {
    let addr = server(|mut stream, nth| {
        if nth == 1 {
            thread::sleep(Duration::from_secs(4));
        }
        thread::sleep(Duration::from_millis(20));
        answer(&mut stream, "200 OK", "abc");
    });
    let url = format!("http://{addr}/");
    let done = prony(main, &["-s", "1", "-n", "200", "-c", "2", "-q", &url]).with(0);
    let of = fields(&done.out);
    assert_eq!(
        (of["Complete requests"], of["Failed requests"]),
        ("199", "1")
    );
    assert!(
        done.out
            .contains("(Connect: 0, Receive: 0, Length: 0, Exceptions: 1)")
    );
    let longest = done
        .out
        .lines()
        .find(|line| line.starts_with(" 100%"))
        .unwrap();
    let milliseconds: u32 = longest
        .split_whitespace()
        .nth(1)
        .and_then(|word| word.parse().ok())
        .unwrap();
    let processing = done
        .out
        .lines()
        .find(|line| line.starts_with("Processing:"))
        .unwrap();
    assert!(processing.ends_with(" 1000"), "{processing}");
    // With the time to connect; the answer itself would have come after four seconds.
    assert!(
        (1000..4000).contains(&milliseconds),
        "at its full length: {longest}"
    );
}

#[test]
fn socket_errors_end_the_run_unless_told_otherwise() {
    let refused = format!("http://{}/", unused_port());
    for flags in [&["-q"][..], &["-q", "-k"], &["-q", "-c", "3"]] {
        let line = [flags, &["-n", "4", &refused]].concat();
        let ours = prony(main, &line).with(111);
        assert_eq!(ours.err, "apr_socket_recv: Connection refused (111)\n");
        if let Some(real) = original("ab", &line) {
            assert_eq!((real.status, real.err), (111, ours.err), "{flags:?}");
        }
    }
    let done = prony(main, &["-q", "-r", "-n", "4", &refused]).with(0);
    assert_eq!(fields(&done.out)["Complete requests"], "0");
    assert!(
        done.out
            .contains("(Connect: 4, Receive: 0, Length: 0, Exceptions: 0)")
    );
}

/// A server that resets every connection after the tenth, and one that stops listening after the tenth answer.
#[test]
fn the_end_of_a_server_is_told_as_by_the_original() {
    fn dies(reset: bool) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        thread::spawn(move || {
            for nth in 1.. {
                let mut stream = listener.accept().unwrap().0;
                if nth > 10 && reset {
                    // What was sent is not read: closing resets the connection.
                    let _ = stream.peek(&mut [0]);
                    drop(stream);
                    continue;
                }
                let mut head = BufReader::new(&stream);
                let mut line = String::new();
                while head.read_line(&mut line).unwrap() > 2 {
                    line.clear();
                }
                if nth == 10 && !reset {
                    drop(listener);
                    answer(&mut stream, "200 OK", "abc");
                    break;
                }
                answer(&mut stream, "200 OK", "abc");
            }
        });
        addr
    }
    for (reset, status) in [(true, 104), (false, 111)] {
        let run = |run: &dyn Fn(&[&str]) -> Option<Run>| {
            let url = format!("http://{}/", dies(reset));
            let run = run(&["-q", "-n", "40", "-c", "1", &url])?.with(status);
            let last = run.out.lines().last().unwrap_or_default().to_owned();
            Some((last, run.err))
        };
        let ours = run(&|line| Some(prony(main, line))).unwrap();
        assert!(
            ours.0.ends_with("Total of 10 requests completed"),
            "{ours:?}"
        );
        if let Some(real) = run(&|line| original("ab", line)) {
            assert_eq!(ours, real);
        }
    }
}

#[test]
fn answers_that_end_too_soon_are_failures() {
    // The original takes them for answers.
    let addr = server(|mut stream: TcpStream, _| {
        let _ = stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nabc");
    });
    let url = format!("http://{addr}/");
    let done = prony(main, &["-q", "-n", "4", &url]).with(0);
    assert!(
        done.out
            .contains("(Connect: 0, Receive: 0, Length: 4, Exceptions: 0)")
    );
    assert!(done.err.contains("serious: errors"), "{}", done.err);
}

#[test]
fn statuses_after_a_bad_command_line_are_those_of_the_original() {
    for line in [
        &[][..],
        &["-n", "5", "-c", "10", "http://127.0.0.1:1/"],
        &["-n", "x", "http://127.0.0.1:1/"],
        &["127.0.0.1:1"],
        &["http://127.0.0.1:1/", "-n", "5"],
        &["-h"],
        &["-V"],
        &["-i", "-p", "/dev/null", "http://127.0.0.1:1/"],
        &["-m", "PUT", "-p", "/dev/null", "http://127.0.0.1:1/"],
        &["-p", "/dev/null", "-m", "PATCH", "http://127.0.0.1:1/"],
        &["-p", "/nonexistent", "http://127.0.0.1:1/"],
        &["-u", "/", "http://127.0.0.1:1/"],
        &["-c", "-1", "http://127.0.0.1:1/"],
        &["-c", "0", "http://127.0.0.1:1/"],
        &["-c", "200001", "-n", "300000", "http://127.0.0.1:1/"],
        &["-n", "5x", "http://127.0.0.1:1/"],
        &["-c", "1.5", "http://127.0.0.1:1/"],
        &["-t", "x", "http://127.0.0.1:1/"],
        &["-v", "x", "http://127.0.0.1:1/"],
        &["-s", "7s", "http://127.0.0.1:1/"],
        &["-b", "x", "http://127.0.0.1:1/"],
        &["-X", "127.0.0.1:", "http://127.0.0.1:1/"],
        &["-X", "127.0.0.1:1:2", "http://127.0.0.1:1/"],
        &["-X", "http://127.0.0.1:1", "http://127.0.0.1:1/"],
        &["http://no.such.invalid/"],
    ] {
        let ours = prony(main, line);
        if let Some(real) = original("ab", line) {
            assert_eq!(ours.status, real.status, "{line:?}: {ours:?} {real:?}");
            // A value that is read in part is noted first; of no connections at all, the original says what
            // its poll says.
            let first = |run: &Run| run.err.lines().next().unwrap_or_default().to_owned();
            let (ours, real) = (first(&ours), first(&real));
            let noted = ours.starts_with("prony: ") || line.contains(&"0");
            assert!(noted || ours == real, "{line:?}: {ours:?} {real:?}");
        }
    }
}

#[test]
fn a_time_limit_ends_the_run() {
    let url = format!("http://{}/", http_echo());
    let done = prony(
        main,
        &["-q", "-t", "1", "-n", "1000000000", "-c", "2", &url],
    )
    .with(0);
    let complete: u64 = fields(&done.out)["Complete requests"].parse().unwrap();
    assert!(complete > 0 && complete < 1_000_000_000);
}

/// Parsers look for lines: all of them are there, with zeros, and as many in front as the original has.
#[test]
fn every_line_is_printed_where_nothing_was_answered() {
    let url = format!("http://{}/", unused_port());
    for flags in [
        &["-q", "-r", "-n", "3", "-c", "1"][..],
        &["-q", "-r", "-n", "1"],
    ] {
        let line = [flags, &[&url]].concat();
        let ours = prony(main, &line).with(0);
        assert!(
            ours.out
                .contains("Requests per second:    0.00 [#/sec] (mean)"),
            "{}",
            ours.out
        );
        assert!(
            ours.out
                .contains("\nTotal:          0    0   0.0      0       0\n"),
            "{}",
            ours.out
        );
        if let Some(real) = original("ab", &line) {
            let names = |text: &str| -> Vec<String> {
                let lines = report(text);
                let names = lines
                    .lines()
                    .map(|line| line.split(':').next().unwrap_or("").trim());
                shape(&names.collect::<Vec<_>>().join("\n"))
            };
            assert_eq!(names(&ours.out), names(&real.out), "{flags:?}");
        }
    }
}

#[test]
fn the_banner_has_the_originals_lines() {
    let url = format!("http://{}/hoge", http_echo());
    let head = |run: &Run| -> usize {
        let place = run
            .out
            .lines()
            .position(|line| line.starts_with("Benchmarking"));
        place.expect("a banner")
    };
    let ours = prony(main, &["-q", "-n", "2", &url]).with(0);
    let first = ours.out.lines().next().unwrap();
    assert!(
        first.starts_with("This is ApacheBench, Version 2.3 <$Revision") && first.ends_with("$>"),
        "{first}"
    );
    assert_eq!(head(&ours), 4, "{}", ours.out);
    if let Some(real) = original("ab", &["-q", "-n", "2", &url]) {
        assert_eq!(head(&ours), head(&real));
    }
    let version = prony(main, &["-V"]).with(0).out;
    assert_eq!(version.lines().next(), Some(first));
    if let Some(real) = original("ab", &["-V"]) {
        assert_eq!(version.lines().count(), real.with(0).out.lines().count());
    }
}

/// From `-v 2` on every answer is printed, head and body, and from 3 on its status.
#[test]
fn every_answer_is_printed_where_that_is_asked_for() {
    let addr = server(|mut stream, _| answer(&mut stream, "200 OK", "abc"));
    let url = format!("http://{addr}/hoge");
    for level in ["2", "3", "4"] {
        let line = ["-q", "-v", level, "-n", "3", &url];
        let ours = prony(main, &line).with(0);
        assert_eq!(
            ours.out.matches("Content-Length: 3\r\n\r\nabc\n").count(),
            3,
            "{}",
            ours.out
        );
        assert!(
            ours.out.contains("Server Software:        demo/1\n"),
            "{}",
            ours.out
        );
        if let Some(real) = original("ab", &line) {
            let log = |text: &str| -> Vec<String> {
                let lines = text
                    .lines()
                    .skip_while(|line| !line.starts_with("Benchmarking"));
                let lines = lines.take_while(|line| !line.starts_with("..done"));
                lines.map(str::to_owned).collect()
            };
            assert_eq!(log(&ours.out), log(&real.out), "-v {level}");
        }
    }
}

/// A server of HTTP/1.0 over TLS beside Debian's ab: the same lines about TLS, and the same bytes in them.
#[test]
fn over_tls() {
    let addr = secure("HTTP/1.0 200 OK\r\nServer: demo/1\r\nContent-Length: 5\r\n\r\nhello");
    let url = format!("https://localhost:{}/", addr.port());
    for args in [
        &["-n", "6", "-c", "2", "-Z", "TLS_CHACHA20_POLY1305_SHA256"][..],
        &[
            "-n",
            "3",
            "-f",
            "TLS1.2",
            "-Z",
            "ECDHE-ECDSA-AES128-GCM-SHA256",
        ],
        &[
            "-n",
            "3",
            "-I",
            "-f",
            "TLS1.2",
            "-Z",
            "ECDHE-ECDSA-AES256-GCM-SHA384",
        ],
    ] {
        // ab takes suites of TLS 1.3 with this version only.
        let args = match args[5] {
            suite if suite.starts_with("TLS_") => [args, &["-f", "TLS1.3"]].concat(),
            _ => args.to_vec(),
        };
        let args = [&args[..], &[&url]].concat();
        let ours = prony(main, &args).with(0).out;
        let lines = fields(&ours);
        assert_eq!(lines["Failed requests"], "0", "{ours}");
        assert_eq!(
            lines.contains_key("TLS Server Name"),
            !args.contains(&"-I"),
            "{ours}"
        );
        if let Some(real) = original("ab", &args) {
            same("tls", &report(&ours), &report(&real.with(0).out));
        }
    }
}

#[test]
fn what_cannot_be_done_over_tls_is_said() {
    let plain = format!("https://{}/", http_echo());
    let done = prony(main, &[&plain]).with(1);
    assert!(
        done.err.contains("SSL handshake failed (1).\n"),
        "{}",
        done.err
    );
    let addr = secure("");
    let url = format!("https://localhost:{}/", addr.port());
    let done = prony(main, &["-Z", "foo", &url]).with(1);
    assert!(
        done.err.contains("error setting ciphersuite list [foo]\n"),
        "{}",
        done.err
    );
    // The remedy is a flag of ab.
    let folder = tempfile::tempdir().unwrap();
    let keyless = folder.path().join("client.pem");
    let own = SelfSigned::new(&["client"]).unwrap();
    std::fs::write(&keyless, own.certificate_pem()).unwrap();
    let done = prony(main, &["-E", keyless.to_str().unwrap(), &url]).with(1);
    let why = "certificate's key cannot be used: ";
    assert!(done.err.contains(why), "{}", done.err);
    let help = "; -E FILE has certificate and key, as PEM\n";
    assert!(done.err.contains(help), "{}", done.err);
    assert!(!done.err.contains("--"), "{}", done.err);
    let refused = format!("https://{}/", unused_port());
    let done = prony(main, &[&refused]).with(111);
    assert!(
        done.err
            .contains("apr_socket_recv: Connection refused (111)"),
        "{}",
        done.err
    );
}
