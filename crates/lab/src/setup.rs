//! Installation of what servers need before they can be built: Debian packages for the whole machine, and packages of
//! language registries inside prony's own cache.

use crate::builder::{BuildError, Builder, tail};
use crate::catalog::Server;
use crate::manifest::on_path;
use crate::service;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// How much of a failed command's output is shown.
const SHOWN: usize = 4_000;
/// Script that Debian asks before it starts a service that it has just installed.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Installations that some servers still need.
#[derive(Debug, Default)]
pub struct Needs<'a> {
    /// Debian packages that are not installed, each once.
    pub debian: BTreeSet<String>,
    /// Packages of services that contracts need, and that are not there in any form.
    pub services: BTreeSet<&'static str>,
    /// Servers whose toolchain is not complete.
    pub unready: Vec<&'a Server>,
    /// Servers whose dependencies are to be installed, one for each set of dependencies; those that
    /// cannot be told before their toolchain is there are among them.
    pub dependencies: Vec<&'a Server>,
}

/// Size of an installation, as Debian reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes {
    /// How many packages, with those that they need themselves.
    pub packages: usize,
    /// Size of the download, as Debian writes it: `73.1 MB`.
    pub download: String,
    /// Additional disk space used afterwards, as Debian writes it; empty when Debian reports none.
    pub disk: String,
}

/// Why something could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Only root may install Debian's packages.
    #[error(
        "only root may install Debian packages, and there is no sudo; ask someone who may: apt-get install {}",
        .0.join(" ")
    )]
    NotRoot(Vec<String>),
    /// There is no `apt-get`.
    #[error("this is no Debian: install what these packages have in your system's own way: {}", .0.join(" "))]
    NotDebian(Vec<String>),
    /// A command failed.
    #[error("`{command}` failed: {status}")]
    Command {
        /// The command.
        command: String,
        /// How it ended.
        status: String,
        /// The end of what it printed.
        output: String,
    },
}

impl<'a> Needs<'a> {
    /// Needs of `servers` that are not installed here.
    ///
    /// # Errors
    /// When a server's files cannot be read.
    pub fn of(servers: &[&'a Server], builder: &Builder) -> Result<Self, BuildError> {
        let mut needs = Self::default();
        for &server in servers {
            let wanted = server.manifest.dependencies.as_ref();
            match builder.has_dependencies(server) {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) if error.is_missing() => {
                    needs.debian.extend(server.manifest.apt.iter().cloned());
                    needs.unready.push(server);
                }
                Err(error) => return Err(error),
            }
            let same = |other: &&Server| other.manifest.dependencies.as_ref() == wanted;
            if wanted.is_some() && !needs.dependencies.iter().any(same) {
                needs.dependencies.push(server);
            }
        }
        let contracts = servers.iter().flat_map(|it| &it.manifest.contracts);
        for name in contracts.flat_map(|contract| contract.services().into_keys()) {
            needs.services.extend(service::missing(&name));
        }
        (needs.debian).extend(needs.services.iter().map(|&package| package.to_owned()));
        needs.debian.retain(|package| !is_installed(package));
        Ok(needs)
    }

    /// Is everything here?
    pub fn is_empty(&self) -> bool {
        self.unready.is_empty() && self.dependencies.is_empty() && self.services.is_empty()
    }
}

/// Is this Debian package installed?
fn is_installed(package: &str) -> bool {
    let status = Command::new("dpkg-query")
        .args(["--show", "--showformat=${db:Status-Abbrev}", package])
        .stdin(Stdio::null())
        .output();
    status.is_ok_and(|output| output.stdout.starts_with(b"ii"))
}

/// Size of an installation of these Debian packages. `None` when the package lists do not know them (they may be empty
/// or old), or this is no Debian.
pub fn debian_sizes(packages: &BTreeSet<String>) -> Option<Sizes> {
    let output = Command::new("apt-get")
        // Looking needs no lock.
        .args(["-o", "Debug::NoLocking=1", "--no-install-recommends"])
        .args(["--assume-no", "install"])
        .args(packages)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    sizes(&String::from_utf8_lossy(&output.stdout))
}

fn sizes(text: &str) -> Option<Sizes> {
    let between = |from: &str, to: &str| {
        let start = text.find(from)? + from.len();
        let length = text[start..].find(to)?;
        Some(text[start..start + length].to_owned())
    };
    // "Need to get 73.1 MB of archives." or "Need to get 4,096 kB/73.1 MB of archives."
    let download = between("Need to get ", " of archives")?;
    let disk = between("After this operation, ", " of additional disk space").unwrap_or_default();
    let new = between(" upgraded, ", " newly installed")?;
    Some(Sizes {
        packages: new.trim().parse().ok()?,
        download: download
            .split_once('/')
            .map_or(download.clone(), |(left, _)| left.to_owned()),
        disk,
    })
}

/// Brings Debian's package lists up to date.
///
/// # Errors
/// As for [`install_debian`].
pub fn update_debian() -> Result<(), SetupError> {
    apt(&["update", "-qq"], &[])
}

/// Installs Debian packages; services among them are not started.
///
/// # Errors
/// Without root or sudo, on another system, or when `apt-get` fails.
pub fn install_debian(packages: &BTreeSet<String>) -> Result<(), SetupError> {
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    let policy = Policy::deny();
    let result = apt(
        &["install", "--yes", "-qq", "--no-install-recommends"],
        &packages,
    );
    drop(policy);
    result
}

/// Does this process run as root?
pub fn is_root() -> bool {
    // SAFETY: a plain system call.
    unsafe { libc::geteuid() == 0 }
}

fn apt(arguments: &[&str], packages: &[&str]) -> Result<(), SetupError> {
    let owned = || packages.iter().map(|&name| name.to_owned()).collect();
    if !on_path("apt-get") {
        return Err(SetupError::NotDebian(owned()));
    }
    let mut words = vec!["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
    if !is_root() {
        if !on_path("sudo") {
            return Err(SetupError::NotRoot(owned()));
        }
        words.insert(0, "sudo");
    }
    words.extend(arguments);
    words.extend(packages);
    run(&words)
}

/// Runs a command, whose input (sudo may ask for a password) is the user's.
fn run(words: &[&str]) -> Result<(), SetupError> {
    let failed = |status: String, output: &str| SetupError::Command {
        command: words.join(" "),
        status,
        output: tail(output, SHOWN),
    };
    match Command::new(words[0]).args(&words[1..]).output() {
        Err(error) => Err(failed(error.to_string(), "")),
        Ok(Output { status, .. }) if status.success() => Ok(()),
        Ok(Output {
            status,
            stdout,
            stderr,
        }) => {
            let text = [stdout, stderr].concat();
            Err(failed(status.to_string(), &String::from_utf8_lossy(&text)))
        }
    }
}

/// Debian starts the services that it installs, unless this file says no. While it exists, they
/// stay as they are; a file that prony did not put there is left alone.
struct Policy;

impl Policy {
    fn deny() -> Option<Self> {
        if !is_root() || Path::new(POLICY).exists() {
            return None;
        }
        let write = || -> io::Result<()> {
            fs::write(POLICY, "#!/bin/sh\nexit 101\n")?;
            fs::set_permissions(POLICY, fs::Permissions::from_mode(0o755))
        };
        write().is_ok().then_some(Self)
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        let _ = fs::remove_file(POLICY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_debian_says_is_read() {
        let text = "Reading package lists...\nThe following NEW packages will be installed:\n  a b c\n\
            0 upgraded, 3 newly installed, 0 to remove and 0 not upgraded.\n\
            Need to get 73.1 MB of archives.\n\
            After this operation, 800 MB of additional disk space will be used.\nAbort.\n";
        let expected = Sizes {
            packages: 3,
            download: "73.1 MB".into(),
            disk: "800 MB".into(),
        };
        assert_eq!(sizes(text), Some(expected));
        let partly = text.replace("get 73.1", "get 4,096 kB/73.1");
        assert_eq!(sizes(&partly).unwrap().download, "4,096 kB");
        assert_eq!(sizes("E: Unable to locate package a"), None);
    }

    #[test]
    fn an_unknown_package_is_not_installed() {
        assert!(!is_installed("no-such-package-of-prony"));
    }

    #[test]
    fn a_failed_command_says_why() {
        let error = run(&["sh", "-c", "echo this is why >&2; exit 4"]).unwrap_err();
        let SetupError::Command { status, output, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(
            (status.as_str(), output.as_str()),
            ("exit status: 4", "this is why")
        );
    }
}
