//! Quantities: what the name of a column, a row or a heading says that its figures are.

use crate::words::{Words, words};

/// Does a text speak of a rate, and in which unit?
pub(crate) fn rate_unit(text: &str) -> Option<f64> {
    let text = text.to_lowercase();
    const SAID: Words = Words(
        "trans/s, req./s, msg/s, msgs/s, calls/s, hits/s, req/s, reqs/s, requests/s, request/s, \
        requests per s, req per s, reqs per s, request per s, #/sec, ops/s, echoes/s, answers/s, \
        responses/s, replies/s, transactions/s, messages/s",
    );
    /// "Requests per second" in other languages.
    const ELSEWHERE: Words = Words(
        "초당, 每秒请求, 每秒處理, 每秒处理, 毎秒, 秒間リクエスト, запросов/с, запросов в сек, anfragen pro s, \
        anfragen/s, requêtes par s, requêtes/s, requisições por s, peticiones por s",
    );
    const WORDS: Words = Words("rps, qps, tps, throughput, krps");
    let parts: Vec<&str> = words(&text).collect();
    // `MaxRPS`, as programs call their columns.
    let joined = |word: &str| {
        let bare = ["max", "avg", "mean", "peak", "min", "median"]
            .iter()
            .find_map(|which| word.strip_prefix(which));
        bare.is_some_and(|bare| WORDS.has(bare))
    };
    let named = |word: &&str| WORDS.has(word) || joined(word);
    let said = SAID.within(&text) || ELSEWHERE.within(&text) || parts.iter().any(named);
    said.then_some(())?;
    const BYTES: Words = Words("mb, kb, mib, kib, gb, bytes, byte, mbit, mbps, gbps, kbytes");
    (!BYTES.any_of(&text)).then_some(())?;
    let thousands = ["thousand", "kreq", "k req", "krps", "(k", "×1000", "x1000"];
    Some(if thousands.iter().any(|word| text.contains(word)) {
        1e3
    } else {
        1.0
    })
}

/// Does a text speak of something that is no rate?
pub(crate) fn is_other(text: &str) -> bool {
    let text = text.to_lowercase();
    const OTHER: Words = Words(
        "ms, us, ns, latency, latencies, time, seconds, secs, sec, memory, mem, cpu, mb, kb, mib, \
        gb, rss, errors, error, failed, failures, timeouts, p50, p75, p90, p95, p99, p999, avg, \
        mean, median, max, min, stdev, stddev, std, deviation, bytes, size, percent, duration, \
        total, count, transfer",
    );
    text.contains('%') || text.contains("µs") || text.contains("μs") || OTHER.any_of(&text)
}

/// Is a column one of rates, and no deviation or longest of them?
pub(crate) fn rates_in(name: &str) -> Option<f64> {
    let lower = name.to_lowercase();
    let spread = words(&lower).any(|word| {
        matches!(
            word,
            "stdev" | "stddev" | "std" | "deviation" | "error" | "errors" | "failed"
        ) || matches!(
            word,
            "failures" | "failure" | "ms" | "cpu" | "memory" | "time" | "latency"
        )
    });
    // What stands in brackets says how it was counted: `req/s (% of the first)`.
    let bare = name.split('(').next().unwrap_or(name);
    if spread || bare.contains('%') || name.contains('±') {
        return None;
    }
    rate_unit(name)
}

/// Is what stands above a table about something that is no rate? A machine may be called by its CPU.
pub(crate) fn is_about_other(caption: &str) -> bool {
    let caption = caption.to_lowercase();
    const OTHER: Words = Words("latency, latencies, ms, memory, rss, usage, utilization, p99");
    OTHER.any_of(&caption)
}

/// Does a name say that requests were counted?
pub(crate) fn counts_requests(name: &str) -> bool {
    const COUNTED: Words = Words(
        "requests, reqs, req, 성공요청, 성공 요청, samples, # samples, #samples, request count, requests \
        total, # requests, requests made, hits, requisições, requisicoes, peticiones, \
        solicitudes, requêtes, anfragen, запросов, запросы, всего запросов, 请求数, 总请求数, 请求总数, \
        リクエスト数, 요청 수, 총 요청, 총 요청 수, 요청수",
    );
    let name = name.to_lowercase();
    let name = name.trim_matches(|c: char| !c.is_alphanumeric());
    let bare = [
        "total de ",
        "total ",
        "number of ",
        "no. of ",
        "completed ",
        "nº de ",
        "# ",
    ]
    .iter()
    .find_map(|word| name.strip_prefix(word))
    .unwrap_or(name);
    COUNTED.has(name) || COUNTED.has(bare)
}

/// Does a column say what is to be reached?
pub(crate) fn is_aim(name: &str) -> bool {
    const AIMS: Words = Words("target, goal, threshold, slo, sla, objetivo, 目标, 목표");
    let name = name.to_lowercase();
    AIMS.any_of(&name)
}

/// Is it the name of a column without measurements: targets, changes or notes?
pub(crate) fn is_target(name: &str) -> bool {
    const WORDS: Words = Words(
        "expected, limit, change, improvement, diff, difference, delta, status, unit, description, \
        notes",
    );
    is_aim(name) || WORDS.any_of(&name.to_lowercase())
}
