//! `prony load`: load a server that is already running.

mod display;

use crate::Ended;
use crate::args::{Arrival, Load, Transport};
use crate::measured;
use crate::target;
use display::Display;
use miette::{IntoDiagnostic, Result, miette};
use prony_checks::Evidence;
use prony_engine::protocol::{Expect, HttpExchange, HttpRequest, Limits};
use prony_engine::{
    Control, Dialogue, Nanos, Observation, Plan, TransportKind, automatic, clock, descriptors,
};
use prony_lab::host::TcpCounters;
use prony_lab::load::{Extent, default_window};
use prony_lab::trial::Interrupt;
use prony_lab::warmup::Warming;
use prony_report::facts::Finding;
use prony_report::latency::Percentiles;
use prony_report::load::LoadReport;
use std::sync::Arc;

pub fn main(args: &Load) -> Result<Ended> {
    descriptors::reserve(u64::from(args.connections)).into_diagnostic()?;
    let plan = plan(args)?;
    let interrupt = Arc::new(Interrupt::default());
    crate::place::on_signal(&interrupt)?;
    let before = TcpCounters::read();
    let seen = carry_out(args, &plan, &interrupt)?;
    let evidence = Evidence {
        tcp: Some(measured::tcp(&TcpCounters::read().since(&before))),
        ..measured::evidence(&plan, &seen)
    };
    let checks = measured::findings(&evidence);
    let report = report(args, &plan, &seen, checks, interrupt.fired());
    if args.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&report).into_diagnostic()?
        );
    } else {
        print!("{}", report.text());
    }
    let nothing = report.outcomes.ok == 0;
    Ok(if nothing {
        Ended::Incomplete
    } else {
        Ended::Done
    })
}

fn extent(args: &Load) -> Extent {
    args.requests
        .map_or(Extent::Duration(args.duration), Extent::Requests)
}

fn plan(args: &Load) -> Result<Plan> {
    let address = target::parse(&args.url)?;
    let dialogue = if address.http {
        http(args, &address)?
    } else {
        echo(args)?
    };
    if args.threads > args.connections {
        return Err(miette!(
            "{} threads cannot share {} connections: each thread needs one of its own",
            args.threads,
            args.connections
        ));
    }
    if args.no_keepalive && args.pipeline > 1 {
        return Err(miette!(
            "--pipeline needs connections that are kept open (no --no-keepalive)"
        ));
    }
    if let Some(rate) = args.rate
        && !(rate.is_finite() && rate > 0.0)
    {
        return Err(miette!("--rate must be above 0, not {rate}"));
    }
    for (name, span) in [("--duration", args.duration), ("--timeout", args.timeout)] {
        if span.0.is_zero() {
            return Err(miette!("{name} must be longer than nothing"));
        }
    }
    let allowed = prony_lab::placement::allowed_cpus();
    let cpus = args
        .cpus
        .as_ref()
        .map_or_else(Vec::new, |cpus| cpus.0.clone());
    if let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        return Err(miette!(
            "there is no CPU {cpu} to use here, only {allowed:?}"
        ));
    }
    let seed = args.seed.unwrap_or_else(rand::random);
    let arrival = match (args.rate, args.arrival) {
        (None, _) => prony_engine::Arrival::Closed,
        (Some(rate), Arrival::Constant) => prony_engine::Arrival::Constant(rate),
        (Some(rate), Arrival::Poisson) => prony_engine::Arrival::Poisson { rate, seed },
    };
    Ok(Plan {
        target: match &args.unix {
            Some(path) => target::unix(path)?,
            None => address.resolve(args.timeout.0)?,
        },
        dialogue,
        arrival,
        connections: args.connections,
        threads: args.threads,
        cpus,
        pipeline: args.pipeline,
        keepalive: !args.no_keepalive,
        calls: 1,
        trace: false,
        timeout: args.timeout.0,
        window: default_window(extent(args)),
        requests: args.requests,
        transport: match args.transport {
            Transport::Auto => automatic(&arrival),
            Transport::Epoll => TransportKind::Epoll,
            Transport::IoUring => TransportKind::IoUring,
        },
    })
}

/// Text, or the content of a file after `@`.
fn text_or_file(text: &str) -> Result<Vec<u8>> {
    match text.strip_prefix('@') {
        None => Ok(text.as_bytes().to_vec()),
        Some(path) => std::fs::read(path).map_err(|error| miette!("cannot read {path}: {error}")),
    }
}

fn http(args: &Load, address: &target::Address) -> Result<Dialogue> {
    let token = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
    };
    if !token(&args.method) {
        return Err(miette!("{:?} is not a method", args.method));
    }
    let mut headers = Vec::new();
    for field in &args.headers {
        let (name, value) = field
            .split_once(':')
            .map(|(name, value)| (name.trim(), value.trim()))
            .filter(|(name, value)| token(name) && !value.bytes().any(|b| b < b' ' && b != b'\t'))
            .ok_or_else(|| miette!("{field:?} is not a header field: expected `Name: value`"))?;
        headers.push((name.to_owned(), value.to_owned()));
    }
    let request = HttpRequest {
        method: args.method.clone(),
        target: address.path.clone(),
        host: address.authority.clone(),
        headers,
        body: args
            .body
            .as_deref()
            .map(text_or_file)
            .transpose()?
            .unwrap_or_default(),
        keepalive: !args.no_keepalive,
    };
    let mut expect = match &args.expect_body {
        Some(body) => Expect::body(text_or_file(body)?),
        None => Expect::default(),
    };
    expect.status = args.expect_status;
    Ok(Dialogue::Http {
        exchanges: vec![HttpExchange::new(&request, expect)],
        limits: Limits {
            head: args.max_head,
            body: args.max_body,
        },
    })
}

fn echo(args: &Load) -> Result<Dialogue> {
    let message = match args.message.strip_prefix('@') {
        Some(_) => text_or_file(&args.message)?,
        None => unescape(&args.message)
            .ok_or_else(|| {
                miette!(
                    "{:?} has an unknown escape: \\n, \\r, \\t and \\\\ are understood",
                    args.message
                )
            })?
            .into_bytes(),
    };
    if message.is_empty() {
        return Err(miette!("an echo needs a message of at least one byte"));
    }
    Ok(Dialogue::Echo(message))
}

fn unescape(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        out.push(match c {
            '\\' => match rest.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                '\\' => '\\',
                _ => return None,
            },
            other => other,
        });
    }
    Some(out)
}

/// Runs the load with its progress.
fn carry_out(args: &Load, plan: &Plan, interrupt: &Interrupt) -> Result<Observation> {
    let length = match extent(args) {
        Extent::Duration(span) => clock::nanos(span.0),
        Extent::Requests(_) => Nanos::MAX,
    };
    let cold = args.warmup.0.is_zero();
    let control = Arc::new(if cold {
        Control::at_once(length)
    } else {
        Control::default()
    });
    interrupt.guard(&control);
    let mut warming = Warming::new(args.warmup, extent(args));
    let mut display = Display::new(args, plan);
    let result = prony_engine::run(plan, &control, |window| {
        display.window(window, !cold && warming.is_on());
        if !cold && let Some((from, until)) = warming.after(window) {
            let (_, until) = control.measure(from, until);
            display.measured(until);
        }
    });
    result.into_diagnostic()
}

fn report(
    args: &Load,
    plan: &Plan,
    seen: &Observation,
    checks: Vec<Finding>,
    interrupted: bool,
) -> LoadReport {
    LoadReport {
        target: match &args.unix {
            Some(path) => format!("{} over {}", args.url, path.display()),
            None => args.url.clone(),
        },
        connections: plan.connections,
        arrival: match plan.arrival {
            prony_engine::Arrival::Closed => "closed",
            prony_engine::Arrival::Constant(_) => "constant",
            prony_engine::Arrival::Poisson { .. } => "poisson",
        }
        .into(),
        rate: plan.arrival.rate(),
        seconds: seen.measured() as f64 / clock::SECOND as f64,
        interrupted,
        throughput: measured::rate(seen),
        latency: measured::latency(seen),
        generator_lateness: plan.arrival.rate().map(|_| Percentiles::of(&seen.late)),
        connect: Percentiles::of(&seen.connect),
        outcomes: measured::outcomes(&seen.outcomes),
        generator: measured::generator(seen),
        bytes_received: seen.bytes_received,
        bytes_sent: seen.bytes_sent,
        errors: seen.errors.clone(),
        wrong_answers: seen.wrong.clone(),
        checks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_a_message() {
        assert_eq!(unescape("hello\\n\\\\").as_deref(), Some("hello\n\\"));
        assert_eq!(unescape("\\x"), None);
        assert_eq!(unescape("\\"), None);
    }
}
