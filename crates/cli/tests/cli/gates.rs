//! `--fail-if`, `--strict` and `--markdown`.

use crate::support::{Place, Served, schema, valid};

/// A load of the reference server with these conditions.
fn load(place: &Place, server: &Served, more: &[&str]) -> crate::support::Done {
    let url = server.http("/");
    let load = ["load", "-q", "-n", "2000", "-c", "4", url.as_str()];
    place.prony(&[&load[..], more].concat())
}

#[test]
fn a_load_passes_or_fails_by_its_conditions() {
    let (place, server) = (Place::new(), Served::start(&["http-echo"]));
    let done = load(&place, &server, &["--fail-if", "errors > 0"]).with(0);
    assert!(done.stderr.contains("passed: errors > 0"), "{done}");
    let never = ["--fail-if", "max > 1ns", "--fail-if", "errors > 0"];
    let done = load(&place, &server, &never).with(3);
    assert!(done.stderr.contains("failed: max > 1ns"), "{done}");
    assert!(done.stderr.contains("passed: errors > 0"), "{done}");
    // A load has nothing that it is compared with.
    let unknown = ["--fail-if", "throughput < -5%"];
    let done = load(&place, &server, &unknown).with(0);
    assert!(
        done.stderr.contains("not known: throughput < -5%"),
        "{done}"
    );
    load(&place, &server, &[&unknown[..], &["--strict"]].concat()).with(4);
    let wrong = ["--expect-status", "404", "--fail-if", "errors > 10%"];
    let done = load(&place, &server, &wrong).with(3);
    assert!(done.stderr.contains("100.000%"), "{done}");
}

#[test]
fn what_came_of_conditions_is_in_the_json_and_in_the_markdown() {
    let (place, server) = (Place::new(), Served::start(&["http-echo"]));
    let comment = place.path().join("comment.md").display().to_string();
    let more = ["--fail-if", "max > 1ns", "--markdown", &comment, "--json"];
    let report = load(&place, &server, &more).with(3).json();
    valid(&schema("load"), &report);
    assert_eq!(report["gates"][0]["outcome"], "broken", "{report:#}");
    assert_eq!(report["gates"][0]["condition"], "max > 1ns");
    let text = std::fs::read_to_string(&comment).unwrap();
    assert!(text.starts_with("**http://"), "{text}");
    assert!(text.contains("- failed: `max > 1ns`: "), "{text}");
    assert!(text.contains("| p50 | p90 |"), "{text}");
}

#[test]
fn what_is_no_condition_is_refused_before_anything_is_loaded() {
    let place = Place::new();
    for (condition, part) in [
        ("p99 > 10", "expected a number and one of ns, us"),
        ("cpu > 5%", "has no sign"),
        ("speed > 3", "there is no \"speed\""),
    ] {
        let done = place.refused(&["load", "http://127.0.0.1:1/", "--fail-if", condition]);
        assert!(done.stderr.contains(part), "{condition}: {done}");
    }
    place.refused(&["load", "http://127.0.0.1:1/", "--strict"]);
}

// Slow: waits for its turn to load, then a duel: a pilot and 2 rounds.
#[test]
fn a_run_and_a_duel_are_judged_against_what_they_are_compared_with() {
    let place = Place::with_references();
    let sides = ["quick", "plain", "--contract", "tcp-echo", "--quiet"];
    let short = [
        "--rounds", "2", "-d", "300ms", "--warmup", "50ms", "-c", "2",
    ];
    let comment = place.path().join("duel.md").display().to_string();
    let more = [
        "--only",
        "throughput",
        "--fail-if",
        "throughput < -99.9%",
        "--fail-if",
        "errors > 0",
        "--markdown",
        &comment,
    ];
    let done = place
        .prony(&[&["duel"], &sides[..], &short[..], &more[..]].concat())
        .with(0);
    assert!(done.stderr.contains("errors > 0: plain: 0.000%"), "{done}");
    let text = std::fs::read_to_string(&comment).unwrap();
    let sentence = done.stdout.lines().next().unwrap();
    assert!(text.contains("plain vs quick"), "{text}");
    assert!(text.contains(sentence), "{sentence}\n{text}");
    assert!(
        text.contains("<details>") && text.contains("`throughput < -99.9%`"),
        "{text}"
    );
}
