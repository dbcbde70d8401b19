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
use prony_lab::duel::{Ask, Bout, Manner, Now, Parts, Side, round};
use prony_lab::placement::{Placement, allowed_cpus};
use prony_lab::trial::{Bench, Interrupt};
use prony_notebook::{Notebook, RunId, RunStatus};
use prony_report::band::Bands;
use prony_report::duel::seen::{Seen, Terms};
use prony_report::duel::{Comparison, Quantity};
use prony_report::kept::About;
use prony_stats::compare::BAND;
use prony_stats::sequential::Plan;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The common rate is this part of what the slowest side reaches: busy, and far from any queue.
const COMMON: f64 = 0.5;
/// The most rounds there are when nothing is said; twice as many of half the length.
const MOST: u32 = 60;
/// How long they may take.
const LONGEST: Duration = Duration::from_secs(300);

pub fn main(places: &Places, args: &Duel) -> Result<Ended> {
    let interrupt = Arc::new(Interrupt::default());
    on_signal(&interrupt)?;
    let chosen = sides::choose(places, args)?;
    let (bench, _scratch) = bench(Arc::clone(&interrupt), Placement::split(&allowed_cpus()))?;
    let mut notebook = places.notebook()?;
    let names: Vec<String> = chosen.sides.iter().map(|side| side.name.clone()).collect();
    let terms = terms(args, &chosen.manner, &notebook)?;
    let about = About {
        contract: kept::asked(&chosen.manner),
        duel: Some(terms.clone()),
        ..About::default()
    };
    let id = kept::begin(&mut notebook, "duel", &names, about, &bench)?;
    let mut duel = Session::new(args, &chosen.sides, &chosen.manner, &bench, terms.clone())?;
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
    if duel.seen.rounds.is_empty() {
        eprintln!("no round was finished: there is nothing to compare");
        return Ok(Ended::Incomplete);
    }
    let report = duel.seen.report(id.0, &terms).into_diagnostic()?;
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
    terms: Terms,
    plan: Plan,
    /// No round is begun that would end after this.
    deadline: Option<Instant>,
    /// As fast as answers come, and at a common rate.
    parts: (bool, bool),
    seen: Seen,
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
        terms: Terms,
    ) -> Result<Self> {
        let names = sides.iter().map(|side| side.name.clone());
        Ok(Self {
            sides,
            manner,
            bench,
            plan: terms.plan(sides.len()).into_diagnostic()?,
            deadline: time(args).map(|time| Instant::now() + time),
            parts: parts(&terms.quantities),
            seen: Seen {
                // Of no use where nothing that is compared is measured at it.
                rate: args.rate.filter(|_| parts(&terms.quantities).1),
                ..Seen::nothing(names.collect())
            },
            terms,
            verified: false,
            ordinal: 0,
            display: Display::new(args, sides, manner, &bench.placement),
        })
    }

    fn carry_out(&mut self, notebook: &mut Notebook, id: RunId) -> Result<()> {
        if self.seen.rate.is_none() && self.parts.1 {
            // A round that is not counted finds the common rate.
            let saturation = Parts {
                saturation: true,
                rate: None,
            };
            match self.round(None, saturation)? {
                Some(bouts) => self.seen.rate = common(&bouts),
                None => return Ok(()),
            }
        }
        let parts = Parts {
            saturation: self.parts.0,
            rate: self.seen.rate,
        };
        if !parts.saturation && parts.rate.is_none() {
            return Err(miette!(
                "no common rate was found: the slowest side gives less than two answers a second; say one \
                 with --rate"
            ));
        }
        let mut longest = Duration::ZERO;
        while self.rounds() < self.terms.most {
            let begun = Instant::now();
            let number = self.rounds() as usize + 1;
            let Some(bouts) = self.round(Some(number), parts)? else {
                break;
            };
            self.keep(notebook, id, &bouts)?;
            let comparisons = self.comparisons()?;
            self.display.round(&comparisons, &self.seen.findings);
            if self.terms.may_end(self.rounds(), &comparisons) {
                break;
            }
            longest = longest.max(begun.elapsed());
            let ends = Instant::now() + longest;
            if self.deadline.is_some_and(|deadline| ends > deadline) {
                break;
            }
        }
        Ok(())
    }

    fn rounds(&self) -> u32 {
        self.seen.rounds.len() as u32
    }

    /// A round, with its number unless it is not counted.
    fn round(&mut self, number: Option<usize>, parts: Parts) -> Result<Option<Vec<Bout>>> {
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
        match round(self.bench, self.sides, &manner, parts, &mut told) {
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
        let number = self.rounds();
        for (i, bout) in bouts.iter().enumerate() {
            for part in bout.parts() {
                let found = part_findings(part, &self.bench.placement);
                let row = Row {
                    place: (self.ordinal, number),
                    side: &self.seen.names[i],
                    asked: &kept::asked(self.manner),
                    command: &bout.command,
                    rss_peak: bout.rss_peak,
                    part,
                    checks: &found,
                };
                kept::add(notebook, id, &kept::label(part), &row)?;
                self.ordinal += 1;
                let command = bout.command.join(" ");
                self.seen.add(i, &command, bout.rss_peak, &found);
            }
        }
        self.seen.rounds.push(bouts.iter().map(values).collect());
        Ok(())
    }

    fn comparisons(&self) -> Result<Vec<Comparison>> {
        self.seen.compare(&self.plan, &self.terms).into_diagnostic()
    }
}

/// How it is to be decided. Differences count as none below what the user says, else below 1 % or what
/// this host's noise hides.
fn terms(args: &Duel, manner: &Manner, notebook: &Notebook) -> Result<Terms> {
    let band = args.band.map_or(BAND, |share| share.0);
    let mut bands = Bands::all(band);
    if let (None, Ask::Contract(contract)) = (args.band, &manner.ask) {
        let calibration =
            prony_report::kept::calibration_of(notebook, &kept::host()?).into_diagnostic()?;
        let rig = calibration
            .as_ref()
            .and_then(|calibration| calibration.cell(&contract.to_string(), manner.connections));
        bands = rig.map_or(bands, |rig| bands.above_noise(rig));
    }
    let quantities = quantities(args);
    let most = match parts(&quantities) {
        (true, true) => MOST,
        _ => 2 * MOST,
    };
    Ok(Terms {
        quantities,
        most: args.rounds.unwrap_or(most),
        exact: args.rounds.is_some(),
        precision: args.precision.map(|share| share.0),
        band,
        bands,
    })
}

/// How long it may take; whoever says how many rounds has said it.
fn time(args: &Duel) -> Option<Duration> {
    let default = args.rounds.is_none().then_some(LONGEST);
    args.max_time.map(|time| time.0).or(default)
}

/// What is compared, in the order of reports.
fn quantities(args: &Duel) -> Vec<Quantity> {
    let wanted = |quantity: &Quantity| match (args.no_rate, args.only.as_slice()) {
        (true, _) => *quantity == Quantity::Throughput,
        (false, []) => true,
        (false, only) => only.iter().any(|one| one.0 == *quantity),
    };
    Quantity::ALL.into_iter().filter(wanted).collect()
}

/// Which parts a round must have for that: as fast as answers come, and at a common rate.
fn parts(quantities: &[Quantity]) -> (bool, bool) {
    let throughput = quantities.contains(&Quantity::Throughput);
    (
        throughput,
        quantities.iter().any(|q| *q != Quantity::Throughput),
    )
}

/// A rate that every side can well keep: two significant digits.
fn common(bouts: &[Bout]) -> Option<f64> {
    let slowest = bouts
        .iter()
        .filter_map(Bout::throughput)
        .fold(f64::INFINITY, f64::min);
    let rate = COMMON * slowest;
    if !rate.is_finite() || rate < 1.0 {
        return None;
    }
    let unit = 10_f64.powf(rate.log10().floor() - 1.0);
    Some((rate / unit).floor() * unit)
}
