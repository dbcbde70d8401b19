//! A build that leaves parts out says so when they are asked for, with how to get them, and does everything else.

use crate::support::Place;

/// Does the message name the part and the way to it, on one line each?
#[cfg(not(all(feature = "audit", feature = "proto", feature = "view")))]
fn refused(place: &Place, arguments: &[&str], part: &str) {
    let done = place.prony(arguments).with(1);
    assert_eq!(done.stdout, "", "{done}");
    for text in [
        format!("this prony was built without `{part}`"),
        format!("cargo install --path crates/cli --features {part}"),
    ] {
        assert!(done.stderr.contains(&text), "{text}: {done}");
    }
}

#[test]
fn the_version_names_what_is_left_out() {
    let parts = [
        ("audit", cfg!(feature = "audit")),
        ("lua", cfg!(feature = "lua")),
        ("proto", cfg!(feature = "proto")),
        ("symbols", cfg!(feature = "symbols")),
        ("view", cfg!(feature = "view")),
    ];
    let without = parts.iter().filter(|(_, has)| !has);
    let names: Vec<&str> = without.map(|(part, _)| *part).collect();
    let said = Place::new().prony(&["--version"]).with(0).stdout;
    let (first, rest) = said.split_once('\n').expect("a line");
    assert!(
        first.starts_with("prony ") && first.ends_with(')'),
        "{said}"
    );
    let expected = match names.as_slice() {
        [] => String::new(),
        names => format!("built without {}\n", names.join(", ")),
    };
    assert_eq!(rest, expected);
}

#[cfg(not(feature = "view"))]
#[test]
fn without_view() {
    let place = Place::new();
    refused(&place, &["view"], "view");
    assert!(!place.path().join("notebook.db").exists());
    let help = place.prony(&["view", "--help"]).with(0);
    assert!(help.stdout.contains("[default: 127.0.0.1:7766]"), "{help}");
}

#[cfg(not(feature = "audit"))]
#[test]
fn without_audit() {
    let place = Place::new();
    place.file("figures.md", "Requests/sec: 12\n");
    refused(&place, &["audit", "figures.md"], "audit");
    refused(&place, &["schema", "audit"], "audit");
    let import = ["import", "figures.md", "--as", "theirs"];
    refused(&place, &import, "audit");
    // The checks of measurements are explained all the same.
    let one = place.prony(&["explain", "server-idle"]).with(0);
    assert!(one.stdout.contains("remedy"), "{one}");
    let other = place.refused(&["explain", "back-filled"]);
    assert!(other.stderr.contains("without `audit`"), "{other}");
}

#[cfg(not(feature = "lua"))]
#[test]
fn without_lua() {
    let server = crate::support::Served::start(&["http-echo"]);
    let place = Place::new();
    place.file("a.lua", "request = function() return wrk.format() end\n");
    let url = server.http("/");
    let load = ["wrk", "-t1", "-c1", "-d1s", &url];
    let done = place.prony(&[&load[..], &["-s", "a.lua"]].concat()).with(1);
    assert!(
        done.stderr.contains("without `lua`") && done.stderr.contains("--features lua"),
        "{done}"
    );
    let done = place.prony(&load).with(0);
    assert!(done.stdout.contains("Requests/sec:"), "{done}");
}

#[cfg(not(feature = "proto"))]
#[test]
fn without_proto() {
    let place = Place::new();
    place.file("a.proto", "syntax = \"proto3\";\n");
    let url = "grpc://127.0.0.1:1/a.B/C";
    refused(&place, &["load", "--proto", "a.proto", url], "proto");
}

/// Where the system allows stacks, the anatomy says why its functions have no names.
#[cfg(not(feature = "symbols"))]
#[test]
fn without_symbols() {
    let server = format!(
        "{} serve http-echo --listen :{{port}} --busy 1ms",
        crate::support::PRONY
    );
    let line = [&["why", &server, "--json"][..], &crate::why::SHORT].concat();
    let report = Place::new().prony(&line).with(0).json();
    let why = crate::why::anatomy(&report);
    let sampled = why["sides"][0]["samples"].as_u64() > Some(0);
    assert_eq!(
        why["refused"].to_string().contains("without `symbols`"),
        sampled,
        "{why:#}"
    );
}
