//! Writes pages of made-up runs into a folder, for the browser tests: each with a JSON file of what its
//! page must show.

#[path = "../tests/pages/sample/mod.rs"]
mod sample;

use prony_notebook::Notebook;
use prony_pages::material::Material;
use prony_pages::page::html;
use prony_record::Load;
use prony_record::anatomy::{Dissection, Dissections, Spent};
use prony_record::published::Published;
use prony_record::service::{LatencyLimit, Limits};
use prony_verdict::why::Anatomy;
use sample::{Plan, write};
use serde_json::json;
use std::error::Error;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).ok_or("usage: made_up FOLDER")?;
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    let mut notebook = Notebook::in_memory()?;
    for (name, plan) in plans()? {
        let id = write(&mut notebook, &plan)?;
        let run = notebook.run(id)?;
        let material = Material::read(&notebook, &run)?;
        fs::write(folder.join(format!("{name}.html")), html(&material)?)?;
        let sentences: Vec<String> = material
            .report
            .by_load()
            .into_iter()
            .map(|(_, cells)| material.report.sentence(&cells))
            .collect();
        let trials = material.trials.iter().filter_map(|part| {
            let rate = part.trial().figures.throughput?;
            Some(json!({"server": part.label(), "load": part.trial().cell, "round": part.trial().round + 1, "rate": rate.round()}))
        });
        let facts = json!({
            "title": plan.title,
            "sentences": sentences,
            "trials": trials.collect::<Vec<_>>(),
            "report": material.report,
        });
        fs::write(folder.join(format!("{name}.json")), facts.to_string())?;
    }
    fs::create_dir_all(folder.join("why"))?;
    fs::write(
        folder.join("why/flames.html"),
        prony_pages::why::page(&dissected()),
    )?;
    Ok(())
}

/// Two servers in three rounds, of which the second spends more in `json_encode`.
fn dissected() -> Anatomy {
    let spent = Spent {
        requests: 1_000.0,
        cpu_ns: 100_000_000,
    };
    let round = |encode: u64| Dissection {
        plain: spent,
        sampled: spent,
        requests: 1_000,
        samples: 100,
        period_ns: 1_000_000,
        stacks: [
            ("main;serve;json_encode", encode),
            ("main;serve;json_encode;copy", 10),
            ("main;serve;a<b>(c)", 30 - encode),
            ("main;send;tcp_sendmsg_[k]", 60),
        ]
        .map(|(stack, samples)| (stack.to_owned(), samples))
        .into(),
        ..Dissection::default()
    };
    prony_verdict::why::anatomy(&Dissections {
        names: vec!["old".into(), "new".into()],
        rate: 1_000.0,
        rounds: vec![vec![round(10), round(20)]; 3],
        ..Dissections::default()
    })
}

fn plans() -> Result<Vec<(&'static str, Plan)>, Box<dyn Error>> {
    let servers = [
        ("reference-epoll", 1, 276_000.0),
        ("cpp-epoll", 1, 291_000.0),
        ("rust-hyper", 1, 281_000.0),
        ("go-net-http", 1, 91_200.0),
        ("node", 1, 78_100.0),
        ("node", 2, 141_000.0),
        ("python-asyncio", 1, 107_000.0),
        ("java-httpserver", 1, 21_700.0),
    ];
    let mut compared = Plan::of(&servers);
    compared.title = "HTTP echo: servers in seven languages".into();
    compared.rounds = 5;
    compared.check = Some(
        "others used 12.7 % of the CPUs: measure on a quiet machine, or with more rounds".into(),
    );
    compared.failed = Some((
        "haskell".into(),
        "ghc: not found".into(),
        "sh: 1: ghc: not found".into(),
    ));
    let published: Published = serde_json::from_value(json!({
        "title": "Servers of long ago", "origin": "a page", "rig": "an old machine", "unit": "requests/s",
        "correction": {"why": "a second too many", "requests": 1_000_000, "too_seconds": 1.0},
        "row": [
            {"label": "C++ epoll", "server": "cpp-epoll", "rates": [150_000.0]},
            {"label": "Go", "server": "go-net-http", "rates": [40_000.0]},
            {"label": "Node 0.4", "server": "node", "rates": [21_000.0]},
            {"label": "Python", "server": "python-asyncio", "rates": [9_000.0]},
        ],
    }))?;
    compared.published = Some(published);

    let evil = "</script><script>window.evil=1</script><img src=x onerror=\"window.evil=2\">";
    let mut hostile = Plan::of(&[
        (evil, 1, 50_000.0),
        ("b\" onload=\"window.evil=3", 1, 42_000.0),
        ("${alert}", 1, 30_000.0),
    ]);
    hostile.title = evil.into();
    hostile.loads[0].0 = evil.into();
    hostile.check = Some(evil.into());
    hostile.failed = Some((evil.into(), evil.into(), format!("\x1b[31m{evil}")));

    let mut grid = Plan::of(&[
        ("alpha", 1, 60_000.0),
        ("beta", 1, 45_000.0),
        ("gamma", 1, 44_000.0),
    ]);
    grid.title = "A grid of connections".into();
    grid.loads = [1, 8, 64, 256]
        .map(|n| {
            (
                format!("c{n}"),
                Load {
                    connections: n,
                    ..Load::default()
                },
            )
        })
        .to_vec();

    let mut workers = Plan::of(&[]);
    workers.title = "Workers".into();
    workers.servers = (1..=6)
        .map(|n| {
            (
                "it".to_owned(),
                n,
                1e4 * f64::from(n)
                    / (1.0 + 0.06 * f64::from(n - 1) + 0.02 * f64::from(n * (n - 1))),
            )
        })
        .collect();

    let mut capacity = Plan::of(&[("it", 1, 10_000.0)]);
    capacity.name = "capacity".into();
    capacity.title = "it".into();
    capacity.loads = [500, 1_000, 2_000, 4_000, 6_000, 7_500, 8_000, 8_250, 9_000]
        .map(|n| {
            (
                format!("{n}/s"),
                Load {
                    rate: Some(f64::from(n)),
                    ..Load::default()
                },
            )
        })
        .to_vec();
    capacity.service = Some(Limits {
        latency: vec![LatencyLimit::new(99.0, 0.6)],
        errors: 0.001,
        good: None,
    });

    Ok(vec![
        ("compared", compared),
        ("hostile", hostile),
        ("grid", grid),
        ("workers", workers),
        ("capacity", capacity),
    ])
}
