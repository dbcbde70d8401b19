//! The examples of docs/ci.md, run as they stand there, and what the action runs.

use crate::support::{Done, Place, project};
use std::os::unix::fs::PermissionsExt;

/// A project with a server, as the examples have it, in two revisions and in two folders; in `bin`, `prony`,
/// but shorter (only throughput, two rounds), and a `gh` that keeps comments in a file.
fn place() -> Place {
    let place = Place::new();
    let script = |path: &str, text: &str| {
        let file = place.file(path, &format!("#!/bin/sh\n{text}\n"));
        std::fs::set_permissions(file, PermissionsExt::from_mode(0o755)).unwrap();
    };
    script(
        "bin/prony",
        "exec \"$PRONY\" \"$@\" --rounds 2 -d 300ms --warmup 50ms -c 2 --only throughput",
    );
    script(
        "bin/gh",
        "echo \"$*\" >> \"$COMMENTS.log\"\n\
         body=; while [ $# -gt 0 ]; do [ \"$1\" != --input ] || body=$2; shift; done\n\
         [ -z \"$body\" ] || jq '[. + {id: 7}]' \"$body\" > \"$COMMENTS\"\n\
         cat \"$COMMENTS\"",
    );
    place.file("comments", "[]");
    place.file("event.json", "{\"pull_request\": {\"number\": 12}}");
    script(
        "repo/server",
        "exec \"$PRONY\" serve http-echo --listen :\"$2\"",
    );
    place.file("repo/Makefile", "all:\n\ttest -x server\n");
    place
        .shell(
            "set -e; cd repo\n\
             export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t\n\
             git init -q; git add .; git commit -qm one; git update-ref refs/remotes/origin/main HEAD\n\
             git commit -qm two --allow-empty; cp -r . ../main",
        )
        .with(0);
    place
}

/// Runs a script in the project's folder.
fn run(place: &Place, script: &str) -> Done {
    place.shell(&format!(
        "set -eu; PATH=$PWD/bin:$PATH COMMENTS=$PWD/comments; export PATH COMMENTS; cd repo\n{script}"
    ))
}

fn read(place: &Place, file: &str) -> String {
    std::fs::read_to_string(place.path().join(file)).unwrap()
}

/// The code blocks of a section of docs/ci.md.
fn section(title: &str) -> Vec<String> {
    let text = std::fs::read_to_string(project().join("docs/ci.md")).unwrap();
    let section = text.split("\n## ").find(|it| it.starts_with(title));
    let section = section.unwrap_or_else(|| panic!("docs/ci.md has no section {title}"));
    let blocks = section.split("\n```").skip(1).step_by(2);
    let blocks = blocks.map(|block| block.split_once('\n').unwrap().1.to_owned());
    blocks.collect()
}

/// Returns the lines below `key:` in a YAML file that are indented more than it, without that indentation.
fn below(yaml: &str, key: &str) -> String {
    let mut lines = yaml.lines();
    let wanted = |line: &&str| line.trim_start().trim_start_matches("- ") == key;
    let head = lines.find(wanted);
    let head = head.unwrap_or_else(|| panic!("there is no {key} in\n{yaml}"));
    let indent = |line: &str| line.len() - line.trim_start().len();
    let block: Vec<&str> = lines
        .take_while(|line| line.trim().is_empty() || indent(line) > indent(head))
        .collect();
    let least = block.iter().filter(|line| !line.trim().is_empty());
    let least = least.map(|line| indent(line)).min().unwrap_or(0);
    let cut = block.iter().map(|line| line.get(least..).unwrap_or(""));
    cut.flat_map(|line| [line, "\n"]).collect()
}

/// `key: value` lines, where a value may be a block (`|`).
fn pairs(yaml: &str) -> Vec<(String, String)> {
    let tops = yaml.lines().filter(|line| !line.starts_with(' '));
    let pairs = tops.filter_map(|line| line.split_once(':'));
    let pairs = pairs.map(|(key, value)| match value.trim() {
        "|" => (key.to_owned(), below(yaml, &format!("{key}: |"))),
        value => (key.to_owned(), value.trim_matches('\'').to_owned()),
    });
    pairs.collect()
}

/// The duel was made, and its conditions judged: no answer was wrong.
#[track_caller]
fn judged(place: &Place, done: &Done, file: &str) {
    assert!(done.stderr.contains("not known: cpu > +5%"), "{done}");
    let text = read(place, file);
    assert!(text.contains("\n| requests/s | "), "{text}\n{done}");
    assert!(text.contains("`cpu > +5%`"), "{text}\n{done}");
}

// Slow: builds two revisions, and makes a duel of them: pilots, and 2 rounds of 0.3 s for each side.
#[test]
fn the_first_example() {
    let place = place();
    let text = std::fs::read_to_string(project().join("docs/ci.md")).unwrap();
    let mut lines = text.lines().skip_while(|line| !line.starts_with("    "));
    let example: Vec<&str> = lines.by_ref().take_while(|it| !it.is_empty()).collect();
    let done = run(&place, &example.join("\n")).with(0);
    judged(&place, &done, "repo/comment.md");
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn the_example_for_gitlab() {
    let place = place();
    let block = &section("GitLab")[0];
    let script = below(block, "script:");
    // One command, over several lines.
    let command = script.strip_prefix("- ").unwrap().replace('\n', " ");
    let command = format!("CI_MERGE_REQUEST_DIFF_BASE_SHA=$(git rev-parse HEAD^)\n{command}");
    let done = run(&place, &command).with(0);
    judged(&place, &done, "repo/comment.md");
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn the_example_for_a_plain_shell() {
    let place = place();
    let done = run(&place, &section("A plain shell")[0]).with(4);
    judged(&place, &done, "repo/comment.md");
}

/// Runs the script of the action's step with these inputs, as GitHub would.
fn action(place: &Place, inputs: &[(String, String)]) -> Done {
    let action = std::fs::read_to_string(project().join("action.yml")).unwrap();
    let known = pairs(&below(&action, "inputs:"));
    let duel = &action[action.find("- id: duel").unwrap()..];
    let environment = pairs(&below(duel, "env:"));
    let mut script = String::from(
        "export GITHUB_STEP_SUMMARY=../summary GITHUB_OUTPUT=../output GITHUB_EVENT_PATH=../event.json\n\
         export GITHUB_REPOSITORY=o/r GITHUB_BASE_REF=main RUNNER_TEMP=\"$TMPDIR\"\n",
    );
    for (input, value) in inputs {
        assert!(
            known.iter().any(|(name, _)| name == input),
            "action.yml has no input {input}"
        );
        let used = format!("${{{{ inputs.{input} }}}}");
        let (variable, _) = environment.iter().find(|(_, from)| *from == used).unwrap();
        let value = value.replace('\'', "'\\''");
        script += &format!("export {variable}='{value}'\n");
    }
    let program = project().join("scripts/ci-duel").display().to_string();
    run(place, &format!("{script}exec '{program}'"))
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn the_example_for_github() {
    let place = place();
    let inputs = pairs(&below(&section("GitHub")[0], "with:"));
    // The first `with` is that of the checkout.
    assert_eq!(inputs[0].0, "fetch-depth");
    let block = &section("GitHub")[0];
    let inputs = pairs(&below(&block[block.find("OWNER").unwrap()..], "with:"));
    let done = action(&place, &inputs).with(0);
    judged(&place, &done, "summary");
    assert!(done.stderr.contains("origin/main ("), "{done}");
    assert!(read(&place, "output").starts_with("status=0\nmarkdown=/"));
    // Once more, and stricter: the comment is brought up to date.
    let with = |key: &str, value: &str| [&inputs[..], &[(key.into(), value.into())]].concat();
    action(&place, &with("strict", "true")).with(4);
    let log = read(&place, "comments.log");
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 4, "{log}");
    assert!(lines[0].ends_with("repos/o/r/issues/12/comments"), "{log}");
    assert!(
        lines[1].contains("POST repos/o/r/issues/12/comments "),
        "{log}"
    );
    assert!(
        lines[3].contains("PATCH repos/o/r/issues/comments/7 "),
        "{log}"
    );
    let comment = read(&place, "comments");
    assert!(comment.contains("<!-- prony duel: prony -->"), "{comment}");
    // A duel that could not be made.
    let done = action(&place, &with("args", "--path '/a  b' --rev nowhere")).with(1);
    assert!(read(&place, "summary").contains("exit status 1"), "{done}");
}
