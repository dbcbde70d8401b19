//! Servers of a run that come from a checkout of a suite.

use crate::args::{Places, RunArgs};
use miette::{Report, Result, miette};
use prony_lab::catalog::Catalog;
use prony_lab::checkout::Checkout;
use prony_lab::container::Engine;
use prony_lab::experiment::Experiment;
use std::path::Path;

/// Names that are listed for one reason, without `--verbose`.
const LISTED: usize = 5;
/// Names in an example.
const EXAMPLES: usize = 2;

/// The servers that `--only` names: entries of the checkout, and servers of the catalog.
pub fn catalog(places: &Places, folder: &Path, args: &RunArgs) -> Result<Catalog> {
    let contract = Experiment::contract(&args.experiment)?;
    let checkout = Checkout::open(folder, contract)?;
    if args.only.is_empty() {
        return Err(to_choose(&checkout, folder, args));
    }
    let catalog = places.catalog()?;
    let own = |name: &&str| !checkout.has(name) && catalog.get(name).is_ok();
    let names = args.only.iter().map(String::as_str);
    let (own, entries): (Vec<&str>, Vec<&str>) = names.partition(own);
    let mut servers = Vec::new();
    if !entries.is_empty() {
        for name in &entries {
            checkout.check(name)?;
        }
        let engine = Engine::find(args.container_engine.as_deref()).map_err(|why| {
            miette!(
                help = "install podman or Docker, and see that `podman ps` or `docker ps` works for you",
                "{why}"
            )
        })?;
        for name in &entries {
            servers.push(checkout.server(name, &engine)?);
        }
    }
    Ok(catalog.with_only(&own, servers)?)
}

/// A mistake that says what there is to choose from; entries that cannot take part are listed before, by reason.
fn to_choose(checkout: &Checkout, folder: &Path, args: &RunArgs) -> Report {
    for (why, names) in checkout.left_out() {
        let shown = if args.verbose { names.len() } else { LISTED };
        let more = names.len().saturating_sub(shown);
        let mut list = names[..names.len().min(shown)].join(", ");
        if more > 0 {
            list += &format!(" and {more} more (--verbose)");
        }
        eprintln!("left out: {list}: {why}");
    }
    let usable: Vec<&str> = checkout.usable().collect();
    let step = (usable.len() / EXAMPLES).max(1);
    let examples = usable.iter().step_by(step).take(EXAMPLES);
    let examples: Vec<&str> = examples.copied().collect();
    usage!(
        help = format!(
            "prony run {} --from {} --only {}",
            args.experiment,
            folder.display(),
            examples.join(",")
        ),
        "{} has {} entries, of which {} can take part: choose with --only",
        folder.display(),
        checkout.count(),
        usable.len()
    )
}
