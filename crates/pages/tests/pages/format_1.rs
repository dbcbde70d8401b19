//! A notebook and an export of the first format that is promised to be read, and what was printed of them then: later
//! versions print the same. `format_1/notebook.sql` is the notebook; the files beside it are what `prony report --json` and
//! `prony export` printed of its runs.

use prony_notebook::{Notebook, RunId};
use prony_pages::export;
use prony_pages::material::Material;
use prony_pages::page::html;
use prony_pages::restore::{read, restore};
use prony_record::Step;
use prony_report::calibration;
use serde_json::Value;
use std::fs;
use std::path::Path;

fn kept(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages/format_1");
    fs::read_to_string(folder.join(name)).unwrap()
}

/// The notebook, brought up to date.
fn notebook() -> (tempfile::TempDir, Notebook) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notebook.db");
    let before = rusqlite::Connection::open(&path).unwrap();
    before.execute_batch(&kept("notebook.sql")).unwrap();
    drop(before);
    let notebook = Notebook::open(&path).unwrap();
    (folder, notebook)
}

fn material(notebook: &Notebook, run: i64) -> Material {
    let run = notebook.run(RunId(run)).unwrap();
    Material::read(notebook, &run).unwrap()
}

/// Everything that was there before is there now: new keys may have come, and what was null may be
/// left out.
fn holds(now: &Value, before: &Value, at: &str) {
    match (now, before) {
        (Value::Object(now), Value::Object(before)) => {
            for (key, value) in before {
                let found = now.get(key).unwrap_or(&Value::Null);
                holds(found, value, &format!("{at}.{key}"));
            }
        }
        (Value::Array(now), Value::Array(before)) => {
            assert_eq!(now.len(), before.len(), "{at}");
            for (index, (now, before)) in now.iter().zip(before).enumerate() {
                holds(now, before, &format!("{at}[{index}]"));
            }
        }
        (now, before) => assert_eq!(now, before, "{at}"),
    }
}

#[test]
fn every_report_is_what_it_was() {
    let (_folder, notebook) = notebook();
    for run in [1, 2, 3, 4, 6] {
        let before: Value = serde_json::from_str(&kept(&format!("report-{run}.json"))).unwrap();
        let now = material(&notebook, run);
        let report = serde_json::to_value(&now.report).unwrap();
        holds(&report, &before, &format!("run {run}"));
        let before = kept(&format!("trials-{run}.csv"));
        let rows = export::csv(&now);
        assert_eq!(rows.lines().count(), before.lines().count(), "run {run}");
        for (row, before) in rows.lines().zip(before.lines()) {
            assert!(row.starts_with(before), "{row}\n{before}");
        }
        assert!(html(&now).unwrap().contains("</html>"), "run {run}");
        export::hlog(&now).unwrap();
    }
}

#[test]
fn a_calibration_and_a_duel_say_what_they_said() {
    let (_folder, notebook) = notebook();
    let run = notebook.run(RunId(1)).unwrap();
    let cells = calibration::read(&notebook, &run).unwrap().cells;
    assert_eq!(
        (cells[0].contract.as_str(), cells[0].connections),
        ("tcp-echo", 2)
    );
    let made = calibration::read(&notebook, &run).unwrap();
    let text = calibration::text(&made, usize::MAX);
    for part in ["5.21k req/s", "±17%", "26.2 µs", "14%", "28.2%", "1712"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let duel = material(&notebook, 3).duel.expect("a duel");
    assert_eq!(
        duel.sentences,
        [
            "reference-threads and reference-epoll after 2 rounds: inconclusive in throughput, CPU per \
             request and p50: more rounds would be needed."
        ]
    );
    assert_eq!(duel.rate, Some(2_200.0));
    // Whether requests piled up was not recorded then.
    assert_eq!(duel.notes, [""; 0]);
}

/// Renders a Markdown text as a page shows it, in GitHub's dialect.
fn rendered(markdown: &str) -> String {
    let parser = pulldown_cmark::Parser::new_ext(markdown, pulldown_cmark::Options::ENABLE_TABLES);
    let mut page = String::new();
    pulldown_cmark::html::push_html(&mut page, parser);
    page
}

#[test]
fn the_markdown_of_a_duel_renders_as_one_table_with_its_details_folded() {
    let (_folder, notebook) = notebook();
    let material = material(&notebook, 3);
    let page = rendered(&export::markdown(&material));
    let count = |what: &str| page.matches(what).count();
    assert_eq!((count("<table>"), count("</table>")), (1, 1), "{page}");
    assert_eq!(count("<details>"), 1, "{page}");
    let duel = material.duel.unwrap();
    assert!(
        page.contains(&format!("<strong>{}</strong>", duel.sentences[0])),
        "{page}"
    );
    assert_eq!(
        count("<tr><td>"),
        duel.comparisons.len(),
        "a row each: {page}"
    );
    let folded = &page[page.find("<details>").unwrap()..page.find("</details>").unwrap()];
    assert_eq!(
        folded.matches("<li>").count(),
        3 + duel.notes.len() + duel.checks.len(),
        "{page}"
    );
}

#[test]
fn steps_that_failed_have_one_word() {
    let (_folder, notebook) = notebook();
    let trials = notebook.trials(RunId(2)).unwrap();
    let step = |server: &str| {
        let found = trials.iter().find(|stored| stored.trial.server == server);
        let trial = &found.expect("its trial").trial;
        assert_eq!(trial.observation, None);
        trial.failure.as_ref().expect("a failure").step
    };
    let steps = ["absent", "deaf", "wrong", "mortal"].map(step);
    assert_eq!(steps, [Step::Build, Step::Ready, Step::Verify, Step::Load]);
}

#[test]
fn an_export_of_that_format_is_read() {
    let (_folder, earlier) = notebook();
    let mut notebook = Notebook::in_memory().unwrap();
    let id = restore(&mut notebook, &read(&kept("export-3.json")).unwrap()).unwrap();
    let (mut now, before) = (material(&notebook, id.0), material(&earlier, 3));
    now.report.run.id = before.report.run.id;
    let value = |material: &Material| serde_json::to_value(&material.report).unwrap();
    assert_eq!(value(&now), value(&before));
    assert_eq!(
        now.duel.unwrap().comparisons,
        before.duel.unwrap().comparisons
    );
}
