//! Collections of Postman, version 2.0 and 2.1, also as its API wraps them (`{"collection": {…}}`).

mod auth;
mod body;
mod url;
mod variables;

pub use variables::Variables;

use super::address::fields_of;
use super::{
    CLOSE, FoundRequest, FoundRequests, Note, OPEN, ReadContext, SplitUrl, basic, json,
    without_marks,
};
use crate::source::did_you_mean;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use variables::{Filler, Scope};

/// Keys by which a collection without its schema is recognised.
#[derive(Deserialize)]
struct Shape {
    info: Option<IgnoredAny>,
    item: Option<Vec<IgnoredAny>>,
    collection: Option<Box<Shape>>,
}

impl Shape {
    fn is_collection(&self) -> bool {
        self.info.is_some() && self.item.is_some()
            || self.collection.as_deref().is_some_and(Self::is_collection)
    }
}

pub(super) fn is(text: &str) -> bool {
    let has = |word: &str| text.contains(word);
    if !text.trim_start().starts_with('{') {
        return false;
    }
    has("://schema.getpostman.com/")
        || has("://schema.postman.com/")
        || has("\"_postman_id\"")
        || has("\"item\"")
            && serde_json::from_str(text).is_ok_and(|shape: Shape| shape.is_collection())
}

pub(super) fn read(text: &str, context: &ReadContext<'_>) -> Result<FoundRequests, String> {
    let mut document: Value = json(text)?;
    if let Some(inner) = document.get_mut("collection").filter(|it| it.is_object()) {
        document = inner.take();
    }
    without_marks(&mut document);
    if !document["item"].is_array() {
        return Err(match document["requests"].is_array() {
            true => "it is a collection of version 1: export it as Collection v2.1".into(),
            false => "it has no list \"item\", as collections of version 2 have".into(),
        });
    }
    let mut reader = CollectionReader {
        folder: context.folder,
        filler: Filler::new(context.variables),
        requests: Vec::new(),
        notes: Vec::new(),
    };
    let name = document["info"]["name"].as_str().unwrap_or("collection");
    let group = ItemGroup {
        value: &document,
        place: "",
        shown: name,
        auth: None,
    };
    reader.group(group);
    let CollectionReader {
        filler,
        requests,
        mut notes,
        ..
    } = reader;
    for (name, known) in filler.unused() {
        let help = did_you_mean(name, known.iter().map(String::as_str));
        let help = help.map_or(String::new(), |help| format!(": {help}"));
        notes.push(Note::new(
            "",
            format!("the value of {name:?} is not used{help}"),
        ));
    }
    Ok(FoundRequests {
        requests: named(requests),
        notes,
        ..FoundRequests::default()
    })
}

/// Requests with their names; one that several have is told apart by the folder.
fn named(all: Vec<(String, FoundRequest)>) -> Vec<FoundRequest> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (_, request) in &all {
        *counts.entry(request.name.clone()).or_default() += 1;
    }
    let name = |(folder, mut request): (String, FoundRequest)| {
        if counts[&request.name] > 1 && !folder.is_empty() {
            request.name = format!("{folder} {}", request.name);
        }
        request
    };
    all.into_iter().map(name).collect()
}

/// Why a request is skipped.
struct Skip {
    reason: String,
    /// Variable that would have to have a value.
    variable: Option<String>,
}

impl From<String> for Skip {
    fn from(reason: String) -> Self {
        Self {
            reason,
            variable: None,
        }
    }
}

impl From<&str> for Skip {
    fn from(reason: &str) -> Self {
        reason.to_owned().into()
    }
}

/// A collection, or a folder in it.
#[derive(Clone, Copy)]
struct ItemGroup<'a> {
    value: &'a Value,
    /// Names of the folders that lead to it.
    place: &'a str,
    shown: &'a str,
    /// Credentials of the group around it.
    auth: Option<&'a Value>,
}

struct CollectionReader<'a> {
    folder: &'a Path,
    filler: Filler<'a>,
    /// Each with its innermost folder.
    requests: Vec<(String, FoundRequest)>,
    notes: Vec<Note>,
}

impl CollectionReader<'_> {
    /// Reads the requests of a collection or folder. JSON is nested at most 128 deep, and so are folders.
    fn group(&mut self, group: ItemGroup<'_>) {
        let ItemGroup { value, place, .. } = group;
        self.scripts(value, group.shown);
        let auth = value.get("auth").filter(|it| it.is_object()).or(group.auth);
        self.filler.enter(Scope::of(&value["variable"]));
        for (number, item) in (1..).zip(value["item"].as_array().into_iter().flatten()) {
            let name = item["name"].as_str().unwrap_or_default();
            let shown = match name {
                "" => format!("{place}item {number}"),
                name => format!("{place}{name}"),
            };
            if item["item"].is_array() {
                let place = format!("{shown} / ");
                let group = ItemGroup {
                    value: item,
                    place: &place,
                    shown: &shown,
                    auth,
                };
                self.group(group);
                continue;
            }
            self.scripts(item, &shown);
            self.filler.enter(Scope::of(&item["variable"]));
            let request = self.request(item, auth, &shown);
            self.filler.leave();
            let skips = match request {
                Ok(request) => {
                    let folder = value["name"].as_str().unwrap_or_default();
                    self.requests.push((folder.to_owned(), request));
                    continue;
                }
                Err(skips) => skips,
            };
            for Skip { reason, variable } in skips {
                self.notes.push(Note {
                    variable,
                    ..Note::new(&shown, format!("skipped: {reason}"))
                });
            }
        }
        self.filler.leave();
    }

    fn note(&mut self, place: &str, reason: impl AsRef<str>) {
        self.notes.push(Note::new(place, reason));
    }

    /// Notes the scripts of a collection, folder or request, which prony does not run.
    fn scripts(&mut self, value: &Value, place: &str) {
        for event in value["event"].as_array().into_iter().flatten() {
            let code = match &event["script"]["exec"] {
                Value::String(text) => !text.trim().is_empty(),
                Value::Array(lines) => {
                    let mut lines = lines.iter().filter_map(Value::as_str);
                    lines.any(|line| !line.trim().is_empty())
                }
                _ => false,
            };
            if !code || event["disabled"] == true {
                continue;
            }
            match event["listen"].as_str() {
                Some("prerequest") => {
                    self.note(place, "skipped: a script before the request");
                }
                Some("test") => self.note(
                    place,
                    "skipped: a script that tests the response (expect.… in the file does that)",
                ),
                _ => self.note(place, "skipped: a script"),
            }
        }
    }

    /// A request, or every reason why there is none.
    fn request(
        &mut self,
        item: &Value,
        auth: Option<&Value>,
        shown: &str,
    ) -> Result<FoundRequest, Vec<Skip>> {
        self.filler.begin();
        let sent = self.sent(item, auth, shown);
        for (name, count) in self.filler.empty() {
            let reason = format!("{{{{{name}}}}} is empty, and is sent as that");
            self.notes.push(Note {
                count,
                variable: Some(name),
                ..Note::new(shown, reason)
            });
        }
        let mut skips = self.filler.skips();
        match sent {
            Ok(sent) if skips.is_empty() => Ok(sent),
            Ok(_) => Err(skips),
            Err(skip) => {
                skips.push(skip);
                Err(skips)
            }
        }
    }

    fn sent(
        &mut self,
        item: &Value,
        auth: Option<&Value>,
        shown: &str,
    ) -> Result<FoundRequest, Skip> {
        let request = &item["request"];
        let url = match request {
            // A URL alone.
            Value::String(_) => request,
            Value::Object(_) => &request["url"],
            _ => return Err("an item without a request".into()),
        };
        let url = self.url(url, shown)?;
        let mut fields = Vec::new();
        match &request["header"] {
            Value::Array(all) => {
                for one in all.iter().filter(|one| one["disabled"] != true) {
                    let name = self.filler.text(&one["key"]);
                    // A field that was begun and has no name yet.
                    if !name.trim().is_empty() {
                        let value = self.filler.text(&one["value"]);
                        fields.push((name.trim().to_owned(), value.trim().to_owned()));
                    }
                }
            }
            Value::String(text) => {
                for line in text.lines().filter(|line| !line.trim().is_empty()) {
                    let (name, value) = line.split_once(':').unwrap_or((line, ""));
                    let value = self.filler.filled(value.trim());
                    fields.push((self.filler.filled(name.trim()), value));
                }
            }
            _ => {}
        }
        let method = request["method"].as_str().unwrap_or("GET").trim();
        let method = self.filler.filled(method).to_ascii_uppercase();
        let mut path = url.path;
        if let Some(user) = &url.split.user {
            fields.push(basic(user));
        }
        let auth = request.get("auth").filter(|it| it.is_object()).or(auth);
        if let Some(auth) = auth {
            self.auth(auth, &mut fields, &mut path, shown)?;
        }
        let pruned = ["GET", "HEAD", "COPY", "PURGE", "UNLOCK"].contains(&method.as_str())
            && item["protocolProfileBehavior"]["disableBodyPruning"] != true;
        let body = match pruned {
            true => None,
            false => self.body(&request["body"])?,
        };
        let mut bytes = Vec::new();
        if let Some(body) = body {
            let named = |field: &(String, String)| field.0.eq_ignore_ascii_case("content-type");
            // The boundary belongs to the body.
            if body.replaces {
                fields.retain(|field| !named(field));
            }
            if let Some(kind) = body.kind.filter(|_| !fields.iter().any(named)) {
                fields.push(("Content-Type".into(), kind));
            }
            bytes = body.bytes;
        }
        for key in ["proxy", "certificate"] {
            let value = &request[key];
            if value.as_object().is_some_and(|it| !it.is_empty()) && value["disabled"] != true {
                self.note(shown, format!("skipped: its {key}, which a load is given"));
            }
        }
        let (headers, left) = fields_of(fields, &url.split)?;
        for why in left {
            self.note(shown, why);
        }
        let templates = self.filler.has_values();
        if templates {
            let text = std::str::from_utf8(&bytes);
            let marks = |mark: char| text.is_ok_and(|text| text.contains(mark));
            if text.is_err() || self.filler.raw_marks && (marks(OPEN) || marks(CLOSE)) {
                return Err("a body of bytes that are no text, with values that change".into());
            }
        }
        Ok(FoundRequest {
            name: item["name"].as_str().unwrap_or_default().to_owned(),
            method,
            origin: url.split.origin,
            path,
            templates,
            headers,
            body: bytes,
            status: None,
        })
    }
}

/// An entry of a list by its key: version 2.1 has lists of keys with values, 2.0 objects.
fn entry<'a>(of: &'a Value, key: &str) -> &'a Value {
    match of {
        Value::Array(all) => {
            let found = all.iter().find(|one| one["key"] == key);
            found.map_or(&Value::Null, |one| &one["value"])
        }
        other => &other[key],
    }
}

/// A URL of a collection.
struct FilledUrl {
    split: SplitUrl,
    /// With values between marks.
    path: String,
}

#[cfg(test)]
mod tests;
