//! Limits of servers, in real control groups. Where none can be made, these tests are left out, with a message.

use crate::support::{Background, Place, until};
use std::fs;
use std::path::PathBuf;

const QUICK: [&str; 10] = [
    "--rounds",
    "2",
    "--only",
    "throughput",
    "-d",
    "500ms",
    "--warmup",
    "50ms",
    "-c",
    "2",
];

/// A server whose second process is always busy, so that both together use up any limit of CPU time. With a number, it
/// keeps so many MiB for each request.
const APP: &str = r#"
import http.server, os, sys

kept, size = [], int(sys.argv[2]) if len(sys.argv) > 2 else 0
if not size and os.fork() == 0:
    while True:
        pass

class App(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        kept.append(bytearray(size << 20))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), App).serve_forever()
"#;

/// A place for a test of limits; None, with a line on standard error, where no control group can be made.
fn place() -> Option<Place> {
    let place = Place::new();
    place.file("app.py", APP);
    let tried = [
        "duel",
        "true {port}",
        "true {port}",
        "--server-memory",
        "1GiB",
    ];
    let tried = place.prony(&[&tried[..], &["--server-cpu", "0.5"]].concat());
    if tried.stderr.contains("servers cannot be limited here") {
        assert!(tried.stderr.contains("systemd-run --user"), "{tried}");
        eprintln!("left out: {tried}");
        return None;
    }
    Some(place)
}

/// Control groups of this prony, in all trees.
fn groups(prony: i32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if !path.is_dir() || path.is_symlink() {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("prony-") && name.split('-').nth(2) == Some(&prony.to_string()) {
                found.push(path.clone());
            }
            folders.push(path);
        }
    }
    found
}

/// Effects of the limits in the measurements of the notebook.
fn effects(place: &Place) -> Vec<serde_json::Value> {
    let notebook = place.notebook();
    let mut all = notebook
        .prepare("SELECT observation_json FROM trial WHERE observation_json IS NOT NULL")
        .unwrap();
    let texts = all.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let read = |text: rusqlite::Result<String>| -> serde_json::Value {
        serde_json::from_str::<serde_json::Value>(&text.unwrap()).unwrap()["resources"]["limits"]
            .clone()
    };
    texts.map(read).collect()
}

// Slow: a duel of two rounds.
#[test]
fn a_busy_server_is_throttled() {
    let Some(place) = place() else { return };
    let app = "python3 app.py {port}";
    let line = [
        &["duel", app, app, "--server-cpu", "0.2", "--json"][..],
        &QUICK,
    ]
    .concat();
    let prony = Background::start(&mut place.command(&line));
    let pid = prony.pid();
    let done = prony.end().with(0);
    assert!(done.stderr.contains(", at most 0.2 CPUs, "), "{done}");
    let report = done.json();
    assert_eq!(groups(pid), Vec::<PathBuf>::new());
    assert!(
        report["checks"].to_string().contains("\"throttled\""),
        "{report:#}"
    );
    let effects = effects(&place);
    let count = |name: &str| {
        effects
            .iter()
            .map(|it| it[name].as_u64().unwrap())
            .sum::<u64>()
    };
    assert!(count("throttled_periods") > 0, "{effects:?}");
    assert!(count("throttled_ns") > 0, "{effects:?}");
    assert!(
        count("periods") >= count("throttled_periods"),
        "{effects:?}"
    );
    assert_eq!(effects[0]["limits"]["cpus"], 0.2);
}

// Slow: the pilot of a duel.
#[test]
fn a_server_that_needs_more_memory_is_killed_and_that_is_said() {
    let Some(place) = place() else { return };
    let app = "python3 app.py {port} 8";
    let line = [&["duel", app, app, "--server-memory", "96MiB"][..], &QUICK].concat();
    let prony = Background::start(&mut place.command(&line));
    let pid = prony.pid();
    let failed = prony.end().with(1);
    let said = "was killed: it needed more than 96 MiB";
    assert!(failed.stderr.contains(said), "{failed}");
    assert_eq!(groups(pid), Vec::<PathBuf>::new());
}

// Slow: starts a server of Python, which is killed, and then the pilot of a duel.
#[test]
fn no_group_is_left_by_a_killed_prony() {
    let Some(place) = place() else { return };
    let app = "python3 app.py {port} 1";
    let line = [
        "duel",
        app,
        app,
        "--server-memory",
        "1GiB",
        "--warmup",
        "600s",
    ];
    let start = || {
        let prony = Background::start(&mut place.command(&line));
        until("a server in a group", || {
            let mut all = groups(prony.pid()).into_iter();
            all.any(|it| fs::read_to_string(it.join("cgroup.procs")).is_ok_and(|it| !it.is_empty()))
        });
        prony
    };
    let prony = start();
    let pid = prony.pid();
    prony.signal(libc::SIGKILL);
    until("the end of its groups", || groups(pid).is_empty());

    // Supervisors that are killed too remove nothing: the next prony does.
    let prony = start();
    let pid = prony.pid();
    let children = format!("/proc/{pid}/task/{pid}/children");
    prony.signal(libc::SIGSTOP);
    let supervisors = fs::read_to_string(children).unwrap();
    prony.signal(libc::SIGKILL);
    for supervisor in supervisors.split_ascii_whitespace() {
        // SAFETY: a plain system call, on a child of what this test has started and has not reaped yet.
        unsafe { libc::kill(supervisor.parse().unwrap(), libc::SIGKILL) };
    }
    drop(prony);
    until("the end of its servers, and then of its groups", || {
        place.prony(&["duel", "true {port}", "true {port}"]);
        groups(pid).is_empty()
    });
}

// Slow: copies prony for an agent.
#[test]
fn limits_of_an_experiment_hold_on_another_machine() {
    let Some(_) = place() else { return };
    let place = Place::with_references();
    let file = place.experiment(
        "it",
        "title = 'T'\ncontract = 'tcp-echo'\nservers = ['plain']\nrounds = 1\n\
         [place]\nserver_cpu = 0.5\nserver_memory = '512MiB'\n\
         [load]\nconnections = 1\nduration = '300ms'\nwarmup = '0s'\n",
    );
    for more in [&[][..], &["--server-host", "a", "--host", "a=env"]] {
        let line = [&["run", &file, "--json"][..], more].concat();
        let report = place.prony(&line).with(0).json();
        let placement = report["run"]["placement"].as_str().unwrap();
        assert!(
            placement.contains("at most 0.5 CPUs and 512 MiB"),
            "{placement}"
        );
    }
    let effects = effects(&place);
    assert_eq!(effects.len(), 2);
    for effect in effects {
        assert_eq!(effect["limits"]["memory"], "512MiB", "{effect}");
    }
    let shown = place.prony(&["export", "--format", "markdown"]).with(0);
    assert!(shown.stdout.contains("at most 0.5 CPUs"), "{shown}");
    // The same server on the same machines, but not under the same limits.
    let line = ["run", &file, "--server-memory", "1GiB", "--no-html"];
    place.prony(&line).with(0);
    let diff = place.prony(&["diff", "1", "3"]);
    let said = "limits of each server: at most 0.5 CPUs and 512 MiB and at most 0.5 CPUs and 1 GiB";
    assert!(diff.stdout.contains(said), "{diff}");
}

#[test]
fn limits_are_for_servers_that_prony_starts() {
    let place = Place::new();
    for (option, said) in [
        (
            ["--server-cpu", "0.5"],
            "--server-cpu is about starting a server",
        ),
        (
            ["--server-memory", "1GiB"],
            "--server-memory is about starting a server",
        ),
        (["--server-cpu", "0.001"], "0.01 or more"),
        (["--server-memory", "256"], "is not a size"),
    ] {
        let sides = ["http://127.0.0.1:9/", "http://127.0.0.1:9/x"];
        for line in [&["duel", sides[0], sides[1]][..], &["capacity", sides[0]]] {
            let wrong = place.refused(&[line, &option].concat());
            assert!(wrong.stderr.contains(said), "{option:?}: {wrong}");
        }
    }
    let app = "true {port}";
    let wrong = place.refused(&["duel", app, app, "--server-cpu", "99999"]);
    assert!(wrong.stderr.contains("would not be limited"), "{wrong}");
}
