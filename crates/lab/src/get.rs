//! A request that a user gives, and what is known of its answer: not a contract, but enough to tell
//! a server that answers from one that does not.

use crate::contract::fetch;
use prony_engine::Dialogue;
use prony_engine::protocol::{Expect, HttpExchange, HttpRequest, Limits};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

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
    /// What every answer must be. Where it leaves the status or the body open, what the server answers
    /// at first is expected from then on.
    pub expect: Expect,
}

impl Get {
    fn request(&self, authority: &str) -> HttpRequest {
        HttpRequest {
            method: self.method.clone(),
            headers: self.headers.clone(),
            body: self.body.clone(),
            ..HttpRequest::get(authority, self.path.as_str())
        }
    }

    /// What a load of the server at `addr`, which requests call `authority`, asks for, and what it expects: the status of its first
    /// answers, and their body where that is the same in all of them and has no digit in it. A body
    /// with digits may hold a time or a counter, and be another one in a second.
    ///
    /// # Errors
    /// When it does not answer, or with an error, in words.
    pub fn dialogue(&self, addr: SocketAddr, authority: &str) -> Result<Dialogue, String> {
        let request = self.request(authority);
        let mut answers = Vec::with_capacity(SAMPLES);
        for _ in 0..SAMPLES {
            answers.push(fetch(addr, &self.method, &request.encode())?);
        }
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
        Ok(Dialogue::Http {
            exchanges: vec![HttpExchange::new(
                &request,
                Expect {
                    status: self.expect.status.or(Some((*status, *status))),
                    ..expect
                },
            )],
            limits: Limits::default(),
        })
    }
}
