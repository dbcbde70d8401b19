//! Shops that cheat, each in its own way: the files of `experiments/shop` must catch every one, by the request that
//! is meant for it, and let an honest one pass.

mod server;
use std::time::Duration;

use prony_engine::Target;
use prony_engine::protocol::Mix;
use prony_lab::contract::{Depth, Inspection, SILENCE_LIMIT};
use prony_lab::requests::ServerFacts;
use prony_lab::requests::verify::{RequestFile, SendMode, Tried, verify};
use serde_json::{Value, json};
use server::{Asked, Change, Said, Shop, Wire, folder, open};

const REQUESTS: &str = "requests.toml";
const SESSIONS: &str = "sessions.toml";

fn honest(_: &Shop, _: &Asked, said: Said) -> Said {
    said
}

/// One of the files.
fn file(name: &str) -> Mix {
    let file = folder().join(name);
    let read = RequestFile::read(&file, &ServerFacts::anywhere(), Vec::new());
    read.expect("a right file").mix
}

/// Verifies a shop, and returns the outcome of every request in every way.
fn tried(change: Change, wire: Wire, mix: &Mix, ways: &[SendMode], seed: u64) -> Vec<Tried> {
    let target = Target::Tcp(open(change, wire));
    let silence = match wire {
        Wire::Right => SILENCE_LIMIT,
        // These may leave a request without an answer.
        _ => Duration::from_secs(1),
    };
    verify(mix, &target, None, seed, silence, ways, &mut |_| true)
}

// Slow: 3 seeds, each with 90 requests in up to 8 fragments that are 2 ms apart.
#[test]
fn an_honest_shop_passes() {
    for seed in 0..3 {
        for name in [REQUESTS, SESSIONS] {
            for tried in tried(honest, Wire::Right, &file(name), &SendMode::ALL, seed) {
                assert_eq!(tried.wrong, None, "{name}, seed {seed}: {tried:?}");
            }
        }
    }
}

/// A cheat: what it does, the file and the request or session that catch it, and what is said then.
struct Cheat {
    does: &'static str,
    change: Change,
    file: &'static str,
    caught: &'static str,
    says: &'static str,
}

/// The answer without its last byte.
fn cut(said: Said) -> Said {
    let mut body = said.body;
    body.pop();
    Said { body, ..said }
}

/// The answer with a value in its body changed, where the request was for this path.
fn at(path: &str, asked: &Asked, said: Said, key: &str, value: impl Into<Value>) -> Said {
    match asked.path.starts_with(path) && said.status < 400 {
        true => said.with(key, value),
        false => said,
    }
}

/// Where an order or a login is refused, it is accepted.
fn accepted(status: u16, said: Said) -> Said {
    match said.status == status {
        true => Said {
            status: 201,
            ..said
        },
        false => said,
    }
}

const CHEATS: &[Cheat] = &[
    Cheat {
        does: "a constant item for every id",
        change: |_, asked, said| match asked.path.starts_with("/items/") && said.status == 200 {
            true => Said {
                body: Shop::item(17).to_string(),
                ..said
            },
            false => said,
        },
        file: REQUESTS,
        caught: "any-item",
        says: "$.id: expected ",
    },
    Cheat {
        does: "the right id with a constant name",
        change: |_, asked, said| at("/items/", asked, said, "name", "red kettle 0"),
        file: REQUESTS,
        caught: "item",
        says: "$.name: expected ",
    },
    Cheat {
        does: "a constant price",
        change: |_, asked, said| at("/items/", asked, said, "price", 100),
        file: REQUESTS,
        caught: "item",
        says: "$.price: expected ",
    },
    Cheat {
        does: "a list that ignores the limit",
        change: |_, asked, said| {
            let offset = asked
                .query
                .get("offset")
                .map_or(0, |it| it.parse().unwrap_or(0));
            let items: Vec<Value> = (offset..1000).take(100).map(Shop::item).collect();
            at("/items", asked, said, "items", items)
        },
        file: REQUESTS,
        caught: "items",
        says: "$.items.length(): expected ",
    },
    Cheat {
        does: "a list that ignores the offset",
        change: |_, asked, said| {
            let limit = asked
                .query
                .get("limit")
                .map_or(20, |it| it.parse().unwrap_or(20));
            let items: Vec<Value> = (0..limit).map(Shop::item).collect();
            at("/items", asked, said, "items", items)
        },
        file: REQUESTS,
        caught: "items",
        says: "$.items[0].id: expected ",
    },
    Cheat {
        does: "a list of empty items",
        change: |_, asked, said| match asked.path == "/items" {
            true => {
                let items: Value =
                    serde_json::from_str::<Value>(&said.body).unwrap()["items"].take();
                let empty: Vec<Value> = items
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|_| json!({}))
                    .collect();
                said.with("items", empty)
            }
            false => said,
        },
        file: REQUESTS,
        caught: "items",
        says: "found nothing in",
    },
    Cheat {
        does: "a search that finds the same for every text",
        change: |_, asked, said| at("/search", asked, said, "items", json!([Shop::item(5)])),
        file: REQUESTS,
        caught: "search",
        says: "$.items[0].id: expected ",
    },
    Cheat {
        does: "a search that never finds anything",
        change: |_, asked, said| at("/search", asked, said, "total", 0),
        file: REQUESTS,
        caught: "search",
        says: "$.total: expected 1, found 0",
    },
    Cheat {
        does: "a search that always finds something",
        change: |_, asked, said| at("/search", asked, said, "total", 1),
        file: REQUESTS,
        caught: "search-nothing",
        says: "$.total: expected 0, found 1",
    },
    Cheat {
        does: "a search that does not read its text",
        change: |_, asked, said| at("/search", asked, said, "q", "lamp"),
        file: REQUESTS,
        caught: "search-nothing",
        says: "$.q: expected ",
    },
    Cheat {
        does: "one token for everyone",
        change: |shop, asked, said| at("/login", asked, said, "token", shop.one_token()),
        file: REQUESTS,
        caught: "login",
        says: "$.token: expected ",
    },
    Cheat {
        does: "one token for everyone, noticed by whose order it is",
        change: |shop, asked, said| at("/login", asked, said, "token", shop.one_token()),
        file: SESSIONS,
        caught: "buyer",
        says: "$.user: expected ",
    },
    Cheat {
        does: "no token",
        change: |_, asked, said| at("/login", asked, said, "token", Value::Null),
        file: SESSIONS,
        caught: "buyer",
        says: "no token at $.token",
    },
    Cheat {
        does: "a cookie without the token",
        change: |_, _, said| Said {
            fields: said
                .fields
                .into_iter()
                .map(|field| field.split('=').next().unwrap().to_owned() + "=1")
                .collect(),
            ..said
        },
        file: REQUESTS,
        caught: "login",
        says: "Set-Cookie: expected \"shop=",
    },
    Cheat {
        does: "orders of the same user",
        change: |_, asked, said| at("/orders", asked, said, "user", "ann"),
        file: REQUESTS,
        caught: "order",
        says: "$.user: expected ",
    },
    Cheat {
        does: "a total that ignores the quantity",
        change: |_, asked, said| {
            let item: Value = serde_json::from_str(&asked.body).unwrap_or_default();
            let price = Shop::item(item["item"].as_u64().unwrap_or(0) as usize)["price"].take();
            at("/orders", asked, said, "total", price)
        },
        file: REQUESTS,
        caught: "order",
        says: "$.total: expected ",
    },
    Cheat {
        does: "orders without a place",
        change: |_, _, said| Said {
            fields: Vec::new(),
            ..said
        },
        file: REQUESTS,
        caught: "order",
        says: "no header field Location",
    },
    Cheat {
        does: "orders of nobody",
        change: |_, _, said| accepted(401, said),
        file: REQUESTS,
        caught: "order-of-nobody",
        says: "status 201, expected 40",
    },
    Cheat {
        does: "orders of what is no JSON",
        change: |_, _, said| accepted(400, said),
        file: REQUESTS,
        caught: "order-of-nothing",
        says: "status 201, expected 40",
    },
    Cheat {
        does: "200 for unknown ids",
        change: |_, _, said| Said {
            status: if said.status == 404 { 200 } else { said.status },
            ..said
        },
        file: REQUESTS,
        caught: "no-item",
        says: "status 200, expected 404",
    },
    Cheat {
        does: "a page instead of JSON for unknown ids",
        change: |_, _, said| match said.status {
            404 => Said {
                kind: "text/html",
                body: "<h1>404</h1>".into(),
                ..said
            },
            _ => said,
        },
        file: REQUESTS,
        caught: "no-item",
        says: "Content-Type: expected ",
    },
    Cheat {
        does: "the right status with JSON that is cut off",
        change: |_, _, said| match said.kind == "application/json" {
            true => cut(said),
            false => said,
        },
        file: REQUESTS,
        caught: "item",
        says: "expected JSON (",
    },
    Cheat {
        does: "the right statuses without bodies",
        change: |_, _, said| Said {
            body: String::new(),
            ..said
        },
        file: REQUESTS,
        caught: "home",
        says: "expected a body that contains",
    },
    Cheat {
        does: "another item than was looked for",
        change: |_, asked, said| match asked.path.starts_with("/items/") {
            true => at("/items/", asked, said, "id", 1),
            false => said,
        },
        file: SESSIONS,
        caught: "visitor",
        says: "$.id: expected ",
    },
];

#[test]
fn every_cheat_is_caught() {
    for cheat in CHEATS {
        let mix = file(cheat.file);
        for seed in 1..=2 {
            let all = tried(cheat.change, Wire::Right, &mix, &[SendMode::Whole], seed);
            let found = all.iter().find(|tried| tried.name == cheat.caught);
            let wrong = found.and_then(|tried| tried.wrong.as_deref());
            let does = cheat.does;
            let wrong = wrong.unwrap_or_else(|| panic!("{does}, seed {seed}: unnoticed: {all:?}"));
            assert!(wrong.contains(cheat.says), "{does}, seed {seed}: {wrong}");
        }
    }
}

#[test]
fn what_is_read_at_once_taken_for_a_request_is_caught_in_fragments() {
    let all = tried(
        honest,
        Wire::ReadIsRequest,
        &file(REQUESTS),
        &[SendMode::Fragments],
        1,
    );
    assert!(all.iter().any(|tried| tried.wrong.is_some()), "{all:?}");
    let whole = tried(
        honest,
        Wire::ReadIsRequest,
        &file(REQUESTS),
        &[SendMode::Whole],
        1,
    );
    assert!(whole.iter().all(|tried| tried.wrong.is_none()), "{whole:?}");
}

#[test]
fn mistakes_with_pipelined_requests_are_caught() {
    for wire in [Wire::FirstOnly, Wire::Reversed, Wire::Repeated] {
        let mut mix = file(REQUESTS);
        mix.requests.retain(|request| request.name == "any-item");
        let all = tried(honest, wire, &mix, &[SendMode::Pipelined], 1);
        assert!(all[0].wrong.is_some(), "{wire:?}: {all:?}");
        let whole = tried(honest, wire, &mix, &[SendMode::Whole], 1);
        assert!(
            whole.iter().all(|tried| tried.wrong.is_none()),
            "{wire:?}: {whole:?}"
        );
    }
}

/// The contract `http` says nothing of what is answered, but how.
#[test]
fn the_contract_is_kept_by_any_server_that_frames_its_answers() {
    use prony_lab::contract::Contract;
    let inspect =
        |addr| crate::support::inspect(Contract::Http, addr, &Inspection::new(Depth::Quick, 1));
    let lies = crate::support::serve(|mut stream, _| {
        use std::io::{Read, Write};
        while let Ok(1..) = stream.read(&mut [0; 4096]) {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n<p>");
        }
    });
    assert_eq!(inspect(lies).unwrap_err().step, "answer");
    let missing =
        crate::support::http(|_, _| b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n".to_vec());
    inspect(missing).unwrap();
}
