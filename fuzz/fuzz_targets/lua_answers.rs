//! Exchange between a load and a script of wrk's: any text that the script asks for, any answer that it gets. The
//! pieces in which answers come change nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_compat::wrk::fuzz::FuzzScript;

/// Bytes of one input that are looked at.
const MOST: usize = 4_096;

/// Takes every part of an answer apart, and asks for what it is given.
const SCRIPT: &str = r#"
local seen = 0
function request() return asked end
function delay() return #asked % 3 end
function response(status, headers, body)
  seen = seen + status + #body
  for name, value in pairs(headers) do
    seen = seen + #(name .. value)
  end
end
"#;

thread_local! {
    static RUNNING: FuzzScript = FuzzScript::new(SCRIPT);
}

fuzz_target!(|input: &[u8]| {
    let Some((&at, rest)) = input.split_first() else {
        return;
    };
    let rest = &rest[..rest.len().min(MOST)];
    let (asked, answers) = rest.split_at(usize::from(at).min(rest.len()));
    RUNNING.with(|script| {
        let whole = script.exchange(asked, answers, answers.len());
        let single = script.exchange(asked, answers, 1);
        // An answer before surplus bytes is not taken back here: it is counted in both.
        assert_eq!(whole, single, "in pieces of one byte");
    });
});
