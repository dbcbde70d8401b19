//! `prony requests`: files of requests made from other files.

use crate::Ended;
use crate::args::{From, Requests, RequestsCommand};
use miette::{IntoDiagnostic, Result, miette};
use prony_lab::requests::from::make;
use std::io::Read;
use std::path::Path;

pub fn main(args: &Requests) -> Result<Ended> {
    let RequestsCommand::From(args) = &args.command;
    from(args)
}

fn from(args: &From) -> Result<Ended> {
    let shown = args.file.display();
    let mut bytes = Vec::new();
    if args.file == Path::new("-") {
        std::io::stdin().read_to_end(&mut bytes).into_diagnostic()?;
    } else {
        bytes =
            std::fs::read(&args.file).map_err(|error| miette!("cannot read {shown}: {error}"))?;
    }
    let text = String::from_utf8_lossy(&bytes);
    let folder = args.file.parent().unwrap_or(Path::new(""));
    let server = args.server.as_deref();
    let made =
        make(&text, args.format, server, folder).map_err(|error| miette!("{shown}: {error}"))?;
    for note in &made.notes {
        eprintln!("not carried over: {note}");
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&made).into_diagnostic()?);
    } else {
        print!("{}", made.text);
    }
    Ok(match made.notes.is_empty() {
        true => Ended::Done,
        false => Ended::Incomplete,
    })
}
