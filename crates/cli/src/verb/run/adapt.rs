//! Changes that the command line makes to an experiment.

use crate::args::RunArgs;
use miette::{Result, miette};
use prony_lab::experiment::{Entrant, Experiment, ExperimentLoad};
use prony_record::{Extent, Span};
use std::time::Duration;

/// `--quick` divides the work by this.
const QUICK: u32 = 10;
/// The longest warm-up of `--quick`.
const QUICK_WARMUP: Duration = Duration::from_secs(3);

/// Applies the options of the command line to an experiment.
pub fn adapt(experiment: &mut Experiment, args: &RunArgs) -> Result<()> {
    if args.as_published {
        let has = "published levels are keys of a load: as_published = { connections = 512 }";
        let levels = experiment.as_published();
        levels.map_err(|why| usage!(help = has, "--as-published: {why}"))?;
    }
    if args.quick {
        experiment.rounds = 1;
        for ExperimentLoad { shape: load, .. } in &mut experiment.loads {
            load.extent = match load.extent {
                Extent::Duration(span) => Extent::Duration(Span(span.0 / QUICK)),
                Extent::Requests(n) => Extent::Requests((n / u64::from(QUICK)).max(1)),
            };
            load.window = Span((load.window.0 / QUICK).max(Duration::from_millis(10)));
            load.warmup = Span(load.warmup.0.min(QUICK_WARMUP));
        }
    }
    if let Some(rounds) = args.rounds {
        experiment.rounds = rounds;
    }
    if let Some(warmup) = args.warmup {
        for ExperimentLoad { shape: load, .. } in &mut experiment.loads {
            load.warmup = warmup;
        }
    }
    if !args.load.is_empty() {
        let labels: Vec<String> = experiment.loads.iter().map(ToString::to_string).collect();
        if let Some(unknown) = args.load.iter().find(|label| !labels.contains(label)) {
            return Err(usage!(
                help = format!("its loads are: {}", labels.join(", ")),
                "{unknown:?} is no load of {}",
                experiment.name
            ));
        }
        let wanted = |load: &ExperimentLoad| args.load.contains(&load.to_string());
        experiment.loads.retain(wanted);
    }
    if !args.only.is_empty() {
        let labels: Vec<String> = experiment.entrants.iter().map(Entrant::label).collect();
        if let Some(unknown) = args.only.iter().find(|name| !labels.contains(name)) {
            return Err(usage!(
                help = format!("in it are: {}", labels.join(", ")),
                "{unknown:?} does not take part in {}",
                experiment.name
            ));
        }
        if args.from.is_some() {
            // All servers are named on the command line.
            experiment.baseline.clone_from(&args.only[0]);
        }
        let baseline = experiment.baseline.clone();
        experiment.entrants.retain(|entrant| {
            let label = entrant.label();
            label == baseline || args.only.contains(&label)
        });
    }
    if !args.protocol.is_empty() {
        let left_out = experiment
            .speak(&args.protocol)
            .map_err(|why| miette!("--protocol: {why}"))?;
        if !left_out.is_empty() {
            let names = left_out.join(", ");
            eprintln!("left out, because their manifests do not say that they speak it: {names}");
        }
    }
    Ok(())
}
