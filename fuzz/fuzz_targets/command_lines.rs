//! Command lines of other tools: read, or refused in words. Nothing is loaded.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_compat::{Console, ab, h2load, httperf, weighttp, wrk};
use std::ffi::OsString;
use std::io::sink;
use std::os::unix::ffi::OsStringExt;

/// No option's value becomes the name of a file that could be there.
fn reads_a_file(argument: &[u8]) -> bool {
    argument.contains(&b'/') && !argument.starts_with(b"http")
}

fuzz_target!(|input: &[u8]| {
    let Some((&tool, line)) = input.split_first() else {
        return;
    };
    let arguments: Vec<&[u8]> = line.split(|&byte| byte == b'\n').collect();
    if arguments.iter().any(|argument| reads_a_file(argument)) {
        return;
    }
    let arguments: Vec<OsString> = arguments
        .into_iter()
        .map(|argument| OsString::from_vec(argument.to_vec()))
        .collect();
    let mut console = Console {
        out: &mut sink(),
        err: &mut sink(),
        guard: &|_| {},
    };
    match tool % 5 {
        0 => wrk::fuzz::read(arguments),
        1 => ab::read(arguments, &mut console),
        2 => h2load::read(arguments, &mut console),
        3 => httperf::read(arguments, &mut console),
        _ => weighttp::read(arguments, &mut console),
    }
});
