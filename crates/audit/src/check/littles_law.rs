//! `littles-law`: rate and mean response time say that more requests were in flight than there were
//! connections.

use super::{Seen, of_all, remark, time};
use crate::audit::Remark;
use crate::document::{Document, Output, Place};
use crate::figures::Figure;
use crate::load::Load;
use crate::names::words;
use crate::read::command::Command;
use crate::read::number::{Printed, seconds};
use crate::tool::{At, Tool};
use prony_checks::{Explanation, Severity, littles_law};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: "littles-law",
    cause: "Rate and mean response time give more requests in flight than there were connections, which is impossible. The usual cause is a mean over invented samples (back-filled).",
    evidence: "Rate x mean response time, compared with connections x pipeline depth; for k6, iterations x their duration, compared with its users. Serious from a factor of 1.5 on. Not raised for open loops, nor for pipelines of unknown depth. Of ab also when less than half of its requests were in flight, since its times include connecting; of wrk, where it reports no errors and connections were kept.",
    remedy: "Trust the rate, but none of the response times.",
};

/// From here on the mean is off by half: no figure of that distribution stands.
pub(super) const SERIOUS: f64 = 1.5;
/// Fewer than this share of the places in use are no rounding. wrk handles everything that is ready in turns: between an
/// answer and the next request there is about one turn, and an answer waits for one, which is in its time. So of a wrk that
/// is itself the limit half of the places are in use.
const IDLE: f64 = 0.5;
/// Of a few connections the tool itself takes a visible share of the time.
const PLACES: f64 = 10.0;
/// An output, how many requests can be in flight, its rate, and its mean response time.
type Looked<'a> = (&'a Output, f64, f64, At<Printed>);
/// A table may have rounded what it gives.
const TABLED: f64 = 1.2;
/// Below this number of requests those that were cut off at the end weigh too much.
const ENOUGH: f64 = 1_000.0;

pub(super) fn check(seen: &Seen<'_>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for (index, document) in seen.documents.iter().enumerate() {
        remarks.extend(of_tables(seen, index));
        let looked_at = document.outputs.iter().filter_map(|output| {
            (output.block.ended().is_none_or(|ended| ended >= ENOUGH)).then_some(())?;
            // A user of k6 does one iteration at a time, whatever that asks for.
            if let Some((rate, took)) = output.block.iterations
                && rate.what.value > 0.0
            {
                let users = output.block.connections?.what as f64;
                let mean = At {
                    what: took,
                    line: rate.line,
                };
                return Some((output, users, rate.what.value, mean));
            }
            let depth = output.depth()?;
            // The mean of a capped list of samples is a finding of its own.
            (!output.block.capped()).then_some(())?;
            let rate = output.block.true_rate()?;
            let mean = output.block.latency.mean?;
            (depth > 0.0).then_some((output, depth, rate, mean))
        });
        let looked_at: Vec<_> = looked_at.collect();
        remarks.extend(idle(document, &looked_at));
        // Fewer than there are connections is no contradiction here: time spent on connecting, or
        // waiting between requests, is in hardly any tool's response time.
        let broken: Vec<_> = looked_at
            .iter()
            .filter(|(_, depth, rate, mean)| rate * mean.what.low() > *depth)
            .filter_map(|&(output, depth, rate, mean)| {
                littles_law(rate, mean.what.low(), depth)?;
                // bombardier's rate is a mean of samples, which the first and the last of them bend.
                let sampled = output.block.tool == Tool::Bombardier;
                (!sampled || rate * mean.what.low() >= SERIOUS * depth).then_some(())?;
                let finding = littles_law(rate, mean.what.value, depth)?;
                Some((output, rate * mean.what.value / depth, mean.line, finding))
            })
            .collect();
        let worst = broken.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((output, ratio, _, finding)) = worst else {
            continue;
        };
        let severity = if *ratio >= SERIOUS {
            Severity::Serious
        } else {
            Severity::Warning
        };
        let text = format!(
            "{}{} is off by the largest factor, {ratio:.1} times: {}. Trust only the rate",
            of_all(
                broken.len(),
                looked_at.len(),
                "outputs contradict themselves"
            ),
            output.called(),
            finding.text,
        );
        let lines = broken.iter().map(|(_, _, line, _)| *line);
        remarks.push(remark(EXPLANATION.name, severity, document, lines, text));
    }
    remarks
}

/// Rates and mean response times beside each other in a table, where the load is known: from its rows, or from the
/// command line that everything was measured with.
fn of_tables(seen: &Seen<'_>, index: usize) -> Option<Remark> {
    let document = &seen.documents[index];
    // Where the text says it, and says nothing else.
    let mut stated = document.at_once.iter().map(|(_, connections)| *connections);
    let stated = stated
        .next()
        .filter(|first| *first > 0 && stated.all(|other| other == *first));
    let depth = |figure: &Figure, heading: Option<u64>| {
        let mut commands = document.commands.iter();
        let first = commands.next();
        let one = commands.all(|other| {
            let of = |c: &Command| (c.tool, c.connections(), c.pipeline(), c.rate().is_some());
            first.is_none_or(|first| of(first) == of(other))
        });
        let open = first.is_some_and(|it| it.rate().is_some() || it.tool == Tool::K6);
        (one && !open).then_some(())?;
        let own = figure.load.connections.or(heading);
        let connections = own.or_else(|| first?.connections()).or(stated)?;
        let pipeline = first.map_or(Some(1), Command::pipeline)?;
        Some(connections as f64 * pipeline as f64)
    };
    let piped = |place: &Place| {
        let texts = place.headings.iter().chain(&place.label);
        texts
            .map(|text| text.0.to_lowercase())
            .any(|text| text.contains("pipelin"))
    };
    let mut looked_at = 0;
    let mut broken = Vec::new();
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
            {
                let heading = place
                    .headings
                    .last()
                    .and_then(|heading| Load::parse(&heading.0));
                let connections = heading.and_then(|load| load.connections);
                (!piped(place) && row.line() == figure.line).then_some((table, row, connections))
            }
        });
        let Some(((table, row), depth)) =
            row.and_then(|(table, row, heading)| Some(((table, row), depth(figure, heading)?)))
        else {
            continue;
        };
        let mean = (1..table.header.len()).find_map(|column| {
            is_mean(table.name(column)).then_some(())?;
            let cell = row.cells.get(column)?;
            seconds(&cell.text).or_else(|| Some(cell.number?.times(unit(table.name(column))?)))
        });
        let Some(mean) = mean.filter(|_| depth > 0.0) else {
            continue;
        };
        looked_at += 1;
        let ratio = figure.rate.value * mean.low() / depth;
        if ratio > TABLED {
            broken.push((figure, mean, depth, ratio));
        }
    }
    let (figure, mean, depth, ratio) = broken.iter().max_by(|a, b| a.3.total_cmp(&b.3))?;
    let text = format!(
        "{}{} by the largest factor, {ratio:.1} times: {:.0} per second of {} each are {:.0} requests in flight, of {depth:.0} \
         that the load allows, so the response times are wrong (Little's law). Trust only the rates",
        of_all(broken.len(), looked_at, "rows contradict themselves"),
        figure.system.name,
        figure.rate.value,
        time(mean.value),
        figure.rate.value * mean.value,
    );
    let severity = if *ratio >= SERIOUS {
        Severity::Serious
    } else {
        Severity::Warning
    };
    let lines = broken.iter().map(|(figure, ..)| figure.line);
    Some(remark(EXPLANATION.name, severity, document, lines, text))
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
    const TIMES: [&str; 5] = [
        "latency",
        "response time",
        "time per request",
        "time/request",
        "resp. time",
    ];
    const OTHER: [&str; 14] = [
        "p50",
        "p75",
        "p90",
        "p95",
        "p99",
        "p999",
        "max",
        "min",
        "std",
        "stdev",
        "stddev",
        "median",
        "percentile",
        "total",
    ];
    let name = name.to_lowercase();
    TIMES.iter().any(|time| name.contains(time))
        && !name.contains('%')
        && !name.contains("across")
        && !words(&name)
            .any(|word| OTHER.contains(&word) || word.starts_with(|c: char| c.is_ascii_digit()))
}

/// ab and wrk send the next request as soon as an answer is there: the places for their requests are never empty,
/// unless something else keeps them so. ab's times include connecting. wrk's do not, nor do they include requests that
/// failed or were too late, nor those without an answer at the end: where it reports none of the former and kept its
/// connections, some of them had no answer at all, or took very long to be opened.
fn idle(document: &Document, looked_at: &[Looked<'_>]) -> Option<Remark> {
    let few = looked_at.iter().filter(|(output, depth, rate, mean)| {
        let many = output
            .block
            .ended()
            .is_some_and(|ended| ended >= 4.0 * depth);
        let tool = match output.block.tool {
            Tool::Ab => true,
            Tool::Wrk => output.block.errors.is_empty() && keeps_busy(output),
            _ => false,
        };
        let empty = rate * mean.what.high() < IDLE * depth;
        tool && !output.by_prony() && many && *depth >= PLACES && empty
    });
    let few: Vec<_> = few.collect();
    let (output, depth, rate, mean) = few.first()?;
    let cause = match output.block.tool {
        Tool::Wrk => {
            "most connections had no answer coming. Either the server left them waiting, because it serves fewer at once, and \
             what they waited is in no response time; or it closed them after each answer, and connecting took most of the time"
        }
        _ => {
            "most places were empty, because a few requests took very long or because ab itself was the limit"
        }
    };
    let text = format!(
        "{}in {} {:.0} requests per second of {} each keep {:.0} in flight, of {depth:.0}: {cause}. The load was not \
         that of {depth:.0} connections",
        of_all(few.len(), looked_at.len(), "outputs show it"),
        output.called(),
        rate,
        time(mean.what.value),
        rate * mean.what.value,
    );
    let lines = few.iter().map(|(.., mean)| mean.line);
    Some(remark(
        EXPLANATION.name,
        Severity::Warning,
        document,
        lines,
        text,
    ))
}

/// Does nothing in its command line make wrk wait: a script, which may delay requests, or a header that has connections closed?
fn keeps_busy(output: &Output) -> bool {
    output.command.as_ref().is_none_or(|command| {
        let closes = command.to_string().to_lowercase();
        command.script().is_none() && !closes.contains("connection: close")
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{of, wrk};
    use prony_checks::Severity;

    #[test]
    fn more_in_flight_than_connections() {
        let found = of(
            "littles-law",
            &wrk(&[(" 2.00ms", "66.00ms"), ("3.90ms", " 1.84s")]),
        );
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([4].as_slice(), Severity::Serious)
        );
        assert!(found[0].finding.text.contains("33.0 times"), "{found:?}");
        let little = of("littles-law", &wrk(&[(" 2.00ms", " 2.30ms")]));
        assert_eq!(little[0].finding.severity, Severity::Warning);
    }

    #[test]
    fn a_rate_of_samples_is_judged_with_care() {
        let text = |ms: &str| {
            format!(
                "Bombarding http://10.0.0.2:80 with 100000 request(s) using 5100 connection(s)\nDone!\n\
                 Statistics        Avg      Stdev        Max\n  Reqs/sec     36366.02   59859.52  721275.32\n  \
                 Latency      {ms}   143.55ms      1.77s\n  HTTP codes:\n    \
                 1xx - 0, 2xx - 100000, 3xx - 0, 4xx - 0, 5xx - 0\n    others - 0\n"
            )
        };
        assert_eq!(of("littles-law", &text("160.20ms")), []);
        assert_eq!(of("littles-law", &text("260.20ms")).len(), 1);
    }

    #[test]
    fn ab_with_empty_places() {
        // 2825 per second of 80 ms each are 226 requests, of 2000.
        let text = "Concurrency Level:      2000\nTime taken for tests:   2.832 seconds\n\
            Complete requests:      8000\nRequests per second:    2825.00 [#/sec] (mean)\n\
            Time per request:       707.96 [ms] (mean)\n\nConnection Times (ms)\n              \
            min  mean[+/-sd] median   max\nConnect:        0    2   3.1      1      20\n\
            Total:          9   80  50.0     70    2812\n";
        let found = of("littles-law", text);
        assert_eq!(
            (found.len(), found[0].lines.as_slice()),
            (1, [10].as_slice())
        );
        assert!(
            found[0]
                .finding
                .text
                .contains("keep 226 in flight, of 2000"),
            "{found:?}"
        );
        assert_eq!(
            of("littles-law", &text.replace("   80  50.0", "  700  50.0")),
            []
        );
    }

    #[test]
    fn wrk_with_connections_that_were_never_answered() {
        // 32,000 per second of 0.66 ms each are 21 requests, of 64.
        let mean = (" 2.00ms", "660.00us");
        let found = of("littles-law", &wrk(&[mean]));
        let found: Vec<_> = found
            .iter()
            .map(|r| (r.lines.as_slice(), r.finding.severity, &r.finding.text))
            .collect();
        let [(lines, severity, text)] = found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((lines, severity), ([4].as_slice(), Severity::Warning));
        assert!(text.contains("keep 21 in flight, of 64"), "{text}");
        // Half of them and more may be wrk's own work.
        assert_eq!(of("littles-law", &wrk(&[(" 2.00ms", "  1.10ms")])), []);
        // What failed or was too late is told as that, and explains it.
        let late = "\n  Socket errors: connect 20, read 0, write 0, timeout 0\nRequests/sec";
        assert_eq!(
            of("littles-law", &wrk(&[mean, ("\nRequests/sec", late)])),
            []
        );
        // A script may delay requests; connections that are closed on purpose have to be opened.
        for how in ["-s delay.lua", "-H 'Connection: close'"] {
            let command = format!("    wrk -t4 -c64 -d30s {how} http://10.0.0.2:8000/\n\n");
            assert_eq!(of("littles-law", &(command + &wrk(&[mean]))), [], "{how}");
        }
    }

    #[test]
    fn outputs_without_their_heads() {
        // 32,000 per second of 2 ms each are 64 requests.
        let bare = wrk(&[
            ("Running 30s test @ http://10.0.0.2:8000/\n", ""),
            ("4 threads and 64 connections\n", ""),
        ]);
        let text = |c: u32| {
            format!("Each with `wrk -t2 -c{c} -d30s --latency <url>`.\n\n## alpha\n\n{bare}")
        };
        assert_eq!(
            of("littles-law", &text(10))[0].finding.severity,
            Severity::Serious
        );
        assert_eq!(of("littles-law", &text(64)), []);
        // One of them has its head, so that the command line may be of that alone.
        let both = text(10) + "\n" + &wrk(&[]);
        assert_eq!(of("littles-law", &both), []);
    }

    #[test]
    fn tables_below_the_load_that_a_line_states() {
        let text = |load: &str| {
            format!(
                "{load}\n\n| server | Latency (us) | req/s |\n|--|--|--|\n| alpha | 353977 | 🥇 8405 |\n\
                 | beta | 1891 | 🥈 7816 |\n"
            )
        };
        for load in [
            "Connections:   100",
            "- **Concurrency**: 100",
            "Test setup: 100 connections, 10s duration",
            "Each ran with 100 concurrent connections and 4 threads.",
        ] {
            let found = of("littles-law", &text(load));
            assert_eq!(found.len(), 1, "{load}");
            assert_eq!(
                (found[0].lines.as_slice(), found[0].finding.severity),
                ([5].as_slice(), Severity::Serious)
            );
        }
        for load in [
            "It can hold 100 connections open",
            "Connections: 100\nPipelining: 64",
            "Connections: 100\nConcurrency: 4000",
            "Connections: 4000",
        ] {
            assert_eq!(of("littles-law", &text(load)), [], "{load}");
        }
    }

    #[test]
    fn pipelines_of_known_depth_and_users() {
        // 4 ms at 32,000/s are 128 in flight; 64 connections with 16 each may have 1,024.
        let run = |depth: &str, ms: &str| {
            format!(
                "    wrk -t4 -c64 -d30s -s pipeline.lua http://10.0.0.2:8000/ -- {depth}\n\n{}",
                wrk(&[(" 2.00ms", ms), ("3.90ms", "9000.00ms")])
            )
        };
        assert_eq!(of("littles-law", &run("/ 16", " 4.00ms")), []);
        assert_eq!(of("littles-law", &run("16", "900.00ms")).len(), 1);
        assert_eq!(of("littles-law", &run("", "900.00ms")), []);
        let k6 = |users: u32| {
            format!(
                "     http_req_duration..............: avg=10ms min=1ms med=9ms max=1s p(90)=15ms p(95)=20ms\n     \
                 http_reqs......................: 30000 1000.0/s\n     \
                 iteration_duration.............: avg=100ms min=1ms med=90ms max=1s p(90)=150ms p(95)=200ms\n     \
                 iterations.....................: 30000 1000.0/s\n     \
                 vus_max........................: {users}     min={users}     max={users}\n"
            )
        };
        assert_eq!(of("littles-law", &k6(100)), []);
        assert_eq!(of("littles-law", &k6(50)).len(), 1);
    }

    #[test]
    fn rounding_pipelining_and_open_loops_are_no_contradiction() {
        // hey prints four decimals: 0.0004 s may be 0.00035 s.
        let hey = "    hey -z 10s -c 16 http://10.0.0.2/\n\nSummary:\n  Total:\t10.0 secs\n  \
            Slowest:\t0.0175 secs\n  Average:\t0.0004 secs\n  Requests/sec:\t45000.0\n";
        assert_eq!(of("littles-law", hey), []);
        // Eight streams on each of ten connections: only the command line would tell.
        let h2load = "starting benchmark...\nspawning thread #0: 10 total client(s). 90000 total requests\n\
            Application protocol: h2\n\nfinished in 1.00s, 80000.00 req/s, 2.53MB/s\n\
            requests: 80000 total, 80000 started, 80000 done, 80000 succeeded, 0 failed, 0 errored, 0 timeout\n\
            time for request:       62us      5.94ms      1.00ms       110us    96.65%\n";
        assert_eq!(of("littles-law", h2load), []);
        let command = "    h2load -c10 -m8 -n80000 http://10.0.0.2/\n\n";
        assert_eq!(of("littles-law", &(command.to_owned() + h2load)), []);
        let shallow = command.replace("-m8", "-m1") + h2load;
        assert_eq!(of("littles-law", &shallow).len(), 1);
        let deep = [(" 2.00ms", "32.00ms"), ("3.90ms", "40.00ms")];
        assert_eq!(
            of("littles-law", &("# Pipelined\n".to_owned() + &wrk(&deep))),
            []
        );
        let open = "    wrk2 -R32000 -c64 http://10.0.0.2/\n\n".to_owned() + &wrk(&deep);
        let open = open.replace(
            "  Thread Stats",
            "  Thread calibration: mean lat.: 1ms\n  Thread Stats",
        );
        assert_eq!(of("littles-law", &open), []);
    }
}
