//! Rows by themselves.

use super::*;

#[test]
fn one_row_for_all() {
    let said = ("db", "found the same id again and again: 7, 7");
    caught(&ALL, said, "/db", |site, _| {
        Answer::json(&object(site.database.select(&[7])[0]))
    });
}

#[test]
fn ids_in_order() {
    let next = AtomicU32::new(0);
    let said = ("db", "found ids 1 apart");
    caught(&ALL, said, "/db", move |site, _| {
        let id = 1 + next.fetch_add(1, Ordering::Relaxed) % ROWS;
        Answer::json(&object(site.database.select(&[id])[0]))
    });
}

#[test]
fn rows_of_a_part_of_the_table() {
    let said = ("db", "only");
    caught(&ALL, said, "/db", |site, _| {
        let id = rand::random_range(1..=1_000);
        Answer::json(&object(site.database.select(&[id])[0]))
    });
}

#[test]
fn an_id_as_a_string() {
    let said = ("db", "expected a row with id and randomNumber");
    caught(&ALL, said, "/db", |site, _| {
        let (id, number) = site.select(1)[0];
        Answer::json(&json!({"id": id.to_string(), "randomNumber": number}))
    });
}

#[test]
fn a_key_in_lower_case() {
    let said = ("queries", "randomnumber");
    caught(&ALL, said, "/queries", |site, request| {
        site.honest(&request.target)
            .replace("randomNumber", "randomnumber")
    });
}

#[test]
fn an_array_of_one() {
    let said = ("db", "found \"[{");
    caught(&ALL, said, "/db", |site, _| Answer::rows(&site.select(1)));
}

#[test]
fn one_row_many_times() {
    let said = ("queries", "found the same id again and again");
    caught(&ALL, said, "/queries", |site, request| {
        let id = any_id();
        let row = |_| site.database.select(&[id])[0];
        Answer::rows(&(0..count(&request.target)).map(row).collect::<Vec<_>>())
    });
}

#[test]
fn neighbours() {
    let said = ("queries", "found ids 1 apart");
    caught(&ALL, said, "/queries", |site, request| {
        let first = rand::random_range(1..=ROWS - 500);
        let rows = (first..).take(count(&request.target));
        let rows: Vec<_> = rows.map(|id| site.database.select(&[id])[0]).collect();
        Answer::rows(&rows)
    });
}

#[test]
fn ids_in_order_at_random_distances() {
    let last = AtomicU32::new(0);
    let said = ("db", "found ids in order");
    // From the beginning again for each verification.
    caught(&ALL[..1], said, "/db", move |site, _| {
        let id = last.fetch_add(rand::random_range(200..=480), Ordering::Relaxed) + 1;
        Answer::json(&object(site.database.select(&[id])[0]))
    });
}

#[test]
fn always_the_same_ids() {
    let drawn = ids(500);
    let said = (
        "queries",
        "expected other ids in the next answer; found 20 of 20",
    );
    caught(&ALL, said, "/queries", move |site, request| {
        let ids = &drawn[..count(&request.target)];
        let rows: Vec<_> = ids
            .iter()
            .map(|id| site.database.select(&[*id])[0])
            .collect();
        Answer::rows(&rows)
    });
}
