//! Steps of every contract over HTTP/3, beside those over HTTP/2 that reach the server through the relay. The relay's client,
//! the crate `h3`, sends frames, settings and streams that are not known (GREASE) on every connection.

use super::answer::HttpAnswer;
use super::http::Case;
use super::wire::Fault;
use super::{Act, Depth, Visit, over_h2};
use crate::over_h2::RequestEnd;

/// Length of a field that makes a head longer than several packets, in bytes. Many servers take 8 KiB of head.
const LONG: usize = 5_000;

pub(super) const SCRIPT: &[Act] = &[
    Act {
        name: "head",
        tried: "HEAD, whose answer has no body",
        from: Depth::Quick,
        run: head,
    },
    Act {
        name: "large-head",
        tried: "a head of several packets",
        from: Depth::Quick,
        run: large_head,
    },
    Act {
        name: "empty-data",
        tried: "a request that ends with an empty DATA frame",
        from: Depth::Full,
        run: empty_data,
    },
    Act {
        name: "trailers",
        tried: "a request with trailers",
        from: Depth::Full,
        run: trailers,
    },
];

/// A server may know no HEAD, and says so.
fn head(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let case = visit.case(10);
    if case.method != "GET" {
        return Ok(());
    }
    let asked = Case {
        method: "HEAD",
        ..case
    };
    let answer = over_h2::ask(&asked, visit)?;
    let known = matches!(answer.status, 200 | 405 | 501);
    match known && answer.body.is_empty() {
        true => Ok(()),
        false => Err(Fault::new(
            "a status of 200, 405 or 501 and no body for HEAD",
            format!(
                "status {} and a body of {} bytes",
                answer.status,
                answer.body.len()
            ),
        )),
    }
}

/// A server may find it too long, and says so.
fn large_head(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let case = visit.case(10);
    let long = ("x-long".to_owned(), "a".repeat(LONG));
    let answer = over_h2::ask_with(&case, visit, &[long], RequestEnd::Itself)?;
    match answer.status {
        431 => Ok(()),
        _ => (case.check)(&answer),
    }?;
    ended(visit, RequestEnd::Itself)
}

fn empty_data(visit: &mut Visit<'_>) -> Result<(), Fault> {
    ended(visit, RequestEnd::EmptyData)
}

fn trailers(visit: &mut Visit<'_>) -> Result<(), Fault> {
    ended(visit, RequestEnd::Trailers)
}

/// A request that ends in this way is answered as any other.
fn ended(visit: &mut Visit<'_>, end: RequestEnd) -> Result<(), Fault> {
    let case = visit.case(10);
    let answer: HttpAnswer = over_h2::ask_with(&case, visit, &[], end)?;
    (case.check)(&answer)
}
