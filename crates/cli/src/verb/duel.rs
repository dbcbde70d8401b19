//! `prony duel`: which of these servers is faster, by how much, and how sure is that?

mod display;
pub mod sides;

use crate::Ended;
use crate::args::{Duel, Places};
use crate::kept::{self, Row};
use crate::measured::{part_findings, values};
use crate::place::{bench, on_signal};
use display::Display;
use miette::{IntoDiagnostic, Result, miette};
use prony_lab::contract::Depth;
use prony_lab::duel::{Ask, Bout, Manner, Now, Side, round};
use prony_lab::placement::{Placement, allowed_cpus};
use prony_lab::trial::{Bench, Interrupt};
use prony_notebook::{Notebook, RunId, RunStatus};
use prony_report::band::Bands;
use prony_report::duel::{
    Comparison, DuelReport, SideReport, Values, compare, figures, sentences, settled,
};
use prony_report::facts::Finding;
use prony_stats::compare::BAND;
use prony_stats::sequential::Plan;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The common rate is this part of what the slowest side reaches: busy, and far from any queue.
const COMMON: f64 = 0.5;
/// Rounds before a duel may end by itself, and the most there are when nothing is said.
const FEWEST: u32 = 3;
const MOST: u32 = 60;
pub fn main(places: &Places, args: &Duel) -> Result<Ended> {
    let interrupt = Arc::new(Interrupt::default());
    on_signal(&interrupt)?;
    let chosen = sides::choose(places, args)?;
    let (bench, _scratch) = bench(Arc::clone(&interrupt), Placement::split(&allowed_cpus()))?;
    let mut notebook = places.notebook()?;
    let names: Vec<String> = chosen.sides.iter().map(|side| side.name.clone()).collect();
    let id = kept::begin(
        &mut notebook,
        "duel",
        &names,
        kept::asked(&chosen.manner),
        None,
        &bench,
    )?;
    let bands = bands(args, &chosen.manner, &notebook, id)?;
    let mut duel = Session::new(args, &chosen.sides, &chosen.manner, &bench, bands)?;
    let outcome = duel.carry_out(&mut notebook, id);
    duel.display.end();
    let status = match &outcome {
        Err(_) => RunStatus::Failed,
        Ok(()) if interrupt.fired() => RunStatus::Interrupted,
        Ok(()) => RunStatus::Finished,
    };
    notebook
        .finish_run(id, status, jiff::Timestamp::now())
        .into_diagnostic()?;
    outcome?;
    if duel.rounds.is_empty() {
        eprintln!("no round was finished: there is nothing to compare");
        return Ok(Ended::Incomplete);
    }
    let report = duel.report(id)?;
    if args.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&report).into_diagnostic()?
        );
    } else {
        print!("{}", report.text());
        eprintln!("\nthe duel is kept as run {id}: `prony report {id}`");
    }
    Ok(match interrupt.fired() {
        true => Ended::Incomplete,
        false => Ended::Done,
    })
}

/// A duel under way.
struct Session<'a> {
    sides: &'a [Side],
    manner: &'a Manner,
    bench: &'a Bench,
    names: Vec<String>,
    plan: Plan,
    /// The user has said how many rounds: no early end.
    exact: bool,
    precision: Option<f64>,
    asked_band: f64,
    bands: Bands,
    deadline: Instant,
    rate: Option<f64>,
    fixed_rate: bool,
    most: u32,
    rounds: Vec<Vec<Values>>,
    commands: Vec<String>,
    memory: Vec<u64>,
    findings: Vec<Finding>,
    cut_short: bool,
    verified: bool,
    ordinal: u32,
    display: Display,
}

impl<'a> Session<'a> {
    fn new(
        args: &Duel,
        sides: &'a [Side],
        manner: &'a Manner,
        bench: &'a Bench,
        bands: Bands,
    ) -> Result<Self> {
        let most = args.rounds.unwrap_or(MOST);
        let quantities = prony_report::duel::Quantity::ALL.len() as u32;
        let pairs = sides.len() as u32 - 1;
        let plan = match args.rounds {
            Some(exact) => Plan::new(
                &[exact.max(2)],
                prony_stats::sequential::Spending::Quadratic,
            ),
            None => Plan::up_to(most),
        };
        Ok(Self {
            sides,
            manner,
            bench,
            names: sides.iter().map(|side| side.name.clone()).collect(),
            plan: plan.into_diagnostic()?.among(quantities * pairs),
            exact: args.rounds.is_some(),
            precision: args.precision.map(|share| share.0),
            asked_band: asked_band(args),
            bands,
            deadline: Instant::now() + args.max_time.0,
            rate: args.rate,
            fixed_rate: !args.no_rate,
            most,
            rounds: Vec::new(),
            commands: vec![String::new(); sides.len()],
            memory: vec![0; sides.len()],
            findings: Vec::new(),
            cut_short: false,
            verified: false,
            ordinal: 0,
            display: Display::new(args, sides, manner, &bench.placement),
        })
    }

    fn carry_out(&mut self, notebook: &mut Notebook, id: RunId) -> Result<()> {
        if self.rate.is_none() && self.fixed_rate {
            // A round that is not counted finds the common rate.
            match self.round(None)? {
                Some(bouts) => self.rate = common(&bouts),
                None => return Ok(()),
            }
        }
        let mut longest = Duration::ZERO;
        while (self.rounds.len() as u32) < self.most {
            let begun = Instant::now();
            let Some(bouts) = self.round(self.rate)? else {
                self.cut_short = true;
                break;
            };
            self.keep(notebook, id, &bouts)?;
            let comparisons = self.comparisons()?;
            self.display.round(&comparisons, &self.findings);
            if self.may_end(&comparisons) {
                break;
            }
            longest = longest.max(begun.elapsed());
            // A round that would end too late is not begun.
            if Instant::now() + longest > self.deadline && !self.exact {
                self.cut_short = true;
                break;
            }
        }
        // What ended it had nothing to do with what was seen: the last look may spend all the rest.
        let rounds = self.rounds.len() as u32;
        if self.cut_short && rounds >= 2 && rounds < self.most {
            self.plan = self.plan.ended_at(rounds).into_diagnostic()?;
        }
        Ok(())
    }

    fn round(&mut self, rate: Option<f64>) -> Result<Option<Vec<Bout>>> {
        // The round that finds a common rate is not counted.
        let finding = rate.is_none() && self.fixed_rate;
        let number = (!finding).then_some(self.rounds.len() + 1);
        // Everything once; later starts of the same program only have to show that they answer.
        let manner = Manner {
            depth: match self.verified {
                true => Depth::Quick,
                false => Depth::Full,
            },
            ..self.manner.clone()
        };
        let display = &self.display;
        let mut told = |side: &Side, now: Now<'_>| display.told(number, side, &now);
        match round(self.bench, self.sides, &manner, rate, &mut told) {
            Ok(bouts) => {
                self.verified = true;
                Ok(bouts)
            }
            Err(_) if self.bench.interrupt.fired() => Ok(None),
            Err((name, failure)) => Err(match failure.output.as_str() {
                "" => miette!("{name}: {failure}"),
                output => miette!("{name}: {failure}\n{output}"),
            }),
        }
    }

    fn keep(&mut self, notebook: &mut Notebook, id: RunId, bouts: &[Bout]) -> Result<()> {
        let number = self.rounds.len() as u32;
        for (i, bout) in bouts.iter().enumerate() {
            self.commands[i] = bout.command.join(" ");
            self.memory[i] = self.memory[i].max(bout.rss_peak);
            for part in [Some(&bout.saturation), bout.fixed.as_ref()]
                .into_iter()
                .flatten()
            {
                let found = part_findings(part, &self.bench.placement);
                let name = &self.names[i];
                let row = Row {
                    place: (self.ordinal, number),
                    side: name,
                    asked: &kept::asked(self.manner),
                    command: &bout.command,
                    rss_peak: bout.rss_peak,
                    part,
                    checks: &found,
                };
                kept::add(notebook, id, &kept::label(part), &row)?;
                self.ordinal += 1;
                for finding in found {
                    let text = format!("{name}: {}", finding.text);
                    let known = |f: &Finding| f.name == finding.name && f.text.starts_with(name);
                    if !self.findings.iter().any(known) {
                        self.findings.push(Finding { text, ..finding });
                    }
                }
            }
        }
        self.rounds.push(bouts.iter().map(values).collect());
        Ok(())
    }

    fn comparisons(&self) -> Result<Vec<Comparison>> {
        compare(&self.names, &self.rounds, &self.plan, &self.bands).into_diagnostic()
    }

    fn may_end(&self, comparisons: &[Comparison]) -> bool {
        if self.exact || (self.rounds.len() as u32) < FEWEST {
            return false;
        }
        match self.precision {
            None => settled(comparisons),
            Some(share) => comparisons.iter().all(|comparison| {
                let half = comparison.ratio.relative_half_width();
                half.is_some_and(|half| half <= share)
            }),
        }
    }

    fn report(&self, id: RunId) -> Result<DuelReport> {
        let comparisons = self.comparisons()?;
        let rounds = self.rounds.len() as u32;
        let side = |(i, name): (usize, &String)| SideReport {
            name: name.clone(),
            command: self.commands[i].clone(),
            rss_peak_bytes: self.memory[i],
            figures: figures(&self.rounds, i),
        };
        Ok(DuelReport {
            run: id.0,
            sides: self.names.iter().enumerate().map(side).collect(),
            rounds,
            rate: self.rate,
            band: self.asked_band,
            sentences: sentences(&self.names, &comparisons, rounds),
            comparisons,
            cut_short: self.cut_short,
            checks: self.findings.clone(),
            values: self.rounds.clone(),
        })
    }
}

fn asked_band(args: &Duel) -> f64 {
    args.band.map_or(BAND, |share| share.0)
}

/// Which differences count as none: what the user says, else 1 % or what this host's noise allows.
fn bands(args: &Duel, manner: &Manner, notebook: &Notebook, id: RunId) -> Result<Bands> {
    let bands = Bands::all(asked_band(args));
    let (None, Ask::Contract(contract)) = (args.band, &manner.ask) else {
        return Ok(bands);
    };
    let run = notebook.run(id).into_diagnostic()?;
    let tare = prony_report::kept::tare(notebook, &run).into_diagnostic()?;
    let rig = tare
        .as_ref()
        .and_then(|tare| tare.cell(&contract.to_string(), manner.connections));
    Ok(rig.map_or(bands, |rig| bands.above_noise(rig)))
}

/// A rate that every side can well keep: two significant digits.
fn common(bouts: &[Bout]) -> Option<f64> {
    let slowest = bouts
        .iter()
        .map(|bout| bout.saturation.throughput())
        .fold(f64::INFINITY, f64::min);
    let rate = COMMON * slowest;
    if !rate.is_finite() || rate < 1.0 {
        return None;
    }
    let unit = 10_f64.powf(rate.log10().floor() - 1.0);
    Some((rate / unit).floor() * unit)
}
