//! JSON of the dataset, with and without compression.

use super::super::answer::Listener;
use super::super::http::{self, Case};
use super::super::wire::Fault;
use super::super::{Act, Depth, Visit};
use super::{ask, dataset};
use rand::RngExt;

/// The most bytes of a decoded body.
const DECODED: u64 = 1024 * 1024;
/// Numbers of items and factors of the published load.
const PUBLISHED: [(usize, u64); 7] = [(1, 3), (5, 7), (10, 2), (15, 5), (25, 4), (40, 8), (50, 6)];
/// The largest factor: with as many, no answers can be prepared.
const FACTORS: u64 = 100_000;

pub(super) const STEP: Act = Act {
    name: "json",
    tried: "GET /json/{count}?m={m}",
    from: Depth::Quick,
    run: json,
};
pub(super) const COMPRESSED: Act = Act {
    name: "json-compressed",
    tried: "GET /json/{count}?m={m} with and without Accept-Encoding",
    from: Depth::Quick,
    run: compressed,
};

fn target(count: usize, factor: u64) -> String {
    format!("/json/{count}?m={factor}")
}

/// A few items with a factor that cannot be guessed.
pub(super) fn case(visit: &mut Visit<'_>) -> Case {
    let (count, factor) = (
        visit.rng.random_range(1..=5),
        visit.rng.random_range(1..=FACTORS),
    );
    let expected = dataset::answer(visit.fixture.dataset(), count, factor);
    Case::get(visit.target(&target(count, factor)), move |answer| {
        ask::same(&expected, &ask::json(answer, 200)?)
    })
}

fn json(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut wanted = vec![(dataset::ITEMS, visit.rng.random_range(1..=FACTORS))];
    for _ in 0..visit.choose(2, 5) {
        let count = visit.rng.random_range(1..=dataset::ITEMS);
        wanted.push((count, visit.rng.random_range(1..=FACTORS)));
    }
    if visit.depth > Depth::Quick {
        wanted.extend(PUBLISHED);
    }
    for (count, factor) in wanted {
        let expected = dataset::answer(visit.fixture.dataset(), count, factor);
        let answer = ask::get(visit, &target(count, factor))?;
        ask::same(&expected, &ask::json(&answer, 200)?)?;
    }
    Ok(())
}

/// One connection with and without the field: the answer follows the request.
fn compressed(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut listener = Listener::new(visit.open()?);
    for (accepted, codings) in [
        ("", &["identity"][..]),
        ("Accept-Encoding: gzip, br\r\n", &["gzip", "br"]),
        ("Accept-Encoding: gzip\r\n", &["gzip"]),
        ("", &["identity"]),
        // A server may know one coding alone.
        ("Accept-Encoding: br\r\n", &["br", "identity"]),
    ] {
        let (count, factor) = (
            visit.rng.random_range(25..=dataset::ITEMS),
            visit.rng.random_range(1..=FACTORS),
        );
        let expected = dataset::answer(visit.fixture.dataset(), count, factor);
        let answer = ask::get_on(&mut listener, visit, &target(count, factor), accepted)?;
        http::status(&answer, 200)?;
        http::media_type(&answer, "application/json")?;
        let coding = answer.encoding.name();
        if !codings.contains(&coding) {
            let asked = match accepted.trim_end() {
                "" => "no Accept-Encoding",
                some => some,
            };
            return Err(Fault::new(
                format!("a body in {} after {asked}", codings.join(" or ")),
                format!("Content-Encoding: {coding}"),
            ));
        }
        let body = answer
            .encoding
            .decode(&answer.body, DECODED)
            .map_err(|why| Fault::new(format!("a body in {coding}"), why))?;
        if !answer.encoding.is_identity() && answer.body.len() >= body.len() {
            return Err(Fault::new(
                format!("fewer bytes in {coding} than {}", body.len()),
                format!("{} bytes", answer.body.len()),
            ));
        }
        ask::same(&expected, &ask::parse(&body)?)?;
    }
    Ok(())
}
