//! Cheats: each is an honest server with one small difference.

mod caches;
mod clamping;
mod fortunes;
mod heads;
mod plain;
mod rows;
mod updates;

use super::database::ROWS;
use super::inspect;
use super::server::{Answer, Site, any_id, count, escaped, ids, object, page, path, sorted, start};
use crate::support::{Request, Requests, parse, serve};
use prony_lab::contract::{Depth, Violation};
use serde_json::json;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

const ALL: [Depth; 3] = [Depth::Quick, Depth::Full, Depth::Thorough];
const FULL: [Depth; 2] = [Depth::Full, Depth::Thorough];

fn refused(violation: &Violation, step: &str, said: &str) {
    assert_eq!(violation.step, step, "{violation}");
    let line = violation.to_string();
    assert!(line.contains(said), "{said:?} is not said: {line}");
    assert!(line.len() < 500 && !line.contains('\n'), "{line}");
}

/// Must be refused at each of these depths.
fn caught_at(depths: &[Depth], step: &str, said: &str, site: &Site, addr: SocketAddr) {
    for &depth in depths {
        match inspect(site, addr, depth) {
            Ok(_) => panic!("{depth:?}: the cheat went unnoticed"),
            Err(violation) => refused(&violation, step, said),
        }
    }
}

/// Must be refused where `target`'s path has other answers.
fn caught(
    depths: &[Depth],
    (step, said): (&str, &str),
    own: &'static str,
    cheat: impl Fn(&Site, &Request) -> Answer + Send + Sync + 'static,
) {
    let site = Arc::new(Site::new());
    let addr = start(&site, move |site, request| {
        match path(&request.target) == own {
            true => cheat(site, request),
            false => site.honest(&request.target),
        }
    });
    caught_at(depths, step, said, &site, addr);
}

/// The same for answers of all paths.
fn caught_everywhere(
    depths: &[Depth],
    (step, said): (&str, &str),
    change: impl Fn(&Site, Answer) -> Answer + Send + Sync + 'static,
) {
    let site = Arc::new(Site::new());
    let addr = start(&site, move |site, request| {
        change(site, site.honest(&request.target))
    });
    caught_at(depths, step, said, &site, addr);
}
