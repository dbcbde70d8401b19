//! Uploads, whose bytes the server counts.

use super::super::answer::Listener;
use super::super::http::send;
use super::super::wire::Fault;
use super::super::{Act, Depth, Visit};
use super::ask::{self, BodyFraming};
use rand::RngExt;
use std::time::Duration;

const MEDIA: &str = "application/octet-stream";

pub(super) const STEP: Act = Act {
    name: "upload",
    tried: "POST /upload, held back before its end and in chunks",
    from: Depth::Quick,
    run: upload,
};

fn upload(visit: &mut Visit<'_>) -> Result<(), Fault> {
    held_back(visit)?;
    let mut sizes = vec![visit.rng.random_range(1..=20_000)];
    if visit.depth > Depth::Quick {
        sizes.extend([0, 500_000, visit.rng.random_range(1_900_000..=2_000_000)]);
    }
    let mut listener = Listener::new(visit.open()?);
    for size in sizes {
        for framing in [BodyFraming::Chunks(16_000), BodyFraming::Length] {
            let mut body = vec![0; size];
            visit.rng.fill(&mut body[..]);
            send(
                &listener,
                &ask::post(visit, "/upload", MEDIA, &body, framing),
            )?;
            ask::is_text(&listener.answer()?, &size.to_string())?;
        }
    }
    listener.expect_nothing_more()
}

/// Sends no body at first: who repeats Content-Length has an answer before the body is there.
fn held_back(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let size = visit.rng.random_range(10_000..=30_000);
    let mut body = vec![0; size];
    visit.rng.fill(&mut body[..]);
    let request = ask::post(visit, "/upload", MEDIA, &body, BodyFraming::Length);
    let (first, rest) = request.split_at(request.len() - 1);
    let mut listener = Listener::new(visit.open()?);
    send(&listener, first)?;
    std::thread::sleep(visit.choose(Duration::from_millis(20), Duration::from_millis(50)));
    let expected = format!("no answer to {} of {size} bytes", size - 1);
    listener.wire.expect_nothing_yet(&expected)?;
    send(&listener, rest)?;
    ask::is_text(&listener.answer()?, &size.to_string())
}
