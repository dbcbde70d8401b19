//! The file of requests that an experiment names.

use crate::requests::verify::{RequestFile, SendMode};
use crate::requests::{Folder, RequestsError, ServerFacts};
use crate::source::{Mistake, Source};
use prony_record::Load;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;

/// The folder of an experiment's file.
pub(super) fn folder_of(experiment: &Source) -> Folder<'_> {
    let folder = Path::new(experiment.name()).parent();
    Folder::Disk(folder.unwrap_or(Path::new("")))
}

/// Reads it for these loads. `wrong` makes a mistake of the experiment, at a place in it.
pub(super) fn read(
    path: &Spanned<PathBuf>,
    folder: Folder<'_>,
    loads: &[Load],
    wrong: &impl Fn(Range<usize>, String, Option<String>) -> Mistake,
) -> Result<Arc<RequestFile>, Mistake> {
    let server = ServerFacts::anywhere();
    let ways = SendMode::ALL.to_vec();
    let cannot = |why: String| wrong(path.span(), why, None);
    let asked = match folder {
        Folder::Disk(folder) => {
            let asked = RequestFile::read(&folder.join(path.get_ref()), &server, ways);
            asked.map_err(|error| match error {
                RequestsError::Mistake(mistake) => *mistake,
                RequestsError::Unreadable(_) => cannot(error.to_string()),
            })?
        }
        Folder::Program(files) => {
            let file = path.get_ref().display().to_string();
            let text = files.get_file(path.get_ref());
            let text = text.and_then(|file| file.contents_utf8());
            let text = text.ok_or_else(|| cannot(format!("there is no {file} in this program")))?;
            // What it names lies beside it.
            let beside = path.get_ref().parent();
            let folder = beside.and_then(|beside| files.get_dir(beside));
            let folder = Folder::Program(folder.unwrap_or(files));
            RequestFile::of(&Source::new(file.as_str(), text), folder, &server, ways)?
        }
    };
    let asked = asked.without_pauses();
    if !asked.mix.sessions.is_empty() && loads.iter().any(|load| load.pipeline > 1) {
        let what = "has sessions, which wait for each answer: without pipeline in the loads";
        return Err(cannot(what.into()));
    }
    Ok(Arc::new(asked))
}
