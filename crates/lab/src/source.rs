//! TOML files that people write: every mistake is shown in its line, with what was expected.

use miette::{Diagnostic, NamedSource, SourceSpan};
use prony_record::inert;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A mistake in a file.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{title}")]
pub struct Mistake {
    title: String,
    #[source_code]
    source_code: Arc<NamedSource<String>>,
    #[label("{label}")]
    span: SourceSpan,
    label: String,
    /// Advice for the user.
    #[help]
    pub help: Option<String>,
    /// `Shares::Random` avoids it.
    pub helped_by_chance: bool,
}

impl Mistake {
    /// The mistake in words, without its place.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Marks the mistake as one that `Shares::Random` avoids.
    #[must_use]
    pub(crate) fn helped_by_chance(mut self) -> Self {
        self.helped_by_chance = true;
        self
    }
}

/// A file cannot be read.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("cannot read {}: {reason}", path.display())]
pub struct Unreadable {
    path: PathBuf,
    // Not called `source`: it is in the message already, and would be told twice.
    reason: std::io::Error,
}

/// The text of a file, which can point to a place in itself.
#[derive(Debug, Clone)]
pub struct Source {
    name: String,
    text: String,
}

impl Source {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read as UTF-8.
    pub fn read(path: &Path) -> Result<Self, Unreadable> {
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Self::new(path.display().to_string(), text)),
            Err(reason) => Err(Unreadable {
                path: path.to_owned(),
                reason,
            }),
        }
    }

    /// A text under a name.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
        }
    }

    /// The name: a file's path, when it is one.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reads the text as TOML of the shape `T`.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Mistake> {
        toml::from_str(&self.text).map_err(|error| {
            let span = error.span().unwrap_or(0..self.text.len().min(1));
            let title = if self.text.is_empty() {
                // There is nothing to point at.
                format!("{} is empty: {}", self.name, error.message())
            } else {
                format!("{} is not right", self.name)
            };
            self.mistake(span, title, error.message(), None)
        })
    }

    /// A mistake at a place in the text.
    pub fn mistake(
        &self,
        span: std::ops::Range<usize>,
        title: impl Into<String>,
        label: impl Into<String>,
        help: Option<String>,
    ) -> Mistake {
        let said = |text: &str| inert::lines(text).into_owned();
        Mistake {
            title: said(&title.into()),
            source_code: Arc::new(NamedSource::new(said(&self.name), shown(&self.text))),
            span: span.into(),
            label: said(&label.into()),
            help: help.map(|text| said(&text)),
            helped_by_chance: false,
        }
    }
}

/// A file's text as a terminal may show it: what would steer it is replaced by question marks, as long as it was, so that
/// places stay where they are.
fn shown(text: &str) -> String {
    let inert = |c: char| match inert::acts(c) && !matches!(c, '\n' | '\r' | '\t') {
        true => "?".repeat(c.len_utf8()),
        false => c.to_string(),
    };
    text.chars().map(inert).collect()
}

/// The known name that is most like a mistyped one, as a help text.
pub(crate) fn did_you_mean<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    known
        .into_iter()
        .map(|name| (strsim::levenshtein(typed, name), name))
        .filter(|&(distance, name)| distance <= 2.max(name.len() / 3))
        .min()
        .map(|(_, name)| format!("did you mean {name:?}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_is_shown_without_what_would_steer_a_terminal() {
        let source = Source::new(
            "a\u{1b}.toml",
            "title = \"a\u{1b}[31m\u{202e}\"\nrounds = x\n",
        );
        let mistake = source.parse::<toml::Table>().unwrap_err();
        let report = format!("{:?}", miette::Report::new(mistake));
        assert!(report.contains("a?[31m???"), "{report}");
        assert!(!report.contains(['\u{1b}', '\u{202e}']), "{report}");
    }

    #[test]
    fn only_likely_names_are_suggested() {
        let known = ["cpp-epoll", "go-copy", "node"];
        assert_eq!(
            did_you_mean("cpp-epol", known).unwrap(),
            "did you mean \"cpp-epoll\"?"
        );
        assert_eq!(did_you_mean("erlang", known), None);
    }
}
