//! A server's log, sent again at its own times: in its order, as fast as it came or a multiple of that.

use super::ServerFacts;
use super::from::log::{has_no_body, timed};
use super::from::notes::joined;
use super::from::{FoundRequest, LogTime, Note, free_name};
use prony_engine::protocol::Mix;
use prony_engine::protocol::mix::{
    Column, Expected, MixRequest, Piece, Recorded, RecordedRequest, SAMPLE, ValueTable,
};
use prony_record::{Nanos, SECOND, Span, Stage};
use regex::bytes::Regex;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

/// Paths with at least one in so many requests have a name of their own; the others share one.
const NAMED: usize = 100;

/// Requests of a log that are sent again.
#[derive(Debug)]
pub struct Replay {
    /// The requests, with when each is due.
    pub mix: Mix,
    /// Lines that were skipped or changed.
    pub notes: Vec<Note>,
    /// The log has times in whole seconds, over which their requests are spread.
    pub whole_seconds: bool,
}

/// Why a log cannot be sent again.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// There is nothing to send.
    #[error("no line of it can be sent again{}{}", if .0.is_empty() { "" } else { ": " }, joined(.0))]
    Nothing(Vec<Note>),
    /// Sessions have an order of their own.
    #[error("sessions cannot be replayed from a log, which has another order: use requests")]
    Sessions,
}

/// The requests of a log in the common or combined format, or of lines of JSON, `speed` times as fast as they came. With a
/// `mix` each line is the request of it whose method and path fit, sent with its own values, header fields and body; lines
/// that fit none are left out. Without one each line's own path is asked for.
///
/// Where times are in whole seconds, the requests of one second are spread evenly over it; others keep their distances.
///
/// # Errors
/// When nothing is left to send.
pub fn replay(
    log: &str,
    speed: f64,
    mix: Option<Mix>,
    server: &ServerFacts,
) -> Result<Replay, ReplayError> {
    let (mut lines, mut notes) = match mix {
        Some(_) => timed(log, |_| Ok(())),
        None => timed(log, has_no_body),
    };
    let (mut mix, requests) = match mix {
        None => alone(&lines, server),
        Some(mix) if !mix.sessions.is_empty() => return Err(ReplayError::Sessions),
        Some(mix) => {
            let requests = onto(&mut lines, &mix, &server.prefix, &mut notes);
            (mix, requests)
        }
    };
    notes.extend(hosts(&lines));
    let times: Vec<LogTime> = lines.iter().map(|(time, _)| *time).collect();
    let Some(length) = length(&times) else {
        return Err(ReplayError::Nothing(notes));
    };
    let (due, places): (Vec<Nanos>, Vec<usize>) = due(&times, speed).into_iter().unzip();
    mix.recorded = Some(Box::new(Recorded {
        length: (length / speed) as Nanos,
        due,
        requests: places.into_iter().map(|place| requests[place]).collect(),
    }));
    Ok(Replay {
        mix,
        notes,
        whole_seconds: times.iter().any(|time| time.whole),
    })
}

/// Requests to several hosts are sent to one server: which hosts.
fn hosts(lines: &[(LogTime, FoundRequest)]) -> Option<Note> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, sent) in lines {
        *counts.entry(sent.host()).or_default() += 1;
    }
    counts.remove("");
    let mut counts: Vec<(&str, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let (_, others) = counts.split_first()?;
    let mut others = others.iter();
    let (name, n) = others.next()?;
    let reason = "request to another host than most, sent to the server that is loaded";
    let mut note = Note {
        count: *n,
        ..Note::new(name, reason)
    };
    others.for_each(|(name, n)| note.add_times(name, *n));
    Some(note)
}

/// How long a log lasts, in nanoseconds: with its last second, or where that has fractions, with the mean time between two
/// requests. None: it has no requests.
fn length(times: &[LogTime]) -> Option<f64> {
    let first = times.iter().map(|time| time.nanos).min()?;
    let last = times.iter().map(|time| time.nanos).max()?;
    let spread = last.saturating_sub(first) as f64;
    let second = SECOND as f64;
    // A burst needs some time too.
    let between = match times.len() {
        1 => second,
        n => (spread / (n - 1) as f64).clamp(second / 100.0, second),
    };
    let ends = times.iter().map(|time| {
        let after = if time.whole { second } else { between };
        time.nanos.saturating_sub(first) as f64 + after
    });
    ends.reduce(f64::max)
}

/// When each request is due, so many times as fast as in the log, and its place in the log. They are in order, in which
/// lines need not be, as one is written when its answer is complete.
fn due(times: &[LogTime], speed: f64) -> Vec<(Nanos, usize)> {
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|&place| (times[place].nanos, times[place].whole));
    let first = order.first().map_or(0, |&place| times[place].nanos);
    let mut all = Vec::with_capacity(times.len());
    let same = |&a: &usize, &b: &usize| times[a] == times[b] && times[a].whole;
    for of_second in order.chunk_by(same) {
        let since = times[of_second[0]].nanos.saturating_sub(first) as f64;
        let n = of_second.len() as f64;
        let spread = of_second.iter().enumerate().map(|(nth, &place)| {
            let at = since + nth as f64 / n * SECOND as f64;
            ((at / speed) as Nanos, place)
        });
        all.extend(spread);
    }
    // Spread ones may be due later than others of their second.
    all.sort_by_key(|(due, _)| *due);
    all
}

/// The method of a request and its path without the query.
fn place(sent: &FoundRequest) -> (&str, &str) {
    let path = sent.path.split('?').next().unwrap_or_default();
    (&sent.method, path)
}

/// Requests that several lines ask for: under one name, with their paths in a table.
#[derive(Default)]
struct Group<'a> {
    rows: HashMap<&'a str, u32>,
    paths: Column,
    lines: u32,
    failed: BTreeSet<u16>,
}

/// A mix of the requests of the log itself, and which of them each line is.
fn alone(lines: &[(LogTime, FoundRequest)], server: &ServerFacts) -> (Mix, Vec<RecordedRequest>) {
    let mut counts: HashMap<(&str, &str), usize> = HashMap::new();
    for (_, sent) in lines {
        *counts.entry(place(sent)).or_default() += 1;
    }
    let often = |sent: &FoundRequest| counts[&place(sent)] * NAMED >= lines.len();
    let mut kinds: HashMap<(&str, Option<&str>), u32> = HashMap::new();
    let mut names = BTreeSet::new();
    let mut groups: Vec<(MixRequest, Group<'_>)> = Vec::new();
    let mut requests = Vec::with_capacity(lines.len());
    for (_, sent) in lines {
        let (method, path) = place(sent);
        let named = often(sent).then_some(path);
        let kind = *kinds.entry((method, named)).or_insert_with(|| {
            let wanted = format!("{} {}", method.to_lowercase(), named.unwrap_or("others"));
            let name = free_name(&wanted, &mut names);
            let place = groups.len();
            groups.push((request(name, method, place, server), Group::default()));
            place as u32
        });
        let group = &mut groups[kind as usize].1;
        let next = group.rows.len() as u32;
        let row = *group.rows.entry(&sent.path).or_insert_with(|| {
            let whole = format!("{}{}", server.prefix, sent.path);
            group.paths.push(whole.as_bytes());
            next
        });
        group.lines += 1;
        group
            .failed
            .extend(sent.status.filter(|&status| status >= 400));
        requests.push(RecordedRequest {
            request: kind,
            row: Some(row),
        });
    }
    let mut mix = Mix {
        requests: Vec::new(),
        tables: Vec::new(),
        shares: server.shares,
        sample: SAMPLE,
        decodes: false,
        limits: server.limits,
        sessions: Vec::new(),
        recorded: None,
        http2: None,
    };
    for (mut request, group) in groups {
        request.weight = group.lines;
        // Which of the paths failed is not told apart.
        if !group.failed.is_empty() {
            let failed = group.failed.iter().map(|&status| (status, status));
            request.expected.status = std::iter::once((100, 399)).chain(failed).collect();
        }
        mix.tables.push(ValueTable {
            name: request.name.clone(),
            columns: vec![group.paths],
            once: false,
        });
        mix.requests.push(request);
    }
    (mix, requests)
}

/// A request for the paths of a table.
fn request(name: String, method: &str, table: usize, server: &ServerFacts) -> MixRequest {
    MixRequest {
        name,
        method: method.to_owned(),
        path: vec![Piece::Row { table, column: 0 }],
        host: server.host.clone(),
        headers: Vec::new(),
        cookies: false,
        body: Vec::new(),
        keepalive: server.keepalive,
        weight: 1,
        stream: None,
        expected: Expected::default(),
    }
}

/// Keeps the lines that are a request of the mix; gives which of them each is.
fn onto(
    lines: &mut Vec<(LogTime, FoundRequest)>,
    mix: &Mix,
    prefix: &str,
    notes: &mut Vec<Note>,
) -> Vec<RecordedRequest> {
    let patterns: Vec<Regex> = mix.requests.iter().map(pattern).collect();
    let mut known: HashMap<(String, String), Option<u32>> = HashMap::new();
    let mut requests = Vec::new();
    let mut left: BTreeMap<String, u64> = BTreeMap::new();
    lines.retain(|(_, sent)| {
        let key = (sent.method.clone(), sent.path.clone());
        let found = *known.entry(key).or_insert_with(|| {
            let path = format!("{prefix}{}", sent.path);
            let mut all = mix.requests.iter().zip(&patterns).zip(0..);
            let fits = |&((request, pattern), _): &((&MixRequest, &Regex), u32)| {
                request.method == sent.method && pattern.is_match(path.as_bytes())
            };
            all.find(fits).map(|(_, place)| place)
        });
        match found {
            Some(request) => requests.push(RecordedRequest { request, row: None }),
            None => {
                let (method, path) = place(sent);
                *left.entry(format!("{method} {path}")).or_default() += 1;
            }
        }
        found.is_some()
    });
    let mut left: Vec<(String, u64)> = left.into_iter().collect();
    left.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let reason = "no request of the file has this method and path";
    let mut left = left.into_iter();
    if let Some((path, n)) = left.next() {
        let mut note = Note {
            count: n,
            ..Note::new(path, reason)
        };
        left.for_each(|(path, n)| note.add_times(&path, n));
        notes.push(note);
    }
    requests
}

/// The paths that a request may ask for: a value is anything within a part of the path or of the query.
fn pattern(request: &MixRequest) -> Regex {
    let mut pattern = String::from("^");
    for piece in &request.path {
        match piece {
            Piece::Text(bytes) => pattern += &regex::escape(&String::from_utf8_lossy(bytes)),
            _ => pattern += "[^/?&]*",
        }
    }
    Regex::new(&(pattern + "$")).expect("its texts are escaped")
}

/// How many requests fall due, as stages of this length one after the other: the last one is shorter where the whole is.
#[must_use]
pub fn stages(due: &[Nanos], whole: Duration, each: Duration) -> Vec<Stage> {
    let mut stages = Vec::new();
    let mut begins = Duration::ZERO;
    while begins < whole {
        let duration = each.min(whole - begins);
        let before = |time: Duration| due.partition_point(|&due| u128::from(due) < time.as_nanos());
        let n = before(begins + duration) - before(begins);
        let rate = n as f64 / duration.as_secs_f64();
        stages.push(Stage {
            from: rate,
            to: rate,
            duration: Span(duration),
        });
        begins += duration;
    }
    stages
}

#[cfg(test)]
mod tests;
