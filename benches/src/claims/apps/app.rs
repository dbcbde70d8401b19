//! An application: how it is set up, started, asked and recognised, as its `app.toml` says. In its commands, `{source}` is
//! the folder of that file, `{folder}` the one that it is set up and run in, and `{plant}` has what burns CPU time. All obey
//! `PLANT_US` in their environment: so many microseconds of CPU time for each request.

use crate::error::{Error, Result};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Below this folder each application has its own, and `plant` what burns CPU time in several of them.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/apps");

/// An application with its two sides.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct App {
    /// The name of its folder.
    #[serde(skip)]
    pub name: String,
    /// One line for a person.
    pub about: String,
    /// Request path.
    pub path: String,
    /// Text that every right response has.
    pub expect: String,
    /// Shell commands, each of which may be carried out again.
    pub setup: Vec<String>,
    pub a: Side,
    pub b: Side,
}

/// A version of an application, or a setting.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    pub name: String,
    /// Command line with `{port}`.
    pub command: String,
}

/// The applications of these names, or all of them, by name.
///
/// # Errors
/// When one cannot be read, or a name is none's.
pub fn all(only: &[String]) -> Result<Vec<App>> {
    let unreadable = || Error::io(format!("cannot read {SOURCES}"));
    let mut apps = Vec::new();
    for entry in fs::read_dir(SOURCES).map_err(unreadable())? {
        let name = entry.map_err(unreadable())?.file_name();
        let file = Path::new(SOURCES).join(&name).join("app.toml");
        if file.is_file() {
            let text = fs::read_to_string(&file).map_err(unreadable())?;
            apps.push(App::parse(&name.to_string_lossy(), &text)?);
        }
    }
    apps.sort_by(|one, other| one.name.cmp(&other.name));
    if let Some(unknown) = only
        .iter()
        .find(|it| apps.iter().all(|app| app.name != **it))
    {
        let names: Vec<&str> = apps.iter().map(|app| app.name.as_str()).collect();
        let message = format!("no application is called {unknown}: {}", names.join(", "));
        return Err(Error::Unusable(message));
    }
    apps.retain(|app| only.is_empty() || only.contains(&app.name));
    Ok(apps)
}

impl App {
    fn parse(name: &str, text: &str) -> Result<Self> {
        let mut app: Self = toml::from_str(text)
            .map_err(|error| Error::Unusable(format!("{name}/app.toml: {error}")))?;
        app.name = name.to_owned();
        Ok(app)
    }

    /// The folder of its sources.
    pub fn source(&self) -> PathBuf {
        Path::new(SOURCES).join(&self.name)
    }

    /// Where it is set up, and run: `target/apps/NAME`.
    ///
    /// # Errors
    /// When this program's own place is unknown.
    pub fn folder(&self) -> Result<PathBuf> {
        Ok(super::folder()?.join(&self.name))
    }

    /// A command line or a path with its placeholders filled in, but for `{port}`.
    ///
    /// # Errors
    /// When this program's own place is unknown.
    pub fn filled(&self, text: &str) -> Result<String> {
        let quoted = |path: &Path| format!("'{}'", path.display());
        Ok(text
            .replace("{source}", &quoted(&self.source()))
            .replace("{folder}", &quoted(&self.folder()?))
            .replace("{plant}", &quoted(&Path::new(SOURCES).join("plant"))))
    }

    /// The command line of a side with this much more CPU work for each request, in microseconds.
    ///
    /// # Errors
    /// When this program's own place is unknown.
    pub fn planted(&self, side: &Side, plant_us: f64) -> Result<String> {
        let plain = self.filled(&side.command)?;
        Ok(format!("env PLANT_US={plant_us:.1} {plain}"))
    }

    /// Has a command run where this application is, and find what it shares with others.
    ///
    /// # Errors
    /// When this program's own place is unknown.
    pub fn at_home<'c>(&self, command: &'c mut Command) -> Result<&'c mut Command> {
        let folder = self.folder()?;
        Ok(command
            .env("PLANT", Path::new(SOURCES).join("plant"))
            // Python would write what it has compiled next to the sources.
            .env("PYTHONPYCACHEPREFIX", folder.join("pycache"))
            .current_dir(folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_applications_with_two_sides_each() {
        let apps = all(&[]).unwrap();
        assert_eq!(apps.len(), 12);
        for app in &apps {
            assert!(app.path.starts_with('/'), "{app:?}");
            assert_ne!(app.a, app.b);
            for side in [&app.a, &app.b] {
                let filled = app.filled(&side.command).unwrap();
                let rest = filled.replacen("{port}", "8000", 1);
                assert!(filled != rest && !rest.contains('{'), "{filled}");
            }
        }
    }

    #[test]
    fn only_what_is_asked_for() {
        let some = all(&["php".into()]).unwrap();
        assert_eq!(some.len(), 1);
        let error = all(&["perl".into()]).unwrap_err().to_string();
        assert!(
            error.contains("perl") && error.contains("datasette"),
            "{error}"
        );
    }

    #[test]
    fn a_plant_is_in_the_environment() {
        let app = &all(&["sinatra".into()]).unwrap()[0];
        let line = app.planted(&app.a, 12.34).unwrap();
        assert!(line.starts_with("env PLANT_US=12.3 puma "), "{line}");
    }
}
