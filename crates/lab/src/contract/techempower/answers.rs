//! Steps that judge answers by themselves.

use super::super::answer::{HttpAnswer, Listener};
use super::super::http::{self, Case, send};
use super::super::wire::{Fault, excerpt};
use super::super::{Act, Depth, Visit};
use super::ask::{self, Media};
use super::rows::{self, MOST};
use rand::RngExt;
use serde_json::json;

pub(super) const GREETING: &str = "Hello, World!";

/// Requests for plain text before any answer is read, as the published load has them.
const PIPELINED: usize = 16;

/// Requests for one row, one after the other: enough that their ids show whether they are random.
const SINGLES: usize = 20;

pub(super) const JSON: Act = Act {
    name: "json",
    tried: "GET /json",
    from: Depth::Quick,
    run: json,
};
pub(super) const PLAINTEXT: Act = Act {
    name: "plaintext",
    tried: "GET /plaintext",
    from: Depth::Quick,
    run: plaintext,
};
pub(super) const PLAINTEXT_PIPELINED: Act = Act {
    name: "plaintext-pipelined",
    tried: "16 times GET /plaintext before any answer is read",
    from: Depth::Quick,
    run: plaintext_pipelined,
};
pub(super) const DB: Act = Act {
    name: "db",
    tried: "20 times GET /db",
    from: Depth::Quick,
    run: db,
};
pub(super) const QUERIES: Act = Act {
    name: "queries",
    tried: "twice GET /queries?queries=20",
    from: Depth::Quick,
    run: queries,
};
pub(super) const QUERIES_CLAMPED: Act = Act {
    name: "queries-clamped",
    tried: "numbers of rows beyond 1 to 500, and what is no number",
    from: Depth::Full,
    run: |visit| clamped(visit, "/queries", "queries"),
};
pub(super) const UPDATES: Act = Act {
    name: "updates",
    tried: "GET /updates?queries=20",
    from: Depth::Quick,
    run: updates,
};
pub(super) const UPDATES_CLAMPED: Act = Act {
    name: "updates-clamped",
    tried: "numbers of rows beyond 1 to 500, and what is no number",
    from: Depth::Full,
    run: |visit| clamped(visit, "/updates", "queries"),
};
pub(super) const CACHED_QUERIES: Act = Act {
    name: "cached-queries",
    tried: "twice GET /cached-queries?count=20",
    from: Depth::Quick,
    run: cached_queries,
};
pub(super) const CACHED_QUERIES_CLAMPED: Act = Act {
    name: "cached-queries-clamped",
    tried: "numbers of rows beyond 1 to 500, and what is no number",
    from: Depth::Full,
    run: |visit| clamped(visit, "/cached-queries", "count"),
};

/// A request of one of three kinds, or of what else the server keeps; the number of rows cannot be guessed.
pub(super) fn case(visit: &mut Visit<'_>) -> Case {
    let kept = |parts: &[&'static str]| -> Vec<&'static str> {
        parts
            .iter()
            .copied()
            .filter(|part| visit.keeps(part))
            .collect()
    };
    let mut kinds = kept(&["json", "plaintext", "queries"]);
    if kinds.is_empty() {
        kinds = kept(&["db", "fortunes", "updates", "cached-queries"]);
    }
    let kind = kinds[visit.rng.random_range(0..kinds.len())];
    let count = visit.rng.random_range(1..=20);
    let rows = |target: &str| {
        let target = format!("{target}{count}");
        ask::case(visit, &target, Media::Json, move |answer| {
            rows::rows(answer, count).map(drop)
        })
    };
    match kind {
        "json" => ask::case(visit, "/json", Media::Json, check_json),
        "plaintext" => ask::case(visit, "/plaintext", Media::Text, check_text),
        "queries" => rows("/queries?queries="),
        "updates" => rows("/updates?queries="),
        "cached-queries" => rows("/cached-queries?count="),
        "db" => ask::case(visit, "/db", Media::Json, |answer| {
            rows::row(answer).map(drop)
        }),
        _ => ask::case(visit, "/fortunes", Media::Html, |_| Ok(())),
    }
}

fn check_json(answer: &HttpAnswer) -> Result<(), Fault> {
    let found: Option<serde_json::Value> = serde_json::from_slice(&answer.body).ok();
    let expected = json!({ "message": GREETING });
    if found.as_ref() == Some(&expected) {
        return Ok(());
    }
    Err(Fault::new(expected.to_string(), excerpt(&answer.body)))
}

fn check_text(answer: &HttpAnswer) -> Result<(), Fault> {
    http::body(answer, GREETING.as_bytes())
}

/// Asks on a new connection, where nothing follows the answer.
fn alone(visit: &Visit<'_>, case: &Case) -> Result<(), Fault> {
    let mut asked = case.ask(visit)?;
    (case.check)(&asked.answer()?)?;
    asked.expect_nothing_more()
}

fn json(visit: &mut Visit<'_>) -> Result<(), Fault> {
    alone(visit, &ask::case(visit, "/json", Media::Json, check_json))
}

fn plaintext(visit: &mut Visit<'_>) -> Result<(), Fault> {
    alone(
        visit,
        &ask::case(visit, "/plaintext", Media::Text, check_text),
    )
}

fn plaintext_pipelined(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let case = ask::case(visit, "/plaintext", Media::Text, check_text);
    let mut listener = Listener::new(visit.open()?);
    let request = case.request(visit.way.authority, "");
    send(&listener, &request.repeat(PIPELINED))?;
    for number in 1..=PIPELINED {
        listener
            .answer()
            .and_then(|answer| (case.check)(&answer))
            .map_err(|fault| {
                let expected = format!("answer {number} of {PIPELINED}: {}", fault.expected);
                Fault::new(expected, fault.found)
            })?;
    }
    listener.expect_nothing_more()
}

fn db(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let answers = ask::in_turn(visit, "/db", SINGLES)?;
    let rows: Result<Vec<_>, Fault> = answers.iter().map(rows::row).collect();
    let ids: Vec<u32> = rows?.iter().map(|row| row.id).collect();
    rows::are_random(&ids)?;
    rows::are_mixed(&ids)
}

fn queries(visit: &mut Visit<'_>) -> Result<(), Fault> {
    random_lists(visit, "/queries?queries=20")
}

fn cached_queries(visit: &mut Visit<'_>) -> Result<(), Fault> {
    random_lists(visit, "/cached-queries?count=20")
}

/// Two lists of 20 rows, each drawn at random.
fn random_lists(visit: &Visit<'_>, target: &str) -> Result<(), Fault> {
    let first = rows::rows(&ask::once(visit, target, Media::Json)?, 20)?;
    let second = rows::rows(&ask::once(visit, target, Media::Json)?, 20)?;
    for list in [&first, &second] {
        rows::are_random(&list.iter().map(|row| row.id).collect::<Vec<_>>())?;
    }
    rows::are_others(&first, &second)
}

fn updates(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let target = "/updates?queries=20";
    let first = rows::rows(&ask::once(visit, target, Media::Json)?, 20)?;
    let second = rows::rows(&ask::once(visit, target, Media::Json)?, 20)?;
    rows::are_others(&first, &second)
}

/// The number of rows is 1 to 500: less and what is no number is 1, more is 500.
fn clamped(visit: &Visit<'_>, path: &str, key: &str) -> Result<(), Fault> {
    for (query, count) in [
        (None, 1),
        (Some(""), 1),
        (Some("foo"), 1),
        (Some("0"), 1),
        (Some("-5"), 1),
        (Some("2"), 2),
        (Some("501"), MOST),
    ] {
        let target = match query {
            None => path.to_owned(),
            Some(value) => format!("{path}?{key}={value}"),
        };
        let answer = ask::once(visit, &target, Media::Json);
        answer
            .and_then(|answer| rows::rows(&answer, count))
            .map_err(|fault| Fault::new(format!("{} to {target}", fault.expected), fault.found))?;
    }
    Ok(())
}
