//! `server.toml`: what a server is, how it is built and how it is started.

mod services;

use crate::container::ImageBuild;
use crate::contract::Contract;
use crate::contract::parts::Parts;
use crate::service::ServiceSpecs;
use crate::source::{Mistake, Source};
use prony_record::load::Protocol;
use prony_record::{Span, inert};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a server may be idle before it answers, unless its manifest says otherwise.
const START_TIMEOUT: Duration = Duration::from_secs(10);

fn only_plain() -> Vec<Protocol> {
    vec![Protocol::Plain]
}

/// A server of the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// One line that says what it is.
    #[serde(deserialize_with = "inert::read_line")]
    pub title: String,
    /// The language it is written in.
    #[serde(deserialize_with = "inert::read_line")]
    pub language: String,
    /// Contracts that the server can keep; at least one.
    pub contracts: Vec<Contract>,
    /// HTTP variants that the server speaks, for contracts of HTTP; only `plain` (HTTP/1.1 without TLS) unless said
    /// otherwise.
    #[serde(default = "only_plain")]
    pub speaks: Vec<Protocol>,
    /// Parts of its contract that it keeps, each with the beginning of its requests' targets there, such as
    /// `queries = "/dbs?queries="`. Absent: all parts, where the contract has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parts>,
    /// Concurrency model, in a few words.
    #[serde(deserialize_with = "inert::read_line")]
    pub model: String,
    /// Another server of the catalog whose files are built instead of its own: the same program
    /// with another interpreter, or built in another way.
    #[serde(default)]
    pub source: Option<String>,
    /// Programs that must be on the PATH to build and run it.
    #[serde(default)]
    pub toolchain: Vec<String>,
    /// Debian packages that have those programs and the libraries it needs.
    #[serde(default)]
    pub apt: Vec<String>,
    /// A shell command whose first line of output is the version of its runtime or compiler and
    /// of Debian's libraries. When it fails, the toolchain counts as missing.
    #[serde(default)]
    pub version: Option<String>,
    /// Dependencies from the registry of the server's language. Absent: it needs none.
    #[serde(default)]
    pub dependencies: Option<Dependencies>,
    /// A shell command that builds it, run in a copy of its folder, without the network.
    #[serde(default)]
    pub build: Option<String>,
    /// A shell command that is run before each start, in the folder and with the variables of the server.
    #[serde(default)]
    pub prepare: Option<String>,
    /// Container image that is built of its folder, and in which it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageBuild>,
    /// Port on which it always listens, if it cannot be told another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub port: Option<u16>,
    /// The command line that starts it, split as a shell would; no shell runs it. With an image, it runs in the container;
    /// empty: what the image says.
    pub run: String,
    /// A shell command that is run after each end, in the same way.
    #[serde(default)]
    pub cleanup: Option<String>,
    /// Environment variables it is started with.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Additions when `--why` samples the server's stacks.
    #[serde(default)]
    pub profile: Profile,
    /// How many workers it can have. Absent: its model has exactly one.
    #[serde(default)]
    pub workers: Option<Workers>,
    /// How long it may be idle before it answers, 10 s unless said otherwise; in all it may take ten times as
    /// long.
    #[serde(default)]
    pub start_timeout: Option<Span>,
    /// Services that it is started with, in addition to those of its contract.
    #[serde(default, skip_serializing_if = "ServiceSpecs::is_empty")]
    pub services: ServiceSpecs,
    /// Steps of the verification that its stack cannot pass, each with the reason. A check proves
    /// that it is still so, and reports name it.
    #[serde(default)]
    pub expected_failures: BTreeMap<String, String>,
}

/// Settings that make a server name its functions, when its stacks are sampled. Their cost is measured and reported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Environment variables; a variable that the server has anyway gets this appended, after a space.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// Dependencies from the registry of a server's language. Servers with the same dependencies share them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dependencies {
    /// The registry, as people call it: PyPI, npm, crates.io, Maven Central.
    pub from: String,
    /// The packages, with their versions pinned; what they need themselves is not listed.
    pub packages: Vec<String>,
    /// About how much is downloaded, all in all.
    pub download: String,
    /// Files and folders of the server's folder that `install` reads.
    #[serde(default)]
    pub files: Vec<String>,
    /// A shell command that installs them into `{deps}`, run in a folder with nothing but `files`.
    /// `{packages}` stands for the packages, each quoted.
    pub install: String,
}

/// The range of a server's number of workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workers {
    /// The least, at least 1.
    #[schemars(range(min = 1))]
    pub min: u32,
    /// The most; absent: any number.
    #[serde(default)]
    pub max: Option<u32>,
}

/// Values for the placeholders of a manifest.
#[derive(Debug, Clone, Default)]
pub struct Fill {
    /// `{build}`: where the build's output lies.
    pub build: String,
    /// `{src}`: a copy of the server's folder.
    pub src: String,
    /// `{host}`: the IP address to listen on, without brackets.
    pub host: String,
    /// `{port}`.
    pub port: u16,
    /// `{workers}`.
    pub workers: u32,
    /// `{cpus}`: the CPUs that it may use, as a list such as `0,1`.
    pub cpus: String,
    /// `{contract}`.
    pub contract: String,
    /// `{over}`: what HTTP is to be spoken over, `plain`, `tls`, `h2c` or `h2`.
    pub over: String,
    /// `{cert}`: over TLS, the file of its certificate, as PEM.
    pub cert: String,
    /// `{key}`: over TLS, the file of the certificate's key, as PEM (PKCS #8).
    pub key: String,
    /// `{prony}`: this program.
    pub prony: String,
    /// `{docroot}`: the folder to be served, for static-file and weather-upstream.
    pub docroot: String,
    /// `{upstream}`: host and port of the upstream, for weather.
    pub upstream: String,
    /// `{deps}`: where its dependencies lie.
    pub deps: String,
    /// `{cache}`: what all servers share, such as a local repository of packages.
    pub cache: String,
    /// `{packages}`: its dependencies, each quoted for a shell.
    pub packages: String,
    /// `{postgres}`, `{redis}` and others: the URL of each service, or its host and port.
    pub services: BTreeMap<String, String>,
}

/// A command line that cannot be split or filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// A quote is open at the end, or nothing is there.
    #[error("{0:?} is not a command line: a quote is not closed, or it is empty")]
    Split(String),
    /// An unknown placeholder.
    #[error(
        "{{{0}}} is not a placeholder: there are {{build}}, {{src}}, {{deps}}, {{cache}}, {{packages}}, {{host}}, {{port}}, {{workers}}, {{cpus}}, {{contract}}, {{over}}, {{cert}}, {{key}}, {{docroot}}, {{upstream}}, {{prony}}, and the name of each service"
    )]
    Placeholder(String),
}

/// Where a key, or its table's heading, stands in a file: at the beginning of a line. The same word may stand elsewhere.
fn key_at(text: &str, key: &str) -> std::ops::Range<usize> {
    let mut line_start = 0;
    for line in text.split_inclusive('\n') {
        let name = line.trim_start_matches([' ', '\t', '[']);
        let after = name.strip_prefix(key).and_then(|rest| rest.chars().next());
        if after.is_some_and(|c| matches!(c, ' ' | '\t' | '=' | ']' | '.')) {
            let start = line_start + line.len() - name.len();
            return start..start + key.len();
        }
        line_start += line.len();
    }
    0..text.len().min(1)
}

impl Manifest {
    /// Reads and checks a manifest.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn parse(source: &Source) -> Result<Self, Mistake> {
        let this: Self = source.parse()?;
        let at = |needle: &str| {
            let start = source.text().find(needle).unwrap_or(0);
            start..start + needle.len()
        };
        let wrong_at = |place, label: String| {
            Err(source.mistake(place, "the server's manifest is not right", label, None))
        };
        let wrong = |text: &str, label: String| wrong_at(at(text), label);
        let wrong_key = |key: &str, label: String| wrong_at(key_at(source.text(), key), label);
        if this.contracts.is_empty() {
            return wrong_key("contracts", "at least one contract is needed".into());
        }
        if let Some(workers) = this.workers
            && (workers.min == 0 || workers.max.is_some_and(|max| max < workers.min))
        {
            return wrong_key(
                "workers",
                "min must be at least 1, and max at least min".into(),
            );
        }
        let with = Fill {
            services: this.known_services(),
            ..Fill::default()
        };
        let by_image = this.image.is_some() && this.run.is_empty();
        if let (false, Err(error)) = (by_image, command(&this.run, &with)) {
            return wrong_key("run", error.to_string());
        }
        let install = this.dependencies.as_ref().map(|wanted| &wanted.install);
        let env = this.env.values().chain(this.profile.env.values());
        for text in this.build.iter().chain(install).chain(env) {
            if let Err(error) = fill(text, &with) {
                return wrong(text, error.to_string());
            }
        }
        if this.speaks.is_empty() {
            return wrong_key(
                "speaks",
                "at least one of plain, tls, h2c and h2 is needed".into(),
            );
        }
        let http = this.contracts.iter().any(|contract| contract.is_http());
        if !http && this.speaks != only_plain() {
            return wrong_key(
                "speaks",
                "this is for contracts of HTTP, and it keeps none of them".into(),
            );
        }
        for (part, path) in this.parts.iter().flatten() {
            let parts = || this.contracts.iter().flat_map(|contract| contract.parts());
            if parts().all(|known| known.name != part) {
                let list: Vec<&str> = parts().map(|known| known.name).collect();
                let label = match list.as_slice() {
                    [] => "its contracts have no parts".to_owned(),
                    list => format!("no part of its contract; they are {}", list.join(", ")),
                };
                return wrong_key("parts", format!("{part}: {label}"));
            }
            if !is_target(path) {
                let label = "a path is expected, from its / on and without spaces";
                return wrong_key("parts", format!("{part}: {label}"));
            }
        }
        let steps = || {
            let of = |contract: &Contract| contract.steps(&this.speaks);
            this.contracts.iter().flat_map(of)
        };
        if let Some(unknown) = this
            .expected_failures
            .keys()
            .find(|name| steps().all(|step| step != *name))
        {
            let list = steps().collect::<Vec<_>>().join(", ");
            return wrong(
                unknown,
                format!("no step of its verification; they are {list}"),
            );
        }
        Ok(this)
    }

    /// HTTP variants that the server speaks under this contract; only `plain` for a contract that is not of HTTP.
    pub fn speaks(&self, contract: Contract) -> &[Protocol] {
        match contract.is_http() {
            true => &self.speaks,
            false => &[Protocol::Plain],
        }
    }

    /// How long it may be idle before it answers.
    pub fn start_timeout(&self) -> Duration {
        self.start_timeout.map_or(START_TIMEOUT, |span| span.0)
    }

    /// Can it have this number of workers?
    pub fn allows(&self, workers: u32) -> bool {
        match self.workers {
            None => workers == 1,
            Some(range) => workers >= range.min && range.max.is_none_or(|max| workers <= max),
        }
    }

    /// Number of workers when the user asks for none: the fewest that the server can have.
    pub fn default_workers(&self) -> u32 {
        self.workers.map_or(1, |range| range.min)
    }

    /// The programs of its toolchain that are not on the PATH.
    pub fn missing(&self) -> Vec<&str> {
        self.toolchain
            .iter()
            .map(String::as_str)
            .filter(|program| !on_path(program))
            .collect()
    }
}

/// Can requests begin with it: a path, perhaps with a query?
pub(crate) fn is_target(text: &str) -> bool {
    let unfit = |c: char| c.is_whitespace() || c.is_control();
    text.starts_with('/') && !text.contains(unfit)
}

/// Is there a program of this name in a folder of the PATH?
pub fn on_path(program: &str) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let runs = |path: &std::path::Path| {
        path.metadata()
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| runs(&dir.join(program))))
}

/// Puts values in the place of `{placeholders}`.
///
/// # Errors
/// When a placeholder is not known. Other braces (as in shell and awk) are left alone.
pub fn fill(text: &str, with: &Fill) -> Result<String, CommandError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        let inner = &rest[open + 1..];
        let word = inner
            .split(|c: char| !c.is_ascii_lowercase())
            .next()
            .unwrap_or("");
        // `${name}` is the shell's own, and braces around anything but a word are no placeholder.
        let placeholder =
            !word.is_empty() && inner[word.len()..].starts_with('}') && !out.ends_with('$');
        if !placeholder {
            out.push('{');
            rest = inner;
            continue;
        }
        match word {
            "build" => out.push_str(&with.build),
            "src" => out.push_str(&with.src),
            "host" => out.push_str(&with.host),
            "port" => out.push_str(&with.port.to_string()),
            "workers" => out.push_str(&with.workers.to_string()),
            "cpus" => out.push_str(&with.cpus),
            "contract" => out.push_str(&with.contract),
            "over" => out.push_str(&with.over),
            "cert" => out.push_str(&with.cert),
            "key" => out.push_str(&with.key),
            "prony" => out.push_str(&with.prony),
            "docroot" => out.push_str(&with.docroot),
            "upstream" => out.push_str(&with.upstream),
            "deps" => out.push_str(&with.deps),
            "cache" => out.push_str(&with.cache),
            "packages" => out.push_str(&with.packages),
            _ => match with.services.get(word) {
                Some(value) => out.push_str(value),
                None => return Err(CommandError::Placeholder(word.to_owned())),
            },
        }
        rest = &inner[word.len() + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// Splits a command line as a shell would and fills in each word, so that a value with a space
/// in it stays one word.
///
/// # Errors
/// When it is empty, a quote stays open, or a placeholder is not known.
pub fn command(line: &str, with: &Fill) -> Result<Vec<String>, CommandError> {
    let words = shlex::split(line)
        .filter(|words| !words.is_empty())
        .ok_or_else(|| CommandError::Split(line.to_owned()))?;
    words.iter().map(|word| fill(word, with)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
title = "T"
language = "C"
contracts = ["tcp-echo"]
model = "m"
build = "cc -o {build}/x x.c"
run = "{build}/x {host} '{port}' --workers={workers}"
workers = { min = 1, max = 4 }
start_timeout = "30s"
"#;

    fn parse(text: &str) -> Result<Manifest, String> {
        Manifest::parse(&Source::new("server.toml", text)).map_err(|mistake| {
            let mut out = String::new();
            miette::NarratableReportHandler::new()
                .render_report(&mut out, &mistake)
                .unwrap();
            out
        })
    }

    #[test]
    fn a_manifest_and_its_command_line() {
        let manifest = parse(GOOD).unwrap();
        let with = Fill {
            build: "/b c".into(),
            host: "127.0.0.7".into(),
            port: 5000,
            workers: 2,
            ..Fill::default()
        };
        assert_eq!(
            command(&manifest.run, &with).unwrap(),
            ["/b c/x", "127.0.0.7", "5000", "--workers=2"]
        );
        assert!(manifest.allows(4) && !manifest.allows(5) && !manifest.allows(0));
        assert_eq!(manifest.start_timeout(), Duration::from_secs(30));
    }

    #[test]
    fn a_key_is_found_where_it_is_set() {
        let text = "title = 'x'\nrun = 'x --workers={workers}'\n[workers]\nmin = 0\n";
        assert_eq!(&text[key_at(text, "workers")], "workers");
        assert_eq!(
            key_at(text, "workers").start,
            text.find("[workers]").unwrap() + 1
        );
        assert_eq!(key_at(text, "run"), 12..15);
        assert_eq!(key_at(text, "min").start, text.find("min").unwrap());
        assert_eq!(key_at("", "run"), 0..0);
    }

    #[test]
    fn mistakes_are_shown_in_their_place() {
        for (from, to, line, said) in [
            (
                "model = \"m\"",
                "modle = \"m\"",
                "line 5",
                "unknown field `modle`",
            ),
            (
                "[\"tcp-echo\"]",
                "[\"tcp-eco\"]",
                "line 4",
                "unknown variant `tcp-eco`",
            ),
            ("[\"tcp-echo\"]", "[]", "line 4", "at least one contract"),
            ("min = 1", "min = 0", "line 8", "min must be at least 1"),
            ("{port}", "{prot}", "line 7", "{prot} is not a placeholder"),
            (
                "start_timeout = \"30s\"",
                "expected_failures = { half-closed = \"why\" }",
                "line 9",
                "no step of its verification; they are first-message,",
            ),
            (
                "start_timeout = \"30s\"",
                "parts = { json = \"/j\" }",
                "line 9",
                "its contracts have no parts",
            ),
            ("'{port}'", "'{port}", "line 7", "a quote is not closed"),
            ("30s", "30 parsecs", "line 9", "is not a duration"),
        ] {
            let error = parse(&GOOD.replace(from, to)).unwrap_err();
            assert!(error.contains(said), "{from} → {to}: {error}");
            assert!(error.contains(line), "{from} → {to}: {error}");
        }
    }

    #[test]
    fn braces_that_are_no_placeholder_are_left_alone() {
        let with = Fill {
            port: 7,
            ..Fill::default()
        };
        assert_eq!(
            fill("awk '{ print $1 }' ${HOME} {port} {}", &with).unwrap(),
            "awk '{ print $1 }' ${HOME} 7 {}"
        );
    }
}
