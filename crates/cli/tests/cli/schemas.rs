//! `prony schema`: what it prints is in the repository, and true.

use crate::support::{Place, compiled, project, schema, valid};
use serde_json::Value;
use std::fs;
use std::path::Path;

#[test]
fn the_repository_has_what_prony_prints() {
    let place = Place::new();
    for name in [
        "load",
        "run",
        "duel",
        "diff",
        "capacity",
        "why",
        "calibrate",
        "export",
        "experiment",
        "server",
        "published",
    ] {
        is_kept(&place, name);
    }
}

#[cfg(feature = "audit")]
#[test]
fn the_repository_has_what_prony_prints_of_audits() {
    is_kept(&Place::new(), "audit");
}

fn is_kept(place: &Place, name: &str) {
    let printed = place.prony(&["schema", name]).with(0).stdout;
    let path = project().join(format!("schemas/{name}.schema.json"));
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == printed,
        "schemas/{name}.schema.json is not what prony prints: \
         `prony schema {name} > schemas/{name}.schema.json`"
    );
}

#[test]
fn what_ships_is_as_the_schemas_say() {
    let files = |folder: &str| fs::read_dir(project().join(folder)).unwrap().flatten();
    // Folders have the requests of experiments.
    for path in files("experiments").map(|entry| entry.path()) {
        if path.is_file() {
            as_its_schema_says(&path, "experiment");
        }
    }
    for entry in files("published") {
        as_its_schema_says(&entry.path(), "published");
    }
    for entry in files("servers") {
        as_its_schema_says(&entry.path().join("server.toml"), "server");
    }
}

/// The file is valid, and its first line leads an editor to the schema.
fn as_its_schema_says(path: &Path, name: &str) {
    let text = fs::read_to_string(path).unwrap();
    let first = text.lines().next().unwrap_or_default();
    let named = first.strip_prefix("#:schema ").map(|named| {
        let found = path.parent().unwrap().join(named).canonicalize();
        found.unwrap_or_else(|error| panic!("{}: {named}: {error}", path.display()))
    });
    let expected = project().join(format!("schemas/{name}.schema.json"));
    assert_eq!(
        named,
        expected.canonicalize().ok(),
        "{}: {first}",
        path.display()
    );
    let value: Value = toml::from_str(&text).unwrap();
    valid(&schema(name), &value);
}

#[test]
fn schemas_refuse_what_prony_refuses() {
    let experiment = schema("experiment");
    let (schemas, index) = compiled(&experiment);
    let is_valid = |value: &Value| schemas.validate(value, index).is_ok();
    let mut value = serde_json::json!({
        "title": "T", "contract": "tcp-echo", "servers": ["a"], "load": {"connections": [1, 2]},
    });
    assert!(is_valid(&value));
    value["laod"] = serde_json::json!({});
    assert!(!is_valid(&value), "an unknown key");
    value.as_object_mut().unwrap().remove("laod");
    value["contract"] = "udp-echo".into();
    assert!(!is_valid(&value), "an unknown contract");
}
