//! The worst habits of our prose stay out: comments that do not name what they document, and phrases that a reader has to
//! translate.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Words that refer to something else instead of naming it.
const REFERRING: [&str; 23] = [
    "It", "Its", "They", "Their", "Them", "This", "These", "That", "Those", "He", "She", "We",
    "You", "Who", "Whose", "Whom", "Which", "What", "Whatever", "Of", "So", "As", "Such",
];

/// Files with this ending below a folder.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if name != "target" && name != "node_modules" {
                files(&path, ending, found);
            }
        } else if path.extension().is_some_and(|it| it == ending) {
            found.push(path);
        }
    }
}

#[test]
fn doc_comments_name_what_they_document() {
    let mut sources = Vec::new();
    for folder in ["crates", "benches", "fuzz", "servers", "models"] {
        files(&root().join(folder), "rs", &mut sources);
    }
    assert!(sources.len() > 500, "{}", sources.len());
    let mut wrong = Vec::new();
    for source in sources {
        let text = fs::read_to_string(&source).unwrap();
        let mut inside = false;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let doc = line.strip_prefix("///").or(line.strip_prefix("//!"));
            if let Some(first) = doc.filter(|_| !inside) {
                let word = first.trim_start().split(|c: char| !c.is_alphanumeric());
                if word.take(1).any(|word| REFERRING.contains(&word)) {
                    wrong.push(format!("{}:{}: {line}", source.display(), number + 1));
                }
            }
            inside = doc.is_some();
        }
    }
    assert!(
        wrong.is_empty(),
        "these comments begin with a word that refers to something else; say what the item is, in which unit, and what \
         its limits are:\n{}",
        wrong.join("\n")
    );
}

/// No type name has more than two meanings in all crates.
#[test]
fn a_type_has_a_name_of_its_own() {
    let mut sources = Vec::new();
    for krate in fs::read_dir(root().join("crates")).unwrap() {
        files(&krate.unwrap().path().join("src"), "rs", &mut sources);
    }
    let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources {
        let file = source.file_stem().unwrap_or_default().to_string_lossy();
        // The second half of a part that a build can leave out.
        if file.ends_with("_absent") {
            continue;
        }
        for line in fs::read_to_string(&source).unwrap().lines() {
            let mut words = line
                .split_whitespace()
                .skip_while(|it| it.starts_with("pub"));
            if let (Some("struct" | "enum" | "trait"), Some(name)) = (words.next(), words.next()) {
                let name = name.split(|c: char| !c.is_alphanumeric()).next();
                let all = named.entry(name.unwrap_or_default().to_owned());
                all.or_default().push(source.display().to_string());
            }
        }
    }
    assert!(named.len() > 1_000, "{}", named.len());
    named.retain(|_, files| files.len() > 2);
    assert!(
        named.is_empty(),
        "these types share their name with two others; say what each is: {named:#?}"
    );
}

/// Phrases in the place of a plain word ("own" or "separate"; "print", "report" or "warn"), one a line.
const PHRASES: &str = include_str!("phrases.txt");

/// Text in one line and in lower case, with single spaces.
fn flat(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

#[test]
fn pages_name_things_plainly() {
    let mut texts = Vec::new();
    let mut pages = Vec::new();
    files(&root().join("docs"), "md", &mut pages);
    pages.extend(["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(|page| root().join(page)));
    for page in pages {
        texts.push((
            page.display().to_string(),
            fs::read_to_string(page).unwrap(),
        ));
    }
    let found: Vec<String> = texts
        .iter()
        .flat_map(|(name, text)| {
            let text = flat(text);
            let phrases = PHRASES.lines().filter(move |phrase| text.contains(*phrase));
            phrases.map(move |phrase| format!("{name}: {phrase:?}"))
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Crates below the command: other front ends, with other flags, use them too. Their errors carry a remedy as data.
const BELOW: [&str; 7] = [
    "engine", "record", "stats", "verdict", "lab", "remote", "notebook",
];

/// Files that may have flags in texts, and why.
const WITH_FLAGS: [(&str, &str); 15] = [
    // Command lines of other programs.
    ("remote/src/launch.rs", " --version > /dev/null"),
    ("remote/src/hosts.rs", "srun --overlap"),
    ("lab/src/container.rs", "exec {program} run --rm"),
    ("lab/src/container.rs", "{program} rm --force"),
    ("lab/src/container.rs", "\" run --rm\""),
    ("lab/src/container.rs", "\" --cpus {}\""),
    ("lab/src/container.rs", "\" --memory {bytes}b"),
    ("lab/src/control_group/mod.rs", "`systemd-run --user"),
    ("lab/src/checkout/mod.rs", "git clone --depth 1"),
    // Files of gRPC are read for the command only.
    ("lab/src/grpc/schema.rs", "(--proto-path)"),
    ("lab/src/grpc/schema_absent.rs", "--features proto"),
    ("lab/src/grpc/schema_absent.rs", "without --proto"),
    // Notes are parts of a duel's report, and no other front end has duels.
    ("verdict/src/note.rs", "(`--duration` makes"),
    ("verdict/src/note.rs", "(`--rounds N` measures"),
    // Failures of verification are texts, also between machines.
    ("lab/src/requests/verify.rs", "; --no-pipelining leaves"),
];

/// Has a line a flag after a space, a parenthesis or a backtick? Rust itself has no such text outside of strings.
fn has_flag(line: &str) -> bool {
    [" --", "(--", "`--"].iter().any(|flag| {
        let mut rest = line.split(flag).skip(1);
        rest.any(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
    })
}

#[test]
fn crates_below_the_command_name_no_flags() {
    let crates = root().join("crates");
    let mut sources = Vec::new();
    for name in BELOW {
        files(&crates.join(name).join("src"), "rs", &mut sources);
    }
    assert!(sources.len() > 200, "{}", sources.len());
    let mut wrong = Vec::new();
    for source in sources {
        let name = source.strip_prefix(&crates).unwrap().display().to_string();
        let text = fs::read_to_string(&source).unwrap();
        // Tests of a module are at its end, or in a file of that name.
        let text = text.split("#[cfg(test)]\nmod ").next().unwrap();
        if name.ends_with("tests.rs") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let comment = line.trim_start().starts_with("//");
            let mut allowed = WITH_FLAGS.iter();
            let allowed = allowed.any(|(file, such)| name == *file && line.contains(such));
            if has_flag(line) && !comment && !allowed {
                wrong.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "these texts name flags of the command, which front ends such as `prony ab` do not have; return data (see \
         crates/engine/src/remedy.rs), and put the words into crates/cli/src/remedy.rs:\n{}",
        wrong.join("\n")
    );
}
