//! `prony completions` and `prony man`, both from the one definition of the command line.

use crate::CommandEnd;
use crate::args::{self, Completions, Man};
use clap_complete::env::Shells;
use miette::{IntoDiagnostic, Result, miette};
use std::fs;

/// Prints what makes a shell ask prony for completions.
pub fn main(args: &Completions) -> Result<CommandEnd> {
    let mut text = Vec::new();
    let shell = args.shell.to_string();
    let shells = Shells::builtins();
    let completer = shells
        .completer(&shell)
        .ok_or_else(|| miette!("there are no completions for {shell}"))?;
    completer
        .write_registration(crate::complete::ASKED, "prony", "prony", "prony", &mut text)
        .into_diagnostic()?;
    print!("{}", String::from_utf8_lossy(&text));
    Ok(CommandEnd::Done)
}

/// Prints the manual page, or writes one for every verb into a folder.
pub fn man(args: &Man) -> Result<CommandEnd> {
    match &args.output {
        None => {
            let mut text = Vec::new();
            clap_mangen::Man::new(command())
                .render(&mut text)
                .into_diagnostic()?;
            print!("{}", String::from_utf8_lossy(&text));
        }
        Some(folder) => {
            fs::create_dir_all(folder)
                .and_then(|()| clap_mangen::generate_to(command(), folder))
                .map_err(|error| miette!("{} cannot be written: {error}", folder.display()))?;
            eprintln!("{}", folder.display());
        }
    }
    Ok(CommandEnd::Done)
}

/// Returns the command line, whose internal verbs are hidden.
fn command() -> clap::Command {
    args::command()
}
