//! Readers of load generators' outputs: one file for each, all of them into one shape, a [`Block`].

mod ab;
mod autocannon;
mod bombardier;
mod echo_client;
mod fortio;
mod h2load;
mod hey;
mod httperf;
mod k6;
mod listed;
mod locust;
mod object;
mod oha;
mod samples;
mod vegeta;
mod weighttp;
mod wrk;

use crate::model::{At, Block};
use crate::text::lines::{Lines, is_fence};
use object::Object;
use serde_json::Value;

/// A value found in the line of this index.
fn at<T>(index: usize, what: T) -> Option<At<T>> {
    Some(At {
        what,
        line: index + 1,
    })
}

/// Blocks, and the index of the first line behind them.
pub(crate) struct FoundBlocks {
    pub blocks: Vec<Block>,
    pub next: usize,
}

type Reader = fn(&Lines<'_>, usize) -> Option<FoundBlocks>;

/// The output that begins in this line, if one does.
pub(crate) fn read(lines: &Lines<'_>, at: usize) -> Option<FoundBlocks> {
    let line = lines.get(at).trim();
    // Nearly every line of a text is decided by its first letter.
    let readers: &[Reader] = match line.chars().next()? {
        'R' => &[
            autocannon::read,
            wrk::read,
            ab::read,
            vegeta::read,
            listed::read,
        ],
        '0'..='9' => &[wrk::read],
        'T' => &[
            wrk::read,
            ab::read,
            echo_client::read,
            httperf::read,
            listed::read,
            samples::read,
            locust::read,
            hey::read,
        ],
        'C' | 'P' => &[ab::read],
        'L' => &[wrk::read, listed::read, samples::read],
        'M' => &[httperf::read],
        'N' => &[locust::read],
        'S' => &[
            ab::read,
            listed::read,
            hey::read,
            wrk::read,
            bombardier::read,
            fortio::read,
            autocannon::read,
        ],
        'A' | 'F' => &[fortio::read],
        '-' | '>' | '{' => &[listed::read],
        'B' => &[bombardier::read, listed::read],
        '#' => &[fortio::read],
        '┌' | '│' => &[autocannon::read],
        '"' => &[samples::read],
        'a'..='z' => &[weighttp::read, h2load::read, k6::read, samples::read],
        _ => &[],
    };
    readers.iter().find_map(|read| read(lines, at))
}

/// The outputs that a JSON object is.
pub(crate) fn read_json(
    lines: &Lines<'_>,
    at: usize,
    next: usize,
    value: &Value,
) -> Option<FoundBlocks> {
    // Several results of one tool: scripts keep them in a list.
    if let Value::Array(items) = value {
        let mut blocks = Vec::new();
        let mut from = at;
        for item in items.iter().take(LISTED) {
            from = json_item(lines, from + 1, next, item).unwrap_or(from);
            let Some(found) = read_json(lines, from, next, item) else {
                continue;
            };
            let title = ["title", "name"]
                .iter()
                .find_map(|key| item.get(key)?.as_str());
            for mut block in found.blocks {
                block.name = block.name.or_else(|| self::at(from, title?.to_owned()));
                blocks.push(block);
            }
        }
        return (!blocks.is_empty()).then_some(FoundBlocks { blocks, next });
    }
    let json = Object {
        lines,
        start: at,
        next,
        value,
    };
    let readers = [
        oha::read_json,
        weighttp::read_json,
        autocannon::read_json,
        vegeta::read_json,
        fortio::read_json,
        bombardier::read_json,
        k6::read_json,
    ];
    let mut block = readers.iter().find_map(|read| read(&json))?;
    block.last = next;
    block.says_something().then(|| FoundBlocks {
        blocks: vec![block],
        next,
    })
}

/// More results than this in one list are data of a whole suite: the others are left out.
pub(crate) const LISTED: usize = 200;

/// The line in which an object of a list begins: the next one with its first key.
fn json_item(lines: &Lines<'_>, from: usize, next: usize, item: &Value) -> Option<usize> {
    let key = item.as_object()?.keys().next()?;
    let quoted = format!("\"{key}\"");
    (from..next).find(|i| lines.get(*i).contains(&quoted))
}

/// Role of a line for the reader of a tool's output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineRole {
    /// A part of it.
    Taken,
    /// No part of it that is known.
    Unknown,
    /// The last of it.
    Last,
    /// The output ended before this line.
    Over,
}

/// An output may contain this many unknown lines in a row: printed by a script, or by a later version.
const PATIENCE: usize = 4;

/// Gives the lines from `at` on to a reader until the output ends; the index of its last line.
fn walk(lines: &Lines<'_>, at: usize, mut take: impl FnMut(usize, &str) -> LineRole) -> usize {
    let mut last = at;
    let mut unknown = 0;
    for index in at..lines.len() {
        let line = lines.get(index);
        // Behind a heading something else begins; one `#` may be of a tool.
        let heading = line.starts_with("##") && line.trim_start_matches('#').starts_with(' ');
        if is_fence(line) || heading && index > at {
            break;
        }
        if line.is_empty() {
            continue;
        }
        let step = take(index, line.trim());
        match step {
            LineRole::Taken | LineRole::Last => {
                last = index;
                unknown = 0;
            }
            LineRole::Unknown => unknown += 1,
            LineRole::Over => break,
        }
        if step == LineRole::Last || unknown > PATIENCE {
            break;
        }
    }
    last
}

/// The finished block and what follows it. One with nothing in it is no block; its lines are done
/// with all the same, so that no line is read more than a few times.
fn finish(mut block: Block, last: usize) -> Option<FoundBlocks> {
    block.last = last + 1;
    Some(FoundBlocks {
        blocks: Some(block)
            .filter(Block::says_something)
            .into_iter()
            .collect(),
        next: last + 1,
    })
}

/// `Key: value` without the spaces around both.
fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    Some((key.trim(), value.trim()))
}

#[cfg(test)]
fn one(text: &str) -> Block {
    let lines = Lines::new(text);
    let found = (0..lines.len())
        .filter_map(|at| read(&lines, at))
        .find(|found| !found.blocks.is_empty())
        .expect("an output");
    let [block] = found.blocks.try_into().expect("one block");
    block
}
