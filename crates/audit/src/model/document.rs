//! One audited text, and everything that was read from it.

use super::{Block, Table, Tool};
use crate::command::Command;
use crate::text::number::Printed;
use std::sync::Arc;

/// A text, as what stands in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The name: a file's path.
    pub name: String,
    /// Outputs of load generators, in order.
    pub outputs: Vec<ToolOutput>,
    /// Tables, in order.
    pub tables: Vec<(Table, OutputContext)>,
    /// Command lines, in order.
    pub commands: Vec<Command>,
    /// Ratios that lines give as divisions, in order.
    pub ratios: Vec<Ratio>,
    /// How often everything was run, where a line gives a number of runs.
    pub repetitions: Option<u64>,
    /// Figures that are not read: the line, from 1, and a description.
    pub unread: Vec<(usize, String)>,
}

/// A ratio of two systems: `A / B = 0.96`.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratio {
    /// The line, from 1.
    pub line: usize,
    /// The system whose figure is divided.
    pub over: String,
    /// The system whose figure it is divided by.
    pub under: String,
    /// The ratio, as printed; more than 0.
    pub value: Printed,
}

/// An output, and what it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// The output.
    pub block: Block,
    /// Where it stands.
    pub place: OutputContext,
    /// The command line directly above it.
    pub command: Option<Command>,
}

/// Where something stands: texts with their lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputContext {
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
            ratios: Vec::new(),
            repetitions: None,
            unread: Vec::new(),
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
}
