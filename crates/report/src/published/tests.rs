use super::*;
use crate::table::UNLIMITED;
use prony_record::published::Correction;
use std::sync::LazyLock;

fn row(label: &str, server: &str, rates: &[f64]) -> PublishedRow {
    PublishedRow {
        label: label.into(),
        server: Some(server.into()),
        load: None,
        rates: rates.to_vec(),
        corrected: Vec::new(),
        latency_ms: BTreeMap::new(),
        cpu_us_per_request: None,
        note: None,
    }
}

fn published(rows: Vec<PublishedRow>) -> Published {
    Published {
        title: "T".into(),
        origin: "O".into(),
        rig: "R".into(),
        unit: "echoes/s".into(),
        correction: None,
        row: rows,
    }
}

fn at<'a>(server: &'a str, load: &'a str, rate: f64) -> MeasuredCell<'a> {
    static LATENCY: LazyLock<Percentiles> = LazyLock::new(|| Percentiles {
        p50: Some(2_000_000),
        ..Percentiles::default()
    });
    MeasuredCell {
        server,
        load,
        rate,
        latency: &LATENCY,
        cpu_us_per_request: Some(8.0),
    }
}

fn cell(server: &str, rate: f64) -> MeasuredCell<'_> {
    at(server, "c100", rate)
}

#[test]
fn a_second_too_many_is_taken_out() {
    let correction = Correction {
        why: "a sleep".into(),
        requests: 1_000_000,
        too_seconds: 1.0,
    };
    // 117,036.86/s over a million echoes are 8.544 s, of which 7.544 s were echoes.
    assert!((correction.apply(117_036.86) - 132_550.0).abs() < 1.0);
    assert!((correction.apply(149_737.19) - 176_107.0).abs() < 1.0);
    let both = row("a", "a", &[117_036.86, 149_737.19]);
    assert!((both.corrected(Some(&correction)).unwrap() - 154_328.5).abs() < 1.0);
    assert_eq!(both.corrected(None), None);
}

#[test]
fn a_row_of_its_own_correction() {
    let mut it = row("a", "a", &[1.0]);
    it.corrected = vec![3.0, 5.0];
    assert_eq!(it.corrected(None), Some(4.0));
}

#[test]
fn orders_then_and_now() {
    let published = published(vec![
        row("a", "a", &[100.0, 120.0]),
        row("b, old", "b", &[500.0]),
        row("b", "b", &[55.0]),
        row("c", "c", &[20.0]),
        row("gone", "d", &[999.0]),
    ]);
    let now = [cell("a", 200.0), cell("b", 300.0), cell("c", 20.0)];
    let beside = Beside::new(&published, "a", &now);
    let places: Vec<_> = beside
        .rows
        .iter()
        .map(|row| (row.place_then, row.place_now))
        .collect();
    let expected = [
        (Some(1), Some(2)),
        (None, None),
        (Some(2), Some(1)),
        (Some(3), Some(3)),
        (None, None),
    ];
    assert_eq!(places, expected);
    assert_eq!(beside.rows[2].ratio_then, Some(0.5));
    assert_eq!(beside.rows[2].ratio_now, Some(1.5));
    assert_eq!(beside.rows[4].published, Some(999.0));
    assert_eq!(beside.rows[4].measured, None);
    assert_eq!(beside.order, Some(OrderAgreement { pairs: 3, same: 2 }));
    let text = beside.text(false, UNLIMITED);
    assert!(text.contains("Of 3 pairs of servers, 2 (67%)"), "{text}");
    assert!(
        !text.contains("as corrected") && !text.contains("load"),
        "{text}"
    );
}

#[test]
fn latencies_are_shown_where_they_were_published() {
    let mut rows = vec![row("a", "a", &[10.0])];
    rows[0].latency_ms = BTreeMap::from([("p50".into(), 4.0), ("p99".into(), 9.0)]);
    let beside = Beside::new(&published(rows), "a", &[cell("a", 1.0)]);
    let text = beside.text(false, UNLIMITED);
    assert!(text.contains("4.00 ms → 2.00 ms"), "{text}");
    assert!(text.contains("9.00 ms → –"), "{text}");
}

#[test]
fn cpu_times_are_shown_where_they_were_published() {
    let mut rows = vec![row("a", "a", &[10.0]), row("b", "b", &[10.0])];
    rows[0].cpu_us_per_request = Some(4.5);
    let beside = Beside::new(&published(rows), "a", &[cell("a", 1.0)]);
    assert_eq!(beside.rows[0].measured_cpu_us_per_request, Some(8.0));
    assert_eq!(beside.rows[1].measured_cpu_us_per_request, None);
    let text = beside.text(false, UNLIMITED);
    assert!(text.contains("4.50 µs → 8.00 µs"), "{text}");
    assert!(
        text.contains("\nCPU time per request, as published"),
        "{text}"
    );
    assert!(text.contains("not measured here: 1 rows"), "{text}");
    assert!(!beside.text(true, UNLIMITED).contains("not measured here"));
}

#[test]
fn a_load_with_levels_is_compared_with_the_load_of_its_name() {
    let mut rows = vec![row("a", "a", &[10.0]), row("a", "a", &[20.0])];
    for (row, load) in rows.iter_mut().zip(["json c64", "json c512"]) {
        row.load = Some(load.into());
    }
    let of = |cells: &[MeasuredCell<'_>]| {
        let beside = Beside::new(&published(rows.clone()), "a", cells);
        [beside.rows[0].measured, beside.rows[1].measured]
    };
    let cells = [at("a", "json-tls", 9.0), at("a", "json", 1.0)];
    assert_eq!(of(&cells), [Some(1.0), Some(1.0)]);
    let cells = [at("a", "json", 1.0), at("a", "json c512", 2.0)];
    assert_eq!(of(&cells), [Some(1.0), Some(2.0)]);
    assert_eq!(of(&[at("a", "js", 1.0)]), [None, None]);
}

#[test]
fn rows_are_compared_under_their_own_load() {
    let mut rows = vec![row("a", "a", &[10.0]), row("b", "b", &[20.0])];
    rows.extend(rows.clone());
    for (row, load) in rows.iter_mut().zip(["c1", "c1", "c8", "c8"]) {
        row.load = Some(load.into());
    }
    let now = [
        at("a", "c1", 1.0),
        at("b", "c1", 2.0),
        at("a", "c8", 5.0),
        at("b", "c8", 4.0),
    ];
    let beside = Beside::new(&published(rows), "a", &now);
    assert_eq!(beside.order, Some(OrderAgreement { pairs: 2, same: 1 }));
    assert_eq!(beside.rows[3].ratio_now, Some(0.8));
    assert!(beside.text(false, UNLIMITED).contains("c8"));
    assert!(!beside.text(false, UNLIMITED).contains("response times"));
}
