//! Limits of the server, servers that fall silent, doors, and the way that datagrams take.

use super::{Case, Mischief, Say, Step, bytes, case, right, steps};
use crate::campaigns::hostile::h3_server::{Door, OK, Then, answer};

fn hello() -> Vec<u8> {
    answer(OK, b"hello")
}

pub fn limits() -> Vec<Case> {
    let class = "limits";
    let mut all = Vec::new();
    for streams in [1, 2, 5] {
        let case = bytes(class, format!("{streams} streams"), Say::Right, hello());
        all.push(case.with(|setup| setup.streams = streams));
    }
    let none = bytes(class, "no stream", Say::Fails, hello());
    all.push(none.with(|setup| setup.streams = 0));
    for (window, name, body) in [
        (1, "200 bytes", 200),
        (100, "20 KB", 20_000),
        (4_096, "20 KB", 20_000),
    ] {
        let case = bytes(
            class,
            format!("a request of {name}, {window} bytes at a time"),
            Say::Right,
            hello(),
        );
        let case = case.asking("POST", body);
        all.push(case.with(|setup| setup.window = window));
    }
    let none = bytes(
        class,
        "a request for which there is no window",
        Say::TimesOut,
        hello(),
    );
    all.push(none.with(|setup| setup.window = 0));
    all
}

pub fn silence() -> Vec<Case> {
    let class = "silence";
    let mut all = vec![
        steps(class, "no answer", Say::TimesOut, vec![Step::Silence]),
        steps(
            class,
            "no answer at all, from the first request on",
            Say::TimesOut,
            vec![Step::Die(Then::Silent)],
        ),
        steps(
            class,
            "nothing listens from the first request on",
            Say::Fails,
            vec![Step::Die(Then::Gone)],
        ),
    ];
    for (then, name) in [(Then::Silent, "falls silent"), (Then::Gone, "is gone")] {
        all.push(case(
            class,
            format!("{name} after three requests"),
            Say::Anything,
            move |it| match it.nth {
                3.. => vec![Step::Die(then)],
                _ => right(),
            },
        ));
        let first = steps(
            class,
            format!("{name} when connections begin"),
            Say::Fails,
            right(),
        );
        all.push(first.with(|setup| setup.first = vec![Step::Die(then)]));
    }
    for (then, name) in [
        (Then::Resets, "resets what was before"),
        (Then::ResetsStrangely, "resets it with another key"),
        (Then::Forgets, "ignores it"),
    ] {
        let name = format!("begins anew, and {name}");
        all.push(case(class, name, Say::Recovers, move |it| match it.nth {
            2 => vec![Step::Die(then)],
            _ => right(),
        }));
    }
    all
}

pub fn doors() -> Vec<Case> {
    let class = "doors";
    let door = |name: &str, say, door| {
        let case = bytes(class, name, say, hello());
        case.with(|setup| setup.door = door)
    };
    let other = bytes(class, "another protocol (ALPN)", Say::Fails, hello());
    vec![
        door(
            "addresses are proved first (Retry)",
            Say::Right,
            Door::Retry,
        ),
        door("connections are refused", Say::Fails, Door::Refuses),
        door("connections are ignored", Say::Fails, Door::Ignores),
        door(
            "every other connection is refused",
            Say::Anything,
            Door::RefusesHalf,
        ),
        other.with(|setup| setup.alpn = "doq"),
    ]
}

pub fn datagrams() -> Vec<Case> {
    let class = "datagrams";
    let none = Mischief::default();
    [
        ("a relay", none),
        (
            "0.1 % lost",
            Mischief {
                lost: 1_000,
                ..none
            },
        ),
        ("1 % lost", Mischief { lost: 100, ..none }),
        ("5 % lost", Mischief { lost: 20, ..none }),
        ("all of them twice", Mischief { doubled: 1, ..none }),
        ("every second one twice", Mischief { doubled: 2, ..none }),
        ("every third one late", Mischief { late: 3, ..none }),
        ("5 % spoilt", Mischief { spoilt: 20, ..none }),
        ("5 % cut", Mischief { cut: 20, ..none }),
        (
            "copies from a foreign address",
            Mischief { foreign: 1, ..none },
        ),
        ("noise between them", Mischief { noise: 1, ..none }),
        (
            "all of this",
            Mischief {
                lost: 50,
                doubled: 10,
                spoilt: 50,
                cut: 50,
                late: 10,
                foreign: 5,
                noise: 5,
            },
        ),
    ]
    .into_iter()
    .flat_map(|(name, mischief)| {
        let short = bytes(class, name, Say::Right, hello());
        let body = vec![b'x'; 30_000];
        let long = bytes(
            class,
            format!("{name}, 30 KB"),
            Say::Right,
            answer(OK, &body),
        );
        [short, long.asking("POST", 10_000)].map(|mut case| {
            case.server.mischief = Some(mischief);
            case
        })
    })
    .collect()
}
