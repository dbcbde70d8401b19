//! Answers of a file that are streams of events.

use super::RequestFileReader;
use crate::source::Mistake;
use prony_engine::protocol::EventStream;
use prony_record::Span;
use serde::Deserialize;
use toml::Spanned;

/// An answer that is a stream of events.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StreamKeys {
    /// `auto`, `sse`, `ndjson` or `chunks`.
    format: Option<Spanned<String>>,
    /// Content of the event that ends the stream.
    end: Option<Spanned<String>>,
    /// Number of events after which prony ends it.
    events: Option<Spanned<u32>>,
    /// Time after which prony ends it.
    time: Option<Spanned<String>>,
    /// Name of the number of tokens in the events' JSON.
    tokens: Option<Spanned<String>>,
}

impl RequestFileReader<'_> {
    /// How the answers to a request stream.
    pub(super) fn stream(&self, keys: &StreamKeys) -> Result<EventStream, Mistake> {
        let mut stream = EventStream::default();
        if let Some(format) = keys.format.as_ref().filter(|it| it.get_ref() != "auto") {
            let known = format.get_ref().parse();
            stream.format = Some(known.map_err(|what: String| {
                let help = "auto goes by the Content-Type of the answer";
                self.wrong(format.span(), what, Some(help))
            })?);
        }
        if let Some(end) = &keys.end {
            if end.get_ref().is_empty() {
                let what = "an event without content does not end a stream";
                return Err(self.wrong(end.span(), what, None));
            }
            stream.end = Some(end.get_ref().clone().into_bytes());
        }
        if let Some(events) = &keys.events {
            if *events.get_ref() == 0 {
                return Err(self.wrong(events.span(), "must be at least 1", None));
            }
            stream.events = Some(*events.get_ref());
        }
        if let Some(time) = &keys.time {
            let span = time.get_ref().parse::<Span>();
            let wrong = |what: &dyn std::fmt::Display| {
                self.wrong(time.span(), format!("is no time: {what}"), None)
            };
            let span = span.map_err(|error| wrong(&error))?;
            if span.is_zero() {
                return Err(self.wrong(time.span(), "must be longer than 0", None));
            }
            stream.time = u64::try_from(span.0.as_nanos()).ok();
        }
        if let Some(tokens) = &keys.tokens {
            if tokens.get_ref().is_empty() {
                let what = "no number has an empty name";
                return Err(self.wrong(tokens.span(), what, Some("completion_tokens")));
            }
            stream.tokens = Some(tokens.get_ref().clone().into_bytes());
        }
        Ok(stream)
    }
}
