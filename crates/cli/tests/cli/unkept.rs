//! A run's result survives a notebook that cannot be written, and a read-only notebook can be read.

use crate::support::{Background, Place, Served, until};
use std::fs;

/// The file that a run was written to instead.
fn saved(place: &Place) -> String {
    let files = fs::read_dir(place.path()).unwrap().flatten();
    let mut names = files.map(|file| file.file_name().into_string().unwrap());
    let found = names.find(|name| name.starts_with("prony-") && name.ends_with(".json"));
    found.expect("a file beside the notebook")
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn a_run_that_the_notebook_cannot_take_is_shown_and_saved_beside_it() {
    let server = Served::start(&["http-echo"]);
    let url = server.http("/");
    let load = ["load", "-d", "300ms", "-c", "2", &url];
    let quick = ["--rounds", "2", "-d", "100ms", "--warmup", "0s"];
    let duel = [
        "duel",
        "quick",
        "plain",
        "--contract",
        "tcp-echo",
        "-c",
        "2",
    ];
    let duel = [&duel[..], &quick].concat();
    for (arguments, shown) in [(&load[..], " ok, "), (&duel, "requests/s")] {
        let place = Place::with_references();
        place.prony(&["runs"]).with(0);
        let other = rusqlite::Connection::open(place.path().join("notebook.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let done = place.prony(arguments).with(0);
        assert!(done.stdout.contains(shown), "{done}");
        for words in [
            "the notebook cannot be written",
            "database is locked",
            "not in the notebook, but in",
        ] {
            assert!(done.stderr.contains(words), "{words}: {done}");
        }
        other.execute_batch("ROLLBACK").unwrap();
        assert!(
            place
                .prony(&["runs", "--json"])
                .with(0)
                .json()
                .as_array()
                .unwrap()
                .is_empty()
        );
        let file = saved(&place);
        place.prony(&["import", &file]).with(0);
        let runs = place.prony(&["runs", "--json"]).with(0).json();
        assert_eq!(runs[0]["status"], "finished", "{runs:#}");
        assert!(runs[0]["result"].is_string(), "{runs:#}");
        place.prony(&["report"]).with(0);
    }
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn a_run_whose_beginning_is_in_the_notebook_is_put_in_whole() {
    let place = Place::with_references();
    place.prony(&["runs"]).with(0);
    let trials = |notebook: &rusqlite::Connection| -> u32 {
        notebook
            .query_row("SELECT count(*) FROM trial", [], |row| row.get(0))
            .unwrap()
    };
    let other = rusqlite::Connection::open(place.path().join("notebook.db")).unwrap();
    let duel = [
        "duel",
        "quick",
        "plain",
        "--contract",
        "tcp-echo",
        "-c",
        "2",
        "--rounds",
        "3",
        "--only",
        "throughput",
        "-d",
        "100ms",
        "--warmup",
        "0s",
    ];
    let going = Background::start(&mut place.command(&duel));
    until("the first trial", || trials(&other) > 0);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = trials(&other);
    let done = going.end().with(0);
    assert!(
        done.stderr.contains("not in the notebook, but in"),
        "{done}"
    );
    other.execute_batch("ROLLBACK").unwrap();
    place.prony(&["import", &saved(&place)]).with(0);
    let all = trials(&other) - begun;
    assert_eq!(all, 3 * 2, "what the notebook had is in the file too");
    let runs = place.prony(&["runs", "--json"]).with(0).json();
    assert_eq!(runs[0]["status"], "finished", "{runs:#}");
    assert_eq!(runs[1]["status"], "interrupted", "{runs:#}");
    // Only once.
    let again = place.prony(&["import", &saved(&place)]).with(0);
    assert!(
        again.stderr.contains("in the notebook already, as run 2"),
        "{again}"
    );
}

/// For root, permissions make no file read-only, but a mount does, in a separate namespace.
#[test]
fn a_notebook_on_a_read_only_medium_can_be_read() {
    let server = Served::start(&["http-echo"]);
    let place = Place::new();
    let url = server.http("/");
    place
        .prony(&["load", "-d", "200ms", "-c", "1", "--quiet", &url])
        .with(0);
    let inside = |command: &str| {
        let script = format!(
            "unshare --mount --map-root-user sh -c 'mount --bind . . && mount -o remount,bind,ro . && cd \"$PWD\" && {command}'"
        );
        place.shell(&script)
    };
    let probe = inside("! touch probe 2>/dev/null");
    // SAFETY: it only reads who the process belongs to.
    let is_root = unsafe { libc::geteuid() } == 0;
    if probe.code != Some(0) && !is_root {
        eprintln!("not tested: this machine makes no read-only mounts: {probe}");
        return;
    }
    probe.with(0);
    for (command, shown) in [
        ("\"$PRONY\" runs", "load  http://"),
        ("\"$PRONY\" report", "load c1"),
        ("\"$PRONY\" export --format csv", "answers_per_second"),
    ] {
        let done = inside(command).with(0);
        assert!(done.stdout.contains(shown), "{command}: {done}");
    }
    let refused = inside("\"$PRONY\" duel a b").with(1);
    assert!(!refused.stderr.is_empty(), "{refused}");
}
