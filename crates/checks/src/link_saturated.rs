//! `link-saturated`: the network between server and generator was full.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::LinkSaturated,
    cause: "The network between the machines was full, while neither the server nor the generator had all of its CPU in use: the figures are those of the network.",
    evidence: "Bytes per second that the load moved, compared with those of a test of the network before the run.",
    remedy: "Use a faster network, smaller answers, or a rate below what the network can carry; prony hosts check measures every pair of machines.",
};

/// A network that moves this part of what it can is full: packets queue.
const FULL: f64 = 0.9;
/// Share of its CPUs below which a server or a generator waits for something else.
const BUSY: f64 = 0.9;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let link = seen.link.filter(|link| *link > 0.0)?;
    let server = seen.server.map_or(0.0, |server| server.used / server.cpus);
    if seen.moved < FULL * link || server >= BUSY || seen.generator_taken() >= BUSY {
        return None;
    }
    let megabits = |bytes: f64| bytes * 8.0 / 1e6;
    let text = format!(
        "the load moved {:.0} Mbit/s, and the network between the machines {:.0} Mbit/s when it was tried before: these are the \
         network's figures; use a faster one, smaller answers or a lower rate",
        megabits(seen.moved),
        megabits(link)
    );
    finding(CheckId::LinkSaturated, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServerCpu;

    #[test]
    fn a_full_network_is_told_unless_a_cpu_was_full_too() {
        let full = Evidence {
            moved: 11.9e6,
            link: Some(12.2e6),
            server: Some(ServerCpu {
                cpus: 1.0,
                used: 0.3,
            }),
            ..Evidence::clean()
        };
        let found = check(&full).unwrap();
        assert!(
            found.text.starts_with(
                "the load moved 95 Mbit/s, and the network between the machines 98 Mbit/s"
            ),
            "{}",
            found.text
        );
        let but = |change: fn(&mut Evidence)| {
            let mut seen = full.clone();
            change(&mut seen);
            check(&seen)
        };
        assert_eq!(but(|it| it.moved = 6e6), None);
        assert_eq!(but(|it| it.link = None), None, "on one machine");
        assert_eq!(but(|it| it.generator_busy = 0.95), None);
        let busy = Some(ServerCpu {
            cpus: 1.0,
            used: 0.99,
        });
        assert_eq!(
            check(&Evidence {
                server: busy,
                ..full
            }),
            None
        );
    }
}
