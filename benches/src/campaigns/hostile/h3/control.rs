//! The server's control stream, and other streams that it opens.

use super::{Case, Say, Step, frame, right, steps};
use crate::campaigns::hostile::h3_server::{GREETING, SETTINGS, varint};
use std::time::Duration;

/// Begins each connection with these steps. When it is wrong, nothing is answered: it is found all the same.
fn begins(class: &'static str, name: impl Into<String>, say: Say, first: Vec<Step>) -> Case {
    let after = match say {
        Say::Right | Say::AllOrNone => right(),
        _ => vec![Step::Silence],
    };
    steps(class, name, say, after).with(|setup| setup.first = first)
}

/// Greets with this instead.
fn greets(class: &'static str, name: impl Into<String>, say: Say, greeting: Vec<u8>) -> Case {
    begins(class, name, say, Vec::new()).with(|setup| setup.greeting = greeting)
}

fn settings_of(payload: &[u8]) -> Vec<u8> {
    [vec![0], frame(SETTINGS, payload)].concat()
}

fn setting(number: u64, value: u64) -> Vec<u8> {
    [varint(number), varint(value)].concat()
}

pub fn settings() -> Vec<Case> {
    let class = "settings";
    let large = (1 << 62) - 1;
    let mut all = vec![
        greets(class, "none at all", Say::Right, Vec::new()),
        greets(class, "half of them", Say::Right, b"\0\x04".to_vec()),
        greets(
            class,
            "a dynamic table that is offered",
            Say::Right,
            settings_of(&[setting(1, 4_096), setting(7, 100)].concat()),
        ),
        greets(
            class,
            "the largest values",
            Say::Right,
            settings_of(&[setting(1, large), setting(6, large), setting(7, large)].concat()),
        ),
        greets(
            class,
            "no long header sections",
            Say::Right,
            settings_of(&setting(6, 0)),
        ),
        greets(
            class,
            "reserved ones",
            Say::Right,
            settings_of(
                &[
                    setting(0x21, 0),
                    setting(large / 0x1f * 0x1f - 0x1f + 2, large),
                ]
                .concat(),
            ),
        ),
        greets(
            class,
            "those of extensions",
            Say::Right,
            settings_of(&[setting(8, 1), setting(0x33, 1)].concat()),
        ),
        greets(
            class,
            "a thousand of them",
            Say::Right,
            settings_of(
                &(0..1_000)
                    .flat_map(|n| setting(0x1f * n + 0x21, n))
                    .collect::<Vec<_>>(),
            ),
        ),
        greets(
            class,
            "one of them twice",
            Say::AllOrNone,
            settings_of(&setting(6, 1_000).repeat(2)),
        ),
        greets(
            class,
            "longer than a megabyte",
            Say::Fails,
            settings_of(&vec![0; 1_100_000]),
        ),
        greets(class, "half a setting", Say::Fails, settings_of(b"\x06")).saying("wrong size"),
        greets(
            class,
            "half a value",
            Say::Fails,
            settings_of(b"\x06\x80\0"),
        )
        .saying("wrong size"),
        begins(
            class,
            "twice",
            Say::Fails,
            vec![Step::Control(frame(SETTINGS, b""))],
        )
        .saying("settings twice"),
    ];
    // Reserved as well, but no setting of HTTP/2.
    all.push(greets(
        class,
        "number 0",
        Say::AllOrNone,
        settings_of(&setting(0, 1)),
    ));
    for number in [2, 3, 4, 5] {
        let name = format!("number {number} of HTTP/2");
        let greeting = settings_of(&setting(number, 1));
        all.push(greets(class, name, Say::Fails, greeting).saying("only HTTP/2"));
    }
    let late = vec![Step::Control(frame(SETTINGS, b"")), Step::Silence];
    all.push(steps(class, "again with an answer", Say::Wrong, late).saying("settings twice"));
    all
}

pub fn frames() -> Vec<Case> {
    let class = "control stream";
    let mut all = vec![
        begins(
            class,
            "reserved frames",
            Say::Right,
            vec![Step::Control(frame(0x21, b"grease").repeat(1_000))],
        ),
        begins(
            class,
            "a reserved frame of 60 KB",
            Say::Right,
            vec![Step::Control(frame(0x21, &vec![0; 60_000]))],
        ),
        greets(
            class,
            "a stream whose kind takes eight bytes",
            Say::Right,
            [&b"\xc0\0\0\0\0\0\0\0"[..], &GREETING[1..]].concat(),
        ),
        greets(
            class,
            "begins with a reserved frame",
            Say::Fails,
            [&b"\0"[..], &frame(0x21, b"x"), &GREETING[1..]].concat(),
        )
        .saying("begin with settings"),
        greets(
            class,
            "begins with GOAWAY",
            Say::Fails,
            [&b"\0"[..], &frame(7, b"\0")].concat(),
        )
        .saying("begin with settings"),
        begins(
            class,
            "two of them",
            Say::Fails,
            vec![Step::Open(GREETING.to_vec())],
        )
        .saying("second control stream"),
        begins(class, "ends", Say::Fails, vec![Step::EndControl(None)]).saying("critical stream"),
        begins(
            class,
            "is reset",
            Say::Fails,
            vec![
                // So that it is known to be that stream.
                Step::Pause(Duration::from_millis(20)),
                Step::EndControl(Some(0x102)),
            ],
        )
        .saying("critical stream"),
        steps(
            class,
            "ends with an answer",
            Say::Wrong,
            vec![Step::EndControl(None), Step::Silence],
        )
        .saying("critical stream"),
    ];
    for (kind, name, words) in [
        (0x0, "DATA", "wrong stream"),
        (0x1, "HEADERS", "wrong stream"),
        (0x2, "PRIORITY of HTTP/2", "only HTTP/2"),
        // It names a push that was never allowed (RFC 9114, 7.2.3).
        (0x3, "CANCEL_PUSH", "push"),
        (0x5, "PUSH_PROMISE", "wrong stream"),
        (0x6, "PING of HTTP/2", "only HTTP/2"),
        (0x8, "WINDOW_UPDATE of HTTP/2", "only HTTP/2"),
        (0x9, "CONTINUATION of HTTP/2", "only HTTP/2"),
        (0xd, "MAX_PUSH_ID", "wrong stream"),
    ] {
        let told = || vec![Step::Control(frame(kind, b"\0"))];
        all.push(begins(class, name, Say::Fails, told()).saying(words));
        let with = [told(), vec![Step::Silence]].concat();
        all.push(steps(class, format!("{name} with an answer"), Say::Wrong, with).saying(words));
    }
    let long = [varint(0x21), varint((1 << 62) - 1)].concat();
    all.push(begins(
        class,
        "the largest frame",
        Say::AllOrNone,
        vec![Step::Control(long)],
    ));
    all
}

pub fn others() -> Vec<Case> {
    let class = "other streams";
    let open =
        |name: &str, say, bytes: &[u8]| begins(class, name, say, vec![Step::Open(bytes.to_vec())]);
    let ended = |name: &str, say, bytes: &[u8]| {
        begins(class, name, say, vec![Step::OpenEnded(bytes.to_vec())])
    };
    vec![
        open("a reserved kind", Say::Right, b"\x21grease"),
        open(
            "the largest kind",
            Say::Right,
            b"\xff\xff\xff\xff\xff\xff\xff\xffgrease",
        ),
        ended("a reserved kind that ends", Say::Right, b"\x21grease"),
        ended("no kind", Say::Right, b""),
        ended("half a kind", Say::Right, b"\x40"),
        open("half a kind, and no end", Say::Right, b"\x40"),
        open(
            "a reserved kind with a megabyte",
            Say::Right,
            &[&b"\x21"[..], &vec![b'x'; 1_000_000]].concat(),
        ),
        open("a push", Say::Fails, b"\x01\0").saying("pushed answer"),
        ended("a push that ends", Say::Fails, b"\x01\0").saying("pushed answer"),
        open(
            "a push with an answer",
            Say::Fails,
            &[&b"\x01\0"[..], &super::answer(super::OK, b"hello")].concat(),
        )
        .saying("pushed answer"),
        begins(
            class,
            "a hundred of a reserved kind",
            Say::Right,
            vec![Step::OpenEnded(b"\x21x".to_vec()); 100],
        ),
        begins(
            class,
            "ten of a reserved kind that do not end",
            Say::Right,
            vec![Step::Open(b"\x21x".to_vec()); 10],
        ),
        // It goes on when those before have ended, which they never do.
        begins(
            class,
            "more of a reserved kind than are allowed",
            Say::TimesOut,
            vec![Step::Open(b"\x21x".to_vec()); 100],
        ),
        begins(
            class,
            "a hundred without a kind",
            Say::Right,
            vec![Step::OpenEnded(Vec::new()); 100],
        ),
        steps(
            class,
            "a push with an answer to a request",
            Say::Wrong,
            vec![Step::Open(b"\x01\0".to_vec()), Step::Silence],
        )
        .saying("pushed answer"),
    ]
}
