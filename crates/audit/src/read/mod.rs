//! Reading: a text of any kind becomes a [`Document`] of outputs, tables and command lines, each
//! with its line and the headings it stands under.

mod heading;
mod label;
mod ratio;
mod spaced;

use crate::command::Command;
use crate::model::Tool;
use crate::model::{At, Block, Document, OutputContext, ToolOutput};
use crate::quantity::rate_unit;
use crate::text::json::Finder;
use crate::text::lines::{Lines, is_fence, without_markup};
use crate::words::Words;
use crate::{table, tool};
use heading::Headings;
use label::{Label, is_quantity, is_sentence, label, prompt};
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
        json: Finder::new(text.len()),
        fence: 0,
        above: None,
        label: None,
    };
    let separator = table::separator_of(name);
    let mut at = 0;
    while at < lines.len() {
        at = reader.step(&lines, at, separator).max(at + 1);
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
    /// Text of that command line.
    ran: Option<String>,
    /// The command line has had an output.
    used: bool,
    /// The command line had no output in its own block.
    alone: bool,
    /// The line behind the last output under the same heading.
    after: Option<usize>,
    json: Finder,
    /// Where the last block of code began or ended.
    fence: usize,
    /// The label of the last output.
    above: Option<Arc<(String, usize)>>,
    /// The label above a block of code: it is that of every output in it.
    label: Option<Arc<(String, usize)>>,
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
                    self.outputs(found.blocks, lines, at, next);
                    let results = value.as_array().map_or(0, Vec::len);
                    if results > tool::LISTED {
                        self.unread(
                            at,
                            &format!(
                                "{results} results in a list, but the first {}",
                                tool::LISTED
                            ),
                        );
                    }
                }
                None if speaks_of_rates(&value) => {
                    self.unread(at, "JSON with figures in a form that prony cannot read");
                }
                None => {}
            }
            return next;
        }
        let headed = self.is_headed(lines, at);
        if let Some((table, next)) = table::read(lines, at, self.fenced, headed, separator) {
            match table {
                table::Read::Table(table) if self.document.tables.len() < TABLES => {
                    let mut place = self.place(lines, at);
                    if place.label.is_none() {
                        place.label = self.caption(lines, at);
                    }
                    let cells = table.rows.iter().flat_map(|row| &row.cells);
                    let commands = cells.filter_map(|cell| Command::find(&cell.text, cell.line));
                    self.document.commands.extend(commands);
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
            return next;
        }
        if let Some(next) = spaced::table(lines, at) {
            self.unread(at, "a table whose columns only spaces set apart");
            return next;
        }
        self.line(line, at);
        at + 1
    }

    fn outputs(&mut self, blocks: Vec<Block>, lines: &Lines<'_>, at: usize, next: usize) {
        if blocks.is_empty() {
            // Lines that a tool has printed are no labels of what follows.
            self.since = next;
            if let Some(rate) = (at..next).find(|i| is_rate(lines.get(*i))) {
                self.unread(rate, "a rate of a tool that prony does not know");
            }
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
            let mut place = place.clone();
            if let Some(name) = &block.name {
                place.label = Some(Arc::new((name.what.clone(), name.line)));
            }
            // `wrk -R` of a tool that is called so in one text is wrk2 in another.
            let family = |tool| if tool == Tool::Wrk2 { Tool::Wrk } else { tool };
            let own = command
                .clone()
                .filter(|c| family(c.tool) == family(block.tool));
            self.document.outputs.push(ToolOutput {
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
        if self.command(line, at) {
        } else if let Some(ratio) = ratio::read(line, at + 1) {
            if self.document.ratios.len() < RATIOS {
                self.document.ratios.push(ratio);
            }
        } else if let Some(n) = repetitions(line) {
            self.document.repetitions.get_or_insert(n);
        } else if is_rate(line) {
            self.unread(at, "a rate in a line that prony does not read");
        }
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
    fn place(&self, lines: &Lines<'_>, at: usize) -> OutputContext {
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
        OutputContext {
            headings: self.headings.above(),
            label,
            command: self.command.map(|index| self.document.commands[index].line),
            sentence,
        }
    }

    /// Does something name what stands in a line: a heading, or a line above it that ends with a colon?
    fn is_headed(&self, lines: &Lines<'_>, at: usize) -> bool {
        let mut above = (self.since..at).rev();
        let line = above.find(|i| !lines.get(*i).trim().is_empty());
        !self.headings.is_empty()
            || line.is_some_and(|i| without_markup(lines.get(i)).ends_with(':'))
    }

    /// A longer line directly above a table that ends with a colon.
    fn caption(&self, lines: &Lines<'_>, at: usize) -> Option<Arc<(String, usize)>> {
        let mut above = (self.since..at).rev();
        let line = above.find(|i| !lines.get(*i).trim().is_empty())?;
        let text = without_markup(lines.get(line));
        let text = text.strip_suffix(':')?;
        // `Results:` above each of several tables tells none of them apart.
        let names = text.chars().count() <= CAPTION && !crate::words::is_generic(text);
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
fn of_errors(lines: &Lines<'_>, first: usize, next: usize) -> Option<At<String>> {
    (first..next.min(first + ERRORS)).find_map(|i| {
        let line = lines.get(i);
        let at = line.find("://")?;
        let before = line[..at].trim_end_matches(|c: char| c.is_ascii_lowercase());
        let method = before.strip_suffix('"').unwrap_or(before).trim_end();
        let known = ["Get", "Post", "Put", "Head", "Patch", "Delete"];
        known.iter().any(|it| method.ends_with(it)).then_some(())?;
        let url = line[before.len()..].split(['"', ' ']).next()?;
        let url = url.trim_end_matches(':').to_owned();
        Some(At {
            what: url,
            line: i + 1,
        })
    })
}

/// Does JSON have keys of rates or response times?
fn speaks_of_rates(value: &Value) -> bool {
    const KEYS: Words =
        Words("rps, qps, requests_per, requestsper, req_per, throughput, latency, latencies, p99");
    let mut todo = vec![value];
    for _ in 0..1_000 {
        match todo.pop() {
            Some(Value::Object(map)) => {
                for (key, value) in map {
                    let key = key.to_lowercase();
                    if KEYS.within(&key) {
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
    digits >= 3 && line.len() < 400 && rate_unit(line).is_some()
}

/// How often everything was run, where a line says it in so many words: `median of 5 runs`, `run 3 times`. It is read only
/// because figures that are means of several runs need no warning that there are few.
fn repetitions(line: &str) -> Option<u64> {
    const RUNS: [&str; 7] = [
        "times",
        "runs",
        "trials",
        "executions",
        "repetitions",
        "iterations",
        "rounds",
    ];
    let digit = line.bytes().any(|b| b.is_ascii_digit());
    let words: Vec<&str> = crate::words::words(line).take(REPEATED).collect();
    let n = words
        .windows(2)
        .filter(|pair| RUNS.contains(&pair[1]))
        .find_map(|pair| match pair[0] {
            "three" => Some(3),
            "four" => Some(4),
            "five" => Some(5),
            "ten" => Some(10),
            number => number
                .parse()
                .ok()
                .filter(|n| digit && (2..1_000).contains(n)),
        });
    let compared = ["faster", "slower"].iter().any(|word| line.contains(word));
    n.filter(|_| !compared)
}

/// Words at the start of a line that are searched for a number of runs.
const REPEATED: usize = 200;

/// Is an output one in a terminal: does a prompt stand above it?
fn is_prompted(lines: &Lines<'_>, at: usize) -> bool {
    (at.saturating_sub(ABOVE)..at).any(|i| prompt(lines.get(i)).is_some())
}

/// More of what is not understood than this is not listed.
const UNREAD: usize = 100;
/// More tables than this are data, not results: the others are left out.
const TABLES: usize = 2_000;
/// More ratios than this are data, not claims.
const RATIOS: usize = 64;
/// The errors of an output stand within so many lines.
const ERRORS: usize = 200;
/// A label stands this near above what it is of, in lines with something in them.
const ABOVE: usize = 8;
/// Nor is the line above a table, which may say more.
const CAPTION: usize = 160;

#[cfg(test)]
mod tests;
