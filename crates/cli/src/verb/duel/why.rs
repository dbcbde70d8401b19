//! `prony duel --why`: the anatomy of a request, after the rounds that measure.

use crate::args::Duel;
use miette::{Result, miette};
use prony_lab::duel::DuelError;
use prony_lab::event::Observer;
use prony_lab::generator::Generator;
use prony_lab::host::Host;
use prony_lab::why::{LocalAnatomist, Why};
use prony_verdict::duel::common_rate;
use prony_verdict::seen::Seen;
use prony_verdict::why::{Anatomy, anatomy};

/// Measures it, at the rate of the duel, or half of what the slowest side has reached in one without a rate. What prevents
/// it is said, and the duel's own result is shown all the same.
pub fn look<H: Host, G: Generator>(
    args: &Duel,
    duel: &prony_lab::duel::Duel<'_, H, G>,
    outcome: &Result<Seen, DuelError>,
    observer: Observer<'_>,
) -> Option<Anatomy> {
    let Ok(seen) = outcome else {
        return None;
    };
    if !args.why || duel.lab.interrupt.fired() {
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
        manner: duel.manner,
        rate,
        rounds: args.why_rounds,
    };
    match why.carry_out(observer) {
        Ok(seen) if seen.rounds.is_empty() => None,
        Ok(seen) => Some(anatomy(&seen)),
        Err(error) => {
            eprintln!("--why has ended early: {}", super::explain(&error));
            None
        }
    }
}

/// Writes the files that were asked for.
pub fn write(args: &Duel, anatomy: &Anatomy) -> Result<()> {
    if let Some(path) = &args.why_page {
        crate::out::write_file(path, &prony_pages::why::page(anatomy))?;
        eprintln!("the flame graphs are in {}", path.display());
    }
    if let Some(folder) = &args.why_folded {
        std::fs::create_dir_all(folder)
            .map_err(|error| miette!("{} cannot be made: {error}", folder.display()))?;
        for side in &anatomy.sides {
            let name = side.name.replace(['/', ' '], "_");
            let path = folder.join(format!("{name}.folded"));
            crate::out::write_file(&path, &prony_pages::why::folded(&side.stacks))?;
        }
        eprintln!("the stacks are in {}", folder.display());
    }
    Ok(())
}
