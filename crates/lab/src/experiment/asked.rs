//! The requests of a file, which an experiment asks its servers.

use crate::requests::verify::{Asked, Way};
use crate::requests::{RequestsError, Server as Asking};
use crate::source::{Mistake, Source};
use prony_record::Load;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;

/// Reads the file that an experiment names. `wrong` makes a mistake of the experiment, at a place in it.
pub(super) fn asked(
    path: &Spanned<PathBuf>,
    source: &Source,
    loads: &[Load],
    wrong: &impl Fn(Range<usize>, String, Option<String>) -> Mistake,
) -> Result<Arc<Asked>, Mistake> {
    let folder = Path::new(source.name()).parent().unwrap_or(Path::new(""));
    let asked = Asked::read(
        &folder.join(path.get_ref()),
        &Asking::anywhere(),
        Way::ALL.to_vec(),
    );
    let asked = asked.map_err(|error| match error {
        RequestsError::Mistake(mistake) => *mistake,
        error => wrong(path.span(), error.to_string(), None),
    })?;
    if !asked.mix.sessions.is_empty() && loads.iter().any(|load| load.pipeline > 1) {
        let what = "has sessions, which wait for each answer: without pipeline in the loads";
        return Err(wrong(path.span(), what.into(), None));
    }
    Ok(Arc::new(asked))
}
