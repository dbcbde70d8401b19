//! Entries of a checkout of a suite: made up, and run by a stand-in for a container engine.

use crate::support::{Done, Place};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

const ENGINE: &str = include_str!("from_a_suite/engine.sh");
const SERVER: &str = include_str!("from_a_suite/server.py");

/// Starts each of two tests for half a second.
const QUICK: [&str; 9] = [
    "--quick",
    "--warmup",
    "50ms",
    "--load",
    "json",
    "--load",
    "plaintext",
    "--load",
    "db",
];

/// A checkout in `suite`, and `podman` in `bin`. `docker_cmd` is the port, which the stand-in passes on.
fn place() -> Place {
    let place = Place::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    let test = |more: &str| {
        format!(
            r#"{{"json_url": "/json", "plaintext_url": "/text?of=it", "db_url": "/db", "port": {port},
                "database": "None", "docker_cmd": "{port}", "language": "Made up"{more}}}"#
        )
    };
    let tests = format!(
        r#"{{"framework": "one", "tests": [{{"default": {}, "bad": {}, "old": {}}}]}}"#,
        test(""),
        test(""),
        test(r#", "tags": ["broken"]"#)
    );
    let file = |name: &str, text: &str| place.file(&format!("suite/frameworks/L/one/{name}"), text);
    file("benchmark_config.json", &tests);
    file("one.dockerfile", "FROM scratch\n");
    file("one-bad.dockerfile", "FROM broken\n");
    place.file("bin/server.py", SERVER);
    let engine = place.file("bin/podman", ENGINE);
    fs::set_permissions(&engine, fs::Permissions::from_mode(0o755)).unwrap();
    place
}

/// Runs entries of the checkout; `path` is what stands before the PATH.
fn run(place: &Place, more: &[&str]) -> Done {
    let line = ["run", "techempower", "--from", "suite"];
    let mut command = place.command(&[&line[..], more].concat());
    let path = std::env::var_os("PATH").unwrap();
    let bin = [place.path().join("bin")].into_iter();
    let all = bin.chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(all).unwrap());
    place.finish(&mut command)
}

/// Lines that the engine was asked, which begin so.
fn asked(place: &Place, start: &str) -> Vec<String> {
    let all = fs::read_to_string(place.path().join("bin/asked")).unwrap_or_default();
    let lines = all.lines().filter(|line| line.starts_with(start));
    lines.map(ToOwned::to_owned).collect()
}

#[test]
fn an_entry_is_built_verified_and_loaded() {
    let place = place();
    let only = [&["--only", "one", "--json"][..], &QUICK].concat();
    let done = run(&place, &only).with(0).json();
    let mut loads: Vec<&str> = done["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["load"]["name"].as_str().unwrap())
        .collect();
    loads.sort_unstable();
    assert_eq!(loads, ["json", "plaintext"], "{done}");
    let failures = done["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 1, "{done}");
    assert_eq!(failures[0]["load"], "db", "{done}");
    assert_eq!(failures[0]["message"], "has no db", "{done}");
    assert_eq!(done["run"]["baseline"], "one", "{done}");

    let built = asked(&place, "build ");
    assert_eq!(built.len(), 1, "{built:?}");
    let start = "build -f one.dockerfile -t prony-one:";
    assert!(built[0].starts_with(start), "{built:?}");
    assert!(
        built[0].contains("--build-arg TFB_TEST_NAME=one"),
        "{built:?}"
    );
    let started = asked(&place, "run ");
    assert_eq!(started.len(), 2, "{started:?}");
    for part in [
        "--rm",
        "--network host",
        "--add-host tfb-database:127.0.0.1",
    ] {
        assert!(started[0].contains(part), "{part}: {started:?}");
    }
    assert_eq!(asked(&place, "rm --force prony-").len(), 2);

    // The engine has the image.
    run(&place, &only).with(0);
    assert_eq!(asked(&place, "build ").len(), 1);
}

#[test]
fn a_failed_build_shows_the_end_of_its_output() {
    let place = place();
    let done = run(&place, &[&["--only", "one-bad"][..], &QUICK].concat()).with(1);
    for text in [
        "podman build -f one-bad.dockerfile",
        "| Error: no such base",
    ] {
        assert!(done.stdout.contains(text), "{text}: {done}");
    }
}

#[test]
fn entries_are_chosen_by_name() {
    let place = place();
    let all = run(&place, &[]).with(2);
    for text in [
        "left out: one-old: the suite marks it as broken",
        "suite has 3 entries, of which 2 can take part: choose with --only",
        "prony run techempower --from suite --only one,one-bad",
    ] {
        assert!(all.stderr.contains(text), "{text}: {all}");
    }
    for (name, text) in [
        ("onne", "did you mean \"one\"?"),
        (
            "one-old",
            "one-old cannot take part: the suite marks it as broken",
        ),
    ] {
        let done = run(&place, &["--only", name]).with(1);
        assert!(done.stderr.contains(text), "{text}: {done}");
    }
    fs::remove_dir_all(place.path().join("suite/frameworks")).unwrap();
    let none = run(&place, &["--only", "one"]).with(1);
    assert!(none.stderr.contains("git clone --depth 1"), "{none}");
    assert_eq!(asked(&place, "build "), [""; 0]);
}

#[test]
fn without_an_engine_nothing_is_started() {
    let place = place();
    let line = ["run", "techempower", "--from", "suite", "--only", "one"];
    let mut command = place.command(&line);
    command.env("PATH", place.path());
    let done = place.finish(&mut command).with(1);
    let text = "neither podman nor docker is on the PATH";
    assert!(done.stderr.contains(text), "{done}");
}

#[test]
fn sides_of_a_duel_cannot_share_a_fixed_port() {
    let place = Place::new();
    for name in ["one", "two"] {
        place.echo_server(name, "true {port}", "port = 18081");
    }
    let done = place.refused(&["duel", "one", "two"]);
    let text = "one and two both listen on port 18081 alone";
    assert!(done.stderr.contains(text), "{done}");
}
