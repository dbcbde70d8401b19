//! From a frame to lines.

use super::frame::{End, Frame, LoadPhase, LoadProgress, OutcomeCounts, generator};
use super::spark;
use crate::locale::ascii;
use console::{Style, measure_text_width, truncate_str};
use prony_record::{Window, inert};
use prony_report::show;
use std::time::Instant;

/// The longest sparkline.
const SPARK: usize = 24;
/// Columns of the bar that shows how much is done.
const BAR: u64 = 20;
/// Labels, and what stands before them.
const LABEL: usize = 11;
/// Checks that are shown.
const CHECKS: usize = 4;
/// Below this a title is no use.
const TITLE: usize = 12;

/// Abilities of a terminal.
#[derive(Debug, Clone, Copy)]
pub struct TerminalStyle {
    /// Characters beyond ASCII can be shown.
    pub unicode: bool,
    /// The terminal has colours, and the user wants them.
    pub colour: bool,
}

impl TerminalStyle {
    fn paint(self, style: &Style, text: &str) -> String {
        match self.colour {
            true => style.clone().force_styling(true).apply_to(text).to_string(),
            false => text.to_owned(),
        }
    }

    fn dim(self, text: &str) -> String {
        self.paint(&Style::new().dim(), text)
    }

    fn warn(self, text: &str) -> String {
        self.paint(&Style::new().yellow(), text)
    }

    fn bad(self, text: &str) -> String {
        self.paint(&Style::new().red(), text)
    }
}

/// The lines of a frame, each narrower than `width`.
pub fn render(
    frame: &Frame,
    begun: Instant,
    now: Instant,
    width: usize,
    look: TerminalStyle,
) -> Vec<String> {
    let mut lines = vec![head(frame, begun, now, width)];
    if let Some((done, all)) = frame.parts {
        lines.push(format!("  {} {done} of {all}", bar(done, all, look)));
    }
    let labelled = |label: &str, text: String| {
        let gap = " ".repeat(LABEL.saturating_sub(label.len()));
        format!("  {}{gap}{text}", look.dim(label))
    };
    if !frame.doing.is_empty() {
        lines.push(labelled("now", clean(&frame.doing)));
    }
    for (label, text) in load(&frame.load, width, look) {
        lines.push(labelled(label, text));
    }
    let names = frame.known.iter().map(|(name, _)| clean(name));
    let longest = names.clone().map(|name| measure_text_width(&name)).max();
    for (name, (_, text)) in names.zip(&frame.known) {
        let gap = " ".repeat(longest.unwrap_or(0) - measure_text_width(&name) + 2);
        lines.push(format!("  {name}{gap}{}", clean(text)));
    }
    for (check, text) in frame.checks.iter().take(CHECKS) {
        let text = format!("! {check}: {}", clean(text));
        lines.push(format!("  {}", look.warn(&text)));
    }
    if frame.checks.len() > CHECKS {
        let more = frame.checks.len() - CHECKS;
        lines.push(look.dim(&format!("  and {more} more checks")));
    }
    if frame.interrupted {
        let text = "interrupted: finishing; results so far are kept (Ctrl-C again to quit at once)";
        lines.push(look.warn(text));
    }
    let fit = |line: String| {
        let line = if look.unicode { line } else { ascii(&line) };
        let tail = if look.unicode { "…" } else { "~" };
        // The last column stays free: terminals differ in what they do after it.
        truncate_str(line.trim_end(), width.saturating_sub(1), tail).into_owned()
    };
    lines.into_iter().map(fit).collect()
}

/// The title, and, at the right, the time.
fn head(frame: &Frame, begun: Instant, now: Instant, width: usize) -> String {
    let left = |at: Instant| span(at.saturating_duration_since(now).as_secs_f64().ceil());
    let mut time = span(now.duration_since(begun).as_secs_f64().floor());
    match frame.end {
        End::Unknown => {}
        End::At(at) => time = format!("{time}, {} left", left(at)),
        End::AtMost(at) => time = format!("{time}, at most {} left", left(at)),
    }
    let room = width.saturating_sub(time.len() + 3);
    if room < TITLE {
        return time;
    }
    let title = clean(&frame.title);
    let title = truncate_str(&title, room, "…");
    let gap = " ".repeat(room + 2 - measure_text_width(&title));
    format!("{title}{gap}{time}")
}

/// Seconds as a clock shows them.
fn span(seconds: f64) -> String {
    let seconds = seconds as u64;
    match seconds {
        0..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!(
            "{}:{:02}:{:02}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        ),
    }
}

fn bar(done: u64, all: u64, look: TerminalStyle) -> String {
    let full = (BAR * done).checked_div(all).unwrap_or(0).min(BAR) as usize;
    let (here, there) = ("━".repeat(full), "─".repeat(BAR as usize - full));
    format!("{here}{}", look.dim(&there))
}

fn load(load: &LoadProgress, width: usize, look: TerminalStyle) -> Vec<(&'static str, String)> {
    let Some(last) = load.windows.back() else {
        return Vec::new();
    };
    let columns = width.saturating_sub(48).min(SPARK);
    let spark = |values: Vec<f64>| spark::line(values.into_iter(), columns, look.unicode);
    // Of streams, events say more than ends.
    let streams = load.windows.iter().any(|window| window.events > 0);
    let of: fn(&Window) -> f64 = match streams {
        true => Window::event_rate,
        false => Window::rate,
    };
    let rates = load.windows.iter().map(of).collect();
    let highs = load
        .windows
        .iter()
        .map(|window| window.p99_ns.unwrap_or(0) as f64);
    let part = match load.part {
        LoadPhase::WarmUp => "  warming up",
        LoadPhase::Measurement => "",
        LoadPhase::Rest => "  waiting for answers",
    };
    let rate = match streams {
        true => format!("{} events/s", show::per(last.event_rate())),
        false => show::rate(last.rate()),
    };
    let times = format!(
        "p50 {:9}  p99 {:9}",
        show::time_or_dash(last.p50_ns),
        show::time_or_dash(last.p99_ns)
    );
    let mut cpu = format!("generator {:.0}%", generator(last) * 100.0);
    if let Some(server) = load.server {
        cpu += &format!("  server {:.0}%", server * 100.0);
    }
    vec![
        ("rate", format!("{rate:28}{}{part}", spark(rates))),
        ("response", format!("{times:28}{}", spark(highs.collect()))),
        ("outcomes", outcomes(&load.outcomes, look)),
        ("CPU", cpu),
    ]
}

fn outcomes(seen: &OutcomeCounts, look: TerminalStyle) -> String {
    let mut text = format!("ok {}", show::count(seen.ok));
    for (name, n) in [
        ("wrong", seen.wrong),
        ("time-outs", seen.timeouts),
        ("connection errors", seen.errors),
    ] {
        if n > 0 {
            text += &format!("  {}", look.bad(&format!("{name} {}", show::count(n))));
        }
    }
    text
}

/// Without what would steer the terminal: names and messages come from elsewhere.
pub fn clean(text: &str) -> String {
    inert::line(text).into_owned()
}

#[cfg(test)]
mod tests;
