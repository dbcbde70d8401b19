//! Pages of a server, and what is done to it, which names may say: they are no systems.

use crate::figures::Figure;
use crate::load::Load;
use std::collections::{BTreeMap, BTreeSet};

/// What is called by a page of a server, or by what is done to it, is compared with the same page of others only.
pub(crate) fn by_endpoint(figures: &mut [Figure]) {
    for figure in figures.iter_mut() {
        let system = &mut figure.system;
        if let Some(page) = endpoint(&system.name)
            && !system
                .section
                .ends_with(page.rsplit(' ').next().unwrap_or(&page))
        {
            system.section = format!("{} {page}", system.section).into();
        }
    }
    by_operation(figures);
}

/// Operations of one system are no systems: `Creating clients`, `Listing clients`; `nginx write`, `nginx read`.
fn by_operation(figures: &mut [Figure]) {
    // What is called alike but for what is done.
    let mut beside: BTreeMap<(String, Load, String), BTreeSet<String>> = BTreeMap::new();
    let mut all: BTreeMap<(String, Load), BTreeSet<String>> = BTreeMap::new();
    for figure in figures.iter() {
        let (section, load) = (figure.system.section.to_string(), figure.load);
        let names = all.entry((section.clone(), load)).or_default();
        names.insert(figure.system.name.to_string());
        if let Some((done, rest)) = operations(&figure.system.name) {
            beside
                .entry((section, load, rest))
                .or_default()
                .insert(done);
        }
    }
    // Where every name begins with what is done, what follows is what it is done to.
    all.retain(|_, names| {
        let done: Option<BTreeSet<&str>> = names.iter().map(|name| operation(name)).collect();
        done.is_some_and(|done| done.len() >= 2)
    });
    for figure in figures {
        let system = &mut figure.system;
        let section = system.section.to_string();
        let begins = operation(&system.name).map(str::to_owned);
        let begins = begins.filter(|_| all.contains_key(&(section.clone(), figure.load)));
        let done = begins.or_else(|| {
            let (done, rest) = operations(&system.name)?;
            let others = beside.get(&(section.clone(), figure.load, rest))?;
            (others.len() >= 2).then_some(done)
        });
        if let Some(done) = done {
            system.section = format!("{section} / {done}").into();
        }
    }
}

/// The last page in a name, which is that of its label: `GET /users`, `Header (/header)`, `/rooms`.
fn endpoint(name: &str) -> Option<String> {
    const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    const AROUND: [char; 9] = ['`', '(', ')', '"', '\'', ',', ';', '[', ']'];
    let words: Vec<&str> = name
        .split_whitespace()
        .map(|word| word.trim_matches(AROUND))
        .collect();
    words.iter().enumerate().rev().find_map(|(at, word)| {
        let before = at.checked_sub(1).map_or("", |at| words[at]);
        let method = METHODS.contains(&before);
        let rest = word.strip_prefix('/')?;
        let named = rest.starts_with(|c: char| c.is_alphabetic() || matches!(c, ':' | '{'))
            && !matches!(rest, "s" | "sec" | "second");
        (named || method && rest.is_empty()).then(|| {
            if method {
                format!("{before} {word}")
            } else {
                (*word).to_owned()
            }
        })
    })
}

/// What is done to a server, and how that is called.
const DONE: [(&str, &[&str]); 22] = [
    (
        "create",
        &[
            "create",
            "creating",
            "creates",
            "insert",
            "inserting",
            "inserts",
            "post",
            "posts",
            "add",
        ],
    ),
    ("list", &["list", "listing"]),
    (
        "get",
        &[
            "get", "gets", "getting", "fetch", "fetching", "select", "selects", "query", "querying",
        ],
    ),
    ("read", &["read", "reading", "reads"]),
    ("write", &["write", "writing", "writes"]),
    ("set", &["set", "sets"]),
    ("update", &["update", "updating", "updates", "patch"]),
    ("put", &["put", "puts"]),
    ("delete", &["delete", "deleting", "deletes"]),
    ("search", &["search", "searching"]),
    ("login", &["login"]),
    ("register", &["register"]),
    ("upload", &["upload", "uploads", "uploading"]),
    ("download", &["download", "downloads", "downloading"]),
    (
        "publish",
        &["publish", "publishing", "produce", "producing"],
    ),
    (
        "subscribe",
        &["subscribe", "subscribing", "consume", "consuming"],
    ),
    (
        "encode",
        &["encode", "encoding", "serialize", "serialization"],
    ),
    (
        "decode",
        &["decode", "decoding", "deserialize", "deserialization"],
    ),
    ("compress", &["compress", "compression"]),
    ("decompress", &["decompress", "decompression"]),
    ("push", &["push", "enqueue"]),
    ("pop", &["pop", "dequeue"]),
];

fn done(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    let found = DONE
        .iter()
        .find(|(_, words)| words.contains(&word.as_str()));
    found.map(|(done, _)| *done)
}

/// What a name says is done, where it begins with that.
fn operation(name: &str) -> Option<&'static str> {
    done(crate::names::words(name).next()?)
}

/// What a name says is done, wherever it says that, and the rest of the name without how it is done.
fn operations(name: &str) -> Option<(String, String)> {
    const HOW: [&str; 40] = [
        "a",
        "batch",
        "benchmark",
        "bulk",
        "by",
        "concurrent",
        "endpoint",
        "heavy",
        "http",
        "large",
        "load",
        "mix",
        "mixed",
        "mostly",
        "of",
        "only",
        "op",
        "operation",
        "operations",
        "ops",
        "per",
        "performance",
        "random",
        "request",
        "requests",
        "second",
        "sequential",
        "single",
        "test",
        "throughput",
        "workload",
        "workloads",
        // Of what kind the figures are.
        "req",
        "reqs",
        "rps",
        "qps",
        "tps",
        "s",
        "sec",
        "k",
    ];
    let lower = name.to_lowercase();
    let (mut what, mut rest) = (Vec::new(), Vec::new());
    for word in crate::names::words(&lower) {
        match done(word) {
            Some(done) => what.push(done),
            None if HOW.contains(&word) => {}
            None => rest.push(word),
        }
    }
    (!what.is_empty()).then(|| (what.join(" "), rest.join(" ")))
}

#[cfg(test)]
mod tests {
    use crate::figures::figures;
    use crate::read;

    #[test]
    fn pages_and_operations_are_no_systems() {
        let table = |a: &str, b: &str| {
            let text = format!("| what | req/s |\n|--|--|\n| {a} | 10 |\n| {b} | 20 |\n");
            let figures = figures(&[read("x", &text)]);
            figures[0].system.section == figures[1].system.section
        };
        for (a, b) in [
            ("`GET /users` with a cache", "`GET /metrics`"),
            ("GET /users", "POST /users"),
            ("/rooms", "/rooms/search"),
            ("/all, /a", "/all, /b"),
            ("Creating clients", "Listing clients"),
            ("GET", "SET"),
            ("Write", "Read"),
            ("Sequential write", "Random read"),
            ("SELECT by key", "INSERT"),
            ("db write (req/s)", "db read (req/s)"),
            ("nginx, upload", "nginx, download"),
            ("alpha: POST", "alpha: GET"),
            ("Write-heavy workload", "Read-only workload"),
        ] {
            assert!(!table(a, b), "{a} {b}");
        }
        for (a, b) in [
            ("go /json", "rust /json"),
            ("go", "rust"),
            ("Creating with go", "Creating with rust"),
            ("Get", "Express"),
            ("alpha write", "beta write"),
            ("alpha write", "beta read"),
            ("Reading with go", "Reading with rust"),
        ] {
            assert!(table(a, b), "{a} {b}");
        }
    }
}
