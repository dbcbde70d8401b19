//! Data of services: made once for each content, kept in the cache, and copied for each start.

use super::account::Account;
use crate::builder;
use crate::leftovers::Scratch;
use prony_record::{Failure, Step};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// Templates that nobody has used for this long are removed.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Folder for a service, which goes when this is dropped.
pub(super) fn scratch(account: &Account) -> Result<Scratch, Failure> {
    let scratch =
        Scratch::new().map_err(|error| failed("cannot make a temporary folder", &error))?;
    account
        .let_through(scratch.path())
        .map_err(|error| failed(&scratch.path().display().to_string(), &error))?;
    Ok(scratch)
}

/// The template for these texts, which name all that its content depends on; `make` fills a new folder if there is none.
///
/// # Errors
/// That of `make`, or when the cache cannot be written.
pub(super) fn template(
    cache: &Path,
    name: &str,
    depends: &[&str],
    make: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<PathBuf, Failure> {
    let above = cache.join("services");
    let folder = above.join(format!("{name}-{}", key(depends)));
    let used = folder.with_extension("used");
    // Another prony that needs the same one waits for it.
    let lock = builder::lock(&folder.with_extension("lock"));
    let _lock = lock.map_err(|error| Failure::new(Step::Start, error.to_string()))?;
    if !folder.exists() {
        remove_old(&above);
        // Nothing that is half made ever has the template's name.
        let new = folder.with_extension("new");
        let cannot = |error: io::Error| failed(&new.display().to_string(), &error);
        remove(&new).map_err(cannot)?;
        make(&new).inspect_err(|_| drop(remove(&new)))?;
        fs::rename(&new, &folder).map_err(cannot)?;
    }
    File::create(&used).map_err(|error| failed(&used.display().to_string(), &error))?;
    Ok(folder)
}

/// Copies a folder with owners and times; where the file system can, the copy shares its blocks until one is changed.
///
/// # Errors
/// When there is no space, or no permission.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let output = Command::new("cp")
        .args(["-a", "--reflink=auto", "-T", "--"])
        .args([from, to])
        .output()
        .map_err(|error| failed("cp", &error))?;
    if output.status.success() {
        return Ok(());
    }
    let printed = String::from_utf8_lossy(&output.stderr);
    let first = printed.lines().next().unwrap_or("cp failed");
    Err(Failure::new(
        Step::Start,
        format!("its data cannot be copied: {first}"),
    ))
}

fn failed(what: &str, error: &io::Error) -> Failure {
    Failure::new(Step::Start, format!("{what}: {error}"))
}

fn key(depends: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for text in depends {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    }
    let digest = hasher.finalize();
    digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes templates that have not been used for long, under their locks.
fn remove_old(above: &Path) {
    let entries = fs::read_dir(above).into_iter().flatten().flatten();
    let marks = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|it| it == "used"));
    for mark in marks {
        let age = fs::metadata(&mark)
            .and_then(|meta| meta.modified())
            .ok()
            .and_then(|at| SystemTime::now().duration_since(at).ok());
        let lock = File::open(mark.with_extension("lock"));
        let free = lock.as_ref().is_ok_and(|lock| lock.try_lock().is_ok());
        if free && age.is_some_and(|age| age > KEPT) && remove(&mark.with_extension("")).is_ok() {
            let _ = fs::remove_file(&mark);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, text: &str) -> Result<(), Failure> {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("data"), text).unwrap();
        Ok(())
    }

    #[test]
    fn a_template_is_made_once_for_each_content() {
        let cache = tempfile::tempdir().unwrap();
        let of = |seed: &str| template(cache.path(), "x", &["1.0", seed], |new| write(new, seed));
        let first = of("a").unwrap();
        assert_eq!(fs::read_to_string(first.join("data")).unwrap(), "a");
        fs::write(first.join("data"), "as it was made").unwrap();
        assert_eq!(of("a").unwrap(), first);
        let kept = fs::read_to_string(first.join("data")).unwrap();
        assert_eq!(kept, "as it was made");
        assert_ne!(of("b").unwrap(), first);
        // Where one text ends and the next begins counts.
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
    }

    #[test]
    fn what_cannot_be_made_leaves_nothing() {
        let cache = tempfile::tempdir().unwrap();
        let fails = |new: &Path| {
            write(new, "half").unwrap();
            Err(Failure::new(Step::Start, "no"))
        };
        template(cache.path(), "x", &["a"], fails).unwrap_err();
        let made = template(cache.path(), "x", &["a"], |new| write(new, "whole")).unwrap();
        assert_eq!(fs::read_to_string(made.join("data")).unwrap(), "whole");
    }

    #[test]
    fn a_template_that_nobody_uses_goes() {
        let cache = tempfile::tempdir().unwrap();
        let of = |seed: &str| template(cache.path(), "x", &[seed], |new| write(new, seed)).unwrap();
        let (old, recent) = (of("old"), of("recent"));
        let mark = File::options()
            .write(true)
            .open(old.with_extension("used"))
            .unwrap();
        mark.set_modified(SystemTime::now() - 2 * KEPT).unwrap();
        of("new");
        assert!(!old.exists() && recent.exists());
    }

    #[test]
    fn a_copy_is_whole_and_a_failure_says_why() {
        let above = tempfile::tempdir().unwrap();
        let path = |name: &str| above.path().join(name);
        write(&path("from"), "text").unwrap();
        copy(&path("from"), &path("to")).unwrap();
        assert_eq!(fs::read_to_string(path("to/data")).unwrap(), "text");
        let error = copy(&path("none"), &path("to")).unwrap_err();
        assert!(error.message.contains("none"), "{}", error.message);
    }
}
