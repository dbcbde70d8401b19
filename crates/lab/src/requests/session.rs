//! Sessions: steps in order, with what later ones take from the answers to earlier ones.

use super::expect::pointer;
use super::template::KNOWN;
use super::{RequestFileReader, RequestKeys, ServerFacts, is_token};
use crate::source::Mistake;
use prony_engine::clock;
use prony_engine::protocol::mix::{
    CYCLE, MixRequest, MixSession, MixStep, Shares, Take, Think, ValueOrigin, exact_shares,
};
use prony_record::Span;
use regex::bytes::Regex;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// Most redirects that a step may follow: as many as a browser follows.
const MOST_REDIRECTS: u32 = 20;

/// One session.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionKeys {
    name: Spanned<String>,
    weight: Option<Spanned<u32>>,
    /// Cookies are kept and sent.
    #[serde(default)]
    cookies: bool,
    /// The pause after each step but the last, unless the step says otherwise.
    think: Option<Spanned<String>>,
    step: Vec<Spanned<RequestKeys>>,
}

/// Where a value is taken from: one of these.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TakeKeys {
    json: Option<Spanned<String>>,
    header: Option<Spanned<String>>,
    cookie: Option<Spanned<String>>,
    regex: Option<Spanned<String>>,
}

impl RequestFileReader<'_> {
    /// A request that is no step has nothing that only steps have.
    pub(super) fn stands_alone(&self, keys: &RequestKeys) -> Result<(), Mistake> {
        let take = keys.take.values().map(Spanned::span);
        let think = keys.think.iter().map(Spanned::span);
        let redirects = keys.redirects.iter().map(Spanned::span);
        match take.chain(think).chain(redirects).next() {
            None => Ok(()),
            Some(at) => {
                let what = "only a step of a [[session]] has this";
                Err(self.wrong(at, what, None))
            }
        }
    }

    /// All sessions; their steps are added to the requests.
    pub(super) fn sessions(
        &mut self,
        all: &[Spanned<SessionKeys>],
        server: &ServerFacts,
        requests: &mut Vec<MixRequest>,
    ) -> Result<Vec<MixSession>, Mistake> {
        let mut sessions: Vec<MixSession> = Vec::new();
        for keys in all {
            let session = self.session(keys.get_ref(), server, requests)?;
            if sessions.iter().any(|known| known.name == session.name) {
                let what = "another session has this name";
                return Err(self.wrong(keys.get_ref().name.span(), what, None));
            }
            sessions.push(session);
        }
        let weights: Vec<u32> = sessions.iter().map(|session| session.weight).collect();
        let never = exact_shares(&weights).iter().position(|&count| count == 0);
        if let (Some(place), Shares::Exact) = (never, server.shares) {
            let keys = all[place].get_ref();
            let at = keys.weight.as_ref().map_or(keys.name.span(), Spanned::span);
            let what = format!("less than one in {CYCLE} sessions: it would never begin");
            let help = "give it a larger weight";
            return Err(self.wrong(at, what, Some(help)).helped_by_chance());
        }
        Ok(sessions)
    }

    fn session(
        &mut self,
        keys: &SessionKeys,
        server: &ServerFacts,
        requests: &mut Vec<MixRequest>,
    ) -> Result<MixSession, Mistake> {
        if keys.step.is_empty() {
            let what = "a session has at least one [[session.step]]";
            return Err(self.wrong(keys.name.span(), what, None));
        }
        let weight = match &keys.weight {
            None => 1,
            Some(weight) if *weight.get_ref() > 0 => *weight.get_ref(),
            Some(weight) => return Err(self.wrong(weight.span(), "must be at least 1", None)),
        };
        self.taken.clear();
        let mut steps = Vec::new();
        for step in &keys.step {
            let step = step.get_ref();
            if let Some(own) = &step.weight {
                let what = "a step has no weight: the session has";
                return Err(self.wrong(own.span(), what, None));
            }
            let own = step.headers.iter();
            let mut own = own.filter(|(name, _)| name.eq_ignore_ascii_case("cookie"));
            if let (true, Some((_, value))) = (keys.cookies, own.next()) {
                let what = "the session keeps cookies: its requests cannot have others";
                return Err(self.wrong(value.span(), what, None));
            }
            let request = MixRequest {
                cookies: keys.cookies,
                weight,
                ..self.request(step, server)?
            };
            let takes = self.takes(&step.take)?;
            let think = match step.think.as_ref().or(keys.think.as_ref()) {
                None => Think::None,
                Some(text) => think(text.get_ref()).ok_or_else(|| {
                    let what = "expected a pause: \"1s\", \"1s..3s\", or \"exponential 2s\"";
                    self.wrong(text.span(), what, None)
                })?,
            };
            steps.push(MixStep {
                request: requests.len(),
                takes,
                think,
                redirects: self.redirects(step.redirects.as_ref())?,
            });
            self.add(requests, request, step)?;
        }
        self.taken.clear();
        Ok(MixSession {
            name: keys.name.get_ref().clone(),
            weight,
            cookies: keys.cookies,
            steps,
        })
    }

    /// How many redirects are followed.
    fn redirects(&self, most: Option<&Spanned<u32>>) -> Result<u32, Mistake> {
        match most {
            None => Ok(0),
            Some(most) if (1..=MOST_REDIRECTS).contains(most.get_ref()) => Ok(*most.get_ref()),
            Some(most) => {
                let what = format!("must be from 1 to {MOST_REDIRECTS}");
                let help = "without this key redirects are not followed";
                Err(self.wrong(most.span(), what, Some(help)))
            }
        }
    }

    /// Reads the values that a step takes from its answers. Later steps know them.
    fn takes(&mut self, all: &BTreeMap<String, Spanned<TakeKeys>>) -> Result<Vec<Take>, Mistake> {
        let mut takes = Vec::new();
        for (name, keys) in all {
            let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
            if name.is_empty() || !name.chars().all(plain) || KNOWN.contains(&name.as_str()) {
                let what = format!("{name:?} cannot be the name of a value");
                return Err(self.wrong(keys.span(), what, None));
            }
            let origin = self.origin(keys)?;
            let value = self.taken.iter().position(|known| known == name);
            let value = value.unwrap_or_else(|| {
                self.taken.push(name.clone());
                self.taken.len() - 1
            });
            takes.push(Take {
                value,
                name: name.clone(),
                origin,
            });
        }
        Ok(takes)
    }

    fn origin(&self, keys: &Spanned<TakeKeys>) -> Result<ValueOrigin, Mistake> {
        let TakeKeys {
            json,
            header,
            cookie,
            regex,
        } = keys.get_ref();
        match (json, header, cookie, regex) {
            (Some(path), None, None, None) => match pointer(path.get_ref()) {
                Some(pointer) => Ok(ValueOrigin::Json(path.get_ref().clone(), pointer)),
                None => Err(self.wrong(path.span(), "is not a path such as $.items[0].id", None)),
            },
            (None, Some(name), None, None) if is_token(name.get_ref()) => {
                Ok(ValueOrigin::Header(name.get_ref().clone()))
            }
            (None, Some(name), None, None) => {
                Err(self.wrong(name.span(), "is not the name of a header field", None))
            }
            (None, None, Some(name), None) => Ok(ValueOrigin::Cookie(name.get_ref().clone())),
            (None, None, None, Some(text)) => match Regex::new(text.get_ref()) {
                Ok(_) => Ok(ValueOrigin::Regex(text.get_ref().clone())),
                Err(error) => {
                    let last = error.to_string();
                    let last = last.lines().last().unwrap_or_default().to_owned();
                    let what = format!("is not a regular expression: {last}");
                    Err(self.wrong(text.span(), what, None))
                }
            },
            _ => {
                let what = "expected one of json, header, cookie and regex";
                Err(self.wrong(keys.span(), what, None))
            }
        }
    }
}

/// A pause: `1s`, `1s..3s`, `exponential 2s`.
fn think(text: &str) -> Option<Think> {
    let nanos = |text: &str| Some(clock::nanos(text.trim().parse::<Span>().ok()?.0));
    if let Some(mean) = text.strip_prefix("exponential ") {
        return Some(Think::Exponential(nanos(mean)?));
    }
    let (low, high) = match text.split_once("..") {
        Some((low, high)) => (nanos(low)?, nanos(high)?),
        None => (nanos(text)?, nanos(text)?),
    };
    (low <= high).then_some(Think::Uniform(low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_read() {
        assert_eq!(think("2ms"), Some(Think::Uniform(2_000_000, 2_000_000)));
        assert_eq!(think("1us..3us"), Some(Think::Uniform(1_000, 3_000)));
        assert_eq!(
            think("exponential 1s"),
            Some(Think::Exponential(1_000_000_000))
        );
        for wrong in ["", "3s..1s", "soon", "exponential", "1s.."] {
            assert_eq!(think(wrong), None, "{wrong}");
        }
    }
}
