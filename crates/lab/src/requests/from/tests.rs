use super::*;
use prony_engine::protocol::Mix;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Of this text, recognised as this.
#[track_caller]
fn made(format: Format, text: &str) -> (Made, Mix) {
    assert_eq!(Format::of(text), Some(format), "{text}");
    let folder = folder();
    std::fs::write(folder.path().join("body.json"), "{\"a\":\n1}\n").unwrap();
    let made = make(text, None, folder.path()).unwrap();
    let source = crate::source::Source::new("shop.toml", made.text.as_str());
    let mix = crate::requests::parse(&source, folder.path(), &Server::anywhere()).unwrap();
    (made, mix)
}

/// Name, method, weight and text of path, header fields and body.
fn shown(mix: &Mix) -> Vec<String> {
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
            "get-items x1 GET /items?page=2 [Accept: */*; Accept-Encoding: gzip, deflate] ",
            "post-orders x1 POST /orders [Content-Type: application/json] {\"item\": \"a'b\"}",
            "post-form x1 POST /form [Authorization: Basic YW5uOnNlY3JldA==; Content-Type: application/x-www-form-urlencoded] a=1&b=2 3",
            "get-search x1 GET /search?q=a%20b%26c [] ",
            "post-json x1 POST /json [Accept: application/json; Content-Type: application/json] {\"t\":\"{{x}}\"}",
            "head x1 HEAD / [] ",
            "post-raw x1 POST /raw [Content-Type: application/x-www-form-urlencoded; Cookie: a=1] {\"a\":\n1}\n",
        ]
    );
    let notes = made.notes.join("\n");
    for word in [
        "-L: redirects",
        "-F: bodies",
        "1 requests to http://other",
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
    let error = make("GET http://h/a\nnonsense\n", None, Path::new("")).unwrap_err();
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
    let notes = made.notes.join("\n");
    for word in ["1 requests to https://cdn", "blob:x"] {
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
                {\"name\":\"a { {b}} c\",\"price\":<Int(1, 1000)>,\"parts\":[{\"name\":\"a { {b}} c\"";
    assert!(shown[2].starts_with(item), "{shown:?}");
    assert_eq!(mix.requests[2].expected.status, [(201, 201)]);
    let notes = made.notes.join("\n");
    for word in [
        "it needs credentials",
        "a body of image/png",
        "texts with {{",
    ] {
        assert!(notes.contains(word), "{word}: {notes}");
    }
    let json = r#"{"openapi": "3.1.0", "paths": {"/": {"get": {}}}}"#;
    let source = make(json, None, Path::new("")).unwrap();
    assert!(source.text.contains("path = \"/\""), "{}", source.text);
    let old = make("{\"openapi\": \"2.0\"}", None, Path::new("")).unwrap_err();
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
    let notes = made.notes.join("\n");
    for word in [
        "1 line: POST, whose bodies",
        "1 line: no request over HTTP",
        "1 line: not in the common",
        "1 kinds of requests, each less than one in a thousand: 1 of 6001",
    ] {
        assert!(notes.contains(word), "{word}: {notes}");
    }
}

#[test]
fn nothing_is_made_of_nothing() {
    for text in ["", "hello", "{}", "<xml/>"] {
        let error = make(text, None, Path::new("")).unwrap_err();
        assert!(matches!(error, FromError::Unknown), "{text}: {error}");
    }
    let error = make("curl -F a=b http://h/", None, Path::new("")).unwrap_err();
    assert!(matches!(error, FromError::None { .. }), "{error}");
    assert!("swagger".parse::<Format>().is_err());
}
