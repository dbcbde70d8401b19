use super::*;
use prony_engine::protocol::mix::Piece;

mod own;

fn server() -> ServerFacts {
    ServerFacts {
        host: "h".into(),
        prefix: "/v1".into(),
        keepalive: true,
        limits: Limits::default(),
        shares: Shares::Exact,
    }
}

/// A folder with `users.csv`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("users.csv"),
        "name, city\nann,a b/c\nbob,\"x\"\"y\"\n",
    )
    .unwrap();
    std::fs::write(folder.path().join("empty.csv"), "name\n").unwrap();
    std::fs::write(folder.path().join("lines.csv"), "name\n\"a\nb\"\n").unwrap();
    folder
}

fn parsed(text: &str) -> Result<Mix, Mistake> {
    parse(&Source::new("shop.toml", text), folder().path(), &server())
}

#[test]
fn a_whole_file() {
    let mix = parsed(
        r#"
sample = 0.5
[[request]]
name = "home"
path = "/"
weight = 3
expect.status = "2xx"

[[request]]
name = "order"
path = "/orders/{{row users.csv city}}?n={{int 1 9}}"
headers = { Authorization = "Basic {{base64 {row users.csv name}:{seq}}}" }
body = '{"id":"{{uuid}}","at":{{now}},"city":"{{ row users.csv city }}"}'
expect.status = [201, "4xx"]
expect.headers = { Content-Type = "application/json", ETag = "*" }
expect.contains = ["a", "b"]
expect.matches = 'x+'
expect.json = { "$.items[0].id" = 5, "$.ok" = true }
"#,
    )
    .unwrap();
    assert_eq!(mix.sample, 500_000);
    let [home, order] = mix.requests.as_slice() else {
        panic!("{mix:?}")
    };
    assert_eq!((home.method.as_str(), home.weight), ("GET", 3));
    assert_eq!(home.expected.status, [(200, 299)]);
    assert_eq!((order.method.as_str(), order.weight), ("POST", 1));
    assert_eq!(order.expected.status, [(201, 201), (400, 499)]);
    assert_eq!(order.expected.headers[1], ("ETag".into(), None));
    assert_eq!(order.expected.json[0].path.pointer, "/items/0/id");
    assert_eq!(order.expected.json[1].value, true);
    assert!(order.path.contains(&Piece::Int(1, 9)));
    // In the path the city is encoded, in the body it is not; the name is a third column.
    let [table] = mix.tables.as_slice() else {
        panic!("{mix:?}")
    };
    assert_eq!(table.columns.len(), 3);
    assert!(!table.once);
    let shown = format!("{mix:?}");
    let encoded: Vec<u8> = b"a%20b%2Fc".to_vec();
    assert!(
        shown.contains(&format!("{encoded:?}")[1..encoded.len()]),
        "{shown}"
    );
}

#[track_caller]
fn mistake(text: &str, underlined: &str, what: &str) {
    let error = parsed(text).expect_err(text);
    let shown = format!("{:?}", miette::Report::new(error));
    let label = shown
        .replace("\n  │", " ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(label.contains(what), "{what}: {shown}");
    let error = parsed(text).expect_err(text);
    let labels: Vec<_> = miette::Diagnostic::labels(&error).unwrap().collect();
    let span = labels[0].inner();
    assert_eq!(&text[span.offset()..span.offset() + span.len()], underlined);
}

#[test]
fn mistakes_are_underlined() {
    let get = |more: &str| format!("[[request]]\nname = \"a\"\npath = \"/\"\n{more}\n");
    let path = |path: &str| format!("[[request]]\nname = \"a\"\npath = \"{path}\"\n");
    mistake(
        &path("/{{row users.csv nam}}"),
        "{{row users.csv nam}}",
        "has no column \"nam\": it has name, city",
    );
    mistake(
        &path("/{{row no.csv name}}"),
        "{{row no.csv name}}",
        "cannot read",
    );
    mistake(
        &path("/{{row empty.csv name}}"),
        "{{row empty.csv name}}",
        "has no rows",
    );
    mistake(&path("/x{{int 5}}"), "{{int 5}}", "two whole numbers");
    mistake(&path("/{{int 5 1}}"), "{{int 5 1}}", "must not be above");
    mistake(&path("/{{uid}}"), "{{uid}}", "there is no \"uid\"");
    mistake(&path("/{{uuid"), "{{", "has no end");
    mistake(&path("a b"), "\"a b\"", "begins with a slash");
    mistake(&path("http://x/"), "\"http://x/\"", "begins with a slash");
    mistake(&get("methd = \"GET\""), "methd", "unknown field");
    mistake(&get("weight = 0"), "0", "at least 1");
    mistake(&get("method = \"G T\""), "\"G T\"", "not a method");
    mistake(
        &get("expect.status = \"20x\""),
        "\"20x\"",
        "expected a status",
    );
    mistake(&get("expect.status = 20"), "20", "expected a status");
    mistake(
        &get("expect.matches = \"(\""),
        "\"(\"",
        "not a regular expression",
    );
    mistake(&get("expect.json = { id = 1 }"), "1", "is not a path");
    mistake(&get("expect.contains = 5"), "5", "expected a text");
    mistake(
        &get("expect.body = \"x\"\nexpect.length = 1"),
        "1",
        "given already",
    );
    mistake(
        &get("headers = { X = \"{{row lines.csv name}}\" }"),
        "{{row lines.csv name}}",
        "line 2 of lines.csv has a line end",
    );
    // Also when another request has used the column where a line end may stand.
    mistake(
        &format!(
            "{}[[request]]\nname = \"b\"\npath = \"/\"\nheaders = {{ X = \"{{{{row lines.csv name}}}}\" }}",
            get("body = \"{{row lines.csv name }}\"")
        ),
        "{{row lines.csv name}}",
        "line 2 of lines.csv has a line end",
    );
    mistake(
        &get("body_file = \"none.json\""),
        "\"none.json\"",
        "cannot read",
    );
    mistake(
        &format!("sample = 2.0\n{}", get("")),
        "2.0",
        "a share from 0 to 1",
    );
    let twice = format!("{}{}", get(""), get("").replace("\"/\"", "\"/b\""));
    assert!(
        parsed(&twice)
            .unwrap_err()
            .to_string()
            .contains("not right")
    );
    let rare = format!(
        "{}[[request]]\nname = \"b\"\npath = \"/\"\nweight = 9000",
        get("")
    );
    mistake(&rare, "\"a\"", "would never be sent");
}

/// The values of each column that is used, in the order of the tables.
fn columns(mix: &Mix) -> Vec<Vec<String>> {
    let values = |column: &prony_engine::protocol::mix::Column| {
        let text = |row| String::from_utf8(column.value(row).to_vec()).unwrap();
        (0..column.len()).map(text).collect()
    };
    let tables = mix.tables.iter();
    tables
        .flat_map(|table| table.columns.iter().map(values))
        .collect()
}

#[test]
fn values_are_written_as_their_place_needs() {
    let folder = tempfile::tempdir().unwrap();
    let csv = "\u{feff}name,json\r\n\"a \"\"b\"\"\nc\\d&é\",\"{\"\"x\"\":1}\"\r\n";
    std::fs::write(folder.path().join("t.csv"), csv).unwrap();
    let used = |more: &str| {
        let text = format!("[[request]]\nname = 'a'\npath = '/'\n{more}\n");
        let mix = parse(
            &Source::new("shop.toml", text.as_str()),
            folder.path(),
            &server(),
        );
        columns(&mix.unwrap())
    };
    let plain = "a \"b\"\nc\\d&é";
    let escaped = "a \\\"b\\\"\\nc\\\\d&é";
    let percent = "a%20%22b%22%0Ac%5Cd%26%C3%A9";
    // Inside a string of a JSON body, and as a value of its own.
    let body = r#"body = '{"a": "x\"{{row t.csv name}}", "b": {{row t.csv json}}}'"#;
    assert_eq!(used(body), [[escaped], [r#"{"x":1}"#]]);
    let json = r#"headers = { content-type = "application/problem+JSON" }"#;
    let body = r#"body = '"{{row t.csv name}}"'"#;
    assert_eq!(used(&format!("{json}\n{body}")), [[escaped]]);
    // A content type that says otherwise, a form, and a text.
    let form = r#"headers = { Content-Type = "application/x-www-form-urlencoded" }"#;
    let body = "body = 'name={{row t.csv name}}'";
    assert_eq!(used(&format!("{form}\n{body}")), [[percent]]);
    let text = r#"headers = { Content-Type = "text/plain" }"#;
    let body = r#"body = '{"{{row t.csv name}}"}'"#;
    assert_eq!(used(&format!("{text}\n{body}")), [[plain]]);
    assert_eq!(used("body = '{{row t.csv name}}'"), [[plain]]);
}
