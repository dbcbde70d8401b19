use super::*;
use prony_engine::protocol::Mix;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Makes a file of requests from `text`, which must be recognised as `format`.
#[track_caller]
fn made(format: Format, text: &str) -> (Made, Mix) {
    assert_eq!(Format::of(text), Some(format), "{text}");
    let folder = folder();
    std::fs::write(folder.path().join("body.json"), "{\"a\":\n1}\n").unwrap();
    let made = make(text, None, None, folder.path()).unwrap();
    let source = crate::source::Source::new("shop.toml", made.text.as_str());
    let mix = crate::requests::parse(&source, folder.path(), &ServerFacts::anywhere()).unwrap();
    (made, mix)
}

/// The notes, a line for each.
fn listed(made: &Made) -> String {
    let all: Vec<String> = made.notes.iter().map(ToString::to_string).collect();
    all.join("\n")
}

/// Name, method, weight and text of path, header fields and body.
pub(super) fn shown(mix: &Mix) -> Vec<String> {
    use prony_engine::protocol::mix::Piece;
    let text = |pieces: &[Piece]| -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => format!("<{other:?}>"),
        };
        pieces.iter().map(piece).collect()
    };
    let all = mix.requests.iter().map(|one| {
        let fields = one.headers.iter();
        let fields: Vec<String> = fields
            .map(|(name, value)| format!("{name}: {}", text(value)))
            .collect();
        let (method, path, body) = (&one.method, text(&one.path), text(&one.body));
        format!(
            "{} x{} {method} {path} [{}] {body}",
            one.name,
            one.weight,
            fields.join("; ")
        )
    });
    all.collect()
}

#[test]
fn curl() {
    let (made, mix) = made(
        Format::Curl,
        "curl -sS 'http://shop:8000/items?page=2' \\\n  -H 'Accept: */*' -H 'Host: x' --compressed\n\
         curl -XPOST http://shop:8000/orders -H 'Content-Type: application/json' -d '{\"item\": \"a'\\''b\"}'\n\
         curl http://shop:8000/form -d a=1 -d 'b=2 3' -u ann:secret -L\n\
         curl -G http://shop:8000/search --data-urlencode 'q=a b&c'\n\
         curl --json '{\"t\":\"{{x}}\"}' http://shop:8000/json; curl -I shop:8000/\n\
         curl -F file=@x http://shop:8000/upload\n\
         curl --data-binary @body.json -b 'a=1' http://shop:8000/raw\n\
         curl http://other/ --frobnicate\n",
    );
    assert_eq!(
        shown(&mix),
        [
            "get-items x1 GET /items?page=2 [Accept: */*; Accept-Encoding: deflate, gzip, br, zstd; Host: x; User-Agent: curl/8.5.0] ",
            "post-orders x1 POST /orders [Accept: */*; Content-Type: application/json; User-Agent: curl/8.5.0] {\"item\": \"a'b\"}",
            "post-form x1 POST /form [Accept: */*; Authorization: Basic YW5uOnNlY3JldA==; Content-Type: application/x-www-form-urlencoded; User-Agent: curl/8.5.0] a=1&b=2 3",
            "get-search x1 GET /search?q=a+b%26c [Accept: */*; User-Agent: curl/8.5.0] ",
            "post-json x1 POST /json [Accept: application/json; Content-Type: application/json; User-Agent: curl/8.5.0] {\"t\":\"{{x}}\"}",
            "head x1 HEAD / [Accept: */*; User-Agent: curl/8.5.0] ",
            "post-raw x1 POST /raw [Accept: */*; Content-Type: application/x-www-form-urlencoded; Cookie: a=1; User-Agent: curl/8.5.0] {\"a\":\n1}\n",
        ]
    );
    let notes = listed(&made);
    for word in [
        "-L: redirects",
        "cannot read",
        "request to http://other",
        "--frobnicate is not known",
    ] {
        assert!(notes.contains(word), "{word}: {notes}");
    }
    assert!(
        made.text
            .starts_with("# prony load -f THIS_FILE http://shop:8000\n")
    );
}

#[test]
fn vegeta() {
    let (_, mix) = made(
        Format::Vegeta,
        "# targets\nGET http://h/a\nX-One: 1\n\nPOST http://h/b\nContent-Type: application/json\n@body.json\nGET http://h/a\nX-One: 1\n",
    );
    assert_eq!(
        shown(&mix),
        [
            "get-a x2 GET /a [X-One: 1] ",
            "post-b x1 POST /b [Content-Type: application/json] {\"a\":\n1}\n"
        ]
    );
    let (_, mix) = made(
        Format::Vegeta,
        "{\"method\":\"POST\",\"url\":\"http://h/a\",\"body\":\"/wA=\",\"header\":{\"X\":[\"1\",\"2\"]}}\n\
         {\"method\":\"GET\",\"url\":\"http://h/b\"}\n",
    );
    assert_eq!(shown(&mix)[1], "get-b x1 GET /b [] ");
    assert_eq!(
        mix.requests[0].body,
        [prony_engine::protocol::mix::text([0xff, 0])]
    );
    assert_eq!(mix.requests[0].headers.len(), 1);
    let error = make("GET http://h/a\nnonsense\n", None, None, Path::new("")).unwrap_err();
    assert!(error.to_string().contains("line 2"), "{error}");
}

#[test]
fn har() {
    let (made, mix) = made(
        Format::Har,
        r#"{"log": {"version": "1.2", "entries": [
            {"request": {"method": "GET", "url": "https://shop/a?b=c", "headers": [
                {"name": ":authority", "value": "shop"}, {"name": "cookie", "value": "a=1"},
                {"name": "Cookie", "value": "b=2"}]}, "response": {"status": 404}},
            {"request": {"method": "POST", "url": "https://shop/up", "headers": [],
                "postData": {"mimeType": "image/png", "text": "iVBORwD/", "encoding": "base64"}},
             "response": {"status": 0}},
            {"request": {"method": "POST", "url": "https://shop/form", "headers": [],
                "postData": {"mimeType": "application/x-www-form-urlencoded",
                    "params": [{"name": "a b", "value": "&"}]}}},
            {"request": {"method": "GET", "url": "https://cdn/x.js", "headers": []}},
            {"request": {"method": "GET", "url": "blob:x", "headers": []}}
        ]}}"#,
    );
    assert_eq!(
        shown(&mix)[..1],
        ["get-a x1 GET /a?b=c [cookie: a=1; b=2] "]
    );
    assert_eq!(mix.requests[0].expected.status, [(404, 404)]);
    let png = b"\x89PNG\x00\xff".as_slice();
    assert_eq!(
        mix.requests[1].body,
        [prony_engine::protocol::mix::text(png)]
    );
    assert!(shown(&mix)[2].ends_with("a+b=%26"), "{:?}", shown(&mix));
    let notes = listed(&made);
    for word in [
        "request to https://cdn",
        "entry 5: blob:, which no server is asked for",
    ] {
        assert!(notes.contains(word), "{word}: {notes}");
    }
}

#[test]
fn open_api() {
    let yaml = r"
openapi: 3.0.3
servers: [{url: 'http://localhost:8000/v1'}]
paths:
  /items/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: integer, minimum: 5, maximum: 9}}
    get:
      operationId: getItem
      parameters:
        - {name: lang, in: query, required: true, schema: {type: string, enum: [de, en]}}
        - {name: page, in: query, schema: {type: integer}}
      responses: {'200': {description: ok}}
    delete:
      security: [{key: []}]
      responses: {'204': {description: gone}}
  /items:
    post:
      requestBody:
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Item'}
      responses: {'201': {description: made}}
  /upload:
    post:
      requestBody: {content: {image/png: {}}}
      responses: {}
components:
  schemas:
    Item:
      type: object
      required: [name, price, parts, id]
      properties:
        id: {type: string, readOnly: true}
        name: {type: string, example: 'a {{b}} c'}
        price: {type: number}
        key: {type: string, format: uuid}
        parts: {type: array, items: {$ref: '#/components/schemas/Item'}}
";
    let (made, mix) = made(Format::OpenApi, yaml);
    let shown = shown(&mix);
    assert_eq!(shown[0], "getItem x1 GET /v1/items/<Int(5, 9)>?lang=de [] ");
    assert_eq!(
        shown[1],
        "delete-v1-items-id x1 DELETE /v1/items/<Int(5, 9)> [] "
    );
    let item = "post-v1-items x1 POST /v1/items [Content-Type: application/json] \
                {\"name\":\"a {{b}} c\",\"price\":<Int(1, 1000)>,\"parts\":[{\"name\":\"a {{b}} c\"";
    assert!(shown[2].starts_with(item), "{shown:?}");
    assert_eq!(mix.requests[2].expected.status, [(201, 201)]);
    let notes = listed(&made);
    for word in ["it needs credentials", "a body of image/png"] {
        assert!(notes.contains(word), "{word}: {notes}");
    }
    let json = r#"{"openapi": "3.1.0", "paths": {"/": {"get": {}}}}"#;
    let source = make(json, None, None, Path::new("")).unwrap();
    assert!(source.text.contains("path = \"/\""), "{}", source.text);
    let old = make("{\"openapi\": \"2.0\"}", None, None, Path::new("")).unwrap_err();
    assert!(old.to_string().contains("3.0 and 3.1"), "{old}");
}

#[test]
fn access_log() {
    let line = |request: &str, status: u32| {
        format!(
            "1.2.3.4 - - [10/Oct/2026:13:55:36 +0000] \"{request}\" {status} 12 \"-\" \"curl \\\"8\\\"\"\n"
        )
    };
    let mut text = String::new();
    for n in 0..3_000 {
        text += &line("GET / HTTP/1.1", 200);
        text += &line(
            "GET /items?page=1 HTTP/1.1",
            if n % 2 == 0 { 200 } else { 404 },
        );
    }
    text += &line("GET /rare HTTP/1.1", 200);
    text += &line("POST /orders HTTP/1.1", 201);
    text += &line("\\x16\\x03", 400);
    text += "nonsense\n";
    let (made, mix) = made(Format::AccessLog, &text);
    assert_eq!(
        shown(&mix),
        [
            "get x3000 GET / [] ",
            "get-items x3000 GET /items?page=1 [] "
        ]
    );
    assert_eq!(mix.requests[1].expected.status, [(200, 200), (404, 404)]);
    let notes = listed(&made);
    for word in [
        "line 6002: POST, whose bodies",
        "line 6003: no request over HTTP",
        "line 6004: not in the common",
        "GET /rare: request of which there is less than one in a thousand, of 6001",
    ] {
        assert!(notes.contains(word), "{word}: {notes}");
    }
}

#[test]
fn nothing_is_made_of_nothing() {
    for text in ["", "hello", "{}", "<xml/>"] {
        let error = make(text, None, None, Path::new("")).unwrap_err();
        assert!(matches!(error, FromError::Unknown), "{text}: {error}");
    }
    let error = make("curl -F a=@none http://h/", None, None, Path::new("")).unwrap_err();
    assert!(matches!(error, FromError::None { .. }), "{error}");
    assert!("swagger".parse::<Format>().is_err());
}

/// Each request in a line, and the notes.
#[track_caller]
pub(super) fn of(text: &str) -> (Vec<String>, String) {
    let folder = folder();
    let made = make(text, None, None, folder.path());
    let made = made.unwrap_or_else(|error| panic!("{text}: {error}"));
    let source = crate::source::Source::new("shop.toml", made.text.as_str());
    let mix = crate::requests::parse(&source, folder.path(), &ServerFacts::anywhere()).unwrap();
    (shown(&mix), listed(&made))
}

fn recorded(entries: &str) -> String {
    format!(r#"{{"log": {{"version": "1.2", "pages": [{{}}], "entries": [{entries}]}}}}"#)
}

#[test]
fn a_recording_is_of_its_page() {
    let entry = |url: &str, status: u16| {
        format!(
            r#"{{"request": {{"method": "GET", "url": "{url}"}}, "response": {{"status": {status}}}}}"#
        )
    };
    let all = [
        entry("http://shop.test/", 301),
        entry("https://shop.test/", 200),
        entry("https://t.test/1", 200),
        entry("https://t.test/2", 200),
        entry("https://t.test/3", 200),
    ];
    let text = recorded(&all.join(","));
    let (requests, notes) = of(&text);
    assert_eq!(requests, ["get x1 GET / [] "]);
    assert!(notes.contains("3 × request to https://t.test"), "{notes}");
    let found = make(&text, None, None, Path::new("")).unwrap();
    let servers = found.notes.iter().filter_map(|note| note.server.as_deref());
    assert_eq!(
        servers.collect::<Vec<_>>(),
        ["http://shop.test", "https://t.test"]
    );
    for server in ["t.test", "https://t.test", "https://T.test/", "t.test:443"] {
        let made = make(&text, None, Some(server), Path::new(""));
        let expected = server != "t.test:443";
        assert_eq!(made.is_ok(), expected, "{server}");
        if let Ok(made) = made {
            assert_eq!(made.server, "https://t.test");
        }
    }
    let none = make(&text, None, Some("other.test"), Path::new("")).unwrap_err();
    assert!(
        none.to_string().contains("there are http://shop.test"),
        "{none}"
    );
}

#[test]
fn recorded_texts_are_texts() {
    let headers = r#""headers": [{"name": "X-T", "value": "{{seq}} {{{x}}"}, {"name": "Host", "value": "other"}]"#;
    let all = [
        format!(r#"{{"request": {{"method": "GET", "url": "http://ann:b%40c@h/{{{{a}}}}?b=|", {headers}}}}}"#),
        r#"{"request": {"method": "POST", "url": "http://h/b", "headers": [], "cookies": [{"name": "a", "value": "1"}],
            "postData": {"mimeType": "text/plain", "text": "{{uuid}} ü"}}}"#.into(),
        r#"{"request": {"method": "POST", "url": "http://h/bytes", "headers": [],
            "postData": {"mimeType": "image/png", "text": "\u0089PNG\u0000ÿ"}}}"#.into(),
        r#"{"request": {"method": "POST", "url": "http://h/lost", "headers": [],
            "postData": {"mimeType": "image/png", "text": "\ufffdPNG"}}}"#.into(),
        r#"{"request": {"method": "POST", "url": "http://h/form", "headers": [],
            "postData": {"mimeType": "multipart/form-data; boundary=B", "params": [{"name": "a", "value": "1"}]}}}"#.into(),
        r#"{"request": {"method": "GET", "url": "http://h/ws", "headers": []}, "_resourceType": "websocket"}"#.into(),
        r#"{"request": {"method": "POST", "url": "http://h/n", "postData": {"mimeType": "", "text": "", "params": null}}, "response": null}"#.into(),
    ];
    let (requests, notes) = of(&recorded(&all.join(",")));
    assert_eq!(
        requests[0],
        "get-a x1 GET /{{a}}?b=| [Authorization: Basic YW5uOmJAYw==; Host: other; X-T: {{seq}} {{{x}}] "
    );
    assert_eq!(
        requests[1],
        "post-b x1 POST /b [Content-Type: text/plain; Cookie: a=1] {{uuid}} ü"
    );
    assert!(requests[2].starts_with("post-bytes"), "{requests:?}");
    assert!(
        requests[2].ends_with("\u{fffd}PNG\0\u{fffd}"),
        "{requests:?}"
    );
    assert!(
        requests[3]
            .ends_with("--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--B--\r\n"),
        "{requests:?}"
    );
    assert_eq!(requests[4], "post-n x1 POST /n [] ");
    assert_eq!(requests.len(), 5);
    assert_eq!(
        notes,
        "entry 4, POST http://h/lost: a body of bytes was recorded as text, in which some are lost\n\
         entry 6, GET http://h/ws: a WebSocket: prony load ws://… sends messages"
    );
}

#[test]
fn servers_of_paths_and_operations() {
    let (requests, notes) = of(r"
openapi: 3.0.3
servers:
  - url: '{scheme}://h:9{base}'
    variables: {scheme: {default: http}, base: {enum: [/v1], default: /v1}}
paths:
  /a: {get: {}}
  /b:
    servers: [{url: 'http://other/v2'}]
    get: {}
  /c: {get: {servers: [{url: 'http://h:9/v9/'}]}, trace: {}}
  '/d#one': {get: {parameters: [{name: q, in: query, required: true, example: x}]}}
  '/d?m=two': {get: {parameters: [{name: q, in: query, required: true, example: x}]}}
  /e: {get: {servers: [{url: 'http://{region}/'}]}}
  /f/{id}: {get: {}}
");
    let lines: Vec<&str> = requests
        .iter()
        .map(|line| line.split(" x1 ").nth(1).unwrap().trim_end_matches(" [] "))
        .collect();
    assert_eq!(
        lines,
        [
            "GET /v1/a",
            "GET /v9/c",
            "TRACE /v1/c",
            "GET /v1/d?q=x",
            "GET /v1/d?m=two&q=x"
        ]
    );
    for word in [
        "request to http://other",
        "GET /e: left out: its server http://{region}/ has a variable \"region\"",
        "GET /f/{id}: left out: its path has {id}, which no parameter describes",
    ] {
        assert!(notes.contains(word), "{word}: {notes}");
    }
}

#[test]
fn values_keep_to_their_schemas() {
    let (requests, notes) = of(r#"
openapi: 3.1.0
servers: [{url: 'http://h'}]
paths:
  /a:
    get:
      parameters:
        - {name: ids, in: query, required: true, schema: {type: array, items: {type: integer}}, example: [1, 2]}
        - {name: csv, in: query, required: true, explode: false, schema: {type: array}, example: [1, 2]}
        - {name: f, in: query, required: true, style: deepObject, schema: {type: object}, example: {a: 1}}
        - {name: j, in: query, required: true, content: {application/json: {example: {a: 1}}}}
        - {name: pat, in: query, required: true, schema: {type: string, pattern: '^[A-Z]{3}$'}}
        - {name: ml, in: query, required: true, schema: {type: string, minLength: 10}}
        - {name: short, in: query, required: true, schema: {type: string, maxLength: 2}}
        - {name: even, in: query, required: true, schema: {type: integer, minimum: 3, multipleOf: 4}}
        - {name: half, in: query, required: true, schema: {type: number, minimum: 0.25, maximum: 0.75}}
        - {name: over, in: query, required: true, schema: {type: integer, exclusiveMinimum: 5, maximum: 6}}
        - {name: nul, in: query, required: true, schema: {type: ["null", boolean]}}
        - {name: sid, in: cookie, required: true, example: '{{x}}'}
        - {name: X-L, in: header, required: true, example: [1, 2]}
  /b: {get: {parameters: [{name: p, in: query, required: true, schema: {type: string, pattern: '^(?=x)y'}}]}}
  /form:
    post:
      requestBody:
        content:
          application/x-www-form-urlencoded:
            schema: {type: object, properties: {a: {example: 'x y'}, b: {type: array, example: [1, 2]}}}
  /up:
    post:
      requestBody:
        content:
          multipart/form-data:
            schema: {type: object, properties: {note: {example: hi}, file: {type: string, format: binary}}}
  /text: {post: {requestBody: {content: {application/json: {example: '{"a": 1}', schema: {type: object}}}}}}
  /xml: {post: {requestBody: {required: true, content: {application/xml: {schema: {type: object}}}}}}
"#);
    assert_eq!(
        requests[0],
        "get-a x1 GET /a?ids=1&ids=2&csv=1,2&f[a]=1&j=%7B%22a%22%3A1%7D&pat=AAA&ml=texttextte&short=te&even=4&half=0.5&over=<Int(6, 6)>&nul=true [Cookie: sid=%7B%7Bx%7D%7D; X-L: 1,2] "
    );
    assert_eq!(
        requests[1],
        "post-form x1 POST /form [Content-Type: application/x-www-form-urlencoded] a=x%20y&b=1&b=2"
    );
    assert!(
        requests[2]
            .contains("name=\"file\"; filename=\"file\"\r\nContent-Type: application/octet-stream"),
        "{requests:?}"
    );
    assert!(
        requests[3].ends_with("[Content-Type: application/json] {\"a\": 1}"),
        "{requests:?}"
    );
    assert_eq!(requests.len(), 4);
    for word in [
        "GET /b: left out: the query p: no text is found that matches its pattern",
        "POST /xml: left out: a body of application/xml",
    ] {
        assert!(notes.contains(word), "{word}: {notes}");
    }
}

#[test]
fn a_description_of_several_files() {
    let folder = folder();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "paths/items.yaml",
        "x: {get: {parameters: [{$ref: '../common.json#/limit'}]}}\n",
    );
    write(
        "common.json",
        r##"{"limit": {"name": "limit", "in": "query", "required": true, "schema": {"$ref": "#/n"}}, "n": {"type": "integer", "example": 7}}"##,
    );
    write(
        "paths/get.yml",
        "parameters: [{$ref: ../common.json#/limit}]\nresponses: {200: {}}\n",
    );
    let text = "openapi: 3.0.0\nx-large: 18446744073709552000\npaths:\n  /w: {get: {$ref: paths/get.yml}}\n  /x: {$ref: 'paths/items.yaml#/x'}\n  /y: {$ref: 'other.yaml#/y'}\n  /z: {get: {parameters: [{$ref: '#/components/none'}]}}\n";
    let made = make(text, None, None, folder.path()).unwrap();
    assert!(made.text.contains("path = \"/x?limit=7\""), "{}", made.text);
    assert!(
        made.text
            .contains("path = \"/w?limit=7\"\nexpect.status = 200"),
        "{}",
        made.text
    );
    let notes = listed(&made);
    for word in [
        "other.yaml: cannot read",
        "/y: other.yaml#/y refers to nothing",
        "GET /z: #/components/none refers to nothing",
    ] {
        assert!(notes.contains(word), "{word}: {notes}");
    }
}

#[test]
fn logs_as_servers_write_them() {
    let line = |request: &str| {
        format!("1.2.3.4 - - [10/Oct/2026:13:55:36 +0000] \"{request}\" 200 12 \"-\" \"-\"\n")
    };
    for (request, path) in [
        ("GET /a b HTTP/1.1", "/a%20b"),
        ("GET /t?x={{int 1 5}} HTTP/1.1", "/t?x={{int%201%205}}"),
        ("GET /ü HTTP/1.1", "/%C3%BC"),
        (
            r"GET /b?q=\x22x\x22&z=\xC3\xBC HTTP/1.1",
            "/b?q=%22x%22&z=%C3%BC",
        ),
        (r"GET /a\\b\tc HTTP/1.1", r"/a\b%09c"),
        ("GET /page#top HTTP/1.1", "/page"),
        ("GET http://h/a?b HTTP/1.1", "/a?b"),
        ("GET http://h HTTP/1.1", "/"),
        ("GET /a%2Fb HTTP/2.0", "/a%2Fb"),
    ] {
        let (requests, notes) = of(&line(request));
        let sent = requests[0].split(" x1 GET ").nth(1).unwrap();
        assert_eq!(sent, format!("{path} [] "), "{request}");
        assert_eq!(notes, "", "{request}");
    }
    let none = line("POST /c HTTP/1.1") + &line("OPTIONS * HTTP/1.1") + &line(r"\x16\x03\x01");
    let none = make(&none, None, None, Path::new(""))
        .unwrap_err()
        .to_string();
    for word in [
        "POST, whose bodies",
        "OPTIONS, whose bodies",
        "no request over HTTP",
    ] {
        assert!(none.contains(word), "all reasons are listed: {none}");
    }
}

#[test]
fn lists_of_urls() {
    let (requests, notes) = of(
        "# siege's\nhttp://h/a\n\nhttp://h/b?c=d#e\nhttp://h/f POST a=1\nhttp://u:p@h/g\nhttp://h/a\nftp://h/\n",
    );
    assert_eq!(
        requests,
        [
            "get-a x2 GET /a [] ",
            "get-b x1 GET /b?c=d [] ",
            "post-f x1 POST /f [Content-Type: application/x-www-form-urlencoded] a=1",
            "get-g x1 GET /g [Authorization: Basic dTpw] "
        ]
    );
    assert_eq!(notes, "line 8: ftp://h/: not over HTTP");
    let (requests, notes) = of("/a?b#c\n/ü\n");
    assert_eq!(
        requests,
        ["get-a x1 GET /a?b [] ", "get-C3-BC x1 GET /%C3%BC [] "]
    );
    assert_eq!(notes, "");
}

proptest::proptest! {
    /// Every file that is made can be read and sent, whatever the text is.
    #[test]
    fn what_is_made_can_be_sent(
        kind in 0_usize..6,
        parts in proptest::collection::vec("(curl |http://h|https://h:1|/|\\?|#|a|ü| |\n|\\{\\{|\\}\\}|\\[1-3\\]|-d |-H |-F |'|\"|\\\\x22|=|:|;|&|GET |POST | HTTP/1.1|\u{1}|\u{2}|\\PC)", 0..30),
    ) {
        let middle = parts.concat();
        let text = match kind {
            0 => format!("curl {middle}"),
            1 => format!("GET http://h/{middle}"),
            2 => format!("http://h/{middle}"),
            3 => format!("::1 - - [10/Oct/2026:13:55:36 +0000] \"{middle}\" 200 12 "),
            4 => recorded(&format!(
                r#"{{"request": {{"method": "POST", "url": {0}, "headers": [{{"name": "X", "value": {0}}}], "postData": {{"mimeType": "text/plain", "text": {0}}}}}}}"#,
                serde_json::Value::from(format!("http://h/{middle}")),
            )),
            _ => format!(
                "openapi: 3.0.0\npaths:\n  {0}: {{post: {{parameters: [{{name: {0}, in: query, required: true, example: {0}}}, {{name: X, in: header, required: true, example: {0}}}], requestBody: {{content: {{application/json: {{example: {0}}}}}}}}}}}\n",
                serde_json::Value::from(format!("/{middle}")),
            ),
        };
        match make(&text, None, None, Path::new("/nonexistent")) {
            Ok(made) => {
                let source = crate::source::Source::new("shop.toml", made.text.as_str());
                let mix = crate::requests::parse(&source, Path::new(""), &ServerFacts::anywhere());
                let mix = mix.expect("it was read before");
                for request in &mix.requests {
                    let mut path = String::new();
                    for piece in &request.path {
                        match piece {
                            prony_engine::protocol::mix::Piece::Text(bytes) => {
                                path += std::str::from_utf8(bytes).unwrap();
                            }
                            other => panic!("{text}: a value: {other:?}"),
                        }
                    }
                    proptest::prop_assert!(path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'), "{path:?}");
                }
            }
            Err(FromError::Made(why)) => panic!("{text}: {why}"),
            Err(_) => {}
        }
    }
}

#[test]
fn what_is_not_read_is_named() {
    for (text, word) in [
        ("{\"swagger\":\"2.0\",\"paths\":{}}", "Swagger 2.0"),
        ("swagger: '2.0'\npaths: {}\n", "Swagger 2.0"),
        (
            "{\"values\":[],\"_postman_variable_scope\":\"environment\"}",
            "environment of Postman",
        ),
        ("\u{1f}\u{fffd}\u{8}", "packed"),
        ("<?xml?><jmeterTestPlan/>", "JMeter"),
        ("Invoke-WebRequest -Uri \"http://h/\"", "PowerShell"),
        ("fetch(\"http://h/\", {});", "fetch"),
        ("### a\nGET http://h/ HTTP/1.1\n", ".http"),
        (
            "{\"remote_addr\":\"1.2.3.4\",\"request_uri\":\"/\"}",
            "log in JSON",
        ),
        (
            "{\"request\":{\"remote_ip\":\"::1\",\"uri\":\"/\"}}\n",
            "log in JSON",
        ),
        ("#Version: 1.0\n#Fields: date time\n", "W3C"),
    ] {
        let error = make(text, None, None, Path::new("")).unwrap_err();
        assert!(matches!(error, FromError::Other(_)), "{text}: {error}");
        assert!(error.to_string().contains(word), "{text}: {error}");
    }
}

#[test]
fn bytes_that_are_not_text_are_not_sent() {
    let lost = String::from_utf8_lossy(b"http://h/a?\xff\nhttp://h/b\nhttp://h/c POST \xff\n")
        .into_owned();
    let (requests, notes) = of(&lost);
    assert_eq!(requests, ["get-b x1 GET /b [] "]);
    assert_eq!(
        notes,
        "GET /a?%EF%BF%BD, POST /c: it has bytes that are not UTF-8"
    );
}

#[test]
fn a_brace_before_a_value_is_a_brace() {
    for (text, expected) in [
        ("{\u{1}uuid\u{2}}", "{{\"{\"}}{{uuid}}}"),
        ("{{{\u{1}uuid\u{2}", "{{\"{{\"}}{{\"{\"}}{{uuid}}"),
    ] {
        assert_eq!(write::template(text, true), expected);
    }
}
