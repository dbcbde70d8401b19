//! A test of what a file expects: each request with unpredictable values, whole, in fragments and
//! pipelined, every answer looked at.

mod line;
mod sessions;

use super::{Folder, RequestsError, ServerFacts};
use crate::contract::{Depth, SILENCE_LIMIT};
use crate::source::{Mistake, Source};
use crate::workload::Endpoint;
use line::VerifyConnection;
use prony_engine::protocol::mix::{MILLION, Think, over_h2};
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::protocol::{Answer, Booked, Mix, Mixed, Session};
use prony_engine::{Dialogue, Target};
use prony_record::inert;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Requests one after the other, and pipelined.
const REPEATS: usize = 5;
/// Pieces of a request that is sent in fragments, at most.
const PIECES: usize = 8;
/// A verification counts `{{seq}}` from here on: loads, which count from 1, do not come so far.
const SEQ: u64 = 1_000_000_000;
/// Verifications by their seeds, attempts of each, and numbers of each attempt. What is counted stays below 2³¹, as
/// identifiers often have to.
const SEEDS: u64 = 10_000;
const ATTEMPTS: u64 = 1_000;
const NUMBERS: u64 = 100;

/// Where this attempt of a verification counts from.
fn count_from(seed: u64, attempt: u64) -> u64 {
    SEQ + (seed % SEEDS * ATTEMPTS + attempt % ATTEMPTS) * NUMBERS
}

/// Between two pieces: they are to arrive one by one.
const PAUSE: Duration = Duration::from_millis(2);

/// How requests are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SendMode {
    /// One after the other, each in one go.
    Whole,
    /// Each in several pieces.
    Fragments,
    /// Several at once, before the first answer.
    Pipelined,
    /// The same over HTTP/2, where each has a stream of its own.
    Streams,
}

impl SendMode {
    /// All that can be asked for, in the order in which they are tried.
    pub const ALL: [Self; 3] = [Self::Whole, Self::Fragments, Self::Pipelined];
}

impl fmt::Display for SendMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Whole => "one after the other",
            Self::Fragments => "in fragments",
            Self::Pipelined => "pipelined",
            Self::Streams => "on streams at once",
        })
    }
}

/// Outcome of one request sent in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The request's name.
    pub name: String,
    /// How it was sent.
    pub way: SendMode,
    /// Right answers.
    pub right: usize,
    /// First mistake; none: all answers were right.
    pub wrong: Option<String>,
}

/// Requests of a file that any server can be asked, and the ways in which they are verified.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestFile {
    /// The file, as it is shown.
    pub file: String,
    /// Requests of the file, for no host in particular.
    pub mix: Mix,
    /// How they are sent in a verification to full depth. A quick one sends them one after the other.
    pub ways: Vec<SendMode>,
    /// The sessions of the file have pauses, which are left out where servers are compared by what they can do: with
    /// pauses the number of users would be the limit of all of them.
    pub paused: bool,
}

impl fmt::Display for RequestFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        match self.paused {
            true => f.write_str(" without its pauses"),
            false => Ok(()),
        }
    }
}

impl RequestFile {
    /// Reads a file.
    ///
    /// # Errors
    /// The first mistake in it, with its place.
    pub fn read(
        path: &Path,
        server: &ServerFacts,
        ways: Vec<SendMode>,
    ) -> Result<Self, RequestsError> {
        let source = Source::read(path)?;
        let folder = Folder::Disk(path.parent().unwrap_or(Path::new("")));
        Ok(Self::of(&source, folder, server, ways)?)
    }

    /// Reads the text of a file. Paths in it are seen from `folder`.
    ///
    /// # Errors
    /// The first mistake in it, with its place.
    pub fn of(
        source: &Source,
        folder: Folder<'_>,
        server: &ServerFacts,
        ways: Vec<SendMode>,
    ) -> Result<Self, Mistake> {
        Ok(Self {
            file: inert::line(source.name()).into_owned(),
            mix: super::parse_in(source, folder, server)?,
            ways,
            paused: false,
        })
    }

    /// Removes the pauses between the steps of its sessions.
    #[must_use]
    pub fn without_pauses(mut self) -> Self {
        let sessions = self.mix.sessions.iter_mut();
        for step in sessions.flat_map(|one| &mut one.steps) {
            self.paused |= step.think != Think::None;
            step.think = Think::None;
        }
        self
    }

    /// Proves that the server at this target answers as it must; `endpoint` says how it is spoken to.
    ///
    /// # Errors
    /// The first request that it did not answer so, and what was wrong.
    pub fn prove(
        &self,
        place: (&Target, Option<&TlsOptions>),
        endpoint: &Endpoint<'_>,
        how: (Depth, u64),
    ) -> Result<(), String> {
        let ((target, tls), (depth, seed)) = (place, how);
        let ways = match depth {
            Depth::Quick => &[SendMode::Whole],
            Depth::Full | Depth::Thorough => self.ways.as_slice(),
        };
        let mix = self.mix(endpoint, true)?;
        // The first that fails is what is told.
        let go_on = &mut |tried: &Tried| tried.wrong.is_none();
        let all = verify(&mix, target, tls, seed, SILENCE_LIMIT, ways, go_on);
        let failed = all
            .into_iter()
            .find_map(|tried| Some((tried.wrong?, tried.name, tried.way)));
        match failed {
            None => Ok(()),
            Some((wrong, name, way)) => {
                let help = match way {
                    SendMode::Pipelined | SendMode::Streams => {
                        "; --no-pipelining leaves this way out"
                    }
                    _ => "",
                };
                Err(format!("{} ({name}, {way}): {wrong}{help}", self.file))
            }
        }
    }

    /// Dialogue of a load.
    ///
    /// # Errors
    /// When it cannot be said over HTTP/2, in words.
    pub fn dialogue(&self, endpoint: &Endpoint<'_>, keepalive: bool) -> Result<Dialogue, String> {
        Ok(Dialogue::Mix(Box::new(self.mix(endpoint, keepalive)?)))
    }

    /// The requests to this server.
    ///
    /// # Errors
    /// When it has a field that HTTP/2 has no place for, in words.
    pub fn mix(&self, endpoint: &Endpoint<'_>, keepalive: bool) -> Result<Mix, String> {
        endpoint
            .mix(self.mix.for_host(endpoint.authority, keepalive))
            .map_err(|wrong| format!("{}: {wrong}", self.file))
    }
}

/// Hears what came of a request sent in one way; false: nothing else is to be tried.
pub type Told<'a> = &'a mut dyn FnMut(&Tried) -> bool;

/// Sends every request of a mix in these ways, over TLS if there are options of it. `silence` is how long the server may say nothing. The same
/// seed sends the same bytes.
pub fn verify(
    mix: &Mix,
    target: &Target,
    tls: Option<&TlsOptions>,
    seed: u64,
    silence: Duration,
    ways: &[SendMode],
    told: Told<'_>,
) -> Vec<Tried> {
    let mut all = Vec::new();
    let searched = Mix {
        sample: MILLION,
        ..mix.clone()
    };
    if !mix.sessions.is_empty() {
        return sessions::verify(&searched, (target, tls), seed, (silence, ways), told);
    }
    let mut attempts = 0..;
    for (kind, request) in mix.requests.iter().enumerate() {
        for (&way, nth) in ways.iter().zip(0..) {
            // A stream is left when it has been seen to work, and its connection with it.
            let alone = request.stream.is_some() && mix.http2.is_none();
            if alone && way == SendMode::Pipelined {
                continue;
            }
            let mut mixed = Mixed::new(&searched, seed.wrapping_add(nth), 0, 1);
            mixed.only(kind);
            mixed.count_from(count_from(seed, attempts.next().unwrap_or_default()));
            let mut seen = SessionResults::default();
            // What is pipelined over HTTP/1.1 goes over streams of its own.
            let way = match (way, mix.http2) {
                (SendMode::Pipelined, Some(_)) => SendMode::Streams,
                _ => way,
            };
            let how = ((target, tls), silence, way);
            let tried = match mix.http2 {
                None => attempt(&mut mixed, how, &mut seen),
                Some(_) => attempt(&mut over_h2(mixed, &searched), how, &mut seen),
            };
            let wrong = match tried {
                Ok(()) => seen.wrong,
                Err(error) => Some(seen.wrong.unwrap_or_else(|| error.to_string())),
            };
            let tried = Tried {
                name: request.name.clone(),
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

/// Where the server is, how long it may say nothing, and how it is asked.
type How<'a> = ((&'a Target, Option<&'a TlsOptions>), Duration, SendMode);

fn attempt<S: Session>(
    session: &mut S,
    (place, silence, way): How<'_>,
    seen: &mut SessionResults,
) -> io::Result<()> {
    let mut open: Option<VerifyConnection<S>> = None;
    let at_once = match way {
        SendMode::Pipelined | SendMode::Streams => REPEATS,
        SendMode::Whole | SendMode::Fragments => 1,
    };
    for _ in (0..REPEATS).step_by(at_once) {
        let mut line = match open.take() {
            Some(line) => line,
            None => VerifyConnection::open(session, place, silence, seen)?,
        };
        line.ask(session, at_once, way, seen)?;
        if seen.wrong.is_some() {
            break;
        }
        if !seen.last {
            open = Some(line);
        }
        seen.last = false;
    }
    Ok(())
}

/// Reports of a session so far.
#[derive(Default)]
struct SessionResults {
    waiting: usize,
    right: usize,
    wrong: Option<String>,
    last: bool,
}

impl SessionResults {
    fn answered(&mut self, answer: Answer) -> Booked {
        self.waiting -= 1;
        self.last |= answer.last;
        match answer.wrong {
            None => self.right += 1,
            Some(wrong) => {
                self.wrong.get_or_insert(wrong.to_string());
            }
        }
        Booked {
            ended_inside: true,
            ..Booked::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ATTEMPTS, NUMBERS, SEEDS, count_from};

    #[test]
    fn attempts_count_for_themselves() {
        let last = count_from(SEEDS - 1, ATTEMPTS - 1) + NUMBERS;
        assert!(last < 1 << 31);
        assert_eq!(count_from(3, 1), count_from(3, 0) + NUMBERS);
        assert_eq!(count_from(4, 0), count_from(3, ATTEMPTS - 1) + NUMBERS);
        assert_eq!(
            count_from(u64::MAX, u64::MAX),
            count_from(u64::MAX % SEEDS, u64::MAX % ATTEMPTS)
        );
    }
}
