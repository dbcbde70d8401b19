//! Options for commands that run around each start of a server.

use super::timed::length;
use crate::target::is_url;
use clap::Args;
use miette::Result;
use prony_lab::side::{Side, What};
use prony_record::Span;

/// Commands around each start of a server, and how long that may take.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Starts")]
pub struct Around {
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
            ("--prepare", self.prepare.is_some()),
            ("--cleanup", self.cleanup.is_some()),
            ("--start-timeout", self.start_timeout.is_some()),
        ];
        let option = given.into_iter().find(|(_, given)| *given);
        let running = sides.iter().find(|side| is_url(side));
        match option.zip(running) {
            None => Ok(()),
            Some(((option, _), side)) => Err(usage!(
                help = "give a command line, with {{port}} where the port goes",
                "{option} is about starting a server, and {side} runs already"
            )),
        }
    }

    /// Has each of these servers started like this.
    pub fn put(&self, sides: &mut [Side]) {
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
        }
    }
}
