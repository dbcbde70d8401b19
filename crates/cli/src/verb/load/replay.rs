//! `prony load --replay`: a server's log, sent again at its own times.

use super::shape::window;
use crate::args::LoadArgs;
use crate::request::ways;
use miette::{Context, IntoDiagnostic, Result, miette};
use prony_lab::requests::ServerFacts;
use prony_lab::requests::from::listed;
use prony_lab::requests::replay::{ReplayError, replay, stages};
use prony_lab::requests::verify::RequestFile;
use prony_lab::workload::Workload;
use prony_record::{Extent, SECOND, Span, inert};
use std::path::Path;
use std::time::Duration;

/// The log's name, fit for a terminal.
fn name(log: &Path) -> String {
    inert::line(&log.display().to_string()).into_owned()
}

/// The requests of a log, or those of a file that its lines are. What is left out is said.
pub fn of(
    log: &Path,
    args: &LoadArgs,
    file: Option<RequestFile>,
    server: &ServerFacts,
) -> Result<RequestFile> {
    let name = name(log);
    let text = std::fs::read(log)
        .into_diagnostic()
        .wrap_err_with(|| format!("cannot read {name}"))?;
    let text = crate::verb::requests::text_of(&text);
    let by_file = file.is_some();
    let mix = file.map(|file| file.mix);
    let found = replay(&text, args.speed, mix, server).map_err(|error| {
        let why = match error {
            // The list has every reason.
            ReplayError::Nothing(notes) if !notes.is_empty() => {
                eprint!("{}", listed(&name, &notes, |_| None));
                "no line of it can be sent again".to_owned()
            }
            other => other.to_string(),
        };
        miette!(
            help = "a log is in the common or combined format (nginx, Apache), or has an object of JSON on each line (Caddy, Traefik, nginx)",
            "{name}: {why}"
        )
    })?;
    let mut mix = found.mix;
    if !found.notes.is_empty() {
        eprint!("{}", listed(&name, &found.notes, |_| None));
    }
    if found.whole_seconds && !args.shown.quiet {
        eprintln!("{name}: times in whole seconds; requests are spread evenly over each second");
    }
    if !by_file {
        let fields = args.request.fields()?;
        let pieces = |(name, value): &(String, String)| {
            let text = prony_engine::protocol::mix::text(value.as_bytes());
            (name.clone(), vec![text])
        };
        for request in &mut mix.requests {
            request.headers = fields.iter().map(pieces).collect();
        }
    }
    Ok(RequestFile {
        file: name,
        mix,
        ways: ways(true),
        paused: false,
    })
}

/// The load that sends a recording at its times; another one as it is.
pub fn at_its_times(
    load: prony_record::Load,
    args: &LoadArgs,
    workload: &Workload,
) -> Result<prony_record::Load> {
    let (Some(log), Some(mix)) = (&args.replay, workload.mix()) else {
        return Ok(load);
    };
    let Some(recorded) = &mix.recorded else {
        return Ok(load);
    };
    if !load.connection_stages.is_empty() {
        return Err(usage!(
            "--connections must not change during a replay: the log has the rate"
        ));
    }
    let whole = Duration::from_nanos(recorded.length);
    let length = args.duration.map_or(whole, |given| given.0.min(whole));
    let due = recorded.due.as_slice();
    let n = due.partition_point(|&due| u128::from(due) < length.as_nanos());
    if !args.shown.quiet {
        eprintln!(
            "{}: {n} request{} in {}",
            name(log),
            if n == 1 { "" } else { "s" },
            Span(length),
        );
    }
    let window = window(length);
    Ok(prony_record::Load {
        rate: Some(n as f64 * SECOND as f64 / length.as_nanos().max(1) as f64),
        stages: stages(due, length, window),
        replay: Some(prony_record::Replay {
            log: name(log),
            speed: args.speed,
        }),
        extent: Extent::Duration(Span(length)),
        window: Span(window),
        ..load
    })
}
