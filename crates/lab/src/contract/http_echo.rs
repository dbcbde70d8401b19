//! `http-echo`: `GET <target>` is answered `200`, `Content-Type: text/plain`, with the body
//! `<target> at <date>`: the request target as it was sent, and the time of the answer as an
//! IMF-fixdate (RFC 9110, 5.6.7).

use jiff::Timestamp;
use prony_engine::protocol::{Expect, HttpRequest};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::answer::HttpAnswer;
use super::http::{self, Case, token};
use super::wire::{Fault, excerpt};
use super::{Act, Depth, Exchange, Visit, date};

/// The long target, in bytes: longer than one small read, shorter than the 8,000 bytes every
/// server should take (RFC 9112, 3).
const LONG_TARGET: usize = 2_000;

/// Different paths that one load asks for: enough that a server which keeps its first answers is
/// caught by the judge, few enough to stay in the cache of the generator's CPU.
const TARGETS: usize = 64;

/// Bytes of an IMF-fixdate.
const DATE: usize = "Sat, 21 Nov 2026 10:09:54 GMT".len();

pub(super) const SCRIPT: &[Act] = &[
    Act {
        name: "answer",
        tried: "one request",
        from: Depth::Quick,
        run: answer,
    },
    Act {
        name: "distinct-targets",
        tried: "targets of several kinds, a new connection for each",
        from: Depth::Quick,
        run: distinct_targets,
    },
    Act {
        name: "date",
        tried: "the date in the body compared",
        from: Depth::Quick,
        run: date,
    },
    http::COMPLETE_REQUEST,
    http::FRAGMENTS,
    http::KEEP_ALIVE,
    http::PIPELINED_REQUESTS,
    http::INTERLEAVED_CONNECTIONS,
    Act {
        name: "long-target",
        tried: "a target of 2,000 bytes",
        from: Depth::Full,
        run: long,
    },
    http::CLOSE,
    http::HTTP_1_0,
];

/// A request whose target is `size` random characters.
pub(super) fn case(visit: &mut Visit<'_>, size: usize) -> Case {
    of(target(visit, size))
}

/// Case for a target: the request, and the check of an answer to it that comes from now on.
fn of(target: String) -> Case {
    let (own, asked) = (target.clone(), Timestamp::now());
    Case::get(target, move |answer| check(answer, &own, asked))
}

/// Exchanges of a load: requests for paths drawn from `seed`, and the answers that they must have.
pub(super) fn exchanges(host: &str, seed: u64) -> Vec<Exchange> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let path = |_| {
        let path = format!("/prony/{:016x}", rng.random::<u64>());
        let request = HttpRequest::get(host, path.as_str());
        let prefix = format!("{path} at ");
        let expect = Expect {
            status: Some((200, 200)),
            length: Some((prefix.len() + DATE) as u64),
            prefix: prefix.into_bytes(),
            ..Expect::default()
        };
        (request, expect)
    };
    (0..TARGETS).map(path).collect()
}

fn answer(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let target = target(visit, 24);
    let mut listener = of(target.clone()).ask(visit)?;
    check_body(&listener.answer()?, &target)?;
    listener.expect_nothing_more()
}

fn distinct_targets(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let key = target(visit, 6);
    let targets = [
        target(visit, 1),
        target(visit, 200),
        format!("{key}/{}", token(visit, 10)),
        format!("{key}?{}", token(visit, 10)),
        format!("{key}?a={}&b=%20{}", token(visit, 5), token(visit, 5)),
        format!("{key}%20{}/", token(visit, 5)),
    ];
    for target in targets {
        let answer = of(target.clone()).ask(visit)?.answer()?;
        check_body(&answer, &target)?;
    }
    Ok(())
}

fn date(visit: &mut Visit<'_>) -> Result<(), Fault> {
    case(visit, 24).exchange(visit)
}

fn long(visit: &mut Visit<'_>) -> Result<(), Fault> {
    case(visit, LONG_TARGET - 1).exchange(visit)
}

/// A path of one segment with `size` random characters.
fn target(visit: &mut Visit<'_>, size: usize) -> String {
    format!("/{}", token(visit, size))
}

/// Everything the contract asks of an answer to a request that was sent at `asked` or later.
fn check(answer: &HttpAnswer, target: &str, asked: Timestamp) -> Result<(), Fault> {
    let date = check_body(answer, target)?;
    date::is_close(date, asked)
}

/// Everything but the closeness of the date, which is returned.
fn check_body(answer: &HttpAnswer, target: &str) -> Result<Timestamp, Fault> {
    http::status(answer, 200)?;
    http::media_type(answer, "text/plain")?;
    let expected = || format!("{}, then \" at \" and the date", excerpt(target.as_bytes()));
    let date = answer
        .body
        .strip_prefix(target.as_bytes())
        .and_then(|rest| rest.strip_prefix(b" at "))
        .ok_or_else(|| Fault::new(expected(), excerpt(&answer.body)))?;
    date::parse(date).ok_or_else(|| {
        Fault::new(
            "a date like \"Sat, 21 Nov 2026 10:09:54 GMT\" at the end",
            excerpt(date),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::answer::OtherFields;
    use jiff::SignedDuration;

    #[test]
    fn an_answer_that_takes_long_may_have_the_date_of_its_request() {
        let at = |seconds| Timestamp::now() - SignedDuration::from_secs(seconds);
        let dated = |seconds| HttpAnswer {
            encoding: prony_engine::protocol::encoding::Encoding::of([]),
            status: 200,
            content_type: Some("text/plain".into()),
            body: format!("/x at {}", date::shown(at(seconds))).into_bytes(),
            chunked: false,
            fields: OtherFields::default(),
        };
        assert!(check(&dated(20), "/x", at(20)).is_ok());
        assert!(check(&dated(20), "/x", at(10)).is_err());
        assert!(check(&dated(-10), "/x", at(20)).is_err());
    }
}
