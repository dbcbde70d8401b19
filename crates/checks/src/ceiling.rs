//! `ceiling`: the rate is that of something else.

use crate::{CheckId, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::Ceiling,
    cause: "The server's rate is within 5% of the most that this machine can measure under this load: the rate of the upstream alone, or that of prony's reference server, which does almost no work. The limit was measured, not the server.",
    evidence: "The rate of the upstream alone under the same load in the same run, or the rate of the reference server from the last calibration (`prony calibrate`).",
    remedy: "Use a faster upstream, use fewer connections, or give the generator more CPUs. Or compare CPU time per request at a fixed rate.",
};

/// Closer than this to what the rig can do at all, and the rig is what was measured: a server that
/// costs anything leaves a larger gap.
const CLOSE: f64 = 0.95;

/// Is a server's rate that of what stands behind it, or of the fastest server there is?
pub fn ceiling(rate: f64, limit: f64) -> Option<Finding> {
    if rate.is_nan() || limit.is_nan() || rate < CLOSE * limit {
        return None;
    }
    let text = format!(
        "reached {:.0}% of the ceiling under this load (the rate of the upstream alone, or of prony's \
         reference server): the ceiling was measured, not this server",
        100.0 * rate / limit
    );
    finding(CheckId::Ceiling, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_five_percent() {
        assert_eq!(ceiling(94.0, 100.0), None);
        assert!(ceiling(96.0, 100.0).is_some());
        assert!(ceiling(120.0, 100.0).is_some());
        assert_eq!(ceiling(f64::NAN, 100.0), None);
        assert_eq!(ceiling(100.0, f64::NAN), None);
    }
}
