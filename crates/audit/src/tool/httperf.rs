//! httperf.

use super::{FoundBlocks, LineRole, at, finish, pair, walk};
use crate::model::{Block, Tool};
use crate::text::lines::Lines;
use crate::text::number::{leading, whole};

/// httperf prints times in milliseconds.
const MS: f64 = 1e-3;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<FoundBlocks> {
    let line = lines.get(start).trim();
    if !line.starts_with("Total: connections ") && !line.starts_with("Maximum connect burst") {
        return None;
    }
    let mut block = Block::new(Tool::Httperf, start);
    let last = walk(lines, start, |i, line| take(&mut block, i, line));
    finish(block, last)
}

fn take(block: &mut Block, i: usize, line: &str) -> LineRole {
    let Some((key, value)) = pair(line) else {
        return LineRole::Unknown;
    };
    match key {
        "Total" if block.requests.is_some() => return LineRole::Over,
        "Total" => {
            block.requests = after(value, "replies")
                .and_then(whole)
                .and_then(|n| at(i, n));
            block.seconds = after(value, "test-duration")
                .and_then(leading)
                .and_then(|(n, _)| at(i, n));
        }
        "Request rate" => {
            block.rate = leading(value).and_then(|(n, _)| at(i, n));
        }
        // It is sampled every five seconds.
        "Reply rate [replies/s]" if value.ends_with("(0 samples)") => {
            block.unsampled = Some(i + 1);
        }
        "Reply time [ms]" => {
            block.latency.mean = after(value, "response")
                .and_then(leading)
                .and_then(|(n, _)| at(i, n.times(MS)));
        }
        "Reply status" => {
            for part in value.split_whitespace() {
                if let Some((class, n)) = part.split_once('=')
                    && (class == "4xx" || class == "5xx")
                {
                    block.fail(i, class, whole(n).unwrap_or(0), false);
                }
            }
        }
        "Errors" => {
            let words: Vec<&str> = value.split_whitespace().collect();
            for pair in words.chunks_exact(2).filter(|pair| pair[0] != "total") {
                let n = whole(pair[1]).unwrap_or(0);
                block.lose(i, pair[0], n, pair[0].ends_with("-timo"));
            }
            if value.starts_with("fd-unavail") {
                return LineRole::Last;
            }
        }
        "Maximum connect burst length"
        | "Connection rate"
        | "Connection time [ms]"
        | "Connection length [replies/conn]"
        | "Request size [B]"
        | "Reply rate [replies/s]"
        | "Reply size [B]"
        | "CPU time [s]"
        | "Net I/O" => {}
        _ => return LineRole::Unknown,
    }
    LineRole::Taken
}

/// The word behind a word.
fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let mut words = text.split_whitespace();
    words.find(|w| *w == word)?;
    words.next()
}

#[cfg(test)]
mod tests {
    use super::super::one;

    #[test]
    fn errors_have_two_lines() {
        let block = one(
            "Total: connections 500 requests 5000 replies 4990 test-duration 0.500 s\n\n\
             Request rate: 10000.5 req/s (0.1 ms/req)\n\
             Reply rate [replies/s]: min 0.0 avg 0.0 max 0.0 stddev 0.0 (0 samples)\n\
             Reply time [ms]: response 1.5 transfer 0.0\n\
             Reply status: 1xx=0 2xx=4988 3xx=0 4xx=0 5xx=2\n\n\
             Errors: total 10 client-timo 7 socket-timo 0 connrefused 0 connreset 3\n\
             Errors: fd-unavail 0 addrunavail 0 ftab-full 0 other 0\nbehind it\n",
        );
        assert_eq!(block.requests.unwrap().what, 4990);
        assert_eq!(block.lasted(), Some(0.5));
        assert_eq!(block.unsampled, Some(4));
        assert_eq!(block.latency.mean.unwrap().what.value, 0.0015);
        assert_eq!(block.timed_out(), 7);
        assert_eq!(block.errors.len(), 3);
        assert_eq!(block.last, 9);
    }
}
