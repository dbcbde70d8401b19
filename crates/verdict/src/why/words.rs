//! One sentence that says why.

use super::part::CostPart;
use super::{Against, Difference, ServerAnatomy};
use prony_record::anatomy::RUNNABLE;

/// Parts and counts that are named at most.
const NAMED: usize = 4;
/// Smallest share of the difference, or of one server's CPU time, at which a part is named; smaller ones are in the
/// table.
const WORTH_NAMING: f64 = 0.04;
/// Where the whole is not known to differ, what makes up at least this share of all CPU time is named.
const WORTH_NAMING_ALONE: f64 = 0.01;
/// Functions that only one server runs of which so many are named.
const EXAMPLES: usize = 3;
/// Kernel time is explained by its calls if these differ by this many per request.
const MORE_CALLS: f64 = 0.05;

/// Returns a sentence on the cost of a request in a server, and where most of it arises.
pub(super) fn of_one(body: &ServerAnatomy) -> String {
    let Some(cpu) = body.cpu else {
        return format!("nothing is known of the CPU time of {}", body.name);
    };
    // Of all of it while stacks were sampled, which cost something.
    let sampled: f64 = body.parts.iter().map(|(_, part)| part.value()).sum();
    let share = |ns: f64| ns / sampled.max(f64::MIN_POSITIVE);
    let mut text = format!(
        "a request costs {} {} of CPU time",
        body.name,
        time(cpu.value())
    );
    let named: Vec<_> = (body.parts.iter())
        .take(NAMED)
        .filter(|(_, part)| share(part.value()) >= WORTH_NAMING)
        .collect();
    let phrases: Vec<String> = (named.iter())
        .map(|(part, ns)| format!("{:.0}% {}", 100.0 * share(ns.value()), place(part)))
        .collect();
    if !phrases.is_empty() {
        text = format!("{text}: {}", phrases.join(", "));
        // What has no samples is no part that could be looked up, and hardly more than noise where it is not named.
        let others: Vec<f64> = (body.parts.iter())
            .filter(|part| part.0 != CostPart::Unsampled && !named.contains(part))
            .map(|(_, ns)| share(ns.value()))
            .collect();
        let rest = 100.0 * others.iter().sum::<f64>();
        match others.len() {
            0 => {}
            1 => text += &format!(", and {rest:.0}% in one other part"),
            n => text += &format!(", and {rest:.0}% in {n} other parts"),
        }
    }
    text.push('.');
    text + &calls_of(body)
}

/// The system calls of a request, those first that are made most often.
fn calls_of(body: &ServerAnatomy) -> String {
    let calls = body.counts.iter().filter_map(|(name, n)| {
        let call = name.strip_suffix(" calls")?;
        Some((call, n.value()))
    });
    let all: f64 = calls.clone().map(|(_, n)| n).sum();
    let worth = |(_, n): &(&str, f64)| *n >= MORE_CALLS;
    let named: Vec<String> = (calls.filter(worth).take(NAMED))
        .map(|(call, n)| format!("{n:.2} {call}"))
        .collect();
    match named.as_slice() {
        [] => String::new(),
        named => format!(" It makes {all:.2} system calls: {}.", named.join(", ")),
    }
}

/// Where a part's time goes.
fn place(part: &CostPart) -> String {
    match part {
        CostPart::Function(name) => format!("in `{name}`"),
        CostPart::Call(name) => format!("in the kernel's `{name}()`"),
        CostPart::Kernel(name) => format!("in the kernel: {name}"),
        CostPart::Unsampled => "in moments that samples do not show".to_owned(),
        CostPart::OnlyIn(server) => format!("in small functions that only {server} runs"),
        CostPart::Rest => "in functions too small to be listed".to_owned(),
    }
}

/// Returns a sentence on the differences and their size.
pub(super) fn sentence(base: &str, against: &Against) -> String {
    let Some(cpu) = &against.cpu else {
        return format!("nothing is known of the CPU time of {}", against.side);
    };
    let parts: Vec<&(CostPart, Difference)> = (against.parts.iter())
        .filter(|(part, row)| row.differs && worth_naming(part, row, cpu))
        .take(NAMED)
        .collect();
    let mut text = match (cpu.differs, parts.is_empty()) {
        (false, true) => nothing(base, against, cpu),
        (false, false) => format!(
            "the CPU time per request of {} and {base} is not known to differ as a whole, but parts of it do: ",
            against.side
        ),
        (true, _) => format!(
            "{} costs {} ({}) {} CPU time per request than {base}{}",
            against.side,
            time(cpu.difference.value().abs()),
            percent(cpu),
            more_or(cpu.difference.value(), "less"),
            if parts.is_empty() { "" } else { ": " }
        ),
    };
    let direction = cpu.differs.then_some(cpu.difference.value());
    let named = parts
        .iter()
        .map(|(part, row)| phrase(part, row, direction, against));
    text += &named.collect::<Vec<_>>().join(", ");
    if cpu.differs && parts.is_empty() {
        text += "; no single part of it is known to differ";
    }
    text.push('.');
    text + &others(against, &parts) + &waiting(against, cpu)
}

/// Where its threads wait longer or less long.
fn waiting(against: &Against, cpu: &Difference) -> String {
    let more_work = cpu.difference.value();
    // Who works longer idles less: threads of a pool do that in calls that are also used for locks.
    let is_idling = |more: f64| more * more_work < 0.0 && more.abs() < 2.0 * more_work.abs();
    let phrases: Vec<String> = (against.waits.iter())
        .filter(|(_, row)| row.differs && !is_idling(row.difference.value()))
        .take(NAMED)
        .map(|(part, row)| {
            let more = row.difference.value();
            let longer = if more > 0.0 { "longer" } else { "less" };
            format!("{} {longer} {}", time(more.abs()), waits_in(part))
        })
        .collect();
    match phrases.as_slice() {
        [] => String::new(),
        all => format!(" Its threads wait {} per request.", all.join(", ")),
    }
}

/// Where a thread waits: `in `futex``, `for a CPU`.
#[must_use]
pub fn waits_in(part: &CostPart) -> String {
    match part {
        CostPart::Function(name) if name == RUNNABLE => "for a CPU".to_owned(),
        CostPart::Function(name) | CostPart::Call(name) => format!("in `{name}`"),
        CostPart::Kernel(name) => format!("in the kernel: {name}"),
        CostPart::Unsampled | CostPart::OnlyIn(_) | CostPart::Rest => "elsewhere".to_owned(),
    }
}

fn nothing(base: &str, against: &Against, cpu: &Difference) -> String {
    let interval = cpu.difference.interval();
    if interval.is_some_and(|interval| interval.low() > 0.0 || interval.high() < 0.0) {
        return format!(
            "the CPU time per request of {} and {base} may differ{}, which more rounds would show",
            against.side,
            range(cpu)
        );
    }
    format!(
        "no difference was found in the CPU time per request of {} and {base}{}",
        against.side,
        range(cpu)
    )
}

/// Where the difference lies: ` (−26 ns to +1.62 µs)`; nothing when there is no interval.
fn range(cpu: &Difference) -> String {
    let interval = cpu.difference.interval();
    interval.map_or_else(String::new, |interval| {
        let (low, high) = (signed(interval.low()), signed(interval.high()));
        format!(" ({low} to {high})")
    })
}

/// Whether a part that differs is named. A part that only one server runs always is, however little it costs: it shows
/// the work that the other server does not do.
fn worth_naming(part: &CostPart, row: &Difference, cpu: &Difference) -> bool {
    if matches!(part, CostPart::OnlyIn(_)) {
        return true;
    }
    let least = match cpu.differs {
        true => WORTH_NAMING * cpu.difference.value().abs(),
        false => WORTH_NAMING_ALONE * cpu.base,
    };
    row.difference.value().abs() >= least
}

/// `0.31 µs in `json_encode``, `0.08 µs in the kernel by 2.00 more `epoll_ctl` calls per request`. What goes against the whole
/// difference says so.
fn phrase(part: &CostPart, row: &Difference, whole: Option<f64>, against: &Against) -> String {
    let value = row.difference.value();
    let size = time(value.abs());
    let along = whole.is_some_and(|whole| (whole > 0.0) == (value > 0.0));
    let size = match along {
        true => size,
        false => format!("{size} {}", more_or(value, "less")),
    };
    match part {
        CostPart::Call(name) => match calls(name, against) {
            Some(calls) if calls.differs && calls.difference.value().abs() >= MORE_CALLS => {
                let n = calls.difference.value();
                let (many, more) = (n.abs(), more_or(n, "fewer"));
                format!("{size} in the kernel by {many:.2} {more} `{name}` calls per request")
            }
            _ => format!("{size} in the kernel by `{name}`"),
        },
        CostPart::OnlyIn(server) => format!("{size} {}{}", place(part), examples(server, against)),
        _ => format!("{size} {}", place(part)),
    }
}

/// How many functions only this server runs, with the largest of them: ` (114, such as `onSendHook`)`.
fn examples(server: &str, against: &Against) -> String {
    let found = (against.one_sided.iter()).find(|one| one.server == server);
    let functions = found.map_or(&[][..], |one| &one.functions);
    let names: Vec<String> = (functions.iter())
        .take(EXAMPLES)
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    match functions.len() {
        0 => String::new(),
        n if n <= EXAMPLES => format!(" ({})", names.join(", ")),
        n => format!(" ({n}, such as {})", names.join(", ")),
    }
}

fn calls<'a>(name: &str, against: &'a Against) -> Option<&'a Difference> {
    let row = format!("`{name}` calls");
    let found = against.counts.iter().find(|(name, _)| *name == row);
    found.map(|(_, difference)| difference)
}

/// Counts that differ and that no named part has told of.
fn others(against: &Against, parts: &[&(CostPart, Difference)]) -> String {
    let told = |name: &str| {
        parts.iter().any(
            |(part, _)| matches!(part, CostPart::Call(call) if name == format!("`{call}` calls")),
        )
    };
    let rows: Vec<&(String, Difference)> = (against.counts.iter())
        .filter(|(name, row)| row.differs && !told(name))
        .filter(|(_, row)| row.difference.value().abs() >= MORE_CALLS)
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let phrases = rows
        .iter()
        .take(NAMED)
        .map(|(name, row)| count_phrase(name, row));
    let phrases: Vec<String> = phrases.collect();
    format!(
        " Per request {} also has {}.",
        against.side,
        phrases.join(", ")
    )
}

fn count_phrase(name: &str, row: &Difference) -> String {
    let n = row.difference.value();
    let from_to = format!("({:.2} against {:.2})", row.side, row.base);
    match name {
        super::BYTES => format!(
            "{:.0} bytes {} of memory grown",
            n.abs(),
            more_or(n, "less")
        ),
        _ => format!("{:.2} {} {name} {from_to}", n.abs(), more_or(n, "fewer")),
    }
}

fn more_or(value: f64, less: &'static str) -> &'static str {
    match value >= 0.0 {
        true => "more",
        false => less,
    }
}

fn percent(row: &Difference) -> String {
    let share = 100.0 * row.difference.value().abs() / row.base.max(1.0);
    match share {
        0.0..9.95 => format!("{share:.1}%"),
        _ => format!("{share:.0}%"),
    }
}

fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { '−' } else { '+' };
    format!("{sign}{}", time(ns.abs()))
}

/// Nanoseconds with three digits.
pub(crate) fn time(ns: f64) -> String {
    match ns {
        0.0..9.95 => format!("{ns:.1} ns"),
        0.0..999.5 => format!("{ns:.0} ns"),
        0.0..9_995.0 => format!("{:.2} µs", ns / 1e3),
        0.0..99_950.0 => format!("{:.1} µs", ns / 1e3),
        0.0..999_500.0 => format!("{:.0} µs", ns / 1e3),
        _ => format!("{:.2} ms", ns / 1e6),
    }
}
