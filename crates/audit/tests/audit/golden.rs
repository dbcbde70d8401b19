//! Outputs of real tools, read field by field. The files in `golden/` are outputs of wrk 4.1, wrk2, ab 2.3, httperf
//! 0.9, weighttp 0.3 and 0.5, h2load 1.52, oha 1.9, hey 0.1.4 and k6 0.57, as they came.

use prony_audit::model::{Block, Tool};
use prony_audit::{Printed, read};

fn golden(name: &str) -> String {
    let path = format!("{}/tests/audit/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// The only output in a file.
fn block(name: &str) -> Block {
    let document = read(name, &golden(name));
    assert_eq!(document.outputs.len(), 1, "{name}");
    assert_eq!(document.tables, [], "{name}");
    let block = document.outputs[0].block.clone();
    assert_eq!((block.errors.len(), block.garbled.len()), (0, 0), "{name}");
    block
}

fn near(found: Option<Printed>, expected: f64) {
    let found = found.expect("a figure").value;
    assert!(
        (found - expected).abs() <= 1e-9 * expected.abs(),
        "{found} {expected}"
    );
}

/// Seconds, requests, rate, and mean, p99 (or p95) and longest response time in seconds.
fn figures(block: &Block, p: f64, expected: [f64; 6]) {
    let latency = &block.latency;
    near(block.lasted().map(Printed::exact), expected[0]);
    near(block.ended().map(Printed::exact), expected[1]);
    near(block.rate.map(|at| at.what), expected[2]);
    near(latency.mean.map(|at| at.what), expected[3]);
    near(latency.percentile(p).map(|at| at.what), expected[4]);
    near(latency.max.map(|at| at.what), expected[5]);
}

#[test]
fn wrk() {
    let block = block("wrk.txt");
    assert_eq!(block.tool, Tool::Wrk);
    assert_eq!(block.connections.unwrap().what, 32);
    assert_eq!(block.threads.unwrap().what, 2);
    assert_eq!((block.first, block.last), (1, 13));
    assert_eq!(
        block.url.as_ref().unwrap().what,
        "http://127.0.0.1:18431/hoge"
    );
    figures(
        &block,
        99.0,
        [
            10.06,
            1_731_646.0,
            172_076.97,
            788.62e-6,
            19.96e-3,
            39.86e-3,
        ],
    );
}

#[test]
fn wrk2() {
    let found = block("wrk2.txt");
    assert_eq!(found.tool, Tool::Wrk2);
    assert_eq!(found.latency.samples.unwrap().what, 19_842);
    figures(
        &found,
        99.0,
        [20.0, 39_931.0, 1_996.55, 806.56e-6, 2.81e-3, 7.76e-3],
    );
    // The second distribution, which leaves waiting out, is not the one that counts.
    let uncorrected = block("wrk2-uncorrected.txt");
    figures(
        &uncorrected,
        99.0,
        [15.0, 29_934.0, 1_995.47, 1.31e-3, 11.04e-3, 34.82e-3],
    );
    assert_eq!(uncorrected.latency.percentiles.len(), 8);
    assert_eq!(uncorrected.latency.samples.unwrap().what, 9_842);
}

#[test]
fn ab() {
    let found = block("ab.txt");
    assert_eq!(found.tool, Tool::Ab);
    assert_eq!(found.connections.unwrap().what, 50);
    assert_eq!(
        found.url.as_ref().unwrap().what,
        "http://127.0.0.1:18431/hoge"
    );
    near(found.connect_max.map(|at| at.what), 0.031);
    figures(
        &found,
        99.0,
        [0.627, 20_000.0, 31_919.61, 2e-3, 5e-3, 35e-3],
    );
    figures(
        &block("ab-keepalive.txt"),
        99.0,
        [0.091, 20_000.0, 219_934.90, 0.0, 0.0, 2e-3],
    );
}

#[test]
fn httperf() {
    let document = read("httperf.txt", &golden("httperf.txt"));
    let output = &document.outputs[0];
    let block = &output.block;
    assert_eq!(block.tool, Tool::Httperf);
    assert_eq!(
        (block.requests.unwrap().what, block.lasted()),
        (5_000, Some(0.5))
    );
    near(block.rate.map(|at| at.what), 10_000.5);
    assert!(block.unsampled.is_some() && block.errors.is_empty());
    // It prints its own command line.
    let command = output.command.as_ref().unwrap();
    assert_eq!(
        (command.requests(), command.host()),
        (Some(5_000), Some("127.0.0.1"))
    );
}

#[test]
fn weighttp() {
    let old = block("weighttp-0.3.txt");
    assert_eq!(old.tool, Tool::Weighttp);
    assert_eq!(
        (old.connections.unwrap().what, old.threads.unwrap().what),
        (100, 1)
    );
    assert_eq!(old.requests.unwrap().what, 200_000);
    near(old.seconds.map(|at| at.what), 1.070_047);
    near(old.rate.map(|at| at.what), 186_907.0);
    let new = block("weighttp-0.5.txt");
    assert_eq!(
        (new.tool, new.connections.unwrap().what),
        (Tool::Weighttp, 100)
    );
    near(new.connect_max.map(|at| at.what), 0.019_319);
    figures(
        &new,
        99.0,
        [0.922_407, 200_000.0, 216_824.0, 444e-6, 4_318e-6, 8_644e-6],
    );
}

#[test]
fn h2load() {
    let block = block("h2load.txt");
    assert_eq!(
        (block.tool, block.connections.unwrap().what),
        (Tool::H2load, 32)
    );
    assert_eq!(block.requests.unwrap().what, 881_281);
    near(block.rate.map(|at| at.what), 176_256.20);
    near(block.latency.mean.map(|at| at.what), 181e-6);
    near(block.latency.max.map(|at| at.what), 5.94e-3);
    near(block.connect_max.map(|at| at.what), 183e-6);
}

#[test]
fn oha() {
    let text = block("oha.txt");
    assert_eq!(text.tool, Tool::Oha);
    near(text.connect_max.map(|at| at.what), 0.2831e-3);
    figures(
        &text,
        99.0,
        [
            11.004_405_3,
            32_997.0,
            2_998.617_3,
            0.222e-3,
            3.7508e-3,
            8.1591e-3,
        ],
    );
    assert_eq!(text.latency.percentiles.len(), 9);
    let json = block("oha.json");
    assert_eq!(json.tool, Tool::Oha);
    near(json.connect_max.map(|at| at.what), 0.000_160_238);
    near(
        json.latency.percentile(99.99).map(|at| at.what),
        0.005_553_453,
    );
    assert_eq!(json.requests.unwrap().what, 164_285);
    assert_eq!(json.rate.unwrap().line, 8);
}

#[test]
fn hey() {
    let block = block("hey.txt");
    assert_eq!(block.tool, Tool::Hey);
    near(block.connect_max.map(|at| at.what), 0.0175);
    figures(
        &block,
        99.0,
        [5.0005, 250_440.0, 50_083.319_3, 0.0004, 0.0024, 0.0175],
    );
}

#[test]
fn k6() {
    let text = block("k6.txt");
    assert_eq!((text.tool, text.connections.unwrap().what), (Tool::K6, 4));
    near(text.connect_max.map(|at| at.what), 71.08e-3);
    near(text.latency.percentile(95.0).map(|at| at.what), 508.45e-6);
    near(text.latency.max.map(|at| at.what), 693.84e-3);
    let json = block("k6.json");
    assert_eq!(
        (json.tool, json.requests.unwrap().what),
        (Tool::K6, 155_640)
    );
    near(
        json.latency.percentile(95.0).map(|at| at.what),
        0.508_456_499_999_999_6e-3,
    );
    near(
        json.latency.mean.map(|at| at.what),
        0.275_575_104_658_184_63e-3,
    );
}
