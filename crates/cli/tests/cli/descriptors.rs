//! Every connection needs a file descriptor.

use crate::support::{Place, Served};

#[test]
fn too_few_are_told_with_the_limit() {
    let server = Served::start(&["http-echo"]);
    let place = Place::new();
    let url = server.http("/");
    let done = place
        .shell(&format!(
            "ulimit -n 100; exec \"$PRONY\" load -c 500 -n 500 {url}"
        ))
        .with(1);
    assert_eq!(done.stdout, "");
    let lines: Vec<&str> = done
        .stderr
        .lines()
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(lines.len(), 1, "{done}");
    assert!(
        lines[0].contains("100 are allowed") && lines[0].contains("ulimit"),
        "{done}"
    );
}

#[test]
fn a_soft_limit_is_raised() {
    let server = Served::start(&["http-echo"]);
    let place = Place::new();
    let url = server.http("/");
    let script = format!("ulimit -Sn 100; exec \"$PRONY\" load --json -q -c 300 -n 900 {url}");
    let report = place.shell(&script).with(0).json();
    assert_eq!(report["outcomes"]["ok"], 900);
    assert_eq!(report["connect"]["n"], 300);
}

/// A server that does not raise its own limit has that of prony, which was raised before.
#[test]
fn servers_inherit_the_raised_limit() {
    let place = Place::new();
    place.echo_server(
        "quick",
        "sh -c 'ulimit -Sn; exec sleep 1000'",
        "start_timeout = '100ms'",
    );
    let file = place.experiment(
        "limits",
        "title = 'T'\ncontract = 'tcp-echo'\nservers = ['quick']\nrounds = 1\n",
    );
    let script = format!("ulimit -Sn 100; \"$PRONY\" run {file} --json; ulimit -Hn");
    let done = place.shell(&script).with(0);
    let (report, hard) = done.stdout.trim_end().rsplit_once('\n').unwrap();
    let report: serde_json::Value = serde_json::from_str(report).unwrap();
    assert_eq!(report["failures"][0]["output"], hard, "{done}");
}

#[test]
fn a_run_says_so_for_the_load_that_it_concerns() {
    let place = Place::with_references();
    let file = place.experiment(
        "many",
        "title = 'T'\ncontract = 'tcp-echo'\nservers = ['quick']\nrounds = 1\n\
         [load]\nconnections = [2, 500]\nrequests = 200\nwarmup = '0s'\n",
    );
    let done = place
        .shell(&format!("ulimit -n 400; exec \"$PRONY\" run {file}"))
        .with(1);
    let said = "failed: quick (round 1): load: 564 file descriptors are needed and 400 are allowed";
    assert!(
        done.stdout.contains(said) && done.stdout.contains("load c2,"),
        "{done}"
    );
    // Too few for the verifier: that is not the server's fault either.
    let done = place
        .shell(&format!("ulimit -n 100; exec \"$PRONY\" run {file}"))
        .with(1);
    assert!(
        done.stdout
            .contains("start: 320 file descriptors are needed"),
        "{done}"
    );
}
