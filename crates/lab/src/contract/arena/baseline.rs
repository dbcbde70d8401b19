//! Sums of parameters and bodies, and the shortest answer.

use super::super::answer::Listener;
use super::super::http::{Case, send};
use super::super::wire::Fault;
use super::super::{Act, Depth, Visit};
use super::ask::{self, BodyFraming};
use rand::RngExt;

pub(super) const OK: &[u8] = b"ok";

/// Requests before any answer is read, as the published load has them.
const IN_FLIGHT: usize = 16;
/// The largest number in a sum.
const LARGEST: u32 = 1_000_000;

pub(super) const GET: Act = Act {
    name: "baseline",
    tried: "GET /baseline11?a=…&b=…",
    from: Depth::Quick,
    run: get,
};
pub(super) const POST: Act = Act {
    name: "baseline-post",
    tried: "POST /baseline11?a=…&b=… with a number of known length",
    from: Depth::Quick,
    run: |visit| post(visit, BodyFraming::Length),
};
pub(super) const CHUNKED: Act = Act {
    name: "baseline-chunked",
    tried: "POST /baseline11?a=…&b=… with a number in chunks",
    from: Depth::Quick,
    run: |visit| post(visit, BodyFraming::Chunks(2)),
};
pub(super) const PIPELINE: Act = Act {
    name: "pipeline",
    tried: "GET /pipeline",
    from: Depth::Quick,
    run: pipeline,
};
pub(super) const PIPELINED: Act = Act {
    name: "pipeline-16",
    tried: "16 times GET /pipeline before any answer is read",
    from: Depth::Quick,
    run: pipelined,
};

/// A sum that cannot be guessed.
pub(super) fn case(visit: &mut Visit<'_>) -> Case {
    let (target, sum) = terms(visit);
    Case::get(visit.target(&target), move |answer| {
        ask::is_text(answer, &sum.to_string())
    })
}

/// The shortest answer.
pub(super) fn shortest(visit: &Visit<'_>) -> Case {
    Case::get(visit.target("/pipeline"), |answer| {
        ask::is_text(answer, "ok")
    })
}

fn terms(visit: &mut Visit<'_>) -> (String, u32) {
    let mut number = || visit.rng.random_range(0..=LARGEST);
    let (a, b) = (number(), number());
    (format!("/baseline11?a={a}&b={b}"), a + b)
}

fn get(visit: &mut Visit<'_>) -> Result<(), Fault> {
    for _ in 0..visit.choose(1, 3) {
        let (target, sum) = terms(visit);
        ask::is_text(&ask::get(visit, &target)?, &sum.to_string())?;
    }
    Ok(())
}

/// A body that was not read would be taken for the next request.
fn post(visit: &mut Visit<'_>, framing: BodyFraming) -> Result<(), Fault> {
    let mut listener = Listener::new(visit.open()?);
    for _ in 0..3 {
        let (target, sum) = terms(visit);
        let number = visit.rng.random_range(1_000..=LARGEST);
        let body = number.to_string();
        let request = ask::post(visit, &target, "text/plain", body.as_bytes(), framing);
        send(&listener, &request)?;
        ask::is_text(&listener.answer()?, &(sum + number).to_string())?;
    }
    listener.expect_nothing_more()
}

fn pipeline(visit: &mut Visit<'_>) -> Result<(), Fault> {
    ask::is_text(&ask::get(visit, "/pipeline")?, "ok")
}

fn pipelined(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut listener = Listener::new(visit.open()?);
    let case = shortest(visit);
    send(
        &listener,
        &case.request(visit.way.authority, "").repeat(IN_FLIGHT),
    )?;
    for number in 1..=IN_FLIGHT {
        listener
            .answer()
            .and_then(|answer| (case.check)(&answer))
            .map_err(|fault| {
                let expected = format!("answer {number} of {IN_FLIGHT}: {}", fault.expected);
                Fault::new(expected, fault.found)
            })?;
    }
    listener.expect_nothing_more()
}
