//! `prony requests`: files of requests made from other files.

use crate::CommandEnd;
use crate::args::{From, Requests, RequestsCommand};
use miette::{IntoDiagnostic, Result, miette};
use prony_lab::requests::from::make;
use prony_record::inert;
use std::io::Read;
use std::path::Path;

pub fn main(args: &Requests) -> Result<CommandEnd> {
    let RequestsCommand::From(args) = &args.command;
    from(args)
}

fn from(args: &From) -> Result<CommandEnd> {
    let shown = args.file.display();
    let mut bytes = Vec::new();
    if args.file == Path::new("-") {
        std::io::stdin().read_to_end(&mut bytes).into_diagnostic()?;
    } else {
        bytes =
            std::fs::read(&args.file).map_err(|error| miette!("cannot read {shown}: {error}"))?;
    }
    let text = text_of(&bytes);
    let folder = args.file.parent().unwrap_or(Path::new(""));
    let server = args.server.as_deref();
    let made =
        make(&text, args.format, server, folder).map_err(|error| miette!("{shown}: {error}"))?;
    for note in &made.notes {
        let help = match &note.server {
            Some(server) => format!("; --server {} takes these", inert::line(server)),
            None => String::new(),
        };
        eprintln!("not carried over: {note}{help}");
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&made).into_diagnostic()?);
    } else {
        print!("{}", made.text);
    }
    Ok(match made.notes.is_empty() {
        true => CommandEnd::Done,
        false => CommandEnd::Incomplete,
    })
}

/// The text of a file: UTF-8, or UTF-16 with its mark, as PowerShell writes what is redirected.
fn text_of(bytes: &[u8]) -> String {
    let units = |from: fn([u8; 2]) -> u16| {
        let pairs = bytes[2..].chunks_exact(2);
        let units: Vec<u16> = pairs.map(|pair| from([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, ..] => units(u16::from_le_bytes),
        [0xfe, 0xff, ..] => units(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::text_of;

    #[test]
    fn texts_of_powershell() {
        let utf16: Vec<u8> = "\u{feff}curl ü"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(text_of(&utf16), "curl ü");
        let big: Vec<u8> = "\u{feff}curl ü"
            .encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect();
        assert_eq!(text_of(&big), "curl ü");
        assert_eq!(text_of("curl ü".as_bytes()), "curl ü");
        assert_eq!(text_of(&[0xff]), "\u{fffd}");
    }
}
