//! Building servers, once for each content of their folder and version of their toolchain.

mod error;
mod folder;
pub mod image;
mod shell;

use crate::catalog::Server;
use crate::container::Container;
use crate::manifest::{Fill, fill};
use error::file;
pub use error::{BuildError, Missing};
use folder::{copy, fingerprint};
use serde::{Deserialize, Serialize};
pub(crate) use shell::tail;
use shell::{first_line, shell};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A server that can be started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Built {
    /// The copy of its folder that was built.
    pub src: PathBuf,
    /// The build's output.
    pub build: PathBuf,
    /// Folder of the server's dependencies; an empty path when a server of the catalog has none.
    pub deps: PathBuf,
    /// Folder that all servers share, such as for a local repository of packages: `{cache}` in manifests.
    pub shared: PathBuf,
    /// The version of its runtime or compiler, and of its dependencies; empty when its manifest
    /// names no way to tell.
    pub version: String,
    /// Was it there already?
    pub cached: bool,
    /// Container that the server runs in; none: it runs as a process of this machine.
    #[serde(default)]
    pub container: Option<Container>,
}

/// Builds below a cache folder.
#[derive(Debug, Clone)]
pub struct Builder {
    builds: PathBuf,
    dependencies: PathBuf,
    shared: PathBuf,
    cache: PathBuf,
}

impl Builder {
    /// Builds go to `cache/builds`, what they need from registries to `cache/dependencies` and
    /// `cache/shared`.
    pub fn new(cache: &Path) -> Self {
        Self {
            builds: cache.join("builds"),
            dependencies: cache.join("dependencies"),
            shared: cache.join("shared"),
            cache: cache.to_owned(),
        }
    }

    /// The cache folder.
    pub fn cache(&self) -> &Path {
        &self.cache
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
    fn dependencies(
        &self,
        server: &Server,
        version: &str,
    ) -> Result<Option<DependencyFolder>, BuildError> {
        let Some(wanted) = &server.manifest.dependencies else {
            return Ok(None);
        };
        let mut also = vec![version, wanted.install.as_str()];
        also.extend(wanted.packages.iter().map(String::as_str));
        let hash = fingerprint(&server.folder, &also, |path| {
            wanted.files.iter().any(|file| path.starts_with(file))
        })
        .map_err(|source| file("reading", &server.folder, source))?;
        Ok(Some(DependencyFolder {
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
        // What is installed may hold its own path, so it grows in its place; another prony waits.
        let _held = lock(&place.folder.with_extension("lock"))?;
        if place.done.is_file() {
            return Ok(());
        }
        let _registry = self.registry(&wanted.from)?;
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

    /// Waits until no other build or installation uses what comes from this registry, and keeps others waiting as long as the
    /// file is open: it lies in a cache that the registry's tools share, and not all of them (Maven) may use it at the same time.
    fn registry(&self, name: &str) -> Result<fs::File, BuildError> {
        let name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        lock(&self.shared.join(format!("{name}.lock")))
    }

    /// Builds a server, or finds that it was built already.
    ///
    /// # Errors
    /// When its toolchain or its dependencies are missing, its build fails, or the cache cannot be
    /// written.
    pub fn build(&self, server: &Server) -> Result<Built, BuildError> {
        let manifest = &server.manifest;
        if let Some(image) = &manifest.image {
            return self.build_image(server, image);
        }
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
            container: None,
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
            let dependencies = server.manifest.dependencies.as_ref();
            let _registry = dependencies.map(|it| self.registry(&it.from)).transpose()?;
            shell(&line, &src)?;
        }
        let done = scratch.join("done");
        fs::write(&done, "").map_err(|source| file("writing", &done, source))
    }
}

/// Makes a file, and the folders above it, and locks it.
pub(crate) fn lock(path: &Path) -> Result<fs::File, BuildError> {
    let above = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(above)
        .and_then(|()| fs::File::create(path))
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|source| file("locking", path, source))
}

/// Where the dependencies of one or more servers lie.
struct DependencyFolder {
    folder: PathBuf,
    /// File that exists when the dependencies are complete.
    done: PathBuf,
}

#[cfg(test)]
mod tests;
