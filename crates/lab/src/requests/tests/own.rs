//! Values with names, and expectations with values of the request.

use super::*;
use prony_engine::protocol::mix::{Own, ResponsePart, Written};

#[test]
fn a_value_is_named_once_and_repeated() {
    let mix = parsed(
        r#"
[[request]]
name = "a"
path = "/{{id = int 1 9}}/{{who=row users.csv city}}"
headers = { X = "{{id}}" }
body = '{"id": {{id}}, "city": "{{who}}", "key": "{{key = uuid}}"}'
expect.headers = { Location = "/a/{{id}}", X = "fixed" }
expect.contains = ["fixed", "{{ key }}"]
expect.json = { "$.n" = "{{seq}}", "$.city" = "{{who}}", "$.fixed.length()" = 3 }

[[request]]
name = "b"
path = "/{{id = uuid}}"
expect.body = "{{base64 {id}}}"
"#,
    )
    .unwrap();
    let [a, b] = mix.requests.as_slice() else {
        panic!("{mix:?}")
    };
    let id = Piece::Named(0, Box::new(Piece::Int(1, 9)));
    assert_eq!(a.path[2], id);
    assert_eq!(a.headers[0].1[1], Piece::Taken(0, Written::Plain));
    assert!(
        a.body.contains(&Piece::Taken(0, Written::Json))
            || a.body.contains(&Piece::Taken(0, Written::Plain))
    );
    let parts: Vec<&ResponsePart> = a.expected.own.iter().map(|own| &own.part).collect();
    assert!(
        matches!(
            parts[..],
            [
                ResponsePart::Header(_),
                ResponsePart::Contains,
                ResponsePart::Json(_),
                ResponsePart::Json(_)
            ]
        ),
        "{parts:?}"
    );
    assert_eq!(a.expected.headers, [("X".into(), Some("fixed".into()))]);
    assert_eq!(a.expected.contains, [b"fixed"]);
    assert!(a.expected.json[0].path.length);
    // The city as it is expected is not percent-encoded: another column than that of the path.
    let Piece::Row { column: sent, .. } = a.path[4] else {
        panic!("{a:?}")
    };
    let Some(Piece::Row {
        column: expected, ..
    }) = a.expected.own[2]
        .text
        .get(1)
        .or_else(|| a.expected.own[3].text.get(1))
    else {
        panic!("{a:?}")
    };
    assert_ne!(sent, *expected);
    // Each request has names of its own.
    assert_eq!(b.path[2], Piece::Named(0, Box::new(Piece::Uuid)));
    let inner = Piece::Base64(vec![text(""), Piece::Taken(0, Written::Plain), text("")]);
    let own = Own {
        part: ResponsePart::Body,
        text: vec![text(""), inner, text("")],
    };
    assert_eq!(b.expected.own, [own]);
}

#[test]
fn mistakes_with_names_are_underlined() {
    let get =
        |path: &str, more: &str| format!("[[request]]\nname = 'a'\npath = '{path}'\n{more}\n");
    let one = |more: &str| get("/{{id = int 1 9}}", more);
    mistake(
        &one("expect.json = { '$.id' = '{{idd}}' }"),
        "{{idd}}",
        "there is no \"idd\": known are int, uuid, row, seq, now, base64, id",
    );
    mistake(
        &one("expect.contains = ['x', 'a {{id}} {{int 1 9}}']"),
        "{{int 1 9}}",
        "another value than the one that was sent",
    );
    mistake(
        &one("expect.body = '{{now}}'"),
        "{{now}}",
        "another value than the one that was sent",
    );
    mistake(
        &one("expect.body = '{{x = seq}}'"),
        "{{x = seq}}",
        "another value than the one that was sent",
    );
    mistake(
        &one("expect.json = { '$' = { a = ['{{id}}'] } }"),
        "{ a = ['{{id}}'] }",
        "stands alone",
    );
    mistake(
        &one("headers = { X = '{{id = uuid}}' }"),
        "{{id = uuid}}",
        "there is a value \"id\" already",
    );
    mistake(
        &get("/{{int = uuid}}", ""),
        "{{int = uuid}}",
        "cannot be the name",
    );
    mistake(&get("/{{a = b}}", ""), "{{a = b}}", "there is no \"b\"");
    mistake(
        &get("/{{id}}/{{id = uuid}}", ""),
        "{{id}}",
        "there is no \"id\"",
    );
    mistake(
        &get("/{{c = row lines.csv name}}", "headers = { X = '{{c}}' }"),
        "{{c}}",
        "line 2 of lines.csv has a line end",
    );
    // The names of one request are not those of another.
    let two = format!("{}{}", one(""), get("/{{id}}", "").replace("'a'", "'b'"));
    mistake(&two, "{{id}}", "there is no \"id\"");
}

#[test]
fn the_steps_of_a_session_share_names() {
    let session = |take: &str| {
        format!(
            "[[session]]\nname = 's'\n[[session.step]]\nname = 'a'\npath = '/{{{{id = int 1 9}}}}'\n\
             take.{take} = {{ json = '$.t' }}\n[[session.step]]\nname = 'b'\npath = '/{{{{id}}}}/{{{{t}}}}'\n\
             expect.json = {{ '$.id' = '{{{{id}}}}', '$.t' = '{{{{t}}}}' }}\n"
        )
    };
    let mix = parsed(&session("t")).unwrap();
    assert_eq!(mix.requests[1].path[2], Piece::Taken(0, Written::Percent));
    assert_eq!(mix.requests[1].path[4], Piece::Taken(1, Written::Percent));
    assert_eq!(mix.requests[1].expected.own.len(), 2);
    mistake(
        &session("id"),
        "{ json = '$.t' }",
        "a request has a value \"id\" already",
    );
}
