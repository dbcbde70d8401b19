//! Has it changed, since which run, and by how much?
//!
//! A run counts as one value, the mean of its trials: what changes from run to run is more than what
//! changes from trial to trial, and only runs tell it. Changes are those that
//! [`change_points`](mod@prony_stats::change_points) finds in the runs' values in their order, and one that
//! [`change_of_mean`](mod@prony_stats::change_of_mean) finds at their end, or among few; each is
//! said with the ratio of the means after and before and Fieller's interval over runs. The interval
//! takes the place of the change for known. It was found in the same values, so it errs towards being
//! too narrow.

use super::{CellHistory, Measure};
use crate::show;
use jiff::Timestamp;
use prony_stats::change_of_mean::{self, change_of_mean};
use prony_stats::change_points::{SHORTEST, change_points, penalty};
use prony_stats::mean::mean;
use prony_stats::summary::standard_deviation;
use prony_stats::{Estimate, StatsError, Unit, fieller};

/// The fewest runs in which a change can be found: as many before it as after it.
pub const FEWEST: usize = 2 * change_of_mean::FEWEST;

/// A run's value.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryPoint {
    /// The run's number.
    pub run: i64,
    /// When it began.
    pub started: Timestamp,
    /// The server's version, or the commit that it was built from; empty when that is not known.
    pub version: String,
    /// The mean over its trials, with its interval where there are two or more.
    pub value: Estimate,
}

/// Runs between two changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretch {
    /// The place of its first run.
    pub from: usize,
    /// The place after its last run.
    pub to: usize,
    /// The mean over its runs.
    pub mean: Estimate,
}

/// A change.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryChange {
    /// The place of the first run after it.
    pub at: usize,
    /// The mean after it as a multiple of the one before, with its interval over runs.
    pub ratio: Estimate,
    /// Description of the change: `slower since run 31 (3f2a9c1, 2026-03-12): 0.930× (0.910 to 0.950)`.
    pub words: String,
}

/// History of a measure of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// Measure that is examined.
    pub measure: Measure,
    /// The runs that have it, in the order of their numbers.
    pub points: Vec<HistoryPoint>,
    /// Stretches between changes; one stretch if there are no changes.
    pub stretches: Vec<Stretch>,
    /// The changes, in the order of runs.
    pub changes: Vec<HistoryChange>,
}

impl History {
    /// Looks at a cell.
    ///
    /// # Errors
    /// When a value is not finite, or a mean that is to be compared is not above zero.
    pub fn new(cell: &CellHistory, measure: Measure) -> Result<Self, StatsError> {
        let unit = match measure {
            Measure::Throughput => Unit::PerSecond,
            Measure::P99 => Unit::Nanoseconds,
            Measure::Cpu => Unit::CpuNanosecondsPerRequest,
        };
        let mut points = Vec::new();
        for visit in &cell.visits {
            let values = visit.values(measure);
            if !values.is_empty() {
                points.push(HistoryPoint {
                    run: visit.run,
                    started: visit.started,
                    version: visit.version.clone(),
                    value: mean(values, unit)?,
                });
            }
        }
        let values: Vec<f64> = points.iter().map(|point| point.value.value()).collect();
        let (cuts, few) = cuts(&values)?;
        let ends = cuts.iter().copied().chain([values.len()]);
        let starts = [0].into_iter().chain(cuts.iter().copied());
        let mut stretches = Vec::new();
        for (from, to) in starts.zip(ends).filter(|(from, to)| from < to) {
            let mean = mean(&values[from..to], unit)?;
            stretches.push(Stretch { from, to, mean });
        }
        let mut changes = Vec::new();
        for pair in stretches.windows(2) {
            let (before, after) = (
                &values[pair[0].from..pair[0].to],
                &values[pair[1].from..pair[1].to],
            );
            let ratio = match few == Some(pair[1].from) {
                true => fieller::ratio_of_means_spread_alike(after, before)?,
                false => fieller::ratio_of_means(after, before)?,
            };
            let first = &points[pair[1].from];
            changes.push(HistoryChange {
                at: pair[1].from,
                words: words(measure, first, &ratio, before, after),
                ratio,
            });
        }
        Ok(Self {
            measure,
            points,
            stretches,
            changes,
        })
    }

    /// Result in a sentence: the latest change, or that there is none, or that there are too few runs to tell.
    pub fn sentence(&self) -> String {
        let n = self.points.len();
        if let Some(last) = self.changes.last() {
            let mut text = last.words.clone();
            if let Some(first) = text.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            let more = match self.changes.len() {
                1 => String::new(),
                2 => " One change before that.".into(),
                many => format!(" {} changes before that.", many - 1),
            };
            return format!("{text}.{more}");
        }
        match n {
            0 => "No run has it.".into(),
            n if n < FEWEST => format!(
                "{} too few to tell a change from chance. A large one takes {FEWEST}: {half} before it and {half} after it.",
                if n == 1 {
                    "One run is".into()
                } else {
                    format!("{n} runs are")
                },
                half = change_of_mean::FEWEST
            ),
            n => format!(
                "No change found in {n} runs since {}.",
                day(self.points[0].started)
            ),
        }
    }
}

/// Where the values change, in ascending order; the one of these that was found among few.
fn cuts(values: &[f64]) -> Result<(Vec<usize>, Option<usize>), StatsError> {
    let n = values.len();
    let segments = |end: usize| match end < 2 * SHORTEST {
        true => Ok(Vec::new()),
        false => change_points(&values[..end], penalty(n), SHORTEST),
    };
    // The end first: what is too short for a segment would be cut off together with what was before it.
    let last = segments(n.saturating_sub(SHORTEST - 1))?.last().copied();
    let last = last.unwrap_or(0);
    let few = change_of_mean(&values[last..]).map(|at| last + at);
    let few = few.filter(|at| n - at < SHORTEST || n < 2 * SHORTEST);
    let mut cuts = segments(few.unwrap_or(n))?;
    cuts.extend(few);
    Ok((cuts, few))
}

fn words(
    measure: Measure,
    first: &HistoryPoint,
    ratio: &Estimate,
    before: &[f64],
    after: &[f64],
) -> String {
    let between = ratio.interval().map_or(String::new(), |interval| {
        format!(" ({:.3} to {:.3})", interval.low(), interval.high())
    });
    let version = match first.version.as_str() {
        "" => String::new(),
        version => format!("{version}, "),
    };
    let since = format!("since run {} ({version}{})", first.run, day(first.started));
    let size = format!("{}{between}", show::ratio(ratio.value()));
    let (less, more) = match measure {
        Measure::Throughput => ("slower", "faster"),
        Measure::P99 => ("shorter", "longer"),
        Measure::Cpu => ("cheaper", "more expensive"),
    };
    // A ratio whose interval contains 1: what changed is how far the runs lie apart.
    if ratio
        .interval()
        .is_none_or(|interval| interval.contains(1.0))
    {
        let wider = standard_deviation(after) > standard_deviation(before);
        let spread = if wider {
            "further apart"
        } else {
            "closer together"
        };
        return format!("runs lie {spread} {since}, at about the same level: {size}");
    }
    let word = if ratio.value() < 1.0 { less } else { more };
    format!("{word} {since}: {size}")
}

/// A day, in UTC.
pub fn day(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::super::Visit;
    use super::*;
    use prony_notebook::TrialId;

    /// A run a day from 2026-03-01 on, of two trials each, at these levels.
    fn cell(levels: &[f64]) -> CellHistory {
        let first: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let visit = |(at, level): (usize, &f64)| {
            // Close to each other, and not in step with the runs.
            let wobble = 1.0 + 0.004 * ((at * 7 % 5) as f64 - 2.0);
            let value = level * wobble;
            Visit {
                run: at as i64 + 1,
                started: Timestamp::from_second(first.as_second() + 86_400 * at as i64).unwrap(),
                version: format!("v{at}"),
                prony: "1".into(),
                kernel: "k".into(),
                throughput: vec![value * 0.999, value * 1.001],
                p99: vec![1e9 / value],
                cpu: Vec::new(),
            }
        };
        CellHistory {
            first: TrialId(1),
            server: "it".into(),
            load: "c64".into(),
            experiment: "e".into(),
            contract: "http-echo".into(),
            host: "h".into(),
            visits: levels.iter().enumerate().map(visit).collect(),
        }
    }

    #[test]
    fn a_change_is_found_with_its_day_and_its_size() {
        let mut levels = vec![1_000.0; 11];
        levels.extend([930.0; 9]);
        let history = History::new(&cell(&levels), Measure::Throughput).unwrap();
        let [change] = &history.changes[..] else {
            panic!("{history:?}");
        };
        assert_eq!(change.at, 11);
        assert!(
            change.ratio.interval().unwrap().contains(0.93),
            "{change:?}"
        );
        assert!(change.ratio.high().unwrap() < 0.95, "{change:?}");
        let sentence = history.sentence();
        assert!(
            sentence.starts_with("Slower since run 12 (v11, 2026-03-12): 0.9"),
            "{sentence}"
        );
        assert!(sentence.contains(" to 0.9"), "{sentence}");
        assert_eq!(history.stretches.len(), 2);
        assert!((history.stretches[1].mean.value() - 930.0).abs() < 5.0);
        // The same runs, seen from the response time: longer, by the inverse.
        let times = History::new(&cell(&levels), Measure::P99).unwrap();
        assert!(
            times
                .sentence()
                .starts_with("Longer since run 12 (v11, 2026-03-12): 1.0"),
            "{}",
            times.sentence()
        );
    }

    #[test]
    fn the_latest_of_several_changes_is_told_first() {
        let mut levels = vec![1_000.0; 8];
        levels.extend([800.0; 8]);
        levels.extend([1_200.0; 8]);
        let history = History::new(&cell(&levels), Measure::Throughput).unwrap();
        assert_eq!(
            history
                .changes
                .iter()
                .map(|change| change.at)
                .collect::<Vec<_>>(),
            [8, 16]
        );
        let sentence = history.sentence();
        assert!(
            sentence.starts_with("Faster since run 17 (v16, 2026-03-17): 1."),
            "{sentence}"
        );
        assert!(sentence.ends_with(" One change before that."), "{sentence}");
    }

    #[test]
    fn steady_runs_have_not_changed() {
        let history = History::new(&cell(&[1_000.0; 20]), Measure::Throughput).unwrap();
        assert_eq!(
            history.sentence(),
            "No change found in 20 runs since 2026-03-01."
        );
        assert_eq!(history.stretches.len(), 1);
    }

    #[test]
    fn few_runs_prove_nothing_whatever_they_are() {
        let history = |n: usize, measure| {
            let levels: Vec<f64> = (0..n).map(|at| 1_000.0 * (1 + at) as f64).collect();
            History::new(&cell(&levels), measure).unwrap()
        };
        assert_eq!(
            history(3, Measure::Throughput).sentence(),
            "3 runs are too few to tell a change from chance. A large one takes 4: 2 before it and 2 after it."
        );
        assert!(
            history(1, Measure::Throughput)
                .sentence()
                .starts_with("One run is too few")
        );
        assert_eq!(history(12, Measure::Cpu).sentence(), "No run has it.");
        assert!(history(0, Measure::Throughput).stretches.is_empty());
    }

    #[test]
    fn two_runs_show_a_large_change_among_few_and_after_many() {
        for before in [3, 20] {
            let levels = [vec![1_000.0; before], vec![800.0; 2]].concat();
            let history = History::new(&cell(&levels), Measure::Throughput).unwrap();
            let [change] = &history.changes[..] else {
                panic!("{history:?}");
            };
            assert_eq!(change.at, before);
            let interval = change.ratio.interval().unwrap();
            assert!(
                interval.contains(0.8) && interval.high() < 0.9,
                "{change:?}"
            );
        }
    }

    #[test]
    fn a_change_of_the_spread_alone_is_not_called_slower() {
        let steady = (0..12).map(|_| 1_000.0);
        let wild = (0..12).map(|at| if at % 2 == 0 { 700.0 } else { 1_300.0 });
        let levels: Vec<f64> = steady.chain(wild).collect();
        let history = History::new(&cell(&levels), Measure::Throughput).unwrap();
        let sentence = history.sentence();
        assert!(
            sentence.starts_with("Runs lie further apart since run 1"),
            "{sentence}"
        );
    }
}
