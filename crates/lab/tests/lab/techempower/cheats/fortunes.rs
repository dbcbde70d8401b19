//! The page of fortunes.

use super::*;

fn wrong_page(step: &str, said: &str, cheat: impl Fn(&Site) -> Answer + Send + Sync + 'static) {
    caught(&ALL, (step, said), "/fortunes", move |site, _| cheat(site));
}

#[test]
fn a_script_that_is_not_escaped() {
    let said = "found the element <script>";
    wrong_page("fortunes", said, |site| {
        page(sorted(site.database.fortunes()), str::to_owned)
    });
}

#[test]
fn text_that_is_escaped_twice() {
    let said = "the text of a <script> element in row 11";
    wrong_page("fortunes", said, |site| {
        page(sorted(site.database.fortunes()), |text| {
            escaped(&escaped(text))
        })
    });
}

/// `<` is escaped and `&` is not.
#[test]
fn text_that_is_escaped_in_part() {
    let said = " < 1 < 2";
    wrong_page("fortunes-now", said, |site| {
        page(sorted(site.database.fortunes()), |text| {
            text.replace('<', "&lt;").replace('>', "&gt;")
        })
    });
}

#[test]
fn a_row_is_missing() {
    let said = "expected 13 rows with ids 0 to 12, each once; found 12 rows";
    wrong_page("fortunes", said, |site| {
        let mut rows = sorted(site.database.fortunes());
        rows.retain(|row| row.0 != 5);
        page(rows, escaped)
    });
}

#[test]
fn the_added_row_is_missing() {
    let said = "expected the row that is added, 0";
    wrong_page("fortunes", said, |site| {
        let mut rows = sorted(site.database.fortunes());
        rows.retain(|row| row.0 != 0);
        page(rows, escaped)
    });
}

#[test]
fn rows_in_the_order_of_the_table() {
    let said = "expected rows sorted by message";
    wrong_page("fortunes", said, |site| {
        let mut rows = site.database.fortunes();
        rows.push((0, super::super::server::ADDED.into()));
        page(rows, escaped)
    });
}

#[test]
fn rows_sorted_by_id() {
    let said = "expected rows sorted by message";
    wrong_page("fortunes", said, |site| {
        let mut rows = sorted(site.database.fortunes());
        rows.sort_by_key(|row| row.0);
        page(rows, escaped)
    });
}

#[test]
fn another_form() {
    for (from, to, said) in [
        ("<!DOCTYPE html>", "", "expected <!DOCTYPE html> first"),
        (
            "Fortunes</title>",
            "Rows</title>",
            "expected the title Fortunes",
        ),
        (
            "<th>id</th>",
            "<th>ID</th>",
            "expected the headings id and message",
        ),
        (
            "<td>12</td>",
            "<td>twelve</td>",
            "expected an id and a message in each row",
        ),
        ("<table>", "<table></table><table>", "expected one table"),
    ] {
        wrong_page("fortunes", said, move |site| {
            page(sorted(site.database.fortunes()), escaped).replace(from, to)
        });
    }
}

#[test]
fn another_type_or_no_charset() {
    for (media, said) in [
        (
            "text/html",
            "expected Content-Type: text/html; charset=utf-8",
        ),
        (
            "text/html; charset=latin1",
            "expected Content-Type: text/html; charset=utf-8",
        ),
        (
            "text/plain; charset=utf-8",
            "expected Content-Type: text/html",
        ),
    ] {
        wrong_page("fortunes", said, move |site| {
            page(sorted(site.database.fortunes()), escaped).field("Content-Type", media)
        });
    }
}

#[test]
fn a_page_that_is_rendered_once() {
    let rendered: Mutex<Option<String>> = Mutex::default();
    let said = ", which has just been inserted; found rows";
    wrong_page("fortunes-now", said, move |site| {
        let mut rendered = rendered.lock().unwrap();
        let make = || page(sorted(site.database.fortunes()), escaped).text();
        let html = rendered.get_or_insert_with(make).clone();
        Answer::new("text/html; charset=utf-8", html)
    });
}

/// A trigger would do that: there is never a wrong answer.
#[test]
fn a_page_that_is_rendered_when_the_table_changes() {
    let rendered: Mutex<(u64, String)> = Mutex::default();
    let said = ("fortunes-counted", "found 0 statements");
    caught(&FULL, said, "/fortunes", move |site, _| {
        let changes = site.database.tables().changes;
        let mut rendered = rendered.lock().unwrap();
        if rendered.1.is_empty() || rendered.0 != changes {
            let html = page(sorted(site.database.fortunes()), escaped).text();
            *rendered = (changes, html);
        }
        Answer::new("text/html; charset=utf-8", rendered.1.clone())
    });
}
