//! A load of one server, and whether its report is true.

use prony_engine::protocol::tls::TlsOptions;
use prony_engine::{Control, Dialogue, Nanos, Plan, Target, run as load};
use prony_record::{Extent, Observation, Span, Transport, Window};
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Results that a load must report of a server, in addition to those that hold for every load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Say {
    /// Every answer is right: what it does is allowed.
    Right,
    /// No answer is right, and they are wrong ones.
    Wrong,
    /// No answer is right, in whatever way it failed.
    Fails,
    /// No answer is right, and at least one took too long.
    TimesOut,
    /// Bytes came that no request had asked for, and no answer before them is right.
    Unsolicited,
    /// The same, but they come later, when the connection may have been closed or another request may be in flight.
    UnsolicitedLater,
    /// Every answer is right, but a connection has fewer than a client may have asked for in one go.
    Limited,
    /// A dialect that a client may understand or refuse: but all of it, or none.
    AllOrNone,
    /// Some answers are right, and some fail: not most of a number of requests.
    Recovers,
    /// Nothing certain: what holds for every load.
    Anything,
}

/// A server.
pub struct Case<S> {
    /// Class of the server's behaviour.
    pub class: &'static str,
    /// Short description of the server's behaviour.
    pub name: String,
    pub dialogue: Dialogue,
    pub server: S,
    pub say: Say,
    /// Words that the report of failures must contain.
    pub words: &'static str,
}

/// A server that can be started as often as it is loaded.
pub trait Serving: Sync {
    /// # Errors
    /// Why it cannot be started.
    fn start(&self) -> std::result::Result<Started, String>;
}

/// A server under way. It ends with this value.
pub struct Started {
    pub target: Target,
    pub tls: Option<TlsOptions>,
    /// Requests that it has read.
    pub requests: Arc<AtomicU64>,
    /// Kept alive for as long as this value.
    pub _held: Box<dyn Any>,
}

/// Requests of loads of a number.
const N: u64 = 16;
/// Connections.
const CONNECTIONS: u32 = 2;
/// Requests in flight on a connection where there are several.
const PIPELINE: u32 = 4;
/// Requests per second of loads at a rate.
const RATE: f64 = 200.0;
/// Length of loads of a time.
const LENGTH: Duration = Duration::from_millis(150);
/// When a request is given up: where that has to happen, soon; elsewhere late, so that a busy machine does not
/// make a right answer late.
const SOON: Duration = Duration::from_millis(60);
const LATE: Duration = Duration::from_secs(20);
/// Longer than this, and it hangs.
const HANGS: Duration = Duration::from_secs(120);
/// How often a load is repeated at most in which it is chance when bytes come.
const TRIES: u32 = 8;

/// A way of loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Closed,
    Rate,
    Number,
    Pipelined,
    NoKeepalive,
}

pub const WAYS: [(Way, &str); 5] = [
    (Way::Closed, "closed loop"),
    (Way::Rate, "at a rate"),
    (Way::Number, "a number"),
    (Way::Pipelined, "pipelined"),
    (Way::NoKeepalive, "no keep-alive"),
];

/// Results of one load.
pub struct Shown {
    pub seen: Observation,
    requests: u64,
    pub overrun: Duration,
}

fn plan<S>(case: &Case<S>, target: Target, kind: Transport, way: Way, length: Duration) -> Plan {
    let mut plan = Plan::closed(target, case.dialogue.clone(), CONNECTIONS);
    plan.load.transport = kind;
    let timeout = match case.say {
        // The report must not call it a time-out.
        Say::Fails if !case.words.is_empty() => LATE,
        Say::TimesOut | Say::Fails | Say::AllOrNone | Say::Anything => SOON,
        Say::Recovers => 5 * SOON,
        Say::Right | Say::Limited | Say::Wrong | Say::Unsolicited | Say::UnsolicitedLater => LATE,
    };
    plan.load.timeout = Span(timeout);
    plan.load.window = Span(Duration::from_millis(50));
    match way {
        Way::Closed => plan.load.extent = Extent::Duration(Span(length)),
        Way::Rate => {
            plan.load.extent = Extent::Duration(Span(length));
            plan.load.rate = Some(RATE);
        }
        Way::Number => plan.load.extent = Extent::Requests(N),
        Way::Pipelined => {
            plan.load.extent = Extent::Requests(N);
            plan.load.pipeline = PIPELINE;
        }
        Way::NoKeepalive => {
            plan.load.extent = Extent::Requests(N);
            plan.load.keepalive = false;
        }
    }
    plan
}

/// # Errors
/// Statements of a report that are wrong.
pub fn judge<S: Serving>(
    case: &Case<S>,
    kind: Transport,
    way: Way,
) -> std::result::Result<Shown, String> {
    let mut tries = 1;
    let mut length = LENGTH;
    loop {
        let shown = show(case, kind, way, length)?;
        let verdict = verdict(case.say, case.words, way, &shown);
        // When bytes come that nothing asked for is not certain, nor that they come while there is a connection; and on a
        // machine that is busy an answer may be late once, or nothing happen in so short a time.
        let outcomes = &shown.seen.outcomes;
        let nothing = outcomes.finished() + outcomes.unsolicited == 0;
        let chance = nothing || matches!(case.say, Say::UnsolicitedLater | Say::AllOrNone);
        match verdict {
            Err(_) if chance && tries < TRIES => {
                tries += 1;
                // So that something happens at last.
                length *= if nothing { 2 } else { 1 };
            }
            Err(why) => {
                return Err(format!(
                    "{why}: {:?}, {} requests read, {:?} {:?} {:?}",
                    shown.seen.outcomes,
                    shown.requests,
                    shown.seen.errors,
                    shown.seen.wrong_answers,
                    shown.seen.unsolicited
                ));
            }
            Ok(()) => return Ok(shown),
        }
    }
}

fn show<S: Serving>(
    case: &Case<S>,
    kind: Transport,
    way: Way,
    length: Duration,
) -> std::result::Result<Shown, String> {
    let server = case.server.start()?;
    let mut plan = plan(case, server.target.clone(), kind, way, length);
    plan.tls = server.tls.clone();
    let most = match plan.load.extent {
        Extent::Duration(length) => Nanos::try_from(length.0.as_nanos()).expect("a short time"),
        Extent::Requests(_) => Nanos::MAX,
    };
    let (sender, receiver) = mpsc::channel();
    let begun = Instant::now();
    let timeout = plan.load.timeout.0;
    thread::spawn(move || {
        let control = Arc::new(Control::at_once(most));
        // The receiver is gone when it has hung.
        let _ = sender.send(load(&plan, &control, |_: &Window| {}));
    });
    let seen = match receiver.recv_timeout(HANGS) {
        Ok(Ok((seen, _))) => seen,
        Ok(Err(error)) => return Err(format!("the load failed: {error}")),
        Err(mpsc::RecvTimeoutError::Timeout) => return Err("the load hangs".into()),
        Err(mpsc::RecvTimeoutError::Disconnected) => return Err("the load panicked".into()),
    };
    let overrun = match way {
        Way::Closed | Way::Rate => begun.elapsed().saturating_sub(length + timeout),
        _ => Duration::ZERO,
    };
    Ok(Shown {
        requests: server.requests.load(Relaxed),
        seen,
        overrun,
    })
}

fn verdict(say: Say, words: &str, way: Way, shown: &Shown) -> std::result::Result<(), String> {
    let all = &shown.seen.outcomes;
    let must = |holds: bool, what: &str| match holds {
        true => Ok(()),
        false => Err(what.to_owned()),
    };
    // Several in flight, and a copy of a right answer: it is taken for the next one's until the surplus shows.
    let copies = say == Say::UnsolicitedLater && way == Way::Pipelined && all.unsolicited > 0;
    must(
        copies || all.ok <= shown.requests,
        "more right answers than requests were read",
    )?;
    if matches!(way, Way::Number | Way::Pipelined | Way::NoKeepalive) {
        must(all.finished() == N, "not every request is accounted for")?;
    }
    must(
        shown.seen.unsolicited.is_empty() == (all.unsolicited == 0),
        "unsolicited bytes without words, or words without them",
    )?;
    must(
        shown.seen.wrong_answers.is_empty() == (all.wrong_answer == 0),
        "wrong answers without words, or words without them",
    )?;
    if !words.is_empty() && all.failed() > 0 {
        let said = format!("{:?} {:?}", shown.seen.wrong_answers, shown.seen.errors);
        must(
            said.contains(words),
            &format!("nothing was said of {words:?}"),
        )?;
    }
    let alone = way != Way::Pipelined;
    match say {
        Say::Anything => Ok(()),
        // A connection that the server has forgotten may cost all that is in flight twice: until it is known, and after.
        Say::Recovers if !alone => Ok(()),
        Say::Recovers => {
            must(all.ok > 0, "no right answer")?;
            let counted = matches!(way, Way::Number | Way::NoKeepalive);
            must(!counted || all.ok * 2 >= N, "most requests failed")
        }
        Say::Right => {
            must(all.ok > 0, "no right answer")?;
            must(
                all.failed() + all.unsolicited == 0,
                "failures of a server that is right",
            )
        }
        Say::Wrong => {
            must(all.ok == 0, "a right answer")?;
            must(all.wrong_answer > 0, "no wrong answer")
        }
        Say::Fails => {
            must(all.ok == 0, "a right answer")?;
            must(all.failed() + all.unsolicited > 0, "nothing failed")
        }
        Say::TimesOut => {
            must(all.ok == 0, "a right answer")?;
            // A generator that has no CPU gives up later than at the end.
            must(all.timeout + all.in_flight_at_end > 0, "no time-out")
        }
        // With several in flight such bytes may be taken for the beginning of the next answer, which is a wrong one then.
        Say::Unsolicited if alone => {
            must(all.ok == 0, "a right answer before unsolicited bytes")?;
            must(all.unsolicited > 0, "no unsolicited bytes")
        }
        Say::Unsolicited => must(
            all.unsolicited + all.wrong_answer > 0,
            "nothing was seen of unsolicited bytes",
        ),
        Say::Limited => {
            must(all.ok > 0, "no right answer")?;
            let failed = all.failed() - all.read_error + all.unsolicited;
            must(failed == 0, "failures of a server that is right")?;
            must(
                !alone || all.read_error == 0,
                "requests failed that were never in one go",
            )
        }
        Say::UnsolicitedLater => must(
            way == Way::NoKeepalive || all.unsolicited + all.wrong_answer > 0,
            "nothing was seen of unsolicited bytes",
        ),
        Say::AllOrNone => must(
            all.ok == 0 || all.failed() + all.unsolicited == 0,
            "some answers are right and some not",
        ),
    }
}
