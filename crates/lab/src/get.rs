//! A request that a user gives, and what is known of its answer: not a contract, but enough to tell
//! a server that answers from one that does not.

use crate::contract::{SILENCE_LIMIT, fetch};
use crate::over_h2;
use crate::requests::verify::{SendMode, verify};
use crate::side::HttpStreams;
use crate::workload::Endpoint;
use prony_engine::protocol::encoding::ACCEPTED;
use prony_engine::protocol::h2::{self, StreamedExchange};
use prony_engine::protocol::tls::speaks_tls;
use prony_engine::protocol::{EventStream, Expect, HttpExchange, HttpRequest, Limits, Mix};
use prony_engine::{Dialogue, StreamedRequests, Target};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::time::Duration;

/// How long a server is asked what it speaks.
const PATIENCE: Duration = Duration::from_secs(1);
/// Answers that are looked at before a load.
const SAMPLES: usize = 3;
/// Bytes of a wrong answer's body that are shown.
const SHOWN: usize = 80;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Get {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Further header fields.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Ask for compressed answers, and judge bodies without their content codings.
    #[serde(default)]
    pub compressed: bool,
    /// Expectation of every answer. Where it leaves the status or the body open, the server's first answers decide what
    /// is expected from then on.
    pub expect: Expect,
    /// How much of an answer is accepted.
    pub limits: Limits,
    /// Every answer is a stream of events; None: it is none.
    #[serde(default)]
    pub stream: Option<EventStream>,
}

/// A hint at the protocol of a server that does not answer HTTP/1.1; empty when it is not found out.
fn speaks(addr: SocketAddr) -> &'static str {
    let target = Target::Tcp(addr);
    if speaks_tls(&target, PATIENCE) {
        return "; the server speaks TLS on this port: use https://";
    }
    match h2::probe(&target, PATIENCE) {
        Ok(()) => {
            "; the server speaks HTTP/2 without TLS on this port: use h2c://, or grpc:// for gRPC"
        }
        Err(_) => "",
    }
}

impl Get {
    fn request(&self, endpoint: &Endpoint<'_>, keepalive: bool) -> HttpRequest {
        let mut headers = self.headers.clone();
        let mut path = self.path.clone();
        if let Some(forwarded) = endpoint.forwarded() {
            path.insert_str(0, &forwarded.origin);
            headers.extend(forwarded.fields);
        }
        let accepts = |(name, _): &(String, String)| name.eq_ignore_ascii_case("accept-encoding");
        if self.compressed && !headers.iter().any(accepts) {
            headers.push(("Accept-Encoding".to_owned(), ACCEPTED.to_owned()));
        }
        HttpRequest {
            method: self.method.clone(),
            headers,
            body: self.body.clone(),
            keepalive,
            ..HttpRequest::get(endpoint.authority, path)
        }
    }

    /// Returns what a load sends to the server that answers at `addr` without TLS, and what it expects. With
    /// `keepalive`, connections stay open. What `expect` leaves open is expected as in the first answers: their status,
    /// and their body if all have the same one without a digit. A body with digits may hold a time or a counter, and be
    /// another one in a second.
    ///
    /// # Errors
    /// When it does not answer, or with an error, in words.
    pub fn dialogue(
        &self,
        addr: SocketAddr,
        endpoint: &Endpoint<'_>,
        keepalive: bool,
    ) -> Result<Dialogue, String> {
        if self.stream.is_some() {
            return self.streaming(addr, endpoint, keepalive);
        }
        let request = self.request(endpoint, keepalive);
        let decoded = self.compressed.then_some(self.limits.body);
        let answers = match endpoint.http2 {
            None => (1..=SAMPLES)
                .map(|n| {
                    fetch(addr, &self.method, &request.encode(), decoded).map_err(|wrong| {
                        // One that fails now and then is found by chance.
                        let sometimes = match n {
                            1 => "",
                            _ => "; a server that fails now and then is loaded by `prony load`, which counts how often",
                        };
                        let known = wrong.to_string().contains("speaks");
                        let speaks = match n {
                            1 if !endpoint.tls && !known => speaks(addr),
                            _ => "",
                        };
                        format!(
                            "{} {}, request {n} of {SAMPLES} before the load: {wrong}{sometimes}{speaks}",
                            self.method, self.path
                        )
                    })
                })
                .collect::<Result<Vec<_>, _>>()?,
            Some(_) => {
                // A field that cannot be sent is told before anything is.
                self.expecting(self.expect.clone(), endpoint, keepalive)?;
                over_h2::fetch(addr, &request, endpoint.tls, SAMPLES, SILENCE_LIMIT)?
                    .into_iter()
                    .map(|answer| Ok((answer.status, answer.decoded(decoded)?)))
                    .collect::<Result<Vec<_>, String>>()
                    .map_err(|wrong| format!("{} {}: {wrong}", self.method, self.path))?
            }
        };
        for (status, body) in &answers {
            let difference = self.expect.difference_at(0, body);
            let mismatch = match self.method.as_str() {
                // Its answer has no body to judge.
                "HEAD" => self.expect.judge_status(*status),
                _ => self.expect.judge(*status, body.len() as u64, difference),
            };
            if let Some(mismatch) = mismatch {
                let body = String::from_utf8_lossy(&body[..body.len().min(SHOWN)]).into_owned();
                return Err(format!(
                    "{} {} is answered with {mismatch}; the body begins with {body:?}",
                    self.method, self.path
                ));
            }
        }
        let (status, body) = &answers[0];
        let constant = answers.iter().all(|answer| answer == &answers[0])
            && !body.iter().any(u8::is_ascii_digit);
        let expect = match (constant, &self.expect.length) {
            (_, Some(_)) => self.expect.clone(),
            (true, None) => Expect::body(body.clone()),
            (false, None) => Expect::default(),
        };
        let expect = Expect {
            status: self.expect.status.or(Some((*status, *status))),
            status_found: self.expect.status.is_none(),
            ..expect
        };
        self.expecting(expect, endpoint, keepalive)
    }

    /// Returns the dialogue for answers that are streams of events, once each of a few requests has brought an event.
    fn streaming(
        &self,
        addr: SocketAddr,
        endpoint: &Endpoint<'_>,
        keepalive: bool,
    ) -> Result<Dialogue, String> {
        let dialogue = self.expecting(self.expect.clone(), endpoint, keepalive)?;
        let Dialogue::Mix(mix) = &dialogue else {
            return Ok(dialogue);
        };
        let target = Target::Tcp(addr);
        let whole = &[SendMode::Whole];
        let tried = verify(mix, &target, None, 0, SILENCE_LIMIT, whole, &mut |_| true);
        match tried.into_iter().find_map(|tried| tried.wrong) {
            Some(wrong) => Err(format!("before the load: {wrong}")),
            None => Ok(dialogue),
        }
    }

    /// Returns what a load sends, and expects of every answer. With `keepalive`, connections stay open.
    ///
    /// # Errors
    /// When it has a field that HTTP/2 has no place for, in words.
    pub fn expecting(
        &self,
        expect: Expect,
        endpoint: &Endpoint<'_>,
        keepalive: bool,
    ) -> Result<Dialogue, String> {
        let (request, limits) = (self.request(endpoint, keepalive), self.limits);
        Ok(match endpoint.http2 {
            // A mix looks at bodies without their encodings, on a sample; a session that sends one request alone does not.
            _ if self.compressed || self.stream.is_some() => {
                let mut mix = Mix::one("request", &request, &expect, limits);
                if self.compressed {
                    mix.decode();
                }
                mix.requests[0].stream.clone_from(&self.stream);
                // The request is in the form that a proxy forwards already.
                let endpoint = Endpoint {
                    proxy: None,
                    ..*endpoint
                };
                Dialogue::Mix(Box::new(endpoint.mix(mix)?))
            }
            None => Dialogue::Http {
                exchanges: vec![HttpExchange::new(&request, expect)],
                limits,
            },
            Some(HttpStreams { window, http3 }) => {
                let requests = Box::new(StreamedRequests {
                    exchanges: vec![
                        StreamedExchange::new(&request, endpoint.tls, expect)
                            .map_err(|forbidden| forbidden.to_string())?,
                    ],
                    limits,
                    window,
                });
                match http3 {
                    true => Dialogue::H3(requests),
                    false => Dialogue::H2(requests),
                }
            }
        })
    }
}
