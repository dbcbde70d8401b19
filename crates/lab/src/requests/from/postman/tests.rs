use super::super::tests::shown;
use super::super::{Format, FromError, Made, MakeOptions, Variables, make_with};
use crate::requests::ServerFacts;
use serde_json::{Value, json};
use std::path::Path;

/// The requests of a collection, and the notes; `folder` has `users.csv`, and a file `note.txt`.
#[track_caller]
fn made(collection: &Value, options: impl FnOnce(&mut Variables, &Path)) -> (Vec<String>, Made) {
    let text = collection.to_string();
    assert_eq!(Format::of(&text), Some(Format::Postman), "{text}");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("users.csv"), "name\nann\n").unwrap();
    std::fs::write(folder.path().join("note.txt"), "a note").unwrap();
    let mut variables = Variables::default();
    options(&mut variables, folder.path());
    let options = MakeOptions {
        folder: Some(folder.path()),
        variables,
        ..MakeOptions::default()
    };
    let made = make_with(&text, &options).unwrap_or_else(|error| panic!("{text}: {error}"));
    let source = crate::source::Source::new("shop.toml", made.text.as_str());
    let mix = crate::requests::parse(&source, folder.path(), &ServerFacts::anywhere()).unwrap();
    (shown(&mix), made)
}

fn notes(made: &Made) -> Vec<String> {
    made.notes.iter().map(ToString::to_string).collect()
}

fn collection(items: Value, mut more: Value) -> Value {
    let schema = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json";
    more["info"] = json!({"name": "Shop", "schema": schema});
    more["item"] = items;
    more
}

fn get(url: &str) -> Value {
    json!({"name": url, "request": {"url": url}})
}

#[test]
fn folders_with_variables_and_credentials() {
    let item = |name: &str, more: Value| {
        let mut request = json!({"method": "GET", "url": "{{base}}/a"});
        request
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({"name": name, "request": request})
    };
    let url = json!({"raw": "{{base}}/items/:id?full=1&off=1", "host": ["{{base}}"], "path": ["items", ":id"],
        "query": [{"key": "full", "value": "{{full}}"}, {"key": "off", "value": "1", "disabled": true}],
        "variable": [{"key": "id", "value": "7 {{full}}"}]});
    let basic =
        json!({"auth": {"type": "basic", "basic": {"username": "ann", "password": "{{$guid}}"}}});
    let key = json!([{"key": "key", "value": "k"}, {"key": "value", "value": "v w"}, {"key": "in", "value": "query"}]);
    let wrapped = json!({"collection": collection(
        json!([
            {"name": "Items", "variable": [{"key": "full", "value": true}], "item": [
                item("List", json!({"url": url, "header": [
                    {"key": "X-A", "value": "{{full}}"}, {"key": "X-B", "value": "b", "disabled": true}]})),
                {"name": "Deep", "auth": {"type": "noauth"}, "item": [item("Get", json!({}))]},
            ]},
            {"name": "Users", "item": [item("Get", basic), item("Key", json!({"auth": {"type": "apikey", "apikey": key}}))]},
            item("Digest", json!({"url": "{{base}}/d", "auth": {"type": "digest"}})),
        ]),
        json!({"auth": {"type": "bearer", "bearer": [{"key": "token", "value": "{{token}}"}]},
            "variable": [{"key": "base", "value": "{{scheme}}://shop.test:8000/v1/"}, {"key": "scheme", "value": "http"},
                {"key": "token", "value": "t{{full}}"}, {"key": "full", "value": "0"}],
            "event": [{"listen": "prerequest", "script": {"exec": ["", "pm.x()"]}}, {"listen": "test", "script": {"exec": [""]}}]}),
    )});
    let (requests, made) = made(&wrapped, |_, _| {});
    assert_eq!(made.server, "http://shop.test:8000");
    assert_eq!(
        requests,
        [
            "List x1 GET /v1/items/7%20true?full=true [Authorization: Bearer ttrue; X-A: true] ",
            "Deep-Get x1 GET /v1/a [] ",
            "Users-Get x1 GET /v1/a [Authorization: Basic <Base64([Text([97, 110, 110, 58]), Uuid, Text([])])>] ",
            "Key x1 GET /v1/a?k=v%20w [] ",
            "Digest x1 GET /v1/d [] ",
        ]
    );
    assert_eq!(
        notes(&made),
        [
            "Shop: skipped: a script before the request",
            "Digest: skipped: credentials of type digest, to be added to its headers"
        ]
    );
}

#[test]
fn bodies() {
    let post = |name: &str, body: Value| json!({"name": name, "request": {"method": "POST", "url": "http://h/a", "body": body}});
    let form = json!([{"key": "a b", "value": "{{x}}&"}, {"key": "off", "value": "", "disabled": true}, {"key": "id", "value": "{{$guid}}"}]);
    let parts = json!([{"key": "n", "value": "{{x}}", "type": "text"}, {"key": "f", "type": "file", "src": "/C:/nowhere/note.txt"}]);
    let items = json!([
        post(
            "raw",
            json!({"mode": "raw", "raw": "{\"a\":{\"b\":{{x}}},\"c\":\"{{$randomInt}}\"}", "options": {"raw": {"language": "json"}}})
        ),
        post("text", json!({"mode": "raw", "raw": "{} {{}} {{ x }}"})),
        post("form", json!({"mode": "urlencoded", "urlencoded": form})),
        post("parts", json!({"mode": "formdata", "formdata": parts})),
        post("file", json!({"mode": "file", "file": {"src": "note.txt"}})),
        post(
            "graph",
            json!({"mode": "graphql", "graphql": {"query": "query($a: Int) { \"{{$guid}}\" }", "variables": "{\"a\": {{x}}}"}})
        ),
        post(
            "gone",
            json!({"mode": "formdata", "formdata": [{"key": "f", "type": "file", "src": "/dev/zero"}]})
        ),
        post("off", json!({"mode": "raw", "raw": "x", "disabled": true})),
        json!({"name": "get", "request": {"method": "GET", "url": "http://h/a", "body": {"mode": "raw", "raw": "x"}}}),
    ]);
    let (requests, made) = made(
        &collection(items, json!({"variable": [{"key": "x", "value": 5}]})),
        |_, _| {},
    );
    assert_eq!(
        requests[..3],
        [
            "raw x1 POST /a [Content-Type: application/json] {\"a\":{\"b\":5},\"c\":\"<Int(0, 1000)>\"}",
            "text x1 POST /a [Content-Type: text/plain] {} {{}} 5",
            "form x1 POST /a [Content-Type: application/x-www-form-urlencoded] a%20b=5%26&id=<Uuid>",
        ]
    );
    for word in [
        "name=\"n\"\r\n\r\n5\r\n",
        "name=\"f\"; filename=\"note.txt\"\r\nContent-Type: text/plain\r\n\r\na note\r\n",
    ] {
        assert!(requests[3].contains(word), "{word}: {requests:?}");
    }
    assert_eq!(
        requests[4..],
        [
            "file x1 POST /a [] a note",
            "graph x1 POST /a [Content-Type: application/json] {\"query\":\"query($a: Int) { \\\"<Uuid>\\\" }\",\"variables\":{\"a\": 5}}",
            "off x1 POST /a [] ",
            "get x1 GET /a [] ",
        ]
    );
    assert_eq!(
        notes(&made),
        ["gone: skipped: no file /dev/zero, and none \"zero\" in the folder of the collection"]
    );
}

#[test]
fn variables_without_a_value() {
    let items = json!([
        get("{{base}}/a"),
        get("https://{{host}}:{{port}}/b"),
        get("{{base}}/c/{{id}}?at={{$timestamp}}"),
        get("{{base}}/d/:id"),
        get("{{base}}/e/{{#if}}"),
        get("{{base}}/f?q={{empty}}"),
        get("{{base}}/g/{{loop}}"),
        get("{{base}}/h/{{a/b}}"),
        get("{{base}}/i/{{{{open}}}}"),
    ]);
    let collection = collection(
        items,
        json!({"variable": [{"key": "empty", "value": ""}, {"key": "id", "value": null}, {"key": "off", "value": "1", "disabled": true},
            {"key": "loop", "value": "{{pool}}"}, {"key": "pool", "value": "{{loop}}"}, {"key": "open", "value": "base"}]}),
    );
    let (requests, first) = made(&collection, |_, _| {});
    assert_eq!(requests.len(), 3, "{requests:?}");
    assert!(requests[2].contains("GET /f?q= []"), "{requests:?}");
    assert!(
        first
            .text
            .starts_with("# prony load -f THIS_FILE http://HOST")
    );
    let expected = [
        "{{base}}/a, {{base}}/c/{{id}}?at={{$timestamp}}, {{base}}/d/:id and 5 more: guessed: {{base}} has no value, taken for a server without a path",
        "https://{{host}}:{{port}}/b: guessed: {{host}} and {{port}} have no value, taken for a server without a path",
        "{{base}}/c/{{id}}?at={{$timestamp}}: skipped: {{$timestamp}} is made by Postman, and prony has no such value",
        "{{base}}/c/{{id}}?at={{$timestamp}}: skipped: {{id}} has no value",
        "{{base}}/d/:id: skipped: the path variable :id has no value",
        "{{base}}/e/{{#if}}: skipped: {{#if}} has no value",
        "{{base}}/f?q={{empty}}: {{empty}} is empty, and is sent as that",
        "{{base}}/g/{{loop}}: skipped: {{loop}} refers to itself",
        "{{base}}/h/{{a/b}}: skipped: {{a/b}} is put together of several parts",
        "{{base}}/i/{{{{open}}}}: skipped: {{base}} is put together of several parts",
    ];
    assert_eq!(notes(&first), expected);
    let environment = json!({"name": "local", "_postman_variable_scope": "environment", "values": [
        {"key": "base", "value": "http://h", "enabled": true}, {"key": "host", "value": "h", "enabled": true},
        {"key": "port", "value": "443"}, {"key": "loop", "value": "off", "enabled": false}]});
    let (requests, second) = made(&collection, |variables, folder| {
        variables.read(&environment.to_string()).unwrap();
        for (name, value) in [
            ("id", "{{row users.csv name}}"),
            ("$timestamp", "0"),
            (":id", "9"),
            ("loop", "x"),
            ("basse", "y"),
        ] {
            variables.give(name, value, folder).unwrap();
        }
        assert!(variables.give("x", "{{row none.csv a}}", folder).is_err());
        assert!(variables.read("{}").is_err());
    });
    assert_eq!(
        requests[1..],
        [
            "http-h-c-id-at-timestamp x1 GET /c/<Row { table: 0, column: 0 }>?at=0 [] ",
            "http-h-d-id x1 GET /d/9 [] ",
            "http-h-f-q-empty x1 GET /f?q= [] ",
            "http-h-g-loop x1 GET /g/x [] ",
        ]
        .map(|line| line.replace("http-h", "base"))
    );
    assert_eq!(
        notes(&second),
        [
            "{{base}}/e/{{#if}}: skipped: {{#if}} has no value",
            "{{base}}/f?q={{empty}}: {{empty}} is empty, and is sent as that",
            "{{base}}/h/{{a/b}}: skipped: {{a/b}} is put together of several parts",
            "{{base}}/i/{{{{open}}}}: skipped: {{base}} is put together of several parts",
            "the value of \"basse\" is not used: did you mean \"base\"?",
            "request to https://h: a file is for one server, here http://h",
        ]
    );
}

#[test]
fn hostile_collections() {
    let of = |text: &str| make_with(text, &MakeOptions::default()).unwrap_err();
    let whole = collection(json!([get("http://h/")]), json!({})).to_string();
    let cut = of(&whole[..whole.len() - 9]);
    assert!(
        matches!(
            cut,
            FromError::Unreadable {
                format: Format::Postman,
                ..
            }
        ),
        "{cut}"
    );
    assert!(cut.to_string().contains("is cut off at line 1"), "{cut}");
    let deep = format!(
        "{{\"_postman_id\":1,\"item\":{}",
        "[{\"item\":".repeat(50_000)
    );
    assert!(of(&deep).to_string().contains("more than 128 deep"));
    let old = of(r#"{"_postman_id": "x", "requests": []}"#);
    assert!(old.to_string().contains("version 1"), "{old}");
    // Each variable is ten of the next one: 10^19 bytes.
    let mut variables: Vec<Value> = (0..19)
        .map(|n| json!({"key": format!("v{n}"), "value": format!("{{{{v{}}}}}", n + 1).repeat(10)}))
        .collect();
    variables.push(json!({"key": "v19", "value": "x"}));
    let chain =
        (0..1_000).map(|n| json!({"key": format!("c{n}"), "value": format!("{{{{c{}}}}}", n + 1)}));
    variables.extend(chain);
    let items = json!([get("http://h/{{v0}}"), get("http://h/{{c0}}"), {"name": "no request"}, 5, get("ftp://h/"), get("http://h/{{$guid}}/"),
        get("{{$guid}}"), {"name": "header", "request": {"url": "http://h/", "header": "A: b\nC d: e"}}]);
    let (requests, made) = made(
        &collection(items, json!({"variable": variables})),
        |_, _| {},
    );
    assert_eq!(requests, ["http-h-guid x1 GET /<Uuid>/ [] "]);
    assert_eq!(
        notes(&made),
        [
            "http://h/{{v0}}: skipped: it has more than 100,000 variables or 16 MiB",
            "http://h/{{c0}}: skipped: {{c0}} refers to more than 20 others, one in the other",
            "no request, item 4: skipped: an item without a request",
            "ftp://h/: skipped: ftp://h: not over HTTP",
            "{{$guid}}: skipped: a server with a value that changes",
            "header: skipped: \"C d\" with its value is not a header field",
        ]
    );
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// The file made of any texts can be read, and no reference to a variable is sent.
    #[test]
    fn no_reference_is_sent(
        parts in proptest::collection::vec("(\\{\\{a\\}\\}|\\{\\{b\\}\\}|\\{\\{\\$guid\\}\\}|\\{\\{|\\}\\}|\\{|\\}|/|:|\\?|#|@|=|&|ü| |\n|\\\\|http://h|\u{1}|\u{2}|\\PC)", 0..20),
    ) {
        let middle = parts.concat();
        let body = json!({"mode": "raw", "raw": middle});
        let form = json!({"mode": "urlencoded", "urlencoded": [{"key": middle, "value": middle}]});
        let request = |url: String, body: Value| json!({"name": middle, "request": {"method": "POST", "url": url, "body": body,
            "header": [{"key": "X", "value": middle}]}});
        let items = json!([request(format!("http://h/{middle}"), body), request(middle.clone(), form), get("http://h/")]);
        let variables = json!([{"key": "a", "value": middle}, {"key": "b", "value": "x"}]);
        let text = collection(items, json!({"variable": variables})).to_string();
        match make_with(&text, &MakeOptions::default()) {
            Ok(made) => {
                proptest::prop_assert!(!made.text.contains("{{a}}") && !made.text.contains("{{b}}"), "{}", made.text);
                proptest::prop_assert!(!made.text.contains("$guid"), "{}", made.text);
            }
            Err(FromError::Made(why)) => panic!("{text}: {why}"),
            Err(_) => {}
        }
    }
}
