//! The notebook from outside: what goes in comes out, and nothing else goes in.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use jiff::Timestamp;
use prony_notebook::{
    Import, Notebook, NotebookError, Origin, ProcessKey, RunId, StoredFigures, Wanted,
};
use prony_record::anatomy::{Dissection, Dissections};
use prony_record::calibration::Calibration;
use prony_record::published::Published;
use prony_record::times::EffectiveSamples;
use prony_record::trial::Figures;
use prony_record::{
    CheckId, Distributions, Failure, Finding, Host, Load, Measurement, Phase, Recording, RunFacts,
    RunStatus, Severity, Step, Subject, Trial, TrialStatus, Window,
};

fn time(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn run(name: &str) -> RunFacts {
    RunFacts {
        name: name.to_owned(),
        title: "Echo servers, ‘quoted’".to_owned(),
        started: time("2026-11-21T10:09:54.25Z"),
        seed: u64::MAX,
        experiment: Subject {
            servers: vec!["a".into(), "b@2".into()],
            rounds: 3,
            ..Subject::default()
        },
        host: Host {
            cpus: 2,
            memory: i64::MAX as u64,
            ..Host::default()
        },
        prony_version: "0.1.0".to_owned(),
        prony_commit: Some("abc123".to_owned()),
        command_line: "prony run tcp-echo".to_owned(),
    }
}

fn window(index: u32, phase: Phase) -> Window {
    Window {
        index,
        start_ns: u64::from(index) * 1_000_000_000,
        length_ns: 1_000_000_000,
        phase,
        verified_answers: 100_000,
        wrong_answers: 1,
        errors: 2,
        timeouts: 3,
        p50_ns: Some(50_000),
        p99_ns: None,
        server_cpu_ns: Some(999_999_999),
        generator_cpu_ns: Some(1),
        rss_bytes: Some(1 << 40),
        outstanding: 0,
        events: 0,
    }
}

fn trial(ordinal: u32) -> Recording {
    let mut seen = Measurement::default();
    seen.generator.busy = 0.1 + 0.2;
    seen.checks.push(Finding {
        name: CheckId::Errors,
        severity: Severity::Serious,
        text: "many".to_owned(),
    });
    let mut times = Distributions::default();
    times.response.record_n(900_000, 3).unwrap();
    times.send_delay.record(0).unwrap();
    times.effective = EffectiveSamples {
        p50: 2.5,
        ..EffectiveSamples::default()
    };
    Recording {
        trial: Trial {
            ordinal,
            round: 1,
            server: "cpp-epoll".to_owned(),
            workers: Some(2),
            load: Load {
                connections: 100,
                rate: Some(1e-9),
                ..Load::default()
            },
            cell: "cpp-epoll@2/c100".to_owned(),
            status: TrialStatus::Ok,
            failure: None,
            started: time("2026-11-21T10:10:00.000001Z"),
            command_line: "./echo 5000".to_owned(),
            server_version: Some("g++ 14".to_owned()),
            figures: Figures {
                measured_seconds: Some(10.000_000_1),
                verified_answers: Some(1_000_000),
                throughput: Some(99_999.999),
                cpu_ns_per_request: Some(5_613.25),
                rss_peak_bytes: Some(3_000_000),
                p50_ns: Some(900_000),
                p99_ns: Some(2_000_000),
                max_ns: Some(i64::MAX as u64),
            },
            observation: Some(seen),
        },
        windows: vec![window(0, Phase::Warmup), window(1, Phase::Measure)],
        histograms: times,
    }
}

#[test]
fn what_goes_in_comes_out() {
    let mut notebook = Notebook::in_memory().unwrap();
    let id = notebook.begin_run(&run("echo")).unwrap();
    let failed = Trial {
        workers: None,
        status: TrialStatus::Failed,
        failure: Some(
            Failure::new(Step::Ready, "no answer within 10 s")
                .with_output("bind: Address already in use\n".to_owned()),
        ),
        server_version: None,
        figures: Figures::default(),
        observation: None,
        ..trial(1).trial
    };
    let second = Recording {
        trial: failed,
        windows: Vec::new(),
        histograms: Distributions::default(),
    };
    let second_id = notebook.add_trial(id, &second).unwrap();
    let first = trial(0);
    let first_id = notebook.add_trial(id, &first).unwrap();
    notebook
        .finish_run(id, RunStatus::Finished, time("2026-11-21T10:20:00Z"))
        .unwrap();

    let kept = notebook.run(id).unwrap();
    assert_eq!(kept.facts, run("echo"));
    assert_eq!(kept.status, RunStatus::Finished);
    assert_eq!(kept.finished, Some(time("2026-11-21T10:20:00Z")));
    assert_eq!(kept.process, ProcessKey::current().unwrap());

    let trials = notebook.trials(id).unwrap();
    let found: Vec<_> = trials.iter().map(|t| (t.id, t.run_id, &t.trial)).collect();
    assert_eq!(
        found,
        [(first_id, id, &first.trial), (second_id, id, &second.trial)]
    );
    assert_eq!(notebook.windows(first_id).unwrap(), first.windows);
    assert_eq!(notebook.distributions(first_id).unwrap(), first.histograms);
    assert_eq!(notebook.windows(second_id).unwrap(), []);
    assert_eq!(
        notebook.distributions(second_id).unwrap(),
        Distributions::default()
    );
}

#[test]
fn times_are_kept_to_the_microsecond_and_sort_as_text() {
    let notebook = Notebook::in_memory().unwrap();
    let started = time("2026-11-21T10:09:54.123456999Z");
    let id = notebook
        .begin_run(&RunFacts {
            started,
            ..run("echo")
        })
        .unwrap();
    assert_eq!(
        notebook.run(id).unwrap().facts.started,
        time("2026-11-21T10:09:54.123456Z")
    );
}

#[test]
fn runs_are_found_by_number_name_and_age() {
    let notebook = Notebook::in_memory().unwrap();
    assert!(notebook.runs(10).unwrap().is_empty());
    let ids: Vec<RunId> = ["echo", "http", "echo"]
        .iter()
        .map(|name| notebook.begin_run(&run(name)).unwrap())
        .collect();
    let listed = |limit| -> Vec<RunId> {
        notebook
            .runs(limit)
            .unwrap()
            .into_iter()
            .map(|run| run.unwrap().id)
            .collect()
    };
    assert_eq!(listed(10), [ids[2], ids[1], ids[0]]);
    assert_eq!(listed(1), [ids[2]]);
    assert_eq!(listed(usize::MAX).len(), 3);
    assert_eq!(
        notebook.latest_run("echo").unwrap().map(|run| run.id),
        Some(ids[2])
    );
    assert_eq!(notebook.latest_run("none").unwrap(), None);
    let error = notebook.run(RunId(99)).unwrap_err();
    assert!(
        matches!(error, NotebookError::NoSuchRun(RunId(99))),
        "{error}"
    );
}

#[test]
fn a_run_ends_once() {
    let notebook = Notebook::in_memory().unwrap();
    let now = time("2026-11-21T10:20:00Z");
    let id = notebook.begin_run(&run("echo")).unwrap();
    notebook
        .finish_run(id, RunStatus::Interrupted, now)
        .unwrap();
    let error = notebook
        .finish_run(id, RunStatus::Finished, now)
        .unwrap_err();
    assert_eq!(error.to_string(), "run 1 is interrupted already");
    let error = notebook
        .finish_run(RunId(7), RunStatus::Finished, now)
        .unwrap_err();
    assert!(matches!(error, NotebookError::NoSuchRun(_)), "{error}");
}

#[test]
fn a_trial_is_written_whole_or_not_at_all() {
    let mut notebook = Notebook::in_memory().unwrap();
    let id = notebook.begin_run(&run("echo")).unwrap();
    let mut twice = trial(0);
    twice.windows.push(twice.windows[0].clone());
    let error = notebook.add_trial(id, &twice).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("writing trial 0 of run 1 failed"),
        "{error}"
    );
    let mut huge = trial(0);
    huge.windows[1].errors = u64::MAX;
    assert!(notebook.add_trial(id, &huge).is_err());
    assert!(notebook.trials(id).unwrap().is_empty());
    notebook.add_trial(id, &trial(0)).unwrap();
    assert!(
        notebook.add_trial(id, &trial(0)).is_err(),
        "the same ordinal again"
    );
    let error = notebook.add_trial(RunId(7), &trial(0)).unwrap_err();
    assert!(
        matches!(error, NotebookError::NoSuchRun(RunId(7))),
        "{error}"
    );
}

#[test]
fn folders_are_made_and_a_notebook_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/notebook.db");
    let mut notebook = Notebook::open(&path).unwrap();
    assert_eq!(notebook.path(), path);
    let id = notebook.begin_run(&run("echo")).unwrap();
    notebook.add_trial(id, &trial(0)).unwrap();
    drop(notebook);
    let again = Notebook::open(&path).unwrap();
    assert_eq!(again.trials(id).unwrap()[0].trial, trial(0).trial);
}

#[test]
fn two_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notebook.db");
    let write = |name: &str| {
        let mut notebook = Notebook::open(&path).unwrap();
        let id = notebook.begin_run(&run(name)).unwrap();
        for ordinal in 0..20 {
            notebook.add_trial(id, &trial(ordinal)).unwrap();
            assert_eq!(notebook.trials(id).unwrap().len(), ordinal as usize + 1);
        }
        notebook
            .finish_run(id, RunStatus::Finished, time("2026-11-21T10:20:00Z"))
            .unwrap();
    };
    thread::scope(|scope| {
        for name in ["a", "b", "c", "d"] {
            scope.spawn(move || write(name));
        }
    });
    let notebook = Notebook::open(&path).unwrap();
    let runs = notebook.runs(10).unwrap();
    assert_eq!(runs.len(), 4);
    for run in runs {
        let run = run.unwrap();
        assert_eq!(run.status, RunStatus::Finished);
        assert_eq!(notebook.trials(run.id).unwrap().len(), 20);
    }
}

#[test]
fn a_reader_sees_what_is_committed_while_a_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notebook.db");
    let mut writer = Notebook::open(&path).unwrap();
    let reader = Notebook::open(&path).unwrap();
    let id = writer.begin_run(&run("echo")).unwrap();
    assert!(reader.trials(id).unwrap().is_empty());
    writer.add_trial(id, &trial(0)).unwrap();
    assert_eq!(reader.trials(id).unwrap().len(), 1);
    assert!(!reader.run(id).unwrap().is_abandoned());
}

/// Set for the process that the next test starts and lets die: the file to write to.
const DIE_WITH: &str = "PRONY_TEST_DIE_WITH";

#[test]
fn what_a_dead_process_leaves_is_whole_and_recognised() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notebook.db");
    let this = std::env::current_exe().unwrap();
    let status = Command::new(this)
        .args(["--exact", "notebook::die_in_a_run", "--ignored"])
        .env(DIE_WITH, &path)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(!status.success());

    let notebook = Notebook::open(&path).unwrap();
    let runs = notebook.runs_of("echo").unwrap();
    assert_eq!(runs.len(), 1);
    assert!(runs[0].is_abandoned());
    let id = runs[0].id;
    assert_eq!(notebook.trials(id).unwrap()[0].trial, trial(0).trial);
    notebook
        .finish_run(id, RunStatus::Interrupted, time("2026-11-21T10:20:00Z"))
        .unwrap();
    assert!(!notebook.run(id).unwrap().is_abandoned());
}

/// Not a test of its own: the process that dies, without closing anything.
#[test]
#[ignore = "run by another test"]
fn die_in_a_run() {
    let path = std::env::var_os(DIE_WITH).expect("started by the test");
    let mut notebook = Notebook::open(Path::new(&path)).unwrap();
    let id = notebook.begin_run(&run("echo")).unwrap();
    notebook.add_trial(id, &trial(0)).unwrap();
    std::process::abort();
}

#[test]
fn another_file_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let text = "Dear diary, ".repeat(1000);
    fs::write(&path, &text).unwrap();
    let error = Notebook::open(&path).unwrap_err().to_string();
    assert!(
        error.contains("notes.txt is not a notebook: not an SQLite file"),
        "{error}"
    );
    assert!(error.contains("PRONY_NOTEBOOK"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);

    let path = folder.path().join("songs.db");
    let songs = rusqlite::Connection::open(&path).unwrap();
    songs
        .execute_batch("CREATE TABLE song (title TEXT)")
        .unwrap();
    drop(songs);
    let before = fs::read(&path).unwrap();
    let error = Notebook::open(&path).unwrap_err().to_string();
    assert!(error.contains("another program's SQLite file"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_newer_notebook_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notebook.db");
    drop(Notebook::open(&path).unwrap());
    let newer = rusqlite::Connection::open(&path).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    let error = Notebook::open(&path).unwrap_err();
    assert!(
        matches!(error, NotebookError::Newer { found: 99, .. }),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains("notebook.db") && text.contains("update prony"),
        "{text}"
    );
}

#[test]
fn an_empty_file_becomes_a_notebook() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notebook.db");
    fs::write(&path, "").unwrap();
    assert!(Notebook::open(&path).unwrap().runs(1).unwrap().is_empty());
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    // Nobody, not even root, makes files in /proc or folders below a file.
    let error = Notebook::open(Path::new("/proc/notebook.db")).unwrap_err();
    assert!(matches!(error, NotebookError::Open { .. }), "{error}");
    assert!(error.to_string().contains("/proc/notebook.db"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Notebook::open(&file.join("notebook.db")).unwrap_err();
    assert!(matches!(error, NotebookError::Folder { .. }), "{error}");
}

#[test]
fn a_folder_without_permission_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(closed.join("probe"), "").is_ok() {
        return; // Root may write everywhere.
    }
    let error = Notebook::open(&closed.join("notebook.db")).unwrap_err();
    assert!(matches!(error, NotebookError::Open { .. }), "{error}");
    assert!(error.to_string().contains("writable"), "{error}");
}

#[test]
fn published_figures_stand_under_their_name() {
    let mut notebook = Notebook::in_memory().unwrap();
    let table = |title: &str| Published {
        title: title.to_owned(),
        origin: "a page".to_owned(),
        rig: "a machine".to_owned(),
        unit: "requests/s".to_owned(),
        correction: None,
        row: Vec::new(),
    };
    let mine = StoredFigures {
        name: "mine".to_owned(),
        imported: time("2026-11-21T10:09:54.25Z"),
        command_line: "prony import a.txt --as mine".to_owned(),
        table: table("A"),
    };
    assert_eq!(notebook.published("mine").unwrap(), None);
    assert!(!notebook.keep_published(&mine).unwrap());
    assert_eq!(notebook.published("mine").unwrap(), Some(mine.clone()));
    let newer = StoredFigures {
        table: table("B"),
        ..mine
    };
    assert!(notebook.keep_published(&newer).unwrap());
    assert_eq!(notebook.published("mine").unwrap(), Some(newer));
    assert_eq!(notebook.published("Mine").unwrap(), None);
}

/// A round of two servers.
fn dissected() -> Dissections {
    let one = Dissection {
        samples: 3,
        stacks: [("main;serve".to_owned(), 3)].into(),
        ..Dissection::default()
    };
    Dissections {
        names: vec!["a".into(), "b@2".into()],
        rate: 0.1 + 0.2,
        rounds: vec![vec![one.clone(), one]],
        ..Dissections::default()
    }
}

#[test]
fn the_anatomy_of_a_run_comes_out_as_it_went_in() {
    let notebook = Notebook::in_memory().unwrap();
    let id = notebook.begin_run(&run("why")).unwrap();
    assert_eq!(notebook.anatomy(id).unwrap(), None);
    notebook.set_anatomy(id, &Dissections::default()).unwrap();
    notebook.set_anatomy(id, &dissected()).unwrap();
    assert_eq!(notebook.anatomy(id).unwrap(), Some(dissected()));
    let error = notebook.set_anatomy(RunId(77), &dissected()).unwrap_err();
    assert!(
        error.to_string().contains("writing the anatomy of run 77"),
        "{error}"
    );
}

#[test]
fn a_run_from_elsewhere_is_put_in_whole_or_not_at_all() {
    let mut notebook = Notebook::in_memory().unwrap();
    let mine = notebook.begin_run(&run("mine")).unwrap();
    assert_eq!(notebook.run(mine).unwrap().origin, None);
    let finished = time("2026-11-21T11:00:00Z");
    let import = Import {
        facts: run("theirs"),
        status: RunStatus::Failed,
        finished,
        result: Some("it is faster".into()),
        origin: Origin {
            imported: time("2026-11-22T00:00:00.5Z"),
            number: 77,
            calibration: Some(Calibration {
                run: 4,
                made: "2026-11-20T00:00:00Z".to_owned(),
                cells: Vec::new(),
            }),
        },
        trials: vec![trial(0), trial(3)],
        anatomy: Some(dissected()),
    };
    assert_eq!(notebook.same_run(&import.facts).unwrap(), None);
    let id = notebook.import(&import).unwrap();
    let there = notebook.run(id).unwrap();
    assert_eq!(
        (there.status, there.finished, there.origin.as_ref()),
        (RunStatus::Failed, Some(finished), Some(&import.origin))
    );
    assert_eq!(there.result, import.result);
    notebook.set_result(mine, "it is slower").unwrap();
    assert_eq!(notebook.run(mine).unwrap().result.unwrap(), "it is slower");
    assert_eq!(notebook.anatomy(id).unwrap(), import.anatomy);
    let trials = notebook.trials(id).unwrap();
    assert_eq!(trials.len(), 2);
    assert_eq!(trials[1].trial, import.trials[1].trial);
    assert_eq!(
        notebook.windows(trials[1].id).unwrap().len(),
        import.trials[1].windows.len()
    );
    assert_eq!(notebook.same_run(&import.facts).unwrap(), Some(there));
    // The same name does not make the same run.
    let mut other = import.facts.clone();
    other.started = time("2026-11-21T10:09:54.250001Z");
    assert_eq!(notebook.same_run(&other).unwrap(), None);
    // The first of several.
    notebook.import(&import).unwrap();
    assert_eq!(notebook.same_run(&import.facts).unwrap().unwrap().id, id);
    assert_eq!(notebook.runs_of("theirs").unwrap().len(), 2);
    // Two trials of one place.
    let twins = Import {
        trials: vec![trial(1), trial(1)],
        ..import
    };
    let error = notebook.import(&twins).unwrap_err().to_string();
    assert!(error.contains("importing trial 1 of the run"), "{error}");
    assert_eq!(notebook.runs(99).unwrap().len(), 3);
}

#[test]
fn a_run_that_cannot_be_read_hides_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notebook.db");
    let notebook = Notebook::open(&path).unwrap();
    let ids = ["echo", "http", "echo"].map(|name| notebook.begin_run(&run(name)).unwrap());
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute("UPDATE run SET host_json = '{' WHERE id = ?1", [ids[1].0])
        .unwrap();
    let runs = notebook.runs(9).unwrap();
    assert_eq!(runs[0].as_ref().unwrap().id, ids[2]);
    let unreadable = runs[1].as_ref().unwrap_err();
    assert_eq!(unreadable.id, ids[1]);
    assert!(unreadable.to_string().starts_with("run 2 cannot be read: "));
    assert_eq!(runs[2].as_ref().unwrap().id, ids[0]);
    let list = notebook
        .overviews(&Wanted {
            limit: 9,
            ..Wanted::default()
        })
        .unwrap();
    assert_eq!(list.len(), 3);
    assert!(list[1].title.starts_with("it cannot be read: "));
}
