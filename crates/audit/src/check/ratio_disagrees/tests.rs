use super::super::testing::{CheckId, of, wrk};
use prony_checks::Severity;

#[test]
fn a_ratio_below_its_figures() {
    let b = wrk(&[
        ("32000.00", "16000.00"),
        ("960000", "480000"),
        (" 2.00ms", " 4.00ms"),
        ("3.90ms", "6.90ms"),
    ]);
    let text = |ratio: &str| {
        format!(
            "# A\n{}\n# B\n{b}\n# Difference\n\nB / A = {ratio}\n",
            wrk(&[])
        )
    };
    assert_eq!(of(CheckId::RatioDisagrees, &text("0.5")), []);
    assert_eq!(of(CheckId::RatioDisagrees, &text("0.500000")), []);
    let found = of(CheckId::RatioDisagrees, &text("0.51"));
    assert_eq!(found[0].lines, [13, 28, 33], "{found:?}");
    assert!(
        of(CheckId::RatioDisagrees, &text("2.0"))[0]
            .finding
            .text
            .contains("(it is A / B)")
    );
}

#[test]
fn a_rate_beside_its_count() {
    assert_eq!(
        of(CheckId::RatioDisagrees, &wrk(&[("960000", "860000")]))[0].lines,
        [11, 12]
    );
    assert_eq!(
        of(CheckId::RatioDisagrees, &wrk(&[("960000", "955000")])),
        []
    );
}

#[test]
fn a_time_of_one_digit_fits_many_rates() {
    let text = |rate: &str| {
        format!(
            "This is ApacheBench, Version 2.3\n\nServer Hostname: 127.0.0.1\nConcurrency Level:      2\n\
             Time taken for tests:   0.002 seconds\nComplete requests:      200\nFailed requests:        0\n\
             Requests per second:    {rate} [#/sec] (mean)\n"
        )
    };
    // 1.551 ms: printed by ab 2.3 itself.
    assert_eq!(of(CheckId::RatioDisagrees, &text("128949.07")), []);
    assert_eq!(of(CheckId::RatioDisagrees, &text("81000.00")), []);
    assert_eq!(of(CheckId::RatioDisagrees, &text("140000.00")).len(), 1);
    assert_eq!(of(CheckId::RatioDisagrees, &text("70000.00")).len(), 1);
}

#[test]
fn a_column_of_ratios() {
    let table = |last: &str| {
        format!(
            "| server | req/s | relative |\n|--|--|--|\n| a | 100 | 1.00 |\n| b | 150 | 1.50 |\n\
             | c | 80 | 0.80 |\n| d | 60 | {last} |\n"
        )
    };
    assert_eq!(of(CheckId::RatioDisagrees, &table("0.60")), []);
    let found = of(CheckId::RatioDisagrees, &table("0.75"));
    assert_eq!(
        (found[0].lines.as_slice(), found[0].finding.severity),
        ([6].as_slice(), Severity::Serious)
    );
}

#[test]
fn ratios_that_are_cut_off() {
    let table = |last: &str| {
        format!(
            "| server | req/s | relative |\n|--|--|--|\n| a | 10031.8 | 1.0 |\n| b | 2445.2 | 0.24 |\n\
             | c | 10745.5 | 1.07 |\n| d | 3810.3 | {last} |\n"
        )
    };
    // 0.3798
    for last in ["0.37", "0.38"] {
        assert_eq!(of(CheckId::RatioDisagrees, &table(last)), [], "{last}");
    }
    for (last, severity) in [("0.36", Severity::Serious), ("0.385", Severity::Warning)] {
        let found = of(CheckId::RatioDisagrees, &table(last));
        assert_eq!(found[0].finding.severity, severity, "{last}");
    }
}
