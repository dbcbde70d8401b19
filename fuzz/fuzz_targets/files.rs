//! Files that people write: servers, published figures, requests. A mistake is an error with a place, which can be
//! shown.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_engine::protocol::Limits;
use prony_engine::protocol::mix::Shares;
use prony_lab::manifest::Manifest;
use prony_lab::requests::{self, ServerFacts};
use prony_lab::source::Source;
use prony_record::published::Published;
use std::path::Path;

fuzz_target!(|input: &[u8]| {
    let Some((&what, text)) = input.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let source = Source::new("a file", text);
    let mistake = match what % 3 {
        0 => Manifest::parse(&source).err(),
        1 => match source.parse::<Published>() {
            Ok(published) => {
                let _ = published.check();
                None
            }
            Err(mistake) => Some(mistake),
        },
        _ => {
            let server = ServerFacts {
                host: "h".into(),
                prefix: String::new(),
                keepalive: true,
                limits: Limits::default(),
                shares: Shares::default(),
            };
            // No file beside it can be read.
            requests::parse(&source, Path::new("/nonexistent"), &server).err()
        }
    };
    if let Some(mistake) = mistake {
        let _ = format!("{:?}", miette::Report::new(mistake));
    }
});
