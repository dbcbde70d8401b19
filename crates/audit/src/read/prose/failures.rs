//! Requests that failed, as sentences say.

use super::LOOKED_AT;
use crate::document::Failure;
use crate::read::lines::without_markup;

/// Requests that failed, as a line says: `3 of 200 requests failed`, `296 requests in 30 s, timeout 41`.
pub(in crate::read) fn failure(line: &str, number: usize) -> Option<Failure> {
    const FAILED: [&str; 8] = [
        "failed", "failures", "errors", "errored", "timeout", "timeouts", "timed", "lost",
    ];
    if !line.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    let lower = line.to_lowercase();
    if let Some(failed) = socket_errors(&lower) {
        return Some(Failure {
            line: number,
            failed,
            of: 0,
            timed_out: false,
        });
    }
    if let Some(percent) = error_rate(&lower) {
        return Some(Failure {
            line: number,
            failed: percent,
            of: HUNDREDTHS,
            timed_out: false,
        });
    }
    if let Some(failed) = counted(&lower) {
        return Some(Failure {
            line: number,
            failed,
            of: 0,
            timed_out: false,
        });
    }
    if let Some((failed, of)) = in_chinese(line) {
        return (failed > 0 && failed <= of).then_some(Failure {
            line: number,
            failed,
            of,
            timed_out: false,
        });
    }
    if !lower.contains("request") || !FAILED.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let plain = without_markup(&lower);
    let words: Vec<&str> = plain
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | ':'))
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| !word.is_empty())
        .take(LOOKED_AT)
        .collect();
    let n = |word: &str| word.parse::<u64>().ok();
    let at = |i: usize| words.get(i).copied().unwrap_or("");
    for i in 0..words.len() {
        // `3 of 200 requests failed`, `3 out of 200 requests timed out`
        let of = if at(i + 1) == "of" { 2 } else { 3 };
        let out_of = at(i + 1) == "of" || at(i + 1) == "out" && at(i + 2) == "of";
        if let (Some(failed), true, Some(all)) = (n(words[i]), out_of, n(at(i + of)))
            && at(i + of + 1).starts_with("request")
            && let Some(how) = words[i + of..]
                .iter()
                .take(6)
                .find(|word| FAILED.contains(word))
        {
            return (failed > 0 && failed <= all).then_some(Failure {
                line: number,
                failed,
                of: all,
                timed_out: how.starts_with("time"),
            });
        }
    }
    // `296 requests … timeout 41`: counts as wrk prints them, on one line.
    let all = (0..words.len())
        .find(|i| at(i + 1) == "requests")
        .and_then(|i| n(words[i]))?;
    let late = (0..words.len()).find(|i| matches!(words[*i], "timeout" | "timeouts"))?;
    let failed = n(at(late + 1)).filter(|failed| *failed > 0)?;
    Some(Failure {
        line: number,
        failed,
        of: all.max(failed),
        timed_out: true,
    })
}

/// A share that a sentence gives is kept in hundredths of a percent: of this many.
const HUNDREDTHS: u64 = 10_000;

/// What a line is about that says what is to be, and not what was.
const WANTED: [&str; 31] = [
    "<",
    ">",
    "≤",
    "≥",
    "target",
    "threshold",
    "goal",
    "should",
    "must",
    "below",
    "under ",
    "less than",
    "above",
    "within",
    "budget",
    "slo",
    "sla",
    "expect",
    "allow",
    "accept",
    "limit",
    "if ",
    "when ",
    "until",
    "meta ",
    "objetivo",
    "menor que",
    "menor a",
    "menos de",
    "inferior",
    "would",
];

/// `error rate: 4.2 %`, `uma taxa de erro de 3%`: in hundredths of a percent, if it is one of something measured.
fn error_rate(lower: &str) -> Option<u64> {
    const NAMES: [&str; 19] = [
        "error rate",
        "failure rate",
        "taxa de erro",
        "taxa de falha",
        "tasa de error",
        "tasa de fallo",
        "taux d'erreur",
        "fehlerrate",
        "процент ошибок",
        "доля ошибок",
        "错误率",
        "失败率",
        "エラー率",
        "에러율",
        "오류율",
        "tasa de errores",
        "taxa de erros",
        "tingkat error",
        "tỷ lệ lỗi",
    ];
    (lower.contains('%') && lower.len() < 300 && !lower.contains('|')).then_some(())?;
    let plain = without_markup(lower);
    let rest = NAMES
        .iter()
        .find_map(|name| Some(plain.split_once(name)?.1))?;
    let said: String = rest.chars().take_while(|c| *c != '%').take(24).collect();
    if WANTED.iter().any(|word| plain.contains(word)) || !rest[said.len()..].starts_with('%') {
        return None;
    }
    let from = said
        .rfind(|c: char| !c.is_ascii_digit() && c != '.' && c != ',')
        .map_or(0, |at| {
            at + said[at..].chars().next().map_or(1, char::len_utf8)
        });
    // Between the two may stand that it is so, and nothing of a change or of what is to be.
    const LINKS: [&str; 22] = [
        "of",
        "is",
        "was",
        "at",
        "about",
        "around",
        "hit",
        "reached",
        "de",
        "del",
        "do",
        "da",
        "d'environ",
        "critique",
        "ist",
        "lag",
        "bei",
        "von",
        "составил",
        "составила",
        "sebesar",
        "adalah",
    ];
    let mut between = said[..from]
        .split(|c: char| c.is_whitespace() || matches!(c, ':' | '=' | '~' | '≈' | '：' | '('));
    if !between.all(|word| word.is_empty() || LINKS.contains(&word)) {
        return None;
    }
    let percent: f64 = said[from..].trim().replace(',', ".").parse().ok()?;
    (percent > 0.0 && percent <= 100.0).then_some((percent * 100.0).round().max(1.0) as u64)
}

/// `Houve 6 requisições que falharam`, `7 requests timed out`: how many failed, where nothing says of how many.
fn counted(lower: &str) -> Option<u64> {
    const REQUESTS: [&str; 13] = [
        "requests",
        "request",
        "requisições",
        "peticiones",
        "solicitudes",
        "requêtes",
        "anfragen",
        "запросов",
        "запроса",
        "richieste",
        "permintaan",
        "calls",
        "请求",
    ];
    const FAILED: [&str; 16] = [
        "failed",
        "errored",
        "timed",
        "timeout",
        "timeouts",
        "falharam",
        "fallaron",
        "falló",
        "échoué",
        "fehlgeschlagen",
        "упали",
        "неудачных",
        "неуспешных",
        "fallite",
        "gagal",
        "refused",
    ];
    (lower.len() < 300 && !lower.contains('|')).then_some(())?;
    let plain = without_markup(lower);
    if WANTED.iter().any(|word| plain.contains(word)) {
        return None;
    }
    let words: Vec<&str> = plain
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | ':'))
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| !word.is_empty())
        .take(LOOKED_AT)
        .collect();
    words.windows(2).enumerate().find_map(|(at, pair)| {
        let n: u64 = pair[0].parse().ok().filter(|n| *n > 0)?;
        let before = at.checked_sub(1).map_or("", |before| words[before]);
        let part = matches!(
            before,
            "of" | "after" | "first" | "every" | "all" | "the" | "per" | "de" | "out"
        );
        let next = words.get(at + 2..words.len().min(at + 5))?;
        let none = next
            .iter()
            .any(|word| matches!(*word, "none" | "no" | "not" | "never"));
        (REQUESTS.contains(&pair[1])
            && !part
            && !none
            && next.iter().any(|word| FAILED.contains(word)))
        .then_some(n)
    })
}

/// wrk's counts of errors, copied into a sentence or a list: `connect 0, read 63, write 0, timeout 162`.
fn socket_errors(line: &str) -> Option<u64> {
    let from = line.find("connect ")?;
    let mut parts = line[from..].split(',');
    let sum = ["connect", "read", "write", "timeout"]
        .iter()
        .try_fold(0_u64, |sum, how| {
            let mut words = parts.next()?.split_whitespace();
            let named = words.next()? == *how;
            let digits = words
                .next()?
                .trim_end_matches(|c: char| !c.is_ascii_digit());
            named.then_some(sum.checked_add(digits.parse().ok()?)?)
        })?;
    (sum > 0).then_some(sum)
}

/// `50000个请求,503个失败`: how many failed, of how many.
fn in_chinese(line: &str) -> Option<(u64, u64)> {
    (line.contains("请求") && line.contains("失败")).then_some(())?;
    let before = |said: &str| {
        let (before, _) = line.split_once(said)?;
        let before = before.trim_end();
        let digits = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == ',');
        before[digits.len()..].replace(',', "").parse::<u64>().ok()
    };
    Some((before("个失败")?, before("个请求")?))
}
