//! How a duel is to be decided, from the command line and what is known of this host.

use crate::args::Duel;
use miette::{IntoDiagnostic, Result};
use prony_lab::duel::{LoadSpec, Time, parts_for};
use prony_lab::machine::this_machine;
use prony_lab::workload::Workload;
use prony_notebook::Notebook;
use prony_record::verdict::{Bands, Quantity, Terms};
use prony_stats::compare::BAND;
use prony_verdict::design::MOST_CONNECTIONS;
use std::time::Duration;

/// The most rounds there are when nothing is said; twice as many of half the length.
const MOST: u32 = 60;
/// How long they may take.
const LONGEST: Duration = Duration::from_secs(180);

/// How it is to be decided. Differences count as none below what the user says, else below 1% or what
/// this host's noise hides.
pub fn terms(args: &Duel, spec: &LoadSpec, notebook: &Notebook) -> Result<Terms> {
    let band = args.min_effect.map_or(BAND, |share| share.0);
    let mut bands = Bands::all(band);
    if let (None, Workload::Contract(contract)) = (args.min_effect, &spec.workload) {
        let here = this_machine();
        let calibration = prony_report::kept::calibration_of(notebook, &here).into_diagnostic()?;
        let rig = calibration.as_ref().and_then(|known| {
            known.cell(
                contract.name(),
                spec.given.connections.unwrap_or(MOST_CONNECTIONS),
            )
        });
        bands = rig.map_or(bands, |rig| rig.widen(bands));
    }
    let quantities = quantities(args);
    let most = match parts_for(&quantities) {
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

/// How long it may take.
pub fn time(args: &Duel) -> Time {
    match (args.max_time, args.rounds) {
        (Some(time), _) => Time::AtMost(time.0),
        (None, Some(_)) => Time::Unlimited,
        (None, None) => Time::Usually(LONGEST),
    }
}

/// Quantities to compare, in the order of reports.
fn quantities(args: &Duel) -> Vec<Quantity> {
    let only = args.only.as_slice();
    let wanted = |quantity: &Quantity| only.is_empty() || only.iter().any(|one| one.0 == *quantity);
    Quantity::ALL.into_iter().filter(wanted).collect()
}
