//! curl's command lines, as shells have them and as browsers copy them.

use super::{Found, Sent, is_own, taken_apart};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::path::Path;

/// What an option does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Method,
    Header,
    /// A body: `@FILE` is read without its line ends.
    Data,
    /// A body: `@` is nothing special.
    RawData,
    /// A body: `@FILE` is read as it is.
    BinaryData,
    UrlEncoded,
    Json,
    User,
    Agent,
    Referer,
    Cookie,
    Url,
    /// Data go into the query.
    Get,
    Head,
    Compressed,
    /// Something with a value that says nothing about the request.
    Value,
    /// Something without a value that says nothing about the request.
    Nothing,
    /// Something with a value that the request cannot have here.
    Lost,
    /// The same without a value.
    LostFlag,
}

use Does::{
    Agent, BinaryData, Compressed, Cookie, Data, Get, Head, Header, Json, Lost, LostFlag, Method,
    Nothing, RawData, Referer, Url, UrlEncoded, User, Value,
};

/// curl's options: letter, name, what it does.
const OPTIONS: [(char, &str, Does); 56] = [
    ('X', "request", Method),
    ('H', "header", Header),
    ('d', "data", Data),
    ('\0', "data-ascii", Data),
    ('\0', "data-raw", RawData),
    ('\0', "data-binary", BinaryData),
    ('\0', "data-urlencode", UrlEncoded),
    ('\0', "json", Json),
    ('u', "user", User),
    ('A', "user-agent", Agent),
    ('e', "referer", Referer),
    ('b', "cookie", Cookie),
    ('\0', "url", Url),
    ('G', "get", Get),
    ('I', "head", Head),
    ('\0', "compressed", Compressed),
    ('o', "output", Value),
    ('w', "write-out", Value),
    ('m', "max-time", Value),
    ('\0', "connect-timeout", Value),
    ('\0', "retry", Value),
    ('\0', "retry-delay", Value),
    ('\0', "limit-rate", Value),
    ('c', "cookie-jar", Value),
    ('D', "dump-header", Value),
    ('\0', "max-redirs", Value),
    ('\0', "cacert", Value),
    ('K', "config", Lost),
    ('F', "form", Lost),
    ('\0', "form-string", Lost),
    ('T', "upload-file", Lost),
    ('x', "proxy", Lost),
    ('\0', "resolve", Lost),
    ('\0', "connect-to", Lost),
    ('\0', "interface", Lost),
    ('\0', "unix-socket", Lost),
    ('E', "cert", Lost),
    ('\0', "key", Lost),
    ('r', "range", Lost),
    ('L', "location", LostFlag),
    ('\0', "http2", LostFlag),
    ('\0', "http3", LostFlag),
    ('\0', "digest", LostFlag),
    ('\0', "ntlm", LostFlag),
    ('\0', "negotiate", LostFlag),
    ('s', "silent", Nothing),
    ('S', "show-error", Nothing),
    ('k', "insecure", Nothing),
    ('v', "verbose", Nothing),
    ('i', "include", Nothing),
    ('f', "fail", Nothing),
    ('g', "globoff", Nothing),
    ('O', "remote-name", Nothing),
    ('#', "progress-bar", Nothing),
    ('N', "no-buffer", Nothing),
    ('\0', "http1.1", Nothing),
];

pub(super) fn is(text: &str) -> bool {
    let mut lines = text
        .lines()
        .map(|line| line.trim().trim_start_matches("$ "));
    lines.any(|line| line == "curl" || line.starts_with("curl "))
}

pub(super) fn read(text: &str, folder: &Path) -> Result<Found, String> {
    let mut found = Found::default();
    for words in commands(text)? {
        let mut notes = Vec::new();
        match sent(&words, folder, &mut notes) {
            Ok(sent) => found.requests.extend(sent),
            Err(why) => notes.push(why),
        }
        let url = words.iter().find(|word| word.contains("://"));
        let url = url.map_or("curl", String::as_str);
        let told = |note: String| match note.starts_with(url) {
            true => note,
            false => format!("{url}: {note}"),
        };
        found.notes.extend(notes.into_iter().map(told));
    }
    Ok(found)
}

/// The words after each `curl`, up to the end of its command.
fn commands(text: &str) -> Result<Vec<Vec<String>>, String> {
    let text = in_plain_quotes(text);
    let mut lexer = shlex::Shlex::new(&text);
    let mut all: Vec<Vec<String>> = Vec::new();
    let mut inside = false;
    for word in lexer.by_ref() {
        match word.as_str() {
            "curl" => {
                all.push(Vec::new());
                inside = true;
            }
            ";" | "|" | "&&" | "||" | "&" => inside = false,
            _ if inside => {
                let end = word.ends_with(';');
                let word = word.strip_suffix(';').unwrap_or(&word).to_owned();
                all.last_mut().expect("one was begun").push(word);
                inside = !end;
            }
            _ => {}
        }
    }
    match lexer.had_error {
        true => Err("a quote that has no end".into()),
        false => Ok(all),
    }
}

/// `$'…'`, which browsers write, with its escapes resolved, in quotes that every shell has.
fn in_plain_quotes(text: &str) -> String {
    let mut out = String::new();
    let mut quote = None;
    let text = text.replace("\r\n", "\n");
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (None, '$') if rest.peek() == Some(&'\'') => {
                rest.next();
                let inner = ansi_c(&mut rest);
                out += &shlex::try_quote(&inner).unwrap_or_default();
                continue;
            }
            // A command goes on in the next line.
            (None | Some('"'), '\\') if rest.next_if_eq(&'\n').is_some() => continue,
            (None | Some('"'), '\\') => {
                out.push(c);
                out.extend(rest.next());
                continue;
            }
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
        out.push(c);
    }
    out
}

/// What stands between `$'` and `'`.
fn ansi_c(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut out = String::new();
    while let Some(c) = rest.next() {
        match c {
            '\'' => break,
            '\\' => {
                let Some(escape) = rest.next() else { break };
                let mut code = |most: usize| {
                    let mut digits = String::new();
                    while digits.len() < most
                        && let Some(digit) = rest.next_if(char::is_ascii_hexdigit)
                    {
                        digits.push(digit);
                    }
                    u32::from_str_radix(&digits, 16)
                        .ok()
                        .and_then(char::from_u32)
                };
                match escape {
                    'n' => out.push('\n'),
                    'r' => out.push('\r'),
                    't' => out.push('\t'),
                    'x' => out.extend(code(2)),
                    'u' => out.extend(code(4)),
                    'U' => out.extend(code(8)),
                    other => out.push(other),
                }
            }
            c => out.push(c),
        }
    }
    out
}

/// A command as it is read.
#[derive(Default)]
struct Command {
    method: Option<String>,
    urls: Vec<String>,
    headers: Vec<(String, String)>,
    data: Vec<Vec<u8>>,
    json: bool,
    get: bool,
    head: bool,
}

impl Command {
    fn header(&mut self, name: &str, value: &str) {
        if !is_own(name) {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
    }

    fn has(&self, name: &str) -> bool {
        let mut names = self.headers.iter().map(|(name, _)| name);
        names.any(|known| known.eq_ignore_ascii_case(name))
    }
}

fn sent(words: &[String], folder: &Path, notes: &mut Vec<String>) -> Result<Vec<Sent>, String> {
    let mut command = Command::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let options = match (word.strip_prefix("--"), word.strip_prefix('-')) {
            (Some(""), _) | (None, None | Some("")) => {
                command.urls.push(word.clone());
                continue;
            }
            (Some(name), _) => vec![(by_name(name), format!("--{name}"), None)],
            (None, Some(letters)) => by_letters(letters),
        };
        for (does, shown, attached) in options {
            let takes = !matches!(
                does,
                Some(Get | Head | Compressed | Nothing | LostFlag) | None
            );
            let value = match (takes, attached) {
                (false, _) => String::new(),
                (true, Some(value)) => value,
                (true, None) => {
                    let next = words.next();
                    next.cloned()
                        .ok_or_else(|| format!("{shown} has no value"))?
                }
            };
            match does {
                Some(does) => option(&mut command, does, &value, folder, notes, &shown)?,
                None => notes.push(format!("{shown} is not known, and was left out")),
            }
        }
    }
    finish(command)
}

fn by_name(name: &str) -> Option<Does> {
    let known = OPTIONS.iter().find(|(_, known, _)| *known == name);
    known.map(|(_, _, does)| *does)
}

/// Letters after one dash: each an option, the last perhaps with its value.
fn by_letters(letters: &str) -> Vec<(Option<Does>, String, Option<String>)> {
    let mut all = Vec::new();
    for (at, letter) in letters.char_indices() {
        let known = OPTIONS.iter().find(|(known, ..)| *known == letter);
        let does = known.map(|(_, _, does)| *does);
        let rest = &letters[at + letter.len_utf8()..];
        let takes = !matches!(
            does,
            Some(Get | Head | Compressed | Nothing | LostFlag) | None
        );
        let attached = (takes && !rest.is_empty()).then(|| rest.to_owned());
        all.push((does, format!("-{letter}"), attached));
        if takes {
            break;
        }
    }
    all
}

fn option(
    command: &mut Command,
    does: Does,
    value: &str,
    folder: &Path,
    notes: &mut Vec<String>,
    shown: &str,
) -> Result<(), String> {
    let file = |path: &str| {
        let path = folder.join(path);
        std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
    };
    match does {
        Method => command.method = Some(value.to_owned()),
        Header => match value.split_once(':') {
            Some((name, text)) if !text.trim().is_empty() => {
                command.header(name.trim(), text.trim());
            }
            // `Name:` takes a field away, `Name;` sends it empty.
            Some((name, _)) => notes.push(format!("the header {name} that curl is not to send")),
            None => command.header(value.trim_end_matches(';'), ""),
        },
        Data | Json | BinaryData | RawData => {
            let bytes = match value.strip_prefix('@').filter(|_| does != RawData) {
                Some(path) => file(path)?,
                None => value.as_bytes().to_vec(),
            };
            let stripped = does == Data && value.starts_with('@');
            let keep = |byte: &u8| !(stripped && matches!(byte, b'\n' | b'\r' | 0));
            command.data.push(bytes.into_iter().filter(keep).collect());
            command.json |= does == Json;
        }
        UrlEncoded => command.data.push(url_encoded(value, &file)?),
        User => {
            let user = BASE64.encode(value);
            command.header("Authorization", &format!("Basic {user}"));
        }
        Agent => command.header("User-Agent", value),
        Referer => command.header("Referer", value),
        Cookie => match value.contains('=') {
            true => command.header("Cookie", value),
            false => notes.push(format!("the file of cookies {value}")),
        },
        Url => command.urls.push(value.to_owned()),
        Get => command.get = true,
        Head => command.head = true,
        Compressed => command.header("Accept-Encoding", "gzip, deflate"),
        Value | Nothing => {}
        Lost if matches!(
            shown,
            "-F" | "--form" | "--form-string" | "-T" | "--upload-file"
        ) =>
        {
            return Err(format!("{shown}: bodies of this kind are not made here"));
        }
        LostFlag if matches!(shown, "-L" | "--location") => {
            notes.push(format!("{shown}: redirects are not followed"));
        }
        Lost | LostFlag => notes.push(format!("{shown} was left out")),
    }
    Ok(())
}

/// `--data-urlencode`: `text`, `=text`, `name=text`, `@file`, `name@file`.
fn url_encoded(
    value: &str,
    file: &dyn Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<Vec<u8>, String> {
    let (name, bytes) = match value.find(['=', '@']) {
        None => ("", value.as_bytes().to_vec()),
        Some(at) if value[at..].starts_with('=') => (&value[..at], value[at + 1..].into()),
        Some(at) => (&value[..at], file(&value[at + 1..])?),
    };
    let encoded = percent_encoding::percent_encode(&bytes, super::super::template::UNRESERVED);
    Ok(match name {
        "" => encoded.to_string(),
        name => format!("{name}={encoded}"),
    }
    .into_bytes())
}

fn finish(mut command: Command) -> Result<Vec<Sent>, String> {
    let mut body = command
        .data
        .join(if command.json { &b""[..] } else { b"&" });
    let mut query = None;
    if command.get {
        let text = String::from_utf8(std::mem::take(&mut body));
        query = Some(text.map_err(|_| "a query that is no text")?);
    }
    let has_body = !command.data.is_empty() && !command.get;
    if has_body && !command.has("content-type") {
        command.header(
            "Content-Type",
            match command.json {
                true => "application/json",
                false => "application/x-www-form-urlencoded",
            },
        );
    }
    if command.json && !command.has("accept") {
        command.header("Accept", "application/json");
    }
    let method = match (&command.method, has_body) {
        (Some(method), _) => method.clone(),
        (None, _) if command.head => "HEAD".into(),
        (None, true) => "POST".into(),
        (None, false) => "GET".into(),
    };
    if command.urls.is_empty() {
        return Err("no URL".into());
    }
    let headers = super::once_each(command.headers)?;
    let mut all = Vec::new();
    for url in &command.urls {
        let whole = match url.contains("://") {
            true => url.clone(),
            false => format!("http://{url}"),
        };
        let (origin, mut path) = taken_apart(&whole)?;
        if let Some(query) = query.as_deref().filter(|query| !query.is_empty()) {
            path += if path.contains('?') { "&" } else { "?" };
            path += query;
        }
        all.push(Sent {
            method: method.clone(),
            origin,
            path,
            headers: headers.clone(),
            body: body.clone(),
            ..Sent::default()
        });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_quotes_are_resolved() {
        let text = r#"curl 'http://h/a' -d $'it\'s\u0021\n"x"' -H "a: \"b\"""#;
        let all = commands(text).unwrap();
        assert_eq!(
            all,
            [["http://h/a", "-d", "it's!\n\"x\"", "-H", "a: \"b\""]]
        );
    }

    #[test]
    fn commands_end_where_the_shell_ends_them() {
        let text =
            "# two\n$ curl -s http://h/a | jq .\ncurl http://h/b; curl \\\n  http://h/c && echo";
        let all = commands(text).unwrap();
        assert_eq!(
            all,
            [
                vec!["-s", "http://h/a"],
                vec!["http://h/b"],
                vec!["http://h/c"]
            ]
        );
        assert!(commands("curl 'http://h").is_err());
    }
}
