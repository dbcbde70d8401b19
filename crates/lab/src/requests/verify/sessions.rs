//! Sessions: each from its first step to its last, several times, whole and in fragments.

use super::{PAUSE, PIECES, REPEATS, Seen, Told, Tried, Way, connect, count_from, hear};
use prony_engine::Target;
use prony_engine::protocol::mix::{UserConn, Users};
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::protocol::{Fifo, Mix, Session};
use std::io::{self, Write};
use std::thread;
use std::time::Duration;

/// All sessions of a mix. A session waits for each answer: pipelining is none of its ways.
pub(super) fn verify(
    mix: &Mix,
    place: (&Target, Option<&TlsOptions>),
    seed: u64,
    (silence, ways): (Duration, &[Way]),
    told: Told<'_>,
) -> Vec<Tried> {
    let mut all = Vec::new();
    let ways = ways.iter().filter(|&&way| way != Way::Pipelined);
    let mut attempts = 0..;
    for (&way, nth) in ways.zip(0..) {
        for (session, name) in mix.sessions.iter().map(|one| &one.name).enumerate() {
            let mut users = Users::new(mix, seed.wrapping_add(nth), (0, 1), true);
            users.only(session);
            users.count_from(count_from(seed, attempts.next().unwrap_or_default()));
            let mut seen = Seen::default();
            let wrong = match attempt(&mut users, session, place, silence, way, &mut seen) {
                Ok(()) => seen.wrong,
                Err(error) => Some(seen.wrong.unwrap_or_else(|| error.to_string())),
            };
            let tried = Tried {
                name: name.clone(),
                way,
                right: seen.right,
                wrong,
            };
            let go_on = told(&tried);
            all.push(tried);
            if !go_on {
                return all;
            }
        }
    }
    all
}

/// The session, several times, each on a connection of its own.
fn attempt(
    users: &mut Users,
    session: usize,
    place: (&Target, Option<&TlsOptions>),
    silence: Duration,
    way: Way,
    seen: &mut Seen,
) -> io::Result<()> {
    for _ in 0..REPEATS {
        let (mut stream, mut conn) = (connect(place, silence)?, UserConn::default());
        while users.accepts(&conn) {
            if seen.last {
                (stream, conn) = (connect(place, silence)?, UserConn::default());
                seen.last = false;
            }
            let mut out = Vec::new();
            users.request(&mut conn, 0, Fifo, &mut out);
            seen.waiting += 1;
            let pieces = if way == Way::Fragments { PIECES } else { 1 };
            for piece in out.chunks(out.len().div_ceil(pieces).max(1)) {
                stream.write_all(piece)?;
                if way == Way::Fragments {
                    thread::sleep(PAUSE);
                }
            }
            hear(users, &mut conn, stream.as_mut(), seen)?;
            if !users.is_active(0) {
                break;
            }
        }
        if seen.wrong.is_some() {
            break;
        }
        if let Some(why) = users.failure(session) {
            return Err(io::Error::other(why));
        }
    }
    Ok(())
}
