//! What was seen of one kind of request.

use super::super::{Booked, Ending};
use hdrhistogram::Histogram;
use prony_record::observation::keep_example;
use prony_record::times::{EffectiveSamples, HIGHEST, times};
use prony_record::{ByRequest, Distributions, Outcomes, Times};
use prony_stats::order_interval::Beyond;

/// Stretches of time that are kept apart: enough to see whether slow requests come together, which is what
/// their number is judged by. With more windows neighbours are joined.
const STRETCHES: usize = 64;
/// As a window's histogram: within 1 %.
const DIGITS: u8 = 2;

/// What was seen of one kind of request by one worker.
#[derive(Debug)]
pub(super) struct Tally {
    outcomes: Outcomes,
    response: Times,
    /// Response times by stretches of `1 << joined` windows, none at the end that are empty.
    stretches: Vec<Histogram<u32>>,
    joined: u32,
    searched: u64,
    /// Has there been an answer?
    any: bool,
    wrong: Vec<String>,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self {
            outcomes: Outcomes::default(),
            response: times(),
            stretches: Vec::new(),
            joined: 0,
            searched: 0,
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
        self.time(booked);
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

    #[cold]
    fn wrong(&mut self, text: String) {
        self.outcomes.wrong_answer += 1;
        keep_example(&mut self.wrong, text);
    }

    pub(super) fn failed(&mut self, booked: Booked, ending: Ending) {
        if matches!(
            ending,
            Ending::Timeout | Ending::Broken | Ending::Unfinished
        ) {
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
            self.outcomes.in_flight_at_end += u64::from(booked.in_flight_at_end);
        }
    }

    #[inline]
    fn time(&mut self, booked: Booked) {
        if !booked.due_inside {
            return;
        }
        self.response.saturating_record(booked.response);
        let at = (booked.window >> self.joined) as usize;
        match self.stretches.get_mut(at) {
            Some(stretch) => stretch.saturating_record(booked.response),
            None => self.new_stretch(booked),
        }
    }

    #[cold]
    fn new_stretch(&mut self, booked: Booked) {
        while (booked.window >> self.joined) as usize >= STRETCHES {
            self.join();
        }
        let at = (booked.window >> self.joined) as usize;
        let empty =
            || Histogram::new_with_bounds(1, HIGHEST, DIGITS).expect("constant bounds are valid");
        if self.stretches.len() <= at {
            self.stretches.resize_with(at + 1, empty);
        }
        self.stretches[at].saturating_record(booked.response);
    }

    /// Joins neighbours.
    fn join(&mut self) {
        let pairs = std::mem::take(&mut self.stretches);
        let mut pairs = pairs.into_iter();
        while let Some(mut first) = pairs.next() {
            if let Some(second) = pairs.next() {
                first.add(&second).expect("all have the same bounds");
            }
            self.stretches.push(first);
        }
        self.joined += 1;
    }

    /// As the record has it.
    pub(super) fn seen(self, name: &str, share: f64) -> ByRequest {
        let filled = || self.stretches.iter().filter(|stretch| !stretch.is_empty());
        let effective = EffectiveSamples::of(&self.response, |value| {
            let beyond = |stretch: &Histogram<u32>| Beyond {
                above: stretch.len() - stretch.count_between(0, value),
                all: stretch.len(),
            };
            filled().map(beyond).collect()
        });
        ByRequest {
            name: name.to_owned(),
            share,
            outcomes: self.outcomes,
            times: Distributions {
                response: self.response,
                effective,
                ..Distributions::default()
            },
            searched: self.searched,
            wrong_answers: self.wrong,
        }
    }
}
