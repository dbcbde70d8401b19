//! `prony requests`: files of requests made from other files.

use crate::CommandEnd;
use crate::args::{From, Requests, RequestsCommand};
use miette::{IntoDiagnostic, Result, miette};
use prony_lab::requests::from::{FromError, MakeOptions, Note, Variables, listed, make_with};
use prony_record::inert;
use std::io::Read;
use std::path::Path;

pub fn main(args: &Requests) -> Result<CommandEnd> {
    let RequestsCommand::From(args) = &args.command;
    from(args)
}

fn from(args: &From) -> Result<CommandEnd> {
    let shown = shown(&args.file);
    let mut bytes = Vec::new();
    if args.file == Path::new("-") {
        std::io::stdin().read_to_end(&mut bytes).into_diagnostic()?;
    } else {
        bytes =
            std::fs::read(&args.file).map_err(|error| miette!("cannot read {shown}: {error}"))?;
    }
    let text = text_of(&bytes);
    let folder = args.file.parent().unwrap_or(Path::new(""));
    let options = MakeOptions {
        format: args.format,
        server: args.server.as_deref(),
        folder: Some(folder),
        variables: variables(args, folder)?,
    };
    let made = make_with(&text, &options).map_err(|error| match error {
        // The list has every reason.
        FromError::None { format, notes } if !notes.is_empty() => {
            eprint!("{}", listed(&shown, &notes, help));
            miette!("{shown}: no request is left of this {format} file")
        }
        other => miette!("{shown}: {other}"),
    })?;
    if !made.notes.is_empty() {
        eprint!("{}", listed(&shown, &made.notes, help));
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

/// A file's name, fit for a terminal.
fn shown(file: &Path) -> String {
    inert::line(&file.display().to_string()).into_owned()
}

/// The values of environments and of the command line.
fn variables(args: &From, folder: &Path) -> Result<Variables> {
    let mut variables = Variables::default();
    for file in &args.environment {
        let shown = shown(file);
        let bytes = std::fs::read(file).map_err(|error| miette!("cannot read {shown}: {error}"))?;
        let read = variables.read(&text_of(&bytes));
        read.map_err(|why| miette!("cannot read the environment {shown}: {why}"))?;
    }
    for (name, value) in &args.var {
        let given = variables.give(name, value, folder);
        given.map_err(|why| usage!("--var {}", inert::line(&why)))?;
    }
    Ok(variables)
}

/// The option to type so that items are taken that were left out.
fn help(note: &Note) -> Option<String> {
    if let Some(server) = &note.server {
        return Some(format!("--server {} takes these", inert::line(server)));
    }
    let name = inert::line(note.variable.as_ref()?);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    Some(match name.chars().all(plain) {
        true => format!("--var {name}=VALUE sets it"),
        false => format!("--var '{name}=VALUE' sets it"),
    })
}

/// The text of a file: UTF-8, or UTF-16 with its mark, as PowerShell writes what is redirected.
pub fn text_of(bytes: &[u8]) -> String {
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
