//! Folders: what is in them, as a name, and copies of them.

use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// All files below `folder`, sorted, as paths relative to it.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut todo = vec![PathBuf::new()];
    while let Some(below) = todo.pop() {
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                todo.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// A name for the content of some files of a folder, and for what else a build depends on.
pub(super) fn fingerprint(
    folder: &Path,
    also: &[&str],
    counts: impl Fn(&Path) -> bool,
) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    for path in files(folder)?.iter().filter(|path| counts(path)) {
        add(path.as_os_str().as_encoded_bytes());
        let path = folder.join(path);
        // A link may lead to a folder, or nowhere.
        match fs::read_link(&path) {
            Ok(target) if !path.is_file() => add(target.as_os_str().as_encoded_bytes()),
            _ => add(&fs::read(path)?),
        }
    }
    for text in also {
        add(text.as_bytes());
    }
    Ok(hasher
        .finalize()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// Copies those files of a folder that are wanted.
pub(super) fn copy(from: &Path, to: &Path, wanted: impl Fn(&Path) -> bool) -> io::Result<()> {
    for path in files(from)?.iter().filter(|path| wanted(path)) {
        let target = to.join(path);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(from.join(path), target)?;
    }
    Ok(())
}
