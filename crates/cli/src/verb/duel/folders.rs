//! Sides that are one command line in several folders: revisions of a repository, or folders that are
//! there.

use crate::args::Duel;
use crate::git::{git, is_dirty};
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use prony_lab::hook::Hook;
use prony_lab::leftovers::Scratch;
use prony_lab::side::{Side, What};
use prony_record::inert;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The command line of `--run` in each of these folders, in which `--build` is run first.
pub fn folders(args: &Duel, line: &str) -> Result<Vec<Side>> {
    let folders: Vec<PathBuf> = args.sides.iter().map(PathBuf::from).collect();
    if let Some(other) = folders.iter().find(|folder| !folder.is_dir()) {
        return Err(miette!(
            help = "prony duel --run './server --port {port}' ./old ./new",
            "{} is not a folder: with --run every side is one, in which the command line is run",
            other.display()
        ));
    }
    let whole = folders.iter().map(|folder| folder.canonicalize());
    let folders: Vec<PathBuf> = whole.collect::<Result<_, _>>().into_diagnostic()?;
    let mut sides = Vec::new();
    for (name, folder) in names(&args.sides, &folders).iter().zip(&folders) {
        build(args, name, folder)?;
        sides.push(of_command(name, line, folder)?);
    }
    Ok(sides)
}

/// The folders' own names, where they differ; else as the user has written them.
fn names(words: &[String], folders: &[PathBuf]) -> Vec<String> {
    let name = |folder: &PathBuf| Some(folder.file_name()?.to_string_lossy().into_owned());
    let own: Vec<String> = folders.iter().filter_map(name).collect();
    match own.iter().collect::<BTreeSet<_>>().len() == folders.len() {
        true => own,
        false => words.to_vec(),
    }
}

/// The same command line in a worktree of each revision. All are looked up before anything is built.
pub fn revisions(args: &Duel, worktrees: &mut Vec<Worktree>) -> Result<Vec<Side>> {
    let [line] = args.sides.as_slice() else {
        return Err(usage!(
            help = "prony duel --rev main --rev HEAD --build 'make' './server --port {port}'",
            "with --rev there is one command line, which is run in each revision"
        ));
    };
    let found: Vec<Revision> = args
        .rev
        .iter()
        .map(|rev| Revision::find(rev))
        .collect::<Result<_>>()?;
    if found.iter().any(|revision| revision.asked == "HEAD")
        && is_dirty().map_err(|why| miette!("{why}"))?
    {
        eprintln!("uncommitted changes in this folder are not part of HEAD, and are not measured");
    }
    let mut sides = Vec::new();
    for revision in &found {
        eprintln!("{}: {}", revision.name(), revision.subject);
        let tree = Worktree::add(&revision.commit)?;
        build(args, &revision.name(), &tree.folder)?;
        let mut side = of_command(&revision.name(), line, &tree.folder)?;
        if let What::Started { built, .. } = &mut side.what {
            built.version = format!("{} {}", revision.commit, revision.subject);
        }
        sides.push(side);
        worktrees.push(tree);
    }
    Ok(sides)
}

fn of_command(name: &str, line: &str, folder: &Path) -> Result<Side> {
    Side::of_command(name, line, folder).map_err(|error| miette!("{error}"))
}

fn build(args: &Duel, name: &str, folder: &Path) -> Result<()> {
    let Some(build) = &args.build else {
        return Ok(());
    };
    eprintln!("building {name}: {build}");
    shell(build, folder).wrap_err_with(|| format!("--build in {name}"))
}

/// A commit of the repository in this folder.
struct Revision {
    /// Name of the revision, as the user gave it.
    asked: String,
    /// Full hash of the commit.
    commit: String,
    /// The first line of its message.
    subject: String,
}

impl Revision {
    fn find(asked: &str) -> Result<Self> {
        let commit = format!("{asked}^{{commit}}");
        let found = git(&[
            "log",
            "-1",
            "--format=%H%n%s",
            "--end-of-options",
            &commit,
            "--",
        ])
        .map_err(|why| miette!("there is no revision {asked:?} here: {why}"))?;
        let (commit, subject) = found.split_once('\n').unwrap_or((&found, ""));
        Ok(Self {
            asked: asked.to_owned(),
            commit: commit.to_owned(),
            subject: inert::line(subject.trim()).into_owned(),
        })
    }

    /// `v1.2 (3f2a9c1)`; a commit that was asked for by its own name is not named twice.
    fn name(&self) -> String {
        let short = &self.commit[..self.commit.len().min(7)];
        match self.commit.starts_with(&self.asked) {
            true => short.to_owned(),
            false => format!("{} ({short})", self.asked),
        }
    }
}

/// Runs a shell command in a folder.
pub fn shell(line: &str, folder: &Path) -> Result<()> {
    let hook = Hook {
        line: line.to_owned(),
        folder: folder.to_owned(),
        ..Hook::default()
    };
    hook.run().map_err(|error| miette!("{error}"))
}

/// A checkout of a revision beside the user's own, which is not touched.
pub struct Worktree {
    folder: PathBuf,
    _above: Scratch,
}

impl Worktree {
    fn add(rev: &str) -> Result<Self> {
        let above = Scratch::new().into_diagnostic()?;
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
