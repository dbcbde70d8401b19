//! Exported runs of others: read, or refused with a reason, in bounded memory.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = prony_pages::restore::is_run(text);
    if let Err(error) = prony_pages::restore::read(text) {
        let _ = error.to_string();
    }
});
