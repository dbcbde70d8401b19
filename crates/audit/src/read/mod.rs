//! Reading: a text of any kind becomes a [`Document`] of outputs, tables and command lines, each
//! with its line and the headings it stands under.

pub(crate) mod command;
pub(crate) mod json;
pub(crate) mod lines;
pub(crate) mod number;
pub(crate) mod prose;

mod heading;

use crate::document::{Document, Output, Place};
use crate::{table, tool};
use command::Command;
use heading::Headings;
use lines::{Lines, is_fence, without_markup};
use std::sync::Arc;

/// Reads a text under its name; one that ends in `.csv` or `.tsv` is a table as a whole.
pub fn read(name: &str, text: &str) -> Document {
    let lines = Lines::new(text);
    let mut reader = Reader {
        document: Document::new(name),
        headings: Headings::default(),
        fenced: false,
        since: 0,
        command: None,
        json: json::Finder::new(text.len()),
    };
    let separator = table::separator_of(name);
    let mut at = 0;
    while at < lines.len() {
        at = reader.step(&lines, at, separator).max(at + 1);
    }
    reader.document
}

struct Reader {
    document: Document,
    headings: Headings,
    fenced: bool,
    /// The line behind the last output, table or heading.
    since: usize,
    /// The last command line since then.
    command: Option<usize>,
    json: json::Finder,
}

impl Reader {
    /// Reads what begins in a line; the index of the line behind it.
    fn step(&mut self, lines: &Lines<'_>, at: usize, separator: Option<char>) -> usize {
        let line = lines.get(at);
        if line.trim().is_empty() {
            return at + 1;
        }
        if is_fence(line) {
            self.fenced = !self.fenced;
            return at + 1;
        }
        if let Some(found) = tool::read(lines, at) {
            self.outputs(found.blocks, lines, at, found.next);
            return found.next;
        }
        if let Some((value, next)) = self.json.object(lines, at) {
            let block = tool::read_json(lines, at, next, &value);
            self.outputs(block.into_iter().collect(), lines, at, next);
            return next;
        }
        if let Some((table, next)) = table::read(lines, at, self.fenced, separator) {
            if let Some(table) = table.filter(|_| self.document.tables.len() < TABLES) {
                let place = self.place(lines, at);
                self.document.tables.push((table, place));
            }
            self.cut(next);
            return next;
        }
        if !self.fenced
            && let Some(next) = self.headings.read(lines, at)
        {
            self.cut(next);
            return next;
        }
        self.line(line, at);
        at + 1
    }

    fn outputs(&mut self, blocks: Vec<tool::Block>, lines: &Lines<'_>, at: usize, next: usize) {
        if blocks.is_empty() {
            return;
        }
        let place = self.place(lines, at);
        // Directly above: no other output, heading or table between the two.
        let command = self
            .command
            .map(|index| self.document.commands[index].clone());
        for block in blocks {
            self.document.outputs.push(Output {
                block,
                place: place.clone(),
                command: command.clone(),
            });
        }
        self.cut(next);
    }

    /// A line that is a part of nothing larger.
    fn line(&mut self, line: &str, at: usize) {
        if let Some(command) = Command::find(line, at + 1) {
            self.command = Some(self.document.commands.len());
            self.document.commands.push(command);
        } else if prose::is_chart(line) {
            self.document.pictures.push(at + 1);
        } else if let Some(claim) = prose::claim(line, at + 1) {
            if self.document.claims.len() < CLAIMS {
                self.document.claims.push(claim);
            }
        } else if self.document.repetitions.is_none() {
            self.document.repetitions = prose::repetitions(line);
        }
    }

    /// Where something stands that begins in a line.
    fn place(&self, lines: &Lines<'_>, at: usize) -> Place {
        let above = (self.since..at).rev().filter(|i| !lines.get(*i).is_empty());
        let label = above.take(ABOVE).find_map(|i| match label(lines.get(i)) {
            Label::Generic => None,
            Label::Other => Some(None),
            Label::Named(text) => Some(Some(Arc::new((text, i + 1)))),
        });
        Place {
            headings: self.headings.above(),
            label: label.flatten(),
        }
    }

    /// A larger part of the text ends before a line: what stands above it is no label of what
    /// follows.
    fn cut(&mut self, next: usize) {
        self.since = next;
        self.command = None;
    }
}

/// More tables than this are data, not results: the others are left out.
const TABLES: usize = 2_000;
/// More ratios than this are data, not claims.
const CLAIMS: usize = 64;
/// A label stands this near above what it is of, in lines with something in them.
const ABOVE: usize = 8;
/// A label is no sentence: it has no more characters than this.
const LABEL: usize = 60;

/// What a line may be to what follows it.
enum Label {
    /// It names it.
    Named(String),
    /// It only says that something follows.
    Generic,
    /// It is something else.
    Other,
}

fn label(line: &str) -> Label {
    if is_fence(line) || Command::find(line, 0).is_some() {
        return Label::Generic;
    }
    let plain = without_markup(line);
    let text = plain.trim_end_matches(':').trim();
    let text = text.strip_prefix("$ ").unwrap_or(text);
    let first = text.split_whitespace().next().unwrap_or("");
    let says = ["result", "results", "output", "server", "client"];
    if says.iter().any(|word| text.eq_ignore_ascii_case(word))
        || matches!(first, "" | "sh" | "bash")
    {
        return Label::Generic;
    }
    if text.ends_with(['.', ',', ';', '?', '!']) || text.chars().count() > LABEL {
        return Label::Other;
    }
    Label::Named(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIXED: &str = "Echo\n====\n\ntest command\n------------\n\n::\n\n   ./client -c5 -o2 -h10 far\n\n\
        C++ epoll\n---------\n\nserver::\n\n   ./server_epoll\n\nresult::\n\n   \
        Throughput: 100.50 [#/sec]\n   Throughput: 101.50 [#/sec]\n\nwith forking.\n\nserver::\n\n   \
        ./server_epoll -f2\n\nresult::\n\n   $ sh bench.sh\n   Throughput: 200.50 [#/sec]\n   \
        $ sh bench.sh\n   Throughput: 201.50 [#/sec]\n";

    #[test]
    fn outputs_know_where_they_stand() {
        let document = read("x", MIXED);
        let seen: Vec<_> = document
            .outputs
            .iter()
            .map(|output| {
                let label = output.place.label.as_ref().map(|label| label.0.as_str());
                (
                    output.block.first,
                    output.place.headings.last().unwrap().0.as_str(),
                    label,
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                (20, "C++ epoll", Some("./server_epoll")),
                (21, "C++ epoll", Some("./server_epoll")),
                (32, "C++ epoll", Some("./server_epoll -f2")),
                (34, "C++ epoll", Some("./server_epoll -f2")),
            ]
        );
        assert_eq!(document.commands.len(), 1);
        assert_eq!(document.commands[0].requests(), Some(100));
    }

    #[test]
    fn a_command_belongs_to_the_output_below_it() {
        let run = "Running 1s test @ http://a/\n  1 threads and 1 connections\nRequests/sec: 5.00\nTransfer/sec: 1KB\n";
        let text = format!("# A\n```\n$ wrk -c1 http://a/\n{run}{run}```\n");
        let document = read("x", &text);
        assert_eq!(document.outputs.len(), 2);
        assert_eq!(document.outputs[0].command.as_ref().unwrap().line, 3);
        assert_eq!(document.outputs[1].command, None);
        assert_eq!(document.outputs[1].place.label, None);
    }
}
