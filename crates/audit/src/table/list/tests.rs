use super::*;

#[test]
fn names_and_rates() {
    let text =
        "- [Echo](http://e) - 84,166 req/sec\n- **No Framework**: 84.0k req/sec\n- the rest\n";
    let (table, next) = read(&Lines::new(text), 0).unwrap();
    assert_eq!(
        (table.rows[0].label(), table.name(1), next),
        ("Echo", "req/sec", 2)
    );
    assert_eq!(table.rows[1].number(1).unwrap().value, 84_000.0);
    let text = "- **alpha**: ~84,634 req/s, 116.71μs avg latency\n- **beta**: ~37,321 req/s, 266.44μs avg latency\n";
    let (table, next) = read(&Lines::new(text), 0).unwrap();
    assert_eq!((table.rows[1].label(), next), ("beta", 2));
    assert_eq!(table.rows[0].number(1).unwrap().value, 84_634.0);
    let text = "  • 方案一：409.12 [#/sec]。\n\n  • 方案二：504.58 [#/sec]。\n\nthe rest\n";
    let (table, next) = read(&Lines::new(text), 0).unwrap();
    assert_eq!((table.rows.len(), next), (2, 3));
    assert_eq!(table.rows[1].label(), "方案二");
    let text = "alpha     Requests/sec:  300.5\nbeta      Requests/sec:  200.5\nc d   Requests/sec:   N/A\n";
    let (table, next) = read(&Lines::new(text), 0).unwrap();
    assert_eq!(
        (table.rows[2].label(), table.name(1), next),
        ("c d", "Requests/sec", 3)
    );
}

#[test]
fn loads_only() {
    let text = "c1-t1:   7600\nc4-t4:   20000\n- c8-t1: 32000\n\nport: 80\nport: 81\nport: 82\n";
    let (table, next) = read(&Lines::new(text), 0).unwrap();
    assert_eq!((table.rows.len(), next), (3, 3));
    assert_eq!(table.rows[2].label(), "c8-t1");
    assert!(read(&Lines::new(text), 4).is_none());
}

#[test]
fn items_without_marks_and_ranges() {
    let text =
        "Uvicorn only: ~20–25k req/sec\nGunicorn (sync): ~6–10k req/sec (bad for async apps)\n";
    let (table, next) = read(&Lines::new(text), 0).unwrap();
    assert_eq!((table.rows[1].label(), next), ("Gunicorn (sync)", 2));
    let range = table.rows[0].number(1).unwrap();
    assert_eq!((range.value, range.half), (22_500.0, 2_500.0));
    let text = "gRPC Throughput: 1699 req/s\nREST Throughput: 28 req/s\n";
    assert_eq!(
        read(&Lines::new(text), 0).unwrap().0.rows[1].label(),
        "REST Throughput"
    );
    // Quantities of one thing, percentiles, and settings.
    for text in [
        "Average throughput: 1699 req/s\nPeak throughput: 2800 req/s\n",
        "p50: 12ms\np99: 30ms\n",
        "Timeout: 5s\nInterval: 10s\n",
    ] {
        assert!(read(&Lines::new(text), 0).is_none(), "{text}");
    }
}

#[test]
fn times_behind_rates() {
    let text = "- alpha: ~84,634 req/s, 116.71μs avg latency\n- beta: ~37,321 req/s, 266.44μs avg latency\n";
    let (table, _) = read(&Lines::new(text), 0).unwrap();
    assert_eq!(
        (table.name(2), table.rows[1].cells[2].text.as_str()),
        ("avg latency", "266.44μs")
    );
}

#[test]
fn names_and_figures_below_a_line_of_rates() {
    let text = "We see RPS results like this:\n```\nFortunes:\nalpha [tokio]      559,042   (less)\nalpha [std]  374,854\n\n\
        Updates:\nalpha [std]   23,704\nalpha [tokio]       22,757\n```\n";
    let lines = Lines::new(text);
    let (table, next) = read(&lines, 3).unwrap();
    assert_eq!(
        (table.rows[0].label(), table.name(1), next),
        ("alpha [tokio]", "rps", 5)
    );
    assert_eq!(read(&lines, 7).unwrap().0.rows.len(), 2);
    let other = text.replace("RPS results", "results");
    assert!(read(&Lines::new(&other), 3).is_none());
    // The same label twice is of two things.
    let twice = format!("{text}\nSince then we see this:\n{text}");
    let found = crate::check::testing::of("spread-exceeds-effect", &twice);
    assert_eq!(found, []);
}

#[test]
fn quantities_in_other_languages_are_no_names() {
    for text in [
        "⏱️ Latence moy.: 1.37s\n⏱️ Latence max: 2.00s\n",
        "平均: 12ms\n最大: 20ms\n",
        "Tiempo medio: 3 s\nTiempo total: 40 s\n",
    ] {
        assert!(read(&Lines::new(text), 0).is_none(), "{text}");
    }
}
