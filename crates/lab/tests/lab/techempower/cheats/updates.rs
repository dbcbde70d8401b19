//! Updates.

use super::*;

/// Rows that are read, and the same with new numbers.
type Rows = Vec<(u32, u32)>;

/// `cheat` writes and answers.
fn wrong(step: &str, said: &str, cheat: fn(&Site, Rows, Rows) -> Rows) {
    caught(&ALL, (step, said), "/updates", move |site, request| {
        let old = site.select(count(&request.target));
        let new: Rows = old.iter().map(|row| (row.0, any_id())).collect();
        Answer::rows(&cheat(site, old, new))
    });
}

#[test]
fn not_written() {
    let said = "rows with another number, 0 changed at all";
    wrong("updates-written", said, |_, _, new| new);
}

#[test]
fn answered_with_the_old_numbers() {
    let said = "found the numbers from before the update in";
    wrong("updates-written", said, |site, old, new| {
        site.database.update(&new);
        old
    });
}

#[test]
fn no_new_numbers() {
    let said = "expected a new number in each row; found the old one again in";
    wrong("updates-written", said, |site, old, _| {
        site.database.update(&old);
        old
    });
}

#[test]
fn other_rows_written() {
    let said = "changed, which no answer has";
    wrong("updates-written", said, |site, _, new| {
        let others: Rows = new.iter().map(|row| (any_id(), row.1)).collect();
        site.database.update(&others);
        new
    });
}

#[test]
fn half_of_them_written() {
    let said = "rows with another number";
    wrong("updates-written", said, |site, _, new| {
        site.database.update(&new[..new.len() / 2]);
        new
    });
}

#[test]
fn one_number_for_all_rows() {
    let said = "expected numbers drawn at random; found 1 numbers";
    wrong("updates-written", said, |site, _, mut new| {
        for row in &mut new {
            row.1 = 4_242;
        }
        site.database.update(&new);
        new
    });
}

#[test]
fn more_rows_written() {
    let said = "expected no row to be changed but those of the answers";
    wrong("updates-written", said, |site, _, new| {
        site.database.update(&new);
        site.database.update(&[(any_id(), any_id())]);
        new
    });
}

#[test]
fn written_after_the_answer() {
    // Late writes of earlier steps may come in between.
    let said = "expected the ";
    wrong("updates-written", said, |site, _, new| {
        let (database, late) = (Arc::clone(&site.database), new.clone());
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(500));
            database.update(&late);
        });
        new
    });
}

#[test]
fn not_read_first() {
    let said = "statements in the database for";
    caught(
        &ALL,
        ("updates-counted", said),
        "/updates",
        |site, request| {
            let rows: Rows = ids(count(&request.target))
                .into_iter()
                .map(|id| (id, any_id()))
                .collect();
            site.database.update(&rows);
            Answer::rows(&rows)
        },
    );
}

#[test]
fn read_with_one_statement() {
    let said = "statements in the database for";
    caught(
        &ALL,
        ("updates-counted", said),
        "/updates",
        |site, request| {
            let mut rows = site.database.select(&ids(count(&request.target)));
            for row in &mut rows {
                row.1 = any_id();
            }
            site.database.update(&rows);
            Answer::rows(&rows)
        },
    );
}

#[test]
fn read_twice() {
    let said = "rows in the database for";
    caught(
        &ALL,
        ("updates-counted", said),
        "/updates",
        |site, request| {
            site.select(count(&request.target));
            site.honest(&request.target)
        },
    );
}
