//! Workers: how many, where they run, and how connections are spread over them.

use crate::support::Place;

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn connections_of_each_worker_are_counted() {
    let place = Place::with_references();
    let file = place.experiment(
        "two",
        "title = 'T'\ncontract = 'tcp-echo'\nservers = ['quick@1..3', 'plain']\nrounds = 1\nplacement = 'shared'\n\
         [load]\nconnections = 30\nduration = '3s'\nwarmup = '0s'\n",
    );
    let report = place.prony(&["run", &file, "--json"]).with(0).json();
    assert!(
        report["run"]["placement"]
            .as_str()
            .unwrap()
            .contains("share"),
        "{report:#}"
    );
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    for cell in cells {
        let counts: Vec<u64> = cell["connections_per_worker"]
            .as_array()
            .unwrap()
            .iter()
            .map(|count| count.as_u64().unwrap())
            .collect();
        assert_eq!(counts.iter().sum::<u64>(), 30, "{cell:#}");
        // Each of its event loops is seen; threads without one count as one place.
        let places = if cell["server"] == "quick" {
            cell["workers"].as_u64().unwrap()
        } else {
            1
        };
        assert_eq!(counts.len() as u64, places, "{cell:#}");
        let raised = crate::support::raised(&cell["checks"]);
        assert!(raised.contains("co-located"), "{cell:#}");
    }
    let text = place.prony(&["report"]).with(0).stdout;
    assert!(text.contains("connections"), "{text}");
}

#[test]
fn a_number_of_workers_that_makes_no_sense_is_shown() {
    let place = Place::with_references();
    for (servers, said) in [
        ("'quick@3..1'", "such as 2, N or 1..N"),
        ("'plain@1..2'", "this server's model has one worker"),
        ("'quick@1..2', 'quick@2'", "this server is named twice"),
    ] {
        let text = format!("title = 'T'\ncontract = 'tcp-echo'\nservers = [{servers}]\n");
        let file = place.experiment("wrong", &text);
        let done = place.prony(&["run", &file]).with(1);
        assert!(done.stderr.contains(said), "{servers}: {done}");
    }
}
