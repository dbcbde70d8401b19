//! Every command line in the help and in the documentation can be typed: it parses as it stands.

use super::command;
use std::fs;
use std::path::{Path, PathBuf};

/// Ends of a command on its line: a comment, another command, a redirection.
const ENDS: [&str; 5] = ["#", "|", ">", "<", "2>"];

/// A command line as a shell takes it: the words before its end, without what belongs to the shell. `None`: it does not
/// call prony, or only with an argument that a reader fills in.
fn typed(line: &str) -> Option<Vec<String>> {
    let line = line.trim_start().trim_start_matches("$ ");
    let begins = line.split_whitespace().position(|word| word == "prony")?;
    // Before it: variables, or a program that starts it, such as ssh.
    let before: Vec<&str> = line.split_whitespace().take(begins).collect();
    let piped = before.last().is_some_and(|word| *word == "|");
    if !piped && !before.iter().all(|word| word.contains('=')) {
        return None;
    }
    let from = line.find("prony")?;
    let words = shlex::split(&line[from..])?;
    let ended = |word: &String| ENDS.contains(&word.as_str());
    let words: Vec<String> = words.into_iter().take_while(|word| !ended(word)).collect();
    let named = |word: &String| word.starts_with(|c: char| c.is_ascii_lowercase());
    let complete = words.get(1).is_some_and(named) && !words.iter().any(|it| it.contains('…'));
    complete.then_some(words)
}

/// The lines of code of a page, each with its number; continued ones joined.
fn code(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut fenced, mut goes_on) = (false, false);
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if !fenced && !line.starts_with("    ") {
            goes_on = false;
            continue;
        }
        let part = line.trim().trim_end_matches('\\');
        match found.last_mut() {
            Some((_, begun)) if goes_on => *begun = format!("{begun} {part}"),
            _ => found.push((number + 1, part.to_owned())),
        }
        goes_on = line.trim_end().ends_with('\\');
    }
    found
}

/// The README and the pages of `docs`.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    for folder in ["docs", "docs/dev"] {
        let files = fs::read_dir(root.join(folder)).unwrap().flatten();
        pages.extend(files.map(|it| it.path()));
    }
    pages.retain(|path| path.extension().is_some_and(|it| it == "md"));
    pages
}

/// Adds what is wrong with a command line, where it stands in front.
fn parse(command: &clap::Command, at: &str, line: &str, wrong: &mut String) -> bool {
    let Some(words) = typed(line) else {
        return false;
    };
    if let Err(error) = command.clone().try_get_matches_from(&words)
        && error.exit_code() != 0
    {
        *wrong += &format!("{at}: {line}\n{error}\n");
    }
    true
}

#[test]
fn every_command_line_of_the_documentation_parses() {
    let command = command();
    let (mut wrong, mut parsed) = (String::new(), 0);
    for page in pages() {
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        for (number, line) in code(&fs::read_to_string(&page).unwrap()) {
            let at = format!("{name}:{number}");
            parsed += usize::from(parse(&command, &at, &line, &mut wrong));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(parsed > 120, "only {parsed} command lines");
}

#[test]
fn every_example_of_the_help_parses() {
    fn each(command: &clap::Command, examples: &mut Vec<(String, String)>) {
        for help in [command.get_after_help(), command.get_after_long_help()] {
            let help = help.map(ToString::to_string).unwrap_or_default();
            let lines = help.lines().filter(|it| it.starts_with("  prony "));
            // The explanation of an example is behind it.
            let line = |it: &str| it.trim().split("  ").next().unwrap_or_default().to_owned();
            examples.extend(lines.map(|it| (command.get_name().to_owned(), line(it))));
        }
        command
            .get_subcommands()
            .for_each(|inner| each(inner, examples));
    }
    let command = command();
    let mut examples = Vec::new();
    each(&command, &mut examples);
    let mut wrong = String::new();
    for (name, line) in &examples {
        parse(&command, name, line, &mut wrong);
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(examples.len() > 120, "only {} examples", examples.len());
}

#[test]
fn a_command_ends_where_a_shell_ends_it() {
    let words = |line| typed(line).map(|it| it.join(" "));
    assert_eq!(
        words("$ prony load :8000   # fast"),
        Some("prony load :8000".into())
    );
    assert_eq!(
        words("wrk http://a/ | prony audit -"),
        Some("prony audit -".into())
    );
    assert_eq!(words("ssh desk prony export 12 | prony import -"), None);
    assert_eq!(
        words("prony load :8000 2> log.txt"),
        Some("prony load :8000".into())
    );
    assert_eq!(words("A=1 prony load 'a b'"), Some("prony load a b".into()));
    assert_eq!(words("prony load grpc://…"), None);
    assert_eq!(words("curl :8000"), None);
    assert_eq!(words("prony = \"/opt/prony\""), None);
    let page = "text\n    prony duel a \\\n         b\n```sh\nprony runs\n```\nprony view\n";
    let code = code(page);
    assert_eq!(code[0], (2, "prony duel a  b".into()));
    assert_eq!(code[1], (5, "prony runs".into()));
    assert_eq!(code.len(), 2);
}
