//! What a duel says: for every quantity a verdict of its own, and one sentence.

pub mod seen;

use crate::band::Bands;
use crate::facts::Finding;
use crate::load::checks;
use crate::show;
use crate::table::{Align, Table};
use prony_stats::compare::{Better, Verdict, verdict};
use prony_stats::mean::mean;
use prony_stats::sequential::Plan;
use prony_stats::{Estimate, StatsError, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A duel so far.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "prony duel")]
pub struct DuelReport {
    /// Its run in the notebook.
    pub run: i64,
    /// The sides; the others are compared with the first.
    pub sides: Vec<SideReport>,
    /// Whole rounds.
    pub rounds: u32,
    /// The common rate, requests per second; null when there was none.
    pub rate: Option<f64>,
    /// Differences smaller than this were to count as none, as a share.
    pub band: f64,
    /// Every other side against the first, in every quantity.
    pub comparisons: Vec<Comparison>,
    /// What it all says.
    pub sentences: Vec<String>,
    /// It ended early: by the user, or because time was up.
    pub cut_short: bool,
    /// What the checks found, by side.
    pub checks: Vec<Finding>,
    /// Every round, its sides in their order.
    pub values: Vec<Vec<Values>>,
}

/// A side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SideReport {
    /// What it is called.
    pub name: String,
    /// Its command line; empty when somebody else has started it.
    pub command: String,
    /// The most memory of its processes, in bytes; 0 when unknown.
    pub rss_peak_bytes: u64,
    /// Each quantity's mean over the rounds, with an ordinary 95 % interval.
    pub figures: Vec<Figure>,
}

/// A quantity of a side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// Which.
    pub quantity: Quantity,
    /// The mean over the rounds.
    pub value: Estimate,
}

/// Each quantity's mean over the rounds, for one side.
pub fn figures(rounds: &[Vec<Values>], side: usize) -> Vec<Figure> {
    Quantity::ALL
        .into_iter()
        .filter_map(|quantity| {
            let values: Vec<f64> = rounds
                .iter()
                .filter_map(|round| round[side].of(quantity))
                .collect();
            let value = mean(&values, quantity.unit()).ok()?;
            Some(Figure { quantity, value })
        })
        .collect()
}

/// One sentence for each side but the first.
pub fn sentences(names: &[String], comparisons: &[Comparison], rounds: u32) -> Vec<String> {
    let Some((first, others)) = names.split_first() else {
        return Vec::new();
    };
    others
        .iter()
        .map(|name| {
            let of = |quantity| {
                comparisons
                    .iter()
                    .find(|c| c.side == *name && c.quantity == quantity)
            };
            let mut parts: Vec<String> = Vec::new();
            parts.extend(latency(of(Quantity::P50), of(Quantity::P99)));
            parts.extend(of(Quantity::Cpu).map(cpu));
            let found = of(Quantity::Throughput);
            if found.is_none() && !parts.is_empty() {
                // Throughput was not asked.
                return format!(
                    "{name} beside {first} ({rounds} rounds): {}.",
                    parts.join("; ")
                );
            }
            parts.insert(0, throughput(name, first, found, rounds));
            format!("{}.", parts.join("; "))
        })
        .collect()
}

fn interval(ratio: &Estimate) -> String {
    ratio.interval().map_or_else(
        || "no interval yet".to_owned(),
        |interval| {
            format!(
                "95 % interval {:.3} to {:.3}",
                interval.low(),
                interval.high()
            )
        },
    )
}

fn throughput(name: &str, first: &str, found: Option<&Comparison>, rounds: u32) -> String {
    let Some(found) = found else {
        return format!("{name} and {first} have no throughput to compare");
    };
    let (value, interval) = (found.ratio.value(), interval(&found.ratio));
    let rounds = format!("{rounds} rounds");
    match found.verdict.as_str() {
        "faster" => format!("{name} is {value:.3}× faster than {first} ({interval}, {rounds})"),
        "slower" => format!(
            "{name} is slower than {first}: {value:.3}× its throughput ({interval}, {rounds})"
        ),
        "same" => format!("{name} is as fast as {first}: {value:.3}× ({interval}, {rounds})"),
        _ => format!(
            "{name} cannot be told from {first}: {value:.3}× ({interval}, {rounds}{})",
            more(found)
        ),
    }
}

fn more(found: &Comparison) -> String {
    match (found.more_rounds, found.settles) {
        (Some(rounds), Some(settles)) => format!(
            "; about {rounds} more would settle a difference of {:.1} %",
            settles * 100.0
        ),
        _ => String::new(),
    }
}

fn percent(ratio: f64) -> String {
    let change = 100.0 * (ratio - 1.0).abs();
    let word = if ratio < 1.0 { "less" } else { "more" };
    format!("{change:.1} % {word}")
}

fn latency(p50: Option<&Comparison>, p99: Option<&Comparison>) -> Option<String> {
    let told = |name: &str, found: &Comparison| match found.verdict.as_str() {
        "inconclusive" => format!("{name} not told apart"),
        "same" => format!("same {name}"),
        word => format!("{name} {word} ({})", percent(found.ratio.value())),
    };
    match (p50, p99) {
        (None, None) => None,
        (Some(a), Some(b)) if a.verdict == "same" && b.verdict == "same" => {
            Some("same latency".to_owned())
        }
        (Some(a), Some(b)) if a.verdict == "inconclusive" && b.verdict == "inconclusive" => {
            Some("latency not told apart".to_owned())
        }
        _ => {
            let parts = [p50.map(|c| told("p50", c)), p99.map(|c| told("p99", c))];
            Some(parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
        }
    }
}

fn cpu(found: &Comparison) -> String {
    match found.verdict.as_str() {
        "same" => "same CPU per request".to_owned(),
        "inconclusive" => "CPU per request not told apart".to_owned(),
        _ => format!("{} CPU per request", percent(found.ratio.value())),
    }
}

impl DuelReport {
    /// As text for a terminal.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for sentence in &self.sentences {
            let _ = writeln!(out, "{sentence}");
        }
        for side in self.sides.iter().filter(|side| !side.command.is_empty()) {
            let _ = writeln!(out, "{}: {}", side.name, side.command);
        }
        let _ = write!(out, "\n{}\n{}", self.figures(), self.verdicts());
        let _ = writeln!(out, "\n{}", self.ending());
        out += &self.widened();
        out += &checks(&self.checks);
        out
    }

    /// After how much it ended, and what counted as a difference.
    pub fn ending(&self) -> String {
        let rate = self.rate.map_or_else(String::new, |rate| {
            format!("; the common rate was {}", show::rate(rate))
        });
        format!(
            "{} rounds{rate}; differences below {:.1} % count as none{}",
            self.rounds,
            self.band * 100.0,
            if self.cut_short { "; cut short" } else { "" }
        )
    }

    /// Says where the host's noise has widened the band.
    fn widened(&self) -> String {
        let mut wide: Vec<(Quantity, f64)> = self
            .comparisons
            .iter()
            .filter(|comparison| comparison.band > self.band)
            .map(|comparison| (comparison.quantity, comparison.band))
            .collect();
        wide.sort_by_key(|&(quantity, _)| quantity);
        wide.dedup();
        let parts: Vec<String> = wide
            .iter()
            .map(|(quantity, band)| format!("{} {:.1} %", short(*quantity), band * 100.0))
            .collect();
        match parts.as_slice() {
            [] => String::new(),
            parts => format!(
                "as much as this host's noise hides counts as none (`prony calibrate`): {}\n",
                parts.join(", ")
            ),
        }
    }

    fn figures(&self) -> Table {
        let quantities: Vec<Quantity> = Quantity::ALL
            .into_iter()
            .filter(|quantity| {
                let mut figures = self.sides.iter().flat_map(|side| &side.figures);
                figures.any(|figure| figure.quantity == *quantity)
            })
            .collect();
        let mut columns = vec![("side", Align::Left)];
        for quantity in &quantities {
            columns.push((short(*quantity), Align::Right));
            columns.push(("± 95 %", Align::Right));
        }
        columns.push(("memory", Align::Right));
        let mut table = Table::new(columns);
        for side in &self.sides {
            let mut cells = vec![side.name.clone()];
            for quantity in &quantities {
                let figure = side.figures.iter().find(|f| f.quantity == *quantity);
                let value = figure.map(|figure| figure.value);
                cells.push(value.map_or("–".into(), |v| quantity.show(v.value())));
                let half = value.and_then(|v| v.relative_half_width());
                cells.push(half.map_or("–".into(), |half| format!("{:.1} %", half * 100.0)));
            }
            cells.push(match side.rss_peak_bytes {
                0 => "–".into(),
                bytes => show::bytes(bytes as f64),
            });
            table.row(cells);
        }
        table
    }

    fn verdicts(&self) -> Table {
        let mut table = Table::new([
            ("side", Align::Left),
            ("quantity", Align::Left),
            ("ratio", Align::Right),
            ("interval", Align::Left),
            ("verdict", Align::Left),
        ]);
        for comparison in &self.comparisons {
            let found = comparison.ratio.interval();
            table.row([
                comparison.side.clone(),
                comparison.quantity.name().to_owned(),
                show::ratio(comparison.ratio.value()),
                found.map_or("–".into(), |i| {
                    format!("{:.3} to {:.3}", i.low(), i.high())
                }),
                format!("{}{}", comparison.verdict, more(comparison)),
            ]);
        }
        table
    }
}

fn short(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Throughput => "answers/s",
        Quantity::P50 => "p50",
        Quantity::P99 => "p99",
        Quantity::Cpu => "CPU/req",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(n: usize, ratio: f64, spread: f64) -> Vec<Vec<Values>> {
        (0..n)
            .map(|i| {
                let drift = 1.0 + 0.1 * i as f64;
                let noise = 1.0 + spread * [0.5, -1.0, 0.8, -0.3][i % 4];
                let at = |x: f64| Values {
                    throughput: Some(1_000.0 * drift * x),
                    p50: Some(100.0),
                    p99: Some(500.0 * noise),
                    cpu: Some(3_000.0 / x),
                };
                vec![at(1.0), at(ratio * noise)]
            })
            .collect()
    }

    fn names() -> Vec<String> {
        vec!["A".into(), "B".into()]
    }

    #[test]
    fn a_clear_difference_is_told_in_one_sentence() {
        let rounds = rounds(12, 1.042, 0.002);
        let plan = Plan::up_to(20).unwrap();
        let all = compare(&names(), &Quantity::ALL, &rounds, &plan, &Bands::all(0.01)).unwrap();
        let verdicts: Vec<&str> = all.iter().map(|c| c.verdict.as_str()).collect();
        assert_eq!(verdicts, ["faster", "same", "same", "cheaper"]);
        assert!(settled(&all));
        let text = &sentences(&names(), &all, 12)[0];
        assert!(
            text.starts_with("B is 1.042× faster than A (95 % interval 1.04"),
            "{text}"
        );
        assert!(
            text.ends_with("12 rounds); same latency; 4.0 % less CPU per request."),
            "{text}"
        );
    }

    #[test]
    fn what_cannot_be_told_says_how_many_rounds_would() {
        let rounds = rounds(5, 1.005, 0.05);
        let all = compare(
            &names(),
            &Quantity::ALL,
            &rounds,
            &Plan::up_to(20).unwrap(),
            &Bands::all(0.01),
        )
        .unwrap();
        assert_eq!(all[0].verdict, "inconclusive");
        assert!(all[0].more_rounds.is_some_and(|n| n > 5));
        assert!(!settled(&all));
        let text = &sentences(&names(), &all, 5)[0];
        assert!(text.contains("more would settle a difference of"), "{text}");
    }

    #[test]
    fn a_quantity_that_was_not_asked_is_not_missed() {
        let rounds = rounds(8, 1.042, 0.002);
        let plan = Plan::up_to(20).unwrap();
        let bands = Bands::all(0.01);
        let all = compare(&names(), &[Quantity::Cpu], &rounds, &plan, &bands).unwrap();
        let text = &sentences(&names(), &all, 8)[0];
        assert_eq!(text, "B beside A (8 rounds): 4.0 % less CPU per request.");
    }

    #[test]
    fn unknown_quantities_are_left_out() {
        let only = |x: f64| Values {
            throughput: Some(x),
            ..Values::default()
        };
        let rounds: Vec<Vec<Values>> = (0..4)
            .map(|i| vec![only(10.0), only(20.0 + f64::from(i))])
            .collect();
        let all = compare(
            &names(),
            &Quantity::ALL,
            &rounds,
            &Plan::up_to(4).unwrap(),
            &Bands::all(0.01),
        )
        .unwrap();
        assert_eq!(all.len(), 1);
        assert!(!sentences(&names(), &all, 4)[0].contains("CPU"));
        assert_eq!(figures(&rounds, 1).len(), 1);
    }
}
