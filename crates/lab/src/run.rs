//! Runs: every server of an experiment under every load, round after round.

use crate::builder::{BuildError, Built};
use crate::contract::{Contract, Depth};
use crate::event::{Event, Journal, JournalError, Observer};
use crate::experiment::{Cell, Entrant, Experiment};
use crate::generator::Generator;
use crate::host::Host;
use crate::recording::{Slot, Whole, findings};
use crate::side::{Ask, Candidate, Role, Side, What};
use crate::trial::{Lab, Progress};
use jiff::Timestamp;
use prony_record::{Failure, Load, Recording, Step, TrialStatus};
use std::collections::HashSet;
use std::sync::Arc;

/// A run of an experiment.
#[derive(Debug)]
pub struct Run<'a, H, G> {
    /// With what it is measured.
    pub lab: Lab<'a, H, G>,
    /// What is run.
    pub experiment: &'a Experiment,
    /// Of the trials' order.
    pub seed: u64,
}

/// What can end a run before its time.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The upstream of all gateways cannot be built.
    #[error("the upstream {server}: {error}")]
    Upstream {
        /// Its name.
        server: String,
        /// Why not.
        error: BuildError,
    },
    /// What was measured could not be kept.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// A run under way.
struct Session<'a, 'o, H, G> {
    run: &'a Run<'a, H, G>,
    journal: &'a mut dyn Journal,
    observer: Observer<'o>,
    ordinal: u32,
    upstream: Option<Built>,
}

impl<H: Host, G: Generator> Run<'_, H, G> {
    /// Builds every server, and carries out every trial in a fresh random order for each round, until
    /// all are done or the user interrupts it. A server that cannot be built, or fails, is recorded as
    /// such, and the run goes on.
    ///
    /// # Errors
    /// When the upstream of all cannot be built, or what was measured cannot be kept.
    pub fn carry_out(
        &self,
        journal: &mut dyn Journal,
        observer: Observer<'_>,
    ) -> Result<(), RunError> {
        let mut session = Session {
            run: self,
            journal,
            observer,
            ordinal: 0,
            upstream: None,
        };
        if let Some(server) = &self.experiment.upstream {
            let built = self.lab.host.build(server);
            session.upstream = Some(built.map_err(|error| RunError::Upstream {
                server: server.name.clone(),
                error,
            })?);
        }
        let built = session.build()?;
        // A server that breaks its contract breaks it again: one trial tells that.
        let mut out: HashSet<Cell> = HashSet::new();
        for (round, cell) in self.experiment.plan(self.seed) {
            if self.lab.interrupt.fired() {
                break;
            }
            let Some(built) = &built[cell.entrant] else {
                continue;
            };
            if out.contains(&cell) {
                (session.observer)(Event::LeftOut);
                continue;
            }
            if let Some(Step::Verify) = session.trial(round, cell, built)? {
                out.insert(cell);
            }
        }
        Ok(())
    }
}

impl<H: Host, G: Generator> Session<'_, '_, H, G> {
    /// Builds every server; those that cannot be built are recorded and left out.
    fn build(&mut self) -> Result<Vec<Option<Built>>, JournalError> {
        let mut all = Vec::new();
        let experiment = self.run.experiment;
        for (index, entrant) in experiment.entrants.iter().enumerate() {
            if self.run.lab.interrupt.fired() {
                all.push(None);
                continue;
            }
            (self.observer)(Event::Building(&entrant.server.name));
            match self.run.lab.host.build(&entrant.server) {
                Ok(built) => all.push(Some(built)),
                Err(error) => {
                    // A server that is not set up takes no part, which is not its failure.
                    let status = if error.is_missing() {
                        TrialStatus::Skipped
                    } else {
                        TrialStatus::Failed
                    };
                    let cell = Cell {
                        entrant: index,
                        load: 0,
                    };
                    let slot = self.slot(0, cell, entrant, "");
                    self.failed(&slot, entrant, status, Failure::from(error))?;
                    all.push(None);
                }
            }
        }
        let servers = all.iter().flatten().count() as u64;
        let trials = servers * u64::from(experiment.rounds) * experiment.loads.len() as u64;
        (self.observer)(Event::Trials(trials));
        Ok(all)
    }

    /// One trial; gives the step at which it failed.
    fn trial(
        &mut self,
        round: u32,
        cell: Cell,
        built: &Built,
    ) -> Result<Option<Step>, JournalError> {
        let experiment = self.run.experiment;
        let entrant = &experiment.entrants[cell.entrant];
        let load = &experiment.loads[cell.load];
        let label = entrant.label();
        (self.observer)(Event::Trial {
            round,
            label: &label,
            load,
        });
        let slot = self.slot(round, cell, entrant, &built.version);
        match self.measure(entrant, built, load, &slot) {
            Ok(recording) => {
                let failure = recording.trial.failure.clone();
                match &failure {
                    Some(failure) => (self.observer)(Event::Failed {
                        label: &label,
                        status: recording.trial.status,
                        failure,
                    }),
                    None => (self.observer)(Event::Recorded {
                        label: &label,
                        trial: &recording.trial,
                    }),
                }
                self.add(&recording)?;
                Ok(None)
            }
            Err(_) if self.run.lab.interrupt.fired() => Ok(None),
            Err(failure) => {
                let step = failure.step;
                self.failed(&slot, entrant, TrialStatus::Failed, failure)?;
                Ok(Some(step))
            }
        }
    }

    /// Brings a server up, measures it, and proves it again.
    fn measure(
        &mut self,
        entrant: &Entrant,
        built: &Built,
        load: &Load,
        slot: &Slot,
    ) -> Result<Recording, Failure> {
        let Run {
            lab, experiment, ..
        } = self.run;
        let upstream = experiment.upstream.as_ref().zip(self.upstream.as_ref());
        let upstream = upstream.map(|(server, built)| Candidate {
            server,
            built,
            workers: server.manifest.default_workers(),
            contract: Contract::WeatherUpstream,
            role: Role::Upstream,
            http2: false,
        });
        // The upstream by itself is measured where it stands behind the others.
        let itself = upstream.is_some_and(|up| up.server.name == entrant.server.name);
        let (contract, role, behind) = match itself {
            true => (Contract::WeatherUpstream, Role::Upstream, None),
            false => (entrant.contract, Role::Server, upstream),
        };
        let side = Side {
            name: entrant.label(),
            what: What::Started {
                server: Box::new(entrant.server.clone()),
                built: Box::new(built.clone()),
                workers: match upstream {
                    Some(upstream) if itself => upstream.workers,
                    _ => entrant.workers,
                },
            },
            role,
            http2: None,
        };
        let ask = match &experiment.requests {
            Some(asked) if !itself => Ask::Requests {
                contract,
                asked: Arc::clone(asked),
            },
            _ => Ask::Contract(contract),
        };
        let observer = &mut self.observer;
        let mut told = |progress: Progress<'_>| observer(Event::Progress(&side.name, progress));
        let mut up = lab.bring_up(&side, &ask, behind.as_ref(), load, Depth::Full, &mut told)?;
        told(Progress::Doing(crate::trial::Doing::Step(Step::Load)));
        let measured = up.measure(load, &mut told)?;
        let interrupted = lab.interrupt.fired();
        if !interrupted {
            up.verify_again(&mut told)?;
        }
        let (command, output) = (up.command(), up.output());
        let durations = up.take_down();
        let found = findings(
            load,
            &measured,
            entrant.workers,
            lab.host.placement(),
            Whole::Yes,
        );
        let slot = Slot {
            command,
            ..slot.clone()
        };
        let mut recording = slot.recording(&measured, durations, found, interrupted);
        if let Some(failure) = &mut recording.trial.failure {
            failure.output = output;
        }
        Ok(recording)
    }

    fn failed(
        &mut self,
        slot: &Slot,
        entrant: &Entrant,
        status: TrialStatus,
        failure: Failure,
    ) -> Result<(), JournalError> {
        (self.observer)(Event::Failed {
            label: &entrant.label(),
            status,
            failure: &failure,
        });
        self.add(&slot.failed(status, failure))
    }

    fn add(&mut self, recording: &Recording) -> Result<(), JournalError> {
        self.ordinal += 1;
        self.journal.add(recording)
    }

    fn slot(&self, round: u32, cell: Cell, entrant: &Entrant, version: &str) -> Slot {
        let load = &self.run.experiment.loads[cell.load];
        Slot {
            ordinal: self.ordinal,
            round,
            server: entrant.server.name.clone(),
            workers: entrant.workers,
            cell: load.to_string(),
            load: load.clone(),
            started: Timestamp::now(),
            command: String::new(),
            version: version.to_owned(),
        }
    }
}
