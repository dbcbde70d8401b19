//! Cheats: each is an honest server with one small difference.

mod async_db;
mod crud;
mod static_files;

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
    caught(&ALL, said, ("GET", "/baseline11"), |_, _| Answer::text(&55));
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

/// Requests that have come together have one answer.
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
            let answer = Answer::text(&body.len()).bytes();
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
            &request
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
            true => Answer::text(&"too large").status(413),
            false => site.honest(request),
        }
    });
}
