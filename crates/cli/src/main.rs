//! The `prony` command: one file per verb, and what they share.

// First: their macros are for all that follow.
#[macro_use]
mod out;
#[macro_use]
mod usage;

mod addresses;
mod alt_svc;
mod args;
mod built;
mod complete;
mod connect;
mod gate;
mod git;
mod grpc;
mod http2;
mod journal;
mod live;
mod locale;
mod machines;
mod paint;
mod place;
mod proxy;
mod remedy;
mod request;
mod rigs;
mod running;
mod target;
mod texts;
mod tls;
mod typed;
mod verb;
mod workload;
mod ws;

use args::{Cli, Command};
use clap::error::ErrorKind;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;
use usage::Usage;
use verb::compat::Tool;

/// How a command ended, when it ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandEnd {
    /// Everything that was asked for is done.
    Done,
    /// Something of it could not be done, as was said.
    Incomplete,
    /// Everything is done, but the result does not pass: a limit is broken, or an audit found something serious.
    Broken,
    /// Everything is done, but whether the result passes is not known.
    NotKnown,
}

/// A variable that is empty is as good as none, as other programs have it.
fn forget_empty() {
    for variable in [
        "PRONY_NOTEBOOK",
        "PRONY_CATALOG",
        "PRONY_ONLY_CATALOG",
        "PRONY_CACHE",
    ] {
        if std::env::var_os(variable).is_some_and(|value| value.is_empty()) {
            // SAFETY: nothing reads the environment meanwhile: there is no other thread yet.
            unsafe { std::env::remove_var(variable) };
        }
    }
}

/// The verb, or the verb within a verb, that a command line names.
fn named(line: &[OsString]) -> clap::Command {
    let mut command = args::command();
    command.build();
    for word in line {
        if let Some(inner) = command.find_subcommand(word) {
            command = inner.clone();
        }
    }
    command
}

fn main() -> ExitCode {
    complete::answer();
    let line: Vec<OsString> = std::env::args_os().collect();
    if let Some((tool, arguments)) = Tool::asked_for(&line) {
        return tool.main(arguments);
    }
    forget_empty();
    paint::choose(paint::asked_for(&line));
    let mut cli = Cli::read(&line).unwrap_or_else(|error| {
        if error.kind() == ErrorKind::MissingSubcommand {
            // The help says more than clap's message, which lists the inner verbs too.
            eprintln!("{}", named(&line).render_help());
            std::process::exit(2);
        }
        if let Err(unwritten) = error.print() {
            out::note(&unwritten);
        }
        std::process::exit(if out::failed() { 1 } else { error.exit_code() });
    });
    if let Some(path) = cli.command.shown().and_then(|shown| shown.output.as_ref())
        && let Err(error) = out::to(path)
    {
        eprintln!("--output {}: {error}", path.display());
        return ExitCode::from(2);
    }
    if !std::io::stderr().is_terminal() {
        // One message, one line: for logs and for those who search them.
        let handler = |_: &_| -> Box<dyn miette::ReportHandler> {
            let plain = miette::MietteHandlerOpts::new().wrap_lines(false);
            Box::new(plain.color(console::colors_enabled_stderr()).build())
        };
        miette::set_hook(Box::new(handler)).expect("set only here");
    }
    if let Err(report) = alt_svc::settle(&mut cli.command) {
        return failed(&report);
    }
    let result = match cli.command {
        Command::Run(args) => verb::run::main(&cli.places, &args),
        Command::Duel(args) => verb::duel::main(&cli.places, &args),
        Command::Load(args) => verb::load::main(&cli.places, &args),
        Command::Hosts(args) => verb::hosts::main(&args),
        Command::Servers(args) => verb::servers::main(&cli.places, &args),
        Command::Runs(args) => verb::runs::main(&cli.places, &args),
        Command::Report(args) => verb::report::main(&cli.places, &args),
        Command::Audit(args) => verb::audit::main(&args),
        Command::Import(args) => verb::import::main(&cli.places, &args),
        Command::Export(args) => verb::export::main(&cli.places, &args),
        Command::View(args) => verb::view::main(&cli.places, &args),
        Command::EchoClient(args) => verb::echo_client::main(&args),
        Command::Capacity(args) => verb::capacity::main(&cli.places, &args),
        Command::Why(args) => verb::why::main(&cli.places, &args),
        Command::Calibrate(args) => verb::calibrate::main(&cli.places, &args),
        Command::Diff(args) => verb::diff::main(&cli.places, &args),
        Command::Explain(args) => verb::explain::main(&args),
        Command::Verify(args) => verb::verify::main(&args),
        Command::Requests(args) => verb::requests::main(&args),
        Command::Wrk(args) => return Tool::Wrk.main(&args.arguments),
        Command::Ab(args) => return Tool::Ab.main(&args.arguments),
        Command::Weighttp(args) => return Tool::Weighttp.main(&args.arguments),
        Command::Httperf(args) => return Tool::Httperf.main(&args.arguments),
        Command::H2load(args) => return Tool::H2load.main(&args.arguments),
        Command::Serve(args) => verb::serve::main(&args),
        Command::Schema(args) => verb::schema::main(&args),
        Command::Completions(args) => verb::completions::main(&args),
        Command::Man(args) => verb::completions::man(&args),
        Command::Agent => verb::agent::main(),
        Command::Supervisor { arguments } => verb::supervisor::main(&arguments),
    };
    match result {
        Ok(_) if out::failed() => ExitCode::from(1),
        Ok(CommandEnd::Done) => ExitCode::SUCCESS,
        Ok(CommandEnd::Incomplete) => ExitCode::from(1),
        Ok(CommandEnd::Broken) => ExitCode::from(3),
        Ok(CommandEnd::NotKnown) => ExitCode::from(4),
        Err(report) => failed(&report),
    }
}

fn failed(report: &miette::Report) -> ExitCode {
    eprintln!("{report:?}");
    ExitCode::from(if report.is::<Usage>() { 2 } else { 1 })
}
