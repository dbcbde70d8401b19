//! Every error code, of streams and of connections.

use super::{Case, OK, Say, Step, answer, case, right, steps, then};

/// Codes of RFC 9114, 8.1, and RFC 9204, 6, and one that means nothing.
const CODES: [(u64, &str); 22] = [
    (0x100, "H3_NO_ERROR"),
    (0x101, "H3_GENERAL_PROTOCOL_ERROR"),
    (0x102, "H3_INTERNAL_ERROR"),
    (0x103, "H3_STREAM_CREATION_ERROR"),
    (0x104, "H3_CLOSED_CRITICAL_STREAM"),
    (0x105, "H3_FRAME_UNEXPECTED"),
    (0x106, "H3_FRAME_ERROR"),
    (0x107, "H3_EXCESSIVE_LOAD"),
    (0x108, "H3_ID_ERROR"),
    (0x109, "H3_SETTINGS_ERROR"),
    (0x10a, "H3_MISSING_SETTINGS"),
    (0x10b, "H3_REQUEST_REJECTED"),
    (0x10c, "H3_REQUEST_CANCELLED"),
    (0x10d, "H3_REQUEST_INCOMPLETE"),
    (0x10e, "H3_MESSAGE_ERROR"),
    (0x10f, "H3_CONNECT_ERROR"),
    (0x110, "H3_VERSION_FALLBACK"),
    (0x200, "QPACK_DECOMPRESSION_FAILED"),
    (0x201, "QPACK_ENCODER_STREAM_ERROR"),
    (0x202, "QPACK_DECODER_STREAM_ERROR"),
    (0, "an unknown error"),
    ((1 << 62) - 1, "an unknown error"),
];

pub fn all() -> Vec<Case> {
    let class = "codes";
    let part = || answer(OK, b"hel");
    let mut all = Vec::new();
    for (code, words) in CODES {
        let name = format!("{words} ({code:#x})");
        let reset = then(part(), Step::Reset(code));
        all.push(steps(class, format!("resets: {name}"), Say::Wrong, reset).saying(words));
        let close = then(part(), Step::Close(code));
        // An end that the server announces in this way needs no words.
        let words = if code == 0x100 { "" } else { words };
        all.push(steps(class, format!("closes: {name}"), Say::Fails, close).saying(words));
        let begins = steps(
            class,
            format!("closes at once: {name}"),
            Say::Fails,
            vec![Step::Silence],
        );
        all.push(begins.with(|setup| setup.first = vec![Step::Close(code)]));
        // The answer is whole without the rest of the request (RFC 9114, 4.1).
        let stop = [vec![Step::Stop(code)], right()].concat();
        let early = |name: &str, body| {
            let case = steps(
                class,
                format!("stops {name}: {words}"),
                Say::Right,
                stop.clone(),
            );
            let case = case.asking("POST", body);
            case.with(|setup| (setup.early, setup.window) = (true, 4_096))
        };
        all.push(early("a short request", 5));
        all.push(early("a long request", 100_000));
    }
    let rejected = || vec![Step::Reset(0x10b)];
    all.push(
        steps(class, "rejects all requests", Say::Fails, rejected()).saying("H3_REQUEST_REJECTED"),
    );
    let every = |name: &str, say, rejects: fn(u64) -> bool| {
        case(class, name, say, move |it| {
            match rejects(it.of_connection) {
                true => rejected(),
                false => right(),
            }
        })
    };
    all.push(every("rejects every other request", Say::Right, |nth| {
        nth % 2 == 1
    }));
    all.push(every(
        "rejects all but the first of a connection",
        Say::Anything,
        |nth| nth > 0,
    ));
    all.push(every(
        "rejects the first of a connection",
        Say::Anything,
        |nth| nth == 0,
    ));
    let stop = then(Vec::new(), Step::Stop(0x10b));
    let silent = steps(
        class,
        "stops the request and says nothing",
        Say::Fails,
        [stop, vec![Step::Silence]].concat(),
    );
    all.push(
        silent
            .asking("POST", 100_000)
            .with(|setup| setup.early = true),
    );
    all
}
