//! GOAWAY, before requests, with them, and after them.

use super::{Case, Request, Say, Step, case, frame, right, steps};
use crate::campaigns::hostile::h3_server::{GOAWAY, varint};

const CLASS: &str = "GOAWAY";

fn goaway(stream: u64) -> Step {
    Step::Control(frame(GOAWAY, &varint(stream)))
}

/// With the n-th request of each connection, from 0 on, this; right answers to the others.
fn at(nth: u64, name: &str, say: Say, says: fn(Request) -> Vec<Step>) -> Case {
    case(CLASS, name, say, move |it| match it.of_connection == nth {
        true => says(it),
        false => right(),
    })
}

/// Behind some steps, the right answer.
fn and_right(steps: Vec<Step>) -> Vec<Step> {
    [steps, right()].concat()
}

pub fn all() -> Vec<Case> {
    const FAR: u64 = 1 << 40;
    let first = |name: &str, say, steps_first: Vec<Step>, after: Vec<Step>| {
        steps(CLASS, name, say, after).with(|setup| setup.first = steps_first)
    };
    vec![
        first(
            "before any request, and it answers none",
            Say::Fails,
            vec![goaway(0)],
            vec![Step::Silence],
        )
        .saying("GOAWAY"),
        first(
            "before any request, and it answers all the same",
            Say::Anything,
            vec![goaway(0)],
            right(),
        ),
        first(
            "before any request, for far requests",
            Say::Right,
            vec![goaway(FAR)],
            right(),
        ),
        first(
            "the same twice",
            Say::Right,
            vec![goaway(FAR), goaway(FAR)],
            right(),
        ),
        first(
            "for nearer requests each time",
            Say::Right,
            (0..100).map(|n| goaway(FAR - 4 * n)).collect(),
            right(),
        ),
        first(
            "for farther requests",
            Say::Fails,
            vec![goaway(FAR), goaway(FAR + 4)],
            vec![Step::Silence],
        )
        .saying("GOAWAY"),
        first(
            "with a stream of the server",
            Say::Fails,
            vec![goaway(1)],
            vec![Step::Silence],
        )
        .saying("GOAWAY"),
        first(
            "with a stream in one direction",
            Say::Fails,
            vec![goaway(2)],
            vec![Step::Silence],
        )
        .saying("GOAWAY"),
        first(
            "without a stream",
            Say::Fails,
            vec![Step::Control(frame(GOAWAY, b""))],
            vec![Step::Silence],
        )
        .saying("wrong size"),
        first(
            "with more than a stream",
            Say::Fails,
            vec![Step::Control(frame(GOAWAY, b"\x04\x04"))],
            vec![Step::Silence],
        )
        .saying("wrong size"),
        first(
            "of the largest stream",
            Say::Right,
            vec![goaway((1 << 62) - 4)],
            right(),
        ),
        at(0, "with the first answer", Say::Right, |it| {
            and_right(vec![goaway(it.stream + 4)])
        }),
        at(
            0,
            "with the first answer, and it answers later ones too",
            Say::Right,
            |_| and_right(vec![goaway(FAR)]),
        ),
        at(2, "with the third answer", Say::Right, |it| {
            and_right(vec![goaway(it.stream + 4)])
        }),
        at(2, "instead of the third answer", Say::Right, |it| {
            vec![goaway(it.stream), Step::Silence]
        }),
        at(
            2,
            "instead of the third answer, and a reset",
            Say::Right,
            |it| vec![goaway(it.stream), Step::Reset(0x10b)],
        ),
        at(2, "within the third answer", Say::Right, |it| {
            let whole = super::answer(super::OK, b"hello");
            vec![
                Step::Write(whole[..7].to_vec()),
                goaway(it.stream + 4),
                Step::Write(whole[7..].to_vec()),
                Step::End,
            ]
        }),
        at(
            2,
            "within the third answer, which is not given",
            Say::Anything,
            |it| {
                let part = super::answer(super::OK, b"hello")[..7].to_vec();
                vec![Step::Write(part), goaway(it.stream), Step::Silence]
            },
        ),
        at(
            2,
            "with the third answer, and closed",
            Say::Anything,
            |it| vec![goaway(it.stream), Step::Close(0x100)],
        ),
        at(2, "and farther again", Say::Anything, |it| {
            vec![goaway(it.stream + 4), goaway(it.stream + 8), Step::Silence]
        }),
        case(CLASS, "with each answer", Say::Right, |_| {
            and_right(vec![goaway(FAR)])
        }),
    ]
}
