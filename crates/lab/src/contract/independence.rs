//! Contract clients read answers with no code of the load: a mistake in it would be in both.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Names that the clients may use of the engine's protocols, and why.
const SHARED: [(&str, &str); 20] = [
    ("Expect", "says what a load expects"),
    (
        "EventFormat",
        "names the format of a load's streams; sse.rs reads events itself",
    ),
    ("EventStream", "says what ends a load's streams"),
    ("HttpRequest", "says what is sent"),
    (
        "HttpExchange",
        "a load's request, which is handed to the engine",
    ),
    ("Limits", "a load's, handed to the engine"),
    (
        "encoding::Encoding",
        "which codings a head names; flate2, ruzstd and brotli-decompressor remove them",
    ),
    (
        "grpc::Call",
        "a load's request, which is handed to the engine",
    ),
    ("grpc::GrpcExpect", "says what a load expects"),
    ("grpc::GrpcStatus", "names of numbers"),
    ("grpc::shown", "makes text printable"),
    (
        "h2::StreamedExchange",
        "a load's request, which is handed to the engine",
    ),
    ("h2::H2ProbeError", "of the probe"),
    (
        "Mix, mix::MixRequest, mix::Piece",
        "a load's requests, whose targets become the server's own",
    ),
    ("h2::WINDOW", "a number for a load"),
    (
        "h2::self",
        "h2::probe, which waits for a server that starts; it judges no answer",
    ),
    (
        "recognized",
        "a hint in words at what a server speaks that is refused already",
    ),
    ("tls::SelfSigned", "makes the certificate of a server"),
    ("tls::TlsOptions", "options of rustls, which both use"),
    (
        "ws::Upgrade, ws::WsMessages",
        "a load's messages, which are handed to the engine",
    ),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // What tests compare with the engine is no client.
        let name = path.file_name().unwrap();
        if path.is_dir() {
            sources(&path, found);
        } else if name != "tests.rs" && name != "independence.rs" {
            found.push(path);
        }
    }
}

/// The names in a path or a tree of `use`, with its last braces resolved: `{a, b::{c, d}}` is `a`, `b::c`, `b::d`.
fn names(tree: &str, before: &str, found: &mut BTreeSet<String>) {
    let (mut depth, mut from) = (0, 0);
    let inner = tree.trim();
    let Some(list) = inner.strip_prefix('{').and_then(|it| it.strip_suffix('}')) else {
        match inner.find('{') {
            Some(brace) => names(
                &inner[brace..],
                &format!("{before}{}", &inner[..brace]),
                found,
            ),
            None if inner.is_empty() => {}
            None => drop(found.insert(format!("{before}{inner}"))),
        }
        return;
    };
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names(&list[from..at], before, found);
                from = at + 1;
            }
            _ => {}
        }
    }
    names(&list[from..], before, found);
}

/// The names of the engine's protocols in a source, after the first of a path as it is called.
fn used(text: &str) -> BTreeSet<String> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let mut found = BTreeSet::new();
    for rest in code.split("prony_engine::").skip(1) {
        let mut depth = 0;
        let end = rest.find(|c: char| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            let inside = depth > 0 && (c.is_whitespace() || c == ',');
            !(c.is_alphanumeric() || "_:{}*".contains(c) || inside)
        });
        let mut all = BTreeSet::new();
        names(&rest[..end.unwrap_or(rest.len())], "", &mut all);
        found.extend(
            all.into_iter()
                .filter(|name| name.starts_with("protocol") || name.contains('*')),
        );
    }
    found
}

#[test]
fn trees_of_use_are_resolved() {
    let text = "use prony_engine::{Target, protocol::{h2::{self, Decoder}, chunked}};\n// prony_engine::protocol::x\n\
                let a = prony_engine::protocol::encoding::Encoding::of([]);\n#[cfg(test)]\nmod tests {\n\
                use prony_engine::protocol::y;";
    let expected = [
        "chunked",
        "encoding::Encoding::of",
        "h2::Decoder",
        "h2::self",
    ];
    let expected = expected.map(|name| format!("protocol::{name}"));
    assert_eq!(used(text).into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(used("use prony_engine::protocol;").len(), 1);
    assert_eq!(used("use prony_engine::*;").len(), 1);
}

#[test]
fn contract_clients_read_answers_with_no_code_of_the_load() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = ["over_h2.rs", "grpc/client.rs"]
        .map(|file| root.join(file))
        .to_vec();
    sources(&root.join("contract"), &mut files);
    assert!(files.len() > 25, "{}", files.len());
    let allowed: BTreeSet<String> = SHARED
        .iter()
        .flat_map(|(names, _)| names.split(", "))
        .map(|name| format!("protocol::{name}"))
        .collect();
    let (mut wrong, mut known) = (Vec::new(), BTreeSet::new());
    for file in files {
        for name in used(&fs::read_to_string(&file).unwrap()) {
            let path = |it: &&String| name == **it || name.starts_with(&format!("{it}::"));
            match allowed.iter().find(path) {
                Some(it) => drop(known.insert(it.clone())),
                None => wrong.push(format!("{}: {name}", file.display())),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "a verification must not read answers with the load's own code; use another implementation, or give a reason \
         in SHARED why this judges nothing:\n{}",
        wrong.join("\n")
    );
    let gone: Vec<_> = allowed.difference(&known).collect();
    assert!(gone.is_empty(), "no longer used: {gone:?}");
}
