//! `weather`: a gateway answers `GET /weather/{city}` with two figures of what its upstream says,
//! asking it anew for every request.

use prony_engine::protocol::{Expect, HttpRequest};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::answer::HttpAnswer;
use super::fixture::{UpstreamReply, Weather};
use super::http::{self, Case, token};
use super::wire::{Fault, excerpt};
use super::{Act, Depth, Exchange, Visit};

/// Cities that one load asks for.
const CITIES: usize = 64;

pub(super) const SCRIPT: &[Act] = &[
    Act {
        name: "answer",
        tried: "one request",
        from: Depth::Quick,
        run: answer,
    },
    Act {
        name: "fresh",
        tried: "an upstream that changes between requests",
        from: Depth::Quick,
        run: fresh,
    },
    http::COMPLETE_REQUEST,
    http::FRAGMENTS,
    http::KEEP_ALIVE,
    http::PIPELINED_REQUESTS,
    http::INTERLEAVED_CONNECTIONS,
    Act {
        name: "hits",
        tried: "requests that the upstream has seen counted",
        from: Depth::Full,
        run: hits,
    },
    Act {
        name: "trailing-slash",
        tried: "a slash after the city",
        from: Depth::Full,
        run: trailing_slash,
    },
    Act {
        name: "upstream-error",
        tried: "an upstream that says cod 404",
        from: Depth::Full,
        run: upstream_error,
    },
    Act {
        name: "upstream-broken",
        tried: "an upstream that answers broken JSON",
        from: Depth::Full,
        run: upstream_broken,
    },
    http::NOT_FOUND,
    http::CLOSE,
    // Last: some gateways do not ask an upstream that failed again for a while.
    Act {
        name: "upstream-down",
        tried: "an upstream that closes every connection",
        from: Depth::Thorough,
        run: upstream_down,
    },
];

/// A random city under the weather there is.
pub(super) fn case(visit: &mut Visit<'_>, size: usize) -> Case {
    let target = format!("/weather/{}", token(visit, size));
    expecting(target, visit.fixture.weather().answer())
}

fn expecting(target: String, body: String) -> Case {
    Case::get(target, move |answer| {
        http::status(answer, 200)?;
        http::media_type(answer, "application/json")?;
        http::body(answer, body.as_bytes())
    })
}

/// Exchanges of a load: requests for cities drawn from `seed`, and the published weather as every answer.
pub(super) fn exchanges(host: &str, seed: u64) -> Vec<Exchange> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let city = |_| {
        let target = format!("/weather/{:08x}", rng.random::<u32>());
        let request = HttpRequest::get(host, target);
        let expect = Expect::body(Weather::PUBLISHED.answer()).with_status(200);
        (request, expect)
    };
    (0..CITIES).map(city).collect()
}

/// Weather that cannot be guessed.
fn another(visit: &mut Visit<'_>) -> Weather {
    Weather {
        code: visit.rng.random_range(200..900),
        hundredths: visit.rng.random_range(-4_000..4_500),
    }
}

fn answer(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let case = case(visit, 10);
    let mut listener = case.ask(visit)?;
    (case.check)(&listener.answer()?)?;
    listener.expect_nothing_more()
}

fn fresh(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let city = token(visit, 8);
    let mut changes: Vec<Weather> = (0..visit.choose(4, 12)).map(|_| another(visit)).collect();
    // Truncated, not rounded, on both sides of zero.
    changes.extend([1_499, -399, -50, 0].map(|hundredths| Weather {
        code: 800,
        hundredths,
    }));
    for weather in changes {
        visit.fixture.set(&UpstreamReply::Weather(weather))?;
        expecting(format!("/weather/{city}"), weather.answer()).exchange(visit)?;
    }
    visit
        .fixture
        .set(&UpstreamReply::Weather(Weather::PUBLISHED))
}

/// Every request reaches the upstream, also when nothing has changed.
fn hits(visit: &mut Visit<'_>) -> Result<(), Fault> {
    const REQUESTS: u64 = 20;
    let city = token(visit, 8);
    let body = visit.fixture.weather().answer();
    let before = visit.fixture.hits();
    for _ in 0..REQUESTS {
        expecting(format!("/weather/{city}"), body.clone()).exchange(visit)?;
    }
    let seen = visit.fixture.hits() - before;
    if seen < REQUESTS {
        let expected = format!("the upstream to be asked {REQUESTS} times");
        return Err(Fault::new(expected, format!("{seen} times")));
    }
    Ok(())
}

fn trailing_slash(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let target = format!("/weather/{}/", token(visit, 8));
    expecting(target, visit.fixture.weather().answer()).exchange(visit)
}

fn upstream_error(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let message = format!("city {} not found", token(visit, 8));
    visit
        .fixture
        .set(&UpstreamReply::Failure(message.clone()))?;
    let result = error(visit, 400, Some(message));
    visit
        .fixture
        .set(&UpstreamReply::Weather(Weather::PUBLISHED))?;
    result
}

fn upstream_broken(visit: &mut Visit<'_>) -> Result<(), Fault> {
    visit.fixture.set(&UpstreamReply::Broken)?;
    let result = error(visit, 502, None);
    visit
        .fixture
        .set(&UpstreamReply::Weather(Weather::PUBLISHED))?;
    result
}

fn upstream_down(visit: &mut Visit<'_>) -> Result<(), Fault> {
    visit.fixture.set(&UpstreamReply::Down)?;
    let result = error(visit, 502, None);
    visit
        .fixture
        .set(&UpstreamReply::Weather(Weather::PUBLISHED))?;
    result
}

/// An answer with this status and a JSON error; with this very text, where it is known.
fn error(visit: &mut Visit<'_>, status: u16, message: Option<String>) -> Result<(), Fault> {
    let target = format!("/weather/{}", token(visit, 8));
    let case = Case::get(target, move |answer| {
        told(answer, status, message.as_deref())
    });
    case.exchange(visit)
}

fn told(answer: &HttpAnswer, status: u16, message: Option<&str>) -> Result<(), Fault> {
    http::status(answer, status)?;
    let json = serde_json::from_slice::<serde_json::Value>(&answer.body).unwrap_or_default();
    match (json.get("error").and_then(|error| error.as_str()), message) {
        (Some(_), None) => Ok(()),
        (Some(found), Some(message)) if found == message => Ok(()),
        _ => {
            let expected = match message {
                Some(message) => format!("{{\"error\":{message:?}}}"),
                None => "a JSON object with an error".to_owned(),
            };
            Err(Fault::new(expected, excerpt(&answer.body)))
        }
    }
}
