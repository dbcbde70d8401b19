//! Observations of a duel and its report: while it runs, and again from the notebook.

use crate::by_name::{self, NameResults, NamedReport};
use crate::by_rate;
use crate::doubt;
use crate::duel::{compare, may_end, plan};
use crate::frequency;
use crate::note::notes;
use crate::sentence::sentences;
use crate::why::Anatomy;
use prony_record::verdict::{Comparison, Quantity, Terms, Values};
use prony_record::{CheckId, Design, Finding, IdleConnections, ServiceCost, ServiceTotals, Trial};
use prony_stats::mean::mean;
use prony_stats::sequential::Plan;
use prony_stats::{Estimate, StatsError, Unit};
use schemars::JsonSchema;
use serde::Serialize;

/// A duel so far.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "prony duel")]
pub struct DuelReport {
    /// Number of the duel's run in the notebook.
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
    /// Results of the duel, in sentences.
    pub sentences: Vec<String>,
    /// Notes that a reader of the sentences needs: the rate was lowered, or missed, or a part was left out.
    pub notes: Vec<String>,
    /// The duel ended before everything was settled: by the user, because time was up, or because the rest could not be
    /// settled in time.
    pub cut_short: bool,
    /// Findings of the checks, by side.
    pub checks: Vec<Finding>,
    /// How it was measured, and what of that a pilot has found; null where it was not kept.
    pub design: Option<Design>,
    /// Every round, its sides in their order.
    pub values: Vec<Vec<Values>>,
    /// By name, where the requests are those of a file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<NamedReport>,
    /// Why they differ: what a request costs each side, part by part; only with `--why`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Anatomy>,
}

/// A side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SideReport {
    /// Name of the side.
    pub name: String,
    /// Command line of the side; empty when prony did not start it.
    pub command: String,
    /// Version of the side as far as it is known: the commit and its subject for a revision; empty when nothing is
    /// known.
    pub version: String,
    /// The share of its requests that failed, 0 to 1.
    pub errors: f64,
    /// The most memory of its processes, in bytes; 0 when unknown.
    pub rss_peak_bytes: u64,
    /// The most memory of a start, in bytes: the mean over the rounds, with an ordinary 95% interval; null when unknown.
    pub memory: Option<Estimate>,
    /// Each quantity's mean over the rounds, with an ordinary 95% interval.
    pub figures: Vec<Figure>,
    /// Idle connections during its loads; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleConnections>,
    /// Costs of each of its services per request, at the common rate in all rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceCost>,
}

/// A quantity of a side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// Quantity whose mean is given.
    pub quantity: Quantity,
    /// The mean over the rounds.
    pub value: Estimate,
}

/// Did answers of a side come in parts in a round?
pub(crate) fn in_parts(rounds: &[Vec<Values>]) -> bool {
    rounds.iter().flatten().any(Values::has_parts)
}

/// Each quantity's mean over the rounds, for one side, with the parts of CPU time and what services used.
#[must_use]
pub fn figures(rounds: &[Vec<Values>], side: usize) -> Vec<Figure> {
    let first_bytes = Quantity::FIRST_BYTES.into_iter();
    let streams = Quantity::STREAMS.into_iter();
    Quantity::ALL
        .into_iter()
        .chain(first_bytes.filter(|_| in_parts(rounds)))
        .chain(streams)
        .chain(Quantity::PARTS)
        .chain(Quantity::SERVICES)
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

/// The most memory of a start of one side, on average.
fn memory(rounds: &[Vec<Values>], side: usize) -> Option<Estimate> {
    let values = rounds.iter().filter_map(|round| round[side].memory);
    mean(&values.collect::<Vec<f64>>(), Unit::Bytes).ok()
}

/// A check that was raised for a side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raised {
    /// The side's place among the sides.
    pub side: usize,
    /// Finding of the check, as it was first raised.
    pub finding: Finding,
    /// Number of the side's measurements it was raised in.
    pub times: u32,
}

/// Observations of whole rounds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DuelObservations {
    /// The sides' names; the others are compared with the first.
    pub names: Vec<String>,
    /// Command lines of the sides; empty where prony did not start them.
    pub commands: Vec<String>,
    /// Versions of the sides; empty where they are not known.
    pub versions: Vec<String>,
    /// Failed requests of each side, and all of its requests that ended.
    pub failed: Vec<(u64, u64)>,
    /// The most memory of their processes, in bytes; 0 when unknown.
    pub memory: Vec<u64>,
    /// Idle connections of each side, in each of its measurements.
    pub idle: Vec<Vec<IdleConnections>>,
    /// Resources of each side's services at the common rate.
    pub services: Vec<ServiceTotals>,
    /// Requests per second at the common rate, of the last round.
    pub rate: Option<f64>,
    /// Checks that were raised, by side.
    pub raised: Vec<Raised>,
    /// Measurements of each side that checks have looked at.
    pub measurements: Vec<u32>,
    /// Every round, its sides in their order.
    pub rounds: Vec<Vec<Values>>,
    /// The requests of each name, where a file has several.
    pub requests: Vec<NameResults>,
    /// How it was measured.
    pub design: Option<Design>,
}

impl DuelObservations {
    /// Nothing yet of these sides.
    #[must_use]
    pub fn nothing(names: Vec<String>) -> Self {
        Self {
            commands: vec![String::new(); names.len()],
            versions: vec![String::new(); names.len()],
            failed: vec![(0, 0); names.len()],
            memory: vec![0; names.len()],
            measurements: vec![0; names.len()],
            services: vec![ServiceTotals::default(); names.len()],
            idle: vec![Vec::new(); names.len()],
            names,
            ..Self::default()
        }
    }

    /// Adds a part of a side's round. The same check is kept once, and counted. Of a part at another rate than the common one
    /// only CPU time counts.
    pub fn add(&mut self, side: usize, trial: &Trial) {
        trial.command_line.clone_into(&mut self.commands[side]);
        if let Some(version) = &trial.server_version {
            version.clone_into(&mut self.versions[side]);
        }
        let memory = trial.figures.rss_peak_bytes.unwrap_or(0);
        self.memory[side] = self.memory[side].max(memory);
        self.measurements[side] += 1;
        self.idle[side].extend(trial.observation.as_ref().and_then(|seen| seen.idle));
        let round = trial.round as usize;
        while self.rounds.len() <= round {
            let blank = vec![Values::default(); self.names.len()];
            self.rounds.push(blank);
        }
        let values = &mut self.rounds[round][side];
        let compared = values.add(trial);
        self.rate = values.rate.or(self.rate);
        let Some(seen) = trial.observation.as_ref().filter(|_| compared) else {
            return;
        };
        if trial.load.rate.is_some() {
            self.services[side].add(seen);
        }
        by_name::add(&mut self.requests, (side, self.names.len()), trial);
        let ended = seen.outcomes.finished();
        self.failed[side].0 += ended - seen.outcomes.ok;
        self.failed[side].1 += ended;
        for finding in &seen.checks {
            let same =
                |raised: &&mut Raised| raised.side == side && raised.finding.name == finding.name;
            match self.raised.iter_mut().find(same) {
                Some(raised) => raised.times += 1,
                None => self.raised.push(Raised {
                    side,
                    finding: finding.clone(),
                    times: 1,
                }),
            }
        }
    }

    /// Findings of the checks, each check once, with the sides that it was raised for and in how many of their
    /// measurements. The text is that of the first side.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut all: Vec<(&Raised, Vec<String>)> = Vec::new();
        for raised in &self.raised {
            let (name, all_of_it) = (&self.names[raised.side], self.measurements[raised.side]);
            let who = match all_of_it {
                1 => name.clone(),
                _ => format!("{name} ({} of {all_of_it} measurements)", raised.times),
            };
            match all
                .iter_mut()
                .find(|(first, _)| first.finding.name == raised.finding.name)
            {
                Some((_, sides)) => sides.push(who),
                None => all.push((raised, vec![who])),
            }
        }
        let told = |(first, sides): (&Raised, Vec<String>)| Finding {
            text: format!("{}: {}", sides.join(", "), first.finding.text),
            ..first.finding.clone()
        };
        all.into_iter().map(told).collect()
    }

    /// Did other programs, or the hypervisor, use the CPUs?
    fn noisy(&self) -> bool {
        self.raised
            .iter()
            .any(|raised| raised.finding.name == CheckId::NoisyHost)
    }

    /// How the sides compare so far.
    ///
    /// # Errors
    /// When there are more rounds than were planned.
    pub fn compare(&self, plan: &Plan, terms: &Terms) -> Result<Vec<Comparison>, StatsError> {
        let Terms {
            quantities, bands, ..
        } = terms;
        let mut all = compare(&self.names, quantities, &self.rounds, plan, bands)?;
        doubt::of_failures(&mut all, &self.names, &self.failed);
        Ok(all)
    }

    /// Returns the report on the duel if it ends here. `finished`: it ended by itself, and neither goes on, nor failed,
    /// nor was ended by its user.
    ///
    /// A duel that has neither all its rounds nor what it was to end for was cut short. If its time was over, or nothing
    /// more was to be found, that has nothing to do with what was seen, or makes a difference less likely to be called: so
    /// the last look may spend all the rest. A user has seen the figures, and may have waited for good ones: the
    /// interval is that of the planned look, which holds whenever one stops. Where rounds had been said there is
    /// no such look.
    ///
    /// # Errors
    /// As [`compare`](Self::compare).
    pub fn report(
        &self,
        run: i64,
        terms: &Terms,
        finished: bool,
    ) -> Result<DuelReport, StatsError> {
        let rounds = self.rounds.len() as u32;
        let mut plan = plan(terms, self.names.len())?;
        let mut comparisons = self.compare(&plan, terms)?;
        let cut_short = rounds < terms.most && !may_end(terms, rounds, &comparisons);
        if cut_short && rounds >= 2 && (finished || terms.exact) {
            plan = plan.ended_at(rounds)?;
            comparisons = self.compare(&plan, terms)?;
        }
        if cut_short && terms.exact && !finished {
            doubt::of_missing_rounds(&mut comparisons, rounds, terms.most);
        }
        let noisy = self.noisy();
        let mut sentences = sentences(&self.names, &comparisons, rounds, noisy);
        let missed = (1..self.names.len())
            .filter_map(|side| doubt::missed_rates(&self.names, &self.rounds, side));
        sentences.extend(missed.map(|sentence| format!("{sentence}.")));
        sentences.extend(doubt::two_kinds(&self.names, &self.rounds, &terms.bands));
        let mut notes = notes(&self.names, &self.rounds, terms, &comparisons);
        notes.extend(
            (1..self.names.len()).filter_map(|side| {
                by_rate::sentence(&self.names, &self.rounds, side, (&plan, terms))
            }),
        );
        if terms.quantities.contains(&Quantity::Cpu) {
            let how = (&plan, terms.bands.of(Quantity::Cpu));
            notes.extend(
                (1..self.names.len())
                    .filter_map(|side| frequency::sentence(&self.names, &self.rounds, side, how)),
            );
        }
        let side = |(i, name): (usize, &String)| SideReport {
            name: name.clone(),
            command: self.commands[i].clone(),
            version: self.versions[i].clone(),
            errors: self.failed[i].0 as f64 / self.failed[i].1.max(1) as f64,
            rss_peak_bytes: self.memory[i],
            memory: memory(&self.rounds, i),
            figures: figures(&self.rounds, i),
            idle: IdleConnections::over(self.idle[i].iter().copied()),
            services: self.services[i].costs(),
        };
        Ok(DuelReport {
            run,
            sides: self.names.iter().enumerate().map(side).collect(),
            rounds,
            rate: self.rate,
            band: terms.band,
            sentences,
            notes,
            comparisons,
            cut_short,
            checks: self.findings(),
            design: self.design.clone(),
            values: self.rounds.clone(),
            requests: by_name::reports(&self.requests, &self.names, &plan, terms)?,
            why: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::terms;
    use prony_record::verdict::Verdict;

    /// Rounds of two sides, the second faster by `ratio`, which spreads by some 2%.
    fn seen(rounds: usize, ratio: f64) -> DuelObservations {
        let mut seen = DuelObservations::nothing(vec!["a".into(), "b".into()]);
        seen.rounds = (0..rounds)
            .map(|i| {
                let at = |throughput| Values {
                    throughput: Some(throughput),
                    ..Values::default()
                };
                let noise = 1.0 + 0.02 * [0.5, -1.0, 0.8, -0.3][i % 4];
                vec![at(100.0), at(100.0 * ratio * noise)]
            })
            .collect();
        seen
    }

    fn trial() -> Trial {
        let blank = serde_json::json!({
            "ordinal": 0, "round": 0, "server": "it", "workers": 1, "load": {"connections": 1},
            "cell": "", "status": "ok", "started": "2026-01-01T00:00:00Z", "command_line": "it 1",
            "server_version": "2", "observation": null
        });
        serde_json::from_value(blank).unwrap()
    }

    #[test]
    fn an_end_for_what_was_seen_is_not_cut_short() {
        let report = seen(8, 1.5).report(1, &terms(), true).unwrap();
        assert_eq!(report.comparisons[0].verdict, Verdict::Faster);
        assert!(!report.cut_short);
        let report = seen(20, 1.0).report(1, &terms(), true).unwrap();
        assert!(!report.cut_short, "it had all its rounds");
    }

    #[test]
    fn the_last_look_of_a_duel_cut_short_spends_the_rest() {
        let seen = seen(8, 1.0);
        let report = seen.report(1, &terms(), true).unwrap();
        assert!(report.cut_short);
        let plan = plan(&terms(), 2).unwrap();
        let planned = seen.compare(&plan, &terms()).unwrap();
        let half = |comparison: &Comparison| comparison.ratio.relative_half_width().unwrap();
        assert!(half(&report.comparisons[0]) < half(&planned[0]));
    }

    #[test]
    fn the_last_look_of_a_duel_that_its_user_ended_is_the_planned_one() {
        let seen = seen(8, 1.0);
        let report = seen.report(1, &terms(), false).unwrap();
        assert!(report.cut_short);
        let plan = plan(&terms(), 2).unwrap();
        assert_eq!(report.comparisons, seen.compare(&plan, &terms()).unwrap());
    }

    #[test]
    fn rounds_that_were_said_and_not_waited_for_have_no_verdict() {
        let exact = Terms {
            exact: true,
            ..terms()
        };
        let report = seen(8, 1.5).report(1, &exact, false).unwrap();
        let one = &report.comparisons[0];
        assert_eq!(one.verdict, Verdict::Inconclusive);
        assert!(one.ratio.interval().is_some(), "it says what was measured");
        assert!(
            report.sentences[0].contains("only 8 of the 20 rounds that were asked for"),
            "{report:?}"
        );
        let report = seen(20, 1.5).report(1, &exact, false).unwrap();
        assert_eq!(report.comparisons[0].verdict, Verdict::Faster);
    }

    #[test]
    fn what_fails_is_not_faster() {
        let mut seen = seen(8, 1.5);
        seen.failed = vec![(0, 90_000), (3_000, 90_000)];
        let report = seen.report(1, &terms(), true).unwrap();
        let told = &report.sentences[0];
        assert!(
            told.contains("inconclusive in throughput: b failed 3.33% of its requests and a none"),
            "{told}"
        );
    }

    #[test]
    fn a_tie_says_what_it_cannot_have_seen() {
        let mut seen = seen(20, 1.0);
        for round in &mut seen.rounds {
            round[1] = round[0];
        }
        let report = seen.report(1, &terms(), true).unwrap();
        assert_eq!(report.comparisons[0].verdict, Verdict::Same);
        assert!(
            report
                .notes
                .iter()
                .any(|note| note.contains("in fewer than 15% of starts")),
            "{:?}",
            report.notes
        );
    }

    #[test]
    fn fewer_quantities_have_narrower_intervals() {
        let seen = seen(8, 1.0);
        let only = Terms {
            quantities: vec![Quantity::Throughput],
            ..terms()
        };
        let half = |terms: &Terms| {
            let report = seen.report(1, terms, true).unwrap();
            report.comparisons[0].ratio.relative_half_width().unwrap()
        };
        assert!(half(&only) < half(&terms()));
        let cpu = Terms {
            quantities: vec![Quantity::Cpu],
            ..terms()
        };
        assert!(seen.report(1, &cpu, true).unwrap().comparisons.is_empty());
    }

    #[test]
    fn as_many_rounds_as_were_asked_for() {
        let exact = Terms {
            exact: true,
            ..terms()
        };
        let seen = seen(8, 1.5);
        assert!(seen.report(1, &exact, true).unwrap().cut_short);
        let exact = Terms { most: 8, ..exact };
        assert!(!seen.report(1, &exact, true).unwrap().cut_short);
    }

    #[test]
    fn a_precision_is_reached_by_every_interval() {
        let wide = Terms {
            precision: Some(0.001),
            ..terms()
        };
        let all = seen(8, 1.5).report(1, &wide, true).unwrap();
        assert!(all.cut_short, "half-width {:?}", all.comparisons[0].ratio);
        let narrow = Terms {
            precision: Some(0.5),
            ..terms()
        };
        assert!(!seen(8, 1.0).report(1, &narrow, true).unwrap().cut_short);
    }

    #[test]
    fn the_same_finding_is_kept_once_for_each_side() {
        let mut seen = seen(1, 1.0);
        let found = Finding {
            name: CheckId::NoisyHost,
            severity: prony_record::Severity::Warning,
            text: "much".into(),
        };
        let trial = |memory: u64, failed: u64| {
            let mut trial = trial();
            trial.figures.rss_peak_bytes = Some(memory);
            let mut seen = prony_record::Measurement {
                checks: vec![found.clone()],
                ..Default::default()
            };
            (seen.outcomes.ok, seen.outcomes.timeout) = (100 - failed, failed);
            trial.observation = Some(seen);
            trial
        };
        seen.add(0, &trial(5, 0));
        seen.add(0, &trial(3, 10));
        seen.add(1, &trial(3, 0));
        let texts: Vec<String> = seen.findings().into_iter().map(|f| f.text).collect();
        assert_eq!(texts, ["a (2 of 2 measurements), b: much"]);
        assert_eq!(seen.memory, [5, 3]);
        assert_eq!(seen.failed, [(10, 200), (0, 100)]);
    }
}
