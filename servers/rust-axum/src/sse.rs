//! `GET /events/{n}/{gap}/{word}`: n events, gap milliseconds apart, and `[DONE]`.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::Path;
use axum::response::sse::{Event, Sse};
use futures_util::stream::{self, Stream};

pub async fn events(
    Path((n, gap, word)): Path<(u64, u64, String)>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let gap = Duration::from_millis(gap);
    Sse::new(stream::unfold(1, move |nth| {
        let word = word.clone();
        async move {
            if nth > n + 1 {
                return None;
            }
            if (2..=n).contains(&nth) && !gap.is_zero() {
                tokio::time::sleep(gap).await;
            }
            let event = match nth > n {
                true => Event::default().data("[DONE]"),
                false => Event::default().data(format!("{word} {nth}")),
            };
            Some((Ok(event), nth + 1))
        }
    }))
}
