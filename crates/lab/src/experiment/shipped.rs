//! Experiments and figures by name: files, those of the project, and those inside this program.

use super::ExperimentError;
use crate::catalog::project_root;
use crate::source::{Source, did_you_mean};
use include_dir::{Dir, include_dir};
use std::path::{Path, PathBuf};

/// The experiments as they were when this program was built.
static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/shipped/experiments");
/// Figures that others have published, as they were when this program was built.
static PUBLISHED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/shipped/published");

/// An experiment that was found.
pub(super) struct FoundExperiment {
    /// Name of the experiment: that of its file, without the extension.
    pub stem: String,
    /// Text of the experiment.
    pub source: Source,
    /// The experiment is inside this program, with the files that it names.
    pub inside: bool,
}

/// The folder of the experiments inside this program.
pub(super) fn inside() -> &'static Dir<'static> {
    &EMBEDDED
}

/// An experiment: a file, or one of the project or of this program.
pub(super) fn locate(name: &str) -> Result<FoundExperiment, ExperimentError> {
    let path = Path::new(name);
    let stem = path
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or(name)
        .to_owned();
    let found = |source, inside| FoundExperiment {
        stem: stem.clone(),
        source,
        inside,
    };
    if path.is_file() {
        return Ok(found(Source::read(path)?, false));
    }
    let file = format!("{name}.toml");
    if let Some(path) = project_folder()
        .map(|folder| folder.join(&file))
        .filter(|p| p.is_file())
    {
        return Ok(found(Source::read(&path)?, false));
    }
    if let Some(text) = EMBEDDED
        .get_file(&file)
        .and_then(|file| file.contents_utf8())
    {
        return Ok(found(Source::new(file, text), true));
    }
    let names = names();
    let known = || names.iter().map(String::as_str);
    let list = || format!("there are: {}", names.join(", "));
    Err(ExperimentError::Unknown {
        name: name.to_owned(),
        help: did_you_mean(name, known()).or_else(|| Some(list())),
    })
}

fn project_folder() -> Option<PathBuf> {
    project_root().map(|root| root.join("experiments"))
}

/// Figures that others published: a file beside the experiment, of the project, or of this program. None when there is
/// none.
pub(super) fn published(name: &str, experiment: &Source) -> Option<Source> {
    let beside = Path::new(experiment.name()).with_file_name(name);
    if beside.is_file() {
        return Source::read(&beside).ok();
    }
    shipped_figures(name)
}

/// The figures of this name in published/: in the checkout, or inside the program.
pub fn shipped_figures(name: &str) -> Option<Source> {
    let file = format!("{name}.toml");
    let path = project_root().map(|root| root.join("published").join(&file));
    if let Some(path) = path.filter(|path| path.is_file()) {
        return Source::read(&path).ok();
    }
    let text = PUBLISHED.get_file(&file)?.contents_utf8()?;
    Some(Source::new(file, text))
}

/// The names of all experiments.
pub fn names() -> Vec<String> {
    let stem = |path: &Path| Some(path.file_stem()?.to_str()?.to_owned());
    let mut names: Vec<String> = match project_folder().and_then(|dir| std::fs::read_dir(dir).ok())
    {
        Some(entries) => entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "toml")
            })
            .filter_map(|path| stem(&path))
            .collect(),
        None => EMBEDDED
            .files()
            .filter_map(|file| stem(file.path()))
            .collect(),
    };
    names.sort();
    names
}
