//! Names of sides: the user's, or the shortest part of each that tells them apart.

use crate::args::Duel;
use crate::target::is_url;
use miette::Result;
use prony_lab::side::Side;
use std::collections::BTreeSet;

/// The longest name that tables have room for.
const LONGEST: usize = 24;

/// Programs that run another file: a server is known by that file.
const INTERPRETERS: [&str; 10] = [
    "bun", "deno", "dotnet", "java", "node", "perl", "php", "python", "python3", "ruby",
];

/// Refuses names that are not one for each of so many sides, or that do not tell them apart.
pub fn check(args: &Duel, sides: usize) -> Result<()> {
    let names = &args.name;
    if names.is_empty() {
        return Ok(());
    }
    if names.len() != sides {
        return Err(usage!(
            help = "prony duel -n old './old {port}' -n new './new {port}'",
            "--name is given {} times for {sides} sides: give one for each, in their order",
            names.len()
        ));
    }
    let unfit = |name: &&String| name.trim().is_empty() || name.chars().any(char::is_control);
    if let Some(name) = names.iter().find(unfit) {
        return Err(usage!("--name {name:?} is not a name"));
    }
    match names.iter().collect::<BTreeSet<_>>().len() == names.len() {
        true => Ok(()),
        false => Err(usage!("--name gives the same name to two sides")),
    }
}

/// Names the sides, whose names are the user's words until now.
pub fn name(given: &[String], sides: &mut [Side]) {
    let words: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
    let names = match given {
        [] => short(&words),
        given => given.to_vec(),
    };
    for (side, name) in sides.iter_mut().zip(names) {
        side.name = name;
    }
}

/// A server that is measured alone: its program's or script's file name, or a URL's host and port.
pub fn alone(word: &str) -> String {
    if is_url(word) {
        return word.to_owned();
    }
    let mut all = tokens(word).map(file_name);
    let Some(program) = all.next() else {
        return word.to_owned();
    };
    let script = all.find(|token| !token.starts_with('-'));
    let name = script.filter(|_| INTERPRETERS.contains(&program.as_str()));
    name.unwrap_or(program)
}

/// A short name for each of these, in their order; those of equal ones are equal.
fn short(words: &[&str]) -> Vec<String> {
    let fits =
        |names: &Vec<String>| names.iter().all(|name| !name.is_empty()) && tell_apart(names, words);
    let all_urls = words.iter().all(|word| is_url(word));
    let found = if all_urls {
        [port, authority, scheme, path]
            .into_iter()
            .map(|part| words.iter().map(|word| part(word)).collect())
            .find(fits)
    } else {
        // As many of the differing parts as are needed, from the first on.
        let most = words.iter().map(|word| tokens(word).count()).max();
        let parts = 1..=most.unwrap_or_default();
        let whole_paths = parts
            .clone()
            .map(|parts| differing(words, parts, str::to_owned));
        parts
            .map(|parts| differing(words, parts, file_name))
            .chain(whole_paths)
            .find(fits)
    };
    let found = found.unwrap_or_else(|| words.iter().map(|word| (*word).to_owned()).collect());
    let cut: Vec<String> = found.iter().map(|name| cut(name)).collect();
    if tell_apart(&cut, words) {
        return cut;
    }
    // Nothing short tells them apart.
    ('A'..='Z').map(String::from).take(words.len()).collect()
}

/// Do two names differ wherever the words do?
fn tell_apart(names: &[String], words: &[&str]) -> bool {
    let distinct = |of: BTreeSet<&str>| of.len();
    let names = distinct(names.iter().map(String::as_str).collect());
    names == distinct(words.iter().copied().collect())
}

/// The first `parts` parts of each that not all have, options after all else; of one that has no others, its program.
fn differing(words: &[&str], parts: usize, shown: fn(&str) -> String) -> Vec<String> {
    let each: Vec<Vec<&str>> = words.iter().map(|word| tokens(word).collect()).collect();
    let in_all = |token: &str| each.iter().all(|tokens| tokens.contains(&token));
    let names = words.iter().zip(&each).map(|(word, tokens)| {
        if is_url(word) {
            return authority(word);
        }
        let mut own: (Vec<String>, Vec<String>) = Default::default();
        let mut rest = tokens.iter().filter(|token| !in_all(token)).peekable();
        while let Some(token) = rest.next() {
            if !token.starts_with('-') {
                own.0.push(shown(token));
                continue;
            }
            // An option goes with its value, and without dashes: `--server NAME` takes the name later.
            let option = token.trim_start_matches('-');
            let value = rest.next_if(|value| !value.starts_with('-'));
            own.1
                .push(value.map_or_else(|| option.to_owned(), |value| format!("{option} {value}")));
        }
        let own: Vec<String> = own.0.into_iter().chain(own.1).take(parts).collect();
        match own.is_empty() {
            true => alone(word),
            false => own.join(" "),
        }
    });
    names.collect()
}

/// The words of a command line, without quotes and without what prony fills in.
fn tokens(word: &str) -> impl Iterator<Item = &str> {
    word.split_whitespace()
        .map(|token| token.trim_matches(['\'', '"', ';']))
        .filter(|token| !token.is_empty() && !token.contains("{port}") && !token.contains("{host}"))
}

/// The last part of a path; all else as it is.
fn file_name(token: &str) -> String {
    let path = token.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

fn cut(name: &str) -> String {
    match name.chars().count() > LONGEST {
        true => name.chars().take(LONGEST - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

/// Scheme, host and port, and the rest.
fn split(url: &str) -> (&str, &str, &str) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    (scheme, &rest[..end], &rest[end..])
}

fn scheme(url: &str) -> String {
    split(url).0.to_owned()
}

fn authority(url: &str) -> String {
    split(url).1.to_owned()
}

/// Host and port; on localhost the port alone.
fn port(url: &str) -> String {
    let authority = authority(url);
    let local = ["localhost:", "127.0.0.1:"];
    match local.iter().find_map(|host| authority.strip_prefix(host)) {
        Some(port) => format!(":{port}"),
        None => authority,
    }
}

fn path(url: &str) -> String {
    split(url).2.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_part_that_tells_sides_apart() {
        for (words, names) in [
            (
                &["node old.js --port {port}", "node new.js --port {port}"][..],
                &["old.js", "new.js"][..],
            ),
            (&["./old {port}", "./new {port}"], &["old", "new"]),
            (
                &["/a/bin/app {port}", "/b/bin/app {port}"],
                &["/a/bin/app", "/b/bin/app"],
            ),
            (
                &["./a {port} --busy 1ms", "./a {port} --busy 2ms"],
                &["1ms", "2ms"],
            ),
            (&["./a {port}", "./a {port} --fast"], &["a", "fast"]),
            (&["./a {port}", "./a {port} -w 2"], &["a", "w 2"]),
            (&["sh -c './a --to 1'", "sh -c './a --to 2'"], &["1", "2"]),
            (
                &["node a.js {port}", "python3 a.py {port}"],
                &["node", "python3"],
            ),
            (
                &["./a x {port}", "./a y {port}", "./b x {port}"],
                &["a x", "a y", "b x"],
            ),
            (&["./a {port}", "./a {port}"], &["a", "a"]),
            (&["node", "go-net-http@2"], &["node", "go-net-http@2"]),
            (
                &["http://localhost:8001/", "http://localhost:8002/"],
                &[":8001", ":8002"],
            ),
            (
                &["http://10.0.0.5/", "http://10.0.0.6/"],
                &["10.0.0.5", "10.0.0.6"],
            ),
            (&["http://x:1/", "h2c://x:1/"], &["http", "h2c"]),
            (&["http://x:1/a", "http://x:1/b"], &["/a", "/b"]),
            (&["http://x:1/", "./server {port}"], &["x:1", "server"]),
            (&["shop:1.4", "shop:1.5"], &["shop:1.4", "shop:1.5"]),
            (
                &["registry.test/team/shop:1", "registry.test/team/shop:2"],
                &["shop:1", "shop:2"],
            ),
        ] {
            assert_eq!(short(words), names, "{words:?}");
        }
    }

    #[test]
    fn names_are_cut_where_that_leaves_them_apart() {
        let (one, two) = ("a".repeat(40), "b".repeat(40));
        let names = short(&[&one, &two]);
        assert!(
            names.iter().all(|name| name.chars().count() == LONGEST),
            "{names:?}"
        );
        let (one, two) = (format!("{one}1"), format!("{one}2"));
        assert_eq!(short(&[&one, &two]), ["A", "B"]);
    }

    #[test]
    fn a_server_alone_has_a_name_without_its_options() {
        for (word, name) in [
            ("./bin/server --port {port}", "server"),
            ("node --inspect app.js {port}", "app.js"),
            ("node@2", "node@2"),
            ("http://x:1/", "http://x:1/"),
        ] {
            assert_eq!(alone(word), name, "{word}");
        }
    }
}
