//! `[[session]]`s of a file: steps in order, with what earlier answers gave.

use crate::support::{Done, Place, schema, valid};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Logs users in, and takes orders from those that show both the token and the cookie that they were given.
/// Users whose name begins with `x` get no token.
fn shop() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(stream));
        }
    });
    addr
}

fn serve(stream: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut writer = stream;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut field = String::new();
            reader.read_line(&mut field).ok()?;
            if field == "\r\n" {
                break;
            }
            if let Some(n) = field.strip_prefix("Content-Length: ") {
                length = n.trim().parse().ok()?;
            }
            head += &field;
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let answer = answer(&line, &head, &String::from_utf8(body).ok()?);
        writer.write_all(answer.as_bytes()).ok()?;
    }
}

fn answer(line: &str, head: &str, body: &str) -> String {
    let found = |status: &str, more: &str, body: &str| {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\n{more}Content-Length: {length}\r\n\r\n{body}")
    };
    let place = |place: &str| found("302 Found", &format!("Location: {place}\r\n"), "");
    if let Some(user) = line.strip_prefix("POST /moved/") {
        return place(&format!(
            "../login/{}",
            user.split(' ').next().unwrap_or_default()
        ));
    }
    if line.starts_with("GET /loop") {
        return place("/loop");
    }
    if line.starts_with("GET /elsewhere") {
        return place("http://elsewhere.invalid/login");
    }
    if let Some(user) = line.strip_prefix("GET /login/") {
        let user = user.split(' ').next().unwrap_or_default();
        let cookie = format!("Set-Cookie: sid={user}; Path=/\r\n");
        let body = match user.starts_with('x') {
            true => "{}".to_owned(),
            false => format!(r#"{{"user":{{"token":"t-{user}"}}}}"#),
        };
        return found("200 OK", &cookie, &body);
    }
    let right = body.split(' ').next().is_some_and(|user| {
        head.contains(&format!("Authorization: Bearer t-{user}\r\n"))
            && head.contains(&format!("Cookie: sid={user}\r\n"))
    });
    match right {
        true => found("201 Created", "", r#"{"ok":true}"#),
        false => found("403 Forbidden", "", "no"),
    }
}

const BUYER: &str = r#"
[[session]]
name = "buyer"
cookies = true
think = "1ms..2ms"

[[session.step]]
name = "login"
path = "/login/{{row users.csv name}}"
take.token = { json = "$.user.token" }

[[session.step]]
name = "order"
path = "/orders"
headers = { Authorization = "Bearer {{token}}" }
body = "{{row users.csv name}} orders {{int 1 9}}"
expect.status = 201
expect.json = { "$.ok" = true }
"#;

fn place(users: &str, text: &str) -> (Place, String) {
    let place = Place::new();
    std::fs::write(place.path().join("users.csv"), users).unwrap();
    let file = place.path().join("shop.toml");
    std::fs::write(&file, text).unwrap();
    (place, file.display().to_string())
}

fn load(place: &Place, file: &str, addr: SocketAddr, more: &[&str]) -> Done {
    let url = format!("http://{addr}");
    let first = ["load", "--quiet", "--no-keep", "--json", "-f", file];
    place.prony(&[&first, more, &[url.as_str()]].concat())
}

fn ok(report: &Value, name: &str) -> u64 {
    let mut all = report["requests"].as_array().unwrap().iter();
    let one = all.find(|one| one["name"] == name).unwrap();
    one["outcomes"]["ok"].as_u64().unwrap()
}

#[test]
fn users_go_through_their_steps_with_what_they_were_given() {
    let addr = shop();
    let (place, file) = place("name\nann\nbob\ncy\n", BUYER);
    for transport in ["epoll", "io_uring"] {
        let more = ["-n", "600", "-c", "3", "-t", "2", "--transport", transport];
        let report = load(&place, &file, addr, &more).with(0).json();
        valid(&schema("load"), &report);
        assert_eq!(report["outcomes"]["ok"], 600, "{report:#}");
        let session = &report["sessions"][0];
        assert_eq!(session["failed"], 0, "{report:#}");
        // 600 requests are 300 sessions, but for those that the end cuts in two.
        let completed = session["completed"].as_u64().unwrap();
        assert!((290..=300).contains(&completed), "{report:#}");
        assert_eq!(ok(&report, "login") + ok(&report, "order"), 600);
        assert_eq!(ok(&report, "order"), completed);
        // The pause between the steps is part of the session, and of no request's response time.
        assert!(session["duration"]["p50"].as_u64().unwrap() >= 1_000_000);
    }
    let text = place.prony(&[
        "load",
        "--quiet",
        "--no-keep",
        "-f",
        &file,
        "-n",
        "20",
        "-c",
        "1",
        &format!("http://{addr}"),
    ]);
    let text = text.with(0);
    for word in ["session", "completed", "buyer"] {
        assert!(text.stdout.contains(word), "{word}: {text}");
    }
}

/// A limit on sessions holds or fails by its interval, and the comment has their table.
#[test]
fn limits_and_comments_are_about_sessions_too() {
    let addr = shop();
    let (place, file) = place("name\nann\nbob\n", BUYER);
    let comment = place.path().join("comment.md");
    let gates = |limit: &str, code: i32| {
        let more = ["-n", "400", "-c", "2", "--fail-if", limit, "--markdown"];
        let more = [&more[..], &[comment.to_str().unwrap()]].concat();
        let report = load(&place, &file, addr, &more).with(code).json();
        report["gates"][0].clone()
    };
    let held = gates("buyer.errors > 0", 0);
    assert_eq!(held["outcome"], "held", "{held:#}");
    // Each session has a pause of a millisecond at least.
    let broken = gates("buyer.p50 > 1us", 3);
    assert_eq!(broken["outcome"], "broken", "{broken:#}");
    let text = std::fs::read_to_string(&comment).unwrap();
    assert!(text.contains("| session | completed |"), "{text}");
    assert!(text.contains("| buyer | "), "{text}");
    let unknown = ["-n", "4", "-c", "1", "--fail-if", "seller.p99 > 1s"];
    let done = load(&place, &file, addr, &unknown).with(2);
    assert!(
        done.stderr.contains("no request or session \"seller\""),
        "{done}"
    );
}

#[test]
fn sessions_begin_at_a_rate_each_on_its_own_connection() {
    let addr = shop();
    let (place, file) = place("name\nann\nbob\n", BUYER);
    let more = ["-n", "60", "--rate", "200", "-c", "16"];
    let report = load(&place, &file, addr, &more).with(0).json();
    // 60 sessions of two steps.
    assert_eq!(report["outcomes"]["ok"], 120, "{report:#}");
    assert_eq!(report["sessions"][0]["completed"], 60, "{report:#}");
    assert_eq!(report["connect"]["n"], 60, "{report:#}");
    assert_eq!(
        report["checks"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|it| it["name"] == "rate-missed")
            .count(),
        0
    );
}

#[test]
fn a_step_that_finds_nothing_fails_its_session_by_name() {
    let addr = shop();
    let (place, file) = place("name\nann\nxavier\n", BUYER);
    let report = load(&place, &file, addr, &["-n", "300", "-c", "1"])
        .with(0)
        .json();
    let session = &report["sessions"][0];
    // Every second user gets no token: one request instead of two.
    let failed = session["failed"].as_u64().unwrap();
    assert!((99..=101).contains(&failed), "{report:#}");
    assert_eq!(
        session["failures"]["login: no token at $.user.token"],
        failed
    );
    // No answer was wrong.
    assert_eq!(report["outcomes"]["wrong_answer"], 0, "{report:#}");
}

#[test]
fn sessions_are_verified() {
    let addr = shop();
    let (place, file) = place("name\nann\nbob\n", BUYER);
    let url = format!("http://{addr}");
    let done = place.prony(&["verify", &file, &url]).with(0);
    for word in [
        "passed: buyer, one after the other: 10 answers",
        "buyer, in fragments",
    ] {
        assert!(done.stdout.contains(word), "{word}: {done}");
    }
    std::fs::write(place.path().join("users.csv"), "name\nxavier\n").unwrap();
    let done = place.prony(&["verify", &file, &url]).with(1);
    let text = "failed: buyer, one after the other: login: no token at $.user.token";
    assert!(done.stdout.contains(text), "{done}");
    // A wrong answer is shown with what was asked.
    std::fs::write(place.path().join("users.csv"), "name\nann\n").unwrap();
    std::fs::write(
        place.path().join("wrong.toml"),
        BUYER.replace("= true }", "= false }"),
    )
    .unwrap();
    let wrong = place.path().join("wrong.toml");
    let done = place
        .prony(&["verify", wrong.to_str().unwrap(), &url])
        .with(1);
    for word in [
        "$.ok: expected false, found true",
        "asked POST /orders with",
    ] {
        assert!(done.stdout.contains(word), "{word}: {done}");
    }
}

#[test]
fn mistakes_in_sessions_have_their_place() {
    let wrong = |from: &str, to: &str, word: &str| {
        let (place, file) = place("name\nann\n", &BUYER.replace(from, to));
        let done = load(&place, &file, ([127, 0, 0, 1], 9).into(), &[]).with(1);
        let text: Vec<&str> = done.stderr.split_whitespace().collect();
        assert!(text.join(" ").contains(word), "{word}: {done}");
    };
    wrong("{{token}}", "{{tokn}}", "did you mean \"token\"?");
    wrong(
        "json = \"$.user.token\"",
        "json = \"user\"",
        "is not a path",
    );
    wrong(
        "json = \"$.user.token\"",
        "xpath = \"//a\"",
        "unknown field",
    );
    wrong("1ms..2ms", "2ms..1ms", "expected a pause");
    wrong(
        "expect.status = 201",
        "redirects = 50",
        "must be from 1 to 20",
    );
    wrong(
        "name = \"order\"",
        "name = \"order\"\nweight = 2",
        "a step has no weight",
    );
    wrong(
        "[[session]]",
        "[[request]]\nname = \"a\"\npath = \"/\"\n[[session]]",
        "either requests or sessions",
    );
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn sessions_take_part_in_duels_searches_and_experiments() {
    let (one, two) = (shop(), shop());
    let (place, file) = place("name\nann\nbob\ncy\n", BUYER);
    let (one, two) = (format!("http://{one}"), format!("http://{two}"));
    let first = [
        "duel", "--quiet", "--json", "-f", &file, "-d", "200ms", "--warmup", "100ms",
    ];
    let more = ["-c", "8", "--rounds", "2", "--rate", "400", &one, &two];
    let done = place.prony(&[&first[..], &more].concat()).with(0);
    assert!(
        done.stderr.contains("pauses of the sessions are left out"),
        "{done}"
    );
    let report = done.json();
    valid(&schema("duel"), &report);
    let named = |name: &str| {
        let mut all = report["requests"].as_array().unwrap().iter();
        all.find(|one| one["name"] == name).unwrap()
    };
    for name in ["login", "order", "buyer (session)"] {
        for side in named(name)["sides"].as_array().unwrap() {
            assert!(side["answers"].as_u64().unwrap() > 0, "{report:#}");
            assert_eq!(side["failed"], 0, "{report:#}");
            assert!(
                side["figures"][0]["value"]["value"].as_f64().unwrap() > 0.0,
                "{report:#}"
            );
        }
    }
    // The rate is one of requests: half as many sessions begin.
    let kept = place
        .prony(&["export", "latest", "--format", "json"])
        .with(0)
        .json();
    let trials = kept["trials"].as_array().unwrap();
    let paced: Vec<&Value> = trials
        .iter()
        .filter(|it| it["load"]["rate"] == 400.0)
        .collect();
    assert_eq!(paced.len(), 4, "{kept:#}");
    for trial in paced {
        let seconds = trial["measured_seconds"].as_f64().unwrap();
        let completed = &trial["observation"]["sessions"][0]["completed"];
        let sessions = completed.as_u64().unwrap() as f64 / seconds;
        // Not nearly the 400 that they would be if the rate were one of sessions; fewer on a busy machine.
        assert!(sessions < 300.0, "{trial:#}");
    }
    let capacity = [
        "capacity", "--starts", "1", "--quiet", "--json", "-f", &file, "-d", "100ms",
    ];
    let capacity = [&capacity[..], &["-c", "2", "--p99", "1ns", &one]].concat();
    let capacity = place.prony(&capacity);
    assert!(capacity.stdout.contains("\"server\""), "{capacity}");
}

/// Steps that any server answers as `http-echo` does.
const ECHOED: &str = r#"
[[session]]
name = "reader"

[[session.step]]
name = "first"
path = "/{{int 1 9}}"
take.length = { header = "Content-Length" }

[[session.step]]
name = "second"
path = "/next/{{length}}"
"#;

#[test]
fn experiments_ask_sessions() {
    let place = Place::with_references();
    place.manifest(
        "web",
        "title = 'Web'\nlanguage = 'Rust'\nmodel = 'epoll'\ncontracts = ['http-echo']\n\
         run = '{prony} serve http-echo --listen :{port}'\n",
    );
    let path = |name: &str| place.path().join(name);
    std::fs::write(path("reader.toml"), ECHOED).unwrap();
    let text = "title = \"Readers\"\ncontract = \"http-echo\"\nrequests = \"reader.toml\"\n\
                servers = [\"web\"]\nrounds = 1\n\
                load = { connections = 2, duration = \"300ms\", warmup = \"0s\" }\n";
    let experiment = path("readers.toml");
    std::fs::write(&experiment, text).unwrap();
    let run = |code| {
        let run = ["run", "--quiet", "--json", experiment.to_str().unwrap()];
        place.prony(&run).with(code)
    };
    assert!(run(0).stdout.contains("throughput"));
    let kept = place
        .prony(&["export", "latest", "--format", "json"])
        .with(0)
        .json();
    let session = &kept["trials"][0]["observation"]["sessions"][0];
    assert!(session["completed"].as_u64().unwrap() > 0, "{kept:#}");
    assert_eq!(session["failed"], 0, "{kept:#}");
    std::fs::write(
        &experiment,
        text.replace("connections", "pipeline = 2, connections"),
    )
    .unwrap();
    let wrong = run(1);
    assert!(wrong.stderr.contains("wait for each answer"), "{wrong}");
}

#[test]
fn redirects_are_followed_if_the_step_says_so() {
    let addr = shop();
    let moved = BUYER.replace(
        "path = \"/login/",
        "redirects = 1\nbody = \"x\"\nexpect.status = 200\npath = \"/moved/",
    );
    let (place, file) = place("name\nann\nbob\n", &moved);
    for more in [
        &["-n", "300", "-c", "3"][..],
        &["-n", "60", "--rate", "300", "-c", "16"],
    ] {
        let report = load(&place, &file, addr, more).with(0).json();
        assert_eq!(report["outcomes"]["wrong_answer"], 0, "{report:#}");
        let session = &report["sessions"][0];
        assert_eq!(session["failed"], 0, "{report:#}");
        let completed = session["completed"].as_u64().unwrap();
        assert!(completed > 50, "{report:#}");
        assert_eq!(ok(&report, "order"), completed, "{report:#}");
        // Of each login there are two requests, but for the sessions that the end cuts.
        let logins = ok(&report, "login");
        assert!(
            (2 * completed..=2 * completed + 6).contains(&logins),
            "{report:#}"
        );
    }
    let url = format!("http://{addr}");
    place.prony(&["verify", &file, &url]).with(0);
    let fails = |path: &str, why: &str| {
        let text = format!(
            "[[session]]\nname = \"lost\"\n[[session.step]]\nname = \"go\"\npath = \"{path}\"\nredirects = 3\n"
        );
        std::fs::write(place.path().join("lost.toml"), text).unwrap();
        let lost = place.path().join("lost.toml");
        let done = place
            .prony(&["verify", lost.to_str().unwrap(), &url])
            .with(1);
        assert!(done.stdout.contains(why), "{why}: {done}");
    };
    fails("/loop", "go: more than 3 redirects, the last to \"/loop\"");
    fails(
        "/elsewhere",
        "go: redirected to http://elsewhere.invalid/login, another server",
    );
}
