//! Numbers of rows.

use super::*;

/// The path of these rows gives `wrong` many where that is a number for a query.
fn wrong_count(step: &str, said: &str, own: &'static str, wrong: fn(&str) -> Option<usize>) {
    caught(&FULL, (step, said), own, move |site, request| {
        let value = request.target.split_once('=').map_or("none", |it| it.1);
        match wrong(value) {
            Some(count) if own == "/cached-queries" => {
                let row = |id: u32| (id, site.cache[&id]);
                Answer::rows(&ids(count).into_iter().map(row).collect::<Vec<_>>())
            }
            Some(count) => Answer::rows(&site.select(count)),
            None => site.honest(&request.target),
        }
    });
}

#[test]
fn more_than_500() {
    let said = "expected an array of 500 rows to /queries?queries=501; found 501 rows";
    let wrong = |value: &str| (value == "501").then_some(501);
    wrong_count("queries-clamped", said, "/queries", wrong);
}

#[test]
fn none_for_zero() {
    let said = "expected an array of 1 rows to /queries?queries=0; found 0 rows";
    let wrong = |value: &str| (value == "0").then_some(0);
    wrong_count("queries-clamped", said, "/queries", wrong);
}

#[test]
fn twenty_without_a_number() {
    let said = "expected an array of 1 rows to /queries; found 20 rows";
    let wrong = |value: &str| (value == "none").then_some(20);
    wrong_count("queries-clamped", said, "/queries", wrong);
}

#[test]
fn most_for_a_negative_number() {
    let said = "expected an array of 1 rows to /cached-queries?count=-5; found 500 rows";
    let wrong = |value: &str| (value == "-5").then_some(500);
    wrong_count("cached-queries-clamped", said, "/cached-queries", wrong);
}

#[test]
fn updates_beyond_500() {
    let said = "expected an array of 500 rows to /updates?queries=501; found 501 rows";
    let wrong = |value: &str| (value == "501").then_some(501);
    wrong_count("updates-clamped", said, "/updates", wrong);
}

#[test]
fn an_error_for_what_is_no_number() {
    let said = (
        "queries-clamped",
        "expected status 200 to /queries?queries=foo; found 400",
    );
    caught(&FULL, said, "/queries", |site, request| {
        match request.target.ends_with("foo") {
            true => Answer {
                status: 400,
                ..Answer::new("text/plain", "no number")
            },
            false => site.honest(&request.target),
        }
    });
}

#[test]
fn an_object_instead_of_an_array_of_one() {
    let said = ("queries-clamped", "expected an array of 1 rows");
    caught(&FULL, said, "/queries", |site, request| {
        match site.select(count(&request.target))[..] {
            [row] if !request.target.contains("queries=1") => Answer::json(&object(row)),
            ref rows => Answer::rows(rows),
        }
    });
}
