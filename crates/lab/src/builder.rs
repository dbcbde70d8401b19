//! Building servers, once for each content of their folder and version of their toolchain.

use crate::catalog::Server;
use crate::manifest::{Fill, fill};
use prony_record::{Failure, Step, inert};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How much of a build's output is shown when it fails.
const SHOWN: usize = 4_000;

/// A server that can be started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Built {
    /// The copy of its folder that was built.
    pub src: PathBuf,
    /// The build's output.
    pub build: PathBuf,
    /// Its dependencies; a folder that does not exist when it has none.
    pub deps: PathBuf,
    /// What all servers share.
    pub shared: PathBuf,
    /// The version of its runtime or compiler, and of its dependencies; empty when its manifest
    /// names no way to tell.
    pub version: String,
    /// Was it there already?
    pub cached: bool,
}

/// Why a server cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Programs are missing.
    #[error("needs {}, which is not on the PATH{}", programs.join(" and "), mend(apt))]
    Programs {
        /// Which programs.
        programs: Vec<String>,
        /// The Debian packages that have them.
        apt: Vec<String>,
    },
    /// Libraries of its toolchain are missing: its version cannot be told.
    #[error("its toolchain is not complete: {}{}", last_line(output), mend(apt))]
    Toolchain {
        /// The end of what the command printed that tells its version.
        output: String,
        /// The Debian packages of its toolchain.
        apt: Vec<String>,
    },
    /// What it needs from a registry is not here yet.
    #[error("needs {} from {from}; `prony servers setup {server}` installs it", packages.join(" "))]
    Dependencies {
        /// The server's name.
        server: String,
        /// The registry.
        from: String,
        /// The packages.
        packages: Vec<String>,
    },
    /// A command failed.
    #[error("`{command}` failed ({status})")]
    Command {
        /// The command.
        command: String,
        /// How it ended.
        status: String,
        /// The end of what it printed.
        output: String,
    },
    /// It cannot be built on another machine.
    #[error("{0}")]
    Elsewhere(String, Missing),
    /// The cache cannot be written, or the sources not be read.
    #[error("{what} {}: {source}", path.display())]
    File {
        /// What was being done.
        what: &'static str,
        /// To which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Is a server not set up on a machine, rather than at fault?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing(pub bool);

impl BuildError {
    /// The server is not set up on this machine, which is no fault of the server.
    pub fn is_missing(&self) -> bool {
        matches!(
            self,
            Self::Programs { .. }
                | Self::Toolchain { .. }
                | Self::Dependencies { .. }
                | Self::Elsewhere(_, Missing(true))
        )
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        let failure = Self::new(Step::Build, error.to_string());
        match error {
            BuildError::Command { output, .. } => failure.with_output(output),
            _ => failure,
        }
    }
}

fn mend(apt: &[String]) -> String {
    match apt {
        [] => String::new(),
        packages => format!("; on Debian: apt-get install {}", packages.join(" ")),
    }
}

fn last_line(text: &str) -> &str {
    text.lines().next_back().unwrap_or("no version can be told")
}

/// Builds below a cache folder.
#[derive(Debug, Clone)]
pub struct Builder {
    builds: PathBuf,
    dependencies: PathBuf,
    shared: PathBuf,
}

impl Builder {
    /// Builds go to `cache/builds`, what they need from registries to `cache/dependencies` and
    /// `cache/shared`.
    pub fn new(cache: &Path) -> Self {
        Self {
            builds: cache.join("builds"),
            dependencies: cache.join("dependencies"),
            shared: cache.join("shared"),
        }
    }

    /// The version of a server's runtime or compiler, from its Debian packages.
    ///
    /// # Errors
    /// When its toolchain is missing or not complete.
    pub fn toolchain(&self, server: &Server) -> Result<String, BuildError> {
        let manifest = &server.manifest;
        let missing = manifest.missing();
        if !missing.is_empty() {
            return Err(BuildError::Programs {
                programs: missing.into_iter().map(str::to_owned).collect(),
                apt: manifest.apt.clone(),
            });
        }
        let Some(command) = &manifest.version else {
            return Ok(String::new());
        };
        match shell(command, &server.folder) {
            Ok(text) => Ok(first_line(&text)),
            Err(BuildError::Command { output, .. }) => Err(BuildError::Toolchain {
                output,
                apt: manifest.apt.clone(),
            }),
            Err(other) => Err(other),
        }
    }

    /// Where the dependencies of a server lie, and whether they are there; `None` when it has none.
    fn dependencies(&self, server: &Server, version: &str) -> Result<Option<Place>, BuildError> {
        let Some(wanted) = &server.manifest.dependencies else {
            return Ok(None);
        };
        let mut also = vec![version, wanted.install.as_str()];
        also.extend(wanted.packages.iter().map(String::as_str));
        let hash = fingerprint(&server.folder, &also, |path| {
            wanted.files.iter().any(|file| path.starts_with(file))
        })
        .map_err(|source| file("reading", &server.folder, source))?;
        Ok(Some(Place {
            done: self.dependencies.join(format!("{hash}.done")),
            folder: self.dependencies.join(hash),
        }))
    }

    /// Are a server's dependencies here?
    ///
    /// # Errors
    /// When its toolchain is missing, on which they depend.
    pub fn has_dependencies(&self, server: &Server) -> Result<bool, BuildError> {
        let place = self.dependencies(server, &self.toolchain(server)?)?;
        Ok(place.is_none_or(|place| place.done.is_file()))
    }

    /// Installs what a server needs from the registry of its language, unless it is there.
    ///
    /// # Errors
    /// When its toolchain is missing, the installation fails, or the cache cannot be written.
    pub fn install(&self, server: &Server) -> Result<(), BuildError> {
        let place = self.dependencies(server, &self.toolchain(server)?)?;
        let Some((wanted, place)) = server.manifest.dependencies.as_ref().zip(place) else {
            return Ok(());
        };
        for folder in [&self.dependencies, &self.shared] {
            fs::create_dir_all(folder).map_err(|source| file("making", folder, source))?;
        }
        // What is installed may hold its own path, so it grows in its place; another prony waits.
        let lock = place.folder.with_extension("lock");
        let _held = fs::File::create(&lock)
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|source| file("locking", &lock, source))?;
        if place.done.is_file() {
            return Ok(());
        }
        let clear = || match fs::remove_dir_all(&place.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        let from = place.folder.join("from");
        clear()
            .and_then(|()| fs::create_dir_all(&from))
            .map_err(|source| file("making", &from, source))?;
        copy(&server.folder, &from, |path| {
            wanted.files.iter().any(|file| path.starts_with(file))
        })
        .map_err(|source| file("copying", &server.folder, source))?;
        let quoted = shlex::try_join(wanted.packages.iter().map(String::as_str))
            .expect("a TOML string that a shell cannot take has a NUL, which TOML forbids");
        let with = Fill {
            deps: place.folder.display().to_string(),
            cache: self.shared.display().to_string(),
            packages: quoted,
            ..Fill::default()
        };
        let line = fill(&wanted.install, &with).expect("checked when the manifest was read");
        shell(&line, &from).inspect_err(|_| drop(clear()))?;
        fs::write(&place.done, "").map_err(|source| file("writing", &place.done, source))
    }

    /// Builds a server, or finds that it was built already.
    ///
    /// # Errors
    /// When its toolchain or its dependencies are missing, its build fails, or the cache cannot be
    /// written.
    pub fn build(&self, server: &Server) -> Result<Built, BuildError> {
        let manifest = &server.manifest;
        let mut version = self.toolchain(server)?;
        let place = self.dependencies(server, &version)?;
        if let Some((wanted, place)) = manifest.dependencies.as_ref().zip(place.as_ref()) {
            if !place.done.is_file() {
                return Err(BuildError::Dependencies {
                    server: server.name.clone(),
                    from: wanted.from.clone(),
                    packages: wanted.packages.clone(),
                });
            }
            version = [&[version], wanted.packages.as_slice()].concat().join(", ");
        }
        let deps = place.map_or_else(PathBuf::new, |place| place.folder);
        let hash = fingerprint(
            &server.folder,
            &[
                &version,
                &deps.display().to_string(),
                manifest.build.as_deref().unwrap_or(""),
            ],
            // How a server is described does not change what is built of it; how it is built does.
            |path| path != Path::new("server.toml"),
        )
        .map_err(|source| file("reading", &server.folder, source))?;
        let folder = self.builds.join(format!("{}-{hash}", server.name));
        let done = folder.join("done");
        let built = |cached| Built {
            src: folder.join("src"),
            build: folder.join("build"),
            deps: deps.clone(),
            shared: self.shared.clone(),
            version,
            cached,
        };
        if done.is_file() {
            return Ok(built(true));
        }
        // Two pronys at once: each builds on its own, and the first to finish is kept.
        let scratch = self
            .builds
            .join(format!(".{}-{hash}.{}", server.name, std::process::id()));
        let result = self.build_in(server, &deps, &scratch).and_then(|()| {
            match fs::rename(&scratch, &folder) {
                Err(_) if done.is_file() => Ok(()),
                result => result.map_err(|source| file("moving the build to", &folder, source)),
            }
        });
        // Nothing is left of a build that failed, or that another one overtook.
        let _ = fs::remove_dir_all(&scratch);
        result.map(|()| built(false))
    }

    fn build_in(&self, server: &Server, deps: &Path, scratch: &Path) -> Result<(), BuildError> {
        let (src, build) = (scratch.join("src"), scratch.join("build"));
        for folder in [&src, &build] {
            fs::create_dir_all(folder).map_err(|source| file("making", folder, source))?;
        }
        copy(&server.folder, &src, |_| true)
            .map_err(|source| file("copying", &server.folder, source))?;
        if let Some(line) = &server.manifest.build {
            let with = Fill {
                build: build.display().to_string(),
                src: src.display().to_string(),
                deps: deps.display().to_string(),
                cache: self.shared.display().to_string(),
                ..Fill::default()
            };
            let line = fill(line, &with).expect("checked when the manifest was read");
            shell(&line, &src)?;
        }
        let done = scratch.join("done");
        fs::write(&done, "").map_err(|source| file("writing", &done, source))
    }
}

/// Where the dependencies of one or more servers lie.
struct Place {
    folder: PathBuf,
    /// It exists when they are complete.
    done: PathBuf,
}

fn file(what: &'static str, path: &Path, source: io::Error) -> BuildError {
    BuildError::File {
        what,
        path: path.to_owned(),
        source,
    }
}

/// Runs a shell command in `folder`; gives what it printed.
fn shell(line: &str, folder: &Path) -> Result<String, BuildError> {
    let failed = |status: String, output: String| BuildError::Command {
        command: line.to_owned(),
        status,
        output,
    };
    let result = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{line}")])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output();
    match result {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            if output.status.success() {
                Ok(text)
            } else {
                Err(failed(output.status.to_string(), tail(&text, SHOWN)))
            }
        }
        Err(error) => Err(failed(error.to_string(), String::new())),
    }
}

fn first_line(text: &str) -> String {
    inert::line(text.lines().next().unwrap_or("").trim()).into_owned()
}

/// The end of a text, at most `limit` bytes, from the beginning of a line where possible.
pub(crate) fn tail(text: &str, limit: usize) -> String {
    let text = text.trim_end();
    if text.len() <= limit {
        return text.to_owned();
    }
    let mut start = text.len() - limit;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let cut = &text[start..];
    cut.split_once('\n')
        .map_or(cut, |(_, whole_lines)| whole_lines)
        .to_owned()
}

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
fn fingerprint(folder: &Path, also: &[&str], counts: impl Fn(&Path) -> bool) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    for path in files(folder)?.iter().filter(|path| counts(path)) {
        add(path.as_os_str().as_encoded_bytes());
        add(&fs::read(folder.join(path))?);
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
fn copy(from: &Path, to: &Path, wanted: impl Fn(&Path) -> bool) -> io::Result<()> {
    for path in files(from)?.iter().filter(|path| wanted(path)) {
        let target = to.join(path);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(from.join(path), target)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;
    use crate::source::Source;

    fn server(folder: &Path, build: &str, toolchain: &str) -> Server {
        let text = format!(
            "title='t'\nlanguage='l'\nmodel='m'\ncontracts=['tcp-echo']\nrun='x'\nversion='echo v1'\n\
             toolchain=['{toolchain}']\nbuild='''{build}'''\napt=['some-package']"
        );
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("server.toml"), &text).unwrap();
        let manifest = Manifest::parse(&Source::new("server.toml", text)).unwrap();
        Server {
            name: "it".into(),
            folder: folder.to_owned(),
            manifest,
        }
    }

    #[test]
    fn a_build_is_done_once_for_each_content() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("it");
        let it = server(
            &folder,
            "cat a.txt > {build}/out && touch {src}/inside",
            "sh",
        );
        fs::write(folder.join("a.txt"), "one").unwrap();
        let builder = Builder::new(&dir.path().join("cache"));
        let first = builder.build(&it).unwrap();
        assert!(!first.cached);
        assert_eq!(first.version, "v1");
        assert_eq!(fs::read_to_string(first.build.join("out")).unwrap(), "one");
        assert!(first.src.join("inside").exists() && !folder.join("inside").exists());
        assert!(builder.build(&it).unwrap().cached);
        fs::write(folder.join("a.txt"), "two").unwrap();
        let second = builder.build(&it).unwrap();
        assert!(!second.cached && second.build != first.build);
    }

    /// A server whose dependency is a file of the shared cache, installed by a copy.
    fn dependent(folder: &Path, name: &str) -> Server {
        let mut it = server(&folder.join(name), "cat {deps}/got > {build}/out", "sh");
        it.name = name.into();
        fs::write(it.folder.join("lock"), "locked").unwrap();
        fs::write(it.folder.join("code"), name).unwrap();
        it.manifest.dependencies = Some(crate::manifest::Dependencies {
            from: "a registry".into(),
            packages: vec!["one==1".into(), "it's two".into()],
            download: "1 kB".into(),
            files: vec!["lock".into()],
            install: "ls > {deps}/saw && printf '%s;' {packages} > {deps}/got && \
                      echo once >> {cache}/installed"
                .into(),
        });
        it
    }

    #[test]
    fn dependencies_are_installed_once_for_all_who_say_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let builder = Builder::new(&dir.path().join("cache"));
        let [one, two] = ["one", "two"].map(|name| dependent(dir.path(), name));
        assert!(!builder.has_dependencies(&one).unwrap());
        let error = builder.build(&one).unwrap_err();
        assert!(error.is_missing());
        assert_eq!(
            error.to_string(),
            "needs one==1 it's two from a registry; `prony servers setup one` installs it"
        );
        builder.install(&one).unwrap();
        builder.install(&one).unwrap();
        builder.install(&two).unwrap();
        let [one, two] = [one, two].map(|server| builder.build(&server).unwrap());
        assert_eq!(one.deps, two.deps);
        assert_eq!(one.version, "v1, one==1, it's two");
        let got = fs::read_to_string(two.build.join("out")).unwrap();
        assert_eq!(got, "one==1;it's two;");
        assert_eq!(fs::read_to_string(one.deps.join("saw")).unwrap(), "lock\n");
        let installed = fs::read_to_string(one.shared.join("installed")).unwrap();
        assert_eq!(installed, "once\n");
    }

    #[test]
    fn a_failed_installation_leaves_nothing_and_is_tried_again() {
        let dir = tempfile::tempdir().unwrap();
        let builder = Builder::new(&dir.path().join("cache"));
        let mut it = dependent(dir.path(), "it");
        let wanted = it.manifest.dependencies.as_mut().unwrap();
        wanted.install =
            "touch {deps}/half; test -e {cache}/ok || { echo no luck; exit 5; }".into();
        match builder.install(&it).unwrap_err() {
            BuildError::Command { output, .. } => assert_eq!(output, "no luck"),
            other => panic!("{other}"),
        }
        assert!(!builder.has_dependencies(&it).unwrap());
        fs::write(dir.path().join("cache/shared/ok"), "").unwrap();
        builder.install(&it).unwrap();
        assert!(builder.has_dependencies(&it).unwrap());
    }

    #[test]
    fn a_version_that_cannot_be_told_means_a_missing_toolchain() {
        let dir = tempfile::tempdir().unwrap();
        let mut it = server(&dir.path().join("it"), "true", "sh");
        it.manifest.version = Some("echo no such library >&2; exit 1".into());
        let error = Builder::new(dir.path()).build(&it).unwrap_err();
        assert!(error.is_missing());
        assert_eq!(
            error.to_string(),
            "its toolchain is not complete: no such library; on Debian: apt-get install some-package"
        );
    }

    #[test]
    fn a_failed_build_leaves_its_output_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let it = server(&dir.path().join("it"), "echo broken >&2; exit 3", "sh");
        let cache = dir.path().join("cache");
        match Builder::new(&cache).build(&it).unwrap_err() {
            BuildError::Command { status, output, .. } => {
                assert_eq!(
                    (status.as_str(), output.as_str()),
                    ("exit status: 3", "broken")
                );
            }
            other => panic!("{other}"),
        }
        assert_eq!(fs::read_dir(cache.join("builds")).unwrap().count(), 0);
    }

    #[test]
    fn a_missing_toolchain_is_named_with_its_package() {
        let dir = tempfile::tempdir().unwrap();
        let it = server(&dir.path().join("it"), "true", "no-such-program");
        let error = Builder::new(dir.path()).build(&it).unwrap_err().to_string();
        assert_eq!(
            error,
            "needs no-such-program, which is not on the PATH; on Debian: apt-get install some-package"
        );
    }

    #[test]
    fn a_tail_keeps_whole_lines() {
        assert_eq!(tail("short\n", 100), "short");
        assert_eq!(tail("first\nsecond\nthird", 9), "third");
        assert_eq!(tail("ééééé", 3), "é");
    }
}
