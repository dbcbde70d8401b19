//! Calibration: what this host's rig can do. prony's own server against itself, under each contract with
//! each number of connections.

use crate::contract::Contract;
use crate::duel::{Bout, DuelError, Manner, Part, Parts, label, round};
use crate::event::{Event, Journal, Observer};
use crate::generator::Generator;
use crate::host::Host;
use crate::pilot::survey;
use crate::recording::{Slot, Whole, findings};
use crate::side::{Ask, Side};
use crate::trial::Lab;
use prony_record::Load;
use prony_verdict::design::Given;
use std::time::Duration;

/// A calibration: the reference server against itself, under each contract with each number of connections.
#[derive(Debug, Clone)]
pub struct Calibration<'a, H, G> {
    /// With what it is measured.
    pub lab: Lab<'a, H, G>,
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

impl<H: Host, G: Generator> Calibration<'_, H, G> {
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
                let manner = Manner {
                    ask: Ask::Contract(contract),
                    load: Load::default(),
                    given: Given {
                        connections: Some(connections),
                        threads: Some(1),
                        warmup: Some(self.duration),
                        duration: Some(self.duration),
                        ..Given::default()
                    },
                };
                if !self.cell(&manner, &mut ordinal, journal, observer)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The rounds under one load; false: interrupted.
    fn cell(
        &self,
        manner: &Manner,
        ordinal: &mut u32,
        journal: &mut dyn Journal,
        observer: Observer<'_>,
    ) -> Result<bool, DuelError> {
        let kinds = (true, true);
        observer(Event::Round(None));
        let Some(design) = survey(self.lab, self.sides, manner, kinds, observer)? else {
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
            let done = round(self.lab, self.sides, manner, (&design, parts), observer);
            let bouts = match done {
                Ok(Some(bouts)) => bouts,
                Ok(None) => return Ok(false),
                Err(_) if self.lab.interrupt.fired() => return Ok(false),
                Err((side, failure)) => return Err(DuelError::Side { side, failure }),
            };
            for (bout, side) in bouts.iter().zip(self.sides) {
                self.keep(manner, bout, side, number, ordinal, journal)?;
            }
        }
        Ok(true)
    }

    fn keep(
        &self,
        manner: &Manner,
        bout: &Bout,
        side: &Side,
        round: u32,
        ordinal: &mut u32,
        journal: &mut dyn Journal,
    ) -> Result<(), DuelError> {
        for Part { load, measured, .. } in &bout.parts {
            let placement = self.lab.host.placement();
            let found = findings(load, measured, side.workers(), placement, Whole::Part);
            let slot = Slot {
                ordinal: *ordinal,
                round,
                server: side.name.clone(),
                workers: 1,
                cell: format!("{} c{} {}", manner.ask, load.connections, label(load)),
                load: Load {
                    contract: Some(manner.ask.to_string()),
                    ..load.clone()
                },
                started: bout.started,
                command: bout.command.clone(),
                version: side.version().to_owned(),
                rig: None,
            };
            *ordinal += 1;
            journal.add(&slot.recording(measured, bout.durations, found, false))?;
        }
        Ok(())
    }
}
