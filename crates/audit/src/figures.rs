//! Figures: every rate in the documents, with the system that reached it and the load it was under,
//! whether an output says so or a table.

use crate::address::{by_page, tell_apart};
use crate::command::Command;
use crate::load::{Load, LoadParameter};
use crate::model::Tool;
use crate::model::{Document, OutputContext, ToolOutput};
use crate::names::{System, stem, system};
use crate::tabled::of_table;
use crate::text::number::Printed;
use crate::words::is_generic;
use std::collections::{BTreeMap, BTreeSet};

/// A rate.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    /// Index of the document that has the figure.
    pub document: usize,
    /// Line of the figure, from 1.
    pub line: usize,
    /// System that was measured.
    pub system: System,
    /// Under which load.
    pub load: Load,
    /// Rate per second. A table that does not name its quantity is taken to hold such rates.
    pub rate: Printed,
    /// The output that it is of, by its place in the document; none for a table's.
    pub output: Option<usize>,
    /// The spread is given, so the figure is of several runs, or samples.
    pub repeated: bool,
}

/// All figures of the documents.
pub(crate) fn figures(documents: &[Document]) -> Vec<Figure> {
    let mut all = Vec::new();
    for (index, document) in documents.iter().enumerate() {
        let file = stem(&document.name);
        let from = all.len();
        for (output, found) in document.outputs.iter().enumerate() {
            let block = &found.block;
            if is_shown_again(&document.outputs[..output], found) {
                continue;
            }
            let Some(rate) = block.rate.or_else(|| block.given_rate()) else {
                continue;
            };
            let label = found.place.label.as_ref().and_then(|l| Load::parse(&l.0));
            let label = label.or_else(|| {
                let headings = found.place.headings.iter().rev();
                headings.map(|heading| Load::parse(&heading.0)).next()?
            });
            let command = found.command.as_ref();
            // What was really done, before what its label says.
            let load = Load {
                connections: (block.connections.map(|n| n.what))
                    .or_else(|| command.and_then(Command::connections))
                    .or_else(|| label.and_then(|load| load.connections)),
                threads: (block.threads.map(|n| n.what))
                    .or_else(|| command.and_then(Command::threads))
                    .or_else(|| label.and_then(|load| load.threads)),
                // Runs at two rates are not runs of one load. vegeta prints the rate that it reached.
                other: (command.and_then(Command::rate))
                    .or_else(|| block.asked.map(|n| n.what))
                    .map(|rate| (LoadParameter::Rate, rate.round() as u64)),
            };
            let mut system = system(&found.place, None, &file);
            if matches!(block.tool, Tool::Locust | Tool::Jmeter) {
                // Their rows are pages: each is compared with the same page of others, if headings name these.
                match (found.place.headings.last(), &block.name) {
                    (Some(heading), Some(page)) if !is_generic(&heading.0) => {
                        system.section = format!("{} / {}", system.section, page.what).into();
                        system.name = heading.0.as_str().into();
                    }
                    _ => system.unsure = true,
                }
            }
            all.push(Figure {
                document: index,
                line: rate.line,
                system,
                load,
                rate: rate.what,
                output: Some(output),
                repeated: false,
            });
        }
        tell_apart(document, &mut all[from..]);
        let mut again = Repeated::default();
        let measured = |command: &Command| (command.tool, command.connections());
        let several: BTreeSet<_> = document.commands.iter().map(measured).collect();
        for (table, place) in &document.tables {
            let mut found = of_table(table, place, index, &file);
            // What one tool has measured is no run of what another has, or of what it has under another load.
            let above = document.commands.iter();
            let above = above
                .rev()
                .find(|command| Some(command.line) == place.command);
            if let Some(command) = above.filter(|_| several.len() > 1) {
                for figure in &mut found {
                    let under = (command.connections()).map_or(String::new(), |n| format!(" c{n}"));
                    let section = format!("{} / {}{under}", figure.system.section, command.tool);
                    figure.system.section = section.into();
                }
            }
            if let Some(line) = again.line(place) {
                for figure in &mut found {
                    let section = format!("{} (line {line})", figure.system.section);
                    figure.system.section = section.into();
                }
            }
            all.extend(found);
        }
        by_page(&mut all[from..]);
    }
    all
}

/// Does an output with the same figures, below the same command line, stand before it? It is one run, shown twice.
fn is_shown_again(before: &[ToolOutput], output: &ToolOutput) -> bool {
    let run = |output: &ToolOutput| {
        let url = output.command.as_ref()?.url()?.to_owned();
        let block = &output.block;
        let figures = (
            block.requests?.what,
            block.rate?.what,
            block.latency.mean?.what,
        );
        Some((url, block.connections.map(|n| n.what), figures))
    };
    let own = run(output);
    own.is_some()
        && before
            .iter()
            .rev()
            .take(SHOWN)
            .any(|other| run(other) == own)
}

/// An output is looked for among so many before it.
const SHOWN: usize = 50;

/// Headings that stand twice below the same ones, and labels that stand twice below one: what is below the second is of something
/// else than what is below the first, whatever that is.
#[derive(Default)]
struct Repeated(BTreeMap<(Vec<usize>, String), usize>);

impl Repeated {
    /// The line of the innermost heading, or of the label, if another one was called the same.
    fn line(&mut self, place: &OutputContext) -> Option<usize> {
        let mut again = None;
        if let Some((own, above)) = place.headings.split_last() {
            let above = above.iter().map(|heading| heading.1).collect();
            let first = *self.0.entry((above, own.0.clone())).or_insert(own.1);
            again = (first != own.1).then_some(own.1);
        }
        let Some(label) = &place.label else {
            return again;
        };
        let above = place.headings.iter().map(|heading| heading.1).collect();
        let first = *self.0.entry((above, label.0.clone())).or_insert(label.1);
        again.or_else(|| (first != label.1).then_some(label.1))
    }
}

/// Figures by what was measured and under which load: the runs of each cell.
pub(crate) fn cells(figures: &[Figure]) -> BTreeMap<(System, Load), Vec<&Figure>> {
    let mut cells: BTreeMap<(System, Load), Vec<&Figure>> = BTreeMap::new();
    for figure in figures {
        let key = (figure.system.clone(), figure.load);
        cells.entry(key).or_default().push(figure);
    }
    cells
}

#[cfg(test)]
mod tests;
