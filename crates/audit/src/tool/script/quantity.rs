//! What a line of a summary is of, by what it is called.

use super::names::NAMES;
use crate::names::spaced;
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
    let name = spaced(name).replace(['_', '"'], " ").to_lowercase();
    let (bare, aside) = name.split_once('(').unwrap_or((&name, ""));
    let bare = bare.trim();
    // `Latency (p95)`
    let of_time = matches!(bare, "latency" | "response time");
    let aside = Some(aside.trim_end_matches(')')).filter(|_| of_time);
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
        .or_else(|| percentile(aside?))
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
