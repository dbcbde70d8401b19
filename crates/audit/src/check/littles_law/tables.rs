//! Rates and mean response times in tables.

use super::{PLACES, SERIOUS};
use crate::check::{CheckInput, UnnamedFinding, of_all, raise, time, warning};
use crate::command::Command;
use crate::figures::Figure;
use crate::load::Load;
use crate::model::Table;
use crate::model::Tool;
use crate::model::{Document, OutputContext};
use crate::text::number::Printed;
use crate::text::number::seconds;
use crate::words::{Words, words};
use prony_checks::Severity;

/// A table may have rounded what it gives.
const TABLED: f64 = 1.2;
/// Fewer than this share of the places in use: the tool itself takes less than that, even where it is the limit.
const EMPTY: f64 = 0.25;

/// Rates and mean response times beside each other in a table, where the load is known: from its rows, or from the
/// command line that everything was measured with.
pub(super) fn check(seen: &CheckInput<'_>, index: usize) -> Option<UnnamedFinding> {
    let document = &seen.documents[index];
    let depth = |figure: &Figure, heading: Option<u64>, place: &OutputContext| {
        // A command line in the heading or the label above a table, or between these and the table, is that of the table.
        let above = place.headings.last().into_iter().chain(&place.label);
        let above = above.map(|text| text.1).chain(place.command);
        let above: Vec<usize> = above.collect();
        let own = document
            .commands
            .iter()
            .find(|command| above.contains(&command.line));
        let mut commands = document.commands.iter();
        let first = own.or_else(|| commands.next());
        let one = own.is_some()
            || commands.all(|other| {
                let of = |c: &Command| (c.tool, c.connections(), c.pipeline(), c.rate().is_some());
                first.is_none_or(|first| of(first) == of(other))
            });
        let open = first.is_some_and(|it| it.rate().is_some() || it.tool == Tool::K6);
        (one && !open).then_some(())?;
        let own = figure.load.connections.or(heading);
        let connections = own.or_else(|| first?.connections())?;
        let pipeline = first.map_or(Some(1), Command::pipeline)?;
        Some(connections as f64 * pipeline as f64)
    };
    let piped = |place: &OutputContext| {
        let texts = place.headings.iter().chain(&place.label);
        texts
            .map(|text| text.0.to_lowercase())
            .any(|text| text.contains("pipelin"))
    };
    let mut looked_at: Vec<RateRow<'_>> = Vec::new();
    for figure in seen
        .figures
        .iter()
        .filter(|f| f.document == index && f.output.is_none())
    {
        let row = document.tables.iter().find_map(|(table, place)| {
            let row = table
                .rows
                .iter()
                .find(|row| row.cells.iter().any(|c| c.line == figure.line))?;
            (!piped(place) && row.line() == figure.line).then_some((table, row, place))
        });
        let Some((table, row, place)) = row else {
            continue;
        };
        let mean = (1..table.header.len()).find_map(|column| {
            is_mean(table.name(column)).then_some(())?;
            let cell = row.cells.get(column)?;
            seconds(&cell.text).or_else(|| Some(cell.number?.times(unit(table.name(column))?)))
        });
        let heading = place
            .headings
            .last()
            .and_then(|heading| Load::parse(&heading.0));
        let heading = heading.and_then(|load| load.connections);
        if let Some(mean) = mean.filter(|mean| mean.value > 0.0) {
            let depth = depth(figure, heading, place).filter(|depth| *depth > 0.0);
            looked_at.push(RateRow {
                figure,
                mean,
                depth,
            });
        }
    }
    let closed = is_closed(document);
    if document
        .commands
        .iter()
        .any(|it| it.tool == Tool::Autocannon)
    {
        // It cuts times to whole milliseconds.
        looked_at.retain(|row| row.mean.value >= CUT);
    }
    beyond(document, &looked_at).or_else(|| idle(document, &looked_at).filter(|_| closed))
}

/// Seconds. What autocannon cuts off is little of a longer time.
const CUT: f64 = 0.004;

/// A row with a rate and a mean response time.
struct RateRow<'a> {
    figure: &'a Figure,
    mean: Printed,
    /// How many requests could be in flight, if that is known.
    depth: Option<f64>,
}

impl RateRow<'_> {
    fn rate(&self) -> f64 {
        self.figure.rate.value
    }

    /// How many requests were in flight, by its figures.
    fn in_flight(&self) -> f64 {
        self.rate() * self.mean.value
    }
}

/// Was everything measured with tools that send the next request as soon as an answer is there?
fn is_closed(document: &Document) -> bool {
    // wrk's own names for its figures.
    let wrk = |(table, _): &(Table, OutputContext)| {
        let has = |name: &str| {
            table
                .header
                .iter()
                .any(|own| own.eq_ignore_ascii_case(name))
        };
        has("Requests/sec") && has("Transfer/sec")
    };
    let closed = |command: &Command| {
        matches!(
            command.tool,
            Tool::Wrk
                | Tool::Ab
                | Tool::Autocannon
                | Tool::Bombardier
                | Tool::H2load
                | Tool::Oha
                | Tool::Rewrk
                | Tool::Weighttp
        ) && command.rate().is_none()
    };
    document.commands.iter().all(closed)
        && (!document.commands.is_empty() || document.tables.iter().any(wrk))
}

/// Rows with more requests in flight than there were places for.
fn beyond(document: &Document, rows: &[RateRow<'_>]) -> Option<UnnamedFinding> {
    let known: Vec<(&RateRow<'_>, f64)> = rows
        .iter()
        .filter_map(|row| Some((row, row.depth?)))
        .collect();
    let ratio = |(row, depth): &(&RateRow<'_>, f64)| row.rate() * row.mean.low() / depth;
    let broken: Vec<_> = known.iter().filter(|row| ratio(row) > TABLED).collect();
    let worst = broken.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
    let (row, depth) = worst;
    let ratio = ratio(worst);
    let text = format!(
        "{}{} by the largest factor, {ratio:.1} times: {:.0} per second of {} each are {:.0} requests in flight, of {depth:.0} \
         that the load allows, so the response times are wrong (Little's law). Trust only the rates",
        of_all(broken.len(), known.len(), "rows contradict themselves"),
        row.figure.system.name,
        row.rate(),
        time(row.mean.value),
        row.in_flight(),
    );
    let severity = if ratio >= SERIOUS {
        Severity::Serious
    } else {
        Severity::Warning
    };
    let lines = broken.iter().map(|(row, _)| row.figure.line);
    Some(raise(severity, document, lines, text))
}

/// Rows with far fewer requests in flight than a closed loop keeps there.
fn idle(document: &Document, rows: &[RateRow<'_>]) -> Option<UnnamedFinding> {
    let known: Vec<(&RateRow<'_>, f64)> = rows
        .iter()
        .filter_map(|row| Some((row, row.depth?)))
        .collect();
    let few: Vec<_> = known
        .iter()
        .filter(|(row, depth)| {
            *depth >= PLACES && row.figure.rate.high() * row.mean.high() < EMPTY * depth
        })
        .collect();
    let (row, depth) = few.first()?;
    let text = format!(
        "{}{} by its figures has {:.1} requests in flight ({:.0} per second of {} each), of {depth:.0} that the load keeps there \
         (Little's law): either the load was a smaller one, or the response times leave out what requests waited",
        of_all(few.len(), known.len(), "rows show it"),
        row.figure.system.name,
        row.in_flight(),
        row.rate(),
        time(row.mean.value),
    );
    let lines = few.iter().map(|(row, _)| row.figure.line);
    Some(warning(document, lines, text))
}

/// The unit of time in a column's name, in seconds: `Latency (us)`.
fn unit(name: &str) -> Option<f64> {
    let name = name.to_lowercase();
    words(&name).find_map(|word| match word {
        "ms" | "msec" | "milliseconds" => Some(1e-3),
        "us" | "µs" | "μs" | "usec" | "microseconds" => Some(1e-6),
        "s" | "sec" | "seconds" => Some(1.0),
        _ => None,
    })
}

/// Is a column one of mean response times? A percentile, the longest and the deviation are none.
fn is_mean(name: &str) -> bool {
    const TIMES: Words = Words(
        "平均响应时间, 平均延迟, 平均耗时, 平均レイテンシ, 平均応答時間, 평균 응답, 평균응답, latencia media, latencia promedio, \
        latência média, tempo médio, tiempo promedio, tiempo medio, temps moyen, среднее время, \
        latency, response time, time per request, time/request, resp. time",
    );
    const OTHER: Words = Words(
        "p50, p75, p90, p95, p99, p999, max, min, std, stdev, stddev, median, percentile, total",
    );
    let name = name.to_lowercase();
    TIMES.within(&name)
        && !name.contains('%')
        && !name.contains("across")
        && !words(&name)
            .any(|word| OTHER.has(word) || word.starts_with(|c: char| c.is_ascii_digit()))
}
