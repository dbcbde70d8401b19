//! curl's command lines, as shells have them and as browsers copy them.

mod glob;
mod options;
mod shell;

use super::{FoundRequest, FoundRequests, Note, ReadContext, form, headers_of, split_url};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use options::OPTIONS;
use percent_encoding::percent_decode_str;
use shell::{Input, ShellCommand};
use std::path::Path;

/// Effect of an option.
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
    /// A part of a form; `@` and `<` name files.
    Form,
    FormString,
    /// A file that is sent as it is.
    Upload,
    User,
    Bearer,
    Agent,
    Referer,
    Cookie,
    Range,
    Continue,
    Url,
    UrlQuery,
    /// The request target instead of the URL's path.
    Target,
    /// A time since which something must have changed.
    Since,
    /// The scheme of URLs without one.
    Scheme,
    /// A file of options.
    Config,
    /// Data go into the query.
    Get,
    Head,
    Compressed,
    /// Begins another request.
    Next,
    GlobOff,
    /// Paths with dots stay as they are.
    AsIs,
    /// Something with a value that says nothing about the request.
    Value,
    /// Something without a value that says nothing about the request.
    Nothing,
    /// Something with a value that a request cannot have here.
    Lost,
    /// The same without a value.
    LostFlag,
    /// Something with a value that `prony load` has an option for.
    Load,
    /// The same without a value.
    LoadFlag,
}

impl Does {
    /// Does a value follow it?
    fn takes(self) -> bool {
        !matches!(
            self,
            Self::Get
                | Self::Head
                | Self::Compressed
                | Self::Next
                | Self::GlobOff
                | Self::AsIs
                | Self::Nothing
                | Self::LostFlag
                | Self::LoadFlag
        )
    }
}

/// The `User-Agent` of curl.
const AGENT: &str = "curl/8.5.0";
/// The codings that curl asks for.
const ENCODINGS: &str = "deflate, gzip, br, zstd";

/// Is this word the name of the program?
fn is_curl(word: &[u8]) -> bool {
    let name = word.rsplit(|byte| matches!(byte, b'/' | b'\\')).next();
    let name = name.unwrap_or_default();
    name.eq_ignore_ascii_case(b"curl") || name.eq_ignore_ascii_case(b"curl.exe")
}

pub(super) fn is(text: &str) -> bool {
    let begins = |line: &str| {
        let mut words = line.split_whitespace();
        // A prompt, variables and programs that start others may stand before it.
        let word = words.find(|word| {
            let before = [
                "$", "#", "%", ">", "sudo", "time", "command", "exec", "env", "nohup", "!",
            ];
            !before.contains(word) && !is_assignment(word)
        });
        word.is_some_and(|word| is_curl(word.as_bytes()))
            || line.contains("$(curl ")
            || line.contains("| curl ")
            || line.contains("; curl ")
            || line.contains("&& curl ")
    };
    text.lines().any(begins)
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.is_some_and(|name| !name.is_empty() && name.chars().all(fits))
}

pub(super) fn read(text: &str, context: &ReadContext<'_>) -> Result<FoundRequests, String> {
    let mut found = FoundRequests::default();
    for line in shell::lines(text)? {
        let Some(at) = line.words.iter().position(|word| is_curl(word)) else {
            continue;
        };
        let mut reading = CurlReader {
            folder: context.folder,
            line: &line,
            notes: Vec::new(),
        };
        let all = reading.operations(line.words[at + 1..].to_vec());
        let place = format!("line {}", line.number);
        match all {
            Ok(all) => {
                for operation in all {
                    match reading.requests(operation) {
                        Ok(all) => found.requests.extend(all),
                        Err(why) => reading.notes.push(why),
                    }
                }
            }
            Err(why) => reading.notes.push(why),
        }
        for name in &line.unknown {
            let why = format!("{name} is known to the shell only, and stands as it is");
            reading.notes.push(why);
        }
        let notes = reading.notes.into_iter();
        found
            .notes
            .extend(notes.map(|note| Note::new(&place, note)));
    }
    Ok(found)
}

/// One request, or several with the same options.
#[derive(Debug, Default)]
struct Operation {
    method: Option<String>,
    /// Each with the file that is sent to it.
    urls: Vec<String>,
    uploads: Vec<String>,
    /// `None`: curl is told not to send it.
    headers: Vec<(String, Option<String>)>,
    /// Whether each is of JSON, and its bytes.
    data: Option<Vec<u8>>,
    json: bool,
    parts: Vec<form::FormPart>,
    queries: Vec<String>,
    user: Option<String>,
    bearer: Option<String>,
    agent: Option<String>,
    referer: Option<String>,
    cookies: Vec<String>,
    cookie_files: Vec<String>,
    range: Option<String>,
    target: Option<String>,
    get: bool,
    head: bool,
    compressed: bool,
    as_is: bool,
    /// Name and password go out when the server has asked for them, in a way that is not made here.
    asks_first: bool,
}

/// Options that hold for all requests of a command.
#[derive(Debug, Default)]
struct Global {
    globoff: bool,
    scheme: Option<String>,
}

struct CurlReader<'a> {
    folder: &'a Path,
    line: &'a ShellCommand,
    notes: Vec<String>,
}

impl CurlReader<'_> {
    /// The operations of a command: one, or several with `--next` between them.
    fn operations(&mut self, words: Vec<Vec<u8>>) -> Result<Vec<Operation>, String> {
        let mut words: std::collections::VecDeque<Vec<u8>> = words.into();
        let (mut all, mut now) = (Vec::new(), Operation::default());
        let mut global = Global::default();
        let mut only_urls = false;
        while let Some(word) = words.pop_front() {
            let text = String::from_utf8_lossy(&word).into_owned();
            let options = match (text.strip_prefix("--"), text.strip_prefix('-')) {
                _ if only_urls => {
                    now.urls.push(text);
                    continue;
                }
                (Some(""), _) => {
                    only_urls = true;
                    continue;
                }
                (None, None | Some("")) => {
                    now.urls.push(text);
                    continue;
                }
                (Some(name), _) => vec![(by_name(name), format!("--{name}"), None)],
                (None, Some(_)) => by_letters(&word[1..]),
            };
            for (does, shown, attached) in options {
                let Some(does) = does else {
                    self.unknown(&shown, &mut words)?;
                    continue;
                };
                let value = match (does.takes(), attached) {
                    (false, _) => Vec::new(),
                    (true, Some(value)) => value,
                    (true, None) => words
                        .pop_front()
                        .ok_or_else(|| format!("{shown} has no value"))?,
                };
                match does {
                    Does::Next => all.push(std::mem::take(&mut now)),
                    Does::Config => {
                        let path = String::from_utf8_lossy(&value).into_owned();
                        let text = String::from_utf8_lossy(&self.file(&path)?).into_owned();
                        for word in config(&text).into_iter().rev() {
                            words.push_front(word);
                        }
                    }
                    Does::GlobOff => global.globoff = true,
                    Does::Scheme => {
                        global.scheme = Some(String::from_utf8_lossy(&value).into_owned());
                    }
                    _ => self.option(&mut now, does, &value, &shown)?,
                }
            }
        }
        all.push(now);
        for operation in &mut all {
            if operation.urls.is_empty() {
                return Err("no URL".into());
            }
            let mut urls = Vec::new();
            for url in &operation.urls {
                match global.globoff {
                    true => urls.push(url.clone()),
                    false => urls.extend(glob::expanded(url)?),
                }
            }
            let scheme = global.scheme.as_deref().unwrap_or("http");
            let whole = |url: String| match url.contains("://") {
                true => url,
                false => format!("{scheme}://{url}"),
            };
            operation.urls = urls.into_iter().map(whole).collect();
        }
        Ok(all)
    }

    /// An option that is not known may have a value: a word that is no URL while there is one.
    fn unknown(
        &mut self,
        shown: &str,
        words: &mut std::collections::VecDeque<Vec<u8>>,
    ) -> Result<(), String> {
        let text = |word: &Vec<u8>| String::from_utf8_lossy(word).into_owned();
        let is_url = |word: &String| word.contains("://");
        match words.front().map(text) {
            Some(word) if word.starts_with('-') || is_url(&word) => {
                self.notes
                    .push(format!("{shown} is not known, and was left out"));
            }
            Some(word) if words.iter().map(text).any(|word| is_url(&word)) => {
                words.pop_front();
                self.notes.push(format!(
                    "{shown} is not known, and was left out with {word:?}, which may be its value"
                ));
            }
            Some(word) => {
                return Err(format!(
                    "{shown} is not known, and {word:?} may be its value or a URL: write http:// in front of the URL"
                ));
            }
            None => self
                .notes
                .push(format!("{shown} is not known, and was left out")),
        }
        Ok(())
    }

    fn option(
        &mut self,
        now: &mut Operation,
        does: Does,
        bytes: &[u8],
        shown: &str,
    ) -> Result<(), String> {
        let value = String::from_utf8_lossy(bytes).into_owned();
        match does {
            Does::Method => now.method = Some(value),
            Does::Header => match value.strip_prefix('@') {
                Some(path) => {
                    let text = String::from_utf8_lossy(&self.file(path)?).into_owned();
                    let lines = text.lines().filter(|line| !line.trim().is_empty());
                    lines.for_each(|line| now.header(line));
                }
                None => now.header(&value),
            },
            Does::Data | Does::Json | Does::BinaryData | Does::RawData => {
                let mut datum = match value.strip_prefix('@').filter(|_| does != Does::RawData) {
                    Some(path) => self.file(path)?,
                    None => bytes.to_vec(),
                };
                if does == Does::Data && value.starts_with('@') {
                    datum.retain(|byte| !matches!(byte, b'\n' | b'\r' | 0));
                }
                now.json |= does == Does::Json;
                now.datum(&datum, does != Does::Json);
            }
            Does::UrlEncoded => {
                let encoded = self.url_encoded(&value)?;
                now.datum(encoded.as_bytes(), true);
            }
            Does::UrlQuery => {
                let query = match value.strip_prefix('+') {
                    Some(raw) => raw.to_owned(),
                    None => self.url_encoded(&value)?,
                };
                now.queries.push(query);
            }
            Does::Form => now
                .parts
                .extend(form::FormPart::read(&value, |path| self.file(path))?),
            Does::FormString => now.parts.push(form::FormPart::text(&value)?),
            Does::Upload => now.uploads.push(value),
            Does::User => now.user = Some(value),
            Does::Bearer => now.bearer = Some(value),
            Does::Agent => now.agent = Some(value),
            Does::Referer => now.referer = Some(value.trim_end_matches(";auto").to_owned()),
            Does::Cookie if value.contains('=') => now.cookies.push(value),
            Does::Cookie if value.is_empty() => {}
            Does::Cookie => now.cookie_files.push(value),
            // Without a dash it is where the range begins.
            Does::Range if !value.contains('-') => now.range = Some(format!("{value}-")),
            Does::Range => now.range = Some(value),
            Does::Continue if value == "-" => self.notes.push(format!("{shown} - was left out")),
            Does::Continue => now.range = Some(format!("{value}-")),
            Does::Since => match since(&value) {
                Some((name, date)) => now.headers.push((name.into(), Some(date))),
                None => self.notes.push(format!(
                    "{shown} {value} was left out: not a time as curl reads it, such as Wed, 21 Oct 2015 07:28:00 GMT"
                )),
            },
            Does::Url => now.urls.push(value),
            Does::Target => now.target = Some(value),
            Does::Get => now.get = true,
            Does::Head => now.head = true,
            Does::Compressed => now.compressed = true,
            Does::AsIs => now.as_is = true,
            Does::LostFlag if matches!(shown, "-L" | "--location" | "--location-trusted") => {
                self.notes
                    .push(format!("{shown}: redirects are not followed"));
            }
            Does::Lost | Does::LostFlag => {
                let asks = ["digest", "ntlm", "ntlm-wb", "negotiate", "anyauth"];
                now.asks_first |= asks.contains(&shown.trim_start_matches('-'));
                self.notes.push(format!("{shown} was left out"));
            }
            Does::Load => self.notes.push(format!(
                "{shown} {value} was left out: it is an option of prony load"
            )),
            Does::LoadFlag => self.notes.push(format!(
                "{shown} was left out: it is an option of prony load"
            )),
            Does::Value
            | Does::Nothing
            | Does::Next
            | Does::Config
            | Does::GlobOff
            | Does::Scheme => {}
        }
        Ok(())
    }

    /// The content of a file; `-` is standard input.
    fn file(&self, path: &str) -> Result<Vec<u8>, String> {
        let path = match (path, &self.line.input) {
            ("-" | ".", Some(Input::Text(text))) => return Ok(text.clone()),
            ("-" | ".", Some(Input::File(path))) => path,
            ("-" | ".", None) => return Err("standard input, which is not known".into()),
            _ => path,
        };
        let path = self.folder.join(path);
        std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
    }

    /// `--data-urlencode`: `text`, `=text`, `name=text`, `@file`, `name@file`.
    fn url_encoded(&self, value: &str) -> Result<String, String> {
        let (name, bytes) = match value.find(['=', '@']) {
            None => ("", value.as_bytes().to_vec()),
            Some(at) if value[at..].starts_with('=') => (&value[..at], value[at + 1..].into()),
            Some(at) => (&value[..at], self.file(&value[at + 1..])?),
        };
        let encoded = percent_encoding::percent_encode(&bytes, super::super::template::UNRESERVED);
        let encoded = encoded.to_string().replace("%20", "+");
        Ok(match name {
            "" => encoded,
            name => format!("{name}={encoded}"),
        })
    }

    /// The requests of an operation: one to each URL.
    fn requests(&mut self, mut now: Operation) -> Result<Vec<FoundRequest>, String> {
        let urls = std::mem::take(&mut now.urls);
        let mut all = Vec::new();
        for (place, url) in urls.iter().enumerate() {
            match self.request(&now, place, url) {
                Ok(sent) => all.push(sent),
                Err(why) if why.starts_with(url.as_str()) => self.notes.push(why),
                Err(why) => self.notes.push(format!("{url}: {why}")),
            }
        }
        Ok(all)
    }

    fn request(
        &mut self,
        now: &Operation,
        place: usize,
        url: &str,
    ) -> Result<FoundRequest, String> {
        let mut split = split_url(url, now.as_is)?;
        let kinds = [
            (now.data.is_some() && !now.get, "-d"),
            (!now.parts.is_empty(), "-F"),
            (!now.uploads.is_empty(), "-T"),
            (now.head, "-I"),
        ];
        let kinds: Vec<&str> = (kinds.iter().filter(|(given, _)| *given))
            .map(|(_, option)| *option)
            .collect();
        if let [one, other, ..] = kinds.as_slice() {
            return Err(format!("curl takes only one of {one} and {other}"));
        }
        let upload = now.uploads.get(place).or(now.uploads.last());
        let mut queries = now.queries.clone();
        let mut body = now.data.clone().unwrap_or_default();
        let mut content_type = match (now.json, &now.data) {
            (true, _) => Some("application/json".to_owned()),
            (false, Some(_)) => Some("application/x-www-form-urlencoded".to_owned()),
            (false, None) => None,
        };
        let mut method = match &now.data {
            _ if now.head => "HEAD",
            Some(_) => "POST",
            None => "GET",
        };
        if now.get || now.head {
            if now.get && !body.is_empty() {
                let text = String::from_utf8(std::mem::take(&mut body));
                queries.push(text.map_err(|_| "a query that is no text")?);
            }
            if now.get {
                content_type = None;
                method = if now.head { "HEAD" } else { "GET" };
            }
        }
        if !now.parts.is_empty() {
            method = "POST";
            // The boundary comes behind the kind that the user says; outside forms parts are attachments.
            let said = now.said("Content-Type").unwrap_or(form::KIND);
            let (boundary, bytes) = form::body(&now.parts, said.starts_with(form::KIND));
            (content_type, body) = (Some(format!("{said}; boundary={boundary}")), bytes);
        } else if let Some(path) = upload {
            method = "PUT";
            body = self.file(path)?;
            content_type = None;
            if split.path.ends_with('/') && path != "-" {
                let name = path.rsplit('/').next().unwrap_or(path);
                split.path += &percent_encoding::utf8_percent_encode(
                    name,
                    super::super::template::UNRESERVED,
                )
                .to_string();
            }
        }
        for query in queries.iter().filter(|query| !query.is_empty()) {
            split.path += match split.path.split_once('?') {
                None => "?",
                Some((_, before)) if before.is_empty() || before.ends_with('&') => "",
                Some(_) => "&",
            };
            split.path += query;
        }
        if let Some(target) = &now.target {
            split.path.clone_from(target);
        }
        let mut headers = Vec::new();
        let user = now.user.clone().or(split.user.clone());
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        match (&now.bearer, user) {
            (Some(_), _) if now.asks_first => {}
            (Some(token), _) => headers.push(("Authorization", format!("Bearer {token}"))),
            (None, Some(_)) if now.asks_first => {}
            (None, Some(user)) => {
                let user = match &now.user {
                    Some(user) => user.clone(),
                    None => decoded(&user),
                };
                if !user.contains(':') {
                    self.notes.push(format!(
                        "-u {user}: curl asks for the password; an empty one is sent"
                    ));
                }
                let user = match user.contains(':') {
                    true => user,
                    false => format!("{user}:"),
                };
                headers.push(("Authorization", format!("Basic {}", BASE64.encode(user))));
            }
            (None, None) => {}
        }
        let agent = now.agent.as_deref().unwrap_or(AGENT);
        if !agent.is_empty() {
            headers.push(("User-Agent", agent.to_owned()));
        }
        let accept = if now.json { "application/json" } else { "*/*" };
        headers.push(("Accept", accept.to_owned()));
        if now.compressed {
            headers.push(("Accept-Encoding", ENCODINGS.to_owned()));
        }
        if let Some(range) = &now.range {
            headers.push(("Range", format!("bytes={range}")));
        }
        if let Some(referer) = &now.referer {
            headers.push(("Referer", referer.clone()));
        }
        let mut cookies = now.cookies.clone();
        for file in &now.cookie_files {
            match self.file(file) {
                Ok(bytes) => {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    cookies.extend(cookies_of(&text, &split));
                }
                Err(why) => self.notes.push(format!("the file of cookies: {why}")),
            }
        }
        if !cookies.is_empty() {
            headers.push(("Cookie", cookies.join(";")));
        }
        if let Some(content_type) = content_type {
            headers.push(("Content-Type", content_type));
        }
        // What the user says stands in the place of what curl says.
        let said = |name: &str| {
            let mut names = now.headers.iter().map(|(name, _)| name);
            let ours = name == "Cookie" || (name == "Content-Type" && !now.parts.is_empty());
            !ours && names.any(|known| known.eq_ignore_ascii_case(name))
        };
        headers.retain(|(name, _)| !said(name));
        let own = headers
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        let given = now.headers.iter();
        let given = given.filter_map(|(name, value)| Some((name.clone(), value.clone()?)));
        let of_form =
            |name: &str| !now.parts.is_empty() && name.eq_ignore_ascii_case("content-type");
        let given = given.filter(|(name, _)| !of_form(name));
        let (headers, notes) = headers_of(own.chain(given).collect(), &split)?;
        self.notes.extend(notes);
        Ok(FoundRequest {
            method: now.method.clone().unwrap_or_else(|| method.to_owned()),
            origin: split.origin,
            path: split.path,
            headers,
            body,
            ..FoundRequest::default()
        })
    }
}

impl Operation {
    /// The value of a header field that the user gives.
    fn said(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter();
        let (_, value) = all.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        value.as_deref()
    }

    /// `Name: value`; `Name:` takes a field away, and `Name;` sends it empty.
    fn header(&mut self, line: &str) {
        let field = match line.split_once(':') {
            Some((name, value)) if value.trim().is_empty() => (name.trim(), None),
            Some((name, value)) => (name.trim(), Some(value.trim().to_owned())),
            None => match line.trim_end().strip_suffix(';') {
                Some(name) => (name, Some(String::new())),
                // curl sends nothing of it.
                None => return,
            },
        };
        if !field.0.is_empty() {
            self.headers.push((field.0.to_owned(), field.1));
        }
    }

    fn datum(&mut self, bytes: &[u8], separated: bool) {
        let data = self.data.get_or_insert_default();
        if separated && !data.is_empty() {
            data.push(b'&');
        }
        data.extend_from_slice(bytes);
    }
}

/// The cookies of a file in Netscape's format, or of `Set-Cookie` lines, that are sent to a URL.
fn cookies_of(text: &str, url: &super::SplitUrl) -> Vec<String> {
    let host = url.host();
    let path = url.path.split('?').next().unwrap_or_default();
    let secure = url.origin.starts_with("https");
    let line = |line: &str| {
        if let Some(set) = line.strip_prefix("Set-Cookie:") {
            return set.split(';').next().map(|pair| pair.trim().to_owned());
        }
        let line = line.strip_prefix("#HttpOnly_").unwrap_or(line);
        if line.starts_with('#') {
            return None;
        }
        let fields: Vec<&str> = line.split('\t').collect();
        let [domain, tail, of_path, only_secure, _, name, value] = fields.as_slice() else {
            return None;
        };
        let domain = domain.trim_start_matches('.');
        let below = tail.eq_ignore_ascii_case("true") && host.ends_with(&format!(".{domain}"));
        let fits = (host.eq_ignore_ascii_case(domain) || below)
            && path.starts_with(of_path)
            && (secure || !only_secure.eq_ignore_ascii_case("true"));
        fits.then(|| format!("{name}={value}"))
    };
    text.lines().filter_map(line).collect()
}

/// The field of a condition on the time: with a dash in front, nothing may have changed.
fn since(value: &str) -> Option<(&'static str, String)> {
    let (name, time) = match value.strip_prefix('-') {
        Some(time) => ("If-Unmodified-Since", time),
        None => ("If-Modified-Since", value),
    };
    // curl reads no date like 2025-01-01, and sends nothing of it.
    let timestamp = jiff::fmt::rfc2822::parse(time).ok()?.timestamp();
    let date = timestamp.strftime("%a, %d %b %Y %H:%M:%S GMT");
    Some((name, date.to_string()))
}

fn by_name(name: &str) -> Option<Does> {
    let exact = |name: &str| OPTIONS.iter().find(|(_, known, _)| *known == name);
    if let Some((_, _, does)) = exact(name) {
        return Some(*does);
    }
    // Anything without a value can be said with `no-`.
    if let Some((_, known, does)) = name.strip_prefix("no-").and_then(exact)
        && !does.takes()
    {
        let matters = !matches!(does, Does::Nothing | Does::LostFlag | Does::LoadFlag);
        return Some(match (matters, *known) {
            (true, _) => Does::LostFlag,
            _ => Does::Nothing,
        });
    }
    if name.starts_with("expand-") {
        return Some(Does::Lost);
    }
    // An abbreviation that fits one alone.
    let mut fits = OPTIONS
        .iter()
        .filter(|(_, known, _)| known.starts_with(name));
    match (fits.next(), fits.next()) {
        (Some((_, _, does)), None) => Some(*does),
        _ => None,
    }
}

/// Letters after one dash: each an option, the last perhaps with its value.
fn by_letters(letters: &[u8]) -> Vec<(Option<Does>, String, Option<Vec<u8>>)> {
    let mut all = Vec::new();
    for (at, &letter) in letters.iter().enumerate() {
        let letter = char::from(letter);
        let known = OPTIONS.iter().find(|(known, ..)| *known == letter);
        let does = known.map(|(_, _, does)| *does);
        let rest = &letters[at + 1..];
        let takes = does.is_some_and(Does::takes);
        let attached = (takes && !rest.is_empty()).then(|| rest.to_vec());
        all.push((does, format!("-{letter}"), attached));
        if takes || does.is_none() {
            break;
        }
    }
    all
}

/// The words of a file of options: `name = value`, `name: value` or `name value`, with or without dashes.
fn config(text: &str) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let end = line.find([' ', '\t', '=', ':']).unwrap_or(line.len());
        let (name, value) = line.split_at(end);
        let name = match name.starts_with('-') {
            true => name.to_owned(),
            false => format!("--{name}"),
        };
        words.push(name.into_bytes());
        let value = value.trim_start_matches([' ', '\t', '=', ':']);
        if value.is_empty() {
            continue;
        }
        let unquoted = match value.strip_prefix('"') {
            None => value.to_owned(),
            Some(inner) => {
                let mut out = String::new();
                let mut rest = inner.chars();
                while let Some(c) = rest.next() {
                    match c {
                        '"' => break,
                        '\\' => out.extend(rest.next().map(|escape| match escape {
                            't' => '\t',
                            'n' => '\n',
                            'r' => '\r',
                            other => other,
                        })),
                        c => out.push(c),
                    }
                }
                out
            }
        };
        words.push(unquoted.into_bytes());
    }
    words
}

#[cfg(test)]
mod tests;
