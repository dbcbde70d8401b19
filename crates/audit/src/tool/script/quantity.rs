//! What a line of a summary is of, by what it is called.

use crate::read::lines::without_markup;
use crate::read::number::leading;

/// A line of a summary is no sentence.
const LONGEST: usize = 120;

/// What a line of a summary is of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum What {
    Requests,
    Failed,
    TimedOut,
    /// The share that failed.
    Share,
    /// The share that did not.
    Success,
    Rate,
    Lasted,
    Mean,
    Least,
    Most,
    Percentile(f64),
    Connections,
    Url,
}

const NAMES: [(What, &[&str]); 11] = [
    (
        What::Requests,
        &[
            "requests",
            "total requests",
            "completed requests",
            "complete requests",
            "requests completed",
            "requests sent",
            "total requests sent",
            "number of requests",
            "request count",
            "sample",
            "samples",
            "# samples",
            "count",
            "总请求数",
            "请求总数",
            "総リクエスト数",
            "総リクエスト",
            "총 요청",
            "총 요청 수",
            "total de requisições",
            "total de peticiones",
            "total de requests",
            "всего запросов",
            "requêtes totales",
            "total des requêtes",
        ],
    ),
    (
        What::Failed,
        &[
            "failed",
            "failed requests",
            "failures",
            "errors",
            "total errors",
            "error count",
            "unsuccessful",
            "requests failed",
            "失败",
            "失败数",
            "失败请求",
            "失敗",
            "실패",
            "falhas",
            "erros",
            "errores",
            "ошибки",
            "ошибок",
            "échecs",
            "erreurs",
            "fehler",
        ],
    ),
    (What::TimedOut, &["timeouts", "timed out", "time outs"]),
    (
        What::Share,
        &[
            "error rate",
            "error %",
            "errors %",
            "% errors",
            "fail rate",
            "failure rate",
            "error",
            "错误率",
            "失败率",
            "エラー率",
            "에러율",
            "taxa de erro",
            "taxa de erros",
            "tasa de error",
            "tasa de errores",
            "taux d'erreur",
            "taux d'erreurs",
            "fehlerrate",
        ],
    ),
    (
        What::Success,
        &[
            "success rate",
            "success %",
            "成功率",
            "성공률",
            "taxa de sucesso",
            "tasa de éxito",
            "taux de succès",
            "taux de réussite",
        ],
    ),
    (
        What::Lasted,
        &[
            "total time",
            "time taken",
            "elapsed",
            "elapsed time",
            "total duration",
            "duration",
            "test duration",
            "wall time",
            "总耗时",
            "总时间",
            "총 시간",
            "tempo total",
            "tiempo total",
            "temps total",
            "общее время",
            "gesamtzeit",
        ],
    ),
    (
        What::Mean,
        &[
            "avg latency",
            "average latency",
            "mean latency",
            "latency avg",
            "latency mean",
            "avg response time",
            "average response time",
            "mean response time",
            "response time avg",
            "avg time",
            "average time",
            "mean time",
            "avg",
            "average",
            "mean",
            "平均响应时间",
            "平均延迟",
            "平均レイテンシ",
            "平均応答時間",
            "평균 응답 시간",
            "평균 응답시간",
            "평균 지연",
            "tempo médio",
            "tempo médio de resposta",
            "latência média",
            "tiempo medio",
            "tiempo promedio",
            "latencia media",
            "latencia promedio",
            "temps moyen",
            "temps de réponse moyen",
            "latence moyenne",
            "среднее время",
            "средняя задержка",
        ],
    ),
    (
        What::Least,
        &[
            "min",
            "minimum",
            "fastest",
            "min latency",
            "min time",
            "min response time",
            "latency min",
            "最小",
        ],
    ),
    (
        What::Most,
        &[
            "max",
            "maximum",
            "slowest",
            "max latency",
            "max time",
            "max response time",
            "latency max",
            "最大",
        ],
    ),
    (
        What::Connections,
        &[
            "concurrency",
            "connections",
            "concurrent connections",
            "concurrent requests",
            "concurrent clients",
            "concurrency level",
            "并发",
            "并发数",
            "同時接続数",
            "동시 연결",
            "conexões",
            "conexiones",
            "connexions",
        ],
    ),
    (
        What::Url,
        &[
            "url",
            "target",
            "target url",
            "host",
            "endpoint",
            "base url",
        ],
    ),
];

/// What a line is of, its value, and its name in small letters.
pub(super) fn quantity(line: &str) -> Option<(What, String, String)> {
    let line = line.trim();
    // JSON is read as a whole.
    let short = line.len() <= LONGEST
        && !line.starts_with(['"', '{', '<'])
        && line.contains([':', '=', '：']);
    (short && line.bytes().any(|b| b.is_ascii_digit())).then_some(())?;
    let plain = without_markup(line);
    let at = plain.find([':', '=', '：'])?;
    let (name, value) = plain.split_at(at);
    named(name, value.trim_start_matches([':', '=', '：', ' ', '\t']))
}

/// What a value is of, by its name.
pub(super) fn named(name: &str, value: &str) -> Option<(What, String, String)> {
    let value = value
        .trim_matches(|c: char| matches!(c, '\'' | '"' | ',' | ';' | '|') || c.is_whitespace());
    let name = name.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, ')' | '%' | '#'));
    let name = name.replace(['_', '"'], " ").to_lowercase();
    let bare = name.split('(').next().unwrap_or("").trim();
    if bare.is_empty() {
        return None;
    }
    let known = NAMES
        .iter()
        .find(|(_, names)| names.contains(&bare))
        .map(|(what, _)| *what);
    let what = known
        .or_else(|| rate(&name, value))
        .or_else(|| percentile(bare))
        .or_else(|| loosely(bare))?;
    let number = leading(value.trim_start_matches(['~', '≈'])).is_some();
    (number || what == What::Url && value.contains("://")).then(|| (what, value.to_owned(), name))
}

/// What a name of several words is of, whichever way a language puts them: `temps de réponse moyen`, `nombre total de requêtes`.
fn loosely(name: &str) -> Option<What> {
    const MEAN: [&str; 17] = [
        "avg",
        "average",
        "mean",
        "moyen",
        "moy.",
        "médio",
        "média",
        "medio",
        "media",
        "promedio",
        "средн",
        "平均",
        "평균",
        "durchschnitt",
        "mittlere",
        "trung bình",
        "rata-rata",
    ];
    const TIME: [&str; 23] = [
        "latency",
        "response",
        "time",
        "temps",
        "latence",
        "tempo",
        "latência",
        "tiempo",
        "latencia",
        "respuesta",
        "время",
        "задержк",
        "延迟",
        "响应",
        "レイテンシ",
        "応答",
        "응답",
        "지연",
        "antwortzeit",
        "latenz",
        "thời gian",
        "waktu",
        "respon",
    ];
    const REQUESTS: [&str; 12] = [
        "requests",
        "requêtes",
        "requisições",
        "peticiones",
        "solicitudes",
        "запросов",
        "请求",
        "リクエスト",
        "요청",
        "anfragen",
        "request",
        "permintaan",
    ];
    const ALL: [&str; 16] = [
        "total",
        "nombre",
        "number",
        "всего",
        "总",
        "合計",
        "総",
        "총",
        "cantidad",
        "número",
        "gesamt",
        "anzahl",
        "completed",
        "jumlah",
        "tổng",
        "количество",
    ];
    const LASTED: [&str; 9] = [
        "durée",
        "duration",
        "duración",
        "duração",
        "dauer",
        "длительность",
        "总耗时",
        "elapsed",
        "durasi",
    ];
    // What is counted or timed in parts, or was to be, is something else.
    const OTHER: [&str; 22] = [
        "per ", "par ", "por ", "/", "failed", "error", "success", "max", "min", "connect", "dns",
        "tls", "queue", "target", "ramp", "warm", "slow", "fast", "rapide", "lent", "first",
        "byte",
    ];
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&OTHER) || name.chars().count() > 40 {
        return None;
    }
    let what = if has(&MEAN) && has(&TIME) {
        What::Mean
    } else if has(&REQUESTS) && has(&ALL) && !has(&TIME) && !has(&MEAN) {
        What::Requests
    } else if has(&LASTED) && !has(&MEAN) {
        What::Lasted
    } else {
        return None;
    };
    Some(what)
}

/// Is it the rate: `Requests/sec`, `Throughput: 124 req/s`, `RPS`? Bytes are none, nor is what was to be sent.
fn rate(name: &str, value: &str) -> Option<What> {
    let bytes = ["b/s", "byte", "mbps", "bit"]
        .iter()
        .any(|unit| value.to_lowercase().contains(unit) || name.contains(unit));
    let other = [
        "peak",
        "max",
        "min",
        "target",
        "expected",
        "desired",
        "goal",
        "failed",
        "error",
        "concurren",
        "sent",
    ];
    let other = other.iter().any(|word| name.contains(word));
    let said = crate::figures::rates_in(name).is_some()
        || matches!(
            name,
            "吞吐量" | "スループット" | "처리량" | "vazão" | "rendimiento" | "débit" | "durchsatz"
        );
    (said && !bytes && !other).then_some(What::Rate)
}

/// `p99`, `p99 latency`, `95th percentile`, `latency p95`, `median`
pub(super) fn percentile(name: &str) -> Option<What> {
    if matches!(
        name,
        "median" | "median time" | "median latency" | "median response time" | "latency median"
    ) {
        return Some(What::Percentile(50.0));
    }
    let name = name
        .strip_prefix("latency ")
        .or_else(|| name.strip_suffix(" latency"))
        .unwrap_or(name);
    let name = name.strip_suffix(" response time").unwrap_or(name);
    let digits = name
        .strip_prefix('p')
        .or_else(|| name.strip_suffix("th percentile"))
        .or_else(|| name.strip_suffix('%'))?;
    let p: f64 = digits.trim().parse().ok()?;
    // `p999`
    let p = if p > 100.0 && digits.starts_with("99") {
        100.0 - 100.0 / 10_f64.powi(digits.len().try_into().ok()?)
    } else {
        p
    };
    (p > 0.0 && p < 100.0).then_some(What::Percentile(p))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_percentiles() {
        assert_eq!(percentile("p999"), Some(What::Percentile(99.9)));
        assert_eq!(percentile("95th percentile"), Some(What::Percentile(95.0)));
        assert_eq!(percentile("pipeline"), None);
    }

    #[test]
    fn names_in_any_order() {
        for (name, what) in [
            ("nombre total de requêtes", Some(What::Requests)),
            ("temps de réponse moyen", Some(What::Mean)),
            ("durée totale du test", Some(What::Lasted)),
            ("среднее время ответа", Some(What::Mean)),
            ("requests per connection", None),
            ("max response time", None),
        ] {
            assert_eq!(loosely(name), what, "{name}");
        }
    }
}
