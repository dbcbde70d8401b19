//! `co-located`: client and server on one machine.

use super::{CheckInput, UnnamedFinding, note};
use crate::command::{host_of, is_this_machine};
use crate::model::Table;
use crate::model::ToolOutput;
use crate::quantity::is_other;
use prony_checks::{CheckId, Explanation};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::CoLocated,
    cause: "Client and server ran on one machine, so they took CPU time, caches and memory from each other, and there was no network between them.",
    evidence: "The addresses in outputs and command lines: localhost, 127.x.x.x, ::1.",
    remedy: "Use two machines, or give each program its own CPUs and say so.",
};

/// A table of times with fewer figures is hardly one of results.
const FIGURES: usize = 3;

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for (index, document) in seen.documents.iter().enumerate() {
        let outputs = document.outputs.iter().filter_map(|output| {
            let url = output.block.url.as_ref()?;
            is_this_machine(host_of(&url.what)?).then_some(url.line)
        });
        // Of a command line without a result only the reader's machine is known.
        let times = |table: &Table| {
            let timed = table.header.iter().any(|name| is_other(name));
            let rows = table.rows.iter().flat_map(|row| &row.cells);
            timed && rows.filter(|cell| cell.number.is_some()).count() >= FIGURES
        };
        let results = !document.outputs.is_empty()
            || document.tables.iter().any(|(table, _)| times(table))
            || seen.figures.iter().any(|figure| figure.document == index);
        // Where every output names another machine, and nothing else has results, that is what was done.
        let elsewhere = |output: &ToolOutput| {
            let url = output.block.url.as_ref();
            let host = url.and_then(|url| host_of(&url.what));
            host.is_some_and(|host| !is_this_machine(host))
        };
        let elsewhere = !document.outputs.is_empty()
            && document.tables.is_empty()
            && document.outputs.iter().all(elsewhere);
        // JSON that is not understood may be an example of an answer.
        let unread = document
            .unread
            .iter()
            .any(|(_, what)| !what.starts_with("JSON"));
        let commands = document
            .commands
            .iter()
            .filter(|_| (results || unread) && !elsewhere)
            .filter(|command| command.host().is_some_and(is_this_machine))
            .map(|command| command.line);
        let mut lines: Vec<usize> = outputs.chain(commands).collect();
        lines.sort_unstable();
        if lines.is_empty() {
            continue;
        }
        let text = "client and server ran on one machine: they take CPU time, caches and memory from \
            each other, and there is no network between them. A server that leaves more of them to the \
            client looks better than it is; give each its own CPUs and say so, or use two machines"
            .to_owned();
        remarks.push(note(document, lines, text));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of, wrk};

    #[test]
    fn addresses_and_command_lines() {
        let text = wrk(&[("10.0.0.2", "localhost")]);
        let text = format!("    httperf --server 127.0.0.1 --port 80\n\n{text}");
        assert_eq!(of(CheckId::CoLocated, &text)[0].lines, [1, 3]);
        assert_eq!(of(CheckId::CoLocated, &wrk(&[])), []);
        // What a reader is to run says nothing of who ran it.
        let instruction = "Try it:\n\n    wrk -c10 http://localhost:8000/\n";
        assert_eq!(of(CheckId::CoLocated, instruction), []);
        // The outputs say that it was another machine.
        let elsewhere = format!("{instruction}\n{}", wrk(&[]));
        assert_eq!(of(CheckId::CoLocated, &elsewhere), []);
        let table = "\n| server | req/s |\n|--|--|\n| a | 10 |\n| b | 20 |\n";
        assert_eq!(
            of(CheckId::CoLocated, &format!("{instruction}{table}"))[0].lines,
            [3]
        );
    }
}
