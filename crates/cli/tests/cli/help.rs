//! The help, as it appears to someone who has never seen prony.

use crate::support::Place;

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
    let done = place.refused(&[]);
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
