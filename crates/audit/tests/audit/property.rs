//! No text makes the reader panic or hang.

use crate::large;
use prony_audit::{audit, import};
use proptest::prelude::*;

/// How many lines a text has, which may end in a carriage return alone.
fn count_lines(text: &str) -> usize {
    if text.contains('\n') {
        text.lines().count()
    } else {
        text.split_terminator('\r').count().max(1)
    }
}

/// Reads a text in every way there is; the remarks point into it.
fn survive(text: &str) {
    for name in ["text.md", "text.csv"] {
        let named = [(name.to_owned(), text.to_owned())];
        let audit = audit(&named);
        let lines = count_lines(text);
        for remark in &audit.remarks {
            assert!(
                remark.lines.iter().all(|line| (1..=lines).contains(line)),
                "{remark:?}"
            );
            assert!(!remark.lines.is_empty(), "{remark:?}");
        }
        assert!(audit.text(100).ends_with('\n'));
        let figures = import(&named);
        assert!(
            figures
                .rows
                .iter()
                .all(|row| row.rates.iter().all(|rate| rate.is_finite()))
        );
    }
}

/// Several texts are read together: each remark points into its own.
fn survive_together(texts: &[String]) {
    let named: Vec<(String, String)> = texts
        .iter()
        .enumerate()
        .map(|(n, text)| (format!("run-{n}.txt"), text.clone()))
        .collect();
    for remark in audit(&named).remarks {
        let (_, text) = named.iter().find(|(name, _)| *name == remark.file).unwrap();
        let lines = count_lines(text);
        assert!(
            remark.lines.iter().all(|line| (1..=lines).contains(line)),
            "{remark:?}"
        );
        assert!(!remark.lines.is_empty(), "{remark:?}");
    }
}

/// Words that mean something to the reader.
const WORDS: [&str; 46] = [
    "Fortio 1.66.0 running at 10 queries per second, 2->2 procs, for 1s: http://h/",
    "Aggregated Function Time : count 20 avg 1e-05 +/- 0 min 0 max 1 sum 1",
    "Type     Name   # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s",
    "GET  /a   3 0(0.00%) |  7 1 9 4 | 1.00 0.00",
    "Running 1m test @ http://localhost:1/",
    "\n",
    " threads and ",
    "16",
    "400 connections",
    "Latency ",
    "11.14ms",
    "1.00s",
    "99.79%0.",
    "Requests/sec: ",
    "38071.96",
    "Socket errors: connect 0, timeout 9",
    "Concurrency Level: 5",
    "Complete requests: 8",
    "Connect: 0 1 2 3 3018",
    "100% 35 (longest request)",
    "Total: connections 5 requests 5 replies 5 test-duration 0.5 s",
    "Summary:",
    "Average: 0.5 secs",
    "http_reqs.....: 180 4.3/s",
    "finished in 1 sec, 70 millisec and 47 microsec, 5 req/s, 5 kbyte/s",
    "Throughput: 117036.86 [#/sec]",
    "./client -c50 -o2 -h10000 x",
    "wrk -c4 -t4 -d9s http://a/",
    "|",
    "|--|--|",
    "<table>",
    "<tr><td>",
    "</table>",
    "1st",
    "Ave",
    ",",
    "{",
    "}",
    "\"summary\":",
    "# ",
    "====",
    "```",
    "c4-t4",
    ": 20000",
    "A / B = 0.9",
    "-R",
];

proptest! {
    #[test]
    fn any_text(text in "\\PC{0,400}") {
        survive(&text);
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        survive(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn words_in_any_order(words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..120)) {
        survive(&words.concat());
        survive(&words.join("\n"));
    }

    #[test]
    fn outputs_that_were_cut_and_mixed(
        picks in prop::collection::vec((0..15_usize, 0..300_usize, 1..40_usize), 1..6),
        hits in prop::collection::vec((0..5_000_usize, any::<char>()), 0..12),
    ) {
        let files = large::OUTPUTS;
        let mut text = String::new();
        for (file, from, length) in picks {
            let (_, file) = files[file % files.len()];
            for line in file.lines().skip(from % 60).take(length) {
                text += line;
                text.push('\n');
            }
        }
        let half: String = text.lines().take(40).map(|line| format!("{line}\n")).collect();
        survive_together(&[half, text.clone()]);
        let mut chars: Vec<char> = text.chars().collect();
        for (at, c) in hits {
            if let Some(place) = chars.get_mut(at) {
                *place = c;
            }
        }
        survive(&chars.into_iter().collect::<String>());
    }
}

/// A quarter of a megabyte of each is read to its end: a text that is looked at again and again would keep this test from ever
/// ending.
// Slow: 52 texts of 256 KiB.
#[test]
fn large_texts_are_read_to_their_end() {
    for (name, text) in large::texts(1 << 18) {
        let lines = count_lines(&text);
        let audit = audit(&[("text.md".to_owned(), text)]);
        assert_eq!(audit.files.len(), 1, "{name}");
        for remark in &audit.remarks {
            let last = remark.lines.last();
            assert!(
                last.is_some_and(|last| (1..=lines).contains(last)),
                "{name}: {remark:?}"
            );
        }
    }
}
