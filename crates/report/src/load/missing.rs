//! Why a percentile is not known, in words.

use prony_record::Percentiles;

/// For the percentiles that a table shows; none when it shows them all.
pub(super) fn sentence(times: &Percentiles) -> Option<String> {
    let shown = [
        ("p50", 0.5, times.p50),
        ("p90", 0.9, times.p90),
        ("p99", 0.99, times.p99),
        ("p99.9", 0.999, times.p99_9),
    ];
    let missing: Vec<(&str, f64)> = shown
        .into_iter()
        .filter(|(_, _, value)| value.is_none())
        .map(|(name, share, _)| (name, share))
        .collect();
    let (first, share) = *missing.first()?;
    let names = match missing.as_slice() {
        [_] => first.to_owned(),
        [_, (second, _)] => format!("{first} and {second}"),
        [.., (last, _)] => format!("{first} to {last}"),
        [] => return None,
    };
    let are = if missing.len() == 1 { "is" } else { "are" };
    let all = times.n + times.failed;
    let failed = times.failed as f64 / all.max(1) as f64;
    if failed >= 1.0 - share {
        let share = crate::show::percent(failed);
        return Some(format!(
            "{names} {are} not known: {share} of the requests failed, which counts as longer than any answer"
        ));
    }
    let needed = (10.0 / (1.0 - share)).round();
    Some(format!(
        "{names} {are} not known from {} requests: {first} needs {}",
        crate::show::count(all),
        crate::show::count(needed as u64)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::times::times;

    fn of(answers: u64, failed: u64) -> Option<String> {
        let mut all = times();
        (1..=answers).for_each(|i| all.record(i * 1_000).unwrap());
        sentence(&Percentiles::of(&all, failed))
    }

    #[test]
    fn too_few_requests_and_failures_are_told_apart() {
        assert_eq!(of(20_000, 0), None);
        assert_eq!(
            of(2_000, 0).unwrap(),
            "p99.9 is not known from 2,000 requests: p99.9 needs 10,000"
        );
        assert_eq!(
            of(50, 0).unwrap(),
            "p90 to p99.9 are not known from 50 requests: p90 needs 100"
        );
        assert_eq!(
            of(19_600, 400).unwrap(),
            "p99 and p99.9 are not known: 2.0% of the requests failed, which counts as longer than any answer"
        );
        assert_eq!(
            of(0, 400).unwrap(),
            "p50 to p99.9 are not known: 100% of the requests failed, which counts as longer than any answer"
        );
    }
}
