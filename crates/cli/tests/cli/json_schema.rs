//! Answers and the JSON Schemas of a file of requests.

use crate::http::Constant;
use crate::support::Place;

const FILE: &str = r#"
[[request]]
name = "order"
path = "/orders/17"
expect.schema = "order.schema.json"

[[request]]
name = "same"
path = "/orders/17"

[request.expect.schema]
type = "object"
required = ["id"]
"#;

const SCHEMA: &str = r##"{
    "type": "object",
    "properties": { "id": { "type": "integer" }, "items": { "$ref": "#/$defs/items" } },
    "$defs": { "items": { "type": "array", "items": { "type": "string" } } }
}"##;

fn files(schema: &str) -> (Place, String) {
    let place = Place::new();
    std::fs::write(place.path().join("order.schema.json"), schema).unwrap();
    let file = place.path().join("shop.toml");
    std::fs::write(&file, FILE).unwrap();
    (place, file.display().to_string())
}

#[test]
fn answers_are_compared_with_a_schema() {
    let (place, file) = files(SCHEMA);
    let right = Constant::right("", br#"{"id":17,"items":["a"]}"#);
    let wrong = Constant::right("", br#"{"items":["a",7]}"#);
    let load = |url: &str, more: &[&str]| {
        let first = [
            "load",
            "--quiet",
            "--no-keep",
            "-n",
            "400",
            "-c",
            "2",
            "-f",
            &file,
            url,
        ];
        place.prony(&[&first[..], more].concat())
    };
    let report = load(&right, &["--json"]).with(0).json();
    assert_eq!(report["outcomes"]["ok"], 400);
    for request in report["requests"].as_array().unwrap() {
        let searched = request["searched"].as_u64().unwrap();
        assert!((1..200).contains(&searched), "{searched}");
    }
    let verified = place.prony(&["verify", &file, &wrong]).with(1);
    for line in [
        "order: expected what order.schema.json says: /items/1: want string, but got number, found 7; \
         asked GET /orders/17",
        "same: expected what its schema says: the whole: missing properties 'id', found",
    ] {
        assert!(verified.stdout.contains(line), "{verified}");
    }
    let refused = load(&wrong, &[]).with(1);
    assert!(refused.stderr.contains("2 of 2 in"), "{refused}");
    // In the load too, by each worker.
    let loaded = load(&wrong, &["--no-verify", "--json", "-t", "2"]).json();
    assert!(
        loaded["outcomes"]["wrong_answer"].as_u64().unwrap() >= 2,
        "{loaded}"
    );
}

#[test]
fn a_schema_that_is_none_is_told_in_its_line() {
    for (schema, expected) in [
        ("{", "order.schema.json is not JSON: EOF"),
        (
            r#"{"properties":{"id":{"type":"intger"}}}"#,
            "order.schema.json is not a JSON Schema: /properties/id/type:",
        ),
        (r#"{"$ref":"other.json"}"#, "a $ref leads to other.json"),
    ] {
        let (place, file) = files(schema);
        let refused = place
            .prony(&["verify", &file, "http://127.0.0.1:1"])
            .with(1);
        let told = refused
            .stderr
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(told.contains(expected), "{refused}");
        assert!(told.contains("shop.toml:5:"), "{refused}");
    }
    let (place, file) = files(SCHEMA);
    std::fs::write(&file, FILE.replace("order.schema.json", "none.json")).unwrap();
    let refused = place
        .prony(&["verify", &file, "http://127.0.0.1:1"])
        .with(1);
    assert!(refused.stderr.contains("cannot read"), "{refused}");
    std::fs::write(&file, FILE.replace("\"order.schema.json\"", "7")).unwrap();
    let refused = place
        .prony(&["verify", &file, "http://127.0.0.1:1"])
        .with(1);
    assert!(
        refused.stderr.contains("the name of a file, or a table"),
        "{refused}"
    );
}
