//! Links between the project's pages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages of the project, below its root.
fn pages() -> Vec<PathBuf> {
    let folders = ["", "docs", "docs/dev"].map(|folder| root().join(folder));
    let files = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap().flatten())
        .map(|entry| entry.path());
    let pages: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|it| it == "md"))
        .collect();
    assert!(pages.len() > 20, "{pages:?}");
    pages
}

/// The text without its code, in which brackets are no links.
fn prose(text: &str) -> String {
    let mut out = String::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && !line.starts_with("    ") {
            // Every second part is between backticks.
            out.extend(line.split('`').step_by(2));
        }
        out.push('\n');
    }
    out
}

/// The targets of its links.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let ends = prose.split("](").skip(1);
    ends.filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.to_owned())
        .collect()
}

/// The names of its headings in links.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| -> String {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => page.clone(),
                file => page.parent().unwrap().join(file),
            };
            let there = match (target.exists(), anchor) {
                (false, _) => false,
                (true, "") => true,
                (true, anchor) => anchors(&fs::read_to_string(&target).unwrap()).contains(anchor),
            };
            if !there {
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_page_is_in_the_contents_of_the_site() {
    let contents = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let listed: BTreeSet<String> = links(&contents).into_iter().collect();
    for page in pages() {
        let docs = root().join("docs");
        let Ok(page) = page.strip_prefix(&docs) else {
            continue;
        };
        let page = page.to_str().unwrap();
        assert!(
            page == "SUMMARY.md" || listed.contains(page),
            "docs/SUMMARY.md lacks {page}"
        );
    }
}

#[test]
fn code_has_no_links() {
    let text = "a [b](c.md#d) `[x](y)`\n    [in](code)\n```\n[in](fence)\n```\n";
    assert_eq!(links(text), ["c.md#d"]);
    assert!(anchors("## One way, `--load` & more\n").contains("one-way---load--more"));
}
