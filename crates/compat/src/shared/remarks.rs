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
    // The imitated tools have no flag for further addresses, which is the remedy that the check has.
    let evidence = Evidence {
        without_port: 0,
        ..evidence.clone()
    };
    for finding in examine(&evidence) {
        let severity = finding.severity;
        let _ = writeln!(err, "prony: {severity}: {}: {}", finding.name, finding.text);
    }
}
