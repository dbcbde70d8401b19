//! The page of `/fortunes`: rows of a table, one more, sorted and escaped.

use super::super::answer::HttpAnswer;
use super::super::http::token;
use super::super::wire::{Fault, excerpt};
use super::super::{Act, Depth, Visit};
use super::ask::{self, Media};
use super::html::Page;
use super::table;
use rand::RngExt;

/// Message that the server adds to those of the table, with id 0.
const ADDED: &str = "Additional fortune added at request time.";

/// Rows of the table.
const ROWS: usize = 12;

/// Step that judges a page by itself.
pub(super) const ALONE: Act = Act {
    name: "fortunes",
    tried: "GET /fortunes",
    from: Depth::Quick,
    run: fortunes,
};

/// Step that compares a page with the table.
pub(super) const NOW: Act = Act {
    name: "fortunes-now",
    tried: "GET /fortunes after a row was added to the table",
    from: Depth::Quick,
    run: fortunes_now,
};

/// Id and message.
type Fortune = (i64, String);

fn fortunes(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let page = read(&ask::once(visit, "/fortunes", Media::Html)?)?;
    let has = |fortune: &Fortune| page.contains(fortune);
    if !has(&(0, ADDED.to_owned())) {
        let expected = format!("the row that is added, 0 {ADDED:?}");
        return Err(Fault::new(expected, shown(&page)));
    }
    let mut ids: Vec<i64> = page.iter().map(|(id, _)| *id).collect();
    ids.sort_unstable();
    if ids != (0..=ROWS as i64).collect::<Vec<_>>() {
        let found = format!("{} rows with ids {ids:?}", page.len());
        return Err(Fault::new("13 rows with ids 0 to 12, each once", found));
    }
    is_sorted(&page)?;
    let message = |id: i64| page.iter().find(|fortune| fortune.0 == id);
    let is = |id: i64, right: fn(&str) -> bool, expected: &str| match message(id) {
        Some((_, text)) if !right(text) => Err(Fault::new(expected, excerpt(text.as_bytes()))),
        _ => Ok(()),
    };
    let element = |text: &str| text.starts_with("<script>") && text.ends_with("</script>");
    is(11, element, "the text of a <script> element in row 11")?;
    is(12, |text| !text.is_ascii(), "Japanese text in row 12")
}

/// A page that was rendered once, or of rows that were read once, does not have a row that is new.
fn fortunes_now(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let database = table::database(visit)?;
    let (id, word) = (
        visit.rng.random_range(1_000_i64..1_000_000),
        token(visit, 8),
    );
    // Escaped twice, or not at all, it is another text.
    let message = format!("{word} <b>bold</b> & \"two\" 'one' &lt; 1 < 2 été");
    let quoted = message.replace('\'', "''");
    // Rows from before, and the new one.
    let rows = table::ask(
        database,
        &format!(
            "WITH new AS (INSERT INTO fortune (id, message) VALUES ({id}, '{quoted}') RETURNING id, message) \
             SELECT id, message FROM fortune UNION ALL SELECT id, message FROM new"
        ),
    )?;
    let compared = compare(visit, id, &rows);
    // Also after a fault: the server is asked on.
    table::ask(database, &format!("DELETE FROM fortune WHERE id = {id}"))?;
    compared
}

/// A page has these rows of the table, of which one is new.
fn compare(visit: &Visit<'_>, new: i64, rows: &[Vec<String>]) -> Result<(), Fault> {
    let page = read(&ask::once(visit, "/fortunes", Media::Html)?)?;
    if page.iter().all(|fortune| fortune.0 != new) {
        let expected = format!("row {new}, which has just been inserted");
        return Err(Fault::new(expected, shown(&page)));
    }
    let mut right = vec![(0, ADDED.to_owned())];
    for row in rows {
        let [id, message] = &row[..] else {
            return Err(Fault::new(
                "two columns from the database",
                format!("{row:?}"),
            ));
        };
        let id = id
            .parse()
            .map_err(|_| Fault::new("an id from the database", id))?;
        right.push((id, message.clone()));
    }
    right.sort_by(|a, b| a.1.cmp(&b.1));
    for (right, found) in right.iter().zip(&page) {
        if right != found {
            let text = |(id, message): &Fortune| format!("{id} {}", excerpt(message.as_bytes()));
            return Err(Fault::new(text(right), text(found)));
        }
    }
    if page.len() == right.len() {
        return Ok(());
    }
    let expected = format!("{} rows", right.len());
    Err(Fault::new(expected, format!("{} rows", page.len())))
}

/// Fortunes of a page, whose form is right.
fn read(answer: &HttpAnswer) -> Result<Vec<Fortune>, Fault> {
    let text = std::str::from_utf8(&answer.body)
        .map_err(|_| Fault::new("a page in UTF-8", excerpt(&answer.body)))?;
    let page = Page::read(text)
        .map_err(|found| Fault::new("a page whose cells have escaped text alone", found))?;
    let form = |expected: &str, found: String| Err(Fault::new(expected, found));
    if !page.doctype {
        return form("<!DOCTYPE html> first", excerpt(&answer.body));
    }
    if page.title != "Fortunes" {
        return form("the title Fortunes", format!("{:?}", page.title));
    }
    if page.tables != 1 {
        return form("one table", format!("{} tables", page.tables));
    }
    let mut rows = page.rows.iter();
    let headings = rows.next().map(Vec::as_slice).unwrap_or_default();
    let words: Vec<&str> = headings.iter().map(|cell| cell.text.as_str()).collect();
    if words != ["id", "message"] || !headings.iter().all(|cell| cell.heading) {
        return form("the headings id and message", format!("{words:?}"));
    }
    let mut fortunes = Vec::new();
    for row in rows {
        let texts: Vec<&str> = row.iter().map(|cell| cell.text.as_str()).collect();
        match (&texts[..], texts.first().and_then(|id| id.parse().ok())) {
            ([_, message], Some(id)) => fortunes.push((id, (*message).to_owned())),
            _ => return form("an id and a message in each row", format!("{texts:?}")),
        }
    }
    Ok(fortunes)
}

fn is_sorted(page: &[Fortune]) -> Result<(), Fault> {
    match page.windows(2).find(|pair| pair[0].1 > pair[1].1) {
        None => Ok(()),
        Some(pair) => Err(Fault::new(
            "rows sorted by message",
            format!("row {} before row {}", pair[0].0, pair[1].0),
        )),
    }
}

/// Ids of a page, for a message.
fn shown(page: &[Fortune]) -> String {
    let ids: Vec<String> = page.iter().map(|(id, _)| id.to_string()).collect();
    format!("rows {}", ids.join(", "))
}
