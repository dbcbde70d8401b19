//! The catalog that ships.

use crate::support::{Place, project};
use std::fmt::Write;

/// Every server of the catalog can be built, started, and keeps its contracts.
#[test]
#[ignore = "needs every toolchain"]
fn catalog_is_ready() {
    let place = Place::new();
    let folder = project().join("servers");
    let mut command = place.command(&["servers", "check", "--json"]);
    // Builds take their time: kept with the program, and not bound by what else counts as hanging.
    let cache = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("catalog-cache");
    command
        .env("PRONY_CATALOG", folder)
        .env("PRONY_CACHE", cache);
    let output = command.output().unwrap();
    let states: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut not_ready = String::new();
    for row in states
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["state"] != "ready")
    {
        let text = |key: &str| row[key].as_str().unwrap_or("").to_owned();
        let (server, contract, state) = (text("server"), text("contract"), text("state"));
        let (step, message, output) = (text("step"), text("message"), text("output"));
        let _ = writeln!(
            not_ready,
            "{server} ({contract}) is {state}: {step} {message}\n{output}"
        );
    }
    assert!(not_ready.is_empty(), "{not_ready}");
    assert!(states.as_array().unwrap().len() >= 12, "{states:#}");
    assert!(output.status.success());
}
