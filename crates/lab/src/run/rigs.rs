//! Runs on several rigs at once: whole rounds are handed to rigs as they become free.
//!
//! A round is a complete block, and is measured on one rig from its first trial to its last. Ratios are paired by round, so
//! that no difference between rigs gets into them. A round whose rig is lost is measured again, whole and with a number of its own.

mod queue;

use super::{After, RunError, RunSession};
use crate::event::{Event, Journal, JournalError};
use crate::experiment::{Cell, Experiment};
use crate::trial::Lab;
use prony_record::{Recording, TrialStatus};
use queue::{Round, RoundQueue};
use std::collections::HashSet;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Machines that measure together: a server's, and those that its load comes from.
#[derive(Debug)]
pub struct Rig<'a> {
    /// Name of the rig.
    pub name: String,
    /// With what it measures.
    pub lab: Lab<'a>,
}

/// A run of an experiment on several rigs.
#[derive(Debug)]
pub struct Rigs<'a> {
    /// The rigs, at least one.
    pub rigs: &'a [Rig<'a>],
    /// Experiment to run.
    pub experiment: &'a Experiment,
    /// Seed of the trials' order.
    pub seed: u64,
}

/// Observer of all rigs' events.
pub type Observers<'o> = &'o mut (dyn FnMut(Event<'_>) + Send);

/// State that all rigs share.
struct Desk<'d> {
    journal: Mutex<Ledger<'d>>,
    observer: Mutex<Observers<'d>>,
    /// The next trial's place in the run.
    ordinals: AtomicU32,
    rounds: RoundQueue<'d>,
    /// The run cannot go on.
    failed: AtomicBool,
}

/// The run's journal. A server that is not set up on several rigs is noted once.
struct Ledger<'d> {
    journal: &'d mut (dyn Journal + Send),
    skipped: HashSet<(String, String)>,
}

/// The journal, as each rig has it.
struct SharedJournal<'m, 'd>(&'m Mutex<Ledger<'d>>);

impl Journal for SharedJournal<'_, '_> {
    fn add(&mut self, recording: &Recording) -> Result<(), JournalError> {
        let mut ledger = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let trial = &recording.trial;
        if trial.status == TrialStatus::Skipped
            && !ledger.skipped.insert((trial.label(), trial.cell.clone()))
        {
            return Ok(());
        }
        ledger.journal.add(recording)
    }
}

impl Rigs<'_> {
    /// Builds every server on every rig, and carries out every round on one of them, until all are done or the user
    /// interrupts it. The other rigs measure the round of one that is lost again.
    ///
    /// # Errors
    /// When the upstream of all cannot be built, what was measured cannot be kept, or every rig is lost.
    pub fn carry_out(
        &self,
        journal: &mut (dyn Journal + Send),
        observer: Observers<'_>,
    ) -> Result<(), RunError> {
        let plan = self.experiment.plan(self.seed);
        let rounds = plan.chunk_by(|a, b| a.0 == b.0).map(|cells| Round {
            number: cells[0].0,
            cells,
            again: None,
        });
        observer(Event::Trials(plan.len() as u64));
        let desk = Desk {
            journal: Mutex::new(Ledger {
                journal,
                skipped: HashSet::new(),
            }),
            observer: Mutex::new(observer),
            ordinals: AtomicU32::new(0),
            rounds: RoundQueue::new(rounds),
            failed: AtomicBool::new(false),
        };
        let desk = &desk;
        let ended: Result<Vec<Option<String>>, RunError> = thread::scope(|scope| {
            let work = |rig| scope.spawn(move || self.work(rig, desk));
            let working: Vec<_> = self.rigs.iter().map(work).collect();
            working
                .into_iter()
                .map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        });
        let lost = ended?.into_iter().flatten().last();
        let rounds = desk.rounds.left();
        let interrupted = self.rigs.iter().any(|rig| rig.lab.interrupt.fired());
        match lost {
            Some(why) if rounds > 0 && !interrupted => Err(RunError::NoRig { rounds, why }),
            _ => Ok(()),
        }
    }

    /// Measures rounds on a rig while there are any; gives why it was lost, if it was.
    fn work(&self, rig: &Rig<'_>, desk: &Desk<'_>) -> Result<Option<String>, RunError> {
        let tell = |event: &Event<'_>| {
            let mut observer = desk.observer.lock().unwrap_or_else(PoisonError::into_inner);
            observer(Event::OnRig {
                rig: &rig.name,
                event,
            });
        };
        let worked = RunSession {
            lab: rig.lab,
            experiment: self.experiment,
            rig: Some(&rig.name),
            journal: &mut SharedJournal(&desk.journal),
            observer: &mut |event| tell(&event),
            ordinals: &desk.ordinals,
            upstream: None,
        }
        .rounds(desk);
        match &worked {
            Ok(Some(why)) => {
                let mut observer = desk.observer.lock().unwrap_or_else(PoisonError::into_inner);
                observer(Event::RigLost {
                    rig: &rig.name,
                    why,
                });
            }
            Ok(None) => {}
            Err(_) => desk.failed.store(true, Ordering::Relaxed),
        }
        worked
    }
}

impl RunSession<'_, '_> {
    fn rounds(&mut self, desk: &Desk<'_>) -> Result<Option<String>, RunError> {
        self.build_upstream()?;
        let (built, lost) = self.build()?;
        if lost.is_some() {
            return Ok(lost);
        }
        let interrupt = self.lab.interrupt;
        let over = || interrupt.fired() || desk.failed.load(Ordering::Relaxed);
        let mut out: HashSet<Cell> = HashSet::new();
        while let Some(in_hand) = desk.rounds.take(over) {
            let round = in_hand.round;
            if let Some(again) = round.again {
                (self.observer)(Event::RoundAgain {
                    round: again.number,
                    number: round.number,
                    trials: again.ended,
                });
            }
            for (ended, &(_, cell)) in (1..).zip(round.cells) {
                if over() {
                    return Ok(None);
                }
                let built = built[cell.entrant].as_ref();
                let Some(built) = built.filter(|_| !out.contains(&cell)) else {
                    (self.observer)(Event::LeftOut);
                    continue;
                };
                match self.trial(round.number, cell, built)? {
                    After::GoOn => {}
                    After::Broken => {
                        out.insert(cell);
                    }
                    After::Lost(why) => {
                        in_hand.give_back(ended);
                        return Ok(Some(why));
                    }
                }
            }
        }
        Ok(None)
    }
}
