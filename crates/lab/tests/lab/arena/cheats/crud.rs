//! Items that are read, listed, created and changed.

use super::*;

#[test]
fn an_item_that_no_statement_has_read() {
    let said = ("crud-counted", "found 0 statements");
    caught(&FULL, said, READ, |site, request| {
        let id = request.id().unwrap();
        match site.database.table().rows.get(&id) {
            Some(row) => Answer::json(&item(id, row)).field("X-Cache", "MISS"),
            None => Answer::none(),
        }
    });
}

#[test]
fn no_word_about_the_cache() {
    let said = ("crud-read", "expected X-Cache: HIT or MISS; found none");
    caught(&ALL, said, READ, |site, request| {
        site.honest(request).field("X-Cache", "")
    });
}

#[test]
fn another_word_about_the_cache() {
    let said = ("crud-read", "found \"yes\"");
    caught(&ALL, said, READ, |site, request| {
        site.honest(request).field("X-Cache", "yes")
    });
}

#[test]
fn an_empty_item_instead_of_404() {
    let said = ("crud-read", "expected status 404; found 200");
    caught(&ALL, said, READ, |site, request| {
        match site.honest(request) {
            answer if answer.status == 404 => Answer::json(&Value::Null),
            answer => answer,
        }
    });
}

#[test]
fn a_change_of_what_does_not_exist() {
    let said = ("crud-update", "expected status 404; found 200");
    caught(&ALL, said, ("PUT", "/crud"), |site, request| {
        site.honest(request).status(200)
    });
}

#[test]
fn an_old_item_after_its_change() {
    let said = ("crud-update", "after PUT; found ");
    caught(&ALL, said, ("PUT", "/crud"), |site, request| {
        let id = request.id().unwrap();
        let old = site.cache.lock().unwrap().get(&id).cloned();
        let answer = site.honest(request);
        if let Some(old) = old {
            site.cache.lock().unwrap().insert(id, old);
        }
        answer
    });
}

#[test]
fn a_change_that_is_not_stored() {
    let said = ("crud-update", "in the table; found ");
    caught(&ALL, said, ("PUT", "/crud"), |site, request| {
        let id = request.id().unwrap();
        let rows = site.database.table().rows.clone();
        let answer = site.honest(request);
        if answer.status == 200 {
            let kept = (std::time::Instant::now() + KEPT, answer.value());
            site.cache.lock().unwrap().insert(id, kept);
            site.database.table().rows = rows;
        }
        answer
    });
}

#[test]
fn a_cache_that_is_kept_too_long() {
    let said = ("crud-expiry", "in the table; found ");
    caught(&FULL, said, READ, |site, request| {
        site.read(request.id().unwrap(), Duration::from_secs(60))
    });
}

#[test]
fn hits_of_what_was_read() {
    let said = ("crud-expiry", "expected X-Cache: MISS");
    caught(&FULL, said, READ, |site, request| {
        match site.honest(request) {
            answer if answer.status == 200 => answer.field("X-Cache", "HIT"),
            answer => answer,
        }
    });
}

#[test]
fn a_creation_with_another_status() {
    let said = ("crud-create", "expected status 201; found 200");
    caught(&ALL, said, ("POST", "/crud"), |site, request| {
        site.honest(request).status(200)
    });
}

#[test]
fn a_creation_that_is_not_stored() {
    let said = ("crud-create", "expected status 200; found 404");
    caught(&ALL, said, ("POST", "/crud"), |site, request| {
        let answer = site.honest(request);
        let id = answer.value()["id"].as_u64().unwrap();
        site.database.table().rows.remove(&id);
        answer
    });
}

#[test]
fn a_creation_that_changes_nothing_the_second_time() {
    let said = ("crud-create", "expected \"");
    caught(&ALL, said, ("POST", "/crud"), |site, request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let id = body["id"].as_u64().unwrap();
        let found = site.database.table().rows.get(&id).map(|row| item(id, row));
        match found {
            Some(item) => Answer::json(&item).status(201),
            None => site.honest(request),
        }
    });
}

#[test]
fn a_list_from_a_cache() {
    let said = ("crud-list", "quantity: ");
    caught(&ALL, said, ("GET", "/crud/items"), |site, request| {
        if request.id().is_some() {
            return site.honest(request);
        }
        let limit = request.number("limit", 10).clamp(1, 50) as usize;
        let offset = (request.number("page", 1) as usize - 1) * limit;
        let category = request.parameter("category");
        Answer::list(&of_category(&site.kept, category, limit, offset))
    });
}

#[test]
fn pages_that_begin_with_0() {
    let said = ("crud-list", "id: ");
    caught(&ALL, said, ("GET", "/crud/items"), |site, request| {
        if request.id().is_some() {
            return site.honest(request);
        }
        let limit = request.number("limit", 10).clamp(1, 50) as usize;
        let page = request.number("page", 0) as usize;
        let rows = &site.database.table().rows;
        let category = request.parameter("category");
        Answer::list(&of_category(rows, category, limit, page * limit))
    });
}
