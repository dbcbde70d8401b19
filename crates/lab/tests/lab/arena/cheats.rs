//! Cheats: each is an honest server with one small difference.

use super::database::{item, of_category, of_prices};
use super::inspect;
use super::server::{Answer, KEPT, Request, Site, start};
use crate::support::serve;
use prony_lab::contract::{Depth, Violation};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufReader, Read, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const ALL: [Depth; 3] = [Depth::Quick, Depth::Full, Depth::Thorough];
const FULL: [Depth; 2] = [Depth::Full, Depth::Thorough];

fn refused(violation: &Violation, (step, said): (&str, &str)) {
    assert_eq!(violation.step, step, "{violation}");
    let line = violation.to_string();
    assert!(line.contains(said), "{said:?} is not said: {line}");
    assert!(line.len() < 500 && !line.contains('\n'), "{line}");
}

/// Must be refused at each of these depths.
fn caught_at(depths: &[Depth], said: (&str, &str), site: &Site, addr: SocketAddr) {
    for &depth in depths {
        match inspect(site, addr, depth) {
            Ok(_) => panic!("{depth:?}: the cheat went unnoticed"),
            Err(violation) => refused(&violation, said),
        }
    }
}

/// Must be refused where requests of this method below this path have other answers.
fn caught(
    depths: &[Depth],
    said: (&str, &str),
    (method, path): (&'static str, &'static str),
    cheat: impl Fn(&Site, &Request) -> Answer + Send + Sync + 'static,
) {
    let site = Arc::new(Site::new());
    let addr = start(&site, move |site, request| match request.is(method, path) {
        true => cheat(site, request),
        false => site.honest(request),
    });
    caught_at(depths, said, &site, addr);
}

const SUM: (&str, &str) = ("POST", "/baseline11");
const JSON: (&str, &str) = ("GET", "/json/");
const ASYNC_DB: (&str, &str) = ("GET", "/async-db");
const READ: (&str, &str) = ("GET", "/crud/items/");

#[test]
fn a_sum_that_was_published() {
    let said = ("baseline", "found \"55\"");
    caught(&ALL, said, ("GET", "/baseline11"), |_, _| Answer::text(55));
}

#[test]
fn a_sum_as_json() {
    let said = ("baseline", "expected Content-Type: text/plain");
    caught(&ALL, said, ("GET", "/baseline11"), |site, request| {
        site.honest(request)
            .field("Content-Type", "application/json")
    });
}

#[test]
fn a_body_that_is_ignored() {
    let said = ("baseline-post", "found \"");
    caught(&ALL, said, SUM, |site, request| {
        let body = Vec::new();
        site.honest(&Request {
            body,
            ..request.clone()
        })
    });
}

#[test]
fn a_body_in_chunks_that_is_ignored() {
    let said = ("baseline-chunked", "found \"");
    caught(&ALL, said, SUM, |site, request| {
        let mut request = request.clone();
        if request.field("transfer-encoding") == "chunked" {
            request.body.clear();
        }
        site.honest(&request)
    });
}

#[test]
fn the_first_chunk_alone() {
    let said = ("baseline-chunked", "found \"");
    caught(&ALL, said, SUM, |site, request| {
        let mut request = request.clone();
        if request.field("transfer-encoding") == "chunked" {
            request.body.truncate(2);
        }
        site.honest(&request)
    });
}

/// Whatever has come together has one answer.
#[test]
fn pipelined_answers_that_are_lost() {
    let site = Arc::new(Site::new());
    let own = Arc::clone(&site);
    let addr = serve(move |mut stream, _| {
        let mut from = BufReader::new(stream.try_clone().expect("a live socket"));
        while let Some(request) = Request::read(&mut from) {
            if request.path() == "/pipeline" {
                let rest = from.buffer().len();
                let _ = from.read_exact(&mut vec![0; rest]);
            }
            if stream.write_all(&own.honest(&request).bytes()).is_err() {
                return;
            }
        }
    });
    let said = ("pipeline-16", "answer 2 of 16");
    caught_at(&[Depth::Quick], said, &site, addr);
}

#[test]
fn json_that_is_kept_for_a_count() {
    let kept: Mutex<HashMap<String, Vec<u8>>> = Mutex::default();
    let said = ("json", "total: ");
    caught(&ALL, said, JSON, move |site, request| {
        let mut kept = kept.lock().unwrap();
        let make = || site.items(50, request.number("m", 1) as u64).body;
        let all = kept.entry("all".to_owned()).or_insert_with(make);
        let all: Value = serde_json::from_slice(all).unwrap();
        let count = request.path()["/json/".len()..].parse().unwrap();
        Answer::list(&all["items"].as_array().unwrap()[..count])
    });
}

#[test]
fn totals_with_another_factor() {
    let said = ("json", "total: ");
    caught(&ALL, said, JSON, |site, request| {
        let count = request.path()["/json/".len()..].parse().unwrap();
        site.items(count, request.number("m", 1) as u64 % 10)
    });
}

#[test]
fn items_of_a_dataset_that_is_built_in() {
    let said = ("json", "items: element 0: price: ");
    let other = Site::new();
    caught(&ALL, said, JSON, move |_, request| other.honest(request));
}

#[test]
fn items_without_totals() {
    let said = ("json", "total: nothing");
    caught(&ALL, said, JSON, |site, request| {
        let count: usize = request.path()["/json/".len()..].parse().unwrap();
        Answer::list(&site.dataset.as_array().unwrap()[..count])
    });
}

#[test]
fn another_count() {
    let said = ("json", "found count: \"50\"");
    caught(&[Depth::Quick], said, JSON, |site, request| {
        let mut answer = site.honest(request).value();
        answer["count"] = json!(50);
        match request.path() {
            "/json/50" => site.honest(request),
            _ => Answer::json(&answer),
        }
    });
}

#[test]
fn compression_for_all() {
    let said = ("json", "without a coding, for which nobody asked");
    caught(&ALL, said, JSON, |site, request| {
        site.honest(request).gzip(6)
    });
}

#[test]
fn compression_never() {
    let said = ("json-compressed", "found Content-Encoding: identity");
    caught(&ALL, said, JSON, |site, request| {
        let fields = HashMap::new();
        site.honest(&Request {
            fields,
            ..request.clone()
        })
    });
}

#[test]
fn compression_of_nothing() {
    let said = ("json-compressed", "expected fewer bytes in gzip than ");
    caught(&ALL, said, JSON, |site, request| {
        let fields = HashMap::new();
        let plain = site.honest(&Request {
            fields,
            ..request.clone()
        });
        match request.field("accept-encoding").contains("gzip") {
            true => plain.gzip(0),
            false => plain,
        }
    });
}

#[test]
fn compression_in_name_alone() {
    let said = ("json-compressed", "expected a body in br");
    caught(&ALL, said, JSON, |site, request| {
        let accepted = request.field("accept-encoding").contains("br");
        let fields = HashMap::new();
        let plain = site.honest(&Request {
            fields,
            ..request.clone()
        });
        match accepted {
            true => plain.field("Content-Encoding", "br"),
            false => plain,
        }
    });
}

#[test]
fn a_body_in_gzip_that_is_kept() {
    let kept: Mutex<HashMap<String, Answer>> = Mutex::default();
    let said = ("json-compressed", "expected ");
    caught(&ALL, said, JSON, move |site, request| {
        match request.field("accept-encoding").contains("gzip") {
            true => {
                let mut kept = kept.lock().unwrap();
                let answer = kept
                    .entry("gzip".into())
                    .or_insert_with(|| site.honest(request));
                answer.clone()
            }
            false => site.honest(request),
        }
    });
}

/// Content-Length is repeated before the body is there.
#[test]
fn a_length_that_is_not_counted() {
    let site = Arc::new(Site::new());
    let own = Arc::clone(&site);
    let addr = serve(move |mut stream, _| {
        let mut from = BufReader::new(stream.try_clone().expect("a live socket"));
        loop {
            // What follows the head of an upload stays unread.
            let Some(request) = Request::head(&mut from) else {
                return;
            };
            let mut body = vec![0; request.field("content-length").parse().unwrap_or(0)];
            let upload = request.path() == "/upload";
            let answer = Answer::text(body.len()).bytes();
            if upload && stream.write_all(&answer).is_err() {
                return;
            }
            if request.field("transfer-encoding") == "chunked" {
                let mut line = Vec::new();
                while !line.ends_with(b"0\r\n\r\n") && !upload {
                    let mut byte = [0];
                    if from.read_exact(&mut byte).is_err() {
                        return;
                    }
                    line.extend(byte);
                }
                let text = String::from_utf8_lossy(&line).into_owned();
                let chunks = text.split("\r\n").skip(1).step_by(2);
                body = chunks.collect::<String>().into_bytes();
            } else if from.read_exact(&mut body).is_err() {
                return;
            }
            let answer = own.honest(&Request { body, ..request }).bytes();
            if !upload && stream.write_all(&answer).is_err() {
                return;
            }
        }
    });
    let said = ("upload", "expected no answer to ");
    caught_at(&ALL, said, &site, addr);
}

#[test]
fn the_field_instead_of_the_bytes() {
    let said = ("upload", "expected \"");
    caught(&ALL, said, ("POST", "/upload"), |_, request| {
        Answer::text(
            request
                .field("content-length")
                .parse::<usize>()
                .unwrap_or(0),
        )
    });
}

#[test]
fn at_most_a_megabyte() {
    let said = ("upload", "found 413");
    caught(&FULL, said, ("POST", "/upload"), |site, request| {
        match request.body.len() > 1 << 20 {
            true => Answer::text("too large").status(413),
            false => site.honest(request),
        }
    });
}

#[test]
fn a_limit_that_is_not_clamped() {
    let said = (
        "async-db-clamped",
        "expected 50 items and their count to /async-db?limit=51; found 51",
    );
    caught(&FULL, said, ASYNC_DB, |site, request| {
        let limit = request.number("limit", 50).max(1) as usize;
        let (low, high) = (request.number("min", 10), request.number("max", 50));
        let table = site.database.executed(limit);
        Answer::list(&of_prices(&table.rows, low as u64, high as u64, limit))
    });
}

#[test]
fn no_items_for_a_limit_of_zero() {
    let said = (
        "async-db-clamped",
        "expected 1 items and their count to /async-db?limit=0; found 0",
    );
    caught(&FULL, said, ASYNC_DB, |site, request| {
        match request.parameter("limit") == "0" {
            true => Answer::list(&[]),
            false => site.honest(request),
        }
    });
}

#[test]
fn items_in_the_order_of_an_index() {
    let said = ("async-db", "expected items by ascending id");
    caught(&ALL, said, ASYNC_DB, |site, request| {
        let found = site.honest(request).value();
        let mut items = found["items"].as_array().unwrap().clone();
        items.sort_by_key(|item| item["price"].as_u64());
        Answer::list(&items)
    });
}

#[test]
fn an_error_instead_of_no_items() {
    let said = ("async-db", "expected status 200; found 404");
    caught(&ALL, said, ASYNC_DB, |site, request| {
        match site.honest(request) {
            answer if answer.value()["count"] == 0 => Answer::none(),
            answer => answer,
        }
    });
}

#[test]
fn a_rating_that_is_not_nested() {
    let said = ("async-db", "expected an item with id");
    caught(&ALL, said, ASYNC_DB, |site, request| {
        let mut found = site.honest(request).value();
        for item in found["items"].as_array_mut().unwrap() {
            item["rating"] = json!(4);
        }
        Answer::json(&found)
    });
}

#[test]
fn prices_beyond_the_range() {
    let said = ("async-db", "expected prices from 10 to 50 to /async-db");
    caught(&ALL, said, ASYNC_DB, |site, request| {
        match site.honest(request).value()["count"] == 0 {
            true => Answer::list(&[]),
            false => {
                let limit = request.number("limit", 50) as usize;
                Answer::list(&of_prices(&site.kept, 1, 1_000, limit))
            }
        }
    });
}

#[test]
fn items_from_a_cache() {
    let said = ("async-db-now", "quantity: ");
    caught(&ALL, said, ASYNC_DB, |site, request| {
        let limit = request.number("limit", 50).clamp(1, 50) as usize;
        let (low, high) = (request.number("min", 10), request.number("max", 50));
        Answer::list(&of_prices(&site.kept, low as u64, high as u64, limit))
    });
}

/// Such as of a replica in the process: there is never a wrong answer.
#[test]
fn items_that_no_statement_has_read() {
    let said = ("async-db-counted", "found 0 statements");
    caught(&ALL, said, ASYNC_DB, |site, request| {
        let limit = request.number("limit", 50).clamp(1, 50) as usize;
        let (low, high) = (request.number("min", 10), request.number("max", 50));
        let rows = &site.database.table().rows;
        Answer::list(&of_prices(rows, low as u64, high as u64, limit))
    });
}

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
