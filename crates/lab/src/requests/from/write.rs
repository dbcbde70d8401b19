//! The file that is written.

use super::{CLOSE, Counted, OPEN};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The longest name that is made of a path, in characters.
const LONG: usize = 40;

/// The text of a file with these requests.
pub(super) fn file(all: &[Counted], origin: &str) -> String {
    let mut out = match origin {
        "" => "# prony load -f THIS_FILE http://HOST\n".to_owned(),
        origin => format!("# prony load -f THIS_FILE {origin}\n"),
    };
    // Of requests that were found once each, weights say nothing.
    let weights = all.iter().any(|one| one.times > 1);
    let mut names = BTreeSet::new();
    for one in all {
        request(&mut out, one, weights, &mut names);
    }
    out
}

fn request(out: &mut String, one: &Counted, weights: bool, names: &mut BTreeSet<String>) {
    let sent = &one.sent;
    let name = name(one, names);
    let _ = writeln!(out, "\n[[request]]\nname = {}", quoted(&name));
    let usual = if sent.body.is_empty() { "GET" } else { "POST" };
    if sent.method != usual {
        let _ = writeln!(out, "method = {}", quoted(&sent.method));
    }
    let _ = writeln!(
        out,
        "path = {}",
        quoted(&template(&sent.path, sent.templates))
    );
    if weights {
        let _ = writeln!(out, "weight = {}", one.times);
    }
    if !sent.headers.is_empty() {
        let field = |(name, value): &(String, String)| {
            let value = template(value, sent.templates);
            format!("{} = {}", key(name), quoted(&value))
        };
        let fields: Vec<String> = sent.headers.iter().map(field).collect();
        let _ = match fields.as_slice() {
            [only] => writeln!(out, "headers = {{ {only} }}"),
            // An inline table ends with its line: each field has a line of its own.
            several => several
                .iter()
                .try_for_each(|field| writeln!(out, "headers.{field}")),
        };
    }
    if !sent.body.is_empty() {
        let text = std::str::from_utf8(&sent.body).ok();
        let _ = match text {
            Some(text) => writeln!(out, "body = {}", quoted(&template(text, sent.templates))),
            None => writeln!(out, "body_base64 = \"{}\"", BASE64.encode(&sent.body)),
        };
    }
    let mut statuses = one.statuses.clone();
    statuses.sort_unstable();
    // Below 400 is right unless the file says otherwise.
    if statuses.iter().any(|&status| status >= 400) || sent.templates && !statuses.is_empty() {
        let _ = match statuses.as_slice() {
            [only] => writeln!(out, "expect.status = {only}"),
            several => writeln!(out, "expect.status = {several:?}"),
        };
    }
}

/// A text as a file has it: recorded braces stand for themselves, and marks are the braces of values.
pub(super) fn template(text: &str, has_marks: bool) -> String {
    let text = text.replace("{{", "{{\"{{\"}}");
    match has_marks {
        // A brace before a value would be taken for the value's.
        true => text
            .replace(&format!("{{{OPEN}"), &format!("{{{{\"{{\"}}}}{OPEN}"))
            .replace(OPEN, "{{")
            .replace(CLOSE, "}}"),
        false => text,
    }
}

/// A text as TOML has it: literally where that is possible, as it reads better.
fn quoted(text: &str) -> String {
    let literal = !text.contains('\'') && !text.chars().any(char::is_control);
    match literal && text.contains(['"', '\\']) {
        true => format!("'{text}'"),
        false => toml::Value::from(text).to_string(),
    }
}

/// A key as TOML has it.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !name.is_empty() && name.chars().all(bare) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// A name that no other request has.
fn name(one: &Counted, names: &mut BTreeSet<String>) -> String {
    match one.sent.name.as_str() {
        "" => {
            let path = one.sent.path.split(['?', '#']).next().unwrap_or_default();
            free_name(&format!("{} {path}", one.sent.method.to_lowercase()), names)
        }
        name => free_name(name, names),
    }
}

/// A name like the one that is `wanted`, of characters that a name may have, which is not among `names` yet; it is now.
pub(in crate::requests) fn free_name(wanted: &str, names: &mut BTreeSet<String>) -> String {
    let mut name = String::new();
    for c in wanted.chars().take(LONG) {
        match c {
            c if c.is_alphanumeric() || c == '_' => name.push(c),
            _ if name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    let name = match name.trim_matches('-') {
        "" => "request".to_owned(),
        name => name.to_owned(),
    };
    let numbered = (2..).map(|n| format!("{name}-{n}"));
    let mut all = std::iter::once(name.clone()).chain(numbered);
    let free = all.find(|name| !names.contains(name));
    let free = free.expect("there is always another number");
    names.insert(free.clone());
    free
}
