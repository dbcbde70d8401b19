//! `prony completions` and `prony man`, both from the one definition of the command line.

use crate::Ended;
use crate::args::{Cli, Completions, Man};
use clap::CommandFactory;
use miette::{IntoDiagnostic, Result, miette};
use std::fs;

/// Prints the completions of a shell.
pub fn main(args: &Completions) -> Result<Ended> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "prony", &mut text);
    print!("{}", String::from_utf8_lossy(&text));
    Ok(Ended::Done)
}

/// Prints the manual page, or writes one for every verb into a folder.
pub fn man(args: &Man) -> Result<Ended> {
    match &args.out {
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
    Ok(Ended::Done)
}

/// What the user may type; inner verbs are not completed.
fn command() -> clap::Command {
    Cli::command()
}
