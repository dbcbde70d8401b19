//! The help, as it appears to someone who has never seen prony.

use crate::support::Place;

// Slow: 29 processes of prony, one for each verb.
#[test]
fn every_verb_explains_itself_with_examples() {
    let place = Place::new();
    let verbs: [&[&str]; 29] = [
        &[],
        &["run"],
        &["load"],
        &["duel"],
        &["capacity"],
        &["why"],
        &["calibrate"],
        &["diff"],
        &["explain"],
        &["verify"],
        &["requests"],
        &["requests", "from"],
        &["servers"],
        &["servers", "list"],
        &["servers", "setup"],
        &["servers", "check"],
        &["servers", "start"],
        &["runs"],
        &["report"],
        &["audit"],
        &["import"],
        &["export"],
        &["view"],
        &["completions"],
        &["man"],
        &["echo-client"],
        &["serve"],
        &["schema"],
        &["help"],
    ];
    for verb in verbs {
        let done = place.prony(&[verb, &["--help"]].concat());
        if verb == ["help"] {
            continue;
        }
        let done = done.with(0);
        assert!(done.stdout.contains("Usage: prony"), "{done}");
        assert!(
            done.stdout.contains("Examples:\n  prony "),
            "{verb:?} has no examples: {done}"
        );
        assert_eq!(done.stderr, "");
        assert!(
            done.stdout.lines().all(|line| line.chars().count() <= 80),
            "{verb:?}: {done}"
        );
        assert!(!done.stdout.contains("supervisor"), "{done}");
    }
}

#[test]
fn the_version_names_the_commit() {
    let done = Place::new().prony(&["--version"]).with(0);
    assert!(
        done.stdout
            .starts_with(&format!("prony {}", env!("CARGO_PKG_VERSION"))),
        "{done}"
    );
}

#[test]
fn without_arguments_it_is_used_wrongly() {
    let place = Place::new();
    let done = place.prony(&[]).with(2);
    assert_eq!(done.stdout, "");
    assert!(
        done.stderr.contains("Usage: prony") && done.stderr.contains("run"),
        "{done}"
    );
    assert!(
        !done.stderr.contains("supervisor"),
        "an inner verb is shown: {done}"
    );
    assert!(!place.path().join("notebook.db").exists());
}
