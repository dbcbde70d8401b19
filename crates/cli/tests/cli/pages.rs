//! Runs as pages and files.

use crate::support::{Place, schema, valid};
use std::fs;

const EXPERIMENT: &str = "title = 'Two <b>servers</b>'
contract = 'tcp-echo'
servers = ['quick', 'plain']
rounds = 2
[load]
connections = 2
requests = 300
warmup = '0s'
";

/// A place with a run in it.
fn measured(more: &[&str]) -> (Place, String) {
    let place = Place::with_references();
    let file = place.experiment("two", EXPERIMENT);
    let done = place.prony(&[&["run", &file][..], more].concat()).with(0);
    (place, done.stderr)
}

#[test]
fn a_run_writes_its_page_and_says_where() {
    let (place, said) = measured(&[]);
    let path = place.path().join("notebook-run-1.html");
    assert!(
        said.contains(&format!("report: {}", path.display())),
        "{said}"
    );
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    assert!(page.contains("<h1>Two &lt;b&gt;servers&lt;/b&gt;</h1>"));
    // The catalog's words about a server are in the run.
    assert!(page.contains("prony, epoll"));
    // The same again, from the notebook alone, elsewhere and on standard output.
    let again = place.path().join("again.html");
    place
        .prony(&["report", "latest", "--html", again.to_str().unwrap()])
        .with(0);
    assert_eq!(fs::read_to_string(&again).unwrap(), page);
    assert_eq!(
        place.prony(&["report", "1", "--html", "-"]).with(0).stdout,
        page
    );
}

#[test]
fn no_page_is_written_when_none_is_wanted() {
    let (place, said) = measured(&["--no-html"]);
    assert!(!said.contains(".html"), "{said}");
    let pages = fs::read_dir(place.path()).unwrap().flatten();
    assert_eq!(
        pages
            .filter(|entry| entry.path().extension().is_some_and(|e| e == "html"))
            .count(),
        0
    );
}

#[test]
fn a_page_that_cannot_be_written_is_told_with_its_path() {
    let (place, _) = measured(&["--no-html"]);
    let done = place
        .prony(&["report", "--html", "no/such/folder/page.html"])
        .with(1);
    assert!(
        done.stderr
            .contains("no/such/folder/page.html cannot be written"),
        "{done}"
    );
}

#[test]
fn every_format_has_the_run() {
    let (place, _) = measured(&["--no-html"]);
    let export = |more: &[&str]| place.prony(&[&["export", "1", "--format"][..], more].concat());
    let json = export(&["json"]).with(0).json();
    valid(&schema("export"), &json);
    assert_eq!(json["trials"].as_array().unwrap().len(), 4);
    assert!(json["trials"][0]["histograms"]["response"].is_string());
    for (format, sign) in [
        ("csv", "run,ordinal,round,server"),
        ("markdown", "| quick | "),
        ("hlog", "Tag=quick|c2|1,"),
        // 300 answers, and those that were on their way when the last of them came.
        ("benchstat", "BenchmarkPart/server=quick/load=c2-1 30"),
        (
            "openmetrics",
            "server=\"plain\",workers=\"1\",load=\"c2\"} ",
        ),
    ] {
        let text = export(&[format]).with(0).stdout;
        assert!(text.contains(sign), "{format}: {text}");
        let path = place.path().join("out");
        export(&[format, "--output", path.to_str().unwrap()]).with(0);
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{format}");
    }
    // A single distribution is asked for by name, and so is a chart.
    let done = export(&["hgrm"]).with(2);
    assert!(
        done.stderr.contains("--server 'plain' --load 'c2'"),
        "{done}"
    );
    let table = export(&["hgrm", "--server", "plain"]).with(0).stdout;
    assert!(
        table.contains("Percentile") && table.contains("Total count    =          600"),
        "{table}"
    );
    let done = export(&["svg"]).with(2);
    assert!(done.stderr.contains("throughput-c2"), "{done}");
    let done = export(&["svg", "--chart", "nothing"]).with(1);
    assert!(
        done.stderr.contains("there is no chart \"nothing\""),
        "{done}"
    );
    let svg = export(&["svg", "--chart", "throughput-c2"]).with(0).stdout;
    assert!(
        svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""),
        "{svg}"
    );
}

#[test]
fn completions_and_manual_pages_know_every_verb() {
    let place = Place::with_references();
    for shell in ["bash", "zsh", "fish"] {
        let text = place.prony(&["completions", shell]).with(0).stdout;
        assert!(text.contains("PRONY_COMPLETE"), "{shell}: {text}");
    }
    // As bash asks after Tab: the words so far, and which of them the cursor is in.
    let offered = |words: &[&str]| -> Vec<String> {
        let script = format!(
            "PATH=$(dirname \"$PRONY\"):$PATH; source <(prony completions bash)\n\
             COMP_WORDS=(prony {}); COMP_CWORD={}; COMP_TYPE=9\n\
             _clap_complete_prony prony '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.join(" "),
            words.len(),
            words[words.len() - 1],
        );
        let file = place.file("ask", &script);
        let done = place.shell(&format!("bash {}", file.display())).with(0);
        done.stdout.lines().map(str::to_owned).collect()
    };
    for (words, first) in [
        (&["du"][..], "duel"),
        (&["export", "--form"], "--format"),
        (&["explain", "nois"], "noisy-host"),
        (&["run", "quicks"], "quickstart"),
        (&["duel", "qui"], "quick"),
        (&["servers", "check", "http-"], "http-echo"),
    ] {
        assert_eq!(offered(words), [first], "{words:?}");
    }
    let page = place.prony(&["man"]).with(0).stdout;
    assert!(
        page.contains(".TH prony 1") && page.contains("prony\\-export(1)"),
        "{page}"
    );
    place.prony(&["man", "--output", "pages"]).with(0);
    for name in ["prony.1", "prony-export.1", "prony-servers-setup.1"] {
        let page = fs::read_to_string(place.path().join("pages").join(name)).unwrap();
        assert!(page.contains("Examples:"), "{name}: {page}");
    }
    assert!(
        !place.path().join("pages/prony-supervisor.1").exists(),
        "an inner verb has a page"
    );
}
