//! The texts that a verb is to read: files, and standard input.

use miette::{IntoDiagnostic, Result, WrapErr, miette};
use std::collections::HashSet;
use std::io::Read;
use std::path::PathBuf;

/// What `-` is called.
const STANDARD_INPUT: &str = "standard input";

/// Reads each file, with its name; what is no text in it is replaced.
pub fn read(files: &[PathBuf]) -> Result<Vec<(String, String)>> {
    let mut seen = HashSet::new();
    let mut texts = Vec::new();
    for file in files {
        let name = match file.to_str() {
            Some("-") => STANDARD_INPUT.to_owned(),
            _ => file.display().to_string(),
        };
        // A file that is given twice would be a copy of itself.
        if !seen.insert(name.clone()) {
            return Err(miette!("{name} is given twice"));
        }
        let bytes = if name == STANDARD_INPUT {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
        } else {
            std::fs::read(file)
        };
        let bytes = bytes
            .into_diagnostic()
            .wrap_err_with(|| format!("cannot read {name}"))?;
        texts.push((name, decoded(&bytes)));
    }
    Ok(texts)
}

/// Some shells write what they redirect as UTF-16, with a byte order mark; everything else is UTF-8, for which some
/// editors write a mark too.
fn decoded(bytes: &[u8]) -> String {
    let units = |unit: fn([u8; 2]) -> u16| -> Vec<u16> {
        let pairs = bytes[2..].chunks_exact(2);
        pairs.map(|pair| unit([pair[0], pair[1]])).collect()
    };
    match bytes {
        [0xff, 0xfe, ..] => String::from_utf16_lossy(&units(u16::from_le_bytes)),
        [0xfe, 0xff, ..] => String::from_utf16_lossy(&units(u16::from_be_bytes)),
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
        assert_eq!(decoded("a µ\n".as_bytes()), "a µ\n");
        assert_eq!(decoded("\u{feff}a µ\n".as_bytes()), "a µ\n");
        assert_eq!(decoded(&[0xff, 0xfe, 0x61]), "");
        assert_eq!(decoded(&[b'a', 0xff]), "a\u{fffd}");
        assert_eq!(decoded(&[]), "");
    }
}
