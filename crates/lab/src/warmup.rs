//! Warming up: a load runs unmeasured until it is steady, or until its time is up.

use prony_engine::{Nanos, clock};
use prony_record::{Extent, Span, Window};
use prony_stats::steady::steadiness;

/// Between deciding when to measure and the beginning of the measurement: enough for every
/// worker and the watch to hear of it.
const NOTICE: Nanos = 3_000_000;

/// A measurement lasts for so many median response times at least: of a shorter one the rate depends on which answers happen
/// to end in it.
pub const ANSWERS: Nanos = 20;

/// A measurement begins after so many median response times of the same load: in the first the connections' requests are
/// spread, and in the others they find each other in the queues as they will be.
pub const LEAD_IN: Nanos = 5;

/// How the warm-up went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WarmUp {
    /// How long it was.
    pub length: Nanos,
    /// The load was steady at its end.
    pub steady: bool,
}

/// Decides when the warm-up is over.
#[derive(Debug)]
pub struct Warming {
    limit: Nanos,
    extent: Extent,
    /// Right answers in each window.
    answers: Vec<u64>,
    /// The shortest median response time of a window.
    response: Option<Nanos>,
    /// A request has ended, in whatever way.
    ended: bool,
    over: Option<WarmUp>,
}

impl Warming {
    /// Ends when the load is steady, and at `limit` at the latest, but not before the first answers; then `extent` is measured.
    pub fn new(limit: Span, extent: Extent) -> Self {
        Self {
            limit: clock::nanos(limit.0),
            extent,
            answers: Vec::new(),
            response: None,
            ended: false,
            over: None,
        }
    }

    /// A window has ended, when the load has lasted for `elapsed`. When this ends the warm-up: from when
    /// until when to measure, since the load's start; from the end of the first window of which every
    /// worker can still be told.
    pub fn after(&mut self, window: &Window, elapsed: Nanos) -> Option<(Nanos, Nanos)> {
        if self.over.is_some() {
            return None;
        }
        self.answers.push(window.verified_answers);
        self.response = self.response.into_iter().chain(window.p50_ns).min();
        self.ended |= window.verified_answers + window.failed() > 0;
        let ended = window.end_ns();
        // Windows in which nothing has ended yet are as like each other as can be.
        let steady = self.ended && steadiness(&self.rates(window.length_ns)).is_steady();
        // Before the first answer nothing is known of how long to measure; a server that gives none times out.
        let least = LEAD_IN * self.response.unwrap_or(0);
        if !steady && (!self.ended || ended < self.limit.max(least)) {
            return None;
        }
        let late = (elapsed + NOTICE).saturating_sub(ended);
        let from = ended + late.div_ceil(window.length_ns) * window.length_ns;
        self.over = Some(WarmUp {
            length: from,
            steady,
        });
        let least = ANSWERS * self.response.unwrap_or(0);
        let until = until(from, self.extent).max(from.saturating_add(least));
        Some((from, until))
    }

    /// Answers in pieces of equal length, up to the latest window: windows of this length, or as many together as two answers
    /// take. In a shorter piece there are as many as happen to end in it.
    fn rates(&self, window: Nanos) -> Vec<f64> {
        let together = (2 * self.response.unwrap_or(0))
            .div_ceil(window.max(1))
            .max(1);
        let pieces = self.answers.rchunks_exact(together as usize);
        let sums = pieces.map(|piece| piece.iter().sum::<u64>() as f64);
        let mut rates: Vec<f64> = sums.collect();
        rates.reverse();
        rates
    }

    /// How it went.
    pub fn result(&self) -> WarmUp {
        self.over.unwrap_or_default()
    }
}

/// When a measurement that begins at `from` ends.
pub fn until(from: Nanos, extent: Extent) -> Nanos {
    match extent {
        Extent::Duration(span) => from.saturating_add(clock::nanos(span.0)),
        Extent::Requests(_) => Nanos::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const MS: Nanos = 1_000_000;

    fn warm(rates: &[u64], limit_ms: u64) -> (WarmUp, Option<usize>) {
        let limit = Span(Duration::from_millis(limit_ms));
        let mut warming = Warming::new(limit, Extent::Duration(Span(Duration::from_secs(1))));
        let over = rates.iter().zip(0..).position(|(&ok, index)| {
            let mut window = Window::empty(index, Nanos::from(index) * 100 * MS, 100 * MS);
            window.verified_answers = ok;
            warming.after(&window, window.end_ns()).is_some()
        });
        (warming.result(), over)
    }

    #[test]
    fn it_ends_when_the_load_is_steady() {
        let (result, over) = warm(&[1, 20, 60, 100, 101, 99, 100, 100, 100], 60_000);
        assert!(result.steady);
        assert_eq!(over, Some(7));
    }

    #[test]
    fn slow_answers_are_waited_for_and_fit_into_the_measurement() {
        let limit = Span(Duration::from_secs(10));
        let mut warming = Warming::new(limit, Extent::Duration(Span(Duration::from_millis(200))));
        // Eight connections, all of which are answered every 300 ms.
        let over = (0..).find_map(|index| {
            let mut window = Window::empty(index, Nanos::from(index) * 50 * MS, 50 * MS);
            if index >= 6 && index % 6 == 0 {
                window.verified_answers = 8;
                window.p50_ns = Some(300 * MS);
            }
            warming.after(&window, window.end_ns())
        });
        let (from, until) = over.unwrap();
        assert!(
            (3_000 * MS..4_000 * MS).contains(&from),
            "{from}: five times two answers"
        );
        assert_eq!(until - from, 6_000 * MS);
        assert!(warming.result().steady);
    }

    #[test]
    fn it_ends_at_its_limit() {
        let (result, over) = warm(&[1, 2, 4, 8, 16, 32, 64], 500);
        assert!(!result.steady);
        assert_eq!(over, Some(4));
    }

    #[test]
    fn what_is_measured_begins_at_a_window_and_in_the_future() {
        let mut warming = Warming::new(Span(Duration::ZERO), Extent::Requests(5));
        let mut window = Window::empty(0, 0, 100 * MS);
        window.verified_answers = 1;
        let late = 250 * MS;
        let (from, until) = warming.after(&window, late).unwrap();
        assert_eq!((from, until), (300 * MS, Nanos::MAX));
        assert!(warming.after(&window, late).is_none());
    }
}
