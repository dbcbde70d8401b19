//! Parts of contracts: tests that a server may lack, or have at paths other than the contract's.

use super::{Contract, Inspection, Visit};
use prony_engine::protocol::Mix;
use prony_engine::protocol::mix::{MixRequest, Piece};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Parts of its contract that a server keeps, each with the beginning of its requests there.
pub type Parts = BTreeMap<String, String>;

/// A part of a contract.
#[derive(Debug)]
pub struct Part {
    /// Name in manifests.
    pub name: &'static str,
    /// Beginning of its requests' targets; a value follows it, or nothing.
    pub path: &'static str,
    /// The requests accept compressed responses; those of another part with the same path do not.
    pub compressed: bool,
    /// The server needs its database for it.
    pub database: bool,
    /// Steps of the verification that are about this part, and perhaps about others.
    pub(super) steps: &'static [&'static str],
}

/// Parts of a contract that a server keeps, and where they are.
#[derive(Debug, Clone, Copy)]
pub struct Routes<'a> {
    contract: Contract,
    kept: &'a Parts,
}

impl<'a> Routes<'a> {
    /// Routes to a server that keeps only these parts of a contract.
    #[must_use]
    pub const fn new(contract: Contract, kept: &'a Parts) -> Self {
        Self { contract, kept }
    }

    /// Does the server keep this part?
    pub(super) fn keeps(&self, part: &str) -> bool {
        self.kept.contains_key(part)
    }

    /// Is this step only about parts that the server lacks?
    #[must_use]
    pub fn lacks(&self, step: &str) -> bool {
        let parts = self.contract.parts().iter();
        let mut about = parts.filter(|part| part.steps.contains(&step)).peekable();
        about.peek().is_some() && about.all(|part| !self.keeps(part.name))
    }

    /// The server's own target for one of the contract.
    #[must_use]
    pub fn target<'t>(&self, target: &'t str) -> Cow<'t, str> {
        for part in self.contract.parts() {
            let Some(own) = self.kept.get(part.name) else {
                continue;
            };
            let without_value = part.path.split('?').next();
            let rest = match target.strip_prefix(part.path) {
                Some(rest) => rest,
                None if without_value == Some(target) => "",
                None => continue,
            };
            return Cow::Owned(format!("{own}{rest}"));
        }
        Cow::Borrowed(target)
    }

    /// Replaces the targets of a file's requests with the server's own.
    #[must_use]
    pub fn mix(&self, mut mix: Mix) -> Mix {
        for request in &mut mix.requests {
            let mut pieces = request.path.iter_mut();
            if let Some(Piece::Text(text)) = pieces.find(|piece| !is_empty(piece))
                && let Ok(target) = std::str::from_utf8(text)
            {
                *text = self.target(target).into_owned().into_bytes();
            }
        }
        mix
    }
}

/// A text without characters: the prefix of paths that a file does not have.
fn is_empty(piece: &Piece) -> bool {
    matches!(piece, Piece::Text(text) if text.is_empty())
}

impl Contract {
    /// The part with this request; none: the contract has no parts, or the request belongs to none.
    fn part_of(self, request: &MixRequest) -> Option<&'static Part> {
        let mut pieces = request.path.iter();
        let Some(Piece::Text(start)) = pieces.find(|piece| !is_empty(piece)) else {
            return None;
        };
        let accepts = |(name, _): &(String, _)| name.eq_ignore_ascii_case("accept-encoding");
        let compressed = request.headers.iter().any(accepts);
        let mut at = self
            .parts()
            .iter()
            .filter(|part| start.starts_with(part.path.as_bytes()));
        let first = at.clone().next();
        at.find(|part| part.compressed == compressed).or(first)
    }

    /// Parts that requests need; without requests that of the contract's own load.
    #[must_use]
    pub fn parts_of(self, requests: Option<&Mix>) -> Vec<&'static Part> {
        let own = match self {
            Self::Techempower => "plaintext",
            _ => "pipeline",
        };
        match requests {
            Some(mix) => mix
                .requests
                .iter()
                .filter_map(|it| self.part_of(it))
                .collect(),
            None => self
                .parts()
                .iter()
                .filter(|part| part.name == own)
                .collect(),
        }
    }
}

impl<'a> Inspection<'a> {
    /// With a server that keeps only some parts of the contract.
    #[must_use]
    pub const fn keeping(mut self, routes: Option<Routes<'a>>) -> Self {
        self.routes = routes;
        self
    }
}

impl Visit<'_> {
    /// The server's own target for one of the contract.
    pub(super) fn target(&self, target: &str) -> String {
        match self.routes {
            Some(routes) => routes.target(target).into_owned(),
            None => target.to_owned(),
        }
    }

    /// Does the server keep this part of the contract?
    pub(super) fn keeps(&self, part: &str) -> bool {
        self.routes.is_none_or(|routes| routes.keeps(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_engine::protocol::mix::text;
    use prony_record::load::Protocol;

    fn kept(parts: &[(&str, &str)]) -> Parts {
        let owned = |(name, path): &(&str, &str)| ((*name).to_owned(), (*path).to_owned());
        parts.iter().map(owned).collect()
    }

    #[test]
    fn targets_are_those_of_the_server() {
        let kept = kept(&[("queries", "/dbs/"), ("db", "/one?x=1"), ("fortunes", "/f")]);
        let routes = Routes::new(Contract::Techempower, &kept);
        for (from, to) in [
            ("/queries?queries=20", "/dbs/20"),
            ("/queries?queries=", "/dbs/"),
            ("/queries", "/dbs/"),
            ("/db", "/one?x=1"),
            ("/fortunes", "/f"),
            ("/json", "/json"),
        ] {
            assert_eq!(routes.target(from), to, "{from}");
        }
    }

    #[test]
    fn a_step_goes_with_the_last_of_its_parts() {
        let kept = kept(&[("db", "/db")]);
        let routes = Routes::new(Contract::Techempower, &kept);
        for (step, lacks) in [
            ("json", true),
            ("plaintext-pipelined", true),
            ("queries-counted", true),
            ("rows-now", false),
            ("db-counted", false),
            ("keep-alive", false),
            ("date-advances", false),
        ] {
            assert_eq!(routes.lacks(step), lacks, "{step}");
        }
    }

    #[test]
    fn every_step_of_a_part_is_one_of_the_contract() {
        for contract in Contract::ALL {
            let steps: Vec<_> = contract.steps(&[Protocol::Plain]).collect();
            for part in contract.parts() {
                for step in part.steps {
                    assert!(steps.contains(step), "{contract}: {step}");
                }
            }
        }
    }

    #[test]
    fn compression_is_a_part_where_a_path_has_both() {
        let request = |headers: Vec<(String, Vec<Piece>)>| MixRequest {
            name: "json".into(),
            method: "GET".into(),
            path: vec![text(""), text("/json/5?m=")],
            host: String::new(),
            headers,
            cookies: false,
            body: Vec::new(),
            keepalive: true,
            weight: 1,
            expected: prony_engine::protocol::mix::Expected::default(),
            stream: None,
        };
        let field = vec![("accept-encoding".to_owned(), Vec::new())];
        let name = |headers| Contract::Arena.part_of(&request(headers)).map(|it| it.name);
        assert_eq!(name(Vec::new()), Some("json"));
        assert_eq!(name(field), Some("json-compressed"));
    }
}
