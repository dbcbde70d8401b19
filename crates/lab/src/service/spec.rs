//! Services as manifests, experiments and the command line specify them.

use super::{Kind, postgres};
use crate::manifest::{Fill, command};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A service that a server needs. `postgres`, `redis` and `valkey` are known by their names; any other has a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceSpec {
    /// File with its content: SQL for postgres, a command per line for redis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<PathBuf>,
    /// Content as text, instead of `seed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_text: Option<String>,
    /// Command line that starts it, with `{port}` where the port goes, and `{host}` where the address goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// How it shows that it is ready: `tcp` accepts a connection (unless said otherwise), `http:/PATH` answers with a
    /// status below 400, and anything else is a shell command that succeeds; PORT and HOST are set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// Port on which it listens; a free one unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub port: Option<u16>,
    /// Role of the server in postgres; `prony` unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Password of the role; a random one unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// Database of the server in postgres; `prony` unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// Service of the contract that is not started, because this one takes its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
}

impl ServiceSpec {
    /// The same with the content of another one, unless it has content.
    pub(crate) fn with_content_of(mut self, other: Self) -> Self {
        if self.seed.is_none() && self.seed_text.is_none() {
            (self.seed, self.seed_text) = (other.seed, other.seed_text);
        }
        self
    }

    /// Checks it under this name, and reads its file, which is seen from `folder`.
    ///
    /// # Errors
    /// The mistake, in words.
    pub fn read(mut self, name: &str, folder: &Path) -> Result<Self, String> {
        let taken =
            |name: &str| crate::manifest::fill(&format!("{{{name}}}"), &Fill::default()).is_ok();
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_lowercase()) || taken(name) {
            return Err(format!(
                "{name:?} is no name of a service: small letters, and no other placeholder's name"
            ));
        }
        let account = [&self.user, &self.password, &self.database];
        if Kind::named(name) != Kind::Postgres && account.iter().any(|it| it.is_some()) {
            return Err(format!(
                "service {name}: user, password and database are postgres's"
            ));
        }
        let unsuited = |text: &&Option<String>| {
            let text = text.as_deref().unwrap_or("prony");
            text.is_empty()
                || !text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        if account.iter().any(unsuited) || self.user.as_deref() == Some(postgres::WATCHER) {
            return Err(format!(
                "service {name}: user, password and database are letters, digits and _, and no user is called {}",
                postgres::WATCHER
            ));
        }
        match (Kind::named(name), &self.command) {
            (Kind::Command, None) => {
                return Err(format!(
                    "service {name} needs a command line that starts it; postgres, redis and valkey are known"
                ));
            }
            (Kind::Command, Some(line)) => {
                if self.seed.is_some() || self.seed_text.is_some() {
                    return Err(format!("service {name} has a command: it takes no seed"));
                }
                command(line, &Fill::default()).map_err(|error| error.to_string())?;
            }
            (_, Some(_)) => return Err(format!("{name} is started by prony: it takes no command")),
            (_, None) if self.ready.is_some() => {
                return Err(format!("{name} is known to be ready by itself"));
            }
            (_, None) => {}
        }
        if let Some(file) = self.seed.take() {
            if self.seed_text.is_some() {
                return Err(format!("service {name}: either a file or a text"));
            }
            let path = folder.join(&file);
            let text = std::fs::read_to_string(&path);
            self.seed_text = Some(text.map_err(|error| format!("{}: {error}", path.display()))?);
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, spec: ServiceSpec) -> Result<ServiceSpec, String> {
        spec.read(name, Path::new("."))
    }

    #[test]
    fn a_service_that_is_not_known_needs_a_command() {
        let plain = ServiceSpec::default;
        let by = |line: &str| ServiceSpec {
            command: Some(line.into()),
            ..ServiceSpec::default()
        };
        assert!(read("postgres", plain()).is_ok());
        assert!(read("valkey", plain()).is_ok());
        assert!(read("queue", by("./queue {port}")).is_ok());
        for (name, spec, why) in [
            ("queue", plain(), "needs a command line"),
            ("postgres", by("x"), "takes no command"),
            (
                "redis",
                ServiceSpec {
                    user: Some("u".into()),
                    ..plain()
                },
                "are postgres's",
            ),
            (
                "postgres",
                ServiceSpec {
                    password: Some("a'b".into()),
                    ..plain()
                },
                "letters, digits and _",
            ),
            ("port", by("x"), "no name of a service"),
            ("Queue", by("x"), "no name of a service"),
            ("queue", by("./queue '{port}"), "not a command line"),
            ("queue", by("./queue {prot}"), "is not a placeholder"),
        ] {
            let error = read(name, spec).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_seed_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.sql"), "select 1;").unwrap();
        let seeded = |file: &str| ServiceSpec {
            seed: Some(file.into()),
            ..ServiceSpec::default()
        };
        let spec = seeded("a.sql").read("postgres", folder.path()).unwrap();
        assert_eq!(spec.seed_text.as_deref(), Some("select 1;"));
        assert_eq!(spec.clone().read("postgres", folder.path()), Ok(spec));
        let error = seeded("b.sql").read("postgres", folder.path()).unwrap_err();
        assert!(error.contains("b.sql: No such file"), "{error}");
    }
}
