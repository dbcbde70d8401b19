//! A load as its user says it: of a server that runs already, of which nothing is learnt.

use crate::requests::verify::{RequestFile, SendMode, Tried, verify};
use crate::workload::Endpoint;
use prony_engine::Target;
use prony_engine::protocol::tls::TlsOptions;
use prony_record::inert;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// After a request that failed for longer than this the others are not tried: the server most likely says nothing at all.
const PATIENCE: Duration = Duration::from_secs(1);

/// How such a load differs from one that compares servers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AsGiven {
    /// The same seed sends the same values at the same times.
    pub seed: u64,
    /// CPUs that the generator's threads are pinned to, one each; empty: they are not pinned.
    pub cpus: Vec<usize>,
    /// Requests ask for connections that stay open.
    pub keepalive: bool,
    /// The requests of a file are tried before and after the load.
    pub verified: bool,
    /// How long the server may say nothing while they are tried.
    pub silence: Duration,
}

impl AsGiven {
    /// Proves that every request, or session, of a file is answered rightly at all: a mistake in the file is found before a
    /// load is made with it. One that is answered rightly now and then is loaded, which counts how often. Tables of rows that
    /// are sent once are left for the load.
    ///
    /// # Errors
    /// Those that are never answered rightly.
    pub fn prove(
        &self,
        file: &RequestFile,
        (target, tls): (&Target, Option<&TlsOptions>),
        endpoint: &Endpoint<'_>,
        seed: u64,
    ) -> Result<(), String> {
        if !self.verified || file.mix.tables.iter().any(|table| table.once) {
            return Ok(());
        }
        let mix = file.mix(endpoint, self.keepalive)?;
        let mut begun = Instant::now();
        let go_on = &mut |tried: &Tried| {
            let silent = tried.wrong.is_some() && begun.elapsed() > PATIENCE;
            begun = Instant::now();
            !silent
        };
        let all = verify(
            &mix,
            target,
            tls,
            seed,
            self.silence,
            &[SendMode::Whole],
            go_on,
        );
        let kinds = match mix.sessions.len() {
            0 => mix.requests.len(),
            n => n,
        };
        let failed: Vec<String> = all.iter().filter_map(never_right).collect();
        match failed.len() {
            0 => Ok(()),
            n => Err(format!(
                "{n} of {kinds} in {} got no right response:{}{}",
                file.file,
                failed.concat(),
                match kinds - all.len() {
                    0 => String::new(),
                    rest => format!("\n{rest} were not tried after that"),
                }
            )),
        }
    }
}

/// A line about a request that is never answered rightly.
fn never_right(tried: &Tried) -> Option<String> {
    let wrong = tried.wrong.as_ref().filter(|_| tried.right == 0)?;
    let wrong = inert::line(wrong);
    // A wrong answer begins with the name of its request already.
    Some(match wrong.starts_with(&format!("{}: ", tried.name)) {
        true => format!("\n{wrong}"),
        false => format!("\n{}: {wrong}", tried.name),
    })
}
