//! Lua scripts, where `prony wrk` differs from the original: error messages, limits, and extra values.

use crate::server::{Server, ok};
use crate::shape::number;
use crate::support::{Ran, prony, real, reference, script};

/// A script made for one test, kept as long as the directory.
fn written(place: &tempfile::TempDir, text: &str) -> String {
    let path = place.path().join("script.lua");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn fails(text: &str) -> Ran {
    let place = tempfile::tempdir().unwrap();
    let server = Server::always(ok("x"));
    let path = written(&place, text);
    let ran = prony(&[
        "-t1",
        "-c1",
        "-d1",
        "--quiet",
        "-s",
        &path,
        &server.url("/"),
    ]);
    assert_eq!(ran.status, 1, "{ran:?}");
    Ran {
        err: ran.err.replace(&path, "script.lua"),
        ..ran
    }
}

#[test]
fn a_published_command_runs_as_it_stands() {
    let at = format!("http://{}/fibonacci", reference());
    let ran = prony(&["-t16", "-c400", "-d1s", "-s", &script("fin-fan.lua"), &at]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.out.starts_with(&format!(
        "Running 1s test @ {at}\n  16 threads and 400 connections\n"
    )));
    assert!(number(&ran.out, " requests in").unwrap() > 0, "{}", ran.out);
    assert!(
        !ran.out.contains("Non-2xx") && !ran.out.contains("Socket errors"),
        "{}",
        ran.out
    );
}

#[test]
fn errors_of_scripts_name_file_and_line() {
    for (text, said) in [
        ("x = = 2", "script.lua:1: unexpected symbol near '='"),
        (
            "\nnosuch()",
            "script.lua:2: attempt to call global 'nosuch' (a nil value)",
        ),
        ("\nerror({})", "script.lua:2: table"),
        (
            "function setup(thread)\n  nosuch()\nend",
            "script.lua:2: attempt to call",
        ),
        (
            "function setup(thread)\n  thread:set('f', print)\nend",
            "script.lua:2: cannot transfer 'function' to thread",
        ),
        (
            "function setup(thread)\n  thread.addr = 'x'\nend",
            "script.lua:2: an address is expected, not string",
        ),
        (
            "function setup(thread)\n  thread.name = 1\nend",
            "script.lua:2: cannot set 'name' on thread",
        ),
        (
            "function setup(thread)\n  local t = {}\n  t.t = t\n  thread:set('t', t)\nend",
            "script.lua:4: cannot transfer a table that contains itself",
        ),
        (
            "function init(args)\n  wrk.lookup('h', 'gopher')\nend",
            "script.lua:2: unable to resolve h:gopher",
        ),
        (
            "function init(args)\n  wrk.lookup('h')\nend",
            "script.lua:2: ",
        ),
        (
            "function init(args)\n  wrk.connect('h')\nend",
            "script.lua:2: an address is expected",
        ),
        (
            "\nfunction request()\n  return nosuch.x\nend",
            "script.lua:3: attempt to index global 'nosuch'",
        ),
        (
            "\nfunction request()\nend",
            "script.lua:2: request() must return a string, not nil",
        ),
        (
            "\nfunction request()\n  return 'GET / HT'\nend",
            "script.lua:2: what request() returned is no request: incomplete request at 1:9",
        ),
        (
            "wrk.path = '/a b'",
            "what request() returned is no request: ",
        ),
        (
            "function response()\n  nosuch()\nend",
            "script.lua:2: attempt to call",
        ),
        (
            "function delay()\n  return {}\nend",
            "script.lua:1: delay() must return a number, not table",
        ),
        (
            "function delay()\n  nosuch()\nend",
            "script.lua:2: attempt to call",
        ),
        (
            "function done(summary)\n  nosuch()\nend",
            "script.lua:2: attempt to call",
        ),
        (
            "function done(summary, latency)\n  latency:percentile('x')\nend",
            "script.lua:2: percentile() needs a number",
        ),
    ] {
        let ran = fails(text);
        assert!(ran.err.starts_with(said), "{text}\n{}", ran.err);
        assert!(!ran.err.contains("traceback"), "{}", ran.err);
        // A failure before the end leaves nothing to report, one at the end leaves everything.
        assert_eq!(
            ran.out.contains("Requests/sec"),
            text.contains("done"),
            "{}",
            ran.out
        );
    }
    let ran = prony(&["-s", "/no/such.lua", "http://127.0.0.1:1/"]);
    assert_eq!(
        ran.err,
        "cannot open /no/such.lua: No such file or directory\n"
    );
}

#[test]
fn a_failure_in_the_middle_ends_the_load() {
    let text = "n = 0\nfunction request()\n  n = n + 1\n  if n > 50 then nosuch() end\n  return wrk.request()\nend";
    let ran = fails(text);
    assert!(
        ran.err.starts_with("script.lua:4: attempt to call"),
        "{}",
        ran.err
    );
}

#[test]
fn what_cannot_be_done_says_so() {
    let server = Server::always(ok("x"));
    let delayed = prony(&[
        "-t1",
        "-c1",
        "-d1",
        "-R10",
        "-s",
        &script("rest.lua"),
        &server.url("/"),
    ]);
    assert!(
        delayed.err.contains("delay() is not called"),
        "{}",
        delayed.err
    );
}

#[test]
fn a_batch_is_sent_at_once_and_every_answer_counts() {
    // 404 on purpose: each answer is then counted.
    let server = Server::new(|request, _| {
        let body = if request.line.starts_with("HEAD") {
            ""
        } else {
            "hello"
        };
        (crate::server::answer("404 Not Found", body), true)
    });
    for rate in [&[][..], &["-R300"]] {
        let mut args = vec!["-t1", "-c2", "-d1", "--script"];
        let (path, url) = (script("batch.lua"), server.url("/"));
        args.extend([&*path, &*url]);
        args.extend(rate);
        let ran = prony(&args);
        assert_eq!(ran.status, 0, "{}", ran.err);
        assert!(!ran.out.contains("Socket errors"), "{}", ran.out);
        let requests = number(&ran.out, " requests in").unwrap();
        assert!(requests > 0);
        assert_eq!(
            number(&ran.out, "responses: "),
            Some(requests),
            "{}",
            ran.out
        );
    }
    let lines: Vec<String> = server
        .seen()
        .into_iter()
        .map(|request| request.line)
        .collect();
    for (path, method) in [("/a", "GET"), ("/b", "POST"), ("/c", "HEAD")] {
        let sent = lines.iter().filter(|line| line.contains(path)).count();
        assert!(sent >= 10, "{lines:?}");
        assert!(
            lines.contains(&format!("{method} {path} HTTP/1.1")),
            "{lines:?}"
        );
    }
}

#[test]
fn a_script_without_callbacks_is_not_asked_again() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::always(ok("x"));
    let text = "calls = 0
local format = wrk.format
wrk.format = function(...)
  calls = calls + 1
  return format(...)
end
wrk.path = '/static'
local thread
function setup(it)
  thread = it
end
function done(summary)
  local file = io.open(thread:get('given'), 'w')
  file:write(thread:get('calls'), ' ', tostring(summary.requests > 1))
  file:close()
end
function init(args)
  given = args[1]
end";
    let path = written(&place, text);
    let facts = place.path().join("facts");
    let ran = prony(&[
        "-t1",
        "-c1",
        "-d1",
        "-s",
        &path,
        &server.url("/"),
        "--",
        facts.to_str().unwrap(),
    ]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert_eq!(std::fs::read_to_string(facts).unwrap(), "1 true");
    assert!(
        server
            .seen()
            .iter()
            .all(|request| request.line == "GET /static HTTP/1.1")
    );
}

#[test]
fn each_thread_may_have_a_server_and_words_of_its_own() {
    let place = tempfile::tempdir().unwrap();
    let servers = [Server::always(ok("x")), Server::always(ok("y"))];
    let text = "local n = 0
function setup(thread)
  n = n + 1
  thread.addr = wrk.lookup('127.0.0.1', PORTS[n])[1]
  thread:set('id', n)
end
function init(args)
  wrk.path = '/' .. id
end
PORTS = { ";
    let ports = servers.each_ref().map(|server| server.address.port());
    let path = written(&place, &format!("{text}{}, {} }}", ports[0], ports[1]));
    let ran = prony(&["-t2", "-c2", "-d1", "-s", &path, &servers[0].url("/")]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    for (server, path) in servers.iter().zip(["/1", "/2"]) {
        let seen = server.seen();
        assert!(!seen.is_empty());
        assert!(
            seen.iter()
                .all(|request| request.line == format!("GET {path} HTTP/1.1"))
        );
    }
}

#[test]
fn tables_within_tables_travel_between_states() {
    // The real wrk crashes on these.
    let place = tempfile::tempdir().unwrap();
    let server = Server::always(ok("x"));
    let text = "function setup(thread)
  it = thread
  thread:set('t', { 1, nested = { deep = { 3.5, 'x' } } })
end
function init(args)
  t.nested.deep[3] = args[1]
end
function done()
  local deep = it:get('t').nested.deep
  local file = io.open(deep[3], 'w')
  file:write(deep[1], deep[2])
  file:close()
end";
    let (path, facts) = (written(&place, text), place.path().join("facts"));
    let end = ["-s", &path, &server.url("/"), "--", facts.to_str().unwrap()];
    let ran = prony(&[&["-t1", "-c1", "-d1"][..], &end].concat());
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert_eq!(std::fs::read_to_string(facts).unwrap(), "3.5x");
}

/// After `thread:stop()` a script may return nothing; without it that connection sends no more. Neither
/// is a failure, under the real wrk as here.
#[test]
fn a_request_that_is_nothing_ends_a_connection() {
    let server = Server::always(ok("x"));
    let place = tempfile::tempdir().unwrap();
    for stop in ["wrk.thread:stop()", ""] {
        let text = format!(
            "n = 0\nfunction request()\n  n = n + 1\n  if n <= 21 then return wrk.format() end\n  {stop}\nend"
        );
        let path = written(&place, &text);
        let url = server.url("/");
        let args = ["-t1", "-c2", "-d1", "-s", &path, &url];
        let ran = prony(&args);
        assert_eq!(
            (ran.status, ran.err.contains("must return")),
            (0, false),
            "{}",
            ran.err
        );
        // The first text was only looked at. A load whose threads have all stopped ends at once, so that
        // what is in flight then is not answered.
        let requests = number(&ran.out, " requests in").unwrap();
        assert!((18..=20).contains(&requests), "{stop}: {}", ran.out);
        assert!(requests == 20 || !stop.is_empty(), "{}", ran.out);
        if let Some(theirs) = real(&args) {
            assert_eq!(theirs.status, 0, "{}", theirs.err);
            let requests = number(&theirs.out, " requests in").unwrap();
            assert!((18..=20).contains(&requests), "{stop}: {}", theirs.out);
        }
    }
}

#[test]
fn a_global_that_is_no_function_is_not_called() {
    let server = Server::always(ok("x"));
    let place = tempfile::tempdir().unwrap();
    let path = written(&place, "request = 'GET'\nresponse = 7\ndelay = {}\n");
    let ran = prony(&["-t1", "-c1", "-d1", "-s", &path, &server.url("/")]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(number(&ran.out, " requests in").unwrap() > 0, "{}", ran.out);
}

/// `require` looks where Debian's wrk looks.
#[test]
fn packages_are_looked_for_where_the_original_looks() {
    let server = Server::always(ok("x"));
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("paths");
    let text = format!(
        "local out = io.open('{}', 'w')\nout:write(package.path, ';', package.cpath, ';', tostring(ffi))\nout:close()",
        file.display()
    );
    let path = written(&place, &text);
    let url = server.url("/");
    let args = ["-t1", "-c1", "-d1", "-s", &path, &url];
    let places = || -> Vec<String> {
        let text = std::fs::read_to_string(&file).unwrap();
        text.split(';').map(str::to_owned).collect()
    };
    assert_eq!(prony(&args).status, 0);
    let ours = places();
    assert!(
        ours.contains(&"/usr/share/lua/5.1/?.lua".to_owned()),
        "{ours:?}"
    );
    if real(&args).is_some() {
        for theirs in &places() {
            assert!(ours.contains(theirs), "{theirs} is not in {ours:?}");
        }
    }
}
