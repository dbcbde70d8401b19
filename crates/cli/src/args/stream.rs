//! Options for responses that are streams of events.

use super::number::count;
use super::timed::length;
use clap::Args;
use miette::Result;
use prony_engine::protocol::{EventFormat, EventStream, Mix};
use prony_record::Span;

/// Streams of events, and what ends one before the server does.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Streams")]
pub struct StreamArgs {
    /// Responses are streams of events: sse, ndjson or chunks
    ///
    /// Without a format, by their Content-Type: server-sent events, lines of JSON, otherwise
    /// chunks. prony measures the first event and the gaps between events: docs/streams.md
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "auto", value_parser = format)]
    pub stream: Option<GivenFormat>,
    /// The event that ends each stream, such as '[DONE]'
    ///
    /// prony does not count it. A stream that ends without it is a wrong response.
    #[arg(long, value_name = "TEXT", requires = "stream", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub stream_end: Option<String>,
    /// End each stream after N events
    #[arg(long, value_name = "N", requires = "stream", value_parser = count::<u32>)]
    pub stream_events: Option<u32>,
    /// End each stream after this time
    #[arg(long, value_name = "TIME", requires = "stream", value_parser = length)]
    pub stream_time: Option<Span>,
    /// Count tokens, by this number in the JSON of events
    ///
    /// Without a name by completion_tokens, which model servers send in usage, with
    /// "stream_options": {"include_usage": true} in the request.
    #[arg(long, value_name = "NAME", requires = "stream", num_args = 0..=1, require_equals = true, default_missing_value = "completion_tokens", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub stream_tokens: Option<String>,
}

/// Format of the events; None: by the content type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GivenFormat(Option<EventFormat>);

fn format(text: &str) -> Result<GivenFormat, String> {
    match text {
        "auto" => Ok(GivenFormat(None)),
        text => text.parse().map(|format| GivenFormat(Some(format))),
    }
}

impl StreamArgs {
    /// How the responses stream; None: they do not.
    pub fn stream(&self) -> Option<EventStream> {
        Some(EventStream {
            format: self.stream?.0,
            end: self.stream_end.clone().map(String::into_bytes),
            events: self.stream_events,
            time: self
                .stream_time
                .and_then(|time| u64::try_from(time.0.as_nanos()).ok()),
            tokens: self.stream_tokens.clone().map(String::into_bytes),
        })
    }

    /// The requests of a file get it too, where the file does not say how their answers stream.
    pub fn settle(&self, mix: &mut Mix) {
        if let Some(stream) = self.stream() {
            for request in &mut mix.requests {
                request.stream.get_or_insert_with(|| stream.clone());
            }
        }
    }

    /// Refuses streams where answers cannot be any.
    ///
    /// # Errors
    /// When they are asked for.
    pub fn unused(&self, why: &str) -> Result<()> {
        match self.stream {
            Some(_) => Err(usage!("--stream is for responses over HTTP: {why}")),
            None => Ok(()),
        }
    }
}
