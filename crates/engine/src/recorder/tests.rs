use super::*;
use crate::clock::SECOND;

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
fn times_belong_to_when_they_were_due_and_counts_to_when_they_ended() {
    let mut it = recorder(100, 200);
    it.answer(Sent { due: 90, sent: 95 }, 110, &OK); // due before, ended inside
    it.answer(
        Sent {
            due: 150,
            sent: 155,
        },
        160,
        &OK,
    ); // wholly inside
    it.answer(
        Sent {
            due: 190,
            sent: 195,
        },
        210,
        &OK,
    ); // due inside, ended after
    it.answer(
        Sent {
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
fn a_timeout_is_a_sample_of_its_full_length_and_an_error_is_none() {
    let mut it = recorder(0, 1_000);
    it.failure(Sent { due: 10, sent: 30 }, 900, Failure::Timeout, 800);
    it.failure(Sent { due: 10, sent: 30 }, 900, Failure::Read, 800);
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
    it.answer(Sent { due: 1, sent: 1 }, 5, &OK);
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
        it.answer(Sent { due: 1, sent: 1 }, 5, &wrong);
    }
    assert_eq!(
        (it.record.outcomes.ok, it.record.outcomes.wrong_answer),
        (0, 10)
    );
    let kept = [1, 2, 3].map(|n| format!("a body of {n} bytes, expected 9"));
    assert_eq!(it.record.wrong, kept, "each once");
}
