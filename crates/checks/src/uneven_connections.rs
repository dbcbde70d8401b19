//! `uneven-connections`: some connections were served much more often than others.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::UnevenConnections,
    cause: "Connections were not shared evenly: some workers have many more connections than others, or some connections got far more answers than others.",
    evidence: "The connections of each event loop, as the kernel lists them, and the number of answers per connection.",
    remedy: "Give each worker its own listener (SO_REUSEPORT), or distribute connections in turn. Percentiles over uneven connections mix two different behaviours.",
};

/// In a closed loop with the same request everywhere, connections differ by chance and by the
/// order of service; a factor of two between them is a policy.
const FACTOR: u64 = 2;
/// Below this number of answers per connection, chance alone makes such a factor.
const ENOUGH: u64 = 50;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    workers(seen).or_else(|| connections(seen))
}

/// Chance spreads connections too: a listener per worker gives each connection to any of them with
/// the same probability. More than this many standard deviations of that off the mean is not chance.
const DEVIATIONS: f64 = 4.0;

/// Workers with very different numbers of connections: some are idle while others are busy.
fn workers(seen: &Evidence) -> Option<Finding> {
    let counts = &seen.connections_per_loop;
    let (most, least) = (*counts.first()?, *counts.last()?);
    let share = 1.0 / counts.len() as f64;
    let all = f64::from(counts.iter().sum::<u32>());
    let chance = (all * share * (1.0 - share)).sqrt();
    let off = (f64::from(most) - all * share).max(all * share - f64::from(least));
    if counts.len() < 2 || u64::from(most) < FACTOR * u64::from(least) || off <= DEVIATIONS * chance
    {
        return None;
    }
    let list: Vec<String> = counts.iter().map(u32::to_string).collect();
    let text = format!(
        "the server's {} event loops have {} connections: the figures depend on this distribution as \
         much as on the server (a listener per worker with SO_REUSEPORT distributes them at random, \
         a shared listener may give nearly all of them to one worker)",
        counts.len(),
        list.join(", ")
    );
    finding(CheckId::UnevenConnections, Severity::Warning, text)
}

/// Connections that were answered much more often than others.
fn connections(seen: &Evidence) -> Option<Finding> {
    let (least, most) = (
        seen.per_connection.iter().min().copied()?,
        seen.per_connection.iter().max().copied()?,
    );
    let mean = seen.per_connection.iter().sum::<u64>() / seen.per_connection.len() as u64;
    let applies = seen.closed_loop && seen.keepalive && mean >= ENOUGH;
    if !applies || most < FACTOR * least.max(1) {
        return None;
    }
    let broke = match seen.broke() {
        true => "some connections failed, or ",
        false => "",
    };
    let text = format!(
        "the busiest connection got {most} answers and the least busy one {least}: {broke}the server does not \
         serve connections evenly (its workers may have different numbers of connections), and \
         latency percentiles mix fast and slow connections"
    );
    finding(CheckId::UnevenConnections, Severity::Note, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_with_more_than_chance_explains() {
        let spread = |counts: &[u32]| {
            let found = check(&Evidence {
                connections_per_loop: counts.to_vec(),
                ..Evidence::clean()
            });
            found.map(|finding| finding.severity)
        };
        for fair in [
            &[][..],
            &[100],
            &[50, 50],
            &[62, 38],
            &[3, 0],
            &[30, 25, 25, 20],
        ] {
            assert_eq!(spread(fair), None, "{fair:?}");
        }
        for unfair in [&[100, 0][..], &[80, 20], &[97, 1, 1, 1]] {
            assert_eq!(spread(unfair), Some(Severity::Warning), "{unfair:?}");
        }
    }

    #[test]
    fn connections_that_failed_are_named() {
        let uneven = |timeouts| Evidence {
            per_connection: vec![100, 250],
            timeouts,
            ..Evidence::clean()
        };
        let text = |seen| check(&seen).unwrap().text;
        assert!(text(uneven(9_000)).contains("some connections failed, or the server"));
        assert!(!text(uneven(0)).contains("failed"));
    }

    #[test]
    fn a_factor_of_two() {
        let uneven = Evidence {
            per_connection: vec![100, 250],
            ..Evidence::clean()
        };
        assert!(check(&uneven).is_some());
        assert_eq!(
            check(&Evidence {
                per_connection: vec![200, 250],
                ..Evidence::clean()
            }),
            None
        );
        assert_eq!(
            check(&Evidence {
                per_connection: vec![1, 5],
                ..Evidence::clean()
            }),
            None
        );
        assert_eq!(
            check(&Evidence {
                per_connection: vec![],
                ..Evidence::clean()
            }),
            None
        );
    }
}
