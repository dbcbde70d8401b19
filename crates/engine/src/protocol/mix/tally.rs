//! Results of one kind of request.

use super::super::{Booked, Ending};
use super::durations::Durations;
use prony_record::observation::keep_example;
use prony_record::{ByRequest, Encoded, Outcomes};
use std::collections::BTreeMap;

/// Results of one kind of request, of one worker.
#[derive(Debug)]
pub(super) struct Tally {
    outcomes: Outcomes,
    response: Durations,
    searched: u64,
    encodings: BTreeMap<String, Encoded>,
    /// Has there been an answer?
    any: bool,
    wrong: Vec<String>,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self {
            outcomes: Outcomes::default(),
            response: Durations::new(),
            searched: 0,
            encodings: BTreeMap::new(),
            any: false,
            wrong: Vec::new(),
        }
    }

    /// Nothing was answered yet.
    #[inline]
    pub(super) fn is_first(&self) -> bool {
        !self.any
    }

    /// An answer, with what is wrong with it.
    #[inline]
    pub(super) fn answer(
        &mut self,
        booked: Booked,
        status: u16,
        wrong: Option<String>,
        searched: bool,
    ) {
        self.any = true;
        if wrong.is_none() {
            self.time(booked);
        }
        self.searched += u64::from(searched && booked.ended_inside);
        if booked.ended_inside {
            self.outcomes.status.count(status);
            match wrong {
                None => self.outcomes.ok += 1,
                Some(text) => self.wrong(text),
            }
        } else {
            self.outcomes.in_flight_at_end += u64::from(booked.in_flight_at_end);
        }
    }

    /// The body of a searched answer had this coding.
    #[cold]
    pub(super) fn encoded(&mut self, booked: Booked, name: &str, encoded: &Encoded) {
        if booked.ended_inside {
            encoded.count(name, &mut self.encodings);
        }
    }

    #[cold]
    fn wrong(&mut self, text: String) {
        self.outcomes.wrong_answer += 1;
        keep_example(&mut self.wrong, text);
    }

    pub(super) fn failed(&mut self, booked: Booked, ending: Ending) {
        if matches!(ending, Ending::Timeout | Ending::Unfinished) {
            self.time(booked);
        }
        if booked.ended_inside && ending != Ending::Unfinished {
            *match ending {
                Ending::Timeout => &mut self.outcomes.timeout,
                Ending::Write => &mut self.outcomes.write_error,
                Ending::Read => &mut self.outcomes.read_error,
                Ending::Broken | Ending::Unfinished => &mut self.outcomes.wrong_answer,
            } += 1;
            if ending == Ending::Broken {
                // As the whole load counts it: without a status.
                self.outcomes.status.count(0);
            }
        } else {
            let in_flight = u64::from(booked.in_flight_at_end);
            self.outcomes.in_flight_at_end += in_flight;
            if matches!(ending, Ending::Timeout | Ending::Read | Ending::Write) {
                self.outcomes.unanswered_at_end += in_flight;
            }
        }
    }

    #[inline]
    fn time(&mut self, booked: Booked) {
        if !booked.due_inside {
            return;
        }
        self.response.add(booked.window, booked.response);
    }

    /// Returns the results in the form of the record.
    pub(super) fn seen(self, name: &str, share: f64) -> ByRequest {
        ByRequest {
            name: name.to_owned(),
            share,
            outcomes: self.outcomes,
            times: self.response.seen(),
            searched: self.searched,
            encodings: self.encodings,
            wrong_answers: self.wrong,
        }
    }
}
