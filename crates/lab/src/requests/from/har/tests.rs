use super::super::tests::of;
use serde_json::{Value, json};

fn recorded(entries: Value) -> String {
    let mut file = json!({"log": {}});
    file["log"]["entries"] = entries;
    file.to_string()
}

fn post(kind: Value, body: Value) -> Value {
    let mut request = json!({"method": "POST", "url": "http://h/a"});
    if kind.is_string() {
        request["headers"] = json!([{"name": "Content-Type"}]);
        request["headers"][0]["value"] = kind;
    }
    request["postData"] = body;
    json!({"request": request})
}

#[test]
fn forms_of_several_parts() {
    let params = json!([
        {"name": "note", "value": "hi"},
        {"name": "file", "fileName": "a.txt", "contentType": "text/plain", "value": "ü"},
        {"name": "bytes", "fileName": "b.bin", "value": "/wA=", "encoding": "base64"},
    ]);
    let form = "multipart/form-data";
    let lost = json!([{"name": "file", "fileName": "c.png"}]);
    let (requests, notes) = of(&recorded(json!([
        post(
            json!("multipart/form-data; boundary=\"B\""),
            json!({"mimeType": form, "params": params, "text": ""})
        ),
        post(
            Value::Null,
            json!({"mimeType": form, "params": [{"name": "a", "value": "1"}]})
        ),
        post(
            json!(form),
            json!({"mimeType": form, "text": "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--X--\r\n"})
        ),
        post(json!(form), json!({"mimeType": form, "text": "a=1"})),
        post(json!(form), json!({"mimeType": form, "params": lost})),
    ])));
    assert_eq!(requests.len(), 3, "{requests:?}");
    for word in [
        "[Content-Type: multipart/form-data; boundary=B] --B\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhi\r\n--B",
        "name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nü\r\n",
        "name=\"bytes\"; filename=\"b.bin\"\r\nContent-Type: application/octet-stream\r\n\r\n\u{fffd}\0\r\n--B--\r\n",
    ] {
        assert!(requests[0].contains(word), "{word}: {requests:?}");
    }
    assert!(
        requests[1].contains("boundary=------------------------prony"),
        "{requests:?}"
    );
    assert!(requests[2].contains("boundary=X] --X\r\n"), "{requests:?}");
    assert_eq!(
        notes,
        "entry 4, POST http://h/a: a form was recorded without its boundary\n\
         entry 5, POST http://h/a: the content of the file \"c.png\" was not recorded"
    );
}

#[test]
fn recordings_without_pages() {
    let entry = |url: &str, kind: &str| {
        json!({"request": {"method": "GET", "url": url, "headers": [{"name": ":authority", "value": "h"}], "cookies": null,
            "postData": null}, "response": {"status": 200, "content": {"mimeType": kind}}})
    };
    let [stats, api] =
        ["https://stats.test/", "https://api.test/"].map(|url| entry(url, "application/json"));
    // A program's: most requests count.
    let (requests, notes) = of(&recorded(json!([stats, api, api])));
    assert_eq!(requests, ["get x2 GET / [] "]);
    assert!(notes.contains("here https://api.test"), "{notes}");
    // A browser's: the document counts.
    let page = entry("https://shop.test/", "text/html; charset=utf-8");
    let (_, notes) = of(&recorded(json!([stats, page, api, api])));
    assert!(notes.contains("here https://shop.test"), "{notes}");
    // One entry that lacks something does not take the others with it.
    let (requests, notes) = of(&recorded(json!([{"time": 5}, null, page])));
    assert_eq!(requests.len(), 1);
    assert_eq!(
        notes,
        "entry 1: skipped: its entry cannot be read: missing field `request`\n\
         entry 2: skipped: its entry cannot be read: invalid type: null, expected struct Entry"
    );
}
