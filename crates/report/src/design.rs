//! How a duel measures, in words.

use crate::show;
use prony_record::design::{Design, Pilot, Segment};
use prony_record::{SECOND, Span};
use prony_verdict::design::{highest, starved};
use std::time::Duration;

/// Findings of a pilot on a server, as a line: `old: 20.1 ms alone, at most 51.0/s`.
#[must_use]
pub fn pilot(seen: &Pilot) -> String {
    let alone = show::time(seen.alone_ns as f64);
    format!(
        "{}: {alone} alone, at most {}",
        seen.name,
        show::rate(highest(seen))
    )
}

/// How servers are measured, in a sentence without its end: `2 connections, 1.76 s a segment: the slowest answers in 20.1 ms
/// alone`; at another number of connections at the common rate, with that; and whether resting sides keep running.
#[must_use]
pub fn sentence(design: &Design) -> String {
    let slowest = design.pilots.iter().map(|pilot| pilot.alone_ns).max();
    let segment = |it: &Segment| {
        let plural = if it.connections == 1 { "" } else { "s" };
        format!(
            "{} connection{plural}, {} a segment",
            it.connections,
            span(it.length)
        )
    };
    let saturation = segment(&design.saturation);
    let at_rate = match (design.rate, segment(&design.at_rate)) {
        (Some(rate), text) if text != saturation => format!("; at {} {text}", show::rate(rate)),
        _ => String::new(),
    };
    let why = slowest.map_or_else(String::new, |ns| {
        let who = if design.pilots.len() == 1 {
            "it"
        } else {
            "the slowest"
        };
        format!(": {who} answers in {} alone", show::time(ns as f64))
    });
    let starved = design.pilots.iter().find_map(starved);
    let starved = starved.map_or_else(String::new, |step| {
        format!(
            "; with {} connections some requests waited for {}",
            step.connections,
            show::time(step.longest_ns as f64)
        )
    });
    let threads = match design.threads {
        0 | 1 => String::new(),
        n => format!(", {n} generator threads"),
    };
    let resting = match design.pilots.len() > 1 && !design.paused {
        true => "; resting sides keep running",
        false => "",
    };
    format!("{saturation}{at_rate}{threads}{why}{starved}{resting}")
}

/// How long it will take, as a line: `up to 18 rounds of about 9.50 s, in 3m`.
#[must_use]
pub fn rounds(design: &Design, most: u32, time: Option<Duration>) -> String {
    let within = time.map_or_else(String::new, |time| format!(", in {}", whole(time)));
    format!(
        "up to {most} rounds of about {}{within}",
        span(design.round)
    )
}

/// To the second.
fn whole(time: Duration) -> Span {
    Span(Duration::from_secs(time.as_secs_f64().round() as u64))
}

fn span(span: Span) -> String {
    show::time(span.0.as_secs_f64() * SECOND as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::design::PilotStep;

    fn design() -> Design {
        let segment = |connections, ms| Segment {
            connections,
            lead_in: Span(Duration::from_millis(200)),
            length: Span(Duration::from_millis(ms)),
        };
        let pilot = |name: &str, ms: u64| Pilot {
            name: name.into(),
            alone_ns: ms * 1_000_000,
            steps: vec![PilotStep {
                connections: 2,
                rate: 51.0,
                p50_ns: 2 * ms * 1_000_000,
                longest_ns: 0,
            }],
            threads: 1,
            start_ns: 0,
        };
        Design {
            pilots: vec![pilot("old", 20), pilot("new", 22)],
            saturation: segment(2, 880),
            at_rate: segment(8, 2_300),
            rate: Some(25.0),
            threads: 1,
            segments: 2,
            warmup: Span(Duration::from_secs(3)),
            timeout: Span(Duration::from_secs(5)),
            paused: true,
            round: Span(Duration::from_millis(9_500)),
            given: Vec::new(),
        }
    }

    #[test]
    fn it_says_why_it_measures_so() {
        let design = design();
        assert_eq!(
            pilot(&design.pilots[0]),
            "old: 20.0 ms alone, at most 51.0 req/s"
        );
        assert_eq!(
            sentence(&design),
            "2 connections, 880 ms a segment; at 25.0 req/s 8 connections, 2.30 s a segment: the slowest answers in 22.0 ms alone"
        );
        let same = Design {
            at_rate: design.saturation,
            ..design.clone()
        };
        assert!(!sentence(&same).contains(';'));
        let running = Design {
            paused: false,
            ..same.clone()
        };
        assert!(sentence(&running).ends_with("alone; resting sides keep running"));
        let fast = Design { threads: 4, ..same };
        assert!(sentence(&fast).contains("880 ms a segment, 4 generator threads: "));
        assert_eq!(
            rounds(&design, 18, Some(Duration::from_millis(179_999))),
            "up to 18 rounds of about 9.50 s, in 3m"
        );
    }
}
