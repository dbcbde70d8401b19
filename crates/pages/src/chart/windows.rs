//! Time inside trials: the rate of every window, warm-up shaded, changes marked.

use super::text::{px, rate_tick, shortened};
use super::{Align, Chart, ChartKind, Table, name};
use crate::material::{Material, StoredTrial};
use crate::scale::Scale;
use maud::{Markup, html};
use prony_record::{Phase, Window};
use prony_report::run::CellReport;
use prony_report::show;
use prony_stats::change_points::{SHORTEST, change_points, penalty};
use std::fmt::Write;

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 176.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 408.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 138.0;
/// The most and the fewest points of a trial that are drawn: a longer one is drawn by the means of
/// neighbours.
const POINTS: (usize, usize) = (60, 16);
/// Points that are drawn in a whole page: it is to stay small.
const PAGE_POINTS: usize = 20_000;
/// Trials of a cell that are drawn. More would be a carpet; the table has all of them.
const TRIALS: usize = 12;

pub(super) fn charts(material: &Material) -> Vec<Chart> {
    let drawn = material
        .report
        .cells
        .iter()
        .map(|cell| TRIALS.min(cell.trials as usize));
    let points = PAGE_POINTS / drawn.sum::<usize>().max(1);
    let points = points.clamp(POINTS.1, POINTS.0);
    material
        .report
        .cells
        .iter()
        .filter_map(|cell| chart(material, cell, points))
        .collect()
}

/// A trial over time.
struct TrialSeries {
    round: u32,
    /// Middle of each window in seconds since the measurement began, its rate, and its phase.
    points: Vec<(f64, f64, Phase)>,
    /// Where the rate changes within the measurement, in the same seconds.
    changes: Vec<f64>,
    /// Seconds of warm-up.
    warmup: f64,
    /// Where the measurement ends, in the same seconds.
    end: f64,
}

fn series(part: &StoredTrial) -> Option<TrialSeries> {
    let windows: Vec<&Window> = part
        .recording
        .windows
        .iter()
        .filter(|w| w.length_ns > 0)
        .collect();
    let seconds = |ns: u64| ns as f64 / 1e9;
    let begin = windows
        .iter()
        .find(|window| window.phase == Phase::Measure)?
        .start_ns;
    let since = |ns: u64| seconds(ns) - seconds(begin);
    let rate = |window: &Window| window.verified_answers as f64 / seconds(window.length_ns);
    let points = windows.iter().map(|window| {
        let middle = since(window.start_ns) + seconds(window.length_ns) / 2.0;
        (middle, rate(window), window.phase)
    });
    let measured: Vec<&&Window> = windows
        .iter()
        .filter(|window| window.phase == Phase::Measure)
        .collect();
    let rates: Vec<f64> = measured.iter().map(|window| rate(window)).collect();
    let found = change_points(&rates, penalty(rates.len()), SHORTEST).unwrap_or_default();
    Some(TrialSeries {
        round: part.trial().round + 1,
        points: points.collect(),
        changes: found
            .into_iter()
            .map(|at| since(measured[at].start_ns))
            .collect(),
        warmup: seconds(begin) - seconds(windows[0].start_ns),
        end: windows
            .last()
            .map_or(0.0, |last| since(last.start_ns + last.length_ns)),
    })
}

fn chart(material: &Material, cell: &CellReport, most: usize) -> Option<Chart> {
    let parts = material.trials_of(cell);
    let courses: Vec<TrialSeries> = parts.iter().filter_map(|part| series(part)).collect();
    let drawn = &courses[..courses.len().min(TRIALS)];
    if drawn
        .iter()
        .map(|series| series.points.len())
        .max()
        .unwrap_or(0)
        < 3
    {
        return None;
    }
    let label = cell.label();
    let look = material.series.look(&label);
    let thinned: Vec<Vec<(f64, f64, Phase)>> = drawn
        .iter()
        .map(|series| thin(&series.points, most))
        .collect();
    let all = || thinned.iter().flatten();
    let end = drawn.iter().map(|series| series.end).fold(0.0, f64::max);
    // A long warm-up is not to squeeze what was measured: at most twice its length is drawn.
    let begin = drawn.iter().map(|series| -series.warmup);
    let begin = begin.fold(0.0, f64::min).max(-2.0 * end);
    let x = |value: f64| LEFT + (RIGHT - LEFT) * (value - begin) / (end - begin).max(1e-9);
    let scale = Scale::from_zero(all().filter(|point| point.0 >= begin).map(|point| point.1));
    let y = |value: f64| scale.place(value, BOTTOM, TOP);
    let drawing: Markup = html! {
        @if begin < 0.0 {
            rect.warmup x=(px(LEFT)) width=(px(x(0.0) - LEFT)) y=(px(TOP)) height=(px(BOTTOM - TOP)) {}
            text.tick x=(px(LEFT + 4.0)) y=(px(BOTTOM - 5.0)) { "warm-up" }
        }
        @for tick in scale.ticks(4) {
            line.grid x1=(px(LEFT)) x2=(px(RIGHT)) y1=(px(y(tick))) y2=(px(y(tick))) {}
            text.tick x=(px(LEFT - 6.0)) y=(px(y(tick) + 4.0)) text-anchor="end" { (rate_tick(tick)) }
        }
        path.axis d=(format!("M{} {}V{}H{}", px(LEFT), px(TOP), px(BOTTOM), px(RIGHT))) {}
        @for (at, words) in [(begin, show_seconds(begin)), (0.0, "0".to_owned()), (end, show_seconds(end))] {
            @if begin < 0.0 || at > begin || at == 0.0 {
                text.tick x=(px(x(at))) y=(px(BOTTOM + 15.0)) text-anchor=(anchor(at, begin, end)) { (words) }
            }
        }
        text.label x=(px((LEFT + RIGHT) / 2.0)) y=(px(BOTTOM + 32.0)) text-anchor="middle" { "seconds since the measurement began" }
        g class=(format!("course {}", look.class())) {
            @for (series, points) in drawn.iter().zip(&thinned) {
                path.m.line d=(line(points, begin, &x, &y)) tabindex="-1" role="img" aria-label=(words(&label, series)) {}
                @for change in &series.changes {
                    path.m.change d=(format!("M{} {}v{}", px(x(*change)), px(TOP), px(BOTTOM - TOP))) tabindex="-1"
                        role="img" aria-label=(format!("{label}, round {}: the rate changes {change:.2} s into the measurement", series.round)) {}
                }
            }
        }
    };
    let mut table = Table::new([
        ("round", Align::Left),
        ("windows", Align::Right),
        ("warm-up", Align::Right),
        ("slowest window", Align::Right),
        ("fastest", Align::Right),
        ("changes at", Align::Left),
    ]);
    for series in &courses {
        let (slow, fast) = extremes(series);
        let changes: Vec<String> = series
            .changes
            .iter()
            .map(|at| format!("{at:.2} s"))
            .collect();
        table.row([
            series.round.to_string(),
            series.points.len().to_string(),
            show::time(series.warmup * 1e9),
            show::rate(slow),
            show::rate(fast),
            changes.join(", "),
        ]);
    }
    let changed = courses
        .iter()
        .filter(|series| !series.changes.is_empty())
        .count();
    let note = match (changed, courses.len() - drawn.len()) {
        (0, 0) => String::new(),
        (0, more) => format!("The first {TRIALS} trials; {more} more are in the table."),
        (n, 0) => format!("The rate changes within {n} of {} trials.", courses.len()),
        (n, more) => format!(
            "The rate changes within {n} of {} trials. The first {TRIALS} are drawn; {more} more are in the table.",
            courses.len()
        ),
    };
    let load = cell.load_label();
    Some(Chart {
        name: name(&["time", &label, load]),
        kind: ChartKind::Time,
        title: format!("{}, {load}", shortened(&label, 36)),
        note,
        width: WIDTH,
        height: HEIGHT,
        drawing,
        narrow: None,
        key: Vec::new(),
        table,
    })
}

fn anchor(at: f64, begin: f64, end: f64) -> &'static str {
    match at {
        at if at >= end => "end",
        at if at <= begin => "start",
        _ => "middle",
    }
}

fn show_seconds(seconds: f64) -> String {
    let text = format!("{seconds:.1}").replace('-', "−");
    text.trim_end_matches(".0").to_owned()
}

fn extremes(series: &TrialSeries) -> (f64, f64) {
    series
        .points
        .iter()
        .filter(|point| point.2 == Phase::Measure)
        .fold((f64::MAX, 0.0), |(slow, fast), point| {
            (point.1.min(slow), point.1.max(fast))
        })
}

fn words(label: &str, series: &TrialSeries) -> String {
    let (slow, fast) = extremes(series);
    format!(
        "{label}, round {}: windows from {} to {} after {} of warm-up",
        series.round,
        show::rate(slow),
        show::rate(fast),
        show::time(series.warmup * 1e9)
    )
}

/// Neighbours of one phase put together until there are few enough.
fn thin(points: &[(f64, f64, Phase)], most: usize) -> Vec<(f64, f64, Phase)> {
    let step = points.len().div_ceil(most).max(1);
    let mut thinned = Vec::new();
    for phase in [Phase::Warmup, Phase::Measure] {
        let own: Vec<_> = points.iter().filter(|point| point.2 == phase).collect();
        thinned.extend(own.chunks(step).map(|chunk| {
            let n = chunk.len() as f64;
            let mean = |pick: fn(&(f64, f64, Phase)) -> f64| {
                chunk.iter().map(|point| pick(point)).sum::<f64>() / n
            };
            (mean(|point| point.0), mean(|point| point.1), phase)
        }));
    }
    thinned
}

fn line(
    points: &[(f64, f64, Phase)],
    begin: f64,
    x: &dyn Fn(f64) -> f64,
    y: &dyn Fn(f64) -> f64,
) -> String {
    let mut out = String::new();
    for point in points.iter().filter(|point| point.0 >= begin) {
        let first = if out.is_empty() { 'M' } else { 'L' };
        let _ = write!(out, "{first}{} {}", px(x(point.0)), px(y(point.1)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_mean_and_the_phases_apart() {
        let points: Vec<(f64, f64, Phase)> = (0..200)
            .map(|i| {
                let phase = if i < 50 {
                    Phase::Warmup
                } else {
                    Phase::Measure
                };
                (f64::from(i), f64::from(i % 2), phase)
            })
            .collect();
        let thinned = thin(&points, 60);
        assert!(thinned.len() <= 62, "{}", thinned.len());
        assert!(thinned.iter().all(|point| (0.2..=0.8).contains(&point.1)));
        let warm = thinned.iter().filter(|point| point.2 == Phase::Warmup);
        assert!(warm.clone().count() > 5 && warm.clone().all(|point| point.0 < 50.0));
    }

    #[test]
    fn seconds_are_short() {
        assert_eq!(show_seconds(-2.0), "−2");
        assert_eq!(show_seconds(0.45), "0.5");
    }
}
