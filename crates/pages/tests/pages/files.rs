//! Exported files can be read: by the crates of those formats, and by prony itself.

use crate::sample::{Plan, write};
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use prony_notebook::Notebook;
use prony_pages::export;
use prony_pages::material::Material;
use prony_pages::page::html;
use prony_pages::raw::Raw;
use prony_pages::restore::{RestoreError, is_run, read, restore};
use prony_record::Load;
use prony_record::times::{Kind, decode};
use proptest::prelude::*;

fn material(plan: &Plan) -> Material {
    let mut notebook = Notebook::in_memory().unwrap();
    let id = write(&mut notebook, plan).unwrap();
    let run = notebook.run(id).unwrap();
    Material::read(&notebook, &run).unwrap()
}

fn plan() -> Plan {
    let mut plan = Plan::of(&[("alpha", 1, 50_000.0), ("be ta, \"x\"", 2, 42_000.0)]);
    plan.failed = Some(("gone".into(), "no\ncompiler".into(), "line".into()));
    plan
}

#[test]
fn json_is_enough_to_make_the_report_again() {
    let before = material(&plan());
    let text = export::json(&before).unwrap();
    let raw: Raw<'_> = serde_json::from_str(&text).unwrap();
    let mut notebook = Notebook::in_memory().unwrap();
    let id = restore(&mut notebook, &raw).unwrap();
    let run = notebook.run(id).unwrap();
    assert_eq!(
        (&run.facts, run.status),
        (&before.run.facts, before.run.status)
    );
    assert_eq!(run.finished, before.run.finished);
    let after = Material::read(&notebook, &run).unwrap();
    assert_eq!(html(&after).unwrap(), html(&before).unwrap());
    assert_eq!(export::json(&after).unwrap(), text);
}

#[test]
fn a_run_is_recognised_by_what_it_says_of_itself() {
    let text = export::json(&material(&plan())).unwrap();
    assert!(is_run(&text) && is_run(&text[..300]) && is_run(&text.replace('\n', "")));
    for other in [
        "",
        "{}",
        "[]",
        "{\"format\": \"prony\"}",
        "format: prony run",
        "{\"formats\": \"prony run\"",
    ] {
        assert!(!is_run(other), "{other}");
        assert!(read(other).is_err(), "{other}");
    }
    let later = text.replacen("\"version\": 1", "\"version\": 7", 1);
    let error = read(&later).unwrap_err().to_string();
    assert!(error.contains("version 7"), "{error}");
    assert_eq!(read(&text).unwrap().trials.len(), 7);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    // Slow: 24 runs, each written as JSON twice, imported, and shown as a page twice.
    #[test]
    fn whatever_a_run_is_it_is_the_same_elsewhere(
        servers in prop::collection::vec(("\\PC{1,12}", 1_u32..5, 1.0..1e6_f64), 1..4),
        rounds in 1_u32..5,
        windows in 0_u32..6,
        samples in 1_u32..300,
        loads in prop::collection::vec("\\PC{1,8}", 1..3),
        title in ".{0,30}",
        failed in any::<Option<(String, String)>>(),
        check in any::<Option<String>>(),
        at_a_rate in any::<bool>(),
    ) {
        let mut plan = plan();
        plan.title = title;
        plan.servers = servers;
        plan.rounds = rounds;
        plan.windows = windows;
        plan.samples = samples;
        let rate = at_a_rate.then_some(1_000.0);
        let load = |name: String| (name, Load { connections: 8, rate, ..Load::default() });
        plan.loads = loads.into_iter().map(load).collect();
        plan.failed = failed.map(|(message, output)| ("gone".into(), message, output));
        plan.check = check;
        let before = material(&plan);
        let text = export::json(&before).unwrap();
        let mut notebook = Notebook::in_memory().unwrap();
        // Another run has the number that it had.
        write(&mut notebook, &Plan::of(&[("other", 1, 5.0)])).unwrap();
        let id = restore(&mut notebook, &read(&text).unwrap()).unwrap();
        let run = notebook.run(id).unwrap();
        prop_assert_eq!(notebook.same_run(&before.run.facts).unwrap(), Some(run.clone()));
        let origin = run.origin.clone().unwrap();
        prop_assert_eq!((id.0, origin.number), (2, before.run.id.0));
        let mut after = Material::read(&notebook, &run).unwrap();
        after.run.id = before.run.id;
        after.report.run.id = before.report.run.id;
        let report = |material: &Material| serde_json::to_value(&material.report).unwrap();
        prop_assert_eq!(report(&after), report(&before));
        prop_assert_eq!(export::json(&after).unwrap(), text);
        prop_assert_eq!(html(&after).unwrap(), html(&before).unwrap());
    }
}

#[test]
fn what_is_no_run_is_not_put_into_a_notebook() {
    let text = export::json(&material(&plan())).unwrap();
    let mut notebook = Notebook::in_memory().unwrap();
    let mut raw: Raw<'_> = serde_json::from_str(&text).unwrap();
    raw.version += 1;
    assert!(matches!(
        restore(&mut notebook, &raw),
        Err(RestoreError::Foreign(_))
    ));
    let mut raw: Raw<'_> = serde_json::from_str(&text).unwrap();
    let histograms = &mut raw.trials[1].to_mut().histograms;
    histograms.times.insert(Kind::Response, vec![0; 3]);
    let error = restore(&mut notebook, &raw).unwrap_err().to_string();
    assert!(
        error.contains("trial 1") && error.contains("response"),
        "{error}"
    );
    let mut raw: Raw<'_> = serde_json::from_str(&text).unwrap();
    // Two trials of one place.
    let first = raw.trials[0].trial.clone();
    raw.trials[1].to_mut().trial = first;
    assert!(matches!(
        restore(&mut notebook, &raw),
        Err(RestoreError::Notebook(_))
    ));
    assert_eq!(notebook.runs(9).unwrap(), [], "something was left behind");
}

#[test]
fn csv_has_a_row_for_every_trial_and_as_many_fields_in_each() {
    let material = material(&plan());
    let text = export::csv(&material);
    let rows = rows(&text);
    assert_eq!(rows.len(), 1 + material.trials.len());
    assert!(
        rows.iter().all(|row| row.len() == rows[0].len()),
        "{rows:?}"
    );
    let at = |name: &str| rows[0].iter().position(|column| column == name).unwrap();
    for (row, part) in rows[1..].iter().zip(&material.trials) {
        assert_eq!(row[at("server")], part.trial().server);
        let rate = row[at("answers_per_second")].parse::<f64>().ok();
        assert_eq!(rate, part.trial().figures.throughput);
    }
}

/// A reader of RFC 4180, to judge by.
fn rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut inside) = (vec![], vec![], String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (inside, c) {
            (true, '"') if chars.peek() == Some(&'"') => field.push(chars.next().unwrap()),
            (_, '"') => inside = !inside,
            (false, ',') => row.push(std::mem::take(&mut field)),
            (false, '\r') => {}
            (false, '\n') => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            (_, c) => field.push(c),
        }
    }
    assert!(!inside && field.is_empty() && row.is_empty());
    rows
}

#[test]
fn the_log_is_read_by_hdrhistograms_reader() {
    let material = material(&plan());
    let log = export::hlog(&material).unwrap();
    let mut found = 0;
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        let LogEntry::Interval(interval) = entry.expect("a log") else {
            continue;
        };
        let tag = interval.tag().expect("a tag").as_str().to_owned();
        let [server, load, round] = tag.split('|').collect::<Vec<_>>()[..] else {
            panic!("{tag}");
        };
        assert_eq!(load, "c64");
        let round: u32 = round.parse().unwrap();
        let alike = server == "alpha";
        let part = material
            .trials
            .iter()
            .find(|part| {
                (part.trial().server == "alpha") == alike && part.trial().round + 1 == round
            })
            .unwrap();
        assert_eq!(interval.duration().as_secs_f64(), 2.0);
        let kept = part.recording.histograms.of(Kind::Response).unwrap();
        use base64::Engine;
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(interval.encoded_histogram())
            .unwrap();
        assert_eq!(decode(&bytes).unwrap(), kept);
        assert!((interval.max() - kept.max() as f64 / 1e6).abs() < 0.01);
        found += 1;
    }
    assert_eq!(found, 6);
}

#[test]
fn the_table_of_percentiles_ends_with_everything() {
    let material = material(&plan());
    let text = export::hgrm(&material.times[0]);
    let times = &material.times[0].response;
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(2)
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            line.split_whitespace()
                .map(|field| field.parse().unwrap())
                .collect()
        })
        .collect();
    assert!(rows.len() > 20);
    assert!(
        rows.windows(2)
            .all(|pair| pair[0][0] <= pair[1][0] && pair[0][2] <= pair[1][2])
    );
    let last = rows.last().unwrap();
    assert_eq!((last[1], last[2]), (1.0, times.len() as f64));
    assert!((last[0] - times.max() as f64 / 1e6).abs() < 0.001 * last[0] + 0.001);
    assert!(text.contains("#[Mean    =") && text.contains(&format!("{:12}]", times.len())));
}

#[test]
fn benchstat_and_openmetrics_and_markdown_have_every_cell() {
    let material = material(&plan());
    let text = export::benchstat(&material);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("Benchmark"))
        .collect();
    assert_eq!(lines.len(), 6);
    for line in lines {
        // Name, iterations, and pairs of a value and its unit.
        let fields: Vec<&str> = line.split(' ').collect();
        assert!(
            fields.len().is_multiple_of(2) && fields[1].parse::<u64>().is_ok(),
            "{line}"
        );
        assert!(
            fields[2..]
                .chunks(2)
                .all(|pair| pair[0].parse::<f64>().is_ok()),
            "{line}"
        );
    }
    let metrics = export::openmetrics(&material);
    assert!(metrics.ends_with("# EOF\n"));
    assert_eq!(metrics.matches("prony_answers_per_second{").count(), 2);
    let markdown = export::markdown(&material);
    assert!(markdown.contains("| alpha | ") && markdown.contains("failed: gone: no compiler"));
    for line in markdown.lines().filter(|line| line.starts_with('|')) {
        assert_eq!(line.matches('|').count(), 11, "{line}");
    }
}
