//! Tests of access to the view, and of the headers of its answers.

use crate::sample::write;
use crate::support::{Scene, plan};
use prony_notebook::Notebook;
use prony_view::{View, ViewError};

const LOCAL: (&str, &str) = ("host", "localhost");

#[test]
fn names_of_elsewhere_are_refused_on_loopback() {
    let scene = Scene::new(|_| {});
    for host in ["localhost", "127.0.0.1:7766", "[::1]:1"] {
        scene.ask("GET", "/", &[("host", host)]).with(200);
    }
    for host in [
        "evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1:7766",
        "",
    ] {
        let answer = scene.ask("GET", "/", &[("host", host)]).with(421);
        answer.has("localhost, 127.0.0.1 and [::1] alone");
    }
    // Nor the events, nor files.
    scene
        .ask("GET", "/events", &[("host", "evil.example")])
        .with(421);
    scene
        .ask("GET", "/style.css", &[("host", "evil.example")])
        .with(421);
}

#[test]
fn only_reading_is_understood() {
    let scene = Scene::new(|_| {});
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
        let answer = scene
            .ask(method, "/", &[LOCAL, ("content-length", "0")])
            .with(405);
        assert_eq!(answer.header("allow"), Some("GET, HEAD"), "{method}");
    }
    let head = scene.ask("HEAD", "/", &[LOCAL]).with(200);
    assert_eq!(head.body, "");
}

#[test]
fn every_answer_is_guarded() {
    let scene = Scene::new(|notebook| {
        write(notebook, &plan()).unwrap();
    });
    for path in [
        "/",
        "/run/1",
        "/run/1/report",
        "/run/1/export/csv",
        "/nothing",
        "/script.js",
        "/histories",
    ] {
        let answer = scene.get(path);
        assert_eq!(
            answer.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
        assert_eq!(
            answer.header("referrer-policy"),
            Some("no-referrer"),
            "{path}"
        );
        assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{path}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        // A report has its own policy in it.
        if path.ends_with("/report") {
            answer.has(
                "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-",
            );
        } else {
            assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        }
    }
}

#[test]
fn on_other_addresses_a_token_is_needed_once() {
    let scene = Scene::at("0.0.0.0", |_| {});
    let host = ("host", "anything.example");
    let ask =
        |path: &str, more: &[(&str, &str)]| scene.ask("GET", path, &[&[host][..], more].concat());
    assert!(scene.door.starts_with("/?token="), "{}", scene.door);
    for path in [
        "/",
        "/events",
        "/script.js",
        "/run/1",
        "/nothing",
        "/?token=",
        "/?token=0",
    ] {
        ask(path, &[]).with(401).has("it holds a token");
    }
    ask("/", &[("cookie", "prony-view-1=x")]).with(401);
    let answer = ask(&scene.door, &[]).with(303);
    assert_eq!(answer.header("location"), Some("/"));
    let cookie = answer.header("set-cookie").unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"),
        "{cookie}"
    );
    let cookie = cookie.split(';').next().unwrap();
    ask("/", &[("cookie", cookie)])
        .with(200)
        .has("There are no runs yet");
    // One character less is another token.
    ask("/", &[("cookie", &cookie[..cookie.len() - 1])]).with(401);
    // It cannot be made to redirect a browser elsewhere.
    let away = scene.door.replacen('/', "//evil.example/", 1);
    let answer = ask(&away, &[]).with(303);
    assert_eq!(answer.header("location"), Some("/evil.example/"));
}

#[test]
fn a_busy_port_is_told_with_what_to_do() {
    let scene = Scene::new(|_| {});
    let again = View::new(
        Notebook::in_memory().unwrap(),
        scene.at.ip(),
        scene.at.port(),
    );
    let Err(error @ ViewError::Busy(_)) = again else {
        panic!("two have one port");
    };
    let text = error.to_string();
    assert!(
        text.contains("is in use") && text.contains("--listen :0"),
        "{text}"
    );
    let away = View::new(
        Notebook::in_memory().unwrap(),
        "192.0.2.1".parse().unwrap(),
        0,
    );
    let text = away.err().unwrap().to_string();
    assert!(
        text.contains("192.0.2.1") && text.contains("--listen"),
        "{text}"
    );
}
