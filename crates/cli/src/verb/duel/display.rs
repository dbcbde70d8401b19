//! Progress of a duel: a live view on a terminal, elsewhere one line per round.

use crate::args::Duel;
use crate::live::Live;
use crate::live::frame::End;
use prony_lab::event::Event;
use prony_lab::trial::Progress;
use prony_record::verdict::{Comparison, Quantity};
use prony_record::{CheckId, Finding};
use prony_report::{design, show};
use std::time::Instant;

pub struct DuelDisplay {
    live: Live,
    /// Rounds, when the user has said how many.
    rounds: Option<u64>,
    /// The round under way, in words.
    round: String,
    begun: Instant,
    done: u64,
}

impl DuelDisplay {
    pub fn new(args: &Duel, names: &[String], spare: &[usize]) -> Self {
        let title = format!("duel {}", names.join(" against "));
        let live = Live::begin(title, &args.shown, spare);
        let begun = Instant::now();
        let rounds = args.rounds.map(u64::from);
        live.change(move |frame| frame.parts = rounds.map(|rounds| (0, rounds)));
        Self {
            live,
            rounds,
            round: String::new(),
            begun,
            done: 0,
        }
    }

    /// Something has happened.
    pub fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::Round(number) => {
                self.round =
                    number.map_or("pilot".into(), |number| format!("round {}", number + 1));
            }
            Event::Piloted(pilot) => {
                self.live.say(&format!("pilot: {}", design::pilot(pilot)));
            }
            Event::Designed { design, most, time } => {
                self.live.say(&design::sentence(design));
                self.live.say(&design::rounds(design, *most, *time));
                if let Some(deadline) = time.map(|time| self.begun + time) {
                    self.live
                        .change(move |frame| frame.end = End::AtMost(deadline));
                }
            }
            Event::Anatomy(number, all) => {
                self.round = format!("why: round {} of {all}", number + 1);
                let text = self.round.clone();
                self.live.line(|| text);
            }
            Event::Progress(side, Progress::Doing(doing)) => {
                let text = format!("{}: {side} {}", self.round, doing.phrase());
                self.live.change(move |frame| {
                    frame.doing = text;
                    frame.load = crate::live::frame::LoadProgress::default();
                });
            }
            Event::Progress(_, Progress::Window { window, server }) => {
                self.live.window(window, *server);
            }
            Event::Compared {
                comparisons,
                findings,
            } => self.compared(comparisons, findings),
            Event::Outlook {
                outlook,
                end,
                dropped,
            } => self
                .live
                .say(&prony_report::duel::prospects(outlook, *end, *dropped)),
            _ => {}
        }
    }

    /// A round is over: what is known now.
    fn compared(&mut self, comparisons: &[Comparison], findings: &[Finding]) {
        self.done += 1;
        let (done, all, begun) = (self.done, self.rounds, self.begun);
        self.live.line(|| {
            let part = |c: &Comparison| {
                let change = show::change(c.ratio.value());
                format!("{} {} {change}", c.side, c.quantity.label())
            };
            let about = |c: &&Comparison| Quantity::ALL.contains(&c.quantity);
            let parts: Vec<String> = comparisons.iter().filter(about).map(part).collect();
            format!("round {done}: {}", parts.join(", "))
        });
        let known: Vec<(String, String)> = comparisons.iter().map(estimate).collect();
        let checks: Vec<(CheckId, String)> = findings
            .iter()
            .map(|finding| (finding.name, finding.text.clone()))
            .collect();
        let now = Instant::now();
        self.live.change(move |frame| {
            frame.known = known;
            frame.checks = checks;
            if let Some(all) = all {
                frame.parts = Some((done, all));
                frame.extrapolate(begun, now);
            }
        });
    }
}

/// A quantity of a side, and what is known of it: the ratio with its interval, and the verdict.
fn estimate(found: &Comparison) -> (String, String) {
    let interval = found.ratio.interval().map_or_else(String::new, |interval| {
        format!(
            "  {} to {}",
            show::change(interval.low()),
            show::change(interval.high())
        )
    });
    let name = format!("{} {}", found.side, found.quantity.label());
    let text = format!(
        "{}{interval}  {}",
        show::change(found.ratio.value()),
        found.verdict
    );
    (name, text)
}
