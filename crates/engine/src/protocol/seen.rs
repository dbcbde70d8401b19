//! Record of a session's events, for tests without a worker.

use super::{Answer, Booked, Events, StreamNews};

pub(super) struct RecordedEvents<T> {
    pub(super) ready: u32,
    pub(super) answered: Vec<(T, Answer)>,
    pub(super) closing: bool,
    /// Numbers of events of streams, one for each report.
    pub(super) events: Vec<u32>,
    /// A stream has said that it is over.
    pub(super) over: bool,
}

impl<T> Default for RecordedEvents<T> {
    fn default() -> Self {
        Self {
            ready: 0,
            answered: Vec::new(),
            closing: false,
            events: Vec::new(),
            over: false,
        }
    }
}

impl<T> RecordedEvents<T> {
    pub(super) fn answers(self) -> Vec<Answer> {
        self.answered
            .into_iter()
            .map(|(_, answer)| answer)
            .collect()
    }
}

impl<T> Events<T> for RecordedEvents<T> {
    fn ready(&mut self) {
        self.ready += 1;
    }

    fn streamed(&mut self, _: T, news: StreamNews) {
        self.events.push(news.events);
    }

    fn over(&mut self, _: T) {
        self.over = true;
    }

    fn answered(&mut self, token: T, answer: Answer) -> Booked {
        self.answered.push((token, answer));
        Booked::default()
    }

    fn closing(&mut self) {
        self.closing = true;
    }
}
