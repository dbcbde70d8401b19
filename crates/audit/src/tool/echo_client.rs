//! The client of the published benchmark of TCP echo servers: a line for each run.

use super::{FoundBlocks, at};
use crate::model::{Block, Tool};
use crate::text::lines::Lines;
use crate::text::number::count;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<FoundBlocks> {
    throughput(lines.get(start))?;
    let mut blocks = Vec::new();
    let mut next = start;
    // Runs of one server follow each other, with the prompts of a shell between them at most.
    for i in start..lines.len() {
        let line = lines.get(i).trim();
        if let Some(rate) = throughput(line) {
            let mut block = Block::new(Tool::EchoClient, i);
            match count(rate) {
                Some(rate) => block.rate = at(i, rate),
                None => block.odd(i, rate),
            }
            blocks.push(block);
            next = i + 1;
        } else if !line.starts_with("$ ") {
            break;
        }
    }
    Some(FoundBlocks { blocks, next })
}

/// `Throughput: 117036.86 [#/sec]`
fn throughput(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix("Throughput:")?;
    Some(rest.trim().strip_suffix("[#/sec]")?.trim())
}
