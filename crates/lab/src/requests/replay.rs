//! A server's log, sent again at its own times: in its order, as fast as it came or a multiple of that.

use super::ServerFacts;
use super::from::access_log::{has_no_body, lines_of, timed};
use super::from::{FoundRequest, free_name};
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
    /// Notes on what was left out, in words.
    pub notes: Vec<String>,
}

/// Why a log cannot be sent again.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// There is nothing to send.
    #[error("no line of it can be sent again{}", .0.first().map_or(String::new(), |note| format!(": {note}")))]
    Nothing(Vec<String>),
    /// Sessions have an order of their own.
    #[error("sessions cannot be replayed from a log, which has another order: use requests")]
    Sessions,
}

/// The requests of a log in the common or combined format, `speed` times as fast as they came. With a `mix` each line is the
/// request of it whose method and path fit, sent with its own values, header fields and body; lines that fit none are left
/// out. Without one each line's own path is asked for.
///
/// A log's times are whole seconds: the requests of one second are spread evenly over it.
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
    let mut timed: Vec<(i64, RecordedRequest)> = lines
        .iter()
        .map(|(second, _)| *second)
        .zip(requests)
        .collect();
    // A line is written when its answer is complete, which need not be in the order of the times.
    timed.sort_by_key(|(second, _)| *second);
    let (Some(first), Some(last)) = (timed.first(), timed.last()) else {
        return Err(ReplayError::Nothing(notes));
    };
    let seconds = (last.0 - first.0 + 1) as f64;
    mix.recorded = Some(Box::new(Recorded {
        // With the last second of the log.
        length: (seconds / speed * SECOND as f64) as Nanos,
        due: due(&timed, speed),
        requests: timed.into_iter().map(|(_, request)| request).collect(),
    }));
    Ok(Replay { mix, notes })
}

/// When each request is due, in order, so many times as fast as in the log.
fn due(timed: &[(i64, RecordedRequest)], speed: f64) -> Vec<Nanos> {
    let first = timed.first().map_or(0, |one| one.0);
    let mut all = Vec::with_capacity(timed.len());
    for of_second in timed.chunk_by(|a, b| a.0 == b.0) {
        let second = (of_second[0].0 - first) as f64;
        let n = of_second.len() as f64;
        let spread = (0..of_second.len()).map(|nth| second + nth as f64 / n);
        all.extend(spread.map(|at| (at / speed * SECOND as f64) as Nanos));
    }
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
fn alone(lines: &[(i64, FoundRequest)], server: &ServerFacts) -> (Mix, Vec<RecordedRequest>) {
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
    lines: &mut Vec<(i64, FoundRequest)>,
    mix: &Mix,
    prefix: &str,
    notes: &mut Vec<String>,
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
    if let Some((most, _)) = left.first() {
        let all: u64 = left.iter().map(|(_, n)| n).sum();
        notes.push(format!(
            "{}: no request of the file has their method and path, such as {most}",
            lines_of(all)
        ));
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
mod tests {
    use super::*;
    use crate::source::Source;
    use std::path::Path;

    fn line(second: u32, request: &str, status: u16) -> String {
        format!(
            "::1 - ann [10/Oct/2000:13:55:{second:02} -0700] \"{request} HTTP/1.1\" {status} 5\n"
        )
    }

    fn paths(mix: &Mix) -> Vec<(String, String)> {
        let recorded = mix.recorded.as_ref().unwrap();
        let path = |one: &RecordedRequest| {
            let request = &mix.requests[one.request as usize];
            let value = one.row.map_or(b"-".as_slice(), |row| {
                mix.tables[one.request as usize].columns[0].value(row as usize)
            });
            let value = String::from_utf8(value.to_vec()).unwrap();
            (request.name.clone(), value)
        };
        recorded.requests.iter().map(path).collect()
    }

    #[test]
    fn a_log_is_replayed_in_its_order_and_at_its_times() {
        let log = [
            line(10, "GET /", 200),
            line(12, "GET /a?x=1", 200),
            line(10, "GET /a?x=2", 404),
            line(12, "POST /orders", 201),
            line(11, "HEAD /", 200),
        ];
        let log = log.concat() + "nonsense\n";
        let server = ServerFacts {
            prefix: "/v1".into(),
            ..ServerFacts::anywhere()
        };
        let Replay { mix, notes } = replay(&log, 2.0, None, &server).unwrap();
        let recorded = mix.recorded.as_ref().unwrap();
        let (due, length) = (&recorded.due, recorded.length);
        assert_eq!(length, 1_500_000_000);
        assert_eq!(*due, [0, 250, 500, 1_000].map(|ms| ms * 1_000_000));
        let expected = [
            ("get", "/v1/"),
            ("get-a", "/v1/a?x=2"),
            ("head", "/v1/"),
            ("get-a", "/v1/a?x=1"),
        ];
        assert_eq!(
            paths(&mix),
            expected.map(|(name, path)| (name.into(), path.into()))
        );
        assert_eq!(mix.requests[1].expected.status, [(100, 399), (404, 404)]);
        assert_eq!(mix.requests[0].expected.status, []);
        assert_eq!(mix.requests[1].weight, 2);
        assert_eq!(
            notes,
            [
                "line 4: POST, whose bodies are not in a log",
                "line 6: not in the common or combined format"
            ]
        );
        let stages = stages(
            due,
            Duration::from_nanos(length),
            Duration::from_millis(600),
        );
        let rates: Vec<f64> = stages.iter().map(|stage| stage.from.round()).collect();
        assert_eq!(rates, [5.0, 2.0, 0.0]);
        assert_eq!(stages[2].duration.0, Duration::from_millis(300));
    }

    #[test]
    fn rare_paths_share_a_name() {
        let rare = (0..150).map(|n| line(1, &format!("GET /rare/{n}"), 200));
        let often = (0..50).map(|_| line(2, "GET /often", 200));
        let log: String = rare.chain(often).collect();
        let mix = replay(&log, 1.0, None, &ServerFacts::anywhere())
            .unwrap()
            .mix;
        let names: Vec<&str> = mix.requests.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["get-others", "get-often"]);
        assert_eq!(mix.tables[0].columns[0].len(), 150);
        assert_eq!(paths(&mix)[149].1, "/rare/149");
    }

    #[test]
    fn lines_are_requests_of_a_file() {
        let file = r#"
[[request]]
name = "item"
path = "/items/{{int 1 9}}?full={{int 0 1}}"
[[request]]
name = "order"
path = "/orders"
body = "{}"
"#;
        let source = Source::new("shop.toml", file);
        let server = ServerFacts::anywhere();
        let mix = super::super::parse(&source, Path::new(""), &server).unwrap();
        let log = [
            line(1, "POST /orders", 201),
            line(1, "GET /items/77?full=1", 200),
            line(3, "GET /items/77/photo?full=1", 200),
            line(2, "GET /orders", 200),
        ]
        .concat();
        let Replay { mix, notes } = replay(&log, 1.0, Some(mix), &server).unwrap();
        assert_eq!(mix.recorded.as_ref().unwrap().length, 1_000_000_000);
        let names: Vec<String> = paths(&mix).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["order", "item"]);
        assert_eq!(
            notes,
            [
                "2 lines: no request of the file has their method and path, such as GET /items/77/photo"
            ]
        );
    }

    #[test]
    fn what_cannot_be_replayed() {
        let server = ServerFacts::anywhere();
        let nothing = replay("POST / 1", 1.0, None, &server).unwrap_err();
        assert!(
            nothing
                .to_string()
                .contains("no line of it can be sent again: line 1"),
            "{nothing}"
        );
    }
}
