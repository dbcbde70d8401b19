//! `weather-upstream`: what stands behind a weather gateway: `GET /weather.json` is answered with
//! the bytes of that file, and a change of it is seen at once.

use prony_engine::protocol::{Expect, HttpRequest};
use rand::RngExt;

use super::fixture::{UpstreamReply, Weather};
use super::http::{self, Case};
use super::wire::Fault;
use super::{Act, Depth, Exchange, Visit};

/// The file's path.
pub(super) const TARGET: &str = "/weather.json";

pub(super) const SCRIPT: &[Act] = &[
    Act {
        name: "answer",
        tried: "GET /weather.json",
        from: Depth::Quick,
        run: answer,
    },
    Act {
        name: "fresh",
        tried: "a file that changes between requests",
        from: Depth::Quick,
        run: fresh,
    },
    http::COMPLETE_REQUEST,
    http::FRAGMENTS,
    http::KEEP_ALIVE,
    http::PIPELINED_REQUESTS,
    http::INTERLEAVED_CONNECTIONS,
    http::NOT_FOUND,
    http::CLOSE,
    http::HTTP_1_0,
];

/// The only request there is.
pub(super) fn case(visit: &mut Visit<'_>) -> Case {
    let file = visit.fixture.weather().file();
    Case::get(TARGET, move |answer| {
        http::status(answer, 200)?;
        http::media_type(answer, "application/json")?;
        http::body(answer, file.as_bytes())
    })
}

/// Exchange of a load: a request for the published file, and the file as its answer.
pub(super) fn exchanges(host: &str) -> Vec<Exchange> {
    let request = HttpRequest::get(host, TARGET);
    let expect = Expect::body(Weather::PUBLISHED.file()).with_status(200);
    vec![(request, expect)]
}

fn answer(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let case = case(visit);
    let mut listener = case.ask(visit)?;
    (case.check)(&listener.answer()?)?;
    listener.expect_nothing_more()
}

fn fresh(visit: &mut Visit<'_>) -> Result<(), Fault> {
    for _ in 0..visit.choose(3, 10) {
        let weather = Weather {
            code: visit.rng.random_range(200..900),
            hundredths: visit.rng.random_range(-4_000..4_500),
        };
        visit.fixture.set(&UpstreamReply::Weather(weather))?;
        case(visit).exchange(visit)?;
    }
    visit
        .fixture
        .set(&UpstreamReply::Weather(Weather::PUBLISHED))
}
