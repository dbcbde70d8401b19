//! Files that requests are made from: command lines of curl, recordings, descriptions, targets, logs, lists of URLs. What is
//! made of any text can be read, and its requests are sent over HTTP.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_engine::protocol::{Fifo, Mixed, Session};
use prony_lab::requests::from::{Format, FromError, make};
use prony_lab::requests::{self, ServerFacts};
use prony_lab::source::Source;
use std::path::Path;

fuzz_target!(|input: &[u8]| {
    let Some((&what, text)) = input.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(text);
    let names: Vec<&str> = Format::names().collect();
    let format = names.get(usize::from(what) % (names.len() + 1));
    let format = format.map(|name| name.parse().expect("a name of a format"));
    // No file beside it can be read.
    let folder = Path::new("/nonexistent");
    match make(&text, format, None, folder) {
        Ok(made) => {
            let source = Source::new("made.toml", made.text.as_str());
            let mix = requests::parse(&source, folder, &ServerFacts::anywhere())
                .expect("it was read before");
            let mut session = Mixed::new(&mix, 1, 0, 1);
            for kind in 0..mix.requests.len() {
                let mut out = Vec::new();
                session.only(kind);
                session.request(&mut Default::default(), 0, Fifo, &mut out);
                let end = out
                    .windows(4)
                    .position(|four| four == b"\r\n\r\n")
                    .expect("a head");
                let head = std::str::from_utf8(&out[..end]).unwrap_or_default();
                let line = head.lines().next().unwrap_or_default();
                assert_eq!(line.split(' ').count(), 3, "{line:?}");
                assert!(!line.contains('#'), "{line:?}");
            }
        }
        Err(FromError::Made(why)) => panic!("{why}"),
        Err(other) => {
            let _ = other.to_string();
        }
    }
});
