//! Servers of static-file, fibonacci and weather: an honest one of each passes, and every cheat is
//! caught by the step meant for it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use jiff::Timestamp;
use num_bigint::BigUint;
use prony_lab::contract::{Contract, Depth, Fixture, Inspection, Violation};
use serde_json::Value;
use tempfile::TempDir;

/// A request as a server sees it.
struct Request {
    method: String,
    target: String,
    body: Vec<u8>,
}

struct Answer {
    status: u16,
    content_type: &'static str,
    body: Vec<u8>,
}

fn json(status: u16, body: impl Into<Vec<u8>>) -> Answer {
    Answer {
        status,
        content_type: "application/json",
        body: body.into(),
    }
}

/// An honest HTTP server, whose answers are `answer`'s.
fn http(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> SocketAddr {
    crate::support::serve(move |mut stream, _| {
        let mut heard = Vec::new();
        let mut buf = [0; 4096];
        loop {
            while let Some((request, close)) = next(&mut heard) {
                let Answer {
                    status,
                    content_type,
                    body,
                } = answer(&request);
                let mut bytes = format!(
                    "HTTP/1.1 {status} X\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
                    body.len()
                )
                .into_bytes();
                if request.method != "HEAD" {
                    bytes.extend(body);
                }
                if stream.write_all(&bytes).is_err() || close {
                    return;
                }
            }
            match stream.read(&mut buf) {
                Ok(n @ 1..) => heard.extend_from_slice(&buf[..n]),
                _ => return,
            }
        }
    })
}

/// The next whole request, and whether the connection ends with it.
fn next(heard: &mut Vec<u8>) -> Option<(Request, bool)> {
    let end = heard.windows(4).position(|part| part == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&heard[..end]).into_owned();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: ")?.parse::<usize>().ok())
        .unwrap_or(0);
    if heard.len() < end + length {
        return None;
    }
    let body = heard[end..end + length].to_vec();
    heard.drain(..end + length);
    let mut words = head.split(' ').map(str::to_owned);
    let request = Request {
        method: words.next()?,
        target: words.next()?,
        body,
    };
    let close = head.contains("Connection: close") || head.contains("HTTP/1.0\r\n");
    Some((request, close))
}

/// A fixture, and a server made for it.
fn fixture_for(
    contract: Contract,
    server: impl Fn(&Fixture) -> SocketAddr,
) -> (TempDir, Fixture, SocketAddr) {
    let dir = tempfile::tempdir().unwrap();
    let fixture = Fixture::set_up(contract, dir.path()).unwrap();
    let addr = server(&fixture);
    (dir, fixture, addr)
}

fn inspect(
    contract: Contract,
    depth: Depth,
    server: impl Fn(&Fixture) -> SocketAddr,
) -> Result<(), Violation> {
    let (_dir, fixture, addr) = fixture_for(contract, server);
    let how = Inspection::new(depth, 1).within(Duration::from_secs(2));
    how.of(contract, addr, &fixture).map(drop)
}

fn passes(contract: Contract, server: impl Fn(&Fixture) -> SocketAddr) {
    for depth in [Depth::Quick, Depth::Full, Depth::Thorough] {
        inspect(contract, depth, &server)
            .unwrap_or_else(|violation| panic!("{depth:?}: {violation}"));
    }
}

fn caught(contract: Contract, step: &str, server: impl Fn(&Fixture) -> SocketAddr) {
    let violation =
        inspect(contract, Depth::Thorough, server).expect_err("the cheat went unnoticed");
    assert_eq!(violation.step, step, "{violation}");
}

mod static_file {
    use super::*;

    fn page(docroot: &std::path::Path) -> Answer {
        Answer {
            status: 200,
            content_type: "text/html; charset=utf-8",
            body: std::fs::read(docroot.join("index.html")).unwrap(),
        }
    }

    fn serving(
        change: impl Fn(&Request, Answer, PathBuf) -> Answer + Send + Sync + Clone + 'static,
    ) -> impl Fn(&Fixture) -> SocketAddr {
        move |fixture| {
            let docroot = fixture.docroot();
            let change = change.clone();
            http(move |request| {
                let honest = match request.target.as_str() {
                    "/" => page(&docroot),
                    _ => json(404, "{}"),
                };
                change(request, honest, docroot.clone())
            })
        }
    }

    #[test]
    fn an_honest_one_passes() {
        passes(Contract::StaticFile, serving(|_, honest, _| honest));
    }

    #[test]
    fn another_page_of_the_same_size() {
        caught(
            Contract::StaticFile,
            "body",
            serving(|_, honest, _| Answer {
                body: vec![b'x'; honest.body.len()],
                ..honest
            }),
        );
    }

    #[test]
    fn the_page_for_everything() {
        caught(
            Contract::StaticFile,
            "not-found",
            serving(|_, _, docroot| page(&docroot)),
        );
    }

    #[test]
    fn files_from_outside() {
        caught(
            Contract::StaticFile,
            "traversal",
            serving(
                |request, honest, docroot| match request.target.contains("..") {
                    true => Answer {
                        status: 200,
                        content_type: "text/plain",
                        body: std::fs::read(docroot.join("../secret")).unwrap(),
                    },
                    false => honest,
                },
            ),
        );
    }
}

mod fibonacci {
    use super::*;

    fn number(n: u64) -> BigUint {
        let (mut a, mut b) = (BigUint::ZERO, BigUint::from(1_u8));
        for _ in 0..n {
            (a, b) = (b.clone(), a + b);
        }
        a
    }

    fn id() -> String {
        let mut hex = format!("{:032x}", rand::random::<u128>());
        hex.replace_range(12..13, "4");
        hex.replace_range(16..17, "a");
        let parts = [
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..],
        ];
        parts.join("-")
    }

    fn text(id: &str, name: &Value, answer: &str) -> Vec<u8> {
        let time = Timestamp::now().as_millisecond();
        format!("{{\"id\":\"{id}\",\"time\":{time},\"name\":{name},\"service\":\"test\",\"answer\":{answer}}}")
            .into_bytes()
    }

    fn honest(request: &Request) -> Answer {
        if (request.method.as_str(), request.target.as_str()) != ("POST", "/fibonacci") {
            return json(404, "{}");
        }
        match serde_json::from_slice::<Value>(&request.body) {
            Ok(asked) => match (&asked["name"], asked["fib"].as_u64()) {
                (name @ Value::String(_), Some(n)) => {
                    json(200, text(&id(), name, &number(n).to_string()))
                }
                _ => json(400, "{\"error\":\"no\"}"),
            },
            Err(_) => json(400, "{\"error\":\"not JSON\"}"),
        }
    }

    fn cheat(
        step: &str,
        change: impl Fn(&Request, Answer) -> Answer + Send + Sync + Clone + 'static,
    ) {
        caught(Contract::Fibonacci, step, |_| {
            let change = change.clone();
            http(move |request| change(request, honest(request)))
        });
    }

    /// Changes the text of answers with status 200.
    fn edited(answer: Answer, edit: impl Fn(String) -> String) -> Answer {
        if answer.status != 200 {
            return answer;
        }
        let body = edit(String::from_utf8(answer.body.clone()).unwrap());
        Answer {
            body: body.into_bytes(),
            ..answer
        }
    }

    #[test]
    fn an_honest_one_passes() {
        passes(Contract::Fibonacci, |_| http(honest));
    }

    #[test]
    fn numbers_in_floating_point() {
        cheat("answer", |_, answer| {
            edited(answer, |text| {
                let (head, number) = text.rsplit_once(':').unwrap();
                let number: f64 = number.trim_end_matches('}').parse().unwrap();
                format!("{head}:{number}}}")
            })
        });
    }

    #[test]
    fn numbers_that_wrap_around() {
        cheat("numbers", |request, answer| {
            if request
                .body
                .windows(5)
                .any(|part| part == b":500}" || part == b"\":500")
            {
                return answer;
            }
            edited(answer, |text| {
                let (head, number) = text.rsplit_once(':').unwrap();
                let number: BigUint = number.trim_end_matches('}').parse().unwrap();
                format!("{head}:{}}}", number % BigUint::from(u64::MAX))
            })
        });
    }

    #[test]
    fn one_id_for_all() {
        cheat("fresh-ids", |_, answer| {
            edited(answer, |text| {
                let rest = text.split_once(",\"time\"").unwrap().1;
                format!("{{\"id\":\"4f0c2e6a-9a7e-4d9b-8f3e-0123456789ab\",\"time\"{rest}")
            })
        });
    }

    #[test]
    fn keys_in_another_order() {
        cheat("answer", |_, answer| {
            edited(answer, |text| {
                let value: Value = serde_json::from_str(&text).unwrap();
                text.replacen("\"id\"", "\"time\"", 1).replacen(
                    &format!("\"time\":{}", value["time"]),
                    &format!("\"id\":{}", value["time"]),
                    1,
                )
            })
        });
    }

    #[test]
    fn a_name_that_is_not_the_one_sent() {
        cheat("names", |_, answer| {
            edited(answer, |text| {
                let ascii = |c: char| if c.is_ascii() { c } else { '?' };
                text.chars().map(ascii).collect()
            })
        });
    }

    #[test]
    fn nonsense_accepted() {
        cheat("bad-request", |_, answer| match answer.status {
            400 => json(200, "{}"),
            _ => answer,
        });
    }

    #[test]
    fn errors_that_are_not_json() {
        cheat("bad-request", |_, answer| match answer.status {
            400 => json(400, "bad request"),
            _ => answer,
        });
    }
}

mod weather {
    use super::*;

    /// Asks the upstream as an honest gateway does.
    fn ask(upstream: SocketAddr) -> Option<Value> {
        let mut stream = TcpStream::connect(upstream).ok()?;
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .ok()?;
        let request = "GET /weather.json HTTP/1.1\r\nHost: upstream\r\n\r\n";
        stream.write_all(request.as_bytes()).ok()?;
        let mut heard = Vec::new();
        let mut buf = [0; 4096];
        loop {
            match stream.read(&mut buf) {
                Ok(n @ 1..) => heard.extend_from_slice(&buf[..n]),
                _ => return None,
            }
            let text = String::from_utf8_lossy(&heard);
            let (head, body) = match text.split_once("\r\n\r\n") {
                Some(parts) => parts,
                None => continue,
            };
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("Content-Length: ")?.parse::<usize>().ok())?;
            if body.len() >= length {
                return serde_json::from_str(body).ok();
            }
        }
    }

    fn told(weather: Option<Value>) -> Answer {
        match weather {
            None => json(502, "{\"error\":\"upstream\"}"),
            Some(weather) if weather["cod"] == 200 => {
                let (id, temp) = (&weather["weather"][0]["id"], &weather["main"]["temp"]);
                let temp = temp.as_f64().unwrap().trunc() as i64;
                json(200, format!("{{\"code\":{id},\"temp\":{temp}}}"))
            }
            Some(weather) => json(400, format!("{{\"error\":{}}}", weather["message"])),
        }
    }

    fn is_weather(request: &Request) -> bool {
        request
            .target
            .strip_prefix("/weather/")
            .is_some_and(|city| !city.trim_end_matches('/').contains('/') && !city.is_empty())
    }

    fn gateway(
        answer: impl Fn(&Request, SocketAddr) -> Answer + Send + Sync + Clone + 'static,
    ) -> impl Fn(&Fixture) -> SocketAddr {
        move |fixture| {
            let upstream = fixture.upstream().unwrap();
            let answer = answer.clone();
            http(move |request| match is_weather(request) {
                true => answer(request, upstream),
                false => json(404, "{}"),
            })
        }
    }

    #[test]
    fn an_honest_one_passes() {
        passes(
            Contract::Weather,
            gateway(|_, upstream| told(ask(upstream))),
        );
    }

    #[test]
    fn the_first_answer_for_ever() {
        let kept: Arc<Mutex<Option<Value>>> = Arc::default();
        caught(
            Contract::Weather,
            "fresh",
            gateway(move |_, upstream| {
                let mut kept = kept.lock().unwrap();
                told(
                    kept.get_or_insert_with(|| ask(upstream).unwrap())
                        .clone()
                        .into(),
                )
            }),
        );
    }

    #[test]
    fn answers_kept_for_each_city_until_they_change() {
        // Looks at the upstream every other time: sees a change, and saves half of the work.
        let kept: Arc<Mutex<(u64, Option<Value>)>> = Arc::default();
        caught(
            Contract::Weather,
            "fresh",
            gateway(move |_, upstream| {
                let mut kept = kept.lock().unwrap();
                kept.0 += 1;
                if kept.0 % 2 == 1 || kept.1.is_none() {
                    kept.1 = ask(upstream);
                }
                told(kept.1.clone())
            }),
        );
    }

    #[test]
    fn the_same_city_answered_from_memory_for_a_moment() {
        let kept: Arc<Mutex<Option<(String, std::time::Instant, Value)>>> = Arc::default();
        let answer = move |request: &Request, upstream| {
            let mut kept = kept.lock().unwrap();
            if let Some((city, at, weather)) = kept.as_ref()
                && *city == request.target
                && at.elapsed() < Duration::from_secs(10)
            {
                return told(Some(weather.clone()));
            }
            let weather = ask(upstream);
            if let Some(weather) = &weather {
                *kept = Some((
                    request.target.clone(),
                    std::time::Instant::now(),
                    weather.clone(),
                ));
            }
            told(weather)
        };
        caught(Contract::Weather, "fresh", gateway(answer));
    }

    #[test]
    fn temperatures_that_are_rounded() {
        caught(
            Contract::Weather,
            "answer",
            gateway(|_, upstream| match ask(upstream) {
                Some(mut weather) if weather["cod"] == 200 => {
                    let temp = weather["main"]["temp"].as_f64().unwrap().round();
                    weather["main"]["temp"] = temp.into();
                    told(Some(weather))
                }
                other => told(other),
            }),
        );
    }

    #[test]
    fn errors_of_the_upstream_hidden() {
        caught(
            Contract::Weather,
            "upstream-error",
            gateway(|_, upstream| match told(ask(upstream)) {
                answer if answer.status == 400 => json(200, "{\"code\":500,\"temp\":14}"),
                answer => answer,
            }),
        );
        caught(
            Contract::Weather,
            "upstream-broken",
            gateway(|_, upstream| match told(ask(upstream)) {
                answer if answer.status == 502 => json(500, "oops"),
                answer => answer,
            }),
        );
    }

    #[test]
    fn an_upstream_that_keeps_its_file_in_memory() {
        let serve = |fixture: &Fixture| {
            let file = std::fs::read(fixture.docroot().join("weather.json")).unwrap();
            http(move |request| match request.target.as_str() {
                "/weather.json" => json(200, file.clone()),
                _ => json(404, "{}"),
            })
        };
        caught(Contract::WeatherUpstream, "fresh", serve);
        passes(Contract::WeatherUpstream, |fixture| {
            let docroot = fixture.docroot();
            http(move |request| match request.target.as_str() {
                "/weather.json" => json(200, std::fs::read(docroot.join("weather.json")).unwrap()),
                _ => json(404, "{}"),
            })
        });
    }
}
