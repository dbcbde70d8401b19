//! Record of a session's events, for tests without a worker.

use super::{Answer, Booked, Events};

pub(super) struct RecordedEvents<T> {
    pub(super) ready: u32,
    pub(super) answered: Vec<(T, Answer)>,
    pub(super) closing: bool,
}

impl<T> Default for RecordedEvents<T> {
    fn default() -> Self {
        Self {
            ready: 0,
            answered: Vec::new(),
            closing: false,
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

    fn answered(&mut self, token: T, answer: Answer) -> Booked {
        self.answered.push((token, answer));
        Booked::default()
    }

    fn closing(&mut self) {
        self.closing = true;
    }
}
