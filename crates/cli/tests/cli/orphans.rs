//! No server outlives prony, whatever way it ends.

use crate::support::{Background, Done, Place, until};
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

/// A variable whose value tells the processes of one test from all others: children inherit it.
const MARK: &str = "PRONY_TEST_MARK";

fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(
        "{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// The living processes with this mark: their ids and command lines.
fn marked(mark: &str) -> Vec<(i32, String)> {
    let entry = format!("{MARK}={mark}");
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let path = process.path();
        let Some(pid) = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // A zombie has no environment left, and is not alive.
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        if environment
            .split(|&byte| byte == 0)
            .any(|variable| variable == entry.as_bytes())
        {
            let line = fs::read(path.join("cmdline")).unwrap_or_default();
            found.push((pid, String::from_utf8_lossy(&line).replace('\0', " ")));
        }
    }
    found
}

/// A server whose helper leaves its process group, its session and its parent, and ignores every
/// signal that can be ignored; the server itself ignores TERM and HUP.
const CLINGING: &str = "trap '' TERM HUP INT
(setsid sh -c 'trap \"\" TERM HUP INT; sh -c \"sleep 1000; : helper of helper\" & sleep 1000; : helper' &)
exec \"$1\" serve tcp-echo --model threads --listen :\"$2\"
";

struct Scene {
    place: Place,
    mark: String,
}

impl Scene {
    fn new() -> Self {
        let place = Place::new();
        place.echo_server("clinging", "sh {src}/start.sh {prony} {port}", "");
        place.file("catalog/clinging/start.sh", CLINGING);
        Self {
            place,
            mark: mark(),
        }
    }

    /// Starts prony and waits until the server and its helpers are there.
    fn start(&self, arguments: &[&str]) -> Background {
        let prony = Background::start(self.place.command(arguments).env(MARK, &self.mark));
        until("the server with its helpers", || {
            let lines = marked(&self.mark);
            let serves = lines
                .iter()
                .any(|(_, line)| line.contains(" serve tcp-echo "));
            serves
                && lines
                    .iter()
                    .filter(|(_, line)| line.starts_with("sleep 1000"))
                    .count()
                    == 2
        });
        prony
    }

    fn run(&self, load: &str) -> Background {
        let file = self.place.experiment(
            "it",
            &format!(
                "title = 'T'\ncontract = 'tcp-echo'\nservers = ['clinging']\nrounds = 2\n\
                 [load]\nconnections = 4\nwarmup = '0s'\n{load}\n"
            ),
        );
        let prony = self.start(&["run", &file, "--json"]);
        if load.contains("600s") {
            self.loaded();
        }
        prony
    }

    /// Waits until the server has had CPU time that only a load can give it.
    fn loaded(&self) {
        until("the load", || {
            marked(&self.mark)
                .iter()
                .any(|(pid, line)| line.contains(" serve tcp-echo ") && ticks(*pid) > 50)
        });
    }

    #[track_caller]
    fn no_process_is_left(&self) {
        let mut left = Vec::new();
        let deadline = std::time::Instant::now() + crate::support::HANGS;
        while std::time::Instant::now() < deadline {
            left = marked(&self.mark);
            if left.is_empty() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("these outlive prony: {left:#?}");
    }
}

impl Drop for Scene {
    /// Should the test fail, it leaves nothing behind either.
    fn drop(&mut self) {
        for (pid, _) in marked(&self.mark) {
            // SAFETY: a plain system call, on a process that carries this test's own mark.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }
}

/// CPU time of a process in ticks of 10 ms.
fn ticks(pid: i32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let Some((_, rest)) = stat.rsplit_once(')') else {
        return 0;
    };
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |i: usize| {
        fields
            .get(i)
            .and_then(|text| text.parse::<u64>().ok())
            .unwrap_or(0)
    };
    number(11) + number(12)
}

/// Ends a run in the middle of a load with this signal.
fn ended_by(signal: i32) -> Option<Done> {
    let scene = Scene::new();
    let prony = scene.run("duration = '600s'");
    prony.signal(signal);
    let done = (signal != libc::SIGKILL).then(|| prony.end());
    scene.no_process_is_left();
    done
}

// Slow: loads for 0.5 s of CPU time; the server then ignores TERM, and is killed 2 s later.
#[test]
fn after_sigkill_in_the_middle_of_a_load() {
    ended_by(libc::SIGKILL);
}

// Slow: loads for 0.5 s of CPU time; the server then ignores TERM, and is killed 2 s later.
#[test]
fn after_sigterm() {
    ended_by(libc::SIGTERM).unwrap().with(1);
}

// Slow: loads for 0.5 s of CPU time; the server then ignores TERM, and is killed 2 s later.
#[test]
fn after_ctrl_c() {
    ended_by(libc::SIGINT).unwrap().with(1);
}

// Slow: loads for 0.5 s of CPU time; the server then ignores TERM, and is killed 2 s later.
#[test]
fn after_ctrl_c_twice() {
    let scene = Scene::new();
    let prony = scene.run("duration = '600s'");
    prony.signal(libc::SIGINT);
    prony.signal(libc::SIGINT);
    let done = prony.end();
    assert!(matches!(done.code, Some(1 | 130)), "{done}");
    scene.no_process_is_left();
}

// Slow: 5 runs; a server that has started ignores TERM, and is killed 2 s later.
#[test]
fn after_sigkill_at_any_moment_of_a_trial() {
    for delay in [0, 30, 90, 200, 400] {
        let scene = Scene::new();
        let file = scene.place.experiment(
            "it",
            "title = 'T'\ncontract = 'tcp-echo'\nservers = ['clinging']\nrounds = 3\n\
             [load]\nconnections = 4\nwarmup = '0s'\nrequests = 1000\n",
        );
        let prony = Background::start(scene.place.command(&["run", &file]).env(MARK, &scene.mark));
        std::thread::sleep(std::time::Duration::from_millis(delay));
        prony.signal(libc::SIGKILL);
        scene.no_process_is_left();
    }
}

// Slow: 2 trials, after each of which the server ignores TERM, and is killed 2 s later.
#[test]
fn after_the_normal_end() {
    let scene = Scene::new();
    let prony = scene.run("requests = 3000");
    let done = prony.end().with(0);
    // At the very moment that prony ends, not some time later.
    assert_eq!(marked(&scene.mark), [], "{done}");
    assert_eq!(done.json()["cells"][0]["trials"], 2);
    let files = fs::read_dir(scene.place.path()).unwrap().flatten();
    let scratch: Vec<_> = files
        .filter(|file| file.file_name().to_string_lossy().starts_with("prony-"))
        .collect();
    assert!(scratch.is_empty(), "{scratch:?}");
}

// Slow: 4 starts; each server ignores TERM, and is killed 2 s later.
#[test]
fn after_servers_start() {
    for signal in [libc::SIGKILL, libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let scene = Scene::new();
        let mut prony = scene.start(&["servers", "start", "clinging"]);
        prony.line("until Ctrl-C");
        prony.signal(signal);
        if signal != libc::SIGKILL {
            prony.end().with(0);
        }
        scene.no_process_is_left();
    }
}

/// A server that ends when it is told to, and leaves a file then.
const MINDING: &str = "trap 'echo > \"$3\"; exit' TERM
\"$1\" serve tcp-echo --listen :\"$2\" &
wait
";

/// Ends a duel with this signal while one of its sides is stopped, which is there to see.
fn ended_while_a_side_rests(signal: i32) {
    let scene = Scene::new();
    let told = scene.place.path().join("told");
    let line = format!("sh {{src}}/start.sh {{prony}} {{port}} {}", told.display());
    scene.place.echo_server("minding", &line, "");
    scene.place.file("catalog/minding/start.sh", MINDING);
    let rounds = ["--rounds", "50", "-d", "2s", "--warmup", "100ms", "-c", "4"];
    let line = [
        &["duel", "clinging", "minding", "--contract", "tcp-echo"][..],
        &rounds,
    ]
    .concat();
    let prony = Background::start(scene.place.command(&line).env(MARK, &scene.mark));
    until("a side that is stopped", || {
        // That of the pilot's end is an earlier one.
        let _ = fs::remove_file(&told);
        let mut all = marked(&scene.mark).into_iter();
        all.any(|(pid, line)| {
            line.starts_with("sh ") && line.contains("minding") && state(pid) == Some('T')
        })
    });
    prony.signal(signal);
    if signal != libc::SIGKILL {
        prony.end().with(1);
    }
    scene.no_process_is_left();
    assert!(told.exists(), "it went on, to be told to end");
}

/// The state of a process, as a letter of proc(5).
fn state(pid: i32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

// Slow: a side ignores TERM, and is killed 2 s later: after the pilot, and in the first round.
#[test]
fn after_sigkill_while_a_side_is_stopped() {
    ended_while_a_side_rests(libc::SIGKILL);
}

// Slow: a side ignores TERM, and is killed 2 s later: after the pilot, and in the first round.
#[test]
fn after_ctrl_c_while_a_side_is_stopped() {
    ended_while_a_side_rests(libc::SIGINT);
}

/// Kills the supervisors of a scene's server.
fn kill_supervisor(scene: &Scene) {
    let all = marked(&scene.mark);
    let supervisors = all.iter().filter(|(_, line)| line.contains(" supervisor "));
    let killed = supervisors.map(|(pid, _)| {
        // SAFETY: a plain system call, on a process that carries this test's own mark.
        unsafe { libc::kill(*pid, libc::SIGKILL) }
    });
    assert_eq!(killed.collect::<Vec<_>>(), [0], "{all:?}");
}

#[test]
fn after_sigkill_of_the_supervisor() {
    let scene = Scene::new();
    let mut prony = scene.start(&["servers", "start", "clinging"]);
    prony.line("until Ctrl-C");
    kill_supervisor(&scene);
    let done = prony.end().with(1);
    assert!(done.stderr.contains("its supervisor was killed"), "{done}");
    assert_eq!(marked(&scene.mark), [], "{done}");
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn a_trial_whose_supervisor_is_killed_fails_and_the_next_goes_on() {
    let scene = Scene::new();
    // So many requests need the CPU time that tells of a load, however long a busy machine takes for them.
    let prony = scene.run("requests = 200000");
    scene.loaded();
    kill_supervisor(&scene);
    let done = prony.end().with(1);
    assert!(done.stdout.contains("its supervisor was killed"), "{done}");
    assert_eq!(done.json()["cells"][0]["trials"], 1, "{done}");
    assert_eq!(marked(&scene.mark), [], "{done}");
}

#[test]
fn what_is_left_when_both_are_killed_is_ended_at_the_next_start() {
    let scene = Scene::new();
    let mut prony = scene.start(&["servers", "start", "clinging"]);
    prony.line("until Ctrl-C");
    // Stopped first, so that neither does anything about the other's end.
    prony.signal(libc::SIGSTOP);
    kill_supervisor(&scene);
    prony.signal(libc::SIGKILL);
    let scratch = |place: &Place| {
        let files = fs::read_dir(place.path()).unwrap().flatten();
        let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("prony-")).count()
    };
    until("the end of prony", || {
        !marked(&scene.mark)
            .iter()
            .any(|(_, line)| line.contains(" servers start "))
    });
    // The folder, and its lock.
    assert_eq!(scratch(&scene.place), 2);
    scene
        .place
        .echo_server("plain", "{prony} serve tcp-echo --listen :{port}", "");
    let file = scene.place.experiment(
        "next",
        "title = 'T'\ncontract = 'tcp-echo'\nservers = ['plain']\nrounds = 1\n\
         [load]\nconnections = 1\nrequests = 300\nwarmup = '0s'\n",
    );
    let done = scene.place.prony(&["run", &file, "--no-html"]).with(0);
    assert_eq!(marked(&scene.mark), [], "{done}");
    assert_eq!(scratch(&scene.place), 0, "{done}");
}
