//! Who takes part in a duel, and what is asked of them.

use crate::args::{Capacity, Duel, Places};
use crate::target;
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use prony_engine::Target;
use prony_lab::builder::Builder;
use prony_lab::catalog::Catalog;
use prony_lab::contract::Contract;
use prony_lab::duel::{Manner, WINDOW};
use prony_lab::get::Get;
use prony_lab::manifest::on_path;
use prony_lab::side::{Ask, Role, Side, What};
use prony_record::{Failure, Load, Span};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A name longer than this makes tables unreadable: the side is called A, B, … instead.
const LONG: usize = 24;

/// The sides, how they are loaded, and what goes with them when it is over.
pub struct Chosen {
    pub sides: Vec<Side>,
    pub manner: Manner,
    _worktrees: Vec<Worktree>,
}

pub fn choose(places: &Places, args: &Duel) -> Result<Chosen> {
    if let Some(setup) = &args.setup {
        eprintln!("setting up: {setup}");
        shell(setup, Path::new(".")).wrap_err("--setup")?;
    }
    let mut worktrees = Vec::new();
    let (sides, asks) = if args.rev.is_empty() {
        let catalog = places.catalog()?;
        let builder = Builder::new(&places.cache()?);
        let mut all = Vec::new();
        for word in &args.sides {
            all.push(side(word, &catalog, &builder)?);
        }
        all.into_iter().unzip()
    } else {
        revisions(args, &mut worktrees)?
    };
    let mut sides: Vec<Side> = sides;
    for (letter, side) in ('A'..='Z').zip(&mut sides) {
        if side.name.chars().count() > LONG {
            eprintln!("{letter}: {}", side.name);
            side.name = letter.to_string();
        }
    }
    if sides.len() < 2 {
        return Err(miette!(
            help = "prony duel 'server-a --port {{port}}' 'server-b --port {{port}}'",
            "a duel needs two sides"
        ));
    }
    if let Some(twice) = sides.iter().enumerate().find_map(|(i, side)| {
        let same = |other: &Side| other.name == side.name;
        sides[..i].iter().any(same).then_some(&side.name)
    }) {
        return Err(miette!(
            "{twice:?} is there twice: give sides different command lines"
        ));
    }
    let ask = ask(args.contract, args.get.as_deref(), &asks)?;
    Ok(Chosen {
        manner: Manner {
            ask,
            load: Load {
                connections: args.connections,
                threads: args.threads,
                warmup: args.warmup,
                timeout: args.timeout,
                window: Span(WINDOW),
                ..Load::default()
            },
            duration: args.duration.0,
        },
        sides,
        _worktrees: worktrees,
    })
}

/// The only side of a capacity search, and how it is loaded.
pub fn one(places: &Places, args: &Capacity) -> Result<(Side, Manner)> {
    let catalog = places.catalog()?;
    let builder = Builder::new(&places.cache()?);
    let (side, hint) = side(&args.server, &catalog, &builder)?;
    let ask = ask(args.contract, args.get.as_deref(), &[hint])?;
    let manner = Manner {
        ask,
        load: Load {
            connections: args.connections,
            threads: args.threads,
            warmup: args.warmup,
            window: Span(WINDOW),
            ..Load::default()
        },
        duration: args.duration.0,
    };
    Ok((side, manner))
}

/// What a side by itself suggests to ask.
enum Hint {
    /// One of these contracts.
    Contracts(Vec<Contract>),
    /// This path.
    Path(String),
    /// Nothing.
    None,
}

fn side(word: &str, catalog: &Catalog, builder: &Builder) -> Result<(Side, Hint)> {
    if word.contains("://") {
        let address = target::parse(word)?;
        let Target::Tcp(addr) = address.resolve(std::time::Duration::from_secs(5))? else {
            return Err(miette!("{word}: unix sockets cannot take part in a duel"));
        };
        let hint = match address.http {
            true => Hint::Path(address.path),
            false => Hint::Contracts(vec![Contract::TcpEcho]),
        };
        let side = Side {
            name: word.to_owned(),
            what: What::Running(addr),
            role: Role::Server,
        };
        return Ok((side, hint));
    }
    let (name, workers) = match word.split_once('@') {
        Some((name, workers)) => (name, workers.parse::<u32>().ok()),
        None => (word, None),
    };
    let Ok(server) = catalog.get(name) else {
        // One word that is neither a server nor a program is most likely a mistyped name.
        if !word.contains(char::is_whitespace) && !word.contains('/') && !on_path(word) {
            catalog.get(name)?;
        }
        let folder = std::env::current_dir().into_diagnostic()?;
        let side = Side::of_command(word, word, &folder).map_err(|error| miette!("{error}"))?;
        return Ok((side, Hint::None));
    };
    let workers = workers.unwrap_or_else(|| server.manifest.default_workers());
    if !server.manifest.allows(workers) {
        return Err(miette!("{name} cannot have {workers} workers"));
    }
    eprintln!("building {name}");
    let built = builder.build(server).map_err(|error| {
        let failure = Failure::from(error);
        match failure.output.as_str() {
            "" => miette!("{name}: {failure}"),
            output => miette!("{name}: {failure}\n{output}"),
        }
    })?;
    let side = Side {
        name: word.to_owned(),
        what: What::Started {
            server: Box::new(server.clone()),
            built: Box::new(built),
            workers,
        },
        role: Role::Server,
    };
    Ok((side, Hint::Contracts(server.manifest.contracts.clone())))
}

/// What all sides are asked: what the user says; else the one contract that all of them keep; else
/// the path of a URL; else `/`.
fn ask(contract: Option<Contract>, path: Option<&str>, hints: &[Hint]) -> Result<Ask> {
    if let Some(contract) = contract {
        if contract == Contract::Weather {
            return Err(miette!(
                "a gateway needs an upstream: use an experiment (`prony run weather`)"
            ));
        }
        return Ok(Ask::Contract(contract));
    }
    let get = |path: &str| {
        Ask::Get(Get {
            method: "GET".into(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        })
    };
    if let Some(path) = path {
        return Ok(get(path));
    }
    let lists: Vec<&Vec<Contract>> = hints
        .iter()
        .filter_map(|hint| match hint {
            Hint::Contracts(list) => Some(list),
            _ => None,
        })
        .collect();
    if lists.len() == hints.len() {
        let keep = |contract: &&Contract| lists.iter().all(|list| list.contains(contract));
        return match Contract::ALL.iter().filter(keep).collect::<Vec<_>>()[..] {
            [only] => Ok(Ask::Contract(*only)),
            [] => Err(miette!("these servers keep no contract in common")),
            ref several => Err(miette!(
                help = "say which with --contract",
                "these servers keep several contracts: {}",
                several
                    .iter()
                    .map(|c| c.name())
                    .collect::<Vec<_>>()
                    .join(", ")
            )),
        };
    }
    let path = hints.iter().find_map(|hint| match hint {
        Hint::Path(path) => Some(path.as_str()),
        _ => None,
    });
    Ok(get(path.unwrap_or("/")))
}

/// The same command line in a worktree of each revision.
fn revisions(args: &Duel, worktrees: &mut Vec<Worktree>) -> Result<(Vec<Side>, Vec<Hint>)> {
    let [line] = args.sides.as_slice() else {
        return Err(miette!(
            help = "prony duel --rev main --rev HEAD --build 'make' './server --port {{port}}'",
            "with --rev there is one command line, which is run in each revision"
        ));
    };
    let mut sides = Vec::new();
    for rev in &args.rev {
        let tree = Worktree::add(rev)?;
        if let Some(build) = &args.build {
            eprintln!("building {rev}: {build}");
            shell(build, &tree.folder).wrap_err_with(|| format!("--build in {rev}"))?;
        }
        let side = Side::of_command(rev, line, &tree.folder).map_err(|error| miette!("{error}"))?;
        sides.push(side);
        worktrees.push(tree);
    }
    let hints = sides.iter().map(|_| Hint::None).collect();
    Ok((sides, hints))
}

fn shell(line: &str, folder: &Path) -> Result<()> {
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .output()
        .into_diagnostic()?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(miette!(
        "`{line}` failed ({})\n{}",
        output.status,
        String::from_utf8_lossy(&text)
    ))
}

/// A checkout of a revision beside the user's own, which is not touched.
struct Worktree {
    folder: PathBuf,
    _above: TempDir,
}

impl Worktree {
    fn add(rev: &str) -> Result<Self> {
        let above = tempfile::Builder::new()
            .prefix("prony-rev-")
            .tempdir()
            .into_diagnostic()?;
        let folder = above.path().join("tree");
        let output = Command::new("git")
            .args(["worktree", "add", "--quiet", "--detach"])
            .arg(&folder)
            .arg(rev)
            .output()
            .into_diagnostic()
            .wrap_err("git")?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(miette!("there is no worktree of {rev:?}: {}", text.trim()));
        }
        Ok(Self {
            folder,
            _above: above,
        })
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        let _ = Command::new("git")
            .args(["worktree", "remove", "--force"])
            .arg(&self.folder)
            .output();
    }
}
