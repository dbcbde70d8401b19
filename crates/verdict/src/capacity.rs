//! Search for a capacity: the rate that it tries next, and the conclusion from its trials.
//!
//! A capacity is a property of a server, and every start shows it a little differently: another layout, another spread of
//! connections, another minute on the machine. So the search climbs to it on several starts. On each it goes up until the server
//! breaks a limit, which ends the start: what was overloaded once may not be what it was. Where a start's first rate is broken
//! already, the next start begins lower, so it finds its way from both sides, whatever the first guess. Each start brackets its own
//! capacity, and from how many responses were late in each of its trials follows the rate that a start keeps, with its
//! interval ([`prony_stats::threshold`]).
//!
//! A trial that a noisy host or the generator may have broken is [`RateOutcome::Unclear`]: its rate is tried again a few times, and
//! after that the start's capacity is only known to be higher. What the trials say in the end is a pure function of them
//! ([`known`]), so that a report from the notebook says the same.

mod judge;
mod known;

pub use judge::{BEYOND, Judged, RateMeasurements, is_hopeless, judge};
pub use known::{brackets, known};

use prony_record::service::{CapacityBounds, RateOutcome, RateStep, Unclear};

/// Starts whose capacity is bracketed, unless [`Search::of_starts`] says otherwise.
pub const STARTS: u32 = 5;
/// Starts in all, with those whose first rate was broken, or that noise has spoilt.
const MOST_STARTS: u32 = 16;
/// When something else was in the way of so many starts, it is there to stay.
const HIDDEN: u32 = 3;
/// No search has more trials, whatever they show.
const MOST: usize = 120;
/// The first start goes up by this factor, and starts go down by it while none has kept a rate.
const FIRST: f64 = 1.5;
/// The next ones by these; the last of them holds from there on. They are so small that what is left is the difference
/// between starts.
const STEPS: [f64; 3] = [1.15, 1.06, 1.04];
/// Going down, the factor grows to this: a guess may be wrong by orders of magnitude.
const DOWN: f64 = 4.0;
/// An unclear trial is repeated this often, and in a whole search no more often than that: noise that
/// persists is not waited for.
const REPEATS: u32 = 3;
const PATIENCE: u32 = 12;
/// Doublings beyond a rate that noise hides, one trial each, to find one that the server itself breaks.
const BLIND: u32 = 4;
/// Parts of the capacity at which latency is shown, and which are tried again after an overload, down to the first that is kept.
pub const CURVE: [f64; 4] = [0.1, 0.5, 0.8, 0.9];
/// The overload after which they are, as a share of the capacity.
pub const OVERLOAD: f64 = 1.25;
/// A part of the capacity that is not kept is tried this often in all.
pub const POINT_TRIES: u32 = 3;

/// Result of a trial at a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateTrial {
    /// Whether the limits were kept.
    pub outcome: RateOutcome,
    /// How many responses were late or failed, as a multiple of what the limits allow.
    pub excess: f64,
    /// How long it was, in seconds.
    pub seconds: f64,
}

impl From<&RateStep> for RateTrial {
    fn from(step: &RateStep) -> Self {
        Self {
            outcome: step.outcome(),
            excess: step.excess,
            seconds: step.seconds,
        }
    }
}

/// A trial that was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tried {
    /// On which start, from 0.
    pub start: u32,
    /// Requests per second.
    pub rate: f64,
    /// Result of the trial.
    pub trial: RateTrial,
}

/// Next step of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// Try this rate, in requests per second, on the server as it is.
    Try(f64),
    /// Start the server anew, and [say so](Search::restarted).
    Restart,
    /// Nothing: [`Search::known`] says what it has found.
    Over,
}

/// A search under way.
#[derive(Debug, Clone)]
pub struct Search {
    /// The lowest rate that can be tried.
    floor: f64,
    /// Starts whose capacity is bracketed.
    starts: u32,
    /// Trials after which it is over.
    most: usize,
    start: u32,
    next: Next,
    /// By which factor this start goes up.
    step: f64,
    /// Where the next start begins.
    begin: f64,
    /// By which factor the next start goes down, while none has kept a rate.
    down: f64,
    /// Unclear trials of the rate under test.
    unclear: u32,
    /// Repetitions of unclear trials that are left.
    patience: u32,
    /// Doublings since noise hid a rate.
    blind: u32,
    /// Starts of which something else hid what they keep.
    hidden: u32,
    trials: Vec<Tried>,
}

impl Search {
    /// A search whose first start begins at `guess`, and which tries no rate below `floor`.
    #[must_use]
    pub fn from(guess: f64, floor: f64) -> Self {
        Self {
            floor,
            starts: STARTS,
            most: MOST,
            start: 0,
            next: Next::Try(round(guess.max(floor))),
            step: FIRST,
            begin: guess,
            down: FIRST,
            unclear: 0,
            patience: PATIENCE,
            blind: 0,
            hidden: 0,
            trials: Vec::new(),
        }
    }

    /// One trial at `guess`, whatever it shows: for limits that one request alone exceeds.
    #[must_use]
    pub fn once(guess: f64) -> Self {
        Self {
            most: 1,
            ..Self::from(guess, guess)
        }
    }

    /// The same over this many starts, at least 1: fewer are quicker, and leave a wider interval.
    #[must_use]
    pub fn of_starts(self, starts: u32) -> Self {
        Self {
            starts: starts.max(1),
            ..self
        }
    }

    /// Next step of the search.
    #[must_use]
    pub fn next(&self) -> Next {
        self.next
    }

    /// On which start it is, from 0.
    #[must_use]
    pub fn start(&self) -> u32 {
        self.start
    }

    /// Conclusion from all trials of the search.
    #[must_use]
    pub fn known(&self) -> CapacityBounds {
        known(&self.trials)
    }

    /// The server has been started anew.
    pub fn restarted(&mut self) {
        if self.next == Next::Restart {
            self.start += 1;
            (self.unclear, self.blind) = (0, 0);
            self.next = Next::Try(round(self.begin.max(self.floor)));
        }
    }

    /// How the trial went that was to be made next.
    pub fn tried(&mut self, trial: RateTrial) {
        let Next::Try(rate) = self.next else {
            return;
        };
        self.note(self.start, rate, trial);
        if self.trials.len() >= self.most {
            self.next = Next::Over;
            return;
        }
        match trial.outcome {
            RateOutcome::Kept => {
                (self.unclear, self.blind) = (0, 0);
                self.next = Next::Try(round(rate * self.step));
            }
            RateOutcome::Broken => self.end_start(rate),
            RateOutcome::Unclear(why) => self.was_unclear(rate, why),
        }
    }

    /// A trial that was made for another reason: to show the latency at a part of the capacity.
    pub fn note(&mut self, start: u32, rate: f64, trial: RateTrial) {
        self.trials.push(Tried { start, rate, trial });
    }

    /// Is the capacity about known, so that trials decide how well?
    #[must_use]
    pub fn is_near(&self) -> bool {
        self.step < FIRST
    }

    fn was_unclear(&mut self, rate: f64, why: Unclear) {
        if !passes(why) {
            // It would be in the way of every higher rate too.
            self.hidden += 1;
            return self.end_start(rate);
        }
        self.unclear += 1;
        if self.blind == 0 && self.unclear <= REPEATS && self.patience > 0 {
            self.patience -= 1;
            return;
        }
        self.hidden += u32::from(self.blind == 0);
        self.blind += 1;
        match self.blind <= BLIND {
            true => self.next = Next::Try(round(rate * 2.0)),
            false => self.end_start(rate),
        }
    }

    /// A start is over, at a rate that the server broke or that noise hides: where does the next one begin?
    fn end_start(&mut self, rate: f64) {
        let starts = brackets(&self.trials);
        let closed = starts.iter().filter(|start| start.is_closed()).count() as u32;
        let held = starts
            .iter()
            .filter_map(|start| start.held)
            .reduce(f64::max);
        let over = closed >= self.starts
            || self.start + 1 >= MOST_STARTS.max(self.starts)
            || (held.is_none() && rate <= self.floor)
            || self.hidden >= HIDDEN;
        if over {
            self.next = Next::Over;
            return;
        }
        self.next = Next::Restart;
        let this = starts.last().copied().unwrap_or_default();
        match (held, this.held) {
            // Nothing was kept yet: down, by more each time.
            (None, _) => {
                self.begin = rate / self.down;
                self.down = (self.down * FIRST).min(DOWN);
            }
            // This start broke its first rate: a little lower, in the same steps.
            (Some(_), None) => self.begin = rate / (self.step * self.step),
            (Some(_), Some(kept)) => {
                let failed = this.failed.unwrap_or(kept * self.step);
                let step = STEPS[(closed.max(1) as usize - 1).min(STEPS.len() - 1)];
                self.step = step.min(self.step);
                // A step below the middle of what this start has shown: so few rates are tried that each may break by accident.
                self.begin = (kept * failed).sqrt() / self.step;
            }
        }
    }
}

/// May it be over in the next trial? A generator at its limit, and too few connections, stay.
fn passes(why: Unclear) -> bool {
    matches!(why, Unclear::NoisyHost | Unclear::LateGenerator)
}

/// The lowest rate whose trials, `seconds` long at the longest, have response times enough for a percentile (0 to 100).
#[must_use]
pub fn lowest_rate(percentile: f64, seconds: f64) -> f64 {
    needed(percentile) / seconds
}

/// Response times that are needed to judge a percentile (0 to 100).
#[must_use]
pub fn needed(percentile: f64) -> f64 {
    // A little more, for Poisson arrivals and those whose times are not measured.
    1.2 * BEYOND / (1.0 - percentile / 100.0)
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
