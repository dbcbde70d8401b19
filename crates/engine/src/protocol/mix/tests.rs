use super::*;
use crate::protocol::NextSend;
use crate::protocol::seen::RecordedEvents;
use proptest::prelude::*;

mod encoded;
mod own;
mod stream;

fn request(name: &str, path: Vec<Piece>, weight: u32) -> MixRequest {
    MixRequest {
        name: name.into(),
        method: "GET".into(),
        path,
        host: "h".into(),
        headers: Vec::new(),
        cookies: false,
        body: Vec::new(),
        keepalive: true,
        weight,
        expected: Expected::default(),
        stream: None,
    }
}

fn column(values: &[&str]) -> Column {
    let mut column = Column::default();
    values
        .iter()
        .for_each(|value| column.push(value.as_bytes()));
    column
}

fn mix(requests: Vec<MixRequest>, tables: Vec<ValueTable>) -> Mix {
    Mix {
        requests,
        tables,
        shares: Shares::Exact,
        sample: MILLION,
        decodes: false,
        limits: Limits::default(),
        sessions: Vec::new(),
        recorded: None,
        http2: None,
    }
}

/// The bytes of the next `n` requests.
fn sent(mixed: &mut Mixed, n: usize) -> Vec<String> {
    let mut conn = MixConn::default();
    let one = |_| {
        let mut out = Vec::new();
        mixed.request(&mut conn, 0, Fifo, &mut out);
        String::from_utf8(out).unwrap()
    };
    (0..n).map(one).collect()
}

fn paths(mixed: &mut Mixed, n: usize) -> Vec<String> {
    let path = |request: String| request.split(' ').nth(1).unwrap().to_owned();
    sent(mixed, n).into_iter().map(path).collect()
}

proptest! {
    #[test]
    fn shares_are_exact_in_any_thousand_requests(
        weights in proptest::collection::vec(1u32..1_000, 1..12), seed: u64, from in 0usize..2_500,
    ) {
        let counts = exact_shares(&weights);
        prop_assert_eq!(counts.iter().sum::<u32>(), CYCLE);
        let sum: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
        for (&count, &weight) in counts.iter().zip(&weights) {
            let exact = f64::from(weight) * f64::from(CYCLE) / sum;
            prop_assert!((f64::from(count) - exact).abs() < 1.0, "{} {}", count, exact);
        }
        let mut order = KindOrder::new(&weights, Shares::Exact, seed);
        let mut seen = vec![0; weights.len()];
        (0..from).for_each(|_| { order.next(); });
        (0..CYCLE).for_each(|_| seen[order.next()] += 1);
        prop_assert_eq!(seen, counts);
    }

    #[test]
    fn any_fragmentation_and_pipelining_gives_the_same_answers(
        cuts in proptest::collection::vec(1usize..40, 1..40), count in 1usize..20,
    ) {
        let mut even = request("even", vec![text("/even")], 1);
        even.expected.contains = vec![b"ev".to_vec()];
        even.expected.headers = vec![("x-kind".into(), Some("even".into()))];
        let mut odd = request("odd", vec![text("/odd")], 1);
        odd.expected.body = Some(b"odd".to_vec());
        let mut mixed = Mixed::new(&mix(vec![even, odd], Vec::new()), 1, 0, 1);
        let (mut conn, mut out, mut wire) = (MixConn::default(), Vec::new(), Vec::new());
        for _ in 0..count {
            out.clear();
            mixed.request(&mut conn, 0, Fifo, &mut out);
            let kind = if out.starts_with(b"GET /even") { "even" } else { "odd" };
            wire.extend_from_slice(
                format!("HTTP/1.1 200 OK\r\nX-Kind: {kind}\r\nContent-Length: {}\r\n\r\n{kind}", kind.len()).as_bytes(),
            );
        }
        let (mut seen, mut rest, mut cuts) = (RecordedEvents::default(), &wire[..], cuts.iter().cycle());
        while !rest.is_empty() {
            let (piece, tail) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
            prop_assert!(mixed.received(&mut conn, 0, piece, &mut Vec::new(), &mut seen).is_ok());
            rest = tail;
        }
        let answers = seen.answers();
        prop_assert_eq!(answers.len(), count);
        prop_assert!(answers.iter().all(|answer| answer.wrong.is_none()), "{:?}", answers);
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn drawn_shares_pass_a_chi_square_test() {
    let weights = [50, 30, 15, 4, 1];
    let mut order = KindOrder::new(&weights, Shares::Random, 7);
    let mut seen = [0.0; 5];
    let n = 200_000.0;
    (0..200_000).for_each(|_| seen[order.next()] += 1.0);
    let chi: f64 = seen
        .iter()
        .zip(weights)
        .map(|(seen, weight)| {
            let expected = n * f64::from(weight) / 100.0;
            (seen - expected) * (seen - expected) / expected
        })
        .sum();
    // The 99.9th percentile with four degrees of freedom; the seed is fixed, so it is the same each time.
    assert!(chi < 18.47, "{chi}");
    assert!(chi > 0.0, "an exact order is not drawn");
}

fn templated() -> Mix {
    let table = ValueTable {
        name: "users.csv".into(),
        columns: vec![column(&["ann", "bob", "eve"]), column(&["1", "2", "3"])],
        once: false,
    };
    let row = |column| Piece::Row { table: 0, column };
    let mut post = request(
        "post",
        vec![text("/u/"), row(0), text("?n="), Piece::Int(-5, 5)],
        1,
    );
    post.method = "POST".into();
    post.headers = vec![(
        "Authorization".into(),
        vec![
            text("Basic "),
            Piece::Base64(vec![row(0), text(":"), row(1)]),
        ],
    )];
    post.body = vec![
        text("{\"id\":\""),
        Piece::Uuid,
        text("\",\"seq\":"),
        Piece::Seq,
        text("}"),
    ];
    mix(vec![post], vec![table])
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn values_are_filled_in_and_the_length_is_right() {
    let mut mixed = Mixed::new(&templated(), 3, 0, 1);
    for (nth, request) in sent(&mut mixed, 2_000).into_iter().enumerate() {
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        let (name, id) = [("ann", "1"), ("bob", "2"), ("eve", "3")][nth % 3];
        let target = head.strip_prefix(&format!("POST /u/{name}?n=")).unwrap();
        let number: i64 = target.split(' ').next().unwrap().parse().unwrap();
        assert!((-5..=5).contains(&number), "{number}");
        let basic = base64::Engine::encode(
            &base64::engine::general_purpose::STANDARD,
            format!("{name}:{id}"),
        );
        assert!(
            head.contains(&format!("\r\nAuthorization: Basic {basic}\r\n")),
            "{head}"
        );
        assert!(
            head.ends_with(&format!("\r\nContent-Length: {}", body.len())),
            "{head}"
        );
        let json: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(json["seq"], nth as u64 + 1);
        let uuid = json["id"].as_str().unwrap();
        assert!(uuid.len() == 36 && uuid.as_bytes()[14] == b'4', "{uuid}");
        assert!(b"89ab".contains(&uuid.as_bytes()[19]), "{uuid}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn a_seed_repeats_the_very_bytes_and_the_sample_does_not_change_them() {
    let of = |sample, seed, worker| {
        let mix = Mix {
            sample,
            ..templated()
        };
        sent(&mut Mixed::new(&mix, seed, worker, 2), 500)
    };
    assert_eq!(of(0, 1, 0), of(MILLION, 1, 0));
    assert_ne!(of(0, 1, 0), of(0, 2, 0));
    assert_ne!(of(0, 1, 0), of(0, 1, 1));
}

#[test]
fn workers_share_rows_and_numbers() {
    let row = Piece::Row {
        table: 0,
        column: 0,
    };
    let plan = |once| {
        let table = ValueTable {
            name: "t".into(),
            columns: vec![column(&["a", "b", "c", "d", "e"])],
            once,
        };
        let get = request("get", vec![text("/"), row.clone(), Piece::Seq], 1);
        mix(vec![get], vec![table])
    };
    let of = |worker| paths(&mut Mixed::new(&plan(false), 1, worker, 2), 4);
    assert_eq!(of(0), ["/a1", "/c3", "/e5", "/b7"]);
    assert_eq!(of(1), ["/b2", "/d4", "/a6", "/c8"]);
    for (worker, n) in [(0, 3), (1, 2)] {
        let mut once = Mixed::new(&plan(true), 1, worker, 2);
        let (mut conn, mut seen) = (MixConn::default(), RecordedEvents::default());
        for _ in 0..n {
            assert!(!once.ended() && once.accepts(&conn));
            once.request(&mut conn, 0, Fifo, &mut Vec::new());
        }
        assert!(!once.accepts(&conn));
        for _ in 0..n {
            assert!(!once.ended(), "answers are waited for");
            let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
            once.received(&mut conn, 0, answer, &mut Vec::new(), &mut seen)
                .unwrap();
        }
        assert!(once.ended());
    }
    assert!(
        Mixed::new(&plan(true), 1, 7, 8).ended(),
        "no row is left for it"
    );
}

/// Returns why `answer` to a request that expects `expected` is wrong; None if it is right.
fn judged(expected: Expected, answer: &str) -> Option<String> {
    let mut get = request("get", vec![text("/a?b")], 1);
    get.expected = expected;
    let mut mixed = Mixed::new(&mix(vec![get], Vec::new()), 1, 0, 1);
    let (mut conn, mut seen) = (MixConn::default(), RecordedEvents::default());
    mixed.request(&mut conn, 0, Fifo, &mut Vec::new());
    let bytes = answer.replace('\n', "\r\n");
    mixed
        .received(&mut conn, 0, bytes.as_bytes(), &mut Vec::new(), &mut seen)
        .unwrap();
    let answers = seen.answers();
    answers[0].wrong.as_ref().map(ToString::to_string)
}

#[test]
fn a_wrong_answer_is_shown_with_its_request() {
    const OK: &str = "HTTP/1.1 200 OK\nContent-Type: application/json\nContent-Length: 17\n\n{\"a\":[1,{\"b\":2}]}";
    let json = |pointer: &str, value: serde_json::Value| Expected {
        json: vec![JsonValue {
            path: JsonPath {
                shown: "$.path".into(),
                pointer: pointer.into(),
                length: false,
            },
            value,
        }],
        ..Expected::default()
    };
    let header = |value: Option<&str>| Expected {
        headers: vec![("content-type".into(), value.map(str::to_owned))],
        ..Expected::default()
    };
    let right = [
        Expected::default(),
        Expected {
            status: vec![(200, 299)],
            ..Expected::default()
        },
        Expected {
            status: vec![(404, 404), (200, 201)],
            ..Expected::default()
        },
        Expected {
            length: Some(17),
            ..Expected::default()
        },
        Expected {
            contains: vec![b"[1,".to_vec()],
            ..Expected::default()
        },
        Expected {
            matches: vec!["\"b\":[0-9]".into()],
            ..Expected::default()
        },
        json("/a/1/b", 2.into()),
        json("/a/0", 1.0.into()),
        header(Some("application/json")),
        header(None),
    ];
    for expected in right {
        assert_eq!(judged(expected.clone(), OK), None, "{expected:?}");
    }
    let wrong = [
        (
            Expected {
                status: vec![(404, 404), (201, 201)],
                ..Expected::default()
            },
            "get: status 200, expected 404 or 201; asked GET /a?b",
        ),
        (
            Expected {
                status: vec![(404, 404)],
                ..Expected::default()
            },
            "get: status 200, expected 404; asked GET /a?b",
        ),
        (
            Expected {
                length: Some(18),
                ..Expected::default()
            },
            "get: a body of 17 bytes, expected 18; asked GET /a?b",
        ),
        (
            Expected {
                contains: vec![b"[2,".to_vec()],
                ..Expected::default()
            },
            "contains \"[2,\", found \"{\\\"a\\\"",
        ),
        (
            Expected {
                matches: vec!["b\":[a-z]".into()],
                ..Expected::default()
            },
            "matches /b\":[a-z]/",
        ),
        (
            Expected {
                body: Some(b"{\"a\":[1,{\"b\":3}]}".to_vec()),
                ..Expected::default()
            },
            "(byte 14); asked GET /a?b",
        ),
        (
            json("/a/1/b", 3.into()),
            "get: $.path: expected 3, found 2; asked GET /a?b",
        ),
        (json("/c", 3.into()), "expected 3, found nothing"),
        (
            header(Some("text/html")),
            "content-type: expected \"text/html\", found \"application/json\"",
        ),
        (
            Expected {
                headers: vec![("x".into(), None)],
                ..Expected::default()
            },
            "no header field x",
        ),
    ];
    for (expected, why) in wrong {
        let found = judged(expected, OK).unwrap_or_default();
        assert!(found.contains(why), "{why}: {found}");
    }
    let plain = judged(
        json("/a", 1.into()),
        "HTTP/1.1 200 OK\nContent-Length: 2\n\nno",
    );
    assert!(plain.unwrap().contains("expected JSON"));
}

/// A shop of two steps: the second sends what the first has answered.
fn shop() -> Mix {
    let login = request("login", vec![text("/login/"), row(0)], 1);
    let mut order = request(
        "order",
        vec![text("/o/"), Piece::Taken(0, Written::Percent)],
        1,
    );
    order.method = "POST".into();
    order.headers = vec![("T".into(), vec![Piece::Taken(0, Written::Plain)])];
    order.body = vec![
        text("\""),
        Piece::Taken(0, Written::Json),
        text("\","),
        row(0),
    ];
    order.cookies = true;
    let step = |request, takes, think| MixStep {
        request,
        takes,
        think,
        redirects: 0,
    };
    let token = Take {
        value: 0,
        name: "token".into(),
        origin: ValueOrigin::Json("$.t".into(), "/t".into()),
    };
    let session = MixSession {
        name: "buyer".into(),
        weight: 1,
        cookies: true,
        steps: vec![
            step(0, vec![token], Think::Uniform(5, 5)),
            step(1, Vec::new(), Think::None),
        ],
    };
    let table = ValueTable {
        name: "t".into(),
        columns: vec![column(&["ann", "bob"])],
        once: false,
    };
    Mix {
        sessions: vec![session],
        recorded: None,
        http2: None,
        ..mix(vec![login, order], vec![table])
    }
}

fn row(column: usize) -> Piece {
    Piece::Row { table: 0, column }
}

/// Sends the next request of slot 0, and gives its text; then the answer comes.
fn exchange(
    users: &mut Users,
    conn: &mut UserConn,
    answer: &str,
    seen: &mut RecordedEvents<Fifo>,
) -> String {
    let mut out = Vec::new();
    assert!(users.accepts(conn));
    users.request(conn, 0, Fifo, &mut out);
    assert!(!users.accepts(conn), "one request at a time");
    let (first, second) = answer.as_bytes().split_at(answer.len() / 2);
    for part in [first, second] {
        users
            .received(conn, 0, part, &mut Vec::new(), seen)
            .unwrap();
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn a_session_sends_what_it_was_answered() {
    let mut users = Users::new(&shop(), 1, (0, 1), true);
    let (mut conn, mut seen) = (UserConn::default(), RecordedEvents::default());
    let login = "HTTP/1.1 200 OK\r\nSet-Cookie: sid=7; Path=/\r\nContent-Length: 11\r\n\r\n{\"t\":\"a\\\"\"}";
    let done = "HTTP/1.1 204 OK\r\n\r\n";
    for user in ["ann", "bob", "ann"] {
        assert_eq!(users.pace(&mut conn, 0), NextSend::Now);
        let sent = exchange(&mut users, &mut conn, login, &mut seen);
        assert!(sent.starts_with(&format!("GET /login/{user} ")), "{sent}");
        assert!(!sent.contains("Cookie"), "{sent}");
        assert!(users.is_active(0));
        // A pause, once.
        assert_eq!(users.pace(&mut conn, 0), NextSend::After(5));
        assert_eq!(users.pace(&mut conn, 0), NextSend::Now);
        let sent = exchange(&mut users, &mut conn, done, &mut seen);
        assert!(sent.starts_with("POST /o/a%22 "), "{sent}");
        assert!(sent.contains("\r\nT: a\"\r\nCookie: sid=7\r\n"), "{sent}");
        // The row is the session's, not the request's.
        assert!(
            sent.ends_with(&format!("\r\n\r\n\"a\\\"\",{user}")),
            "{sent}"
        );
        assert!(!users.is_active(0));
    }
    assert_eq!(users.failure(0), None);
}

#[test]
fn a_session_fails_by_name() {
    let mut mix = shop();
    mix.requests[0].expected.status = vec![(200, 200)];
    let answers = [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
            "login: no token at $.t",
        ),
        (
            "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
            "login: wrong answer",
        ),
    ];
    for (answer, why) in answers {
        let mut users = Users::new(&mix, 1, (0, 1), true);
        let (mut conn, mut seen) = (UserConn::default(), Inside(RecordedEvents::default()));
        let mut out = Vec::new();
        users.request(&mut conn, 0, Fifo, &mut out);
        users
            .received(&mut conn, 0, answer.as_bytes(), &mut Vec::new(), &mut seen)
            .unwrap();
        assert!(!users.is_active(0));
        assert_eq!(users.failure(0), Some(why));
        let [session] = users.by_session().try_into().unwrap();
        assert_eq!((session.completed, session.failed), (0, 1));
    }
}

/// Says that every answer is in the measurement.
struct Inside(RecordedEvents<Fifo>);

impl Events<Fifo> for Inside {
    fn ready(&mut self) {}

    fn answered(&mut self, token: Fifo, answer: Answer) -> Booked {
        self.0.answered(token, answer);
        Booked {
            ended_inside: true,
            ..Booked::default()
        }
    }

    fn closing(&mut self) {}
}
