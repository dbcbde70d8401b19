//! How long a server needs after a spike until it answers as before.

use super::WindowSummary;
use crate::show;
use prony_record::{Change, Stage};
use schemars::JsonSchema;
use serde::Serialize;

/// A rate, or a number of connections, that falls to less than this part of what it was ends a spike.
const FALL: f64 = 0.8;
/// Windows before a spike are compared with if they were asked for no more than this times what is asked for after it.
const ALIKE: f64 = 1.1;
/// A server answers as before when the median response time is at most this times what it was. A shift of a few per
/// cent is lost among what windows differ by anyway, and a queue that is being worked off makes it many times as much.
const BACK: f64 = 2.0;
/// Number of good windows in a row that are a recovery: a single one between two bad ones is none.
const IN_A_ROW: usize = 2;

/// Recovery after a spike. A spike is a stage, or the top of a ramp, after which the rate or the number of connections
/// falls.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Recovery {
    /// When the spike ended, in seconds since the load's start.
    pub spike_end: f64,
    /// The rate at its end, in requests per second; null where the number of connections changes.
    pub spike_rate: Option<f64>,
    /// The number of connections at its end; null where the rate changes.
    pub spike_connections: Option<f64>,
    /// The median over windows before the spike, at a load like that after it, of their median response times, in
    /// nanoseconds.
    pub before_p50: u64,
    /// After the spike's end the median response time was at most twice that from some moment on, which came no sooner and
    /// no later than this, in seconds; null when it was not until the load changed again, or ended.
    pub after: Option<(f64, f64)>,
    /// How long the load stayed low, in seconds.
    pub seen: f64,
    /// The median response time in the last window of that time, in nanoseconds; null without an answer.
    pub last_p50: Option<u64>,
}

/// The spikes of a load that changes, and what came after each. One that nothing before can be compared with is left
/// out.
#[must_use]
pub fn recoveries(change: Change<'_>, over_time: &[WindowSummary]) -> Vec<Recovery> {
    let stages = change.stages();
    let ends = stages.iter().scan(0.0, |time, stage| {
        *time += stage.duration.0.as_secs_f64();
        Some(*time)
    });
    let ends: Vec<f64> = ends.collect();
    let falls = |&at: &usize| stages[at + 1].from < FALL * stages[at].to;
    let falls = (0..stages.len().saturating_sub(1)).filter(falls);
    falls
        .filter_map(|at| {
            let begin = at.checked_sub(1).map_or(0.0, |before| ends[before]);
            recovery(
                change,
                &stages[at],
                begin,
                (ends[at], ends[at + 1]),
                &stages[at + 1],
                over_time,
            )
        })
        .collect()
}

fn recovery(
    change: Change<'_>,
    spike: &Stage,
    begin: f64,
    (end, until): (f64, f64),
    low: &Stage,
    over_time: &[WindowSummary],
) -> Option<Recovery> {
    // Edges of windows are whole nanoseconds, and those of stages need not be.
    const NEAR: f64 = 1e-6;
    let asked = low.from.max(low.to) * ALIKE;
    // Of a ramp the beginning counts as before it.
    let before_end = if spike.from < spike.to { end } else { begin };
    let alike = |one: &&WindowSummary| one.until <= before_end + NEAR && one.asked() <= asked;
    let mut before: Vec<u64> = over_time
        .iter()
        .filter(alike)
        .filter_map(|one| one.p50)
        .collect();
    before.sort_unstable();
    let before_p50 = *before.get(before.len() / 2)?;
    let after = |one: &&WindowSummary| one.from >= end - NEAR && one.until <= until + NEAR;
    let windows: Vec<&WindowSummary> = over_time.iter().filter(after).collect();
    let is_back = |one: &&WindowSummary| {
        one.p50
            .is_some_and(|p50| p50 as f64 <= BACK * before_p50 as f64)
    };
    let back = windows
        .windows(IN_A_ROW)
        .find(|row| row.iter().all(is_back))
        .map(|row| row[0]);
    Some(Recovery {
        spike_end: end,
        spike_rate: matches!(change, Change::Rate(_)).then_some(spike.to),
        spike_connections: matches!(change, Change::Connections(_)).then_some(spike.to),
        before_p50,
        after: back.map(|one| ((one.from - end).max(0.0), one.until - end)),
        seen: windows.last()?.until - end,
        last_p50: windows.last()?.p50,
    })
}

impl Recovery {
    /// In a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let end = self.spike_end;
        let spike = match self.spike_rate {
            Some(rate) => show::rate(rate),
            None => format!(
                "{:.0} connections",
                self.spike_connections.unwrap_or_default()
            ),
        };
        let before = show::time(self.before_p50 as f64);
        match self.after {
            Some((least, most)) => format!(
                "{least:.2} to {most:.2} s after the spike of {spike} that ended at {end:.1} s: the median response time was \
                 within twice the {before} of before"
            ),
            None => format!(
                "not in the {:.1} s after the spike of {spike} that ended at {end:.1} s: the median response time was {} at \
                 their end, and {before} before the spike",
                self.seen,
                show::time_or_dash(self.last_p50),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Recovery, recoveries};
    use crate::load::WindowSummary;
    use prony_record::{Change, Span, Stage};
    use std::time::Duration;

    fn stage(from: f64, to: f64, seconds: u64) -> Stage {
        Stage {
            from,
            to,
            duration: Span(Duration::from_secs(seconds)),
        }
    }

    /// Windows of a second; the rate that was asked for and the median, in milliseconds, of each.
    fn moments(all: &[(f64, u64)]) -> Vec<WindowSummary> {
        let moment = |(at, &(rate_asked, ms)): (usize, &(f64, u64))| WindowSummary {
            from: at as f64,
            until: at as f64 + 1.0,
            rate_asked: Some(rate_asked),
            connections: None,
            throughput: rate_asked,
            p50: (ms > 0).then_some(ms * 1_000_000),
            p99: None,
            failed: 0,
        };
        all.iter().enumerate().map(moment).collect()
    }

    const SPIKE: [(f64, f64, u64); 3] = [(100.0, 100.0, 3), (900.0, 900.0, 2), (100.0, 100.0, 5)];

    fn of(after: [u64; 5]) -> Vec<Recovery> {
        let before = [
            (100.0, 2),
            (100.0, 3),
            (100.0, 2),
            (900.0, 50),
            (900.0, 400),
        ];
        let after = after.map(|ms| (100.0, ms));
        let stages = SPIKE.map(|(from, to, seconds)| stage(from, to, seconds));
        recoveries(
            Change::Rate(&stages),
            &moments(&[&before[..], &after].concat()),
        )
    }

    #[test]
    fn a_queue_is_worked_off() {
        let [it] = &of([300, 40, 4, 3, 2])[..] else {
            panic!()
        };
        assert_eq!((it.spike_end, it.spike_rate), (5.0, Some(900.0)));
        assert_eq!(it.before_p50, 2_000_000);
        assert_eq!(it.after, Some((2.0, 3.0)));
        assert!(
            it.sentence()
                .starts_with("2.00 to 3.00 s after the spike of 900 req/s"),
            "{}",
            it.sentence()
        );
        assert_eq!(of([2, 2, 2, 2, 2])[0].after, Some((0.0, 1.0)));
    }

    #[test]
    fn spikes_of_connections() {
        let stages = SPIKE.map(|(from, to, seconds)| stage(from, to, seconds));
        let mut all = moments(&[
            (100.0, 2),
            (100.0, 2),
            (100.0, 2),
            (900.0, 90),
            (900.0, 90),
            (100.0, 2),
            (100.0, 2),
        ]);
        for one in &mut all {
            one.connections = one.rate_asked.take();
        }
        let [it] = &recoveries(Change::Connections(&stages), &all)[..] else {
            panic!()
        };
        assert_eq!((it.spike_rate, it.spike_connections), (None, Some(900.0)));
        let sentence = it.sentence();
        assert!(
            sentence.contains("the spike of 900 connections that ended"),
            "{sentence}"
        );
    }

    #[test]
    fn one_good_window_is_no_recovery() {
        assert_eq!(of([300, 3, 40, 2, 2])[0].after, Some((3.0, 4.0)));
        let it = &of([400, 300, 0, 100, 50])[0];
        assert_eq!(
            (it.after, it.seen, it.last_p50),
            (None, 5.0, Some(50_000_000))
        );
        assert!(
            it.sentence().starts_with("not in the 5.0 s after"),
            "{}",
            it.sentence()
        );
    }

    #[test]
    fn a_ramp_is_compared_with_its_own_beginning() {
        let stages = [stage(100.0, 900.0, 4), stage(200.0, 200.0, 2)];
        let all = moments(&[
            (200.0, 3),
            (400.0, 5),
            (600.0, 9),
            (800.0, 70),
            (200.0, 30),
            (200.0, 6),
        ]);
        let [it] = &recoveries(Change::Rate(&stages), &all)[..] else {
            panic!()
        };
        assert_eq!((it.before_p50, it.after), (3_000_000, None));
    }

    #[test]
    fn without_a_spike_or_a_time_before_it_nothing_is_said() {
        let up = [stage(100.0, 100.0, 2), stage(900.0, 900.0, 2)];
        let down = [stage(900.0, 900.0, 2), stage(100.0, 100.0, 2)];
        let all = moments(&[(900.0, 2), (900.0, 2), (100.0, 2), (100.0, 2)]);
        assert_eq!(recoveries(Change::Rate(&up), &all), []);
        assert_eq!(recoveries(Change::Rate(&down), &all), []);
        assert_eq!(recoveries(Change::Rate(&[stage(1.0, 9.0, 2)]), &all), []);
        assert_eq!(recoveries(Change::Rate(&[]), &[]), []);
    }
}
