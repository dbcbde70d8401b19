//! Rows that the database was not asked for as it should be.

use super::*;

fn from(rows: &std::collections::BTreeMap<u32, u32>, count: usize) -> Vec<(u32, u32)> {
    ids(count).into_iter().map(|id| (id, rows[&id])).collect()
}

#[test]
fn rows_from_a_cache() {
    let said = ("rows-now", "in an answer to /queries?queries=20");
    caught(&ALL, said, "/queries", |site, request| {
        Answer::rows(&from(&site.kept, count(&request.target)))
    });
}

/// Few of its rows are asked for when the table is compared.
#[test]
fn the_one_row_from_a_cache() {
    let said = ("db-counted", "found 0 statements");
    caught(&FULL, said, "/db", |site, _| {
        let rows = site.database.tables().world.clone();
        Answer::json(&object(from(&rows, 1)[0]))
    });
}

/// A replica in the process would do that: there is never a wrong answer.
#[test]
fn rows_that_no_statement_has_read() {
    let said = ("queries-counted", "found 0 statements");
    caught(&ALL, said, "/queries", |site, request| {
        let rows = site.database.tables().world.clone();
        Answer::rows(&from(&rows, count(&request.target)))
    });
}

#[test]
fn every_tenth_row_from_a_cache() {
    let said = ("queries-counted", "statements in the database");
    caught(&ALL, said, "/queries", |site, request| {
        let row = |(at, id): (usize, u32)| match at % 10 {
            0 => (id, site.database.tables().world[&id]),
            _ => site.database.select(&[id])[0],
        };
        let ids = ids(count(&request.target)).into_iter().enumerate();
        Answer::rows(&ids.map(row).collect::<Vec<_>>())
    });
}

#[test]
fn one_statement_for_all_rows() {
    for (depth, said) in [
        (Depth::Quick, "found 16 statements"),
        (Depth::Full, "found 64 statements"),
    ] {
        caught(
            &[depth],
            ("queries-counted", said),
            "/queries",
            |site, request| Answer::rows(&site.database.select(&ids(count(&request.target)))),
        );
    }
}

#[test]
fn every_statement_twice() {
    for (depth, said) in [
        (Depth::Quick, "found 640 statements"),
        (Depth::Full, "found 2560 statements"),
    ] {
        caught(
            &[depth],
            ("queries-counted", said),
            "/queries",
            |site, request| {
                site.select(count(&request.target));
                site.honest(&request.target)
            },
        );
    }
}

#[test]
fn statements_that_read_much_more() {
    caught(
        &[Depth::Quick],
        ("queries-counted", "rows in the database for 16 requests"),
        "/queries",
        |site, request| {
            let row = |id: u32| {
                let others = ids(10);
                site.database.select(&[&[id][..], &others].concat())[0]
            };
            let rows = ids(count(&request.target)).into_iter().map(row);
            Answer::rows(&rows.collect::<Vec<_>>())
        },
    );
}

#[test]
fn a_cache_that_asks_for_each_row() {
    let said = (
        "cached-queries-counted",
        "0 to 500 statements in the database for 20 requests; found 10000",
    );
    caught(&FULL, said, "/cached-queries", |site, request| {
        let row = |id: u32| site.database.select_cached(&[id])[0];
        let ids = ids(count(&request.target));
        Answer::rows(&ids.into_iter().map(row).collect::<Vec<_>>())
    });
}

#[test]
fn a_cache_that_asks_once_for_each_request() {
    let said = (
        "cached-queries-counted",
        "0 to 500 rows in the database for 20 requests; found 10000",
    );
    caught(&FULL, said, "/cached-queries", |site, request| {
        Answer::rows(&site.database.select_cached(&ids(count(&request.target))))
    });
}

#[test]
fn a_cache_of_another_table() {
    let said = ("cached-rows", "in an answer to /cached-queries?count=100");
    caught(&FULL, said, "/cached-queries", |site, request| {
        Answer::rows(&from(&site.kept, count(&request.target)))
    });
}

#[test]
fn a_cache_whose_ids_are_kept() {
    let drawn = ids(500);
    let said = ("cached-queries", "expected other ids in the next answer");
    caught(&ALL, said, "/cached-queries", move |site, request| {
        let ids = &drawn[..count(&request.target)];
        let rows: Vec<_> = ids.iter().map(|id| (*id, site.cache[id])).collect();
        Answer::rows(&rows)
    });
}

#[test]
fn errors_when_many_come_at_once() {
    let (site, inside) = (Arc::new(Site::new()), AtomicUsize::new(0));
    let addr = start(&site, move |site, request| {
        if path(&request.target) != "/queries" {
            return site.honest(&request.target);
        }
        let many = inside.fetch_add(1, Ordering::SeqCst) >= 10;
        thread::sleep(Duration::from_millis(20));
        inside.fetch_sub(1, Ordering::SeqCst);
        match many {
            true => Answer {
                status: 500,
                ..Answer::new("text/plain", "no connection left")
            },
            false => site.honest(&request.target),
        }
    });
    for depth in ALL {
        let found = inspect(&site, addr, depth).expect_err("the cheat went unnoticed");
        // Which step is the first where so many come together depends on how busy the machine is.
        let line = found.to_string();
        assert!(line.contains("requests at once; found 500"), "{line}");
    }
}
