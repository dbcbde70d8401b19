//! Runs: every server of an experiment under every load, round after round.

pub mod rigs;

use crate::builder::{BuildError, Built};
use crate::contract::{Contract, Depth};
use crate::event::{Event, Journal, JournalError, Observer};
use crate::experiment::{Cell, Entrant, Experiment};
use crate::recording::{Scope, TrialHeader, findings};
use crate::side::{Candidate, Role, Side, What};
use crate::trial::{Lab, Progress};
use crate::workload::Workload;
use jiff::Timestamp;
use prony_record::load::{KeyKind, Protocol};
use prony_record::{Failure, Recording, Step, TrialStatus};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};

/// A run of an experiment.
#[derive(Debug)]
pub struct Run<'a> {
    /// With what it is measured.
    pub lab: Lab<'a>,
    /// Experiment to run.
    pub experiment: &'a Experiment,
    /// Seed of the trials' order.
    pub seed: u64,
}

/// Reasons for a run to end before its time.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The upstream of all gateways cannot be built.
    #[error("the upstream {server}: {error}")]
    Upstream {
        /// Name of the upstream.
        server: String,
        /// Why not.
        error: BuildError,
    },
    /// The journal could not keep the results.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Every rig was lost.
    #[error("no rig is left: {why}; rounds that were not measured: {rounds}")]
    NoRig {
        /// How many rounds no rig has measured whole.
        rounds: usize,
        /// Why the last of them was lost.
        why: String,
    },
}

/// Measures the trials of a run with one lab.
struct RunSession<'a, 'o> {
    lab: Lab<'a>,
    experiment: &'a Experiment,
    /// The rig that this is, where there are several.
    rig: Option<&'a str>,
    journal: &'o mut dyn Journal,
    observer: Observer<'o>,
    /// The next trial's place in the run.
    ordinals: &'a AtomicU32,
    upstream: Option<Built>,
}

/// How a trial went, as far as those after it are concerned.
enum After {
    /// The trials after it go on.
    GoOn,
    /// The server failed its verification, and would fail it again: its later trials under this load are left out.
    Broken,
    /// The machines that measure are lost, and why.
    Lost(String),
}

impl Run<'_> {
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
        let experiment = self.experiment;
        let ordinals = AtomicU32::new(0);
        let mut session = RunSession {
            lab: self.lab,
            experiment,
            rig: None,
            journal,
            observer,
            ordinals: &ordinals,
            upstream: None,
        };
        session.build_upstream()?;
        let (built, _) = session.build()?;
        let cells = experiment.cells();
        let cells = cells.iter().filter(|cell| built[cell.entrant].is_some());
        let trials = cells.count() as u64 * u64::from(experiment.rounds);
        (session.observer)(Event::Trials(trials));
        // A server that breaks its contract breaks it again: one trial tells that.
        let mut out: HashSet<Cell> = HashSet::new();
        for (round, cell) in experiment.plan(self.seed) {
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
            if let After::Broken = session.trial(round, cell, built)? {
                out.insert(cell);
            }
        }
        Ok(())
    }
}

impl RunSession<'_, '_> {
    /// Builds the server behind all gateways, if there is one.
    fn build_upstream(&mut self) -> Result<(), RunError> {
        if let Some(server) = &self.experiment.upstream {
            let built = self.lab.host.build_upstream(server);
            self.upstream = Some(built.map_err(|error| RunError::Upstream {
                server: server.name.clone(),
                error,
            })?);
        }
        Ok(())
    }

    /// Builds every server; those that cannot be built are recorded and left out. Also gives why the machines that measure
    /// are lost, if they are.
    fn build(&mut self) -> Result<(Vec<Option<Built>>, Option<String>), JournalError> {
        let mut all = Vec::new();
        let experiment = self.experiment;
        for (index, entrant) in experiment.entrants.iter().enumerate() {
            if self.lab.interrupt.fired() {
                all.push(None);
                continue;
            }
            (self.observer)(Event::Building(&entrant.server.name));
            match self.lab.host.build(&entrant.server) {
                Ok(built) => {
                    self.lacking(index, &built)?;
                    all.push(Some(built));
                }
                Err(error) => {
                    // A server that is not set up takes no part, which is not its failure.
                    let status = if error.is_missing() {
                        TrialStatus::Skipped
                    } else {
                        TrialStatus::Failed
                    };
                    let lost = self.lost();
                    let cell = Cell {
                        entrant: index,
                        load: 0,
                    };
                    let header = self.header(0, cell, entrant, "");
                    let failure = self.on_progress(Failure::from(error), lost.as_deref());
                    self.failed(&header, entrant, status, failure)?;
                    all.push(None);
                    if lost.is_some() {
                        return Ok((all, lost));
                    }
                }
            }
        }
        Ok((all, None))
    }

    /// Records loads for which a server lacks a part of its contract.
    fn lacking(&mut self, index: usize, built: &Built) -> Result<(), JournalError> {
        let experiment = self.experiment;
        let entrant = &experiment.entrants[index];
        for (load, loaded) in experiment.loads.iter().enumerate() {
            let Some(part) = entrant
                .lacking(loaded)
                .filter(|_| entrant.speaks(&loaded.shape))
            else {
                continue;
            };
            let cell = Cell {
                entrant: index,
                load,
            };
            let header = self.header(0, cell, entrant, &built.version);
            let failure = Failure::new(Step::Verify, format!("has no {part}"));
            self.failed(&header, entrant, TrialStatus::Skipped, failure)?;
        }
        Ok(())
    }

    /// One trial.
    fn trial(&mut self, round: u32, cell: Cell, built: &Built) -> Result<After, JournalError> {
        let experiment = self.experiment;
        let entrant = &experiment.entrants[cell.entrant];
        let load = &experiment.loads[cell.load].shape;
        let label = entrant.label();
        (self.observer)(Event::Trial {
            round,
            label: &label,
            load,
        });
        let header = self.header(round, cell, entrant, &built.version);
        match self.measure(cell, built, &header) {
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
                self.journal.add(&recording)?;
                Ok(After::GoOn)
            }
            Err(_) if self.lab.interrupt.fired() => Ok(After::GoOn),
            Err(failure) => {
                let (step, lost) = (failure.step, self.lost());
                let failure = self.on_progress(failure, lost.as_deref());
                self.failed(&header, entrant, TrialStatus::Failed, failure)?;
                Ok(match (lost, step) {
                    (Some(why), _) => After::Lost(why),
                    (None, Step::Verify) => After::Broken,
                    (None, _) => After::GoOn,
                })
            }
        }
    }

    /// Why this rig is lost, if it is one and is lost. The machines of a run that has no other are tried again and again.
    fn lost(&self) -> Option<String> {
        self.rig?;
        let (host, generator) = (self.lab.host, self.lab.generator);
        let there = host.reachable().and_then(|()| generator.reachable());
        there.err()
    }

    /// A failure, with where it happened.
    fn on_progress(&self, failure: Failure, lost: Option<&str>) -> Failure {
        let Some(rig) = self.rig else { return failure };
        let message = match lost {
            Some(why) => format!(
                "rig {rig} is lost ({why}); its round is measured again if another rig is left: {}",
                failure.message
            ),
            None => format!("on rig {rig}: {}", failure.message),
        };
        Failure { message, ..failure }
    }

    /// Brings a server up, measures it, and proves it again.
    fn measure(
        &mut self,
        cell: Cell,
        built: &Built,
        header: &TrialHeader,
    ) -> Result<Recording, Failure> {
        let (lab, experiment) = (self.lab, self.experiment);
        let entrant = &experiment.entrants[cell.entrant];
        let load = &experiment.loads[cell.load].shape;
        let upstream = experiment.upstream.as_ref().zip(self.upstream.as_ref());
        let upstream = upstream.map(|(server, built)| Candidate {
            server,
            built,
            workers: server.manifest.default_workers(),
            contract: Contract::WeatherUpstream,
            role: Role::Upstream,
            over: Protocol::Plain,
            key: KeyKind::default(),
        });
        // The upstream by itself is measured where it stands behind the others.
        let itself = upstream.is_some_and(|up| up.server.name == entrant.server.name);
        let (contract, role, behind) = match itself {
            true => (Contract::WeatherUpstream, Role::Upstream, None),
            false => (entrant.contract, Role::Server, upstream),
        };
        let built = upstream.filter(|_| itself).map_or(built, |it| it.built);
        let mut side = Side {
            role,
            ..Side::of_entrant(entrant, built).under(load)
        };
        if let (true, Some(upstream), What::Started { workers, .. }) =
            (itself, upstream, &mut side.what)
        {
            *workers = upstream.workers;
        }
        let workload = match itself {
            true => Workload::Contract(contract),
            false => experiment.loads[cell.load].workload(contract),
        };
        let observer = &mut self.observer;
        let mut on_progress =
            |progress: Progress<'_>| observer(Event::Progress(&side.name, progress));
        let mut up = lab.bring_up(
            &side,
            &workload,
            behind.as_ref(),
            load,
            Depth::Full,
            &mut on_progress,
        )?;
        on_progress(Progress::Doing(crate::trial::TrialActivity::Step(
            Step::Load,
        )));
        let measured = up.measure(load, &mut on_progress)?;
        let interrupted = lab.interrupt.fired();
        if !interrupted {
            up.verify_again(&mut on_progress)?;
        }
        let (command, output) = (up.command(), up.output());
        let durations = up.take_down();
        let found = findings(
            load,
            &measured,
            Some(entrant.workers),
            lab.host.placement(),
            Scope::All,
        );
        let header = TrialHeader {
            command,
            ..header.clone()
        };
        let mut recording = header.recording(&measured, durations, found, interrupted);
        if let Some(failure) = &mut recording.trial.failure {
            failure.output = output;
        }
        Ok(recording)
    }

    fn failed(
        &mut self,
        header: &TrialHeader,
        entrant: &Entrant,
        status: TrialStatus,
        failure: Failure,
    ) -> Result<(), JournalError> {
        (self.observer)(Event::Failed {
            label: &entrant.label(),
            status,
            failure: &failure,
        });
        self.journal.add(&header.failed(status, failure))
    }

    fn header(&self, round: u32, cell: Cell, entrant: &Entrant, version: &str) -> TrialHeader {
        let load = &self.experiment.loads[cell.load].shape;
        TrialHeader {
            ordinal: self.ordinals.fetch_add(1, Ordering::Relaxed),
            round,
            server: entrant.server.name.clone(),
            workers: entrant.workers,
            cell: load.to_string(),
            load: load.clone(),
            started: Timestamp::now(),
            command: String::new(),
            version: version.to_owned(),
            rig: self.rig.map(ToOwned::to_owned),
        }
    }
}
