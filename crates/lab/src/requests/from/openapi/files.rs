//! Parts of a description in other files, put into the document.

use super::super::Note;
use serde_json::{Map, Value};
use std::path::Path;

/// Where the documents of other files stand.
const FILES: &str = "x-prony-files";

/// Puts every document that a `$ref` names into this one, and has the references lead there. Gives what cannot be read.
pub(super) fn join(document: &mut Value, folder: &Path) -> Vec<Note> {
    let mut wanted: Vec<String> = Vec::new();
    rewrite(document, None, &mut wanted);
    let (mut files, mut notes) = (Map::new(), Vec::new());
    while let Some(name) = wanted.pop() {
        if files.contains_key(&name) {
            continue;
        }
        let read = match name.contains("://") {
            true => Err("it is not fetched".to_owned()),
            false => {
                let path = folder.join(&name);
                let text = std::fs::read_to_string(&path)
                    .map_err(|error| format!("cannot read {}: {error}", path.display()));
                text.and_then(|text| super::document(&text))
            }
        };
        let mut file = read.unwrap_or_else(|why| {
            notes.push(Note::new(&name, why));
            Value::Null
        });
        rewrite(&mut file, Some(&name), &mut wanted);
        files.insert(name, file);
    }
    if !files.is_empty()
        && let Value::Object(document) = document
    {
        document.insert(FILES.into(), Value::Object(files));
    }
    notes
}

/// References as they stand in the joined document; those of another file are seen from it.
fn rewrite(value: &mut Value, of: Option<&str>, wanted: &mut Vec<String>) {
    match value {
        Value::Object(all) => {
            if let Some(Value::String(reference)) = all.get_mut("$ref") {
                let (file, at) = reference.split_once('#').unwrap_or((reference, ""));
                let file = match (file, of) {
                    ("", None) => None,
                    ("", Some(of)) => Some(of.to_owned()),
                    (file, _) if file.contains("://") => Some(file.to_owned()),
                    (file, of) => Some(beside(of.unwrap_or_default(), file)),
                };
                if let Some(file) = file {
                    let escaped = file
                        .replace('~', "~0")
                        .replace('/', "~1")
                        .replace('%', "%25");
                    let joined = format!("#/{FILES}/{escaped}{at}");
                    wanted.push(file);
                    *reference = joined;
                }
            }
            all.values_mut().for_each(|it| rewrite(it, of, wanted));
        }
        Value::Array(all) => all.iter_mut().for_each(|it| rewrite(it, of, wanted)),
        _ => {}
    }
}

/// A file as another one names it.
fn beside(of: &str, file: &str) -> String {
    let mut parts: Vec<&str> = of.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "." | "" => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// A reference as the description has it.
pub(super) fn shown(reference: &str) -> String {
    let Some(rest) = reference.strip_prefix(&format!("#/{FILES}/")) else {
        return reference.to_owned();
    };
    let (file, at) = match rest.split_once('/') {
        Some((file, at)) => (file, format!("#/{at}")),
        None => (rest, String::new()),
    };
    let file = file
        .replace("~1", "/")
        .replace("~0", "~")
        .replace("%25", "%");
    format!("{file}{at}")
}
