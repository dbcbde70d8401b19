//! `prony run --why`: the anatomy of a request, after the trials.

use crate::live::Live;
use crate::verb::rounds::{explain, on_event, whole_rounds};
use miette::Result;
use prony_lab::duel::{LoadSpec, WINDOW};
use prony_lab::event::Event;
use prony_lab::experiment::Experiment;
use prony_lab::pilot::survey;
use prony_lab::side::Side;
use prony_lab::trial::Lab;
use prony_lab::why::{LENGTH, LocalAnatomist, Why};
use prony_record::anatomy::Dissections;
use prony_record::{Extent, Load, Span};
use prony_report::run::RunReport;
use prony_verdict::design::Given;
use prony_verdict::duel::common_rate;
use std::time::Duration;

/// The longest warm-up of a start.
const WARMUP: Duration = Duration::from_secs(3);

/// Can it be done for this experiment? Said before anything is measured.
pub fn fits(experiment: &Experiment) -> Result<()> {
    match &experiment.upstream {
        Some(upstream) => Err(usage!(
            help = format!("`prony run {}` without --why", experiment.name),
            "--why measures single servers, and those of {} are gateways before {}",
            experiment.name,
            upstream.name
        )),
        None => Ok(()),
    }
}

/// Measures it, of all servers that have yielded figures under the experiment's first load, at the load's rate or half of
/// what the slowest of them has reached. What prevents it is said, and the run's own result is shown all the same.
pub fn look(
    lab: Lab<'_>,
    experiment: &Experiment,
    report: &RunReport,
    rounds: u32,
    live: &Live,
) -> Option<Dissections> {
    let first = experiment.loads.first()?;
    let (load, label) = (&first.shape, first.to_string());
    let cells: Vec<_> = (report.cells.iter())
        .filter(|cell| cell.load_label() == label)
        .collect();
    let throughputs = cells.iter().map(|cell| cell.throughput.value());
    let Some(rate) = load.rate.or_else(|| common_rate(throughputs)) else {
        eprintln!(
            "--why needs a rate that all servers can keep, and there is none: the slowest gives less than two answers a second"
        );
        return None;
    };
    let mut sides: Vec<Side> = Vec::new();
    for entrant in &experiment.entrants {
        let label = entrant.label();
        if !cells.iter().any(|cell| cell.label() == label) {
            continue;
        }
        // It was built for the run, and is in the cache.
        match lab.host.build(&entrant.server) {
            Ok(built) if label == experiment.baseline => {
                sides.insert(0, Side::of_entrant(entrant, &built));
            }
            Ok(built) => sides.push(Side::of_entrant(entrant, &built)),
            Err(error) => eprintln!("--why leaves out {label}: {error}"),
        }
    }
    let spec = LoadSpec {
        workload: first.workload(experiment.contract),
        load: Load {
            rate: None,
            stages: Vec::new(),
            window: Span(WINDOW),
            ..load.clone()
        },
        given: Given {
            connections: Some(load.connections),
            warmup: Some(load.warmup.0.min(WARMUP)),
            timeout: Some(load.timeout.0),
            rate: Some(rate),
            ..Given::default()
        },
    };
    let mut observer = |event: Event<'_>| on_event(live, &event);
    let design = match survey(lab, &sides, &spec, (false, true), &mut observer) {
        Ok(design) => design?,
        Err(error) => {
            eprintln!("--why: {}", explain(&error));
            return None;
        }
    };
    let why = Why {
        lab,
        anatomist: &LocalAnatomist::default(),
        sides: &sides,
        spec: &spec,
        design: &design,
        duration: match load.extent {
            Extent::Duration(span) => span.0.min(LENGTH),
            Extent::Requests(_) => LENGTH,
        },
        rate,
        rounds,
    };
    whole_rounds(why.carry_out(&mut observer))
}
