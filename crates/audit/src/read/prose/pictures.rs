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

/// Is this a picture at all, and no badge?
pub(in crate::read) fn is_picture(line: &str) -> bool {
    let line = line.trim_start();
    let other = ["badge", "shields.io", "logo", "workflows"];
    let picture =
        line.starts_with("![") || line.starts_with("<img ") || line.starts_with(".. image::");
    picture && !other.iter().any(|word| line.to_lowercase().contains(word))
}

/// Does a heading say that results of a load test stand below it: `Load Test Results`, `Resultados do teste de carga`?
pub(in crate::read) fn heads_results(headings: &[&str]) -> bool {
    const RESULTS: [&str; 12] = [
        "result",
        "resultado",
        "ergebnis",
        "résultat",
        "результат",
        "結果",
        "结果",
        "결과",
        "risultat",
        "wyniki",
        "kết quả",
        "hasil",
    ];
    let lower: Vec<String> = headings
        .iter()
        .map(|heading| heading.to_lowercase())
        .collect();
    let has = |text: &String, words: &[&str]| words.iter().any(|word| text.contains(word));
    lower.last().is_some_and(|own| has(own, &RESULTS))
        && lower.iter().any(|text| names_a_test(text))
}

/// Does a heading name a load test, or a tool for one?
pub(in crate::read) fn names_a_test(heading: &str) -> bool {
    // Libraries have benchmarks, too.
    const ANY: [&str; 4] = ["bench", "performance", "rendimiento", "desempenho"];
    let lower = heading.to_lowercase();
    names_a_load_test(&lower) || ANY.iter().any(|word| lower.contains(word))
}

/// Does a heading, in small letters, name a test in which something is loaded, or a tool for that?
pub(in crate::read) fn names_a_load_test(heading: &str) -> bool {
    const TESTS: [&str; 22] = [
        "load test",
        "load-test",
        "loadtest",
        "stress",
        "k6",
        "wrk",
        "autocannon",
        "vegeta",
        "artillery",
        "jmeter",
        "locust",
        "gatling",
        "teste de carga",
        "prueba de carga",
        "pruebas de carga",
        "lasttest",
        "test de charge",
        "нагрузочн",
        "負荷",
        "压测",
        "压力测试",
        "부하",
    ];
    TESTS.iter().any(|word| heading.contains(word))
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
