//! Machines by name, and how prony is started on them: from a file, from the command line, from Slurm.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name of the machine that prony itself runs on.
pub const LOCAL: &str = "local";

/// A machine on which prony can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSpec {
    /// Name of the host.
    pub name: String,
    /// The program that starts another one there, with its arguments; empty: this machine.
    pub launch: Vec<String>,
    /// How the other machines reach it; none: it says so itself.
    pub address: Option<IpAddr>,
    /// CPUs that prony may use there; empty: all that it is allowed.
    pub cpus: Vec<usize>,
    /// An installed prony of the same version; none: this program is copied there.
    pub prony: Option<String>,
}

/// Why hosts are not known.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct HostsError(String);

/// Name that no host has.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("there is no host {name:?}{close} ({known})")]
pub struct UnknownHost {
    /// Name that was asked for.
    pub name: String,
    /// Question whether a similar one was meant; empty where there is none.
    close: String,
    /// Names that there are, and where.
    known: String,
}

/// The hosts that are known by name.
#[derive(Debug, Clone, Default)]
pub struct Hosts {
    all: BTreeMap<String, HostSpec>,
    /// The file that has been read, if one was.
    file: Option<PathBuf>,
}

/// A table of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HostTable {
    launch: Option<String>,
    address: Option<IpAddr>,
    cpus: Option<String>,
    prony: Option<String>,
}

impl HostSpec {
    /// Returns this machine, without a launcher.
    #[must_use]
    pub fn local() -> Self {
        Self {
            name: LOCAL.to_owned(),
            launch: Vec::new(),
            address: None,
            cpus: Vec::new(),
            prony: None,
        }
    }

    fn launched(name: &str, launch: &str) -> Result<Self, HostsError> {
        let launch = launch.replace("{host}", name);
        let words = shlex::split(&launch).filter(|words| !words.is_empty());
        let launch = words.ok_or_else(|| {
            HostsError(format!(
                "host {name}: {launch:?} is not a command line such as \"ssh {name}\""
            ))
        })?;
        Ok(Self {
            name: name.to_owned(),
            launch,
            ..Self::local()
        })
    }

    /// `NAME=COMMAND LINE`, or a name alone, which ssh is to know.
    ///
    /// # Errors
    /// When it has no name or no command line.
    pub fn parse(text: &str) -> Result<Self, HostsError> {
        let (name, launch) = text.split_once('=').unwrap_or((text, "ssh {host}"));
        let name = name.trim();
        if !is_name(name) {
            return Err(HostsError(format!(
                "{text:?} names no host: expected NAME or 'NAME=COMMAND LINE', such as 'api1=ssh -p 2222 api1'; a name \
                 has letters, digits, '.', '-', '_'"
            )));
        }
        Self::launched(name, launch)
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c))
}

impl Hosts {
    /// Reads a file of hosts, a table each.
    ///
    /// # Errors
    /// When it cannot be read, or says something else.
    pub fn read(file: &Path) -> Result<Self, HostsError> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| HostsError(format!("cannot read {}: {error}", file.display())))?;
        let mut hosts = Self::of_text(&text)
            .map_err(|error| HostsError(format!("{}: {error}", file.display())))?;
        hosts.file = Some(file.to_owned());
        Ok(hosts)
    }

    fn of_text(text: &str) -> Result<Self, HostsError> {
        let tables: BTreeMap<String, HostTable> =
            toml::from_str(text).map_err(|error| HostsError(error.to_string()))?;
        let mut hosts = Self::default();
        for (name, table) in tables {
            if !is_name(&name) {
                return Err(HostsError(format!("{name:?} is no name of a host")));
            }
            let launch = table.launch.as_deref().unwrap_or("ssh {host}");
            let cpus = match &table.cpus {
                None => Vec::new(),
                Some(text) => prony_lab::placement::parse_cpus(text)
                    .map_err(|error| HostsError(format!("host {name}: {error}")))?,
            };
            hosts.add(HostSpec {
                address: table.address,
                cpus,
                prony: table.prony,
                ..HostSpec::launched(&name, launch)?
            });
        }
        Ok(hosts)
    }

    /// The nodes of the Slurm allocation that prony runs in.
    ///
    /// # Errors
    /// Outside of one, or when Slurm does not say which nodes it has.
    pub fn slurm() -> Result<Self, HostsError> {
        let nodes = std::env::var("SLURM_JOB_NODELIST").map_err(|_| {
            HostsError(
                "this is no Slurm job (SLURM_JOB_NODELIST is not set); begin with `salloc -N3` or in a \
                 script for sbatch"
                    .into(),
            )
        })?;
        let listed = Command::new("scontrol")
            .args(["show", "hostnames", &nodes])
            .output()
            .map_err(|error| HostsError(format!("cannot run scontrol: {error}")))?;
        let mut hosts = Self::default();
        for name in String::from_utf8_lossy(&listed.stdout).split_whitespace() {
            hosts.add(HostSpec::launched(name, SRUN)?);
        }
        match hosts.all.is_empty() {
            true => Err(HostsError(format!(
                "scontrol names no host in {nodes:?}: {}",
                String::from_utf8_lossy(&listed.stderr).trim()
            ))),
            false => Ok(hosts),
        }
    }

    /// Adds a host, in the place of one of the same name.
    pub fn add(&mut self, host: HostSpec) {
        self.all.insert(host.name.clone(), host);
    }

    /// All of them, by name.
    pub fn all(&self) -> impl Iterator<Item = &HostSpec> {
        self.all.values()
    }

    /// The host of this name; `local` is always there.
    ///
    /// # Errors
    /// When there is none.
    pub fn get(&self, name: &str) -> Result<HostSpec, UnknownHost> {
        if let Some(host) = self.all.get(name) {
            return Ok(host.clone());
        }
        if name == LOCAL {
            return Ok(HostSpec::local());
        }
        let close = self
            .all
            .keys()
            .map(|known| (strsim::damerau_levenshtein(known, name), known))
            .min()
            .filter(|(distance, _)| *distance <= 2)
            .map_or_else(String::new, |(_, known)| format!("; is it {known}?"));
        let known: Vec<&str> = self.all.keys().map(String::as_str).collect();
        let known = match (known.as_slice(), &self.file) {
            ([], _) => "none is known".to_owned(),
            (known, None) => format!("known are {}", known.join(", ")),
            (known, Some(file)) => format!("{} has {}", file.display(), known.join(", ")),
        };
        Err(UnknownHost {
            name: name.to_owned(),
            close,
            known,
        })
    }
}

/// A step of the job on one of its nodes, beside others: what it writes comes at once.
const SRUN: &str = "srun --overlap --unbuffered --quiet -N1 -n1 -w {host}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_table_for_each() {
        let hosts = Hosts::of_text(
            "[api1]\n[gen]\nlaunch = 'kubectl exec -i pod/{host} --'\naddress = '10.0.0.7'\ncpus = '0-2'\n",
        )
        .unwrap();
        let names: Vec<_> = hosts.all().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["api1", "gen"]);
        assert_eq!(hosts.get("api1").unwrap().launch, ["ssh", "api1"]);
        let generator = hosts.get("gen").unwrap();
        assert_eq!(generator.launch, ["kubectl", "exec", "-i", "pod/gen", "--"]);
        assert_eq!(generator.address, Some("10.0.0.7".parse().unwrap()));
        assert_eq!(generator.cpus, [0, 1, 2]);
    }

    #[test]
    fn mistakes_say_where_they_are() {
        let error = Hosts::of_text("[api1]\nlaunh = 'ssh api1'\n").unwrap_err();
        assert!(
            error.0.contains("launh") && error.0.contains("line 2"),
            "{error}"
        );
        let error = Hosts::of_text("[api1]\nlaunch = \"ssh 'api1\"\n").unwrap_err();
        assert!(error.0.contains("host api1"), "{error}");
    }

    #[test]
    fn the_command_line_has_names_and_commands() {
        let host = HostSpec::parse("h1=ssh -F 'my config' {host}").unwrap();
        assert_eq!((host.name.as_str(), host.launch.len()), ("h1", 4));
        assert_eq!(HostSpec::parse("api1").unwrap().launch, ["ssh", "api1"]);
        for text in ["", "=ssh x", "a b", "h1=", "-oProxyCommand=x"] {
            assert!(HostSpec::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_unknown_host_is_told_what_there_is() {
        let mut hosts = Hosts::default();
        hosts.add(HostSpec::parse("api1").unwrap());
        let error = hosts.get("api2").unwrap_err();
        let text = "there is no host \"api2\"; is it api1? (known are api1)";
        assert_eq!(error.to_string(), text);
        assert_eq!(hosts.get("local").unwrap(), HostSpec::local());
    }
}
