//! Sessions: each from its first step to its last, several times, whole and in fragments.

use super::line::VerifyConnection;
use super::{How, REPEATS, SendMode, SessionResults, Told, Tried, count_from};
use prony_engine::Target;
use prony_engine::protocol::h2::H2;
use prony_engine::protocol::mix::{OverStreams, Users, over_h2};
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::protocol::{Mix, Session};
use std::io;
use std::time::Duration;

/// A session of users, over whatever it is.
trait Several: Session {
    fn users(&mut self) -> &mut Users;
}

impl Several for Users {
    fn users(&mut self) -> &mut Users {
        self
    }
}

impl Several for H2<OverStreams<Users>> {
    fn users(&mut self) -> &mut Users {
        self.state()
    }
}

/// All sessions of a mix. A session waits for each answer: pipelining is none of its ways.
pub(super) fn verify(
    mix: &Mix,
    place: (&Target, Option<&TlsOptions>),
    seed: u64,
    (silence, ways): (Duration, &[SendMode]),
    told: Told<'_>,
) -> Vec<Tried> {
    let mut all = Vec::new();
    let ways = ways.iter().filter(|&&way| way != SendMode::Pipelined);
    let mut attempts = 0..;
    for (&way, nth) in ways.zip(0..) {
        for (session, name) in mix.sessions.iter().map(|one| &one.name).enumerate() {
            let mut users = Users::new(mix, seed.wrapping_add(nth), (0, 1), true);
            users.only(session);
            users.count_from(count_from(seed, attempts.next().unwrap_or_default()));
            let mut seen = SessionResults::default();
            let how = (place, silence, way);
            let tried = match mix.http2 {
                None => attempt(&mut users, session, how, &mut seen),
                Some(_) => attempt(&mut over_h2(users, mix), session, how, &mut seen),
            };
            let wrong = match tried {
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
fn attempt<S: Several>(
    users: &mut S,
    session: usize,
    (place, silence, way): How<'_>,
    seen: &mut SessionResults,
) -> io::Result<()> {
    for _ in 0..REPEATS {
        let mut line = VerifyConnection::open(users, place, silence, seen)?;
        while users.accepts(&line.conn) {
            if seen.last {
                line = VerifyConnection::open(users, place, silence, seen)?;
                seen.last = false;
            }
            line.ask(users, 1, way, seen)?;
            if !users.users().is_active(0) {
                break;
            }
        }
        if seen.wrong.is_some() {
            break;
        }
        if let Some(why) = users.users().failure(session) {
            return Err(io::Error::other(why));
        }
    }
    Ok(())
}
