//! Where a figure comes from, and so how sure it is that it means what it was read as.
//!
//! What a tool prints has one meaning, and so has a cell below the name of its column. The lines of a script, an item of a list,
//! columns that only spaces set apart, and pieces of an output without its head are read by what they look like. A finding is
//! serious if a figure does not mean what it seems to mean; figures of which it is not sure what they seem to mean cannot show
//! that. So what rests on such figures alone is a warning, unless the figures bear each other out: requests divided by time give
//! the rate beside them.
//!
//! Sentences are no figures: what a sentence states of failures, it states itself.

use crate::document::Document;
use crate::tool::{Block, Tool};
use prony_checks::{Finding, Severity};

/// Rates are rounded, and scripts take the time in different places.
const AGREE: f64 = 0.05;

/// Makes a serious finding on these lines of a document a warning, if all of them were read loosely.
pub(crate) fn weigh(finding: &mut Finding, document: &Document, lines: &[usize]) {
    let loose = |line: &usize| document.is_loose(*line);
    if finding.severity == Severity::Serious && !lines.is_empty() && lines.iter().all(loose) {
        finding.severity = Severity::Warning;
    }
}

/// Was an output read loosely, and do its own figures not show that it was read right?
pub(crate) fn is_loose(block: &Block) -> bool {
    let agree = agree(block);
    if block.tool == Tool::Script {
        // Keys and cells have names that a program, or a table, gives them.
        !block.keyed && !block.tabled && agree != Some(true)
    } else {
        // Without its head, or the name of a file, one piece may be of another output than the next.
        block.divides()
            && block.name.is_none()
            && block.url.is_none()
            && block.connections.is_none()
            && agree == Some(false)
    }
}

/// Do the requests divided by the time give the rate? None where one of them is missing.
fn agree(block: &Block) -> Option<bool> {
    let (requests, seconds, rate) = (block.requests?, block.seconds?, block.rate?);
    let given = requests.what as f64 / seconds.what.value;
    Some((rate.what.value / given - 1.0).abs() <= AGREE)
}

#[cfg(test)]
mod tests {
    use crate::check::testing::of;
    use prony_checks::Severity;

    fn errors(text: &str) -> Severity {
        of("errors", text)[0].finding.severity
    }

    #[test]
    fn lines_of_a_script_need_a_second_witness() {
        let text = "Total requests: 5000\nFailed requests: 50\nRequests/sec: 100\n";
        assert_eq!(errors(text), Severity::Warning);
        let timed = format!("{text}Duration: 50 s\n");
        assert_eq!(errors(&timed), Severity::Serious);
        let other = format!("{text}Duration: 30 s\n");
        assert_eq!(errors(&other), Severity::Warning);
        let keyed = "{\n  \"totalRequests\": 5000,\n  \"failedRequests\": 50,\n  \"requestsPerSecond\": 100\n}\n";
        assert_eq!(errors(keyed), Severity::Serious);
    }

    #[test]
    fn pieces_without_a_head_may_be_of_two_outputs() {
        let text = "Time taken for tests:   30.000 seconds\nComplete requests:      1000\n\
            Failed requests:        10\nRequests per second:    333.33 [#/sec] (mean)\n";
        for remark in crate::check::testing::audit(text) {
            assert_ne!(remark.finding.severity, Severity::Serious, "{remark:?}");
        }
        let whole = format!("Server Hostname:        10.0.0.2\nConcurrency Level:      10\n{text}");
        let found = of("ratio-disagrees", &whole);
        assert_eq!(found[0].finding.severity, Severity::Serious);
    }
}
