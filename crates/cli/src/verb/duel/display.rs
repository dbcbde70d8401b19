//! What is shown while a duel goes on: on a terminal a live view, elsewhere a line per round.

use crate::args::Duel;
use crate::live::Live;
use crate::live::frame::End;
use prony_lab::duel::{Manner, Now, Side};
use prony_lab::placement::Placement;
use prony_report::duel::{Comparison, Quantity};
use prony_report::facts::Finding;
use prony_report::show;
use std::cell::Cell;
use std::time::Instant;

pub struct Display {
    /// None when the duel is over.
    live: Option<Live>,
    /// Rounds, when the user has said how many.
    rounds: Option<u64>,
    begun: Instant,
    done: Cell<u64>,
}

impl Display {
    pub fn new(args: &Duel, sides: &[Side], manner: &Manner, placement: &Placement) -> Self {
        let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
        let title = format!("duel {}", names.join(" against "));
        let live = Live::begin(title, args.shown, placement.spare(manner.threads));
        let begun = Instant::now();
        let rounds = args.rounds.map(u64::from);
        let deadline = super::time(args).map(|time| begun + time);
        live.change(move |frame| {
            frame.parts = rounds.map(|rounds| (0, rounds));
            if let Some(deadline) = deadline {
                frame.end = End::AtMost(deadline);
            }
        });
        Self {
            live: Some(live),
            rounds,
            begun,
            done: Cell::new(0),
        }
    }

    /// A side tells how it goes with it; `number` is that of the round, none of one that is not counted.
    pub fn told(&self, number: Option<usize>, side: &Side, now: &Now<'_>) {
        let Some(live) = &self.live else {
            return;
        };
        match *now {
            Now::Step(step) => {
                let round = number.map_or("finding a common rate".into(), |n| format!("round {n}"));
                let text = format!("{round}: {} {step}", side.name);
                live.change(move |frame| {
                    frame.doing = text;
                    frame.load = crate::live::frame::Load::default();
                });
            }
            Now::Window { window, warmup } => live.window(window, warmup),
            Now::Used(cpus) => live.change(move |frame| frame.load.server = Some(cpus)),
        }
    }

    /// A round is over: what is known now.
    pub fn round(&self, comparisons: &[Comparison], findings: &[Finding]) {
        let Some(live) = &self.live else {
            return;
        };
        self.done.set(self.done.get() + 1);
        let (done, all, begun) = (self.done.get(), self.rounds, self.begun);
        live.line(|| {
            let name = |c: &Comparison| format!("{:?}", c.quantity);
            let part = |c: &Comparison| {
                let ratio = show::ratio(c.ratio.value());
                format!("{} {} {ratio}", c.side, name(c))
            };
            let parts: Vec<String> = comparisons.iter().map(part).collect();
            format!("round {done}: {}", parts.join(", ").to_lowercase())
        });
        let known: Vec<(String, String)> = comparisons.iter().map(estimate).collect();
        let checks: Vec<(String, String)> = findings
            .iter()
            .map(|finding| (finding.name.clone(), finding.text.clone()))
            .collect();
        let now = Instant::now();
        live.change(move |frame| {
            frame.known = known;
            frame.checks = checks;
            if let Some(all) = all {
                frame.parts = Some((done, all));
                frame.extrapolate(begun, now);
            }
        });
    }

    /// The duel is over: its result comes next.
    pub fn end(&mut self) {
        self.live = None;
    }
}

/// A quantity of a side, and what is known of it: the ratio with its interval, and the verdict.
fn estimate(found: &Comparison) -> (String, String) {
    let interval = found.ratio.interval().map_or_else(String::new, |interval| {
        format!("  {:.3} to {:.3}", interval.low(), interval.high())
    });
    let quantity = match found.quantity {
        Quantity::Throughput => "throughput",
        Quantity::P50 => "p50",
        Quantity::P99 => "p99",
        Quantity::Cpu => "CPU per request",
    };
    let name = format!("{} {quantity}", found.side);
    let text = format!(
        "{}{interval}  {}",
        show::ratio(found.ratio.value()),
        found.verdict
    );
    (name, text)
}
