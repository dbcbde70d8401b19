//! What a duel says, in words.

use prony_record::verdict::{Comparison, Quantity};
use prony_stats::Estimate;

/// One sentence for each side but the first.
#[must_use]
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
            "no significant difference between {name} and {first}: {value:.3}× ({interval}, {rounds}{})",
            more(found)
        ),
    }
}

/// How many rounds more would settle what is inconclusive, in words; empty for everything else.
#[must_use]
pub fn more(found: &Comparison) -> String {
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
        "inconclusive" => format!("no significant difference in {name}"),
        "same" => format!("same {name}"),
        word => format!("{name} {word} ({})", percent(found.ratio.value())),
    };
    match (p50, p99) {
        (None, None) => None,
        (Some(a), Some(b)) if a.verdict == "same" && b.verdict == "same" => {
            Some("same latency".to_owned())
        }
        (Some(a), Some(b)) if a.verdict == "inconclusive" && b.verdict == "inconclusive" => {
            Some("no significant difference in latency".to_owned())
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
        "inconclusive" => "no significant difference in CPU per request".to_owned(),
        _ => format!("{} CPU per request", percent(found.ratio.value())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duel::{compare, settled};
    use crate::seen::figures;
    use prony_record::verdict::{Bands, Values};
    use prony_stats::sequential::Plan;

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
