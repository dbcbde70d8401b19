//! `uneven-connections`: some connections were served much more often than others.

use crate::{Evidence, Finding, Severity};

/// In a closed loop with the same request everywhere, connections differ by chance and by the
/// order of service; a factor of two between them is a policy.
const FACTOR: u64 = 2;
/// Below this number of answers per connection, chance alone makes such a factor.
const ENOUGH: u64 = 50;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let (least, most) = (
        seen.per_connection.iter().min().copied()?,
        seen.per_connection.iter().max().copied()?,
    );
    let mean = seen.per_connection.iter().sum::<u64>() / seen.per_connection.len() as u64;
    let applies = seen.closed_loop && seen.keepalive && mean >= ENOUGH;
    if !applies || most < FACTOR * least.max(1) {
        return None;
    }
    let text = format!(
        "the busiest connection had {most} answers and the least busy {least}: the server does not \
         share its time evenly (its workers may have different numbers of connections), and \
         latency percentiles mix the two kinds"
    );
    Finding::new("uneven-connections", Severity::Note, text)
}

#[cfg(test)]
mod tests {
    use super::*;

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
