//! Remarks of the checks about a load.

use prony_checks::{Evidence, examine};
use std::io::Write;

/// Says what the checks find, one line each.
pub(crate) fn remark(evidence: &Evidence, err: &mut dyn Write) {
    if evidence.wrong > 0 {
        let _ = writeln!(
            err,
            "prony: note: rates above count {} wrong answers too, as the original does",
            evidence.wrong
        );
    }
    for finding in examine(evidence) {
        let severity = finding.severity;
        let _ = writeln!(err, "prony: {severity}: {}: {}", finding.name, finding.text);
    }
}
