//! Step in which the dates of all answers advance.

use super::super::wire::Fault;
use super::super::{Act, Depth, Visit, date};
use super::ask::{self, Media, date_of};
use std::time::{Duration, Instant};

/// A date that has not advanced after this is kept by the server. Several servers make one only once a second.
const KEPT: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(100);

const PATHS: [(&str, Media); 7] = [
    ("/json", Media::Json),
    ("/plaintext", Media::Text),
    ("/db", Media::Json),
    ("/queries?queries=1", Media::Json),
    ("/fortunes", Media::Html),
    ("/updates?queries=1", Media::Json),
    ("/cached-queries?count=1", Media::Json),
];

pub(super) const STEP: Act = Act {
    name: "date-advances",
    tried: "every path again within 3 s",
    from: Depth::Thorough,
    run: advances,
};

fn advances(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut firsts = Vec::with_capacity(PATHS.len());
    for (path, media) in PATHS {
        firsts.push(date_of(&ask::once(visit, path, media)?)?);
    }
    let begun = Instant::now();
    for ((path, media), first) in PATHS.into_iter().zip(firsts) {
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
