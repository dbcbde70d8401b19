//! Files of the folder, with and without compression.

use super::super::answer::HttpAnswer;
use super::super::http::{self, token};
use super::super::wire::{Fault, excerpt};
use super::super::{Act, Depth, Visit};
use super::ask;
use super::dataset;
use super::files::{FOLDER, StaticFile};

/// The most bytes of a decoded body.
const DECODED: u64 = 1024 * 1024;

/// Bytes that are shown of a difference.
const SHOWN: usize = 12;

/// Files of a quick verification.
const FEW: usize = 4;

pub(super) const STEP: Act = Act {
    name: "static",
    tried: "GET /static/{file}",
    from: Depth::Quick,
    run: |visit| each(visit, &["", "br, gzip"]),
};
pub(super) const ENCODED: Act = Act {
    name: "static-encoded",
    tried: "GET /static/{file} with Accept-Encoding of one coding, and without it again",
    from: Depth::Full,
    run: |visit| each(visit, &["gzip", "", "br", "identity"]),
};
pub(super) const OUTSIDE: Act = Act {
    name: "static-outside",
    tried: "files that do not exist or are not in the folder",
    from: Depth::Full,
    run: outside,
};

/// Asks for files with each of these values of Accept-Encoding; the empty one is none.
fn each(visit: &mut Visit<'_>, accepted: &[&str]) -> Result<(), Fault> {
    let files = visit.fixture.files();
    let count = visit.choose(FEW, files.len());
    for at in visit.shuffled(files.len()).into_iter().take(count) {
        for &accepted in accepted {
            let target = format!("/{FOLDER}/{}", files[at].name);
            let answer = ask::get_accepting(visit, &target, accepted)?;
            judge(&files[at], accepted, &answer).map_err(|fault| {
                Fault::new(format!("{} for {target}", fault.expected), fault.found)
            })?;
        }
    }
    Ok(())
}

fn judge(file: &StaticFile, accepted: &str, answer: &HttpAnswer) -> Result<(), Fault> {
    http::status(answer, 200)?;
    let others = file.media.iter().skip(1);
    let media = others.fold(http::media_type(answer, file.media[0]), |found, media| {
        found.or_else(|fault| http::media_type(answer, media).map_err(|_| fault))
    });
    media?;
    if answer.fields.until_close {
        return Err(Fault::new("Content-Length or chunks", "neither"));
    }
    let coding = answer.encoding.name();
    let allowed = |coding| coding == "identity" || accepted.split(", ").any(|it| it == coding);
    if !allowed(coding) {
        let asked = match accepted {
            "" => "without Accept-Encoding",
            some => some,
        };
        return Err(Fault::new(
            format!("no coding but those that were accepted ({asked})"),
            format!("Content-Encoding: {coding}"),
        ));
    }
    let body = (answer.encoding.decode(&answer.body, DECODED))
        .map_err(|why| Fault::new(format!("a body in {coding}"), why))?;
    if body != file.bytes {
        return Err(differing(&file.bytes, &body));
    }
    if coding != "identity" && file.is_text && answer.body.len() >= body.len() {
        return Err(Fault::new(
            format!("fewer bytes in {coding} than {}", body.len()),
            format!("{} bytes", answer.body.len()),
        ));
    }
    Ok(())
}

/// The first byte that is another one.
fn differing(expected: &[u8], found: &[u8]) -> Fault {
    let same = expected.iter().zip(found).take_while(|(a, b)| a == b);
    let at = same.count();
    let there = |bytes: &[u8]| {
        let end = bytes.len().min(at + SHOWN);
        format!(
            "{} bytes, at {at} {}",
            bytes.len(),
            excerpt(&bytes[at..end])
        )
    };
    Fault::new(there(expected), there(found))
}

fn outside(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let word = token(visit, 12);
    for name in [format!("{word}.css"), format!("app.js.{word}")] {
        let answer = ask::get_accepting(visit, &format!("/{FOLDER}/{name}"), "br, gzip")?;
        http::status(&answer, 404)?;
    }
    let secret = visit.fixture.dataset().to_string();
    for up in ["..", "%2e%2e", "..%2f", &format!("{word}/../..")] {
        let target = format!("/{FOLDER}/{up}/{}", dataset::FILE);
        let answer = ask::get_accepting(visit, &target, "")?;
        let mut parts = answer.body.windows(secret.len());
        if parts.any(|part| part == secret.as_bytes()) {
            let expected = format!("no file from outside the folder for {target}");
            return Err(Fault::new(expected, "its content"));
        }
    }
    Ok(())
}
