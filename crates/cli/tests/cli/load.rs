//! `prony load`.

use crate::http::{After, Constant};
use crate::support::{Done, Place, Served, raised, schema, valid};
use serde_json::Value;

/// Runs `prony load --json` with these arguments.
fn run(arguments: &[&str]) -> Done {
    let place = Place::new();
    place.prony(&[&["load", "--json", "--quiet"], arguments].concat())
}

/// The same, for a load that succeeds: its report, which is as the schema says.
#[track_caller]
fn load(arguments: &[&str]) -> Value {
    let report = run(arguments).with(0).json();
    valid(&schema("load"), &report);
    report
}

#[track_caller]
fn count(report: &Value, outcome: &str) -> u64 {
    let number = &report["outcomes"][outcome];
    number
        .as_u64()
        .unwrap_or_else(|| panic!("{outcome}: {number}"))
}

/// Exactly `n` answers, and nothing went wrong.
#[track_caller]
fn all_ok(report: &Value, n: u64) {
    let outcomes = report["outcomes"].as_object().unwrap();
    for (name, value) in outcomes {
        if name != "status" {
            assert_eq!(
                value.as_u64().unwrap(),
                if name == "ok" { n } else { 0 },
                "{report:#}"
            );
        }
    }
    assert_eq!(report["latency"]["response"]["n"], n);
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine";

#[test]
fn the_report_has_what_was_agreed() {
    let http = Served::start(&["http-echo"]);
    let echo = Served::start(&["tcp-echo"]);
    for url in [http.http("/a?b=c"), echo.tcp()] {
        let report = load(&["-n", "20000", "-c", "8", &url]);
        all_ok(&report, 20_000);
        for key in ["value", "low", "high"] {
            assert!(report["throughput"].get(key).is_some(), "throughput.{key}");
        }
        assert!(report["throughput"]["value"].as_f64().unwrap() > 0.0);
        for kind in ["response", "service", "send_delay"] {
            for key in ["p50", "p90", "p99", "p99_9", "max"] {
                let time = &report["latency"][kind][key];
                assert!(time.is_u64(), "latency.{kind}.{key} is {time}");
            }
        }
        let response = &report["latency"]["response"];
        let ladder: Vec<u64> = ["p50", "p90", "p99", "p99_9", "max"]
            .iter()
            .map(|key| response[key].as_u64().unwrap())
            .collect();
        assert!(ladder.is_sorted() && ladder[0] > 0, "{ladder:?}");
        assert!(report["generator"]["cpu_us_per_request"].as_f64().unwrap() > 0.0);
        let busy = report["generator"]["busy"].as_f64().unwrap();
        assert!((0.0..=1.05).contains(&busy), "{busy}");
        let status = if url.starts_with("http") {
            "2xx"
        } else {
            "other"
        };
        assert_eq!(report["outcomes"]["status"][status], 20_000);
        for check in report["checks"].as_array().unwrap() {
            for key in ["name", "severity", "text"] {
                assert!(!check[key].as_str().unwrap().is_empty(), "{check}");
            }
        }
        assert_eq!(report["interrupted"], false);
    }
}

#[test]
fn the_text_goes_to_standard_output_and_progress_to_standard_error() {
    let server = Served::start(&["http-echo"]);
    let place = Place::new();
    let done = place
        .prony(&["load", "-d", "1200ms", "-c", "4", &server.http("/")])
        .with(0);
    for word in [
        " ok, ",
        "req/s",
        "generator",
        "response",
        "connect",
        "p99.9",
    ] {
        assert!(done.stdout.contains(word), "{word}: {done}");
    }
    assert!(
        done.stderr.contains("p99") && !done.stdout.contains('\x1b'),
        "{done}"
    );
    let quiet = place
        .prony(&["load", "-q", "-n", "10", &server.http("/")])
        .with(0);
    assert_eq!(quiet.stderr, "", "{quiet}");
}

// Slow: 28 processes of prony, each with its own load and notebook.
#[test]
fn a_number_of_requests_is_exact_in_every_mode() {
    let http = Served::start(&["http-echo"]);
    let echo = Served::start(&["tcp-echo"]);
    let modes: [&[&str]; 7] = [
        &["-n", "1"],
        &["-n", "1237"],
        &["-n", "1237", "-c", "6", "-t", "2"],
        &["-n", "1237", "-c", "3", "--pipeline", "8"],
        &["-n", "237", "-c", "3", "--no-keepalive"],
        &["-n", "337", "-c", "3", "--rate", "2000"],
        &[
            "-n",
            "337",
            "-c",
            "3",
            "--rate",
            "2000",
            "--arrival",
            "poisson",
            "--seed",
            "5",
        ],
    ];
    for transport in ["epoll", "io_uring"] {
        for url in [http.http("/"), echo.tcp()] {
            for mode in modes {
                let report = load(&[mode, &["--transport", transport, &url]].concat());
                all_ok(&report, mode[1].parse().unwrap());
                assert_eq!(report["generator"]["transport"], transport);
            }
        }
    }
}

// Slow: 2 loads of 0.3 s, one of them after a warm-up of up to 0.3 s.
#[test]
fn a_duration_lasts_as_long_as_it_says() {
    let server = Served::start(&["http-echo"]);
    let report = load(&["-d", "300ms", "-c", "4", &server.http("/")]);
    let seconds = report["seconds"].as_f64().unwrap();
    assert!((0.3..10.0).contains(&seconds), "{seconds}");
    assert!(count(&report, "ok") > 0);
    assert!(raised(&report["checks"]).contains("too-short"));
    let warm = load(&[
        "-d",
        "300ms",
        "--warmup",
        "300ms",
        "-c",
        "4",
        &server.http("/"),
    ]);
    assert!(
        (0.3..10.0).contains(&warm["seconds"].as_f64().unwrap()),
        "{warm:#}"
    );
}

// Slow: 2 loads of 1 s.
#[test]
fn an_open_loop_keeps_its_rate_and_says_which() {
    let server = Served::start(&["tcp-echo"]);
    for arrival in ["constant", "poisson"] {
        let report = load(&[
            "-d",
            "1s",
            "-c",
            "8",
            "--rate",
            "500",
            "--arrival",
            arrival,
            &server.tcp(),
        ]);
        assert_eq!(report["arrival"], arrival);
        assert_eq!(report["rate"], 500.0);
        let due: u64 = ["ok", "in_flight_at_end", "unsent_at_end"]
            .iter()
            .map(|outcome| count(&report, outcome))
            .sum();
        // Evenly spaced arrivals can be counted; Poisson's have a standard deviation of 22.
        let tolerance = if arrival == "constant" { 2 } else { 150 };
        assert!(due.abs_diff(500) <= tolerance, "{arrival}: {due}");
        assert!(report["generator_lateness"]["n"].as_u64().unwrap() > 0);
    }
}

#[test]
fn percentiles_that_the_samples_do_not_support_are_null() {
    let server = Served::start(&["http-echo"]);
    let report = load(&["-n", "50", "-c", "2", &server.http("/")]);
    for kind in ["response", "service", "send_delay"] {
        let times = &report["latency"][kind];
        assert!(times["p50"].is_u64() && times["max"].is_u64(), "{times}");
        assert!(times["p90"].is_null() && times["p99"].is_null() && times["p99_9"].is_null());
    }
    assert!(raised(&report["checks"]).contains("too-few-samples"));
}

#[test]
fn requests_are_sent_as_they_were_ordered() {
    let server = Constant::new(OK, After::Keep);
    let place = Place::new();
    let body = place.file("body.json", "{\"a\": 1}\n");
    let url = format!("http://{}/path?q=1", server.tcp());
    let at = format!("@{}", body.display());
    let arguments = [
        "-n",
        "5",
        "-c",
        "1",
        "-m",
        "POST",
        "-H",
        "Content-Type: application/json",
        "-H",
        "X-Twice: a",
        "-H",
        "X-Twice: b",
        "-b",
        &at,
        &url,
    ];
    all_ok(&load(&arguments), 5);
    let request = server.first();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /path?q=1 HTTP/1.1\r\n"), "{head}");
    let host = url.split('/').nth(2).unwrap();
    let fields = ["Content-Type: application/json", "X-Twice: a", "X-Twice: b"];
    for field in fields
        .map(str::to_owned)
        .into_iter()
        .chain([format!("Host: {host}")])
    {
        let found = head
            .lines()
            .filter(|line| line.eq_ignore_ascii_case(&field))
            .count();
        assert_eq!(found, 1, "{field} in {head}");
    }
    assert_eq!(body, "{\"a\": 1}\n");
    let length = head
        .lines()
        .find(|line| line.to_ascii_lowercase().starts_with("content-length"));
    assert!(length.unwrap().ends_with(": 9"), "{head}");
}

#[test]
fn a_header_of_the_users_takes_the_place_of_our_own() {
    let server = Constant::new(OK, After::Keep);
    let url = format!("http://{}/", server.tcp());
    all_ok(
        &load(&["-n", "3", "-c", "1", "-H", "Host: other.example", &url]),
        3,
    );
    let head = server.first().to_ascii_lowercase();
    let hosts: Vec<&str> = head
        .lines()
        .filter(|line| line.starts_with("host:"))
        .collect();
    assert_eq!(hosts, ["host: other.example"], "{head}");
}

// Slow: 7 loads, after 4 of which TLS is tried for 1 s, since nothing was right.
#[test]
fn answers_are_judged() {
    let server = Constant::new(OK, After::Keep);
    let url = format!("http://{}/", server.tcp());
    let place = Place::new();
    let page = place.file("page", "fine");
    let at = format!("@{}", page.display());
    let right: [&[&str]; 3] = [
        &["--expect-status", "200"],
        &["--expect-body", "fine"],
        &["--expect-body", &at],
    ];
    for expectation in right {
        let report = load(&[expectation, &["-n", "40", "-c", "2", &url]].concat());
        all_ok(&report, 40);
        assert!(!raised(&report["checks"]).contains("wrong-answers"));
    }
    let wrong: [&[&str]; 4] = [
        &["--expect-status", "204"],
        &["--expect-body", "find"],
        &["--expect-body", "fine!"],
        &["--expect-body", "fin"],
    ];
    for expectation in wrong {
        let done = run(&[expectation, &["-n", "40", "-c", "2", &url]].concat()).with(1);
        let report = done.json();
        valid(&schema("load"), &report);
        assert_eq!(
            (count(&report, "ok"), count(&report, "wrong_answer")),
            (0, 40),
            "{done}"
        );
        assert_eq!(report["throughput"]["value"], 0.0);
        assert!(
            raised(&report["checks"]).contains("wrong-answers"),
            "{done}"
        );
        assert!(
            !report["wrong_answers"].as_array().unwrap().is_empty(),
            "{done}"
        );
    }
}

#[test]
fn statuses_from_400_on_are_wrong_unless_they_are_expected() {
    let answer = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
    let url = format!("http://{}/", Constant::new(answer, After::Keep).tcp());
    let report = run(&["-n", "20", "-c", "2", &url]).with(1).json();
    assert_eq!(
        (count(&report, "ok"), count(&report, "wrong_answer")),
        (0, 20)
    );
    assert_eq!(report["outcomes"]["status"]["5xx"], 20);
    let report = load(&["-n", "20", "-c", "2", "--expect-status", "503", &url]);
    all_ok(&report, 20);
}

// Slow: 12 processes of prony, each with its own load and notebook.
#[test]
fn every_framing_of_a_body_is_understood() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                   2;x=y\r\nfi\r\n2\r\nne\r\n0\r\nTrailer: 1\r\n\r\n";
    let closed = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfine";
    let old = "HTTP/1.0 200 OK\r\n\r\nfine";
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine";
    let answers = [
        (OK, After::Keep),
        (chunked, After::Keep),
        (closed, After::Close),
        (old, After::Close),
        (early, After::Keep),
    ];
    for (answer, after) in answers {
        let url = format!("http://{}/", Constant::new(answer, after).tcp());
        for transport in ["epoll", "io_uring"] {
            let report = load(&[
                "-n",
                "60",
                "-c",
                "3",
                "--transport",
                transport,
                "--expect-body",
                "fine",
                &url,
            ]);
            all_ok(&report, 60);
        }
    }
    let empty = format!(
        "http://{}/",
        Constant::new("HTTP/1.1 204 No Content\r\n\r\n", After::Keep).tcp()
    );
    all_ok(
        &load(&["-n", "60", "-c", "3", "--expect-status", "204", &empty]),
        60,
    );
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n";
    let url = format!("http://{}/", Constant::new(head, After::Keep).tcp());
    all_ok(&load(&["-n", "60", "-c", "3", "-m", "HEAD", &url]), 60);
}

#[test]
fn a_cut_off_answer_is_an_error() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\nfine";
    let url = format!("http://{}/", Constant::new(answer, After::Close).tcp());
    let report = run(&["-n", "10", "-c", "1", &url]).with(1).json();
    assert_eq!(
        (count(&report, "ok"), count(&report, "read_error")),
        (0, 10),
        "{report:#}"
    );
    assert!(raised(&report["checks"]).contains("errors"));
}

#[test]
fn a_server_that_says_nothing_times_out() {
    let url = format!("http://{}/", Constant::new("", After::Keep).tcp());
    let report = run(&["-n", "6", "-c", "2", "--timeout", "150ms", &url])
        .with(1)
        .json();
    assert_eq!(
        (count(&report, "ok"), count(&report, "timeout")),
        (0, 6),
        "{report:#}"
    );
    // A time-out is in the distribution at its full length.
    assert_eq!(report["latency"]["response"]["n"], 6);
    assert!(report["latency"]["response"]["max"].as_u64().unwrap() >= 150_000_000);
}

#[test]
fn unix_sockets() {
    let place = Place::new();
    let socket = place.path().join("app.sock");
    let server = Constant::new(OK, After::Keep);
    server.unix(&socket);
    let path = socket.to_str().unwrap();
    for transport in ["epoll", "io_uring"] {
        let report = load(&[
            "-n",
            "100",
            "--transport",
            transport,
            "--unix",
            path,
            "http://app.test/x",
        ]);
        all_ok(&report, 100);
    }
    let head = server.first();
    assert!(
        head.starts_with("GET /x HTTP/1.1\r\n") && head.contains("app.test"),
        "{head}"
    );
    let url = format!("http+unix://{}/x", path.replace('/', "%2F"));
    all_ok(&load(&["-n", "100", &url]), 100);
}

// Slow: 3 servers and 4 loads, each a separate process.
#[test]
fn names_and_both_families() {
    let four = Served::start(&["http-echo"]);
    all_ok(
        &load(&[
            "-n",
            "50",
            &format!("http://localhost:{}/", four.addr.port()),
        ]),
        50,
    );
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        eprintln!("this machine has no ::1");
        return;
    }
    let http = Served::start(&["http-echo", "--listen", "::1"]);
    let echo = Served::start(&["tcp-echo", "--listen", "::1"]);
    all_ok(&load(&["-n", "50", &http.http("/")]), 50);
    all_ok(&load(&["-n", "50", &echo.tcp()]), 50);
    // The name means both, whatever the host's table says, and only one of them is listened on.
    let name = format!("http://localhost:{}/", http.addr.port());
    all_ok(&load(&["-n", "50", &name]), 50);
}

// Slow: 6 processes of prony, each with its own load and notebook.
#[test]
fn echoes_carry_any_message() {
    let server = Served::start(&["tcp-echo"]);
    let place = Place::new();
    let large = place.file("large", &"0123456789abcdef".repeat(8192));
    let at = format!("@{}", large.display());
    for message in ["x", "a\\tb\\r\\n\\\\", &at] {
        for transport in ["epoll", "io_uring"] {
            let arguments = [
                "-n",
                "60",
                "-c",
                "3",
                "--transport",
                transport,
                "--message",
                message,
            ];
            all_ok(&load(&[&arguments[..], &[&server.tcp()]].concat()), 60);
        }
    }
}

#[test]
fn a_delay_that_is_known_is_in_the_report() {
    let server = Served::start(&["clockwork", "--delay", "5ms"]);
    let report = load(&["-n", "60", "-c", "4", &server.tcp()]);
    all_ok(&report, 60);
    for kind in ["response", "service"] {
        let p50 = report["latency"][kind]["p50"].as_u64().unwrap();
        assert!(p50 >= 5_000_000, "{kind}: {p50}");
    }
}

#[test]
fn a_connection_is_closed_after_as_many_requests_as_was_said() {
    let (place, server) = (Place::new(), Served::start(&["http-echo"]));
    let url = server.http("/");
    let load = ["load", "-n", "100", "-c", "2", "--json", &url];
    let seen = |more: &[&str]| place.prony(&[&load[..], more].concat()).with(0).json();
    let of_ten = seen(&["--requests-per-connection", "10"]);
    assert_eq!(of_ten["outcomes"]["ok"], 100, "{of_ten:#}");
    let connections = of_ten["latency"]["connect"]["n"].as_u64();
    let connections = connections.or(of_ten["connect"]["n"].as_u64()).unwrap();
    assert!((10..=12).contains(&connections), "{of_ten:#}");
    let kept = place.prony(&["report"]).with(0).stdout;
    assert!(kept.contains("c2 r10"), "{kept}");
    // What has no effect is refused.
    let done = place.prony(&[&load[..], &["--arrival", "poisson"]].concat());
    assert!(
        done.code != Some(0) && done.stderr.contains("--rate"),
        "{done}"
    );
}

// Slow: 3 loads of 0.6 s.
#[test]
fn what_the_server_used_is_seen_where_it_is_a_process_of_this_machine() {
    let (place, server) = (Place::new(), Served::start(&["http-echo"]));
    let url = server.http("/");
    let load = ["load", "-d", "600ms", "-c", "4", url.as_str()];
    let seen = place
        .prony(&[&load[..], &["--json"]].concat())
        .with(0)
        .json();
    let used = &seen["server"];
    assert_eq!(used["process"], "prony", "{used:#}");
    assert_eq!(used["pid"], server.pid(), "{used:#}");
    assert!(used["cpus"].as_f64().unwrap() > 0.0, "{used:#}");
    assert!(
        used["cpu_per_request"]["value"].as_f64().unwrap() > 0.0,
        "{used:#}"
    );
    assert!(
        used["rss_peak_bytes"].as_u64().unwrap() > 100_000,
        "{used:#}"
    );
    // The notebook has it as of any other trial.
    let kept = place.prony(&["report", "--json"]).with(0).json();
    let cell = &kept["cells"][0];
    assert_eq!(cell["rss_peak_bytes"], used["rss_peak_bytes"], "{cell:#}");
    let text = place.prony(&load).with(0);
    assert!(text.stdout.contains("CPU per request"), "{text}");
    assert!(text.stdout.contains("prony (process "), "{text}");
    let markdown = place.prony(&[&load[..], &["--markdown", "-"]].concat());
    let markdown = markdown.with(0).stdout;
    assert!(
        markdown.contains("Server: ") && markdown.contains("prony (process "),
        "{markdown}"
    );
}

#[test]
fn a_load_is_kept_as_a_run() {
    let (place, server) = (Place::new(), Served::start(&["http-echo"]));
    let url = server.http("/");
    let load = ["load", "-n", "500", "-c", "4", url.as_str()];
    let done = place
        .prony(&[&load[..], &["--label", "v2"]].concat())
        .with(0);
    assert!(done.stderr.contains("kept as run 1"), "{done}");
    let report = place.prony(&["report", "--json"]).with(0).json();
    assert_eq!(report["run"]["name"], "load");
    assert_eq!(report["run"]["title"], format!("{url} (v2)"));
    assert_eq!(report["cells"][0]["answers"], 500, "{report:#}");
    let text = place.prony(&["report"]).with(0).stdout;
    assert!(text.contains(&format!("{url}: ")), "{text}");
    place
        .prony(&[&load[..], &["--no-keep", "-q"]].concat())
        .with(0);
    let runs = place.prony(&["runs", "--json"]).with(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 1, "{runs:#}");
    // A notebook that cannot be written does not take the result with it.
    let nowhere = [&load[..], &["--notebook", "/proc/nothing.db"]].concat();
    let done = place.prony(&nowhere).with(0);
    assert!(done.stdout.contains("500 ok, 0 failed"), "{done}");
    assert!(
        done.stderr.contains("not kept: cannot open the notebook"),
        "{done}"
    );
}
