//! Servers in images: built by a container engine, which keeps them under the hash of what they are built of.

use super::error::file;
use super::folder::fingerprint;
use super::shell::shell;
use super::{BuildError, Builder, Built};
use crate::catalog::Server;
use crate::container::{Engine, ImageBuild, Listens};
use std::path::{Path, PathBuf};

impl Builder {
    /// Builds the image of a server, or finds that the engine has it already.
    pub(super) fn build_image(
        &self,
        server: &Server,
        image: &ImageBuild,
    ) -> Result<Built, BuildError> {
        let engine = Engine::find(image.engine.as_deref()).map_err(BuildError::Engine)?;
        let (tag, cached) = build(&engine, &server.name, &server.folder, image)?;
        let id = engine.image(&tag).map_err(BuildError::Engine)?.id;
        let manifest = &server.manifest;
        let env = manifest.env.keys().flat_map(|name| ["--env", name]);
        let mut options: Vec<String> = env.map(ToOwned::to_owned).collect();
        options.extend(image.options.iter().cloned());
        let run = engine.run(&tag, &manifest.run, Listens::WhereTold, &options);
        Ok(Built {
            src: server.folder.clone(),
            build: server.folder.clone(),
            deps: PathBuf::new(),
            shared: self.shared.clone(),
            version: format!("image {id}"),
            cached,
            container: Some(engine.container(run)),
        })
    }
}

/// Builds an image of this folder, unless the engine has it; gives its name, and whether it was there.
///
/// # Errors
/// When the folder cannot be read, has no such Dockerfile, or the build fails.
pub fn build(
    engine: &Engine,
    name: &str,
    folder: &Path,
    image: &ImageBuild,
) -> Result<(String, bool), BuildError> {
    let dockerfile = folder.join(&image.dockerfile);
    if let Err(source) = dockerfile.metadata() {
        return Err(file("reading", &dockerfile, source));
    }
    let args = image.args.iter();
    let args: Vec<String> = args
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let mut also = vec![image.dockerfile.as_str()];
    also.extend(args.iter().map(String::as_str));
    let own = |path: &Path| path != Path::new("server.toml");
    let hash = fingerprint(folder, &also, own).map_err(|source| file("reading", folder, source))?;
    let tag = format!("prony-{}:{hash}", repository(name));
    if engine.image(&tag).is_ok() {
        return Ok((tag, true));
    }
    let mut words = vec![
        engine.program(),
        "build",
        "-f",
        &image.dockerfile,
        "-t",
        &tag,
    ];
    words.extend(args.iter().flat_map(|arg| ["--build-arg", arg]));
    words.push(".");
    let line = shlex::try_join(words).map_err(|error| BuildError::Engine(error.to_string()))?;
    shell(&line, folder)?;
    Ok((tag, false))
}

/// A server's name as part of an image's: small letters, digits and single marks between them.
fn repository(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_images() {
        assert_eq!(repository("ASP.NET_core--x"), "asp-net-core-x");
        assert_eq!(repository("gin-gorm"), "gin-gorm");
    }
}
