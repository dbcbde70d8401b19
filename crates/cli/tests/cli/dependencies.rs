//! Every direct dependency has its reason in `docs/dev/dependencies.md`, and nothing else has.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn every_dependency_has_its_reason_and_every_reason_its_dependency() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut used = BTreeSet::new();
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    used.extend(
        manifest["workspace"]["dependencies"]
            .as_table()
            .unwrap()
            .keys()
            .cloned(),
    );
    for folder in fs::read_dir(root.join("crates")).unwrap() {
        let manifest = fs::read_to_string(folder.unwrap().path().join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let targets = manifest.get("target").and_then(toml::Value::as_table);
        let targets = targets.into_iter().flat_map(|it| it.values());
        let tables = targets.filter_map(toml::Value::as_table).chain([&manifest]);
        for table in tables {
            for kind in ["dependencies", "dev-dependencies"] {
                let listed = table.get(kind).and_then(toml::Value::as_table);
                used.extend(listed.into_iter().flat_map(|it| it.keys().cloned()));
            }
        }
    }
    used.retain(|name| !name.starts_with("prony-"));
    let page = fs::read_to_string(root.join("docs/dev/dependencies.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let reasons = rows.filter_map(|row| row.split('|').nth(1));
    let tests = page.split("For tests alone:").nth(1).unwrap();
    let quoted = |text: &str| -> Vec<String> {
        text.split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    };
    let explained: BTreeSet<String> = reasons.chain([tests]).flat_map(quoted).collect();
    let missing: Vec<_> = used.difference(&explained).collect();
    assert!(missing.is_empty(), "without a reason: {missing:?}");
    let gone: Vec<_> = explained.difference(&used).collect();
    assert!(gone.is_empty(), "no longer used: {gone:?}");
}
