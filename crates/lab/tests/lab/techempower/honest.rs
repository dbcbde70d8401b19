//! Honest servers, each in its own way.

use super::database::ROWS;
use super::server::{Answer, Site, count, ids, page, path, sorted, start};
use super::{fixture, inspect};
use crate::support::{self, Request};
use prony_lab::contract::parts::{Parts, Routes};
use prony_lab::contract::{Contract, Depth, Fixture, Inspection};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

fn passes_at(depth: Depth, site: &Site, addr: SocketAddr) {
    if let Err(violation) = inspect(site, addr, depth) {
        panic!("{depth:?}: {violation}");
    }
}

fn passes(answer: impl Fn(&Site, &Request) -> Answer + Send + Sync + 'static) {
    let site = Arc::new(Site::new());
    let addr = start(&site, answer);
    for depth in [Depth::Full, Depth::Quick, Depth::Thorough] {
        passes_at(depth, &site, addr);
    }
}

fn honest(site: &Site, request: &Request) -> Answer {
    site.honest(&request.target)
}

// Slow: dates have to advance.
#[test]
fn an_honest_server_passes_with_every_seed() {
    passes(honest);
    let site = Arc::new(Site::new());
    let addr = start(&site, honest);
    for seed in 0..20 {
        let how = Inspection::new(Depth::Quick, seed);
        let verified = how.of(Contract::Techempower, addr, &fixture(&site));
        assert_eq!(verified.unwrap().left_out, [""; 0]);
    }
    // What was inserted for the verification is gone.
    assert_eq!(site.database.tables().fortune.len(), 12);
}

/// Verifies a server with these parts alone.
fn passes_with(kept: &Parts, site: &Site, addr: SocketAddr) {
    let contract = Contract::Techempower;
    let how = Inspection::new(Depth::Full, 1).keeping(Some(Routes::new(contract, kept)));
    if let Err(violation) = how.of(contract, addr, &fixture(site)) {
        panic!("{kept:?}: {violation}");
    }
}

#[test]
fn a_server_may_keep_parts_alone_and_at_other_paths() {
    let site = Arc::new(Site::new());
    let other_paths = |site: &Site, request: &Request| {
        let target = match request.target.strip_prefix("/many/") {
            Some(count) => format!("/queries?queries={count}"),
            None if request.target == "/one" => "/db".to_owned(),
            None => "/nothing".to_owned(),
        };
        site.honest(&target)
    };
    let pair = |name: &str, path: &str| (name.to_owned(), path.to_owned());
    let kept = [pair("queries", "/many/"), pair("db", "/one")].into();
    passes_with(&kept, &site, start(&site, other_paths));
    let addr = start(&site, honest);
    for part in Contract::Techempower.parts() {
        passes_with(&[pair(part.name, part.path)].into(), &site, addr);
    }
}

// Slow: dates have to advance.
#[test]
fn pages_may_be_written_in_many_ways() {
    passes(|site, request| match path(&request.target) {
        "/fortunes" => {
            let numeric = |text: &str| {
                let one = |c: char| match c {
                    'a'..='z' | 'A'..='Z' | ' ' | '.' => c.to_string(),
                    c if c.is_ascii() => format!("&#{};", u32::from(c)),
                    c => format!("&#x{:X};", u32::from(c)),
                };
                format!("\n    {}\r\n  ", text.chars().map(one).collect::<String>())
            };
            page(sorted(site.database.fortunes()), numeric)
                .replace("<!DOCTYPE html>", "<!doctype HTML>\n")
                .replace("<head>", "<head>\n  <meta charset='utf-8'>\n")
                .replace("<tr>", "\n<TR class=\"a>b\">")
                .replace("</td></tr>", "")
                .replace("<table>", "<table>\n<!-- rows --><tbody>")
                .field("Content-Type", "Text/HTML;Charset=\"UTF-8\"")
        }
        "/json" => site
            .honest(&request.target)
            .replace(":", " :\n ")
            .field("Content-Type", "application/json; charset=utf-8"),
        _ => site.honest(&request.target),
    });
}

// Slow: dates have to advance.
#[test]
fn bodies_may_come_in_chunks() {
    let site = Arc::new(Site::new());
    let own = Arc::clone(&site);
    let addr = support::http(move |_, request| {
        let answer = own.honest(&request.target);
        let mut bytes = format!("{}Transfer-Encoding: chunked\r\n\r\n", answer.head()).into_bytes();
        for chunk in answer.body.chunks(100) {
            bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"0\r\n\r\n");
        bytes
    });
    for depth in [Depth::Quick, Depth::Thorough] {
        passes_at(depth, &site, addr);
    }
}

#[test]
fn a_statement_for_each_update_passes() {
    let site = Arc::new(Site::new());
    let addr = start(&site, |site, request| match path(&request.target) {
        "/updates" => {
            let mut rows = site.select(count(&request.target));
            for row in &mut rows {
                row.1 = rand::random_range(1..=ROWS);
                site.database.update(&[*row]);
            }
            Answer::rows(&rows)
        }
        _ => site.honest(&request.target),
    });
    passes_at(Depth::Full, &site, addr);
}

#[test]
fn rows_of_an_answer_may_be_in_order() {
    let site = Arc::new(Site::new());
    let addr = start(&site, |site, request| match path(&request.target) {
        "/queries" => {
            let mut rows = site.select(count(&request.target));
            rows.sort_unstable();
            Answer::rows(&rows)
        }
        _ => site.honest(&request.target),
    });
    passes_at(Depth::Full, &site, addr);
}

#[test]
fn a_cache_may_be_filled_by_requests() {
    let site = Arc::new(Site::new());
    let cache: Mutex<BTreeMap<u32, u32>> = Mutex::default();
    let addr = start(&site, move |site, request| match path(&request.target) {
        "/cached-queries" => {
            let mut cache = cache.lock().unwrap();
            let row = |id: u32| {
                let load = || site.database.select_cached(&[id])[0].1;
                (id, *cache.entry(id).or_insert_with(load))
            };
            let rows: Vec<_> = ids(count(&request.target)).into_iter().map(row).collect();
            Answer::rows(&rows)
        }
        _ => site.honest(&request.target),
    });
    passes_at(Depth::Full, &site, addr);
}

/// A pool opens its connections to the database for the first requests, each with statements of its own, and puts one
/// in order after its use.
#[test]
fn statements_of_a_pool_pass() {
    let site = Arc::new(Site::new());
    let left = AtomicU64::new(600);
    let addr = start(&site, move |site, request| {
        let queries = request.target == "/queries?queries=20";
        if queries
            && left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(10))
                .is_ok()
        {
            (0..10).for_each(|_| site.database.select_rows(0));
        }
        if matches!(
            path(&request.target),
            "/db" | "/queries" | "/updates" | "/fortunes"
        ) {
            // As asyncpg does when a connection is given back.
            for rows in [1, 0, 0, 0] {
                site.database.select_rows(rows);
            }
        }
        site.honest(&request.target)
    });
    passes_at(Depth::Full, &site, addr);
}

/// A statement is counted at its end, which may come after its rows.
#[test]
fn statements_may_be_counted_late() {
    let site = Arc::new(Site::new());
    let addr = start(&site, |site, request| match &*request.target {
        "/queries?queries=20" => {
            let ids = ids(20);
            let rows: Vec<(u32, u32)> = {
                let tables = site.database.tables();
                ids.iter().map(|id| (*id, tables.world[id])).collect()
            };
            let database = Arc::clone(&site.database);
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(30));
                ids.into_iter().for_each(|id| drop(database.select(&[id])));
            });
            Answer::rows(&rows)
        }
        target => site.honest(target),
    });
    passes_at(Depth::Full, &site, addr);
}

#[test]
fn without_a_database_of_its_own_a_server_is_refused_and_a_running_one_judged_by_its_answers() {
    let site = Arc::new(Site::new());
    let addr = start(&site, honest);
    let how = Inspection::new(Depth::Full, 1);
    let set_up = || Fixture::set_up(Contract::Techempower, &std::env::temp_dir()).unwrap();
    let violation = how.of(Contract::Techempower, addr, &set_up()).unwrap_err();
    let said = violation.to_string();
    assert!(said.starts_with("rows-now ("), "{said}");
    let expected = "which prony has started for the server; found none";
    assert!(said.ends_with(expected), "{said}");
    let running = set_up().of_running_server();
    let verified = how.of(Contract::Techempower, addr, &running).unwrap();
    assert_eq!(verified.left_out.len(), 9, "{:?}", verified.left_out);
    assert!(verified.left_out.contains(&"updates-written"));
    assert!(verified.steps.iter().any(|step| step.name == "fortunes"));
}
