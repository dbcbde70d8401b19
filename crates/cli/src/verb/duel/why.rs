//! `prony duel --why`: the anatomy of a request, after the rounds that measure.

use crate::args::Duel;
use crate::verb::rounds::whole_rounds;
use prony_lab::duel::DuelError;
use prony_lab::event::Observer;
use prony_lab::why::{LENGTH, LocalAnatomist, Why};
use prony_record::anatomy::Dissections;
use prony_record::verdict::Terms;
use prony_verdict::duel::common_rate;
use prony_verdict::seen::DuelObservations;

/// Measures it, at the rate of the duel, or half of what the slowest side has reached in one without a rate. What prevents
/// it is said, and the duel's own result is shown all the same.
pub fn look(
    args: &Duel,
    duel: &prony_lab::duel::Duel<'_>,
    outcome: &Result<(DuelObservations, Terms), DuelError>,
    observer: Observer<'_>,
) -> Option<Dissections> {
    let Ok((seen, _)) = outcome else {
        return None;
    };
    let design = seen.design.as_ref()?;
    if !args.why.why || duel.lab.interrupt.fired() {
        return None;
    }
    let last = seen.rounds.last();
    let reached = last
        .into_iter()
        .flatten()
        .filter_map(|side| side.throughput);
    let Some(rate) = seen.rate.or_else(|| common_rate(reached)) else {
        eprintln!("--why needs a rate that all sides can keep; give one with --rate");
        return None;
    };
    let why = Why {
        lab: duel.lab,
        anatomist: &LocalAnatomist::default(),
        sides: duel.sides,
        spec: duel.spec,
        design,
        duration: args.driven.duration.map_or(LENGTH, |span| span.0),
        rate,
        rounds: args.why.why_rounds,
    };
    whole_rounds(why.carry_out(observer))
}
