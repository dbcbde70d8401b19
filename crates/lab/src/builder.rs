//! Building servers, once for each content of their folder and version of their toolchain.

use crate::catalog::Server;
use crate::manifest::{Fill, fill, on_path};
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How much of a build's output is shown when it fails.
const SHOWN: usize = 4_000;

/// A server that can be started.
#[derive(Debug, Clone)]
pub struct Built {
    /// The copy of its folder that was built.
    pub src: PathBuf,
    /// The build's output.
    pub build: PathBuf,
    /// The version of its runtime or compiler; empty when its manifest names no way to tell.
    pub version: String,
    /// Was it there already?
    pub cached: bool,
}

/// Why a server cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Programs are missing.
    #[error("needs {}, which is not on the PATH{}", programs.join(" and "), mend(apt))]
    Toolchain {
        /// Which programs.
        programs: Vec<String>,
        /// The Debian packages that have them.
        apt: Vec<String>,
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

fn mend(apt: &[String]) -> String {
    match apt {
        [] => String::new(),
        packages => format!("; on Debian: apt-get install {}", packages.join(" ")),
    }
}

/// Builds below a cache folder.
#[derive(Debug, Clone)]
pub struct Builder {
    cache: PathBuf,
}

impl Builder {
    /// Builds go to `cache/builds`.
    pub fn new(cache: &Path) -> Self {
        Self {
            cache: cache.join("builds"),
        }
    }

    /// Builds a server, or finds that it was built already.
    ///
    /// # Errors
    /// When its toolchain is missing, its build fails, or the cache cannot be written.
    pub fn build(&self, server: &Server) -> Result<Built, BuildError> {
        let manifest = &server.manifest;
        let missing = manifest.missing();
        if !missing.is_empty() {
            return Err(BuildError::Toolchain {
                programs: missing.into_iter().map(str::to_owned).collect(),
                apt: manifest.apt.clone(),
            });
        }
        let version = match &manifest.version {
            Some(command) => first_line(&shell(command, &server.folder)?),
            None => String::new(),
        };
        let hash = fingerprint(
            &server.folder,
            &[&version, manifest.build.as_deref().unwrap_or("")],
        )
        .map_err(|source| file("reading", &server.folder, source))?;
        let folder = self.cache.join(format!("{}-{hash}", server.name));
        let (src, build) = (folder.join("src"), folder.join("build"));
        let done = folder.join("done");
        if done.is_file() {
            return Ok(Built {
                src,
                build,
                version,
                cached: true,
            });
        }
        // Two pronys at once: each builds on its own, and the first to finish is kept.
        let scratch = self
            .cache
            .join(format!(".{}-{hash}.{}", server.name, std::process::id()));
        let result =
            self.build_in(server, &scratch)
                .and_then(|()| match fs::rename(&scratch, &folder) {
                    Err(_) if done.is_file() => Ok(()),
                    result => result.map_err(|source| file("moving the build to", &folder, source)),
                });
        // Nothing is left of a build that failed, or that another one overtook.
        let _ = fs::remove_dir_all(&scratch);
        result.map(|()| Built {
            src,
            build,
            version,
            cached: false,
        })
    }

    fn build_in(&self, server: &Server, scratch: &Path) -> Result<(), BuildError> {
        let (src, build) = (scratch.join("src"), scratch.join("build"));
        for folder in [&src, &build] {
            fs::create_dir_all(folder).map_err(|source| file("making", folder, source))?;
        }
        copy(&server.folder, &src).map_err(|source| file("copying", &server.folder, source))?;
        if let Some(line) = &server.manifest.build {
            let with = Fill {
                build: build.display().to_string(),
                src: src.display().to_string(),
                ..Fill::default()
            };
            let line = fill(line, &with).expect("checked when the manifest was read");
            shell(&line, &src)?;
        }
        let done = scratch.join("done");
        fs::write(&done, "").map_err(|source| file("writing", &done, source))
    }
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
    text.lines().next().unwrap_or("").trim().to_owned()
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

/// A name for the content of a folder and what else a build depends on.
fn fingerprint(folder: &Path, also: &[&str]) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    for path in files(folder)? {
        // How a server is described does not change what is built of it; how it is built does,
        // and comes in through `also`.
        if path.as_os_str() != OsStr::new("server.toml") {
            add(path.as_os_str().as_encoded_bytes());
            add(&fs::read(folder.join(&path))?);
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

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for path in files(from)? {
        let target = to.join(&path);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(from.join(&path), target)?;
    }
    Ok(())
}

/// Is everything there that the server needs to be built?
pub fn has_toolchain(server: &Server) -> bool {
    server
        .manifest
        .toolchain
        .iter()
        .all(|program| on_path(program))
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
