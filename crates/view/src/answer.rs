//! How things are answered: headers, pages, files, and what went wrong.

use crate::body::Body;
use crate::live::EventStream;
use hyper::body::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName,
    HeaderValue, IF_NONE_MATCH, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{HeaderMap, StatusCode};
use maud::Markup;
use prony_notebook::NotebookError;
use prony_pages::PageError;
use prony_report::kept::ReportError;

/// Policy for pages of the view: one style sheet, one script, requests and forms to this server only. Charts set their
/// width in an attribute.
const POLICY: &str = "default-src 'none'; style-src 'self'; style-src-attr 'unsafe-inline'; \
    script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";
/// Policy for a report, which brings its own: the one directive that it cannot set itself.
const UNFRAMED: &str = "frame-ancestors 'none'";
/// Policy for files: a browser that shows one nevertheless runs and loads nothing in it.
const DEAD: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'";

/// An answer.
pub type Response = hyper::Response<Body>;

/// The type of pages.
const HTML: &str = "text/html; charset=utf-8";

/// Why there is no answer.
#[derive(Debug)]
pub enum Trouble {
    /// There is no such thing.
    Nothing(String),
    /// The question makes no sense.
    Question(String),
    /// The answer could not be made.
    Broken(String),
}

impl Trouble {
    /// Nothing here has that address.
    pub fn unknown() -> Self {
        Self::Nothing("There is no page at this address.".into())
    }

    /// The page that says so.
    pub fn page(&self) -> Response {
        let (status, text) = match self {
            Self::Nothing(text) => (StatusCode::NOT_FOUND, text),
            Self::Question(text) => (StatusCode::BAD_REQUEST, text),
            Self::Broken(text) => (StatusCode::INTERNAL_SERVER_ERROR, text),
        };
        problem(status, text)
    }
}

impl From<NotebookError> for Trouble {
    fn from(error: NotebookError) -> Self {
        match error {
            NotebookError::NoSuchRun(id) => Self::Nothing(format!("The notebook has no run {id}.")),
            error => Self::Broken(error.to_string()),
        }
    }
}

impl From<ReportError> for Trouble {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Notebook(error) => error.into(),
            error => Self::Broken(error.to_string()),
        }
    }
}

impl From<PageError> for Trouble {
    fn from(error: PageError) -> Self {
        match error {
            PageError::Report(error) => error.into(),
            PageError::NoSuchChart { .. } => Self::Nothing(error.to_string()),
            error => Self::Broken(error.to_string()),
        }
    }
}

/// Any answer. What cannot stand in a header does not.
pub fn made<const N: usize>(
    status: StatusCode,
    headers: [(HeaderName, &str); N],
    body: impl Into<Body>,
) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// A page of the view.
pub fn page(markup: &Markup) -> Response {
    made(StatusCode::OK, [(CONTENT_TYPE, HTML)], markup.0.clone())
}

/// A page that says why there is no other.
pub fn problem(status: StatusCode, text: &str) -> Response {
    let mut response = page(&crate::page::problem(status, text));
    *response.status_mut() = status;
    response
}

/// Returns the stream of events as an answer.
pub fn events(events: EventStream) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-cache"),
    ];
    made(StatusCode::OK, headers, Body::Events(events))
}

/// A text that changes when its tag does: a browser that has it already is told that it has not changed.
pub fn tagged(asked: &HeaderMap, kind: &str, tag: &str, text: impl Into<Bytes>) -> Response {
    let tag = format!("\"{tag}\"");
    let has = asked.get_all(IF_NONE_MATCH).iter().any(|known| {
        let known = known.to_str().unwrap_or_default();
        known.split(',').any(|one| one.trim() == tag)
    });
    let headers = [(CONTENT_TYPE, kind), (ETAG, tag.as_str())];
    match has {
        true => made(StatusCode::NOT_MODIFIED, headers, ""),
        false => made(StatusCode::OK, headers, text.into()),
    }
}

/// A run's report. It has a policy of its own in it, which stays as it is.
pub fn report(asked: &HeaderMap, report: &crate::shelf::RenderedReport) -> Response {
    let text = report.html.to_string();
    let mut response = tagged(asked, HTML, &report.tag, text);
    let policy = HeaderValue::from_static(UNFRAMED);
    response
        .headers_mut()
        .insert(CONTENT_SECURITY_POLICY, policy);
    response
}

/// A file to be kept. Its name is made of numbers and of words of ours.
pub fn file(kind: &str, name: &str, text: String) -> Response {
    let kept = format!("attachment; filename=\"{name}\"");
    let headers = [
        (CONTENT_TYPE, kind),
        (CONTENT_DISPOSITION, kept.as_str()),
        (CONTENT_SECURITY_POLICY, DEAD),
    ];
    made(StatusCode::OK, headers, text)
}

/// Adds the headers that every answer has, unless the answer sets them itself.
pub fn guarded(mut response: Response) -> Response {
    let always = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (X_FRAME_OPTIONS, "DENY"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        // Whether something has changed is asked each time; the notebook is private.
        (CACHE_CONTROL, "private, no-cache"),
    ];
    for (name, value) in always {
        let headers = response.headers_mut();
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    response
}
