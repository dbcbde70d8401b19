//! `fibonacci`: `POST /fibonacci` with `{"name": …, "fib": n}` is answered with an id, the time, the
//! name, the service, and the n-th Fibonacci number, computed for every request.

use std::collections::HashSet;
use std::fmt;

use jiff::Timestamp;
use num_bigint::BigUint;
use prony_engine::protocol::{Expect, HttpRequest};
use rand::RngExt;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::answer::HttpAnswer;
use super::http::{self, Case, token};
use super::wire::{Fault, excerpt};
use super::{Act, Depth, Exchange, Visit};

/// Name that the published load sends.
const NAME: &str = "benchmark";
const FIB: u32 = 500;

/// The largest n that is tried: some 4,200 digits, far beyond what a server would keep in a table.
const LARGEST: u32 = 20_000;

/// How long before the request an answer's time may be, or after the moment when the answer was read, in
/// milliseconds: the same machine, whose clock may be set. How long the answer takes does not count.
const TIME_TOLERANCE: i64 = 3_000;

const KEYS: [&str; 5] = ["id", "time", "name", "service", "answer"];

pub(super) const SCRIPT: &[Act] = &[
    Act {
        name: "answer",
        tried: "F(500) for \"benchmark\"",
        from: Depth::Quick,
        run: answer,
    },
    Act {
        name: "numbers",
        tried: "the first numbers, and random ones up to F(20000)",
        from: Depth::Quick,
        run: numbers,
    },
    Act {
        name: "fresh-ids",
        tried: "the same request many times",
        from: Depth::Quick,
        run: fresh_ids,
    },
    Act {
        name: "names",
        tried: "names with quotes, escapes and other scripts",
        from: Depth::Quick,
        run: names,
    },
    http::COMPLETE_REQUEST,
    http::FRAGMENTS,
    http::KEEP_ALIVE,
    http::PIPELINED_REQUESTS,
    http::INTERLEAVED_CONNECTIONS,
    Act {
        name: "bad-request",
        tried: "requests that make no sense",
        from: Depth::Full,
        run: bad_request,
    },
    http::NOT_FOUND,
    http::CLOSE,
];

/// A random number for a random name.
pub(super) fn case(visit: &mut Visit<'_>, size: usize) -> Case {
    let name = token(visit, size);
    let n = visit.rng.random_range(0..1_500);
    ask(&name, n)
}

fn ask(name: &str, n: u32) -> Case {
    let expected = fibonacci(n).to_string();
    let (own, asked) = (name.to_owned(), Timestamp::now());
    let body = serde_json::json!({"name": name, "fib": n}).to_string();
    post(body, move |answer| {
        parse(answer)?.check(&own, &expected, asked).map(drop)
    })
}

fn post(
    body: impl Into<Vec<u8>>,
    check: impl Fn(&HttpAnswer) -> Result<(), Fault> + 'static,
) -> Case {
    Case {
        method: "POST",
        target: "/fibonacci".into(),
        body: Some(body.into()),
        check: Box::new(check),
    }
}

/// F(0) = 0, F(1) = 1.
fn fibonacci(n: u32) -> BigUint {
    let (mut a, mut b) = (BigUint::ZERO, BigUint::from(1_u8));
    for _ in 0..n {
        a += &b;
        std::mem::swap(&mut a, &mut b);
    }
    a
}

/// Exchange of the published load. Expected is every byte of an answer that was verified, but for the digits of id and
/// time.
pub(super) fn exchanges(visit: &Visit<'_>) -> Result<Vec<Exchange>, Fault> {
    let case = ask(NAME, FIB);
    let answer = case.ask(visit)?.answer()?;
    (case.check)(&answer)?;
    let found = parse(&answer)?;
    let holes = [&found.values[0], &found.values[1]]
        .map(|value| position(&answer.body, value.get().as_bytes()));
    let request = HttpRequest {
        method: case.method.into(),
        headers: vec![("Content-Type".into(), "application/json".into())],
        body: case.body.clone().unwrap_or_default(),
        ..HttpRequest::get(visit.way.authority, case.target.as_str())
    };
    let expect = Expect {
        holes: holes.to_vec(),
        ..Expect::body(answer.body.clone()).with_status(200)
    };
    Ok(vec![(request, expect)])
}

fn position(body: &[u8], value: &[u8]) -> std::ops::Range<usize> {
    let start = body
        .windows(value.len())
        .position(|part| part == value)
        .expect("a value that was read from this body");
    start..start + value.len()
}

/// The members of an answer, in their order, as they were written.
struct Members {
    values: Vec<Box<RawValue>>,
}

fn parse(answer: &HttpAnswer) -> Result<Members, Fault> {
    http::status(answer, 200)?;
    http::media_type(answer, "application/json")?;
    let wrong = |found: String| Fault::new(format!("an object with {}", KEYS.join(", ")), found);
    let Pairs(pairs) = serde_json::from_slice(&answer.body)
        .map_err(|error| wrong(format!("{} ({error})", excerpt(&answer.body))))?;
    let names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
    if names != KEYS {
        return Err(wrong(names.join(", ")));
    }
    Ok(Members {
        values: pairs.into_iter().map(|(_, value)| value).collect(),
    })
}

impl Members {
    /// Checks every member of an answer to a request that was sent at `asked` or later; gives the id.
    fn check(&self, name: &str, answer: &str, asked: Timestamp) -> Result<String, Fault> {
        let [id, time, own_name, service, number] = &self.values[..] else {
            unreachable!("there are five keys");
        };
        let text = |value: &RawValue| serde_json::from_str::<String>(value.get()).ok();
        let wrong = |expected: &str, value: &RawValue| {
            Err(Fault::new(expected, excerpt(value.get().as_bytes())))
        };
        let Some(id) = text(id).filter(|id| is_uuid_v4(id)) else {
            return wrong("a random UUID (version 4) as id", id);
        };
        let now = Timestamp::now().as_millisecond();
        let close = |time: i64| {
            (asked.as_millisecond() - TIME_TOLERANCE..=now + TIME_TOLERANCE).contains(&time)
        };
        if !serde_json::from_str::<i64>(time.get()).is_ok_and(close) {
            return wrong(&format!("the time in milliseconds, about {now}"), time);
        }
        if text(own_name).as_deref() != Some(name) {
            return wrong(&format!("the name that was sent, {name:?}"), own_name);
        }
        if text(service).is_none_or(|service| service.is_empty()) {
            return wrong("the service's name", service);
        }
        if number.get() != answer {
            return wrong(&format!("{} as answer", excerpt(answer.as_bytes())), number);
        }
        Ok(id)
    }
}

fn is_uuid_v4(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shaped = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        14 => *byte == b'4',
        19 => matches!(byte, b'8' | b'9' | b'a' | b'b' | b'A' | b'B'),
        _ => byte.is_ascii_hexdigit(),
    };
    bytes.len() == 36 && bytes.iter().enumerate().all(shaped)
}

/// Names and values of an object in the order they were written.
struct Pairs(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Pairs, M::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

fn answer(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let case = ask(NAME, FIB);
    let mut listener = case.ask(visit)?;
    (case.check)(&listener.answer()?)?;
    listener.expect_nothing_more()
}

fn numbers(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut wanted: Vec<u32> = (0..6).chain([46, 47, 92, 93, 94]).collect();
    wanted.extend((0..visit.choose(3, 10)).map(|_| visit.rng.random_range(100..3_000)));
    wanted.push(visit.rng.random_range(LARGEST / 2..LARGEST));
    for n in wanted {
        let name = token(visit, 6);
        ask(&name, n).exchange(visit)?;
    }
    Ok(())
}

fn fresh_ids(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let (case, expected) = (ask(NAME, FIB), fibonacci(FIB).to_string());
    let asked = Timestamp::now();
    let mut seen = HashSet::new();
    for _ in 0..visit.choose(5, 20) {
        let id = parse(&case.ask(visit)?.answer()?)?.check(NAME, &expected, asked)?;
        if !seen.insert(id.clone()) {
            return Err(Fault::new(
                "a new id for every request",
                format!("{id} again"),
            ));
        }
    }
    Ok(())
}

fn names(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let word = token(visit, 5);
    for name in [
        String::new(),
        format!("{word} \"quoted\" \\ and / slashed"),
        format!("{word}\n\ttabs\u{1}"),
        format!("légères {word} 雨 \u{1f600}"),
        format!("{word}</script>"),
    ] {
        ask(&name, 10).exchange(visit)?;
    }
    // The same text, written with escapes.
    let body = r#"{"fib": 10, "name": "\u00e9\ud83d\ude00"}"#;
    let (expected, asked) = (fibonacci(10).to_string(), Timestamp::now());
    post(body, move |answer| {
        parse(answer)?
            .check("é\u{1f600}", &expected, asked)
            .map(drop)
    })
    .exchange(visit)
}

fn bad_request(visit: &mut Visit<'_>) -> Result<(), Fault> {
    for body in [
        r#"{"name":"x","fib":-1}"#,
        r#"{"name":"x","fib":1.5}"#,
        r#"{"name":"x","fib":"ten"}"#,
        r#"{"name":"x","fib":null}"#,
        r#"{"name":"x"}"#,
        r#"{"fib":5}"#,
        r#"{"name":7,"fib":5}"#,
        r#"{"name":"x","fib":5"#,
        "[]",
        "fib=5",
        "",
    ] {
        let shown = format!("a JSON error with status 400 for {body}");
        let case = post(body, move |answer| {
            let error = serde_json::from_slice::<serde_json::Value>(&answer.body).ok();
            let told = error.is_some_and(|error| error.get("error").is_some());
            if answer.status == 400 && told {
                return Ok(());
            }
            let found = format!("{} with the body {}", answer.status, excerpt(&answer.body));
            Err(Fault::new(shown.as_str(), found))
        });
        case.exchange(visit)?;
    }
    // And it lives on.
    case(visit, 10).exchange(visit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::answer::OtherFields;

    #[test]
    fn the_published_number() {
        let published = "139423224561697880139724382870407283950070256587697307264108962948325571622863290691557658876222521294125";
        assert_eq!(fibonacci(500).to_string(), published);
        let first: Vec<String> = (0..8).map(|n| fibonacci(n).to_string()).collect();
        assert_eq!(first, ["0", "1", "1", "2", "3", "5", "8", "13"]);
    }

    #[test]
    fn random_uuids() {
        assert!(is_uuid_v4("4f0c2e6a-9a7e-4d9b-8f3e-0123456789ab"));
        for wrong in [
            "4f0c2e6a-9a7e-1d9b-8f3e-0123456789ab",
            "4f0c2e6a-9a7e-4d9b-cf3e-0123456789ab",
            "4f0c2e6a9a7e4d9b8f3e0123456789ab",
            "4f0c2e6a-9a7e-4d9b-8f3e-0123456789ag",
            "",
        ] {
            assert!(!is_uuid_v4(wrong), "{wrong}");
        }
    }

    #[test]
    fn members_keep_their_order_and_digits() {
        let answer = |body: &str| HttpAnswer {
            encoding: prony_engine::protocol::encoding::Encoding::of([]),
            status: 200,
            content_type: Some("application/json".into()),
            body: body.into(),
            chunked: false,
            fields: OtherFields::default(),
        };
        let right = r#"{"id":"x","time":1,"name":"n","service":"s","answer":123456789012345678901234567890}"#;
        let members = parse(&answer(right)).unwrap();
        assert_eq!(members.values[4].get(), "123456789012345678901234567890");
        let swapped = right
            .replace("\"id\"", "\"time\"")
            .replacen("\"time\":1", "\"id\":1", 1);
        assert!(parse(&answer(&swapped)).is_err());
    }
}
