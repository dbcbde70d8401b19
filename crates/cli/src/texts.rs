//! The texts that a verb is to read: files, and standard input.

use miette::{IntoDiagnostic, Result, WrapErr};
use std::collections::HashSet;
use std::io::Read;
use std::path::PathBuf;

/// Name of the text that is read for `-`.
const STANDARD_INPUT: &str = "standard input";

/// Reads each file, with its name; what is no text in it is replaced.
pub fn read(files: &[PathBuf]) -> Result<Vec<(String, String)>> {
    let (texts, errors) = read_those_there(files)?;
    match errors.into_iter().next() {
        None => Ok(texts),
        Some(error) => Err(error),
    }
}

/// Texts with their names.
type Texts = Vec<(String, String)>;

/// Reads each file that can be read, and says what is wrong with the others.
pub fn read_those_there(files: &[PathBuf]) -> Result<(Texts, Vec<miette::Report>)> {
    let mut seen = HashSet::new();
    let mut texts = Vec::new();
    let mut errors = Vec::new();
    for file in files {
        let name = match file.to_str() {
            Some("-") => STANDARD_INPUT.to_owned(),
            _ => file.display().to_string(),
        };
        // A file that is given twice would be a copy of itself.
        if !seen.insert(name.clone()) {
            return Err(usage!("{name} is given twice"));
        }
        let bytes = if name == STANDARD_INPUT {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
        } else {
            std::fs::read(file)
        };
        let bytes = bytes
            .into_diagnostic()
            .wrap_err_with(|| format!("cannot read {name}"));
        match bytes {
            Ok(bytes) => texts.push((name, decoded(&bytes))),
            Err(error) => errors.push(error),
        }
    }
    Ok((texts, errors))
}

/// Bytes at the start of a text that suffice to detect its encoding.
const LOOKED_AT: usize = 4_096;

/// Some shells write what they redirect as UTF-16, mostly with a byte order mark; everything else is
/// UTF-8, for which some editors write a mark too.
fn decoded(bytes: &[u8]) -> String {
    // Without a mark: nearly every other byte of a text in Latin letters is zero.
    let zeros = |from: usize| {
        let head = bytes[..bytes.len().min(LOOKED_AT)]
            .iter()
            .skip(from)
            .step_by(2);
        let all = head.clone().count();
        all > 1 && 10 * head.filter(|byte| **byte == 0).count() >= 9 * all
    };
    let from = usize::from(matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..])) * 2;
    let units = |unit: fn([u8; 2]) -> u16| -> Vec<u16> {
        let pairs = bytes[from..].chunks_exact(2);
        pairs.map(|pair| unit([pair[0], pair[1]])).collect()
    };
    match bytes {
        [0xff, 0xfe, ..] => String::from_utf16_lossy(&units(u16::from_le_bytes)),
        [0xfe, 0xff, ..] => String::from_utf16_lossy(&units(u16::from_be_bytes)),
        _ if zeros(1) && !zeros(0) => String::from_utf16_lossy(&units(u16::from_le_bytes)),
        _ if zeros(0) && !zeros(1) => String::from_utf16_lossy(&units(u16::from_be_bytes)),
        [0xef, 0xbb, 0xbf, utf8 @ ..] | utf8 => String::from_utf8_lossy(utf8).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_in_either_encoding() {
        let utf16 = |mark: [u8; 2], bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
            let text = "a µ\n".encode_utf16().flat_map(bytes);
            mark.into_iter().chain(text).collect()
        };
        assert_eq!(decoded(&utf16([0xff, 0xfe], u16::to_le_bytes)), "a µ\n");
        assert_eq!(decoded(&utf16([0xfe, 0xff], u16::to_be_bytes)), "a µ\n");
        let bare: Vec<u8> = "wrk µs\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(decoded(&bare), "wrk µs\n");
        let bare: Vec<u8> = "wrk µs\n"
            .encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect();
        assert_eq!(decoded(&bare), "wrk µs\n");
        assert_eq!(decoded("a µ\n".as_bytes()), "a µ\n");
        assert_eq!(decoded("\u{feff}a µ\n".as_bytes()), "a µ\n");
        assert_eq!(decoded(&[0xff, 0xfe, 0x61]), "");
        assert_eq!(decoded(&[b'a', 0xff]), "a\u{fffd}");
        assert_eq!(decoded(&[]), "");
    }
}
