//! `static-file`: `GET /` is answered with the bytes of `index.html`, 151 of them, from disk.

use prony_engine::protocol::{Expect, HttpRequest};

use super::answer::HttpAnswer;
use super::http::{self, Case, token};
use super::wire::Fault;
use super::{Act, Depth, Exchange, Visit};

/// The step that a server cannot pass which answers every request with the same text.
pub(super) const BODY: &str = "body";

pub(super) const SCRIPT: &[Act] = &[
    Act {
        name: "answer",
        tried: "GET /",
        from: Depth::Quick,
        run: answer,
    },
    Act {
        name: BODY,
        tried: "the file's bytes compared",
        from: Depth::Quick,
        run: body,
    },
    http::COMPLETE_REQUEST,
    http::FRAGMENTS,
    http::KEEP_ALIVE,
    http::PIPELINED_REQUESTS,
    http::INTERLEAVED_CONNECTIONS,
    http::NOT_FOUND,
    Act {
        name: "traversal",
        tried: "targets that lead out of the folder",
        from: Depth::Full,
        run: traversal,
    },
    Act {
        name: "head",
        tried: "HEAD /",
        from: Depth::Full,
        run: head,
    },
    http::CLOSE,
    http::HTTP_1_0,
];

/// The only request there is. Where the server is known to answer with another text, only the
/// status is asked for.
pub(super) fn case(visit: &mut Visit<'_>) -> Case {
    if visit.is_known_limit(BODY) {
        return Case::get("/", |answer| http::status(answer, 200));
    }
    let page = visit.fixture.page().to_vec();
    Case::get("/", move |answer| whole(answer, &page))
}

fn whole(answer: &HttpAnswer, page: &[u8]) -> Result<(), Fault> {
    http::status(answer, 200)?;
    http::media_type(answer, "text/html")?;
    http::body(answer, page)
}

/// Exchange of a load: a request for the page. Expected is the page, or any body from a server that is known to answer
/// with another text.
pub(super) fn exchanges(host: &str, page: &[u8], other: bool) -> Vec<Exchange> {
    let request = HttpRequest::get(host, "/");
    let expect = if other {
        Expect::default()
    } else {
        Expect::body(page)
    };
    vec![(request, expect.with_status(200))]
}

fn answer(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut listener = Case::get("/", |_| Ok(())).ask(visit)?;
    http::status(&listener.answer()?, 200)?;
    listener.expect_nothing_more()
}

fn body(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let page = visit.fixture.page().to_vec();
    Case::get("/", move |answer| whole(answer, &page)).exchange(visit)
}

/// Requests targets that lead out of the folder: no answer may have a file from outside.
fn traversal(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let word = token(visit, 8);
    for target in [
        "/../secret".to_owned(),
        "/%2e%2e/secret".to_owned(),
        format!("/{word}/../../secret"),
        "/..%2fsecret".to_owned(),
    ] {
        let shown = target.clone();
        let secret = visit.fixture.secret().to_vec();
        let case = Case::get(target, move |answer| {
            let leaked = answer.body.windows(secret.len()).any(|part| part == secret);
            if leaked {
                let expected = format!("no file from outside the folder for {shown}");
                return Err(Fault::new(expected, "its content"));
            }
            Ok(())
        });
        case.exchange(visit)?;
    }
    Ok(())
}

fn head(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let case = Case {
        method: "HEAD",
        ..Case::get("/", |_| Ok(()))
    };
    let mut listener = case.ask(visit)?;
    let head = listener.head_alone()?;
    if head != 200 {
        return Err(Fault::new("status 200", head.to_string()));
    }
    listener.expect_nothing_more()
}
