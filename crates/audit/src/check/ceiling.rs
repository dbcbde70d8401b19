//! `ceiling`: a rate is that of what stands behind the system, or of something that all share.

use super::{CheckInput, UnnamedFinding, lines_in, of_all, serious, warning, whole};
use crate::figures::Figure;
use crate::load::{Load, LoadParameter};
use crate::names::System;
use prony_checks::{CheckId, Explanation, ceiling};
use prony_stats::summary::average;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::Ceiling,
    cause: "Several systems reach the same figure: that of the upstream behind them, or of something else that they share. Their common limit was measured, not the systems.",
    evidence: "The rate of the upstream alone, if the text has it (systems within 5 % of it, and none far above); or three or more systems within 2 % of each other under one load, and well apart under another, or where they serve another page.",
    remedy: "Use a faster upstream, a faster network or more load generators; or compare CPU time per request at a rate below the ceiling.",
};

/// A gateway that is faster than its upstream is not behind it, so there is no ceiling.
const ABOVE: f64 = 1.1;
/// A system called a baseline is one only if others stay this far below it elsewhere: it may as well
/// be the former version of the same server.
const BELOW: f64 = 0.85;
/// Systems nearer to each other than this share a limit: servers that have no part in common differ
/// by more.
const TOGETHER: f64 = 0.98;
/// A rate this far above a limit, in figures of an unknown kind, shows that it was none.
const ABOVE_LIMIT: f64 = 1.02;
/// From this many systems on, equal figures are not chance.
const SEVERAL: usize = 3;
/// Systems that differ by this much under another load are not alike.
const APART: f64 = 1.1;

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for index in 0..seen.documents.len() {
        let cells: BTreeMap<(&System, Load), f64> = seen
            .cells
            .iter()
            .filter(|(_, runs)| runs[0].document == index)
            .filter_map(|((system, load), runs)| Some(((system, *load), mean(runs)?)))
            .collect();
        let upstream = behind(seen, index, &cells);
        let found = upstream.or_else(|| shared(seen, index, &cells));
        remarks.extend(found);
    }
    remarks
}

fn mean(runs: &[&Figure]) -> Option<f64> {
    average(
        &runs
            .iter()
            .map(|figure| figure.rate.value)
            .collect::<Vec<_>>(),
    )
}

/// How sure it is that a system is what others stand in front of.
fn is_upstream(system: &System) -> Option<bool> {
    let name = system.name.to_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
    let sure = [
        "just", "direct", "directly", "upstream", "backend", "ceiling",
    ];
    if sure.iter().any(|word| words.contains(word)) {
        return Some(true);
    }
    words.contains(&"baseline").then_some(false)
}

/// Systems that are as fast as their upstream.
fn behind(
    seen: &CheckInput<'_>,
    index: usize,
    cells: &BTreeMap<(&System, Load), f64>,
) -> Option<UnnamedFinding> {
    let (upstream, sure) = cells
        .keys()
        .filter(|(system, _)| !system.unsure)
        .find_map(|(system, _)| Some((*system, is_upstream(system)?)))?;
    // A heading that names others too (`HTTP backend`) says of none that it is what they stand in front of.
    let part = format!("{}, ", upstream.name);
    if cells
        .keys()
        .any(|(system, _)| system.name.starts_with(&part))
    {
        return None;
    }
    let own: Vec<(Load, f64)> = cells
        .iter()
        .filter(|((system, _), _)| *system == upstream)
        .map(|((_, load), rate)| (*load, *rate))
        .collect();
    let most = |rates: &mut dyn Iterator<Item = f64>| rates.reduce(f64::max);
    let limit = |load: &Load| {
        let same = |(own, _): &&(Load, f64)| own.connections == load.connections;
        let beyond = own
            .iter()
            .all(|(own, _)| own.connections < load.connections);
        most(&mut own.iter().filter(same).map(|(_, rate)| *rate))
            .or_else(|| beyond.then(|| most(&mut own.iter().map(|(_, rate)| *rate)))?)
    };
    let mut compared = 0;
    let mut at: Vec<(&System, Load, f64)> = Vec::new();
    let mut below = BTreeSet::new();
    for ((system, load), &rate) in cells.iter().filter(|((system, _), _)| *system != upstream) {
        let Some(limit) = limit(load).filter(|limit| *limit > 0.0) else {
            continue;
        };
        if rate > ABOVE * limit {
            return None;
        }
        compared += 1;
        if rate < BELOW * limit {
            below.insert(*system);
        }
        if ceiling(rate, limit).is_some() {
            at.push((*system, *load, rate / limit));
        }
    }
    if !sure {
        at.retain(|(system, ..)| below.contains(*system));
    }
    let (system, load, share) = at.iter().max_by(|a, b| a.2.total_cmp(&b.2))?;
    let systems: BTreeSet<&str> = at.iter().map(|(system, ..)| &*system.name).collect();
    let text = format!(
        "{}{} are as fast as '{}' alone; the closest, {} under {load}, reaches {:.0} % of it: the \
         upstream behind them was measured, not the systems",
        of_all(at.len(), compared, "figures"),
        systems.into_iter().collect::<Vec<_>>().join(", "),
        upstream.name,
        system.name,
        100.0 * share,
    );
    let lines = at
        .iter()
        .flat_map(|(system, load, ..)| lines(seen, index, system, *load));
    Some(serious(&seen.documents[index], lines, text))
}

fn lines(seen: &CheckInput<'_>, index: usize, system: &System, load: Load) -> Vec<usize> {
    let runs = seen.cells.get(&(system.clone(), load));
    lines_in(index, runs.into_iter().flatten()).collect()
}

/// Systems that are equally fast under the same load and are not under another.
fn shared(
    seen: &CheckInput<'_>,
    index: usize,
    cells: &BTreeMap<(&System, Load), f64>,
) -> Option<UnnamedFinding> {
    // section and load → systems with their rates
    let mut loads: BTreeMap<(&str, Load), Vec<(&System, f64)>> = BTreeMap::new();
    for ((system, load), rate) in cells.iter().filter(|((system, _), _)| !system.unsure) {
        let load = loads.entry((&system.section, *load)).or_default();
        load.push((*system, *rate));
    }
    let mut hit: Vec<(Load, Vec<&System>, f64, f64)> = Vec::new();
    let unknown = |load: &Load| matches!(load.other, Some((LoadParameter::Number, _)));
    for ((section, load), systems) in &loads {
        let top = systems.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let near: Vec<&System> = systems
            .iter()
            .filter(|(_, rate)| *rate >= TOGETHER * top)
            .map(|(system, _)| *system)
            .collect();
        if near.len() < SEVERAL {
            continue;
        }
        // Another page that they serve is another load.
        let same = |other: &System, elsewhere: bool| {
            near.iter()
                .any(|system| *system == other || elsewhere && system.name == other.name)
        };
        let apart = loads
            .iter()
            .filter_map(|((other, _), systems)| {
                let elsewhere = other != section;
                let rates = systems.iter().filter(|(system, _)| same(system, elsewhere));
                let rates: Vec<f64> = rates.map(|(_, rate)| *rate).collect();
                let most = rates.iter().copied().fold(0.0, f64::max);
                let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
                // What varied is not known to be a load: what they exceed elsewhere is no limit.
                let limited = elsewhere || !unknown(load) || most <= ABOVE_LIMIT * top;
                (rates.len() == near.len() && limited).then_some(most / least)
            })
            .fold(1.0, f64::max);
        if apart >= APART {
            hit.push((*load, near, top, apart));
        }
    }
    let (load, systems, top, apart) = hit.iter().max_by(|a, b| a.1.len().cmp(&b.1.len()))?;
    let names: Vec<&str> = systems.iter().map(|system| &*system.name).collect();
    let text = format!(
        "{} all reach {} under {load}, within {:.0} %, and differ by {:.0} % under another load: \
         a limit that they share was measured (an upstream, the network, the load generator), not \
         the systems",
        names.join(", "),
        whole(*top),
        100.0 * (1.0 - TOGETHER),
        100.0 * (apart - 1.0),
    );
    let lines = hit.iter().flat_map(|(load, systems, ..)| {
        systems
            .iter()
            .flat_map(|system| lines(seen, index, system, *load))
    });
    Some(warning(&seen.documents[index], lines, text))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of};
    use prony_checks::Severity;

    const UPSTREAM: &str =
        "## Tools\n\n*Benchmark \"just nginx\":*\n\nc1: 7600\nc8: 33000\nc64: 48000\n\n";

    fn gateways(rows: &str) -> String {
        format!(
            "{UPSTREAM}## Requests per second\n\n| connections | A | B | C |\n|--|--|--|--|\n{rows}\n"
        )
    }

    #[test]
    fn gateways_at_their_upstream() {
        let text = gateways(
            "| 8 | 14000 | 16000 | 15000 |\n| 64 | 30000 | 48010 | 47900 |\n| 128 | 31000 | 47000 | 48050 |",
        );
        let found = of(CheckId::Ceiling, &text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].lines, [14, 15]);
        assert_eq!(found[0].finding.severity, Severity::Serious);
        let said = &found[0].finding.text;
        assert!(
            said.contains("4 of 9 figures") && said.contains("100 %"),
            "{said}"
        );
        assert_eq!(
            of(
                CheckId::Ceiling,
                &gateways("| 8 | 14000 | 16000 | 15000 |\n| 64 | 30000 | 40000 | 36000 |")
            ),
            []
        );
        // Faster than what is said to be behind it.
        assert_eq!(
            of(
                CheckId::Ceiling,
                &gateways("| 8 | 14000 | 99000 | 15000 |\n| 64 | 48000 | 40000 | 36000 |")
            ),
            []
        );
    }

    #[test]
    fn a_former_version_is_no_ceiling() {
        let text = "# Requests per second\n\n| connections | baseline | patched |\n|--|--|--|\n| 1 | 100 | 101 |\n| 8 | 800 | 805 |\n";
        assert_eq!(of(CheckId::Ceiling, text), []);
    }

    #[test]
    fn systems_that_share_a_limit() {
        let rows = "| 8 | 14000 | 16000 | 18000 |\n| 64 | 48000 | 48010 | 47900 |";
        let text = gateways(rows).replace(UPSTREAM, "");
        let found = of(CheckId::Ceiling, &text);
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([6].as_slice(), Severity::Warning)
        );
        let alike = "| 8 | 16000 | 16000 | 16100 |\n| 64 | 48000 | 48010 | 47900 |";
        assert_eq!(
            of(CheckId::Ceiling, &gateways(alike).replace(UPSTREAM, "")),
            []
        );
    }
}
