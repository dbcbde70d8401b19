//! The report: it holds what the notebook holds, and whatever comes from outside stays text.

use crate::sample::{Plan, write};
use prony_notebook::Notebook;
use prony_pages::chart::charts;
use prony_pages::material::Material;
use prony_pages::page::html;
use prony_record::Load;
use prony_record::service::{LatencyLimit, Limits};
use serde_json::Value;

const EVIL: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>'\"&";

fn material(plan: &Plan) -> Material {
    let mut notebook = Notebook::in_memory().unwrap();
    let id = write(&mut notebook, plan).unwrap();
    let run = notebook.run(id).unwrap();
    Material::read(&notebook, &run).unwrap()
}

fn plan() -> Plan {
    Plan::of(&[
        ("alpha", 1, 50_000.0),
        ("beta", 1, 42_000.0),
        ("gamma", 1, 41_900.0),
    ])
}

#[test]
fn the_sentence_comes_first_and_figures_are_those_of_the_report() {
    let material = material(&plan());
    let page = html(&material).unwrap();
    let sentence = material.report.sentence(&material.report.by_load()[0].1);
    let said = page.find(&sentence).expect("the sentence");
    assert!(
        said < page.find("<figure").unwrap(),
        "charts before the sentence"
    );
    for cell in &material.report.cells {
        let words = format!("{}: mean ", cell.label());
        assert!(page.contains(&words), "{words}");
    }
    // Every trial is a mark.
    assert_eq!(
        page.matches(", round 1: ").count() / 3,
        page.matches(", round 2: ").count() / 3
    );
    let text = page
        .split("id=\"prony-report\" type=\"application/json\">")
        .nth(1)
        .unwrap();
    let text = text.split("</script>").next().unwrap();
    let kept: Value = serde_json::from_str(text).unwrap();
    assert_eq!(kept, serde_json::to_value(&material.report).unwrap());
}

#[test]
fn hostile_texts_do_not_become_markup() {
    let mut hostile = Plan::of(&[
        (EVIL, 1, 50_000.0),
        ("beta", 1, 42_000.0),
        ("gamma", 2, 41_000.0),
    ]);
    hostile.title = EVIL.into();
    hostile.name = EVIL.into();
    hostile.loads[0].0 = EVIL.into();
    hostile.check = Some(EVIL.into());
    hostile.requests = vec![EVIL.into(), "b".into()];
    hostile.machines = vec![EVIL.into(), "gen2".into()];
    hostile.failed = Some((EVIL.into(), EVIL.into(), format!("{EVIL}\x1b[31mred\0")));
    let material = material(&hostile);
    let page = html(&material).unwrap();
    assert!(!page.contains("<img"), "an element that was injected");
    assert_eq!(
        page.matches("<script").count(),
        2,
        "a script that was injected"
    );
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!page.contains('\x1b') && !page.contains('\0'));
    // Nothing but values that maud has quoted can be an attribute.
    assert!(!page.contains(" onerror=alert(2)>"));
    for chart in charts(&material) {
        let file = chart.file();
        assert!(
            !file.contains("<img") && !file.contains("<script"),
            "{}",
            chart.name
        );
        assert!(
            file.chars().all(|c| !c.is_control() || c == '\n'),
            "{}",
            chart.name
        );
        assert!(
            chart
                .name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-'),
            "{}",
            chart.name
        );
    }
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let page = html(&material(&plan())).unwrap();
    for sign in [
        "src=\"http",
        "href=\"http",
        "url(",
        "@import",
        "<link rel=\"stylesheet\"",
        "fetch(",
    ] {
        assert!(!page.contains(sign), "{sign}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn each_kind_of_run_has_its_charts() {
    let names = |plan: &Plan| -> Vec<String> {
        charts(&material(plan))
            .into_iter()
            .map(|chart| chart.name)
            .collect()
    };
    let of = |names: &[String], wanted: &str| {
        assert!(
            names.iter().any(|name| name == wanted),
            "{wanted} in {names:?}"
        );
    };
    let plain = names(&plan());
    for name in [
        "throughput-c64",
        "latency-c64",
        "cpu-c64",
        "memory-c64",
        "time-alpha-c64",
    ] {
        of(&plain, name);
    }
    assert!(
        !plain
            .iter()
            .any(|name| name.starts_with("send-delay") || name.starts_with("grid")),
        "{plain:?}"
    );

    let mut grid = plan();
    grid.loads = [1, 8, 64]
        .map(|n| {
            let load = Load {
                connections: n,
                ..Load::default()
            };
            (format!("c{n}"), load)
        })
        .to_vec();
    let grid = names(&grid);
    of(&grid, "grid-throughput");
    of(&grid, "grid-p99");

    let workers = Plan::of(&[
        ("it", 1, 1e4),
        ("it", 2, 1.9e4),
        ("it", 3, 2.6e4),
        ("it", 4, 3.1e4),
    ]);
    of(&names(&workers), "scaling-it-c64");

    let mut rates = Plan::of(&[("it", 1, 1e4)]);
    rates.name = "capacity".into();
    rates.loads = [1_000, 2_000, 4_000, 8_000, 12_000]
        .map(|n| {
            let load = Load {
                rate: Some(f64::from(n)),
                ..Load::default()
            };
            (format!("{n}/s"), load)
        })
        .to_vec();
    rates.service = Some(Limits {
        latency: vec![LatencyLimit::new(99.0, 1.0)],
        errors: 0.001,
        good: None,
    });
    let found = material(&rates);
    let all = charts(&found);
    assert_eq!(
        all[0].name,
        "rate-it",
        "{:?}",
        all.iter().map(|c| &c.name).collect::<Vec<_>>()
    );
    let page = html(&found).unwrap();
    assert!(
        page.contains("it keeps p99 ≤ 1.00 ms"),
        "the sentence of a capacity run"
    );
    assert!(!all.iter().any(|chart| chart.name.starts_with("throughput")));
    // The send delay of an open loop is shown.
    assert!(
        all.iter()
            .any(|chart| chart.name.starts_with("send-delay-it"))
    );
}

#[test]
fn no_curve_goes_beyond_its_samples() {
    let mut few = plan();
    few.samples = 120;
    let material = material(&few);
    // 360 samples: p90 and what lies below has ten beyond it; p99 has three.
    let chart = charts(&material)
        .into_iter()
        .find(|chart| chart.name == "latency-c64")
        .unwrap();
    let drawing = chart.svg().into_string();
    assert!(
        drawing.contains("alpha: p90 ") && !drawing.contains("p99 "),
        "{drawing}"
    );
}

#[test]
fn a_run_without_a_single_figure_has_a_page() {
    let mut none = plan();
    none.rounds = 0;
    none.failed = Some((
        "alpha".into(),
        "it broke".into(),
        "line one\nline two".into(),
    ));
    let page = html(&material(&none)).unwrap();
    assert!(page.contains("Nothing has been measured.") && page.contains("it broke"));
}

// Slow: writes and reads 1,000 trials, with 30 windows and the histograms of 300 answers each.
#[test]
fn a_long_run_stays_small() {
    let mut long = Plan::of(&[]);
    long.servers = (0..20)
        .map(|i| (format!("server-{i}"), 1, 10_000.0 + 3_000.0 * f64::from(i)))
        .collect();
    long.rounds = 50;
    long.samples = 300;
    let page = html(&material(&long)).unwrap();
    assert!(
        page.len() < 2_000_000,
        "{} bytes for 1,000 trials",
        page.len()
    );
    assert!(page.contains("server-19, round 50: "));
}

#[test]
fn results_by_request_have_a_section_a_chart_and_a_table() {
    let mut named = plan();
    named.requests = vec!["home".into(), "order".into()];
    let material = material(&named);
    let chart = prony_pages::chart::chart(&material, "requests-c64").unwrap();
    let table = chart.table.markup("").into_string();
    // Two names of three servers.
    assert_eq!(table.matches("<tr>").count(), 1 + 6, "{table}");
    assert_eq!(table.matches("50.0%").count(), 6, "{table}");
    let home = table.find("home").unwrap();
    assert!(home < table.find("order").unwrap(), "{table}");
    let drawing = chart.drawing.into_string();
    assert!(drawing.contains("order · beta, round 3: p99 "), "{drawing}");
    assert!(
        drawing.contains("home · alpha: median of p99 "),
        "{drawing}"
    );
    let page = html(&material).unwrap();
    assert!(page.contains("<h2>By request</h2>") && page.contains("href=\"#requests\""));
    let plain = html(&self::material(&plan())).unwrap();
    assert!(!plain.contains("By request"), "a section without requests");
}

#[test]
fn the_machines_that_sent_the_load_have_a_table() {
    let mut apart = plan();
    apart.machines = vec!["gen1".into(), "gen2".into()];
    let told = material(&apart);
    let page = html(&told).unwrap();
    let from = page.find("Where the load came from").unwrap();
    let table = &page[from..from + page[from..].find("</table>").unwrap()];
    assert!(table.contains("gen1") && table.contains("gen2"), "{table}");
    assert_eq!(table.matches("50.0%").count(), 2, "{table}");
    let markdown = prony_pages::export::markdown(&told);
    assert!(markdown.contains("from gen1: 8 connections, 50.0% of the answers"));
    let plain = html(&material(&plan())).unwrap();
    assert!(!plain.contains("Where the load came from"));
}
