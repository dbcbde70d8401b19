//! `prony calibrate`: what the rig itself weighs on this host.

use crate::Ended;
use crate::args::{Calibrate, Places};
use crate::kept::{self, Row};
use crate::live::Live;
use crate::measured::part_findings;
use crate::place::{bench, on_signal};
use miette::{IntoDiagnostic, Result, miette};
use prony_lab::contract::{Contract, Depth};
use prony_lab::duel::{Ask, Bout, Manner, Now, Parts, Side, command_side, round};
use prony_lab::placement::{Placement, allowed_cpus};
use prony_lab::trial::Interrupt;
use prony_notebook::RunStatus;
use prony_report::calibration::{AGAIN, CalibrationReport, RUN};
use prony_report::kept::About;
use std::sync::Arc;
use std::time::Instant;

/// The common rate is this part of what the server reaches.
const COMMON: f64 = 0.5;

pub fn main(places: &Places, args: &Calibrate) -> Result<Ended> {
    let interrupt = Arc::new(Interrupt::default());
    on_signal(&interrupt)?;
    let (bench, _scratch) = bench(Arc::clone(&interrupt), Placement::split(&allowed_cpus()))?;
    let sides = reference(&bench.prony)?;
    let names: Vec<String> = sides.iter().map(|side| side.name.clone()).collect();
    let mut notebook = places.notebook()?;
    let about = About {
        contract: "several".into(),
        ..About::default()
    };
    let id = kept::begin(&mut notebook, RUN, &names, about, &bench)?;
    let title = "calibration of this host's rig".to_owned();
    let live = Live::begin(title, args.shown, bench.placement.spare(1));
    // Rounds that are done, and all of them; the one that finds a rate is one more.
    let cells = args.contract.len() * args.connections.len();
    let mut parts = (0, cells as u64 * (u64::from(args.rounds) + 1));
    let begun = Instant::now();
    let mut ordinal = 0;
    let mut weigh = || -> Result<()> {
        for &contract in &args.contract {
            for &connections in &args.connections {
                let manner = Manner {
                    ask: Ask::Contract(contract),
                    message: "hello\n".into(),
                    connections,
                    threads: 1,
                    duration: args.duration.0,
                    warmup: args.duration.0,
                    timeout: std::time::Duration::from_secs(5),
                    transport: None,
                    depth: Depth::Full,
                };
                let mut rate = None;
                // The first round only finds a rate.
                for number in 0..=args.rounds {
                    if interrupt.fired() {
                        return Ok(());
                    }
                    let doing = format!(
                        "{contract}, {connections} connections: round {number} of {}",
                        args.rounds
                    );
                    live.line(|| doing.clone());
                    let done = parts;
                    live.change(move |frame| {
                        frame.doing = doing;
                        frame.parts = Some(done);
                        frame.extrapolate(begun, Instant::now());
                    });
                    parts.0 += 1;
                    let mut told = |_: &Side, now: Now<'_>| match now {
                        Now::Window { window, warmup } => live.window(window, warmup),
                        Now::Used(cpus) => live.change(move |frame| frame.load.server = Some(cpus)),
                        Now::Step(_) => {}
                    };
                    let wanted = Parts {
                        saturation: true,
                        rate,
                    };
                    let bouts = round(&bench, &sides, &manner, wanted, &mut told)
                        .map_err(|(name, failure)| miette!("{name}: {failure}"))?;
                    let Some(bouts) = bouts else { return Ok(()) };
                    if number == 0 {
                        let slowest = bouts.iter().filter_map(Bout::throughput);
                        rate = Some((COMMON * slowest.fold(f64::INFINITY, f64::min)).floor());
                        continue;
                    }
                    for (bout, name) in bouts.iter().zip(&names) {
                        for part in bout.parts() {
                            let load = format!("{contract} c{connections} {}", kept::label(part));
                            let row = Row {
                                place: (ordinal, number - 1),
                                side: name,
                                asked: contract.name(),
                                command: &bout.command,
                                rss_peak: bout.rss_peak,
                                part,
                                checks: &part_findings(part, &bench.placement),
                            };
                            kept::add(&mut notebook, id, &load, &row)?;
                            ordinal += 1;
                        }
                    }
                }
            }
        }
        Ok(())
    };
    let outcome = weigh();
    // The live view ends before the result is printed.
    drop(live);
    let status = match &outcome {
        Err(_) => RunStatus::Failed,
        Ok(()) if interrupt.fired() => RunStatus::Interrupted,
        Ok(()) => RunStatus::Finished,
    };
    notebook
        .finish_run(id, status, jiff::Timestamp::now())
        .into_diagnostic()?;
    outcome?;
    let run = notebook.run(id).into_diagnostic()?;
    let report = CalibrationReport::new(&notebook, &run).into_diagnostic()?;
    if args.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&report).into_diagnostic()?
        );
    } else {
        print!("{}", report.text());
        eprintln!("\nkept as run {id}: reports on this host now compare with these ceilings");
    }
    Ok(match interrupt.fired() {
        true => Ended::Incomplete,
        false => Ended::Done,
    })
}

/// prony's own server, twice.
fn reference(prony: &std::path::Path) -> Result<Vec<Side>> {
    let folder = std::env::current_dir().into_diagnostic()?;
    let program = prony.display().to_string();
    let program = shlex::try_quote(&program).into_diagnostic()?;
    let line = format!("{program} serve {{contract}} --host {{host}} --port {{port}}");
    ["reference-epoll", &format!("reference-epoll{AGAIN}")]
        .into_iter()
        .map(|name| command_side(name, &line, &folder).map_err(|error| miette!("{error}")))
        .collect()
}

/// Contracts that prony's own servers keep.
pub fn kept_by_reference(text: &str) -> Result<Contract, String> {
    match text.parse::<Contract>() {
        Ok(contract @ (Contract::TcpEcho | Contract::HttpEcho)) => Ok(contract),
        Ok(other) => Err(format!(
            "prony's own servers do not keep {other}: there are tcp-echo and http-echo"
        )),
        Err(error) => Err(error.to_string()),
    }
}
