//! Parts of a request that cost more or less than another server's. Differences are paired by round, with intervals.
//! The false discovery rate is controlled over all parts, counts and waits of a pair of servers; the whole is judged by
//! itself.

mod kept;
mod one_sided;
pub mod part;
mod words;

pub use kept::{STACKS, kept};
use one_sided::Function;
pub use one_sided::OneSided;
use part::{CostPart, parts, waits, with_callees};
use prony_record::anatomy::{Dissection, Dissections, Spent};
use prony_stats::false_discovery::{RATE, findings};
use prony_stats::mean::{mean, t_p_value};
use prony_stats::summary::{average, standard_deviation};
use prony_stats::{Estimate, Unit};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
pub use words::waits_in;

/// A part of less than this share of both servers' CPU time is not listed by itself. Chosen by what both have together, it
/// says nothing about their difference.
const LISTED: f64 = 0.004;
/// Functions that only one server runs become a part of their own if equal servers would so rarely show so large a difference.
const ONE_SIDED: f64 = 0.01;
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

/// A longer wait that is less than this share of the first server's CPU time, or of its own wait, is not called one.
const RELEVANT_WAIT: f64 = 0.01;
const RELEVANT_WAIT_SHARE: f64 = 0.02;

/// The anatomy of a request, and how it differs between servers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "The anatomy of a request")]
pub struct Anatomy {
    /// Requests per second.
    pub rate: f64,
    /// Rounds.
    pub rounds: u32,
    /// Each server by itself.
    pub sides: Vec<ServerAnatomy>,
    /// Every other server against the first.
    pub differences: Vec<Against>,
    /// Measurements that the system did not allow, each with what would allow it.
    pub refused: Vec<String>,
}

/// A server by itself.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ServerAnatomy {
    /// Name of the server.
    pub name: String,
    /// Cost of a request and where it arises, in a sentence.
    pub sentence: String,
    /// Requests that ended, in all measurements.
    pub requests: u64,
    /// Requests that ended without the expected answer, in all measurements.
    pub failed: u64,
    /// Requests that were due and were not sent: the server or the generator did not keep up with the rate.
    pub unsent: u64,
    /// CPU time per request while nothing was sampled or counted.
    pub cpu: Option<Estimate>,
    /// The same while stacks were sampled; null when they were not.
    pub sampled_cpu: Option<Estimate>,
    /// CPU time per request with sampling, as a multiple of that without.
    pub sampling: Option<Estimate>,
    /// CPU time per request with what its manifest adds to name its functions (`[profile]`), as a multiple of that without,
    /// neither with sampling; null where it adds nothing.
    pub profile: Option<Estimate>,
    /// Samples times their period, as a multiple of the CPU time that they sample. Less than 1 where the server often wakes
    /// up: the rest is the part `unsampled`.
    pub coverage: Option<Estimate>,
    /// Samples of its stacks, in all rounds.
    pub samples: u64,
    /// Records that the kernel had no room for.
    pub lost: u64,
    /// CPU time per request by part, the largest first; together they are `sampled_cpu`.
    pub parts: Vec<(CostPart, Estimate)>,
    /// CPU time per request by function with what it calls, the largest first.
    pub with_callees: Vec<(String, Estimate)>,
    /// Counts per request, by name.
    pub counts: Vec<(String, Estimate)>,
    /// How long all threads together wait per request, by where they wait, the longest first; waits for requests are among
    /// them.
    pub waits: Vec<(CostPart, Estimate)>,
    /// Nanoseconds of waits by stack, in all rounds.
    #[serde(skip)]
    pub waiting: BTreeMap<String, u64>,
    /// Samples by stack, in all rounds.
    #[serde(skip)]
    pub stacks: BTreeMap<String, u64>,
    /// The CPU time that a sample stands for, in nanoseconds; 0 without rounds.
    #[serde(skip)]
    pub period_ns: u64,
}

/// A server against the first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Against {
    /// Name of the server that is compared with the first.
    pub side: String,
    /// Result of the comparison, in a sentence.
    pub sentence: String,
    /// CPU time per request.
    pub cpu: Option<Difference>,
    /// The same by part: those that differ first, by how much; then the others.
    pub parts: Vec<(CostPart, Difference)>,
    /// Functions of each part [`CostPart::OnlyIn`] that differs.
    pub one_sided: Vec<OneSided>,
    /// Counts per request: those that differ first, by how many times; then the others.
    pub counts: Vec<(String, Difference)>,
    /// How long all threads together wait per request, by where they wait: those that differ first. Waits for requests are not
    /// among them.
    pub waits: Vec<(CostPart, Difference)>,
    /// Difference of CPU time that remains without the parts that differ, in nanoseconds per request; null where CPU
    /// time is not known to differ.
    pub unexplained_ns: Option<f64>,
}

/// Two servers in one value.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// The first server's.
    pub base: f64,
    /// Value of the other server.
    pub side: f64,
    /// Value of the other server less that of the first, with an ordinary 95% interval over rounds.
    pub difference: Estimate,
    /// The probability of so large a difference between equal servers.
    pub p: f64,
    /// The servers differ: of equal servers at most one pair in twenty has anything that is called different.
    pub differs: bool,
    /// Share of the whole difference of CPU time, if CPU time differs; 1 is all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

impl Difference {
    fn size(&self) -> f64 {
        self.difference.value().abs()
    }

    /// By how many times the smaller value: counts are of different things, and 40 bytes are no more than two calls.
    fn change(&self) -> f64 {
        self.size() / self.base.abs().min(self.side.abs()).max(0.01)
    }
}

/// Derives the anatomy from the rounds. A round that does not have every server, which prony does not write, is left
/// out.
#[must_use]
pub fn anatomy(seen: &Dissections) -> Anatomy {
    let whole = |round: &&Vec<Dissection>| round.len() == seen.names.len();
    let rounds: Vec<&Vec<Dissection>> = seen.rounds.iter().filter(whole).collect();
    let sides: Vec<Vec<&Dissection>> = (0..seen.names.len())
        .map(|side| rounds.iter().map(|round| &round[side]).collect())
        .collect();
    let bodies = seen.names.iter().zip(&sides);
    let against = seen.names.iter().zip(&sides).skip(1);
    Anatomy {
        rate: seen.rate,
        rounds: rounds.len() as u32,
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
const WAIT: Unit = Unit::Nanoseconds;

fn body(name: &str, rounds: &[&Dissection]) -> ServerAnatomy {
    let series =
        |of: fn(&Dissection) -> Option<f64>, unit| over(rounds.iter().map(|it| of(it)), unit);
    let all = |of: fn(&Dissection) -> &BTreeMap<String, u64>| {
        let mut stacks = BTreeMap::new();
        for (stack, samples) in rounds.iter().flat_map(|round| of(round)) {
            *stacks.entry(stack.clone()).or_default() += samples;
        }
        stacks
    };
    let sum = |of: fn(&Dissection) -> u64| rounds.iter().map(|round| of(round)).sum();
    let mut body = ServerAnatomy {
        name: name.to_owned(),
        sentence: String::new(),
        requests: sum(|it| it.requests),
        failed: sum(|it| it.failed),
        unsent: sum(|it| it.unsent),
        cpu: series(plain, CPU),
        sampled_cpu: series(sampled, CPU),
        sampling: series(cost, Unit::Ratio),
        profile: series(profile, Unit::Ratio),
        coverage: series(coverage, Unit::Ratio),
        samples: sum(|it| it.samples),
        lost: sum(|it| it.lost),
        parts: estimates(&table(rounds, parts), CPU),
        with_callees: estimates(&table(rounds, with_callees), CPU),
        counts: estimates(&table(rounds, counts), Unit::Count),
        waits: estimates(&table(rounds, waits), WAIT),
        waiting: all(|it| &it.waits),
        stacks: all(|it| &it.stacks),
        period_ns: rounds.first().map_or(0, |round| round.period_ns),
    };
    body.sentence = words::of_one(&body);
    body
}

/// CPU time per request while nothing was sampled or counted.
fn plain(it: &Dissection) -> Option<f64> {
    it.plain.per_request()
}

/// CPU time per request while stacks were sampled; none without samples.
fn sampled(it: &Dissection) -> Option<f64> {
    it.sampled.per_request().filter(|_| it.samples > 0)
}

/// CPU time per request with sampling, as a multiple of that without.
fn cost(it: &Dissection) -> Option<f64> {
    Some(sampled(it)? / plain(it)?)
}

/// CPU time per request with what the manifest adds, as a multiple of that without.
fn profile(it: &Dissection) -> Option<f64> {
    Some(plain(it)? / it.unprofiled?.per_request()?)
}

/// Samples times their period, as a multiple of the CPU time that they sample.
fn coverage(it: &Dissection) -> Option<f64> {
    let cpu = nonzero(it.sampled.cpu_ns)?;
    (it.samples > 0).then(|| it.samples as f64 * it.period_ns as f64 / cpu)
}

fn nonzero(value: u64) -> Option<f64> {
    (value > 0).then_some(value as f64)
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

/// Counts per request of a round: system calls, and what the kernel and services count anyway.
fn counts(round: &Dissection) -> BTreeMap<String, f64> {
    let per = |spent: Spent| spent.requests.max(1.0);
    let calls = round.calls.iter().map(|(name, n)| {
        let name = match name.split_once(": ") {
            Some((service, call)) => format!("`{call}` calls in {service}"),
            None => format!("`{name}` calls"),
        };
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
struct UnjudgedRow<K> {
    key: K,
    value: Difference,
    relevant: bool,
}

fn row<K>(key: K, base: &[f64], side: &[f64], unit: Unit, least: f64) -> Option<UnjudgedRow<K>> {
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
    Some(UnjudgedRow {
        key,
        value,
        relevant,
    })
}

/// Returns the p-value of a paired t test. Differences that are the same in every round leave no doubt, unless they are
/// zero.
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
    // Sampling costs something, which differs from round to round: the rounds without it tell better.
    let plain = |rounds: &[&Dissection]| {
        let all = rounds.iter().map(|it| plain(it));
        all.collect::<Option<Vec<f64>>>()
    };
    let cpu = plain(base).zip(plain(side));
    let whole = cpu
        .as_ref()
        .and_then(|(base, _)| average(base))
        .unwrap_or(0.0);
    let mut cpu = cpu.and_then(|(base, side)| row((), &base, &side, CPU, RELEVANT * whole));
    let (mut parts, mut one_sided) = part_rows((base_name, base), (name, side), RELEVANT * whole);
    let mut counts = count_rows(base, side);
    let mut waits = wait_rows(base, side, RELEVANT_WAIT * whole);
    judge(&mut cpu, &mut parts, &mut counts, &mut waits);
    // One that is not known to differ says nothing about which functions are whose.
    one_sided.retain(|one| {
        let mut rows = parts.iter().filter(|row| row.value.differs);
        rows.any(|row| row.key == CostPart::OnlyIn(one.server.clone()))
    });
    let cpu = cpu.map(|row| row.value);
    let total = cpu.as_ref().filter(|cpu| cpu.differs);
    let total = total.map(|cpu| cpu.difference.value());
    for row in &mut parts {
        let share = |total| row.value.difference.value() / total;
        row.value.share = total.map(share).filter(|_| row.value.differs);
    }
    let explained = |row: &UnjudgedRow<CostPart>| match row.value.differs {
        true => row.value.difference.value(),
        false => 0.0,
    };
    let unexplained = total.map(|total| total - parts.iter().map(explained).sum::<f64>());
    let mut against = Against {
        side: name.to_owned(),
        sentence: String::new(),
        cpu,
        parts: sorted(parts, Difference::size),
        one_sided,
        counts: sorted(counts, Difference::change),
        waits: sorted(waits, Difference::size),
        unexplained_ns: unexplained,
    };
    against.sentence = words::sentence(base_name, &against);
    against
}

/// A server's name and its rounds.
type Named<'a> = (&'a str, &'a [&'a Dissection]);

/// Parts of both; of those that are small in both together, the functions that only one server runs as one part, and all others as
/// one.
fn part_rows(
    base: Named<'_>,
    side: Named<'_>,
    least: f64,
) -> (Vec<UnjudgedRow<CostPart>>, Vec<OneSided>) {
    let rounds = side.1.len();
    let (mut ours, mut theirs) = (table(side.1, parts), table(base.1, parts));
    let sum = |table: &BTreeMap<CostPart, Vec<f64>>| table.values().flatten().sum::<f64>();
    let limit = LISTED * (sum(&ours) + sum(&theirs));
    let keys: BTreeSet<CostPart> = ours.keys().chain(theirs.keys()).cloned().collect();
    let mut rest = (vec![0.0; rounds], vec![0.0; rounds]);
    let mut functions = Vec::new();
    let mut rows = Vec::new();
    for key in keys {
        let our = ours.remove(&key).unwrap_or_else(|| vec![0.0; rounds]);
        let their = theirs.remove(&key).unwrap_or_else(|| vec![0.0; rounds]);
        if our.iter().chain(&their).sum::<f64>().abs() >= limit {
            rows.extend(row(key, &their, &our, CPU, least));
            continue;
        }
        add(&mut rest.0, &our, 1.0);
        add(&mut rest.1, &their, 1.0);
        if let CostPart::Function(name) = key {
            functions.push(Function {
                name,
                side: our,
                base: their,
            });
        }
    }
    let mut all = Vec::new();
    for server in [side.0, base.0] {
        let only = one_sided::sum(&functions, rounds);
        let turned = server == base.0;
        let (our, their) = match turned {
            false => (&only.side, &only.base),
            true => (&only.base, &only.side),
        };
        // One that may be noise stays where it was: among the smaller parts.
        let row = row(CostPart::OnlyIn(server.to_owned()), their, our, CPU, least);
        if let Some(row) = row.filter(|row| row.value.p <= ONE_SIDED) {
            add(&mut rest.0, our, -1.0);
            add(&mut rest.1, their, -1.0);
            rows.push(row);
            all.push(one_sided::named(&functions, server));
        }
        for function in &mut functions {
            std::mem::swap(&mut function.side, &mut function.base);
        }
    }
    rows.extend(row(CostPart::Rest, &rest.1, &rest.0, CPU, least));
    (rows, all)
}

fn add(sum: &mut [f64], values: &[f64], times: f64) {
    for (sum, value) in sum.iter_mut().zip(values) {
        *sum += times * value;
    }
}

fn count_rows(base: &[&Dissection], side: &[&Dissection]) -> Vec<UnjudgedRow<String>> {
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

/// Waits other than for requests, of which a server that works less has more.
fn wait_rows(base: &[&Dissection], side: &[&Dissection], least: f64) -> Vec<UnjudgedRow<CostPart>> {
    let (mut ours, mut theirs) = (table(side, waits), table(base, waits));
    let keys: BTreeSet<CostPart> = ours.keys().chain(theirs.keys()).cloned().collect();
    let mut rows = Vec::new();
    for key in keys.into_iter().filter(|part| !part.is_idle()) {
        let our = ours.remove(&key).unwrap_or_else(|| vec![0.0; side.len()]);
        let their = theirs.remove(&key).unwrap_or_else(|| vec![0.0; base.len()]);
        let share = RELEVANT_WAIT_SHARE * average(&their).unwrap_or(0.0);
        // What is shorter than what matters with both says nothing, and would take from the others.
        if our.iter().chain(&their).any(|wait| *wait >= least) {
            rows.extend(row(key, &their, &our, WAIT, least.max(share)));
        }
    }
    rows
}

/// Marks the rows that differ. The whole is the question that was asked, so it is not one of dozens. Half of the errors
/// that chance may cause is for it alone, and the other half for all parts, counts and waits together. Where the whole
/// differs, they have both halves (Wiens, 2003: the fallback procedure). Of equal servers at most one pair in twenty
/// gets anything called different.
fn judge(
    cpu: &mut Option<UnjudgedRow<()>>,
    parts: &mut [UnjudgedRow<CostPart>],
    counts: &mut [UnjudgedRow<String>],
    waits: &mut [UnjudgedRow<CostPart>],
) {
    let mut rate = RATE / 2.0;
    if let Some(row) = cpu {
        let found = row.value.p <= rate;
        row.value.differs = found && row.relevant;
        if found {
            rate = RATE;
        }
    }
    let mut all: Vec<(&mut Difference, bool)> = Vec::new();
    all.extend(parts.iter_mut().map(|row| (&mut row.value, row.relevant)));
    all.extend(counts.iter_mut().map(|row| (&mut row.value, row.relevant)));
    all.extend(waits.iter_mut().map(|row| (&mut row.value, row.relevant)));
    let p_values: Vec<f64> = all.iter().map(|(row, _)| row.p).collect();
    let found = findings(&p_values, rate);
    for ((row, relevant), found) in all.into_iter().zip(found) {
        row.differs = found && relevant;
    }
}

/// Sorts the rows: those that differ first, and the largest difference first.
fn sorted<K>(mut rows: Vec<UnjudgedRow<K>>, size: fn(&Difference) -> f64) -> Vec<(K, Difference)> {
    rows.sort_by(|a, b| {
        let by_size = size(&b.value).total_cmp(&size(&a.value));
        b.value.differs.cmp(&a.value.differs).then(by_size)
    });
    rows.into_iter().map(|row| (row.key, row.value)).collect()
}

#[cfg(test)]
mod tests;
