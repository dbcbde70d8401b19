//! Which parts of a request cost more or less than another server's: differences paired by round, with intervals, and
//! the false discovery rate controlled over all parts and counts of a pair of servers.

pub mod part;
mod words;

use part::{Part, parts, with_callees};
use prony_record::anatomy::{Dissection, Dissections, Spent};
use prony_stats::false_discovery::{RATE, findings};
use prony_stats::mean::{mean, t_p_value};
use prony_stats::summary::{average, standard_deviation};
use prony_stats::{Estimate, Unit};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A part of less than this share of both servers' CPU time is not listed by itself. Chosen by what both have together, it
/// says nothing about their difference.
const LISTED: f64 = 0.004;
/// A difference of a part below this share of the first server's CPU time is not called one, however sure it is.
const RELEVANT: f64 = 0.003;
/// Nor is one of a count below this many per request, or below this share of the first server's: requests that are under
/// way at the ends of a segment blur counts by about as much.
const RELEVANT_COUNT: f64 = 0.02;
const RELEVANT_COUNT_SHARE: f64 = 0.02;
/// Counts that are not divided by the number of requests.
const ABSOLUTE: [&str; 1] = ["threads that worked"];
/// In bytes, where a page per hundred requests is the least that matters.
const BYTES: &str = "memory grown";
const RELEVANT_BYTES: f64 = 40.0;

/// The anatomy of a request, and how it differs between servers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "The anatomy of a request")]
pub struct Anatomy {
    /// Requests per second.
    pub rate: f64,
    /// Rounds.
    pub rounds: u32,
    /// Each server by itself.
    pub sides: Vec<Body>,
    /// Every other server against the first.
    pub differences: Vec<Against>,
    /// What the system did not allow, with what would allow it.
    pub refused: Vec<String>,
}

/// A server by itself.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Body {
    /// Its name.
    pub name: String,
    /// CPU time per request while stacks were sampled; null when they were not.
    pub cpu: Option<Estimate>,
    /// CPU time per request while nothing was sampled or counted.
    pub plain_cpu: Option<Estimate>,
    /// CPU time per request with sampling, as a multiple of that without.
    pub sampling: Option<Estimate>,
    /// Samples times their period, as a multiple of the CPU time that they sample. About 1, unless samples were lost or
    /// the machine could not take them in time.
    pub coverage: Option<Estimate>,
    /// Samples of its stacks, in all rounds.
    pub samples: u64,
    /// Records that the kernel had no room for.
    pub lost: u64,
    /// CPU time per request by part, the largest first; together they are all of it.
    pub parts: Vec<(Part, Estimate)>,
    /// CPU time per request by function with what it calls, the largest first.
    pub with_callees: Vec<(String, Estimate)>,
    /// Counts per request, by name.
    pub counts: Vec<(String, Estimate)>,
    /// Samples by stack, in all rounds.
    #[serde(skip)]
    pub stacks: BTreeMap<String, u64>,
}

/// A server against the first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Against {
    /// Its name.
    pub side: String,
    /// What it all says.
    pub sentence: String,
    /// CPU time per request.
    pub cpu: Option<Difference>,
    /// The same by part: those that differ first, by how much; then the others.
    pub parts: Vec<(Part, Difference)>,
    /// Counts per request: those that differ first.
    pub counts: Vec<(String, Difference)>,
    /// What is left of the difference of CPU time without the parts that differ, in nanoseconds per request.
    pub unexplained_ns: Option<f64>,
}

/// Two servers in one value.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// The first server's.
    pub base: f64,
    /// This one's.
    pub side: f64,
    /// This one's less the first's, with an ordinary 95 % interval over rounds.
    pub difference: Estimate,
    /// The probability of so large a difference between equal servers.
    pub p: f64,
    /// They differ: among all that are called different, at most one in twenty is not on average.
    pub differs: bool,
    /// Its part of the whole difference of CPU time, if that is one; 1 is all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

/// What the rounds say.
#[must_use]
pub fn anatomy(seen: &Dissections) -> Anatomy {
    let sides: Vec<Vec<&Dissection>> = (0..seen.names.len())
        .map(|side| seen.rounds.iter().map(|round| &round[side]).collect())
        .collect();
    let bodies = seen.names.iter().zip(&sides);
    let against = seen.names.iter().zip(&sides).skip(1);
    Anatomy {
        rate: seen.rate,
        rounds: seen.rounds.len() as u32,
        sides: bodies.map(|(name, rounds)| body(name, rounds)).collect(),
        differences: against
            .map(|(name, rounds)| compare(&seen.names[0], &sides[0], name, rounds))
            .collect(),
        refused: seen.refused.clone(),
    }
}

/// A series over rounds, as an estimate; none without rounds, or when a round lacks it.
fn over(values: impl Iterator<Item = Option<f64>>, unit: Unit) -> Option<Estimate> {
    mean(&values.collect::<Option<Vec<f64>>>()?, unit).ok()
}

const CPU: Unit = Unit::CpuNanosecondsPerRequest;

fn body(name: &str, rounds: &[&Dissection]) -> Body {
    let series =
        |of: fn(&Dissection) -> Option<f64>, unit| over(rounds.iter().map(|it| of(it)), unit);
    let mut stacks = BTreeMap::new();
    for (stack, samples) in rounds.iter().flat_map(|round| &round.stacks) {
        *stacks.entry(stack.clone()).or_default() += samples;
    }
    Body {
        name: name.to_owned(),
        cpu: series(sampled, CPU),
        plain_cpu: series(|it| it.plain.per_request(), CPU),
        sampling: series(cost, Unit::Ratio),
        coverage: series(coverage, Unit::Ratio),
        samples: rounds.iter().map(|round| round.samples).sum(),
        lost: rounds.iter().map(|round| round.lost).sum(),
        parts: estimates(&columns(rounds, parts), CPU),
        with_callees: estimates(&columns(rounds, with_callees), CPU),
        counts: estimates(&table(rounds, counts), Unit::Count),
        stacks,
    }
}

/// CPU time per request with sampling, as a multiple of that without.
fn cost(it: &Dissection) -> Option<f64> {
    Some(sampled(it)? / it.plain.per_request()?)
}

/// Samples times their period, as a multiple of the CPU time that they sample.
fn coverage(it: &Dissection) -> Option<f64> {
    let cpu = nonzero(it.sampled.cpu_ns)?;
    (it.samples > 0).then(|| (it.samples * it.period_ns) as f64 / cpu)
}

fn nonzero(value: u64) -> Option<f64> {
    (value > 0).then_some(value as f64)
}

/// CPU time per request while stacks were sampled; none without samples.
fn sampled(it: &Dissection) -> Option<f64> {
    it.sampled.per_request().filter(|_| it.samples > 0)
}

fn estimates<K: Clone + Ord>(table: &BTreeMap<K, Vec<f64>>, unit: Unit) -> Vec<(K, Estimate)> {
    let mut all: Vec<(K, Estimate)> = table
        .iter()
        .filter_map(|(key, values)| Some((key.clone(), mean(values, unit).ok()?)))
        .collect();
    all.sort_by(|(_, a), (_, b)| b.value().total_cmp(&a.value()));
    all
}

/// Every key's values, round by round; 0 where a round lacks it.
fn table<K: Clone + Ord>(
    rounds: &[&Dissection],
    of: impl Fn(&Dissection) -> BTreeMap<K, f64>,
) -> BTreeMap<K, Vec<f64>> {
    let mut table: BTreeMap<K, Vec<f64>> = BTreeMap::new();
    for (number, round) in rounds.iter().enumerate() {
        for (key, value) in of(round) {
            let column = table.entry(key).or_insert_with(|| vec![0.0; rounds.len()]);
            column[number] = value;
        }
    }
    table
}

/// CPU time per request of what `of` gives the shares of.
fn columns<K: Clone + Ord>(
    rounds: &[&Dissection],
    of: impl Fn(&Dissection) -> BTreeMap<K, f64>,
) -> BTreeMap<K, Vec<f64>> {
    table(rounds, |round| {
        let cpu = sampled(round).unwrap_or(0.0);
        let shares = of(round).into_iter();
        shares.map(|(key, share)| (key, share * cpu)).collect()
    })
}

/// Counts per request of a round: system calls, and what the kernel counts anyway.
fn counts(round: &Dissection) -> BTreeMap<String, f64> {
    let per = |spent: Spent| (spent.requests as f64).max(1.0);
    let calls = round.calls.iter().map(|(name, n)| {
        let name = format!("`{name}` calls");
        (name, *n as f64 / per(round.counted))
    });
    let others = round.counts.iter().map(|(name, n)| {
        let by = match ABSOLUTE.contains(&name.as_str()) {
            true => 1.0,
            false => per(round.plain),
        };
        (name.clone(), n / by)
    });
    calls.chain(others).collect()
}

/// A row before it is judged.
struct Row<K> {
    key: K,
    value: Difference,
    relevant: bool,
}

fn row<K>(key: K, base: &[f64], side: &[f64], unit: Unit, least: f64) -> Option<Row<K>> {
    let both: Vec<f64> = side
        .iter()
        .zip(base)
        .map(|(side, base)| side - base)
        .collect();
    let difference = mean(&both, unit).ok()?;
    let value = Difference {
        base: average(base)?,
        side: average(side)?,
        p: p_value(&both),
        difference,
        differs: false,
        share: None,
    };
    let relevant = difference.value().abs() >= least;
    Some(Row {
        key,
        value,
        relevant,
    })
}

/// Of a paired t test. Differences that are the same in every round leave no doubt, unless they are none.
fn p_value(differences: &[f64]) -> f64 {
    let (Some(mean), Some(deviation)) = (average(differences), standard_deviation(differences))
    else {
        return 1.0;
    };
    let n = differences.len() as f64;
    match (mean == 0.0, deviation == 0.0) {
        (true, _) => 1.0,
        (false, true) => 0.0,
        _ => t_p_value(mean / (deviation / n.sqrt()), n - 1.0).unwrap_or(1.0),
    }
}

fn compare(base_name: &str, base: &[&Dissection], name: &str, side: &[&Dissection]) -> Against {
    let of = |rounds: &[&Dissection], of: fn(&Dissection) -> Option<f64>| {
        rounds.iter().map(|it| of(it)).collect::<Option<Vec<f64>>>()
    };
    // Without samples the difference is that of the rounds without them.
    let both = |what: fn(&Dissection) -> Option<f64>| of(base, what).zip(of(side, what));
    let cpu = both(sampled).or_else(|| both(|it| it.plain.per_request()));
    let whole = cpu
        .as_ref()
        .and_then(|(base, _)| average(base))
        .unwrap_or(0.0);
    let mut cpu = cpu.and_then(|(base, side)| row((), &base, &side, CPU, RELEVANT * whole));
    let mut parts = part_rows(base, side, RELEVANT * whole);
    let mut counts = count_rows(base, side);
    judge(&mut cpu, &mut parts, &mut counts);
    let cpu = cpu.map(|row| row.value);
    let total = cpu.as_ref().filter(|cpu| cpu.differs);
    let total = total.map(|cpu| cpu.difference.value());
    for row in &mut parts {
        let share = |total| row.value.difference.value() / total;
        row.value.share = total.map(share).filter(|_| row.value.differs);
    }
    let explained = |row: &Row<Part>| match row.value.differs {
        true => row.value.difference.value(),
        false => 0.0,
    };
    let unexplained = total.map(|total| total - parts.iter().map(explained).sum::<f64>());
    let mut against = Against {
        side: name.to_owned(),
        sentence: String::new(),
        cpu,
        parts: sorted(parts),
        counts: sorted(counts),
        unexplained_ns: unexplained,
    };
    against.sentence = words::sentence(base_name, &against);
    against
}

/// Parts of both, those that are small in both together as one.
fn part_rows(base: &[&Dissection], side: &[&Dissection], least: f64) -> Vec<Row<Part>> {
    let (mut ours, mut theirs) = (columns(side, parts), columns(base, parts));
    let sum = |table: &BTreeMap<Part, Vec<f64>>| table.values().flatten().sum::<f64>();
    let limit = LISTED * (sum(&ours) + sum(&theirs));
    let keys: BTreeSet<Part> = ours.keys().chain(theirs.keys()).cloned().collect();
    let mut rest = (vec![0.0; side.len()], vec![0.0; base.len()]);
    let mut rows = Vec::new();
    for key in keys {
        let our = ours.remove(&key).unwrap_or_else(|| vec![0.0; side.len()]);
        let their = theirs.remove(&key).unwrap_or_else(|| vec![0.0; base.len()]);
        if our.iter().chain(&their).sum::<f64>() >= limit {
            rows.extend(row(key, &their, &our, CPU, least));
        } else {
            rest.0
                .iter_mut()
                .zip(our)
                .for_each(|(sum, one)| *sum += one);
            rest.1
                .iter_mut()
                .zip(their)
                .for_each(|(sum, one)| *sum += one);
        }
    }
    rows.extend(row(Part::Rest, &rest.1, &rest.0, CPU, least));
    rows
}

fn count_rows(base: &[&Dissection], side: &[&Dissection]) -> Vec<Row<String>> {
    let (mut ours, mut theirs) = (table(side, counts), table(base, counts));
    let keys: BTreeSet<String> = ours.keys().chain(theirs.keys()).cloned().collect();
    let mut rows = Vec::new();
    for key in keys {
        let our = ours.remove(&key).unwrap_or_else(|| vec![0.0; side.len()]);
        let their = theirs.remove(&key).unwrap_or_else(|| vec![0.0; base.len()]);
        let share = RELEVANT_COUNT_SHARE * average(&their).unwrap_or(0.0).abs();
        let least = match key.as_str() {
            BYTES => RELEVANT_BYTES,
            _ => RELEVANT_COUNT.max(share),
        };
        // What hardly ever happens to either says nothing, and would take from the others.
        let most = our
            .iter()
            .chain(&their)
            .fold(0.0, |most: f64, it| most.max(it.abs()));
        if most >= least {
            rows.extend(row(key, &their, &our, Unit::Count, least));
        }
    }
    rows
}

/// Which differ, among all of them.
fn judge(cpu: &mut Option<Row<()>>, parts: &mut [Row<Part>], counts: &mut [Row<String>]) {
    let mut all: Vec<(&mut Difference, bool)> = Vec::new();
    all.extend(cpu.iter_mut().map(|row| (&mut row.value, row.relevant)));
    all.extend(parts.iter_mut().map(|row| (&mut row.value, row.relevant)));
    all.extend(counts.iter_mut().map(|row| (&mut row.value, row.relevant)));
    let p_values: Vec<f64> = all.iter().map(|(row, _)| row.p).collect();
    let found = findings(&p_values, RATE);
    for ((row, relevant), found) in all.into_iter().zip(found) {
        row.differs = found && relevant;
    }
}

/// Those that differ first, the largest difference first.
fn sorted<K>(mut rows: Vec<Row<K>>) -> Vec<(K, Difference)> {
    rows.sort_by(|a, b| {
        let size = |row: &Row<K>| row.value.difference.value().abs();
        (b.value.differs.cmp(&a.value.differs)).then(size(b).total_cmp(&size(a)))
    });
    rows.into_iter().map(|row| (row.key, row.value)).collect()
}

#[cfg(test)]
mod tests;
