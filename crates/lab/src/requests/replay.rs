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
    let (Some(first), Some(last)) = (
        times.iter().map(|time| time.nanos).min(),
        times.iter().map(|time| time.nanos).max(),
    ) else {
        return Err(ReplayError::Nothing(notes));
    };
    let (due, places) = due(&times, speed).into_iter().unzip();
    let places: Vec<usize> = places;
    // With a second for the last request, of which whole seconds do not say when it came.
    let length = (last.saturating_sub(first) as f64 + SECOND as f64) / speed;
    mix.recorded = Some(Box::new(Recorded {
        length: length as Nanos,
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
        let Replay {
            mix,
            notes,
            whole_seconds,
        } = replay(&log, 2.0, None, &server).unwrap();
        assert!(whole_seconds);
        let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
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
    fn fractions_of_seconds_are_kept() {
        let caddy = |at: &str, host: &str, uri: &str| {
            format!(
                r#"{{"ts":{at},"request":{{"method":"GET","host":"{host}","uri":"{uri}"}},"duration":0.25,"status":200}}"#
            ) + "\n"
        };
        let log = [
            caddy("1646861401.75", "a.test", "/b"),
            caddy("1646861401.5", "a.test", "/a"),
            caddy("1646861402.625", "b.test", "/c"),
        ];
        let found = replay(&log.concat(), 2.0, None, &ServerFacts::anywhere()).unwrap();
        assert!(!found.whole_seconds);
        let recorded = found.mix.recorded.as_ref().unwrap();
        assert_eq!(recorded.due, [0, 125_000_000, 562_500_000]);
        assert_eq!(recorded.length, 1_062_500_000);
        let order: Vec<String> = paths(&found.mix)
            .into_iter()
            .map(|(_, path)| path)
            .collect();
        assert_eq!(order, ["/a", "/b", "/c"]);
        assert_eq!(
            joined(&found.notes),
            "b.test: request to another host than most, sent to the server that is loaded"
        );
        // A log that changed from whole seconds to fractions: 10 s and a quarter more, and the whole ones are spread.
        let common = |time: &str, path: &str| {
            format!("::1 - - [10/Oct/2000:13:55:{time} -0700] \"GET {path} HTTP/1.1\" 200 5\n")
        };
        let log = [
            common("10", "/a"),
            common("10", "/b"),
            common("10.250", "/c"),
        ];
        let found = replay(&log.concat(), 1.0, None, &ServerFacts::anywhere()).unwrap();
        let recorded = found.mix.recorded.as_ref().unwrap();
        assert_eq!(recorded.due, [0, 250_000_000, 500_000_000]);
        let order: Vec<String> = paths(&found.mix)
            .into_iter()
            .map(|(_, path)| path)
            .collect();
        assert_eq!(order, ["/a", "/c", "/b"]);
    }

    proptest::proptest! {
        /// Times are in order and within the length, one for each request, whatever the log has.
        #[test]
        fn times_are_in_order(
            times in proptest::collection::vec((0_i64..5_000_000_000, proptest::bool::ANY), 1..50),
            speed in 0.1_f64..100.0,
        ) {
            let time = |&(nanos, whole): &(i64, bool)| match whole {
                true => LogTime { nanos: nanos / 1_000_000_000 * 1_000_000_000, whole },
                false => LogTime { nanos, whole },
            };
            let times: Vec<LogTime> = times.iter().map(time).collect();
            let due = due(&times, speed);
            let mut places: Vec<usize> = due.iter().map(|(_, place)| *place).collect();
            places.sort_unstable();
            proptest::prop_assert_eq!(places, (0..times.len()).collect::<Vec<_>>());
            proptest::prop_assert!(due.is_sorted_by_key(|(due, _)| *due));
            let first = times.iter().map(|time| time.nanos).min().unwrap();
            for (due, place) in due {
                let at = (times[place].nanos - first) as f64 / speed;
                let most = if times[place].whole { 1e9 / speed } else { 0.0 };
                proptest::prop_assert!(due as f64 >= at - 1.0 && due as f64 <= at + most + 1.0);
            }
        }
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
        let Replay { mix, notes, .. } = replay(&log, 1.0, Some(mix), &server).unwrap();
        let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
        assert_eq!(mix.recorded.as_ref().unwrap().length, 1_000_000_000);
        let names: Vec<String> = paths(&mix).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["order", "item"]);
        assert_eq!(
            notes,
            ["GET /items/77/photo, GET /orders: no request of the file has this method and path"]
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
