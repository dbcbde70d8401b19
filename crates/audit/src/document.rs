//! What is found in a text.

use crate::read::command::Command;
use crate::read::prose::Claim;
use crate::table::Table;
use crate::tool::{Block, Tool};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A text, as what stands in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Its name: a file's path.
    pub name: String,
    /// Outputs of load generators, in order.
    pub outputs: Vec<Output>,
    /// Tables, in order.
    pub tables: Vec<(Table, Place)>,
    /// Command lines, in order.
    pub commands: Vec<Command>,
    /// What is claimed of ratios.
    pub claims: Vec<Claim>,
    /// Lines that say that this machine is loaded: `Base URL: http://localhost:3000`, `client and server are on the
    /// same machine`.
    pub targets: Vec<usize>,
    /// Lines that say how many requests were sent, and how many.
    pub stated: Vec<(usize, u64)>,
    /// Lines that say how long each run lasted, and how many seconds.
    pub lasting: Vec<(usize, f64)>,
    /// Lines that say how many connections there were, and how many.
    pub at_once: Vec<(usize, u64)>,
    /// Lines that say that requests were sent at a rate.
    pub offered: Vec<usize>,
    /// Lines with pictures of results.
    pub pictures: Vec<usize>,
    /// One of them is of a rate or a time, below a heading of results.
    pub charted: bool,
    /// It has a link to a file of results, or figures beside its pictures.
    pub linked: bool,
    /// Load generators that it names.
    pub named: BTreeSet<&'static str>,
    /// It names a benchmark harness, which repeats what it measures.
    pub sampled: bool,
    /// How often everything was run, if a sentence says so.
    pub repetitions: Option<u64>,
    /// Requests that failed, as sentences say.
    pub failures: Vec<Failure>,
    /// What looks like figures, and is not understood: its line, and what it is.
    pub unread: Vec<(usize, String)>,
    /// Lines whose figures were read by what they look like, in order: of scripts, lists, and pieces of outputs.
    pub loose: Vec<RangeInclusive<usize>>,
    /// The outputs are a whole suite's: findings are told by system.
    pub suite: bool,
}

/// Requests that failed, as a sentence says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// Its line, from 1.
    pub line: usize,
    /// How many failed.
    pub failed: u64,
    /// Of how many; 0 where that is not said.
    pub of: u64,
    /// They took too long.
    pub timed_out: bool,
}

/// An output, and what it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// The output.
    pub block: Block,
    /// Where it stands.
    pub place: Place,
    /// The command line directly above it.
    pub command: Option<Command>,
}

/// Where something stands: texts with their lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The headings above it, the outermost first.
    pub headings: Vec<Arc<(String, usize)>>,
    /// The line above it that serves as its label.
    pub label: Option<Arc<(String, usize)>>,
    /// The line of the command line above it, since the last heading, table or output.
    pub command: Option<usize>,
    /// The line of a sentence between it and the output before it, which may say that it is of
    /// something else.
    pub sentence: Option<usize>,
}

impl Document {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            outputs: Vec::new(),
            tables: Vec::new(),
            commands: Vec::new(),
            claims: Vec::new(),
            targets: Vec::new(),
            stated: Vec::new(),
            lasting: Vec::new(),
            at_once: Vec::new(),
            offered: Vec::new(),
            pictures: Vec::new(),
            charted: false,
            linked: false,
            named: BTreeSet::new(),
            sampled: false,
            repetitions: None,
            failures: Vec::new(),
            unread: Vec::new(),
            loose: Vec::new(),
            suite: false,
        }
    }

    /// Where no output of wrk has its head, which says the connections, the only command line of wrk is that of all of them.
    pub(crate) fn complete(&mut self) {
        let of_wrk = |tool| tool == Tool::Wrk;
        let mut outputs = self.outputs.iter().filter(|o| of_wrk(o.block.tool));
        if !outputs.all(|o| o.block.connections.is_none() && o.command.is_none()) {
            return;
        }
        let mut commands = self.commands.iter().filter(|c| of_wrk(c.tool));
        let (Some(only), None) = (commands.next().cloned(), commands.next()) else {
            return;
        };
        for output in self.outputs.iter_mut().filter(|o| of_wrk(o.block.tool)) {
            output.command = Some(only.clone());
        }
    }

    /// Keeps lines whose figures were read by what they look like. Texts are read from top to bottom, so the ranges are in order.
    pub(crate) fn read_loosely(&mut self, from: usize, to: usize) {
        match self.loose.last_mut() {
            Some(last) if from <= *last.end() => {
                *last = from.min(*last.start())..=to.max(*last.end());
            }
            _ => self.loose.push(from..=to),
        }
    }

    /// Are the figures of a line read by what they look like?
    pub(crate) fn is_loose(&self, line: usize) -> bool {
        let at = self.loose.partition_point(|range| *range.end() < line);
        self.loose
            .get(at)
            .is_some_and(|range| range.contains(&line))
    }

    /// Is there anything in it that an audit can look at?
    pub fn says_something(&self) -> bool {
        !(self.outputs.is_empty() && self.tables.is_empty() && self.commands.is_empty())
    }
}
