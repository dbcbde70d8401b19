//! Failures that the columns or the rows of a table tell of: `| Success | 87.4% |`, `| Num. failures | 732 (93.2%) |`.

use super::TOLERABLE;
use crate::check::{CheckInput, UnnamedFinding, raise, share};
use crate::model::{Row, Table, TableCell};
use crate::quantity::{counts_requests, is_aim, rates_in};
use crate::text::number::leading;
use crate::words::{Words, words};
use prony_checks::Severity;

/// At most this many rows are told one by one.
const TOLD: usize = 6;

/// A cell of failures: its line, what its row or column is called, and the share, or the count where only that is known.
struct Failing {
    line: usize,
    of: String,
    told: String,
    share: Option<f64>,
}

pub(super) fn check(seen: &CheckInput<'_>, index: usize) -> Option<UnnamedFinding> {
    let document = &seen.documents[index];
    let rates = |table: &Table| -> Vec<(usize, f64)> {
        let lines = || {
            table
                .rows
                .iter()
                .flat_map(|row| &row.cells)
                .map(|cell| cell.line)
        };
        let (first, last) = (lines().min().unwrap_or(0), lines().max().unwrap_or(0));
        let own = seen.figures.iter().filter(|figure| {
            figure.document == index
                && figure.output.is_none()
                && (first..=last).contains(&figure.line)
        });
        own.map(|figure| (figure.line, figure.rate.value)).collect()
    };
    let tables = document.tables.iter().map(|(table, _)| table);
    // Where nothing says that anything was loaded, a table of aims is of a service, and of no test.
    let tested = !document.outputs.is_empty() || !document.commands.is_empty();
    let of_aims = |table: &Table| {
        let counted = |row: &Row| counts_requests(row.label()) && row.number(1).is_some();
        table.header.iter().any(|name| is_aim(name)) && !table.rows.iter().any(counted)
    };
    let failing: Vec<Failing> = tables
        .filter(|table| tested || !of_aims(table))
        .map(|table| (table, rates(table)))
        .filter(|(_, rates)| !rates.is_empty())
        .flat_map(|(table, rates)| of_table(table, &rates))
        .collect();
    let known = failing.iter().filter_map(|it| it.share);
    let worst = known.fold(0.0, f64::max);
    let first = failing.first()?;
    let mut told: Vec<String> = failing
        .iter()
        .map(|it| format!("{} {}", it.of, it.told))
        .collect();
    // One that fails on every page is told once.
    told.dedup();
    let more = match told.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let severity = if worst > TOLERABLE {
        Severity::Serious
    } else {
        Severity::Warning
    };
    let part = match first.share {
        Some(_) => format!("up to {} of the requests", share(worst)),
        None => "requests".to_owned(),
    };
    let text = format!(
        "{part} failed, as the table says ({}{more}): an error is often faster than an answer, so find out why they \
         failed before you compare the rates",
        told.iter()
            .take(TOLD)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", "),
    );
    let lines = failing.iter().map(|it| it.line);
    Some(raise(severity, document, lines, text))
}

/// A rate of nothing, beside rates of others, of which the lines and the values are known.
fn unanswered(table: &Table, rates: &[(usize, f64)]) -> Vec<Failing> {
    // The first column of rates is the headline; where no name says that it is one, what was read of it does.
    let read = |column: &usize| {
        let of_rates = |row: &&Row| {
            let number = row.number(*column).map_or(0.0, |number| number.value);
            let same = |rate: f64| number > 0.0 && (rate == number || rate == 1e3 * number);
            let mut own = rates
                .iter()
                .filter(|(line, _)| *line == row.line_of(*column));
            own.any(|(_, rate)| same(*rate))
        };
        table.rows.iter().filter(of_rates).count() >= 2
    };
    let mut columns = 1..table.header.len();
    let named = columns.find(|column| rates_in(table.name(*column)).is_some());
    let columns: Vec<usize> = match named {
        Some(column) => vec![column],
        None => (1..table.header.len()).filter(read).collect(),
    };
    let idle = columns
        .into_iter()
        .flat_map(|column| without_answers(table, column));
    idle.collect()
}

fn without_answers(table: &Table, column: usize) -> Vec<Failing> {
    let named = |row: &&Row| row.label().contains(char::is_alphabetic) && row.number(0).is_none();
    let rate = |row: &Row| row.number(column).map(|rate| rate.value);
    let answered = table
        .rows
        .iter()
        .filter(|row| rate(row).is_some_and(|rate| rate > 0.0));
    if answered.count() < 2 || !table.rows.iter().all(|row| named(&row)) {
        return Vec::new();
    }
    let idle = |row: &Row| {
        let label = row.label().to_lowercase();
        words(&label).any(|word| matches!(word, "idle" | "baseline" | "none"))
    };
    let rows = table
        .rows
        .iter()
        .filter(|row| rate(row) == Some(0.0) && !idle(row));
    rows.map(|row| Failing {
        line: row.line_of(column),
        of: row.label().to_owned(),
        told: "with a rate of 0".to_owned(),
        share: Some(1.0),
    })
    .collect()
}

fn of_table(table: &Table, rates: &[(usize, f64)]) -> Vec<Failing> {
    let mut failing = unanswered(table, rates);
    for row in &table.rows {
        for (column, cell) in row.cells.iter().enumerate().skip(1) {
            let (by_column, by_row) = (table.name(column), row.label());
            if is_wanted(by_column) {
                continue;
            }
            let (name, of) = if is_of_failures(by_column).is_some() {
                (by_column, by_row)
            } else {
                (by_row, by_column)
            };
            if let Some(share) = failing_per_second(table, row, column) {
                failing.push(Failing {
                    line: cell.line,
                    of: row.label().to_owned(),
                    told: format!("{} per second", cell.text),
                    share: Some(share),
                });
            }
            let Some(succeeded) = is_of_failures(name) else {
                continue;
            };
            let bare = || Some(cell.number?.value / 100.0).filter(|_| name.contains('%'));
            let share = percentage(cell).or_else(bare);
            let share = share.map(|p| if succeeded { 1.0 - p } else { p });
            let share = share.or_else(|| of_all(table, row, column).filter(|_| !succeeded));
            // A number of requests that succeeded says nothing without that of all.
            let count = cell.number.map_or(0.0, |number| number.value);
            let fails = match share {
                Some(share) => share > 0.0 && share <= 1.0,
                None => !succeeded && count > 0.0,
            };
            // A column of success beside one of failure says the same.
            let told = |it: &Failing| it.line == cell.line && it.of == of && it.share.is_some();
            if fails && !failing.iter().any(told) {
                failing.push(Failing {
                    line: cell.line,
                    of: of.to_owned(),
                    told: cell.text.chars().take(40).collect(),
                    share,
                });
            }
        }
    }
    failing
}

/// The share that a count of failures is of the requests counted in its row, or in its column.
fn of_all(table: &Table, row: &Row, column: usize) -> Option<f64> {
    let failed = row.number(column)?.value;
    let beside = (1..table.header.len()).find(|column| counts_requests(table.name(*column)));
    let beside = beside.filter(|_| is_of_failures(table.name(column)) == Some(false));
    let below = || {
        let all = table.rows.iter().find(|row| counts_requests(row.label()))?;
        all.number(column)
    };
    let all = match beside {
        Some(column) => row.number(column),
        None => below(),
    };
    let all = all
        .map(|all| all.value)
        .filter(|all| *all >= failed && *all > 0.0)?;
    (failed > 0.0).then_some(failed / all)
}

/// The share of requests that failed, of failures per second beside requests per second, as Locust gives them.
fn failing_per_second(table: &Table, row: &Row, column: usize) -> Option<f64> {
    let of = |column: usize, of: &str| {
        let name = table.name(column).to_lowercase();
        let time = ["/s", "per second"].iter().any(|it| name.contains(it));
        time && words(&name).next() == Some(of)
    };
    (of(column, "failures") || of(column, "errors")).then_some(())?;
    let failed = row.number(column).filter(|failed| failed.value > 0.0)?;
    let all = (1..table.header.len()).find(|column| of(*column, "requests"))?;
    let all = row.number(all).filter(|all| all.value >= failed.value)?;
    Some(failed.value / all.value)
}

/// Does a column say what was to be reached, or how far the others are apart?
fn is_wanted(name: &str) -> bool {
    const WANTED: Words = Words(
        "target, goal, threshold, limit, expected, slo, sla, requirement, meta, objetivo, 目标, 목표, \
        difference, diff, delta, change, improvement, 差异, 差值, 变化, 차이, écart, diferencia, \
        diferença, unterschied, разница",
    );
    let name = name.to_lowercase();
    WANTED.any_of(&name)
}

/// Is a column of failures, or (true) of success?
fn is_of_failures(name: &str) -> Option<bool> {
    const FAILED: Words = Words(
        "실패, 에러, 에러율, 오류, gagal, error, errors, failed, failures, failure, fails, timeouts, \
        non2xx, erro, erros, falhas, errores, fallos, fallidas, erreur, erreurs, échecs, fehler, \
        fehlerrate, ошибка, ошибки, ошибок, 错误, 错误率, 错误数, 失败, 失败率, 失败数, エラー, エラー率, 失敗",
    );
    const SUCCEEDED: Words = Words(
        "passed, 성공, 성공률, 成功, успешно, exitosas, berhasil, success, successful, succeeded, \
        sucesso, succès, éxito, exito, успешных, 成功率",
    );
    const OTHER: Words = Words("std, standard, margin, relative, max, avg");
    let lower = name.to_lowercase();
    if OTHER.any_of(&lower) || lower.contains('±') || lower.contains("/s") {
        return None;
    }
    if FAILED.any_of(&lower) {
        return Some(false);
    }
    SUCCEEDED.any_of(&lower).then_some(true)
}

/// The percentage of a cell, as a share: `87.4%`, `732 (93.2%)`.
fn percentage(cell: &TableCell) -> Option<f64> {
    let (before, _) = cell.text.split_once('%')?;
    let digits = before.trim_end();
    let from = digits
        .rfind(|c: char| !c.is_ascii_digit() && c != '.')
        .map_or(0, |at| at + 1);
    let from = (from..=digits.len()).find(|i| digits.is_char_boundary(*i))?;
    let (number, rest) = leading(&digits[from..])?;
    rest.is_empty().then_some(number.value / 100.0)
}

#[cfg(test)]
mod tests {
    use crate::check::testing::{CheckId, of};
    use prony_checks::Severity;

    #[test]
    fn columns_and_rows_of_failures() {
        let table = |rows: &str| format!("| API | Req/sec | Success |\n|--|--|--|\n{rows}");
        let found = of(
            CheckId::Errors,
            &table("| a | 9000 | 100% |\n| b | 700 | 87.4% |\n"),
        );
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([4].as_slice(), Severity::Serious)
        );
        assert!(found[0].finding.text.contains("12.6 %"), "{found:?}");
        assert_eq!(
            of(
                CheckId::Errors,
                &table("| a | 9000 | 100% |\n| b | 700 | 100% |\n")
            ),
            []
        );
        let counts = "| API | Req/sec | Errors |\n|--|--|--|\n| a | 9000 | 0 |\n| b | 700 | 12 |\n";
        assert_eq!(
            of(CheckId::Errors, counts)[0].finding.severity,
            Severity::Warning
        );
        let rows = "| | a | b |\n|--|--|--|\n| Num. failures | 0 (0%) | 732 (93.2%) |\n\
                    | Avg. num. requests/sec | 35.6 | 13.1 |\n| Avg. num. failures/sec | 0 | 12.2 |\n";
        let found = of(CheckId::Errors, rows);
        assert!(found[0].finding.text.contains("93.2 %"), "{found:?}");
        let abroad = "| Stack | RPS Médio | Taxa Sucesso | Taxa Erro |\n|--|--|--|--|\n| a | 251.4 | 100% | 0% |\n\
                      | b | 251.08 | 99.16% | 0.84% |\n";
        let found = of(CheckId::Errors, abroad);
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([4].as_slice(), Severity::Serious)
        );
        assert!(found[0].finding.text.contains("(b 99.16%)"), "{found:?}");
        let per_second = "| Setup | Requests/sec | Failures/sec |\n|--|--|--|\n| one | 80.0 | 4.0 |\n| two | 270.0 | 0.0 |\n";
        let found = of(CheckId::Errors, per_second);
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([3].as_slice(), Severity::Serious)
        );
        assert!(
            found[0].finding.text.starts_with("up to 5.0 %"),
            "{found:?}"
        );
        // How far a rate is off is no failure.
        let spread =
            "| API | Req/sec | Std error % |\n|--|--|--|\n| a | 9000 | 1.2% |\n| b | 700 | 2% |\n";
        assert_eq!(of(CheckId::Errors, spread), []);
    }

    #[test]
    fn counts_beside_or_below_the_number_of_requests() {
        let rows = "| Metric | Value | Target |\n|--|--|--|\n| Total Requests | 3,765 | - |\n| Throughput | 19.6 req/s | > 100 req/s |\n\
                    | Total Errors | 1,196 | 5 |\n";
        let found = of(CheckId::Errors, rows);
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([5].as_slice(), Severity::Serious)
        );
        let columns = "| users | Requests | Errors | Avg TPS |\n|--|--|--|--|\n| 200 | 1000 | 0 | 2.7 |\n| 400 | 2000 | 7 | 8 |\n";
        let found = of(CheckId::Errors, columns);
        assert!(
            found[0].finding.text.starts_with("up to 0.350 %"),
            "{found:?}"
        );
        let apart = "| 指标 | a | b | 差异 |\n|--|--|--|--|\n| 吞吐量 RPS | 122157 | 121148 | -0.83% |\n| 成功率 | 100% | 100% | 0% |\n";
        assert_eq!(of(CheckId::Errors, apart), []);
        let passed = "| Metric | a | b |\n|--|--|--|\n| Throughput (req/sec) | 2723.2 | 2771.6 |\n| Requests Passed (%) | 19.53 | 100 |\n";
        assert_eq!(of(CheckId::Errors, passed)[0].lines, [4]);
    }

    #[test]
    fn a_rate_of_nothing_below_a_line_of_rates() {
        let table = "> Requests per second\n\n| Framework | Mean | Stddev |\n|--|--|--|\n| a | 73485.63 | 7802.66 |\n\
                     | b | 70015.33 | 7631.40 |\n| c | 0.00 | 0.00 |\n";
        assert_eq!(of(CheckId::Errors, table)[0].lines, [7]);
    }
}
