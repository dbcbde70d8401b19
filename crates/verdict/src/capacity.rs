//! Which rate a capacity search tries next, and what its trials say.
//!
//! Double until a rate breaks, bisect, repeat at the boundary for longer, step back while it is not kept,
//! and then try a little more once again. A trial that a noisy host or the generator may have broken is
//! [`Outcome::Unclear`]: its rate is tried again a few times, and after that counts as unknown, not as
//! broken. What the trials say in the end is a pure function of them ([`known`]), so that a report from
//! the notebook says the same.

mod judge;
mod known;

pub use judge::{Judged, Shown, judge};
pub use known::{CONTRADICTS, KNOWN, capacity, known};

use prony_record::service::{Known, Outcome};

/// The least rate that is ever tried, unless the percentile needs more answers: so small that every
/// server that answers at all keeps it.
const FIRST: f64 = 100.0;
/// A rate is given up when the server breaks it this often: once may be an accident.
const TRIES: u32 = 2;
/// The search ends when the rates that are kept and broken are this close.
const CLOSE: f64 = 0.01;
/// The same when it is noise that hides the upper one: the result is no more precise than that.
const COARSE: f64 = 0.05;
/// At the boundary a rate is kept when it is kept this often in a row.
pub const BOUNDARY: u32 = 3;
/// A rate that is not kept at the boundary is lowered by this.
const BACK: f64 = 0.97;
/// What is tried once again when the boundary has held: closer than bounds that count as known, and
/// further than a queue that grows could be missed in a trial.
const CHALLENGE: f64 = 1.08;
/// A challenge that is kept shows that a rate was broken by accident; the search goes on from there, at
/// first by this factor, at most so often.
const RESUME: f64 = 1.25;
const RESUMES: u32 = 3;
/// An unclear trial is repeated this often, and in a whole search no more often than that: noise that
/// persists is not waited for.
const REPEATS: u32 = 3;
const PATIENCE: u32 = 12;
/// Doublings beyond a rate that noise hides, one trial each, to find one that the server itself breaks.
const BLIND: u32 = 4;
/// No search has more trials, whatever they show: five times as many as one without mishaps.
const MOST: usize = 120;
/// A search whose result its own curve contradicted goes on below that at most so often.
const TAKE_BACKS: u32 = 2;
/// Parts of the capacity at which latency is shown.
pub const CURVE: [f64; 4] = [0.1, 0.5, 0.8, 0.9];
/// A part of the capacity that is not kept is tried this often in all.
pub const POINT_TRIES: u32 = 3;

/// A trial at a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tried {
    /// Requests per second.
    pub rate: f64,
    /// What it said.
    pub outcome: Outcome,
}

/// What a search does next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// Try this rate, in requests per second.
    Try {
        /// The rate.
        rate: f64,
        /// For longer than while searching: at the boundary.
        long: bool,
    },
    /// Nothing: [`Search::known`] says what it has found.
    Over,
}

/// A search under way.
#[derive(Debug, Clone)]
pub struct Search {
    first: f64,
    /// The highest rate that was kept.
    kept: Option<f64>,
    /// The lowest rate above it that the server broke.
    broken: Option<f64>,
    /// The lowest rate above it that noise hides.
    hidden: Option<f64>,
    /// The highest rate whose boundary has held.
    held: Option<f64>,
    phase: Phase,
    /// Of the rate under test.
    count: Count,
    /// Repetitions of unclear trials that are left.
    patience: u32,
    /// Doublings since noise hid a rate.
    blind: u32,
    resumed: u32,
    taken_back: u32,
    trials: Vec<Tried>,
}

/// Trials of the rate under test.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    /// Kept in a row.
    kept: u32,
    broken: u32,
    unclear: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    /// Doubling, at this rate.
    Double(f64),
    /// Bisecting, at this rate.
    Bisect(f64),
    /// Repeating this rate.
    Boundary(f64),
    /// Trying once again a little more than what was kept.
    Challenge(f64),
    Over,
}

impl Search {
    /// A search that begins at this rate.
    #[must_use]
    pub fn from(first: f64) -> Self {
        Self {
            first,
            kept: None,
            broken: None,
            hidden: None,
            held: None,
            phase: Phase::Double(first),
            count: Count::default(),
            patience: PATIENCE,
            blind: 0,
            resumed: 0,
            taken_back: 0,
            trials: Vec::new(),
        }
    }

    /// What to do next.
    #[must_use]
    pub fn next(&self) -> Next {
        match self.phase {
            Phase::Double(rate) | Phase::Bisect(rate) => Next::Try { rate, long: false },
            Phase::Boundary(rate) | Phase::Challenge(rate) => Next::Try { rate, long: true },
            Phase::Over => Next::Over,
        }
    }

    /// The rates between which the capacity lies, as far as the search has come: it is at least the first
    /// and less than the second.
    #[must_use]
    pub fn between(&self) -> (Option<f64>, Option<f64>) {
        (self.kept, self.broken)
    }

    /// What all its trials say.
    #[must_use]
    pub fn known(&self) -> Known {
        known(&self.trials)
    }

    /// How the trial went that was to be made next.
    pub fn tried(&mut self, outcome: Outcome) {
        let Next::Try { rate, .. } = self.next() else {
            return;
        };
        self.note(rate, outcome);
        if self.trials.len() >= MOST {
            return self.go(Phase::Over);
        }
        match outcome {
            Outcome::Kept => self.was_kept(),
            Outcome::Broken => self.was_broken(),
            Outcome::Unclear(_) => self.was_unclear(),
        }
    }

    /// A trial that was made for another reason: to show the latency at a part of the capacity.
    pub fn note(&mut self, rate: f64, outcome: Outcome) {
        self.trials.push(Tried { rate, outcome });
    }

    /// This rate, a part of what was found, is not kept: goes on below it. False when it has done so often
    /// enough: then its bounds have to do.
    pub fn take_back(&mut self, rate: f64) -> bool {
        if self.taken_back >= TAKE_BACKS || self.trials.len() >= MOST {
            return false;
        }
        self.taken_back += 1;
        self.held = None;
        self.step_back(rate);
        self.phase != Phase::Over
    }

    fn was_kept(&mut self) {
        match self.phase {
            Phase::Double(rate) => {
                self.raise(rate);
                self.go(Phase::Double(rate * 2.0));
            }
            Phase::Bisect(rate) => {
                self.raise(rate);
                self.narrow();
            }
            Phase::Boundary(rate) => {
                self.count.kept += 1;
                if self.count.kept >= BOUNDARY {
                    self.held = Some(rate);
                    self.go(match self.taken_back {
                        0 => Phase::Challenge(round(rate * CHALLENGE)),
                        // It is known not to be the highest rate that was ever kept.
                        _ => Phase::Over,
                    });
                }
            }
            Phase::Challenge(rate) => {
                self.raise(rate);
                self.resumed += 1;
                self.go(match self.resumed <= RESUMES {
                    true => Phase::Double(round(rate * RESUME)),
                    false => Phase::Over,
                });
            }
            Phase::Over => {}
        }
    }

    fn was_broken(&mut self) {
        self.count.kept = 0;
        self.count.broken += 1;
        // Once suffices above a rate that noise hides: nothing is narrowed down there.
        let again = self.count.broken < TRIES && self.blind == 0;
        match self.phase {
            Phase::Challenge(_) => self.go(Phase::Over),
            _ if again => {}
            Phase::Double(rate) | Phase::Bisect(rate) => {
                self.broken = Some(rate);
                self.narrow();
            }
            Phase::Boundary(rate) => self.step_back(rate),
            Phase::Over => {}
        }
    }

    fn was_unclear(&mut self) {
        self.count.unclear += 1;
        if self.blind == 0 && self.count.unclear <= REPEATS && self.patience > 0 {
            self.patience -= 1;
            return;
        }
        match self.phase {
            Phase::Double(rate) => {
                self.hide(rate);
                self.blind += 1;
                match self.blind <= BLIND {
                    true => self.go(Phase::Double(rate * 2.0)),
                    false => self.narrow(),
                }
            }
            Phase::Bisect(rate) => {
                self.hide(rate);
                self.narrow();
            }
            // What noise hides here it would hide a little below too.
            Phase::Boundary(_) | Phase::Challenge(_) => self.go(Phase::Over),
            Phase::Over => {}
        }
    }

    /// A rate was kept: whatever was seen below it was an accident.
    fn raise(&mut self, rate: f64) {
        let above = |other: &f64| *other > rate;
        self.kept = Some(rate);
        self.broken = self.broken.filter(above);
        self.hidden = self.hidden.filter(above);
        self.blind = 0;
    }

    fn hide(&mut self, rate: f64) {
        self.hidden = Some(self.hidden.map_or(rate, |hidden| hidden.min(rate)));
    }

    fn go(&mut self, phase: Phase) {
        self.count = Count::default();
        self.phase = phase;
    }

    /// Lower than a rate whose boundary did not hold; but not below one whose boundary did.
    fn step_back(&mut self, rate: f64) {
        let lower = round(rate * BACK);
        self.broken = Some(rate);
        let over = lower < self.first || self.held.is_some_and(|held| lower <= held);
        self.go(match over {
            true => Phase::Over,
            false => Phase::Boundary(lower),
        });
    }

    /// Between what is kept and what is not.
    fn narrow(&mut self) {
        self.blind = 0;
        let top = match (self.broken, self.hidden) {
            (Some(broken), Some(hidden)) if hidden < broken => Some((hidden, COARSE)),
            (Some(broken), _) => Some((broken, CLOSE)),
            (None, hidden) => hidden.map(|hidden| (hidden, COARSE)),
        };
        let broken_at_once = self.broken.is_some_and(|broken| broken <= self.first);
        let phase = match (self.kept, top) {
            // Noise hid the first rate, and may be over by now: without a rate that is kept nothing is known.
            (None, _) if !broken_at_once && self.patience > 0 => Phase::Bisect(self.first),
            (None, _) => Phase::Over,
            (Some(kept), Some((top, close))) if (top - kept) / kept > close => {
                Phase::Bisect(round((kept * top).sqrt()))
            }
            (Some(kept), _) => Phase::Boundary(kept),
        };
        self.go(phase);
    }
}

/// The first rate of a search: a trial of this length, in seconds, has answers enough for the
/// percentile (0 to 100).
#[must_use]
pub fn first_rate(percentile: f64, seconds: f64) -> f64 {
    let needed = 10.0 / (1.0 - percentile / 100.0);
    round((1.2 * needed / seconds).max(FIRST))
}

/// The shares of the capacity beyond it that are tried, up to this one: 1.1, 1.25, 1.5, 2, 3 and so on.
#[must_use]
pub fn beyond(most: f64) -> Vec<f64> {
    let whole = (2..).map(f64::from);
    let steps = [1.1, 1.25, 1.5].into_iter().chain(whole);
    let mut shares: Vec<f64> = steps.take_while(|share| *share < most).collect();
    shares.push(most);
    shares
}

/// Four significant digits: a capacity is known no better than that.
#[must_use]
pub fn round(rate: f64) -> f64 {
    let unit = 10_f64.powf(rate.log10().floor() - 3.0);
    (rate / unit).round() * unit
}

#[cfg(test)]
mod tests;
