//! Echoes that are none.

use super::{Case, ECHO, LONG, RIGHT, SHORT, Say, echo, echo_bytes};
use crate::campaigns::hostile::script::Step;
use std::time::Duration;

/// Servers that are to send back what they get.
pub fn echoes() -> Vec<Case> {
    let class = "echoes";
    let mut all = vec![
        echo_bytes(class, "an honest one", Say::Right, ECHO),
        echo(
            class,
            "byte by byte",
            Say::Right,
            vec![vec![Step::Drip(ECHO.to_vec(), Duration::ZERO)]],
        ),
        echo(
            class,
            "a moment later",
            Say::Right,
            vec![vec![Step::Pause(SHORT), Step::Write(ECHO.to_vec())]],
        ),
        echo(
            class,
            "too late",
            Say::TimesOut,
            vec![vec![Step::Pause(LONG), Step::Write(ECHO.to_vec())]],
        ),
        echo(class, "nothing", Say::TimesOut, vec![vec![Step::Silence]]),
        echo(
            class,
            "nothing, and reads no more",
            Say::TimesOut,
            vec![vec![Step::Deafness]],
        ),
        echo(
            class,
            "closes before an answer",
            Say::Fails,
            vec![vec![Step::Close]],
        ),
        echo(
            class,
            "endless bytes",
            Say::Fails,
            vec![vec![Step::Pour(b"x".to_vec())]],
        ),
        echo_bytes(class, "twice", Say::Unsolicited, &ECHO.repeat(2)),
        echo_bytes(class, "in capitals", Say::Fails, b"HELLO\n"),
        echo_bytes(class, "backwards", Say::Fails, b"\nolleh"),
        echo_bytes(class, "an HTTP answer", Say::Fails, RIGHT),
        echo_bytes(class, "zeros", Say::Fails, &[0; 6]),
    ];
    for at in 0..ECHO.len() {
        let mut other = ECHO.to_vec();
        other[at] ^= 1;
        all.push(echo_bytes(
            class,
            format!("byte {at} differs"),
            Say::Fails,
            &other,
        ));
        // A copy of the last byte is a byte too many behind a right answer.
        let doubles = if at + 1 == ECHO.len() {
            Say::Unsolicited
        } else {
            Say::Fails
        };
        let mut doubled = ECHO.to_vec();
        doubled.insert(at, ECHO[at]);
        all.push(echo_bytes(
            class,
            format!("byte {at} twice"),
            doubles,
            &doubled,
        ));
        let mut lost = ECHO.to_vec();
        lost.remove(at);
        all.push(echo_bytes(
            class,
            format!("byte {at} is missing"),
            Say::Fails,
            &lost,
        ));
        let part = || Step::Write(ECHO[..at].to_vec());
        all.push(echo(
            class,
            format!("closes after {at} bytes"),
            Say::Fails,
            vec![vec![part(), Step::Close]],
        ));
        all.push(echo(
            class,
            format!("resets after {at} bytes"),
            Say::Fails,
            vec![vec![part(), Step::Reset]],
        ));
        all.push(echo(
            class,
            format!("stops after {at} bytes"),
            Say::TimesOut,
            vec![vec![part(), Step::Silence]],
        ));
    }
    for (name, extra) in [
        ("a byte", &b"x"[..]),
        ("a zero", b"\0"),
        ("a line feed", b"\n"),
        ("a copy", ECHO),
    ] {
        all.push(echo_bytes(
            class,
            format!("{name} behind it"),
            Say::Unsolicited,
            &[ECHO, extra].concat(),
        ));
        let later = vec![
            Step::Write(ECHO.to_vec()),
            Step::Pause(SHORT),
            Step::Write(extra.to_vec()),
        ];
        all.push(echo(
            class,
            format!("{name} a moment after it"),
            Say::UnsolicitedLater,
            vec![later],
        ));
        let mut case = echo_bytes(
            class,
            format!("{name} before any request"),
            Say::UnsolicitedLater,
            ECHO,
        );
        case.server.script.first = vec![Step::Write(extra.to_vec())];
        all.push(case);
    }
    all
}
