//! `prony servers setup`: install what servers need.

use super::parallel::{self, Task};
use super::{progress, selected};
use crate::CommandEnd;
use crate::args::{DisplayArgs, Places};
use crate::live::Live;
use miette::{IntoDiagnostic, Result, miette};
use prony_lab::builder::{BuildError, Builder};
use prony_lab::catalog::Server;
use prony_lab::setup::{self, Needs, SetupError};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::num::NonZeroUsize;

pub fn main(
    places: &Places,
    names: &[String],
    (yes, dry_run): (bool, bool),
    jobs: Option<NonZeroUsize>,
) -> Result<CommandEnd> {
    let catalog = places.catalog()?;
    let mut servers: Vec<&Server> = Vec::new();
    for (server, _) in selected(places, &catalog, names)? {
        if servers.iter().all(|other| other.name != server.name) {
            servers.push(server);
        }
    }
    let builder = Builder::new(&places.cache()?);
    let needs = progress("looking for installed toolchains", || {
        Needs::of(&servers, &builder)
    })
    .into_diagnostic()?;
    if !needs.is_empty() {
        print!("{}", told(&needs, &places.cache()?.display().to_string()));
        if dry_run {
            return Ok(CommandEnd::Done);
        }
        if !yes && !agreed()? {
            eprintln!("nothing was installed");
            return Ok(CommandEnd::Incomplete);
        }
        install_debian(&needs)?;
    }
    if dry_run {
        println!("nothing is to be installed for {} servers", servers.len());
        return Ok(CommandEnd::Done);
    }
    Ok(install_and_build(
        &needs.dependencies,
        &servers,
        &builder,
        parallel::jobs(jobs),
    ))
}

/// Describes for people what would be installed.
fn told(needs: &Needs<'_>, cache: &str) -> String {
    let mut out = String::new();
    if !needs.debian.is_empty() {
        let sizes = debian_sizes(&needs.debian).map_or_else(
            || "sizes are not known: the package lists have to be updated first".to_owned(),
            |sizes| {
                format!(
                    "{} packages with what they need themselves, {} to download, {} on disk",
                    sizes.packages, sizes.download, sizes.disk
                )
            },
        );
        out += &format!("from Debian, for the whole machine ({sizes}):\n");
        for package in &needs.debian {
            out += &format!("  {package}\n");
        }
    }
    let mut registries: Vec<&str> = Vec::new();
    let wanted = || {
        let all = needs.dependencies.iter();
        all.filter_map(|server| server.manifest.dependencies.as_ref())
    };
    for dependencies in wanted() {
        if !registries.contains(&dependencies.from.as_str()) {
            registries.push(&dependencies.from);
        }
    }
    for registry in registries {
        out += &format!("from {registry}, into {cache}:\n");
        for dependencies in wanted().filter(|dependencies| dependencies.from == registry) {
            out += &format!(
                "  {} (about {} to download)\n",
                dependencies.packages.join(" "),
                dependencies.download
            );
        }
    }
    let nameless = |server: &&&Server| server.manifest.apt.is_empty() || needs.debian.is_empty();
    for server in needs.unready.iter().filter(nameless) {
        out += &format!(
            "{}: {} is not on the PATH, and no Debian package is known that would help\n",
            server.name,
            server.manifest.missing().join(" ")
        );
    }
    out
}

/// With package lists that may have to be updated first, where that is allowed without a password.
fn debian_sizes(packages: &BTreeSet<String>) -> Option<setup::Sizes> {
    setup::debian_sizes(packages).or_else(|| {
        if !setup::is_root() {
            return None;
        }
        progress("updating the package lists", setup::update_debian).ok()?;
        setup::debian_sizes(packages)
    })
}

fn agreed() -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(miette!(
            help = "--yes installs without asking, --dry-run only shows",
            "there is no terminal to ask on whether this may be installed"
        ));
    }
    eprint!("install? [y/N] ");
    std::io::stderr().flush().into_diagnostic()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).into_diagnostic()?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

fn install_debian(needs: &Needs<'_>) -> Result<()> {
    if needs.debian.is_empty() {
        return Ok(());
    }
    let count = needs.debian.len();
    if setup::debian_sizes(&needs.debian).is_none() {
        progress("updating the package lists", setup::update_debian)
            .map_err(|error| explain(&error))?;
    }
    progress(&format!("installing {count} Debian packages"), || {
        setup::install_debian(&needs.debian)
    })
    .map_err(|error| explain(&error))
}

fn explain(error: &SetupError) -> miette::Report {
    match error {
        SetupError::Command { output, .. } if !output.is_empty() => miette!("{error}\n{output}"),
        _ => miette!("{error}"),
    }
}

/// A step of what is done for one server.
enum SetupStep<'a> {
    Install(&'a Server),
    Build(&'a Server),
}

/// Installs what `lacking` servers depend on, and builds every server, so that no run has to; tells what is ready.
fn install_and_build(
    lacking: &[&Server],
    servers: &[&Server],
    builder: &Builder,
    jobs: usize,
) -> CommandEnd {
    let installs = lacking.iter().filter_map(|server| {
        let wanted = server.manifest.dependencies.as_ref()?;
        Some(Task {
            of: SetupStep::Install(server),
            name: format!(
                "installing {} from {}",
                wanted.packages.join(" "),
                wanted.from
            ),
            uses: registry(server),
        })
    });
    let builds = servers.iter().map(|server| Task {
        of: SetupStep::Build(server),
        name: format!("building {}", server.name),
        uses: registry(server),
    });
    let tasks: Vec<_> = installs.chain(builds).collect();
    let live = Live::begin("setting up servers".into(), &DisplayArgs::default(), &[]);
    // One that cannot be had must not keep the others from being set up.
    let work = |step: &SetupStep<'_>| {
        let (server, result) = match step {
            SetupStep::Install(server) => (server, builder.install(server)),
            SetupStep::Build(server) => (server, builder.build(server).map(drop)),
        };
        result.inspect_err(|error| live.say(&format!("{}: {}", server.name, told_error(error))))
    };
    let results = parallel::run(&live, &tasks, jobs, &|| false, &work);
    drop(live);
    let built = tasks.iter().zip(results);
    let ready = built
        .filter(|(task, result)| {
            matches!(task.of, SetupStep::Build(_)) && matches!(result, Some(Ok(())))
        })
        .count();
    println!("{ready} of {} servers are set up", servers.len());
    if ready == servers.len() {
        CommandEnd::Done
    } else {
        CommandEnd::Incomplete
    }
}

/// The registry of a server's dependencies, which the builder uses for one server at a time.
fn registry(server: &Server) -> Option<&str> {
    let dependencies = server.manifest.dependencies.as_ref();
    dependencies.map(|dependencies| dependencies.from.as_str())
}

/// An error with the end of what the failed command printed.
fn told_error(error: &BuildError) -> String {
    match error {
        BuildError::Command { output, .. } => {
            let lines = output
                .lines()
                .map(|line| format!("\n  | {}", line.escape_debug()));
            format!("{error}{}", lines.collect::<String>())
        }
        _ => error.to_string(),
    }
}
