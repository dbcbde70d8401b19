//! What is shown while a load runs: on a terminal a live view, elsewhere a line a second.

use super::extent;
use crate::args;
use crate::live::Live;
use crate::live::frame::{End, Frame, Load};
use prony_checks::{Evidence, examine};
use prony_engine::{Nanos, Plan, Window, clock};
use prony_lab::load::Extent;
use prony_report::show;
use std::time::{Duration, Instant};

/// Checks that can be trusted before the end: they look at nothing but counts and the generator.
const EARLY: [&str; 4] = [
    "errors",
    "generator-saturated",
    "rate-missed",
    "wrong-answers",
];

pub struct Display {
    live: Live,
    extent: Extent,
    warmup: Duration,
    threads: u32,
    /// What the plan says, for the checks.
    plan: Evidence,
    /// When the load ends, on the engine's clock, once that is known.
    until: Option<Nanos>,
}

impl Display {
    pub fn new(args: &args::Load, plan: &Plan) -> Self {
        let rate = plan.arrival.rate();
        let rate_text = rate.map_or_else(String::new, |rate| format!(" · {}", show::rate(rate)));
        let title = format!(
            "load {} · {} connections{rate_text}",
            args.url, plan.connections
        );
        // Where the server is nobody knows; the scheduler finds out where there is room.
        let mut spare = prony_lab::placement::allowed_cpus();
        let taken = plan.cpus.len().min(plan.threads as usize);
        spare.retain(|cpu| !plan.cpus[..taken].contains(cpu));
        let live = Live::begin(title, args.shown, &spare);
        live.change(|frame| frame.doing = "connecting".into());
        Self {
            live,
            extent: extent(args),
            warmup: args.warmup.0,
            threads: plan.threads,
            plan: Evidence {
                closed_loop: rate.is_none(),
                rate,
                connections: plan.connections,
                pipeline: plan.pipeline,
                keepalive: plan.keepalive,
                ..Evidence::default()
            },
            until: None,
        }
    }

    /// The warm-up is over: it is known when the load ends.
    pub fn measured(&mut self, until: Nanos) {
        self.until = Some(until);
    }

    pub fn window(&mut self, window: &Window, warmup: bool) {
        let text = || {
            let p99 = show::time(window.response.value_at_quantile(0.99) as f64);
            let failed = match window.outcomes.failed() {
                0 => String::new(),
                n => format!("  failed {}", show::count(n)),
            };
            let phase = if warmup { "warming up  " } else { "" };
            format!("{phase}{}  p99 {p99}{failed}", show::rate(window.rate()))
        };
        if (u64::from(window.index) + 1) * window.length % clock::SECOND < window.length {
            self.live.line(text);
        }
        self.live.window(window, warmup);
        let end = self.end(window, warmup);
        let (plan, threads, extent) = (self.plan.clone(), self.threads, self.extent);
        self.live.change(move |frame| {
            frame.doing.clear();
            frame.end = match (end, extent) {
                (End::Unknown, Extent::Requests(all)) if !warmup => of_requests(&frame.load, all),
                _ => end,
            };
            frame.checks = checks(plan, threads, frame);
        });
    }

    /// When a load of a given length ends.
    fn end(&mut self, window: &Window, warmup: bool) -> End {
        let Extent::Duration(length) = self.extent else {
            return End::Unknown;
        };
        let at = |at: Nanos| Instant::now() + Duration::from_nanos(at.saturating_sub(clock::now()));
        let length = clock::nanos(length.0);
        if warmup {
            // Windows are equally long: from this one follows when the first began.
            let begun = window.start - Nanos::from(window.index) * window.length;
            return End::AtMost(at(begun + clock::nanos(self.warmup) + length));
        }
        End::At(at(*self.until.get_or_insert(window.start + length)))
    }
}

/// When a number of requests is done, if they go on as fast as until now.
fn of_requests(load: &Load, all: u64) -> End {
    let done = load.outcomes.finished();
    if done == 0 {
        return End::Unknown;
    }
    let rest = all.saturating_sub(done) as f64;
    End::At(Instant::now() + Duration::from_secs_f64(rest / done as f64 * load.seconds))
}

/// What checks find in what is known so far.
fn checks(plan: Evidence, threads: u32, frame: &Frame) -> Vec<(String, String)> {
    let load = &frame.load;
    if load.warmup {
        return Vec::new();
    }
    let seen = &load.outcomes;
    let used = load.windows.iter().map(|window| window.generator);
    let evidence = Evidence {
        seconds: load.seconds,
        ok: seen.ok,
        wrong: seen.wrong_answer,
        timeouts: seen.timeout,
        socket_errors: seen.connect_error + seen.read_error + seen.write_error,
        // Of all threads; the busiest one alone is known at the end.
        generator_busy: used.sum::<f64>() / load.windows.len().max(1) as f64 / f64::from(threads),
        ..plan
    };
    let early = examine(&evidence)
        .into_iter()
        .filter(|finding| EARLY.contains(&finding.name));
    early
        .map(|finding| (finding.name.to_owned(), finding.text))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::frame::Glance;

    fn frame(ok: u64, timeouts: u64) -> Frame {
        let mut window = Window::empty(0, 0, clock::SECOND);
        window.outcomes.ok = ok;
        window.outcomes.timeout = timeouts;
        let mut frame = Frame::default();
        frame.load.add(Glance::of(&window), false);
        frame
    }

    fn names(plan: &Evidence, frame: &Frame) -> Vec<String> {
        let found = checks(plan.clone(), 1, frame);
        found.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn checks_fire_as_soon_as_there_is_a_reason() {
        let closed = Evidence {
            closed_loop: true,
            connections: 8,
            pipeline: 1,
            keepalive: true,
            ..Evidence::default()
        };
        assert_eq!(names(&closed, &frame(1_000, 0)), [""; 0]);
        assert_eq!(names(&closed, &frame(1_000, 2)), ["errors"]);
        let open = Evidence {
            closed_loop: false,
            rate: Some(2_000.0),
            ..closed
        };
        assert_eq!(names(&open, &frame(1_000, 0)), ["rate-missed"]);
        assert_eq!(names(&open, &frame(2_000, 0)), [""; 0]);
        let mut cold = frame(1_000, 0);
        cold.load.warmup = true;
        assert_eq!(names(&open, &cold), [""; 0]);
    }

    #[test]
    fn requests_go_on_as_they_began() {
        let load = frame(250, 0).load;
        let End::At(at) = of_requests(&load, 1_000) else {
            panic!("unknown")
        };
        let left = at.saturating_duration_since(Instant::now()).as_secs_f64();
        assert!(left > 0.0 && left <= 3.0, "{left}");
        assert_eq!(of_requests(&Load::default(), 5), End::Unknown);
    }
}
