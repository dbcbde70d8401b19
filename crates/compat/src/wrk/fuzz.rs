//! Entry points for fuzzing wrk's command line and the exchange between a load and a script, without a load.

use super::args::Parsed;
use super::protocol::{Alarm, Parts, Scripted};
use super::report;
use super::requests::split;
use super::script::Bench;
use prony_engine::Control;
use prony_engine::protocol::{Answer, Booked, Events, Fifo, Session};
use std::ffi::OsString;
use std::sync::Arc;

/// Reads a command line as `main` does.
pub fn read(args: Vec<OsString>) {
    if let Ok(args) = Parsed::from(args).args {
        let _ = report::heading(&args);
    }
}

/// Answers that a session has reported, in their order.
#[derive(Default)]
struct AnswerLog(Vec<Answer>);

impl Events<Fifo> for AnswerLog {
    fn ready(&mut self) {}

    fn answered(&mut self, _: Fifo, answer: Answer) -> Booked {
        self.0.push(answer);
        Booked::default()
    }

    fn closing(&mut self) {}
}

/// A script that asks for what it is given and looks at every answer.
pub struct FuzzScript(Bench);

impl FuzzScript {
    /// Runs the text of a script.
    ///
    /// # Panics
    /// When it has a mistake: the texts are the fuzzer's own.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(Bench::new(text.as_bytes()))
    }

    /// Lets the script make a request of `asked`, hands `answers` over in pieces of `piece` bytes, and gives the number of
    /// answers that were found.
    #[must_use]
    pub fn exchange(&self, asked: &[u8], answers: &[u8], piece: usize) -> usize {
        self.0.set("asked", asked);
        let functions = self.0.functions();
        let batch = match functions.request(split) {
            Ok(Ok(requests)) => u32::try_from(requests.len()).unwrap_or(u32::MAX),
            _ => 1,
        };
        let parts = Parts {
            request: true,
            response: true,
            delay: true,
            batch,
        };
        let alarm = Alarm::new(Arc::new(Control::at_once(1_000_000)));
        let mut script = Scripted::new(functions, parts, Vec::new(), self.0.stop_flag(), &alarm);
        let mut conn = Default::default();
        let (mut out, mut seen) = (Vec::new(), AnswerLog::default());
        let requests = batch.min(8);
        for _ in 0..requests {
            let _ = script.pace(&mut conn, 0);
            script.request(&mut conn, 0, Fifo, &mut out);
        }
        for part in answers.chunks(piece.max(1)) {
            if script
                .received(&mut conn, 0, part, &mut out, &mut seen)
                .is_err()
            {
                break;
            }
        }
        script.end(&mut conn, 0, &mut seen);
        assert!(
            seen.0.len() <= requests as usize,
            "more answers than requests"
        );
        let _ = alarm.failure().map(|failure| failure.to_string());
        seen.0.len()
    }
}
