//! Reading: a text of any kind becomes a [`Document`] of outputs, tables and command lines, each
//! with its line and the headings it stands under.

pub(crate) mod command;
pub(crate) mod json;
pub(crate) mod lines;
pub(crate) mod number;
pub(crate) mod prose;

mod heading;
mod label;

use crate::document::{Document, Output, Place};
use crate::provenance::is_loose;
use crate::tool::Tool;
use crate::{table, tool};
use command::Command;
use heading::Headings;
use label::{Label, is_quantity, is_sentence, label, prompt};
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
        ran: None,
        used: false,
        alone: false,
        after: None,
        json: json::Finder::new(text.len()),
        fence: 0,
        above: None,
        label: None,
        asked_here: Vec::new(),
        spoken: 0,
        announced: false,
    };
    let separator = table::separator_of(name);
    let mut at = 0;
    while at < lines.len() {
        at = reader.step(&lines, at, separator).max(at + 1);
    }
    let vegeta = |output: &Output| output.block.tool == Tool::Vegeta;
    if reader.document.outputs.iter().any(vegeta) {
        reader.document.targets.append(&mut reader.asked_here);
    }
    reader.document.complete();
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
    /// That line, as it stands.
    ran: Option<String>,
    /// It has had an output.
    used: bool,
    /// It had none in its own block.
    alone: bool,
    /// The line behind the last output under the same heading.
    after: Option<usize>,
    json: json::Finder,
    /// Where the last block of code began or ended.
    fence: usize,
    /// The label of the last output.
    above: Option<Arc<(String, usize)>>,
    /// The label above a block of code: it is that of every output in it.
    label: Option<Arc<(String, usize)>>,
    /// The last line that is a part of nothing larger.
    spoken: usize,
    /// It says that a picture below it is of results.
    announced: bool,
    /// Lines of what vegeta may have been given, that ask this machine.
    asked_here: Vec<usize>,
}

/// Of a table so many rows are read as sentences: one of results has none.
const NEAR_ROWS: usize = 30;

impl Reader {
    /// Reads what begins in a line; the index of the line behind it.
    fn step(&mut self, lines: &Lines<'_>, at: usize, separator: Option<char>) -> usize {
        let line = lines.get(at);
        if line.trim().is_empty() {
            return at + 1;
        }
        if !self.fenced
            && self.document.stated.len() < CLAIMS
            && let Some(requests) = prose::stated_requests(line)
        {
            self.document.stated.push((at + 1, requests));
        }
        if !self.fenced
            && self.document.lasting.len() < CLAIMS
            && let Some(seconds) = prose::stated_seconds(line)
        {
            self.document.lasting.push((at + 1, seconds));
        }
        if self.document.at_once.len() < CLAIMS
            && let Some(connections) = prose::stated_connections(line)
        {
            // `Connections: 256`, and a few lines below it `Pipelining: 10`.
            let deep = prose::stated_depth(line);
            let of = self.document.at_once.last_mut();
            let near = of.filter(|(above, _)| *above + NEAR > at);
            match (deep, near) {
                (Some(depth), Some((_, connections))) => *connections *= depth,
                _ => self.document.at_once.push((at + 1, connections)),
            }
        }
        if self.document.offered.len() < CLAIMS && prose::sends_at_a_rate(line) {
            self.document.offered.push(at + 1);
        }
        self.document.named.extend(prose::tools(line));
        if is_fence(line) {
            self.fenced = !self.fenced;
            self.label = None;
            self.fence = at;
            // A command line holds for all outputs of its block; one that has a block of its own, for
            // those of the blocks below it.
            if !self.fenced && !self.alone {
                self.alone = !self.used;
                if self.used {
                    self.command = None;
                }
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
        if let Some((table, next, loose)) = table::read(lines, at, self.fenced, separator) {
            if loose {
                self.document.read_loosely(at + 1, next);
            }
            match table {
                table::Read::Table(table) if self.document.tables.len() < TABLES => {
                    let mut place = self.place(lines, at);
                    if place.label.is_none() {
                        place.label = self.caption(lines, at);
                    }
                    let cells = table.rows.iter().flat_map(|row| &row.cells);
                    let commands = cells.filter_map(|cell| Command::find(&cell.text, cell.line));
                    self.document.commands.extend(commands);
                    for block in tool::script::of_table(&table) {
                        let mut place = place.clone();
                        if let Some(name) = &block.name {
                            place.label = Some(Arc::new((name.what.clone(), name.line)));
                        }
                        self.document.outputs.push(Output {
                            block,
                            place,
                            command: None,
                        });
                    }
                    let says = |i: &usize| prose::is_of_one_machine(lines.get(*i));
                    let said = (at..next.min(at + NEAR_ROWS)).find(says);
                    self.document.targets.extend(said.map(|i| i + 1));
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
            // `### ab -n 1000 http://…` is a heading and says how what stands below it was made.
            self.command(line, at);
            if let Some(requests) = prose::heads_requests(&without_markup(line)) {
                self.document.stated.push((at + 1, requests));
            }
            if prose::is_of_one_machine(line) {
                self.document.targets.push(at + 1);
            }
            return next;
        }
        self.announced = prose::is_picture(line)
            && prose::heads_results(&[&without_markup(lines.get(self.spoken))]);
        self.line(line, at);
        self.spoken = at;
        self.wrapped(lines, at);
        at + 1
    }

    /// A sentence may run on in the next line: `client and server were the` / `same machine`.
    fn wrapped(&mut self, lines: &Lines<'_>, at: usize) {
        let (line, next) = (lines.get(at), lines.get(at + 1).trim_start());
        let runs_on = !self.fenced
            && next.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '(' | '`'))
            && !line.trim_end().ends_with(['.', ':', '!', '?'])
            && is_wordy(line);
        let alone = || prose::is_of_one_machine(line) || prose::is_of_one_machine(next);
        if runs_on && !alone() && prose::is_of_one_machine(&format!("{} {next}", line.trim_end())) {
            self.document.targets.push(at + 1);
        }
    }

    fn outputs(&mut self, blocks: Vec<tool::Block>, lines: &Lines<'_>, at: usize, next: usize) {
        if blocks.is_empty() {
            // Lines that a tool has printed are no labels of what follows.
            self.since = next;
            return;
        }
        let mut place = self.place(lines, at);
        if self.fenced {
            let above = |label: &&Arc<(String, usize)>| label.1 <= self.fence;
            self.label = place
                .label
                .as_ref()
                .filter(above)
                .cloned()
                .or(self.label.take());
            if place.label.is_none() {
                place.label = self.label.clone();
            }
        }
        // What follows an output line by line is of the same as that.
        let again = |line: &str| self.ran.as_deref() == Some(line);
        let follows = self.after.is_some_and(|after| {
            let between = (after..at).map(|i| lines.get(i).trim());
            let mut between = between.filter(|line| !line.is_empty());
            between.all(|line| is_quantity(line) || again(line))
        });
        if place.label.is_none() && place.sentence.is_none() && follows {
            place.label.clone_from(&self.above);
        }
        self.above.clone_from(&place.label);
        let command = self
            .command
            .map(|index| self.document.commands[index].clone());
        for mut block in blocks {
            if block.url.is_none() {
                block.url = of_errors(lines, block.first - 1, next);
            }
            if is_loose(&block) {
                self.document.read_loosely(block.first, block.last);
            }
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
        self.document.linked |= prose::links_to_results(line) || is_bare_rate(line);
        self.document.sampled |= prose::names_a_harness(line);
        let one_machine = || prose::is_of_one_machine(line) || prose::is_of_a_desktop(line);
        if prose::loads_this_machine(line) || !self.fenced && one_machine() {
            self.document.targets.push(at + 1);
        } else if prose::asks_this_machine(line) && self.asked_here.len() < CLAIMS {
            self.asked_here.push(at + 1);
        }
        if self.command(line, at) {
        } else if let Some(failure) = prose::failure(line, at + 1) {
            self.document.failures.push(failure);
        } else if prose::is_chart(line) {
            self.document.pictures.push(at + 1);
            let headings = self.headings.above();
            let heading = headings.last().map(|heading| heading.0.to_lowercase());
            let heading = heading.as_deref().unwrap_or("");
            let results = heading.contains("result");
            let shown = (results || heading.contains("benchmark") || self.below_a_test())
                && prose::is_measured(line);
            self.document.charted |= shown || results && prose::is_of_results(line);
        } else if prose::is_picture(line) && (self.below_results() || self.announced) {
            self.document.pictures.push(at + 1);
            self.document.charted = true;
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

    /// Do the headings above say that results of a load test stand here?
    fn below_results(&self) -> bool {
        let headings = self.headings.above();
        let headings: Vec<&str> = headings.iter().map(|heading| heading.0.as_str()).collect();
        prose::heads_results(&headings)
    }

    /// Does a heading above name a load test?
    fn below_a_test(&self) -> bool {
        let headings = self.headings.above();
        headings
            .iter()
            .any(|heading| prose::names_a_load_test(&heading.0.to_lowercase()))
    }

    /// Is a line a command line? It is that of the outputs below.
    fn command(&mut self, line: &str, at: usize) -> bool {
        let command = Command::find(line, at + 1);
        let found = command.is_some();
        if let Some(command) = command {
            self.ran = Some(line.trim().to_owned());
            self.command = Some(self.document.commands.len());
            self.used = false;
            self.alone = false;
            self.document.commands.push(command);
        }
        found
    }

    /// Where something stands that begins in a line.
    fn place(&self, lines: &Lines<'_>, at: usize) -> Place {
        // What stands in another block of code names nothing here.
        let mut own = self.fenced;
        let mut other = false;
        let above = (self.since..at).rev().filter(|i| {
            let line = lines.get(*i);
            if is_fence(line) {
                other = !own && !other;
                own = false;
                return false;
            }
            !other && !line.is_empty()
        });
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
            command: self.command.map(|index| self.document.commands[index].line),
            sentence,
        }
    }

    /// A longer line directly above a table that ends with a colon.
    fn caption(&self, lines: &Lines<'_>, at: usize) -> Option<Arc<(String, usize)>> {
        let mut above = (self.since..at).rev();
        let line = above.find(|i| !lines.get(*i).trim().is_empty())?;
        let text = without_markup(lines.get(line));
        let text = text.strip_suffix(':')?;
        // `Results:` above each of several tables tells none of them apart.
        let names = text.chars().count() <= CAPTION && !crate::names::is_generic(text);
        names.then(|| Arc::new((text.to_owned(), line + 1)))
    }

    /// A larger part of the text ends before a line: what stands above it is no label of what
    /// follows.
    fn cut(&mut self, next: usize) {
        self.since = next;
        self.command = None;
    }
}

/// The address in the errors that tools in Go print: `Get "http://localhost:8000/": dial tcp …`.
fn of_errors(lines: &Lines<'_>, first: usize, next: usize) -> Option<tool::At<String>> {
    (first..next.min(first + ERRORS)).find_map(|i| {
        let line = lines.get(i);
        let at = line.find("://")?;
        let before = line[..at].trim_end_matches(|c: char| c.is_ascii_lowercase());
        let method = before.strip_suffix('"').unwrap_or(before).trim_end();
        let known = ["Get", "Post", "Put", "Head", "Patch", "Delete"];
        known.iter().any(|it| method.ends_with(it)).then_some(())?;
        let url = line[before.len()..].split(['"', ' ']).next()?;
        let url = url.trim_end_matches(':').to_owned();
        Some(tool::At {
            what: url,
            line: i + 1,
        })
    })
}

/// Is a line as long as those of a paragraph are?
fn is_wordy(line: &str) -> bool {
    line.split_whitespace().take(5).count() == 5
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

/// Is a line a rate and nothing else: `16.41K/s`?
fn is_bare_rate(line: &str) -> bool {
    let line = line.trim();
    let digits = line.bytes().filter(u8::is_ascii_digit).count();
    digits >= 3 && line.len() < 12 && line.to_ascii_lowercase().ends_with("k/s")
}

/// Is an output one in a terminal: does a prompt stand above it?
fn is_prompted(lines: &Lines<'_>, at: usize) -> bool {
    (at.saturating_sub(ABOVE)..at).any(|i| prompt(lines.get(i)).is_some())
}

/// More of what is not understood than this is not listed.
const UNREAD: usize = 100;
/// More tables than this are data, not results: the others are left out.
const TABLES: usize = 2_000;
/// More ratios than this are data, not claims.
const CLAIMS: usize = 64;
/// Lines of settings stand so close together.
const NEAR: usize = 6;
/// The errors of an output stand within so many lines.
const ERRORS: usize = 200;
/// A label stands this near above what it is of, in lines with something in them.
const ABOVE: usize = 8;
/// Nor is the line above a table, which may say more.
const CAPTION: usize = 160;

#[cfg(test)]
mod tests;
