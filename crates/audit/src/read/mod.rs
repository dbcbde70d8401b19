//! Reading: a text of any kind becomes a [`Document`] of outputs, tables and command lines, each
//! with its line and the headings it stands under.

pub(crate) mod command;
pub(crate) mod json;
pub(crate) mod lines;
pub(crate) mod number;
pub(crate) mod prose;

mod heading;

use crate::document::{Document, Output, Place};
use crate::tool::Tool;
use crate::{table, tool};
use command::Command;
use heading::Headings;
use lines::{Lines, is_fence, without_markup};
use serde_json::Value;
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
        used: false,
        after: None,
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
    /// It has had an output.
    used: bool,
    /// The line behind the last output under the same heading.
    after: Option<usize>,
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
            // A command line holds for all outputs of its block.
            if !self.fenced && self.used {
                self.command = None;
            }
            return at + 1;
        }
        if let Some(found) = tool::read(lines, at) {
            self.outputs(found.blocks, lines, at, found.next);
            return found.next;
        }
        if let Some((value, next)) = self.json.object(lines, at) {
            match tool::read_json(lines, at, next, &value) {
                Some(found) => {
                    self.document.suite |= found.suite;
                    self.outputs(found.blocks, lines, at, next);
                }
                None if speaks_of_rates(&value) => {
                    self.unread(at, "JSON with figures in a form that prony cannot read");
                }
                None => {}
            }
            return next;
        }
        if let Some((table, next)) = table::read(lines, at, self.fenced, separator) {
            match table {
                table::Read::Table(table) if self.document.tables.len() < TABLES => {
                    let place = self.place(lines, at);
                    self.document.tables.push((table, place));
                }
                table::Read::Table(_) => self.unread(at, "one of too many tables"),
                table::Read::TooLarge(cells) => {
                    self.unread(
                        at,
                        &format!("a table of {cells} cells, too large to be results"),
                    );
                }
                table::Read::None => {}
            }
            self.cut(next);
            return next;
        }
        if !self.fenced
            && let Some(next) = self.headings.read(lines, at)
        {
            self.after = None;
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
        let command = self
            .command
            .map(|index| self.document.commands[index].clone());
        for block in blocks {
            let mut place = place.clone();
            if let Some(name) = &block.name {
                place.label = Some(Arc::new((name.what.clone(), name.line)));
            }
            // `wrk -R` of a tool that is called so in one text is wrk2 in another.
            let family = |tool| if tool == Tool::Wrk2 { Tool::Wrk } else { tool };
            let own = command
                .clone()
                .filter(|c| family(c.tool) == family(block.tool));
            self.document.outputs.push(Output {
                block,
                place,
                command: own,
            });
        }
        self.since = next;
        self.after = Some(next);
        self.used = true;
        // Outside of a block of code nothing says how far a command line reaches.
        if !self.fenced && !lines.get(at).starts_with([' ', '\t']) && !is_prompted(lines, at) {
            self.command = None;
        }
    }

    fn unread(&mut self, at: usize, what: &str) {
        if self.document.unread.len() < UNREAD {
            self.document.unread.push((at + 1, what.to_owned()));
        }
    }

    /// A line that is a part of nothing larger.
    fn line(&mut self, line: &str, at: usize) {
        if let Some(command) = Command::find(line, at + 1) {
            self.command = Some(self.document.commands.len());
            self.used = false;
            self.document.commands.push(command);
        } else if let Some(failure) = prose::failure(line, at + 1) {
            self.document.failures.push(failure);
        } else if prose::is_chart(line) {
            self.document.pictures.push(at + 1);
        } else if let Some(claim) = prose::claim(line, at + 1) {
            if self.document.claims.len() < CLAIMS {
                self.document.claims.push(claim);
            }
        } else if self.document.repetitions.is_none() && prose::repetitions(line).is_some() {
            self.document.repetitions = prose::repetitions(line);
        } else if is_rate(line) {
            self.unread(at, "a rate in a sentence or a list");
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
        let label: Option<Arc<(String, usize)>> = label.flatten();
        // A sentence between this and the output before may say that it is of something else.
        let sentence = self.after.filter(|_| label.is_none()).and_then(|after| {
            let mut between = (after..at).rev();
            between.find(|i| is_sentence(lines.get(*i))).map(|i| i + 1)
        });
        Place {
            headings: self.headings.above(),
            label,
            sentence,
        }
    }

    /// A larger part of the text ends before a line: what stands above it is no label of what
    /// follows.
    fn cut(&mut self, next: usize) {
        self.since = next;
        self.command = None;
    }
}

/// Does a line say something: is it neither a command, nor a mark, nor a name?
fn is_sentence(line: &str) -> bool {
    let line = line.trim();
    line.split_whitespace().count() >= 3 && matches!(label(line), Label::Other)
}

/// Does JSON have keys of rates or response times?
fn speaks_of_rates(value: &Value) -> bool {
    const KEYS: [&str; 9] = [
        "rps",
        "qps",
        "requests_per",
        "requestsper",
        "req_per",
        "throughput",
        "latency",
        "latencies",
        "p99",
    ];
    let mut todo = vec![value];
    for _ in 0..1_000 {
        match todo.pop() {
            Some(Value::Object(map)) => {
                for (key, value) in map {
                    let key = key.to_lowercase();
                    if KEYS.iter().any(|word| key.contains(word)) {
                        return true;
                    }
                    todo.push(value);
                }
            }
            Some(Value::Array(items)) => todo.extend(items.iter().take(4)),
            Some(_) => {}
            None => break,
        }
    }
    false
}

/// Does a line give a rate: `Fast: 21287 req/sec`?
fn is_rate(line: &str) -> bool {
    let digits = line.bytes().filter(u8::is_ascii_digit).count();
    digits >= 3 && line.len() < 400 && crate::figures::rate_unit(line).is_some()
}

/// Is an output one in a terminal: does a prompt stand above it?
fn is_prompted(lines: &Lines<'_>, at: usize) -> bool {
    (at.saturating_sub(ABOVE)..at).any(|i| prompt(lines.get(i)).is_some())
}

/// What stands behind a shell's prompt.
fn prompt(line: &str) -> Option<&str> {
    let line = line.trim_start();
    for mark in ["$ ", "# ", "% ", "> ", "➜ ", "❯ ", "λ "] {
        let Some((before, rest)) = line.split_once(mark) else {
            continue;
        };
        let before = before.trim();
        // `user@host:~/x`, `[root@host ~]`, `PS C:\>`, `~/x`, or nothing.
        let known = before.is_empty() && !matches!(mark, "# " | "> " | "% ")
            || before.contains('@') && before.split_whitespace().count() <= 3
            || before.starts_with("PS ")
            || before.starts_with(['~', '['])
            || before.len() == 2 && before.ends_with(':')
            || before.get(1..3) == Some(":\\");
        if known {
            return Some(rest.trim_start());
        }
    }
    // A prompt that waits: `user@host:~$`
    let waits = line.ends_with(['$', '#']) && line.contains('@') && !line.contains(' ');
    waits.then_some("")
}

/// More of what is not understood than this is not listed.
const UNREAD: usize = 100;
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
    // A prompt with a command that is no server's names nothing.
    let text = match prompt(line) {
        Some(rest) if rest.starts_with("./") => rest,
        Some(_) if !line.trim_start().starts_with("$ ") => return Label::Generic,
        Some(rest) => rest,
        None => text,
    };
    let first = text.split_whitespace().next().unwrap_or("");
    let says = ["result", "results", "output", "server", "client"];
    if says.iter().any(|word| text.eq_ignore_ascii_case(word))
        || matches!(
            first,
            "" | "sh" | "bash" | "cd" | "curl" | "time" | "sudo" | "ls" | "cat"
        )
        || is_generic_label(text)
    {
        return Label::Generic;
    }
    if text.ends_with(['.', ',', ';', '?', '!']) || text.chars().count() > LABEL {
        return Label::Other;
    }
    Label::Named(text.to_owned())
}

/// Lines that tools and shells print, and that name nothing.
fn is_generic_label(text: &str) -> bool {
    const BEGINNINGS: [&str; 9] = [
        "real ",
        "user ",
        "sys ",
        "Starting",
        "Initialised",
        "Initialized",
        "Warming",
        "Last login",
        "Benchmarking ",
    ];
    BEGINNINGS
        .iter()
        .any(|beginning| text.starts_with(beginning))
        || text.contains("://")
        || text.chars().all(|c| !c.is_alphabetic())
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
        // It holds for all outputs of its block, and for none behind that.
        assert_eq!(document.outputs[1].command.as_ref().unwrap().line, 3);
        assert_eq!(document.outputs[1].place.label, None);
        let document = read(
            "x",
            &format!("{text}\nNow with a cache, and nothing else.\n\n```\n{run}```\n"),
        );
        assert_eq!(
            (
                document.outputs[2].command.is_some(),
                document.outputs[2].place.sentence
            ),
            (false, Some(14))
        );
    }

    #[test]
    fn what_is_not_understood_is_kept() {
        let document = read("x", "Slow: 2200 req/sec\nFast: 21287 req/sec\nno figures\n");
        let lines: Vec<usize> = document.unread.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [1, 2]);
        let document = read("x.json", "{\"rps\": 12000, \"mine\": true}\n");
        assert_eq!(document.unread.len(), 1);
    }

    #[test]
    fn prompts_name_nothing() {
        for line in [
            "me@box:~/wrk$ sh run.sh",
            "[root@box ~]# wrk",
            "PS C:\\x> wrk",
            "me@box:~$",
        ] {
            assert!(matches!(label(line), Label::Generic), "{line}");
        }
        assert!(matches!(label("nginx"), Label::Named(_)));
    }
}
