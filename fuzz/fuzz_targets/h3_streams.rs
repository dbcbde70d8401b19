//! Bytes of a server's streams, read as HTTP/3. Whatever they are: the pieces in which they come change nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_engine::protocol::h3::fuzzed::read;

/// Bytes of one input that are looked at.
const MOST: usize = 8_192;

fuzz_target!(|input: &[u8]| {
    let Some((&step, bytes)) = input.split_first() else {
        return;
    };
    let bytes = &bytes[..bytes.len().min(MOST)];
    let whole = read(bytes, usize::MAX);
    assert_eq!(read(bytes, 1), whole);
    assert_eq!(read(bytes, usize::from(step)), whole);
});
