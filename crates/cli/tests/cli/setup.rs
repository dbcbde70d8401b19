//! `prony servers setup`, and what depends on it. Nothing is installed for the machine here: the
//! servers' dependencies are files.

use crate::support::Place;

/// An echo server whose dependency is a script that starts it.
fn dependent() -> Place {
    let place = Place::with_references();
    place.echo_server(
        "scripted",
        "sh {deps}/start {prony} {port}",
        "version = 'echo sh 1'\n[dependencies]\nfrom = 'the moon'\npackages = ['rock==2']\n\
         download = '21 kg'\ninstall = '''printf 'exec \"$1\" serve tcp-echo --listen :\"$2\"' > {deps}/start'''",
    );
    place
}

#[test]
fn what_is_not_set_up_is_skipped_and_named() {
    let place = dependent();
    let file = place.experiment(
        "both",
        "title = 'T'\ncontract = 'tcp-echo'\nservers = ['quick', 'scripted']\nrounds = 1\n\
         [load]\nconnections = 2\nrequests = 100\nwarmup = '0s'\n",
    );
    let report = place.prony(&["run", &file]).with(0).stdout;
    let line = "1 server is not set up: `prony servers setup tcp-echo`\n";
    let reason =
        "scripted: needs rock==2 from the moon; `prony servers setup scripted` installs it";
    assert!(
        report.contains(line) && !report.contains(reason),
        "{report}"
    );
    let report = place.prony(&["report", "--verbose"]).with(0).stdout;
    assert!(report.contains(line) && report.contains(reason), "{report}");
    let checked = place
        .prony(&["servers", "check", "scripted"])
        .with(0)
        .stdout;
    assert!(checked.contains("missing"), "{checked}");
    let done = place.prony(&["servers", "start", "scripted"]).with(1);
    assert!(
        done.stderr.contains("prony servers setup scripted"),
        "{done}"
    );
    // And then it is.
    let done = place.prony(&["servers", "setup", &file, "--yes"]).with(0);
    assert!(done.stdout.contains("2 of 2 servers"), "{done}");
    let report = place.prony(&["run", &file, "--json"]).with(0).json();
    assert_eq!(report["cells"].as_array().unwrap().len(), 2, "{report:#}");
    assert_eq!(report["failures"], serde_json::json!([]));
}

#[test]
fn setup_shows_asks_and_does_nothing_twice() {
    let place = dependent();
    let shown = place
        .prony(&["servers", "setup", "--dry-run"])
        .with(0)
        .stdout;
    assert!(
        shown.contains("from the moon") && shown.contains("rock==2 (about 21 kg to download)"),
        "{shown}"
    );
    // Without a terminal there is no one to ask.
    let done = place.prony(&["servers", "setup", "scripted"]).with(1);
    assert!(done.stderr.contains("--yes"), "{done}");
    assert!(!place.path().join("cache/dependencies").exists());
    let done = place
        .prony(&["servers", "setup", "tcp-echo", "--yes"])
        .with(0);
    assert!(
        done.stderr.contains("installing rock==2 from the moon"),
        "{done}"
    );
    assert!(done.stdout.contains("3 of 3 servers are set up"), "{done}");
    let again = place
        .prony(&["servers", "setup", "tcp-echo", "--yes"])
        .with(0);
    assert!(
        !again.stderr.contains("installing") && !again.stdout.contains("moon"),
        "{again}"
    );
    let shown = place
        .prony(&["servers", "setup", "--dry-run"])
        .with(0)
        .stdout;
    assert!(shown.contains("nothing is to be installed"), "{shown}");
}

// Slow: sets up 5 servers; a thorough verification sends 16 MiB or more to a slow reader.
#[test]
fn one_that_cannot_be_had_does_not_keep_others_back() {
    let place = dependent();
    place.echo_server(
        "unlucky",
        "sh {deps}/start",
        "[dependencies]\nfrom = 'the sun'\npackages = ['ray']\ndownload = '?'\ninstall = 'echo too hot; exit 3'",
    );
    place.echo_server(
        "absent",
        "no-such-runtime",
        "toolchain = ['no-such-runtime']",
    );
    let done = place.prony(&["servers", "setup", "--yes"]).with(1);
    for word in ["unlucky: ", "| too hot", "absent: needs no-such-runtime"] {
        assert!(done.stderr.contains(word), "{word}: {done}");
    }
    assert!(done.stdout.contains("3 of 5 servers are set up"), "{done}");
    assert!(
        done.stdout
            .contains("no-such-runtime is not on the PATH, and no Debian package is known"),
        "{done}"
    );
    place.prony(&["servers", "check", "scripted"]).with(0);
}

#[test]
fn known_limits_are_proven_and_named() {
    let place = Place::with_references();
    place.echo_server(
        "limited",
        "{prony} serve clockwork --delay 1ms --listen :{port}",
        "[expected_failures]\nfragments = 'it cannot'",
    );
    // It can: the manifest must not say otherwise.
    let done = place.prony(&["servers", "check", "limited"]).with(1);
    assert!(
        done.stdout.contains("expected failure")
            && done.stdout.contains("take it out of [expected_failures]"),
        "{done}"
    );
    let file = place.experiment(
        "one",
        "title = 'T'\ncontract = 'tcp-echo'\nservers = ['limited']\nrounds = 1\n\
         [load]\nconnections = 1\nrequests = 20\nwarmup = '0s'\n",
    );
    let text = place.prony(&["run", &file]).with(0).stdout;
    assert!(
        text.contains("expected failure of limited: fragments: it cannot"),
        "{text}"
    );
    place.echo_server(
        "misnamed",
        "x",
        "[expected_failures]\nfragmets = 'it cannot'",
    );
    let done = place.prony(&["servers", "list"]).with(1);
    assert!(
        done.stderr.contains("no step of its verification"),
        "{done}"
    );
}
