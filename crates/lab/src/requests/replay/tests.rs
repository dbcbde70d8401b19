use super::*;
use crate::source::Source;
use std::path::Path;

fn line(second: u32, request: &str, status: u16) -> String {
    format!("::1 - ann [10/Oct/2000:13:55:{second:02} -0700] \"{request} HTTP/1.1\" {status} 5\n")
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
    assert_eq!(recorded.length, 843_750_000);
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
        let length = length(&times).unwrap() / speed;
        proptest::prop_assert!(due.iter().all(|(due, _)| (*due as f64) < length));
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
