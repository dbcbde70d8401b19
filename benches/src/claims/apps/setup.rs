//! Sets applications up in `target/apps`: once, and again when their sources change.

use super::app::App;
use crate::error::{Error, Result};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::Command;

/// Says which sources an application was set up from.
const STAMP: &str = "set-up";

/// Carries out what an application's set-up says, unless that was done for these very sources.
///
/// # Errors
/// When a command fails; then with its output.
pub fn set_up(app: &App) -> Result<()> {
    let folder = app.folder()?;
    let writing = || Error::io(format!("cannot write to {}", folder.display()));
    let stamp = stamp(&app.source())?;
    let file = folder.join(STAMP);
    if fs::read_to_string(&file).is_ok_and(|it| it == stamp) {
        return Ok(());
    }
    fs::create_dir_all(&folder).map_err(writing())?;
    for line in &app.setup {
        eprintln!("apps: {}: {line}", app.name);
        let mut shell = Command::new("sh");
        shell.args(["-c", &app.filled(line)?]);
        let output = app.at_home(&mut shell)?.output();
        let output = output.map_err(Error::io("cannot start a shell"))?;
        if !output.status.success() {
            let said = [output.stdout, output.stderr].concat();
            let problem = format!("{}: {line}", String::from_utf8_lossy(&said).trim());
            return Err(Error::process(&app.name, problem));
        }
    }
    fs::write(&file, stamp).map_err(writing())
}

/// Changes with any file below a folder.
fn stamp(folder: &Path) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    hash(folder, &mut hasher).map_err(Error::io(format!("cannot read {}", folder.display())))?;
    Ok(format!("{:016x}", hasher.finish()))
}

fn hash(path: &Path, hasher: &mut DefaultHasher) -> std::io::Result<()> {
    path.file_name().hash(hasher);
    if path.is_dir() {
        let entries: std::io::Result<Vec<_>> = fs::read_dir(path)?.collect();
        let mut paths: Vec<_> = entries?.iter().map(fs::DirEntry::path).collect();
        paths.sort();
        return paths.iter().try_for_each(|it| hash(it, hasher));
    }
    fs::read(path)?.hash(hasher);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_changes_with_the_sources() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("views")).unwrap();
        let page = folder.path().join("views/page");
        fs::write(&page, "one").unwrap();
        let before = stamp(folder.path()).unwrap();
        assert_eq!(stamp(folder.path()).unwrap(), before);
        fs::write(&page, "two").unwrap();
        assert_ne!(stamp(folder.path()).unwrap(), before);
    }
}
