//! `{{name}}` in a collection: variables with their scopes, and values that change.

use super::Skip;
use crate::requests::ServerFacts;
use crate::requests::from::{CLOSE, OPEN, json, without_marks};
use crate::source::Source;
use regex::Regex;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

/// A variable, as Postman finds it: no braces in its name.
static REFERENCE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{\{([^{}]+)\}\}").expect("a constant expression"));

/// A value of prony in a value that the user gives.
static VALUE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{\{(.*?)\}\}").expect("a constant expression"));

/// How deep values may refer to other values.
const DEEP: usize = 20;

/// The longest text with its variables filled in, in bytes.
const LONGEST: usize = 16 << 20;

/// The most variables that the texts of a request are filled with.
const MOST: u32 = 100_000;

/// Values that change, and prony's for them.
const DYNAMIC: [(&str, &str); 3] = [
    ("$guid", "uuid"),
    ("$randomUUID", "uuid"),
    ("$randomInt", "int 0 1000"),
];

/// Values for variables of a collection, from the user and from exported environments.
#[derive(Debug, Default)]
pub struct Variables {
    given: BTreeMap<String, String>,
    environment: Scope,
    globals: Scope,
}

impl Variables {
    /// Gives a variable a value, which goes before all others, and may have prony's values: `{{int 1 9}}`. Files of such
    /// values are in `folder`.
    ///
    /// # Errors
    /// When a value in it is none of prony's.
    pub fn give(&mut self, name: &str, value: &str, folder: &Path) -> Result<(), String> {
        let quoted = toml::Value::from(value).to_string();
        let file = format!("[[request]]\nname = \"x\"\npath = \"/\"\nbody = {quoted}\n");
        let source = Source::new("value", file);
        if value.contains("{{") {
            crate::requests::parse(&source, folder, &ServerFacts::anywhere())
                .map_err(|mistake| format!("the value of {name}: {}", mistake.label()))?;
        }
        let mut value = value.to_owned();
        value.retain(|c| c != OPEN && c != CLOSE);
        let marked = VALUE.replace_all(&value, format!("{OPEN}$1{CLOSE}"));
        self.given.insert(name.to_owned(), marked.into_owned());
        Ok(())
    }

    /// Adds the values of an environment, or of globals, as Postman exports them.
    ///
    /// # Errors
    /// When the text is neither.
    pub fn read(&mut self, text: &str) -> Result<(), String> {
        let mut document: Value = json(text.trim_start_matches('\u{feff}'))?;
        if let Some(inner) = document.get_mut("environment").filter(|it| it.is_object()) {
            document = inner.take();
        }
        without_marks(&mut document);
        if !document["values"].is_array() {
            return Err("it has no list \"values\", as exported environments have".into());
        }
        let scope = match document["_postman_variable_scope"] == "globals" {
            true => &mut self.globals,
            false => &mut self.environment,
        };
        scope.0.extend(Scope::of(&document["values"]).0);
        Ok(())
    }
}

/// Variables of a collection, folder, request or environment.
#[derive(Debug, Default)]
pub(super) struct Scope(BTreeMap<String, String>);

impl Scope {
    /// The enabled variables of a list that have a value.
    pub(super) fn of(list: &Value) -> Self {
        let all = list.as_array().into_iter().flatten();
        let all = all.filter(|one| one["disabled"] != true && one["enabled"] != false);
        let pairs = all.filter_map(|one| {
            let name = one["key"].as_str().or(one["id"].as_str())?;
            let value = match one.get("value")? {
                Value::Null => return None,
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            Some((name.to_owned(), value))
        });
        Self(pairs.collect())
    }
}

/// Fills in variables, and notes those that have no value.
pub(super) struct Filler<'a> {
    variables: &'a Variables,
    /// The collection's, then those of folders, and of the request.
    scopes: Vec<Scope>,
    used: RefCell<BTreeSet<String>>,
    /// Names that the collection has, for those of the user that it does not have.
    seen: RefCell<BTreeSet<String>>,
    of_request: RefCell<OfRequest>,
    /// Does a file of the request have the marks of values in it?
    pub(super) raw_marks: bool,
}

/// Findings in the texts of one request.
#[derive(Default)]
struct OfRequest {
    missing: BTreeSet<String>,
    wrong: BTreeSet<String>,
    empty: BTreeMap<String, u64>,
    has_values: bool,
    /// Variables that were filled in so far.
    filled: u32,
}

impl<'a> Filler<'a> {
    pub(super) fn new(variables: &'a Variables) -> Self {
        Self {
            variables,
            scopes: Vec::new(),
            used: RefCell::default(),
            seen: RefCell::default(),
            of_request: RefCell::default(),
            raw_marks: false,
        }
    }

    pub(super) fn enter(&mut self, scope: Scope) {
        self.scopes.push(scope);
    }

    pub(super) fn leave(&mut self) {
        self.scopes.pop();
    }

    /// Forgets what was noted of the request before.
    pub(super) fn begin(&mut self) {
        self.of_request = RefCell::default();
        self.raw_marks = false;
    }

    /// Were values filled in that change?
    pub(super) fn has_values(&self) -> bool {
        self.of_request.borrow().has_values
    }

    /// Variables without a value since the last call.
    pub(super) fn missing(&self) -> Vec<String> {
        let missing = std::mem::take(&mut self.of_request.borrow_mut().missing);
        missing.into_iter().collect()
    }

    /// Variables of the request that are empty texts, and how often.
    pub(super) fn empty(&self) -> BTreeMap<String, u64> {
        std::mem::take(&mut self.of_request.borrow_mut().empty)
    }

    /// Reasons to skip the request.
    pub(super) fn skips(&self) -> Vec<Skip> {
        let missing = self.missing().into_iter().map(|name| Skip {
            reason: match name.strip_prefix(':') {
                Some(_) => format!("the path variable {name} has no value"),
                None if name.starts_with('$') => {
                    format!("{{{{{name}}}}} is made by Postman, and prony has no such value")
                }
                None => format!("{{{{{name}}}}} has no value"),
            },
            variable: Some(name),
        });
        let mut skips: Vec<Skip> = missing.collect();
        let wrong = std::mem::take(&mut self.of_request.borrow_mut().wrong);
        skips.extend(wrong.into_iter().map(Skip::from));
        skips
    }

    /// Values of the user that are not used, each with the names that there are.
    pub(super) fn unused(&self) -> Vec<(&'a str, Vec<String>)> {
        let used = self.used.borrow();
        let seen: Vec<String> = self.seen.borrow().iter().cloned().collect();
        let given = self.variables.given.keys();
        let unused = given.filter(|name| !used.contains(*name));
        unused.map(|name| (name.as_str(), seen.clone())).collect()
    }

    /// A value of the collection as a text, filled in.
    pub(super) fn text(&self, value: &Value) -> String {
        match value {
            Value::String(text) => self.filled(text),
            Value::Null => String::new(),
            other => self.filled(&other.to_string()),
        }
    }

    /// A text, its variables filled in. Those without a value are noted.
    pub(super) fn filled(&self, text: &str) -> String {
        let mut out = String::new();
        if !self.fill(text, &mut out, &mut Vec::new()) {
            out.clear();
        }
        self.check(&out);
        out
    }

    /// Notes a reference that is left in a text, as one put together of several values: it must not be sent.
    pub(super) fn check(&self, filled: &str) {
        if let Some(left) = REFERENCE.find(filled) {
            let wrong = format!("{} is put together of several parts", left.as_str());
            self.of_request.borrow_mut().wrong.insert(wrong);
        }
    }

    /// The path variable `:name`, whose own value is that of the URL.
    pub(super) fn path_variable(&self, name: &str, own: Option<&Value>) -> String {
        let name = format!(":{name}");
        self.seen.borrow_mut().insert(name.clone());
        if let Some(value) = self.given(&name) {
            return value;
        }
        let own = own.map(|own| self.text(own)).unwrap_or_default();
        if own.is_empty() {
            self.of_request.borrow_mut().missing.insert(name);
        }
        own
    }

    /// The user's value.
    fn given(&self, name: &str) -> Option<String> {
        let value = self.variables.given.get(name)?;
        self.used.borrow_mut().insert(name.to_owned());
        if value.contains(OPEN) {
            self.of_request.borrow_mut().has_values = true;
        }
        Some(value.clone())
    }

    /// The value of a variable, by the innermost scope that has it.
    fn value(&self, name: &str) -> Option<&str> {
        let environment = std::iter::once(&self.variables.environment);
        let globals = std::iter::once(&self.variables.globals);
        let mut all = environment.chain(self.scopes.iter().rev()).chain(globals);
        all.find_map(|scope| scope.0.get(name)).map(String::as_str)
    }

    /// Appends a text, its variables filled in; false: nothing of it can be used. `within` are the variables whose values
    /// this is.
    fn fill(&self, text: &str, out: &mut String, within: &mut Vec<String>) -> bool {
        let mut rest = 0;
        for found in REFERENCE.captures_iter(text) {
            let (whole, name) = (found.get(0).expect("the match"), found[1].trim());
            out.push_str(&text[rest..whole.start()]);
            rest = whole.end();
            self.seen.borrow_mut().insert(name.to_owned());
            if let Some(value) = self.given(name) {
                out.push_str(&value);
                continue;
            }
            if let Some((_, value)) = DYNAMIC.iter().find(|(known, _)| *known == name) {
                out.push(OPEN);
                out.push_str(value);
                out.push(CLOSE);
                self.of_request.borrow_mut().has_values = true;
                continue;
            }
            let mut of_request = self.of_request.borrow_mut();
            of_request.filled += 1;
            let first = within.first().map_or(name, String::as_str);
            let wrong = if within.iter().any(|outer| outer == name) {
                Some(format!("{{{{{name}}}}} refers to itself"))
            } else if within.len() >= DEEP {
                Some(format!(
                    "{{{{{first}}}}} refers to more than {DEEP} others, one in the other"
                ))
            } else if of_request.filled > MOST || out.len() > LONGEST {
                Some("it has more than 100,000 variables or 16 MiB".to_owned())
            } else {
                None
            };
            if let Some(wrong) = wrong {
                of_request.wrong.insert(wrong);
                return false;
            }
            match self.value(name) {
                None => {
                    of_request.missing.insert(name.to_owned());
                }
                Some("") => *of_request.empty.entry(name.to_owned()).or_default() += 1,
                Some(value) => {
                    drop(of_request);
                    within.push(name.to_owned());
                    let fits = self.fill(value, out, within);
                    within.pop();
                    if !fits {
                        return false;
                    }
                }
            }
        }
        out.push_str(&text[rest..]);
        true
    }
}
