//! The result of a duel in a sentence for each side: differences first, then what does not differ, then what is inconclusive,
//! and why.
//!
//! Every change is the side's against the first side's value: `new is more expensive than old: 6.0% more CPU per request`.

use prony_record::verdict::{Comparison, Quantity, Verdict};

/// The order of what a sentence begins with.
const LEADS: [Quantity; 12] = [
    Quantity::Throughput,
    Quantity::Events,
    Quantity::Cpu,
    Quantity::ServiceCpu,
    Quantity::P50,
    Quantity::P99,
    Quantity::FirstByteP50,
    Quantity::FirstByteP99,
    Quantity::FirstEventP50,
    Quantity::FirstEventP99,
    Quantity::GapP50,
    Quantity::GapP99,
];
/// The host is called too noisy when differences below this share cannot be found.
const NOISY: f64 = 0.05;

/// One sentence for each side but the first. `noisy`: a check found that other programs, or the
/// hypervisor, used the CPUs.
#[must_use]
pub fn sentences(
    names: &[String],
    comparisons: &[Comparison],
    rounds: u32,
    noisy: bool,
) -> Vec<String> {
    let Some((first, others)) = names.split_first() else {
        return Vec::new();
    };
    let about = |name: &String| {
        let of = |quantity| {
            let this = move |one: &&Comparison| one.side == *name && one.quantity == quantity;
            comparisons.iter().find(this)
        };
        let all: Vec<&Comparison> = LEADS.into_iter().filter_map(of).collect();
        sentence(name, first, &all, rounds, noisy)
    };
    others.iter().map(about).collect()
}

fn sentence(name: &str, first: &str, all: &[&Comparison], rounds: u32, noisy: bool) -> String {
    let of = |is: fn(Verdict) -> bool| -> Vec<&Comparison> {
        all.iter().filter(|one| is(one.verdict)).copied().collect()
    };
    let different = of(Verdict::is_difference);
    let same = of(|it| it == Verdict::Same);
    let open = of(|it| it == Verdict::Inconclusive);
    let mut parts = Vec::new();
    if let Some((lead, others)) = different.split_first() {
        let called = format!("{name} is {} than {first}", lead.verdict);
        parts.push(format!("{called}: {}", change(lead)));
        parts.extend(others.iter().map(|one| change(one)));
    }
    if !same.is_empty() {
        let none = format!(
            "no difference above {}",
            percent(same.iter().map(|one| one.band).fold(0.0, f64::max))
        );
        parts.push(match different.as_slice() {
            [] => format!("{name} and {first}: {none} in {}", quantities(&same)),
            _ => format!("{none} in {}", quantities(&same)),
        });
    }
    if parts.is_empty() {
        let counted = match rounds {
            1 => "1 round".to_owned(),
            n => format!("{n} rounds"),
        };
        if open.is_empty() {
            return format!("{name} and {first}: nothing to compare after {counted}.");
        }
        let reasons = inconclusive(&open, noisy).join("; ");
        return format!("{name} and {first} after {counted}: {reasons}.");
    }
    parts.extend(inconclusive(&open, noisy));
    format!("{}.", parts.join("; "))
}

/// A difference: `17.5% fewer requests/s (95% CI 11.0% to 23.6%)`.
fn change(one: &Comparison) -> String {
    let said = change_in(one.quantity, one.ratio.value());
    let said = match one.at_least {
        true => format!("at least {said}"),
        false => said,
    };
    match interval(one) {
        Some(interval) => format!("{said} (95% CI {interval})"),
        None => said,
    }
}

/// A quantity that is so many times what it was: `17.5% fewer requests/s`.
pub(crate) fn change_in(quantity: Quantity, ratio: f64) -> String {
    let by = percent((ratio - 1.0).abs());
    let what = quantity.phrase();
    match (quantity, ratio > 1.0) {
        (Quantity::Throughput, true) => format!("{by} more requests/s"),
        (Quantity::Throughput, false) => format!("{by} fewer requests/s"),
        (Quantity::P50 | Quantity::P99, true) => format!("{by} longer {what}"),
        (Quantity::P50 | Quantity::P99, false) => format!("{by} shorter {what}"),
        (_, true) => format!("{by} more {what}"),
        (_, false) => format!("{by} less {what}"),
    }
}

/// Each reason why something is inconclusive, with what it is about: `inconclusive: p50 (needs 12% or more) and p99: this host
/// is too noisy`. The figure is the smallest difference that would have been found.
fn inconclusive(open: &[&Comparison], noisy: bool) -> Vec<String> {
    let mut withheld: Vec<(&str, Vec<&Comparison>)> = Vec::new();
    for &one in open {
        let Some(reason) = one.withheld.as_ref() else {
            continue;
        };
        match withheld.iter_mut().find(|(why, _)| *why == reason.why) {
            Some((_, same)) => same.push(one),
            None => withheld.push((&reason.why, vec![one])),
        }
    }
    let said =
        |(why, of): &(&str, Vec<&Comparison>)| format!("inconclusive in {}: {why}", quantities(of));
    let mut all: Vec<String> = withheld.iter().map(said).collect();
    let unknown: Vec<&&Comparison> = open.iter().filter(|one| one.withheld.is_none()).collect();
    let names = unknown.iter().map(|one| {
        let name = one.quantity.phrase();
        match one.detectable {
            Some(effect) if effect < 1.0 => format!("{name} (needs {} or more)", percent(effect)),
            _ => name.to_owned(),
        }
    });
    let names: Vec<String> = names.collect();
    if !names.is_empty() {
        let coarse = |one: &&&Comparison| one.detectable.is_some_and(|effect| effect >= NOISY);
        let why = match noisy && unknown.iter().all(coarse) {
            true => "this host is too noisy",
            false => "more rounds would be needed",
        };
        all.push(format!("inconclusive in {}: {why}", list(&names)));
    }
    all
}

fn quantities(all: &[&Comparison]) -> String {
    let names: Vec<String> = all
        .iter()
        .map(|one| one.quantity.phrase().to_owned())
        .collect();
    list(&names)
}

/// `a`, `a and b`, `a, b and c`.
fn list(names: &[String]) -> String {
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// A share as a percentage, as sentences and tables write it: `17.5%`, and from 100% on without decimals, `250%`.
#[must_use]
pub fn percent(share: f64) -> String {
    match 100.0 * share {
        percent if percent.abs() < 99.95 => format!("{percent:.1}%"),
        percent => format!("{percent:.0}%"),
    }
}

/// The interval of the change, from the smaller change to the larger: `2.9% to 9.2%`.
fn interval(one: &Comparison) -> Option<String> {
    let interval = one.ratio.interval()?;
    let (low, high) = match one.ratio.value() >= 1.0 {
        true => (interval.low() - 1.0, interval.high() - 1.0),
        false => (1.0 - interval.high(), 1.0 - interval.low()),
    };
    Some(format!("{} to {}", percent(low), percent(high)))
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
                    ..Values::default()
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
        let verdicts: Vec<Verdict> = all.iter().map(|c| c.verdict).collect();
        let expected = [
            Verdict::Faster,
            Verdict::Same,
            Verdict::Same,
            Verdict::Cheaper,
        ];
        assert_eq!(verdicts, expected);
        assert!(settled(&all));
        let text = &sentences(&names(), &all, 12, false)[0];
        assert!(
            text.starts_with("B is faster than A: 4.2% more requests/s (95% CI 4.1% to 4."),
            "{text}"
        );
        assert!(
            text.contains("%); 4.0% less CPU per request (95% CI 3.")
                && text.ends_with("; no difference above 1.0% in p50 and p99."),
            "{text}"
        );
    }

    #[test]
    fn what_is_known_leads_and_what_is_not_says_what_could_be_found() {
        let rounds: Vec<Vec<Values>> = (0..12)
            .map(|i| {
                let noise = [0.5, -1.0, 0.8, -0.3][i % 4];
                let at = |throughput: f64, cpu: f64| Values {
                    throughput: Some(1_000.0 * throughput),
                    cpu: Some(3_000.0 * cpu),
                    ..Values::default()
                };
                vec![
                    at(1.0, 1.0),
                    at(0.98 * (1.0 + 0.1 * noise), 1.06 + 0.005 * noise),
                ]
            })
            .collect();
        let wanted = [Quantity::Throughput, Quantity::Cpu];
        let plan = Plan::up_to(12).unwrap();
        let all = compare(&names(), &wanted, &rounds, &plan, &Bands::all(0.01)).unwrap();
        let text = &sentences(&names(), &all, 12, true)[0];
        assert!(
            text.starts_with("B is more expensive than A: 6.0% more CPU per request (95% CI 5."),
            "{text}"
        );
        assert!(
            text.contains("; inconclusive in throughput (needs "),
            "{text}"
        );
        assert!(
            text.ends_with(" or more): this host is too noisy."),
            "{text}"
        );
        let quiet = &sentences(&names(), &all, 12, false)[0];
        assert!(quiet.ends_with("more rounds would be needed."), "{quiet}");
    }

    #[test]
    fn a_reason_is_told_once_for_all_that_it_holds_for() {
        let rounds = rounds(12, 1.0, 0.0005);
        let plan = Plan::up_to(12).unwrap();
        let mut all = compare(&names(), &Quantity::ALL, &rounds, &plan, &Bands::all(0.01)).unwrap();
        crate::doubt::of_missing_rounds(&mut all, 12, 20);
        let text = &sentences(&names(), &all, 12, false)[0];
        assert!(
            text.ends_with(
                " after 12 rounds: inconclusive in throughput, CPU per request, p50 and p99: only 12 of the 20 rounds that were asked \
                 for have been made."
            ),
            "{text}"
        );
    }

    #[test]
    fn equals_are_called_the_same() {
        let rounds = rounds(12, 1.0, 0.0005);
        let plan = Plan::up_to(12).unwrap();
        let all = compare(&names(), &Quantity::ALL, &rounds, &plan, &Bands::all(0.01)).unwrap();
        assert_eq!(
            sentences(&names(), &all, 12, false),
            ["B and A: no difference above 1.0% in throughput, CPU per request, p50 and p99."]
        );
    }

    #[test]
    fn a_quantity_that_was_not_asked_is_not_missed() {
        let rounds = rounds(8, 1.042, 0.002);
        let plan = Plan::up_to(20).unwrap();
        let bands = Bands::all(0.01);
        let all = compare(&names(), &[Quantity::Cpu], &rounds, &plan, &bands).unwrap();
        let text = &sentences(&names(), &all, 8, false)[0];
        assert!(
            text.starts_with("B is cheaper than A: 4.0% less CPU per request (95% CI 3.8% to 4."),
            "{text}"
        );
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
        assert!(!sentences(&names(), &all, 4, false)[0].contains("CPU"));
        assert_eq!(figures(&rounds, 1).len(), 1);
    }
}
