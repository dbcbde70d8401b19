//! A call that a user gives, and what is known of its answer: not a contract, but enough to tell a server that answers
//! from one that does not.

use super::client::{Client, GrpcAnswer, GrpcRequest};
use super::output::AnswerType;
use crate::contract::SILENCE_LIMIT;
use crate::workload::Endpoint;
use prony_engine::protocol::grpc::{Call, GrpcExpect, GrpcStatus, shown};
use prony_engine::protocol::h2::WINDOW;
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::protocol::{Expect, Limits};
use prony_engine::{Dialogue, StreamedRequests, Target};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Answers that are looked at before a load.
const SAMPLES: usize = 3;
/// Bytes of answers beyond which they are not compared.
const COMPARED: usize = 4 << 20;
/// Bytes of a message that are shown.
const SHOWN: usize = 60;

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rpc {
    /// Call to make.
    pub call: Call,
    /// Expectation of every answer. Where it leaves the messages open, the server's first answers decide what is
    /// expected from then on.
    pub expect: GrpcExpect,
    /// Kind of the answers' messages; none: only their bytes are known.
    pub output: Option<AnswerType>,
    /// How much of an answer is accepted.
    pub limits: Limits,
}

/// Observations of a server before a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallProbe {
    /// The first answer.
    pub first: GrpcAnswer,
    /// Expectation that a load has of every answer.
    pub expect: GrpcExpect,
}

impl Rpc {
    /// Looks at answers of a server, over TLS or not, and gives what a load expects then.
    ///
    /// # Errors
    /// When it does not answer, or wrongly, in words.
    pub fn look(
        &self,
        target: &Target,
        tls: Option<&TlsOptions>,
        authority: &str,
        silence: Duration,
    ) -> Result<CallProbe, String> {
        self.looked(&Client::reach(target, tls, authority, silence)?)
    }

    fn looked(&self, client: &Client) -> Result<CallProbe, String> {
        let path = &self.call.path;
        let sent = GrpcRequest::messages(path, &self.call.metadata, &self.call.messages);
        let mut answers = Vec::with_capacity(SAMPLES);
        for _ in 0..SAMPLES {
            let answer = client
                .call(&sent)
                .map_err(|error| format!("{path}: {error}"))?;
            self.check(&answer)?;
            answers.push(answer);
        }
        let expect = GrpcExpect {
            content: self.content(&answers),
            ..self.expect.clone()
        };
        Ok(CallProbe {
            first: answers.swap_remove(0),
            expect,
        })
    }

    /// Is it an answer as it must be?
    fn check(&self, answer: &GrpcAnswer) -> Result<(), String> {
        let path = &self.call.path;
        if answer.code() == Some(GrpcStatus::UNIMPLEMENTED)
            && self.expect.status != GrpcStatus::UNIMPLEMENTED
        {
            let text = match answer.text.as_str() {
                "" => String::new(),
                text => format!(": {}", shown(text.as_bytes())),
            };
            return Err(format!(
                "the server has no method {path}, status {}{text}",
                GrpcStatus::UNIMPLEMENTED
            ));
        }
        answer
            .check(self.expect.status)
            .map_err(|wrong| format!("{path} is answered with {wrong}"))?;
        let (found, (least, most)) = (answer.messages.len() as u64, self.expect.range());
        if !(least..=most).contains(&found) {
            let expected = match (least, most) {
                (least, u64::MAX) => format!("{least} or more"),
                (least, most) if least == most => least.to_string(),
                (least, most) => format!("{least} to {most}"),
            };
            return Err(format!(
                "{path} is answered with {found} messages, expected {expected}"
            ));
        }
        let Some(_) = self.expect.content.length else {
            return Ok(());
        };
        let (wanted, found) = (&self.expect.content.prefix, answer.messages.concat());
        let same = match &self.output {
            Some(output) if answer.messages.len() == 1 => output.same(wanted, &found)?,
            _ => *wanted == found,
        };
        match same {
            true => Ok(()),
            false => Err(format!(
                "{path} is answered with {}, expected {}",
                self.show(&found),
                self.show(wanted)
            )),
        }
    }

    /// A message for people: as JSON where its kind is known.
    #[must_use]
    pub fn show(&self, message: &[u8]) -> String {
        let json = self
            .output
            .as_ref()
            .and_then(|output| output.json(message).ok());
        match json {
            Some(json) => shown(json.as_bytes()),
            None => {
                let dots = if message.len() > SHOWN { "…" } else { "" };
                let begin = message[..message.len().min(SHOWN)].escape_ascii();
                format!("the {} bytes \"{begin}{dots}\"", message.len())
            }
        }
    }

    /// Returns what the messages of all further answers must be.
    fn content(&self, answers: &[GrpcAnswer]) -> Expect {
        let all: Vec<Vec<u8>> = answers
            .iter()
            .map(|answer| answer.messages.concat())
            .collect();
        let bodies = answers.iter().map(|answer| &answer.messages);
        let alike = bodies
            .clone()
            .zip(bodies.skip(1))
            .all(|(one, other)| one == other);
        let asked = self.expect.content.length.is_some();
        match alike && all[0].len() <= COMPARED {
            // Its bytes as the server writes them: they may stand in another order than ours.
            true if asked => Expect::body(all[0].clone()),
            true if !self.expect.streaming && !may_change(&all[0]) => Expect::body(all[0].clone()),
            // The same messages in bytes that differ from answer to answer: these cannot be compared.
            _ => Expect::default(),
        }
    }

    /// Returns what a load sends to the server that answers at `addr` without TLS, and what it expects.
    ///
    /// # Errors
    /// When it does not answer, or wrongly, in words.
    pub fn dialogue(&self, addr: SocketAddr, endpoint: &Endpoint<'_>) -> Result<Dialogue, String> {
        let (authority, secure) = (endpoint.authority, endpoint.tls);
        let client = Client::connect(&Target::Tcp(addr), authority, secure, SILENCE_LIMIT)?;
        let seen = self.looked(&client)?;
        self.expecting(seen.expect, endpoint)
    }

    /// Returns what a load sends, and expects of every answer.
    ///
    /// # Errors
    /// When the metadata has a field that cannot be sent, in words.
    pub fn expecting(
        &self,
        expect: GrpcExpect,
        endpoint: &Endpoint<'_>,
    ) -> Result<Dialogue, String> {
        let exchange = (self.call).exchange(endpoint.authority, endpoint.tls, expect);
        Ok(Dialogue::Grpc(Box::new(StreamedRequests {
            exchanges: vec![exchange.map_err(|forbidden| forbidden.to_string())?],
            limits: self.limits,
            window: endpoint.http2.map_or(WINDOW, |http2| http2.window),
        })))
    }
}

/// May a message be another one in a moment, although it was the same some times? It may where it holds a time: as text,
/// which has two digits in a row, or as a number of seconds or of a fraction of them that is near today's.
fn may_change(message: &[u8]) -> bool {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let digits = message
        .windows(2)
        .any(|two| two.iter().all(u8::is_ascii_digit));
    digits || (0..message.len()).any(|at| is_time(&message[at..], now.as_secs()))
}

/// Does a number begin here that is a time within a day of `now`, in seconds since 1970?
fn is_time(bytes: &[u8], now: u64) -> bool {
    const DAY: u64 = 86_400;
    let near = |value: u64| {
        [1, 1_000, 1_000_000, 1_000_000_000]
            .iter()
            .any(|unit| (value / unit).abs_diff(now) < DAY)
    };
    let mut varint = 0_u64;
    for (nth, byte) in bytes.iter().take(10).enumerate() {
        varint |= u64::from(byte & 0x7f)
            .checked_shl(7 * nth as u32)
            .unwrap_or(0);
        if byte & 0x80 == 0 {
            break;
        }
    }
    let fixed = bytes.first_chunk().map(|eight| u64::from_le_bytes(*eight));
    let double = fixed.map(|bits| f64::from_bits(bits) as u64);
    let half = bytes
        .first_chunk()
        .map(|four| u32::from_le_bytes(*four).into());
    [Some(varint), fixed, double, half]
        .into_iter()
        .flatten()
        .any(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found() {
        let now = 1_790_000_000_u64;
        let varint = |mut value: u64| {
            let mut out = vec![0x08];
            while value > 0x7f {
                out.push(value as u8 | 0x80);
                value >>= 7;
            }
            out.push(value as u8);
            out
        };
        let has = |bytes: &[u8]| (0..bytes.len()).any(|at| is_time(&bytes[at..], now));
        for unit in [1, 1_000, 1_000_000, 1_000_000_000] {
            assert!(has(&varint((now + 60) * unit)), "{unit}");
            assert!(has(&(now * unit).to_le_bytes()), "{unit}");
        }
        assert!(has(&(now as f64).to_le_bytes()));
        for other in [0, 5, 300, u64::from(u32::MAX), now * 3, u64::MAX] {
            assert!(!has(&varint(other)), "{other}");
        }
        assert!(may_change(b"\x0a\x0512:30") && !may_change(b"\x0a\x05hello\x10\x07"));
    }
}
