//! Pictures of results, and links to them.

/// Does a line have a link to a text with results: `[here](results/json.md)`?
pub(in crate::read) fn links_to_results(line: &str) -> bool {
    const TEXTS: [&str; 6] = [".md", ".csv", ".txt", ".json", ".log", ".html"];
    let targets = line.split("](").skip(1);
    targets
        .filter_map(|rest| rest.split(')').next())
        .any(|target| {
            let target = target.to_lowercase();
            target.contains("result") && TEXTS.iter().any(|text| target.ends_with(text))
        })
}

/// Words in the text or the address of a picture that shows results.
const CHARTS: [&str; 14] = [
    "fig",
    "graph",
    "chart",
    "plot",
    "throughput",
    "latency",
    "req",
    "rps",
    "qps",
    "bench",
    "perf",
    "result",
    "measur",
    "speed",
];

/// Is this a picture of results: `![text](address)`, `<img …>`, `.. image::`? A logo is none.
pub(in crate::read) fn is_chart(line: &str) -> bool {
    let line = line.trim_start();
    if !(line.starts_with("![") || line.contains("<img ") || line.starts_with(".. image::")) {
        return false;
    }
    let line = line.to_lowercase();
    CHARTS.iter().any(|word| line.contains(word))
}

/// Does a picture say that it is of a rate or a time: `![Throughput](…)`?
pub(in crate::read) fn is_measured(line: &str) -> bool {
    const MEASURED: [&str; 7] = [
        "throughput",
        "latency",
        "req/s",
        "requests/s",
        "requests per s",
        "rps",
        "qps",
    ];
    let line = line.to_lowercase();
    MEASURED.iter().any(|word| line.contains(word))
}

/// Does a picture say that it is of results, or of a benchmark: `![Benchmark results](…)`? Badges and recordings are none.
pub(in crate::read) fn is_of_results(line: &str) -> bool {
    const OTHER: [&str; 6] = [
        "badge",
        "shields.io",
        ".gif",
        "workflows",
        "screenshot",
        "logo",
    ];
    let line = line.to_lowercase();
    (line.contains("result") || line.contains("benchmark"))
        && !OTHER.iter().any(|word| line.contains(word))
}
