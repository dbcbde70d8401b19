//! Which rate a capacity search tries next: double until it breaks, bisect, then repeat at the boundary
//! for longer, and step back while it is not kept.

/// The least rate that is ever tried, unless the percentile needs more answers: so small that every
/// server that answers at all keeps it.
const FIRST: f64 = 100.0;
/// A rate is given up when it is not kept this often: once may be another process's doing.
const TRIES: u32 = 2;
/// The search ends when the rates that are kept and broken are this close.
const CLOSE: f64 = 0.01;
/// At the boundary a rate is kept when it is kept this often in a row.
const BOUNDARY: u32 = 3;
/// A rate that is not kept at the boundary is lowered by this.
const BACK: f64 = 0.97;
/// Parts of the capacity at which latency is shown.
pub const CURVE: [f64; 4] = [0.1, 0.5, 0.8, 0.9];

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
    /// It has found this: the highest rate that is kept, none if no rate is.
    Found(Option<f64>),
}

/// A search under way.
#[derive(Debug, Clone)]
pub struct Search {
    first: f64,
    kept: Option<f64>,
    broken: Option<f64>,
    /// How often the rate under test has been tried without being kept, or, at the boundary, kept.
    count: u32,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    /// Doubling, at this rate.
    Double(f64),
    /// Bisecting, at this rate.
    Bisect(f64),
    /// Repeating this rate.
    Boundary(f64),
    Over(Option<f64>),
}

impl Search {
    /// A search that begins at this rate.
    #[must_use]
    pub fn from(first: f64) -> Self {
        Self {
            first,
            kept: None,
            broken: None,
            count: 0,
            phase: Phase::Double(first),
        }
    }

    /// What to do next.
    #[must_use]
    pub fn next(&self) -> Next {
        match self.phase {
            Phase::Double(rate) | Phase::Bisect(rate) => Next::Try { rate, long: false },
            Phase::Boundary(rate) => Next::Try { rate, long: true },
            Phase::Over(found) => Next::Found(found),
        }
    }

    /// The rates between which the capacity lies, as far as is known: it is at least the first and
    /// less than the second.
    #[must_use]
    pub fn between(&self) -> (Option<f64>, Option<f64>) {
        (self.kept, self.broken)
    }

    /// The rate that was to be tried was kept, or not.
    pub fn tried(&mut self, kept: bool) {
        match self.phase {
            Phase::Double(rate) if kept => {
                self.kept = Some(rate);
                self.go(Phase::Double(rate * 2.0));
            }
            Phase::Bisect(rate) if kept => {
                self.kept = Some(rate);
                self.narrow();
            }
            Phase::Double(rate) | Phase::Bisect(rate) => {
                self.count += 1;
                if self.count >= TRIES {
                    self.broken = Some(rate);
                    self.narrow();
                }
            }
            Phase::Boundary(rate) if kept => {
                self.count += 1;
                if self.count >= BOUNDARY {
                    self.go(Phase::Over(Some(rate)));
                }
            }
            Phase::Boundary(rate) => {
                let lower = round(rate * BACK);
                self.broken = Some(rate);
                self.go(match lower < self.first {
                    true => Phase::Over(None),
                    false => Phase::Boundary(lower),
                });
            }
            Phase::Over(_) => {}
        }
    }

    fn go(&mut self, phase: Phase) {
        self.count = 0;
        self.phase = phase;
    }

    /// Between what is kept and what is not.
    fn narrow(&mut self) {
        let phase = match (self.kept, self.broken) {
            (None, _) => Phase::Over(None),
            (Some(kept), Some(broken)) if (broken - kept) / kept > CLOSE => {
                Phase::Bisect(round((kept * broken).sqrt()))
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

/// Four significant digits: a capacity is known no better than that.
#[must_use]
pub fn round(rate: f64) -> f64 {
    let unit = 10_f64.powf(rate.log10().floor() - 3.0);
    (rate / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Carries a search out; gives what it found, and every rate that was tried.
    fn search(first: f64, mut keeps: impl FnMut(f64) -> bool) -> (Option<f64>, Vec<f64>) {
        let (mut search, mut tried) = (Search::from(first), Vec::new());
        loop {
            match search.next() {
                Next::Found(found) => return (found, tried),
                Next::Try { rate, .. } => {
                    tried.push(rate);
                    assert!(tried.len() < 2_000, "it does not end: {tried:?}");
                    search.tried(keeps(rate));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_sharp_limit_is_found_within_its_precision(limit in 101.0..1e7_f64) {
            let (found, tried) = search(100.0, |rate| rate <= limit);
            let found = found.unwrap();
            prop_assert!(found <= limit && found > limit * 0.985, "{found} of {limit}");
            prop_assert!(tried.len() < 60, "{}", tried.len());
        }

        #[test]
        fn it_ends_whatever_is_kept(answers in proptest::collection::vec(any::<bool>(), 1..50)) {
            let mut answers = answers.into_iter().cycle();
            // Rates cannot double for ever: no server keeps a billion requests a second.
            search(100.0, |rate| answers.next().unwrap() && rate < 1e9);
        }
    }

    #[test]
    fn a_rate_may_fail_once() {
        let mut failed = false;
        let (found, _) = search(100.0, |rate| {
            if rate == 400.0 && !failed {
                failed = true;
                return false;
            }
            rate <= 5_000.0
        });
        assert!(found.unwrap() > 4_900.0);
    }

    #[test]
    fn it_steps_back_when_the_boundary_does_not_hold() {
        let (mut search, mut long_tries) = (Search::from(100.0), 0);
        let found = loop {
            match search.next() {
                Next::Found(found) => break found.unwrap(),
                Next::Try { rate, long } => {
                    long_tries += u32::from(long);
                    search.tried(rate <= if long { 900.0 } else { 1_000.0 });
                }
            }
        };
        assert!(found <= 900.0 && found > 850.0, "{found}");
        assert!(long_tries > BOUNDARY);
    }

    #[test]
    fn no_rate_is_kept() {
        let (found, tried) = search(100.0, |_| false);
        assert_eq!((found, tried), (None, vec![100.0, 100.0]));
    }

    #[test]
    fn the_first_rate_has_answers_enough() {
        assert_eq!(first_rate(99.0, 10.0), 120.0);
        assert_eq!(first_rate(50.0, 10.0), 100.0);
        assert_eq!(first_rate(99.9, 1.0), 12_000.0);
    }
}
