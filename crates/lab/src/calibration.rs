//! Calibration: what this host's rig can do. prony's own server against itself, under each contract with
//! each number of connections.

use crate::contract::Contract;
use crate::duel::{DuelError, LoadSpec, Parts, RoundPart, SideRound, label, round};
use crate::event::{Event, Journal, Observer};
use crate::pilot::survey;
use crate::recording::{Scope, TrialHeader, findings};
use crate::side::Side;
use crate::trial::Lab;
use crate::workload::Workload;
use prony_record::Load;
use prony_verdict::design::Given;
use std::time::Duration;

/// A calibration: the reference server against itself, under each contract with each number of connections.
#[derive(Debug, Clone)]
pub struct Calibration<'a> {
    /// With what it is measured.
    pub lab: Lab<'a>,
    /// The reference server, twice.
    pub sides: &'a [Side],
    /// The contracts.
    pub contracts: &'a [Contract],
    /// The numbers of connections.
    pub connections: &'a [u32],
    /// Rounds for each of them.
    pub rounds: u32,
    /// How long each side is loaded in each part of a round.
    pub duration: Duration,
}

impl Calibration<'_> {
    /// Carries it out, until it is done or the user interrupts it.
    ///
    /// # Errors
    /// When the server fails, or what was measured cannot be kept.
    pub fn carry_out(
        &self,
        journal: &mut dyn Journal,
        observer: Observer<'_>,
    ) -> Result<(), DuelError> {
        let cells = self.contracts.len() * self.connections.len();
        observer(Event::Trials(cells as u64 * (u64::from(self.rounds) + 1)));
        let mut ordinal = 0;
        for &contract in self.contracts {
            for &connections in self.connections {
                observer(Event::Cell(&format!(
                    "{contract}, {connections} connections"
                )));
                let spec = LoadSpec {
                    workload: Workload::Contract(contract),
                    load: Load::default(),
                    given: Given {
                        connections: Some(connections),
                        threads: Some(1),
                        warmup: Some(self.duration),
                        duration: Some(self.duration),
                        ..Given::default()
                    },
                };
                if !self.cell(&spec, &mut ordinal, journal, observer)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The rounds under one load; false: interrupted.
    fn cell(
        &self,
        spec: &LoadSpec,
        ordinal: &mut u32,
        journal: &mut dyn Journal,
        observer: Observer<'_>,
    ) -> Result<bool, DuelError> {
        let kinds = (true, true);
        observer(Event::Round(None));
        let Some(design) = survey(self.lab, self.sides, spec, kinds, observer)? else {
            return Ok(false);
        };
        let parts = Parts {
            saturation: true,
            rate: design.rate,
            other_rates: false,
        };
        for number in 0..self.rounds {
            if self.lab.interrupt.fired() {
                return Ok(false);
            }
            observer(Event::Round(Some(number)));
            let done = round(self.lab, self.sides, spec, (&design, parts), observer);
            let side_rounds = match done {
                Ok(Some(side_rounds)) => side_rounds,
                Ok(None) => return Ok(false),
                Err(_) if self.lab.interrupt.fired() => return Ok(false),
                Err((side, failure)) => return Err(DuelError::Side { side, failure }),
            };
            for (side_round, side) in side_rounds.iter().zip(self.sides) {
                self.keep(spec, side_round, side, number, ordinal, journal)?;
            }
        }
        Ok(true)
    }

    fn keep(
        &self,
        spec: &LoadSpec,
        side_round: &SideRound,
        side: &Side,
        round: u32,
        ordinal: &mut u32,
        journal: &mut dyn Journal,
    ) -> Result<(), DuelError> {
        for RoundPart { load, measured, .. } in &side_round.parts {
            let placement = self.lab.host.placement();
            let found = findings(load, measured, side.workers(), placement, Scope::Partial);
            let header = TrialHeader {
                ordinal: *ordinal,
                round,
                server: side.name.clone(),
                workers: 1,
                cell: format!("{} c{} {}", spec.workload, load.connections, label(load)),
                load: Load {
                    contract: Some(spec.workload.to_string()),
                    ..load.clone()
                },
                started: side_round.started,
                command: side_round.command.clone(),
                version: side.version().to_owned(),
                rig: None,
            };
            *ordinal += 1;
            journal.add(&header.recording(measured, side_round.durations, found, false))?;
        }
        Ok(())
    }
}
