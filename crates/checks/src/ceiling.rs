//! `ceiling`: the rate is that of something else.

use crate::{Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: "ceiling",
    cause: "The rate is within 5 % of what the rig can do at all: of the upstream alone, or of prony's own server, which does next to nothing. So the rig was measured, not the server.",
    evidence: "The rate of the upstream under the same load in the same run, or of the reference server when the rig was last weighed (`prony calibrate`).",
    remedy: "Use a faster upstream, fewer connections, or give the generator more CPUs; or compare CPU time per request at a fixed rate.",
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
        "{:.0} % of what this rig can do under this load without the server (its upstream alone, or \
         prony's own server): the rig was measured, not this server",
        100.0 * rate / limit
    );
    finding("ceiling", Severity::Warning, text)
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
