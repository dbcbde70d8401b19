//! State of a session's user between its steps.

use super::redirect::following;
use super::table::Column;
use super::template::Filler;
use crate::clock::Nanos;
use regex::bytes::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where a value is taken from in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueOrigin {
    /// A place in a JSON body: the path as it was written, and as a JSON pointer (RFC 6901).
    Json(String, String),
    /// A header field.
    Header(String),
    /// A cookie that the answer sets.
    Cookie(String),
    /// The first group of a regular expression, or all of it without a group, in the body.
    Regex(String),
}

/// A value that is taken from an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Take {
    /// Place of the value among the values of a user.
    pub value: usize,
    /// Name of the value.
    pub name: String,
    /// Where it is.
    pub origin: ValueOrigin,
}

/// A pause after a step, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Think {
    /// None.
    #[default]
    None,
    /// Each from the first to the second equally likely.
    Uniform(Nanos, Nanos),
    /// Exponentially distributed with this mean.
    Exponential(Nanos),
}

impl Think {
    /// A pause, from a random number above 0 and up to 1.
    pub(super) fn draw(self, random: f64) -> Nanos {
        match self {
            Self::None => 0,
            Self::Uniform(low, high) => low + ((high - low) as f64 * random) as Nanos,
            Self::Exponential(mean) => (-random.ln() * mean as f64) as Nanos,
        }
    }
}

/// A value to be taken, ready for use.
#[derive(Debug)]
pub(super) struct Taking {
    value: usize,
    name: String,
    origin: ValueOrigin,
    regex: Option<Regex>,
}

impl Taking {
    pub(super) fn new(take: &Take) -> Self {
        let regex = match &take.origin {
            ValueOrigin::Regex(text) => Some(Regex::new(text).expect("it was compiled before")),
            _ => None,
        };
        Self {
            value: take.value,
            name: take.name.clone(),
            origin: take.origin.clone(),
            regex,
        }
    }

    /// Is it looked for in the body?
    pub(super) fn in_body(&self) -> bool {
        matches!(self.origin, ValueOrigin::Json(..) | ValueOrigin::Regex(_))
    }

    /// Takes it from an answer.
    fn take(&self, head: &[u8], body: &[u8], json: Option<&Value>) -> Option<Vec<u8>> {
        match &self.origin {
            ValueOrigin::Json(_, pointer) => match json?.pointer(pointer)? {
                Value::String(text) => Some(text.clone().into_bytes()),
                Value::Null => None,
                other => Some(other.to_string().into_bytes()),
            },
            ValueOrigin::Header(name) => field(head, name).next().map(<[u8]>::to_vec),
            ValueOrigin::Cookie(name) => {
                let set = field(head, "set-cookie").filter_map(cookie);
                let (_, value, _) = set.filter(|(known, ..)| *known == name.as_bytes()).last()?;
                Some(value.to_vec())
            }
            ValueOrigin::Regex(_) => {
                let found = self.regex.as_ref()?.captures(body)?;
                let group = found.get(1).or_else(|| found.get(0))?;
                Some(group.as_bytes().to_vec())
            }
        }
    }

    /// Describes a value that is missing (`found` is None) or cannot be used.
    fn missing(&self, found: Option<&[u8]>) -> String {
        let place = match &self.origin {
            ValueOrigin::Json(path, _) => format!("at {path}"),
            ValueOrigin::Header(name) => format!("in the header {name}"),
            ValueOrigin::Cookie(name) => format!("in a cookie {name}"),
            ValueOrigin::Regex(text) => format!("by /{text}/"),
        };
        match found {
            None => format!("no {} {place}", self.name),
            Some(_) => format!("{} {place} has a control character", self.name),
        }
    }
}

/// The values of a header field.
pub(super) fn field<'a>(head: &'a [u8], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let lines = head.split(|&byte| byte == b'\n').skip(1);
    lines.filter_map(move |line| {
        let at = line.iter().position(|&byte| byte == b':')?;
        line[..at]
            .eq_ignore_ascii_case(name.as_bytes())
            .then(|| line[at + 1..].trim_ascii())
    })
}

/// Name and value of a cookie that is set (RFC 6265, 5.2), and whether it is to be forgotten.
fn cookie(field: &[u8]) -> Option<(&[u8], &[u8], bool)> {
    let mut parts = field.split(|&byte| byte == b';');
    let pair = parts.next()?;
    let at = pair.iter().position(|&byte| byte == b'=')?;
    let (name, value) = (pair[..at].trim_ascii(), pair[at + 1..].trim_ascii());
    let gone = |part: &[u8]| {
        let part = part.trim_ascii().to_ascii_lowercase();
        let age = part.strip_prefix(b"max-age=");
        age.is_some_and(|age| age.starts_with(b"-") || age == b"0")
    };
    (!name.is_empty()).then(|| (name, value, parts.any(gone)))
}

/// A user of one connection, who goes through one session after the other.
#[derive(Debug, Default)]
pub(super) struct User {
    /// The session under way, by its place.
    pub(super) session: usize,
    /// The next step; with 0 no session is under way.
    pub(super) step: usize,
    /// When the session's first request was due, once that is answered.
    pub(super) begun: Nanos,
    /// The pause before the next step has been imposed.
    pub(super) thought: bool,
    /// Values that were taken.
    pub(super) values: Vec<Vec<u8>>,
    /// The rows of the tables that the session uses.
    pub(super) rows: Vec<usize>,
    /// The request that was sent, where redirects of its answer are followed.
    pub(super) sent: Vec<u8>,
    /// Expectations filled with the request's own values; None if its answer is not searched.
    pub(super) own: Option<Column>,
    /// Redirects that were followed from the step.
    pub(super) followed: u32,
    /// The request that follows a redirect, and is sent next; empty without one.
    pub(super) next: Vec<u8>,
    /// `name=value`.
    cookies: Vec<(Vec<u8>, Vec<u8>)>,
}

impl User {
    /// Begins a session.
    pub(super) fn begin(&mut self, session: usize, values: usize) {
        (self.session, self.begun) = (session, 0);
        self.values.resize_with(values, Vec::new);
        self.values.iter_mut().for_each(Vec::clear);
        self.cookies.clear();
        self.next.clear();
    }

    /// Follows a redirect, of so many at most from the step.
    pub(super) fn follow(
        &mut self,
        most: u32,
        status: u16,
        location: &[u8],
        cookies: bool,
    ) -> Result<(), String> {
        if self.followed == most {
            let place = String::from_utf8_lossy(location);
            return Err(format!("more than {most} redirects, the last to {place:?}"));
        }
        let mut own = Vec::new();
        if cookies {
            self.write_cookies(&mut own);
        }
        self.followed += 1;
        self.next = following(&self.sent, status, location, cookies.then_some(&own))?;
        Ok(())
    }

    /// Lends what it remembers to the filler, or takes it back.
    pub(super) fn swap(&mut self, filler: &mut Filler) {
        std::mem::swap(&mut self.values, &mut filler.taken);
    }

    /// Writes its cookies as they are sent.
    pub(super) fn write_cookies(&self, out: &mut Vec<u8>) {
        out.clear();
        for (at, (name, value)) in self.cookies.iter().enumerate() {
            out.extend_from_slice(if at == 0 { b"Cookie: " } else { b"; " });
            out.extend_from_slice(name);
            out.push(b'=');
            out.extend_from_slice(value);
        }
        if !self.cookies.is_empty() {
            out.extend_from_slice(b"\r\n");
        }
    }

    /// Keeps the cookies that an answer sets.
    pub(super) fn keep_cookies(&mut self, head: &[u8]) {
        for (name, value, gone) in field(head, "set-cookie").filter_map(cookie) {
            self.cookies.retain(|(known, _)| known != name);
            if !gone {
                self.cookies.push((name.to_vec(), value.to_vec()));
            }
        }
    }

    /// Takes values from an answer; gives what was not there.
    pub(super) fn take(&mut self, takings: &[Taking], head: &[u8], body: &[u8]) -> Option<String> {
        let wants_json = takings
            .iter()
            .any(|it| matches!(it.origin, ValueOrigin::Json(..)));
        let json: Option<Value> = wants_json
            .then(|| serde_json::from_slice(body).ok())
            .flatten();
        for taking in takings {
            match taking.take(head, body, json.as_ref()) {
                Some(found) if !found.iter().any(u8::is_ascii_control) => {
                    self.values[taking.value] = found;
                }
                found => return Some(taking.missing(found.as_deref())),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(origin: ValueOrigin, head: &str, body: &str) -> Result<String, String> {
        let take = Take {
            value: 0,
            name: "token".into(),
            origin,
        };
        let mut user = User::default();
        user.begin(0, 1);
        match user.take(&[Taking::new(&take)], head.as_bytes(), body.as_bytes()) {
            None => Ok(String::from_utf8(user.values[0].clone()).unwrap()),
            Some(why) => Err(why),
        }
    }

    #[test]
    fn values_are_taken_from_all_places() {
        let head = "HTTP/1.1 200 OK\r\nX-Token:  t1 \r\nSet-Cookie: a=1; Path=/\r\nset-cookie: sid=s 2;HttpOnly\r\n\r\n";
        let body = r#"{"user":{"token":"a\"b","n":[7]},"none":null,"two":"a\nb"}"#;
        let json = |path: &str| ValueOrigin::Json(path.replace('/', "."), path.into());
        assert_eq!(taken(json("/user/token"), head, body).unwrap(), "a\"b");
        assert_eq!(taken(json("/user/n/0"), head, body).unwrap(), "7");
        assert_eq!(
            taken(ValueOrigin::Header("x-token".into()), head, body).unwrap(),
            "t1"
        );
        assert_eq!(
            taken(ValueOrigin::Cookie("sid".into()), head, body).unwrap(),
            "s 2"
        );
        assert_eq!(
            taken(ValueOrigin::Regex(r#""n":\[(\d)"#.into()), head, body).unwrap(),
            "7"
        );
        assert_eq!(
            taken(ValueOrigin::Regex("user".into()), head, body).unwrap(),
            "user"
        );
        assert_eq!(
            taken(json("/none"), head, body).unwrap_err(),
            "no token at .none"
        );
        assert_eq!(
            taken(json("/two"), head, body).unwrap_err(),
            "token at .two has a control character"
        );
        assert!(taken(json("/x"), head, "no JSON").is_err());
        let none = taken(ValueOrigin::Cookie("b".into()), head, body).unwrap_err();
        assert_eq!(none, "no token in a cookie b");
        assert!(taken(ValueOrigin::Header("x".into()), head, body).is_err());
    }

    #[test]
    fn cookies_are_kept_replaced_and_forgotten() {
        let mut user = User::default();
        user.keep_cookies(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2; Path=/\r\n\r\n");
        user.keep_cookies(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=3\r\n\r\n");
        let mut out = Vec::new();
        user.write_cookies(&mut out);
        assert_eq!(out, b"Cookie: b=2; a=3\r\n");
        user.keep_cookies(b"HTTP/1.1 200 OK\r\nSet-Cookie: b=; Max-Age=0\r\n\r\n");
        user.write_cookies(&mut out);
        assert_eq!(out, b"Cookie: a=3\r\n");
        user.begin(0, 0);
        user.write_cookies(&mut out);
        assert_eq!(out, b"");
    }

    #[test]
    fn pauses_have_their_distribution() {
        assert_eq!(Think::None.draw(0.5), 0);
        assert_eq!(Think::Uniform(10, 10).draw(0.7), 10);
        assert_eq!(Think::Uniform(10, 20).draw(0.5), 15);
        assert_eq!(Think::Exponential(1_000).draw(1.0), 0);
        let draws = (1..=10_000).map(|n| Think::Exponential(1_000).draw(f64::from(n) / 10_000.0));
        let mean = draws.sum::<Nanos>() / 10_000;
        assert!((990..=1_000).contains(&mean), "{mean}");
    }
}
