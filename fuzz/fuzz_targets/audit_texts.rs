//! Any text under audit: it is read, judged and told of.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let texts = [("a text".to_owned(), text.to_owned())];
    let audit = prony_audit::audit(&texts);
    let _ = audit.text(80);
    let _ = audit.serious();
    let _ = prony_audit::import(&texts);
});
