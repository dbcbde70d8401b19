//! Progress of a running load: a live view on a terminal, elsewhere one line per second.

use crate::args;
use crate::live::Live;
use crate::live::frame::generator;
use crate::live::frame::{End, Frame, LoadPhase, LoadProgress};
use prony_checks::{Evidence, examine};
use prony_engine::{Plan, clock};
use prony_lab::trial::Progress;
use prony_record::{Backlog, CheckId, Extent, Nanos, Phase, SECOND, Window};
use prony_report::show;
use std::time::{Duration, Instant};

/// Checks that can be trusted before the end: they look at nothing but counts and the generator.
const EARLY: [CheckId; 4] = [
    CheckId::Errors,
    CheckId::GeneratorSaturated,
    CheckId::RateMissed,
    CheckId::WrongAnswers,
];

pub struct LoadDisplay {
    live: Live,
    extent: Extent,
    warmup: Duration,
    threads: u32,
    /// Evidence for the checks that the plan alone gives.
    plan: Evidence,
    shape: prony_record::Load,
    /// When the load ends, since its start, once that is known.
    until: Option<Nanos>,
    part: LoadPhase,
}

impl LoadDisplay {
    pub fn new(args: &args::LoadArgs, plan: &Plan) -> Self {
        let shape = &plan.load;
        let rate = shape.rate;
        let rate_text = match (rate, shape.stages.as_slice()) {
            _ if let Some(replay) = &shape.replay => format!(" · {replay}"),
            (None, _) => String::new(),
            (Some(rate), []) => format!(" · {}", show::rate(rate)),
            (Some(_), stages) => format!(" · {}", prony_record::stages::shown(stages)),
        };
        let connections = match shape.connection_stages.as_slice() {
            [] => shape.connections.to_string(),
            stages => prony_record::stages::shown(stages),
        };
        let title = format!("load {} · {connections} connections{rate_text}", args.url);
        // Where the server runs is not known; the scheduler finds out where there is room.
        let mut spare = prony_lab::placement::allowed_cpus();
        let taken = plan.cpus.len().min(shape.threads as usize);
        spare.retain(|cpu| !plan.cpus[..taken].contains(cpu));
        let live = Live::begin(title, &args.shown, &spare);
        live.change(|frame| frame.doing = "connecting".into());
        Self {
            live,
            extent: shape.extent,
            warmup: args.warmup.0,
            threads: shape.threads,
            plan: Evidence {
                // What a rate that changes should have been until now is known at the end.
                rate: rate.filter(|_| shape.stages.is_empty()),
                ..Evidence::of_load(shape)
            },
            shape: shape.clone(),
            until: None,
            part: LoadPhase::default(),
        }
    }

    /// Shows how the trial goes.
    pub fn on_event(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Doing(doing) => {
                let doing = doing.phrase();
                self.live
                    .change(move |frame| doing.clone_into(&mut frame.doing));
            }
            Progress::Measured { until } => self.until = Some(*until),
            Progress::Window { window, server } => self.window(window, *server),
        }
    }

    /// A window has ended.
    fn window(&mut self, window: &Window, server: Option<f64>) {
        let elapsed = window.end_ns();
        self.part = match self.until {
            // A measurement that is shorter than a window has none of its own.
            Some(until) if window.start_ns >= until => LoadPhase::Rest,
            _ => self.part.then(window),
        };
        let part = self.part;
        let text = || {
            let p99 = show::time_or_dash(window.p99_ns);
            let failed = match window.failed() {
                0 => String::new(),
                n => format!("  failed {}", show::count(n)),
            };
            let part = match part {
                LoadPhase::WarmUp => "warming up  ",
                LoadPhase::Measurement => "",
                LoadPhase::Rest => "waiting for answers  ",
            };
            let rate = match window.events {
                0 => show::rate(window.rate()),
                _ => format!("{} events/s", show::per(window.event_rate())),
            };
            format!("{part}{rate}  p99 {p99}{failed}")
        };
        if window.end_ns() % SECOND < window.length_ns {
            self.live.line(text);
        }
        self.live.window(window, server);
        let end = self.end(elapsed);
        let (plan, threads, extent) = (self.plan.clone(), self.threads, self.extent);
        let shape = self.shape.clone();
        self.live.change(move |frame| {
            frame.doing.clear();
            frame.load.part = part;
            frame.end = match (end, extent) {
                (End::Unknown, Extent::Requests(all)) if part == LoadPhase::Measurement => {
                    of_requests(&frame.load, all)
                }
                _ => end,
            };
            frame.checks = checks((plan, &shape), threads, frame);
        });
    }

    /// When a load of a given length ends.
    fn end(&self, elapsed: Nanos) -> End {
        let Extent::Duration(length) = self.extent else {
            return End::Unknown;
        };
        let at = |at: Nanos| Instant::now() + Duration::from_nanos(at.saturating_sub(elapsed));
        match self.until {
            _ if self.part == LoadPhase::Rest => End::Unknown,
            Some(until) if self.part == LoadPhase::Measurement => End::At(at(until)),
            _ => End::AtMost(at(clock::nanos(self.warmup) + clock::nanos(length.0))),
        }
    }
}

/// When a number of requests is done, if they go on as fast as until now.
fn of_requests(load: &LoadProgress, all: u64) -> End {
    let done = load.outcomes.finished();
    if done == 0 {
        return End::Unknown;
    }
    let rest = all.saturating_sub(done) as f64;
    End::At(Instant::now() + Duration::from_secs_f64(rest / done as f64 * load.seconds))
}

/// Returns the early checks that have fired, each with its name and its text; none during the warm-up.
fn checks(
    (plan, shape): (Evidence, &prony_record::Load),
    threads: u32,
    frame: &Frame,
) -> Vec<(CheckId, String)> {
    let load = &frame.load;
    if load.part == LoadPhase::WarmUp {
        return Vec::new();
    }
    let seen = &load.outcomes;
    let used = load.windows.iter().map(generator);
    let evidence = Evidence {
        seconds: load.seconds,
        ok: seen.ok,
        wrong: seen.wrong,
        timeouts: seen.timeouts,
        socket_errors: seen.errors,
        backlog: backlog(shape, load),
        // Of all threads; the busiest one alone is known at the end.
        generator_busy: used.sum::<f64>() / load.windows.len().max(1) as f64 / f64::from(threads),
        ..plan
    };
    let early = examine(&evidence)
        .into_iter()
        .filter(|finding| EARLY.contains(&finding.name));
    early.map(|finding| (finding.name, finding.text)).collect()
}

/// Whether requests pile up, over the last windows.
fn backlog(shape: &prony_record::Load, load: &LoadProgress) -> Backlog {
    let measured = || {
        load.windows
            .iter()
            .filter(|window| window.phase == Phase::Measure)
    };
    let Some(first) = measured().next() else {
        return Backlog::default();
    };
    let since = |window: &Window| (window.end_ns() - first.start_ns) as f64 / SECOND as f64;
    let samples: Vec<_> = measured().map(|it| (since(it), it.outstanding)).collect();
    let seconds = samples.last().map_or(0.0, |last| last.0);
    Backlog::of(shape, seconds, &samples, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(index: u32, ok: u64, timeouts: u64, outstanding: u64) -> Window {
        Window {
            phase: Phase::Measure,
            verified_answers: ok,
            timeouts,
            outstanding,
            ..Window::empty(index, u64::from(index) * SECOND, SECOND)
        }
    }

    fn frame(ok: u64, timeouts: u64) -> Frame {
        let mut frame = Frame::default();
        frame.load.add(window(0, ok, timeouts, 0));
        frame
    }

    fn names(plan: &Evidence, rate: Option<f64>, frame: &Frame) -> Vec<CheckId> {
        let shape = prony_record::Load {
            rate,
            ..prony_record::Load::default()
        };
        let found = checks((plan.clone(), &shape), 1, frame);
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
        assert_eq!(names(&closed, None, &frame(1_000, 0)), []);
        assert_eq!(names(&closed, None, &frame(1_000, 2)), [CheckId::Errors]);
        let rate = Some(2_000.0);
        let open = Evidence {
            closed_loop: false,
            rate,
            ..closed
        };
        let piling = |each: u64| {
            let mut frame = Frame::default();
            for index in 0..4 {
                frame
                    .load
                    .add(window(index, 2_000 - each, 0, each * u64::from(index + 1)));
            }
            frame
        };
        assert_eq!(names(&open, rate, &piling(1_000)), [CheckId::RateMissed]);
        assert_eq!(names(&open, rate, &piling(0)), []);
        let mut cold = piling(1_000);
        cold.load.part = LoadPhase::WarmUp;
        assert_eq!(names(&open, rate, &cold), []);
    }

    #[test]
    fn requests_go_on_as_they_began() {
        let load = frame(250, 0).load;
        let End::At(at) = of_requests(&load, 1_000) else {
            panic!("unknown")
        };
        let left = at.saturating_duration_since(Instant::now()).as_secs_f64();
        assert!(left > 0.0 && left <= 3.0, "{left}");
        assert_eq!(of_requests(&LoadProgress::default(), 5), End::Unknown);
    }
}
