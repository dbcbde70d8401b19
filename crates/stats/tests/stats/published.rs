//! Worked examples that others published.

use prony_stats::Unit;
use prony_stats::mean::{mean, t_interval, t_quantile};
use prony_stats::percentile::percentile_ranks;
use prony_stats::ratio::paired_log_ratio;
use statrs::distribution::{Binomial, DiscreteCDF};

fn close(a: f64, b: f64, within: f64) -> bool {
    (a - b).abs() <= within
}

/// NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, critical values of Student's t
/// distribution, the column for 0.975.
#[test]
fn critical_values_of_t() {
    for (freedom, value) in [
        (1.0, 12.706),
        (2.0, 4.303),
        (3.0, 3.182),
        (4.0, 2.776),
        (5.0, 2.571),
        (9.0, 2.262),
        (10.0, 2.228),
        (20.0, 2.086),
        (30.0, 2.042),
        (60.0, 2.000),
        (100.0, 1.984),
    ] {
        let t = t_quantile(freedom).expect("degrees of freedom");
        assert!(close(t, value, 0.0005), "{freedom}: {t}");
    }
    assert!(close(
        t_quantile(1e6).expect("degrees of freedom"),
        1.95996,
        1e-4
    ));
    assert_eq!(t_quantile(0.0), None);
    assert_eq!(t_quantile(f64::NAN), None);
}

/// NIST/SEMATECH e-Handbook, 1.3.5.2, confidence limits for the mean, data set ZARR13.DAT: 195
/// values, mean 9.261460, standard deviation 0.022789; 95% limits 9.258242 and 9.264679.
#[test]
fn nist_confidence_limits_for_the_mean() {
    let limits = t_interval(9.261_460, 0.022_789, 195.0).expect("a spread");
    assert!(close(limits.low(), 9.258_242, 2e-6), "{limits:?}");
    assert!(close(limits.high(), 9.264_679, 2e-6), "{limits:?}");
}

/// Student, "The probable error of a mean", Biometrika 6 (1908): ten patients' additional hours of
/// sleep under two drugs. The paired difference has mean 1.58 and, by the t interval, 95% limits
/// 0.70 and 2.46 (R's `t.test(extra ~ group, sleep, paired)` prints 0.7001142 and 2.4598858).
const DRUG_1: [f64; 10] = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
const DRUG_2: [f64; 10] = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

#[test]
fn students_sleep_data() {
    let differences: Vec<f64> = DRUG_2.iter().zip(DRUG_1).map(|(b, a)| b - a).collect();
    let estimate = mean(&differences, Unit::Seconds).expect("values");
    assert!(close(estimate.value(), 1.58, 1e-12), "{estimate:?}");
    assert!(
        close(estimate.low().expect("ten values"), 0.700_114_2, 1e-7),
        "{estimate:?}"
    );
    assert!(
        close(estimate.high().expect("ten values"), 2.459_885_8, 1e-7),
        "{estimate:?}"
    );
}

/// The ratio of exp(x) to exp(y) has the logarithm x − y, so the same example gives it, too.
#[test]
fn students_sleep_data_as_a_ratio() {
    let ratio = paired_log_ratio(
        &DRUG_2.map(|hours| Some(f64::exp(hours))),
        &DRUG_1.map(|hours| Some(f64::exp(hours))),
    )
    .expect("ten pairs");
    assert!(close(ratio.value().ln(), 1.58, 1e-9), "{ratio:?}");
    assert!(
        close(ratio.low().expect("ten pairs").ln(), 0.700_114_2, 1e-7),
        "{ratio:?}"
    );
    assert!(
        close(ratio.high().expect("ten pairs").ln(), 2.459_885_8, 1e-7),
        "{ratio:?}"
    );
}

/// The chance that the order statistics of these ranks enclose the percentile: low ≤ count below
/// it < high, the count being binomial.
fn exact(n: u64, p: f64, (low, high): (u64, u64)) -> f64 {
    let count = Binomial::new(p, n).expect("a share");
    count.cdf(high - 1) - count.cdf(low - 1)
}

/// Tables of intervals for the median give, for each n, pairs of ranks with their exact
/// confidence, such as n = 9: 2 and 8, 96.1%; n = 10: 1 and 10, 99.8%; n = 20: 5 and 16, 98.8%
/// and 6 and 15, 95.9%.
#[test]
fn tables_of_intervals_for_the_median() {
    for (n, ranks, confidence) in [
        (9, (2, 8), 0.961),
        (10, (1, 10), 0.998),
        (20, (5, 16), 0.988),
        (20, (6, 15), 0.959),
    ] {
        let exact = exact(n, 0.5, ranks);
        assert!(close(exact, confidence, 0.0005), "{n} {ranks:?}: {exact}");
    }
    assert_eq!(percentile_ranks(10, 10.0, 0.5), Some((1, 10)));
    assert_eq!(percentile_ranks(20, 20.0, 0.5), Some((5, 16)));
    // Le Boudec (2010), appendix A, for large n: ⌊0.50n − 0.980√n⌋ and ⌈0.50n + 1 + 0.980√n⌉.
    assert_eq!(percentile_ranks(100, 100.0, 0.5), Some((40, 61)));
    assert_eq!(percentile_ranks(1_000, 1_000.0, 0.5), Some((469, 532)));
}

/// For all supported n and p, the ranks cover at least what they claim, and not far more.
#[test]
fn the_normal_approximation_is_safe_where_it_is_used() {
    for p in [0.5, 0.75, 0.9, 0.95, 0.99, 0.999] {
        for beyond in [10.0, 15.0, 30.0, 100.0, 1_000.0] {
            let n = (beyond / (1.0_f64 - p)).round() as u64;
            let ranks = percentile_ranks(n, n as f64, p).expect("a supported percentile");
            let exact = exact(n, p, ranks);
            assert!((0.945..0.995).contains(&exact), "n = {n}, p = {p}: {exact}");
        }
    }
}
