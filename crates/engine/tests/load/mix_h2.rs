//! The requests of a file over HTTP/2: a server that takes header blocks apart says what it was sent.

use crate::h2_server::*;
use crate::invariants::{conserved, flawless};
use crate::servers::Server;
use crate::support::*;
use prony_engine::protocol::h2::{Decoder, WINDOW};
use prony_engine::protocol::mix::{
    Expected, JsonPath, JsonValue, MILLION, MixRequest, MixSession, MixStep, MixStreams, Own,
    Piece, ResponsePart, Shares, Take, Think, ValueOrigin, Written, text,
};
use prony_engine::protocol::{Limits, Mix};
use prony_engine::{Dialogue, Plan};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::{Arc, Mutex};

/// A request as it came.
#[derive(Debug, Default, Clone)]
struct Asked {
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Asked {
    fn get(&self, name: &str) -> &str {
        let mut fields = self.fields.iter();
        let found = fields.find(|field| field.0 == name);
        found.map_or("", |field| &field.1)
    }
}

/// A status, fields and a body.
type Said = (u16, Vec<(&'static str, String)>, Vec<u8>);

fn block(status: u16, fields: &[(&str, String)]) -> Vec<u8> {
    let literal = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let mut block = [&[0x08][..], &literal(&status.to_string())].concat();
    for (name, value) in fields {
        block.extend([&[0][..], &literal(name), &literal(value)].concat());
    }
    block
}

/// Answers each request when it has come whole, as `said` says of it.
fn asked(
    greeting: Vec<u8>,
    said: impl Fn(&Asked) -> Option<Said> + Send + Sync + 'static,
) -> Server {
    Server::tcp(move |it| {
        let mut decoder = Decoder::default();
        let mut open: BTreeMap<u32, Asked> = BTreeMap::new();
        serve(it, &greeting, |frame| {
            let mut out = Vec::new();
            match frame.kind {
                HEADERS => {
                    assert!(frame.flags & WHOLE != 0, "small heads come in one frame");
                    let mut asked = Asked::default();
                    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                    let decoded = decoder.decode(&frame.payload, 65_536, |name, value| {
                        asked.fields.push((text(name), text(value)));
                    });
                    assert!(decoded.is_ok(), "{:?}", frame.payload);
                    open.insert(frame.stream, asked);
                }
                DATA => open
                    .get_mut(&frame.stream)
                    .unwrap()
                    .body
                    .extend(&frame.payload),
                _ => return out,
            }
            if frame.flags & END == 0 {
                return out;
            }
            let Some((status, fields, body)) = said(&open[&frame.stream]) else {
                return out;
            };
            open.remove(&frame.stream);
            let block = block(status, &fields);
            match body.as_slice() {
                [] => out = frame_of(HEADERS, WHOLE | END, frame.stream, &block),
                body => {
                    out.extend(frame_of(HEADERS, WHOLE, frame.stream, &block));
                    // In pieces: where an answer is cut says nothing.
                    let half = body.len() / 2;
                    out.extend(frame_of(DATA, 0, frame.stream, &body[..half]));
                    out.extend(frame_of(DATA, END, frame.stream, &body[half..]));
                }
            }
            out
        })
    })
}

fn frame_of(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    frame(kind, flags, stream, payload)
}

fn request(name: &str, method: &str, path: Vec<Piece>) -> MixRequest {
    MixRequest {
        name: name.into(),
        method: method.into(),
        path,
        host: "shop".into(),
        headers: Vec::new(),
        cookies: false,
        body: Vec::new(),
        keepalive: true,
        weight: 1,
        expected: Expected::default(),
        stream: None,
    }
}

fn mix(requests: Vec<MixRequest>) -> Mix {
    let mut mix = Mix {
        requests,
        tables: Vec::new(),
        shares: Shares::Exact,
        sample: MILLION,
        decodes: false,
        limits: Limits::default(),
        sessions: Vec::new(),
        recorded: None,
        http2: None,
    };
    mix.speak_http2(MixStreams {
        window: WINDOW,
        secure: false,
        http3: false,
    })
    .unwrap();
    mix
}

/// A small shop: a page, a search whose answer has the request's own value, an order with a body, and a HEAD.
fn shop() -> Vec<MixRequest> {
    let id = || Piece::Taken(0, Written::Plain);
    let path = JsonPath {
        shown: "$.id".into(),
        pointer: "/id".into(),
        length: false,
    };
    let search = MixRequest {
        headers: vec![
            ("X-Kind".into(), vec![text("search")]),
            ("X-Seq".into(), vec![Piece::Seq]),
        ],
        expected: Expected {
            status: vec![(200, 200)],
            headers: vec![("Content-Type".into(), Some("application/json".into()))],
            json: vec![JsonValue {
                path: path.clone(),
                value: 7.into(),
            }],
            ..Expected::default()
        },
        ..request("search", "GET", vec![text("/search?id=7&n="), Piece::Seq])
    };
    let order = MixRequest {
        body: vec![
            text("order "),
            Piece::Named(0, Box::new(Piece::Int(1, 1_000_000))),
        ],
        expected: Expected {
            status: vec![(201, 201), (204, 204)],
            own: vec![Own {
                part: ResponsePart::Contains,
                text: vec![id()],
            }],
            ..Expected::default()
        },
        ..request("order", "POST", vec![text("/orders")])
    };
    let home = MixRequest {
        expected: Expected {
            body: Some(b"hello".to_vec()),
            ..Expected::default()
        },
        weight: 2,
        ..request("home", "GET", vec![text("/")])
    };
    vec![
        home,
        search,
        order,
        request("head", "HEAD", vec![text("/")]),
    ]
}

/// The right answers to [`shop`].
fn sells(asked: &Asked) -> Option<Said> {
    assert_eq!(asked.get(":authority"), "shop");
    assert_eq!(asked.get(":scheme"), "http");
    let json = || vec![("content-type", "application/json".to_owned())];
    Some(match (asked.get(":method"), asked.get(":path")) {
        ("GET", "/") => (200, Vec::new(), b"hello".to_vec()),
        ("HEAD", "/") => (200, vec![("content-length", "5".into())], Vec::new()),
        ("GET", path) if path.starts_with("/search?id=7&n=") => {
            assert_eq!(asked.get("x-kind"), "search");
            assert!(
                path.ends_with(&format!("n={}", asked.get("x-seq"))),
                "{asked:?}"
            );
            (200, json(), b"{\"id\": 7}".to_vec())
        }
        ("POST", "/orders") => {
            assert_eq!(asked.get("content-length"), asked.body.len().to_string());
            (201, json(), asked.body.clone())
        }
        other => panic!("{other:?}"),
    })
}

/// Both transports, closed and open loop, one stream and several.
fn plans(server: &Server, mix: &Mix, requests: u64) -> Vec<Plan> {
    let mut all = Vec::new();
    for kind in transports() {
        for arrival in [CLOSED, CONSTANT] {
            for streams in [1, 5] {
                let dialogue = Dialogue::Mix(Box::new(mix.clone()));
                let plan = plan(&server.target, dialogue, 2, kind);
                all.push(plan.due(arrival).pipeline(streams).ends_after(requests));
            }
        }
    }
    all
}

// Slow: 24 loads of 1,000 requests, half of them at 5,000 per second.
#[test]
fn the_requests_of_a_file_go_over_streams() {
    let settings = |pairs: &[(u16, u32)]| {
        let all: Vec<u8> = pairs.iter().flat_map(|&(n, v)| setting(n, v)).collect();
        frame(SETTINGS, 0, 0, &all)
    };
    // As it is; a table that is too small for the fields; none at all.
    for greeting in [greeting(), settings(&[(1, 64)]), settings(&[(1, 0)])] {
        let server = asked(greeting, sells);
        for plan in plans(&server, &mix(shop()), 1_000) {
            let seen = until_done(&plan);
            flawless(&plan, &seen);
            let by_name: Vec<(&str, u64)> = seen
                .by_request
                .iter()
                .map(|it| (it.name.as_str(), it.outcomes.ok))
                .collect();
            assert_eq!(
                by_name,
                [
                    ("home", 400),
                    ("search", 200),
                    ("order", 200),
                    ("head", 200)
                ],
                "shares are exact in 1,000 requests"
            );
        }
    }
}

#[test]
fn wrong_answers_are_told_by_name() {
    let server = asked(greeting(), |asked| {
        let right = sells(asked)?;
        Some(match (asked.get(":method"), asked.get(":path")) {
            ("GET", "/") => (200, right.1, b"hellO".to_vec()),
            ("POST", _) => (201, right.1, b"order 0".to_vec()),
            ("HEAD", _) => (500, right.1, right.2),
            _ => (200, Vec::new(), right.2),
        })
    });
    for plan in plans(&server, &mix(shop()), 50) {
        let seen = until_done(&plan);
        conserved(&plan, &seen);
        assert_eq!(seen.outcomes.wrong_answer, 50, "{:?}", seen.outcomes);
        for (request, expected) in seen.by_request.iter().zip([
            "home: another body: expected \"hello\", found \"hellO\" (byte 5)",
            "search: no header field Content-Type; asked GET /search?id=7&n=",
            "order: expected a body that contains ",
            "head: ",
        ]) {
            assert_eq!(request.outcomes.ok, 0);
            let told = &request.wrong_answers[0];
            assert!(told.contains(expected), "{told}");
        }
    }
}

/// Each connection ends after five answers: every request arrives once more, as it was, and none twice among those answered.
#[test]
fn what_goaway_leaves_out_is_sent_again_as_it_was() {
    let answered = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&answered);
    let server = Server::tcp(move |it| {
        let mut decoder = Decoder::default();
        let kept = Arc::clone(&kept);
        serve(it, &greeting(), |frame| {
            if frame.kind != HEADERS {
                return Vec::new();
            }
            let mut number = String::new();
            let decoded = decoder.decode(&frame.payload, 65_536, |name, value| {
                if name == b":path" {
                    number = String::from_utf8(value.to_vec()).unwrap();
                }
            });
            assert!(decoded.is_ok());
            match frame.stream {
                ..=9 => {
                    kept.lock().unwrap().push(number);
                    right(frame.stream)
                }
                11 => crate::h2_server::frame(
                    GOAWAY,
                    0,
                    0,
                    &[&9_u32.to_be_bytes()[..], &[0; 4]].concat(),
                ),
                _ => Vec::new(),
            }
        })
    });
    let numbered = mix(vec![request("n", "GET", vec![text("/"), Piece::Seq])]);
    for arrival in [CLOSED, CONSTANT] {
        let dialogue = Dialogue::Mix(Box::new(numbered.clone()));
        let plan = plan(&server.target, dialogue, 2, transports()[0])
            .pipeline(4)
            .ends_after(100)
            .due(arrival);
        let seen = until_done(&plan);
        conserved(&plan, &seen);
        assert_eq!(seen.outcomes.ok, 100, "{:?}", seen.wrong_answers);
        assert!(seen.sent_again > 0);
        let all = std::mem::take(&mut *answered.lock().unwrap());
        let different: BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len(), "none was answered twice");
    }
}

#[test]
fn sessions_take_values_and_keep_cookies_over_streams() {
    let login = MixRequest {
        expected: Expected {
            status: vec![(200, 200)],
            ..Expected::default()
        },
        ..request("login", "POST", vec![text("/login")])
    };
    let basket = MixRequest {
        cookies: true,
        headers: vec![("X-Token".into(), vec![Piece::Taken(0, Written::Plain)])],
        expected: Expected {
            status: vec![(200, 200)],
            ..Expected::default()
        },
        ..request("basket", "GET", vec![text("/basket")])
    };
    let token = Take {
        value: 0,
        name: "token".into(),
        origin: ValueOrigin::Json("$.token".into(), "/token".into()),
    };
    let step = |request, takes, redirects| MixStep {
        request,
        takes,
        think: Think::None,
        redirects,
    };
    let mut shop = mix(vec![login, basket]);
    shop.sessions = vec![MixSession {
        name: "visit".into(),
        weight: 1,
        cookies: true,
        steps: vec![step(0, vec![token], 0), step(1, Vec::new(), 2)],
    }];
    let server = asked(greeting(), |asked| {
        let json = |text: &str| text.as_bytes().to_vec();
        Some(match asked.get(":path") {
            "/login" => {
                let cookie = vec![("set-cookie", "sid=7; Path=/".to_owned())];
                (200, cookie, json(r#"{"token": "abc"}"#))
            }
            path => {
                assert_eq!(asked.get("cookie"), "sid=7", "{asked:?}");
                assert_eq!(asked.get("x-token"), "abc", "{asked:?}");
                match path {
                    "/basket" => (302, vec![("location", "/full".into())], Vec::new()),
                    "/full" => (200, Vec::new(), json("{}")),
                    other => panic!("{other}"),
                }
            }
        })
    });
    for kind in transports() {
        let dialogue = Dialogue::Mix(Box::new(shop.clone()));
        let plan = plan(&server.target, dialogue, 3, kind).ends_after(90);
        let seen = until_done(&plan);
        conserved(&plan, &seen);
        assert_eq!(seen.outcomes.ok, 90, "{:?}", seen.wrong_answers);
        let [session] = seen.by_session.as_slice() else {
            panic!("{:?}", seen.by_session)
        };
        // Three requests each; one may be under way on each connection.
        assert!((27..=30).contains(&session.completed), "{session:?}");
        assert_eq!(session.failed, 0, "{session:?}");
    }
}

#[test]
fn compressed_answers_are_judged_decoded() {
    let gzip = |body: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(body).unwrap();
        encoder.finish().unwrap()
    };
    let mut home = mix(vec![shop().remove(0)]);
    home.decode();
    for (body, right) in [(&b"hello"[..], 20), (b"hullo", 0)] {
        let body = gzip(body);
        let server = asked(greeting(), move |asked| {
            assert!(asked.get("accept-encoding").contains("gzip"));
            let field = ("content-encoding", "gzip".to_owned());
            Some((200, vec![field], body.clone()))
        });
        for plan in plans(&server, &home, 20) {
            let seen = until_done(&plan);
            conserved(&plan, &seen);
            assert_eq!(seen.outcomes.ok, right, "{:?}", seen.wrong_answers);
            assert_eq!(seen.by_request[0].encodings["gzip"].answers, 20);
        }
    }
}

#[test]
fn fields_that_http2_has_no_place_for_are_refused() {
    let mut one = request("a", "GET", vec![text("/")]);
    one.headers = vec![("Transfer-Encoding".into(), vec![text("chunked")])];
    let mut plain = mix(vec![request("b", "GET", vec![text("/")])]);
    plain.requests.push(one);
    let refused = plain.speak_http2(MixStreams {
        window: WINDOW,
        secure: true,
        http3: false,
    });
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("Transfer-Encoding")
    );
}
