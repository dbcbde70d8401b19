//! Figures that others have published, beside what is measured.

use crate::support::{Place, project, schema, valid};
use std::collections::BTreeSet;

const FIGURES: &str = "title = 'Old figures'
origin = 'a page'
rig = 'an old machine'
unit = 'echoes/s'
[correction]
why = 'a second too many'
requests = 1000
too_seconds = 1.0
[[row]]
label = 'Quick 0.1'
server = 'quick'
rates = [500.0, 500.0]
[[row]]
label = 'Plain 0.1'
server = 'plain'
rates = [100.0]
note = 'half asleep'
[[row]]
label = 'Gone'
rates = [1.0]
";

const EXPERIMENT: &str = "title = 'T'
contract = 'tcp-echo'
servers = ['quick', 'plain']
rounds = 1
published = 'old.toml'
[load]
connections = 2
requests = 200
warmup = '0s'
";

#[test]
fn published_figures_stand_beside_measured_ones() {
    let place = Place::with_references();
    place.file("old.toml", FIGURES);
    let file = place.experiment("new", EXPERIMENT);
    let report = place.prony(&["run", &file, "--json"]).with(0).json();
    valid(&schema("run"), &report);
    let rows = report["published"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    // 1,000 requests at 500/s took 2 s, of which 1 s was none.
    assert_eq!(
        (rows[0]["published"].as_f64(), rows[0]["corrected"].as_f64()),
        (Some(500.0), Some(1000.0))
    );
    assert_eq!(rows[0]["place_then"], 1);
    assert!(rows[0]["measured"].as_f64().unwrap() > 0.0);
    assert_eq!(rows[2]["measured"], serde_json::Value::Null);
    assert_eq!(report["published"]["order"]["pairs"], 1);
    // The notebook has it: the file is not needed any more.
    std::fs::remove_file(place.path().join("old.toml")).unwrap();
    let text = place.prony(&["report"]).with(0).stdout;
    for word in [
        "As published: Old figures (a page)",
        "corrected: a second too many",
        "Quick 0.1",
        "Plain 0.1: half asleep",
        "Of 1 pairs of servers",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn a_file_of_figures_that_is_not_there_or_not_right_is_shown() {
    let place = Place::with_references();
    let file = place.experiment("new", EXPERIMENT);
    let done = place.prony(&["run", &file]).with(1);
    assert!(
        done.stderr.contains("there is no such file")
            && done.stderr.contains("published = 'old.toml'"),
        "{done}"
    );
    place.file(
        "old.toml",
        &FIGURES.replace("rates = [100.0]", "rats = [100.0]"),
    );
    let done = place.prony(&["run", &file]).with(1);
    assert!(
        done.stderr.contains("unknown field `rats`") && done.stderr.contains("old.toml"),
        "{done}"
    );
}

/// Every file of `published/` can be read, and its servers are in the catalog.
#[test]
fn what_ships_is_right() {
    let catalog: BTreeSet<String> = std::fs::read_dir(project().join("servers"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut files = 0;
    for entry in std::fs::read_dir(project().join("published")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let table: prony_record::published::Published =
            toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        files += 1;
        for server in table.row.iter().filter_map(|row| row.server.as_deref()) {
            let name = server.split('@').next().unwrap();
            assert!(catalog.contains(name), "{}: {name}", path.display());
        }
    }
    assert!(files >= 1);
}

#[test]
fn the_corrections_of_the_echo_table_are_those_that_are_known() {
    let text = std::fs::read_to_string(project().join("published/tcp-echo.toml")).unwrap();
    let table: prony_record::published::Published = toml::from_str(&text).unwrap();
    let correction = table.correction.unwrap();
    let rate = |server: &str, run: usize| {
        let row = table
            .row
            .iter()
            .find(|row| row.server.as_deref() == Some(server));
        correction.apply(row.unwrap().rates[run]).round()
    };
    assert_eq!(
        (rate("cpp-epoll", 0), rate("cpp-epoll@2", 2)),
        (132_550.0, 176_107.0)
    );
    assert_eq!(table.row.len(), 21);
}

#[test]
fn levels_are_those_that_were_published_where_that_is_asked_for() {
    let place = Place::with_references();
    let plain = EXPERIMENT.replace("published = 'old.toml'\n", "");
    let file = place.experiment("plain", &plain);
    let done = place.refused(&["run", &file, "--as-published"]);
    assert!(
        done.stderr.contains("no load of plain has as_published"),
        "{done}"
    );
    let both = format!("{plain}as_published = {{ connections = [1, 3] }}\n");
    let file = place.experiment("both", &both);
    let run = ["run", &file, "--as-published", "--json"];
    let report = place.prony(&run).with(0).json();
    assert_eq!(report["run"]["title"], "T, as published");
    let cells = report["cells"].as_array().unwrap();
    let connections = cells
        .iter()
        .map(|cell| cell["load"]["connections"].as_u64());
    let connections: BTreeSet<u64> = connections.map(Option::unwrap).collect();
    assert_eq!(connections, BTreeSet::from([1, 3]));
}
