//! Two pronys and one notebook.

use crate::support::{Background, Place};

#[test]
fn two_runs_at_once_keep_both() {
    let place = Place::with_references();
    let file = place.experiment(
        "both",
        "title = 'T'\ncontract = 'tcp-echo'\nservers = ['quick', 'plain']\nrounds = 3\n\
         [load]\nconnections = 2\nrequests = 300\nwarmup = '0s'\n",
    );
    let start = || Background::start(&mut place.command(&["run", &file, "--json"]));
    let runs = [start(), start()];
    let mut ids = Vec::new();
    for run in runs {
        let report = run.end().with(0).json();
        assert_eq!(report["cells"].as_array().unwrap().len(), 2, "{report:#}");
        assert!(
            report["cells"]
                .as_array()
                .unwrap()
                .iter()
                .all(|cell| cell["trials"] == 3)
        );
        let id = report["run"]["id"].as_i64().unwrap();
        // Reports are made from the notebook, where the other's trials are too.
        assert_eq!(
            place
                .prony(&["report", &id.to_string(), "--json"])
                .with(0)
                .json(),
            report
        );
        ids.push(id);
    }
    ids.sort_unstable();
    assert_eq!(ids, [1, 2]);
    let runs = place.prony(&["runs", "--json"]).with(0).json();
    assert!(
        runs.as_array()
            .unwrap()
            .iter()
            .all(|run| run["status"] == "finished"),
        "{runs:#}"
    );
}
