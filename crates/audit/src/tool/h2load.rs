//! h2load.

use super::{FoundBlocks, LineRole, at, finish, walk};
use crate::model::{At, Block, Tool};
use crate::text::lines::Lines;
use crate::text::number::{count, percent, seconds, whole};
use crate::words::Words;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<FoundBlocks> {
    let line = lines.get(start).trim();
    if clients(line).is_none() && finished(line).is_none() {
        return None;
    }
    let mut block = Block::new(Tool::H2load, start);
    let last = walk(lines, start, |i, line| take(&mut block, i, line));
    // Over QUIC no SYN is sent.
    if (start..last).any(|i| lines.get(i).trim().starts_with("UDP datagram:")) {
        block.connect_max = None;
    }
    finish(block, last)
}

fn take(block: &mut Block, i: usize, line: &str) -> LineRole {
    if let Some((number, more)) = clients(line) {
        if number == 0 && block.connections.is_some() {
            return LineRole::Over;
        }
        let sum = |before: Option<At<u64>>, more| before.map_or(0, |n| n.what).saturating_add(more);
        block.connections = at(i, sum(block.connections, more));
        block.threads = at(i, sum(block.threads, 1));
    } else if let Some((time, rate)) = finished(line) {
        block.seconds = seconds(time).and_then(|time| at(i, time));
        block.rate = count(rate).and_then(|rate| at(i, rate));
    } else if let Some(counts) = line.strip_prefix("requests:") {
        for part in counts.split(',') {
            let Some((n, how)) = part.trim().split_once(' ') else {
                continue;
            };
            let n = whole(n).unwrap_or(0);
            match how {
                "done" => block.requests = at(i, n),
                // Failed are those whose status was 4xx or 5xx, which the next line has; errored
                // has the time-outs in it.
                "errored" => block.fail(i, how, n, false),
                "timeout" => timeout(block, i, n),
                _ => {}
            }
        }
    } else if let Some(counts) = line.strip_prefix("status codes:") {
        for part in counts.split(',') {
            if let Some((n, class @ ("4xx" | "5xx"))) = part.trim().split_once(' ') {
                block.fail(i, class, whole(n).unwrap_or(0), false);
            }
        }
    } else if let Some(times) = line.strip_prefix("time for request:") {
        let time = |column| seconds(times.split_whitespace().nth(column)?);
        block.latency.min = time(0).and_then(|time| at(i, time));
        block.latency.max = time(1).and_then(|time| at(i, time));
        block.latency.mean = time(2).and_then(|time| at(i, time));
        for cell in times.split_whitespace().take(4) {
            if seconds(cell).is_none() {
                block.odd(i, cell);
            }
        }
    } else if let Some(times) = line.strip_prefix("time for connect:") {
        let time = times.split_whitespace().nth(1).and_then(seconds);
        block.connect_max = time.and_then(|time| at(i, time));
    } else if line.starts_with("traffic:") {
        let saved = line.split_once("(space savings ");
        let saved = saved.and_then(|(_, rest)| percent(rest.split(')').next()?));
        block.compressed = saved.filter(|percent| *percent > 0.0).map(|_| i + 1);
    } else if line.starts_with("req/s ") {
        return LineRole::Last;
    } else if !KNOWN.begin(line) {
        return LineRole::Unknown;
    }
    LineRole::Taken
}

/// Beginnings of lines that say nothing of what is looked for here.
const KNOWN: Words = Words(
    "progress:, Warm-up, Main benchmark, Stopped all, Application protocol:, TLS Protocol:, \
    Cipher:, Server Temp Key:, min , time to 1st byte:",
);

/// Time-outs are among the errored.
fn timeout(block: &mut Block, i: usize, n: u64) {
    if let Some(errored) = block.errors.iter_mut().find(|e| e.what.how == "errored") {
        errored.what.count = errored.what.count.saturating_sub(n);
    }
    block.errors.retain(|error| error.what.count > 0);
    block.fail(i, "timeout", n, true);
}

/// The number and the clients of `spawning thread #0: 32 total client(s). …`
fn clients(line: &str) -> Option<(u64, u64)> {
    let rest = line.strip_prefix("spawning thread #")?;
    let (number, rest) = rest.split_once(": ")?;
    let (clients, _) = rest.split_once(" total client(s)")?;
    Some((whole(number)?, whole(clients)?))
}

/// `finished in 5.00s, 176256.20 req/s, 23.53MB/s`
fn finished(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("finished in ")?.strip_suffix("B/s")?;
    let (time, rest) = rest.split_once(", ")?;
    let (rate, _) = rest.split_once(" req/s, ")?;
    Some((time, rate))
}

#[cfg(test)]
mod tests {
    use super::super::one;
    use super::Tool;

    #[test]
    fn timeouts_count_once() {
        let block = one("starting benchmark...\n\
            spawning thread #0: 2 total client(s). 50 total requests\n\
            spawning thread #1: 3 total client(s). 50 total requests\n\n\
            finished in 5.00s, 20.00 req/s, 2.53KB/s\n\
            requests: 100 total, 100 started, 100 done, 90 succeeded, 10 failed, 7 errored, 4 timeout\n\
            status codes: 90 2xx, 0 3xx, 0 4xx, 3 5xx\n\
            time for request:       62us      5.94ms       181us       110us    96.65%\n\
            time for connect:       41us      1.02s       119us        40us    62.50%\n\
            req/s           :    5445.37     5557.64     5507.62       27.26    75.00%\n");
        assert_eq!(block.tool, Tool::H2load);
        assert_eq!(block.connections.unwrap().what, 5);
        let errors: Vec<_> = block
            .errors
            .iter()
            .map(|e| (e.what.how.as_str(), e.what.count))
            .collect();
        assert_eq!(errors, [("errored", 3), ("timeout", 4), ("5xx", 3)]);
        assert_eq!(block.connect_max.unwrap().what.value, 1.02);
    }

    #[test]
    fn no_syn_is_sent_over_quic() {
        let text = |more: &str| {
            format!(
                "finished in 600.04s, 166.53 req/s, 122.54KB/s\nrequests: 99917 total, 100000 started, 99917 done, 99917 succeeded, \
                 0 failed, 0 errored, 0 timeout\n{more}time for request:    44.84ms       1.27s    116.58ms     53.29ms    81.02%\n\
                 time for connect:    53.03ms       3.12s    749.35ms    841.66ms    92.00%\n"
            )
        };
        assert!(one(&text("")).connect_max.is_some());
        assert!(
            one(&text("UDP datagram: 236898 sent, 300403 received\n"))
                .connect_max
                .is_none()
        );
    }
}
