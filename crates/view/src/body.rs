//! Body of an answer: a text, or a stream of events for as long as the client listens.

use crate::live::EventStream;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The body of an answer.
#[derive(Debug)]
pub enum Body {
    /// A text, or what is left of it.
    Text(Bytes),
    /// Without end.
    Events(EventStream),
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match self.get_mut() {
            Self::Text(text) if text.is_empty() => Poll::Ready(None),
            Self::Text(text) => Poll::Ready(Some(std::mem::take(text))),
            Self::Events(events) => events.next(context).map(|event| event.map(Bytes::from)),
        };
        next.map(|data| data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Text(text) if text.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Text(text) => SizeHint::with_exact(text.len() as u64),
            Self::Events(_) => SizeHint::default(),
        }
    }
}
