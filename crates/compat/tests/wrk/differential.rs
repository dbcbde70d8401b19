//! prony and the real wrk, one after the other against the same server.

use crate::server::{Server, answer, ok};
use crate::shape::{number, shape};
use crate::support::{Ran, prony, real, reference, script};

/// Both with the same arguments; none where there is no real wrk.
fn both(args: &[&str]) -> Option<[Ran; 2]> {
    Some([real(args)?, prony(args)])
}

pub fn same_shape(args: &[&str]) -> Option<[Ran; 2]> {
    let [theirs, ours] = both(args)?;
    assert_eq!(theirs.status, ours.status, "{theirs:?}\n{ours:?}");
    assert_eq!(
        shape(&theirs.out),
        shape(&ours.out),
        "{}\n{}",
        theirs.out,
        ours.out
    );
    Some([theirs, ours])
}

#[test]
#[ignore = "scripts/campaign compat: compares with wrk itself"]
fn a_plain_load() {
    let at = format!("http://{}/path?query", reference());
    for args in [
        &["-t1", "-c1", "-d1s"][..],
        &["-t2", "-c10", "-d1", "--latency"],
        &[
            "-c",
            "3",
            "--threads=3",
            "--duration",
            "1s",
            "-L",
            "-H",
            "A: b",
        ],
    ] {
        let args = [args, &[&at]].concat();
        if let Some(ran) = same_shape(&args) {
            for Ran { out, .. } in ran {
                assert!(number(&out, " requests in").unwrap() > 0, "{out}");
                assert!(!out.contains("errors") && !out.contains("Non-2xx"), "{out}");
            }
        }
    }
}

#[test]
#[ignore = "scripts/campaign compat: compares with wrk itself"]
fn bytes_behind_an_answer_are_failed_reads() {
    let server = Server::new(|_, nth| {
        let more: &[u8] = if nth % 5 == 4 { b"XXXX" } else { b"" };
        ([&ok("ok")[..], more].concat(), true)
    });
    let Some(ran) = same_shape(&["-t1", "-c2", "-d1", &server.url("/")]) else {
        return;
    };
    for Ran { out, .. } in ran {
        assert!(out.contains("Socket errors: connect 0, read "), "{out}");
        assert!(number(&out, " requests in").unwrap() > 0, "{out}");
    }
}

#[test]
#[ignore = "scripts/campaign compat: compares with wrk itself"]
fn every_answer_with_another_status_is_counted() {
    for status in ["404 Not Found", "503 Busy", "400 Bad"] {
        let server = Server::always(answer(status, "no"));
        let Some(ran) = same_shape(&["-t1", "-c2", "-d1", &server.url("/")]) else {
            return;
        };
        for Ran { out, .. } in ran {
            let requests = number(&out, " requests in");
            assert!(requests > Some(0));
            assert_eq!(
                number(&out, "Non-2xx or 3xx responses: "),
                requests,
                "{out}"
            );
        }
    }
}

#[test]
#[ignore = "scripts/campaign compat: compares with wrk itself"]
fn a_redirection_is_no_failure() {
    let server = Server::always(answer("302 Found", ""));
    if let Some(ran) = same_shape(&["-t1", "-c1", "-d1", &server.url("/")]) {
        assert!(
            ran.iter().all(|ran| !ran.out.contains("Non-2xx")),
            "{ran:?}"
        );
    }
}

#[test]
#[ignore = "scripts/campaign compat: compares with wrk itself"]
fn a_connection_that_is_closed_as_it_was_announced_is_no_error() {
    let closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    let server = Server::new(|_, _| (closing.to_vec(), false));
    if let Some(ran) = same_shape(&["-t1", "-c2", "-d1", &server.url("/")]) {
        for Ran { out, .. } in ran {
            assert!(number(&out, " requests in").unwrap() > 1, "{out}");
            assert!(!out.contains("Socket errors"), "{out}");
        }
    }
}

#[test]
#[ignore = "scripts/campaign compat: compares with wrk itself"]
fn a_connection_that_is_closed_instead_of_an_answer_is_a_read_error() {
    let server = Server::new(|_, _| (Vec::new(), false));
    if let Some(ran) = same_shape(&["-t1", "-c2", "-d1", &server.url("/")]) {
        for Ran { out, .. } in ran {
            assert_eq!(number(&out, " requests in"), Some(0), "{out}");
            assert!(number(&out, ", read ").unwrap() > 0, "{out}");
            assert_eq!(number(&out, " connect "), Some(0), "{out}");
            assert_eq!(number(&out, ", write "), Some(0), "{out}");
            assert_eq!(number(&out, ", timeout "), Some(0), "{out}");
            let rates = "    Req/Sec     0.00      0.00     0.00      -nan%";
            assert!(out.contains(rates), "{out}");
        }
    }
}

#[test]
#[ignore = "scripts/campaign compat: compares with wrk itself"]
fn bytes_that_are_no_answer_are_read_errors() {
    let server = Server::new(|_, _| (b"SSH-2.0-x\r\n\r\n".to_vec(), false));
    if let Some(ran) = same_shape(&["-t1", "-c1", "-d1", &server.url("/")]) {
        for Ran { out, .. } in ran {
            assert_eq!(number(&out, " requests in"), Some(0), "{out}");
            assert!(number(&out, ", read ").unwrap() > 0, "{out}");
        }
    }
}

#[test]
#[ignore = "scripts/campaign compat: compares with wrk itself"]
fn the_same_bytes_are_sent() {
    let place = tempfile::tempdir().unwrap();
    let scripts = [
        "wrk.method = 'POST'\nwrk.body = 'foo=bar'\nwrk.headers['Content-Type'] = 'x/y'",
        "wrk.headers['Host'] = 'other'\nwrk.path = '/from/script'",
        "function request()\n return wrk.format('PUT', nil, { ['X-A'] = 5 }, 'body')\nend",
        "function request()\n return wrk.format('DELETE', '/gone')\nend",
        "function init(args)\n wrk.body = table.concat(args, ',')\nend",
        "request = function() return wrk.request() end",
        "wrk.method = 'HEAD'",
    ];
    let mut commands = vec![
        vec![],
        vec!["-H", "A: b", "-HX-Y: z: z", "-H", "Host: h:1", "-H", "x:y"],
    ];
    let paths: Vec<String> = scripts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let path = place.path().join(format!("{index}.lua"));
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        })
        .collect();
    commands.extend(paths.iter().map(|path| vec!["-s", &**path, "-HA: b"]));
    for command in commands {
        let server = Server::new(|request, _| {
            let body = if request.line.starts_with("HEAD") {
                ""
            } else {
                "ok"
            };
            (ok(body), true)
        });
        // The URL has everything that could be lost.
        let url = server.url("/a%20b/?c=d&e#f");
        let args = [&command[..], &["-t1", "-c1", "-d1", &url, "--", "x", "y"]].concat();
        let Some(theirs) = real(&args) else { return };
        let first = server.seen()[0].clone();
        server.requests.lock().unwrap().clear();
        let ours = prony(&args);
        assert_eq!(ours.status, 0, "{theirs:?} {ours:?}");
        let seen = server.seen();
        assert!(
            seen.iter().all(|request| *request == first),
            "{command:?} {first:?} {:?}",
            seen[0]
        );
    }
}

#[test]
#[ignore = "scripts/campaign compat: compares with wrk itself"]
fn a_script_that_stops_its_thread_gets_as_many_answers() {
    let at = format!("http://{}/", reference());
    let args = ["-t1", "-c1", "-d1", "-s", &script("stop.lua"), &at];
    if let Some(ran) = same_shape(&args) {
        for Ran { out, .. } in ran {
            assert_eq!(number(&out, " requests in"), Some(100), "{out}");
        }
    }
}

#[test]
#[ignore = "scripts/campaign compat: compares with wrk itself"]
fn requests_with_a_rest_between_them() {
    let at = format!("http://{}/", reference());
    let args = ["-t1", "-c1", "-d1", "-s", &script("rest.lua"), &at];
    if let Some(ran) = same_shape(&args) {
        for Ran { out, .. } in ran {
            // 20 ms each; wrk runs up to 100 ms longer than it was told.
            let requests = number(&out, " requests in").unwrap();
            assert!((1..=56).contains(&requests), "{out}");
        }
    }
}

#[test]
#[ignore = "scripts/campaign compat: compares with wrk itself"]
fn a_counter_counts_every_request() {
    for name in ["counter.lua", "batch.lua", "replace.lua"] {
        let server = Server::new(|request, _| {
            let body = if request.line.starts_with("HEAD") {
                ""
            } else {
                "ok"
            };
            let mut bytes = b"HTTP/1.1 200 OK\r\nX-Token: abc\r\n".to_vec();
            bytes.extend(format!("Content-Length: {}\r\n\r\n{body}", body.len()).bytes());
            (bytes, true)
        });
        let url = server.url("/");
        let args = ["-t1", "-c1", "-d1", "-s", &script(name), &url];
        let Some(theirs) = real(&args) else { return };
        let expected = server.seen();
        server.requests.lock().unwrap().clear();
        let ours = prony(&args);
        assert_eq!(
            shape(&theirs.out),
            shape(&ours.out),
            "{}\n{}",
            theirs.out,
            ours.out
        );
        let seen = server.seen();
        assert!(
            expected.len() == 100 && seen.len() == 100,
            "{} {}",
            expected.len(),
            seen.len()
        );
        assert_eq!(expected, seen, "{name}");
    }
}

#[test]
#[ignore = "scripts/campaign compat: compares with wrk itself"]
fn mistakes_of_the_command_line() {
    for args in [
        &[][..],
        &["-x", "http://127.0.0.1:1/"],
        &["--foo", "http://127.0.0.1:1/"],
        &["-d500ms", "http://127.0.0.1:1/"],
        &["-t0", "http://127.0.0.1:1/"],
        &["-c1", "-t2", "http://127.0.0.1:1/"],
        &["foo"],
        &["http://127.0.0.1:99999/"],
        &["http://127.0.0.1:1/"],
        &["http://no.such.host.invalid/"],
        &["-v"],
        &["--help"],
    ] {
        let Some([theirs, ours]) = both(args) else {
            return;
        };
        assert_eq!(theirs.status, ours.status, "{args:?}");
        // Where the original only prints its usage, ours says which value is none.
        let said = ours.err.lines().filter(|line| !line.starts_with("prony: "));
        assert!(theirs.err.lines().eq(said), "{args:?}: {}", ours.err);
        assert_eq!(
            theirs.out.contains("Usage: wrk"),
            ours.out.contains("Usage: wrk"),
            "{args:?}"
        );
        assert_eq!(
            theirs.out.starts_with("wrk "),
            ours.out.starts_with("wrk "),
            "{args:?}"
        );
        // Every line that the real one prints is there.
        for line in theirs.out.lines().filter(|line| !line.starts_with("wrk ")) {
            assert!(ours.out.lines().any(|it| it == line), "{line:?}");
        }
    }
}
