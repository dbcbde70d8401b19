//! Step in which the dates of all answers advance.

use super::super::wire::Fault;
use super::super::{Act, Depth, Visit, date};
use super::ask::{self, Media, date_of};
use std::time::{Duration, Instant};

/// A date that has not advanced after this is kept by the server. Several servers make one only once a second.
const KEPT: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(100);

/// Parts, their targets and what these are answered with.
const PATHS: [(&str, &str, Media); 7] = [
    ("json", "/json", Media::Json),
    ("plaintext", "/plaintext", Media::Text),
    ("db", "/db", Media::Json),
    ("queries", "/queries?queries=1", Media::Json),
    ("fortunes", "/fortunes", Media::Html),
    ("updates", "/updates?queries=1", Media::Json),
    ("cached-queries", "/cached-queries?count=1", Media::Json),
];

pub(super) const STEP: Act = Act {
    name: "date-advances",
    tried: "every path again within 3 s",
    from: Depth::Thorough,
    run: advances,
};

fn advances(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut firsts = Vec::with_capacity(PATHS.len());
    for (_, path, media) in PATHS.into_iter().filter(|(part, ..)| visit.keeps(part)) {
        firsts.push((path, media, date_of(&ask::once(visit, path, media)?)?));
    }
    let begun = Instant::now();
    for (path, media, first) in firsts {
        loop {
            // Whether it is late must be known before it is asked: on a busy machine an answer may take long.
            let late = begun.elapsed() >= KEPT;
            let now = date_of(&ask::once(visit, path, media)?)?;
            if now > first {
                break;
            }
            if late {
                return Err(Fault::new(
                    format!("a later Date of {path} after {} s", KEPT.as_secs()),
                    format!("{} again", date::shown(now)),
                ));
            }
            std::thread::sleep(PAUSE);
        }
    }
    Ok(())
}
