use super::*;
use crate::clock::SECOND;
use proptest::prelude::*;

const OK: Answer = Answer {
    status: 200,
    wrong: None,
    last: false,
    body: 5,
};

fn recorder(from: Nanos, until: Nanos) -> Recorder {
    let mut recorder = Recorder::new(0, SECOND);
    recorder.from = from;
    recorder.until = until;
    recorder
}

#[test]
fn bytes_count_until_the_measurement_ends() {
    let mut it = recorder(100, 200);
    for at in [50, 150, 199, 200, 250] {
        it.received(90, at);
        it.answer(RequestTimes { due: 40, sent: 40 }, at, &OK);
    }
    assert_eq!(it.record.bytes_received, 3 * 90);
    assert_eq!(it.record.body_bytes, 3 * 5);
    assert_eq!(it.record.outcomes.ok, 2);
}

#[test]
fn times_belong_to_when_they_were_due_and_counts_to_when_they_ended() {
    let mut it = recorder(100, 200);
    it.answer(RequestTimes { due: 90, sent: 95 }, 110, &OK); // due before, ended inside
    it.answer(
        RequestTimes {
            due: 150,
            sent: 155,
        },
        160,
        &OK,
    ); // wholly inside
    it.answer(
        RequestTimes {
            due: 190,
            sent: 195,
        },
        210,
        &OK,
    ); // due inside, ended after
    it.answer(
        RequestTimes {
            due: 198,
            sent: 203,
        },
        220,
        &OK,
    ); // due inside, sent after
    assert_eq!(it.record.outcomes.ok, 2);
    assert_eq!(it.record.outcomes.in_flight_at_end, 1);
    assert_eq!(it.record.outcomes.unsent_at_end, 1);
    let status = it.record.outcomes.status;
    let by_class: [u64; 6] = std::array::from_fn(|digit| status.class(digit));
    assert_eq!(by_class, [0, 0, 2, 0, 0, 0]);
    assert_eq!(it.record.times.response.len(), 3);
    assert_eq!(it.record.times.response.max(), 22);
    assert_eq!(it.record.times.service.max(), 17);
    assert_eq!(it.record.times.send_delay.max(), 5);
    assert_eq!(it.record.last_finish, 160);
}

#[test]
fn what_was_counted_before_a_stop_was_heard_of_is_in_the_measurement_and_in_a_window() {
    let mut it = recorder(0, Nanos::MAX);
    it.answer(RequestTimes { due: 10, sent: 10 }, 20, &OK);
    // The next window begins at 1 s. Another worker saw the stop just before that.
    let mut windows = Vec::new();
    it.roll(SECOND + 5, |window| windows.push(window));
    let sent = SECOND + 2;
    it.answer(RequestTimes { due: sent, sent }, SECOND + 10, &OK);
    it.end(SECOND - 3);
    assert_eq!(it.until, SECOND + 11);
    windows.extend(it.last_window(it.until));
    let answers: u64 = windows.iter().map(|it| it.outcomes.ok).sum();
    assert_eq!((answers, it.record.outcomes.ok), (2, 2));
    // What comes later is neither.
    it.answer(RequestTimes { due: sent, sent }, SECOND + 11, &OK);
    it.end(SECOND - 3);
    assert_eq!((it.until, it.record.outcomes.ok), (SECOND + 11, 2));
}

#[test]
fn a_stop_that_every_worker_hears_of_at_once_moves_nothing() {
    let mut it = recorder(0, Nanos::MAX);
    it.answer(RequestTimes { due: 10, sent: 10 }, 20, &OK);
    it.end(50);
    assert_eq!(it.until, 50);
}

#[test]
fn a_timeout_is_a_sample_of_its_full_length_and_an_error_is_none() {
    let mut it = recorder(0, 1_000);
    it.failure(
        RequestTimes { due: 10, sent: 30 },
        900,
        RequestFailure::Timeout,
        800,
        true,
    );
    it.failure(
        RequestTimes { due: 10, sent: 30 },
        900,
        RequestFailure::Read,
        800,
        true,
    );
    assert_eq!(
        (
            it.record.times.response.len(),
            it.record.times.response.max()
        ),
        (1, 820)
    );
    assert_eq!(it.record.times.service.max(), 800);
    assert_eq!(
        (it.record.outcomes.timeout, it.record.outcomes.read_error),
        (1, 1)
    );
    assert_eq!(it.record.outcomes.failed(), 2);
}

#[test]
fn windows_follow_each_other_without_gaps_and_empty_ones_are_kept() {
    let mut it = recorder(0, Nanos::MAX);
    it.answer(RequestTimes { due: 1, sent: 1 }, 5, &OK);
    let mut windows = Vec::new();
    it.roll(3 * SECOND + 5, |window| windows.push(window));
    windows.extend(it.last_window(3 * SECOND + 500));
    let seen: Vec<_> = windows
        .iter()
        .map(|w| (w.index, w.start, w.length, w.outcomes.ok))
        .collect();
    assert_eq!(
        seen,
        [
            (0, 0, SECOND, 1),
            (1, SECOND, SECOND, 0),
            (2, 2 * SECOND, SECOND, 0),
            (3, 3 * SECOND, 500, 0)
        ]
    );
    assert_eq!(windows[0].response.len(), 1);
    assert_eq!(windows[1].response.len(), 0);
}

#[test]
fn wrong_answers_are_counted_and_a_few_are_kept_in_words() {
    let mut it = recorder(0, 1_000);
    for found in [1, 1, 2, 2, 3, 3, 4, 4, 5, 5] {
        let wrong = Answer {
            status: 200,
            wrong: Some(Mismatch::Length {
                expected: 9,
                found,
                difference: None,
            }),
            last: false,
            body: found,
        };
        it.answer(RequestTimes { due: 1, sent: 1 }, 5, &wrong);
    }
    assert_eq!(
        (it.record.outcomes.ok, it.record.outcomes.wrong_answer),
        (0, 10)
    );
    let kept = [1, 2, 3].map(|n| format!("a body of {n} bytes, expected 9"));
    assert_eq!(it.record.wrong, kept, "each once");
}

/// Event of a request: `sent` has its due time, `at` is when it ends, and `kind` decides how it ends.
#[derive(Debug, Clone)]
struct Happening {
    agent: usize,
    sent: RequestTimes,
    at: Nanos,
    kind: u8,
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let one = (0..64_usize, 0..5 * SECOND, 0..SECOND, 0..SECOND, 0..6_u8).prop_map(
        |(agent, due, delay, took, kind)| Happening {
            agent,
            sent: RequestTimes {
                due,
                sent: due + delay,
            },
            at: due + delay + took,
            kind,
        },
    );
    proptest::collection::vec(one, 0..300).prop_map(|mut all| {
        all.sort_by_key(|it| it.at);
        all
    })
}

/// A recorder, and the windows that it has closed.
struct Agent {
    recorder: Recorder,
    windows: Vec<Slice>,
}

impl Agent {
    fn new() -> Self {
        Self {
            recorder: recorder(SECOND, 4 * SECOND),
            windows: Vec::new(),
        }
    }

    fn hear(&mut self, it: &Happening) {
        self.recorder
            .roll(it.at, |window| self.windows.push(window));
        let recorder = &mut self.recorder;
        recorder.record.bytes_received += it.at;
        match it.kind {
            0 => recorder.failure(it.sent, it.at, RequestFailure::Timeout, SECOND, true),
            1 => recorder.failure(it.sent, it.at, RequestFailure::Read, SECOND, false),
            2 => recorder.error(IoActivity::Reading, Cause::Other("reset".into())),
            3 => recorder.unfinished(it.sent, None, it.at),
            _ => {
                recorder.answer(it.sent, it.at, &OK);
            }
        }
        recorder.late(it.sent.due, it.at - it.sent.sent);
    }

    /// Returns the agent's record and windows after serialization, as another machine would receive them.
    fn end(mut self) -> (Record, Vec<Slice>) {
        self.recorder
            .roll(8 * SECOND, |window| self.windows.push(window));
        sent(&(self.recorder.record, self.windows))
    }
}

/// Serializes and deserializes, as on the way to another machine. Histograms with equal contents then have equal
/// sizes, without which they do not compare as equal.
fn sent(all: &(Record, Vec<Slice>)) -> (Record, Vec<Slice>) {
    serde_json::from_str(&serde_json::to_string(all).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    // Slow: 48 cases: the histograms of up to 65 recorders, as JSON and back.
    #[test]
    #[cfg_attr(miri, ignore = "takes too long")]
    fn what_up_to_64_agents_saw_together_is_what_one_would_have(
        agents in 1..=64_usize,
        happened in happenings(),
    ) {
        let mut one = Agent::new();
        let mut several: Vec<Agent> = (0..agents).map(|_| Agent::new()).collect();
        for it in &happened {
            one.hear(it);
            several[it.agent % agents].hear(it);
        }
        let (expected, windows) = one.end();
        let mut together = Record::new();
        let mut merged: Vec<Slice> = Vec::new();
        for agent in several {
            let (record, windows) = agent.end();
            together.merge(&record);
            match merged.is_empty() {
                true => merged = windows,
                false => merged.iter_mut().zip(&windows).for_each(|(a, b)| a.merge(b)),
            }
        }
        let (together, merged) = sent(&(together, merged));
        prop_assert_eq!(&together.times, &expected.times);
        prop_assert_eq!(&together.outcomes, &expected.outcomes);
        prop_assert_eq!(&together.errors, &expected.errors);
        prop_assert_eq!(together.bytes_received, expected.bytes_received);
        prop_assert_eq!(together.last_finish, expected.last_finish);
        prop_assert_eq!(merged.len(), windows.len());
        for (a, b) in merged.iter().zip(&windows) {
            prop_assert_eq!((a.index, a.start, a.length), (b.index, b.start, b.length));
            prop_assert_eq!(&a.outcomes, &b.outcomes);
            prop_assert_eq!(&a.response, &b.response);
        }
    }
}

/// Requests of `connections` that are always busy, each answered after `time`, seen from 10,000 on for `length`.
fn closed_loop(connections: u64, time: Nanos, length: Nanos) -> Recorder {
    let mut it = recorder(10_000, 10_000 + length);
    for connection in 0..connections {
        // They are not in step, and began long before.
        let mut sent = connection * 37 % time;
        while sent < it.until {
            it.answer(RequestTimes { due: sent, sent }, sent + time, &OK);
            sent += time;
        }
    }
    it
}

proptest! {
    /// However a measurement cuts requests, the rate that was served is connections ÷ response time (Little's law).
    #[test]
    fn what_is_served_does_not_depend_on_where_a_measurement_begins_and_ends(
        connections in 1_u64..70, time in 1_u64..2_000, length in 1_u64..5_000
    ) {
        let it = closed_loop(connections, time, length);
        let served = it.record.outcomes.ok as f64 + it.record.ends.right;
        let expected = connections as f64 * length as f64 / time as f64;
        prop_assert!((served / expected - 1.0).abs() < 1e-9, "{served} for {expected}");
        prop_assert_eq!(it.record.ends.right, it.record.ends.all);
    }
}

#[test]
fn what_failed_is_served_but_is_no_answer() {
    let mut it = recorder(100, 200);
    // Half of each is in the measurement.
    it.failure(
        RequestTimes { due: 50, sent: 50 },
        150,
        RequestFailure::Timeout,
        100,
        true,
    );
    it.unfinished(
        RequestTimes {
            due: 150,
            sent: 150,
        },
        None,
        250,
    );
    it.unfinished(
        RequestTimes {
            due: 150,
            sent: Nanos::MAX,
        },
        None,
        250,
    );
    let finished = it.record.outcomes.finished() as f64;
    assert_eq!(
        (it.record.ends.right, finished + it.record.ends.all),
        (0.0, 1.0)
    );
}

#[test]
fn of_a_number_of_requests_those_of_the_warm_up_are_not_counted() {
    let requests = [(90, 110), (100, 120), (150, 160), (190, 210)];
    for (numbered, ok) in [(false, 3), (true, 2)] {
        let mut it = recorder(100, 200);
        it.numbered = numbered;
        for (sent, at) in requests {
            it.answer(RequestTimes { due: sent, sent }, at, &OK);
        }
        assert_eq!(it.record.outcomes.ok, ok);
        // The share of each that was served inside stays the same.
        let served = it.record.outcomes.ok as f64 + it.record.ends.right;
        assert_eq!(served, 0.5 + 1.0 + 1.0 + 0.5);
    }
}

#[test]
fn every_status_is_counted() {
    let mut it = recorder(100, 200);
    for (status, at) in [
        (301, 90),
        (200, 110),
        (200, 111),
        (404, 112),
        (200, 113),
        (0, 114),
    ] {
        it.answer(
            RequestTimes { due: 80, sent: 80 },
            at,
            &Answer { status, ..OK },
        );
    }
    assert_eq!(it.done().statuses, [(200, 3), (404, 1)].into());
}

#[test]
fn a_server_has_stopped_only_when_not_a_byte_came() {
    let late = RequestTimes {
        due: 150,
        sent: 150,
    };
    for (failure, silent, stopped) in [
        (RequestFailure::Timeout, true, true),
        (RequestFailure::Timeout, false, false),
        (RequestFailure::Read, false, false),
    ] {
        let mut it = recorder(100, 200);
        it.failure(late, 300, failure, 150, silent);
        assert_eq!(it.record.outcomes.unanswered_at_end, 1);
        assert_eq!(it.record.outcomes.stopped(), stopped, "{failure:?}");
    }
}

fn parts(first: Nanos, last: Nanos, events: u32) -> AnswerParts {
    AnswerParts {
        first,
        last,
        events,
        ..AnswerParts::default()
    }
}

#[test]
fn gaps_belong_to_the_measurement_in_which_they_begin() {
    let request = RequestTimes { due: 90, sent: 90 };
    let mut it = recorder(100, 200);
    it.streamed((request, AnswerParts::default()), 95, 1);
    // It was due before.
    assert_eq!(it.record.times.first_event.len(), 0);
    it.streamed((request, parts(95, 95, 1)), 120, 1);
    assert_eq!(it.record.times.gap.len(), 0);
    it.streamed((request, parts(95, 120, 2)), 150, 3);
    // A gap, and two events that came with the one that ended it.
    assert_eq!(
        (it.record.times.gap.len(), it.record.times.gap.max()),
        (3, 30)
    );
    it.streamed((request, parts(95, 150, 5)), 260, 1);
    assert_eq!(
        (it.record.times.gap.len(), it.record.times.gap.max()),
        (4, 110)
    );
    it.streamed((request, parts(95, 260, 6)), 300, 1);
    assert_eq!(it.record.times.gap.len(), 4);
    assert_eq!(it.record.streams.events, 4);
}

#[test]
fn a_gap_that_does_not_end_counts_as_long_as_it_was() {
    let request = RequestTimes {
        due: 110,
        sent: 110,
    };
    let heard = |longest_gap| AnswerParts {
        longest_gap,
        ..parts(120, 150, 3)
    };
    for (end, gaps, longest) in [
        (StreamEnd::Silent, 1, 40),
        (StreamEnd::Open, 1, 40),
        (StreamEnd::Whole, 0, 25),
        (StreamEnd::Broken, 0, 25),
    ] {
        let mut it = recorder(100, 200);
        it.stream_ended((request, heard(25)), 190, end);
        assert_eq!(it.record.times.gap.len(), gaps, "{end:?}");
        assert_eq!(it.record.times.longest_gap.max(), longest, "{end:?}");
        let streams = it.record.streams;
        let whole = u64::from(end == StreamEnd::Whole);
        assert_eq!((streams.ended, streams.events_of_ended), (whole, 3 * whole));
        assert_eq!(streams.open, u64::from(end == StreamEnd::Open));
    }
}

#[test]
fn streams_without_an_end_are_waited_for_until_they_are_heard_again() {
    let request = RequestTimes {
        due: 110,
        sent: 110,
    };
    let mut it = recorder(100, 200);
    it.streamed((request, parts(120, 150, 2)), 210, 1);
    assert_eq!(it.heard_out(), 1);
    it.streamed((request, parts(120, 210, 3)), 220, 1);
    assert_eq!(it.heard_out(), 1);
    it.unfinished(request, Some(parts(120, 220, 4)), 230);
    assert_eq!(it.heard_out(), 0);
    // How long it would have lasted is not known.
    assert_eq!(it.record.times.response.len(), 0);
    assert_eq!(it.record.times.send_delay.len(), 1);
    // Where others end, it lasts for so long at least.
    it.stream_ended((request, parts(120, 150, 2)), 160, StreamEnd::Whole);
    assert_eq!((it.longest_stream(), it.heard_out()), (50, 0));
    it.unfinished(request, Some(parts(120, 220, 4)), 230);
    assert_eq!(it.record.times.response.max(), 120);
}

#[test]
fn a_good_answer_keeps_every_limit() {
    let request = RequestTimes {
        due: 100,
        sent: 110,
    };
    let mut it = recorder(100, 1_000);
    it.slo = Some("ttft < 50ns, gap < 30ns, tpot < 20ns".parse().unwrap());
    let heard = |first, last, events, longest_gap| AnswerParts {
        longest_gap,
        ..parts(first, last, events)
    };
    for (parts, good) in [
        (heard(150, 210, 4, 30), 1),
        (heard(151, 210, 4, 30), 0),
        (heard(150, 210, 4, 31), 0),
        (heard(150, 214, 4, 30), 0),
        (heard(150, 150, 1, 0), 1),
    ] {
        it.record.good = 0;
        it.judge(request, 900, Some(parts));
        assert_eq!(it.record.good, good, "{parts:?}");
    }
}
