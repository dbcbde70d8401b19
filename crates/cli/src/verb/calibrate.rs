//! `prony calibrate`: what this host's rig can do.

use super::rounds::explain;
use crate::CommandEnd;
use crate::args::{Calibrate, Places};
use crate::journal::{NotebookJournal, conclude, say_where, subject};
use crate::live::Live;
use crate::machines::{ServerShare, rig};
use crate::place::on_signal;
use miette::{IntoDiagnostic, Result, miette};
use prony_lab::calibration::Calibration;
use prony_lab::contract::Contract;
use prony_lab::event::Event;
use prony_lab::interrupt::Interrupt;
use prony_lab::placement::Placement;
use prony_lab::side::Side;
use prony_lab::topology::Topology;
use prony_lab::trial::{Lab, Progress};
use prony_record::Subject;
use prony_record::calibration::{AGAIN, RUN};
use std::sync::Arc;
use std::time::Instant;

pub fn main(places: &Places, args: &Calibrate) -> Result<CommandEnd> {
    let interrupt = Arc::new(Interrupt::default());
    on_signal(&interrupt)?;
    let placement = Placement::split(&Topology::here());
    let elsewhere = args.apart.reach(true, false)?;
    let rig = rig(
        places,
        &interrupt,
        placement,
        1,
        elsewhere,
        ServerShare::of(&args.apart),
    )?;
    let sides = reference()?;
    let names: Vec<String> = sides.iter().map(|side| side.name.clone()).collect();
    let mut notebook = places.notebook()?;
    let subject = Subject {
        limits: rig.host.placement().limits,
        ..subject(&names, "several".into(), rig.placement.clone())
    };
    let mut kept = NotebookJournal::begin(
        &mut notebook,
        RUN,
        &names.join(" against "),
        0,
        subject,
        rig.host.machine(),
    )?;
    let live = Live::begin(
        "calibration of this host".to_owned(),
        &args.shown,
        &rig.spare,
    );
    let calibration = Calibration {
        lab: Lab {
            host: &*rig.host,
            generator: &rig.generator,
            interrupt: &interrupt,
        },
        sides: &sides,
        contracts: &args.contract,
        connections: &args.connections,
        rounds: args.rounds,
        duration: args.duration.0,
    };
    let mut display = CalibrateDisplay::new(&live, args.rounds);
    let outcome = calibration.carry_out(&mut kept, &mut |event| display.on_event(&event));
    // The live view ends before the result is printed.
    drop(live);
    let id = kept.finish(&outcome, interrupt.fired())?;
    outcome.map_err(|error| explain(&error))?;
    let run = notebook.run(id).into_diagnostic()?;
    let report = prony_report::calibration::read(&notebook, &run).into_diagnostic()?;
    conclude(&notebook, id, &prony_report::calibration::result(&report));
    if args.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&report).into_diagnostic()?
        );
    } else {
        crate::out::report(|width| prony_report::calibration::text(&report, width));
    }
    let words = format!("kept as run {id}: reports on this host now compare with these ceilings");
    say_where(&notebook, id, (!args.json).then_some(&words));
    Ok(match interrupt.fired() {
        true => CommandEnd::Incomplete,
        false => CommandEnd::Done,
    })
}

/// Shows how it goes.
struct CalibrateDisplay<'a> {
    live: &'a Live,
    rounds: u32,
    cell: String,
    begun: Instant,
    /// Rounds that are done, and all of them; the one that finds a rate is one more.
    parts: (u64, u64),
}

impl<'a> CalibrateDisplay<'a> {
    fn new(live: &'a Live, rounds: u32) -> Self {
        Self {
            live,
            rounds,
            cell: String::new(),
            begun: Instant::now(),
            parts: (0, 0),
        }
    }

    fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::Trials(all) => self.parts.1 = *all,
            Event::Cell(cell) => (*cell).clone_into(&mut self.cell),
            Event::Round(number) => {
                let number = number.map_or(0, |number| number + 1);
                let doing = format!("{}: round {number} of {}", self.cell, self.rounds);
                self.live.line(|| doing.clone());
                let (parts, begun) = (self.parts, self.begun);
                self.live.change(move |frame| {
                    frame.doing = doing;
                    frame.parts = Some(parts);
                    frame.extrapolate(begun, Instant::now());
                });
                self.parts.0 += 1;
            }
            Event::Progress(_, Progress::Window { window, server }) => {
                self.live.window(window, *server);
            }
            _ => {}
        }
    }
}

/// prony's own server, twice.
fn reference() -> Result<Vec<Side>> {
    let folder = std::env::current_dir().into_diagnostic()?;
    let line = "{prony} serve {contract} --listen [{host}]:{port}";
    ["reference-epoll", &format!("reference-epoll{AGAIN}")]
        .into_iter()
        .map(|name| Side::of_command(name, line, &folder).map_err(|error| miette!("{error}")))
        .collect()
}

/// Contracts that prony's own servers keep.
pub fn kept_by_reference(text: &str) -> Result<Contract, String> {
    match text.parse::<Contract>() {
        Ok(contract @ (Contract::TcpEcho | Contract::HttpEcho | Contract::WsEcho)) => Ok(contract),
        Ok(other) => Err(format!(
            "prony's own servers do not keep {other}: there are tcp-echo, http-echo and ws-echo"
        )),
        Err(error) => Err(error.to_string()),
    }
}
