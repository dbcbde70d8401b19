//! Expectations with values of the request itself.

use super::*;

/// A request for an item by a number, for a user of a table, whose answer has both.
fn named() -> Mix {
    let table = ValueTable {
        name: "t".into(),
        columns: vec![column(&["ann", "bob", "e\"ve"])],
        once: false,
    };
    let id = || Piece::Taken(0, Written::Plain);
    let mut get = request(
        "get",
        vec![
            text("/"),
            Piece::Named(0, Box::new(Piece::Int(1, 1_000_000))),
            text("/"),
            Piece::Seq,
        ],
        1,
    );
    get.headers = vec![("User".into(), vec![row(0)]), ("Again".into(), vec![id()])];
    let path = |shown: &str, pointer: &str, length| {
        ResponsePart::Json(JsonPath {
            shown: shown.into(),
            pointer: pointer.into(),
            length,
        })
    };
    let own = |part, text: Vec<Piece>| Own { part, text };
    get.expected.own = vec![
        own(path("$.id", "/id", false), vec![id()]),
        own(path("$.user", "/user", false), vec![row(0)]),
        own(path("$.all.length()", "/all", true), vec![text("2")]),
        own(
            ResponsePart::Header("Location".into()),
            vec![text("/i/"), id(), text("/"), Piece::Seq],
        ),
        own(ResponsePart::Contains, vec![text("\"id\":"), id()]),
    ];
    mix(vec![get], vec![table])
}

/// Values in a request for `named`: id, user and number.
fn asked(request: &str) -> (String, String, String) {
    let field = |name: &str| {
        let (_, after) = request.split_once(&format!("\r\n{name}: ")).unwrap();
        after.split_once("\r\n").unwrap().0.to_owned()
    };
    let target = request.split(' ').nth(1).unwrap();
    let (id, seq) = target[1..].split_once('/').unwrap();
    assert_eq!(id, field("Again"), "{request}");
    (id.to_owned(), field("User"), seq.to_owned())
}

fn answer(id: &str, user: &str, seq: &str, all: &str) -> Vec<u8> {
    let user = serde_json::to_string(user).unwrap();
    let body = format!("{{\"id\":{id},\"user\":{user},\"all\":{all}}}");
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\nLocation: /i/{id}/{seq}\r\nContent-Length: {length}");
    format!("{head}\r\n\r\n{body}").into_bytes()
}

#[test]
fn each_of_several_requests_in_flight_is_compared_with_its_own_values() {
    let mut mixed = Mixed::new(&named(), 5, 0, 1);
    let (mut conn, mut seen) = (MixConn::default(), RecordedEvents::default());
    let mut wire = Vec::new();
    for _ in 0..20 {
        let mut out = Vec::new();
        mixed.request(&mut conn, 0, Fifo, &mut out);
        let (id, user, seq) = asked(std::str::from_utf8(&out).unwrap());
        wire.extend(answer(&id, &user, &seq, "[1,2]"));
    }
    for piece in wire.chunks(7) {
        mixed
            .received(&mut conn, 0, piece, &mut Vec::new(), &mut seen)
            .unwrap();
    }
    let answers = seen.answers();
    assert_eq!(answers.len(), 20);
    for answer in answers {
        assert_eq!(answer.wrong.map(|wrong| wrong.to_string()), None);
    }
}

#[test]
fn another_requests_values_are_wrong() {
    let wrong = |change: fn(&str, &str, &str) -> Vec<u8>| {
        let mut mixed = Mixed::new(&named(), 5, 0, 1);
        let (mut conn, mut seen) = (MixConn::default(), RecordedEvents::default());
        let mut out = Vec::new();
        mixed.request(&mut conn, 0, Fifo, &mut out);
        let (id, user, seq) = asked(std::str::from_utf8(&out).unwrap());
        mixed
            .received(
                &mut conn,
                0,
                &change(&id, &user, &seq),
                &mut Vec::new(),
                &mut seen,
            )
            .unwrap();
        let answers = seen.answers();
        answers[0].wrong.as_ref().unwrap().to_string()
    };
    for (change, says) in [
        (
            (|_, user, seq| answer("0", user, seq, "[1,2]")) as fn(&str, &str, &str) -> Vec<u8>,
            "Location: expected \"/i/",
        ),
        (
            |id, _, seq| answer(id, "eve", seq, "[1,2]"),
            "$.user: expected \"ann\", found \"eve\"",
        ),
        (
            |id, user, seq| answer(id, user, seq, "[1,2,3]"),
            "$.all.length(): expected 2, found 3",
        ),
        (
            |id, user, seq| answer(id, user, seq, "7"),
            "$.all.length(): expected 2, found nothing in",
        ),
        (
            |id, user, seq| {
                let right = String::from_utf8(answer(id, user, seq, "[1,2]")).unwrap();
                let other = right.replace("\"id\":", "\"it\":");
                other.into_bytes()
            },
            "expected a body that contains \"\\\"id\\\":",
        ),
    ] {
        let wrong = wrong(change);
        assert!(wrong.contains(says), "{says}: {wrong}");
    }
}

#[test]
fn nothing_is_compared_outside_the_sample() {
    let mut mixed = Mixed::new(
        &Mix {
            sample: 0,
            ..named()
        },
        5,
        0,
        1,
    );
    let (mut conn, mut seen) = (MixConn::default(), Inside(RecordedEvents::default()));
    for _ in 0..3 {
        let mut out = Vec::new();
        mixed.request(&mut conn, 0, Fifo, &mut out);
        let bytes = answer("0", "nobody", "0", "[]");
        mixed
            .received(&mut conn, 0, &bytes, &mut Vec::new(), &mut seen)
            .unwrap();
    }
    let answers = seen.0.answers().into_iter();
    let wrong: Vec<bool> = answers.map(|it| it.wrong.is_some()).collect();
    assert_eq!(wrong, [true, false, false], "the first one always is");
}

#[test]
fn a_session_remembers_what_a_step_has_named() {
    let mut mix = shop();
    let id = |written| Piece::Taken(1, written);
    mix.requests[0]
        .path
        .push(Piece::Named(1, Box::new(Piece::Int(1, 1_000_000))));
    mix.requests[1].body = vec![id(Written::Json)];
    mix.requests[1].expected.own = vec![Own {
        part: ResponsePart::Body,
        text: vec![id(Written::Plain)],
    }];
    let mut users = Users::new(&mix, 1, (0, 1), true);
    let (mut conn, mut seen) = (UserConn::default(), RecordedEvents::default());
    let login = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{\"t\":\"a\"}";
    for _ in 0..3 {
        let sent = exchange(&mut users, &mut conn, login, &mut seen);
        let path = sent.split(' ').nth(1).unwrap();
        let id: String = path
            .chars()
            .skip_while(|c| !c.is_ascii_digit())
            .take_while(char::is_ascii_digit)
            .collect();
        let length = id.len();
        let right = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{id}");
        let sent = exchange(&mut users, &mut conn, &right, &mut seen);
        assert!(sent.ends_with(&format!("\r\n\r\n{id}")), "{sent}");
    }
    assert_eq!(users.failure(0), None);
    let wrong = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n0";
    exchange(&mut users, &mut conn, login, &mut seen);
    exchange(&mut users, &mut conn, wrong, &mut seen);
    let last = seen.answers().pop().unwrap();
    let said = last.wrong.unwrap().to_string();
    assert!(said.contains("expected the body \""), "{said}");
}
