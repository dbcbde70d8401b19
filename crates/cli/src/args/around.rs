//! Options for the services that a server is started with, and for commands before its start and after its end.

use super::timed::length;
use crate::target::is_url;
use clap::Args;
use miette::Result;
use prony_lab::manifest::{Fill, command};
use prony_lab::service::{ServiceSpec, ServiceSpecs};
use prony_lab::side::{Side, What};
use prony_record::Span;
use std::path::Path;

/// Services and commands around each start of a server, and how long that may take.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Starts")]
pub struct Around {
    /// Start every server with this service
    ///
    /// `postgres`, `redis` or `valkey` with `=FILE` for its content (SQL, or commands of Redis), or `NAME=COMMAND` with
    /// {port} in the command. Each start has a fresh one. Its URL, or its host and port, is {NAME} in the server's
    /// command line, and the variable NAME_URL, also DATABASE_URL for postgres. May be repeated.
    #[arg(long, value_name = "NAME[=…]")]
    pub service: Vec<String>,
    /// How a service of NAME=COMMAND shows that it is ready [default: tcp]
    ///
    /// `tcp`: it accepts a connection. `http:/PATH`: it answers with a status below 400. Otherwise a shell command, with
    /// PORT and HOST set, that succeeds. With several such services: NAME=HOW, repeated.
    #[arg(long, value_name = "HOW", requires = "service")]
    pub ready: Vec<String>,
    /// Run this shell command before each start of a server
    ///
    /// It runs where the server is started, with the variables PORT, HOST and PRONY_SIDE (the side's name): to fill a
    /// database anew, or to empty a cache. If it fails, so does the start.
    #[arg(long, value_name = "COMMAND")]
    pub prepare: Option<String>,
    /// Run this shell command after each server has ended
    ///
    /// Also when the start, or what came after it, has failed. If it fails itself, that is a warning.
    #[arg(long, value_name = "COMMAND")]
    pub cleanup: Option<String>,
    /// Wait this long for a server to start [default: 10s]
    ///
    /// For as long as it seems idle; one that works on something may take ten times as long.
    #[arg(long, value_name = "TIME", value_parser = length)]
    pub start_timeout: Option<Span>,
}

impl Around {
    /// Can these servers be started like this?
    ///
    /// # Errors
    /// When one of them already runs, so that nothing is started.
    pub fn fit(&self, sides: &[String]) -> Result<()> {
        let given = [
            ("--service", !self.service.is_empty()),
            ("--prepare", self.prepare.is_some()),
            ("--cleanup", self.cleanup.is_some()),
            ("--start-timeout", self.start_timeout.is_some()),
        ];
        starts_all(&given, sides)
    }

    /// The services, with the content of their files.
    ///
    /// # Errors
    /// When one is not known, twice there, or has a file that cannot be read.
    fn services(&self) -> Result<ServiceSpecs> {
        let mut all = ServiceSpecs::new();
        for text in &self.service {
            let (name, value) = match text.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (text.as_str(), None),
            };
            let known = ["postgres", "redis", "valkey"].contains(&name);
            let spec = ServiceSpec {
                seed: value.filter(|_| known).map(Into::into),
                command: value.filter(|_| !known).map(Into::into),
                ..ServiceSpec::default()
            };
            if all.insert(name.to_owned(), spec).is_some() {
                return Err(usage!(
                    "--service {text}: there is another service of this name"
                ));
            }
        }
        let mut by_command: Vec<_> = all
            .iter_mut()
            .filter(|(_, it)| it.command.is_some())
            .collect();
        for text in &self.ready {
            let named = text.split_once('=').and_then(|(name, how)| {
                let at = by_command.iter().position(|(it, _)| *it == name)?;
                Some((at, how))
            });
            let (at, how) = match (named, by_command.len()) {
                (Some(named), _) => named,
                (None, 1) => (0, text.as_str()),
                (None, _) => {
                    return Err(usage!(
                        help = "--ready NAME=HOW, with the name of a --service NAME=COMMAND",
                        "--ready {text}: of which service?"
                    ));
                }
            };
            by_command[at].1.ready = Some(how.to_owned());
        }
        let read = |(name, spec): (String, ServiceSpec)| {
            let help =
                "--service postgres=schema.sql, --service redis, --service queue='./queue {port}'";
            let spec = spec.read(&name, Path::new(""));
            let spec = spec.map_err(|why| usage!(help = help, "--service: {why}"))?;
            Ok((name, spec))
        };
        all.into_iter().map(read).collect()
    }

    /// Has each of these servers started like this.
    ///
    /// # Errors
    /// When a service is not right, or a command line names none of them.
    pub fn put(&self, sides: &mut [Side]) -> Result<()> {
        let services = self.services()?;
        for side in sides {
            let What::Started { server, .. } = &mut side.what else {
                continue;
            };
            let manifest = &mut server.manifest;
            if self.prepare.is_some() || self.cleanup.is_some() {
                let name = side.name.clone();
                manifest.env.insert("PRONY_SIDE".into(), name);
            }
            manifest.prepare = self.prepare.clone().or(manifest.prepare.take());
            manifest.cleanup = self.cleanup.clone().or(manifest.cleanup.take());
            manifest.start_timeout = self.start_timeout.or(manifest.start_timeout);
            manifest.services.extend(services.clone());
            let with = Fill {
                services: manifest.known_services(),
                ..Fill::default()
            };
            command(&manifest.run, &with).map_err(|error| usage!("{}: {error}", side.name))?;
        }
        Ok(())
    }
}

/// Does prony start all of these servers, as an option that is given (true) needs?
///
/// # Errors
/// When one of them already runs, so that nothing is started.
pub fn starts_all(options: &[(&str, bool)], sides: &[String]) -> Result<()> {
    let option = options.iter().find(|(_, given)| *given);
    let running = sides.iter().find(|side| is_url(side));
    match option.zip(running) {
        None => Ok(()),
        Some(((option, _), side)) => Err(usage!(
            help = "give a command line, with {{port}} where the port goes",
            "{option} is about starting a server, and {side} runs already"
        )),
    }
}
