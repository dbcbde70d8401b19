//! The requests of a file among those that were found: to one server, each once, none too rare.

use super::{Counted, FoundRequest, FromError, Note};
use crate::requests::is_token;
use prony_engine::protocol::mix::exact_shares;
use std::collections::BTreeMap;

/// Leaves out what a file cannot have.
/// With `lossy`, U+FFFD is in the place of bytes that are not known.
pub(super) fn fit(all: Vec<FoundRequest>, lossy: bool, notes: &mut Vec<Note>) -> Vec<FoundRequest> {
    let mut kept = Vec::new();
    for sent in all {
        let FoundRequest { method, path, .. } = &sent;
        let place = format!("{method} {path}");
        let unfit = |c: char| c.is_ascii_whitespace() || c.is_control();
        if !is_token(method) {
            notes.push(Note::new(format!("{method:?} {path}"), "not a method"));
        } else if method == "CONNECT" {
            notes.push(Note::new(place, "CONNECT is for proxies"));
        } else if !path.starts_with('/') {
            notes.push(Note::new(
                place,
                "not a path: it does not begin with a slash",
            ));
        } else if !sent.templates && path.contains(unfit) {
            notes.push(Note::new(
                place,
                "a path with a blank or a control character",
            ));
        } else if lossy && has_lost_bytes(&sent) {
            notes.push(Note::new(place, "it has bytes that are not UTF-8"));
        } else {
            kept.push(sent);
        }
    }
    kept
}

/// Was a byte replaced that is not UTF-8?
fn has_lost_bytes(sent: &FoundRequest) -> bool {
    let lost = |text: &str| text.contains('\u{fffd}');
    let mut fields = sent.headers.iter();
    lost(&sent.path)
        || sent.path.contains("%EF%BF%BD")
        || fields.any(|(name, value)| lost(name) || lost(value))
        || std::str::from_utf8(&sent.body).is_ok_and(lost)
}

/// The server that the user wants, as a URL or as a host with or without a port.
pub(super) fn wanted(server: &str, all: &[FoundRequest]) -> Result<String, FromError> {
    let server = server.trim_end_matches('/');
    let host = |origin: &str| {
        let authority = origin.split_once("://").map_or(origin, |(_, rest)| rest);
        authority.to_ascii_lowercase()
    };
    let name = |origin: &str| {
        let authority = host(origin);
        let bare = authority.rsplit_once(':');
        let bare = bare.filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        bare.map_or(authority.clone(), |(name, _)| name.to_owned())
    };
    let origins = || all.iter().map(|sent| sent.origin.as_str());
    let lower = server.to_ascii_lowercase();
    let exact = origins().find(|origin| origin.eq_ignore_ascii_case(server));
    let found = exact
        .or_else(|| origins().find(|origin| host(origin) == lower))
        .or_else(|| origins().find(|origin| name(origin) == lower));
    found.map(str::to_owned).ok_or_else(|| {
        let all: std::collections::BTreeSet<&str> =
            origins().filter(|origin| !origin.is_empty()).collect();
        FromError::NoServer {
            server: server.to_owned(),
            found: all.into_iter().collect::<Vec<_>>().join(", "),
        }
    })
}

/// The requests to one server, for which a file is: the `wanted` one, or the one that has most of them.
pub(super) fn one_server(
    all: Vec<FoundRequest>,
    wanted: Option<String>,
    notes: &mut Vec<Note>,
) -> (Vec<FoundRequest>, String) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for sent in &all {
        *counts.entry(&sent.origin).or_default() += 1;
    }
    let most = counts.values().max().copied().unwrap_or_default();
    let wanted = wanted.filter(|wanted| counts.contains_key(wanted.as_str()));
    // Of equal ones the first in the text.
    let own = all.iter().map(|sent| sent.origin.as_str());
    let own = own.clone().find(|origin| counts[origin] == most);
    let own = wanted.unwrap_or_else(|| own.unwrap_or_default().to_owned());
    for (origin, n) in counts.iter().filter(|(origin, _)| **origin != own) {
        let other = match (*origin, own.as_str()) {
            ("", own) => format!("request without a server: a file is for one, here {own}"),
            (origin, "") => {
                format!("request to {origin}: a file is for one server, and most have none")
            }
            (origin, own) => {
                format!("request to {origin}: a file is for one server, here {own}")
            }
        };
        notes.push(Note {
            server: (!origin.is_empty()).then(|| (*origin).to_owned()),
            ..Note::many(*n as u64, other)
        });
    }
    let mut requests = all;
    requests.retain(|sent| sent.origin == own);
    (requests, own)
}

/// Each request once, in the order of the text.
pub(super) fn counted(all: Vec<FoundRequest>) -> Vec<Counted> {
    let mut places = std::collections::HashMap::new();
    let mut counted: Vec<Counted> = Vec::new();
    for sent in all {
        let key = (
            sent.method.clone(),
            sent.path.clone(),
            sent.headers.clone(),
            sent.body.clone(),
        );
        let at = *places.entry(key).or_insert_with(|| {
            counted.push(Counted {
                sent: sent.clone(),
                times: 0,
                statuses: Vec::new(),
            });
            counted.len() - 1
        });
        let one = &mut counted[at];
        one.times = one.times.saturating_add(1);
        if let Some(status) = sent.status
            && !one.statuses.contains(&status)
        {
            one.statuses.push(status);
        }
    }
    counted
}

/// Leaves out what would never be sent, because its share is less than one in a thousand.
pub(super) fn often_enough(all: &mut Vec<Counted>, notes: &mut Vec<Note>) {
    let sum = |all: &[Counted]| all.iter().map(|one| u64::from(one.times)).sum::<u64>();
    let requests = sum(all);
    // The most frequent first: of equal ones the earlier.
    let mut places: Vec<usize> = (0..all.len()).collect();
    places.sort_by_key(|&place| std::cmp::Reverse(all[place].times));
    let mut kept = places.len();
    loop {
        let weights: Vec<u32> = places[..kept]
            .iter()
            .map(|&place| all[place].times)
            .collect();
        let sent = exact_shares(&weights).iter().filter(|&&n| n > 0).count();
        if sent == kept {
            break;
        }
        kept = sent;
    }
    let kept: std::collections::HashSet<usize> = places[..kept].iter().copied().collect();
    let mut place = 0;
    let mut rare: Option<Note> = None;
    all.retain(|one| {
        place += 1;
        let keeps = kept.contains(&(place - 1));
        if !keeps {
            let shown = format!("{} {}", one.sent.method, one.sent.path);
            let times = u64::from(one.times);
            match &mut rare {
                Some(rare) => rare.add_times(&shown, times),
                None => {
                    let reason = format!(
                        "request of which there is less than one in a thousand, of {requests}"
                    );
                    rare = Some(Note {
                        count: times,
                        ..Note::new(shown, reason)
                    });
                }
            }
        }
        keeps
    });
    notes.extend(rare);
}
