//! The `prony` command: one file per verb, and what they share.

mod args;
mod kept;
mod measured;
mod place;
mod target;
mod verb;

use args::{Cli, Command};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use std::io::IsTerminal;
use std::process::ExitCode;

/// How a command ended, when it ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// Everything that was asked for is done.
    Done,
    /// Something of it could not be done, as was said.
    Incomplete,
    /// It is done, and a limit that was given is broken.
    Broken,
}

fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| {
        if error.kind() == ErrorKind::MissingSubcommand {
            // The help says more than clap's message, which lists the inner verbs too.
            eprintln!("{}", Cli::command().render_help());
            std::process::exit(2);
        }
        error.exit();
    });
    if !std::io::stderr().is_terminal() {
        // One message, one line: for logs, and for whoever searches them.
        let handler = |_: &_| -> Box<dyn miette::ReportHandler> {
            Box::new(miette::MietteHandlerOpts::new().wrap_lines(false).build())
        };
        miette::set_hook(Box::new(handler)).expect("nobody has set it before");
    }
    let result = match cli.command {
        Command::Run(args) => verb::run::main(&cli.places, &args),
        Command::Duel(args) => verb::duel::main(&cli.places, &args),
        Command::Load(args) => verb::load::main(&args),
        Command::Servers(args) => verb::servers::main(&cli.places, &args),
        Command::Runs(args) => verb::runs::main(&cli.places, &args),
        Command::Report(args) => verb::report::main(&cli.places, &args),
        Command::Export(args) => verb::export::main(&cli.places, &args),
        Command::EchoClient(args) => verb::echo_client::main(&args),
        Command::Capacity(args) => verb::capacity::main(&cli.places, &args),
        Command::Tare(args) => verb::tare::main(&cli.places, &args),
        Command::Compare(args) => verb::compare::main(&cli.places, &args),
        Command::Explain(args) => verb::explain::main(&args),
        Command::Serve(args) => verb::serve::main(&args),
        Command::Schema(args) => verb::schema::main(&args),
        Command::Completions(args) => verb::completions::main(&args),
        Command::Man(args) => verb::completions::man(&args),
        Command::Keeper { arguments } => verb::keeper::main(&arguments),
    };
    match result {
        Ok(Ended::Done) => ExitCode::SUCCESS,
        Ok(Ended::Incomplete) => ExitCode::from(1),
        Ok(Ended::Broken) => ExitCode::from(3),
        Err(report) => {
            eprintln!("{report:?}");
            ExitCode::from(1)
        }
    }
}
