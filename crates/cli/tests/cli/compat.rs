//! Other tools' command lines, as a word behind `prony` and through a link. What the outputs mean is
//! tested where the commands are (crates/compat); here it counts that they are reached, with every word as it was typed.

use crate::support::{PRONY, Place, Served, output};
use std::os::unix::fs::symlink;
use std::process::Command;

/// A tool, a short command line of it, and what its output has, line by line, at the beginning.
struct Case {
    tool: &'static str,
    arguments: Vec<String>,
    keys: &'static [&'static str],
}

fn cases(server: &Served) -> [Case; 5] {
    let url = server.http("/");
    let port = server.addr.port().to_string();
    let case = |tool, arguments: &[&str], keys| Case {
        tool,
        arguments: arguments.iter().map(|&it| it.to_owned()).collect(),
        keys,
    };
    [
        case(
            "wrk",
            &["-t1", "-c2", "-d1s", "--latency", &url],
            &[
                "Running 1s test @ http://127.0.0.1:",
                "  1 threads and 2 connections",
                "  Thread Stats   Avg      Stdev     Max   +/- Stdev",
                "    Latency ",
                "    Req/Sec ",
                "  Latency Distribution",
                "     99% ",
                "Requests/sec:",
                "Transfer/sec:",
            ],
        ),
        case(
            "ab",
            &["-n", "20", "-c2", "-k", &url],
            &[
                "This is ApacheBench, Version 2.3",
                "Server Hostname:        127.0.0.1",
                "Concurrency Level:      2",
                "Complete requests:      20",
                "Failed requests:        0",
                "Keep-Alive requests:    20",
                "Requests per second:",
                "Connection Times (ms)",
                "  50% ",
            ],
        ),
        case(
            "weighttp",
            &["-n", "20", "-c", "2", "-t", "1", "-k", &url],
            &[
                "weighttp 0.4",
                "finished in ",
                "requests: 20 total, 20 started, 20 done, 20 succeeded, 0 failed, 0 errored",
                "status codes: 20 2xx, 0 3xx, 0 4xx, 0 5xx",
                "traffic: ",
            ],
        ),
        case(
            "h2load",
            &["--h1", "-n", "20", "-c", "2", "-m", "2", &url],
            &[
                "starting benchmark...",
                "spawning thread #0: 2 total client(s). 20 total requests",
                "Application protocol: http/1.1",
                "progress: 10% done",
                "finished in ",
                "requests: 20 total, 20 started, 20 done, 20 succeeded, 0 failed, 0 errored, 0 timeout",
                "status codes: 20 2xx, 0 3xx, 0 4xx, 0 5xx",
                "traffic: ",
                "time for request: ",
                "req/s           : ",
            ],
        ),
        case(
            "httperf",
            &[
                "--hog",
                "--server=127.0.0.1",
                "--port",
                &port,
                "--num-conns",
                "4",
                "--num-calls=5",
            ],
            &[
                "Total: connections 4 requests 20 replies 20 test-duration ",
                "Connection rate: ",
                "Request rate: ",
                "Reply rate ",
                "Reply status: 1xx=0 2xx=20 3xx=0 4xx=0 5xx=0",
                "CPU time [s]: ",
                "Net I/O: ",
                "Errors: total 0 ",
            ],
        ),
    ]
}

#[track_caller]
fn has(output: &str, keys: &[&str]) {
    let mut lines = output.lines();
    for key in keys {
        assert!(
            lines.any(|line| line.starts_with(key)),
            "no line (or not in this order) begins with {key:?}:\n{output}"
        );
    }
}

#[test]
fn each_is_spoken_behind_prony_and_through_a_link() {
    let server = Served::start(&["http-echo"]);
    let place = Place::new();
    for case in cases(&server) {
        let arguments: Vec<&str> = case.arguments.iter().map(String::as_str).collect();
        let done = place
            .prony(&[&[case.tool][..], &arguments].concat())
            .with(0);
        has(&done.stdout, case.keys);

        let link = place.path().join(case.tool);
        symlink(PRONY, &link).unwrap();
        let output = output(Command::new(&link).args(&arguments));
        assert!(output.status.success(), "{output:?}");
        has(&String::from_utf8(output.stdout).unwrap(), case.keys);
    }
}

#[test]
fn checks_go_to_standard_error_and_quiet_silences_them() {
    // So few requests are too few for anything: a check says so.
    let server = Served::start(&["http-echo"]);
    let place = Place::new();
    for case in cases(&server) {
        let mut arguments = vec![case.tool];
        arguments.extend(case.arguments.iter().map(String::as_str));
        let done = place.prony(&arguments).with(0);
        assert!(!done.stdout.contains("prony: "), "{done}");
        if case.tool != "wrk" {
            assert!(done.stderr.contains("too-few-samples"), "{done}");
        }
        arguments.insert(1, "--quiet");
        let done = place.prony(&arguments).with(0);
        assert!(!done.stderr.contains("prony: "), "{done}");
    }
}

#[test]
fn their_help_is_their_own_and_pronys_help_names_them() {
    let place = Place::new();
    let whole = place.prony(&["--help"]).with(0).stdout;
    for (tool, flag, status, usage) in [
        ("wrk", "-h", 1, "Usage: wrk <options> <url>"),
        ("wrk", "--help", 1, "Usage: wrk <options> <url>"),
        ("ab", "-h", 22, "Usage: ab [options]"),
        ("weighttp", "-h", 0, "weighttp <options> <url>"),
        ("httperf", "--help", 0, "Usage: httperf"),
        ("h2load", "--help", 0, "Usage: h2load [OPTIONS]"),
    ] {
        let done = place.prony(&[tool, flag]).with(status);
        let said = format!("{}{}", done.stdout, done.stderr);
        assert!(said.contains(usage), "{done}");
        let others = whole
            .split_once("of other tools:\n")
            .map(|(_, after)| after);
        let others = others.and_then(|after| after.lines().next());
        assert!(others.is_some_and(|line| line.contains(tool)), "{whole}");
        let done = place.prony(&["help", tool]).with(0);
        assert!(
            done.stdout.contains(&format!("Examples:\n  prony {tool} ")),
            "{done}"
        );
    }
}

#[cfg(feature = "audit")]
/// `prony audit` takes the output for h2load's, understands all of it, and finds its figure.
#[test]
fn the_audit_reads_what_h2load_prints() {
    let server = Served::start(&["http-echo"]);
    let place = Place::new();
    let url = server.http("/");
    for load in [
        &["-D", "1", "-c", "4", "-t", "2"][..],
        &["-n", "500", "-c", "4", "-t", "2", "-m", "3"],
        &["-n", "40", "-c", "4", "-r", "4", "--rate-period=10ms"],
    ] {
        let done = place.prony(&[&["h2load", "--h1"], load, &[&url]].concat());
        let file = place.file("h2load.txt", &done.with(0).stdout);
        let audit = place.prony(&["audit", "--json", file.to_str().unwrap()]);
        let seen = audit.json();
        let file = &seen["files"][0];
        assert_eq!(file["outputs"]["h2load"], 1, "{seen:#}");
        assert_eq!(file["unread"], serde_json::json!([]), "{seen:#}");
        assert_eq!(seen["figures"], 1, "{seen:#}");
    }
}

#[cfg(feature = "lua")]
mod scripts {
    use super::*;

    #[test]
    fn a_script_gets_every_word_as_it_was_typed() {
        let server = Served::start(&["http-echo"]);
        let place = Place::new();
        place.file(
            "words.lua",
            "function init(args)\n\
           for i = 0, #args do io.write('[', args[i], ']') end\n\
         end\n",
        );
        let url = server.http("/x");
        // The options before the word are prony's, all behind it are the tool's.
        for before in [&[][..], &["--cache", "elsewhere"]] {
            let typed = [
                "wrk",
                "-t1",
                "-c1",
                "-d1",
                "-s",
                "words.lua",
                &url,
                "--",
                "--cache",
                "-h",
                "--",
            ];
            let done = place.prony(&[before, &typed].concat()).with(0);
            let words = format!("[{url}][--cache][-h][--]");
            assert!(done.stdout.contains(&words), "{words}: {done}");
        }
    }

    #[test]
    fn a_published_command_runs_as_it_stands() {
        let server = Served::start(&["http-echo"]);
        let place = Place::new();
        let bin = place.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        symlink(PRONY, bin.join("wrk")).unwrap();
        place.file(
            "fin-fan.lua",
            "counter = 0\n\
         request = function()\n  \
           path = '/fibonacci/' .. (counter % 20)\n  \
           counter = counter + 1\n  \
           return wrk.format(nil, path)\n\
         end\n",
        );
        let done = place
            .shell(&format!(
                "PATH=\"$PWD/bin:$PATH\" wrk -t2 -c4 -d1s -s fin-fan.lua {}",
                server.http("/")
            ))
            .with(0);
        has(&done.stdout, &["Running 1s test", "Requests/sec:"]);
        assert!(!done.stdout.contains("Non-2xx"), "{done}");
    }
}
