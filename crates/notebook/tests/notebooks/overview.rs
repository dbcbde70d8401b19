//! Many runs at a glance, and the same cell in all of them.

use prony_notebook::{Notebook, RunId, TrialId, Wanted};
use prony_record::trial::Figures;
use prony_record::{
    CheckId, Distributions, Finding, Host, Load, Measurement, Recording, RunFacts, RunStatus,
    Severity, Subject, Trial, TrialStatus,
};

fn begin(notebook: &Notebook, name: &str, title: &str) -> RunId {
    let facts = RunFacts {
        name: name.into(),
        title: title.into(),
        started: "2026-11-21T10:00:00Z".parse().unwrap(),
        seed: 1,
        experiment: Subject::default(),
        host: Host::default(),
        prony_version: "0.1.0".into(),
        prony_commit: None,
        command_line: format!("prony run {name}"),
    };
    notebook.begin_run(&facts).unwrap()
}

fn add(
    notebook: &mut Notebook,
    run: RunId,
    ordinal: u32,
    more: impl FnOnce(&mut Trial),
) -> TrialId {
    let mut trial = Trial {
        ordinal,
        round: 0,
        server: "it".into(),
        workers: None,
        load: Load::default(),
        cell: "c64".into(),
        status: TrialStatus::Ok,
        failure: None,
        started: "2026-11-21T10:00:00Z".parse().unwrap(),
        command_line: "it".into(),
        server_version: None,
        figures: Figures {
            throughput: Some(10.0),
            p99_ns: Some(7),
            ..Figures::default()
        },
        observation: Some(Measurement::default()),
    };
    more(&mut trial);
    let trial = Recording {
        trial,
        windows: Vec::new(),
        histograms: Distributions::default(),
    };
    notebook.add_trial(run, &trial).unwrap()
}

fn failed(trial: &mut Trial) {
    trial.status = TrialStatus::Failed;
    trial.figures.throughput = None;
    trial.server = "gone".into();
}

fn limit(limit: u32) -> Wanted {
    Wanted {
        limit,
        ..Wanted::default()
    }
}

#[test]
fn a_glance_counts_what_is_there() {
    let mut notebook = Notebook::in_memory().unwrap();
    let (one, two) = (begin(&notebook, "a", "A"), begin(&notebook, "b", "B"));
    add(&mut notebook, one, 0, |_| {});
    let last = add(&mut notebook, one, 1, failed);
    add(&mut notebook, two, 0, |trial| trial.workers = Some(2));
    let end = "2026-11-21T11:00:00Z".parse().unwrap();
    notebook.finish_run(one, RunStatus::Finished, end).unwrap();
    let runs = notebook.overviews(&limit(9)).unwrap();
    assert_eq!(
        runs.iter().map(|run| run.id).collect::<Vec<_>>(),
        [two, one]
    );
    let run = &runs[1];
    assert_eq!((run.trials, run.failed, run.last_trial), (2, 1, Some(last)));
    assert_eq!(run.servers, [("gone".into(), None), ("it".into(), None)]);
    assert_eq!((run.status, run.finished), (RunStatus::Finished, Some(end)));
    assert_eq!(runs[0].servers, [("it".into(), Some(2))]);
    assert!(!runs[0].is_abandoned(), "its process is this one");
}

#[test]
fn runs_are_narrowed_down() {
    let mut notebook = Notebook::in_memory().unwrap();
    let one = begin(&notebook, "echo", "100% of it");
    let two = begin(&notebook, "weather", "Slow_ly");
    let three = begin(&notebook, "echo", "plain");
    add(&mut notebook, three, 0, |trial| {
        trial.server = "Erlang".into();
    });
    notebook
        .finish_run(
            two,
            RunStatus::Failed,
            "2026-11-21T11:00:00Z".parse().unwrap(),
        )
        .unwrap();
    let ids = |wanted: &Wanted| -> Vec<RunId> {
        let runs = notebook.overviews(wanted).unwrap();
        runs.iter().map(|run| run.id).collect()
    };
    let text = |text: &str| {
        ids(&Wanted {
            text: Some(text.into()),
            ..limit(9)
        })
    };
    assert_eq!(text("ECHO"), [three, one]);
    assert_eq!(text("erlang"), [three]);
    // What LIKE would take for more than it is.
    assert_eq!(text("%"), [one]);
    assert_eq!(text("_"), [two]);
    assert_eq!(text("\\"), []);
    assert_eq!(text("' OR 1 --"), []);
    let echo = Wanted {
        name: Some("echo".into()),
        ..limit(9)
    };
    assert_eq!(ids(&echo), [three, one]);
    let both = Wanted {
        text: Some("plain".into()),
        before: Some(three),
        ..echo
    };
    assert_eq!(ids(&both), []);
    let only = |id| Wanted {
        only: Some(id),
        ..limit(9)
    };
    assert_eq!(ids(&only(two)), [two]);
    assert_eq!(ids(&only(RunId(99))), []);
    let unfinished = Wanted {
        unfinished: true,
        ..limit(9)
    };
    assert_eq!(ids(&unfinished), [three, one]);
    assert_eq!(ids(&limit(1)), [three]);
    assert_eq!(notebook.names().unwrap(), ["echo", "weather"]);
}

#[test]
fn findings_are_counted_by_run() {
    let mut notebook = Notebook::in_memory().unwrap();
    let (one, two) = (begin(&notebook, "a", "A"), begin(&notebook, "b", "B"));
    let finding = |name, severity| Finding {
        name,
        severity,
        text: "why".into(),
    };
    let noisy = finding(CheckId::NoisyHost, Severity::Warning);
    let short = finding(CheckId::TooShort, Severity::Note);
    for (ordinal, checks) in (0..).zip([vec![noisy.clone(), short], vec![noisy], vec![]]) {
        add(&mut notebook, one, ordinal, |trial| {
            trial.observation.as_mut().unwrap().checks = checks;
        });
    }
    add(&mut notebook, two, 0, |trial| trial.observation = None);
    let found = notebook.findings(&[one, two]).unwrap();
    let words: Vec<_> = found[&one]
        .iter()
        .map(|found| (found.name, found.severity, found.trials))
        .collect();
    assert_eq!(
        words,
        [
            (CheckId::NoisyHost, Severity::Warning, 2),
            (CheckId::TooShort, Severity::Note, 1)
        ]
    );
    assert!(!found.contains_key(&two));
    assert!(notebook.findings(&[]).unwrap().is_empty());
}

#[test]
fn a_check_that_prony_does_not_know_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notebook.db");
    let mut notebook = Notebook::open(&path).unwrap();
    let run = begin(&notebook, "a", "A");
    add(&mut notebook, run, 0, |trial| {
        trial.observation.as_mut().unwrap().checks = vec![Finding {
            name: CheckId::NoisyHost,
            severity: Severity::Warning,
            text: "why".into(),
        }];
    });
    let other = rusqlite::Connection::open(&path).unwrap();
    let renamed = "UPDATE trial SET observation_json = replace(observation_json, 'noisy-host', 'later-check')";
    assert_eq!(other.execute(renamed, []).unwrap(), 1);
    let error = notebook.findings(&[run]).unwrap_err();
    let text = format!("{error}: {:?}", std::error::Error::source(&error));
    assert!(text.contains("later-check"), "{text}");
    let error = notebook.trials(run).unwrap_err();
    let text = format!("{error}: {:?}", std::error::Error::source(&error));
    assert!(text.contains("unknown variant `later-check`"), "{text}");
}

#[test]
fn a_cell_is_followed_through_all_runs() {
    let mut notebook = Notebook::in_memory().unwrap();
    let (one, two) = (begin(&notebook, "a", "A"), begin(&notebook, "b", "B"));
    let first = add(&mut notebook, one, 0, |_| {});
    let other = add(&mut notebook, one, 1, |trial| trial.cell = "c1".into());
    add(&mut notebook, one, 2, failed);
    // One worker is what a server has that was given no number.
    let again = add(&mut notebook, two, 0, |trial| trial.workers = Some(1));
    let more = add(&mut notebook, two, 1, |trial| trial.workers = Some(2));
    let ids = |like| -> Vec<TrialId> {
        let trials = notebook.past_trials(like).unwrap();
        trials.iter().map(|trial| trial.id).collect()
    };
    assert_eq!(ids(None), [first, other, again, more]);
    assert_eq!(ids(Some(again)), [first, again]);
    assert_eq!(ids(Some(TrialId(99))), []);
    let trial = &notebook.past_trials(Some(other)).unwrap()[0];
    assert_eq!(
        (trial.run, trial.throughput, trial.p99_ns),
        (one, 10.0, Some(7))
    );
    let runs = notebook.past_runs().unwrap();
    assert_eq!((runs.len(), &*runs[&two].name), (2, "b"));
    let cells = notebook.first_trials(one, 9).unwrap();
    assert_eq!(
        cells.iter().map(|line| line.id).collect::<Vec<_>>(),
        [other, first]
    );
    let latest = notebook.latest_trials(one, 2).unwrap();
    assert_eq!(
        latest.iter().map(|line| line.ordinal).collect::<Vec<_>>(),
        [2, 1]
    );
    assert_eq!(latest[0].status, TrialStatus::Failed);
}

#[test]
fn another_connections_writing_changes_the_version() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notebook.db");
    let (reader, writer) = (
        Notebook::open(&path).unwrap(),
        Notebook::open(&path).unwrap(),
    );
    let before = reader.data_version().unwrap();
    assert_eq!(reader.data_version().unwrap(), before);
    begin(&writer, "a", "A");
    assert_ne!(reader.data_version().unwrap(), before);
}
