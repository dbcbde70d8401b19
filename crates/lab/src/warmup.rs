//! Warming up: a load runs unmeasured until it is steady, or until its time is up.

use crate::load::Extent;
use crate::text::Span;
use prony_engine::{Nanos, Window, clock};
use prony_stats::steady::steadiness;
use serde::{Deserialize, Serialize};

/// Between deciding when to measure and the beginning of the measurement: enough for every
/// worker and the watch to hear of it.
const NOTICE: Nanos = 3_000_000;

/// How the warm-up went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    rates: Vec<f64>,
    begun: Option<Nanos>,
    over: Option<WarmUp>,
}

impl Warming {
    /// Ends when the load is steady, and at `limit` at the latest; then `extent` is measured.
    pub fn new(limit: Span, extent: Extent) -> Self {
        Self {
            limit: clock::nanos(limit.0),
            extent,
            rates: Vec::new(),
            begun: None,
            over: None,
        }
    }

    /// Is it still going on?
    pub fn is_on(&self) -> bool {
        self.over.is_none()
    }

    /// A window has ended. When this ends the warm-up: from when to when to measure, which is
    /// from the end of the first window that everybody can still be told about.
    pub fn after(&mut self, window: &Window) -> Option<(Nanos, Nanos)> {
        let begun = *self.begun.get_or_insert(window.start);
        if self.over.is_some() {
            return None;
        }
        self.rates.push(window.rate());
        let ended = window.start + window.length;
        let steady = steadiness(&self.rates, None).is_steady();
        if !steady && ended - begun < self.limit {
            return None;
        }
        let now = clock::now() + NOTICE;
        let from = ended + now.saturating_sub(ended).div_ceil(window.length) * window.length;
        self.over = Some(WarmUp {
            length: from - begun,
            steady,
        });
        let until = match self.extent {
            Extent::Duration(span) => from + clock::nanos(span.0),
            Extent::Requests(_) => Nanos::MAX,
        };
        Some((from, until))
    }

    /// How it went.
    pub fn result(&self) -> WarmUp {
        self.over.unwrap_or(WarmUp {
            length: 0,
            steady: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const MS: Nanos = 1_000_000;

    fn windows(rates: &[u64]) -> Vec<Window> {
        // Windows of the past, so that notice never is the limit.
        let start = clock::now() - 1_000_000 * MS;
        rates
            .iter()
            .zip(0..)
            .map(|(&ok, index)| {
                let mut window =
                    Window::empty(index, start + Nanos::from(index) * 100 * MS, 100 * MS);
                window.outcomes.ok = ok;
                window
            })
            .collect()
    }

    fn warm(rates: &[u64], limit_ms: u64) -> (WarmUp, Option<usize>) {
        let limit = Span(Duration::from_millis(limit_ms));
        let mut warming = Warming::new(limit, Extent::Duration(Span(Duration::from_secs(1))));
        let over = windows(rates)
            .iter()
            .position(|window| warming.after(window).is_some());
        (warming.result(), over)
    }

    #[test]
    fn it_ends_when_the_load_is_steady() {
        let (result, over) = warm(&[1, 20, 60, 100, 101, 99, 100, 100, 100], 60_000);
        assert!(result.steady);
        assert_eq!(over, Some(7));
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
        let window = windows(&[1]).remove(0);
        let (from, until) = warming.after(&window).unwrap();
        assert!(from > clock::now() && (from - window.start).is_multiple_of(window.length));
        assert_eq!(until, Nanos::MAX);
        assert!(!warming.is_on() && warming.after(&window).is_none());
    }
}
