//! Tests of the events for listeners.

use crate::sample::{begin, trials, write};
use crate::support::{Scene, plan};
use jiff::Timestamp;
use prony_notebook::Notebook;
use prony_record::RunStatus;
use serde_json::{Value, json};
use std::process::Command;

fn told(pulse: &Value, run: i64) -> Option<(&str, u64)> {
    let runs = pulse["runs"].as_array().unwrap();
    let run = runs.iter().find(|one| one["id"] == run)?;
    Some((
        run["state"].as_str().unwrap(),
        run["trials"].as_u64().unwrap(),
    ))
}

// Slow: 3 changes, for each of which the notebook is looked at once a second.
#[test]
fn trials_and_ends_are_told_to_all_who_listen() {
    let scene = Scene::new(|notebook| {
        write(notebook, &plan()).unwrap();
    });
    let (mut one, mut another) = (scene.listen(), scene.listen());
    one.until(|pulse| told(pulse, 1) == Some(("finished", 6)));
    // Another connection writes, as another process does.
    let mut notebook = scene.notebook();
    let id = begin(&notebook, &plan()).unwrap();
    let seen = one.until(|pulse| told(pulse, 2) == Some(("under way", 0)));
    let before = seen["number"].as_u64().unwrap();
    let mut noisy = plan();
    noisy.check = Some("somebody else was busy".into());
    let trials = trials(&noisy);
    scene
        .get("/run/2")
        .with(200)
        .has("<div data-part=\"checks\">none");
    notebook.add_trial(id, &trials[0]).unwrap();
    let seen = one.until(|pulse| told(pulse, 2) == Some(("under way", 1)));
    assert!(seen["number"].as_u64().unwrap() > before);
    another.until(|pulse| told(pulse, 2) == Some(("under way", 1)));
    // The pages have it by then.
    let page = scene.get("/run/2").with(200);
    page.has("id=\"trial-7\"")
        .has("It is being measured")
        .has("noisy-host");
    scene.get("/").with(200).has("under way").has("noisy-host");
    notebook
        .finish_run(id, RunStatus::Interrupted, Timestamp::now())
        .unwrap();
    one.until(|pulse| told(pulse, 2) == Some(("stopped", 1)));
    scene.get("/run/2").with(200).has("Its user stopped it.");
}

#[test]
fn a_run_whose_process_died_is_not_called_under_way() {
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    let scene = Scene::new(|_| {});
    let notebook = scene.notebook();
    let id = begin(&notebook, &plan()).unwrap();
    // As if that process had begun it.
    written_by(&notebook, child.id());
    let mut events = scene.listen();
    events.until(|pulse| told(pulse, id.0) == Some(("under way", 0)));
    child.kill().unwrap();
    child.wait().unwrap();
    // Nothing is written when a process dies, and it is seen all the same.
    let pulse = events.until(|pulse| told(pulse, id.0) == Some(("broken off", 0)));
    assert_eq!(
        pulse["runs"],
        json!([{"id": 1, "state": "broken off", "trials": 0}])
    );
    scene
        .get("/run/1")
        .with(200)
        .has("its process is not on this machine");
    scene.get("/").with(200).has("broken off");
}

/// Makes a process the writer of every run.
fn written_by(notebook: &Notebook, pid: u32) {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The name in parentheses is "sleep" and has no spaces: field 22 is where it is counted.
    let ticks: i64 = stat.split(' ').nth(21).unwrap().parse().unwrap();
    let file = rusqlite::Connection::open(notebook.path()).unwrap();
    file.execute(
        "UPDATE run SET pid = ?1, pid_start_ticks = ?2",
        [i64::from(pid), ticks],
    )
    .unwrap();
}
