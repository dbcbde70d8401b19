//! Servers that fail, each beside a good one: the good one is measured, the bad one is named with
//! the step, the reason and its last output.

use crate::support::{Done, Place, raised, schema, valid};
use prony_record::Step;
use serde_json::Value;

/// A tcp-echo server that is good but for what its first argument says. The load's message is
/// "hello\n" and the verifier's are not, so it can tell them apart, as a cheat would.
const ECHO: &str = r#"
import asyncio, os, sys, time

what, port = sys.argv[1], int(sys.argv[2])
loaded = 0
print(f"about to be {what}", flush=True)

class Echo(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        global loaded
        if what == "wrong":
            data = data.upper()
        if data == b"hello\n":
            loaded += 1
            if what == "lying" or (what == "fickle" and loaded > 50 and loaded % 2):
                data = b"hellO\n"
            if what == "mortal" and loaded > 50:
                print("out of memory, or so", flush=True)
                os._exit(7)
            if what == "shy" or (what == "moody" and loaded % 10 == 0):
                print("no more of this", flush=True)
                self.transport.abort()
                return
        self.transport.write(data)

async def main():
    server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", port)
    await server.serve_forever()

if what == "deaf":
    time.sleep(600)
asyncio.run(main())
"#;

/// A place with the good server, and `bad`, made from the Python server above.
fn with(what: &str) -> Place {
    let place = Place::with_references();
    place.echo_server(
        "bad",
        &format!("python3 -B {{src}}/echo.py {what} {{port}}"),
        "start_timeout = '20s'",
    );
    place.file("catalog/bad/echo.py", ECHO);
    place
}

/// Runs the good and the bad server for two rounds.
fn run(place: &Place) -> (Value, Done) {
    let file = place.experiment(
        "both",
        "title = 'T'\ncontract = 'tcp-echo'\nservers = ['quick', 'bad']\nrounds = 2\n\
         [load]\nconnections = 2\nrequests = 200\nwarmup = '0s'\n",
    );
    let done = place.prony(&["run", &file, "--json"]);
    let report = done.json();
    valid(&schema("run"), &report);
    let good = cell(&report, "quick").unwrap_or_else(|| panic!("{done}"));
    assert_eq!(good["trials"], 2, "{done}");
    assert!(good["answers"].as_u64().unwrap() >= 400, "{done}");
    assert_eq!(good["verified"], true);
    assert_eq!(report["run"]["status"], "finished", "{done}");
    (report, done)
}

fn cell<'a>(report: &'a Value, server: &str) -> Option<&'a Value> {
    report["cells"]
        .as_array()
        .unwrap()
        .iter()
        .find(|cell| cell["server"] == server)
}

/// The bad server must have failed at `step`, with these words in reason and output, in JSON and
/// in the text.
#[track_caller]
fn fails(place: &Place, step: &str, reason: &str, output: &str) {
    let (report, done) = run(place);
    let done = done.with(1);
    assert!(cell(&report, "bad").is_none(), "{done}");
    let failure = &report["failures"][0];
    let text = |key: &str| failure[key].as_str().unwrap();
    assert_eq!((text("server"), text("step")), ("bad", step), "{done}");
    assert_eq!(failure["skipped"], false);
    assert!(text("message").contains(reason), "{done}");
    assert!(text("output").contains(output), "{done}");
    assert!(
        done.stderr
            .contains(&format!("bad: {}", Step::of_word(step).unwrap().phrase())),
        "it is told at once: {done}"
    );
    let again = place.prony(&["report"]).with(0).stdout;
    assert!(
        again.contains("\nfailed: bad") && again.contains(reason),
        "{again}"
    );
    for line in output.lines() {
        assert!(again.contains(&format!("  | {line}")), "{again}");
    }
}

#[test]
fn a_build_that_fails() {
    let place = Place::with_references();
    let build = "build = 'echo compiling; echo main.c:1: no such thing >&2; exit 3'";
    place.echo_server("bad", "true", build);
    fails(&place, "build", "exit status: 3", "main.c:1: no such thing");
}

#[test]
fn a_toolchain_that_is_not_here_is_no_failure() {
    let place = Place::with_references();
    let more = "toolchain = ['sh', 'no-such-compiler']\napt = ['some-package']";
    place.echo_server("bad", "no-such-compiler", more);
    let (report, done) = run(&place);
    let done = done.with(0);
    let failure = &report["failures"][0];
    assert_eq!(
        (&failure["server"], &failure["skipped"]),
        (&"bad".into(), &true.into()),
        "{done}"
    );
    let message = failure["message"].as_str().unwrap();
    assert!(
        message.contains("no-such-compiler") && message.contains("apt-get install some-package")
    );
    let text = place.prony(&["report", "--verbose"]).with(0).stdout;
    assert!(
        text.contains("1 server is not set up") && text.contains("bad: needs no-such-compiler"),
        "{text}"
    );
}

#[test]
fn a_command_that_does_not_exist() {
    let place = Place::with_references();
    place.echo_server("bad", "/no/such/server {port}", "");
    fails(&place, "start", "No such file or directory", "");
}

#[test]
fn a_server_that_ends_at_once() {
    let place = Place::with_references();
    place.echo_server(
        "bad",
        "sh -c 'echo first; echo cannot open the licence >&2; exit 4'",
        "",
    );
    fails(
        &place,
        "ready",
        "status 4",
        "first\ncannot open the licence",
    );
}

#[test]
fn a_server_that_is_killed_at_once() {
    let place = Place::with_references();
    place.echo_server("bad", "sh -c 'echo going; kill -SEGV $$'", "");
    fails(&place, "ready", "signal 11", "going");
}

// Slow: 2 rounds, in each of which the server may be idle for 2 s before it answers.
#[test]
fn a_server_that_never_listens() {
    let place = with("deaf");
    place.echo_server(
        "bad",
        "python3 -B {src}/echo.py deaf {port}",
        "start_timeout = '2s'",
    );
    fails(
        &place,
        "ready",
        "no answer, and idle for",
        "about to be deaf",
    );
}

#[test]
fn a_server_that_answers_wrongly() {
    let place = with("wrong");
    let (report, done) = run(&place);
    assert_eq!(
        report["failures"].as_array().unwrap().len(),
        1,
        "one trial tells: {done}"
    );
    fails(&place, "verify", "", "about to be wrong");
}

#[test]
fn a_server_that_answers_wrongly_under_load_only() {
    let (report, done) = run(&with("fickle"));
    let bad = cell(&report, "bad").unwrap_or_else(|| panic!("{done}"));
    // Of 400 answers every other one was wrong, but for the first 50 of each trial, of which
    // how many were before the measurement is not known.
    let answers = bad["answers"].as_u64().unwrap();
    assert!((190..=260).contains(&answers), "{answers}: {done}");
    assert_eq!(bad["verified"], false, "{done}");
    assert!(raised(&bad["checks"]).contains("wrong-answers"), "{done}");
    let check = bad["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["name"] == "wrong-answers");
    assert_eq!(check.unwrap()["severity"], "serious");
}

#[test]
fn a_server_that_never_answers_the_load_rightly() {
    fails(
        &with("lying"),
        "load",
        "no request was answered as expected",
        "about to be lying",
    );
}

#[test]
fn the_first_wrong_answer_is_told() {
    let (report, done) = run(&with("lying"));
    let message = report["failures"][0]["message"].as_str().unwrap();
    assert!(
        message.contains("wrong answers 2") && message.contains("another body: expected"),
        "{done}"
    );
}

#[test]
fn a_server_that_dies_under_load() {
    fails(&with("mortal"), "load", "status 7", "out of memory, or so");
}

// Slow: in each of 2 rounds, 200 requests fail on 2 connections, 20 ms before each next try.
#[test]
fn a_server_that_closes_every_connection_under_load() {
    fails(
        &with("shy"),
        "load",
        "no request was answered as expected",
        "no more of this",
    );
}

#[test]
fn a_server_that_closes_some_connections_under_load() {
    let (report, done) = run(&with("moody"));
    let bad = cell(&report, "bad").unwrap_or_else(|| panic!("{done}"));
    assert!(raised(&bad["checks"]).contains("errors"), "{done}");
    let answers = bad["answers"].as_u64().unwrap();
    assert!((100..400).contains(&answers), "{answers}");
}
