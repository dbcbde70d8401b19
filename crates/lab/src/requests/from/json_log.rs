//! Lines of JSON, an object for each request, as Caddy and Traefik write them, and nginx with `escape=json`.

use super::log::{Logged, path_of, request_line};
use super::{FoundRequest, LogTime, split_url};
use serde_json::{Map, Value};

const METHOD: [&str; 5] = [
    "request_method",
    "RequestMethod",
    "method",
    "http_method",
    "verb",
];

/// With the query, or without one and then with one of [`QUERY`].
const TARGET: [&str; 6] = [
    "request_uri",
    "RequestPath",
    "uri",
    "url",
    "path",
    "request_path",
];
const QUERY: [&str; 3] = ["args", "query_string", "query"];

/// Method, target and version in one text.
const LINE: [&str; 2] = ["request", "request_line"];

const HOST: [&str; 6] = [
    "host",
    "http_host",
    "RequestHost",
    "server_name",
    "vhost",
    "Host",
];
const SCHEME: [&str; 2] = ["scheme", "RequestScheme"];
const STATUS: [&str; 5] = [
    "status",
    "DownstreamStatus",
    "OriginStatus",
    "status_code",
    "response_code",
];

/// When a request came.
const STARTED: [&str; 2] = ["StartUTC", "StartLocal"];

/// When it was logged, which is when its response was complete.
const ENDED: [&str; 7] = [
    "ts",
    "msec",
    "time_iso8601",
    "@timestamp",
    "timestamp",
    "time",
    "time_local",
];

/// Seconds between them.
const LASTED: [&str; 2] = ["request_time", "duration"];

/// The longest that a request lasts, in seconds: Caddy can also write nanoseconds.
const LONGEST: f64 = 86_400.0;

/// Keys of a line. Caddy has those of the request in an object.
struct JsonLine {
    all: Map<String, Value>,
    of_request: Map<String, Value>,
}

impl JsonLine {
    fn new(line: &str) -> Result<Self, String> {
        let mut all: Map<String, Value> =
            serde_json::from_str(line).map_err(|error| match error.is_eof() {
                true => "JSON that is cut off".to_owned(),
                false => "not JSON, or nested too deeply".to_owned(),
            })?;
        let of_request = match all.get_mut("request") {
            Some(Value::Object(inner)) => std::mem::take(inner),
            _ => Map::new(),
        };
        Ok(Self { all, of_request })
    }

    /// The first of these keys that has a value.
    fn get(&self, keys: &[&str]) -> Option<&Value> {
        let both = |key: &&str| self.of_request.get(*key).or_else(|| self.all.get(*key));
        let mut all = keys.iter().filter_map(both);
        all.find(|value| !matches!(value, Value::Null | Value::Object(_) | Value::Array(_)))
    }

    fn text(&self, keys: &[&str]) -> Option<&str> {
        self.get(keys)?.as_str().filter(|text| !text.is_empty())
    }

    /// Method and target.
    fn request(&self) -> Result<(&str, String), String> {
        // A path apart from its line may have been decoded.
        let line = self.text(&LINE).map(request_line);
        if let Some(Ok((method, target))) = line {
            return Ok((method, target.to_owned()));
        }
        let (Some(method), Some(target)) = (self.text(&METHOD), self.text(&TARGET)) else {
            return Err(match line {
                Some(Err(why)) => why,
                _ => "no method and path in it".into(),
            });
        };
        if !crate::requests::is_token(method) {
            return Err("no request over HTTP".into());
        }
        let query = self.text(&QUERY).filter(|_| !target.contains('?'));
        let target = match query.map(|query| query.trim_start_matches('?')) {
            Some(query) if query != "-" => format!("{target}?{query}"),
            _ => target.to_owned(),
        };
        Ok((method, target))
    }

    fn status(&self) -> Option<u16> {
        let value = self.get(&STATUS)?;
        let number = match value {
            Value::String(text) => text.parse().ok()?,
            other => other.as_u64()?,
        };
        let status = u16::try_from(number).ok()?;
        (100..1_000).contains(&status).then_some(status)
    }

    /// Scheme and host; empty when the line does not say.
    fn origin(&self) -> String {
        let secure = self.of_request.get("tls").is_some_and(Value::is_object)
            || self.text(&["https"]) == Some("on");
        let scheme = self
            .text(&SCHEME)
            .unwrap_or(if secure { "https" } else { "http" });
        let host = self.text(&HOST).filter(|host| !matches!(*host, "_" | "-"));
        let url = host.map(|host| format!("{scheme}://{host}/"));
        let split = url.and_then(|url| split_url(&url, false).ok());
        split.map_or(String::new(), |split| split.origin)
    }

    /// When the request came, as exactly as the line has it.
    fn time(&self) -> Option<LogTime> {
        let times = |keys: &[&str]| -> Option<LogTime> {
            let all = keys.iter().filter_map(|key| self.all.get(*key));
            let all: Vec<LogTime> = all.filter_map(LogTime::of_json).collect();
            let exact = all.iter().find(|time| !time.whole);
            exact.or(all.first()).copied()
        };
        let started = times(&STARTED);
        started.or_else(|| {
            let lasted = self.get(&LASTED).and_then(|value| match value {
                Value::String(text) => text.parse().ok(),
                other => other.as_f64(),
            });
            let lasted = match lasted {
                Some(nanos) if nanos > LONGEST => nanos / 1e9,
                Some(seconds) if seconds >= 0.0 => seconds,
                _ => 0.0,
            };
            Some(times(&ENDED)?.before(lasted))
        })
    }
}

/// Does a line have a request that was answered?
pub(super) fn is_request(line: &str) -> bool {
    JsonLine::new(line).is_ok_and(|line| line.request().is_ok() && line.status().is_some())
}

pub(super) fn logged(line: &str, taken: fn(&str) -> Result<(), String>) -> Result<Logged, String> {
    let line = JsonLine::new(line)?;
    let (method, target) = line.request()?;
    taken(method)?;
    Ok(Logged {
        request: FoundRequest {
            method: method.to_owned(),
            origin: line.origin(),
            path: path_of(target.into_bytes())?,
            status: line.status(),
            ..FoundRequest::default()
        },
        time: line.time().ok_or_else(|| "no time that is known".into()),
    })
}

#[cfg(test)]
mod tests {
    use super::super::log::{has_no_body, timed};

    const CADDY: &str = r#"{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"41342","client_ip":"127.0.0.1","proto":"HTTP/2.0","method":"GET","host":"shop.test","uri":"/items?page=2","headers":{"User-Agent":["curl/7.82.0"]},"tls":{"resumed":false,"version":772}},"bytes_read":0,"user_id":"","duration":0.0241024,"size":10900,"status":200,"resp_headers":{"Server":["Caddy"]}}"#;
    const TRAEFIK: &str = r#"{"ClientAddr":"10.0.0.1:1","DownstreamStatus":404,"Duration":1500000,"OriginStatus":404,"RequestHost":"shop.test","RequestMethod":"HEAD","RequestPath":"/a?b=c","RequestPort":"-","RequestProtocol":"HTTP/1.1","RequestScheme":"http","StartLocal":"2022-03-09T22:30:01.25+01:00","StartUTC":"2022-03-09T21:30:01.25Z","entryPointName":"web","level":"info","msg":"","time":"2022-03-09T22:30:01+01:00"}"#;
    const NGINX: &str = r#"{"time_local":"09/Mar/2022:21:30:01 +0000","msec":"1646861401.900","remote_addr":"::1","request":"GET /ü b HTTP/1.1","status":"200","host":"shop.test","request_time":"0.400","scheme":"http"}"#;

    fn shown(text: &str) -> Vec<String> {
        let (all, notes) = timed(text, has_no_body);
        let mut shown: Vec<String> = all
            .iter()
            .map(|(time, sent)| {
                let at = time.nanos / 1_000_000 - 1_646_861_401_000;
                let status = sent.status.unwrap_or_default();
                format!(
                    "{at} ms: {} {}{} {status}",
                    sent.method, sent.origin, sent.path
                )
            })
            .collect();
        shown.extend(notes.iter().map(ToString::to_string));
        shown
    }

    #[test]
    fn servers_logs() {
        let other = r#"{"level":"info","ts":1646861400.1,"msg":"serving initial configuration"}"#;
        let iso = r#"{"time":"2022-03-09T21:30:01+00:00","request_method":"GET","uri":"/a","args":"x=1","status":200,"request_time":0.3}"#;
        let post = CADDY.replace("GET", "POST");
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        let text = [
            other,
            CADDY,
            TRAEFIK,
            NGINX,
            iso,
            &post,
            &CADDY[..99],
            &deep,
            "x",
        ]
        .join("\n");
        assert!(super::super::log::is(&text));
        assert_eq!(
            shown(&text),
            [
                "500 ms: GET https://shop.test/items?page=2 200",
                "250 ms: HEAD http://shop.test/a?b=c 404",
                "500 ms: GET http://shop.test/%C3%BC%20b 200",
                "0 ms: GET /a?x=1 200",
                "line 7: JSON that is cut off",
                "line 6: POST, whose bodies are not in a log",
                "line 1: no method and path in it",
                "line 8: not JSON, or nested too deeply",
                "line 9: not in the common or combined format",
            ]
        );
    }

    #[test]
    fn what_is_no_log() {
        for text in [
            r#"{"method":"GET","url":"http://h/"}"#,
            r#"{"log":{"entries":[]}}"#,
            "{\n \"openapi\": \"3.0.0\"\n}",
            "{}",
        ] {
            assert!(!super::super::log::is(text), "{text}");
        }
        let long = format!("{{\"a\":\"{}\"}}\n{CADDY}\n", "x".repeat(2 << 20));
        assert!(super::super::log::is(&long));
        assert_eq!(shown(&long)[1], "line 1: a line longer than 1 MiB");
        let lost = CADDY.replace("page", "p\u{fffd}ge");
        assert_eq!(
            shown(&lost),
            ["line 1: a path with bytes that are not UTF-8"]
        );
    }
}
